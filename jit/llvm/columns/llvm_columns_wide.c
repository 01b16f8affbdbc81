/* SPDX-License-Identifier: MIT */
/*
 * llvm_columns_wide.c - reductions down thousands of columns at once. One
 * vector of columns reads little of each row before it goes to the next;
 * memory is fastest when a few whole rows are read side by side. So the
 * accumulators of many columns stay in L1 and take STEP_ROWS rows at a time;
 * the order within a column does not change.
 *
 * This handles one block of rows: partial results of several would not fit.
 * Fusion makes longer reductions two-stage. The k-blocks of a vector-matrix
 * product (matmuls with more rows use micro-kernels) are added in order.
 */
#include "llvm/columns/llvm_columns.h"
#include "llvm/emit/llvm_analysis.h"
#include "llvm/emit/llvm_cost.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_inst.h"
#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/reduce/llvm_reduce.h"

enum {
    STEP_ROWS = 4, /* with 1 it is 1.5 times as slow */
    ACCUMULATOR_BYTES = 16 << 10,
    MIN_COLUMNS = 1024,        /* of a work item, unless there are fewer */
    MIN_MATMUL_COLUMNS = 1024, /* the same for MATMUL */
    UNKNOWN_COLUMNS = 2048,    /* of a work item, if the extent is unknown */
    MIN_ROWS = 8,              /* with fewer it does not pay */
    MIN_ITEMS = 16,
    MAX_POINT_COST = 4 /* of POINT insts, recomputed every STEP_ROWS rows */
};

/* -- Which kernels --------------------------------------------------------- */

static bool has_one_matmul(const tgi_llvm_analysis *a)
{
    return a->loops->reductions.n == 1 &&
           a->loops->reductions.data[0].op == TGI_OP_MATMUL;
}

static bool is_one_block(const tgi_llvm_analysis *a)
{
    const tgi_dim rows = a->loops->extent[a->inner];
    return a->is_split || (tgi_dim_is_known(rows) && rows >= MIN_ROWS &&
                           rows <= TGI_BLOCK_ROWS);
}

/* Of the POINT insts before the loop. */
static unsigned point_cost(const tgi_llvm_analysis *a)
{
    unsigned cost = 0;
    for (uint32_t i = 1; i < a->loops->insts.n; i++)
        if (a->insts[i].level == TGI_LEVEL_POINT &&
            !a->insts[i].is_after_loop && a->loops->insts.data[i].phase == 0)
            cost += tgi_llvm_inst_cost(a, &a->loops->insts.data[i]);
    return cost;
}

static unsigned accumulator_bytes(const tgi_llvm_analysis *a)
{
    unsigned bytes = 0;
    for (size_t i = 0; i < a->loops->reductions.n; i++) {
        const tgi_reduction *r = &a->loops->reductions.data[i];
        bytes += (unsigned)tgi_dtype_bytes(r->dtype) +
                 (tgi_llvm_is_arg(r) ? (unsigned)sizeof(int64_t) : 0);
    }
    return bytes;
}

/* Work items along the other axes of known extent; MIN_ITEMS at most. */
static int64_t items_beside(const tgi_llvm_analysis *a)
{
    int64_t items = 1;
    for (int axis = 0; axis < a->vector_axis && items < MIN_ITEMS; axis++)
        if (tgi_dim_is_known(a->loops->extent[axis]))
            items *= a->loops->extent[axis] < MIN_ITEMS ? a->loops->extent[axis]
                                                        : MIN_ITEMS;
    return items;
}

unsigned tgi_llvm_wide_item_columns(const tgi_llvm_analysis *a, unsigned lanes)
{
    const tgi_kernel_loops *loops = a->loops;
    const tgi_dim extent = loops->extent[a->vector_axis];
    const bool is_known = tgi_dim_is_known(extent);
    if (loops->reductions.n == 0 || loops->reductions.data[0].combines_blocks ||
        !(is_one_block(a) || has_one_matmul(a)) ||
        point_cost(a) > MAX_POINT_COST || lanes == 1 ||
        (is_known && extent < 2 * (int64_t)lanes))
        return 0;
    int64_t columns = is_known ? ACCUMULATOR_BYTES : UNKNOWN_COLUMNS;
    while (columns * accumulator_bytes(a) > ACCUMULATOR_BYTES ||
           (is_known && columns / 2 >= extent))
        columns /= 2;
    const int64_t min_columns =
        has_one_matmul(a) ? MIN_MATMUL_COLUMNS : MIN_COLUMNS;
    while (is_known && columns > min_columns && extent < columns * MIN_ITEMS &&
           items_beside(a) * ((extent + columns - 1) / columns) < MIN_ITEMS)
        columns /= 2;
    return columns < (int64_t)lanes ? 0 : (unsigned)columns;
}

/* -- Accumulators ---------------------------------------------------------- */

/* Accumulators of all columns: one stack array per part. */
typedef struct accumulators {
    unsigned n;
    LLVMValueRef arrays[TGI_LLVM_MAX_REDUCTIONS * TGI_LLVM_MAX_PARTS];
    LLVMTypeRef
        types[TGI_LLVM_MAX_REDUCTIONS * TGI_LLVM_MAX_PARTS]; /* of vectors */
    LLVMValueRef first;                                      /* first column */
} accumulators;

static LLVMValueRef accumulator_at(tgi_llvm_kernel *k, const accumulators *s,
                                   unsigned i)
{
    LLVMValueRef at =
        LLVMBuildSub(k->b, k->index[k->analysis.vector_axis], s->first, "");
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
    const tgi_llvm_phase *p = &k->analysis.phases[0];
    tgi_llvm_loop loop;
    LLVMValueRef values[TGI_LLVM_MAX_REDUCTIONS * TGI_LLVM_MAX_PARTS];
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
                                     k->analysis.wide_columns);
            values[s->n++] = state.part[j];
        }
    }
    tgi_llvm_loop_begin(k, &loop, columns.from, columns.to, k->e->lanes, NULL,
                        0);
    k->index[k->analysis.vector_axis] = loop.index;
    store_accumulators(k, s, values);
    tgi_llvm_loop_end(k, &loop, NULL);
}

/* Accumulates the row at k->index. */
static void reduce_row(tgi_llvm_kernel *k, LLVMValueRef *values)
{
    const tgi_llvm_phase *p = &k->analysis.phases[0];
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
    LLVMValueRef values[TGI_LLVM_MAX_REDUCTIONS * TGI_LLVM_MAX_PARTS];
    tgi_llvm_loop rows, along;
    if (tgi_llvm_are_equal_consts(from, to))
        return;
    tgi_llvm_loop_begin(k, &rows, from, to, step, NULL, 0);
    tgi_llvm_loop_begin(k, &along, columns.from, columns.to, k->e->lanes, NULL,
                        0);
    k->index[k->analysis.vector_axis] = along.index;
    tgi_llvm_point_insts_emit(k, 0, false);
    load_accumulators(k, s, values);
    for (int i = 0; i < step; i++) {
        k->index[k->analysis.inner] = tgi_llvm_add(
            k->program, rows.index, tgi_llvm_const_i64(k->program, i));
        reduce_row(k, values);
    }
    store_accumulators(k, s, values);
    tgi_llvm_loop_end(k, &along, NULL);
    tgi_llvm_loop_end(k, &rows, NULL);
    k->index[k->analysis.inner] = NULL;
}

/* Stores results, with all later phases. */
static void finish_accumulators(tgi_llvm_kernel *k, span columns,
                                const accumulators *s)
{
    const tgi_llvm_phase *p = &k->analysis.phases[0];
    LLVMValueRef values[TGI_LLVM_MAX_REDUCTIONS * TGI_LLVM_MAX_PARTS];
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, columns.from, columns.to, k->e->lanes, NULL,
                        0);
    k->index[k->analysis.vector_axis] = loop.index;
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
    k->index[k->analysis.vector_axis] = NULL;
}

static void reduce_block(tgi_llvm_kernel *k, span columns, LLVMValueRef from,
                         LLVMValueRef to, accumulators *s)
{
    LLVMValueRef last = tgi_llvm_round_down(k, from, to, STEP_ROWS);
    start_accumulators(k, columns, NULL, s);
    reduce_rows(k, columns, from, last, STEP_ROWS, s);
    reduce_rows(k, columns, last, to, 1, s);
}

/* Adds the result of a k-block to the totals. */
static void add_k_block(tgi_llvm_kernel *k, span columns,
                        const accumulators *block, const accumulators *totals)
{
    LLVMValueRef of_panel[TGI_LLVM_MAX_REDUCTIONS * TGI_LLVM_MAX_PARTS];
    LLVMValueRef total[TGI_LLVM_MAX_REDUCTIONS * TGI_LLVM_MAX_PARTS];
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, columns.from, columns.to, k->e->lanes, NULL,
                        0);
    k->index[k->analysis.vector_axis] = loop.index;
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
    if (is_one_block(&k->analysis)) {
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
