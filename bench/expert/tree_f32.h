/* SPDX-License-Identifier: MIT */
/*
 * tree_f32.h - the order in which the library sums floats (docs/NUMERICS.md,
 * "Reductions"): 64 lanes, here eight vectors; blocks of 4096 elements; blocks
 * combined pairwise.
 */
#ifndef BENCH_EXPERT_TREE_F32_H
#define BENCH_EXPERT_TREE_F32_H

#include "wide.h"

enum { LANES_F32 = 64, BLOCK_F32 = 64 * LANES_F32 };

/* -- Lanes ----------------------------------------------------------------- */

/* Named members, because gcc keeps arrays of vectors in memory. */
typedef struct lanes_f32 {
    wide_f32 a, b, c, d;
} lanes_f32;

INLINE lanes_f32 all_lanes_f32(float x)
{
    const wide_f32 all = all_f32(x);
    return (lanes_f32){all, all, all, all};
}

/* The identity of a sum is -0: x + -0 is x for every x. */
INLINE lanes_f32 zero_lanes_f32(void)
{
    return all_lanes_f32(-0.0f);
}

INLINE lanes_f32 load_lanes_f32(const float *x)
{
    return (lanes_f32){load_f32(x), load_f32(x + 16), load_f32(x + 32),
                       load_f32(x + 48)};
}

INLINE void store_lanes_f32(float *to, lanes_f32 x)
{
    store_f32(to, x.a);
    store_f32(to + 16, x.b);
    store_f32(to + 32, x.c);
    store_f32(to + 48, x.d);
}

#define DEFINE_LANES_2(name) \
    INLINE lanes_f32 name##_lanes_f32(lanes_f32 x, lanes_f32 y) \
    { \
        return (lanes_f32){name##_f32(x.a, y.a), name##_f32(x.b, y.b), \
                           name##_f32(x.c, y.c), name##_f32(x.d, y.d)}; \
    }
DEFINE_LANES_2(add)
DEFINE_LANES_2(sub)
DEFINE_LANES_2(mul)

/* Adds the upper half to the lower one until one lane is left. */
INLINE float horizontal_sum_f32(lanes_f32 x)
{
    const wide_f32 sixteen =
        add_f32(add_f32(x.a, x.c), add_f32(x.b, x.d));
    const __m256 eight = _mm256_add_ps(sixteen.low, sixteen.high);
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight),
                                   _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

/* -- The tail of a run ----------------------------------------------------- */

/* Loads 0 < n < 64 elements, padded with zeros. */
INLINE lanes_f32 load_some_f32(const float *x, int64_t n)
{
    float padded[LANES_F32];
    for (int64_t i = 0; i < LANES_F32; i++)
        padded[i] = i < n ? x[i] : 0;
    return load_lanes_f32(padded);
}

INLINE void store_some_f32(float *to, lanes_f32 x, int64_t n)
{
    float padded[LANES_F32];
    store_lanes_f32(padded, x);
    for (int64_t i = 0; i < n; i++)
        to[i] = padded[i];
}

/* Sets lanes n and up to the identity of a sum. */
INLINE lanes_f32 only_some_f32(lanes_f32 x, int64_t n)
{
    float padded[LANES_F32];
    store_lanes_f32(padded, x);
    for (int64_t i = n; i < LANES_F32; i++)
        padded[i] = -0.0f;
    return load_lanes_f32(padded);
}

/* -- Pairwise combination of blocks ---------------------------------------- */

/* One partial sum for each bit that is set in the number of blocks. */
typedef struct pairwise_f32 {
    uint64_t n_blocks;
    float part[56];
} pairwise_f32;

static inline void pairwise_push_f32(pairwise_f32 *c, float block)
{
    int level = 0;
    for (uint64_t carry = c->n_blocks++; carry & 1; carry >>= 1)
        block = c->part[level++] + block;
    c->part[level] = block;
}

/* At least one block must have been pushed. */
static inline float pairwise_total_f32(const pairwise_f32 *c)
{
    int level = __builtin_ctzll(c->n_blocks);
    float total = c->part[level++];
    for (; c->n_blocks >> level; level++)
        if (c->n_blocks >> level & 1)
            total = c->part[level] + total;
    return total;
}

#endif /* BENCH_EXPERT_TREE_F32_H */
