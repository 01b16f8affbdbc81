/* SPDX-License-Identifier: MIT */
/*
 * datasets.h - for tests of datasets.
 */
#ifndef TGI_TEST_DATASETS_H
#define TGI_TEST_DATASETS_H

#include "support/api.h"

/* The i64 scalars 0 … n - 1, n <= 256; NULL when out of memory. */
static inline tg_dataset *count_to(tg_context *ctx, int64_t n)
{
    int64_t data[256];
    cr_assert(n <= 256);
    for (int64_t i = 0; i < n; i++)
        data[i] = i;
    tg_tensor *x = tg_tensor_copy(ctx, data, TG_I64, TG_DIMS(n));
    tg_dataset *d = x ? tg_dataset_from(ctx, TG_ARGS(x)) : NULL;
    tg_tensor_release(x);
    return d;
}

#endif /* TGI_TEST_DATASETS_H */
