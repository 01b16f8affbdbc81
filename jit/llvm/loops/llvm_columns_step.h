/* SPDX-License-Identifier: MIT */
/* llvm_columns_step.h - one vector of columns of a COLUMNS kernel. */
#ifndef TGI_LLVM_COLUMNS_STEP_H
#define TGI_LLVM_COLUMNS_STEP_H

#include "llvm/emit/llvm_kernel_state.h"

typedef void tgi_llvm_columns_fn(tgi_llvm_kernel *k, LLVMValueRef column,
                                 void *user);

/* Calls `body` for one vector of columns, from `column` on: with all lanes or,
   near the end of n columns, as tgi_llvm_columns_tail does. */
void tgi_llvm_columns_step(tgi_llvm_kernel *k, LLVMValueRef column,
                           LLVMValueRef n, tgi_llvm_columns_fn *body,
                           void *user);

/* Calls `body` for columns column … n - 1, less than a vector: with a mask, one
   packed panel at a time, or one lane at a time. */
void tgi_llvm_columns_tail(tgi_llvm_kernel *k, LLVMValueRef column,
                           LLVMValueRef n, tgi_llvm_columns_fn *body,
                           void *user);

#endif /* TGI_LLVM_COLUMNS_STEP_H */
