/* SPDX-License-Identifier: MIT */
/*
 * index_check.h - integers of any type as positions on an axis: what the
 * kernels that take indices or a start share.
 */
#ifndef TGI_INDEX_CHECK_H
#define TGI_INDEX_CHECK_H

#include "ir/graph.h"
#include "runtime/view.h"

/* An index as int64_t; what does not fit is past every extent anyway. */
typedef int64_t tgi_read_index(const char *element);

/* Of an integer type; NULL: there is none. */
tgi_read_index *tgi_index_reader(int dtype);

/* The nearest of 0 … extent - 1; of nothing 0. */
static inline int64_t tgi_clamp_index(int64_t index, int64_t extent)
{
    return index < 0 || extent < 1 ? 0
           : index >= extent       ? extent - 1
                                   : index;
}

/* Fails for the first index, in row-major order, that is not in 0 … extent-1
   of the axis a node (its attribute begins with the axis) takes them for. */
tg_status tgi_indices_check(const tgi_node *node, const tgi_view *indices,
                            int64_t extent);

/* Records that an index, the element at a position of `indices`, is out of
   range. */
tg_status tgi_indices_fail(const tgi_node *node, const tgi_view *indices,
                           int64_t position, const void *element,
                           int64_t extent);

#endif /* TGI_INDEX_CHECK_H */
