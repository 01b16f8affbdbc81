/* SPDX-License-Identifier: MIT */
/*
 * ops_activation.h - activation functions, composed of the operations of ops.h.
 * tg_sigmoid, tg_silu, tg_softplus, tg_gelu and tg_tanh are operations
 * themselves; tg_relu is in ops_nn.h.
 *
 * Parameters are operands: plain numbers, or values that broadcast with x. NaN
 * gives NaN, unless stated otherwise. The gradient at a kink is that of the
 * case that the function is computed by there.
 */
#ifndef TGJIT_OPS_ACTIVATION_H
#define TGJIT_OPS_ACTIVATION_H

#include "ops.h"

/* X1, X2 and X3 receive the names of those with one, two and three operands. */
#define TG_ACTIVATIONS(X1, X2, X3) \
    X1(relu6)       /* min(max(x, 0), 6) */ \
    X1(softsign)    /* x / (1 + |x|) */ \
    X1(log_sigmoid) /* -log(1 + exp(-x)) */ \
    X1(selu)        /* s * (x if x > 0, else a * (exp(x) - 1)), with the */ \
                    /* a and s for which it normalises itself */ \
    X1(gelu_tanh)   /* x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))) */ \
    X1(mish)        /* x * tanh(log(1 + exp(x))) */ \
    X1(hard_swish)  /* x * min(max(x/6 + 1/2, 0), 1) */ \
    X2(leaky_relu)  /* x if x > 0, else b * x */ \
    X2(prelu)       /* the same; b is a parameter to be learned */ \
    X2(elu)         /* x if x > 0, else b * (exp(x) - 1) */ \
    X2(celu)        /* x if x > 0, else b * (exp(x / b) - 1) */ \
    X2(thresholded_relu) /* x if x > b, else 0; 0 for NaN */ \
    X3(hard_sigmoid) /* min(max(b * x + c, 0), 1) */ \
    X3(shrink)      /* x + c if x < -b; x - c if x > b; else 0, also NaN */

TG_BEGIN_DECLS

TG_ACTIVATIONS(TG_DECLARE_OP_1, TG_DECLARE_OP_2, TG_DECLARE_OP_3)

TG_END_DECLS

#ifndef __cplusplus
#define tg_relu6(x) TG_OP_1(tg_relu6_at, x)
#define tg_softsign(x) TG_OP_1(tg_softsign_at, x)
#define tg_log_sigmoid(x) TG_OP_1(tg_log_sigmoid_at, x)
#define tg_selu(x) TG_OP_1(tg_selu_at, x)
#define tg_gelu_tanh(x) TG_OP_1(tg_gelu_tanh_at, x)
#define tg_mish(x) TG_OP_1(tg_mish_at, x)
#define tg_hard_swish(x) TG_OP_1(tg_hard_swish_at, x)
#define tg_leaky_relu(x, slope) TG_OP_2(tg_leaky_relu_at, x, slope)
#define tg_prelu(x, slope) TG_OP_2(tg_prelu_at, x, slope)
#define tg_elu(x, alpha) TG_OP_2(tg_elu_at, x, alpha)
#define tg_celu(x, alpha) TG_OP_2(tg_celu_at, x, alpha)
#define tg_thresholded_relu(x, threshold) \
    TG_OP_2(tg_thresholded_relu_at, x, threshold)
#define tg_hard_sigmoid(x, slope, offset) \
    TG_OP_3(tg_hard_sigmoid_at, x, slope, offset)
#define tg_shrink(x, threshold, offset) \
    TG_OP_3(tg_shrink_at, x, threshold, offset)
#else
TG_ACTIVATIONS(TG_DEFINE_OP_1, TG_DEFINE_OP_2, TG_DEFINE_OP_3)
#endif

#endif /* TGJIT_OPS_ACTIVATION_H */
