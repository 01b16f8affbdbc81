/* SPDX-License-Identifier: MIT */
/*
 * plain_conv.c - convolutions by 3 x 3 filters, padded with zeros, in plain C.
 * Filters or channels are the innermost loop, which the compiler vectorises;
 * threads divide rows of the images, or of the filters. See
 * plain_elementwise.c.
 */
#include "peers.h"

#include <string.h>

enum { BORDER = CONV_WINDOW / 2 };

static void add_scaled(float *restrict y, const float *restrict x, float by,
                       int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] += by * x[i];
}

static float dot(const float *restrict x, const float *restrict y, int64_t n)
{
    float sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* The element of an image of `side` rows that is (dy, dx) away, or NULL. */
static const float *neighbour(const float *image, int64_t side, int64_t depth,
                              int64_t y, int64_t x)
{
    if (y < 0 || y >= side || x < 0 || x >= side)
        return NULL;
    return image + (y * side + x) * depth;
}

void plain_conv(const kernel_buffers *b)
{
    const int64_t side = b->rows, n_in = b->inner, n_out = b->columns;
    const float *images = b->in[0], *filters = b->in[1];
    float *out = b->out[0];
#pragma omp parallel for
    for (int64_t row = 0; row < b->batch * side; row++) {
        const float *image = images + row / side * side * side * n_in;
        for (int64_t x = 0; x < side; x++) {
            float *to = out + (row * side + x) * n_out;
            memset(to, 0, (size_t)n_out * sizeof(*to));
            for (int64_t k = 0; k < CONV_WINDOW * CONV_WINDOW; k++) {
                const float *from =
                    neighbour(image, side, n_in,
                              row % side + k / CONV_WINDOW - BORDER,
                              x + k % CONV_WINDOW - BORDER);
                for (int64_t c = 0; from && c < n_in; c++)
                    add_scaled(to, filters + (k * n_in + c) * n_out, from[c],
                               n_out);
            }
        }
    }
}

void plain_conv_images(const kernel_buffers *b)
{
    const int64_t side = b->rows, n_in = b->inner, n_out = b->columns;
    const float *filters = b->in[1], *gradients = b->in[2];
    float *out = b->out[0];
#pragma omp parallel for
    for (int64_t row = 0; row < b->batch * side; row++) {
        const float *gradient = gradients + row / side * side * side * n_out;
        for (int64_t x = 0; x < side; x++) {
            float *to = out + (row * side + x) * n_in;
            memset(to, 0, (size_t)n_in * sizeof(*to));
            for (int64_t k = 0; k < CONV_WINDOW * CONV_WINDOW; k++) {
                const float *from =
                    neighbour(gradient, side, n_out,
                              row % side - k / CONV_WINDOW + BORDER,
                              x - k % CONV_WINDOW + BORDER);
                for (int64_t c = 0; from && c < n_in; c++)
                    to[c] += dot(from, filters + (k * n_in + c) * n_out,
                                 n_out);
            }
        }
    }
}

void plain_conv_filters(const kernel_buffers *b)
{
    const int64_t side = b->rows, n_in = b->inner, n_out = b->columns;
    const float *images = b->in[0], *gradients = b->in[2];
    float *out = b->out[0];
#pragma omp parallel for
    for (int64_t k = 0; k < CONV_WINDOW * CONV_WINDOW; k++) {
        float *to = out + k * n_in * n_out;
        memset(to, 0, (size_t)(n_in * n_out) * sizeof(*to));
        for (int64_t at = 0; at < b->batch * side * side; at++) {
            const int64_t image = at / (side * side);
            const float *from =
                neighbour(images + image * side * side * n_in, side, n_in,
                          at / side % side + k / CONV_WINDOW - BORDER,
                          at % side + k % CONV_WINDOW - BORDER);
            for (int64_t c = 0; from && c < n_in; c++)
                add_scaled(to + c * n_out, gradients + at * n_out, from[c],
                           n_out);
        }
    }
}

void plain_depthwise(const kernel_buffers *b)
{
    const int64_t side = b->rows, depth = b->columns;
    const float *images = b->in[0], *filters = b->in[1];
    float *out = b->out[0];
#pragma omp parallel for
    for (int64_t row = 0; row < b->batch * side; row++) {
        const float *image = images + row / side * side * side * depth;
        for (int64_t x = 0; x < side; x++) {
            float *restrict to = out + (row * side + x) * depth;
            memset(to, 0, (size_t)depth * sizeof(*to));
            for (int64_t k = 0; k < CONV_WINDOW * CONV_WINDOW; k++) {
                const float *restrict by = filters + k * depth;
                const float *restrict from =
                    neighbour(image, side, depth,
                              row % side + k / CONV_WINDOW - BORDER,
                              x + k % CONV_WINDOW - BORDER);
                for (int64_t c = 0; from && c < depth; c++)
                    to[c] += by[c] * from[c];
            }
        }
    }
}
