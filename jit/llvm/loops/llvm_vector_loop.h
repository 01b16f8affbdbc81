/* SPDX-License-Identifier: MIT */
/* llvm_vector_loop.h - the vector loop of a phase along the inner axis: full
   vectors, then a tail of fewer lanes. */
#ifndef TGI_LLVM_VECTOR_LOOP_H
#define TGI_LLVM_VECTOR_LOOP_H

#include "llvm/emit/llvm_kernel_state.h"

/* Emits the body of a phase at k->index of the inner axis, under k->mask. */
typedef void tgi_llvm_body_fn(tgi_llvm_kernel *k, unsigned phase, void *user);

/* Emits elements from … to - 1: full vectors, narrow ones and the tail, as the
   nest of the phase has them, with non-temporal stores and aligned vectors if
   the schedule says so. Calls `body` in each loop. */
void tgi_llvm_vector_loop_emit(tgi_llvm_kernel *k, unsigned phase,
                               LLVMValueRef from, LLVMValueRef to,
                               tgi_llvm_body_fn *body, void *user);
/* Emits the tail alone: to - from is less than a vector. */
void tgi_llvm_vector_tail_emit(tgi_llvm_kernel *k, unsigned phase,
                               LLVMValueRef from, LLVMValueRef to,
                               tgi_llvm_body_fn *body, void *user);

#endif /* TGI_LLVM_VECTOR_LOOP_H */
