/* SPDX-License-Identifier: MIT */
/*
 * running_stats.c - running mean and variance, by a scan: each iteration
 * receives the next value, updates the carried statistics (Welford's method),
 * and stacks a row of results.
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

/* Receives count, mean and sum of squared deviations, and the next value.
   Returns the updated three, and mean and variance to stack. */
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
