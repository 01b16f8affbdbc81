/* SPDX-License-Identifier: MIT */
/*
 * blas.h - matrix products through CBLAS, of any library that provides it.
 */
#ifndef BENCH_PEERS_BLAS_H
#define BENCH_PEERS_BLAS_H

#include "layers.h"
#include "library.h"

/* C = alpha * A * B + beta * C, and y = alpha * A * x + beta * y. */
typedef void sgemm_function(int layout, int transpose_a, int transpose_b,
                            int m, int n, int k, float alpha, const float *a,
                            int a_stride, const float *b, int b_stride,
                            float beta, float *c, int c_stride);
typedef void dgemm_function(int layout, int transpose_a, int transpose_b,
                            int m, int n, int k, double alpha, const double *a,
                            int a_stride, const double *b, int b_stride,
                            double beta, double *c, int c_stride);
typedef void sgemv_function(int layout, int transpose_a, int m, int n,
                            float alpha, const float *a, int a_stride,
                            const float *x, int x_step, float beta, float *y,
                            int y_step);

typedef struct blas {
    sgemm_function *sgemm;
    dgemm_function *dgemm;
    sgemv_function *sgemv;
    void (*set_threads)(int threads); /* per call */
} blas;

#define BLAS_FUNCTIONS(the_blas) \
    {"cblas_sgemm", &(the_blas).sgemm}, {"cblas_dgemm", &(the_blas).dgemm}, \
    {"cblas_sgemv", &(the_blas).sgemv}

void blas_product(const blas *with, const product_f32 *p);
void blas_update(const blas *with, const product_f32 *p);

/* Kernels. Threads divide a batch; a single product uses the library's. */
void blas_matmul(const blas *with, const kernel_buffers *b);
void blas_matmul_f64(const blas *with, const kernel_buffers *b);

#endif /* BENCH_PEERS_BLAS_H */
