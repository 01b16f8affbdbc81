/* SPDX-License-Identifier: MIT */
/*
 * peers.h - what a kernel that the library is measured against gets, and the
 * list of those there are: plain_NAME (plain_*.c), C as one writes it and left
 * to the compiler's fast math; expert_NAME (expert/), explicit SIMD with the
 * bits of the library; and for products of matrices, those which call another
 * library (peers/).
 */
#ifndef BENCH_PEERS_H
#define BENCH_PEERS_H

#include <stddef.h>
#include <stdint.h>

enum { KERNEL_INPUTS = 8, KERNEL_RESULTS = 3 };

/* Buffers are 64-byte aligned, and those of results overlap no others. */
typedef struct kernel_buffers {
    const void *in[KERNEL_INPUTS];
    void *state[KERNEL_INPUTS]; /* of inputs that the kernel changes: its own */
    void *out[KERNEL_RESULTS];
    int64_t rows, columns; /* of input 0; a vector is one row */
    int64_t count;         /* rows * columns */
    /* Of products: rows x inner times inner x columns, `batch` times. */
    int64_t inner, batch;
    int threads;           /* OpenMP has been told */
    size_t cache_bytes;    /* what the last cache holds */
    void *scratch;         /* scratch_bytes(count), and what the case wants */
} kernel_buffers;

typedef void kernel(const kernel_buffers *b);

/* Enough for one number per block of a reduction. */
static inline size_t scratch_bytes(int64_t count)
{
    return ((size_t)count / 1024 + 16) * sizeof(double);
}

/* Kernels by hand; inputs -> results are in case_*.c. */
#define KERNELS(X) \
    X(add) \
    X(axpy) \
    X(black_scholes) \
    X(chain) \
    X(copy) \
    X(jacobi) \
    X(layer_norm) \
    X(scale) \
    X(scan_3x3) \
    X(softmax) \
    X(sum) \
    X(transpose)

#define DECLARE_KERNEL(name) kernel plain_##name, expert_##name;
KERNELS(DECLARE_KERNEL)
#undef DECLARE_KERNEL

/* -- Loops ----------------------------------------------------------------- */

kernel plain_lorenz, plain_wave_1d;

enum { LORENZ_STEPS = 100000, WAVE_STEPS = 1000, WHILE_TRIPS = 20 };

/* So short that in all these steps rounding errors grow by some thousands
   only: results can still be compared. */
#define LORENZ_STEP 1e-4
/* Its square, in points a step. */
#define WAVE_SPEED 0.25

/* -- Gradients ------------------------------------------------------------- */

kernel plain_mlp_train, openblas_mlp_train;
kernel plain_logistic_train, plain_scan_3x3_gradient;

/* -- Products -------------------------------------------------------------- */

kernel plain_matmul, plain_matmul_f64, plain_dense, plain_mlp,
    plain_attention;
kernel openblas_matmul, openblas_matmul_f64, openblas_dense, openblas_mlp,
    openblas_attention;
kernel blis_matmul, blis_matmul_f64;
kernel onednn_matmul, onednn_dense, onednn_mlp;
kernel libxsmm_matmul;

/* Widths of the network. */
enum { MLP_IN = 784, MLP_FIRST = 256, MLP_SECOND = 128, MLP_OUT = 10 };

/* How far a step of a training goes down the gradient. */
#define TRAIN_RATE 0.01f

/* Of attention: 1 / sqrt(64), as for heads of 64 columns. */
#define ATTENTION_SCALE 0.125f

#endif /* BENCH_PEERS_H */
