/* SPDX-License-Identifier: MIT */
/*
 * ops_index.h - elements selected by several indices, by one index per element,
 * or by a condition; composed of tg_gather and tg_scatter. Indices are
 * integers; negative ones are out of range.
 */
#ifndef TGJIT_OPS_INDEX_H
#define TGJIT_OPS_INDEX_H

#include "ops.h"

TG_BEGIN_DECLS

/* -- Several indices ------------------------------------------------------- */

/*
 * The last axis of `indices` holds the positions along the axes of x that
 * follow the first `n_batch` ones, which x and indices have in common. Returns
 * the elements, or slices of the remaining axes, in place of that last axis.
 */
TG_API tg_value tg_gather_nd_at(tg_operand x, tg_operand indices, int n_batch,
                                tg_gather_mode mode, tg_site site);

/*
 * Returns x with the elements or slices that tg_gather_nd(x, indices, 0) would
 * select replaced by, or combined with, `updates`, in row-major order of the
 * indices.
 */
TG_API tg_value tg_scatter_nd_at(tg_operand x, tg_operand indices,
                                 tg_operand updates, tg_scatter_mode mode,
                                 tg_scatter_range range, tg_site site);

/* -- One index per element ------------------------------------------------- */

/*
 * The element of x at the position that `indices` gives along `axis`, and at
 * the own position along all other axes. x and indices have equal ranks; the
 * other extents of indices are at most those of x.
 */
TG_API tg_value tg_take_along_axis_at(tg_operand x, tg_operand indices,
                                      int axis, tg_gather_mode mode,
                                      tg_site site);

/* Returns x with those elements replaced by, or combined with, `updates`, which
   has the shape of the indices. */
TG_API tg_value tg_put_along_axis_at(tg_operand x, tg_operand indices,
                                     tg_operand updates, int axis,
                                     tg_scatter_mode mode,
                                     tg_scatter_range range, tg_site site);

/* -- Conditions ------------------------------------------------------------ */

/* The number of elements that are not 0, as i64; NaN is not 0. */
TG_API tg_value tg_count_nonzero_at(tg_operand x, tg_axes axes, tg_site site);

/*
 * The positions of the elements that are not 0, in row-major order: i64
 * [max_count, rank]. Rows that are left over are -1, which is out of range for
 * every gather and scatter; positions beyond max_count are dropped.
 * tg_count_nonzero(x, TG_ALL_AXES) tells how many there are.
 */
TG_API tg_value tg_nonzero_at(tg_operand x, int64_t max_count, tg_site site);

/*
 * The slices of x along `axis` where the vector `condition` is not 0, in order,
 * followed by zeros up to the extent max_count. Slices beyond it are dropped.
 */
TG_API tg_value tg_compress_at(tg_operand x, tg_operand condition, int axis,
                               int64_t max_count, tg_site site);

TG_END_DECLS

#ifndef __cplusplus
#define tg_gather_nd(x, indices, n_batch) \
    tg_gather_nd_with(x, indices, n_batch, TG_GATHER_CHECK)
#define tg_gather_nd_with(x, indices, n_batch, mode) \
    tg_gather_nd_at(TG_IN(x), TG_IN(indices), n_batch, mode, TG_HERE)
#define tg_scatter_nd(x, indices, updates, mode) \
    tg_scatter_nd_with(x, indices, updates, mode, TG_SCATTER_CHECK)
#define tg_scatter_nd_with(x, indices, updates, mode, range) \
    tg_scatter_nd_at(TG_IN(x), TG_IN(indices), TG_IN(updates), mode, range, \
                     TG_HERE)
#define tg_take_along_axis(x, indices, axis) \
    tg_take_along_axis_with(x, indices, axis, TG_GATHER_CHECK)
#define tg_take_along_axis_with(x, indices, axis, mode) \
    tg_take_along_axis_at(TG_IN(x), TG_IN(indices), axis, mode, TG_HERE)
#define tg_put_along_axis(x, indices, updates, axis, mode) \
    tg_put_along_axis_with(x, indices, updates, axis, mode, TG_SCATTER_CHECK)
#define tg_put_along_axis_with(x, indices, updates, axis, mode, range) \
    tg_put_along_axis_at(TG_IN(x), TG_IN(indices), TG_IN(updates), axis, mode, \
                         range, TG_HERE)
#define tg_count_nonzero(x, axes) tg_count_nonzero_at(TG_IN(x), axes, TG_HERE)
#define tg_nonzero(x, max_count) tg_nonzero_at(TG_IN(x), max_count, TG_HERE)
#define tg_compress(x, condition, axis, max_count) \
    tg_compress_at(TG_IN(x), TG_IN(condition), axis, max_count, TG_HERE)
#else
inline tg_value tg_gather_nd(tg_in x, tg_in indices, int n_batch,
                             tg_site site = TG_HERE)
{
    return tg_gather_nd_at(x, indices, n_batch, TG_GATHER_CHECK, site);
}
inline tg_value tg_gather_nd_with(tg_in x, tg_in indices, int n_batch,
                                  tg_gather_mode mode, tg_site site = TG_HERE)
{
    return tg_gather_nd_at(x, indices, n_batch, mode, site);
}
inline tg_value tg_scatter_nd(tg_in x, tg_in indices, tg_in updates,
                              tg_scatter_mode mode, tg_site site = TG_HERE)
{
    return tg_scatter_nd_at(x, indices, updates, mode, TG_SCATTER_CHECK, site);
}
inline tg_value tg_scatter_nd_with(tg_in x, tg_in indices, tg_in updates,
                                   tg_scatter_mode mode, tg_scatter_range range,
                                   tg_site site = TG_HERE)
{
    return tg_scatter_nd_at(x, indices, updates, mode, range, site);
}
inline tg_value tg_take_along_axis(tg_in x, tg_in indices, int axis,
                                   tg_site site = TG_HERE)
{
    return tg_take_along_axis_at(x, indices, axis, TG_GATHER_CHECK, site);
}
inline tg_value tg_take_along_axis_with(tg_in x, tg_in indices, int axis,
                                        tg_gather_mode mode,
                                        tg_site site = TG_HERE)
{
    return tg_take_along_axis_at(x, indices, axis, mode, site);
}
inline tg_value tg_put_along_axis(tg_in x, tg_in indices, tg_in updates,
                                  int axis, tg_scatter_mode mode,
                                  tg_site site = TG_HERE)
{
    return tg_put_along_axis_at(x, indices, updates, axis, mode,
                                TG_SCATTER_CHECK, site);
}
inline tg_value tg_put_along_axis_with(tg_in x, tg_in indices, tg_in updates,
                                       int axis, tg_scatter_mode mode,
                                       tg_scatter_range range,
                                       tg_site site = TG_HERE)
{
    return tg_put_along_axis_at(x, indices, updates, axis, mode, range, site);
}
TG_DEFINE_REDUCTION(count_nonzero)
inline tg_value tg_nonzero(tg_in x, int64_t max_count, tg_site site = TG_HERE)
{
    return tg_nonzero_at(x, max_count, site);
}
inline tg_value tg_compress(tg_in x, tg_in condition, int axis,
                            int64_t max_count, tg_site site = TG_HERE)
{
    return tg_compress_at(x, condition, axis, max_count, site);
}
#endif

#endif /* TGJIT_OPS_INDEX_H */
