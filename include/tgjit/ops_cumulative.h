/* SPDX-License-Identifier: MIT */
/*
 * ops_cumulative.h - sums, products and linear recurrences along an axis.
 * Elements are combined in order, one rounding each.
 */
#ifndef TGJIT_OPS_CUMULATIVE_H
#define TGJIT_OPS_CUMULATIVE_H

#include "ops.h"

TG_BEGIN_DECLS

typedef enum tg_cumulative_flags {
    TG_CUMULATIVE_PLAIN = 0,
    TG_CUMULATIVE_EXCLUSIVE = 1, /* element i of the result without x[i] */
    TG_CUMULATIVE_REVERSE = 2    /* from the last element to the first */
} tg_cumulative_flags;

/* x[0] + … + x[i], and x[0] * … * x[i]. */
TG_API tg_value tg_cumsum_at(tg_operand x, int axis, unsigned flags,
                             tg_site site);
TG_API tg_value tg_cumprod_at(tg_operand x, int axis, unsigned flags,
                              tg_site site);
/* h[i] = a[i] * h[i-1] + b[i], where the element before the first is 1 if
   starts_at_one, else 0 (for floats -0). a and b broadcast. */
TG_API tg_value tg_linear_scan_at(tg_operand a, tg_operand b, int axis,
                                  bool starts_at_one, tg_site site);

TG_END_DECLS

#ifndef __cplusplus
#define tg_cumsum(x, axis) \
    tg_cumsum_at(TG_IN(x), axis, TG_CUMULATIVE_PLAIN, TG_HERE)
#define tg_cumsum_with(x, axis, flags) \
    tg_cumsum_at(TG_IN(x), axis, flags, TG_HERE)
#define tg_cumprod(x, axis) \
    tg_cumprod_at(TG_IN(x), axis, TG_CUMULATIVE_PLAIN, TG_HERE)
#define tg_cumprod_with(x, axis, flags) \
    tg_cumprod_at(TG_IN(x), axis, flags, TG_HERE)
#define tg_linear_scan(a, b, axis, starts_at_one) \
    tg_linear_scan_at(TG_IN(a), TG_IN(b), axis, starts_at_one, TG_HERE)
#else
inline tg_value tg_cumsum(tg_in x, int axis, tg_site site = TG_HERE)
{
    return tg_cumsum_at(x, axis, TG_CUMULATIVE_PLAIN, site);
}
inline tg_value tg_cumsum_with(tg_in x, int axis, unsigned flags,
                               tg_site site = TG_HERE)
{
    return tg_cumsum_at(x, axis, flags, site);
}
inline tg_value tg_cumprod(tg_in x, int axis, tg_site site = TG_HERE)
{
    return tg_cumprod_at(x, axis, TG_CUMULATIVE_PLAIN, site);
}
inline tg_value tg_cumprod_with(tg_in x, int axis, unsigned flags,
                                tg_site site = TG_HERE)
{
    return tg_cumprod_at(x, axis, flags, site);
}
inline tg_value tg_linear_scan(tg_in a, tg_in b, int axis, bool starts_at_one,
                               tg_site site = TG_HERE)
{
    return tg_linear_scan_at(a, b, axis, starts_at_one, site);
}
#endif

#endif /* TGJIT_OPS_CUMULATIVE_H */
