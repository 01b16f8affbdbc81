/* SPDX-License-Identifier: MIT */
/*
 * plain_cnn.c - a training step of the convolutional network in plain C, around
 * the kernels of plain_conv.c and plain_pool.c. See plain_elementwise.c.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "peers.h"

enum { WINDOW = CONV_WINDOW * CONV_WINDOW };

/* Activations of a layer, or their gradients, of all images. */
typedef struct activations {
    float *first, *first_pooled, *second, *second_pooled;
} activations;

/* Places the activations of n images at *from, which moves behind them. */
static activations place(float **from, int64_t n)
{
    const int64_t points = CNN_SIDE * CNN_SIDE;
    activations a;
    a.first = *from;
    a.first_pooled = a.first + n * points * CNN_FIRST;
    a.second = a.first_pooled + n * points / 4 * CNN_FIRST;
    a.second_pooled = a.second + n * points / 4 * CNN_SECOND;
    *from = a.second_pooled + n * CNN_FEATURES;
    return a;
}

/* -- Layers ---------------------------------------------------------------- */

/* The buffers of a convolution of n images of `side` rows. */
static kernel_buffers conv_buffers(int64_t n, int64_t side, int64_t n_in,
                                   int64_t n_out, int threads)
{
    return (kernel_buffers){.batch = n, .rows = side, .inner = n_in,
                            .columns = n_out, .threads = threads};
}

static void add_bias_relu(float *x, const float *bias, int64_t n,
                          int64_t depth)
{
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) {
        float *restrict row = x + i * depth;
        for (int64_t c = 0; c < depth; c++)
            row[c] = row[c] + bias[c] > 0 ? row[c] + bias[c] : 0;
    }
}

/* x is replaced by relu(conv(from) + bias), and `pooled` set. */
static void forward_layer(kernel_buffers b, const float *from,
                          const float *filters, const float *bias, float *x,
                          float *pooled)
{
    b.in[0] = from;
    b.in[1] = filters;
    b.out[0] = x;
    plain_conv(&b);
    add_bias_relu(x, bias, b.batch * b.rows * b.rows, b.columns);
    b.in[0] = x;
    b.out[0] = pooled;
    plain_max_pool_2x2(&b);
}

/* The gradient before pooling and relu: to the first maximum of each window,
   if it is positive. */
static void backward_pool(const kernel_buffers *b, const float *x,
                          const float *pooled, const float *from, float *to)
{
    const int64_t side = b->rows, depth = b->columns, half = side / 2;
#pragma omp parallel for
    for (int64_t row = 0; row < b->batch * half; row++)
        for (int64_t at = row * half; at < (row + 1) * half; at++) {
            const int64_t corner = 2 * row * side + 2 * (at - row * half);
            for (int64_t c = 0; c < depth; c++) {
                const float max = pooled[at * depth + c];
                bool is_open = max > 0;
                for (int k = 0; k < 4; k++) {
                    const int64_t i =
                        (corner + k / 2 * side + k % 2) * depth + c;
                    const bool is_it = is_open && !(x[i] < max);
                    to[i] = is_it ? from[at * depth + c] : 0;
                    is_open = is_open && !is_it;
                }
            }
        }
}

static void descend(float *p, const float *gradient, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        p[i] -= TRAIN_RATE * gradient[i];
}

/* Gradient descent on filters and bias. `gradient` is that of the result of
   the convolution of `from`. */
static void update_layer(kernel_buffers b, const float *from,
                         const float *gradient, float *filters, float *bias)
{
    float to_filters[WINDOW * CNN_FIRST * CNN_SECOND];
    float to_bias[CNN_SECOND] = {0};
    b.in[0] = from;
    b.in[2] = gradient;
    b.out[0] = to_filters;
    plain_conv_filters(&b);
    for (int64_t i = 0; i < b.batch * b.rows * b.rows; i++)
        for (int64_t c = 0; c < b.columns; c++)
            to_bias[c] += gradient[i * b.columns + c];
    descend(filters, to_filters, WINDOW * b.inner * b.columns);
    descend(bias, to_bias, b.columns);
}

/* -- The dense layer ------------------------------------------------------- */

/* Sets the gradient of the logits; returns the loss of all rows. */
static float loss_of(const float *features, const float *weights,
                     const float *bias, const float *labels, float *logits,
                     int64_t rows)
{
    float loss = 0;
#pragma omp parallel for reduction(+ : loss)
    for (int64_t row = 0; row < rows; row++) {
        const float *x = features + row * CNN_FEATURES;
        float *y = logits + row * CNN_OUT, max = -INFINITY, sum = 0;
        const int label = (int)labels[row];
        memcpy(y, bias, CNN_OUT * sizeof(*y));
        for (int i = 0; i < CNN_FEATURES; i++)
            for (int k = 0; k < CNN_OUT; k++)
                y[k] += x[i] * weights[i * CNN_OUT + k];
        for (int k = 0; k < CNN_OUT; k++)
            max = y[k] > max ? y[k] : max;
        loss += max - y[label];
        for (int k = 0; k < CNN_OUT; k++) {
            y[k] = expf(y[k] - max);
            sum += y[k];
        }
        loss += logf(sum);
        for (int k = 0; k < CNN_OUT; k++)
            y[k] = (y[k] / sum - (k == label)) / (float)rows;
    }
    return loss;
}

/* The gradient of the features, and gradient descent on weights and bias. */
static void backward_dense(const float *features, const float *logits,
                           float *weights, float *bias, float *to,
                           int64_t rows)
{
#pragma omp parallel for
    for (int64_t i = 0; i < CNN_FEATURES; i++) {
        float *w = weights + i * CNN_OUT, step[CNN_OUT] = {0};
        for (int64_t row = 0; row < rows; row++) {
            const float *g = logits + row * CNN_OUT;
            const float x = features[row * CNN_FEATURES + i];
            float sum = 0;
            for (int k = 0; k < CNN_OUT; k++) {
                sum += g[k] * w[k];
                step[k] += g[k] * x;
            }
            to[row * CNN_FEATURES + i] = sum;
        }
        descend(w, step, CNN_OUT);
    }
    for (int64_t row = 0; row < rows; row++)
        descend(bias, logits + row * CNN_OUT, CNN_OUT);
}

/* -- The step -------------------------------------------------------------- */

void plain_cnn_train(const kernel_buffers *b)
{
    enum { HALF = CNN_SIDE / 2, N_FILTERS = WINDOW * CNN_FIRST };
    float *from = b->scratch;
    float *const *state = (float *const *)(b->state + 2);
    const int64_t n = b->rows;
    const activations x = place(&from, n), g = place(&from, n);
    float *logits = from;
    kernel_buffers first =
        conv_buffers(n, CNN_SIDE, 1, CNN_FIRST, b->threads);
    kernel_buffers second =
        conv_buffers(n, HALF, CNN_FIRST, CNN_SECOND, b->threads);

    forward_layer(first, b->in[0], state[0], state[1], x.first,
                  x.first_pooled);
    forward_layer(second, x.first_pooled, state[2], state[3], x.second,
                  x.second_pooled);
    const float loss = loss_of(x.second_pooled, state[4], state[5], b->in[1],
                               logits, n);
    backward_dense(x.second_pooled, logits, state[4], state[5],
                   g.second_pooled, n);
    backward_pool(&second, x.second, x.second_pooled, g.second_pooled,
                  g.second);
    second.in[1] = state[2];
    second.in[2] = g.second;
    second.out[0] = g.first_pooled;
    plain_conv_images(&second);
    update_layer(second, x.first_pooled, g.second, state[2], state[3]);
    backward_pool(&first, x.first, x.first_pooled, g.first_pooled, g.first);
    update_layer(first, b->in[0], g.first, state[0], state[1]);

    *(float *)b->out[0] = loss / (float)n;
    memcpy(b->out[1], state[0], N_FILTERS * sizeof(float));
}
