/* SPDX-License-Identifier: MIT */
/*
 * chain.c - tanh(a*x + b) * sigmoid(c*x) - 0.5*x in one pass. Results larger
 * than the cache are written with non-temporal stores.
 */
#include <stdbool.h>
#include <string.h>

#include "peers.h"
#include "recipes_f32.h"
#include "share.h"

typedef struct factors {
    float a, b, c;
} factors;

INLINE wide_f32 chain(wide_f32 x, factors f)
{
    const wide_f32 t = tanh_f32(fma_f32(K(f.a), x, K(f.b)));
    const wide_f32 s = sigmoid_f32(mul_f32(K(f.c), x));
    return fms_f32(t, s, mul_f32(K(0.5), x));
}

static void chain_part(const float *x, float *out, share mine, factors f,
                       bool non_temporal)
{
    if (non_temporal) {
        for (int64_t i = mine.begin; i < mine.end; i++)
            stream_f32(out + WIDE_F32 * i,
                       chain(load_f32(x + WIDE_F32 * i), f));
        _mm_sfence();
    } else {
        for (int64_t i = mine.begin; i < mine.end; i++)
            store_f32(out + WIDE_F32 * i,
                      chain(load_f32(x + WIDE_F32 * i), f));
    }
}

void expert_chain(const kernel_buffers *b)
{
    const float *x = b->in[0];
    float *out = b->out[0];
    const factors f = {*(const float *)b->in[1], *(const float *)b->in[2],
                       *(const float *)b->in[3]};
    const int64_t n = b->count / WIDE_F32;
    const size_t left = (size_t)(b->count % WIDE_F32) * sizeof(*x);
    const bool non_temporal = (size_t)b->count * sizeof(*out) > b->cache_bytes;

#pragma omp parallel
    chain_part(x, out, share_of(n), f, non_temporal);
    if (left) {
        float last[WIDE_F32] = {0};
        memcpy(last, x + WIDE_F32 * n, left);
        store_f32(last, chain(load_f32(last), f));
        memcpy(out + WIDE_F32 * n, last, left);
    }
}
