/* SPDX-License-Identifier: MIT */
/*
 * gradient_unary.c - gradient rules of elementwise operations with one operand.
 * If the derivative can be expressed by the result as well as by the operand,
 * the rule uses the result, which later operations usually save anyway.
 */
#include <math.h>

#include "gradient/gradient_primitives.h"

/* The rule multiplies the gradient by the derivative. */
#define DERIVATIVE(name, derivative) \
    RULE(name) \
    { \
        return ADD_GRADIENT(0, MUL(G, derivative)); \
    }

/* The rule gives the gradient itself, for instance where a quotient rounds
   less. */
#define GRADIENT(name, gradient) \
    RULE(name) \
    { \
        return ADD_GRADIENT(0, gradient); \
    }

GRADIENT(neg, NEG(G))
DERIVATIVE(abs, SIGN(X)) /* 0 at 0 */

/* -- Roots, powers, logarithms --------------------------------------------- */

GRADIENT(sqrt, DIV(MUL(K(0.5), G), Y))
DERIVATIVE(rsqrt, MUL(MUL(K(-0.5), Y), MUL(Y, Y)))
GRADIENT(cbrt, DIV(G, MUL(K(3), MUL(Y, Y))))
DERIVATIVE(exp, Y)
DERIVATIVE(exp2, MUL(K(M_LN2), Y))
DERIVATIVE(expm1, EXP(X)) /* y + 1 cancels where y is near -1 */
GRADIENT(log, DIV(G, X))
GRADIENT(log_fast, DIV(G, X))
#define LOG2_GRADIENT DIV(MUL(K(M_LOG2E), G), X)
#define LOG10_GRADIENT DIV(MUL(K(M_LOG10E), G), X)
GRADIENT(log2, LOG2_GRADIENT)
GRADIENT(log2_fast, LOG2_GRADIENT)
GRADIENT(log10, LOG10_GRADIENT)
GRADIENT(log10_fast, LOG10_GRADIENT)
GRADIENT(log1p, DIV(G, ADD(K(1), X)))

/* -- Circular and hyperbolic functions ------------------------------------- */

/* 1 - x*x as a product is accurate for x near 1, as is 1 - y*y with one
   rounding. */
#define ONE_MINUS_X_SQUARED MUL(SUB(K(1), X), ADD(K(1), X))
#define ONE_MINUS_Y_SQUARED FMA(NEG(Y), Y, K(1))

DERIVATIVE(sin, COS(X))
DERIVATIVE(sin_fast, COS_FAST(X))
DERIVATIVE(cos, NEG(SIN(X)))
DERIVATIVE(cos_fast, NEG(SIN_FAST(X)))
DERIVATIVE(tan, FMA(Y, Y, K(1)))
DERIVATIVE(tan_fast, FMA(Y, Y, K(1)))
DERIVATIVE(asin, RSQRT(ONE_MINUS_X_SQUARED))
DERIVATIVE(acos, NEG(RSQRT(ONE_MINUS_X_SQUARED)))
GRADIENT(atan, DIV(G, FMA(X, X, K(1))))
GRADIENT(atan_fast, DIV(G, FMA(X, X, K(1))))
DERIVATIVE(sinh, COSH(X))
DERIVATIVE(cosh, SINH(X))
DERIVATIVE(tanh, ONE_MINUS_Y_SQUARED)
DERIVATIVE(tanh_fast, ONE_MINUS_Y_SQUARED)
GRADIENT(asinh, DIV(G, HYPOT(X, K(1)))) /* x*x may overflow */
GRADIENT(acosh, DIV(G, MUL(SQRT(SUB(X, K(1))), SQRT(ADD(X, K(1))))))
GRADIENT(atanh, DIV(G, ONE_MINUS_X_SQUARED))

/* -- Error function and activations ---------------------------------------- */

/* Density and distribution function of the normal distribution. */
#define NORMAL_PDF(x) \
    MUL(K(M_2_SQRTPI *M_SQRT1_2 / 2), EXP(MUL(MUL(K(-0.5), x), x)))
#define NORMAL_CDF(x) MUL(K(0.5), ERFC(MUL(K(-M_SQRT1_2), x)))

#define NORMAL_CDF_FAST(x) MUL(K(0.5), ERFC_FAST(MUL(K(-M_SQRT1_2), x)))

#define ERF_DERIVATIVE MUL(K(M_2_SQRTPI), EXP(NEG(MUL(X, X))))
#define ERFC_DERIVATIVE MUL(K(-M_2_SQRTPI), EXP(NEG(MUL(X, X))))
#define SILU_DERIVATIVE(OF) MUL(OF(X), FMA(X, SUB(K(1), OF(X)), K(1)))

DERIVATIVE(erf, ERF_DERIVATIVE)
DERIVATIVE(erf_fast, ERF_DERIVATIVE)
DERIVATIVE(erfc, ERFC_DERIVATIVE)
DERIVATIVE(erfc_fast, ERFC_DERIVATIVE)
DERIVATIVE(sigmoid, FMA(NEG(Y), Y, Y))
DERIVATIVE(sigmoid_fast, FMA(NEG(Y), Y, Y))
DERIVATIVE(silu, SILU_DERIVATIVE(SIGMOID))
DERIVATIVE(silu_fast, SILU_DERIVATIVE(SIGMOID_FAST))
DERIVATIVE(softplus, SIGMOID(X))
DERIVATIVE(gelu, FMA(X, NORMAL_PDF(X), NORMAL_CDF(X)))
DERIVATIVE(gelu_fast, FMA(X, NORMAL_PDF(X), NORMAL_CDF_FAST(X)))

/* -- Dtypes ---------------------------------------------------------------- */

GRADIENT(cast, tgi_build_cast(rule->b, G, tgi_rule_node(rule, 0)->dtype))
