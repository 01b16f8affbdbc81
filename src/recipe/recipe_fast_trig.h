/* SPDX-License-Identifier: MIT */
/*
 * recipe_fast_trig.h - the fast forms of sine, cosine and tangent. The bound is
 * 4 ulp for all arguments.
 *
 * The multiple of pi (tan: of pi/2) is subtracted in three parts, each rounded
 * once: the first difference is exact, the others are not small compared with
 * what they subtract from. So the fraction r has a relative error of at most
 * two roundings, however small it is, and needs no low part. sin and cos share
 * one polynomial on half a turn. tan is the quotient of r and a polynomial,
 * which is inverted by exchanging them.
 *
 * The parts of pi are truncated, not rounded: as all are positive, -0 remains
 * -0. Arguments of MODERATE and more are reduced as in recipe_trig.h.
 */
#undef PI_1
#undef PI_2
#undef PI_3
#define PI_1 (IS(F32) ? 0x1.921fb4p1 : 0x1.921fb54442d18p1)
#define PI_2 (IS(F32) ? 0x1.4442dp-23 : 0x1.1a62633145c06p-53)
#define PI_3 (IS(F32) ? 0x1.846988p-47 : 0x1.c1cd129024e08p-106)

/* sin(r), |r| <= pi/2: r times a polynomial in r² of relative error 2^-27.3 in
   f32 and 2^-61.5 in f64. */
PART(VALUE, half_turn_sine, VALUE r)
{
    VALUE z = MUL(r, r);
#if IS(F32)
    VALUE p = FMA(z, K(0x1.5dc8c4p-19), K(-0x1.9f70eep-13));
    p = FMA(z, p, K(0x1.110edap-7));
    p = FMA(z, p, K(-0x1.55554cp-3));
#else
    VALUE p = FMA(z, K(0x1.883273ea39a03p-49), K(-0x1.ae4382e95d372p-41));
    p = FMA(z, p, K(0x1.6123cd02d4f44p-33));
    p = FMA(z, p, K(-0x1.ae6454d4682p-26));
    p = FMA(z, p, K(0x1.71de3a52a0a14p-19));
    p = FMA(z, p, K(-0x1.a01a01a014d6ep-13));
    p = FMA(z, p, K(0x1.11111111110c8p-7));
    p = FMA(z, p, K(-0x1.5555555555555p-3));
#endif
    return MUL(r, FMA(z, p, K(1)));
}

/*
 * x >= MODERATE plus so many quarter turns, as half turns pi + r. Only the low
 * bit of the half turns is valid.
 */
PART(VALUE, reduce_large_half_turns, VALUE x, int quarters, INTEGER *half_turns)
{
    VALUE low;
    INTEGER quadrant;
    VALUE r = USE(reduce_large_angle, x, &low, &quadrant);
    quadrant = IADD(quadrant, KI(quarters));
    MASK odd = USE(is_odd, quadrant);
    /* An odd number of quarters becomes even towards r, which stays large. */
    INTEGER up = SELECT(MASK_AND(odd, LE(K(0), r)), KI(1), KI(0));
    *half_turns = IADD(ISHR(quadrant, KI(1)), up);
    return SELECT(odd, SUB(r, USE(with_sign_of, K(HALF_PI), r)), r);
}

PART(VALUE, flip_if_odd, VALUE y, INTEGER half_turns)
{
    return FLOAT_OF(IXOR(BITS_OF(y), ISHL(half_turns, KI(WIDTH - 1))));
}

RECIPE_1(SIN_FAST, x)
{
    VALUE sum = FMA(x, K(0x1.45f306dc9c883p-2), K(ROUNDER));
    VALUE turns = NEG(SUB(sum, K(ROUNDER)));
    VALUE r = FMA(turns, K(PI_1), x);
    r = FMA(turns, K(PI_2), r);
    r = FMA(turns, K(PI_3), r);
    INTEGER half_turns = BITS_OF(sum);
    VALUE magnitude = FABS(x);
    RARELY_2(LE(K(MODERATE), magnitude), r, half_turns,
             r = USE(reduce_large_half_turns, magnitude, 0, &half_turns);
             r = USE(flip_sign, r, BITS_OF(x)););
    return USE(flip_if_odd, USE(half_turn_sine, r), half_turns);
}

/* The multiple of pi is n + 1/2, and r the difference with the other sign. */
RECIPE_1(COS_FAST, x)
{
    VALUE sum = ADD(FMA(x, K(0x1.45f306dc9c883p-2), K(-0.5)), K(ROUNDER));
    VALUE turns = ADD(SUB(sum, K(ROUNDER)), K(0.5));
    VALUE r = FMA(turns, K(PI_1), NEG(x));
    r = FMA(turns, K(PI_2), r);
    r = FMA(turns, K(PI_3), r);
    INTEGER half_turns = BITS_OF(sum);
    VALUE magnitude = FABS(x);
    RARELY_2(LE(K(MODERATE), magnitude), r, half_turns,
             r = USE(reduce_large_half_turns, magnitude, 1, &half_turns););
    return USE(flip_if_odd, USE(half_turn_sine, r), half_turns);
}

/* r / tan(r), |r| <= pi/4, in z = r². Relative error: f32 2^-27.3, f64
   2^-57.2. */
PART(VALUE, cotangent_poly, VALUE z)
{
#if IS(F32)
    VALUE p = FMA(z, K(-0x1.044066p-12), K(-0x1.12c37ap-9));
    p = FMA(z, p, K(-0x1.6c28dap-6));
    p = FMA(z, p, K(-0x1.555542p-2));
#else
    VALUE p = FMA(z, K(-0x1.aa84f9bd10713p-29), K(-0x1.6938d04fa0615p-26));
    p = FMA(z, p, K(-0x1.d8c41f38181a4p-23));
    p = FMA(z, p, K(-0x1.2272bcf5d5733p-19));
    p = FMA(z, p, K(-0x1.66a969f66f11ap-16));
    p = FMA(z, p, K(-0x1.bbd776be9b0e4p-13));
    p = FMA(z, p, K(-0x1.1566abc3baebfp-9));
    p = FMA(z, p, K(-0x1.6c16c16c1165p-6));
    p = FMA(z, p, K(-0x1.555555555556bp-2));
#endif
    return FMA(z, p, K(1));
}

RECIPE_1(TAN_FAST, x)
{
    VALUE sum = FMA(x, K(0x1.45f306dc9c883p-1), K(ROUNDER));
    VALUE turns = NEG(SUB(sum, K(ROUNDER)));
    VALUE r = FMA(turns, K(PI_1 / 2), x);
    r = FMA(turns, K(PI_2 / 2), r);
    r = FMA(turns, K(PI_3 / 2), r);
    INTEGER quadrant = BITS_OF(sum);
    VALUE magnitude = FABS(x);
    RARELY_2(LE(K(MODERATE), magnitude), r, quadrant,
             VALUE low;
             r = USE(reduce_large_angle, magnitude, &low, &quadrant);
             r = USE(flip_sign, r, BITS_OF(x)););

    VALUE p = USE(cotangent_poly, MUL(r, r));
    MASK odd = USE(is_odd, quadrant);
    VALUE tangent = DIV(SELECT(odd, p, r), SELECT(odd, r, p));
    return USE(flip_if_odd, tangent, quadrant);
}
