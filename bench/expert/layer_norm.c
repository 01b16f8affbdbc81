/* SPDX-License-Identifier: MIT */
/*
 * layer_norm.c - (x - mean) * rsqrt(variance + epsilon) * scale + shift of
 * rows: three passes over a row, which stays in L1. Subtracting the mean again
 * in each pass is cheaper than storing the differences.
 */
#include "peers.h"
#include "rows.h"

INLINE lanes_f32 elements(lanes_f32 x, const void *user)
{
    (void)user;
    return x;
}

/* (x - mean)² */
INLINE lanes_f32 squares(lanes_f32 x, const void *mean)
{
    const lanes_f32 c = sub_lanes_f32(x, all_lanes_f32(*(const float *)mean));
    return mul_lanes_f32(c, c);
}

INLINE wide_f32 normal(wide_f32 x, float mean, float inverse, wide_f32 scale,
                       wide_f32 shift)
{
    const wide_f32 c = sub_f32(x, all_f32(mean));
    return fma_f32(mul_f32(c, all_f32(inverse)), scale, shift);
}

INLINE void normalise(const float *x, const float *scale, const float *shift,
                      float *out, int64_t n, float mean, float inverse)
{
    int64_t i = 0;
    for (; i + WIDE_F32 <= n; i += WIDE_F32)
        store_f32(out + i, normal(load_f32(x + i), mean, inverse,
                                  load_f32(scale + i), load_f32(shift + i)));
    for (; i < n; i++)
        out[i] =
            __builtin_fmaf((x[i] - mean) * inverse, scale[i], shift[i]);
}

INLINE float inverse_root_by_division(float x)
{
    const float y = 1.0f / _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x)));
    const float excess = __builtin_fmaf(x * y, y, -1.0f);
    const float better = __builtin_fmaf(y * -0.5f, excess, y);
    return better == better ? better : y;
}

/* As in the recipe: an estimate from the bits of x, a linear function, half of
   the bits, and a step of third order. */
INLINE float inverse_root(float x)
{
    if (!(x >= 0x1p-126f && x < 0x1p125f))
        return inverse_root_by_division(x);
    union {
        float value;
        uint32_t bits;
    } y = {.value = x};
    y.bits = 0x5f1e8000 - (y.bits >> 1);
    y.value *= __builtin_fmaf(x * y.value * y.value, -0x1.70fb9ap-1f,
                              0x1.b1f3b8p0f);
    y.bits &= 0xfffff000;
    const float error = __builtin_fmaf(-x, y.value * y.value, 1.0f);
    const float slope = __builtin_fmaf(error, 0.375f, 0.5f);
    return __builtin_fmaf(y.value * error, slope, y.value);
}

void expert_layer_norm(const kernel_buffers *b)
{
    const float *x = b->in[0];
    const float *scale = b->in[1];
    const float *shift = b->in[2];
    const float epsilon = *(const float *)b->in[3];
    float *out = b->out[0];
    const int64_t n = b->columns;

#pragma omp parallel for
    for (int64_t row = 0; row < b->rows; row++) {
        const float *from = x + row * n;
        const float mean =
            sum_of_row(elements, from, NULL, n, NULL) / (float)n;
        const float variance =
            sum_of_row(squares, from, NULL, n, &mean) / (float)n;
        normalise(from, scale, shift, out + row * n, n, mean,
                  inverse_root(variance + epsilon));
    }
}
