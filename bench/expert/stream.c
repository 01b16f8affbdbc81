/* SPDX-License-Identifier: MIT */
/*
 * stream.c - copy, scale, axpy, and add of a few floats. Bound by memory:
 * results larger than the cache are written with non-temporal stores, a line at
 * a time, and inputs are prefetched across page boundaries.
 */
#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#include "peers.h"
#include "share.h"

/* Floats per cache line, and the prefetch distance in lines. */
enum { LINE = 16, AHEAD = 32 };

typedef __m256 operation(__m256 x, __m256 y, __m256 a);

static inline __m256 only_x(__m256 x, __m256 y, __m256 a)
{
    (void)y, (void)a;
    return x;
}

static inline __m256 a_x(__m256 x, __m256 y, __m256 a)
{
    (void)y;
    return _mm256_mul_ps(a, x);
}

static inline __m256 a_x_plus_y(__m256 x, __m256 y, __m256 a)
{
    return _mm256_fmadd_ps(a, x, y);
}

/* The address may be past the end of x; integers avoid undefined behaviour. */
static inline void prefetch_ahead(const float *x)
{
    const uintptr_t ahead = AHEAD * LINE * sizeof(*x);
    _mm_prefetch((const char *)((uintptr_t)x + ahead), _MM_HINT_T0);
}

/* If y is x, there is only one input. */
static inline __attribute__((always_inline)) void
lines(operation *op, const float *x, const float *y, float a, float *out,
      share mine, bool non_temporal)
{
    const __m256 factor = _mm256_set1_ps(a);
    for (int64_t i = mine.begin * LINE; i < mine.end * LINE; i += LINE) {
        prefetch_ahead(x + i);
        if (y != x)
            prefetch_ahead(y + i);
        for (int64_t k = i; k < i + LINE; k += 8) {
            const __m256 result =
                op(_mm256_load_ps(x + k), _mm256_load_ps(y + k), factor);
            if (non_temporal)
                _mm256_stream_ps(out + k, result);
            else
                _mm256_store_ps(out + k, result);
        }
    }
    if (non_temporal)
        _mm_sfence();
}

static inline __attribute__((always_inline)) void
stream(operation *op, const float *x, const float *y, float a, float *out,
       int64_t n, size_t cache_bytes)
{
    if ((size_t)n * sizeof(*out) > cache_bytes)
        lines(op, x, y, a, out, share_of(n / LINE), true);
    else
        lines(op, x, y, a, out, share_of(n / LINE), false);
}

/* The elements after the last whole line. */
static inline __attribute__((always_inline)) void
end_of_stream(operation *op, const float *x, const float *y, float a,
              float *out, int64_t n)
{
    const int64_t done = n / LINE * LINE;
    const size_t bytes = (size_t)(n - done) * sizeof(*out);
    _Alignas(32) float line[3][LINE] = {{0}};
    memcpy(line[0], x + done, bytes);
    memcpy(line[1], y + done, bytes);
    for (int k = 0; k < LINE; k += 8)
        _mm256_store_ps(line[2] + k,
                        op(_mm256_load_ps(line[0] + k),
                           _mm256_load_ps(line[1] + k), _mm256_set1_ps(a)));
    memcpy(out + done, line[2], bytes);
}

void expert_copy(const kernel_buffers *b)
{
#pragma omp parallel
    stream(only_x, b->in[0], b->in[0], 0, b->out[0], b->count, b->cache_bytes);
    end_of_stream(only_x, b->in[0], b->in[0], 0, b->out[0], b->count);
}

void expert_scale(const kernel_buffers *b)
{
    const float a = *(const float *)b->in[1];
#pragma omp parallel
    stream(a_x, b->in[0], b->in[0], a, b->out[0], b->count, b->cache_bytes);
    end_of_stream(a_x, b->in[0], b->in[0], a, b->out[0], b->count);
}

void expert_axpy(const kernel_buffers *b)
{
    const float a = *(const float *)b->in[2];
#pragma omp parallel
    stream(a_x_plus_y, b->in[0], b->in[1], a, b->out[0], b->count,
           b->cache_bytes);
    end_of_stream(a_x_plus_y, b->in[0], b->in[1], a, b->out[0], b->count);
}

/* -- A few floats: no threads, no non-temporal stores ---------------------- */

void expert_add(const kernel_buffers *b)
{
    const float *x = b->in[0];
    const float *y = b->in[1];
    float *out = b->out[0];
    int64_t i = 0;
    for (; i + 8 <= b->count; i += 8)
        _mm256_store_ps(out + i, _mm256_add_ps(_mm256_load_ps(x + i),
                                               _mm256_load_ps(y + i)));
    for (; i < b->count; i++)
        out[i] = x[i] + y[i];
}
