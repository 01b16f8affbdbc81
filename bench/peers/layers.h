/* SPDX-License-Identifier: MIT */
/*
 * layers.h - network layers built from any library's matrix products and loops
 * of plain C. Each thread computes its rows or heads from the first step to the
 * last, so the products are single-threaded. Compiled like plain C (local.mk).
 */
#ifndef BENCH_PEERS_LAYERS_H
#define BENCH_PEERS_LAYERS_H

#include <stdbool.h>

#include "peers.h"

/* c = scale * a * b, row-major: a is m x k, b is k x n, or n x k if
   `is_transposed`. */
typedef struct product_f32 {
    int64_t m, k, n;
    const float *a, *b;
    float *c;
    float scale;
    bool is_transposed;
    int64_t a_stride; /* updates only */
} product_f32;

typedef void product_kernel(const product_f32 *p);

/* The products of a training step. `update` is c += scale * a' * b, where a is
   k x m with row stride a_stride. */
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
/* x, labels, the same network -> the loss, and the first bias after one
   training step. */
void mlp_train_by(products with, const kernel_buffers *b);
/* q, k, v -> softmax(scale * q * k') * v for each head. */
void attention_by(product_kernel *product, const kernel_buffers *b);

#endif /* BENCH_PEERS_LAYERS_H */
