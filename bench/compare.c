/* SPDX-License-Identifier: MIT */
/*
 * compare.c - see compare.h.
 */
#include "compare.h"

#include <math.h>
#include <string.h>

static double number_at(const void *data, tg_dtype dtype, int64_t i)
{
    return dtype == TG_F64 ? ((const double *)data)[i]
                           : (double)((const float *)data)[i];
}

static bool mismatch(const void *got, const void *expected, tg_dtype dtype,
                     int64_t i, reason *out_why)
{
    const double a = number_at(got, dtype, i);
    const double b = number_at(expected, dtype, i);
    reason_set(out_why, "element %lld is %.17g (%a), not %.17g (%a)",
               (long long)i, a, a, b, b);
    return false;
}

bool compare_bits(const void *got, const void *expected, tg_dtype dtype,
                 int64_t count, reason *out_why)
{
    const size_t bytes = tg_dtype_bytes(dtype);
    if (memcmp(got, expected, bytes * (size_t)count) == 0)
        return true;
    for (int64_t i = 0; i < count; i++) {
        const size_t at = bytes * (size_t)i;
        if (memcmp((const char *)got + at, (const char *)expected + at,
                   bytes) != 0 &&
            !(isnan(number_at(got, dtype, i)) &&
              isnan(number_at(expected, dtype, i))))
            return mismatch(got, expected, dtype, i, out_why);
    }
    return true;
}

bool compare_near(const void *got, const void *expected, tg_dtype dtype,
                 int64_t count, double absolute, double relative,
                 reason *out_why)
{
    for (int64_t i = 0; i < count; i++) {
        const double a = number_at(got, dtype, i);
        const double b = number_at(expected, dtype, i);
        /* Written so that a NaN fails. */
        if (!(fabs(a - b) <= absolute + relative * fabs(b)))
            return mismatch(got, expected, dtype, i, out_why);
    }
    return true;
}
