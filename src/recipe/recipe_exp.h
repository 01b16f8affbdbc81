/* SPDX-License-Identifier: MIT */
/*
 * recipe_exp.h - recipes of powers of e and 2 and of what is made of them:
 * hyperbolic and logistic functions.
 *
 * The way of all: x = n log 2 + r by exp_split, a polynomial for e^r, and 2^n
 * from the bits of the sum that rounded n; arguments are bounded first, just
 * past where the result is Inf, 0 or its limit. Where 1 + r + r² curve(r) is
 * a part of a longer sum, its leading terms are added with the rest that their
 * rounding loses, and the small terms go to that rest: then nearly all error
 * is that of the last rounding. f64 goes without a rest where its bound, two
 * units, has room. The products with 2^n are exact but the last, which rounds
 * once, also to denormals.
 *
 * docs/NUMERICS.md has the worst errors. Longer searches in f64 than those,
 * of 2 10^7 arguments or more and the ends of all ranges, have seen:
 *
 *         exp  exp2 expm1 sinh cosh tanh sigmoid silu softplus
 *   f64   0.89 0.84 1.63  1.44 0.87 1.42 1.70    1.83 1.27
 */

/* ONE_STEP is the rounder of a split whose sum gives a plain power_of_2. */
#undef BIAS
#undef ONE_STEP
#undef EXP_LOWEST
#undef EXP_HIGHEST
#if IS(F32)
#define BIAS 127
#define EXP_LOWEST -104
#define EXP_HIGHEST 89
#else
#define BIAS 1023
#define EXP_LOWEST -746
#define EXP_HIGHEST 710
#endif
#define ONE_STEP (TWO_STEPS - BIAS)

/* -- Exponentials ---------------------------------------------------------- */

RECIPE_1(EXP, x)
{
    VALUE high = USE(at_most, x, K(EXP_HIGHEST));
    VALUE bounded = USE(at_least, high, K(EXP_LOWEST));
    VALUE sum;
    VALUE r = USE(exp_split, bounded, K(TWO_STEPS), &sum);
    VALUE slope = FMA(r, USE(exp_curve, r), K(1));
    return USE(in_two_steps, FMA(r, slope, K(1)), sum);
}

/* x = n + r, both exact. Error of the polynomial: 2^-28.0, 2^-57.3. */
RECIPE_1(EXP2, x)
{
    VALUE high = USE(at_most, x, K(IS(F32) ? 129 : 1025));
    VALUE bounded = USE(at_least, high, K(IS(F32) ? -151 : -1076));
    VALUE sum = ADD(bounded, K(TWO_STEPS));
    VALUE r = SUB(bounded, SUB(sum, K(TWO_STEPS)));
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
    return USE(in_two_steps, FMA(r, p, K(1)), sum);
}

/*
 * power (e^r - 1 - r) + rest. With the 1 gone, f32 needs a term more than
 * exp_curve has: its error is 2^-31 of e^r - 1.
 */
PART(VALUE, expm1_curve, VALUE power, VALUE r, VALUE rest)
{
#if IS(F32)
    VALUE p = FMA(r, K(0x1.9e0be6p-13), K(0x1.6d4366p-10));
    p = FMA(r, p, K(0x1.111306p-7));
    p = FMA(r, p, K(0x1.5554fp-5));
    p = FMA(r, p, K(0x1.555554p-3));
    p = FMA(r, p, K(0.5));
#else
    VALUE p = USE(exp_curve, r);
#endif
    return FMA(MUL(power, MUL(r, r)), p, rest);
}

/*
 * (2^n - 1) + 2^n r + 2^n r² curve, all halved, as 2^n may be past the largest
 * number. Tiny x is its own result, with its sign if it is 0.
 */
RECIPE_1(EXPM1, x)
{
    VALUE high = USE(at_most, x, K(EXP_HIGHEST));
    VALUE bounded = USE(at_least, high, K(IS(F32) ? -20 : -40));
    VALUE sum;
    VALUE r = USE(exp_split, bounded, K(ONE_STEP - 1), &sum);
    VALUE power = USE(power_of_2, BITS_OF(sum));
    VALUE less = SUB(power, K(0.5));
    VALUE line = FMA(power, r, less);
    VALUE rest = FMA(power, r, SUB(less, line));
#if IS(F32)
    rest = ADD(rest, SUB(SUB(power, less), K(0.5)));
#endif
    VALUE half = ADD(line, USE(expm1_curve, power, r, rest));
    MASK tiny = LT(FABS(x), K(IS(F32) ? 0x1p-25 : 0x1p-54));
    return SELECT(tiny, x, ADD(half, half));
}

/* -- Hyperbolic functions -------------------------------------------------- */

/*
 * sinh x and cosh x are a cosh r + b sinh r, where a and b are sinh and cosh of
 * n log 2, or the reverse. Both come halved, as for large n they are 2^(n-1):
 * (2^n ± 2^-n) / 4. Gives 2^(n-2) and, without underflow, 2^(3-n).
 */
PART(VALUE, hyperbolic_split, VALUE x, VALUE *grown, VALUE *shrunk)
{
    VALUE bounded = USE(at_most, x, K(IS(F32) ? 89.5 : 710.5));
    VALUE sum;
    VALUE r = USE(exp_split, bounded, K(ONE_STEP - 2), &sum);
    *grown = USE(power_of_2, BITS_OF(sum));
    INTEGER infinity = KI((2 * BIAS + UINT64_C(1)) << MANTISSA);
    *shrunk = FLOAT_OF(ISUB(infinity, BITS_OF(*grown)));
    return r;
}

/* a (cosh r - 1) + b (sinh r - r) + rest; the polynomials' errors are 2^-32 of
   a and b, 2^-60. */
PART(VALUE, hyperbolic_curve, VALUE a, VALUE b, VALUE r, VALUE rest)
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
    return FMA(square, FMA(MUL(b, r), odd, MUL(a, even)), rest);
}

/* Tiny x is its own result. */
RECIPE_1(SINH, x)
{
    VALUE size = FABS(x);
    VALUE grown, shrunk;
    VALUE r = USE(hyperbolic_split, size, &grown, &shrunk);
    VALUE a = FMA(shrunk, K(-0x1p-5), grown);
    VALUE b = FMA(shrunk, K(0x1p-5), grown);
    VALUE line = FMA(b, r, a);
    VALUE rest = FMA(b, r, SUB(a, line));
#if IS(F32)
    rest = ADD(rest, FMA(shrunk, K(-0x1p-5), SUB(grown, a)));
#endif
    VALUE half = ADD(line, USE(hyperbolic_curve, a, b, r, rest));
    MASK tiny = LT(size, K(IS(F32) ? 0x1p-12 : 0x1p-26));
    return USE(with_sign_of, SELECT(tiny, size, ADD(half, half)), x);
}

RECIPE_1(COSH, x)
{
    VALUE grown, shrunk;
    VALUE r = USE(hyperbolic_split, FABS(x), &grown, &shrunk);
    VALUE a = FMA(shrunk, K(0x1p-5), grown);
    VALUE b = FMA(shrunk, K(-0x1p-5), grown);
    VALUE line = FMA(b, r, a);
    VALUE rest = FMA(b, r, SUB(grown, line));
    rest = FMA(shrunk, K(0x1p-5), rest);
    VALUE half = ADD(line, USE(hyperbolic_curve, a, b, r, rest));
    return ADD(half, half);
}

/*
 * above / below = (1 - e) / (1 + e), e = e^(-2|x|): above is -expm1(-2|x|) and
 * below 2 - above, both with their rests. The sign bit of -2^n is the bit above
 * its exponent.
 */
RECIPE_1(TANH, x)
{
    VALUE size = USE(at_most, FABS(x), K(IS(F32) ? 10 : 20));
    VALUE sum;
    VALUE r = USE(exp_split, MUL(size, K(-2)),
                  K(ONE_STEP + 2 * (BIAS + 1)), &sum);
    VALUE power = USE(power_of_2, BITS_OF(sum));
    VALUE less = ADD(power, K(1));
    VALUE line = FMA(power, r, less);
    VALUE rest = FMA(power, r, SUB(less, line));
#if IS(F32)
    rest = ADD(rest, SUB(power, SUB(less, K(1))));
#endif
    rest = USE(expm1_curve, power, r, rest);
    VALUE above = ADD(line, rest);
    VALUE above_rest = SUB(rest, SUB(above, line));
    VALUE below = SUB(K(2), above);
    VALUE below_rest = SUB(SUB(SUB(K(2), below), above), above_rest);

    VALUE inverse = DIV(K(1), below);
    VALUE quotient = MUL(above, inverse);
    VALUE excess = SUB(FMA(quotient, below, NEG(above)), above_rest);
    excess = FMA(quotient, below_rest, excess);
    VALUE tanh = FMA(excess, NEG(inverse), quotient);
    return USE(with_sign_of, tanh, x);
}

/* -- Logistic functions ---------------------------------------------------- */

/*
 * 1 / (1 + e^-x) is 2^n / (2^n + e^-r): no term is large, whatever the sign of
 * x. Gives 2^n + e^-r and the rest of it; 2^n = first second.
 */
PART(VALUE, logistic_below, VALUE r, VALUE first, VALUE second, VALUE *rest)
{
    VALUE minus = NEG(r);
    VALUE square = MUL(r, r);
    VALUE curve = USE(exp_curve, minus);
    VALUE one = FMA(first, second, K(1));
    VALUE lost = FMA(first, second, SUB(K(1), one));
#if IS(F32)
    VALUE high = ADD(one, minus);
    lost = ADD(lost, SUB(minus, SUB(high, one)));
    VALUE low = FMA(square, curve, lost);
#else
    VALUE high = one;
    VALUE low = ADD(FMA(square, curve, minus), lost);
#endif
    VALUE below = ADD(high, low);
    *rest = SUB(low, SUB(below, high));
    return below;
}

/*
 * a / (1 + e^-x). Of -0 it is -0, as the excess is then +0: NEG is for the
 * inverse, since gcc does not keep the sign of a zero in NEG(FMA(…)).
 */
PART(VALUE, logistic, VALUE a, VALUE x)
{
    VALUE sum, second, rest;
    VALUE r = USE(exp_split, x, K(TWO_STEPS), &sum);
    VALUE first = USE(two_steps, sum, &second);
    VALUE below = USE(logistic_below, r, first, second, &rest);
#if IS(F32)
    VALUE inverse = DIV(K(1), below);
    VALUE quotient = MUL(a, inverse);
    VALUE excess = FMA(quotient, below, NEG(a));
    excess = FMA(quotient, rest, excess);
    quotient = FMA(excess, NEG(inverse), quotient);
#else
    VALUE quotient = DIV(a, below);
#endif
    return MUL(MUL(quotient, first), second);
}

/* From here on e^-x has no weight beside 1. */
#undef LOGISTIC_HIGHEST
#define LOGISTIC_HIGHEST (IS(F32) ? 18 : 38)

RECIPE_1(SIGMOID, x)
{
    VALUE high = USE(at_most, x, K(LOGISTIC_HIGHEST));
    return USE(logistic, K(1), USE(at_least, high, K(EXP_LOWEST)));
}

/* x sigmoid(x). Of -Inf: -0. */
RECIPE_1(SILU, x)
{
    VALUE high = USE(at_most, x, K(LOGISTIC_HIGHEST));
    VALUE bounded = USE(at_least, high, K(IS(F32) ? -110 : -753));
    VALUE silu = USE(logistic, bounded, bounded);
    return SELECT(LT(K(LOGISTIC_HIGHEST), x), x, silu);
}

/*
 * log(1 + e^x) = 2 atanh(z), z = e^x / (2 + e^x) = 2^(n-1) / (2^(n-1) + e^-r),
 * and for the larger x it is x + log(1 + e^-x). f32 changes over where the log
 * is below 1/2, so that its rounding counts half. The polynomial in z² is
 * (atanh(z) / z - 1) / z²; its error is 2^-30 of atanh(z), 2^-57.
 */
RECIPE_1(SOFTPLUS, x)
{
    MASK small = LT(x, K(IS(F32) ? 0.4375 : 0));
    VALUE folded = SELECT(small, x, NEG(x));
    VALUE bounded = USE(at_least, folded, K(EXP_LOWEST));
    VALUE sum, second, rest;
    VALUE r = USE(exp_split, bounded, K(TWO_STEPS - 1), &sum);
    VALUE first = USE(two_steps, sum, &second);
    VALUE below = USE(logistic_below, r, first, second, &rest);
    VALUE inverse = DIV(K(1), below);
    VALUE excess = FMA(inverse, below, K(-1));
    excess = FMA(inverse, rest, excess);

    VALUE z = MUL(MUL(inverse, first), second);
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
    VALUE scaled = FMA(inverse, FMA(square, p, NEG(excess)), inverse);
    VALUE log = MUL(ADD(scaled, scaled), first);
    return FMA(log, second, SELECT(small, K(0), x));
}
