/* SPDX-License-Identifier: MIT */
/*
 * sum.c - the sum of a vector: blocks in parallel, then combined pairwise. The
 * hardware prefetcher stops at page boundaries, so lines are prefetched.
 */
#include "peers.h"
#include "tree_f32.h"

INLINE float sum_of(const float *x, int64_t n)
{
    const uintptr_t ahead = 4096;
    lanes_f32 sum = zero_lanes_f32();
    int64_t i = 0;
    for (; i + LANES_F32 <= n; i += LANES_F32) {
        for (uintptr_t line = 0; line < 256; line += 64)
            _mm_prefetch((const char *)((uintptr_t)(x + i) + ahead + line),
                         _MM_HINT_T0);
        sum = add_lanes_f32(sum, load_lanes_f32(x + i));
    }
    if (i < n)
        sum = add_lanes_f32(
            sum, only_some_f32(load_some_f32(x + i, n - i), n - i));
    return horizontal_sum_f32(sum);
}

void expert_sum(const kernel_buffers *b)
{
    const float *x = b->in[0];
    float *block_sum = b->scratch;
    const int64_t n = b->count;
    const int64_t n_blocks = (n + BLOCK_F32 - 1) / BLOCK_F32;

#pragma omp parallel for
    for (int64_t block = 0; block < n_blocks; block++) {
        const int64_t from = block * BLOCK_F32;
        block_sum[block] =
            sum_of(x + from, n - from < BLOCK_F32 ? n - from : BLOCK_F32);
    }

    pairwise_f32 total;
    total.n_blocks = 0;
    for (int64_t block = 0; block < n_blocks; block++)
        pairwise_push_f32(&total, block_sum[block]);
    *(float *)b->out[0] = n_blocks ? pairwise_total_f32(&total) : 0;
}
