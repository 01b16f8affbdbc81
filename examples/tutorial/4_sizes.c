/* SPDX-License-Identifier: MIT */
/* 4_sizes.c - one trace for all sizes, and what an error looks like. */
#include "../check.h"

static void mean_decay(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mean(tg_exp(tg_neg(in[0])), TG_AXES(-1)));
}

static void call(tg_context *ctx, tg_function *f, int64_t rows, int64_t columns)
{
    static float data[4096];
    TG_AUTO(tg_tensor) x =
        tg_tensor_wrap(ctx, data, TG_F32, TG_DIMS(rows, columns));
    TG_AUTO(tg_tensor) y = NULL;
    if (tg_call(f, TG_ARGS(x), TG_RESULTS(&y)))
        printf("%s\n", tg_error(NULL));
    else
        printf("[%d, %d] -> %d means\n", (int)rows, (int)columns,
               (int)tg_tensor_dims(y)[0]);
}

int main(void)
{
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);

    /* By default, the second size makes the extents that differ unknown. */
    TG_AUTO(tg_function) f = tg_function_create(ctx, mean_decay, NULL, NULL);
    check(f);
    call(ctx, f, 10, 8);
    call(ctx, f, 20, 8);
    call(ctx, f, 300, 8);
    printf("traces: %zu\n", tg_function_trace_count(f));

    /* A signature says so from the beginning, and rejects everything else. */
    TG_AUTO(tg_function) g =
        tg_function_create(ctx, mean_decay, NULL,
                           TG_SIGNATURE(TG_SPEC(TG_F32, TG_UNKNOWN, 8)));
    check(g);
    call(ctx, g, 10, 8);
    call(ctx, g, 300, 8);
    printf("traces: %zu\n", tg_function_trace_count(g));
    call(ctx, g, 10, 9);
    return 0;
}
