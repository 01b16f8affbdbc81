/* SPDX-License-Identifier: MIT */
/*
 * plain_grid.c - a stencil and a transpose in plain C. See plain_elementwise.c.
 */
#include <string.h>

#include "peers.h"

void plain_jacobi(const kernel_buffers *b)
{
    const float *restrict x = b->in[0];
    float *restrict out = b->out[0];
    const int64_t n = b->columns;
    memset(out, 0, (size_t)n * sizeof(*out));
#pragma omp parallel for
    for (int64_t i = 1; i < b->rows - 1; i++) {
        const float *restrict here = x + i * n;
        const float *restrict up = here - n;
        const float *restrict down = here + n;
        float *restrict to = out + i * n;
        to[0] = 0;
        for (int64_t j = 1; j < n - 1; j++)
            to[j] = ((up[j] + down[j]) + (here[j - 1] + here[j + 1])) * 0.25f;
        to[n - 1] = 0;
    }
    memset(out + (b->rows - 1) * n, 0, (size_t)n * sizeof(*out));
}

/* Tiled, so that the lines of a tile stay in L1. */
void plain_transpose(const kernel_buffers *b)
{
    enum { SQUARE = 16 };
    const float *restrict x = b->in[0];
    float *restrict out = b->out[0];
    const int64_t rows = b->rows, columns = b->columns;
#pragma omp parallel for
    for (int64_t left = 0; left < rows; left += SQUARE)
        for (int64_t top = 0; top < columns; top += SQUARE) {
            const int64_t right = left + SQUARE < rows ? left + SQUARE : rows;
            const int64_t bottom =
                top + SQUARE < columns ? top + SQUARE : columns;
            for (int64_t j = top; j < bottom; j++)
                for (int64_t i = left; i < right; i++)
                    out[j * rows + i] = x[i * columns + j];
        }
}

static float heat_2d(float here, float up, float down, float left, float right)
{
    return here + ((up + down) + (left + right) - 4 * here) * HEAT_RATE;
}

/* A row between its ends. */
static void heat_2d_row(float *restrict to, const float *restrict here,
                        const float *restrict up, const float *restrict down,
                        int64_t n)
{
    for (int64_t j = 1; j < n - 1; j++)
        to[j] = heat_2d(here[j], up[j], down[j], here[j - 1], here[j + 1]);
}

/* One explicit step of the heat equation; the border does not change. */
void plain_heat_2d(const kernel_buffers *b)
{
    const float *restrict x = b->in[0];
    float *restrict out = b->out[0];
    const int64_t n = b->columns, rows = b->rows;
#pragma omp parallel for
    for (int64_t i = 0; i < rows; i++) {
        const float *restrict here = x + i * n;
        float *restrict to = out + i * n;
        if (i == 0 || i == rows - 1) {
            memcpy(to, here, (size_t)n * sizeof(*to));
            continue;
        }
        to[0] = here[0];
        heat_2d_row(to, here, here - n, here + n, n);
        to[n - 1] = here[n - 1];
    }
}

/* The same on a torus: opposite borders are neighbours. */
void plain_heat_2d_torus(const kernel_buffers *b)
{
    const float *restrict x = b->in[0];
    float *restrict out = b->out[0];
    const int64_t n = b->columns, rows = b->rows;
#pragma omp parallel for
    for (int64_t i = 0; i < rows; i++) {
        const float *restrict here = x + i * n;
        const float *restrict up = x + (i ? i - 1 : rows - 1) * n;
        const float *restrict down = x + (i < rows - 1 ? i + 1 : 0) * n;
        float *restrict to = out + i * n;
        const int64_t last = n - 1;
        to[0] = heat_2d(here[0], up[0], down[0], here[last], here[1]);
        heat_2d_row(to, here, up, down, n);
        to[last] = heat_2d(here[last], up[last], down[last], here[last - 1],
                           here[0]);
    }
}

/* One explicit step of the heat equation; the border is kept at zero. */
void plain_heat_3d(const kernel_buffers *b)
{
    const float *restrict x = b->in[0];
    float *restrict out = b->out[0];
    const int64_t depth = b->batch, rows = b->rows, n = b->columns;
    const int64_t plane = rows * n;
#pragma omp parallel for
    for (int64_t k = 0; k < depth; k++)
        for (int64_t i = 0; i < rows; i++) {
            const float *restrict here = x + k * plane + i * n;
            float *restrict to = out + k * plane + i * n;
            if (k == 0 || k == depth - 1 || i == 0 || i == rows - 1) {
                memset(to, 0, (size_t)n * sizeof(*to));
                continue;
            }
            to[0] = to[n - 1] = 0;
            for (int64_t j = 1; j < n - 1; j++)
                to[j] = here[j] +
                        (((here[j - plane] + here[j + plane]) +
                          (here[j - n] + here[j + n])) +
                         (here[j - 1] + here[j + 1]) - 6 * here[j]) *
                            HEAT_RATE;
        }
}
