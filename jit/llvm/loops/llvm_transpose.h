/* SPDX-License-Identifier: MIT */
/* llvm_transpose.h - kernels that go by transposed tiles. */
#ifndef TGI_LLVM_TRANSPOSE_H
#define TGI_LLVM_TRANSPOSE_H

#include "llvm/emit/llvm_kernel_state.h"

/* Emits all tiles of a work item: row block and block of the inner axis, by
   number. */
void tgi_llvm_transpose_item_emit(tgi_llvm_kernel *k, LLVMValueRef row_block,
                                  LLVMValueRef inner_block);

#endif /* TGI_LLVM_TRANSPOSE_H */
