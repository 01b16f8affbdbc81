/* SPDX-License-Identifier: MIT */
/*
 * ops_sort.h - sorting as part of other operations.
 */
#ifndef TGI_OPS_SORT_H
#define TGI_OPS_SORT_H

#include "front/trace/trace_state.h"

/*
 * The positions (i64) that sort every row of x [rows, n], stably; 0 on error.
 * Records operations on the current trace.
 */
tgi_ref tgi_build_argsort_rows(tgi_operation *o, tgi_ref x, bool is_descending);

/* The positions that sort x along a valid axis. */
tgi_ref tgi_build_argsort(tgi_operation *o, tgi_ref x, int axis,
                          bool is_descending);

/* The axes of the mask merged into one, the last, and the others before it. */
tgi_ref tgi_build_merge_axes_last(tgi_builder *b, tgi_ref x, uint64_t mask);

/* A reduction of those over the last axis, which is absent: with axes of extent
   1 in place of the axes of the mask, if `keeps`. */
tgi_ref tgi_build_keep_axes(tgi_builder *b, tgi_ref reduced, tgi_ref x,
                            uint64_t mask, bool keeps);

#endif /* TGI_OPS_SORT_H */
