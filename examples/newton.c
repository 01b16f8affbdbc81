/* SPDX-License-Identifier: MIT */
/*
 * newton.c - Newton's method, a loop whose number of iterations depends on the
 * data. All starting points are iterated together, as one vector, until the
 * last of them has converged.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tgjit.h>

enum { POINTS = 4 };

static void check(bool went_well)
{
    if (went_well)
        return;
    fprintf(stderr, "%s\n", tg_error(NULL));
    exit(1);
}

/* p(x) = x^3 - 6x^2 + 11x - 6 = (x - 1)(x - 2)(x - 3), and p'(x). */
static tg_value value_at(tg_value x)
{
    tg_value y = tg_sub(x, 6.0);
    y = tg_add(tg_mul(y, x), 11.0);
    return tg_sub(tg_mul(y, x), 6.0);
}

static tg_value slope_at(tg_value x)
{
    return tg_add(tg_mul(tg_sub(tg_mul(x, 3.0), 12.0), x), 11.0);
}

/* The loop values: the points, the size of the last step, iterations so far. */
static void goes_on(tg_trace *t, const tg_value *in, void *user)
{
    const double *tolerance = user;
    tg_return(t, tg_gt(tg_reduce_max(in[1], TG_ALL_AXES), *tolerance));
}

static void step(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value by = tg_div(value_at(in[0]), slope_at(in[0]));
    tg_return(t, tg_sub(in[0], by), tg_abs(by), tg_add(in[2], 1));
}

static void find_roots(tg_trace *t, const tg_value *in, void *user)
{
    tg_value end[3];
    const tg_value far = tg_broadcast(tg_scalar(TG_F64, 1.0), TG_DIMS(POINTS));
    tg_while(goes_on, step, user, TG_ARGS(in[0], far, (int64_t)0), end, 3);
    tg_return(t, end[0], end[2]);
}

int main(void)
{
    tg_context *ctx = tg_context_create(NULL);
    check(ctx);
    double tolerance = 1e-9;
    tg_function *f = tg_function_create(ctx, find_roots, &tolerance, NULL);
    double starts[POINTS] = {0, 1.9, 2.2, 10};
    tg_tensor *x = tg_tensor_wrap(ctx, starts, TG_F64, TG_DIMS(POINTS));
    tg_tensor *roots = NULL, *steps = NULL;
    check(f && x);
    check(!tg_call(f, TG_ARGS(x), TG_RESULTS(&roots, &steps)));

    const double *root = tg_tensor_data(roots);
    for (int i = 0; i < POINTS; i++)
        printf("from %4.1f to the root %.9f\n", starts[i], root[i]);
    printf("%lld steps\n",
           (long long)*(const int64_t *)tg_tensor_data(steps));

    tg_tensor_release(steps);
    tg_tensor_release(roots);
    tg_tensor_release(x);
    tg_function_release(f);
    tg_context_release(ctx);
    return 0;
}
