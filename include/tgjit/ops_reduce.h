/* SPDX-License-Identifier: MIT */
/*
 * ops_reduce.h - reductions composed of those of ops.h. tg_keep(axes) retains
 * the axes with extent 1.
 */
#ifndef TGJIT_OPS_REDUCE_H
#define TGJIT_OPS_REDUCE_H

#include "ops.h"

TG_BEGIN_DECLS

/* Float dtypes. */

/* log(sum(exp(x))) without overflow; -infinity if all elements are, or if there
   are none. */
TG_API tg_value tg_logsumexp_at(tg_operand x, tg_axes axes, tg_site site);
/* sqrt(sum(x * x)); the gradient is NaN where it is 0. */
TG_API tg_value tg_norm_l2_at(tg_operand x, tg_axes axes, tg_site site);

/* Number dtypes. */

/* sum(|x|) and sum(x * x). */
TG_API tg_value tg_norm_l1_at(tg_operand x, tg_axes axes, tg_site site);
TG_API tg_value tg_sum_square_at(tg_operand x, tg_axes axes, tg_site site);

/* Which of several equal maxima or minima. */
typedef enum tg_arg_select { TG_ARG_FIRST = 0, TG_ARG_LAST = 1 } tg_arg_select;

/*
 * Position (i64) of the maximum or minimum over several axes, in row-major
 * order of these axes; the first or the last NaN wins.
 */
TG_API tg_value tg_argmax_axes_at(tg_operand x, tg_axes axes,
                                  tg_arg_select select, tg_site site);
TG_API tg_value tg_argmin_axes_at(tg_operand x, tg_axes axes,
                                  tg_arg_select select, tg_site site);

TG_END_DECLS

#ifndef __cplusplus
#define tg_logsumexp(x, axes) tg_logsumexp_at(TG_IN(x), axes, TG_HERE)
#define tg_norm_l1(x, axes) tg_norm_l1_at(TG_IN(x), axes, TG_HERE)
#define tg_norm_l2(x, axes) tg_norm_l2_at(TG_IN(x), axes, TG_HERE)
#define tg_sum_square(x, axes) tg_sum_square_at(TG_IN(x), axes, TG_HERE)
#define tg_argmax_axes(x, axes, select) \
    tg_argmax_axes_at(TG_IN(x), axes, select, TG_HERE)
#define tg_argmin_axes(x, axes, select) \
    tg_argmin_axes_at(TG_IN(x), axes, select, TG_HERE)
#else
TG_DEFINE_REDUCTION(logsumexp)
TG_DEFINE_REDUCTION(norm_l1)
TG_DEFINE_REDUCTION(norm_l2)
TG_DEFINE_REDUCTION(sum_square)
inline tg_value tg_argmax_axes(tg_in x, tg_axes axes, tg_arg_select select,
                               tg_site site = TG_HERE)
{
    return tg_argmax_axes_at(x, axes, select, site);
}
inline tg_value tg_argmin_axes(tg_in x, tg_axes axes, tg_arg_select select,
                               tg_site site = TG_HERE)
{
    return tg_argmin_axes_at(x, axes, select, site);
}
#endif

#endif /* TGJIT_OPS_REDUCE_H */
