/* SPDX-License-Identifier: MIT */
/*
 * peers.h - the kernels that the library is compared with: plain_NAME
 * (plain_*.c), straightforward C compiled with fast math; expert_NAME
 * (expert/), explicit SIMD with the bits of the library; and for matrix
 * products, kernels that call another library (peers/).
 */
#ifndef BENCH_PEERS_H
#define BENCH_PEERS_H

#include <stddef.h>
#include <stdint.h>

enum { KERNEL_INPUTS = 9, KERNEL_RESULTS = 3 };

/* Buffers are 64-byte aligned. Results do not overlap other buffers. */
typedef struct kernel_buffers {
    const void *in[KERNEL_INPUTS];
    void *state[KERNEL_INPUTS]; /* private copies of inputs that are updated */
    void *out[KERNEL_RESULTS];
    int64_t rows, columns; /* of input 0; a vector is one row */
    int64_t count;         /* rows * columns */
    /* Matrix products: rows x inner times inner x columns, `batch` times. */
    int64_t inner, batch;
    int threads;           /* also set in OpenMP */
    size_t cache_bytes;    /* size of the last-level cache */
    void *scratch;         /* scratch_bytes(count), then that of the case */
} kernel_buffers;

typedef void kernel(const kernel_buffers *b);

/* Enough for one number per block of a reduction. */
static inline size_t scratch_bytes(int64_t count)
{
    return ((size_t)count / 1024 + 16) * sizeof(double);
}

/* Hand-written kernels; case_*.c lists their inputs and results. */
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

enum { LORENZ_STEPS = 100000, WAVE_STEPS = 1000, WHILE_ITERATIONS = 20 };

/* Short enough that rounding errors grow only by a factor of thousands over all
   steps, so that results can be compared. */
#define LORENZ_STEP 1e-4
/* Square of the wave speed, in points per step. */
#define WAVE_SPEED 0.25

/* -- Gradients ------------------------------------------------------------- */

kernel plain_mlp_train, openblas_mlp_train;
kernel plain_logistic_train, plain_scan_3x3_gradient;

/* -- Matrix products ------------------------------------------------------- */

kernel plain_matmul, plain_matmul_f64, plain_dense, plain_mlp,
    plain_attention;
kernel openblas_matmul, openblas_matmul_f64, openblas_dense, openblas_mlp,
    openblas_attention;
kernel blis_matmul, blis_matmul_f64;
kernel onednn_matmul, onednn_dense, onednn_mlp;
kernel libxsmm_matmul;

/* -- Convolutions and optimisers ------------------------------------------- */

kernel plain_conv, plain_conv_images, plain_conv_filters, plain_depthwise;
kernel plain_max_pool_3x3, plain_max_pool_2x2;
kernel plain_avg_pool_3x3, plain_avg_pool_2x2;
kernel plain_cnn_train, plain_adam;
kernel onednn_conv, onednn_conv_images, onednn_conv_filters, onednn_depthwise;

enum { CONV_WINDOW = 3 }; /* rows and columns of a window */

/* The convolutional network: images of one channel, two layers of filters,
   each halving the side by pooling, and a dense layer. */
enum {
    CNN_SIDE = 28,
    CNN_FIRST = 32,
    CNN_SECOND = 64,
    CNN_FEATURES = CNN_SIDE / 4 * (CNN_SIDE / 4) * CNN_SECOND,
    CNN_OUT = 10
};

/* Elements per image of the activations of cnn_train, and of all temporaries
   of the hand-written step: activations, their gradients, logits. */
enum {
    CNN_ACTIVATIONS = CNN_SIDE * CNN_SIDE * CNN_FIRST * 5 / 4 +
                      CNN_SIDE / 2 * (CNN_SIDE / 2) * CNN_SECOND * 5 / 4,
    CNN_TEMPORARIES = 2 * CNN_ACTIVATIONS + CNN_OUT
};

#define ADAM_BETA_1 0.9f
#define ADAM_BETA_2 0.999f
#define ADAM_EPSILON 1e-8f
enum { ADAM_SHOWN = 16 }; /* parameters that are compared: the last ones */

/* -- Single operations ----------------------------------------------------- */

#define OTHER(name, ...) kernel plain_ops_##name, strict_ops_##name;
#define UNARY OTHER
#define BINARY OTHER
#define LONG OTHER
#include "ops.def"
#undef OTHER
#undef UNARY
#undef BINARY
#undef LONG

/* -- Reductions, stencils, calls ------------------------------------------- */

kernel plain_sum_axis_0, plain_sum_axis_1, plain_sum_axis_2;
kernel plain_heat_2d;
kernel plain_heat_2d_torus;
kernel plain_heat_3d;
kernel plain_momentum;
kernel plain_variables_0, plain_variables_1, plain_variables_2,
    plain_variables_4, plain_variables_8;

#define HEAT_RATE 0.1f
#define MOMENTUM 0.9f

/* -- Embeddings ------------------------------------------------------------ */

kernel plain_embedding, plain_embedding_gradient, plain_gather,
    plain_scatter_add;

enum { EMBEDDING_WORDS = 8192 };    /* rows of the table */
enum { GATHER_TABLE = 1024 * 1024 }; /* elements of the table */

/* -- Roofs ----------------------------------------------------------------- */

/* Run `times` times; return flops, or bytes read and written (plain_roof.c). */
double plain_roof_fma_f32(void *memory, size_t bytes, int64_t times);
double plain_roof_fma_f64(void *memory, size_t bytes, int64_t times);
double plain_roof_read(void *memory, size_t bytes, int64_t times);
double plain_roof_copy(void *memory, size_t bytes, int64_t times);
double plain_roof_update(void *memory, size_t bytes, int64_t times);

/* -- Networks -------------------------------------------------------------- */

/* Widths of the network. */
enum { MLP_IN = 784, MLP_FIRST = 256, MLP_SECOND = 128, MLP_OUT = 10 };

/* Learning rate of the training steps. */
#define TRAIN_RATE 0.01f

/* 1 / sqrt(64), for attention heads of 64 columns. */
#define ATTENTION_SCALE 0.125f

#endif /* BENCH_PEERS_H */
