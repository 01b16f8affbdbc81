/* SPDX-License-Identifier: MIT */
/*
 * llvm_entry.h - the entry under construction, shared by llvm_entry.c, which
 * emits the steps, and llvm_control.c, which emits branches and loops around
 * them.
 */
#ifndef TGI_LLVM_ENTRY_H
#define TGI_LLVM_ENTRY_H

#include "codegen/entry_abi.h"
#include "llvm/emit/llvm_cancel.h"
#include "llvm/kernel/llvm_kernel.h"

/* A SWITCH or LOOP, while its steps are emitted. */
typedef struct tgi_llvm_control {
    LLVMBasicBlockRef head, after;
    LLVMValueRef counter;    /* LOOP: address of the count of iterations */
    LLVMValueRef iterations; /* LOOP: their number */
    LLVMValueRef base; /* LOOP, has_base: slices on its stacks before it */
    LLVMValueRef switch_inst; /* SWITCH */
    uint32_t n_cases;         /* SWITCH: cases emitted so far */
} tgi_llvm_control;

typedef struct tgi_llvm_entry {
    tgi_llvm_kernel k; /* for llvm_flow.h and the table of buffers only */
    LLVMValueRef frame, thread, n_threads;
    LLVMValueRef is_team;           /* more than one thread */
    tgi_llvm_cancel cancel;
    LLVMValueRef cancel_how; /* AGREED in a team, else ALONE */
    LLVMBasicBlockRef done, failed; /* where the call returns */
    const LLVMValueRef *kernels;
    tgi_llvm_control *controls; /* by number */
    LLVMValueRef *moved;        /* scratch, by buffer */
    size_t *step_of_failure;    /* see failure_step */
    size_t step;                /* being emitted */
    /* See find_cancellable_barriers. */
    size_t cancellable_end, barriers_per_cancel, n_barriers;
    /* Functions that steps call (llvm_kernel_step.c); NULL: not defined. */
    LLVMValueRef kernel_function, barrier_function;
    LLVMValueRef twin_table; /* of buffers, for kernels that have a twin */
} tgi_llvm_entry;

/* Work items: begin … end - 1. */
typedef struct tgi_llvm_item_range {
    LLVMValueRef begin, end;
} tgi_llvm_item_range;

/* -- llvm_share.c ---------------------------------------------------------- */

/* Work items of a kernel along the axes from first_axis on. */
LLVMValueRef tgi_llvm_n_items(tgi_llvm_entry *n, const tgi_kernel_loops *loops,
                              int first_axis);
/* Picoseconds of a work item. */
LLVMValueRef tgi_llvm_item_cost(tgi_llvm_entry *n,
                                const tgi_kernel_loops *loops);
/* The thread's part of some items. A single one belongs to thread 0. */
tgi_llvm_item_range tgi_llvm_share(tgi_llvm_entry *n, LLVMValueRef items,
                                   LLVMValueRef cost);

/* -- llvm_row_blocks.c ----------------------------------------------------- */

/* Emits the row blocks at step `at`, a ROWS; returns the step after them. */
size_t tgi_llvm_row_blocks_emit(tgi_llvm_entry *n, size_t at);

/* -- Other files ----------------------------------------------------------- */

/* An i1: true in thread 0. */
LLVMValueRef tgi_llvm_is_thread_zero(tgi_llvm_entry *n);

/* Leaves the entry if the call must end; all threads do, at the same place. */
void tgi_llvm_entry_cancel_emit(tgi_llvm_entry *n);

/* At the beginning of the entry: creates the thread's table of buffers, and the
   counters of loops. */
void tgi_llvm_control_begin(tgi_llvm_entry *n);

/* Emits a step that is part of a SWITCH or LOOP. */
void tgi_llvm_control_step_emit(tgi_llvm_entry *n, const tgi_loop_step *step);

/* Copies the thread's addresses of these buffers to the frame, for a host step,
   and restores the frame. */
void tgi_llvm_control_publish(tgi_llvm_entry *n, const tgi_buffer_id *buffers,
                              uint32_t n_buffers);
void tgi_llvm_control_unpublish(tgi_llvm_entry *n, const tgi_buffer_id *buffers,
                                uint32_t n_buffers);

/* Before a failed call returns: copies the addresses of swapped buffers to the
   frame, for the error report. */
void tgi_llvm_control_failed(tgi_llvm_entry *n);

/* Defines the entry; NULL after tgi_llvm_fail. */
LLVMValueRef tgi_llvm_entry_define(tgi_llvm_program *program,
                                   const LLVMValueRef *kernels,
                                   const char *name);

#endif /* TGI_LLVM_ENTRY_H */
