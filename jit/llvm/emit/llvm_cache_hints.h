/* SPDX-License-Identifier: MIT */
/* llvm_cache_hints.h - non-temporal marks, store fences and prefetches. */
#ifndef TGI_LLVM_CACHE_HINTS_H
#define TGI_LLVM_CACHE_HINTS_H

#include "llvm/emit/llvm_kernel_state.h"

/* True if a store is non-temporal in the body under construction. */
bool tgi_llvm_is_non_temporal(const tgi_llvm_kernel *k,
                              const tgi_loop_store *store);

/* Marks a store of so many bytes, which begins with a cache line or divides
   one, as non-temporal. */
void tgi_llvm_non_temporal_mark(const tgi_llvm_kernel *k, LLVMValueRef store,
                                unsigned bytes);

/* Before a kernel returns: a store fence, if it had non-temporal stores and
   the target needs one. */
void tgi_llvm_non_temporal_fence(tgi_llvm_kernel *k);

/* Prefetches `bytes` from an address on, which may lie outside any buffer. */
void tgi_llvm_prefetch(tgi_llvm_kernel *k, LLVMValueRef address, int64_t bytes,
                       bool to_write);

#endif /* TGI_LLVM_CACHE_HINTS_H */
