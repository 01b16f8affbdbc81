/* SPDX-License-Identifier: MIT */
/*
 * rows.h - sums over a row, of a function of its elements.
 */
#ifndef BENCH_EXPERT_ROWS_H
#define BENCH_EXPERT_ROWS_H

#include <stddef.h>

#include "tree_f32.h"

/* Maps 64 elements to the values to sum. */
typedef lanes_f32 row_step(lanes_f32 x, const void *user);

/* Up to a block. The mapped values are stored at `out` unless it is NULL. */
INLINE float sum_of_block(row_step *step, const float *x, float *out,
                          int64_t n, const void *user)
{
    lanes_f32 sum = zero_lanes_f32();
    int64_t i = 0;
    for (; i + LANES_F32 <= n; i += LANES_F32) {
        const lanes_f32 y = step(load_lanes_f32(x + i), user);
        if (out)
            store_lanes_f32(out + i, y);
        sum = add_lanes_f32(sum, y);
    }
    if (i < n) {
        const lanes_f32 y = step(load_some_f32(x + i, n - i), user);
        if (out)
            store_some_f32(out + i, y, n - i);
        sum = add_lanes_f32(sum, only_some_f32(y, n - i));
    }
    return horizontal_sum_f32(sum);
}

/* n > 0 elements. */
INLINE float sum_of_row(row_step *step, const float *x, float *out, int64_t n,
                        const void *user)
{
    if (n <= BLOCK_F32)
        return sum_of_block(step, x, out, n, user);
    pairwise_f32 total;
    total.n_blocks = 0;
    for (int64_t i = 0; i < n; i += BLOCK_F32)
        pairwise_push_f32(
            &total, sum_of_block(step, x + i, out ? out + i : NULL,
                                 n - i < BLOCK_F32 ? n - i : BLOCK_F32, user));
    return pairwise_total_f32(&total);
}

#endif /* BENCH_EXPERT_ROWS_H */
