/* SPDX-License-Identifier: MIT */
/*
 * transpose.c - out[j][i] = x[i][j] in squares of 16 x 16, so that reads and
 * writes are whole cache lines. Squares are grouped into tiles of 64 rows and
 * 512 columns: four consecutive lines to write, long rows to read, and a tile
 * fits L2. A square is four register transposes of 8 x 8.
 */
#include <immintrin.h>
#include <stdbool.h>

#include "peers.h"
#include "share.h"

enum { SQUARE = 16, TILE_ROWS = 64, TILE_COLUMNS = 512 };

static inline void transpose_8x8(const float *x, int64_t x_row, __m256 *out)
{
    __m256 r[8], pair[8];
    for (int i = 0; i < 4; i++) {
        /* Rows i and i+4 side by side: columns 0..3, columns 4..7. */
        const float *high = x + i * x_row, *low = x + (i + 4) * x_row;
        r[i] = _mm256_insertf128_ps(
            _mm256_castps128_ps256(_mm_loadu_ps(high)), _mm_loadu_ps(low), 1);
        r[i + 4] = _mm256_insertf128_ps(
            _mm256_castps128_ps256(_mm_loadu_ps(high + 4)),
            _mm_loadu_ps(low + 4), 1);
    }
    for (int half = 0; half < 8; half += 4)
        for (int i = 0; i < 2; i++) {
            const __m256 a = r[half + 2 * i], b = r[half + 2 * i + 1];
            pair[half + i] = _mm256_unpacklo_ps(a, b);
            pair[half + i + 2] = _mm256_unpackhi_ps(a, b);
        }
    for (int half = 0; half < 8; half += 4)
        for (int i = 0; i < 2; i++) {
            const __m256d a = _mm256_castps_pd(pair[half + 2 * i]);
            const __m256d b = _mm256_castps_pd(pair[half + 2 * i + 1]);
            out[half + 2 * i] = _mm256_castpd_ps(_mm256_unpacklo_pd(a, b));
            out[half + 2 * i + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(a, b));
        }
}

static inline void transpose_square(const float *x, int64_t x_row, float *out,
                                    int64_t out_row, bool non_temporal)
{
    for (int j = 0; j < SQUARE; j += 8) {
        __m256 left[8], right[8];
        transpose_8x8(x + j, x_row, left);
        transpose_8x8(x + j + 8 * x_row, x_row, right);
        for (int i = 0; i < 8; i++) {
            float *to = out + (j + i) * out_row;
            if (non_temporal) {
                _mm256_stream_ps(to, left[i]);
                _mm256_stream_ps(to + 8, right[i]);
            } else {
                _mm256_storeu_ps(to, left[i]);
                _mm256_storeu_ps(to + 8, right[i]);
            }
        }
    }
}

static void transpose_edge(const kernel_buffers *b, int64_t row, int64_t column)
{
    const float *x = b->in[0];
    float *out = b->out[0];
    for (int64_t i = row; i < b->rows && i < row + SQUARE; i++)
        for (int64_t j = column; j < b->columns && j < column + SQUARE; j++)
            out[j * b->rows + i] = x[i * b->columns + j];
}

static void transpose_tile(const kernel_buffers *b, int64_t top, int64_t left,
                           bool non_temporal)
{
    const float *x = b->in[0];
    float *out = b->out[0];
    const int64_t rows = b->rows, columns = b->columns;
    for (int64_t j = left; j < columns && j < left + TILE_COLUMNS; j += SQUARE)
        for (int64_t i = top; i < rows && i < top + TILE_ROWS; i += SQUARE)
            if (i + SQUARE > rows || j + SQUARE > columns)
                transpose_edge(b, i, j);
            else
                transpose_square(x + i * columns + j, columns,
                                 out + j * rows + i, rows, non_temporal);
}

void expert_transpose(const kernel_buffers *b)
{
    /* Non-temporal stores need rows of the result that start at a line. */
    const bool non_temporal =
        (size_t)b->count * sizeof(float) > b->cache_bytes &&
        b->rows % SQUARE == 0;
#pragma omp parallel
    {
        const share mine = share_of((b->rows + TILE_ROWS - 1) / TILE_ROWS);
        for (int64_t left = 0; left < b->columns; left += TILE_COLUMNS)
            for (int64_t tile = mine.begin; tile < mine.end; tile++)
                transpose_tile(b, tile * TILE_ROWS, left, non_temporal);
        if (non_temporal)
            _mm_sfence();
    }
}
