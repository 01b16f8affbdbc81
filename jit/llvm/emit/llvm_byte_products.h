/* SPDX-License-Identifier: MIT */
/*
 * llvm_byte_products.h - the step of a MATMUL: a recipe, or for bytes an
 * instruction of the CPU.
 */
#ifndef TGI_LLVM_BYTE_PRODUCTS_H
#define TGI_LLVM_BYTE_PRODUCTS_H

#include "llvm/emit/llvm_emit.h"
#include "loop/loops.h"

/* in: both factors, then the accumulator. Returns the next accumulator. */
LLVMValueRef tgi_llvm_product_step(tgi_llvm_emitter *emitter,
                                   const tgi_reduction *reduction,
                                   const tgi_emitted *in);

#endif /* TGI_LLVM_BYTE_PRODUCTS_H */
