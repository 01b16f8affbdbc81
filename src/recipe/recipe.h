/* SPDX-License-Identifier: MIT */
/*
 * recipe.h - the computation of every elementwise op and every reduction step,
 * written once for all back ends. Included once per element type, after a
 * header that defines the primitives (scalar.h lists them).
 *
 * Rules for recipes:
 *   - only primitives, local VALUEs and MASKs, and one return at the end. No C
 *     operators and no branches: a code generator executes the text to emit
 *     code;
 *   - primitives have preconditions (DIV by 0, shifts past the width): replace
 *     the offending operand first, then SELECT the result. A shift may be
 *     written as an arm of the SELECT instead;
 *   - a row of op.def needs a recipe for each class it takes; kernel tables are
 *     generated from the rows, so a missing recipe does not compile.
 */

/* -- All types ------------------------------------------------------------- */

RECIPE_1(STOP, x)
{
    return x;
}

RECIPE_3_SELECT(SELECT, m, a, b)
{
    return SELECT(m, a, b);
}

/* -- All but halves -------------------------------------------------------- */

#if TAKES(ANY)

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

#endif

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

/* x + -0 is x for every x, but -0 + +0 is +0. */
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

/* Only floats have unordered values. */
RECIPE_2(MIN, a, b)
{
    return SELECT(LT(a, b), a, b);
}

RECIPE_2(MAX, a, b)
{
    return SELECT(LT(a, b), b, a);
}

/* True if x replaces the best element so far. */
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

/* Division by -1 is NEG, which wraps where the quotient overflows. */
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
    VALUE remainder = REM(a, SELECT(MASK_OR(by_zero, negates), K(1), b));
    return SELECT(by_zero, a, remainder);
}

RECIPE_2(SHL, a, b)
{
    MASK fits = MASK_AND(LE(K(0), b), LT(b, K(WIDTH)));
    return SELECT(fits, SHL(a, b), K(0));
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

/* K(-1) is all ones. */
RECIPE_2(DIV, a, b)
{
    MASK by_zero = EQ(b, K(0));
    VALUE quotient = DIV(a, SELECT(by_zero, K(1), b));
    return SELECT(by_zero, K(-1), quotient);
}

RECIPE_2(REM, a, b)
{
    MASK by_zero = EQ(b, K(0));
    VALUE remainder = REM(a, SELECT(by_zero, K(1), b));
    return SELECT(by_zero, a, remainder);
}

RECIPE_2(SHL, a, b)
{
    MASK fits = LT(b, K(WIDTH));
    return SELECT(fits, SHL(a, b), K(0));
}

RECIPE_2(SHR, a, b)
{
    MASK fits = LT(b, K(WIDTH));
    return SELECT(fits, SHR(a, b), K(0));
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

RECIPE_2(DIV, a, b)
{
    return DIV(a, b);
}

/* If a and b are equal, the sign bit distinguishes -0 from +0. The NaN returned
   does not depend on the operand that was NaN. */
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

/* The first NaN replaces any number and is never replaced; zeros are equal. */
RECIPE_2_MASK(ARGMAX, best, x)
{
    return MASK_AND(EQ(best, best), MASK_OR(LT(best, x), NE(x, x)));
}

RECIPE_2_MASK(ARGMIN, best, x)
{
    return MASK_AND(EQ(best, best), MASK_OR(LT(x, best), NE(x, x)));
}

#include "recipe/recipe_half.h"
#include "recipe/recipe_math.h"

#endif

/* -- All but halves, using the recipes above ------------------------------- */

#if TAKES(ANY)

RECIPE_2(REDUCE_MAX, largest, x)
{
    return USE_2(MAX, largest, x);
}

RECIPE_2(REDUCE_MIN, smallest, x)
{
    return USE_2(MIN, smallest, x);
}

/* Only of maxima that cancel: users' empty reductions of these ops are
   rejected. */
RECIPE_EMPTY(REDUCE_MAX)
{
    return K(0);
}

RECIPE_EMPTY(REDUCE_MIN)
{
    return K(0);
}

#endif
