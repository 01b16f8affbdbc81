/* SPDX-License-Identifier: MIT */
/*
 * llvm_columns.c - work items of COLUMNS kernels. Vectors lie along the last
 * outer axis; each goes down the rows (the inner axis) in order, in blocks.
 * Every lane is a result of its own. In row order, all vectors of a row go
 * before the next row; what a scan carries from row to row is on the stack.
 */
#include "llvm/kernel/llvm_columns.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_frame.h"
#include "llvm/emit/llvm_inst.h"
#include "llvm/emit/llvm_poll.h"
#include "llvm/loops/llvm_columns_step.h"
#include "llvm/loops/llvm_phases.h"
#include "llvm/loops/llvm_reduction.h"
#include "llvm/loops/llvm_scan.h"
#include "llvm/matmul/llvm_matmul.h"
#include "llvm/matmul/llvm_pack.h"

/* Columns that are emitted together. */
static int64_t step_columns(const tgi_schedule *s)
{
    return s->matmul.reduces_rows
               ? (s->matmul.n_panels > 1 ? s->matmul.n_panels : 1) *
                     (int64_t)s->matmul.nr
               : s->item_extent[s->vector_axis];
}

/* The rows of a point: one block of them in a two-stage reduction. */
static void row_bounds(tgi_llvm_kernel *k, LLVMValueRef *from, LLVMValueRef *to)
{
    *to = tgi_llvm_dim(k, k->loops->extent[k->schedule->inner]);
    *from = tgi_llvm_const_i64(k->program, 0);
    if (!k->schedule->split_block)
        return;
    LLVMValueRef size = tgi_llvm_const_i64(k->program, TGI_BLOCK_ROWS);
    *from = tgi_llvm_mul(k->program, k->index[k->schedule->inner - 2], size);
    *to = tgi_llvm_min(k->program, *to, tgi_llvm_add(k->program, *from, size));
}

/* All phases of the columns in the current lanes, from `column` on. */
static void emit_column_vector(tgi_llvm_kernel *k, LLVMValueRef column,
                               void *user)
{
    LLVMValueRef from, to;
    (void)user;
    row_bounds(k, &from, &to);
    k->index[k->schedule->vector_axis] = column;
    if (k->schedule->matmul.mr) {
        tgi_llvm_matmul_item_emit(k, from, to);
        k->index[k->schedule->vector_axis] = NULL;
        return;
    }
    tgi_llvm_point_emit(k, from, to);
    k->index[k->schedule->vector_axis] = NULL;
}

/* Columns full … end - 1, less than a vector, if there are any: only the last of
   n columns may be. */
static void emit_columns_after(tgi_llvm_kernel *k, LLVMValueRef full,
                               LLVMValueRef end, LLVMValueRef n,
                               tgi_llvm_columns_fn *body, void *user)
{
    int64_t number;
    if (tgi_llvm_is_const_i64(n, &number) &&
        number % tgi_phase_lanes(&k->schedule->phases[0]) == 0)
        return;
    tgi_llvm_branch branch;
    tgi_llvm_branch_begin(k, &branch,
                          LLVMBuildICmp(k->b, LLVMIntSLT, full, end, ""));
    tgi_llvm_columns_tail(k, full, n, body, user);
    tgi_llvm_branch_end(k, &branch);
}

/* Many vectors side by side, then the tail. */
static void emit_wide_item(tgi_llvm_kernel *k, LLVMValueRef column,
                           LLVMValueRef n)
{
    LLVMValueRef from, to;
    LLVMValueRef end =
        tgi_llvm_min(k->program, n,
                     tgi_llvm_add(k->program, column,
                                  tgi_llvm_const_i64(
                                      k->program, k->schedule->wide_columns)));
    LLVMValueRef full = tgi_llvm_round_down(k, column, end, k->e->lanes);
    row_bounds(k, &from, &to);
    tgi_llvm_wide_reduction_emit(k, column, full, from, to);
    emit_columns_after(k, full, end, n, emit_column_vector, NULL);
}

static void emit_columns_from(tgi_llvm_kernel *k, LLVMValueRef column,
                              LLVMValueRef n)
{
    if (k->schedule->matmul.n_panels > 1)
        tgi_llvm_matmul_panels_emit(k, column, n);
    else
        tgi_llvm_columns_step(k, column, n, emit_column_vector, NULL);
    k->e->lanes = tgi_phase_lanes(&k->schedule->phases[0]);
}

/* A matmul with a row epilogue: all columns, in order. */
static void emit_all_columns(tgi_llvm_kernel *k, LLVMValueRef n)
{
    const int64_t step = step_columns(k->schedule);
    LLVMValueRef zero = tgi_llvm_const_i64(k->program, 0);
    int64_t number;
    tgi_llvm_row_epilogue_begin(k);
    if (tgi_llvm_is_const_i64(n, &number) && number <= step) {
        emit_columns_from(k, zero, n);
    } else {
        tgi_llvm_loop loop;
        tgi_llvm_loop_begin(k, &loop, zero, n, step, NULL, 0);
        emit_columns_from(k, loop.index, n);
        tgi_llvm_loop_end(k, &loop, NULL);
    }
    tgi_llvm_row_epilogue_end(k);
}

void tgi_llvm_columns_emit(tgi_llvm_kernel *k, LLVMValueRef item)
{
    LLVMValueRef n =
        tgi_llvm_dim(k, k->loops->extent[k->schedule->vector_axis]);
    LLVMValueRef column = tgi_llvm_mul(
        k->program, item,
        tgi_llvm_const_i64(k->program,
                           k->schedule->item_extent[k->schedule->vector_axis]));
    k->e->lanes = tgi_phase_lanes(&k->schedule->phases[0]);
    if (k->schedule->packs_transposed)
        tgi_llvm_pack_transposed_emit(k, column, n);
    else if (k->schedule->wide_columns)
        emit_wide_item(k, column, n);
    else if (k->schedule->matmul.reduces_rows)
        emit_all_columns(k, n);
    else
        emit_columns_from(k, column, n);
}

/* -- Row order ------------------------------------------------------------- */

static void emit_row_of_vector(tgi_llvm_kernel *k, unsigned phase, void *user)
{
    const tgi_llvm_wide_scan *scan = user;
    if (scan)
        tgi_llvm_wide_scan_step(k, scan);
    else
        tgi_llvm_body_emit(k, phase);
}

/* The columns in the current lanes, from `column` on, of one row. */
static void emit_row_vector(tgi_llvm_kernel *k, LLVMValueRef column, void *user)
{
    k->index[k->schedule->vector_axis] = column;
    tgi_llvm_phases_emit(k, emit_row_of_vector, user);
    k->index[k->schedule->vector_axis] = NULL;
}

/* Columns first … end - 1 of the current row. Only the last work item ends
   inside of a vector. */
static void emit_row(tgi_llvm_kernel *k, LLVMValueRef first, LLVMValueRef end,
                     tgi_llvm_wide_scan *scan)
{
    const unsigned lanes = tgi_phase_lanes(&k->schedule->phases[0]);
    LLVMValueRef n =
        tgi_llvm_dim(k, k->loops->extent[k->schedule->vector_axis]);
    LLVMValueRef full = tgi_llvm_round_down(k, first, end, lanes);
    tgi_llvm_loop loop;
    int64_t number;
    k->e->lanes = lanes;
    tgi_llvm_loop_begin(k, &loop, first, full, lanes, NULL, 0);
    if (!scan && (!tgi_llvm_is_const_i64(n, &number) ||
                  number > TGI_LLVM_POLLED_ELEMENTS))
        tgi_llvm_poll_every(k, loop.index, lanes, TGI_LLVM_POLLED_ELEMENTS);
    emit_row_vector(k, loop.index, scan);
    tgi_llvm_loop_end(k, &loop, NULL);
    emit_columns_after(k, full, end, n, emit_row_vector, scan);
}

/* All rows of columns first … end - 1. */
static void emit_rows(tgi_llvm_kernel *k, LLVMValueRef first, LLVMValueRef end,
                      tgi_llvm_wide_scan *scan)
{
    LLVMValueRef from, to;
    tgi_llvm_loop loop;
    row_bounds(k, &from, &to);
    tgi_llvm_loop_begin(k, &loop, from, to, 1, NULL, 0);
    tgi_llvm_poll_every(k, loop.index, 1, TGI_LLVM_POLLED_STEPS);
    k->index[k->schedule->inner] = loop.index;
    k->e->lanes = 1;
    tgi_llvm_hoisted_insts_emit(k, 0);
    emit_row(k, first, end, scan);
    k->index[k->schedule->inner] = NULL;
    tgi_llvm_loop_end(k, &loop, NULL);
}

void tgi_llvm_row_order_emit(tgi_llvm_kernel *k, LLVMValueRef first,
                             LLVMValueRef end)
{
    const int64_t strip = k->schedule->wide_columns;
    tgi_llvm_wide_scan scan;
    tgi_llvm_loop loop;
    if (!strip) {
        emit_rows(k, first, end, NULL);
        return;
    }
    tgi_llvm_wide_scan_init(k, &scan);
    tgi_llvm_loop_begin(k, &loop, first, end, strip, NULL, 0);
    LLVMValueRef strip_end =
        tgi_llvm_min(k->program, end,
                     tgi_llvm_add(k->program, loop.index,
                                  tgi_llvm_const_i64(k->program, strip)));
    k->e->lanes = tgi_phase_lanes(&k->schedule->phases[0]);
    tgi_llvm_wide_scan_start(k, &scan, loop.index, strip_end);
    emit_rows(k, loop.index, strip_end, &scan);
    tgi_llvm_loop_end(k, &loop, NULL);
}
