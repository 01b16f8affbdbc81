/* SPDX-License-Identifier: MIT */
/* llvm_constant_pool.h - constants of recipes that are loaded from memory. */
#ifndef TGI_LLVM_CONSTANT_POOL_H
#define TGI_LLVM_CONSTANT_POOL_H

#include "llvm/emit/llvm_emit.h"

/* Emits a recipe. Float constants that it uses once are loaded from memory. */
LLVMValueRef tgi_llvm_recipe_emit(tgi_llvm_emitter *emitter,
                                  tgi_emit_recipe *recipe,
                                  const tgi_emitted *operands);
/* A constant in all lanes; a float one of a recipe is perhaps loaded. */
LLVMValueRef tgi_llvm_pooled_constant(tgi_llvm_emitter *emitter, tg_dtype dtype,
                                      uint64_t bits);

#endif /* TGI_LLVM_CONSTANT_POOL_H */
