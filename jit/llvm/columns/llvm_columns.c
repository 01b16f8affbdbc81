/* SPDX-License-Identifier: MIT */
/*
 * llvm_columns.c - work items of COLUMNS kernels. Vectors lie along the last
 * outer axis; each goes down the rows (the inner axis) in order, in blocks.
 * Every lane is a result of its own.
 */
#include "llvm/columns/llvm_columns.h"
#include "schedule/schedule.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_frame.h"
#include "llvm/emit/llvm_inst.h"
#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/matmul/llvm_columns_step.h"
#include "llvm/matmul/llvm_matmul.h"
#include "llvm/matmul/llvm_pack.h"
#include "llvm/reduce/llvm_accumulators.h"
#include "llvm/reduce/llvm_pairwise.h"
#include "llvm/reduce/llvm_reduce.h"

/* -- Reductions ------------------------------------------------------------ */

/* Accumulates rows from … to - 1. */
static void reduce_rows(tgi_llvm_kernel *k, unsigned phase, LLVMValueRef from,
                        LLVMValueRef to, tgi_llvm_accumulators *acc)
{
    tgi_llvm_loop loop;
    tgi_llvm_acc_loop_begin(k, acc, &loop, from, to, 1);
    k->index[k->schedule->inner] = loop.index;
    tgi_llvm_body_emit(k, phase);
    tgi_llvm_acc_step(k, acc, 0);
    tgi_llvm_acc_loop_end(k, acc, &loop);
    k->index[k->schedule->inner] = NULL;
}

/* All rows are one block: in a two-stage reduction, or if they are few. */
static void reduce_block(tgi_llvm_kernel *k, unsigned phase, LLVMValueRef from,
                         LLVMValueRef to, LLVMValueRef *out)
{
    tgi_llvm_accumulators acc;
    tgi_llvm_acc_init(k, &acc, phase, 1);
    tgi_llvm_acc_start(k, &acc, false);
    reduce_rows(k, phase, from, to, &acc);
    tgi_llvm_acc_finish(k, &acc, out);
}

/* The accumulators of ARGMAX and ARGMIN span all blocks. */
static void reduce_blocks(tgi_llvm_kernel *k, unsigned phase, LLVMValueRef from,
                          LLVMValueRef to, LLVMValueRef *out)
{
    LLVMValueRef size = tgi_llvm_const_i64(k->program, TGI_BLOCK_ROWS);
    tgi_llvm_pairwise pairwise;
    tgi_llvm_loop loop;
    tgi_llvm_accumulators acc;
    tgi_llvm_pairwise_begin(k, &pairwise, &k->schedule->phases[phase]);
    tgi_llvm_acc_init(k, &acc, phase, 1);
    tgi_llvm_acc_start(k, &acc, false);
    tgi_llvm_acc_loop_begin(k, &acc, &loop, from, to, TGI_BLOCK_ROWS);
    tgi_llvm_acc_start(k, &acc, true);
    LLVMValueRef end = tgi_llvm_add(k->program, loop.index, size);
    reduce_rows(k, phase, loop.index, tgi_llvm_min(k->program, end, to), &acc);
    tgi_llvm_acc_finish(k, &acc, out);
    tgi_llvm_pairwise_push(k, &pairwise, out,
                           LLVMBuildUDiv(k->b, loop.index, size, ""));
    tgi_llvm_acc_loop_end(k, &acc, &loop);
    tgi_llvm_acc_finish(k, &acc, out);
    tgi_llvm_pairwise_total(
        k, &pairwise, tgi_llvm_ceil_div(k->program, to, TGI_BLOCK_ROWS), out);
}

static void emit_reductions(tgi_llvm_kernel *k, unsigned phase,
                            LLVMValueRef from, LLVMValueRef to)
{
    const tgi_phase_schedule *p = &k->schedule->phases[phase];
    LLVMValueRef results[TGI_MAX_PHASE_REDUCTIONS];
    tgi_llvm_branch branch;
    int64_t n;
    tgi_llvm_branch_begin(k, &branch,
                          LLVMBuildICmp(k->b, LLVMIntSLT, from, to, ""));
    if (k->loops->reductions.data[p->reductions[0]].combines_blocks)
        tgi_llvm_pairwise_reduce(k, phase, from, to, results);
    else if (k->schedule->split_block ||
             (tgi_llvm_is_const_i64(to, &n) && n <= TGI_BLOCK_ROWS))
        reduce_block(k, phase, from, to, results);
    else
        reduce_blocks(k, phase, from, to, results);
    tgi_llvm_branch_end(k, &branch);
    for (unsigned i = 0; i < p->n_reductions; i++)
        tgi_llvm_set_reduced(
            k, p->reductions[i],
            tgi_llvm_branch_value(k, &branch, results[i],
                                  tgi_llvm_reduce_empty(k, p->reductions[i])));
}

/* -- Scans ----------------------------------------------------------------- */

/* The next inst that a loop carries, after inst i; 0: none. */
static uint32_t next_carried(const tgi_llvm_kernel *k, uint32_t i)
{
    for (i++; i < k->loops->insts.n; i++)
        if (k->loops->insts.data[i].kind == TGI_INST_CARRIED)
            return i;
    return 0;
}

/* Rows from … to - 1 in order, with the values that a step leaves to the
   next. */
static void scan_rows(tgi_llvm_kernel *k, unsigned phase, LLVMValueRef from,
                      LLVMValueRef to)
{
    const tgi_inst *insts = k->loops->insts.data;
    LLVMValueRef values[TGI_LLVM_MAX_CARRIED];
    tgi_llvm_loop loop;
    unsigned n = 0;
    for (uint32_t i = 0; (i = next_carried(k, i));)
        values[n++] = tgi_llvm_constant(k->e, insts[i].dtype, insts[i].bits);
    tgi_llvm_loop_begin(k, &loop, from, to, 1, values, n);
    n = 0;
    for (uint32_t i = 0; (i = next_carried(k, i));)
        k->values[i] = (tgi_llvm_value){.value = loop.carried[n++]};
    k->index[k->schedule->inner] = loop.index;
    tgi_llvm_body_emit(k, phase);
    n = 0;
    for (uint32_t i = 0; (i = next_carried(k, i));)
        values[n++] = tgi_llvm_value_of(k, insts[i].number);
    tgi_llvm_loop_end(k, &loop, values);
    k->index[k->schedule->inner] = NULL;
}

/* -- Work items ------------------------------------------------------------ */

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
    for (unsigned phase = 0; phase < k->loops->n_phases; phase++) {
        tgi_llvm_point_insts_emit(k, phase, false);
        if (k->schedule->phases[phase].n_reductions) {
            emit_reductions(k, phase, from, to);
        } else if (k->schedule->phases[phase].has_loop) {
            scan_rows(k, phase, from, to);
        }
        tgi_llvm_point_insts_emit(k, phase, true);
        tgi_llvm_point_stores_emit(k, phase);
    }
    k->index[k->schedule->vector_axis] = NULL;
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
    int64_t number;
    row_bounds(k, &from, &to);
    tgi_llvm_columns_wide_emit(k, column, full, from, to);
    if (tgi_llvm_is_const_i64(n, &number) && number % k->e->lanes == 0)
        return;
    tgi_llvm_branch branch;
    tgi_llvm_branch_begin(k, &branch,
                          LLVMBuildICmp(k->b, LLVMIntSLT, full, end, ""));
    tgi_llvm_columns_tail(k, full, end, emit_column_vector, NULL);
    tgi_llvm_branch_end(k, &branch);
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
