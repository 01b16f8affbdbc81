/* SPDX-License-Identifier: MIT */
/*
 * recipe_math.h - recipes of the functions that are not arithmetic, for float
 * types. All calls of the C library's functions stand here.
 */
RECIPE_1(EXP, x)
{
    return LIBM(exp, x);
}

RECIPE_1(EXP2, x)
{
    return LIBM(exp2, x);
}

RECIPE_1(EXPM1, x)
{
    return LIBM(expm1, x);
}

RECIPE_1(LOG, x)
{
    return LIBM(log, x);
}

RECIPE_1(LOG2, x)
{
    return LIBM(log2, x);
}

RECIPE_1(LOG10, x)
{
    return LIBM(log10, x);
}

RECIPE_1(LOG1P, x)
{
    return LIBM(log1p, x);
}

RECIPE_1(SIN, x)
{
    return LIBM(sin, x);
}

RECIPE_1(COS, x)
{
    return LIBM(cos, x);
}

RECIPE_1(TAN, x)
{
    return LIBM(tan, x);
}

RECIPE_1(ASIN, x)
{
    return LIBM(asin, x);
}

RECIPE_1(ACOS, x)
{
    return LIBM(acos, x);
}

RECIPE_1(ATAN, x)
{
    return LIBM(atan, x);
}

RECIPE_1(TANH, x)
{
    return LIBM(tanh, x);
}

RECIPE_1(ERF, x)
{
    return LIBM(erf, x);
}

RECIPE_2(POW, a, b)
{
    return LIBM(pow, a, b);
}

RECIPE_2(HYPOT, a, b)
{
    return LIBM(hypot, a, b);
}
