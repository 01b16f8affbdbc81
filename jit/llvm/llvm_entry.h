/* SPDX-License-Identifier: MIT */
/*
 * llvm_entry.h - the entry in the making: between llvm_entry.c, which emits
 * the steps, and llvm_control.c, which emits branches and loops around them.
 */
#ifndef TGI_LLVM_ENTRY_H
#define TGI_LLVM_ENTRY_H

#include "llvm/llvm_lower.h"

/* A branch or loop, while its steps are emitted. */
typedef struct tgi_llvm_control {
    LLVMBasicBlockRef head, after;
    LLVMValueRef counter;    /* LOOP: address of the iterations done … */
    LLVMValueRef iterations; /* … and how many there are */
    LLVMValueRef base;    /* LOOP, has_base: slices in its stacks before it */
    LLVMValueRef switch_inst; /* SWITCH: the instruction … */
    uint32_t n_cases;     /* … and how many cases it has by now */
} tgi_llvm_control;

typedef struct tgi_llvm_entry {
    tgi_llvm_kernel k; /* of it only what flow needs, and the table */
    LLVMValueRef frame, thread, n_threads;
    LLVMValueRef is_team; /* there is more than one thread */
    LLVMBasicBlockRef done, failed; /* ends of the call */
    const tgi_llvm_kernel_info *kernels;
    tgi_llvm_control *controls; /* by number */
    LLVMValueRef *moved; /* room for the addresses any loop moves */
    size_t *step_of_failure; /* see step_of */
} tgi_llvm_entry;

/* True in the first thread. */
LLVMValueRef tgi_llvm_is_thread_zero(tgi_llvm_entry *n);

/* Waits for all threads, if there are several. */
void tgi_llvm_barrier_emit(tgi_llvm_entry *n);

/* For a loop that has stacks: whether they are full after so many iterations; and
   a call that makes room for more, an i32 that is not 0 if there is. Both
   where the builder stands. */
LLVMValueRef tgi_llvm_stack_is_full(const tgi_llvm_program *program,
                                    LLVMValueRef frame,
                                    const tgi_control_flow *loop,
                                    LLVMValueRef iterations);
LLVMValueRef tgi_llvm_stack_grow(const tgi_llvm_program *program,
                                 LLVMValueRef frame,
                                 const tgi_control_flow *loop,
                                 LLVMValueRef iterations);
/* Notes that a check has failed, by its number. */
void tgi_llvm_failed_check_record(const tgi_llvm_program *program,
                                  LLVMValueRef frame, uint32_t check);

/* Where the entry begins: a table of its own for each thread, if addresses
   change places. */
void tgi_llvm_control_begin(tgi_llvm_entry *n);

/* A step that is part of a branch or loop. */
void tgi_llvm_control_step_emit(tgi_llvm_entry *n, const tgi_loop_step *step);

/* Shows the host these buffers where this thread has them, and puts things
   back. */
void tgi_llvm_control_publish(tgi_llvm_entry *n, const tgi_buffer_id *buffers,
                              uint32_t n_buffers);
void tgi_llvm_control_unpublish(tgi_llvm_entry *n, const tgi_buffer_id *buffers,
                                uint32_t n_buffers);

/* Where a failed call ends: who reports it finds buffers where they are. */
void tgi_llvm_control_failed(tgi_llvm_entry *n);

#endif /* TGI_LLVM_ENTRY_H */
