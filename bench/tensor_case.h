/* SPDX-License-Identifier: MIT */
/*
 * tensor_case.h - the family of cases which compute tensors from tensors: a
 * callback for the library, and a kernel for each peer.
 *
 * The interpreter's results are the reference. The JIT and the expert kernels
 * must have its bits (which NaN a NaN is does not count); plain C may be off
 * by the case's tolerance, as it sums and multiplies in another order.
 */
#ifndef BENCH_TENSOR_CASE_H
#define BENCH_TENSOR_CASE_H

#include "case.h"
#include "peers.h"

/* Shape of an input or result, from the size of the case. */
typedef enum shape_kind {
    SHAPE_WHOLE,
    SHAPE_ROW,    /* a vector of `columns` */
    SHAPE_SCALAR,
    SHAPE_TURNED  /* columns by rows */
} shape_kind;

/* Elements are uniform in [low, high). */
typedef struct tensor_input {
    tg_dtype dtype; /* TG_F32 or TG_F64; TG_DTYPE_NONE ends a list */
    shape_kind shape;
    double low, high;
    bool is_variable; /* the library gets it as one */
} tensor_input;

#define INPUT(dtype, shape, low, high) {dtype, shape, low, high, false}
#define INPUT_SCALAR(dtype, value) {dtype, SHAPE_SCALAR, value, value, false}
#define INPUT_VARIABLE(dtype, shape, low, high) {dtype, shape, low, high, true}

typedef struct tensor_result {
    tg_dtype dtype;
    shape_kind shape;
} tensor_result;

typedef struct tensor_case {
    tg_callback *callback;
    kernel *plain, *expert;
    tensor_input inputs[KERNEL_INPUTS];
    tensor_result results[KERNEL_RESULTS];
    /* Plain C: |c - reference| <= absolute + relative * |reference|. */
    double absolute, relative;
    bool is_called; /* by tg_call, not tg_run */
} tensor_case;

extern const case_family tensor_family;

/* A kernel of the expert, or NULL in a build without them. */
#ifdef HAVE_EXPERT
#define EXPERT(name) expert_##name
#else
#define EXPERT(name) NULL
#endif

#endif /* BENCH_TENSOR_CASE_H */
