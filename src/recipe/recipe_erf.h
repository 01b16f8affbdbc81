/* SPDX-License-Identifier: MIT */
/*
 * recipe_erf.h - recipes of the error function, its complement, and gelu, which
 * is based on the complement.
 *
 * erf is an odd polynomial near 0. Further out it is 1 - p^k, where p is a
 * polynomial that approximates the k-th root of erfc. The root is so much
 * smoother that half the terms suffice, and its error has little weight,
 * because erfc is small there.
 *
 * Tails must have a small relative error down to the denormals. With a = |x|:
 *
 *   erfc(a)  = e^(-a²) u Q(u)        u = 1 / (a + shift)
 *   gelu(-a) = -a e^(-a²/2) u Q(u)   with another Q and shift
 *
 * Q is smooth down to u = 0, the end of the tail, and the shift makes it flat
 * at the other end. All factors have low parts: the exponent a², e^r, u, and
 * the linear part of Q. So nearly all of the error is that of the last
 * rounding. On the other side of 0, both functions subtract the tail from 2 or
 * from x.
 *
 * Coefficients: f32 tails and f32 erf near 0 by fpminimax; f64 tails by least
 * squares at Chebyshev points; the other parts of erf by Remez, the roots with
 * the weight of p^k. Except with fpminimax, coefficients were rounded one by
 * one and the remaining ones refitted each time. Centres of f64 tails are
 * chosen so that the first coefficient is nearly a double; those of f32, and
 * all shifts, were found by trial.
 *
 * docs/NUMERICS.md has the error bounds.
 */
RECIPE_1(ERF, x)
{
    VALUE magnitude = FABS(x);
    VALUE square = MUL(x, x);
#if IS(F32)
    VALUE limit = K(0.90625);
    VALUE p = FMA(square, K(0x1.63dcbep-14), K(-0x1.ac51a6p-11));
    p = FMA(square, p, K(0x1.55025ap-8));
    p = FMA(square, p, K(-0x1.b81478p-6));
    p = FMA(square, p, K(0x1.ce2e4ep-4));
    p = FMA(square, p, K(-0x1.812744p-2));
    p = FMA(square, p, K(0x1.06eba8p-3));
    VALUE t = SUB(USE(at_most, magnitude, K(3.875)), K(1.5));
    VALUE root = FMA(t, K(0x1.c7c5acp-18), K(-0x1.0ea9dep-14));
    root = FMA(t, root, K(0x1.7da6a4p-13));
    root = FMA(t, root, K(0x1.a0a312p-13));
    root = FMA(t, root, K(-0x1.088b3ap-9));
    root = FMA(t, root, K(0x1.aa958p-10));
    root = FMA(t, root, K(0x1.9cf518p-7));
    root = FMA(t, root, K(-0x1.f75b1p-6));
    root = FMA(t, root, K(-0x1.87c0b8p-6));
    root = FMA(t, root, K(0x1.9bfa52p-3));
    root = FMA(t, root, K(-0x1.4abf28p-2));
    root = FMA(t, root, K(0x1.790c56p-3));
#else
    VALUE limit = K(1.25);
    VALUE p = FMA(square, K(-0x1.cb137a91c6817p-39), K(0x1.5d111cd922b4bp-34));
    p = FMA(square, p, K(-0x1.46c75860ead25p-30));
    p = FMA(square, p, K(0x1.fa40fa5f90a5cp-27));
    p = FMA(square, p, K(-0x1.5f41182c58762p-23));
    p = FMA(square, p, K(0x1.b9e10e5f461c4p-20));
    p = FMA(square, p, K(-0x1.f4d1e794dcabap-17));
    p = FMA(square, p, K(0x1.f9a3207c160e3p-14));
    p = FMA(square, p, K(-0x1.c02db3c146f49p-11));
    p = FMA(square, p, K(0x1.565bcd0cdd305p-8));
    p = FMA(square, p, K(-0x1.b82ce3127cf2cp-6));
    p = FMA(square, p, K(0x1.ce2f21a0428f7p-4));
    p = FMA(square, p, K(-0x1.812746b0379e2p-2));
    p = FMA(square, p, K(0x1.06eba8214db68p-3));
    VALUE t = SUB(USE(at_most, magnitude, K(5.9375)), K(1.75));
    VALUE root = FMA(t, K(0x1.e5bec3205d9c2p-41), K(-0x1.0cc88609f49b3p-36));
    root = FMA(t, root, K(0x1.7bbdea23132bap-34));
    root = FMA(t, root, K(0x1.10fac09738d3ap-32));
    root = FMA(t, root, K(-0x1.6767bc4af467cp-28));
    root = FMA(t, root, K(0x1.b47ecb6d09dccp-27));
    root = FMA(t, root, K(0x1.a8c40ecbb0b09p-24));
    root = FMA(t, root, K(-0x1.a518147a000f7p-24));
    root = FMA(t, root, K(-0x1.96460bf2bfbfdp-18));
    root = FMA(t, root, K(0x1.432ff2674f8fbp-16));
    root = FMA(t, root, K(0x1.569523f8262a8p-13));
    root = FMA(t, root, K(-0x1.e2c8c692d7569p-11));
    root = FMA(t, root, K(-0x1.dbd7e0ae82bebp-10));
    root = FMA(t, root, K(0x1.4022d4d667ae6p-6));
    root = FMA(t, root, K(0x1.4e1a9e0a55227p-8));
    root = FMA(t, root, K(-0x1.276eeca241e49p-2));
    root = FMA(t, root, K(0x1.2a726153630a9p-1));
    root = MUL(root, root);
    root = MUL(root, root);
#endif
    VALUE near = FMA(magnitude, p, magnitude);
    VALUE far = FMA(NEG(root), root, K(1));
    return USE(with_sign_of, SELECT(LT(magnitude, limit), near, far), x);
}

/* -- Tails ----------------------------------------------------------------- */

/* e^(x + low) = (power + low_part) 2^n; returns n + SCALE_ROUNDER, too. */
PART(VALUE, exp_pair, VALUE x, VALUE low, VALUE *low_part, VALUE *sum, VALUE *n)
{
    VALUE r = USE(exp_split_high, x, K(SCALE_ROUNDER), sum, n);
    VALUE line = ADD(r, K(1));
    VALUE lost = SUB(r, SUB(line, K(1)));
    lost = FMA(MUL(r, r), USE(exp_poly, r), lost);
    VALUE power = ADD(line, lost);
    low = FMA(*n, K(LOG_2_LOW), low);
    *low_part = FMA(low, power, SUB(lost, SUB(power, line)));
    return power;
}

/* 1 / (a + shift) = u (1 + residual) */
PART(VALUE, inverse_pair, VALUE a, VALUE shift, VALUE *residual)
{
    VALUE denominator = ADD(a, shift);
    VALUE denominator_low = SUB(a, SUB(denominator, shift));
    VALUE u = DIV(K(1), denominator);
    VALUE minus = NEG(u);
    *residual = FMA(minus, denominator_low, FMA(minus, denominator, K(1)));
    return u;
}

/* (a + a_low) (b + b_low) u (1 + residual), with its low part. */
PART(VALUE, tail_product, VALUE a, VALUE a_low, VALUE b, VALUE b_low,
     VALUE u, VALUE residual, VALUE *low_part)
{
    VALUE both = MUL(a, b);
    VALUE lost = FMA(a, b, NEG(both));
    lost = FMA(a_low, b, lost);
    lost = FMA(a, b_low, lost);
    lost = FMA(both, residual, lost);
    VALUE product = MUL(both, u);
    *low_part = FMA(u, lost, FMA(both, u, NEG(product)));
    return product;
}

/* Q(u) for erfc is LEVEL + t (SLOPE + t terms(t)), t = u - ERFC_CENTRE. */
#undef ERFC_SHIFT
#undef ERFC_CENTRE
#undef ERFC_LEVEL
#undef ERFC_SLOPE
#define ERFC_SHIFT (IS(F32) ? 1.25 : 1.5)
#define ERFC_CENTRE (IS(F32) ? 0.3125 : 0.244140625)
#define ERFC_LEVEL (IS(F32) ? 0x1.ab5d0ep-1 : 0x1.ab97ab3965076p-1)
#define ERFC_SLOPE (IS(F32) ? 0x1.f04f4p-1 : 0x1.5fbbc858f7f02p0)
PART(VALUE, erfc_terms, VALUE t)
{
#if IS(F32)
    VALUE p = FMA(t, K(-0x1.654f6p2), K(0x1.3eca56p3));
    p = FMA(t, p, K(-0x1.284036p2));
    p = FMA(t, p, K(-0x1.66f30ep1));
    p = FMA(t, p, K(0x1.05f23cp2));
    p = FMA(t, p, K(-0x1.151e9ep0));
    p = FMA(t, p, K(-0x1.56d938p0));
    p = FMA(t, p, K(0x1.4392d6p0));
    p = FMA(t, p, K(0x1.477a96p-3));
    p = FMA(t, p, K(-0x1.c8b5cep-1));
    p = FMA(t, p, K(0x1.4f533ep-4));
#else
    VALUE p = FMA(t, K(-0x1.e3ff8dac2de3p16), K(0x1.a1909b41d31c5p18));
    p = FMA(t, p, K(-0x1.2fd1d78203da6p19));
    p = FMA(t, p, K(0x1.c3596286718c1p18));
    p = FMA(t, p, K(-0x1.01bcb16f99e0cp17));
    p = FMA(t, p, K(-0x1.004c7c450e5b9p16));
    p = FMA(t, p, K(0x1.32c0d1997ff01p16));
    p = FMA(t, p, K(-0x1.9f7e95823729ap14));
    p = FMA(t, p, K(-0x1.33661bd05a518p12));
    p = FMA(t, p, K(0x1.0e2e43ece408dp13));
    p = FMA(t, p, K(-0x1.9552209258018p11));
    p = FMA(t, p, K(-0x1.6a7ef1451e9aap8));
    p = FMA(t, p, K(0x1.d8a07a26b29d3p9));
    p = FMA(t, p, K(-0x1.7976d554725c6p8));
    p = FMA(t, p, K(-0x1.be3b3e4bd75c8p5));
    p = FMA(t, p, K(0x1.f568ab27a93c2p6));
    p = FMA(t, p, K(-0x1.5188d5f7e1cap5));
    p = FMA(t, p, K(-0x1.158d8eb7d47dfp4));
    p = FMA(t, p, K(0x1.40ecfb4b50c26p4));
    p = FMA(t, p, K(-0x1.2b45a8b743296p1));
    p = FMA(t, p, K(-0x1.8463b75bfbb13p2));
    p = FMA(t, p, K(0x1.6812d130d3facp1));
    p = FMA(t, p, K(0x1.c55ea4c6d91dcp0));
    p = FMA(t, p, K(-0x1.a2572698ce48ap0));
    p = FMA(t, p, K(-0x1.bf8945aa1d071p-1));
    p = FMA(t, p, K(0x1.f4b8d6bebf2f8p-1));
#endif
    return p;
}

PART(VALUE, erfc_poly, VALUE t, VALUE *low_part)
{
    VALUE level = K(ERFC_LEVEL);
    VALUE slope = K(ERFC_SLOPE);
    VALUE line = FMA(t, slope, level);
    VALUE lost = FMA(t, slope, SUB(level, line));
    lost = FMA(MUL(t, t), USE(erfc_terms, t), lost);
    VALUE poly = ADD(line, lost);
    *low_part = SUB(lost, SUB(poly, line));
    return poly;
}

RECIPE_1(ERFC, x)
{
    VALUE a = USE(at_most, FABS(x), K(IS(F32) ? 10.125 : 27.5));
    VALUE minus = NEG(a);
    VALUE square = MUL(a, minus);
    VALUE square_low = FMA(a, minus, NEG(square));
    VALUE sum, n, power_low, residual, poly_low, low_part;
    VALUE power = USE(exp_pair, square, square_low, &power_low, &sum, &n);
    VALUE u = USE(inverse_pair, a, K(ERFC_SHIFT), &residual);
    VALUE t = FMA(u, residual, SUB(u, K(ERFC_CENTRE)));
    VALUE poly = USE(erfc_poly, t, &poly_low);
    VALUE product = USE(tail_product, power, power_low, poly, poly_low, u,
                        residual, &low_part);
    VALUE tail = SCALE(ADD(product, low_part), n, sum);
    return SELECT(LT(x, K(0)), SUB(K(2), tail), tail);
}

/* Q(u) for gelu is LEVEL + t (SLOPE + t terms(t)), t = u - GELU_CENTRE. */
#undef GELU_SHIFT
#undef GELU_CENTRE
#undef GELU_LEVEL
#undef GELU_SLOPE
#define GELU_SHIFT (IS(F32) ? 1.75 : 2.125)
#define GELU_CENTRE (IS(F32) ? 0.2265625 : 0.1640625)
#define GELU_LEVEL (IS(F32) ? 0x1.2f4bdcp-1 : 0x1.289fcf5baa9fep-1)
#define GELU_SLOPE (IS(F32) ? 0x1.e57c8p-1 : 0x1.5ad04f8b171a3p0)
PART(VALUE, gelu_terms, VALUE t)
{
#if IS(F32)
    VALUE p = FMA(t, K(-0x1.8a3b7ap7), K(0x1.ebcf86p7));
    p = FMA(t, p, K(-0x1.177f7p6));
    p = FMA(t, p, K(-0x1.81ccb8p5));
    p = FMA(t, p, K(0x1.4b244p5));
    p = FMA(t, p, K(-0x1.6e6098p2));
    p = FMA(t, p, K(-0x1.f8888ap2));
    p = FMA(t, p, K(0x1.24f4ecp2));
    p = FMA(t, p, K(0x1.56caa2p-1));
    p = FMA(t, p, K(-0x1.baa546p0));
    p = FMA(t, p, K(0x1.c47602p-5));
#else
    VALUE p = FMA(t, K(-0x1.e5635b3acc756p29), K(0x1.44b17e520819ap31));
    p = FMA(t, p, K(-0x1.773761ff6f16dp31));
    p = FMA(t, p, K(0x1.d4a89303c1a03p30));
    p = FMA(t, p, K(-0x1.26537a279cb87p29));
    p = FMA(t, p, K(-0x1.c0d501a803ca2p22));
    p = FMA(t, p, K(0x1.5cecaeb70992ep26));
    p = FMA(t, p, K(-0x1.0e56b8c706d3fp25));
    p = FMA(t, p, K(0x1.168336a47bd24p21));
    p = FMA(t, p, K(0x1.8553efb179692p21));
    p = FMA(t, p, K(-0x1.482ffe9b4411cp20));
    p = FMA(t, p, K(0x1.7f260902d7b83p16));
    p = FMA(t, p, K(0x1.d37856311bcd6p16));
    p = FMA(t, p, K(-0x1.8a9687f4b4c76p15));
    p = FMA(t, p, K(0x1.ab11885050575p10));
    p = FMA(t, p, K(0x1.6b245a81ffdf1p12));
    p = FMA(t, p, K(-0x1.edc52c4e60ff7p10));
    p = FMA(t, p, K(-0x1.cb0b232e1aa3fp7));
    p = FMA(t, p, K(0x1.5e5540b97c1e9p8));
    p = FMA(t, p, K(-0x1.af77ef5a43b78p5));
    p = FMA(t, p, K(-0x1.6ea403e17ce15p5));
    p = FMA(t, p, K(0x1.301bd3fb2c66bp4));
    p = FMA(t, p, K(0x1.89cfcf678d9a9p2));
    p = FMA(t, p, K(-0x1.3d0f0e7724a84p2));
    p = FMA(t, p, K(-0x1.93da4bf31c59dp0));
    p = FMA(t, p, K(0x1.7092cddece401p0));
#endif
    return p;
}

PART(VALUE, gelu_poly, VALUE t, VALUE *low_part)
{
    VALUE level = K(GELU_LEVEL);
    VALUE slope = K(GELU_SLOPE);
    VALUE line = FMA(t, slope, level);
    VALUE lost = FMA(t, slope, SUB(level, line));
    lost = FMA(MUL(t, t), USE(gelu_terms, t), lost);
    VALUE poly = ADD(line, lost);
    *low_part = SUB(lost, SUB(poly, line));
    return poly;
}

/* x (1 + erf(x / √2)) / 2; -0 for -Inf. */
RECIPE_1(GELU, x)
{
    VALUE a = USE(at_most, FABS(x), K(IS(F32) ? 15 : 39));
    VALUE half = MUL(a, K(-0.5));
    VALUE square = MUL(a, half);
    VALUE square_low = FMA(a, half, NEG(square));
    VALUE sum, n, power_low, residual, poly_low, low_part;
    VALUE power = USE(exp_pair, square, square_low, &power_low, &sum, &n);
    VALUE u = USE(inverse_pair, a, K(GELU_SHIFT), &residual);
    VALUE t = FMA(u, residual, SUB(u, K(GELU_CENTRE)));
    VALUE poly = USE(gelu_poly, t, &poly_low);
    VALUE product = USE(tail_product, power, power_low, poly, poly_low, u,
                        residual, &low_part);
    VALUE scaled = FMA(a, product, MUL(a, low_part));
    VALUE tail = SCALE(scaled, n, sum);
    return SELECT(LT(x, K(0)), NEG(tail), SUB(x, tail));
}
