/* SPDX-License-Identifier: MIT */
/*
 * recipe_pow.h - recipes of powers and roots: pow, rsqrt, cbrt, hypot. Follows
 * recipe_log.h, whose log_split pow uses.
 */

/* -- pow ------------------------------------------------------------------- */

/*
 * log x for finite x > 0 in double-double arithmetic, with about 1.5 times the
 * bits of one value. With 1 + f as for log and q = f / (2 + f):
 * log(1 + f) = 2q + q³ v, v = 2/3 + 2/5 q² + … Here q, q², v and their products
 * have low parts; only the terms after 2/3 do not (fpminimax).
 */
PART(VALUE, log_double, VALUE x, VALUE *low)
{
    VALUE n;
    VALUE f = USE(log_split, x, &n);

    VALUE sum = ADD(f, K(2));
    VALUE sum_low = SUB(f, SUB(sum, K(2)));
    VALUE inverse = DIV(K(1), sum);
    VALUE q = MUL(f, inverse);
    VALUE minus = NEG(q);
    VALUE error = FMA(minus, sum_low, FMA(minus, sum, f));
    VALUE q_low = MUL(error, inverse);
    VALUE twice = ADD(q, q);

    VALUE z = MUL(q, q);
    VALUE z_low = FMA(twice, q_low, FMA(q, q, NEG(z)));
#if IS(F32)
    /* Relative error: 2^-40. */
    VALUE p = FMA(z, K(0x1.827e04p-3), K(0x1.c70412p-3));
    p = FMA(z, p, K(0x1.24921p-2));
    p = FMA(z, p, K(0x1.99999ap-2));
    VALUE third = K(0x1.555556p-1);
    VALUE third_low = K(-0x1.555556p-26);
    VALUE log_2 = K(0x1.62e43p-1);
    VALUE log_2_low = K(0x1.05c61p-29);
#else
    /* Relative error: 2^-69. */
    VALUE p = FMA(z, K(0x1.da99961a721edp-4), K(0x1.e01a97a1bb077p-4));
    p = FMA(z, p, K(0x1.11154b764820ep-3));
    p = FMA(z, p, K(0x1.3b13a9e6f361bp-3));
    p = FMA(z, p, K(0x1.745d173ca0b1p-3));
    p = FMA(z, p, K(0x1.c71c71c74cc62p-3));
    p = FMA(z, p, K(0x1.24924924922fdp-2));
    p = FMA(z, p, K(0x1.999999999999ap-2));
    VALUE third = K(0x1.5555555555555p-1);
    VALUE third_low = K(0x1.5555555555555p-55);
    VALUE log_2 = K(0x1.62e42fefa39efp-1);
    VALUE log_2_low = K(-0x1.abc9e3b39803fp-56);
#endif
    VALUE v_tail = FMA(z, p, third_low);
    VALUE v = ADD(third, v_tail);
    VALUE v_low = SUB(v_tail, SUB(v, third));
    VALUE u = MUL(z, v);
    VALUE u_low = FMA(z_low, v, FMA(z, v_low, FMA(z, v, NEG(u))));

    VALUE large = FMA(n, NEG(log_2), twice);
    VALUE large_low = SUB(twice, FMA(n, log_2, large));
    VALUE log = FMA(q, u, large);
    VALUE lost = FMA(q, u, SUB(large, log));
    lost = FMA(q_low, ADD(u, K(2)), FMA(q, u_low, lost));
    *low = ADD(FMA(n, log_2_low, lost), large_low);
    return log;
}

/*
 * e^(b log|a|); the low part of the reduced b log|a| is added to the
 * polynomial: 1 + (r + (r² p(r) + r_low)). The largest error over 3 10^8 f32
 * pairs is 0.88 ulp, over 10^7 f64 pairs 1.14 ulp.
 */
RECIPE_2(POW, a, b)
{
#if IS(F32)
    VALUE inverse_log_2 = K(0x1.715476p0);
    VALUE log_2 = K(-0x1.62e43p-1);
    VALUE log_2_low = K(0x1.05c61p-29);
    VALUE limit = K(128);
#else
    VALUE inverse_log_2 = K(0x1.71547652b82fep0);
    VALUE log_2 = K(-0x1.62e42fefa39efp-1);
    VALUE log_2_low = K(-0x1.abc9e3b39803fp-56);
    VALUE limit = K(1024);
#endif
    VALUE base = FABS(a);
    VALUE log_low;
    VALUE log = USE(log_double, base, &log_low); /* of 0, Inf, NaN, too */

    VALUE x = MUL(b, log);
    VALUE x_low = FMA(b, log_low, FMA(b, log, NEG(x)));
    VALUE sum = FMA(x, inverse_log_2, K(SCALE_ROUNDER));
    VALUE n = SUB(sum, K(SCALE_ROUNDER));
    VALUE high = FMA(n, log_2, x);
    VALUE low = FMA(n, log_2_low, x_low);
    VALUE r = ADD(high, low);
    VALUE r_low = SUB(low, SUB(r, high));
    VALUE poly = FMA(MUL(r, r), USE(exp_poly, r), r_low);
    VALUE power = ADD(ADD(r, poly), K(1));
    power = SCALE(power, n, sum);
    power = SELECT(LT(limit, x), K(INFINITY), power);
    power = SELECT(LT(x, NEG(limit)), K(0), power);

    /* (±1)^b and a^0 have magnitude 1 for any operand, except (-1)^NaN. */
    power = SELECT(MASK_OR(EQ(base, K(1)), EQ(b, K(0))), K(1), power);
    /* Negative a: odd powers are negative, and a fractional power of finite a
       is NaN. */
    VALUE half = MUL(b, K(0.5));
    MASK whole = EQ(TRUNC(b), b);
    MASK odd = MASK_AND(whole, NE(TRUNC(half), half));
    MASK allowed = MASK_OR(LE(K(0), a), EQ(base, K(INFINITY)));
    power = USE(with_sign_of, power, SELECT(odd, a, K(0)));
    return SELECT(MASK_NOR(whole, allowed), K(NAN), power);
}

/* -- Roots ----------------------------------------------------------------- */

/* A quotient with two roundings, and a Newton step. For 0, Inf and NaN the
   step gives NaN. */
PART(VALUE, rsqrt_by_division, VALUE x)
{
    VALUE y = DIV(K(1), SQRT(x));
    VALUE residual = FMA(MUL(x, y), y, K(-1));
    VALUE refined = FMA(MUL(y, K(-0.5)), residual, y);
    return SELECT(EQ(refined, refined), refined, y);
}

/*
 * y from the halved bits of x and a linear function of x y² (error 2^-10.6), in
 * f64 then a step of third order, each y + y e (1/2 + 3/8 e), e = 1 - x y². In
 * the last step y has only half of its bits, so that y² is exact; hence x must
 * not be huge. This takes less time than a division and a square root, which
 * denormals and huge x have.
 */
RECIPE_1(RSQRT, x)
{
#if IS(F32)
    INTEGER line = KI(0x5f1e8000);
    INTEGER half = KI(0xfffff000);
#else
    INTEGER line = KI(0x5fe3d00000000000);
    INTEGER half = KI(0xfffffffff8000000);
#endif
    VALUE y = FLOAT_OF(ISUB(line, ISHR(BITS_OF(x), KI(1))));
    VALUE product = MUL(MUL(x, y), y);
    y = MUL(y, FMA(product, K(-0x1.70fb9ap-1), K(0x1.b1f3b8p0)));
#if IS(F64)
    VALUE residual = FMA(NEG(MUL(x, y)), y, K(1));
    y = FMA(MUL(y, residual), FMA(residual, K(0.375), K(0.5)), y);
#endif
    y = FLOAT_OF(IAND(BITS_OF(y), half));
    VALUE error = FMA(NEG(x), MUL(y, y), K(1));
    y = FMA(MUL(y, error), FMA(error, K(0.375), K(0.5)), y);
    RARELY_1(USE(is_outside, x, 1, 2 * BIAS - 2), y,
             y = USE(rsqrt_by_division, x););
    return y;
}

/*
 * y = |x|^(-1/3) from a linear function of the bits (error 3.4 %) and a
 * polynomial in 1 - |x| y³ (fpminimax, error 2^-18); then the root c = |x| y²
 * and one Newton step, c + (|x| - c³) y² / 3. The largest error found is
 * 0.74 ulp, over all f32 and 10^7 f64 arguments.
 */
RECIPE_1(CBRT, x)
{
    VALUE a = FABS(x);
    VALUE scaled = a;
    VALUE unscale = K(1);
#if IS(F32)
    RARELY_2(USE(is_outside, a, BIAS - 100, FINITE), scaled, unscale,
             MASK finite = LT(a, K(INFINITY));
             scaled = SELECT(finite, MUL(a, K(0x1p48)), K(1));
             unscale = SELECT(finite, K(0x1p-16), a););
    VALUE line = FMA(TO_FLOAT(BITS_OF(scaled)), K(-1.0 / 3), K(0x54a23000));
    VALUE y = FLOAT_OF(TO_INT(line));
#else
    /* Uses the upper 44 bits, as the low bits of a large float. */
    RARELY_2(USE(is_outside, a, BIAS - 900, FINITE), scaled, unscale,
             MASK finite = LT(a, K(INFINITY));
             scaled = SELECT(finite, MUL(a, K(0x1p180)), K(1));
             unscale = SELECT(finite, K(0x1p-60), a););
    INTEGER end = ISHR(BITS_OF(scaled), KI(20));
    VALUE line = FMA(FLOAT_OF(IOR(end, KI(0x4330000000000000))),
                     K(-1.0 / 3), K(0x1p54 / 3 + 1363.93376 * 0x1p32));
    VALUE y = FLOAT_OF(ISHL(BITS_OF(line), KI(20)));
#endif
    VALUE error = FMA(NEG(MUL(y, y)), MUL(scaled, y), K(1));
    VALUE p = FMA(error, K(0x1.658d52p-3), K(0x1.c9fbfp-3));
    p = FMA(error, p, K(0x1.55543p-2));
    y = FMA(MUL(y, error), p, y);
#if IS(F64)
    error = FMA(NEG(MUL(y, y)), MUL(scaled, y), K(1));
    y = FMA(MUL(y, error), K(1.0 / 3), y);
#endif
    VALUE square = MUL(y, y);
    VALUE root = MUL(scaled, square);
    VALUE residual = FMA(NEG(MUL(root, root)), root, scaled);
    root = MUL(FMA(residual, MUL(square, K(1.0 / 3)), root), unscale);
    return USE(with_sign_of, root, x);
}

/*
 * The square root of the sum of squares, both operands scaled so that the
 * larger one is between 1/2 and 16. The exponent of the scale is that of the
 * larger operand without its last two bits, plus 1, so that the scale and its
 * inverse are normal. The largest error over 10^8 f32 pairs is 0.93 ulp, over
 * 10^7 f64 pairs 1.00 ulp (at most 1.03).
 */
RECIPE_2(HYPOT, a, b)
{
    VALUE first = FABS(a);
    VALUE second = FABS(b);
    MASK ordered = LT(second, first);
    VALUE large = SELECT(ordered, first, second);
    VALUE small = SELECT(ordered, second, first);
#if IS(F32)
    INTEGER one = KI(0x00800000);
    INTEGER exponents = KI(0x7e000000);
    INTEGER inverse = KI(0x7f000000);
#else
    INTEGER one = KI(0x0010000000000000);
    INTEGER exponents = KI(0x7fc0000000000000);
    INTEGER inverse = KI(0x7fe0000000000000);
#endif
    INTEGER exponent = IADD(IAND(BITS_OF(large), exponents), one);
    VALUE scale = FLOAT_OF(ISUB(inverse, exponent));
    large = MUL(large, scale);
    small = MUL(small, scale);
    VALUE square = MUL(small, small);
    VALUE sum = FMA(large, large, square);
    VALUE root = SQRT(sum);
#if IS(F32)
    /* Three roundings give 1.02 ulp. A Newton step, with 1 / (2 root) as in
       acosh, cancels all but one. */
    VALUE square_low = FMA(small, small, NEG(square));
    VALUE error = ADD(FMA(NEG(root), root, sum), square_low);
    VALUE factor = FLOAT_OF(ISUB(KI(0x7e731000), BITS_OF(root)));
    root = FMA(error, factor, root);
#endif
    root = MUL(root, FLOAT_OF(exponent));

    MASK infinite = MASK_OR(EQ(first, K(INFINITY)), EQ(second, K(INFINITY)));
    return SELECT(infinite, K(INFINITY), root);
}
