/* SPDX-License-Identifier: MIT */
/* llvm_pack.h - kernels that pack a matrix into panels (tgi_access). */
#ifndef TGI_LLVM_PACK_H
#define TGI_LLVM_PACK_H

#include "llvm/emit/llvm_kernel_state.h"

/* Packs the panel that begins at `column`, of n columns in all. */
void tgi_llvm_pack_transposed_emit(tgi_llvm_kernel *k, LLVMValueRef column,
                                   LLVMValueRef n);

#endif /* TGI_LLVM_PACK_H */
