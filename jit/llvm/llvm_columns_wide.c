/* SPDX-License-Identifier: MIT */
/*
 * llvm_columns_wide.c - reductions down many columns at once. A vector that
 * goes down a matrix reads little of each row before it jumps to the next;
 * memory is fastest where rows are read all along, and a few of them side by
 * side. So the states of thousands of columns stay in the first cache, and
 * take ROWS rows at a time: in order, column by column, as ever.
 *
 * Only one block of rows is done this way: the parts of a pairwise would not
 * fit. Fusion splits what has more of them. But the panels of a product (of a
 * vector and a matrix: others go by tiles) are added up one after the other.
 */
#include "llvm/llvm_analysis.h"
#include "llvm/llvm_columns.h"
#include "llvm/llvm_cost.h"
#include "llvm/llvm_flow.h"
#include "llvm/llvm_inst.h"
#include "llvm/llvm_kernel_state.h"
#include "llvm/llvm_reduce.h"

enum {
    ROWS = 4, /* taken at a time; measured: 1 is 1.5 times as slow */
    STATE_BYTES = 16 << 10,
    LEAST_COLUMNS = 1024,    /* of an item, unless there are no more … */
    LEAST_OF_PRODUCT = 1024, /* … or there is more to do for each */
    SOME_COLUMNS = 2048,     /* if it is not known how many there are */
    FEW_ROWS = 8,            /* for which it is not worth it */
    FEW_ITEMS = 16,
    MOST_POINT_COST = 4 /* of what is computed anew for each few rows */
};

/* -- Which kernels --------------------------------------------------------- */

static bool is_product(const tgi_llvm_analysis *a)
{
    return a->loops->reductions.n == 1 &&
           a->loops->reductions.data[0].op == TGI_OP_MATMUL;
}

static bool is_one_block(const tgi_llvm_analysis *a)
{
    const tgi_dim rows = a->loops->extent[a->inner];
    return a->is_split || (tgi_dim_is_known(rows) && rows >= FEW_ROWS &&
                           rows <= TGI_BLOCK_ROWS);
}

/* What is computed at points before the rows. */
static unsigned cost_at_points(const tgi_llvm_analysis *a)
{
    unsigned cost = 0;
    for (uint32_t i = 1; i < a->loops->insts.n; i++)
        if (a->insts[i].level == TGI_LEVEL_POINT &&
            !a->insts[i].is_after_loop && a->loops->insts.data[i].phase == 0)
            cost += tgi_llvm_inst_cost(a, &a->loops->insts.data[i]);
    return cost;
}

static unsigned state_bytes(const tgi_llvm_analysis *a)
{
    unsigned bytes = 0;
    for (size_t i = 0; i < a->loops->reductions.n; i++) {
        const tgi_reduction *r = &a->loops->reductions.data[i];
        const bool has_position =
            r->op == TGI_OP_ARGMAX || r->op == TGI_OP_ARGMIN;
        bytes += (unsigned)tgi_dtype_bytes(r->dtype) +
                 (has_position ? (unsigned)sizeof(int64_t) : 0);
    }
    return bytes;
}

/* Items of other axes, as far as they are known; FEW_ITEMS at most. */
static int64_t items_beside(const tgi_llvm_analysis *a)
{
    int64_t items = 1;
    for (int axis = 0; axis < a->vector_axis && items < FEW_ITEMS; axis++)
        if (tgi_dim_is_known(a->loops->extent[axis]))
            items *= a->loops->extent[axis] < FEW_ITEMS ? a->loops->extent[axis]
                                                        : FEW_ITEMS;
    return items;
}

unsigned tgi_llvm_wide_item_columns(const tgi_llvm_analysis *a, unsigned lanes)
{
    const tgi_kernel_loops *loops = a->loops;
    const tgi_dim extent = loops->extent[a->vector_axis];
    const bool is_known = tgi_dim_is_known(extent);
    if (loops->reductions.n == 0 || loops->reductions.data[0].combines_blocks ||
        !(is_one_block(a) || is_product(a)) ||
        cost_at_points(a) > MOST_POINT_COST || lanes == 1 ||
        (is_known && extent < 2 * (int64_t)lanes))
        return 0;
    int64_t columns = is_known ? STATE_BYTES : SOME_COLUMNS;
    while (columns * state_bytes(a) > STATE_BYTES ||
           (is_known && columns / 2 >= extent))
        columns /= 2;
    const int64_t least = is_product(a) ? LEAST_OF_PRODUCT : LEAST_COLUMNS;
    while (is_known && columns > least && extent < columns * FEW_ITEMS &&
           items_beside(a) * ((extent + columns - 1) / columns) < FEW_ITEMS)
        columns /= 2;
    return columns < (int64_t)lanes ? 0 : (unsigned)columns;
}

/* -- States ---------------------------------------------------------------- */

/* The states of all columns, part after part: arrays on the stack. */
typedef struct states {
    unsigned n;
    LLVMValueRef arrays[TGI_LLVM_MAX_REDUCTIONS * TGI_LLVM_MAX_PARTS];
    LLVMTypeRef
        types[TGI_LLVM_MAX_REDUCTIONS * TGI_LLVM_MAX_PARTS]; /* vectors */
    LLVMValueRef first; /* their first column */
} states;

static LLVMValueRef state_at(tgi_llvm_kernel *k, const states *s, unsigned i)
{
    LLVMValueRef at =
        LLVMBuildSub(k->b, k->index[k->analysis.vector_axis], s->first, "");
    return LLVMBuildGEP2(k->b, LLVMGetElementType(s->types[i]), s->arrays[i],
                         &at, 1, "");
}

static void load_states(tgi_llvm_kernel *k, const states *s, LLVMValueRef *out)
{
    for (unsigned i = 0; i < s->n; i++) {
        out[i] = LLVMBuildLoad2(k->b, s->types[i], state_at(k, s, i), "");
        LLVMSetAlignment(out[i], 1);
    }
}

static void store_states(tgi_llvm_kernel *k, const states *s,
                         const LLVMValueRef *values)
{
    for (unsigned i = 0; i < s->n; i++)
        LLVMSetAlignment(LLVMBuildStore(k->b, values[i], state_at(k, s, i)), 1);
}

/* -- Loops along columns --------------------------------------------------- */

/* Where columns begin and end: whole vectors. */
typedef struct span {
    LLVMValueRef from, to;
} span;

/* `total`: what totals of panels start with; NULL: these are no totals. */
static void start(tgi_llvm_kernel *k, span columns, LLVMValueRef total,
                  states *s)
{
    const tgi_llvm_phase *p = &k->analysis.phases[0];
    tgi_llvm_loop loop;
    LLVMValueRef values[TGI_LLVM_MAX_REDUCTIONS * TGI_LLVM_MAX_PARTS];
    *s = (states){.first = columns.from};
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
    store_states(k, s, values);
    tgi_llvm_loop_end(k, &loop, NULL);
}

/* Row k->index of the inner axis into states. */
static void take_row(tgi_llvm_kernel *k, LLVMValueRef *values)
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

static void take_rows(tgi_llvm_kernel *k, span columns, LLVMValueRef from,
                      LLVMValueRef to, int step, const states *s)
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
    load_states(k, s, values);
    for (int i = 0; i < step; i++) {
        k->index[k->analysis.inner] = tgi_llvm_add(
            k->program, rows.index, tgi_llvm_const_i64(k->program, i));
        take_row(k, values);
    }
    store_states(k, s, values);
    tgi_llvm_loop_end(k, &along, NULL);
    tgi_llvm_loop_end(k, &rows, NULL);
    k->index[k->analysis.inner] = NULL;
}

/* Results, and what comes after them. */
static void finish(tgi_llvm_kernel *k, span columns, const states *s)
{
    const tgi_llvm_phase *p = &k->analysis.phases[0];
    LLVMValueRef values[TGI_LLVM_MAX_REDUCTIONS * TGI_LLVM_MAX_PARTS];
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, columns.from, columns.to, k->e->lanes, NULL,
                        0);
    k->index[k->analysis.vector_axis] = loop.index;
    load_states(k, s, values);
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

static void take_block(tgi_llvm_kernel *k, span columns, LLVMValueRef from,
                       LLVMValueRef to, states *s)
{
    LLVMValueRef last = tgi_llvm_round_down(k, from, to, ROWS);
    start(k, columns, NULL, s);
    take_rows(k, columns, from, last, ROWS, s);
    take_rows(k, columns, last, to, 1, s);
}

/* A panel of a product to the total of those before. */
static void add_up(tgi_llvm_kernel *k, span columns, const states *panel,
                   const states *totals)
{
    LLVMValueRef of_panel[TGI_LLVM_MAX_REDUCTIONS * TGI_LLVM_MAX_PARTS];
    LLVMValueRef total[TGI_LLVM_MAX_REDUCTIONS * TGI_LLVM_MAX_PARTS];
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, columns.from, columns.to, k->e->lanes, NULL,
                        0);
    k->index[k->analysis.vector_axis] = loop.index;
    load_states(k, panel, of_panel);
    load_states(k, totals, total);
    total[0] = tgi_llvm_reduce_combine(k, 0, total[0], of_panel[0]);
    store_states(k, totals, total);
    tgi_llvm_loop_end(k, &loop, NULL);
}

void tgi_llvm_columns_wide_emit(tgi_llvm_kernel *k, LLVMValueRef column,
                                LLVMValueRef end, LLVMValueRef from,
                                LLVMValueRef to)
{
    const span columns = {column, end};
    states s;
    if (is_one_block(&k->analysis)) {
        take_block(k, columns, from, to, &s);
        finish(k, columns, &s);
        return;
    }
    states totals;
    tgi_llvm_loop blocks;
    LLVMValueRef size = tgi_llvm_const_i64(k->program, TGI_BLOCK_ROWS);
    start(k, columns, tgi_llvm_matmul_start(k, from, to), &totals);
    tgi_llvm_loop_begin(k, &blocks, from, to, TGI_BLOCK_ROWS, NULL, 0);
    LLVMValueRef next = tgi_llvm_add(k->program, blocks.index, size);
    take_block(k, columns, blocks.index, tgi_llvm_min(k->program, next, to),
               &s);
    add_up(k, columns, &s, &totals);
    tgi_llvm_loop_end(k, &blocks, NULL);
    finish(k, columns, &totals);
}
