/* SPDX-License-Identifier: MIT */
/*
 * llvm_accumulators.h - the partial results of the reductions of a phase, in
 * the storage that its schedule chooses.
 *
 * A reduction has one to three parts (llvm_reduce.h); a part has n_vectors
 * vectors of the current lanes. In registers these are SSA values, which loops
 * carry. On the stack each part is an array of elements: lanes of the reduction
 * tree, or columns.
 */
#ifndef TGI_LLVM_ACCUMULATORS_H
#define TGI_LLVM_ACCUMULATORS_H

#include "llvm/emit/llvm_flow.h"
#include "llvm/reduce/llvm_reduce.h"

enum {
    TGI_LLVM_MAX_ACC_PARTS = TGI_MAX_PHASE_REDUCTIONS * TGI_LLVM_MAX_PARTS,
    TGI_LLVM_MAX_ACC_VALUES = TGI_MAX_PHASE_REDUCTIONS * TGI_MAX_TREE_VECTORS
};

typedef struct tgi_llvm_accumulators {
    const tgi_phase_schedule *phase;
    unsigned n_vectors;
    unsigned n_parts;                              /* of all reductions */
    unsigned first_part[TGI_MAX_PHASE_REDUCTIONS]; /* of a reduction */
    tg_dtype dtype[TGI_LLVM_MAX_ACC_PARTS];        /* of a part */
    /* Part p, vector v: values[p * n_vectors + v]. */
    LLVMValueRef values[TGI_LLVM_MAX_ACC_VALUES];
    LLVMValueRef arrays[TGI_LLVM_MAX_ACC_PARTS];
} tgi_llvm_accumulators;

/* Prepares the layout; all values are undefined. */
void tgi_llvm_acc_init(tgi_llvm_kernel *k, tgi_llvm_accumulators *acc,
                       unsigned phase, unsigned n_vectors);
/* Sets all vectors to the start values. With keeps_args, those of ARGMAX and
   ARGMIN, which span all blocks, are left alone. */
void tgi_llvm_acc_start(tgi_llvm_kernel *k, tgi_llvm_accumulators *acc,
                        bool keeps_args);
/* Accumulates the body's values into one vector of each reduction. */
void tgi_llvm_acc_step(tgi_llvm_kernel *k, tgi_llvm_accumulators *acc,
                       unsigned vector);

/* The same for two bodies in turn, which native min and max accumulate at once.
   `firsts` holds their values of the first body. */
void tgi_llvm_acc_step_first(tgi_llvm_kernel *k, tgi_llvm_accumulators *acc,
                             LLVMValueRef *out_firsts);
void tgi_llvm_acc_step_second(tgi_llvm_kernel *k, tgi_llvm_accumulators *acc,
                              const LLVMValueRef *firsts);

/* A loop that carries all values. */
void tgi_llvm_acc_loop_begin(tgi_llvm_kernel *k, tgi_llvm_accumulators *acc,
                             tgi_llvm_loop *loop, LLVMValueRef from,
                             LLVMValueRef to, int64_t step);
void tgi_llvm_acc_loop_end(tgi_llvm_kernel *k, tgi_llvm_accumulators *acc,
                           tgi_llvm_loop *loop);

/* Allocates arrays of n elements. */
void tgi_llvm_acc_allocate(tgi_llvm_kernel *k, tgi_llvm_accumulators *acc,
                           unsigned n);
/* Vector 0 of each part from or to element `at` of its array. */
void tgi_llvm_acc_load(tgi_llvm_kernel *k, tgi_llvm_accumulators *acc,
                       unsigned vector, LLVMValueRef at);
void tgi_llvm_acc_store(tgi_llvm_kernel *k, const tgi_llvm_accumulators *acc,
                        unsigned vector, LLVMValueRef at);

/* Combines the upper half of the lanes into the lower, for all reductions, down
   to `lanes`; reassociated accumulators only. Sets the lanes of the emitter. */
void tgi_llvm_acc_halve(tgi_llvm_kernel *k, tgi_llvm_accumulators *acc,
                        unsigned lanes);
/* The results of vector 0, by reduction of the phase. */
void tgi_llvm_acc_finish(tgi_llvm_kernel *k, const tgi_llvm_accumulators *acc,
                         LLVMValueRef *out_results);
/* The horizontal reduction of all vectors, in the order of the tree. Leaves the
   emitter with one lane. */
void tgi_llvm_acc_horizontal(tgi_llvm_kernel *k, tgi_llvm_accumulators *acc,
                             LLVMValueRef *out_results);

#endif /* TGI_LLVM_ACCUMULATORS_H */
