/* SPDX-License-Identifier: MIT */
/*
 * llvm_straightline.c - straightline kernels as straight-line code: every point and every
 * vector is written out, with numbers for positions. There is no loop, no
 * branch, no mask: what is left over of a row goes by vectors of half the
 * lanes, of a quarter, and so on.
 *
 * Reductions of rows follow the tree of reduce_tree.h. Lanes that a row does
 * not reach hold the start value, which changes nothing, and are left out; of
 * products it is +0, which turns -0 into +0, once.
 */
#include "llvm/llvm_straightline.h"

#include <assert.h>
#include <string.h>

static LLVMValueRef lane_number(const tgi_llvm_kernel *k, unsigned lane)
{
    return LLVMConstInt(k->program->i32, lane, false);
}

/* -- Reductions of rows ---------------------------------------------------- */

/* Some lanes of the tree. */
typedef struct lanes {
    LLVMValueRef value; /* NULL: start values */
    bool is_raised;     /* +0 was added, as far as it can be seen */
} lanes;

static bool is_product(const tgi_llvm_kernel *k, uint32_t reduction)
{
    return k->loops->reductions.data[reduction].op == TGI_OP_MATMUL;
}

/* Lanes first … first + n - 1 of a vector of `width`. */
static LLVMValueRef part_of(tgi_llvm_kernel *k, LLVMValueRef vector,
                            unsigned width, unsigned first, unsigned n)
{
    LLVMValueRef order[TGI_LLVM_MAX_LANES];
    if (n == width)
        return vector;
    for (unsigned i = 0; i < n; i++)
        order[i] = lane_number(k, first + i);
    if (n == 1)
        return LLVMBuildExtractElement(k->b, vector, order[0], "");
    return LLVMBuildShuffleVector(k->b, vector,
                                  LLVMGetPoison(LLVMTypeOf(vector)),
                                  LLVMConstVector(order, n), "");
}

/* Takes elements into the lanes that are theirs. */
static void take(tgi_llvm_kernel *k, uint32_t reduction, LLVMValueRef x,
                 LLVMValueRef other, lanes *to)
{
    if (!is_product(k, reduction)) {
        to->value =
            to->value ? tgi_llvm_reduce_combine(k, reduction, to->value, x) : x;
        return;
    }
    tgi_llvm_accumulator state = {.part = {to->value}};
    if (!to->value)
        tgi_llvm_reduce_start(k, reduction, false, &state);
    const tgi_emitted in[] = {x, other, state.part[0]};
    const int dtype = k->loops->reductions.data[reduction].dtype;
    to->value =
        tgi_emit_step_of(TGI_OP_MATMUL, (tg_dtype)dtype)(&k->e->base, in);
}

static void combine(tgi_llvm_kernel *k, uint32_t reduction, lanes *left,
                    const lanes *right)
{
    LLVMValueRef other = right->value;
    if (!left->value)
        return; /* then so is what lies to the right of it */
    if (!other) {
        if (!is_product(k, reduction) || left->is_raised)
            return;
        tgi_llvm_accumulator start;
        tgi_llvm_reduce_start(k, reduction, false, &start);
        other = start.part[0];
    }
    left->is_raised |= right->is_raised || !right->value;
    left->value = tgi_llvm_reduce_combine(k, reduction, left->value, other);
}

/* -- Widths ---------------------------------------------------------------- */

/* What costs at most so many instructions is not worth putting vectors
   together for. */
enum { FEW_INSTRUCTIONS = 4 };

static bool is_cheap(const tgi_llvm_kernel *k, unsigned phase)
{
    unsigned cost = 0;
    for (size_t i = 1; i < k->loops->insts.n; i++) {
        const tgi_inst *inst = &k->loops->insts.data[i];
        if (inst->phase == phase && inst->level == TGI_LEVEL_INNER &&
            inst->kind != TGI_INST_LOAD)
            cost += tgi_llvm_inst_cost(k, inst);
    }
    return cost <= FEW_INSTRUCTIONS;
}

/* The most lanes for so many elements: a power of two, or three, which take
   the room of four. */
static unsigned most_lanes(unsigned width, int64_t n)
{
    if (n == 3 && width >= 4)
        return 3;
    while (width > n)
        width /= 2;
    return width;
}

/* The width of the next vector of a row with `left` elements: operands that
   are there as smaller ones are taken as they are. */
static unsigned width_of(const tgi_llvm_kernel *k, unsigned phase,
                         int64_t left, bool cheap)
{
    const unsigned run =
        cheap ? tgi_llvm_forwarded_run(k, phase) : TGI_LLVM_MAX_LANES;
    const int64_t most = left < run ? left : run;
    return most_lanes(k->phases[phase].lanes, most);
}

/* True if width_of is the same for all of a row but its end. */
static bool is_even(tgi_llvm_kernel *k, unsigned phase, int64_t n, bool cheap)
{
    bool even = true;
    for (int64_t at = 0; cheap && even && at < n;
         at += k->phases[phase].lanes) {
        k->index[k->inner] = tgi_llvm_const_i64(k->program, at);
        even = tgi_llvm_forwarded_run(k, phase) >= k->phases[phase].lanes;
    }
    return even;
}

/* One phase of a row of n > 0 elements, in vectors that hold a whole number
   of `wide` lanes of the tree. */
static void reduce_row(tgi_llvm_kernel *k, unsigned phase, int64_t n)
{
    const tgi_llvm_phase *p = &k->phases[phase];
    const unsigned tree = tgi_llvm_tree_lanes(k, p);
    unsigned wide = p->lanes < tree ? p->lanes : tree;
    lanes all[TGI_LLVM_MAX_REDUCTIONS][TGI_LANES_4] = {{{NULL, false}}};
    const bool cheap = is_cheap(k, phase);
    if (n % wide || !is_even(k, phase, n, cheap))
        wide = 1;
    unsigned width;
    for (int64_t at = 0; at < n; at += width) {
        k->index[k->inner] = tgi_llvm_const_i64(k->program, at);
        width = width_of(k, phase, n - at, cheap);
        k->e->lanes = width;
        tgi_llvm_body_emit(k, phase);
        for (unsigned i = 0; i < p->n_reductions; i++) {
            const uint32_t number = p->reductions[i];
            const tgi_reduction *r = &k->loops->reductions.data[number];
            k->e->lanes = width;
            LLVMValueRef x = tgi_llvm_value_of(k, r->value), other = NULL;
            if (r->other)
                other = tgi_llvm_value_of(k, r->other);
            k->e->lanes = wide;
            for (unsigned lane = 0; lane < width; lane += wide)
                take(k, number, part_of(k, x, width, lane, wide),
                     other ? part_of(k, other, width, lane, wide) : NULL,
                     &all[i][((unsigned)at + lane) % tree / wide]);
        }
    }
    k->index[k->inner] = NULL;
    for (unsigned i = 0; i < p->n_reductions; i++) {
        const uint32_t number = p->reductions[i];
        k->e->lanes = wide;
        for (unsigned half = tree / wide / 2; half > 0; half /= 2)
            for (unsigned j = 0; j < half; j++)
                combine(k, number, &all[i][j], &all[i][j + half]);
        LLVMValueRef result =
            tgi_llvm_horizontal_reduce(k, number, &all[i][0].value, 1);
        k->e->lanes = 1;
        tgi_llvm_set_reduced(k, number, result);
    }
}

static void set_empty(tgi_llvm_kernel *k, const tgi_llvm_phase *p)
{
    for (unsigned i = 0; i < p->n_reductions; i++)
        tgi_llvm_set_reduced(k, p->reductions[i],
                             tgi_llvm_reduce_empty(k, p->reductions[i]));
}

/* -- Points ---------------------------------------------------------------- */

static void map_row(tgi_llvm_kernel *k, unsigned phase, int64_t n)
{
    const bool cheap = is_cheap(k, phase);
    unsigned width;
    for (int64_t at = 0; at < n; at += width) {
        k->index[k->inner] = tgi_llvm_const_i64(k->program, at);
        width = width_of(k, phase, n - at, cheap);
        k->e->lanes = width;
        tgi_llvm_body_emit(k, phase);
    }
    k->index[k->inner] = NULL;
}

static void row(tgi_llvm_kernel *k)
{
    const int64_t n = k->loops->extent[k->inner];
    for (unsigned phase = 0; phase < k->loops->n_phases; phase++) {
        const tgi_llvm_phase *p = &k->phases[phase];
        k->e->lanes = 1;
        tgi_llvm_point_insts_emit(k, phase, false);
        if (p->n_reductions && n == 0)
            set_empty(k, p);
        else if (p->n_reductions)
            reduce_row(k, phase, n);
        else if (p->has_loop)
            map_row(k, phase, n);
        k->e->lanes = 1;
        tgi_llvm_point_insts_emit(k, phase, true);
        tgi_llvm_point_stores_emit(k, phase);
    }
}

/* All rows of some columns, in order. */
static void reduce_rows(tgi_llvm_kernel *k, unsigned phase, int64_t n)
{
    const tgi_llvm_phase *p = &k->phases[phase];
    tgi_llvm_accumulator states[TGI_LLVM_MAX_REDUCTIONS];
    for (unsigned i = 0; i < p->n_reductions; i++)
        tgi_llvm_reduce_start(k, p->reductions[i], false, &states[i]);
    for (int64_t at = 0; at < n; at++) {
        k->index[k->inner] = tgi_llvm_const_i64(k->program, at);
        tgi_llvm_body_emit(k, phase);
        for (unsigned i = 0; i < p->n_reductions; i++)
            tgi_llvm_reduce_step(k, p->reductions[i], false, &states[i]);
    }
    k->index[k->inner] = NULL;
    for (unsigned i = 0; i < p->n_reductions; i++)
        tgi_llvm_set_reduced(
            k, p->reductions[i],
            tgi_llvm_reduce_finish(k, p->reductions[i], false, &states[i]));
}

static void columns(tgi_llvm_kernel *k)
{
    const int64_t n = k->loops->extent[k->inner];
    const int64_t n_columns = k->loops->extent[k->vector_axis];
    unsigned width;
    for (int64_t column = 0; column < n_columns; column += width) {
        width = most_lanes(k->phases[0].lanes, n_columns - column);
        k->e->lanes = width;
        k->index[k->vector_axis] = tgi_llvm_const_i64(k->program, column);
        for (unsigned phase = 0; phase < k->loops->n_phases; phase++) {
            const tgi_llvm_phase *p = &k->phases[phase];
            tgi_llvm_point_insts_emit(k, phase, false);
            if (p->n_reductions && n == 0)
                set_empty(k, p);
            else if (p->has_loop)
                reduce_rows(k, phase, n);
            tgi_llvm_point_insts_emit(k, phase, true);
            tgi_llvm_point_stores_emit(k, phase);
        }
    }
    k->index[k->vector_axis] = NULL;
}

/* -- Kernels --------------------------------------------------------------- */

static void all_points(tgi_llvm_kernel *k)
{
    const bool is_rows = k->loops->vectors == TGI_ROWS;
    const int n_axes = is_rows ? k->inner : k->vector_axis;
    int64_t at[TGI_LOOP_AXES] = {0};
    for (int axis = 0; axis < n_axes; axis++)
        if (k->loops->extent[axis] == 0)
            return;
    k->e->lanes = 1;
    tgi_llvm_kernel_insts_emit(k);
    for (int axis = 0; axis >= 0;) {
        for (axis = 0; axis < n_axes; axis++)
            k->index[axis] = tgi_llvm_const_i64(k->program, at[axis]);
        tgi_llvm_point_addresses_emit(k);
        if (is_rows)
            row(k);
        else
            columns(k);
        for (axis = n_axes - 1; axis >= 0; axis--) {
            if (++at[axis] < k->loops->extent[axis])
                break;
            at[axis] = 0;
        }
    }
}

bool tgi_llvm_straightline_kernel_emit(tgi_llvm_straightline *straightline,
                                       const tgi_kernel_loops *loops)
{
    tgi_llvm_kernel k;
    if (tgi_llvm_kernel_begin(&k, straightline->program, loops)) {
        k.function = straightline->function;
        k.frame = straightline->frame;
        k.table = straightline->table;
        k.thread = straightline->thread;
        k.entry = straightline->entry;
        k.buffers = straightline->buffers;
        k.straightline = straightline;
        all_points(&k);
    }
    tgi_llvm_kernel_end(&k);
    return !straightline->program->failure;
}

/* -- Regions --------------------------------------------------------------- */

/* Which buffers the steps first … end - 1 store to. */
static void note_stores(tgi_llvm_straightline *straightline, size_t first,
                        size_t end)
{
    const tgi_loops *loops = straightline->program->loops;
    for (size_t i = first; i < end; i++) {
        const tgi_kernel_loops *kernel = tgi_loops_kernel_at(loops, i);
        for (size_t j = 0; kernel && j < kernel->stores.n; j++)
            straightline->is_stored[tgi_buffer_id_index(
                kernel->accesses.data[kernel->stores.data[j].access].buffer)] =
                true;
    }
}

tgi_llvm_straightline *tgi_llvm_straightline_begin(tgi_llvm_entry *entry,
                                                   size_t first, size_t end)
{
    tgi_llvm_program *program = entry->k.program;
    const size_t n = program->loops->buffers.n;
    const size_t bytes = sizeof(tgi_llvm_straightline) +
                         n * (sizeof(LLVMValueRef) +
                              sizeof(tgi_llvm_forwarded *) + 2 * sizeof(bool));
    tgi_llvm_straightline *straightline = program->alloc(bytes);
    if (!straightline) {
        program->is_out_of_memory = true;
        tgi_llvm_fail(program, "out of memory");
        return NULL;
    }
    memset(straightline, 0, bytes);
    straightline->program = program;
    straightline->function = entry->k.function;
    straightline->frame = entry->frame;
    straightline->table = entry->k.table;
    straightline->thread = entry->thread;
    straightline->buffers = (LLVMValueRef *)(straightline + 1);
    straightline->forwarded =
        (tgi_llvm_forwarded **)(straightline->buffers + n);
    straightline->is_stored = (bool *)(straightline->forwarded + n);
    straightline->is_value = straightline->is_stored + n;
    note_stores(straightline, first, end);
    LLVMBuilderRef b = program->emitter.builder;
    straightline->entry = LLVMGetInsertBlock(b);
    LLVMBasicBlockRef block = LLVMAppendBasicBlockInContext(
        program->emitter.context, straightline->function, "straightline");
    LLVMBuildBr(b, block);
    LLVMPositionBuilderAtEnd(b, block);
    return straightline;
}

void tgi_llvm_straightline_end(tgi_llvm_straightline *straightline)
{
    tgi_llvm_program *program = straightline->program;
    for (size_t i = 0; i < program->loops->buffers.n; i++)
        if (straightline->forwarded[i])
            program->free(straightline->forwarded[i]);
    program->free(straightline);
}
