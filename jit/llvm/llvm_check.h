/* SPDX-License-Identifier: MIT */
/* llvm_check.h - checks of indices (tgi_loop_check). */
#ifndef TGI_LLVM_CHECK_H
#define TGI_LLVM_CHECK_H

#include "llvm/llvm_kernel_state.h"

/* Defines the function that records a failed check in the frame. */
void tgi_llvm_check_init(tgi_llvm_program *program);
void tgi_llvm_check_emit(tgi_llvm_kernel *k, const tgi_loop_check *check);

#endif /* TGI_LLVM_CHECK_H */
