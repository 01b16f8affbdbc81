/* SPDX-License-Identifier: MIT */
/* llvm_non_temporal.h - loops with non-temporal stores. */
#ifndef TGI_LLVM_NON_TEMPORAL_H
#define TGI_LLVM_NON_TEMPORAL_H

#include "llvm/rows/llvm_rows.h"

/* Computes program->is_read; false when out of memory. */
bool tgi_llvm_non_temporal_init(tgi_llvm_program *program);
/* Finds the phases with non-temporal stores; lanes are known. */
void tgi_llvm_non_temporal_classify(tgi_llvm_kernel *k);
/* Emits a loop with non-temporal stores, if the phase has any; returns the
   position where it ends and where the caller continues. */
LLVMValueRef tgi_llvm_non_temporal_loop(tgi_llvm_kernel *k, unsigned phase,
                                        LLVMValueRef from, LLVMValueRef to,
                                        tgi_llvm_body_fn *body, void *user);

#endif /* TGI_LLVM_NON_TEMPORAL_H */
