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
#include "llvm/reduce/llvm_reduce.h"

/* -- Accumulators ---------------------------------------------------------- */

/* Accumulators of all columns: one stack array per part. */
typedef struct accumulators {
    unsigned n;
    LLVMValueRef arrays[TGI_MAX_PHASE_REDUCTIONS * TGI_LLVM_MAX_PARTS];
    LLVMTypeRef
        types[TGI_MAX_PHASE_REDUCTIONS * TGI_LLVM_MAX_PARTS]; /* of vectors */
    LLVMValueRef first;                                       /* first column */
} accumulators;

static LLVMValueRef accumulator_at(tgi_llvm_kernel *k, const accumulators *s,
                                   unsigned i)
{
    LLVMValueRef at =
        LLVMBuildSub(k->b, k->index[k->schedule->vector_axis], s->first, "");
    return LLVMBuildGEP2(k->b, LLVMGetElementType(s->types[i]), s->arrays[i],
                         &at, 1, "");
}

static void load_accumulators(tgi_llvm_kernel *k, const accumulators *s,
                              LLVMValueRef *out)
{
    for (unsigned i = 0; i < s->n; i++) {
        out[i] = LLVMBuildLoad2(k->b, s->types[i], accumulator_at(k, s, i), "");
        LLVMSetAlignment(out[i], 1);
    }
}

static void store_accumulators(tgi_llvm_kernel *k, const accumulators *s,
                               const LLVMValueRef *values)
{
    for (unsigned i = 0; i < s->n; i++)
        LLVMSetAlignment(
            LLVMBuildStore(k->b, values[i], accumulator_at(k, s, i)), 1);
}

/* -- Loops along columns --------------------------------------------------- */

/* Columns from … to - 1: whole vectors. */
typedef struct span {
    LLVMValueRef from, to;
} span;

/* `total`: initial value of matmul totals; NULL: the start of the reduction. */
static void start_accumulators(tgi_llvm_kernel *k, span columns,
                               LLVMValueRef total, accumulators *s)
{
    const tgi_phase_schedule *p = &k->schedule->phases[0];
    tgi_llvm_loop loop;
    LLVMValueRef values[TGI_MAX_PHASE_REDUCTIONS * TGI_LLVM_MAX_PARTS];
    *s = (accumulators){.first = columns.from};
    for (unsigned i = 0; i < p->n_reductions; i++) {
        tgi_llvm_accumulator state;
        state.part[0] = total;
        if (!total)
            tgi_llvm_reduce_start(k, p->reductions[i], false, &state);
        for (unsigned j = 0;
             j < tgi_llvm_accumulator_parts(k, p->reductions[i], false); j++) {
            s->types[s->n] = LLVMTypeOf(state.part[j]);
            s->arrays[s->n] =
                tgi_llvm_stack_array(k, LLVMGetElementType(s->types[s->n]),
                                     k->schedule->wide_columns);
            values[s->n++] = state.part[j];
        }
    }
    tgi_llvm_loop_begin(k, &loop, columns.from, columns.to, k->e->lanes, NULL,
                        0);
    k->index[k->schedule->vector_axis] = loop.index;
    store_accumulators(k, s, values);
    tgi_llvm_loop_end(k, &loop, NULL);
}

/* Accumulates the row at k->index. */
static void reduce_row(tgi_llvm_kernel *k, LLVMValueRef *values)
{
    const tgi_phase_schedule *p = &k->schedule->phases[0];
    tgi_llvm_body_emit(k, 0);
    for (unsigned i = 0, at = 0; i < p->n_reductions; i++) {
        const unsigned n =
            tgi_llvm_accumulator_parts(k, p->reductions[i], false);
        tgi_llvm_accumulator state;
        for (unsigned j = 0; j < n; j++)
            state.part[j] = values[at + j];
        tgi_llvm_reduce_step(k, p->reductions[i], false, &state);
        for (unsigned j = 0; j < n; j++)
            values[at + j] = state.part[j];
        at += n;
    }
}

static void reduce_rows(tgi_llvm_kernel *k, span columns, LLVMValueRef from,
                        LLVMValueRef to, int step, const accumulators *s)
{
    LLVMValueRef values[TGI_MAX_PHASE_REDUCTIONS * TGI_LLVM_MAX_PARTS];
    tgi_llvm_loop rows, along;
    if (tgi_llvm_are_equal_consts(from, to))
        return;
    tgi_llvm_loop_begin(k, &rows, from, to, step, NULL, 0);
    tgi_llvm_loop_begin(k, &along, columns.from, columns.to, k->e->lanes, NULL,
                        0);
    k->index[k->schedule->vector_axis] = along.index;
    tgi_llvm_point_insts_emit(k, 0, false);
    load_accumulators(k, s, values);
    for (int i = 0; i < step; i++) {
        k->index[k->schedule->inner] = tgi_llvm_add(
            k->program, rows.index, tgi_llvm_const_i64(k->program, i));
        reduce_row(k, values);
    }
    store_accumulators(k, s, values);
    tgi_llvm_loop_end(k, &along, NULL);
    tgi_llvm_loop_end(k, &rows, NULL);
    k->index[k->schedule->inner] = NULL;
}

/* Stores results, with all later phases. */
static void finish_accumulators(tgi_llvm_kernel *k, span columns,
                                const accumulators *s)
{
    const tgi_phase_schedule *p = &k->schedule->phases[0];
    LLVMValueRef values[TGI_MAX_PHASE_REDUCTIONS * TGI_LLVM_MAX_PARTS];
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, columns.from, columns.to, k->e->lanes, NULL,
                        0);
    k->index[k->schedule->vector_axis] = loop.index;
    load_accumulators(k, s, values);
    for (unsigned i = 0, at = 0; i < p->n_reductions; i++) {
        tgi_llvm_accumulator state;
        for (unsigned j = 0;
             j < tgi_llvm_accumulator_parts(k, p->reductions[i], false); j++)
            state.part[j] = values[at++];
        tgi_llvm_set_reduced(
            k, p->reductions[i],
            tgi_llvm_reduce_finish(k, p->reductions[i], false, &state));
    }
    for (unsigned phase = 0; phase < k->loops->n_phases; phase++) {
        tgi_llvm_point_insts_emit(k, phase, false);
        tgi_llvm_point_insts_emit(k, phase, true);
        tgi_llvm_point_stores_emit(k, phase);
    }
    tgi_llvm_loop_end(k, &loop, NULL);
    k->index[k->schedule->vector_axis] = NULL;
}

static void reduce_block(tgi_llvm_kernel *k, span columns, LLVMValueRef from,
                         LLVMValueRef to, accumulators *s)
{
    const int step = (int)tgi_nest_unrolled(&k->schedule->phases[0].nest);
    LLVMValueRef last = tgi_llvm_round_down(k, from, to, step);
    start_accumulators(k, columns, NULL, s);
    reduce_rows(k, columns, from, last, step, s);
    reduce_rows(k, columns, last, to, 1, s);
}

/* Adds the result of a k-block to the totals. */
static void add_k_block(tgi_llvm_kernel *k, span columns,
                        const accumulators *block, const accumulators *totals)
{
    LLVMValueRef of_panel[TGI_MAX_PHASE_REDUCTIONS * TGI_LLVM_MAX_PARTS];
    LLVMValueRef total[TGI_MAX_PHASE_REDUCTIONS * TGI_LLVM_MAX_PARTS];
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, columns.from, columns.to, k->e->lanes, NULL,
                        0);
    k->index[k->schedule->vector_axis] = loop.index;
    load_accumulators(k, block, of_panel);
    load_accumulators(k, totals, total);
    total[0] = tgi_llvm_reduce_combine(k, 0, total[0], of_panel[0]);
    store_accumulators(k, totals, total);
    tgi_llvm_loop_end(k, &loop, NULL);
}

void tgi_llvm_columns_wide_emit(tgi_llvm_kernel *k, LLVMValueRef column,
                                LLVMValueRef end, LLVMValueRef from,
                                LLVMValueRef to)
{
    const span columns = {column, end};
    accumulators s;
    if (tgi_nest_find(&k->schedule->phases[0].nest, TGI_LOOP_SERIAL,
                      k->schedule->inner)
            ->step != TGI_BLOCK_ROWS) {
        reduce_block(k, columns, from, to, &s);
        finish_accumulators(k, columns, &s);
        return;
    }
    accumulators totals;
    tgi_llvm_loop blocks;
    LLVMValueRef size = tgi_llvm_const_i64(k->program, TGI_BLOCK_ROWS);
    start_accumulators(k, columns, tgi_llvm_matmul_start(k, from, to), &totals);
    tgi_llvm_loop_begin(k, &blocks, from, to, TGI_BLOCK_ROWS, NULL, 0);
    LLVMValueRef next = tgi_llvm_add(k->program, blocks.index, size);
    reduce_block(k, columns, blocks.index, tgi_llvm_min(k->program, next, to),
                 &s);
    add_k_block(k, columns, &s, &totals);
    tgi_llvm_loop_end(k, &blocks, NULL);
    finish_accumulators(k, columns, &totals);
}
