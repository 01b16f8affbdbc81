/* SPDX-License-Identifier: MIT */
/*
 * jacobi.c - one sweep of Jacobi's method on a grid: every inner point becomes
 * the mean of its four neighbours, ((up + down) + (left + right)) / 4, and the
 * border 0.
 */
#include <immintrin.h>
#include <string.h>

#include "peers.h"

static inline __m256 mean_of_4(const float *up, const float *here,
                               const float *down)
{
    const __m256 vertical =
        _mm256_add_ps(_mm256_loadu_ps(up), _mm256_loadu_ps(down));
    const __m256 horizontal =
        _mm256_add_ps(_mm256_loadu_ps(here - 1), _mm256_loadu_ps(here + 1));
    return _mm256_mul_ps(_mm256_add_ps(vertical, horizontal),
                         _mm256_set1_ps(0.25f));
}

static inline void sweep_row(const float *x, float *out, int64_t n)
{
    out[0] = 0;
    int64_t j = 1;
    /* Aligned stores: those that straddle a cache line cost twice. */
    for (; j < n - 1 && (uintptr_t)(out + j) % 32; j++)
        out[j] = ((x[j - n] + x[j + n]) + (x[j - 1] + x[j + 1])) * 0.25f;
    for (; j + 8 <= n - 1; j += 8)
        _mm256_store_ps(out + j, mean_of_4(x + j - n, x + j, x + j + n));
    for (; j < n - 1; j++)
        out[j] = ((x[j - n] + x[j + n]) + (x[j - 1] + x[j + 1])) * 0.25f;
    out[n - 1] = 0;
}

void expert_jacobi(const kernel_buffers *b)
{
    const float *x = b->in[0];
    float *out = b->out[0];
    const int64_t rows = b->rows, n = b->columns;
    const size_t row_bytes = (size_t)n * sizeof(*out);

    memset(out, 0, row_bytes);
#pragma omp parallel for
    for (int64_t i = 1; i < rows - 1; i++)
        sweep_row(x + i * n, out + i * n, n);
    memset(out + (rows - 1) * n, 0, row_bytes);
}
