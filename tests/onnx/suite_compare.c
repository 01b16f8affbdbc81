/* SPDX-License-Identifier: MIT */
/* suite_compare.c - compares tensors. */
#include <math.h>
#include <string.h>

#include "onnx/onnx_suite.h"

static double element(const tg_tensor *x, int64_t i)
{
    switch (tg_tensor_dtype(x)) {
#define CASE(name, type, dtype) \
    case dtype: \
        return (double)TG_TO_DOUBLE(((const type *)tg_tensor_data(x))[i]);
        TG_TENSOR_TYPES(CASE)
#undef CASE
    default:
        return (double)NAN;
    }
}

bool suite_is_equal(const tg_tensor *x, const tg_tensor *expected,
                    double relative, double absolute)
{
    const int rank = tg_tensor_rank(x);
    const size_t size = tg_dtype_bytes(tg_tensor_dtype(x));
    if (tg_tensor_dtype(x) != tg_tensor_dtype(expected) ||
        rank != tg_tensor_rank(expected) ||
        (rank && memcmp(tg_tensor_dims(x), tg_tensor_dims(expected),
                        (size_t)rank * sizeof(int64_t))))
        return false;
    for (int64_t i = 0; i < tg_tensor_count(x); i++) {
        const char *p = (const char *)tg_tensor_data(x) + (size_t)i * size;
        const char *q =
            (const char *)tg_tensor_data(expected) + (size_t)i * size;
        if (!memcmp(p, q, size))
            continue;
        const double a = element(x, i), b = element(expected, i);
        if (isnan(a) && isnan(b))
            continue;
        if (!(fabs(a - b) <= absolute + relative * fabs(b)) ||
            (relative == 0 && absolute == 0) || isinf(b))
            return false;
    }
    return true;
}
