/* SPDX-License-Identifier: MIT */
/*
 * llvm_half.h - the primitives NARROW and WIDEN. The value of a half is an
 * integer of 16 bits.
 */
#ifndef TGI_LLVM_HALF_H
#define TGI_LLVM_HALF_H

#include "llvm/emit/llvm_emit.h"

LLVMValueRef tgi_llvm_narrow(tgi_llvm_emitter *emitter, tg_dtype half,
                             LLVMValueRef x);
LLVMValueRef tgi_llvm_widen(tgi_llvm_emitter *emitter, tg_dtype half,
                            LLVMValueRef x);

#endif /* TGI_LLVM_HALF_H */
