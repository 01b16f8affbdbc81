/* SPDX-License-Identifier: MIT */
/* llvm_kernel.h - a function for each kernel, and its work items. */
#ifndef TGI_LLVM_KERNEL_H
#define TGI_LLVM_KERNEL_H

#include "codegen/codegen.h"
#include "llvm/emit/llvm_kernel_state.h"

/* How a kernel is divided into work items. */
typedef struct tgi_llvm_kernel_info {
    LLVMValueRef function; /* NULL: straight-line code in the entry */
    /* By axis: extent of a work item; 0: the whole axis. In a two-stage
       reduction, a point has one block. */
    int64_t item_extent[TGI_LOOP_AXES];
    int64_t split_block; /* inner elements of that block; 0: not split */
    tgi_kernel_cost cost;
} tgi_llvm_kernel_info;

/* Analyses a kernel and sets up its emission state; false after tgi_llvm_fail.
   End either way. */
bool tgi_llvm_kernel_begin(tgi_llvm_kernel *k, tgi_llvm_program *program,
                           const tgi_kernel_loops *loops);
void tgi_llvm_kernel_end(tgi_llvm_kernel *k);

/* Defines the function of a kernel; of a straight-line kernel, only fills
   *out_info. False after tgi_llvm_fail. */
bool tgi_llvm_kernel_define(tgi_llvm_program *program,
                            const tgi_kernel_loops *loops,
                            tgi_llvm_kernel_info *out_info);

#endif /* TGI_LLVM_KERNEL_H */
