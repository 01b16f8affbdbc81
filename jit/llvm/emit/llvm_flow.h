/* SPDX-License-Identifier: MIT */
/*
 * llvm_flow.h - loops, branches and index arithmetic. Constant operands are
 * folded when an instruction is built.
 */
#ifndef TGI_LLVM_FLOW_H
#define TGI_LLVM_FLOW_H

#include "llvm/emit/llvm_kernel_state.h"

enum { TGI_LLVM_MAX_CARRIED = 64 }; /* values carried by one loop */

/* -- Index arithmetic: i64 ------------------------------------------------- */

LLVMValueRef tgi_llvm_const_i64(const tgi_llvm_program *program, int64_t n);
/* True if a value is a constant, which *out_n then is. */
bool tgi_llvm_is_const_i64(LLVMValueRef value, int64_t *out_n);
/* True if both are constants, and equal. */
bool tgi_llvm_are_equal_consts(LLVMValueRef a, LLVMValueRef b);

LLVMValueRef tgi_llvm_add(const tgi_llvm_program *program, LLVMValueRef a,
                          LLVMValueRef b);
LLVMValueRef tgi_llvm_mul(const tgi_llvm_program *program, LLVMValueRef a,
                          LLVMValueRef b);
LLVMValueRef tgi_llvm_min(const tgi_llvm_program *program, LLVMValueRef a,
                          LLVMValueRef b);
/* a / b, rounded up; a >= 0, b > 0. */
LLVMValueRef tgi_llvm_ceil_div(const tgi_llvm_program *program, LLVMValueRef a,
                               int64_t b);
/* from + (to - from) rounded down to a multiple of `size`, a power of two. */
LLVMValueRef tgi_llvm_round_down(tgi_llvm_kernel *k, LLVMValueRef from,
                                 LLVMValueRef to, int64_t size);

/* -- Loops ----------------------------------------------------------------- */

/* A loop from `start` to below `end`; its body does not run if end <= start. */
typedef struct tgi_llvm_loop {
    LLVMBasicBlockRef before, body, after;
    LLVMValueRef index, end;
    int64_t step;
    bool is_unconditional; /* known to run at least once */
    bool runs_once;        /* the body needs no blocks */
    unsigned n_carried;
    LLVMValueRef initial[TGI_LLVM_MAX_CARRIED];
    /* In the body: values when it starts. After the loop: final values. */
    LLVMValueRef carried[TGI_LLVM_MAX_CARRIED];
} tgi_llvm_loop;

void tgi_llvm_loop_begin(tgi_llvm_kernel *k, tgi_llvm_loop *loop,
                         LLVMValueRef start, LLVMValueRef end, int64_t step,
                         const LLVMValueRef *initial, unsigned n_carried);
/* Ends the body; `next` has the carried values of the next iteration. */
void tgi_llvm_loop_end(tgi_llvm_kernel *k, tgi_llvm_loop *loop,
                       const LLVMValueRef *next);
/* Begins a loop that runs at least once and carries nothing. */
void tgi_llvm_loop_begin_nonempty(tgi_llvm_kernel *k, tgi_llvm_loop *loop,
                                  LLVMValueRef start, LLVMValueRef end,
                                  int64_t step);

/* -- Branches -------------------------------------------------------------- */

/* Code that runs if a condition holds; no blocks if it is constant true. */
typedef struct tgi_llvm_branch {
    LLVMBasicBlockRef before, inside, after;
    bool is_unconditional; /* the condition is constant true */
} tgi_llvm_branch;

void tgi_llvm_branch_begin(tgi_llvm_kernel *k, tgi_llvm_branch *branch,
                           LLVMValueRef condition);
/* After the beginning: moves the code out of the way. */
void tgi_llvm_branch_is_unlikely(const tgi_llvm_branch *branch);
/* The same for a conditional jump to its first target. */
void tgi_llvm_jump_is_unlikely(LLVMValueRef jump);
/* A rare call: keeps other values in registers. */
void tgi_llvm_call_is_cold(const tgi_llvm_program *program, LLVMValueRef call);
void tgi_llvm_branch_end(tgi_llvm_kernel *k, tgi_llvm_branch *branch);
/* Directly after the end: a phi of `inside`, if it ran, and `outside`. */
LLVMValueRef tgi_llvm_branch_value(tgi_llvm_kernel *k,
                                   const tgi_llvm_branch *branch,
                                   LLVMValueRef inside, LLVMValueRef outside);

/* -- Blocks ---------------------------------------------------------------- */

LLVMBasicBlockRef tgi_llvm_block_append(tgi_llvm_kernel *k, const char *name);

/* An alloca of n elements in the entry block, aligned to a vector. */
LLVMValueRef tgi_llvm_stack_array(tgi_llvm_kernel *k, LLVMTypeRef type,
                                  unsigned n);

/* Moves the builder before the terminator of the entry block; returns the block
   it was in, to which tgi_llvm_position_restore moves it back. */
LLVMBasicBlockRef tgi_llvm_position_at_entry(tgi_llvm_kernel *k);
void tgi_llvm_position_restore(tgi_llvm_kernel *k, LLVMBasicBlockRef block);

#endif /* TGI_LLVM_FLOW_H */
