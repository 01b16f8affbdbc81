/* SPDX-License-Identifier: MIT */
/* llvm_check.h - checks of indices (tgi_loop_check), calls of host steps, and
   the record of a failure in the frame. */
#ifndef TGI_LLVM_CHECK_H
#define TGI_LLVM_CHECK_H

#include "llvm/emit/llvm_kernel_state.h"

/* Defines the function that records a failed check in the frame. */
void tgi_llvm_check_init(tgi_llvm_program *program);
void tgi_llvm_check_emit(tgi_llvm_kernel *k, const tgi_loop_check *check);

/* Stores the number of a failed check to the frame. */
void tgi_llvm_failed_check_record(const tgi_llvm_program *program,
                                  LLVMValueRef frame, uint32_t check);

/* Calls the function for a host step: an i32, 0 if it has failed. */
LLVMValueRef tgi_llvm_host_call_emit(const tgi_llvm_program *program,
                                     LLVMValueRef frame, uint32_t number);
/* Stores -1 - the number of a failed host step to the frame. */
void tgi_llvm_failed_host_record(const tgi_llvm_program *program,
                                 LLVMValueRef frame, uint32_t number);

#endif /* TGI_LLVM_CHECK_H */
