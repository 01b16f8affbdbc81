/* SPDX-License-Identifier: MIT */
/*
 * tensor_case.h - cases that compute tensors from tensors: a callback for the
 * library, and a kernel for each peer.
 *
 * The interpreter's results are the reference. The JIT and the expert kernels
 * must match it bit for bit (all NaNs are equal). Plain C and other libraries,
 * which sum in another order, must match within the tolerance of the case.
 */
#ifndef BENCH_TENSOR_CASE_H
#define BENCH_TENSOR_CASE_H

#include "case.h"
#include "peers.h"
#include "shape.h"

/* Elements are uniform in [low, high). */
typedef struct tensor_input {
    tg_dtype dtype; /* TG_F32 or TG_F64; TG_DTYPE_NONE ends a list */
    tensor_shape shape;
    double low, high;
    bool is_variable; /* passed to the library as a variable */
    bool is_index;    /* is cast to integers, and always within its range */
} tensor_input;

#define INPUT(dtype, shape, low, high) {dtype, shape, low, high, false, false}
#define INPUT_SCALAR(dtype, value) \
    {dtype, SHAPE_SCALAR, value, value, false, false}
#define INPUT_VARIABLE(dtype, shape, low, high) \
    {dtype, shape, low, high, true, false}
#define INPUT_INDEX(shape, n) {TG_F32, shape, 0, n, false, true}

typedef struct tensor_result {
    tg_dtype dtype;
    tensor_shape shape;
} tensor_result;

/* Sets of engines. */
#define ENGINE(which) (1u << (which))
_Static_assert(N_BACKENDS <= 32, "a set of engines is 32 bits");
#define ENGINES_GRADIENT \
    (ENGINE(BACKEND_TORCH) | ENGINE(BACKEND_TORCH_COMPILE) | \
     ENGINE(BACKEND_TENSORFLOW) | ENGINE(BACKEND_TENSORFLOW_XLA) | \
     ENGINE(BACKEND_JAX))
#define ENGINES_NETWORK (ENGINES_GRADIENT | ENGINE(BACKEND_ONNXRUNTIME))
#define ENGINES_ARRAY (ENGINES_NETWORK | ENGINE(BACKEND_NUMPY))
#define ENGINES_LOOP (ENGINES_ARRAY | ENGINE(BACKEND_NUMBA))
#define ENGINES_ELEMENTWISE (ENGINES_LOOP | ENGINE(BACKEND_NUMEXPR))

typedef struct tensor_case {
    tg_callback *callback;
    kernel *kernels[N_BACKENDS]; /* of back ends other than the library */
    tensor_input inputs[KERNEL_INPUTS];
    tensor_result results[KERNEL_RESULTS];
    tensor_shape scratch; /* f32 temporaries of kernels */
    /* Tolerance of back ends that need not match bit for bit:
       |got - reference| <= absolute + relative * |reference|. */
    double absolute, relative;
    /* Its name in peers/expressions.py, and the engines that compute it. */
    const char *expression;
    unsigned engines;
    bool is_profiled; /* also while a profile is recorded */
    bool is_called; /* by tg_call instead of tg_run */
    bool has_known_sizes; /* cannot be traced with unknown extents */
    bool has_fast_accuracy; /* an operation has a fast form */
    /* Runs update the variables; results are compared after several runs.
       Kernels update copies, in `state`. */
    bool has_state;
    /* If set, the `c` row of a loop calls tg_run of this callback `steps`
       times. Each result is the first input of the next step; `scratch` holds
       every other one. */
    tg_callback *step;
    int steps;
} tensor_case;

extern const case_family tensor_family;

/* Hand-written kernels. Without expert kernels, their rows exist and are
   skipped. */
#ifdef HAVE_EXPERT
#define BY_HAND(name) \
    {[BACKEND_C] = plain_##name, [BACKEND_EXPERT] = expert_##name}
#else
#define BY_HAND(name) \
    {[BACKEND_C] = plain_##name, [BACKEND_EXPERT] = plain_##name}
#endif

#endif /* BENCH_TENSOR_CASE_H */
