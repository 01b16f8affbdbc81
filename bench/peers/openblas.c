/* SPDX-License-Identifier: MIT */
/*
 * openblas.c - OpenBLAS, with plain C for the operations it lacks.
 */
#include "blas.h"

static blas openblas;

bool openblas_open(reason *out_why)
{
    const library_function functions[] = {
        BLAS_FUNCTIONS(openblas),
        {"openblas_set_num_threads", &openblas.set_threads},
        {NULL, NULL},
    };
    return library_open("libopenblas.so.0", functions, out_why);
}

static void product(const product_f32 *p)
{
    blas_product(&openblas, p);
}

static void update(const product_f32 *p)
{
    blas_update(&openblas, p);
}

void openblas_matmul(const kernel_buffers *b)
{
    blas_matmul(&openblas, b);
}

void openblas_matmul_f64(const kernel_buffers *b)
{
    blas_matmul_f64(&openblas, b);
}

void openblas_dense(const kernel_buffers *b)
{
    openblas.set_threads(1);
    dense_by(product, b);
}

void openblas_mlp(const kernel_buffers *b)
{
    openblas.set_threads(1);
    mlp_by(product, b);
}

void openblas_mlp_train(const kernel_buffers *b)
{
    openblas.set_threads(1);
    mlp_train_by((products){product, update}, b);
}

void openblas_attention(const kernel_buffers *b)
{
    openblas.set_threads(1);
    attention_by(product, b);
}
