/* SPDX-License-Identifier: MIT */
/*
 * recipe_parts.h - helpers that several families of math recipes share. Like a
 * recipe, a PART consists of primitives only.
 *
 * Double-double arithmetic: `x_low` is the part of x that its rounding lost, so
 * that x + x_low is more accurate than x.
 */

/* RARELY, which sets one or two variables. */
#undef RARELY_1
#undef RARELY_2
#define RARELY_2(mask, a, b, ...) \
    do { \
        VALUE unused_ = a; \
        RARELY(mask, a, b, unused_, __VA_ARGS__); \
        (void)unused_; \
    } while (0)
#define RARELY_1(mask, a, ...) \
    do { \
        VALUE second_ = a; \
        RARELY_2(mask, a, second_, __VA_ARGS__); \
        (void)second_; \
    } while (0)

/* pi/2 and its low part. */
#undef HALF_PI
#undef HALF_PI_LOW
#define HALF_PI (IS(F32) ? 0x1.921fb6p0 : 0x1.921fb54442d18p0)
#define HALF_PI_LOW (IS(F32) ? -0x1.777a5cp-25 : 0x1.1a62633145c07p-54)

/* copysign for a magnitude that is not negative, or NaN. */
PART(VALUE, with_sign_of, VALUE magnitude, VALUE sign)
{
#if IS(F32)
    INTEGER mask = KI(0x80000000);
#else
    INTEGER mask = KI(0x8000000000000000);
#endif
    return FLOAT_OF(IOR(BITS_OF(magnitude), IAND(BITS_OF(sign), mask)));
}

#undef MANTISSA
#undef BIAS
#if IS(F32)
#define MANTISSA 23
#define BIAS 127
#else
#define MANTISSA 52
#define BIAS 1023
#endif

/*
 * True unless 2^(lowest - BIAS) <= x < 2^(end - BIAS), where the end FINITE is
 * infinity; true for NaN. The bits of such an x are moved to the smallest
 * signed integers, because AVX2 compares as signed.
 */
#undef FINITE
#undef SMALLEST_INTEGER
#define FINITE (2 * BIAS + 1)
#define SMALLEST_INTEGER (UINT64_C(1) << (WIDTH - 1))
PART(MASK, is_outside, VALUE x, int lowest, int end)
{
    const uint64_t first = (uint64_t)lowest << MANTISSA;
    const uint64_t n = (uint64_t)(end - lowest) << MANTISSA;
    INTEGER moved = IADD(BITS_OF(x), KI(SMALLEST_INTEGER - first));
    return ILT(KI(SMALLEST_INTEGER + n - 1), moved);
}

/* 2^n from a biased exponent; the bit above the exponent is the sign, higher
   bits are ignored. */
PART(VALUE, power_of_2, INTEGER exponent)
{
    return FLOAT_OF(ISHL(exponent, KI(MANTISSA)));
}

/*
 * SCALE in other primitives, for CPUs without an instruction for it. The low
 * bits of sum = n + SCALE_ROUNDER are n + 2 BIAS. Half of that is the biased
 * exponent of the first factor, the rest that of the second. The first product
 * is exact, so that the second one rounds once. Adding SCALE_ROUNDER to a small
 * number also rounds it to an integer.
 */
#undef SCALE_ROUNDER
#undef SCALE_LIMIT
#define SCALE_ROUNDER ((IS(F32) ? 0x1.8p23 : 0x1.8p52) + 2 * BIAS)
#define SCALE_LIMIT (IS(F32) ? 200 : 1600)
PART(VALUE, scale_by_factors, VALUE x, VALUE sum)
{
    INTEGER exponents = BITS_OF(sum);
    INTEGER half = ISHR(exponents, KI(1));
    VALUE second = USE(power_of_2, ISUB(exponents, half));
    VALUE first = USE(power_of_2, half);
    return MUL(MUL(x, first), second);
}

/* Minimum and maximum; a NaN x is returned. */
PART(VALUE, at_most, VALUE x, VALUE high)
{
    return SELECT(LT(high, x), high, x);
}

PART(VALUE, at_least, VALUE x, VALUE low)
{
    return SELECT(LT(x, low), low, x);
}

/* -- Exponentials ---------------------------------------------------------- */

/*
 * Range reduction: x = n log 2 + r, |r| < 0.3466. Returns r, n and the sum
 * n + rounder. The rounder is 1.5 2^MANTISSA plus an integer: adding it rounds
 * to an integer, and the low bits of the sum are n plus that integer.
 * exp_split_high omits the term n LOG_2_LOW of r; without it, r is exact in
 * f32.
 */
#undef LOG_2_LOW
#define LOG_2_LOW (IS(F32) ? 0x1.05c61p-29 : -0x1.abc9e3b39803fp-56)
PART(VALUE, exp_split_high, VALUE x, VALUE rounder, VALUE *sum, VALUE *n)
{
#if IS(F32)
    VALUE inverse_log_2 = K(0x1.715476p0);
    VALUE log_2 = K(-0x1.62e43p-1);
#else
    VALUE inverse_log_2 = K(0x1.71547652b82fep0);
    VALUE log_2 = K(-0x1.62e42fefa39efp-1);
#endif
    *sum = FMA(x, inverse_log_2, rounder);
    *n = SUB(*sum, rounder);
    return FMA(*n, log_2, x);
}

PART(VALUE, exp_split, VALUE x, VALUE rounder, VALUE *sum, VALUE *n)
{
    VALUE high = USE(exp_split_high, x, rounder, sum, n);
    return FMA(*n, K(LOG_2_LOW), high);
}

/*
 * (e^r - 1 - r) / r² for the r of exp_split. fpminimax coefficients: f32
 * minimises the error of e^r (2^-28.2), f64 that of e^r - 1 (2^-55.5).
 */
PART(VALUE, exp_poly, VALUE r)
{
#if IS(F32)
    VALUE p = FMA(r, K(0x1.694c86p-10), K(0x1.12397cp-7));
    p = FMA(r, p, K(0x1.555a26p-5));
    p = FMA(r, p, K(0x1.555492p-3));
    return FMA(r, p, K(0x1.fffffap-2));
#else
    VALUE p = FMA(r, K(0x1.ae775680df267p-26), K(0x1.28a287bf1b56ep-22));
    p = FMA(r, p, K(0x1.71de81174404cp-19));
    p = FMA(r, p, K(0x1.a019a6a8351bfp-16));
    p = FMA(r, p, K(0x1.a01a0177ef00cp-13));
    p = FMA(r, p, K(0x1.6c16c17f2d35fp-10));
    p = FMA(r, p, K(0x1.1111111118834p-7));
    p = FMA(r, p, K(0x1.5555555552111p-5));
    p = FMA(r, p, K(0x1.555555555553bp-3));
    return FMA(r, p, K(0x1.0000000000005p-1));
#endif
}
