/* SPDX-License-Identifier: MIT */
/*
 * plain_embedding.c - rows of a table in plain C. See plain_elementwise.c.
 */
#include <string.h>

#include "expert/share.h"
#include "peers.h"

void plain_embedding(const kernel_buffers *b)
{
    const float *table = b->in[0], *words = b->in[1];
    float *out = b->out[0];
    const int64_t n = b->columns;
#pragma omp parallel for
    for (int64_t row = 0; row < b->rows; row++)
        memcpy(out + row * n, table + (int64_t)words[row] * n,
               (size_t)n * sizeof(*out));
}

/* Threads divide the columns, so that a word may occur several times. */
void plain_embedding_gradient(const kernel_buffers *b)
{
    const float *words = b->in[1], *gradient = b->in[2];
    float *out = b->out[0];
    const int64_t n = b->columns;
#pragma omp parallel
    {
        const share rows = share_of(EMBEDDING_WORDS), mine = share_of(n);
        memset(out + rows.begin * n, 0,
               (size_t)((rows.end - rows.begin) * n) * sizeof(*out));
#pragma omp barrier
        for (int64_t row = 0; row < b->rows; row++) {
            float *restrict to = out + (int64_t)words[row] * n;
            const float *restrict from = gradient + row * n;
            for (int64_t i = mine.begin; i < mine.end; i++)
                to[i] += from[i];
        }
    }
}

void plain_gather(const kernel_buffers *b)
{
    const float *restrict x = b->in[0], *restrict at = b->in[1];
    float *restrict out = b->out[0];
#pragma omp parallel for
    for (int64_t i = 0; i < b->count; i++)
        out[i] = x[(int64_t)at[i]];
}

/* Serial: threads would need copies, or atomic additions. */
void plain_scatter_add(const kernel_buffers *b)
{
    const float *restrict at = b->in[1], *restrict x = b->in[2];
    float *restrict out = b->out[0];
    memset(out, 0, GATHER_TABLE * sizeof(*out));
    for (int64_t i = 0; i < b->count; i++)
        out[(int64_t)at[i]] += x[i];
}
