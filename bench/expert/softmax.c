/* SPDX-License-Identifier: MIT */
/*
 * softmax.c - softmax of rows: e * (1 / sum(e)), where e = exp(x - max(x)).
 * Three passes over a row, which stays in L1.
 *
 * The maximum of a row with a NaN may be wrong: the NaN makes its own e, hence
 * the sum and all results, NaN in any case.
 */
#include "peers.h"
#include "recipes_f32.h"
#include "rows.h"

static inline float larger(float a, float b)
{
    return a > b ? a : b;
}

INLINE float largest_of(const float *x, int64_t n)
{
    wide_f32 a = K(-__builtin_inff()), b = a, c = a, d = a;
    int64_t i = 0;
    for (; i + LANES_F32 <= n; i += LANES_F32) {
        a = at_least_f32(load_f32(x + i), a);
        b = at_least_f32(load_f32(x + i + 16), b);
        c = at_least_f32(load_f32(x + i + 32), c);
        d = at_least_f32(load_f32(x + i + 48), d);
    }
    a = at_least_f32(at_least_f32(a, b), at_least_f32(c, d));
    const __m256 eight = _mm256_max_ps(a.low, a.high);
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight),
                             _mm256_extractf128_ps(eight, 1));
    four = _mm_max_ps(four, _mm_movehl_ps(four, four));
    float max = _mm_cvtss_f32(_mm_max_ss(four, _mm_movehdup_ps(four)));
    for (; i < n; i++)
        max = larger(max, x[i]);
    return max;
}

/* exp(x - max) */
INLINE lanes_f32 powers(lanes_f32 x, const void *max)
{
    const wide_f32 m = K(*(const float *)max);
    return (lanes_f32){exp_of_negative_f32(sub_f32(x.a, m)),
                       exp_of_negative_f32(sub_f32(x.b, m)),
                       exp_of_negative_f32(sub_f32(x.c, m)),
                       exp_of_negative_f32(sub_f32(x.d, m))};
}

INLINE void scale_by(float *x, int64_t n, float factor)
{
    int64_t i = 0;
    for (; i + LANES_F32 <= n; i += LANES_F32)
        store_lanes_f32(
            x + i, mul_lanes_f32(load_lanes_f32(x + i), all_lanes_f32(factor)));
    for (; i < n; i++)
        x[i] *= factor;
}

void expert_softmax(const kernel_buffers *b)
{
    const float *x = b->in[0];
    float *out = b->out[0];
    const int64_t n = b->columns;

#pragma omp parallel for
    for (int64_t row = 0; row < b->rows; row++) {
        const float *from = x + row * n;
        float *e = out + row * n;
        const float max = largest_of(from, n);
        scale_by(e, n, 1.0f / sum_of_row(powers, from, e, n, &max));
    }
}
