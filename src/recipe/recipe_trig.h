/* SPDX-License-Identifier: MIT */
/*
 * recipe_trig.h - sine, cosine and tangent.
 *
 * |x| is an integer number of quarter turns and a fraction of at most about half
 * of one. Up to MODERATE, a multiple of pi/2 is subtracted (Cody-Waite), with
 * pi/2 as the sum of three values. Angles below pi/4 have the multiple 0, so tiny
 * ones and zeros are exact.
 *
 * Payne-Hanek reduction serves larger arguments. Write |x| as y 2^(STEP row) with 2^-STEP <= y < 1. Then x in quarter turns is
 * y times a table row, which is 2^(STEP row) 2/pi without the part that gives
 * full turns for any such y. A row is the sum of four values, whose products
 * with y are exact as pairs. The first is an integer so large that the high
 * part of its product is a number of full turns, and is omitted.
 *
 * The last row, which only Inf and NaN use, contains a NaN.
 *
 * The polynomials are minimax (fpminimax), odd or even, with the first term (r
 * or 1) fixed.
 *
 * docs/NUMERICS.md has the error bounds; the largest errors found in f64 are
 * 1.51 ulp for sin, 1.49 for cos and 1.74 for tan.
 */
#undef LOWEST
#undef ROW_SHIFT
#undef ROUNDER
#undef MODERATE
#undef HALF_PI_LOWEST
#if IS(F32)
#define MODERATE 0x1p17
#define HALF_PI_LOWEST -0x1.ee59dap-50
/* STEP is 16. The bits of 2^-STEP, and the position of the row in x. */
#define LOWEST 0x37800000
#define ROW_SHIFT 27
#define ROUNDER 0x1.8p23
#else
#define MODERATE 0x1p30
#define HALF_PI_LOWEST -0x1.f1976b7ed8fbcp-110
/* STEP is 32. */
#define LOWEST 0x3df0000000000000
#define ROW_SHIFT 57
#define ROUNDER 0x1.8p52
#endif

/* Row i is 2^(STEP i) 2/pi modulo the first number here, plus that number; each
   value is the rounded remainder of the previous ones. */
#if IS(F32)
TABLE_OF(two_over_pi_0,
    0x1p41, 0x1p41, 0x1.00517cp41, 0x1.7cc1b8p41, 0x1.b72722p41, 0x1.220a94p41,
    0x1.94fe14p41, 0x1.13abe8p41, 0x1.e8fa9ap41, 0x1p41);
TABLE_OF(two_over_pi_1,
    0x1.45f306p-1, 0x1.45f306p15, 0x1.836e4ep16, -0x1.b1bbeap16, 0x1.529fc2p12,
    0x1.fc2758p16, -0x1.505c16p15, 0x1.f534dep16, 0x1.bb81b6p15, 0);
TABLE_OF(two_over_pi_2,
    0x1.b9391p-26, 0x1.b9391p-10, 0x1.1054a8p-10, -0x1.ac07b2p-9,
    0x1.d5f47ep-14, -0x1.70565ap-11, 0x1.a6ee06p-11, -0x1.f924ecp-11,
    0x1.8a5664p-10, 0);
TABLE_OF(two_over_pi_3,
    0x1.529fc2p-52, 0x1.529fc2p-36, -0x1.ec5418p-39, 0x1.5f47d4p-34,
    -0x1.65912p-39, 0x1.dc0db6p-36, 0x1.b6295ap-36, 0x1.5993c4p-36,
    0x1.e21c82p-35, (T)NAN);
#else
TABLE_OF(two_over_pi_0,
    0x1p86, 0x1p86, 0x1.0000028be60dcp86, 0x1.e60db9391054ap86,
    0x1.1054a7f09d5f4p86, 0x1.9d5f47d4d377p86, 0x1.d377036d8a566p86,
    0x1.8a5664f10e41p86, 0x1.0e4107f9458ebp86, 0x1.458eaf7aef158p86,
    0x1.ef1586dc91b8fp86, 0x1.91b8e909374b8p86, 0x1.374b801924bbbp86,
    0x1.24bba82746487p86, 0x1.464873f877ac7p86, 0x1.77ac72c4a69dp86,
    0x1.a69cfba208d7dp86, 0x1.08d7d4baed121p86, 0x1.ed1213a671c0ap86,
    0x1.71c09ad17df9p86, 0x1.7df904e64758ep86, 0x1.4758e60d4ce7dp86,
    0x1.4ce7d272117e3p86, 0x1.117e2ef7e4a0fp86, 0x1.e4a0ec7fe26p86,
    0x1.e25fff7816604p86, 0x1.16603fbcbc463p86, 0x1.bc462d6829b48p86,
    0x1.29b47db4d9fb4p86, 0x1.d9fb3c9f2c26ep86, 0x1.2c26dd3d18fdap86,
    0x1.18fd9a797fa8bp86, 0x1.7fa8b5d49eeb2p86, 0x1p86);
TABLE_OF(two_over_pi_1,
    0x1.45f306dc9c883p-1, 0x1.45f306dc9c883p31, -0x1.b1bbead603d8bp32,
    0x1.fc2757d1f534ep32, 0x1.f534ddc0db629p32, 0x1.b6c52b3278872p31,
    0x1.3c439041fe516p32, 0x1.fe5163abdebbcp32, -0x1.0a21d4f246dc9p29,
    0x1.b7246e3a424ddp32, -0x1.bdb22d1ff9b6dp32, 0x1.924bba8274648p26,
    -0x1.f62e6de301e21p32, 0x1.fc3bd63962535p31, 0x1.62534e7dd1047p31,
    -0x1.177dca0ad144cp32, 0x1.2ebb4484e99c7p32, 0x1.d338e04d68bfp31,
    -0x1.4ba081bec66e3p32, 0x1.3991d63983534p32, 0x1.835339f49c846p32,
    0x1.3908bf177bf25p31, -0x1.081b5f13801dap30, -0x1.c00ed00043f4dp31,
    -0x1.0fd33f8086877p29, -0x1.0d0ee74a5f593p28, -0x1.4beb25c12593p31,
    -0x1.25930261b069fp31, -0x1.b069ec9161738p31, -0x1.61738132c3403p31,
    -0x1.61a015d28ad84p32, 0x1.7527bac7ebe5fp32, -0x1.41a0e84c2f8c6p28, 0);
TABLE_OF(two_over_pi_2,
    -0x1.6b01ec5417056p-55, -0x1.6b01ec5417056p-23, 0x1.f47d4d377036ep-22,
    -0x1.1f924eb53361ep-23, 0x1.664f10e4107f9p-22, 0x1.07f9458eaf7afp-26,
    0x1.d5ef5de2b0db9p-23, 0x1.586dc91b8e909p-22, 0x1.d2126e9700325p-27,
    0x1.700324977504fp-23, -0x1.15f62e6de301ep-24, 0x1.cfe1deb1cb12ap-28,
    -0x1.38d3b5963045ep-22, -0x1.822efb9415a29p-25, -0x1.0568a25dbd8b3p-23,
    0x1.213a671c09ad1p-22, 0x1.35a2fbf209cc9p-27, -0x1.bec66e29c67cbp-24,
    0x1.8e60d4ce7d272p-22, -0x1.82d8dee81d108p-22, -0x1.d1081b5f13802p-26,
    0x1.d8ffc4bffef03p-27, -0x1.0fd33f8086877p-35, 0x1.fde5e2316b415p-29,
    -0x1.d297d64b824b2p-26, 0x1.f6d367ecf27cbp-28, -0x1.30d834f648b0cp-24,
    0x1.b74f463f669e6p-24, -0x1.32c3402ba515bp-25, 0x1.16ba93dd63f5fp-23,
    -0x1.4e050683a130cp-22, 0x1.7b3d0739f78a5p-24, -0x1.0eb5ada2b2809p-29, 0);
TABLE_OF(two_over_pi_3,
    -0x1.6447e493ad4cep-109, -0x1.6447e493ad4cep-77, -0x1.d6a66c3bc6fbep-76,
    0x1.c820ff28b1d5fp-79, 0x1.163abdebbc562p-76, -0x1.d4f246dc8e2dfp-83,
    0x1.1b8e909374b8p-78, 0x1.ba5c00c925dd4p-77, -0x1.a22bec5cdbc6p-81,
    -0x1.cdbc603c429c7p-77, -0x1.0a71a76b2c609p-79, -0x1.63045df7282b4p-82,
    0x1.1afa975da2427p-79, 0x1.a24274ce38136p-79, -0x1.c7eca5d040df6p-79,
    0x1.f7e413991d63ap-76, -0x1.4e33e566305b2p-83, 0x1.9cfa4e422fc5ep-79,
    0x1.17e2ef7e4a0ecp-78, -0x1.b5f13801da001p-78, 0x1.2fffbc0b301fep-81,
    -0x1.9fc04343b9d29p-82, -0x1.d297d64b824b2p-90, -0x1.2e092c98130d8p-84,
    -0x1.8130d834f648bp-80, 0x1.36e9e8c7ecd3dp-85, 0x1.8fd9a797fa8b6p-78,
    -0x1.5d28ad8453814p-84, -0x1.14e050683a131p-82, 0x1.7c5ecf41ce7dep-78,
    0x1.ce7de294a4baap-78, 0x1.497535fdafd89p-79, -0x1.0277039517bd5p-83,
    (T)NAN);
#endif

/*
 * x >= MODERATE as quadrant pi/2 + r; only the two low bits of the quadrant are valid.
 * |r| is below 0.811 (f32) or 0.7855 (f64), and *low is its low part.
 *
 * Sums need their rounding errors, b - ((a + b) - a). This is exact even if a is
 * smaller than b, because a is a multiple of b's ulp.
 */
PART(VALUE, reduce_large_angle, VALUE x, VALUE *low, INTEGER *quadrant)
{
    /* Other lanes of a vector may have any x: their rows must exist. */
    INTEGER bits = BITS_OF(SELECT(LE(K(MODERATE), x), x, K(MODERATE)));
    INTEGER row = ISHR(ISUB(bits, KI(LOWEST)), KI(ROW_SHIFT));
    VALUE y = FLOAT_OF(ISUB(bits, ISHL(row, KI(ROW_SHIFT))));

    /* Quarter turns: d0 + (p1 + d1) + (p2 + d2). */
    VALUE c0 = LOOKUP(two_over_pi_0, row);
    VALUE c1 = LOOKUP(two_over_pi_1, row);
    VALUE c2 = LOOKUP(two_over_pi_2, row);
    VALUE c3 = LOOKUP(two_over_pi_3, row);
    VALUE d0 = FMA(y, c0, NEG(MUL(y, c0)));
    VALUE p1 = MUL(y, c1);
    VALUE d1 = FMA(y, c1, NEG(p1));
    VALUE p2 = MUL(y, c2);
    VALUE d2 = FMA(y, c3, FMA(y, c2, NEG(p2)));

    VALUE rounded = ADD(ADD(d0, p1), K(ROUNDER));
    *quadrant = BITS_OF(rounded);
    VALUE fraction = SUB(d0, SUB(rounded, K(ROUNDER)));
    VALUE sum = ADD(fraction, p1);
    VALUE sum_low = SUB(p1, SUB(sum, fraction));
    VALUE tail = ADD(d1, p2);
    VALUE tail_low = SUB(p2, SUB(tail, d1));
    VALUE quarters = ADD(sum, tail);
    VALUE quarters_low = SUB(tail, SUB(quarters, sum));
    quarters_low = ADD(quarters_low, ADD(sum_low, ADD(tail_low, d2)));

    VALUE half_pi = K(HALF_PI);
    VALUE r_low = FMA(quarters_low, half_pi, MUL(quarters, K(HALF_PI_LOW)));
    VALUE r = FMA(quarters, half_pi, r_low);
    *low = ADD(FMA(quarters, half_pi, NEG(r)), r_low);
    return r;
}

/*
 * The same of any x >= 0. Subtracting the high part of the multiple is exact:
 * the difference is below 1, and a multiple of the ulp of x or of HALF_PI.
 */
PART(VALUE, reduce_angle, VALUE x, VALUE *low, INTEGER *quadrant)
{
    VALUE rounded = FMA(x, K(0x1.45f306dc9c883p-1), K(ROUNDER));
    VALUE turns = NEG(SUB(rounded, K(ROUNDER)));
    VALUE difference = FMA(turns, K(HALF_PI), x);
    VALUE product = MUL(turns, K(HALF_PI_LOW));
    VALUE error = FMA(turns, K(HALF_PI_LOW), NEG(product));
    VALUE r = ADD(difference, product);
    VALUE r_low = SUB(product, SUB(r, difference));
    r_low = ADD(r_low, FMA(turns, K(HALF_PI_LOWEST), error));
#if IS(F64) /* the low part is not small where the sum cancels */
    VALUE sum = ADD(r, r_low);
    r_low = SUB(r_low, SUB(sum, r));
    r = sum;
#endif
    INTEGER multiple = BITS_OF(rounded);
    RARELY(LE(K(MODERATE), x), r, r_low, multiple,
           r = USE(reduce_large_angle, x, &r_low, &multiple););
    *low = r_low;
    *quadrant = multiple;
    return r;
}

/* f64 does not need the low part of r. */
PART(VALUE, sine_poly, VALUE r, VALUE low)
{
    VALUE z = MUL(r, r);
#if IS(F32)
    VALUE p = FMA(z, K(-0x1.98a08cp-13), K(0x1.110548p-7));
    p = FMA(z, p, K(-0x1.55554p-3));
    return ADD(r, FMA(MUL(z, r), p, low));
#else
    VALUE p = FMA(z, K(0x1.5d8e616d2d59ap-33), K(-0x1.ae5e54fde4c3cp-26));
    p = FMA(z, p, K(0x1.71de355fa2ce4p-19));
    p = FMA(z, p, K(-0x1.a01a019bf2b6cp-13));
    p = FMA(z, p, K(0x1.111111110f76p-7));
    p = FMA(z, p, K(-0x1.5555555555548p-3));
    (void)low;
    return FMA(MUL(z, r), p, r);
#endif
}

PART(VALUE, cosine_poly, VALUE r, VALUE low)
{
#if IS(F32)
    VALUE z = FMA(r, r, MUL(r, ADD(low, low)));
    VALUE p = FMA(z, K(0x1.994924p-16), K(-0x1.6c09dep-10));
    p = FMA(z, p, K(0x1.555546p-5));
    p = FMA(z, p, K(-0.5));
#else
    VALUE z = MUL(r, r);
    VALUE p = FMA(z, K(-0x1.8f9f6fad14d88p-37), K(0x1.1ee9ccceb52c4p-29));
    p = FMA(z, p, K(-0x1.27e4f7d904477p-22));
    p = FMA(z, p, K(0x1.a01a019c689fep-16));
    p = FMA(z, p, K(-0x1.6c16c16c14e4ap-10));
    p = FMA(z, p, K(0x1.555555555554ap-5));
    p = FMA(z, p, K(-0.5));
    (void)low;
#endif
    return FMA(z, p, K(1));
}

/* (tan(r) - r) / r³ as a polynomial in z = r². */
PART(VALUE, tangent_poly, VALUE z)
{
#if IS(F32)
    VALUE p = FMA(z, K(0x1.40e64p-8), K(-0x1.01e77p-10));
    p = FMA(z, p, K(0x1.7f4646p-7));
    p = FMA(z, p, K(0x1.5729a6p-6));
    p = FMA(z, p, K(0x1.bb66b8p-5));
    p = FMA(z, p, K(0x1.110a74p-3));
    return FMA(z, p, K(0x1.55556cp-2));
#else
    VALUE p = FMA(z, K(0x1.5dceea21e9536p-16), K(-0x1.77fe548c0d22fp-15));
    p = FMA(z, p, K(0x1.76c33181d30dbp-14));
    p = FMA(z, p, K(-0x1.b8ce60134e7aep-16));
    p = FMA(z, p, K(0x1.1e255c3d41206p-13));
    p = FMA(z, p, K(0x1.d272986fc2fb7p-13));
    p = FMA(z, p, K(0x1.37fa632eab6bbp-11));
    p = FMA(z, p, K(0x1.7d5b616fa895bp-10));
    p = FMA(z, p, K(0x1.d6d9334df46fbp-9));
    p = FMA(z, p, K(0x1.226e125d874b9p-7));
    p = FMA(z, p, K(0x1.664f49a84f6e1p-6));
    p = FMA(z, p, K(0x1.ba1ba1b46c14p-5));
    p = FMA(z, p, K(0x1.11111111182c7p-3));
    return FMA(z, p, K(0x1.55555555554f2p-2));
#endif
}

PART(MASK, is_odd, INTEGER quadrant)
{
    return ILT(ISHL(quadrant, KI(WIDTH - 1)), KI(0));
}

/* Moves bit 1 of the quadrant, a half turn, to the sign bit. */
PART(INTEGER, half_turn_sign, INTEGER quadrant)
{
    return ISHL(quadrant, KI(WIDTH - 2));
}

PART(VALUE, flip_sign, VALUE y, INTEGER sign)
{
    INTEGER mask = KI(UINT64_C(1) << (WIDTH - 1));
    return FLOAT_OF(IXOR(BITS_OF(y), IAND(sign, mask)));
}

RECIPE_1(SIN, x)
{
    VALUE low;
    INTEGER quadrant;
    VALUE r = USE(reduce_angle, FABS(x), &low, &quadrant);
    VALUE y = SELECT(USE(is_odd, quadrant), USE(cosine_poly, r, low),
                     USE(sine_poly, r, low));
    INTEGER sign = USE(half_turn_sign, quadrant);
    return USE(flip_sign, y, IXOR(BITS_OF(x), sign));
}

RECIPE_1(COS, x)
{
    VALUE low;
    INTEGER quadrant;
    VALUE r = USE(reduce_angle, FABS(x), &low, &quadrant);
    VALUE y = SELECT(USE(is_odd, quadrant), USE(sine_poly, r, low),
                     USE(cosine_poly, r, low));
    INTEGER sign = USE(half_turn_sign, IADD(quadrant, KI(1)));
    return USE(flip_sign, y, sign);
}

/*
 * tan(r) if the quadrant is even, else -1 / tan(r). f32 includes the low part
 * of z (with weight 0.59 r, fitted to the end of the range, where it matters)
 * and corrects the quotient.
 */
RECIPE_1(TAN, x)
{
    VALUE low;
    INTEGER quadrant;
    VALUE r = USE(reduce_angle, FABS(x), &low, &quadrant);
    VALUE z = MUL(r, r);
    VALUE slope = FMA(r, USE(tangent_poly, z), low);
#if IS(F32)
    VALUE z_low = FMA(r, low, FMA(r, r, NEG(z)));
    low = FMA(MUL(z_low, K(0.59)), r, low);
#endif
    VALUE fraction = FMA(z, slope, low);
    VALUE tangent = ADD(r, fraction);
    VALUE inverse = DIV(K(-1), tangent);
#if IS(F32)
    VALUE tangent_low = SUB(fraction, SUB(tangent, r));
    VALUE error = FMA(inverse, tangent_low, FMA(inverse, tangent, K(1)));
    inverse = FMA(inverse, error, inverse);
#endif
    VALUE y = SELECT(USE(is_odd, quadrant), inverse, tangent);
    return USE(flip_sign, y, BITS_OF(x));
}
