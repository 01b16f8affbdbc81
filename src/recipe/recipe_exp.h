/* SPDX-License-Identifier: MIT */
/*
 * recipe_exp.h - recipes of exponentials, hyperbolic and logistic functions.
 *
 * Method: range reduction x = n log 2 + r (exp_split), a polynomial for e^r,
 * and 2^n from the bits of the sum that rounded n. Arguments are clamped first,
 * just beyond the point where the result is Inf, 0 or its limit. Where
 * 1 + r + r² poly(r) is part of a longer sum, the leading terms are added with
 * their rounding error, and the small terms are added to that error, so that
 * nearly all of the final error is that of the last rounding. f64 omits the
 * rounding error where its bound of 2 ulp permits. All products with 2^n are
 * exact except the last, which rounds once, to denormals as well.
 *
 * docs/NUMERICS.md has the error bounds. Longer searches in f64, over at least
 * 2 10^7 arguments and the ends of all ranges, found these errors in ulp:
 *
 *         exp  exp2 expm1 sinh cosh tanh sigmoid silu softplus
 *   f64   0.89 0.84 1.63  1.44 0.87 1.42 1.70    1.83 1.27
 */

/* POWER_ROUNDER: with this rounder, power_of_2 of the sum's bits is 2^n. */
#undef POWER_ROUNDER
#undef EXP_LOWEST
#undef EXP_HIGHEST
#define POWER_ROUNDER (SCALE_ROUNDER - BIAS)
#define EXP_LOWEST (IS(F32) ? -104 : -746)
#define EXP_HIGHEST (IS(F32) ? 89 : 710)

/* -- Exponentials ---------------------------------------------------------- */

RECIPE_1(EXP, x)
{
    VALUE high = USE(at_most, x, K(EXP_HIGHEST));
    VALUE bounded = USE(at_least, high, K(EXP_LOWEST));
    VALUE sum, n;
    VALUE r = USE(exp_split, bounded, K(SCALE_ROUNDER), &sum, &n);
    VALUE slope = FMA(r, USE(exp_poly, r), K(1));
    return SCALE(FMA(r, slope, K(1)), n, sum);
}

/* x = n + r, both exact. Polynomial error: f32 2^-28.0, f64 2^-57.3. */
RECIPE_1(EXP2, x)
{
    VALUE high = USE(at_most, x, K(IS(F32) ? 129 : 1025));
    VALUE bounded = USE(at_least, high, K(IS(F32) ? -151 : -1076));
    VALUE sum = ADD(bounded, K(SCALE_ROUNDER));
    VALUE n = SUB(sum, K(SCALE_ROUNDER));
    VALUE r = SUB(bounded, n);
#if IS(F32)
    VALUE p = FMA(r, K(0x1.3fa206p-13), K(0x1.5f0b82p-10));
    p = FMA(r, p, K(0x1.3b30ap-7));
    p = FMA(r, p, K(0x1.c6af76p-5));
    p = FMA(r, p, K(0x1.ebfbd8p-3));
    p = FMA(r, p, K(0x1.62e43p-1));
#else
    VALUE p = FMA(r, K(0x1.e973179a994acp-32), K(0x1.e61d43321746dp-28));
    p = FMA(r, p, K(0x1.b52522bc15f8fp-24));
    p = FMA(r, p, K(0x1.62bfc6596be12p-20));
    p = FMA(r, p, K(0x1.ffcbfc6685f06p-17));
    p = FMA(r, p, K(0x1.4309130f6cbdbp-13));
    p = FMA(r, p, K(0x1.5d87fe789e96fp-10));
    p = FMA(r, p, K(0x1.3b2ab6fb9fda6p-7));
    p = FMA(r, p, K(0x1.c6b08d704a12cp-5));
    p = FMA(r, p, K(0x1.ebfbdff82c5a6p-3));
    p = FMA(r, p, K(0x1.62e42fefa39efp-1));
#endif
    return SCALE(FMA(r, p, K(1)), n, sum);
}

/*
 * power (e^r - 1 - r) + error. Without the 1, f32 needs one term more than
 * exp_poly has; its error is 2^-31 relative to e^r - 1.
 */
PART(VALUE, expm1_poly, VALUE power, VALUE r, VALUE error)
{
#if IS(F32)
    VALUE p = FMA(r, K(0x1.9e0be6p-13), K(0x1.6d4366p-10));
    p = FMA(r, p, K(0x1.111306p-7));
    p = FMA(r, p, K(0x1.5554fp-5));
    p = FMA(r, p, K(0x1.555554p-3));
    p = FMA(r, p, K(0.5));
#else
    VALUE p = USE(exp_poly, r);
#endif
    return FMA(MUL(power, MUL(r, r)), p, error);
}

/*
 * (2^n - 1) + 2^n r + 2^n r² poly, all halved, because 2^n may overflow. For
 * tiny x, including ±0, the result is x.
 */
RECIPE_1(EXPM1, x)
{
    VALUE high = USE(at_most, x, K(EXP_HIGHEST));
    VALUE bounded = USE(at_least, high, K(IS(F32) ? -20 : -40));
    VALUE sum, n;
    VALUE r = USE(exp_split, bounded, K(POWER_ROUNDER - 1), &sum, &n);
    VALUE power = USE(power_of_2, BITS_OF(sum));
    VALUE power_minus_1 = SUB(power, K(0.5));
    VALUE line = FMA(power, r, power_minus_1);
    VALUE error = FMA(power, r, SUB(power_minus_1, line));
#if IS(F32)
    error = ADD(error, SUB(SUB(power, power_minus_1), K(0.5)));
#endif
    VALUE half = ADD(line, USE(expm1_poly, power, r, error));
    MASK tiny = LT(FABS(x), K(IS(F32) ? 0x1p-25 : 0x1p-54));
    return SELECT(tiny, x, ADD(half, half));
}

/* -- Hyperbolic functions -------------------------------------------------- */

/*
 * sinh x and cosh x are a cosh r + b sinh r, where a and b are sinh and cosh of
 * n log 2, or the reverse. Both are halved, (2^n ± 2^-n) / 4, to avoid
 * overflow. Returns r, power = 2^(n-2) and, without underflow,
 * inverse_power = 2^(3-n).
 */
PART(VALUE, hyperbolic_split, VALUE x, VALUE *power, VALUE *inverse_power)
{
    VALUE bounded = USE(at_most, x, K(IS(F32) ? 89.5 : 710.5));
    VALUE sum, n;
    VALUE r = USE(exp_split, bounded, K(POWER_ROUNDER - 2), &sum, &n);
    *power = USE(power_of_2, BITS_OF(sum));
    INTEGER infinity = KI((2 * BIAS + UINT64_C(1)) << MANTISSA);
    *inverse_power = FLOAT_OF(ISUB(infinity, BITS_OF(*power)));
    return r;
}

/* a (cosh r - 1) + b (sinh r - r) + error. Polynomial errors relative to a and
   b: f32 2^-32, f64 2^-60. */
PART(VALUE, hyperbolic_poly, VALUE a, VALUE b, VALUE r, VALUE error)
{
    VALUE square = MUL(r, r);
#if IS(F32)
    VALUE even = FMA(square, K(0x1.6d2e04p-10), K(0x1.555502p-5));
    VALUE odd = FMA(square, K(0x1.a3639ap-13), K(0x1.110f88p-7));
#else
    VALUE even = FMA(square, K(0x1.1f78e2b288be7p-29),
                     K(0x1.27e4d817829f9p-22));
    even = FMA(square, even, K(0x1.a01a01a818b7p-16));
    even = FMA(square, even, K(0x1.6c16c16c15ffap-10));
    even = FMA(square, even, K(0x1.5555555555556p-5));
    VALUE odd = FMA(square, K(0x1.af3f069f486c5p-26),
                    K(0x1.71de0a3cbe3cbp-19));
    odd = FMA(square, odd, K(0x1.a01a01a9023afp-13));
    odd = FMA(square, odd, K(0x1.111111111070bp-7));
#endif
    even = FMA(square, even, K(0.5));
    odd = FMA(square, odd, K(0x1.5555555555555p-3));
    return FMA(square, FMA(MUL(b, r), odd, MUL(a, even)), error);
}

/* For tiny x, the result is x. */
RECIPE_1(SINH, x)
{
    VALUE magnitude = FABS(x);
    VALUE power, inverse_power;
    VALUE r = USE(hyperbolic_split, magnitude, &power, &inverse_power);
    VALUE a = FMA(inverse_power, K(-0x1p-5), power);
    VALUE b = FMA(inverse_power, K(0x1p-5), power);
    VALUE line = FMA(b, r, a);
    VALUE error = FMA(b, r, SUB(a, line));
#if IS(F32)
    error = ADD(error, FMA(inverse_power, K(-0x1p-5), SUB(power, a)));
#endif
    VALUE half = ADD(line, USE(hyperbolic_poly, a, b, r, error));
    MASK tiny = LT(magnitude, K(IS(F32) ? 0x1p-12 : 0x1p-26));
    return USE(with_sign_of, SELECT(tiny, magnitude, ADD(half, half)), x);
}

RECIPE_1(COSH, x)
{
    VALUE power, inverse_power;
    VALUE r = USE(hyperbolic_split, FABS(x), &power, &inverse_power);
    VALUE a = FMA(inverse_power, K(0x1p-5), power);
    VALUE b = FMA(inverse_power, K(-0x1p-5), power);
    VALUE line = FMA(b, r, a);
    VALUE error = FMA(b, r, SUB(power, line));
    error = FMA(inverse_power, K(0x1p-5), error);
    VALUE half = ADD(line, USE(hyperbolic_poly, a, b, r, error));
    return ADD(half, half);
}

#if IS(F32)
/*
 * Near 0, x + x³ poly(x²), relative error 2^-28.3. Further out, 1 - 2 / (1 + e),
 * e = e^(2|x|): the quotient is below 0.26, so that its errors have little
 * weight, and the range reduction 2|x| = n log 2 + 2r needs no low part. The
 * polynomial is (e^(2r) - 1) / r; its error relative to e^(2r) is 2^-27.2.
 */
RECIPE_1(TANH, x)
{
    VALUE magnitude = FABS(x);
    VALUE bounded = USE(at_most, magnitude, K(10));
    VALUE sum = FMA(bounded, K(0x1.715476p1), K(POWER_ROUNDER));
    VALUE n = SUB(sum, K(POWER_ROUNDER));
    VALUE r = FMA(n, K(-0x1.62e43p-2), bounded);
    VALUE power = USE(power_of_2, BITS_OF(sum));
    VALUE slope = FMA(r, K(0x1.6d569cp-4), K(0x1.1228fp-2));
    slope = FMA(r, slope, K(0x1.5554ep-1));
    slope = FMA(r, slope, K(0x1.5554aep0));
    slope = FMA(r, slope, K(2));
    slope = FMA(r, slope, K(2));
    VALUE denominator = FMA(MUL(power, r), slope, ADD(power, K(1)));
    VALUE far = SUB(K(1), DIV(K(2), denominator));

    VALUE square = MUL(magnitude, magnitude);
    VALUE p = FMA(square, K(-0x1.961d8cp-12), K(0x1.39756cp-9));
    p = FMA(square, p, K(-0x1.07f844p-7));
    p = FMA(square, p, K(0x1.611b3p-6));
    p = FMA(square, p, K(-0x1.b98b1p-5));
    p = FMA(square, p, K(0x1.110d48p-3));
    p = FMA(square, p, K(-0x1.555544p-2));
    VALUE near = FMA(MUL(magnitude, square), p, magnitude);
    VALUE tanh = SELECT(LT(magnitude, K(0.96875)), near, far);
    return USE(with_sign_of, tanh, x);
}
#else
/*
 * (1 - e) / (1 + e), e = e^(-2|x|). The numerator is -expm1(-2|x|), the
 * denominator 2 - numerator, both with their rounding errors. The rounder sets
 * the bit above the exponent, so that power is -2^n.
 */
RECIPE_1(TANH, x)
{
    VALUE magnitude = USE(at_most, FABS(x), K(20));
    VALUE sum, n;
    VALUE r = USE(exp_split, MUL(magnitude, K(-2)),
                  K(POWER_ROUNDER + 2 * (BIAS + 1)), &sum, &n);
    VALUE power = USE(power_of_2, BITS_OF(sum));
    VALUE power_minus_1 = ADD(power, K(1));
    VALUE line = FMA(power, r, power_minus_1);
    VALUE error = FMA(power, r, SUB(power_minus_1, line));
    error = USE(expm1_poly, power, r, error);
    VALUE numerator = ADD(line, error);
    VALUE numerator_error = SUB(error, SUB(numerator, line));
    VALUE denominator = SUB(K(2), numerator);
    VALUE denominator_error =
        SUB(SUB(SUB(K(2), denominator), numerator), numerator_error);

    VALUE inverse = DIV(K(1), denominator);
    VALUE quotient = MUL(numerator, inverse);
    VALUE residual =
        SUB(FMA(quotient, denominator, NEG(numerator)), numerator_error);
    residual = FMA(quotient, denominator_error, residual);
    VALUE tanh = FMA(residual, NEG(inverse), quotient);
    return USE(with_sign_of, tanh, x);
}
#endif

/* -- Logistic functions ---------------------------------------------------- */

/*
 * 1 / (1 + e^-x) = 2^n / (2^n + e^-r), in which no term is large for either
 * sign of x. Returns 2^n + e^-r and its rounding error.
 */
PART(VALUE, logistic_denominator, VALUE r, VALUE n, VALUE sum, VALUE *error)
{
    VALUE minus = NEG(r);
    VALUE square = MUL(r, r);
    VALUE poly = USE(exp_poly, minus);
    VALUE power = SCALE(K(1), n, sum);
    VALUE one = ADD(power, K(1));
    VALUE lost = ADD(power, SUB(K(1), one));
#if IS(F32)
    VALUE high = ADD(one, minus);
    lost = ADD(lost, SUB(minus, SUB(high, one)));
    VALUE low = FMA(square, poly, lost);
#else
    VALUE high = one;
    VALUE low = ADD(FMA(square, poly, minus), lost);
#endif
    VALUE denominator = ADD(high, low);
    *error = SUB(low, SUB(denominator, high));
    return denominator;
}

/*
 * a / (1 + e^-x). For a = -0 the result is -0, as the residual is then +0. NEG
 * is applied to the inverse, because gcc does not preserve the sign of a zero
 * in NEG(FMA(…)).
 */
PART(VALUE, logistic, VALUE a, VALUE x)
{
    VALUE sum, n, error;
    VALUE r = USE(exp_split, x, K(SCALE_ROUNDER), &sum, &n);
    VALUE denominator = USE(logistic_denominator, r, n, sum, &error);
#if IS(F32)
    VALUE inverse = DIV(K(1), denominator);
    VALUE quotient = MUL(a, inverse);
    VALUE residual = FMA(quotient, denominator, NEG(a));
    residual = FMA(quotient, error, residual);
    quotient = FMA(residual, NEG(inverse), quotient);
#else
    VALUE quotient = DIV(a, denominator);
#endif
    return SCALE(quotient, n, sum);
}

/* Above this, 1 + e^-x rounds to 1. */
#undef LOGISTIC_HIGHEST
#define LOGISTIC_HIGHEST (IS(F32) ? 18 : 38)

#if IS(F32)
/*
 * As logistic, but with one rounding more in the denominator: e^-r is
 * 1 - r poly(r), relative error 2^-27.2. This error matters most where |r| is
 * largest, near log(2) / 2; there the mantissa of the result is near √2 for
 * negative x, and its ulp relatively large.
 */
RECIPE_1(SIGMOID, x)
{
    VALUE high = USE(at_most, x, K(17.5));
    VALUE bounded = USE(at_least, high, K(EXP_LOWEST));
    VALUE sum, n;
    VALUE r = USE(exp_split, bounded, K(SCALE_ROUNDER), &sum, &n);
    VALUE slope = FMA(r, K(-0x1.6d542p-10), K(0x1.122a2p-7));
    slope = FMA(r, slope, K(-0x1.5554e2p-5));
    slope = FMA(r, slope, K(0x1.5554acp-3));
    slope = FMA(r, slope, K(-0.5));
    slope = FMA(r, slope, K(1));
    VALUE power = SCALE(K(1), n, sum);
    VALUE minus = NEG(r);
    VALUE denominator = FMA(minus, slope, ADD(power, K(1)));
    VALUE error = FMA(minus, slope, ADD(power, SUB(K(1), denominator)));
    VALUE inverse = DIV(K(1), denominator);
    VALUE residual = FMA(inverse, denominator, K(-1));
    residual = FMA(inverse, error, residual);
    return SCALE(FMA(residual, NEG(inverse), inverse), n, sum);
}
#else
RECIPE_1(SIGMOID, x)
{
    VALUE high = USE(at_most, x, K(LOGISTIC_HIGHEST));
    return USE(logistic, K(1), USE(at_least, high, K(EXP_LOWEST)));
}
#endif

/* x sigmoid(x); -0 for -Inf. */
RECIPE_1(SILU, x)
{
    VALUE high = USE(at_most, x, K(LOGISTIC_HIGHEST));
    VALUE bounded = USE(at_least, high, K(IS(F32) ? -110 : -753));
    VALUE silu = USE(logistic, bounded, bounded);
    return SELECT(LT(K(LOGISTIC_HIGHEST), x), x, silu);
}

/*
 * log(1 + e^x) = 2 atanh(z), z = e^x / (2 + e^x) = 2^(n-1) / (2^(n-1) + e^-r);
 * for larger x it is x + log(1 + e^-x). f32 switches where that log is below
 * 1/2, which halves the weight of its rounding. The polynomial in z² is
 * (atanh(z) / z - 1) / z²; its error relative to atanh(z) is 2^-30 in f32 and
 * 2^-57 in f64.
 */
RECIPE_1(SOFTPLUS, x)
{
    MASK small = LT(x, K(IS(F32) ? 0.4375 : 0));
    VALUE reflected = SELECT(small, x, NEG(x));
    VALUE bounded = USE(at_least, reflected, K(EXP_LOWEST));
    VALUE sum, n, error;
    VALUE r = USE(exp_split, bounded, K(SCALE_ROUNDER - 1), &sum, &n);
    n = SUB(n, K(1));
    VALUE denominator = USE(logistic_denominator, r, n, sum, &error);
    VALUE inverse = DIV(K(1), denominator);
    VALUE residual = FMA(inverse, denominator, K(-1));
    residual = FMA(inverse, error, residual);

    VALUE z = SCALE(inverse, n, sum);
    VALUE square = MUL(z, z);
#if IS(F32)
    VALUE p = FMA(square, K(0x1.03ccfep-3), K(0x1.48c3b8p-4));
    p = FMA(square, p, K(0x1.cad0aap-4));
    p = FMA(square, p, K(0x1.248566p-3));
    p = FMA(square, p, K(0x1.999976p-3));
#else
    VALUE p = FMA(square, K(0x1.4afd63cfd526ap-4), K(0x1.688edd07def73p-5));
    p = FMA(square, p, K(0x1.eb8a175c59742p-5));
    p = FMA(square, p, K(0x1.10acf61876a78p-4));
    p = FMA(square, p, K(0x1.3b18a6cd119f4p-4));
    p = FMA(square, p, K(0x1.745cf154e8581p-4));
    p = FMA(square, p, K(0x1.c71c726c171afp-4));
    p = FMA(square, p, K(0x1.24924923df843p-3));
    p = FMA(square, p, K(0x1.999999999a27cp-3));
#endif
    p = FMA(square, p, K(0x1.5555555555555p-2));
    VALUE scaled = FMA(inverse, FMA(square, p, NEG(residual)), inverse);
    VALUE log = SCALE(ADD(scaled, scaled), n, sum);
    return ADD(log, SELECT(small, K(0), x));
}
