/* SPDX-License-Identifier: MIT */
/*
 * ops_statistics.h - spread of data and quality of classifiers, composed of the
 * operations of ops.h.
 */
#ifndef TGJIT_OPS_STATISTICS_H
#define TGJIT_OPS_STATISTICS_H

#include "ops.h"

TG_BEGIN_DECLS

/*
 * Variance and standard deviation: sum((x - mean(x))^2) / (n - correction), in
 * two passes over the n reduced elements, and its square root. Correction 0 is
 * the variance of the data, 1 the unbiased estimate from a sample. The result
 * is NaN or infinite if n <= correction. The gradient of tg_std is NaN where
 * the deviation is 0. Float dtypes.
 */
TG_API tg_value tg_var_at(tg_operand x, tg_axes axes, int correction,
                          tg_site site);
TG_API tg_value tg_std_at(tg_operand x, tg_axes axes, int correction,
                          tg_site site);

/*
 * The fraction of rows of `scores` whose first maximum is at the position that
 * `labels` (integers, without the last axis) gives: an f32 scalar, NaN for zero
 * rows.
 */
TG_API tg_value tg_accuracy_at(tg_operand scores, tg_operand labels,
                               tg_site site);

/*
 * Counts, i64 [n_classes, n_classes]: element [i, k] is the number of elements
 * with label i and prediction k. Both operands are integers of one shape. A
 * pair with a class out of range is not counted.
 */
TG_API tg_value tg_confusion_matrix_at(tg_operand labels,
                                       tg_operand predictions,
                                       int64_t n_classes, tg_site site);

TG_END_DECLS

#ifndef __cplusplus
#define tg_var(x, axes, correction) \
    tg_var_at(TG_IN(x), axes, correction, TG_HERE)
#define tg_std(x, axes, correction) \
    tg_std_at(TG_IN(x), axes, correction, TG_HERE)
#define tg_accuracy(scores, labels) TG_OP_2(tg_accuracy_at, scores, labels)
#define tg_confusion_matrix(labels, predictions, n_classes) \
    tg_confusion_matrix_at(TG_IN(labels), TG_IN(predictions), n_classes, \
                           TG_HERE)
#else
inline tg_value tg_var(tg_in x, tg_axes axes, int correction,
                       tg_site site = TG_HERE)
{
    return tg_var_at(x, axes, correction, site);
}
inline tg_value tg_std(tg_in x, tg_axes axes, int correction,
                       tg_site site = TG_HERE)
{
    return tg_std_at(x, axes, correction, site);
}
TG_DEFINE_OP_2(accuracy)
inline tg_value tg_confusion_matrix(tg_in labels, tg_in predictions,
                                    int64_t n_classes, tg_site site = TG_HERE)
{
    return tg_confusion_matrix_at(labels, predictions, n_classes, site);
}
#endif

#endif /* TGJIT_OPS_STATISTICS_H */
