/* SPDX-License-Identifier: MIT */
/*
 * recipes_f32.h - exp, tanh and sigmoid of floats, following the library's
 * recipes (src/recipe/recipe_exp.h) operation by operation, with the same bits.
 * Only operations that cannot change a bit are omitted: negated factors become
 * forms of fma, and clamps that cannot take effect are dropped.
 */
#ifndef BENCH_EXPERT_RECIPES_F32_H
#define BENCH_EXPERT_RECIPES_F32_H

#include "wide.h"

#define K(c) all_f32((float)(c))
#define SIGN_F32 K(-0.0)

/* Rounds a number to an integer n when added; the sum's low bits are n and
   the bias, once or twice. */
#define ONE_STEP_F32 (0x1.8p23 + 127)
#define TWO_STEPS_F32 (0x1.8p23 + 254)

INLINE wide_f32 two_steps_f32(wide_f32 sum, wide_f32 *second)
{
    const wide_f32 first = shift_right_f32(sum, 1);
    *second = shift_left_f32(sub_bits_f32(sum, first), 23);
    return shift_left_f32(first, 23);
}

/* x = n log 2 + r. */
INLINE wide_f32 exp_split_f32(wide_f32 x, wide_f32 rounder,
                                     wide_f32 *sum)
{
    *sum = fma_f32(x, K(0x1.715476p0), rounder);
    const wide_f32 n = sub_f32(*sum, rounder);
    return fma_f32(n, K(0x1.05c61p-29), fma_f32(n, K(-0x1.62e43p-1), x));
}

INLINE wide_f32 exp_curve_f32(wide_f32 r)
{
    wide_f32 p = fma_f32(r, K(0x1.694c86p-10), K(0x1.12397cp-7));
    p = fma_f32(r, p, K(0x1.555a26p-5));
    p = fma_f32(r, p, K(0x1.555492p-3));
    return fma_f32(r, p, K(0x1.fffffap-2));
}

/* x <= 0 or NaN, so the upper clamp of exp is not needed. */
INLINE wide_f32 exp_of_negative_f32(wide_f32 x)
{
    wide_f32 sum, second;
    const wide_f32 r = exp_split_f32(at_least_f32(x, K(-104)),
                                     K(TWO_STEPS_F32), &sum);
    const wide_f32 slope = fma_f32(r, exp_curve_f32(r), K(1));
    const wide_f32 power = fma_f32(r, slope, K(1));
    const wide_f32 first = two_steps_f32(sum, &second);
    return mul_f32(mul_f32(power, first), second);
}

INLINE wide_f32 tanh_f32(wide_f32 x)
{
    const wide_f32 size = and_not_f32(SIGN_F32, x);
    const wide_f32 bounded = at_most_f32(size, K(10));
    const wide_f32 sum = fma_f32(bounded, K(0x1.715476p1), K(ONE_STEP_F32));
    const wide_f32 n = sub_f32(sum, K(ONE_STEP_F32));
    const wide_f32 r = fma_f32(n, K(-0x1.62e43p-2), bounded);
    const wide_f32 power = shift_left_f32(sum, 23);
    wide_f32 slope = fma_f32(r, K(0x1.6d569cp-4), K(0x1.1228fp-2));
    slope = fma_f32(r, slope, K(0x1.5554ep-1));
    slope = fma_f32(r, slope, K(0x1.5554aep0));
    slope = fma_f32(r, slope, K(2));
    slope = fma_f32(r, slope, K(2));
    const wide_f32 below =
        fma_f32(mul_f32(power, r), slope, add_f32(power, K(1)));
    const wide_f32 far = sub_f32(K(1), div_f32(K(2), below));

    const wide_f32 square = mul_f32(size, size);
    wide_f32 p = fma_f32(square, K(-0x1.961d8cp-12), K(0x1.39756cp-9));
    p = fma_f32(square, p, K(-0x1.07f844p-7));
    p = fma_f32(square, p, K(0x1.611b3p-6));
    p = fma_f32(square, p, K(-0x1.b98b1p-5));
    p = fma_f32(square, p, K(0x1.110d48p-3));
    p = fma_f32(square, p, K(-0x1.555544p-2));
    const wide_f32 near = fma_f32(mul_f32(size, square), p, size);
    const wide_f32 tanh = select_f32(less_f32(size, K(0.96875)), near, far);
    return or_f32(tanh, and_f32(SIGN_F32, x));
}

INLINE wide_f32 sigmoid_f32(wide_f32 x)
{
    const wide_f32 bounded = at_least_f32(at_most_f32(x, K(17.5)), K(-104));
    wide_f32 sum, second;
    const wide_f32 r = exp_split_f32(bounded, K(TWO_STEPS_F32), &sum);
    const wide_f32 first = two_steps_f32(sum, &second);

    wide_f32 slope = fma_f32(r, K(-0x1.6d542p-10), K(0x1.122a2p-7));
    slope = fma_f32(r, slope, K(-0x1.5554e2p-5));
    slope = fma_f32(r, slope, K(0x1.5554acp-3));
    slope = fma_f32(r, slope, K(-0.5));
    slope = fma_f32(r, slope, K(1));
    const wide_f32 one = fma_f32(first, second, K(1));
    const wide_f32 below = fnma_f32(r, slope, one);
    const wide_f32 rest =
        fnma_f32(r, slope, fma_f32(first, second, sub_f32(K(1), below)));

    /* The quotient 1 / below is the reciprocal itself. */
    const wide_f32 inverse = div_f32(K(1), below);
    wide_f32 excess = fms_f32(inverse, below, K(1));
    excess = fma_f32(inverse, rest, excess);
    const wide_f32 quotient = fnma_f32(excess, inverse, inverse);
    return mul_f32(mul_f32(quotient, first), second);
}

#endif /* BENCH_EXPERT_RECIPES_F32_H */
