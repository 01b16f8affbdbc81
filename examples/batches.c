/* SPDX-License-Identifier: MIT */
/*
 * batches.c - data whose batch size is known only at run time. The function
 * declares its input as f32[?,3]: one trace serves every size, and a call that
 * does not match is rejected before it runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tgjit.h>

static void check(bool went_well)
{
    if (went_well)
        return;
    fprintf(stderr, "%s\n", tg_error(NULL));
    exit(1);
}

/* Subtracts the mean of the rows; returns the rows and the mean. */
static void centre(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value mean = tg_mean(in[0], TG_AXES(0));
    tg_return(t, tg_sub(in[0], mean), mean);
}

/* Calls f with the first `n` rows of the data. */
static void feed(tg_context *ctx, tg_function *f, float *data, int64_t n)
{
    tg_tensor *x = tg_tensor_wrap(ctx, data, TG_F32, TG_DIMS(n, 3));
    tg_tensor *rows = NULL, *mean = NULL;
    check(x);
    check(!tg_call(f, TG_ARGS(x), TG_RESULTS(&rows, &mean)));

    const float *m = tg_tensor_data(mean);
    const float *last = (const float *)tg_tensor_data(rows) + (n - 1) * 3;
    printf("batch of %lld: mean [%g %g %g], last row [%g %g %g]\n",
           (long long)n, (double)m[0], (double)m[1], (double)m[2],
           (double)last[0], (double)last[1], (double)last[2]);
    tg_tensor_release(mean);
    tg_tensor_release(rows);
    tg_tensor_release(x);
}

int main(void)
{
    tg_context *ctx = tg_context_create(NULL);
    check(ctx);
    const tg_spec signature[] = {
        tg_spec_tensor(TG_F32, TG_DIMS(TG_UNKNOWN, 3)),
    };
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.signature = signature;
    options.n_signature = 1;
    tg_function *f = tg_function_create(ctx, centre, NULL, &options);
    check(f);

    float data[8 * 3];
    for (int i = 0; i < 8 * 3; i++)
        data[i] = (float)i;
    feed(ctx, f, data, 4);
    feed(ctx, f, data, 1);
    feed(ctx, f, data, 8);
    feed(ctx, f, data, 3); /* the last batch is often shorter */
    printf("traces: %zu\n", tg_function_trace_count(f));

    tg_tensor *wide = tg_tensor_wrap(ctx, data, TG_F32, TG_DIMS(2, 4));
    check(wide);
    if (tg_call(f, TG_ARGS(wide), TG_RESULTS()) == TG_ERROR_SIGNATURE)
        printf("refused: %s\n", tg_error(ctx));

    tg_tensor_release(wide);
    tg_function_release(f);
    tg_context_release(ctx);
    return 0;
}
