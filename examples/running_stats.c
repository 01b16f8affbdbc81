/* SPDX-License-Identifier: MIT */
/*
 * running_stats.c - mean and variance of all values so far, by a scan: each
 * step takes the next value, updates what it carries (Welford's method), and
 * leaves a row of results behind.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tgjit.h>

enum { VALUES = 8 };

static void check(bool went_well)
{
    if (went_well)
        return;
    fprintf(stderr, "%s\n", tg_error(NULL));
    exit(1);
}

/* In: values so far, their mean, sum of squared deviations; the next value.
   Out: the same three; mean and variance so far, to be stacked up. */
static void take(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value count = tg_add(in[0], 1.0), x = in[3];
    const tg_value off = tg_sub(x, in[1]);
    const tg_value mean = tg_add(in[1], tg_div(off, count));
    const tg_value squares =
        tg_add(in[2], tg_mul(off, tg_sub(x, mean)));
    tg_return(t, count, mean, squares, mean, tg_div(squares, count));
}

static void statistics(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value end[3], stacked[2];
    tg_scan(take, NULL, TG_ARGS(0.0, 0.0, 0.0), TG_ARGS(in[0]), end, 3,
            stacked, 2);
    tg_return(t, stacked[0], stacked[1]);
}

int main(void)
{
    tg_context *ctx = tg_context_create(NULL);
    check(ctx);
    tg_function *f = tg_function_create(ctx, statistics, NULL, NULL);
    double data[VALUES] = {2, 4, 4, 4, 5, 5, 7, 9};
    tg_tensor *x = tg_tensor_wrap(ctx, data, TG_F64, TG_DIMS(VALUES));
    tg_tensor *means = NULL, *variances = NULL;
    check(f && x);
    check(!tg_call(f, TG_ARGS(x), TG_RESULTS(&means, &variances)));

    const double *mean = tg_tensor_data(means);
    const double *variance = tg_tensor_data(variances);
    puts("value   mean  variance");
    for (int i = 0; i < VALUES; i++)
        printf("%5g %6.3f %9.3f\n", data[i], mean[i], variance[i]);

    tg_tensor_release(variances);
    tg_tensor_release(means);
    tg_tensor_release(x);
    tg_function_release(f);
    tg_context_release(ctx);
    return 0;
}
