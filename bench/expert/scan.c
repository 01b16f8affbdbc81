/* SPDX-License-Identifier: MIT */
/*
 * scan.c - a scan whose carried 3x3 matrix is in three registers, each with a
 * row and an unused lane. Sums follow the library's order, so a step is bound
 * by the latency of four dependent operations.
 */
#include <immintrin.h>
#include <string.h>

#include "peers.h"

/* Row i of a*c + x; the elements of a are broadcast to all lanes. */
static inline __m128 next_row(const __m128 *a, const __m128 *c, __m128 x)
{
    __m128 sum = _mm_mul_ps(a[0], c[0]);
    sum = _mm_fmadd_ps(a[1], c[1], sum);
    sum = _mm_fmadd_ps(a[2], c[2], sum);
    return _mm_add_ps(sum, x);
}

static inline void step(const __m128 *a, __m128 *c, float given)
{
    const __m128 x = _mm_set1_ps(given);
    const __m128 first = next_row(a, c, x), second = next_row(a + 3, c, x);
    c[2] = next_row(a + 6, c, x);
    c[0] = first;
    c[1] = second;
}

/* Writes nine elements, and a tenth if there is room. */
static inline void store(float *to, const __m128 *c, int has_room)
{
    _mm_storeu_ps(to, c[0]);
    _mm_storeu_ps(to + 3, c[1]);
    if (has_room)
        _mm_storeu_ps(to + 6, c[2]);
    else
        memcpy(to + 6, &c[2], 3 * sizeof(*to));
}

void expert_scan_3x3(const kernel_buffers *b)
{
    const float *x = b->in[0], *start = b->in[1], *given = b->in[2];
    float *all = b->out[1];
    __m128 a[9], c[3];
    for (int i = 0; i < 9; i++)
        a[i] = _mm_set1_ps(given[i]);
    for (int i = 0; i < 3; i++)
        c[i] = _mm_setr_ps(start[3 * i], start[3 * i + 1], start[3 * i + 2], 0);
    /* The next step overwrites the unused lane with its first element. */
    for (int64_t i = 0; i < b->count - 1; i++) {
        step(a, c, x[i]);
        store(all + 9 * i, c, 1);
    }
    if (b->count > 0) {
        step(a, c, x[b->count - 1]);
        store(all + 9 * (b->count - 1), c, 0);
    }
    store(b->out[0], c, 0);
}
