/* SPDX-License-Identifier: MIT */
/*
 * llvm_columns_wide.c - reductions down thousands of columns at once
 * (choose_wide.c): their accumulators are on the stack and take a few rows at a
 * time; the order within a column does not change.
 */
#include "llvm/columns/llvm_columns.h"
#include "schedule/schedule.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_inst.h"
#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/reduce/llvm_accumulators.h"

/* Columns from … to - 1: whole vectors. */
typedef struct span {
    LLVMValueRef from, to;
} span;

/* Begins a loop over the vectors of a span; returns the element of the arrays
   at which the current one begins. */
static LLVMValueRef begin_columns(tgi_llvm_kernel *k, span columns,
                                  tgi_llvm_loop *loop)
{
    tgi_llvm_loop_begin(k, loop, columns.from, columns.to, k->e->lanes, NULL,
                        0);
    k->index[k->schedule->vector_axis] = loop->index;
    return LLVMBuildSub(k->b, loop->index, columns.from, "");
}

/* `total`: initial value of matmul totals; NULL: the start of the reduction. */
static void start_accumulators(tgi_llvm_kernel *k, span columns,
                               LLVMValueRef total, tgi_llvm_accumulators *acc)
{
    tgi_llvm_loop loop;
    tgi_llvm_acc_init(k, acc, 0, 1);
    tgi_llvm_acc_allocate(k, acc, k->schedule->wide_columns);
    tgi_llvm_acc_start(k, acc, false);
    if (total)
        acc->values[0] = total;
    LLVMValueRef at = begin_columns(k, columns, &loop);
    tgi_llvm_acc_store(k, acc, 0, at);
    tgi_llvm_loop_end(k, &loop, NULL);
}

/* Accumulates rows from … to - 1, `step` at a time. */
static void reduce_rows(tgi_llvm_kernel *k, span columns, LLVMValueRef from,
                        LLVMValueRef to, int step, tgi_llvm_accumulators *acc)
{
    tgi_llvm_loop rows, along;
    if (tgi_llvm_are_equal_consts(from, to))
        return;
    tgi_llvm_loop_begin(k, &rows, from, to, step, NULL, 0);
    LLVMValueRef at = begin_columns(k, columns, &along);
    tgi_llvm_point_insts_emit(k, 0, false);
    tgi_llvm_acc_load(k, acc, 0, at);
    for (int i = 0; i < step; i++) {
        k->index[k->schedule->inner] = tgi_llvm_add(
            k->program, rows.index, tgi_llvm_const_i64(k->program, i));
        tgi_llvm_body_emit(k, 0);
        tgi_llvm_acc_step(k, acc, 0);
    }
    tgi_llvm_acc_store(k, acc, 0, at);
    tgi_llvm_loop_end(k, &along, NULL);
    tgi_llvm_loop_end(k, &rows, NULL);
    k->index[k->schedule->inner] = NULL;
}

/* Stores results, with all later phases. */
static void finish_accumulators(tgi_llvm_kernel *k, span columns,
                                tgi_llvm_accumulators *acc)
{
    LLVMValueRef results[TGI_MAX_PHASE_REDUCTIONS];
    tgi_llvm_loop loop;
    tgi_llvm_acc_load(k, acc, 0, begin_columns(k, columns, &loop));
    tgi_llvm_acc_finish(k, acc, results);
    for (unsigned i = 0; i < acc->phase->n_reductions; i++)
        tgi_llvm_set_reduced(k, acc->phase->reductions[i], results[i]);
    for (unsigned phase = 0; phase < k->loops->n_phases; phase++) {
        tgi_llvm_point_insts_emit(k, phase, false);
        tgi_llvm_point_insts_emit(k, phase, true);
        tgi_llvm_point_stores_emit(k, phase);
    }
    tgi_llvm_loop_end(k, &loop, NULL);
    k->index[k->schedule->vector_axis] = NULL;
}

static void reduce_block(tgi_llvm_kernel *k, span columns, LLVMValueRef from,
                         LLVMValueRef to, tgi_llvm_accumulators *acc)
{
    const int step = (int)tgi_nest_unrolled(&k->schedule->phases[0].nest);
    LLVMValueRef last = tgi_llvm_round_down(k, from, to, step);
    start_accumulators(k, columns, NULL, acc);
    reduce_rows(k, columns, from, last, step, acc);
    reduce_rows(k, columns, last, to, 1, acc);
}

/* Adds the result of a k-block to the totals. */
static void add_k_block(tgi_llvm_kernel *k, span columns,
                        tgi_llvm_accumulators *block,
                        tgi_llvm_accumulators *totals)
{
    tgi_llvm_loop loop;
    LLVMValueRef at = begin_columns(k, columns, &loop);
    tgi_llvm_acc_load(k, block, 0, at);
    tgi_llvm_acc_load(k, totals, 0, at);
    totals->values[0] =
        tgi_llvm_reduce_combine(k, 0, totals->values[0], block->values[0]);
    tgi_llvm_acc_store(k, totals, 0, at);
    tgi_llvm_loop_end(k, &loop, NULL);
}

void tgi_llvm_columns_wide_emit(tgi_llvm_kernel *k, LLVMValueRef column,
                                LLVMValueRef end, LLVMValueRef from,
                                LLVMValueRef to)
{
    const span columns = {column, end};
    tgi_llvm_accumulators acc;
    if (tgi_nest_find(&k->schedule->phases[0].nest, TGI_LOOP_SERIAL,
                      k->schedule->inner)
            ->step != TGI_BLOCK_ROWS) {
        reduce_block(k, columns, from, to, &acc);
        finish_accumulators(k, columns, &acc);
        return;
    }
    tgi_llvm_accumulators totals;
    tgi_llvm_loop blocks;
    LLVMValueRef size = tgi_llvm_const_i64(k->program, TGI_BLOCK_ROWS);
    start_accumulators(k, columns, tgi_llvm_matmul_start(k, from, to), &totals);
    tgi_llvm_loop_begin(k, &blocks, from, to, TGI_BLOCK_ROWS, NULL, 0);
    LLVMValueRef next = tgi_llvm_add(k->program, blocks.index, size);
    reduce_block(k, columns, blocks.index, tgi_llvm_min(k->program, next, to),
                 &acc);
    add_k_block(k, columns, &acc, &totals);
    tgi_llvm_loop_end(k, &blocks, NULL);
    finish_accumulators(k, columns, &totals);
}
