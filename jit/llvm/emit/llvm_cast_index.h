/* SPDX-License-Identifier: MIT */
/*
 * llvm_cast_index.h - casts of floats to indices. The index of an access is in
 * range (loops.h), because it was clamped or checked by an earlier kernel. A
 * cast that only accesses use therefore never saturates: the maximum of it and
 * 0, which is 0 for NaN, and the conversion are left. If all indices have 32
 * bits, so has the conversion.
 */
#ifndef TGI_LLVM_CAST_INDEX_H
#define TGI_LLVM_CAST_INDEX_H

#include "llvm/emit/llvm_kernel_state.h"

/* True if `inst` casts a float to an index that has no other use. */
bool tgi_llvm_is_cast_index(const tgi_llvm_kernel *k, const tgi_inst *inst);

/* The bits of its recipe for operand x. */
LLVMValueRef tgi_llvm_cast_index(tgi_llvm_kernel *k, const tgi_inst *inst,
                                 LLVMValueRef x);

#endif /* TGI_LLVM_CAST_INDEX_H */
