/* SPDX-License-Identifier: MIT */
/* llvm_non_temporal.h - loops with non-temporal stores. */
#ifndef TGI_LLVM_NON_TEMPORAL_H
#define TGI_LLVM_NON_TEMPORAL_H

#include "llvm/loops/llvm_vector_loop.h"

/* Computes, in the entry block, which phases have results that are large enough
   for non-temporal stores. */
void tgi_llvm_non_temporal_begin(tgi_llvm_kernel *k);
/* Emits the elements before the first cache line of the phase's aligned store,
   if it has one; returns the position after them. */
LLVMValueRef tgi_llvm_peel_to_line(tgi_llvm_kernel *k, unsigned phase,
                                   LLVMValueRef from, LLVMValueRef to,
                                   tgi_llvm_body_fn *body, void *user);
/* Emits a loop with non-temporal stores, if the phase has any; returns the
   position where it ends and where the caller continues. */
LLVMValueRef tgi_llvm_non_temporal_loop(tgi_llvm_kernel *k, unsigned phase,
                                        LLVMValueRef from, LLVMValueRef to,
                                        tgi_llvm_body_fn *body, void *user);

#endif /* TGI_LLVM_NON_TEMPORAL_H */
