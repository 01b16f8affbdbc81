/* SPDX-License-Identifier: MIT */
/* llvm_reduction.h - the reductions of a phase, along the inner axis. */
#ifndef TGI_LLVM_REDUCTION_H
#define TGI_LLVM_REDUCTION_H

#include "llvm/emit/llvm_kernel_state.h"

/* Emits all reductions of a phase over from … to - 1 of the inner axis, as its
   nest says, and sets their values. Their lanes are those of the vector loop
   or, in a COLUMNS kernel, the current lanes. */
void tgi_llvm_reduction_emit(tgi_llvm_kernel *k, unsigned phase,
                             LLVMValueRef from, LLVMValueRef to);

/* The same for wide columns, first … end - 1, whole vectors: phase 0, then
   what all phases do with the results. */
void tgi_llvm_wide_reduction_emit(tgi_llvm_kernel *k, LLVMValueRef first,
                                  LLVMValueRef end, LLVMValueRef from,
                                  LLVMValueRef to);

#endif /* TGI_LLVM_REDUCTION_H */
