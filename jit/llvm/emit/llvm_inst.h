/* SPDX-License-Identifier: MIT */
/* llvm_inst.h - values of insts, by level and phase. */
#ifndef TGI_LLVM_INST_H
#define TGI_LLVM_INST_H

#include "llvm/emit/llvm_kernel_state.h"

/* The value of an inst in the current lanes, and the mask of a bool one. */
LLVMValueRef tgi_llvm_value_of(tgi_llvm_kernel *k, uint32_t inst);
LLVMValueRef tgi_llvm_mask_of(tgi_llvm_kernel *k, uint32_t inst);

/* Emits one inst, whose operands have values. */
void tgi_llvm_inst_emit(tgi_llvm_kernel *k, uint32_t inst);

/* Emit the insts of a level: KERNEL; POINT of a phase, either those before its
   loop or those after it; INNER of a phase, hoisted ones, and others with its
   stores and checks. */
void tgi_llvm_kernel_insts_emit(tgi_llvm_kernel *k);
void tgi_llvm_point_insts_emit(tgi_llvm_kernel *k, unsigned phase,
                               bool after_loop);
void tgi_llvm_hoisted_insts_emit(tgi_llvm_kernel *k, unsigned phase);
void tgi_llvm_body_emit(tgi_llvm_kernel *k, unsigned phase);

/* Emit the stores of a phase: those in its loop, and those after it except
   reduction epilogues. */
void tgi_llvm_inner_stores_emit(tgi_llvm_kernel *k, unsigned phase);
void tgi_llvm_point_stores_emit(tgi_llvm_kernel *k, unsigned phase);

/* Between begin and end, bodies of a phase at the current lanes use splats of
   uniform operands that are made at begin. */
void tgi_llvm_splats_begin(tgi_llvm_kernel *k, unsigned phase);
void tgi_llvm_splats_end(tgi_llvm_kernel *k);

/* Sets the value of the REDUCED insts of a reduction. */
void tgi_llvm_set_reduced(tgi_llvm_kernel *k, uint32_t reduction,
                          LLVMValueRef value);

#endif /* TGI_LLVM_INST_H */
