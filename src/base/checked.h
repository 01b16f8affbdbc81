/* SPDX-License-Identifier: MIT */
/*
 * checked.h - arithmetic on extents that cannot wrap: every product and sum
 * of user-given sizes goes through these.
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

/* Largest integer not above a / b, for b > 0. */
static inline int64_t tgi_floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/*
 * Elements of a shape, and their bytes; false if either does not fit in
 * int64_t (a zero extent elsewhere does not excuse an overflow).
 */
bool tgi_checked_count(int rank, const int64_t *dims, int64_t *out_count);
bool tgi_checked_bytes(int rank, const int64_t *dims, int64_t element_bytes,
                       int64_t *out_bytes);

#endif /* TGI_CHECKED_H */
