/* SPDX-License-Identifier: MIT */
/*
 * index_check.h - reads indices of any integer dtype and checks their range,
 * for gather, scatter and dynamic slices.
 */
#ifndef TGI_INDEX_CHECK_H
#define TGI_INDEX_CHECK_H

#include "ir/graph.h"
#include "runtime/view.h"

/* Reads an index as int64_t. An unsigned value that does not fit becomes
   INT64_MAX, which is out of range of any extent. */
typedef int64_t tgi_read_index(const char *element);

/* The reader of an integer dtype, NULL for other dtypes. */
tgi_read_index *tgi_index_reader(int dtype);

/* Clamps to 0 … extent - 1; 0 if the extent is not positive. */
static inline int64_t tgi_clamp_index(int64_t index, int64_t extent)
{
    return index < 0 || extent < 1 ? 0
           : index >= extent       ? extent - 1
                                   : index;
}

/* Fails for the first index, in row-major order, outside 0 … extent - 1. The
   node's attribute must begin with the axis that the indices refer to. */
tg_status tgi_indices_check(const tgi_node *node, const tgi_view *indices,
                            int64_t extent);

/* Records that the element at `position` of `indices` (row-major) is out of
   range. */
tg_status tgi_indices_fail(const tgi_node *node, const tgi_view *indices,
                           int64_t position, const void *element,
                           int64_t extent);

#endif /* TGI_INDEX_CHECK_H */
