/* SPDX-License-Identifier: MIT */
/* llvm_kernel_step.h - kernels and barriers among the steps of an entry. */
#ifndef TGI_LLVM_KERNEL_STEP_H
#define TGI_LLVM_KERNEL_STEP_H

#include "llvm/llvm_entry.h"

/* At the beginning of the entry: creates the table of buffers that twins
   read. */
void tgi_llvm_kernel_steps_begin(tgi_llvm_entry *n);

/* Runs the thread's items of kernel `number`, unless its memoised results are
   valid. */
void tgi_llvm_kernel_step_emit(tgi_llvm_entry *n, uint32_t number);

/* Runs these items of a kernel in row blocks. */
void tgi_llvm_kernel_items_emit(tgi_llvm_entry *n, uint32_t number,
                                tgi_llvm_item_range items);

/* Calls the barrier of the frame if there are several threads. */
void tgi_llvm_barrier_emit(tgi_llvm_entry *n);

/* Reports the end of the current step to a profile. Kernels and barriers do so
   themselves. */
void tgi_llvm_step_hook_emit(tgi_llvm_entry *n);

#endif /* TGI_LLVM_KERNEL_STEP_H */
