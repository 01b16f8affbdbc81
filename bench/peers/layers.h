/* SPDX-License-Identifier: MIT */
/*
 * layers.h - what is made of products of matrices and loops of plain C:
 * layers of networks, for whoever has products to offer. Threads take rows or
 * heads, each from the first step to the last, so no product has threads.
 * Compiled as plain C is (local.mk).
 */
#ifndef BENCH_PEERS_LAYERS_H
#define BENCH_PEERS_LAYERS_H

#include <stdbool.h>

#include "peers.h"

/* c = scale * a * b, row by row: a is m x k, b k x n or, turned, n x k. */
typedef struct product_f32 {
    int64_t m, k, n;
    const float *a, *b;
    float *c;
    float scale;
    bool is_turned;
    int64_t a_stride; /* of an update */
} product_f32;

typedef void product_kernel(const product_f32 *p);

/* Both that a training needs; the second one is c += scale * a' * b, of a that
   is k x m with rows a_stride apart. */
typedef struct products {
    product_kernel *product, *update;
} products;

/* A dense layer: relu(x * weights + bias), or without relu. */
typedef struct layer {
    int64_t in, out;
    const float *weights, *bias;
    bool has_relu;
} layer;

void layer_by(product_kernel *product, const layer *l, const float *x,
              float *y, int64_t rows);

/* Kernels: x, weights, bias -> relu(x * weights + bias). */
void dense_by(product_kernel *product, const kernel_buffers *b);
/* x, three times weights and bias -> three layers, the last without relu. */
void mlp_by(product_kernel *product, const kernel_buffers *b);
/* x, labels, the same network -> the loss and the first bias after a step of
   its training. */
void mlp_train_by(products with, const kernel_buffers *b);
/* q, k, v -> softmax(scale * q * k') * v for each head. */
void attention_by(product_kernel *product, const kernel_buffers *b);

#endif /* BENCH_PEERS_LAYERS_H */
