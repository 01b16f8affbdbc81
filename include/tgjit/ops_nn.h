/* SPDX-License-Identifier: MIT */
/*
 * ops_nn.h - neural-network functions, composed of the operations of ops.h.
 */
#ifndef TGJIT_OPS_NN_H
#define TGJIT_OPS_NN_H

#include "ops.h"

TG_BEGIN_DECLS

/* max(x, 0); propagates NaN. */
TG_API tg_value tg_relu_at(tg_operand x, tg_site site);
/* e * (1 / sum(e)) along `axis`, which may be empty, where
   e = exp(x - max(x)). */
TG_API tg_value tg_softmax_at(tg_operand x, int axis, tg_site site);
/* d - log(sum(exp(d))) along `axis`, which may be empty, where
   d = x - max(x). */
TG_API tg_value tg_log_softmax_at(tg_operand x, int axis, tg_site site);
/*
 * (x - mean) * rsqrt(variance + epsilon) * scale + shift, along the last axis.
 */
TG_API tg_value tg_layer_norm_at(tg_operand x, tg_operand scale,
                                 tg_operand shift, double epsilon,
                                 tg_site site);

/*
 * Softmax cross-entropy of logits against labels, reduced over the last axis.
 * Labels of the type and shape of the logits are weights: the result is
 * -sum(labels * log_softmax(logits)). Integer labels lack the last axis and are
 * class indices: the result is -log_softmax(logits) at that index. An index out
 * of range, such as -1, contributes loss and gradient 0.
 */
TG_API tg_value tg_softmax_cross_entropy_at(tg_operand logits,
                                            tg_operand labels, tg_site site);

TG_END_DECLS

#ifndef __cplusplus
#define tg_relu(x) TG_OP_1(tg_relu_at, x)
#define tg_softmax(x, axis) tg_softmax_at(TG_IN(x), axis, TG_HERE)
#define tg_log_softmax(x, axis) tg_log_softmax_at(TG_IN(x), axis, TG_HERE)
#define tg_layer_norm(x, scale, shift, epsilon) \
    tg_layer_norm_at(TG_IN(x), TG_IN(scale), TG_IN(shift), epsilon, TG_HERE)
#define tg_softmax_cross_entropy(logits, labels) \
    TG_OP_2(tg_softmax_cross_entropy_at, logits, labels)
#else
TG_DEFINE_OP_1(relu)
TG_DEFINE_OP_2(softmax_cross_entropy)
TG_DEFINE_BY_AXIS(softmax)
TG_DEFINE_BY_AXIS(log_softmax)
inline tg_value tg_layer_norm(tg_in x, tg_in scale, tg_in shift,
                              double epsilon, tg_site site = TG_HERE)
{
    return tg_layer_norm_at(x, scale, shift, epsilon, site);
}
#endif

#endif /* TGJIT_OPS_NN_H */
