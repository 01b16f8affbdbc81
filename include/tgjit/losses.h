/* SPDX-License-Identifier: MIT */
/*
 * losses.h - loss functions. tg_softmax_cross_entropy (ops_nn.h) and
 * tg_sigmoid_cross_entropy return one loss per row or element, for weighting
 * and masking; tg_mean(loss, TG_ALL_AXES) reduces them. The other losses are
 * scalars.
 */
#ifndef TGJIT_LOSSES_H
#define TGJIT_LOSSES_H

#include "ops.h"

TG_BEGIN_DECLS

/*
 * Cross-entropy of sigmoid(logits) against labels, elementwise:
 * log(1 + exp(x)) - x * label, accurate for large |x|. Labels have the shape of
 * the logits. Float labels have their dtype and are probabilities; bool and
 * integer labels are classes 0 and 1.
 */
TG_API tg_value tg_sigmoid_cross_entropy_at(tg_operand logits,
                                            tg_operand labels, tg_site site);

/*
 * Means over all elements of a function of d = predictions - targets, which
 * have one float dtype and one shape: nothing broadcasts.
 *
 *     mean_squared_error   d * d
 *     mean_absolute_error  |d|                      (L1)
 *     huber_loss           d * d / 2                if |d| <= delta,
 *                          delta * (|d| - delta/2)  else; delta > 0
 */
TG_API tg_value tg_mean_squared_error_at(tg_operand predictions,
                                         tg_operand targets, tg_site site);
TG_API tg_value tg_mean_absolute_error_at(tg_operand predictions,
                                          tg_operand targets, tg_site site);
TG_API tg_value tg_huber_loss_at(tg_operand predictions, tg_operand targets,
                                 double delta, tg_site site);

/* -- Classes --------------------------------------------------------------- */

typedef enum tg_loss_reduction {
    TG_LOSS_MEAN, /* sum of the losses / sum of their weights */
    TG_LOSS_SUM,
    TG_LOSS_NONE /* one loss per row */
} tg_loss_reduction;

typedef struct tg_class_loss_options {
    size_t struct_bytes; /* set by the macros */
    tg_loss_reduction reduction;
    bool ignores_label; /* rows with the label `ignored_label` do not count */
    int64_t ignored_label;
    bool takes_log_probabilities; /* instead of logits */
} tg_class_loss_options;

/*
 * -weights[label] * log_softmax(scores)[label] over the last axis, reduced.
 * Labels are integers and lack that axis. `weights` is a vector, by class, of
 * the dtype of the scores; NULL: all 1. A label out of range has weight 0.
 */
TG_API tg_value tg_class_loss_at(tg_operand scores, tg_operand labels,
                                 const tg_operand *weights,
                                 const tg_class_loss_options *options,
                                 tg_site site);

TG_END_DECLS

#ifndef __cplusplus
#define TG_CLASS_LOSS_OPTIONS_(...) \
    &(const tg_class_loss_options) \
    { \
        .struct_bytes = sizeof(tg_class_loss_options), __VA_ARGS__ \
    }
#define tg_class_loss(scores, labels, ...) \
    tg_class_loss_at(TG_IN(scores), TG_IN(labels), NULL, \
                     TG_CLASS_LOSS_OPTIONS_(__VA_ARGS__), TG_HERE)
#define tg_weighted_class_loss(scores, labels, weights, ...) \
    tg_class_loss_at(TG_IN(scores), TG_IN(labels), \
                     (const tg_operand[]){TG_IN(weights)}, \
                     TG_CLASS_LOSS_OPTIONS_(__VA_ARGS__), TG_HERE)
#define tg_sigmoid_cross_entropy(logits, labels) \
    TG_OP_2(tg_sigmoid_cross_entropy_at, logits, labels)
#define tg_mean_squared_error(predictions, targets) \
    TG_OP_2(tg_mean_squared_error_at, predictions, targets)
#define tg_mean_absolute_error(predictions, targets) \
    TG_OP_2(tg_mean_absolute_error_at, predictions, targets)
#define tg_huber_loss(predictions, targets, delta) \
    tg_huber_loss_at(TG_IN(predictions), TG_IN(targets), delta, TG_HERE)
#else
TG_DEFINE_OP_2(sigmoid_cross_entropy)
TG_DEFINE_OP_2(mean_squared_error)
TG_DEFINE_OP_2(mean_absolute_error)
inline tg_value tg_huber_loss(tg_in predictions, tg_in targets, double delta,
                              tg_site site = TG_HERE)
{
    return tg_huber_loss_at(predictions, targets, delta, site);
}
inline tg_value tg_class_loss(tg_in scores, tg_in labels,
                              tg_class_loss_options options = {},
                              tg_site site = TG_HERE)
{
    options.struct_bytes = sizeof(options);
    return tg_class_loss_at(scores, labels, nullptr, &options, site);
}
inline tg_value tg_weighted_class_loss(tg_in scores, tg_in labels,
                                       tg_in weights,
                                       tg_class_loss_options options = {},
                                       tg_site site = TG_HERE)
{
    const tg_operand operand = weights;
    options.struct_bytes = sizeof(options);
    return tg_class_loss_at(scores, labels, &operand, &options, site);
}
#endif

#endif /* TGJIT_LOSSES_H */
