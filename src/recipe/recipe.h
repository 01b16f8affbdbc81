/* SPDX-License-Identifier: MIT */
/*
 * recipe.h - what every elementwise op and every step of a reduction computes,
 * written once for all back ends. Included once per element type, after a
 * header that gives meaning to the words used here (scalar.h lists them).
 *
 * What every recipe must obey:
 *   - nothing but those words, local VALUEs and MASKs, and one return at the
 *     end: a back end runs the text to emit code, so no C operator and no
 *     branch may stand here;
 *   - words have preconditions (DIV by 0, shifts past the width): make the
 *     operand harmless first, then SELECT the answer;
 *   - a row of op.def has a recipe for each class it takes; tables of kernels
 *     are made from the rows, so one that is missing does not compile.
 */

/* -- All types ------------------------------------------------------------- */

RECIPE_2_MASK(EQ, a, b)
{
    return EQ(a, b);
}

RECIPE_2_MASK(NE, a, b)
{
    return NE(a, b);
}

RECIPE_2_MASK(LT, a, b)
{
    return LT(a, b);
}

RECIPE_2_MASK(LE, a, b)
{
    return LE(a, b);
}

RECIPE_1(STOP, x)
{
    return x;
}

RECIPE_3_SELECT(SELECT, m, a, b)
{
    return SELECT(m, a, b);
}

/* -- Numbers --------------------------------------------------------------- */

#if TAKES(NUM)

RECIPE_1(NEG, x)
{
    return NEG(x);
}

RECIPE_2(ADD, a, b)
{
    return ADD(a, b);
}

RECIPE_2(SUB, a, b)
{
    return SUB(a, b);
}

RECIPE_2(MUL, a, b)
{
    return MUL(a, b);
}

/* x + -0 is x for every x; +0 would turn -0 into +0. */
RECIPE_START(SUM)
{
    return K(-0.0);
}

RECIPE_EMPTY(SUM)
{
    return K(0);
}

RECIPE_2(SUM, sum, x)
{
    return ADD(sum, x);
}

RECIPE_START(PROD)
{
    return K(1);
}

RECIPE_EMPTY(PROD)
{
    return K(1);
}

RECIPE_2(PROD, product, x)
{
    return MUL(product, x);
}

#endif

/* -- Bits ------------------------------------------------------------------ */

#if TAKES(BITS)

RECIPE_2(AND, a, b)
{
    return AND(a, b);
}

RECIPE_2(OR, a, b)
{
    return OR(a, b);
}

RECIPE_2(XOR, a, b)
{
    return XOR(a, b);
}

/* All but floats have a plain order. */
RECIPE_2(MIN, a, b)
{
    return SELECT(LT(a, b), a, b);
}

RECIPE_2(MAX, a, b)
{
    return SELECT(LT(a, b), b, a);
}

/* True if x takes the place of the best one so far. */
RECIPE_2_MASK(ARGMAX, best, x)
{
    return LT(best, x);
}

RECIPE_2_MASK(ARGMIN, best, x)
{
    return LT(x, best);
}

#endif

#if TAKES(BOOL)

RECIPE_1(NOT, x)
{
    return XOR(x, K(1));
}

RECIPE_START(REDUCE_MAX)
{
    return K(0);
}

RECIPE_START(REDUCE_MIN)
{
    return K(1);
}

#endif

/* -- Integers -------------------------------------------------------------- */

#if TAKES(INT)

RECIPE_1(NOT, x)
{
    return NOT(x);
}

RECIPE_3(MATMUL, a, b, sum)
{
    return ADD(MUL(a, b), sum);
}

#endif

#if TAKES(SINT)

RECIPE_1(ABS, x)
{
    return SELECT(LT(x, K(0)), NEG(x), x);
}

RECIPE_1(SIGN, x)
{
    return SELECT(LT(x, K(0)), K(-1), SELECT(EQ(x, K(0)), K(0), K(1)));
}

/* By -1 is NEG: it wraps where the quotient does not fit. */
RECIPE_2(DIV, a, b)
{
    MASK by_zero = EQ(b, K(0));
    MASK negates = EQ(b, K(-1));
    VALUE quotient = DIV(a, SELECT(MASK_OR(by_zero, negates), K(1), b));
    return SELECT(by_zero, K(-1), SELECT(negates, NEG(a), quotient));
}

RECIPE_2(REM, a, b)
{
    MASK by_zero = EQ(b, K(0));
    MASK negates = EQ(b, K(-1));
    VALUE rest = REM(a, SELECT(MASK_OR(by_zero, negates), K(1), b));
    return SELECT(by_zero, a, rest);
}

RECIPE_2(SHL, a, b)
{
    MASK fits = MASK_AND(LE(K(0), b), LT(b, K(WIDTH)));
    return SELECT(fits, SHL(a, SELECT(fits, b, K(0))), K(0));
}

RECIPE_2(SHR, a, b)
{
    MASK fits = MASK_AND(LE(K(0), b), LT(b, K(WIDTH)));
    return SHR(a, SELECT(fits, b, K(WIDTH - 1)));
}

RECIPE_START(REDUCE_MAX)
{
    return SHL(K(1), K(WIDTH - 1));
}

RECIPE_START(REDUCE_MIN)
{
    return NOT(SHL(K(1), K(WIDTH - 1)));
}

#endif

#if TAKES(UINT)

RECIPE_1(ABS, x)
{
    return x;
}

RECIPE_1(SIGN, x)
{
    return SELECT(EQ(x, K(0)), K(0), K(1));
}

/* -1 is all ones here. */
RECIPE_2(DIV, a, b)
{
    MASK by_zero = EQ(b, K(0));
    VALUE quotient = DIV(a, SELECT(by_zero, K(1), b));
    return SELECT(by_zero, K(-1), quotient);
}

RECIPE_2(REM, a, b)
{
    MASK by_zero = EQ(b, K(0));
    VALUE rest = REM(a, SELECT(by_zero, K(1), b));
    return SELECT(by_zero, a, rest);
}

RECIPE_2(SHL, a, b)
{
    MASK fits = LT(b, K(WIDTH));
    return SELECT(fits, SHL(a, SELECT(fits, b, K(0))), K(0));
}

RECIPE_2(SHR, a, b)
{
    MASK fits = LT(b, K(WIDTH));
    return SELECT(fits, SHR(a, SELECT(fits, b, K(0))), K(0));
}

RECIPE_START(REDUCE_MAX)
{
    return K(0);
}

RECIPE_START(REDUCE_MIN)
{
    return K(-1);
}

#endif

/* -- Floats ---------------------------------------------------------------- */

#if TAKES(FLOAT)

RECIPE_1(ABS, x)
{
    return FABS(x);
}

RECIPE_1(SIGN, x)
{
    VALUE sign = SELECT(LT(x, K(0)), K(-1), SELECT(LT(K(0), x), K(1), x));
    return SELECT(EQ(x, x), sign, K(NAN));
}

RECIPE_1(FLOOR, x)
{
    return FLOOR(x);
}

RECIPE_1(CEIL, x)
{
    return CEIL(x);
}

RECIPE_1(ROUND, x)
{
    return ROUND_EVEN(x);
}

RECIPE_1(TRUNC, x)
{
    return TRUNC(x);
}

RECIPE_1(SQRT, x)
{
    return SQRT(x);
}

/*
 * Two roundings, and a step of Newton's that takes away what they make of
 * x y² - 1: the rounding of x y has half its weight there. 0, Inf and NaN turn
 * the step into NaN: then the quotient is right as it is.
 */
RECIPE_1(RSQRT, x)
{
    VALUE y = DIV(K(1), SQRT(x));
    VALUE excess = FMA(MUL(x, y), y, K(-1));
    VALUE better = FMA(MUL(y, K(-0.5)), excess, y);
    return SELECT(EQ(excess, excess), better, y);
}

RECIPE_2(DIV, a, b)
{
    return DIV(a, b);
}

/* Where a and b are equal the sign decides: it tells -0 from +0. A NaN comes
   out the same whichever operand it was. */
RECIPE_2(MIN, a, b)
{
    MASK ordered = MASK_AND(EQ(a, a), EQ(b, b));
    MASK first = MASK_OR(LT(a, b), MASK_AND(EQ(a, b), SIGN_BIT(a)));
    return SELECT(ordered, SELECT(first, a, b), K(NAN));
}

RECIPE_2(MAX, a, b)
{
    MASK ordered = MASK_AND(EQ(a, a), EQ(b, b));
    MASK second = MASK_OR(LT(a, b), MASK_AND(EQ(a, b), SIGN_BIT(a)));
    return SELECT(ordered, SELECT(second, b, a), K(NAN));
}

RECIPE_3(FMA, a, b, c)
{
    return FMA(a, b, c);
}

RECIPE_3(MATMUL, a, b, sum)
{
    return FMA(a, b, sum);
}

RECIPE_START(REDUCE_MAX)
{
    return K(-INFINITY);
}

RECIPE_START(REDUCE_MIN)
{
    return K(INFINITY);
}

/* The first NaN beats all numbers and is never beaten; zeros are equal. */
RECIPE_2_MASK(ARGMAX, best, x)
{
    return MASK_AND(EQ(best, best), MASK_OR(LT(best, x), NE(x, x)));
}

RECIPE_2_MASK(ARGMIN, best, x)
{
    return MASK_AND(EQ(best, best), MASK_OR(LT(x, best), NE(x, x)));
}

#include "recipe/recipe_math.h"

#endif

/* -- All types again: what stands on the above ----------------------------- */

RECIPE_2(REDUCE_MAX, largest, x)
{
    return USE_2(MAX, largest, x);
}

RECIPE_2(REDUCE_MIN, smallest, x)
{
    return USE_2(MIN, smallest, x);
}

/* Never asked for: a graph that might is refused. */
RECIPE_EMPTY(REDUCE_MAX)
{
    return K(0);
}

RECIPE_EMPTY(REDUCE_MIN)
{
    return K(0);
}
