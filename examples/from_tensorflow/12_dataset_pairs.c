/* SPDX-License-Identifier: MIT */
/*
 * 12_dataset_pairs.c - the elements of a dataset have two components, features
 * and a label. Both are arguments of a function.
 */
#include "../check.h"

static void error_of(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value prediction = tg_sum(in[0], TG_ALL_AXES);
    tg_return(t, tg_sub(prediction, in[1]));
}

int main(void)
{
    float features[] = {1, 2, 3, 4, 5, 6};
    float labels[] = {3, 6, 11};
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    TG_AUTO(tg_function) f = tg_function_create(ctx, error_of, NULL, NULL);
    TG_AUTO(tg_tensor) xs =
        tg_tensor_wrap(ctx, features, TG_F32, TG_DIMS(3, 2));
    TG_AUTO(tg_tensor) ys = tg_tensor_wrap(ctx, labels, TG_F32, TG_DIMS(3));
    TG_AUTO(tg_dataset) pairs = tg_dataset_from(ctx, TG_ARGS(xs, ys));
    TG_AUTO(tg_iterator) it = tg_iterate(pairs);
    TG_AUTO(tg_tensor) x = NULL;
    float y, error;
    check(ctx && f && xs && ys && it);

    tg_status status;
    while ((status = tg_next(it, TG_RESULTS(&x, &y))) == TG_OK) {
        check(!tg_call(f, TG_ARGS(x, y), TG_RESULTS(&error)));
        printf("%s, label %g: error %g\n", tg_tensor_text(x), (double)y,
               (double)error);
    }
    check(status == TG_END_OF_DATA); /* or an element could not be made */
}
