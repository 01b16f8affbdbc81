/* SPDX-License-Identifier: MIT */
/*
 * llvm_matmul.h - what the files of matrix products share:
 *
 *   llvm_matmul_tiling.c  which kernels they are, and the sizes of everything
 *   llvm_micro_kernel.c   the sums of a tile, and what is read for them
 *   llvm_micro_kernel_function.c  … by functions that products share
 *   llvm_matmul.c        work items: micro-kernels, k-blocks, packed panels
 *   llvm_matmul_epilogue.c   … and reductions of that
 */
#ifndef TGI_LLVM_MATMUL_H
#define TGI_LLVM_MATMUL_H

#include "llvm/llvm_kernel_state.h"

enum { TGI_LLVM_MAX_MR = 12 }; /* rows of a micro-kernel */

static inline const tgi_reduction *
tgi_llvm_matmul_reduction(const tgi_llvm_analysis *a)
{
    return &a->loops->reductions.data[0];
}

/* The inst whose value the column side is. */
static inline uint32_t tgi_llvm_operand_b_inst(const tgi_llvm_analysis *a)
{
    const tgi_reduction *r = tgi_llvm_matmul_reduction(a);
    return a->insts[r->value].varies ? r->value : r->other;
}

/* The one access that a side has. */
const tgi_access *tgi_llvm_operand_access(const tgi_llvm_analysis *a,
                                          uint8_t operand);

/* So few, one below the other, that columns are read as they are. */
bool tgi_llvm_matmul_has_few_rows(const tgi_llvm_analysis *a);

/* A panel of the columns of an item, copied, row by row from the first on.
   NULL: they are not. */
typedef struct tgi_llvm_packed_panel {
    LLVMValueRef memory, first;
} tgi_llvm_packed_panel;

/* Copies rows from … to of the columns at k->index. */
void tgi_llvm_panel_pack(tgi_llvm_kernel *k, tgi_llvm_packed_panel *panel,
                         LLVMValueRef from, LLVMValueRef to);

/* The sums of a tile, by row; `columns` is given. */
typedef struct tgi_llvm_micro_kernel {
    const tgi_llvm_packed_panel *columns;
    LLVMValueRef sums[TGI_LLVM_MAX_MR];
} tgi_llvm_micro_kernel;

/* Those of `height` rows from `row` on, along from … to of one panel. */
void tgi_llvm_micro_kernel_emit(tgi_llvm_kernel *k, tgi_llvm_micro_kernel *tile,
                                LLVMValueRef row, unsigned height,
                                LLVMValueRef from, LLVMValueRef to);

/* Tiles whose sums come from functions that products share. */
typedef struct tgi_llvm_micro_kernel_args {
    LLVMValueRef array; /* what these are given */
    tgi_llvm_packed_panel
        last; /* the last row of the columns, if it is a copy */
    const tgi_llvm_packed_panel *columns;
    LLVMValueRef row;      /* the first */
    LLVMValueRef from, to; /* of one panel */
    /* What the sums are added to, and elements from one row of it to the
       next. */
    LLVMValueRef totals, total_stride;
    LLVMValueRef out; /* rows of so many elements as there are lanes */
} tgi_llvm_micro_kernel_args;

/* True if columns must be copied for such tiles. */
bool tgi_llvm_micro_kernel_needs_packing(const tgi_llvm_kernel *k);
/* True if the tiles of a matmul at the current lanes are such: of sides that
   are as they are loaded, and not few steps of k. */
bool tgi_llvm_micro_kernel_is_function(const tgi_llvm_kernel *k);

/* Once for the columns at k->index, which are copied or not. */
void tgi_llvm_micro_kernel_args_init(tgi_llvm_kernel *k,
                                     tgi_llvm_micro_kernel_args *tiles,
                                     bool is_copied);
/* For each panel; all members of the tiles are set … */
void tgi_llvm_micro_kernel_args_set(tgi_llvm_kernel *k,
                                    const tgi_llvm_micro_kernel_args *tiles);
/* … then n tiles of a height, and n more below them. */
void tgi_llvm_micro_kernel_call(tgi_llvm_kernel *k,
                                const tgi_llvm_micro_kernel_args *tiles,
                                unsigned height, LLVMValueRef n);

/* Bytes of a side of one matrix of a batch, if the tiles of a matmul ask for
   the next one; else 0. */
int64_t tgi_llvm_matmul_prefetch_bytes(const tgi_llvm_analysis *a,
                                       uint8_t operand);

/* Asks for what a tile will write, and for its part of the next matrices of a
   batch. */
void tgi_llvm_micro_kernel_prefetch(tgi_llvm_kernel *k, LLVMValueRef row,
                                    unsigned height);

/* The rows of the item at k->index: from the first to before the end. */
void tgi_llvm_matmul_item_rows(tgi_llvm_kernel *k, LLVMValueRef *out_first,
                               LLVMValueRef *out_end);

/* -- llvm_matmul_epilogue.c --------------------------------------------------- */

/* Looks which folds there are. */
void tgi_llvm_epilogue_classify(tgi_llvm_analysis *a);
/* What they cost for each element, as tgi_llvm_inst_cost has it. */
unsigned tgi_llvm_epilogue_cost(const tgi_llvm_analysis *a);
/* Bytes of a row's lanes, of all that wait for other columns. */
int64_t tgi_llvm_row_epilogue_bytes(const tgi_llvm_analysis *a);
/* Takes the values of a row, at the columns at k->index. */
void tgi_llvm_epilogue_accumulate(tgi_llvm_kernel *k, LLVMValueRef row);

/* Around all rows of some columns; at the end k->index has no row. */
void tgi_llvm_column_epilogue_begin(tgi_llvm_kernel *k);
void tgi_llvm_column_epilogue_end(tgi_llvm_kernel *k);
/* Around some of the rows, between which what columns have come to is in
   memory: loads it, and gives how many vectors it is; stores it. */
unsigned tgi_llvm_column_epilogue_load(tgi_llvm_kernel *k, LLVMValueRef *out);
void tgi_llvm_column_epilogue_store(tgi_llvm_kernel *k);
/* The same vectors, for loops that carry them. */
void tgi_llvm_column_epilogue_set(tgi_llvm_kernel *k,
                                  const LLVMValueRef *values);
void tgi_llvm_column_epilogue_get(const tgi_llvm_kernel *k, LLVMValueRef *out);

/* -- Interface ------------------------------------------------------------- */

/* Decides whether a kernel is a matmul, and its tiling; returns the lanes of
   its micro-kernel, or 0. Refines whether columns can be masked. */
unsigned tgi_llvm_matmul_classify(tgi_llvm_analysis *a);

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
