/* SPDX-License-Identifier: MIT */
/* llvm_rows.h - points of ROWS kernels: loops along the inner axis. */
#ifndef TGI_LLVM_ROWS_H
#define TGI_LLVM_ROWS_H

#include "llvm/emit/llvm_kernel_state.h"

/* Emits all phases of a point; from … to - 1 of the inner axis. */
void tgi_llvm_rows_emit(tgi_llvm_kernel *k, LLVMValueRef from, LLVMValueRef to);

/* Emits the reductions of a phase: in the order of the tree, or in any order if
   all are reassociable. */
void tgi_llvm_rows_reduce_emit(tgi_llvm_kernel *k, unsigned phase,
                               LLVMValueRef from, LLVMValueRef to);
void tgi_llvm_rows_reassociable_emit(tgi_llvm_kernel *k, unsigned phase,
                                     LLVMValueRef from, LLVMValueRef to,
                                     LLVMValueRef *out_results);

/*
 * Emits the loops of a phase from one position to another: full vectors, then
 * the tail with fewer lanes and a mask. Calls `body` in each with k->index of
 * the inner axis and k->mask set.
 */
typedef void tgi_llvm_body_fn(tgi_llvm_kernel *k, unsigned phase, void *user);
void tgi_llvm_rows_loop(tgi_llvm_kernel *k, unsigned phase, LLVMValueRef from,
                        LLVMValueRef to, tgi_llvm_body_fn *body, void *user);
/* Emits the tail alone: to - from is less than a vector. */
void tgi_llvm_rows_tail(tgi_llvm_kernel *k, unsigned phase, LLVMValueRef from,
                        LLVMValueRef to, tgi_llvm_body_fn *body, void *user);

#endif /* TGI_LLVM_ROWS_H */
