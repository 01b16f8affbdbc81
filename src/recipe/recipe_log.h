/* SPDX-License-Identifier: MIT */
/*
 * recipe_log.h - recipes of logarithms and of inverse hyperbolic functions.
 *
 * Method: write the argument as 2^e (1 + f), with f exact and 1 + f between
 * 1/√2 and √2 (log1p: 3/4 and 3/2). Then log = e log 2 + log(1 + f), the latter
 * by a polynomial in f (f32) or, as in fdlibm, in (f / (2 + f))² (f64, where
 * the division costs less than the terms it saves). If e is 0 nothing is added,
 * so the relative error is small near 1 as well. Coefficients: fpminimax.
 *
 * Code computes -e, not e: then FMA(+0, -log 2, -0) is -0, which log1p(-0)
 * requires.
 *
 * docs/NUMERICS.md has the error bounds; another 10^7 arguments in f64 had
 * these errors in ulp:
 *            log   log2  log10  log1p  asinh  acosh  atanh
 *     f64   1.33   1.17   0.96   1.57   1.25   1.23   1.23
 * log2 of powers of 2 is exact, and log10 of those powers of 10 that are
 * floats.
 */

/* An octave is -e in the exponent field of a float: adding it to the bits of
   x > 0 gives a value in (top / 2, top]. */
PART(INTEGER, octave, VALUE x, VALUE top)
{
#if IS(F32)
    return IAND(ISUB(BITS_OF(top), BITS_OF(x)), KI(0xff800000));
#else
    return IAND(ISUB(BITS_OF(top), BITS_OF(x)), KI(0xfff0000000000000));
#endif
}

/* An octave as a number: -e + extra, for `from` = NO_OCTAVES + extra. f64 lacks
   a cheap conversion, so the bits become the low bits of a large float. */
#undef NO_OCTAVES
#if IS(F32)
#define NO_OCTAVES 0
#else
#define NO_OCTAVES (-0x1p52 - 2048)
#endif
PART(VALUE, octaves, INTEGER octave, VALUE from)
{
#if IS(F32)
    return FMA(TO_FLOAT(octave), K(0x1p-23), from);
#else
    INTEGER end = ISHR(IADD(octave, KI(0x8000000000000000)), KI(52));
    return ADD(FLOAT_OF(IOR(end, KI(0x4330000000000000))), from);
#endif
}

/* log(1 + f) - f + low. */
PART(VALUE, log_poly, VALUE f, VALUE low)
{
#if IS(F32)
    /* Relative error of log(1 + f) up to 1 + f = 3/2: 2^-29. */
    VALUE p = FMA(f, K(0x1.866494p-5), K(-0x1.ad770ep-4));
    p = FMA(f, p, K(0x1.f3babcp-4));
    p = FMA(f, p, K(-0x1.03245ep-3));
    p = FMA(f, p, K(0x1.22ec02p-3));
    p = FMA(f, p, K(-0x1.5500c2p-3));
    p = FMA(f, p, K(0x1.99a5d4p-3));
    p = FMA(f, p, K(-0x1.000138p-2));
    p = FMA(f, p, K(0x1.555546p-2));
    p = FMA(f, p, K(-0x1.fffffep-2));
    return FMA(MUL(f, f), p, low);
#else
    /* With s = f / (2 + f), it is 2s + s z p(z), z = s², and 2s = f - s f, so
       that f is exact and the other terms are small. Relative error up to
       1 + f = 3/2: 2^-54. */
    VALUE s = DIV(f, ADD(f, K(2)));
    VALUE z = MUL(s, s);
    VALUE p = FMA(z, K(0x1.359528b1b14f5p-3), K(0x1.3903b87daa66fp-3));
    p = FMA(z, p, K(0x1.746bb1111a5d5p-3));
    p = FMA(z, p, K(0x1.c71c3cf8cf592p-3));
    p = FMA(z, p, K(0x1.24924951f27bdp-2));
    p = FMA(z, p, K(0x1.999999997c5f8p-2));
    p = FMA(z, p, K(0x1.555555555556ep-1));
    VALUE half = MUL(MUL(f, K(0.5)), f);
    return ADD(FMA(s, FMA(z, p, half), NEG(half)), low);
#endif
}

/* The result at 0, at infinity and outside the domain, else 0. */
PART(VALUE, log_limit, VALUE x)
{
    VALUE outside = SELECT(EQ(x, K(0)), K(-INFINITY), K(NAN));
    VALUE inside = SELECT(LT(x, K(INFINITY)), K(0), x);
    return SELECT(LT(K(0), x), inside, outside);
}

/* -- Logarithms of x ------------------------------------------------------- */

/* The same of a normal x, and n + from - NO_OCTAVES. f is finite for any bits
   of x. */
PART(VALUE, log_split_normal, VALUE x, VALUE from, VALUE *n)
{
    INTEGER octave = USE(octave, x, K(0x1.6a09e667f3bcdp0));
    *n = USE(octaves, octave, from);
    return SUB(FLOAT_OF(IADD(BITS_OF(x), octave)), K(1));
}

/* Factor of denormals that makes them normal, and its logarithm. */
#undef LIFT
#define LIFT (IS(F32) ? 0x1p23 : 0x1p52)

/*
 * x = 2^-n (1 + f): returns f and n. Denormals are scaled first. Where
 * log_limit is not 0, n is its negative, so that the result becomes that limit
 * without any further operation.
 */
PART(VALUE, log_split, VALUE x, VALUE *n)
{
    VALUE normal = x;
    VALUE from = K(NO_OCTAVES);
    RARELY_2(USE(is_outside, x, 1, FINITE), normal, from,
             normal = MUL(x, K(LIFT));
             from = SUB(K(NO_OCTAVES + MANTISSA), USE(log_limit, x)););
    return USE(log_split_normal, normal, from, n);
}

#undef LOG_2
#if IS(F32)
#define LOG_2 0x1.62e43p-1
#else
#define LOG_2 0x1.62e42fefa39efp-1
#endif
RECIPE_1(LOG, x)
{
    VALUE n;
    VALUE f = USE(log_split, x, &n);
    return FMA(n, K(-LOG_2), USE(log_poly, f, f));
}

/*
 * log2(1 + f) = f unit + (f unit_low + …), where unit + unit_low = 1 / log 2:
 * the product f unit is exact in the last FMA, and the other terms are small.
 * f32 has a separate polynomial for base 2, because one more rounding would
 * exceed the bound just below √2.
 */
RECIPE_1(LOG2, x)
{
    VALUE n;
    VALUE f = USE(log_split, x, &n);
#if IS(F32)
    /* Relative error 2^-30. */
    VALUE unit = K(0x1.715476p0);
    VALUE p = FMA(f, K(0x1.86f59cp-4), K(-0x1.570c7ap-3));
    p = FMA(f, p, K(0x1.603298p-3));
    p = FMA(f, p, K(-0x1.6f0954p-3));
    p = FMA(f, p, K(0x1.a40d22p-3));
    p = FMA(f, p, K(-0x1.ec6f2p-3));
    p = FMA(f, p, K(0x1.277f38p-2));
    p = FMA(f, p, K(-0x1.7154b6p-2));
    p = FMA(f, p, K(0x1.ec7088p-2));
    p = FMA(f, p, K(-0x1.715476p-1));
    VALUE small = FMA(MUL(f, f), p, MUL(f, K(0x1.4ae0cp-26)));
#else
    VALUE unit = K(0x1.71547652b82fep0);
    VALUE unit_low_by_unit = MUL(f, K(0x1.0444d0e734faap-56));
    VALUE small = MUL(USE(log_poly, f, unit_low_by_unit), unit);
#endif
    return SUB(FMA(f, unit, small), n);
}

/* log10(1 + f) = f unit + unit (f unit_low + …), where unit (1 + unit_low) =
   1 / log 10, and log10(2) = -(octave + unit octave_low). */
RECIPE_1(LOG10, x)
{
#if IS(F32)
    VALUE unit = K(0x1.bcb7b2p-2);
    VALUE unit_low = K(-0x1.8fa856p-26);
    VALUE octave = K(-0x1.344136p-2);
    VALUE octave_low = K(0x1.1b417p-25);
#else
    VALUE unit = K(0x1.bcb7b1526e50ep-2);
    VALUE unit_low = K(0x1.d2837125211fbp-56);
    VALUE octave = K(-0x1.34413509f79ffp-2);
    VALUE octave_low = K(0x1.dc5b0a78f8364p-58);
#endif
    /* As log_split, but n is finite, because it occurs with both signs. */
    VALUE normal = x;
    VALUE from = K(NO_OCTAVES);
    VALUE limit = K(0);
    RARELY(USE(is_outside, x, 1, FINITE), normal, from, limit,
           normal = MUL(x, K(LIFT));
           from = K(NO_OCTAVES + MANTISSA);
           limit = USE(log_limit, x););
    VALUE n;
    VALUE f = USE(log_split_normal, normal, from, &n);
    VALUE low = FMA(n, octave_low, MUL(f, unit_low));
    VALUE poly = USE(log_poly, f, low);
    VALUE log = FMA(n, octave, FMA(f, unit, MUL(poly, unit)));
    return ADD(log, limit);
}

/* -- Logarithms of 1 + x --------------------------------------------------- */

/* 4 2^-e, which is normal for all e. */
PART(VALUE, octave_scale, INTEGER octave)
{
#if IS(F32)
    return FLOAT_OF(IADD(KI(0x40800000), octave));
#else
    return FLOAT_OF(IADD(KI(0x4010000000000000), octave));
#endif
}

/* (1 + x) 2^-e - 1. As octaves end at 3/2 here, f is x if x < 1/2; above, it is
   exact except for huge x, where the error is negligible. */
PART(VALUE, log1p_split, VALUE x, INTEGER octave, VALUE scale)
{
    VALUE lost = FMA(scale, K(-0.25), K(1));
    return SUB(FLOAT_OF(IADD(BITS_OF(x), octave)), lost);
}

RECIPE_1(LOG1P, x)
{
    VALUE sum = ADD(x, K(1));
    INTEGER octave = USE(octave, sum, K(1.5));
    VALUE from = K(NO_OCTAVES);
    VALUE bounded = x;
    RARELY_2(USE(is_outside, sum, 1, FINITE), from, bounded,
             from = SUB(from, USE(log_limit, sum));
             bounded = K(0););
    VALUE n = USE(octaves, octave, from);
    VALUE f = USE(log1p_split, bounded, octave, USE(octave_scale, octave));
    return FMA(n, K(-LOG_2), USE(log_poly, f, f));
}

/*
 * log(1 + x + low) for x ≥ 0 and a low part of a few ulp of x; `from` as in
 * octaves. If the low part is NaN, so is the result.
 */
PART(VALUE, log1p_of_sum, VALUE x, VALUE low, VALUE from)
{
    INTEGER octave = USE(octave, ADD(x, K(1)), K(1.5));
    VALUE scale = USE(octave_scale, octave);
    VALUE n = USE(octaves, octave, from);
    VALUE f = USE(log1p_split, x, octave, scale);
    /* low 2^-e / (1 + f), where 1 / (1 + f) is about 1 - f + 0.72 f². */
    VALUE inverse = FMA(f, FMA(f, K(0.18), K(-0.25)), K(0.25));
    VALUE correction = MUL(MUL(low, scale), inverse);
    return FMA(n, K(-LOG_2), ADD(f, USE(log_poly, f, correction)));
}

/* -- Inverse hyperbolic functions ------------------------------------------ */

/* Above this, x² + 1 rounds to x²; up to it, x² does not overflow. */
#undef HUGE_ARGUMENT
#if IS(F32)
#define HUGE_ARGUMENT 0x1p32
#else
#define HUGE_ARGUMENT 0x1p64
#endif

/*
 * log(1 + y), y = |x| + (root - 1), root = sqrt(x² + 1). The low part of y
 * includes the roundings of the radicand, the root and the sum. For huge x,
 * log(2 |x|).
 */
RECIPE_1(ASINH, x)
{
    VALUE a = FABS(x);
    VALUE square = FMA(a, a, K(1));
    VALUE square_low = FMA(a, a, SUB(K(1), square));
    VALUE root = SQRT(square);
    VALUE error = ADD(FMA(NEG(root), root, square), square_low);
    VALUE root_minus_1 = SUB(root, K(1));
    VALUE y = ADD(a, root_minus_1);
    VALUE low = FMA(error, DIV(K(0.5), root), SUB(root_minus_1, SUB(y, a)));

    MASK huge = LT(K(HUGE_ARGUMENT), a);
    VALUE log = USE(log1p_of_sum, SELECT(huge, a, y), SELECT(huge, K(0), low),
                    SELECT(huge, K(NO_OCTAVES - 1), K(NO_OCTAVES)));
    return USE(with_sign_of, SELECT(LT(a, K(INFINITY)), log, a), x);
}

/*
 * log(1 + y), y = t + root, root = sqrt(t² + 2t), t = x - 1, with the low part
 * of y as in asinh. Its factor 1 / (2 root) needs few bits, which a subtraction
 * from the bits of the root gives (error 5 %). NaN for x < 1.
 */
RECIPE_1(ACOSH, x)
{
    VALUE t = SUB(x, K(1));
    VALUE twice = ADD(t, t);
    VALUE square = FMA(t, t, twice);
    VALUE square_low = FMA(t, t, SUB(twice, square));
    VALUE root = SQRT(square);
    VALUE error = ADD(FMA(NEG(root), root, square), square_low);
#if IS(F32)
    VALUE factor = FLOAT_OF(ISUB(KI(0x7e731000), BITS_OF(root)));
#else
    VALUE factor = FLOAT_OF(ISUB(KI(0x7fce620000000000), BITS_OF(root)));
#endif
    VALUE y = ADD(root, t);
    VALUE low = FMA(error, factor, SUB(t, SUB(y, root)));

    MASK huge = LT(K(HUGE_ARGUMENT), x);
    VALUE log = USE(log1p_of_sum, SELECT(huge, x, y), SELECT(huge, K(0), low),
                    SELECT(huge, K(NO_OCTAVES - 1), K(NO_OCTAVES)));
    log = SELECT(LT(x, K(INFINITY)), log, x);
    return SELECT(LT(x, K(1)), K(NAN), log);
}

/* log(1 + y) / 2, y = 2 |x| / (1 - |x|) with its low part. */
RECIPE_1(ATANH, x)
{
    VALUE a = FABS(x);
    VALUE twice = ADD(a, a);
    VALUE denominator = SUB(K(1), a);
    VALUE denominator_low = SUB(SUB(K(1), denominator), a);
    VALUE inverse = DIV(K(1), denominator);
    VALUE y = MUL(twice, inverse);
    VALUE minus = NEG(y);
    VALUE error = FMA(minus, denominator_low, FMA(minus, denominator, twice));
    VALUE log = USE(log1p_of_sum, y, MUL(error, inverse), K(NO_OCTAVES));

    VALUE outside = SELECT(EQ(a, K(1)), K(INFINITY), K(NAN));
    VALUE inside = MUL(log, K(0.5));
    return USE(with_sign_of, SELECT(LT(a, K(1)), inside, outside), x);
}
