/* SPDX-License-Identifier: MIT */
/*
 * plain_gradients.c - hand-written gradients in plain C. See
 * plain_elementwise.c.
 */
#include <math.h>
#include <string.h>

#include "peers.h"

enum { MAX_COLUMNS = 1024 };

/* The gradient uses a row while it is still in the cache. */
void plain_logistic_train(const kernel_buffers *b)
{
    const float *x = b->in[0], *labels = b->in[1];
    float *w = b->state[2], *bias = b->state[3];
    const int64_t rows = b->rows, columns = b->columns;
    float loss = 0, to_bias = 0;
    float to_w[MAX_COLUMNS] = {0};
#pragma omp parallel for reduction(+ : loss, to_bias, to_w)
    for (int64_t row = 0; row < rows; row++) {
        const float *restrict at = x + row * columns;
        float z = *bias;
        for (int64_t i = 0; i < columns; i++)
            z += at[i] * w[i];
        const float small = expf(-fabsf(z));
        const float chance = (z > 0 ? 1.0f : small) / (1.0f + small);
        const float by = (chance - labels[row]) / (float)rows;
        loss += (z > 0 ? z : 0) + logf(1.0f + small) - labels[row] * z;
        to_bias += by;
        for (int64_t i = 0; i < columns; i++)
            to_w[i] += by * at[i];
    }
    for (int64_t i = 0; i < columns; i++)
        w[i] -= TRAIN_RATE * to_w[i];
    *bias -= TRAIN_RATE * to_bias;
    *(float *)b->out[0] = loss / (float)rows;
    memcpy(b->out[1], w, (size_t)columns * sizeof(*w));
}

/* next = a * c + x. The target is the sum of squares of all steps. */
static void step_forward(const float *restrict a, const float *restrict c,
                         float x, float *restrict next)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            float sum = x;
            for (int k = 0; k < 3; k++)
                sum += a[3 * i + k] * c[3 * k + j];
            next[3 * i + j] = sum;
        }
}

/* Replaces `g`, the gradient of `next`, by that of c. */
static float step_backward(const float *restrict a, const float *restrict c,
                     const float *restrict next, float *restrict to_a,
                     float *restrict g)
{
    float sum = 0, before[9];
    for (int i = 0; i < 9; i++) {
        g[i] += 2 * next[i];
        sum += g[i];
    }
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            for (int j = 0; j < 3; j++)
                to_a[3 * i + k] += g[3 * i + j] * c[3 * k + j];
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < 3; j++) {
            before[3 * k + j] = 0;
            for (int i = 0; i < 3; i++)
                before[3 * k + j] += a[3 * i + k] * g[3 * i + j];
        }
    memcpy(g, before, sizeof(before));
    return sum;
}

void plain_scan_3x3_gradient(const kernel_buffers *b)
{
    const float *restrict x = b->in[0];
    const float *start = b->in[1], *a = b->in[2];
    float *restrict to_x = b->out[0];
    float *all = b->scratch, g[9] = {0}, to_a[9] = {0};
    for (int64_t step = 0; step < b->count; step++)
        step_forward(a, step ? all + 9 * (step - 1) : start, x[step],
                     all + 9 * step);
    for (int64_t step = b->count - 1; step >= 0; step--)
        to_x[step] = step_backward(a, step ? all + 9 * (step - 1) : start,
                             all + 9 * step, to_a, g);
    memcpy(b->out[1], g, sizeof(g));
    memcpy(b->out[2], to_a, sizeof(to_a));
}

void plain_adam(const kernel_buffers *b)
{
    float *restrict p = b->state[0], *restrict m = b->state[1];
    float *restrict v = b->state[2];
    const float *restrict g = b->in[4];
    const float t = *(float *)b->state[3] += 1;
    const float rate = TRAIN_RATE / (1 - powf(ADAM_BETA_1, t));
    const float scale = 1 / (1 - powf(ADAM_BETA_2, t));
#pragma omp parallel for
    for (int64_t i = 0; i < b->count; i++) {
        m[i] += (g[i] - m[i]) * (1 - ADAM_BETA_1);
        v[i] += (g[i] * g[i] - v[i]) * (1 - ADAM_BETA_2);
        p[i] -= rate * m[i] / (sqrtf(scale * v[i]) + ADAM_EPSILON);
    }
    memcpy(b->out[0], p + b->count - ADAM_SHOWN, ADAM_SHOWN * sizeof(*p));
}

void plain_momentum(const kernel_buffers *b)
{
    float *restrict p = b->state[0], *restrict m = b->state[1];
    const float *restrict g = b->in[2];
#pragma omp parallel for
    for (int64_t i = 0; i < b->count; i++) {
        m[i] = m[i] * MOMENTUM + g[i];
        p[i] -= m[i] * TRAIN_RATE;
    }
    memcpy(b->out[0], p + b->count - ADAM_SHOWN, ADAM_SHOWN * sizeof(*p));
}
