/* SPDX-License-Identifier: MIT */
/*
 * train.c - a step of the training of a network, as one writes it by hand with
 * products of matrices: see layers.h. Threads take rows, forward and back, then
 * wait for each other, and take rows of weights; the products that make the
 * gradients of weights add them to these at once.
 */
#include <math.h>
#include <string.h>

#include "expert/share.h"
#include "layers.h"

/* A row of logits becomes their gradient; the loss. */
static float turn_round(float *restrict x, int64_t n, int64_t label,
                        float weight)
{
    float most = x[0], sum = 0;
    for (int64_t i = 1; i < n; i++)
        most = x[i] > most ? x[i] : most;
    const float loss = most - x[label];
    for (int64_t i = 0; i < n; i++) {
        x[i] = expf(x[i] - most);
        sum += x[i];
    }
    for (int64_t i = 0; i < n; i++)
        x[i] *= weight / sum;
    x[label] -= weight;
    return loss + logf(sum);
}

/* The gradient of what a layer got, where that was not cut off. */
static void go_back(product_kernel *product, const layer *l, const float *from,
                    const float *restrict x, float *restrict to, int64_t rows)
{
    product(&(product_f32){.m = rows, .k = l->out, .n = l->in, .a = from,
                           .b = l->weights, .c = to, .scale = 1,
                           .is_turned = true});
    for (int64_t i = 0; i < rows * l->in; i++)
        to[i] = x[i] > 0 ? to[i] : 0;
}

/* A share of weights and bias goes down the gradient. */
static void descend(product_kernel *update, const layer *l, const float *x,
                    const float *gradient, float *weights, float *bias,
                    int64_t rows)
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
            loss += turn_round(y + row * MLP_OUT, MLP_OUT,
                               (int64_t)labels[from + row],
                               1.0f / (float)rows);
        go_back(with.product, &last, y, h2, g2, n);
        go_back(with.product, &second, g2, h1, g1, n);
#pragma omp barrier
        descend(with.update, &first, x, back_one, state[0], state[1], rows);
        descend(with.update, &second, one, back_two, state[2], state[3], rows);
        descend(with.update, &last, two, logits, state[4], state[5], rows);
    }
    *(float *)b->out[0] = loss / (float)rows;
    memcpy(b->out[1], state[1], MLP_FIRST * sizeof(float));
}
