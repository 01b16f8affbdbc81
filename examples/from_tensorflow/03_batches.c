/* SPDX-License-Identifier: MIT */
/*
 * 03_batches.c - the batches of a dataset pass through two functions.
 * The last batch is short; the second trace serves every batch size.
 */
#include "../check.h"

/* Subtracts the mean of the batch. */
static void centre(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_sub(in[0], tg_mean(in[0], TG_AXES(0))));
}

static void energy(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_sum(tg_square(in[0]), TG_ALL_AXES));
}

int main(void)
{
    float data[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    TG_AUTO(tg_function) f = tg_function_create(ctx, centre, NULL, NULL);
    TG_AUTO(tg_function) g = tg_function_create(ctx, energy, NULL, NULL);
    TG_AUTO(tg_tensor) all = tg_tensor_wrap(ctx, data, TG_F32, TG_DIMS(10));
    TG_AUTO(tg_dataset) batches = tg_dataset_batch(
        tg_dataset_from(ctx, TG_ARGS(all)), 4, TG_KEEP_REMAINDER);
    TG_AUTO(tg_iterator) it = tg_iterate(batches);
    TG_AUTO(tg_tensor) batch = NULL;
    TG_AUTO(tg_tensor) centred = NULL;
    check(ctx && f && g && all && it);

    tg_status status;
    while ((status = tg_next(it, TG_RESULTS(&batch))) == TG_OK) {
        float e;
        check(!tg_call(f, TG_ARGS(batch), TG_RESULTS(TG_FRESH(&centred))));
        check(!tg_call(g, TG_ARGS(centred), TG_RESULTS(&e)));
        printf("%s: energy %g\n", tg_tensor_text(centred), (double)e);
    }
    check(status == TG_END_OF_DATA); /* or an element could not be made */
    printf("traces: %zu, %zu\n", tg_function_trace_count(f),
           tg_function_trace_count(g));
}
