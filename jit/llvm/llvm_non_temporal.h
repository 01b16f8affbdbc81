/* SPDX-License-Identifier: MIT */
/* llvm_non_temporal.h - non-temporal stores, and prefetches. */
#ifndef TGI_LLVM_NON_TEMPORAL_H
#define TGI_LLVM_NON_TEMPORAL_H

#include "llvm/llvm_rows.h"

/* Computes program->is_read; false when out of memory. */
bool tgi_llvm_non_temporal_init(tgi_llvm_program *program);
/* Finds the phases with non-temporal stores; lanes are known. */
void tgi_llvm_non_temporal_classify(tgi_llvm_kernel *k);
/* Emits a loop with non-temporal stores, if the phase has any; returns the
   position where it ends and where the caller continues. */
LLVMValueRef tgi_llvm_non_temporal_loop(tgi_llvm_kernel *k, unsigned phase,
                                        LLVMValueRef from, LLVMValueRef to,
                                        tgi_llvm_body_fn *body, void *user);
/* True if a store is non-temporal in the body under construction. */
bool tgi_llvm_is_non_temporal(const tgi_llvm_kernel *k,
                              const tgi_loop_store *store);
/* Marks a store of so many bytes, which begins with a cache line or divides
   one, as non-temporal. */
void tgi_llvm_non_temporal_mark(const tgi_llvm_kernel *k, LLVMValueRef store,
                                unsigned bytes);
/* Before a kernel returns: a store fence, if it had non-temporal stores. */
void tgi_llvm_non_temporal_fence(tgi_llvm_kernel *k);

/* Prefetches `bytes` from an address on, which may lie outside any buffer. */
void tgi_llvm_prefetch(tgi_llvm_kernel *k, LLVMValueRef address, int64_t bytes,
                       bool to_write);

#endif /* TGI_LLVM_NON_TEMPORAL_H */
