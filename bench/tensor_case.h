/* SPDX-License-Identifier: MIT */
/*
 * tensor_case.h - the family of cases which compute tensors from tensors: a
 * callback for the library, and a kernel for each peer.
 *
 * The interpreter's results are the reference. The JIT and the expert kernels
 * must have its bits (which NaN a NaN is does not count); plain C and other
 * libraries may be off by the case's tolerance, as they sum and multiply in
 * another order.
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
    bool is_variable; /* the library gets it as one */
} tensor_input;

#define INPUT(dtype, shape, low, high) {dtype, shape, low, high, false}
#define INPUT_SCALAR(dtype, value) {dtype, SHAPE_SCALAR, value, value, false}
#define INPUT_VARIABLE(dtype, shape, low, high) {dtype, shape, low, high, true}

typedef struct tensor_result {
    tg_dtype dtype;
    tensor_shape shape;
} tensor_result;

typedef struct tensor_case {
    tg_callback *callback;
    kernel *kernels[N_BACKENDS]; /* of those that are not the library */
    tensor_input inputs[KERNEL_INPUTS];
    tensor_result results[KERNEL_RESULTS];
    tensor_shape scratch; /* of f32, for kernels with steps in between */
    /* Of those which need not have the bits of the reference:
       |got - reference| <= absolute + relative * |reference|. */
    double absolute, relative;
    bool is_called; /* by tg_call, not tg_run */
    /* Its variables change from run to run, and with them the results, which
       are compared after some runs. Kernels have copies in `state`. */
    bool has_state;
    /* The peer of a loop, as C: if not NULL, tg_run of this so often. Its
       result is what it gets first the next time; needs one more, scratch. */
    tg_callback *step;
    int steps;
} tensor_case;

extern const case_family tensor_family;

/* Kernels by hand. A build without those of the expert has the rows, which
   are skipped. */
#ifdef HAVE_EXPERT
#define BY_HAND(name) \
    {[BACKEND_C] = plain_##name, [BACKEND_EXPERT] = expert_##name}
#else
#define BY_HAND(name) \
    {[BACKEND_C] = plain_##name, [BACKEND_EXPERT] = plain_##name}
#endif

#endif /* BENCH_TENSOR_CASE_H */
