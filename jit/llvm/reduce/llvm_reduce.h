/* SPDX-License-Identifier: MIT */
/*
 * llvm_reduce.h - reductions: accumulators, steps and horizontal reduction.
 * They follow the recipe, or, where is_reassociable is passed, a faster
 * sequence with the same result bits.
 */
#ifndef TGI_LLVM_REDUCE_H
#define TGI_LLVM_REDUCE_H

#include "llvm/emit/llvm_kernel_state.h"

/* -- Accumulators ---------------------------------------------------------- */

enum { TGI_LLVM_MAX_PARTS = 3 };

typedef struct tgi_llvm_accumulator {
    LLVMValueRef part[TGI_LLVM_MAX_PARTS]; /* most have one */
} tgi_llvm_accumulator;

unsigned tgi_llvm_accumulator_parts(const tgi_llvm_kernel *k,
                                    uint32_t reduction, bool is_reassociable);

/* The dtype of a part. */
tg_dtype tgi_llvm_accumulator_dtype(const tgi_llvm_kernel *k,
                                    uint32_t reduction, unsigned part);

void tgi_llvm_reduce_start(tgi_llvm_kernel *k, uint32_t reduction,
                           bool is_reassociable,
                           tgi_llvm_accumulator *out_accumulator);
/* Accumulates the operand's value of the last emitted body, in the active
   lanes. */
void tgi_llvm_reduce_step(tgi_llvm_kernel *k, uint32_t reduction,
                          bool is_reassociable, tgi_llvm_accumulator *acc);
/* Accumulates `first` and then that value; native min or max only. */
void tgi_llvm_reduce_step_pair(tgi_llvm_kernel *k, uint32_t reduction,
                               LLVMValueRef first, tgi_llvm_accumulator *acc);
/* Combines the upper half of the lanes into the lower; reassociable only. The
   caller halves the lanes of the emitter. */
void tgi_llvm_reduce_halve(tgi_llvm_kernel *k, uint32_t reduction,
                           tgi_llvm_accumulator *acc);
LLVMValueRef tgi_llvm_reduce_finish(tgi_llvm_kernel *k, uint32_t reduction,
                                    bool is_reassociable,
                                    const tgi_llvm_accumulator *acc);

/* -- Results --------------------------------------------------------------- */

/* The initial total of a matmul over k in from … to - 1, to which the results
   of k-blocks are added. */
LLVMValueRef tgi_llvm_matmul_start(tgi_llvm_kernel *k, LLVMValueRef from,
                                   LLVMValueRef to);
/* Combines two results, the earlier on the left. */
LLVMValueRef tgi_llvm_reduce_combine(tgi_llvm_kernel *k, uint32_t reduction,
                                     LLVMValueRef left, LLVMValueRef right);
/* Reduces the lanes of n vectors, a power of two, to one element, in the order
   of the tree. Leaves the emitter with one lane. */
LLVMValueRef tgi_llvm_horizontal_reduce(tgi_llvm_kernel *k, uint32_t reduction,
                                        LLVMValueRef *vectors, unsigned n);
/* The same two by op and dtype. */
LLVMValueRef tgi_llvm_reduce_combine_op(tgi_llvm_kernel *k, int op,
                                        tg_dtype dtype, LLVMValueRef left,
                                        LLVMValueRef right);
LLVMValueRef tgi_llvm_horizontal_reduce_op(tgi_llvm_kernel *k, int op,
                                           tg_dtype dtype,
                                           LLVMValueRef *vectors, unsigned n);
/* The result of no elements. */
LLVMValueRef tgi_llvm_reduce_empty(tgi_llvm_kernel *k, uint32_t reduction);

#endif /* TGI_LLVM_REDUCE_H */
