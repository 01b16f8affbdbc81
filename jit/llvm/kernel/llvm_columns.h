/* SPDX-License-Identifier: MIT */
/* llvm_columns.h - work items of COLUMNS kernels: vectors of columns that go
   down the rows. */
#ifndef TGI_LLVM_COLUMNS_H
#define TGI_LLVM_COLUMNS_H

#include "llvm/emit/llvm_kernel_state.h"

/* Emits all points of a work item. */
void tgi_llvm_columns_emit(tgi_llvm_kernel *k, LLVMValueRef item);

/* Emits columns first … end - 1 of consecutive work items, row by row. */
void tgi_llvm_row_order_emit(tgi_llvm_kernel *k, LLVMValueRef first,
                             LLVMValueRef end);

#endif /* TGI_LLVM_COLUMNS_H */
