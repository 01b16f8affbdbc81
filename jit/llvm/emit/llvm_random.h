/* SPDX-License-Identifier: MIT */
/* llvm_random.h - RANDOM insts. */
#ifndef TGI_LLVM_RANDOM_H
#define TGI_LLVM_RANDOM_H

#include "llvm/emit/llvm_kernel_state.h"

/* RANDOM_BITS of dtype U32 or U64 for the current lanes. */
LLVMValueRef tgi_llvm_random_bits(tgi_llvm_kernel *k, tg_dtype dtype,
                                  LLVMValueRef key, LLVMValueRef offset,
                                  LLVMValueRef position);

#endif /* TGI_LLVM_RANDOM_H */
