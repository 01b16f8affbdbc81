/* SPDX-License-Identifier: MIT */
/* llvm_phases.h - the phases of a kernel at one point, or at one vector of
   columns: insts and stores of the point around the loop of each phase. */
#ifndef TGI_LLVM_PHASES_H
#define TGI_LLVM_PHASES_H

#include "llvm/emit/llvm_kernel_state.h"

/* Emits all phases with the loops of their nests, over from … to - 1 of the
   inner axis. */
void tgi_llvm_point_emit(tgi_llvm_kernel *k, LLVMValueRef from,
                         LLVMValueRef to);

/* The same with other loops: `emit_loop` is called for each phase that has one.
   NULL: reductions have their values already. */
typedef void tgi_llvm_phase_loop_fn(tgi_llvm_kernel *k, unsigned phase,
                                    void *user);
void tgi_llvm_phases_emit(tgi_llvm_kernel *k, tgi_llvm_phase_loop_fn *emit_loop,
                          void *user);

#endif /* TGI_LLVM_PHASES_H */
