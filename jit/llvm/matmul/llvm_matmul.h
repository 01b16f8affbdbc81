/* SPDX-License-Identifier: MIT */
/*
 * llvm_matmul.h - matmul C = A B, shared by
 *
 *   llvm_micro_kernel.c           the micro-kernel, packing, prefetch
 *   llvm_micro_kernel_function.c  micro-kernels that a program shares
 *   llvm_matmul.c                 work items: rows, k-blocks, panels
 *   llvm_matmul_epilogue.c        reductions of the rows or columns of C
 *
 * A is the operand that is uniform across lanes, B the one that varies. Each is
 * one load, with elementwise insts applied to it.
 */
#ifndef TGI_LLVM_MATMUL_H
#define TGI_LLVM_MATMUL_H

#include "llvm/emit/llvm_kernel_state.h"

enum { TGI_LLVM_MAX_MR = 12 }; /* rows of a micro-kernel */

static inline tg_dtype tgi_llvm_matmul_dtype(const tgi_llvm_kernel *k)
{
    return (tg_dtype)tgi_schedule_matmul_reduction(k->schedule)->dtype;
}

/* The access of an operand's load. */
static inline const tgi_access *
tgi_llvm_operand_access(const tgi_llvm_kernel *k, uint8_t operand)
{
    const tgi_matmul_schedule *m = &k->schedule->matmul;
    return &k->loops->accesses
                .data[operand == TGI_OPERAND_A ? m->a_access : m->b_access];
}

/* A k-block of B on the stack, one vector wide. `memory` NULL: B is read where
   it is. */
typedef struct tgi_llvm_packed_panel {
    LLVMValueRef memory, first_k;
} tgi_llvm_packed_panel;

/* Packs k = from … to - 1 of the columns at k->index. */
void tgi_llvm_panel_pack(tgi_llvm_kernel *k, tgi_llvm_packed_panel *panel,
                         LLVMValueRef from, LLVMValueRef to);

/* Lines that a micro-kernel prefetches, a few per step of k. */
typedef struct tgi_llvm_prefetched_lines {
    LLVMValueRef start;
    int64_t n; /* 0: none */
} tgi_llvm_prefetched_lines;

typedef struct tgi_llvm_micro_kernel {
    const tgi_llvm_packed_panel *b_panel; /* in */
    tgi_llvm_prefetched_lines next[2];    /* in: of A and B */
    LLVMValueRef acc[TGI_LLVM_MAX_MR];    /* out: accumulators, by row */
} tgi_llvm_micro_kernel;

/* Emits a micro-kernel of `height` rows from `row` on, for k = from … to - 1 of
   one k-block. */
void tgi_llvm_micro_kernel_emit(tgi_llvm_kernel *k, tgi_llvm_micro_kernel *tile,
                                LLVMValueRef row, unsigned height,
                                LLVMValueRef from, LLVMValueRef to);

/* -- llvm_micro_kernel_function.c ------------------------------------------ */

/* Arguments of a micro-kernel function: c_out = c_in + A B. */
typedef struct tgi_llvm_micro_kernel_args {
    LLVMValueRef array;             /* through which they are passed */
    tgi_llvm_packed_panel last_row; /* copy of B's last row, or no memory */
    const tgi_llvm_packed_panel *b_panel;
    LLVMValueRef row;               /* first row of A */
    LLVMValueRef from, to;          /* of k, within one k-block */
    LLVMValueRef c_in, c_in_stride; /* stride between rows, in elements */
    LLVMValueRef c_out;
    unsigned c_width; /* elements between rows of c_out */
} tgi_llvm_micro_kernel_args;

/* True if the function can read B only from a packed panel. */
bool tgi_llvm_micro_kernel_needs_packing(const tgi_llvm_kernel *k);
/* True if the matmul calls a function at the current lanes. */
bool tgi_llvm_micro_kernel_is_function(const tgi_llvm_kernel *k);

/* Sets the arguments that hold for all k-blocks of the columns at k->index. */
void tgi_llvm_micro_kernel_args_init(tgi_llvm_kernel *k,
                                     tgi_llvm_micro_kernel_args *args,
                                     bool is_packed);
/* Sets those of one k-block; all members of `args` are set. */
void tgi_llvm_micro_kernel_args_set(tgi_llvm_kernel *k,
                                    const tgi_llvm_micro_kernel_args *args);
/* Runs n micro-kernels of `height` rows; the next call continues below them. */
void tgi_llvm_micro_kernel_call(tgi_llvm_kernel *k,
                                const tgi_llvm_micro_kernel_args *args,
                                unsigned height, LLVMValueRef n);

/* -- Prefetch -------------------------------------------------------------- */

/* Prefetches the results of a micro-kernel for writing, and sets its share of
   the next operands of the batch, tile->next. */
void tgi_llvm_micro_kernel_prefetch(tgi_llvm_kernel *k,
                                    tgi_llvm_micro_kernel *tile,
                                    LLVMValueRef row, unsigned height);

/* -- llvm_matmul.c --------------------------------------------------------- */

/* The rows of the work item at k->index: first … end - 1. */
void tgi_llvm_matmul_item_rows(tgi_llvm_kernel *k, LLVMValueRef *out_first,
                               LLVMValueRef *out_end);

/* -- llvm_matmul_epilogue.c ------------------------------------------------ */

/* Accumulates the values of a row, of the columns at k->index. */
void tgi_llvm_epilogue_accumulate(tgi_llvm_kernel *k, LLVMValueRef row);

/* Around all rows of some columns. `end` stores the results, and clears
   k->index of the row. */
void tgi_llvm_column_epilogue_begin(tgi_llvm_kernel *k);
void tgi_llvm_column_epilogue_end(tgi_llvm_kernel *k);
/* Around some of these rows: load the partial results of the columns from the
   stack, returning their number, and store them back. */
unsigned tgi_llvm_column_epilogue_load(tgi_llvm_kernel *k, LLVMValueRef *out);
void tgi_llvm_column_epilogue_store(tgi_llvm_kernel *k);
/* The same vectors, for loops that carry them. */
void tgi_llvm_column_epilogue_set(tgi_llvm_kernel *k,
                                  const LLVMValueRef *values);
void tgi_llvm_column_epilogue_get(const tgi_llvm_kernel *k, LLVMValueRef *out);

/* -- Interface ------------------------------------------------------------- */

/* Emits the rows of the work item at k->index, for the columns there; from …
   to - 1 of k. */
void tgi_llvm_matmul_item_emit(tgi_llvm_kernel *k, LLVMValueRef from,
                               LLVMValueRef to);
/* The same for several packed panels, from `column` on. */
void tgi_llvm_matmul_panels_emit(tgi_llvm_kernel *k, LLVMValueRef column,
                                 LLVMValueRef n);
/* Around all columns of a work item with a row epilogue. */
void tgi_llvm_row_epilogue_begin(tgi_llvm_kernel *k);
void tgi_llvm_row_epilogue_end(tgi_llvm_kernel *k);

#endif /* TGI_LLVM_MATMUL_H */
