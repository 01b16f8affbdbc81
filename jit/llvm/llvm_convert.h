/* SPDX-License-Identifier: MIT */
/*
 * llvm_convert.h - one element type as another: the word CONVERT; and division
 * of integers, which on vectors is a detour through floats.
 */
#ifndef TGI_LLVM_CONVERT_H
#define TGI_LLVM_CONVERT_H

#include "llvm/llvm_emit.h"

/*
 * x, of type `from` or a mask, as `to`: integers wrap, to floats rounds, from
 * floats truncates. Where a float does not fit, the result is anything.
 */
LLVMValueRef tgi_llvm_convert(tgi_llvm_emitter *emitter, tg_dtype from,
                              tg_dtype to, LLVMValueRef x);

/* The quotient of integers, cut to an integer; b is not 0, and it fits. */
LLVMValueRef tgi_llvm_divide(tgi_llvm_emitter *emitter, tg_dtype dtype,
                             LLVMValueRef a, LLVMValueRef b);

#endif /* TGI_LLVM_CONVERT_H */
