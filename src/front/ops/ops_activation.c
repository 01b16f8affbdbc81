/* SPDX-License-Identifier: MIT */
/*
 * ops_activation.c - activation functions.
 *
 * A function that is defined by cases computes both and selects one. The case
 * that is not selected must stay finite, because its derivative is multiplied
 * by a gradient of 0: exponentials of negative numbers take min(x, 0).
 */
#include "tgjit/ops_activation.h"

#include "front/ops/ops_formula.h"

/* -- Without parameters ---------------------------------------------------- */

static tgi_ref clamp_between(tgi_builder *b, tgi_ref x, double low, double high)
{
    tgi_ref least = tgi_build_number_like(b, x, low);
    tgi_ref most = tgi_build_number_like(b, x, high);
    return MIN(MAX(x, least), most);
}

FORMULA_1(relu6, NUM)
{
    return clamp_between(b, X, 0, 6);
}

FORMULA_1(softsign, FLOAT)
{
    return DIV(X, ADD(K(1), ABS(X)));
}

FORMULA_1(log_sigmoid, FLOAT)
{
    return NEG(SOFTPLUS(NEG(X)));
}

/* x/2 * (1 + tanh(y)) is x * sigmoid(2 y), which keeps the accuracy of small
   results. */
FORMULA_1(gelu_tanh, FLOAT)
{
    tgi_ref y = FMA(MUL(MUL(X, X), X), K(0.044715), X);
    return MUL(X, SIGMOID(MUL(y, K(1.5957691216057308)))); /* 2 sqrt(2/pi) */
}

FORMULA_1(mish, FLOAT)
{
    return MUL(X, TANH(SOFTPLUS(X)));
}

FORMULA_1(hard_swish, FLOAT)
{
    return MUL(X, clamp_between(b, FMA(X, K(1.0 / 6), K(0.5)), 0, 1));
}

/* -- Linear for positive x ------------------------------------------------- */

static tgi_ref is_positive(tgi_builder *b, tgi_ref x)
{
    return LT(tgi_build_number_like(b, x, 0), x);
}

FORMULA_2(leaky_relu, NUM)
{
    return SELECT(is_positive(b, X), X, MUL(Y, X));
}

FORMULA_2(prelu, NUM)
{
    return build_leaky_relu(b, in);
}

FORMULA_2(elu, FLOAT)
{
    return SELECT(is_positive(b, X), X, MUL(Y, EXPM1(MIN(X, K(0)))));
}

FORMULA_2(celu, FLOAT)
{
    tgi_ref scaled = DIV(MIN(X, K(0)), Y);
    return SELECT(is_positive(b, X), X, MUL(Y, EXPM1(scaled)));
}

FORMULA_1(selu, FLOAT)
{
    const double alpha = 1.6732632423543772, scale = 1.0507009873554805;
    tgi_ref negative = MUL(K(alpha * scale), EXPM1(MIN(X, K(0))));
    return SELECT(is_positive(b, X), MUL(K(scale), X), negative);
}

FORMULA_2(thresholded_relu, NUM)
{
    return SELECT(LT(Y, X), X, K(0));
}

/* -- Piecewise linear ------------------------------------------------------ */

FORMULA_3(hard_sigmoid, FLOAT)
{
    return clamp_between(b, ADD(MUL(Y, X), Z), 0, 1);
}

FORMULA_3(shrink, FLOAT)
{
    tgi_ref above = SELECT(LT(Y, X), SUB(X, Z), K(0));
    return SELECT(LT(X, NEG(Y)), ADD(X, Z), above);
}
