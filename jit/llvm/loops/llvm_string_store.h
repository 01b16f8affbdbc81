/* SPDX-License-Identifier: MIT */
/* llvm_string_store.h - phases that only store equal bytes, by string
   instructions. */
#ifndef TGI_LLVM_STRING_STORE_H
#define TGI_LLVM_STRING_STORE_H

#include "llvm/emit/llvm_kernel_state.h"

/* Emits the stores of elements from … to - 1, if the buffer is large enough;
   returns the position where the caller continues. Does nothing if the
   architecture has no string instructions, or if a row is so long that it needs
   polls. */
LLVMValueRef tgi_llvm_string_store(tgi_llvm_kernel *k, unsigned phase,
                                   LLVMValueRef from, LLVMValueRef to);

#endif /* TGI_LLVM_STRING_STORE_H */
