/* SPDX-License-Identifier: MIT */
/*
 * recipe_fast.h - the fast forms of ops that have one (FAST in op.def), for
 * functions of fast accuracy. The bound is 4 ulp. They save the operations that
 * the recipes of recipe_exp.h, recipe_log.h, recipe_arc.h and recipe_erf.h
 * spend on rounding errors, and terms of polynomials. NaN, infinities, signs of
 * zeros and denormals are treated as there. recipe_fast_trig.h has sin, cos and
 * tan.
 *
 * Exponentials have no fast form: without the low part of log 2 the error would
 * exceed 4 ulp, and nothing else can be saved.
 */

/* -- Logarithms ------------------------------------------------------------ */

/* f32: relative error of the polynomial 2^-23.6. f64: log(1 + f) is
   s (2 + z p(z)), without a separate exact f. */
RECIPE_1(LOG_FAST, x)
{
    VALUE n;
    VALUE f = USE(log_split, x, &n);
#if IS(F32)
    VALUE p = FMA(f, K(0x1.788bcp-4), K(-0x1.25957cp-3));
    p = FMA(f, p, K(0x1.2eaf7ep-3));
    p = FMA(f, p, K(-0x1.533f1ap-3));
    p = FMA(f, p, K(0x1.9912cep-3));
    p = FMA(f, p, K(-0x1.00051p-2));
    p = FMA(f, p, K(0x1.555626p-2));
    p = FMA(f, p, K(-0x1.fffffcp-2));
    return FMA(n, K(-LOG_2), FMA(MUL(f, f), p, f));
#else
    VALUE s = DIV(f, ADD(f, K(2)));
    VALUE z = MUL(s, s);
    VALUE p = FMA(z, K(0x1.359528b1b14f5p-3), K(0x1.3903b87daa66fp-3));
    p = FMA(z, p, K(0x1.746bb1111a5d5p-3));
    p = FMA(z, p, K(0x1.c71c3cf8cf592p-3));
    p = FMA(z, p, K(0x1.24924951f27bdp-2));
    p = FMA(z, p, K(0x1.999999997c5f8p-2));
    p = FMA(z, p, K(0x1.555555555556ep-1));
    return FMA(n, K(-LOG_2), MUL(s, FMA(z, p, K(2))));
#endif
}

/* f p(f) - n; f32: relative error 2^-25.1. f64 as above, with 1 / log 2 in the
   coefficients. */
RECIPE_1(LOG2_FAST, x)
{
    VALUE n;
    VALUE f = USE(log_split, x, &n);
#if IS(F32)
    VALUE p = FMA(f, K(0x1.01ba32p-3), K(-0x1.a78036p-3));
    p = FMA(f, p, K(0x1.b94dfcp-3));
    p = FMA(f, p, K(-0x1.e9809ep-3));
    p = FMA(f, p, K(0x1.26dd48p-2));
    p = FMA(f, p, K(-0x1.715b7ep-2));
    p = FMA(f, p, K(0x1.ec7366p-2));
    p = FMA(f, p, K(-0x1.715472p-1));
    p = FMA(f, p, K(0x1.715476p0));
    return FMA(f, p, NEG(n));
#else
    VALUE s = DIV(f, ADD(f, K(2)));
    VALUE z = MUL(s, s);
    VALUE p = FMA(z, K(0x1.b526814d7bfc1p-3), K(0x1.c47a08501cd1p-3));
    p = FMA(z, p, K(0x1.0ca11ce694233p-2));
    p = FMA(z, p, K(0x1.484afcfded1bdp-2));
    p = FMA(z, p, K(0x1.a61762d1eed7ep-2));
    p = FMA(z, p, K(0x1.2776c50ee740cp-1));
    p = FMA(z, p, K(0x1.ec709dc3a0455p-1));
    return FMA(s, FMA(z, p, K(0x1.71547652b82fep1)), NEG(n));
#endif
}

/* f p(f) - n log10(2); f32: relative error 2^-24.4. */
RECIPE_1(LOG10_FAST, x)
{
    VALUE n;
    VALUE f = USE(log_split, x, &n);
#if IS(F32)
    VALUE p = FMA(f, K(0x1.29470cp-5), K(-0x1.fd18p-5));
    p = FMA(f, p, K(0x1.0c01cp-4));
    p = FMA(f, p, K(-0x1.26dcf2p-4));
    p = FMA(f, p, K(0x1.62ce92p-4));
    p = FMA(f, p, K(-0x1.bcbd76p-4));
    p = FMA(f, p, K(0x1.287d4p-3));
    p = FMA(f, p, K(-0x1.bcb7bp-3));
    p = FMA(f, p, K(0x1.bcb7bp-2));
    VALUE log = MUL(f, p);
#else
    VALUE s = DIV(f, ADD(f, K(2)));
    VALUE z = MUL(s, s);
    VALUE p = FMA(z, K(0x1.0738b2ce27b2p-4), K(0x1.106a4935a6048p-4));
    p = FMA(z, p, K(0x1.43764a7c4cbf4p-4));
    p = FMA(z, p, K(0x1.8b4dd74ea005dp-4));
    p = FMA(z, p, K(0x1.fc3fa648401b8p-4));
    p = FMA(z, p, K(0x1.63c627750e9cep-3));
    p = FMA(z, p, K(0x1.287a7636f4394p-2));
    VALUE log = MUL(s, FMA(z, p, K(0x1.bcb7b1526e50ep-1)));
#endif
    return FMA(n, K(-0x1.34413509f79ffp-2), log);
}

/* -- Arc tangent ----------------------------------------------------------- */

/* base + atan(t), |t| <= 1. Relative error in f32: 2^-25.8. */
PART(VALUE, arc_tangent_fast, VALUE base, VALUE t)
{
    VALUE z = MUL(t, t);
#if IS(F32)
    VALUE p = FMA(z, K(0x1.7eb194p-9), K(-0x1.0c1c24p-6));
    p = FMA(z, p, K(0x1.61f14p-5));
    p = FMA(z, p, K(-0x1.35519p-4));
    p = FMA(z, p, K(0x1.b4dedep-4));
    p = FMA(z, p, K(-0x1.230a96p-3));
    p = FMA(z, p, K(0x1.9978ecp-3));
    p = FMA(z, p, K(-0x1.5554dcp-2));
#else
    VALUE p = USE(arc_tangent_poly, z);
#endif
    return ADD(base, FMA(MUL(t, z), p, t));
}

RECIPE_1(ATAN_FAST, x)
{
    VALUE magnitude = FABS(x);
    MASK large = LT(K(1), magnitude);
    VALUE t = DIV(SELECT(large, K(-1), magnitude),
                  SELECT(large, magnitude, K(1)));
    VALUE base = SELECT(large, K(HALF_PI), K(0));
    return USE(with_sign_of, USE(arc_tangent_fast, base, t), x);
}

/* As atan2. */
RECIPE_2(ATAN2_FAST, y, x)
{
    VALUE width = FABS(x);
    VALUE height = FABS(y);
    MASK is_flat = LE(height, width);
    MASK is_negative = SIGN_BIT(x);
    VALUE numerator = SELECT(is_flat, height, NEG(x));
    VALUE denominator = SELECT(is_flat, x, height);
    VALUE flat = SELECT(is_negative, K(2 * HALF_PI), K(0));
    VALUE base = SELECT(is_flat, flat, K(HALF_PI));
    VALUE t = DIV(numerator, denominator);
    /* Two zeros count as 0 / 1, two infinities as 1 / 1. */
    RARELY_1(EQ(height, width), t,
             VALUE one = SELECT(EQ(height, K(0)), K(0), K(1));
             t = USE(with_sign_of, one, x););
    return USE(with_sign_of, USE(arc_tangent_fast, base, t), y);
}

/* -- Hyperbolic tangent ---------------------------------------------------- */

/* m / (2 - m), m = 1 - e^(-2|x|). The rounder sets the bit above the exponent,
   so that power is -2^n. */
RECIPE_1(TANH_FAST, x)
{
    VALUE magnitude = USE(at_most, FABS(x), K(IS(F32) ? 10 : 20));
    VALUE sum, n;
    VALUE r = USE(exp_split, MUL(magnitude, K(-2)),
                  K(POWER_ROUNDER + 2 * (BIAS + 1)), &sum, &n);
    VALUE power = USE(power_of_2, BITS_OF(sum));
    VALUE slope = FMA(r, USE(exp_poly, r), K(1));
    VALUE m = FMA(MUL(power, r), slope, ADD(power, K(1)));
    return USE(with_sign_of, DIV(m, SUB(K(2), m)), x);
}

/* -- Logistic functions ---------------------------------------------------- */

/* e^x = 2^n times the result, and n + SCALE_ROUNDER. */
PART(VALUE, exp_unscaled, VALUE x, VALUE *sum, VALUE *n)
{
    VALUE r = USE(exp_split, x, K(SCALE_ROUNDER), sum, n);
    return FMA(r, FMA(r, USE(exp_poly, r), K(1)), K(1));
}

/* e^x / (1 + e^x) */
RECIPE_1(SIGMOID_FAST, x)
{
    VALUE high = USE(at_most, x, K(LOGISTIC_HIGHEST));
    VALUE bounded = USE(at_least, high, K(EXP_LOWEST));
    VALUE sum, n;
    VALUE power = USE(exp_unscaled, bounded, &sum, &n);
    VALUE exp = SCALE(power, n, sum);
    return DIV(exp, ADD(exp, K(1)));
}

/* The same times x, which is scaled last: e^x may be denormal where x e^x is
   not. */
RECIPE_1(SILU_FAST, x)
{
    VALUE low = USE(at_least, x, K(IS(F32) ? -110 : -753));
    VALUE bounded = USE(at_most, low, K(LOGISTIC_HIGHEST));
    VALUE sum, n;
    VALUE power = USE(exp_unscaled, bounded, &sum, &n);
    VALUE quotient = DIV(power, ADD(SCALE(power, n, sum), K(1)));
    return SCALE(MUL(low, quotient), n, sum);
}

/* -- Error function -------------------------------------------------------- */

/* As erf, with fewer terms. Relative errors: f32 2^-26.0 and 2^-23.7, f64
   2^-54.3 and 2^-51.5. */
RECIPE_1(ERF_FAST, x)
{
    VALUE magnitude = FABS(x);
    VALUE square = MUL(x, x);
#if IS(F32)
    VALUE limit = K(0.90625);
    VALUE p = FMA(square, K(-0x1.3ea496p-11), K(0x1.48525ep-8));
    p = FMA(square, p, K(-0x1.b6b968p-6));
    p = FMA(square, p, K(0x1.ce1d74p-4));
    p = FMA(square, p, K(-0x1.8126f6p-2));
    p = FMA(square, p, K(0x1.06eba6p-3));
    VALUE t = SUB(USE(at_most, magnitude, K(3.875)), K(1.5));
    VALUE root = FMA(t, K(-0x1.023fdap-15), K(0x1.e2d346p-12));
    root = FMA(t, root, K(-0x1.06d67ep-9));
    root = FMA(t, root, K(0x1.6c6f28p-10));
    root = FMA(t, root, K(0x1.9f428p-7));
    root = FMA(t, root, K(-0x1.f62b5cp-6));
    root = FMA(t, root, K(-0x1.880e84p-6));
    root = FMA(t, root, K(0x1.9bf5dep-3));
    root = FMA(t, root, K(-0x1.4abef6p-2));
    root = FMA(t, root, K(0x1.790c6ap-3));
#else
    VALUE limit = K(1.25);
    VALUE p = FMA(square, K(0x1.96bcdbfc8d12cp-35), K(-0x1.1ddec5e81c513p-30));
    p = FMA(square, p, K(0x1.ece086a599fa9p-27));
    p = FMA(square, p, K(-0x1.5dd7f285f37a9p-23));
    p = FMA(square, p, K(0x1.b9ada236b6a7bp-20));
    p = FMA(square, p, K(-0x1.f4cce0b5f628fp-17));
    p = FMA(square, p, K(0x1.f9a2ca5b71712p-14));
    p = FMA(square, p, K(-0x1.c02dafe3bbf43p-11));
    p = FMA(square, p, K(0x1.565bccf0500d7p-8));
    p = FMA(square, p, K(-0x1.b82ce3118117bp-6));
    p = FMA(square, p, K(0x1.ce2f21a03e04p-4));
    p = FMA(square, p, K(-0x1.812746b03795bp-2));
    p = FMA(square, p, K(0x1.06eba8214db67p-3));
    VALUE t = SUB(USE(at_most, magnitude, K(5.9375)), K(1.75));
    VALUE root = FMA(t, K(-0x1.e8c79a1d9b2e2p-37), K(0x1.386841021d512p-31));
    root = FMA(t, root, K(-0x1.8a4cafd9dcb62p-28));
    root = FMA(t, root, K(0x1.be2034b01df45p-27));
    root = FMA(t, root, K(0x1.a9c38b7728c0bp-24));
    root = FMA(t, root, K(-0x1.a68adac646f8cp-24));
    root = FMA(t, root, K(-0x1.9645c16799d41p-18));
    root = FMA(t, root, K(0x1.4330720ead88fp-16));
    root = FMA(t, root, K(0x1.569521389930fp-13));
    root = FMA(t, root, K(-0x1.e2c8c7387529p-11));
    root = FMA(t, root, K(-0x1.dbd7e0a33b527p-10));
    root = FMA(t, root, K(0x1.4022d4d6c8c0ep-6));
    root = FMA(t, root, K(0x1.4e1a9e0a42c8ap-8));
    root = FMA(t, root, K(-0x1.276eeca242045p-2));
    root = FMA(t, root, K(0x1.2a726153630a8p-1));
    root = MUL(root, root);
    root = MUL(root, root);
#endif
    VALUE near = FMA(magnitude, p, magnitude);
    VALUE far = FMA(NEG(root), root, K(1));
    return USE(with_sign_of, SELECT(LT(magnitude, limit), near, far), x);
}

/* e^(x + low), unscaled as above, without the low part of the result. */
PART(VALUE, exp_of_pair, VALUE x, VALUE low, VALUE *sum, VALUE *n)
{
    VALUE high = USE(exp_split_high, x, K(SCALE_ROUNDER), sum, n);
    VALUE r = ADD(high, FMA(*n, K(LOG_2_LOW), low));
    return FMA(r, FMA(r, USE(exp_poly, r), K(1)), K(1));
}

RECIPE_1(ERFC_FAST, x)
{
    VALUE a = USE(at_most, FABS(x), K(IS(F32) ? 10.125 : 27.5));
    VALUE minus = NEG(a);
    VALUE square = MUL(a, minus);
    VALUE square_low = FMA(a, minus, NEG(square));
    VALUE sum, n, residual;
    VALUE power = USE(exp_of_pair, square, square_low, &sum, &n);
    VALUE u = USE(inverse_pair, a, K(ERFC_SHIFT), &residual);
    VALUE t = FMA(u, residual, SUB(u, K(ERFC_CENTRE)));
    VALUE poly = FMA(t, USE(erfc_terms, t), K(ERFC_SLOPE));
    poly = FMA(t, poly, K(ERFC_LEVEL));
    VALUE product = MUL(power, MUL(u, poly));
    VALUE tail = SCALE(FMA(product, residual, product), n, sum);
    return SELECT(LT(x, K(0)), SUB(K(2), tail), tail);
}

RECIPE_1(GELU_FAST, x)
{
    VALUE a = USE(at_most, FABS(x), K(IS(F32) ? 15 : 39));
    VALUE half = MUL(a, K(-0.5));
    VALUE square = MUL(a, half);
    VALUE square_low = FMA(a, half, NEG(square));
    VALUE sum, n, residual;
    VALUE power = USE(exp_of_pair, square, square_low, &sum, &n);
    VALUE u = USE(inverse_pair, a, K(GELU_SHIFT), &residual);
    VALUE t = FMA(u, residual, SUB(u, K(GELU_CENTRE)));
    VALUE poly = FMA(t, USE(gelu_terms, t), K(GELU_SLOPE));
    poly = FMA(t, poly, K(GELU_LEVEL));
    VALUE product = MUL(MUL(a, power), MUL(u, poly));
    VALUE tail = SCALE(FMA(product, residual, product), n, sum);
    return SELECT(LT(x, K(0)), NEG(tail), SUB(x, tail));
}
