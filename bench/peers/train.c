/* SPDX-License-Identifier: MIT */
/*
 * train.c - a hand-written training step around matrix products; see layers.h.
 * Threads divide the rows in the forward and backward pass; after a barrier
 * they divide the rows of the weights. The products that compute the gradients
 * of the weights also update them.
 */
#include <math.h>
#include <string.h>

#include "expert/share.h"
#include "layers.h"

/* Replaces a row of logits by their gradient; returns the loss. */
static float loss_gradient(float *restrict x, int64_t n, int64_t label,
                           float weight)
{
    float max = x[0], sum = 0;
    for (int64_t i = 1; i < n; i++)
        max = x[i] > max ? x[i] : max;
    const float loss = max - x[label];
    for (int64_t i = 0; i < n; i++) {
        x[i] = expf(x[i] - max);
        sum += x[i];
    }
    for (int64_t i = 0; i < n; i++)
        x[i] *= weight / sum;
    x[label] -= weight;
    return loss + logf(sum);
}

/* The gradient of the input of a layer, with that of the relu before it. */
static void backward_layer(product_kernel *product, const layer *l,
                           const float *from, const float *restrict x,
                           float *restrict to, int64_t rows)
{
    product(&(product_f32){.m = rows, .k = l->out, .n = l->in, .a = from,
                           .b = l->weights, .c = to, .scale = 1,
                           .is_transposed = true});
    for (int64_t i = 0; i < rows * l->in; i++)
        to[i] = x[i] > 0 ? to[i] : 0;
}

/* Gradient descent on this thread's share of weights and bias. */
static void update_layer(product_kernel *update, const layer *l,
                         const float *x, const float *gradient,
                         float *weights, float *bias, int64_t rows)
{
    const share mine = share_of(l->in), columns = share_of(l->out);
    update(&(product_f32){.m = mine.end - mine.begin, .k = rows, .n = l->out,
                          .a = x + mine.begin, .a_stride = l->in,
                          .b = gradient, .c = weights + mine.begin * l->out,
                          .scale = -TRAIN_RATE});
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = columns.begin; i < columns.end; i++)
            bias[i] -= TRAIN_RATE * gradient[row * l->out + i];
}

void mlp_train_by(products with, const kernel_buffers *b)
{
    void *const *state = b->state + 2;
    const layer first = {MLP_IN, MLP_FIRST, state[0], state[1], true};
    const layer second = {MLP_FIRST, MLP_SECOND, state[2], state[3], true};
    const layer last = {MLP_SECOND, MLP_OUT, state[4], state[5], false};
    const float *x = b->in[0], *labels = b->in[1];
    const int64_t rows = b->rows;
    float *one = b->scratch, *two = one + rows * MLP_FIRST;
    float *back_two = two + rows * MLP_SECOND;
    float *back_one = back_two + rows * MLP_SECOND;
    float *logits = back_one + rows * MLP_FIRST;
    float loss = 0;
#pragma omp parallel reduction(+ : loss)
    {
        const share mine = share_of(rows);
        const int64_t from = mine.begin, n = mine.end - from;
        float *h1 = one + from * MLP_FIRST, *g1 = back_one + from * MLP_FIRST;
        float *h2 = two + from * MLP_SECOND;
        float *g2 = back_two + from * MLP_SECOND;
        float *y = logits + from * MLP_OUT;
        layer_by(with.product, &first, x + from * MLP_IN, h1, n);
        layer_by(with.product, &second, h1, h2, n);
        layer_by(with.product, &last, h2, y, n);
        for (int64_t row = 0; row < n; row++)
            loss += loss_gradient(y + row * MLP_OUT, MLP_OUT,
                               (int64_t)labels[from + row],
                               1.0f / (float)rows);
        backward_layer(with.product, &last, y, h2, g2, n);
        backward_layer(with.product, &second, g2, h1, g1, n);
#pragma omp barrier
        update_layer(with.update, &first, x, back_one, state[0], state[1],
                     rows);
        update_layer(with.update, &second, one, back_two, state[2], state[3],
                     rows);
        update_layer(with.update, &last, two, logits, state[4], state[5],
                     rows);
    }
    *(float *)b->out[0] = loss / (float)rows;
    memcpy(b->out[1], state[1], MLP_FIRST * sizeof(float));
}
