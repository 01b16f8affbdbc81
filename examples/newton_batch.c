/* SPDX-License-Identifier: MIT */
/*
 * newton_batch.c - Newton's method written for one starting point, with the
 * slope as a gradient, and run for all of them by tg_vmap. Unlike newton.c,
 * each point stops by itself.
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

/* p(x) = x^3 - 6x^2 + 11x - 6 = (x - 1)(x - 2)(x - 3). */
static tg_value value_at(tg_value x)
{
    tg_value y = tg_sub(x, 6.0);
    y = tg_add(tg_mul(y, x), 11.0);
    return tg_sub(tg_mul(y, x), 6.0);
}

/* The loop values: the point, the size of the last step, iterations so far. */
static void goes_on(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_gt(in[1], 1e-9));
}

static void step(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value y = value_at(in[0]);
    const tg_value by = tg_div(y, tg_gradient(y, in[0]));
    tg_return(t, tg_sub(in[0], by), tg_abs(by), tg_add(in[2], 1));
}

/* Receives one starting point, a scalar. */
static void find_root(tg_trace *t, const tg_value *in, void *user)
{
    tg_value end[3];
    tg_while(goes_on, step, user, TG_ARGS(in[0], 1.0, (int64_t)0), end, 3);
    tg_return(t, end[0], end[2]);
}

static void find_roots(tg_trace *t, const tg_value *in, void *user)
{
    tg_value roots[2];
    tg_vmap(find_root, user, TG_ARGS(in[0]), roots, 2);
    tg_return(t, roots[0], roots[1]);
}

int main(void)
{
    tg_context *ctx = tg_context_create(NULL);
    check(ctx);
    tg_function *f = tg_function_create(ctx, find_roots, NULL, NULL);
    double starts[POINTS] = {0, 1.9, 2.2, 10};
    tg_tensor *x = tg_tensor_wrap(ctx, starts, TG_F64, TG_DIMS(POINTS));
    tg_tensor *roots = NULL, *steps = NULL;
    check(f && x);
    check(!tg_call(f, TG_ARGS(x), TG_RESULTS(&roots, &steps)));

    const double *root = tg_tensor_data(roots);
    const int64_t *n = tg_tensor_data(steps);
    for (int i = 0; i < POINTS; i++)
        printf("from %4.1f to the root %.9f in %lld steps\n", starts[i],
               root[i], (long long)n[i]);

    tg_tensor_release(steps);
    tg_tensor_release(roots);
    tg_tensor_release(x);
    tg_function_release(f);
    tg_context_release(ctx);
    return 0;
}
