/* SPDX-License-Identifier: MIT */
/*
 * peers.h - what a hand-written kernel gets, and the list of those there are.
 * Each exists twice: plain_NAME (plain_*.c), C as one writes it and left to
 * the compiler's fast math, and expert_NAME (expert/), explicit SIMD with the
 * bits of the library. Both are what the library is measured against.
 */
#ifndef BENCH_PEERS_H
#define BENCH_PEERS_H

#include <stddef.h>
#include <stdint.h>

enum { KERNEL_INPUTS = 8, KERNEL_RESULTS = 2 };

/* Buffers are 64-byte aligned, and those of results overlap no others. */
typedef struct kernel_buffers {
    const void *in[KERNEL_INPUTS];
    void *out[KERNEL_RESULTS];
    int64_t rows, columns; /* of input 0; a vector is one row */
    int64_t count;         /* rows * columns */
    size_t cache_bytes;    /* what the last cache holds */
    void *scratch;         /* scratch_bytes(count) */
} kernel_buffers;

typedef void kernel(const kernel_buffers *b);

/* Enough for one number per block of a reduction. */
static inline size_t scratch_bytes(int64_t count)
{
    return ((size_t)count / 1024 + 16) * sizeof(double);
}

/* The kernels; inputs -> results are in case_*.c. */
#define KERNELS(X) \
    X(add) \
    X(axpy) \
    X(black_scholes) \
    X(chain) \
    X(copy) \
    X(jacobi) \
    X(layer_norm) \
    X(scale) \
    X(softmax) \
    X(sum) \
    X(transpose)

#define DECLARE_KERNEL(name) kernel plain_##name, expert_##name;
KERNELS(DECLARE_KERNEL)
#undef DECLARE_KERNEL

#endif /* BENCH_PEERS_H */
