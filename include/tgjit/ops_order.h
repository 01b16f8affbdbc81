/* SPDX-License-Identifier: MIT */
/*
 * ops_order.h - sorting and what follows from it, composed of the operations of
 * ops.h.
 *
 * The order of floats is total: -0 < +0, and every NaN is larger than all
 * numbers. Sorting is stable: equal elements keep their order, also when
 * descending. Gradients flow to the elements that are selected.
 *
 * Rows of up to 64 elements are sorted by comparing all pairs, longer ones and
 * those of unknown length by radix: one pass per byte of an element. A pass needs
 * a table of 4 counters per element (more for rows of less than 256), of 4 bytes
 * each, or of 8 if extents are unknown.
 */
#ifndef TGJIT_OPS_ORDER_H
#define TGJIT_OPS_ORDER_H

#include "ops.h"

TG_BEGIN_DECLS

typedef enum tg_sort_flags {
    TG_SORT_ASCENDING = 0,
    TG_SORT_DESCENDING = 1 /* NaN first */
} tg_sort_flags;

/* The elements along an axis in order. */
TG_API tg_value tg_sort_at(tg_operand x, int axis, unsigned flags,
                           tg_site site);
/* The positions along the axis (i64) of the elements in order. */
TG_API tg_value tg_argsort_at(tg_operand x, int axis, unsigned flags,
                              tg_site site);

/*
 * The first k elements in order along an axis, which has at least as many; and
 * their positions (i64), unless out_indices is NULL. Returns the elements.
 */
TG_API tg_value tg_top_k_at(tg_operand x, int64_t k, int axis, unsigned flags,
                            tg_value *out_indices, tg_site site);

/* Results of tg_unique. */
typedef struct tg_unique_results {
    tg_value values;  /* ascending; then zeros. [max_count] */
    tg_value counts;  /* how often each occurs (i64); then 0. [max_count] */
    tg_value indices; /* the first position of each in x, flattened (i64); then
                         -1. [max_count] */
    tg_value inverse; /* the position in `values` of every element of x (i64),
                         shaped like x; -1 beyond max_count */
    tg_value n;       /* the number of different elements (i64 scalar), which
                         may exceed max_count */
} tg_unique_results;

/* The different elements of x. NaNs count as equal, and so do -0 and +0: the
   first of them in x is kept. */
TG_API tg_unique_results tg_unique_at(tg_operand x, int64_t max_count,
                                      tg_site site);

/* Which number a quantile is that lies between two elements. */
typedef enum tg_quantile_mode {
    TG_QUANTILE_LINEAR,  /* a + (b - a) * fraction */
    TG_QUANTILE_LOWER,   /* a */
    TG_QUANTILE_HIGHER,  /* b */
    TG_QUANTILE_MIDPOINT /* (a + b) / 2 */
} tg_quantile_mode;

/*
 * The number at position q * (n - 1) of the n elements of the axes in ascending
 * order, 0 <= q <= 1; and that for q = 0.5. NaN if any element is. Float
 * dtypes; an empty axis is an error.
 */
TG_API tg_value tg_quantile_at(tg_operand x, double q, tg_axes axes,
                               tg_quantile_mode mode, tg_site site);
TG_API tg_value tg_median_at(tg_operand x, tg_axes axes, tg_site site);

TG_END_DECLS

#ifndef __cplusplus
#define tg_sort(x, axis) tg_sort_at(TG_IN(x), axis, TG_SORT_ASCENDING, TG_HERE)
#define tg_sort_with(x, axis, flags) tg_sort_at(TG_IN(x), axis, flags, TG_HERE)
#define tg_argsort(x, axis) \
    tg_argsort_at(TG_IN(x), axis, TG_SORT_ASCENDING, TG_HERE)
#define tg_argsort_with(x, axis, flags) \
    tg_argsort_at(TG_IN(x), axis, flags, TG_HERE)
/* The k largest; NaN counts as largest. */
#define tg_top_k(x, k, axis, out_indices) \
    tg_top_k_at(TG_IN(x), k, axis, TG_SORT_DESCENDING, out_indices, TG_HERE)
#define tg_top_k_with(x, k, axis, flags, out_indices) \
    tg_top_k_at(TG_IN(x), k, axis, flags, out_indices, TG_HERE)
#define tg_unique(x, max_count) tg_unique_at(TG_IN(x), max_count, TG_HERE)
#define tg_quantile(x, q, axes) \
    tg_quantile_at(TG_IN(x), q, axes, TG_QUANTILE_LINEAR, TG_HERE)
#define tg_quantile_with(x, q, axes, mode) \
    tg_quantile_at(TG_IN(x), q, axes, mode, TG_HERE)
#define tg_median(x, axes) tg_median_at(TG_IN(x), axes, TG_HERE)
#else
inline tg_value tg_sort(tg_in x, int axis, tg_site site = TG_HERE)
{
    return tg_sort_at(x, axis, TG_SORT_ASCENDING, site);
}
inline tg_value tg_sort_with(tg_in x, int axis, unsigned flags,
                             tg_site site = TG_HERE)
{
    return tg_sort_at(x, axis, flags, site);
}
inline tg_value tg_argsort(tg_in x, int axis, tg_site site = TG_HERE)
{
    return tg_argsort_at(x, axis, TG_SORT_ASCENDING, site);
}
inline tg_value tg_argsort_with(tg_in x, int axis, unsigned flags,
                                tg_site site = TG_HERE)
{
    return tg_argsort_at(x, axis, flags, site);
}
inline tg_value tg_top_k(tg_in x, int64_t k, int axis, tg_value *out_indices,
                         tg_site site = TG_HERE)
{
    return tg_top_k_at(x, k, axis, TG_SORT_DESCENDING, out_indices, site);
}
inline tg_value tg_top_k_with(tg_in x, int64_t k, int axis, unsigned flags,
                              tg_value *out_indices, tg_site site = TG_HERE)
{
    return tg_top_k_at(x, k, axis, flags, out_indices, site);
}
inline tg_unique_results tg_unique(tg_in x, int64_t max_count,
                                   tg_site site = TG_HERE)
{
    return tg_unique_at(x, max_count, site);
}
inline tg_value tg_quantile(tg_in x, double q, tg_axes axes,
                            tg_site site = TG_HERE)
{
    return tg_quantile_at(x, q, axes, TG_QUANTILE_LINEAR, site);
}
inline tg_value tg_quantile_with(tg_in x, double q, tg_axes axes,
                                 tg_quantile_mode mode, tg_site site = TG_HERE)
{
    return tg_quantile_at(x, q, axes, mode, site);
}
TG_DEFINE_REDUCTION(median)
#endif

#endif /* TGJIT_OPS_ORDER_H */
