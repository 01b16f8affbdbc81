/* SPDX-License-Identifier: MIT */
/*
 * gradient_unary.c - gradient rules of elementwise operations with one
 * operand. Where the value gives the derivative as well as the operand does,
 * it is the value: that is what later operations keep anyway.
 */
#include <math.h>

#include "gradient/gradient_primitives.h"

/* The derivative, by which the gradient is multiplied. */
#define DERIVATIVE(name, derivative) \
    RULE(name) \
    { \
        return PART(0, MUL(G, derivative)); \
    }

/* Where a quotient of the gradient rounds less. */
#define WHOLE(name, part) \
    RULE(name) \
    { \
        return PART(0, part); \
    }

WHOLE(neg, NEG(G))
DERIVATIVE(abs, SIGN(X)) /* at 0: 0 */

/* -- Roots, powers, logarithms --------------------------------------------- */

WHOLE(sqrt, DIV(MUL(K(0.5), G), Y))
DERIVATIVE(rsqrt, MUL(MUL(K(-0.5), Y), MUL(Y, Y)))
WHOLE(cbrt, DIV(G, MUL(K(3), MUL(Y, Y))))
DERIVATIVE(exp, Y)
DERIVATIVE(exp2, MUL(K(M_LN2), Y))
DERIVATIVE(expm1, EXP(X)) /* y + 1 has no digits left where y is near -1 */
WHOLE(log, DIV(G, X))
WHOLE(log2, DIV(MUL(K(M_LOG2E), G), X))
WHOLE(log10, DIV(MUL(K(M_LOG10E), G), X))
WHOLE(log1p, DIV(G, ADD(K(1), X)))

/* -- Circular and hyperbolic functions ------------------------------------- */

/* 1 - x*x as a product: exact where x is near 1, and 1 - y*y in one rounding,
   which is so too. */
#define ONE_MINUS_X_SQUARED MUL(SUB(K(1), X), ADD(K(1), X))
#define ONE_MINUS_Y_SQUARED FMA(NEG(Y), Y, K(1))

DERIVATIVE(sin, COS(X))
DERIVATIVE(cos, NEG(SIN(X)))
DERIVATIVE(tan, FMA(Y, Y, K(1)))
DERIVATIVE(asin, RSQRT(ONE_MINUS_X_SQUARED))
DERIVATIVE(acos, NEG(RSQRT(ONE_MINUS_X_SQUARED)))
WHOLE(atan, DIV(G, FMA(X, X, K(1))))
DERIVATIVE(sinh, COSH(X))
DERIVATIVE(cosh, SINH(X))
DERIVATIVE(tanh, ONE_MINUS_Y_SQUARED)
WHOLE(asinh, DIV(G, HYPOT(X, K(1)))) /* x*x may overflow */
WHOLE(acosh, DIV(G, MUL(SQRT(SUB(X, K(1))), SQRT(ADD(X, K(1))))))
WHOLE(atanh, DIV(G, ONE_MINUS_X_SQUARED))

/* -- Error function and activations ---------------------------------------- */

/* The density of the normal distribution, and what lies below x. */
#define DENSITY(x) \
    MUL(K(M_2_SQRTPI * M_SQRT1_2 / 2), EXP(MUL(MUL(K(-0.5), x), x)))
#define BELOW(x) MUL(K(0.5), ERFC(MUL(K(-M_SQRT1_2), x)))

DERIVATIVE(erf, MUL(K(M_2_SQRTPI), EXP(NEG(MUL(X, X)))))
DERIVATIVE(erfc, MUL(K(-M_2_SQRTPI), EXP(NEG(MUL(X, X)))))
DERIVATIVE(sigmoid, FMA(NEG(Y), Y, Y))
DERIVATIVE(silu, MUL(SIGMOID(X), FMA(X, SUB(K(1), SIGMOID(X)), K(1))))
DERIVATIVE(softplus, SIGMOID(X))
DERIVATIVE(gelu, FMA(X, DENSITY(X), BELOW(X)))

/* -- Element types --------------------------------------------------------- */

WHOLE(cast, tgi_build_cast(rule->b, G, tgi_rule_node(rule, 0)->dtype))
