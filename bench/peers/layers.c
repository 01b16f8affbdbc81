/* SPDX-License-Identifier: MIT */
/*
 * layers.c - see layers.h.
 */
#include "layers.h"

#include <math.h>

#include "expert/share.h"

/* -- Dense layers ---------------------------------------------------------- */

static void add_bias(float *restrict y, const float *restrict bias, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] += bias[i];
}

static void add_bias_and_relu(float *restrict y, const float *restrict bias,
                              int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const float sum = y[i] + bias[i];
        y[i] = sum > 0 ? sum : 0;
    }
}

void layer_by(product_kernel *product, const layer *l, const float *x,
              float *y, int64_t rows)
{
    product(&(product_f32){.m = rows, .k = l->in, .n = l->out, .a = x,
                           .b = l->weights, .c = y, .scale = 1});
    for (int64_t row = 0; row < rows; row++)
        (l->has_relu ? add_bias_and_relu : add_bias)(y + row * l->out,
                                                     l->bias, l->out);
}

void dense_by(product_kernel *product, const kernel_buffers *b)
{
    const float *x = b->in[0];
    float *y = b->out[0];
    const layer only = {b->inner, b->columns, b->in[1], b->in[2], true};
#pragma omp parallel
    {
        const share mine = share_of(b->rows);
        layer_by(product, &only, x + mine.begin * only.in,
                 y + mine.begin * only.out, mine.end - mine.begin);
    }
}

void mlp_by(product_kernel *product, const kernel_buffers *b)
{
    const layer first = {MLP_IN, MLP_FIRST, b->in[1], b->in[2], true};
    const layer second = {MLP_FIRST, MLP_SECOND, b->in[3], b->in[4], true};
    const layer last = {MLP_SECOND, MLP_OUT, b->in[5], b->in[6], false};
    const float *x = b->in[0];
    float *y = b->out[0];
    float *one = b->scratch, *two = one + b->rows * MLP_FIRST;
#pragma omp parallel
    {
        const share mine = share_of(b->rows);
        const int64_t from = mine.begin, rows = mine.end - from;
        layer_by(product, &first, x + from * MLP_IN, one + from * MLP_FIRST,
                 rows);
        layer_by(product, &second, one + from * MLP_FIRST,
                 two + from * MLP_SECOND, rows);
        layer_by(product, &last, two + from * MLP_SECOND, y + from * MLP_OUT,
                 rows);
    }
}

/* -- Attention ------------------------------------------------------------- */

static void softmax_of(float *restrict x, int64_t n)
{
    float most = x[0], sum = 0;
    for (int64_t i = 1; i < n; i++)
        most = x[i] > most ? x[i] : most;
    for (int64_t i = 0; i < n; i++) {
        x[i] = expf(x[i] - most);
        sum += x[i];
    }
    for (int64_t i = 0; i < n; i++)
        x[i] *= 1.0f / sum;
}

void attention_by(product_kernel *product, const kernel_buffers *b)
{
    const float *q = b->in[0], *k = b->in[1], *v = b->in[2];
    float *out = b->out[0], *scores = b->scratch;
    const int64_t rows = b->rows, keys = b->inner, columns = b->columns;
#pragma omp parallel for
    for (int64_t head = 0; head < b->batch; head++) {
        float *mine = scores + head * rows * keys;
        product(&(product_f32){.m = rows, .k = columns, .n = keys,
                               .a = q + head * rows * columns,
                               .b = k + head * keys * columns, .c = mine,
                               .scale = ATTENTION_SCALE,
                               .is_transposed = true});
        for (int64_t row = 0; row < rows; row++)
            softmax_of(mine + row * keys, keys);
        product(&(product_f32){.m = rows, .k = keys, .n = columns, .a = mine,
                               .b = v + head * keys * columns,
                               .c = out + head * rows * columns, .scale = 1});
    }
}
