/* SPDX-License-Identifier: MIT */
/*
 * recipes_f64.h - exp, log and erf of doubles, following the library's recipes
 * (recipe_exp.h, recipe_log.h and recipe_erf.h of src/recipe) operation by
 * operation. See recipes_f32.h.
 */
#ifndef BENCH_EXPERT_RECIPES_F64_H
#define BENCH_EXPERT_RECIPES_F64_H

#include "wide.h"

#define D(c) all_f64(c)
#define SIGN_F64 D(-0.0)
#define TWO_STEPS_F64 (0x1.8p52 + 2046)

/* -- exp ------------------------------------------------------------------- */

INLINE wide_f64 exp_curve_f64(wide_f64 r)
{
    wide_f64 p =
        fma_f64(r, D(0x1.ae775680df267p-26), D(0x1.28a287bf1b56ep-22));
    p = fma_f64(r, p, D(0x1.71de81174404cp-19));
    p = fma_f64(r, p, D(0x1.a019a6a8351bfp-16));
    p = fma_f64(r, p, D(0x1.a01a0177ef00cp-13));
    p = fma_f64(r, p, D(0x1.6c16c17f2d35fp-10));
    p = fma_f64(r, p, D(0x1.1111111118834p-7));
    p = fma_f64(r, p, D(0x1.5555555552111p-5));
    p = fma_f64(r, p, D(0x1.555555555553bp-3));
    return fma_f64(r, p, D(0x1.0000000000005p-1));
}

INLINE wide_f64 exp_f64(wide_f64 x)
{
    const wide_f64 bounded = at_least_f64(at_most_f64(x, D(710)), D(-746));
    const wide_f64 sum =
        fma_f64(bounded, D(0x1.71547652b82fep0), D(TWO_STEPS_F64));
    const wide_f64 n = sub_f64(sum, D(TWO_STEPS_F64));
    wide_f64 r = fma_f64(n, D(-0x1.62e42fefa39efp-1), bounded);
    r = fma_f64(n, D(-0x1.abc9e3b39803fp-56), r);
    const wide_f64 slope = fma_f64(r, exp_curve_f64(r), D(1));
    const wide_f64 power = fma_f64(r, slope, D(1));
    const wide_f64 first = shift_right_f64(sum, 1);
    const wide_f64 second = sub_bits_f64(sum, first);
    return mul_f64(mul_f64(power, shift_left_f64(first, 52)),
                   shift_left_f64(second, 52));
}

/* -- log ------------------------------------------------------------------- */

/* log(1 + f) */
INLINE wide_f64 log_curve_f64(wide_f64 f)
{
    const wide_f64 s = div_f64(f, add_f64(f, D(2)));
    const wide_f64 z = mul_f64(s, s);
    wide_f64 p =
        fma_f64(z, D(0x1.359528b1b14f5p-3), D(0x1.3903b87daa66fp-3));
    p = fma_f64(z, p, D(0x1.746bb1111a5d5p-3));
    p = fma_f64(z, p, D(0x1.c71c3cf8cf592p-3));
    p = fma_f64(z, p, D(0x1.24924951f27bdp-2));
    p = fma_f64(z, p, D(0x1.999999997c5f8p-2));
    p = fma_f64(z, p, D(0x1.555555555556ep-1));
    const wide_f64 half = mul_f64(mul_f64(f, D(0.5)), f);
    return add_f64(
        fms_f64(s, fma_f64(z, p, half), half), f);
}

INLINE wide_f64 log_f64(wide_f64 x)
{
    /* The exponent bits become the low bits of a large float. */
    const double none = -0x1p52 - 2048;
    const wide_f64 denormal = less_f64(x, D(0x1p-1022));
    const wide_f64 normal =
        select_f64(denormal, mul_f64(x, D(0x1p52)), x);
    const wide_f64 octave =
        and_f64(sub_bits_f64(D(0x1.6a09e667f3bcdp0), normal),
                all_bits_f64(0xfff0000000000000));
    const wide_f64 end = shift_right_f64(
        add_bits_f64(octave, all_bits_f64(0x8000000000000000)), 52);
    const wide_f64 n =
        add_f64(or_f64(end, all_bits_f64(0x4330000000000000)),
                select_f64(denormal, D(none + 52), D(none)));
    const wide_f64 f = sub_f64(add_bits_f64(normal, octave), D(1));
    const wide_f64 log =
        fma_f64(n, D(-0x1.62e42fefa39efp-1), log_curve_f64(f));

    const wide_f64 outside =
        select_f64(equal_f64(x, D(0)), D(-__builtin_inf()),
                   D(__builtin_nan("")));
    const wide_f64 above =
        select_f64(less_f64(x, D(__builtin_inf())), log, x);
    return select_f64(less_f64(D(0), x), above, outside);
}

/* -- erf ------------------------------------------------------------------- */

/* erf(x) / x - 1 near 0, as a polynomial in x². */
INLINE wide_f64 erf_near_f64(wide_f64 square)
{
    wide_f64 p = fma_f64(square, D(-0x1.cb137a91c6817p-39),
                                D(0x1.5d111cd922b4bp-34));
    p = fma_f64(square, p, D(-0x1.46c75860ead25p-30));
    p = fma_f64(square, p, D(0x1.fa40fa5f90a5cp-27));
    p = fma_f64(square, p, D(-0x1.5f41182c58762p-23));
    p = fma_f64(square, p, D(0x1.b9e10e5f461c4p-20));
    p = fma_f64(square, p, D(-0x1.f4d1e794dcabap-17));
    p = fma_f64(square, p, D(0x1.f9a3207c160e3p-14));
    p = fma_f64(square, p, D(-0x1.c02db3c146f49p-11));
    p = fma_f64(square, p, D(0x1.565bcd0cdd305p-8));
    p = fma_f64(square, p, D(-0x1.b82ce3127cf2cp-6));
    p = fma_f64(square, p, D(0x1.ce2f21a0428f7p-4));
    p = fma_f64(square, p, D(-0x1.812746b0379e2p-2));
    return fma_f64(square, p, D(0x1.06eba8214db68p-3));
}

/* A root of 1 - erf away from 0, with t = |x| - 1.75. */
INLINE wide_f64 erf_root_f64(wide_f64 t)
{
    wide_f64 p = fma_f64(t, D(0x1.e5bec3205d9c2p-41),
                                D(-0x1.0cc88609f49b3p-36));
    p = fma_f64(t, p, D(0x1.7bbdea23132bap-34));
    p = fma_f64(t, p, D(0x1.10fac09738d3ap-32));
    p = fma_f64(t, p, D(-0x1.6767bc4af467cp-28));
    p = fma_f64(t, p, D(0x1.b47ecb6d09dccp-27));
    p = fma_f64(t, p, D(0x1.a8c40ecbb0b09p-24));
    p = fma_f64(t, p, D(-0x1.a518147a000f7p-24));
    p = fma_f64(t, p, D(-0x1.96460bf2bfbfdp-18));
    p = fma_f64(t, p, D(0x1.432ff2674f8fbp-16));
    p = fma_f64(t, p, D(0x1.569523f8262a8p-13));
    p = fma_f64(t, p, D(-0x1.e2c8c692d7569p-11));
    p = fma_f64(t, p, D(-0x1.dbd7e0ae82bebp-10));
    p = fma_f64(t, p, D(0x1.4022d4d667ae6p-6));
    p = fma_f64(t, p, D(0x1.4e1a9e0a55227p-8));
    p = fma_f64(t, p, D(-0x1.276eeca241e49p-2));
    return fma_f64(t, p, D(0x1.2a726153630a9p-1));
}

INLINE wide_f64 erf_f64(wide_f64 x)
{
    const wide_f64 size = and_not_f64(SIGN_F64, x);
    const wide_f64 t = sub_f64(at_most_f64(size, D(5.9375)), D(1.75));
    wide_f64 root = erf_root_f64(t);
    root = mul_f64(root, root);
    root = mul_f64(root, root);
    const wide_f64 near =
        fma_f64(size, erf_near_f64(mul_f64(x, x)), size);
    const wide_f64 far = fnma_f64(root, root, D(1));
    return or_f64(select_f64(less_f64(size, D(1.25)), near, far),
                        and_f64(SIGN_F64, x));
}

#endif /* BENCH_EXPERT_RECIPES_F64_H */
