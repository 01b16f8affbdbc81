/* SPDX-License-Identifier: MIT */
/*
 * llvm_convert.h - the primitive CONVERT, and division of integers.
 */
#ifndef TGI_LLVM_CONVERT_H
#define TGI_LLVM_CONVERT_H

#include "llvm/emit/llvm_emit.h"

/*
 * Converts x, of dtype `from` or a mask. Integers wrap; conversions to floats
 * round, those from floats truncate. A float out of range gives an unspecified
 * result.
 */
LLVMValueRef tgi_llvm_convert(tgi_llvm_emitter *emitter, tg_dtype from,
                              tg_dtype to, LLVMValueRef x);

/* The truncated quotient of integers; b is not 0, and there is no overflow. */
LLVMValueRef tgi_llvm_divide(tgi_llvm_emitter *emitter, tg_dtype dtype,
                             LLVMValueRef a, LLVMValueRef b);

#endif /* TGI_LLVM_CONVERT_H */
