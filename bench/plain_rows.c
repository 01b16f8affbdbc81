/* SPDX-License-Identifier: MIT */
/*
 * plain_rows.c - reductions and row-wise kernels in plain C. See
 * plain_elementwise.c.
 */
#include <math.h>

#include "expert/share.h"
#include "peers.h"

void plain_sum(const kernel_buffers *b)
{
    const float *restrict x = b->in[0];
    float sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int64_t i = 0; i < b->count; i++)
        sum += x[i];
    *(float *)b->out[0] = sum;
}

void plain_softmax(const kernel_buffers *b)
{
    const float *restrict all = b->in[0];
    float *restrict out = b->out[0];
    const int64_t n = b->columns;
#pragma omp parallel for
    for (int64_t row = 0; row < b->rows; row++) {
        const float *restrict x = all + row * n;
        float *restrict e = out + row * n;
        float most = x[0], sum = 0;
        for (int64_t i = 1; i < n; i++)
            most = x[i] > most ? x[i] : most;
        for (int64_t i = 0; i < n; i++) {
            e[i] = expf(x[i] - most);
            sum += e[i];
        }
        for (int64_t i = 0; i < n; i++)
            e[i] *= 1.0f / sum;
    }
}

void plain_layer_norm(const kernel_buffers *b)
{
    const float *restrict all = b->in[0];
    const float *restrict scale = b->in[1];
    const float *restrict shift = b->in[2];
    const float epsilon = *(const float *)b->in[3];
    float *restrict out = b->out[0];
    const int64_t n = b->columns;
#pragma omp parallel for
    for (int64_t row = 0; row < b->rows; row++) {
        const float *restrict x = all + row * n;
        float *restrict y = out + row * n;
        float sum = 0, squares = 0;
        for (int64_t i = 0; i < n; i++)
            sum += x[i];
        const float mean = sum / (float)n;
        for (int64_t i = 0; i < n; i++)
            squares += (x[i] - mean) * (x[i] - mean);
        const float inverse = 1.0f / sqrtf(squares / (float)n + epsilon);
        for (int64_t i = 0; i < n; i++)
            y[i] = (x[i] - mean) * inverse * scale[i] + shift[i];
    }
}

/* -- Sums over one axis of batch x rows x columns -------------------------- */

void plain_sum_axis_0(const kernel_buffers *b)
{
    const float *restrict x = b->in[0];
    float *restrict out = b->out[0];
    const int64_t n = b->rows * b->columns;
#pragma omp parallel
    {
        const share mine = share_of(n);
        for (int64_t i = mine.begin; i < mine.end; i++)
            out[i] = x[i];
        for (int64_t k = 1; k < b->batch; k++)
            for (int64_t i = mine.begin; i < mine.end; i++)
                out[i] += x[k * n + i];
    }
}

void plain_sum_axis_1(const kernel_buffers *b)
{
    const float *restrict x = b->in[0];
    const int64_t n = b->columns;
#pragma omp parallel for
    for (int64_t k = 0; k < b->batch; k++) {
        float *restrict out = (float *)b->out[0] + k * n;
        const float *restrict from = x + k * b->rows * n;
        for (int64_t i = 0; i < n; i++)
            out[i] = from[i];
        for (int64_t row = 1; row < b->rows; row++)
            for (int64_t i = 0; i < n; i++)
                out[i] += from[row * n + i];
    }
}

void plain_sum_axis_2(const kernel_buffers *b)
{
    const float *restrict x = b->in[0];
    float *restrict out = b->out[0];
    const int64_t n = b->columns;
#pragma omp parallel for
    for (int64_t row = 0; row < b->batch * b->rows; row++) {
        float sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += x[row * n + i];
        out[row] = sum;
    }
}
