/* SPDX-License-Identifier: MIT */
/*
 * checked.h - overflow-checked arithmetic, for all products and sums of sizes
 * that users give. False on overflow.
 */
#ifndef TGI_CHECKED_H
#define TGI_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

static inline bool tgi_checked_mul(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static inline bool tgi_checked_add(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

static inline bool tgi_checked_sub(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_sub_overflow(a, b, out);
}

/* floor(a / b), for b > 0. */
static inline int64_t tgi_floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/*
 * Number of elements of a shape, and their bytes; false on overflow. Extents
 * of 0 count as 1 in this test, so an empty shape can overflow too.
 */
bool tgi_checked_count(int rank, const int64_t *dims, int64_t *out_count);
bool tgi_checked_bytes(int rank, const int64_t *dims, int64_t element_bytes,
                       int64_t *out_bytes);

#endif /* TGI_CHECKED_H */
