/* SPDX-License-Identifier: MIT */
/* llvm_pairwise.h - pairwise combination of the results of blocks. */
#ifndef TGI_LLVM_PAIRWISE_H
#define TGI_LLVM_PAIRWISE_H

#include "llvm/emit/llvm_kernel_state.h"

/* Partial results of all reductions of a phase. */
typedef struct tgi_llvm_pairwise {
    const tgi_phase_schedule *phase;
    LLVMValueRef parts[TGI_MAX_PHASE_REDUCTIONS]; /* stack arrays */
} tgi_llvm_pairwise;

void tgi_llvm_pairwise_begin(tgi_llvm_kernel *k, tgi_llvm_pairwise *pairwise,
                             const tgi_phase_schedule *phase);
/* Adds the results of block number `n_blocks`, from 0 on. Ignores ARGMAX and
   ARGMIN. */
void tgi_llvm_pairwise_push(tgi_llvm_kernel *k, tgi_llvm_pairwise *pairwise,
                            const LLVMValueRef *blocks, LLVMValueRef n_blocks);
/* The totals of n_blocks > 0 blocks. */
void tgi_llvm_pairwise_total(tgi_llvm_kernel *k, tgi_llvm_pairwise *pairwise,
                             LLVMValueRef n_blocks, LLVMValueRef *out_totals);

/* The second stage of a two-stage reduction: the inner axis counts blocks, and
   positions from … to - 1 have their results. */
void tgi_llvm_pairwise_reduce(tgi_llvm_kernel *k, unsigned phase,
                              LLVMValueRef from, LLVMValueRef to,
                              LLVMValueRef *out_totals);

#endif /* TGI_LLVM_PAIRWISE_H */
