/* SPDX-License-Identifier: MIT */
/* llvm_offsets.h - offset tables of kernels whose inner axis is a nest. */
#ifndef TGI_LLVM_OFFSETS_H
#define TGI_LLVM_OFFSETS_H

#include "llvm/emit/llvm_kernel_state.h"

/* Computes the tables that are not constants; at the start of the kernel. */
void tgi_llvm_offset_tables_emit(tgi_llvm_kernel *k);

/* The address of an entry of a table. */
LLVMValueRef tgi_llvm_offset_address(tgi_llvm_kernel *k, uint32_t table,
                                     LLVMValueRef index);
/* The offset at the current inner index. */
LLVMValueRef tgi_llvm_offset(tgi_llvm_kernel *k, uint32_t table);

#endif /* TGI_LLVM_OFFSETS_H */
