/* SPDX-License-Identifier: MIT */
/* llvm_lookup.h - the primitive LOOKUP: tables of constants. */
#ifndef TGI_LLVM_LOOKUP_H
#define TGI_LLVM_LOOKUP_H

#include "llvm/emit/llvm_emit.h"

/*
 * Elements `index` (integers of the dtype's width, all < n) of a table of n
 * elements, which is copied into the module.
 */
LLVMValueRef tgi_llvm_lookup(tgi_llvm_emitter *emitter, tg_dtype dtype,
                             const void *table, size_t n, LLVMValueRef index);

#endif /* TGI_LLVM_LOOKUP_H */
