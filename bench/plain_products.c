/* SPDX-License-Identifier: MIT */
/*
 * plain_products.c - matrix products in plain C: a row of the result is a
 * weighted sum of rows of the second matrix, which the compiler vectorises. See
 * plain_elementwise.c.
 */
#include "peers/layers.h"

/* y = scale * x * b: a vector of k elements times a k x n matrix. */
#define DEFINE_ROW_TIMES_MATRIX(name, type) \
    static void name(const type *restrict x, const type *restrict b, \
                     type *restrict y, int64_t k, int64_t n, type scale) \
    { \
        for (int64_t j = 0; j < n; j++) \
            y[j] = 0; \
        for (int64_t i = 0; i < k; i++) \
            for (int64_t j = 0; j < n; j++) \
                y[j] += scale * x[i] * b[i * n + j]; \
    }

DEFINE_ROW_TIMES_MATRIX(row_times_matrix, float)
DEFINE_ROW_TIMES_MATRIX(row_times_matrix_f64, double)

/* The same with b transposed (n x k), or with one column. */
static void row_times_transposed(const float *restrict x,
                                 const float *restrict b, float *restrict y,
                                 int64_t k, int64_t n, float scale)
{
    for (int64_t j = 0; j < n; j++) {
        float sum = 0;
        for (int64_t i = 0; i < k; i++)
            sum += x[i] * b[j * k + i];
        y[j] = scale * sum;
    }
}

static void product(const product_f32 *p)
{
    for (int64_t row = 0; row < p->m; row++)
        (p->is_transposed || p->n == 1 ? row_times_transposed
                                       : row_times_matrix)(
            p->a + row * p->k, p->b, p->c + row * p->n, p->k, p->n, p->scale);
}

static void update(const product_f32 *p)
{
    for (int64_t row = 0; row < p->m; row++) {
        float *restrict c = p->c + row * p->n;
        for (int64_t i = 0; i < p->k; i++) {
            const float factor = p->scale * p->a[i * p->a_stride + row];
            const float *restrict b = p->b + i * p->n;
            for (int64_t j = 0; j < p->n; j++)
                c[j] += factor * b[j];
        }
    }
}

void plain_matmul(const kernel_buffers *b)
{
    const float *left = b->in[0], *right = b->in[1];
    float *out = b->out[0];
    const int64_t k = b->inner, n = b->columns;
#pragma omp parallel for
    for (int64_t row = 0; row < b->batch * b->rows; row++)
        product(&(product_f32){.m = 1, .k = k, .n = n, .a = left + row * k,
                               .b = right + row / b->rows * k * n,
                               .c = out + row * n, .scale = 1});
}

void plain_matmul_f64(const kernel_buffers *b)
{
    const double *left = b->in[0], *right = b->in[1];
    double *out = b->out[0];
    const int64_t k = b->inner, n = b->columns;
#pragma omp parallel for
    for (int64_t row = 0; row < b->rows; row++)
        row_times_matrix_f64(left + row * k, right, out + row * n, k, n, 1);
}

void plain_dense(const kernel_buffers *b)
{
    dense_by(product, b);
}

void plain_mlp(const kernel_buffers *b)
{
    mlp_by(product, b);
}

void plain_mlp_train(const kernel_buffers *b)
{
    mlp_train_by((products){product, update}, b);
}

void plain_attention(const kernel_buffers *b)
{
    attention_by(product, b);
}
