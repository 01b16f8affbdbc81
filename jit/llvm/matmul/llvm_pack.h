/* SPDX-License-Identifier: MIT */
/* llvm_pack.h - kernels that pack a matrix into panels (tgi_access). */
#ifndef TGI_LLVM_PACK_H
#define TGI_LLVM_PACK_H

#include "llvm/emit/llvm_kernel_state.h"

/* The panel width of a kernel that packs; else 0. */
unsigned tgi_llvm_pack_panel_width(const tgi_llvm_analysis *a);
/* True if it packs columns that are contiguous in memory. */
bool tgi_llvm_pack_is_transposed(const tgi_llvm_analysis *a);
/* Packs the panel that begins at `column`, of n columns in all. */
void tgi_llvm_pack_transposed_emit(tgi_llvm_kernel *k, LLVMValueRef column,
                                   LLVMValueRef n);

#endif /* TGI_LLVM_PACK_H */
