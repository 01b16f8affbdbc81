/* SPDX-License-Identifier: MIT */
/*
 * recipe_arc.h - the inverses of sine, cosine and tangent.
 *
 * Every result is base + t + t z P(z): the base is 0, pi/2 or pi, and t is
 * small, so that one odd polynomial suffices. If t is a root or a quotient, f32
 * includes its low part.
 *
 *   asin   |x| <= 1/2: t = x; else pi/2 - 2 asin(sqrt((1 - |x|) / 2))
 *   acos   pi/2 - asin(x); outside 1/2 the same root, from 0 or from pi
 *   atan   |x| <= 1: t = x; else pi/2 + atan(-1 / x)
 *   atan2  likewise from 0, pi/2 or pi, with a quotient of the operands
 *
 * The polynomials are minimax (fpminimax) with the term t fixed.
 *
 * docs/NUMERICS.md has the error bounds. Longer searches found 0.95 ulp for
 * atan2 in f32 (10^8 pairs), and in f64 1.71 for asin, 1.19 for acos, 1.39 for
 * atan, 1.76 for atan2.
 */

/* base + low + t + t z p, where |t| <= base or base is 0. f32 includes the
   rounding error of base + t. */
PART(VALUE, arc, VALUE base, VALUE low, VALUE t, VALUE z, VALUE p)
{
    VALUE cube = MUL(t, z);
#if IS(F32)
    VALUE sum = ADD(base, t);
    VALUE error = ADD(ADD(SUB(base, sum), t), low);
    return ADD(sum, FMA(cube, p, error));
#else
    return ADD(base, ADD(t, FMA(cube, p, low)));
#endif
}

/* -- Arc sine and cosine --------------------------------------------------- */

/* (asin(t) - t) / t³ as a polynomial in z = t², |t| <= 1/2. */
PART(VALUE, arc_sine_poly, VALUE z)
{
#if IS(F32)
    VALUE p = FMA(z, K(0x1.5959aap-5), K(0x1.8c415ap-6));
    p = FMA(z, p, K(0x1.747b72p-5));
    p = FMA(z, p, K(0x1.330206p-4));
    return FMA(z, p, K(0x1.5555c8p-3));
#else
    VALUE p = FMA(z, K(0x1.056d6c813a1d3p-5), K(-0x1.09d32833a132cp-6));
    p = FMA(z, p, K(0x1.3ff4a990b2acep-6));
    p = FMA(z, p, K(0x1.abcf5cd7c4303p-8));
    p = FMA(z, p, K(0x1.8ec2fca60444ep-7));
    p = FMA(z, p, K(0x1.c6fdc1aaa5332p-7));
    p = FMA(z, p, K(0x1.1c6be1a687738p-6));
    p = FMA(z, p, K(0x1.6e89f440197a7p-6));
    p = FMA(z, p, K(0x1.f1c72c38fb342p-6));
    p = FMA(z, p, K(0x1.6db6db427a4f8p-5));
    p = FMA(z, p, K(0x1.333333336e80fp-4));
    return FMA(z, p, K(0x1.555555555539p-3));
#endif
}

#if IS(F32)
/*
 * The low part of t = ±2 root, root = sqrt(z): (z - root²) 2 / t. It need not
 * be exact: 2 / t is computed from the bits of t, with an error of 13 %, the
 * sign of t, and a finite value for zeros.
 */
PART(VALUE, root_low, VALUE z, VALUE root, VALUE t)
{
    VALUE quotient = FLOAT_OF(ISUB(KI(0x7f7311c3), BITS_OF(t)));
    return MUL(FMA(NEG(root), root, z), quotient);
}
#endif

RECIPE_1(ASIN, x)
{
    VALUE magnitude = FABS(x);
    MASK large = LT(K(0.5), magnitude);
    VALUE half = FMA(magnitude, K(-0.5), K(0.5));
    VALUE root = SQRT(half);
    VALUE t = MUL(root, K(-2));
    VALUE low = K(HALF_PI_LOW);
#if IS(F32)
    low = ADD(low, USE(root_low, half, root, t));
#endif
    VALUE base = SELECT(large, K(HALF_PI), K(0));
    low = SELECT(large, low, K(0));
    t = SELECT(large, t, magnitude);
    VALUE z = SELECT(large, half, MUL(magnitude, magnitude));
    VALUE y = USE(arc, base, low, t, z, USE(arc_sine_poly, z));
    return USE(with_sign_of, y, x);
}

RECIPE_1(ACOS, x)
{
    VALUE magnitude = FABS(x);
    MASK large = LT(K(0.5), magnitude);
    MASK is_negative = SIGN_BIT(x);
    VALUE half = FMA(magnitude, K(-0.5), K(0.5));
    VALUE root = SQRT(half);
    VALUE t = USE(with_sign_of, MUL(root, K(2)), x);
    VALUE base = SELECT(is_negative, K(2 * HALF_PI), K(0));
    VALUE low = SELECT(is_negative, K(2 * HALF_PI_LOW), K(0));
#if IS(F32)
    low = ADD(low, USE(root_low, half, root, t));
#endif
    base = SELECT(large, base, K(HALF_PI));
    low = SELECT(large, low, K(HALF_PI_LOW));
    t = SELECT(large, t, NEG(x));
    VALUE z = SELECT(large, half, MUL(magnitude, magnitude));
    return USE(arc, base, low, t, z, USE(arc_sine_poly, z));
}

/* -- Arc tangent ----------------------------------------------------------- */

/* (atan(t) - t) / t³ as a polynomial in z = t², |t| <= 1. */
PART(VALUE, arc_tangent_poly, VALUE z)
{
#if IS(F32)
    VALUE p = FMA(z, K(-0x1.d5a1aap-10), K(0x1.6551e2p-7));
    p = FMA(z, p, K(-0x1.fe7d24p-6));
    p = FMA(z, p, K(0x1.da9c2ep-5));
    p = FMA(z, p, K(-0x1.5825f2p-4));
    p = FMA(z, p, K(0x1.c0946cp-4));
    p = FMA(z, p, K(-0x1.24211ap-3));
    p = FMA(z, p, K(0x1.9991ecp-3));
    return FMA(z, p, K(-0x1.55553ep-2));
#else
    VALUE p = FMA(z, K(-0x1.53e5cb5e42c72p-16), K(0x1.d3bb13b9ffe05p-13));
    p = FMA(z, p, K(-0x1.312a40638c9d2p-10));
    p = FMA(z, p, K(0x1.f96cc8f3ae8b9p-9));
    p = FMA(z, p, K(-0x1.2cf76cb907955p-7));
    p = FMA(z, p, K(0x1.162c3e16e5d3cp-6));
    p = FMA(z, p, K(-0x1.a726a99345dc8p-6));
    p = FMA(z, p, K(0x1.1715db2c3a348p-5));
    p = FMA(z, p, K(-0x1.4f4521e146e27p-5));
    p = FMA(z, p, K(0x1.7ee3f636cd4b1p-5));
    p = FMA(z, p, K(-0x1.ad32ba50e22b2p-5));
    p = FMA(z, p, K(0x1.e178173659c8dp-5));
    p = FMA(z, p, K(-0x1.11089d02eab29p-4));
    p = FMA(z, p, K(0x1.3b12b2e8e4254p-4));
    p = FMA(z, p, K(-0x1.745d0231054c7p-4));
    p = FMA(z, p, K(0x1.c71c709e19f73p-4));
    p = FMA(z, p, K(-0x1.2492491fa2135p-3));
    p = FMA(z, p, K(0x1.999999998411p-3));
    return FMA(z, p, K(-0x1.555555555544cp-2));
#endif
}

/*
 * base + low + atan(t). In f32 the polynomial is so large that
 * ratio = atan(t) / t needs its rounding error; the product with t is exact.
 */
PART(VALUE, arc_tangent, VALUE base, VALUE low, VALUE t)
{
    VALUE z = MUL(t, t);
    VALUE p = USE(arc_tangent_poly, z);
#if IS(F32)
    VALUE ratio = FMA(z, p, K(1));
    VALUE ratio_low = FMA(z, p, SUB(K(1), ratio));
    VALUE sum = FMA(t, ratio, base);
    VALUE error = ADD(FMA(t, ratio, SUB(base, sum)), low);
    return ADD(sum, FMA(t, ratio_low, error));
#else
    return ADD(base, ADD(t, FMA(MUL(t, z), p, low)));
#endif
}

/* The low part of -1 / x is its remainder divided by -x; where it matters, its
   weight in the result is about one half. For Inf it is omitted. */
RECIPE_1(ATAN, x)
{
    VALUE magnitude = FABS(x);
    MASK large = LT(K(1), magnitude);
    VALUE t = DIV(SELECT(large, K(-1), magnitude),
                  SELECT(large, magnitude, K(1)));
    VALUE base = SELECT(large, K(HALF_PI), K(0));
#if IS(F32)
    VALUE low = FMA(FMA(t, magnitude, K(1)), K(-0.47), K(HALF_PI_LOW));
    low = SELECT(LT(t, K(-0x1p-40)), low, K(0));
#else
    VALUE low = SELECT(large, K(HALF_PI_LOW), K(0));
#endif
    return USE(with_sign_of, USE(arc_tangent, base, low, t), x);
}

/*
 * |y| <= |x|: t = |y| / x, base 0 or pi; else t = -x / |y|, base pi/2. In both
 * cases the sign of x gives t the right sign. Two zeros count as 0 / 1.
 *
 * f32: the low part of t is its remainder divided by the denominator; its
 * weight in the result is 1 / (1 + z), approximated by 0.65. For tiny t it is
 * omitted. Small operands are scaled so that the remainder is exact; a zero
 * denominator becomes tiny.
 */
RECIPE_2(ATAN2, y, x)
{
    VALUE width = FABS(x);
    VALUE height = FABS(y);
    MASK is_flat = LE(height, width);
    MASK is_negative = SIGN_BIT(x);
    VALUE numerator = SELECT(is_flat, height, NEG(x));
    VALUE denominator = SELECT(is_flat, x, height);
    VALUE base = SELECT(is_flat, SELECT(is_negative, K(2 * HALF_PI), K(0)),
                        K(HALF_PI));
    VALUE low = SELECT(is_flat, SELECT(is_negative, K(2 * HALF_PI_LOW), K(0)),
                       K(HALF_PI_LOW));
#if IS(F32)
    VALUE scale = SELECT(LT(FABS(denominator), K(1)), K(0x1p64), K(1));
    numerator = MUL(numerator, scale);
    denominator = FMA(denominator, scale, K(0x1p-140));
    VALUE t = DIV(numerator, denominator);
    VALUE remainder = FMA(NEG(t), denominator, numerator);
    VALUE correction = DIV(MUL(remainder, K(0.65)), denominator);
    low = ADD(low, SELECT(LT(K(0x1p-20), FABS(t)), correction, K(0)));
#else
    VALUE t = DIV(numerator, SELECT(EQ(denominator, K(0)), K(1), denominator));
#endif
    VALUE angle = USE(arc_tangent, base, low, t);
    VALUE diagonal = SELECT(is_negative, K(0x1.2d97c7f3321d2p1),
                            K(0x1.921fb54442d18p-1));
    MASK both_infinite = MASK_AND(is_flat, EQ(height, K(INFINITY)));
    angle = SELECT(both_infinite, diagonal, angle);
    return USE(with_sign_of, angle, y);
}
