/* SPDX-License-Identifier: MIT */
/*
 * plain_pool.c - pooling in plain C. Channels are the innermost loop; threads
 * divide rows of the results. See plain_elementwise.c.
 */
#include <math.h>
#include <stdbool.h>

#include "expert/share.h"
#include "peers.h"

typedef struct window {
    int64_t size, stride, border; /* border: elements of padding before */
} window;

static const window window_3x3 = {3, 1, 1}, window_2x2 = {2, 2, 0};

static inline int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

static inline __attribute__((always_inline)) void
pool_point(const float *image, int64_t side, int64_t depth, window w,
           bool is_max, int64_t y, int64_t x, float *restrict to)
{
    const int64_t top = clamp(y * w.stride - w.border, 0, side);
    const int64_t left = clamp(x * w.stride - w.border, 0, side);
    const int64_t bottom =
        clamp(y * w.stride - w.border + w.size, 0, side);
    const int64_t right = clamp(x * w.stride - w.border + w.size, 0, side);
    const float scale = 1.0f / (float)((bottom - top) * (right - left));
    for (int64_t c = 0; c < depth; c++)
        to[c] = is_max ? -INFINITY : 0;
    for (int64_t i = top; i < bottom; i++)
        for (int64_t j = left; j < right; j++) {
            const float *restrict from = image + (i * side + j) * depth;
            for (int64_t c = 0; c < depth; c++)
                to[c] = !is_max ? to[c] + from[c]
                        : from[c] > to[c] ? from[c]
                                          : to[c];
        }
    for (int64_t c = 0; c < depth && !is_max; c++)
        to[c] *= scale;
}

static inline __attribute__((always_inline)) void
pool(const kernel_buffers *b, window w, bool is_max)
{
    const int64_t side = b->rows, depth = b->columns, to = side / w.stride;
    const float *images = b->in[0];
    float *out = b->out[0];
    const share mine = share_of(b->batch * to);
    for (int64_t row = mine.begin; row < mine.end; row++)
        for (int64_t x = 0; x < to; x++)
            pool_point(images + row / to * side * side * depth, side, depth,
                       w, is_max, row % to, x, out + (row * to + x) * depth);
}

void plain_max_pool_3x3(const kernel_buffers *b)
{
#pragma omp parallel
    pool(b, window_3x3, true);
}

void plain_max_pool_2x2(const kernel_buffers *b)
{
#pragma omp parallel
    pool(b, window_2x2, true);
}

void plain_avg_pool_3x3(const kernel_buffers *b)
{
#pragma omp parallel
    pool(b, window_3x3, false);
}

void plain_avg_pool_2x2(const kernel_buffers *b)
{
#pragma omp parallel
    pool(b, window_2x2, false);
}
