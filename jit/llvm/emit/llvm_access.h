/* SPDX-License-Identifier: MIT */
/* llvm_access.h - addresses, loads and stores of accesses. */
#ifndef TGI_LLVM_ACCESS_H
#define TGI_LLVM_ACCESS_H

#include "llvm/emit/llvm_kernel_state.h"

static inline const tgi_access *
tgi_llvm_store_access(const tgi_llvm_kernel *k, const tgi_loop_store *store)
{
    return &k->loops->accesses.data[store->access];
}

/* Computes the element offset of every access at the current point. */
void tgi_llvm_point_addresses_emit(tgi_llvm_kernel *k);

/* The address of lane 0 at k->index, without a varying gather index. */
LLVMValueRef tgi_llvm_address(tgi_llvm_kernel *k, const tgi_access *access);
/* The same computed from k->index alone: in the buffer, not in a tile, and
   without a gather index. */
LLVMValueRef tgi_llvm_address_from_indices(tgi_llvm_kernel *k,
                                           const tgi_access *access);
/* The element offset of lane 0, as POSITION insts have it. */
LLVMValueRef tgi_llvm_position(tgi_llvm_kernel *k, const tgi_access *access);

/* Loads the current lanes. */
LLVMValueRef tgi_llvm_load(tgi_llvm_kernel *k, uint32_t access);
void tgi_llvm_store(tgi_llvm_kernel *k, const tgi_loop_store *store);
/* Stores a value of the current lanes; returns the store instruction if it is
   one unmasked vector store, else NULL. */
LLVMValueRef tgi_llvm_store_value(tgi_llvm_kernel *k, const tgi_access *access,
                                  LLVMValueRef value);

/* The constant 0, 1, 2 … of the current lanes, of an integer type. */
LLVMValueRef tgi_llvm_iota(const tgi_llvm_kernel *k, LLVMTypeRef element);
/* The mask of the first n lanes. */
LLVMValueRef tgi_llvm_tail_mask(tgi_llvm_kernel *k, LLVMValueRef n);

#endif /* TGI_LLVM_ACCESS_H */
