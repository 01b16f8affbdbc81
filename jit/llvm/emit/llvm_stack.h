/* SPDX-License-Identifier: MIT */
/*
 * llvm_stack.h - unbounded stacks in generated code. Both functions emit at the
 * builder's position, for a loop that pushes onto stacks.
 */
#ifndef TGI_LLVM_STACK_H
#define TGI_LLVM_STACK_H

#include "llvm/emit/llvm_program.h"

/* An i1: the stacks are full with n_slices. */
LLVMValueRef tgi_llvm_stack_is_full(const tgi_llvm_program *program,
                                    LLVMValueRef frame,
                                    const tgi_control_flow *loop,
                                    LLVMValueRef n_slices);
/* Grows the stacks beyond n_slices; returns an i32, 0 if out of memory. */
LLVMValueRef tgi_llvm_stack_grow(const tgi_llvm_program *program,
                                 LLVMValueRef frame,
                                 const tgi_control_flow *loop,
                                 LLVMValueRef n_slices);

#endif /* TGI_LLVM_STACK_H */
