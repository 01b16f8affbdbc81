/* SPDX-License-Identifier: MIT */
/*
 * llvm_straightline.c - straight-line kernels: fully unrolled into the entry,
 * with constant positions. There are no loops, branches or masks: the tail of a
 * row takes vectors of half the lanes, then of a quarter, and so on.
 *
 * Row reductions follow the tree of reduce_tree.h. Lanes that a row does not
 * reach hold the start value. It is an identity, so they are not emitted; but
 * that of a matmul is +0, which turns -0 into +0, so it is added once.
 */
#include "llvm/straightline/llvm_straightline.h"
#include "llvm/emit/llvm_access.h"
#include "schedule/schedule.h"
#include "llvm/emit/llvm_byte_products.h"
#include "llvm/emit/llvm_debug.h"
#include "llvm/emit/llvm_emit.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_inst.h"
#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/emit/llvm_program.h"
#include "llvm/emit/llvm_store_forwarding.h"
#include "llvm/kernel/llvm_kernel.h"
#include "llvm/reduce/llvm_reduce.h"
#include "llvm/loops/llvm_phases.h"
#include "llvm/loops/llvm_reduction.h"

#include <assert.h>
#include <string.h>

/* -- Row reductions -------------------------------------------------------- */

/* Consecutive lanes of the reduction tree. */
typedef struct tree_part {
    LLVMValueRef value;  /* NULL: start values */
    bool has_added_zero; /* matmul: it is known not to be -0 */
} tree_part;

static bool is_matmul_reduction(const tgi_llvm_kernel *k, uint32_t reduction)
{
    return k->loops->reductions.data[reduction].op == TGI_OP_MATMUL;
}

/* Lanes first … first + n - 1 of a vector of `width`. */
static LLVMValueRef extract_lanes(tgi_llvm_kernel *k, LLVMValueRef vector,
                                  unsigned width, unsigned first, unsigned n)
{
    LLVMValueRef order[TGI_MAX_LANES];
    if (n == width)
        return vector;
    for (unsigned i = 0; i < n; i++)
        order[i] = tgi_llvm_lane_index(k->program, first + i);
    if (n == 1)
        return LLVMBuildExtractElement(k->b, vector, order[0], "");
    return LLVMBuildShuffleVector(k->b, vector,
                                  LLVMGetPoison(LLVMTypeOf(vector)),
                                  LLVMConstVector(order, n), "");
}

/* Accumulates elements in their lanes. */
static void accumulate(tgi_llvm_kernel *k, uint32_t reduction, LLVMValueRef x,
                       LLVMValueRef other, tree_part *to)
{
    if (!is_matmul_reduction(k, reduction)) {
        to->value =
            to->value ? tgi_llvm_reduce_combine(k, reduction, to->value, x) : x;
        return;
    }
    tgi_llvm_accumulator state = {.part = {to->value}};
    if (!to->value)
        tgi_llvm_reduce_start(k, reduction, false, &state);
    const tgi_emitted in[] = {x, other, state.part[0]};
    to->value = tgi_llvm_product_step(
        k->e, &k->loops->reductions.data[reduction], in);
}

static void combine_lanes(tgi_llvm_kernel *k, uint32_t reduction,
                          tree_part *left, const tree_part *right)
{
    LLVMValueRef other = right->value;
    if (!left->value)
        return; /* so are all lanes to the right */
    if (!other) {
        if (!is_matmul_reduction(k, reduction) || left->has_added_zero)
            return;
        tgi_llvm_accumulator start;
        tgi_llvm_reduce_start(k, reduction, false, &start);
        other = start.part[0];
    }
    left->has_added_zero |= right->has_added_zero || !right->value;
    left->value = tgi_llvm_reduce_combine(k, reduction, left->value, other);
}

/* -- Widths ---------------------------------------------------------------- */

/* Lanes of a vector of at most n elements: a power of two, or three, which
   occupy a vector of four. */
static unsigned max_lanes(unsigned width, int64_t n)
{
    if (n == 3 && width >= 4)
        return 3;
    while (width > n)
        width /= 2;
    return width;
}

/* Lanes of the next vector of a row with `left` elements left. */
static unsigned next_width(const tgi_llvm_kernel *k, unsigned phase,
                           int64_t left)
{
    const unsigned run = k->schedule->phases[phase].keeps_operand_widths
                             ? tgi_llvm_forwarded_run(k, phase)
                             : TGI_MAX_LANES;
    const int64_t max = left < run ? left : run;
    return max_lanes(tgi_phase_lanes(&k->schedule->phases[phase]), max);
}

/* True if next_width is the same for all of a row but its tail. */
static bool has_uniform_width(tgi_llvm_kernel *k, unsigned phase, int64_t n)
{
    const tgi_phase_schedule *p = &k->schedule->phases[phase];
    bool is_uniform = true;
    for (int64_t at = 0; p->keeps_operand_widths && is_uniform && at < n;
         at += tgi_phase_lanes(p)) {
        k->index[k->schedule->inner] = tgi_llvm_const_i64(k->program, at);
        is_uniform = tgi_llvm_forwarded_run(k, phase) >= tgi_phase_lanes(p);
    }
    return is_uniform;
}

/* Emits the reductions of a phase, of a row of n > 0 elements. Each part of the
   tree has part_lanes lanes, of which a vector holds a whole number. */
static void emit_row_reduction(tgi_llvm_kernel *k, unsigned phase, int64_t n)
{
    const tgi_phase_schedule *p = &k->schedule->phases[phase];
    const unsigned tree_lanes = tgi_phase_tree_lanes(p);
    unsigned part_lanes =
        tgi_phase_lanes(p) < tree_lanes ? tgi_phase_lanes(p) : tree_lanes;
    tree_part parts[TGI_MAX_PHASE_REDUCTIONS][TGI_LANES_4] = {{{NULL, false}}};
    if (n % part_lanes || !has_uniform_width(k, phase, n))
        part_lanes = 1;
    unsigned width;
    for (int64_t at = 0; at < n; at += width) {
        k->index[k->schedule->inner] = tgi_llvm_const_i64(k->program, at);
        width = next_width(k, phase, n - at);
        k->e->lanes = width;
        tgi_llvm_body_emit(k, phase);
        for (unsigned i = 0; i < p->n_reductions; i++) {
            const uint32_t number = p->reductions[i];
            const tgi_reduction *r = &k->loops->reductions.data[number];
            k->e->lanes = width;
            LLVMValueRef x = tgi_llvm_value_of(k, r->value), other = NULL;
            if (r->other)
                other = tgi_llvm_value_of(k, r->other);
            k->e->lanes = part_lanes;
            for (unsigned lane = 0; lane < width; lane += part_lanes)
                accumulate(
                    k, number, extract_lanes(k, x, width, lane, part_lanes),
                    other ? extract_lanes(k, other, width, lane, part_lanes)
                          : NULL,
                    &parts[i][((unsigned)at + lane) % tree_lanes / part_lanes]);
        }
    }
    k->index[k->schedule->inner] = NULL;
    for (unsigned i = 0; i < p->n_reductions; i++) {
        const uint32_t number = p->reductions[i];
        k->e->lanes = part_lanes;
        for (unsigned half = tree_lanes / part_lanes / 2; half > 0; half /= 2)
            for (unsigned j = 0; j < half; j++)
                combine_lanes(k, number, &parts[i][j], &parts[i][j + half]);
        LLVMValueRef result =
            tgi_llvm_horizontal_reduce(k, number, &parts[i][0].value, 1);
        k->e->lanes = 1;
        tgi_llvm_set_reduced(k, number, result);
    }
}

/* -- Points ---------------------------------------------------------------- */

static void emit_map(tgi_llvm_kernel *k, unsigned phase, int64_t n)
{
    unsigned width;
    for (int64_t at = 0; at < n; at += width) {
        k->index[k->schedule->inner] = tgi_llvm_const_i64(k->program, at);
        width = next_width(k, phase, n - at);
        k->e->lanes = width;
        tgi_llvm_body_emit(k, phase);
    }
    k->index[k->schedule->inner] = NULL;
}

/* The loop of a phase along a row. */
static void emit_row_loop(tgi_llvm_kernel *k, unsigned phase, void *user)
{
    const tgi_phase_schedule *p = &k->schedule->phases[phase];
    const int64_t n = k->loops->extent[k->schedule->inner];
    (void)user;
    LLVMValueRef zero = tgi_llvm_const_i64(k->program, 0);
    if (n == 0 && p->n_reductions)
        tgi_llvm_reduction_emit(k, phase, zero, zero);
    else if (p->n_reductions)
        emit_row_reduction(k, phase, n);
    else
        emit_map(k, phase, n);
}

static void emit_columns(tgi_llvm_kernel *k)
{
    LLVMValueRef n =
        tgi_llvm_const_i64(k->program, k->loops->extent[k->schedule->inner]);
    const int64_t n_columns = k->loops->extent[k->schedule->vector_axis];
    unsigned width;
    for (int64_t column = 0; column < n_columns; column += width) {
        width = max_lanes(tgi_phase_lanes(&k->schedule->phases[0]),
                          n_columns - column);
        k->e->lanes = width;
        k->index[k->schedule->vector_axis] =
            tgi_llvm_const_i64(k->program, column);
        tgi_llvm_point_emit(k, tgi_llvm_const_i64(k->program, 0), n);
    }
    k->index[k->schedule->vector_axis] = NULL;
}

/* -- Kernels --------------------------------------------------------------- */

static void emit_points(tgi_llvm_kernel *k)
{
    const bool is_rows = k->loops->vectors == TGI_ROWS;
    const int n_axes = is_rows ? k->schedule->inner : k->schedule->vector_axis;
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
            tgi_llvm_phases_emit(k, emit_row_loop, NULL);
        else
            emit_columns(k);
        for (axis = n_axes - 1; axis >= 0; axis--) {
            if (++at[axis] < k->loops->extent[axis])
                break;
            at[axis] = 0;
        }
    }
}

bool tgi_llvm_straightline_kernel_emit(tgi_llvm_straightline *group,
                                       const tgi_kernel_loops *loops)
{
    tgi_llvm_kernel k;
    if (tgi_llvm_kernel_begin(&k, group->program, loops)) {
        k.function = group->function;
        k.frame = group->frame;
        k.table = group->table;
        k.thread = group->thread;
        k.entry = group->entry;
        k.buffers = group->buffers;
        k.straightline = group;
        LLVMMetadataRef before =
            tgi_llvm_debug_set(k.program, loops->main_site);
        emit_points(&k);
        tgi_llvm_debug_restore(k.program, before);
    }
    tgi_llvm_kernel_end(&k);
    return !group->program->failure;
}

/* -- Groups ---------------------------------------------------------------- */

/* Records the buffers that steps first … end - 1 store to. */
static void record_stores(tgi_llvm_straightline *group, size_t first,
                          size_t end)
{
    const tgi_loops *loops = group->program->loops;
    for (size_t i = first; i < end; i++) {
        const tgi_kernel_loops *kernel = tgi_loops_kernel_at(loops, i);
        for (size_t j = 0; kernel && j < kernel->stores.n; j++) {
            const uint32_t buffer = tgi_buffer_id_index(
                kernel->accesses.data[kernel->stores.data[j].access].buffer);
            group->is_stored[buffer] = true;
        }
    }
}

tgi_llvm_straightline *tgi_llvm_straightline_begin(tgi_llvm_kernel *entry,
                                                   size_t first, size_t end)
{
    tgi_llvm_program *program = entry->program;
    const size_t n = program->loops->buffers.n;
    const size_t bytes = sizeof(tgi_llvm_straightline) +
                         n * (sizeof(LLVMValueRef) +
                              sizeof(tgi_llvm_forwarded *) + 2 * sizeof(bool));
    tgi_llvm_straightline *group = program->alloc(bytes);
    if (!group) {
        tgi_llvm_fail_memory(program);
        return NULL;
    }
    memset(group, 0, bytes);
    group->program = program;
    group->function = entry->function;
    group->frame = entry->frame;
    group->table = entry->table;
    group->thread = entry->thread;
    group->buffers = (LLVMValueRef *)(group + 1);
    group->forwarded = (tgi_llvm_forwarded **)(group->buffers + n);
    group->is_stored = (bool *)(group->forwarded + n);
    group->in_registers = group->is_stored + n;
    record_stores(group, first, end);
    LLVMBuilderRef b = program->emitter.builder;
    group->entry = LLVMGetInsertBlock(b);
    LLVMBasicBlockRef block = LLVMAppendBasicBlockInContext(
        program->emitter.context, group->function, "group");
    LLVMBuildBr(b, block);
    LLVMPositionBuilderAtEnd(b, block);
    return group;
}

void tgi_llvm_straightline_end(tgi_llvm_straightline *group)
{
    tgi_llvm_program *program = group->program;
    for (size_t i = 0; i < program->loops->buffers.n; i++)
        if (group->forwarded[i])
            program->free(group->forwarded[i]);
    program->free(group);
}
