/* SPDX-License-Identifier: MIT */
/*
 * llvm_poll.h - polls inside of long work items and of loops (frame->poll,
 * entry_abi.h). All do nothing unless the program polls.
 *
 * A poll that is not wanted is a load and a branch that is never taken; one
 * that comes too early reads the clock. So polls are some microseconds apart.
 */
#ifndef TGI_LLVM_POLL_H
#define TGI_LLVM_POLL_H

#include "llvm/emit/llvm_kernel_state.h"

enum {
    /* Work between two polls. */
    TGI_LLVM_POLLED_MICRO_KERNELS = 16, /* of at most 0.4 MFLOP each */
    TGI_LLVM_POLLED_BLOCKS = 16,        /* of a reduction */
    TGI_LLVM_POLLED_ELEMENTS = 1 << 15, /* of a row */
    TGI_LLVM_POLLED_STEPS = 1024,       /* of a scan */
    TGI_LLVM_POLLED_ITERATIONS = 64     /* of a straight-line loop */
};

/* Calls frame->poll of this frame, for no work items. The builder ends in a new
   block of `function`. */
void tgi_llvm_poll_frame(const tgi_llvm_program *program, LLVMValueRef function,
                         LLVMValueRef frame, LLVMValueRef thread);

/* The same in a kernel. */
void tgi_llvm_poll(tgi_llvm_kernel *k);

/* The same once in n of the numbers that a loop in steps of `step` counts; both
   are powers of two. */
void tgi_llvm_poll_every(tgi_llvm_kernel *k, LLVMValueRef number, int64_t step,
                         int64_t n);

/* True if a work item may be a row of more than TGI_LLVM_POLLED_ELEMENTS. */
bool tgi_llvm_has_long_rows(const tgi_llvm_kernel *k);

/* Calls frame->poll, which is not NULL: `hook`. */
LLVMValueRef tgi_llvm_poll_call(const tgi_llvm_program *program,
                                LLVMValueRef hook, LLVMValueRef frame,
                                LLVMValueRef thread, LLVMValueRef begin,
                                LLVMValueRef end, LLVMValueRef item_cost);

#endif /* TGI_LLVM_POLL_H */
