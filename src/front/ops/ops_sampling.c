/* SPDX-License-Identifier: MIT */
/*
 * ops_sampling.c - see ops_sampling.h.
 */
#include "front/ops/ops_sampling.h"

#include "build/build_formula.h"

tgi_taps tgi_build_linear_taps(tgi_builder *b, tgi_ref t)
{
    tgi_taps taps = {.n = 2, .offset = {0, 1}};
    taps.weight[0] = SUB(tgi_build_number_like(b, t, 1), t);
    taps.weight[1] = t;
    return taps;
}

/* c[0] + x (c[1] + x (c[2] + x c[3])) */
static tgi_ref cubic(tgi_builder *b, tgi_ref x, const double c[4])
{
    tgi_ref sum = tgi_build_number_like(b, x, c[3]);
    for (int i = 2; i >= 0; i--)
        sum = FMA(sum, x, tgi_build_number_like(b, x, c[i]));
    return sum;
}

/* The kernel is one polynomial for distances up to 1, another up to 2. */
tgi_taps tgi_build_cubic_taps(tgi_builder *b, tgi_ref t, double a)
{
    const double inner[] = {1, 0, -(a + 3), a + 2};
    const double outer[] = {-4 * a, 8 * a, -5 * a, a};
    tgi_taps taps = {.n = 4, .offset = {-1, 0, 1, 2}};
    tgi_ref one = tgi_build_number_like(b, t, 1);
    tgi_ref rest = SUB(one, t);
    taps.weight[0] = cubic(b, ADD(t, one), outer);
    taps.weight[1] = cubic(b, t, inner);
    taps.weight[2] = cubic(b, rest, inner);
    taps.weight[3] = cubic(b, ADD(rest, one), outer);
    return taps;
}
