/* SPDX-License-Identifier: MIT */
/*
 * checked.c - overflow-checked sizes of shapes.
 */
#include "base/checked.h"

/* Number of elements, with extents of 0 counted as 1. */
static bool nonzero_count(int rank, const int64_t *dims, int64_t *out_count)
{
    *out_count = 1;
    for (int axis = 0; axis < rank; axis++) {
        const int64_t extent = dims[axis] == 0 ? 1 : dims[axis];
        if (extent < 0 || !tgi_checked_mul(*out_count, extent, out_count))
            return false;
    }
    return true;
}

bool tgi_checked_bytes(int rank, const int64_t *dims, int64_t element_bytes,
                       int64_t *out_bytes)
{
    if (!nonzero_count(rank, dims, out_bytes) ||
        !tgi_checked_mul(*out_bytes, element_bytes, out_bytes))
        return false;
    for (int axis = 0; axis < rank; axis++)
        if (dims[axis] == 0)
            *out_bytes = 0;
    return true;
}

bool tgi_checked_count(int rank, const int64_t *dims, int64_t *out_count)
{
    return tgi_checked_bytes(rank, dims, 1, out_count);
}
