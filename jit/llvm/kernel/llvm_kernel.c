/* SPDX-License-Identifier: MIT */
/*
 * llvm_kernel.c - a function for each kernel:
 *
 *     void kernel(frame, table, begin, end, thread)
 *
 * runs work items begin … end - 1. A work item is
 *   - a point of the outer axes;
 *   - in a COLUMNS kernel, several columns; in a matmul also a block of rows;
 *   - in a kernel without reductions, TGI_ITEM_ELEMENTS elements of a row;
 *     consecutive items of a row are one loop; in row order, so are those of
 *     several columns;
 *   - in a transpose, a column of tiles.
 * The indices of the first item are found by division; later ones are counted
 * like an odometer.
 */
#include "llvm/kernel/llvm_kernel.h"
#include "llvm/kernel/llvm_columns.h"
#include "llvm/emit/llvm_access.h"
#include "schedule/schedule.h"
#include "llvm/emit/llvm_cache_hints.h"
#include "llvm/emit/llvm_debug.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_frame.h"
#include "llvm/emit/llvm_inst.h"
#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/emit/llvm_offsets.h"
#include "llvm/emit/llvm_program.h"
#include "llvm/emit/llvm_target.h"
#include "llvm/loops/llvm_fission.h"
#include "llvm/loops/llvm_non_temporal.h"
#include "llvm/loops/llvm_phases.h"
#include "llvm/loops/llvm_transpose.h"

#include <assert.h>
#include <string.h>

/* -- Work items ------------------------------------------------------------ */

/* Work items along an axis. */
static LLVMValueRef n_items_along(tgi_llvm_kernel *k, int axis,
                                  int64_t item_extent)
{
    return item_extent
               ? tgi_llvm_ceil_div(k->program,
                                   tgi_llvm_dim(k, k->loops->extent[axis]),
                                   item_extent)
               : tgi_llvm_const_i64(k->program, 1);
}

typedef struct odometer {
    int n; /* axes, the inner one included */
    LLVMValueRef extent[TGI_LOOP_AXES];
    LLVMValueRef index[TGI_LOOP_AXES];
} odometer;

/* Row-major indices of a work item. */
static void delinearise(tgi_llvm_kernel *k, odometer *o, LLVMValueRef item)
{
    for (int axis = o->n - 1; axis >= 0; axis--) {
        int64_t n;
        LLVMValueRef extent = o->extent[axis];
        if (tgi_llvm_is_const_i64(extent, &n) && n == 1) {
            o->index[axis] = tgi_llvm_const_i64(k->program, 0);
        } else if (axis == 0) {
            o->index[axis] = item;
        } else {
            o->index[axis] = LLVMBuildURem(k->b, item, extent, "");
            item = LLVMBuildUDiv(k->b, item, extent, "");
        }
    }
}

/* Increments the axes first … 0, the last one first, if `carry` is set. */
static void increment_odometer(tgi_llvm_kernel *k, const odometer *o,
                               LLVMValueRef carry, int first,
                               LLVMValueRef *next)
{
    LLVMBuilderRef b = k->b;
    for (int axis = first; axis >= 0; axis--) {
        int64_t n;
        if (tgi_llvm_is_const_i64(o->extent[axis], &n) && n == 1) {
            next[axis] = o->index[axis];
            continue;
        }
        LLVMValueRef moved =
            LLVMBuildAdd(b, o->index[axis],
                         LLVMBuildZExt(b, carry, k->program->i64, ""), "");
        carry = LLVMBuildICmp(b, LLVMIntEQ, moved, o->extent[axis], "");
        next[axis] = LLVMBuildSelect(
            b, carry, tgi_llvm_const_i64(k->program, 0), moved, "");
    }
}

static void emit_item(tgi_llvm_kernel *k, const odometer *o)
{
    if (k->schedule->tiles.rows) {
        tgi_llvm_transpose_item_emit(k, o->index[k->schedule->tiles.row_axis],
                                     o->index[k->schedule->inner]);
        return;
    }
    if (!k->schedule->matmul.mr)
        tgi_llvm_point_addresses_emit(k);
    if (k->loops->vectors == TGI_COLUMNS) {
        tgi_llvm_columns_emit(k, o->index[k->schedule->vector_axis]);
        return;
    }
    LLVMValueRef from = tgi_llvm_const_i64(k->program, 0);
    LLVMValueRef to = tgi_llvm_dim(k, k->loops->extent[k->schedule->inner]);
    if (k->schedule->split_block) {
        LLVMValueRef size =
            tgi_llvm_const_i64(k->program, k->schedule->split_block);
        from = tgi_llvm_mul(k->program, o->index[k->schedule->inner - 1], size);
        to = tgi_llvm_min(k->program, to, tgi_llvm_add(k->program, from, size));
    }
    tgi_llvm_point_emit(k, from, to);
}

/* The axis along which consecutive items are one loop; -1: none. */
static int joined_axis(const tgi_schedule *s)
{
    if (tgi_schedule_is_row_order(s))
        return s->vector_axis;
    return s->item_extent[s->inner] && !s->tiles.rows ? s->inner : -1;
}

/* Consecutive items, from `item` on, that lie in one row. */
static LLVMValueRef items_of_row(tgi_llvm_kernel *k, const odometer *o,
                                 int axis, LLVMValueRef item)
{
    return tgi_llvm_min(
        k->program, LLVMBuildSub(k->b, o->extent[axis], o->index[axis], ""),
        LLVMBuildSub(k->b, k->end, item, ""));
}

/* n items of a row, from number `first` on. */
static void emit_row_items(tgi_llvm_kernel *k, int axis, LLVMValueRef first,
                           LLVMValueRef n)
{
    LLVMValueRef item_size =
        tgi_llvm_const_i64(k->program, k->schedule->item_extent[axis]);
    LLVMValueRef from = tgi_llvm_mul(k->program, first, item_size);
    LLVMValueRef to =
        tgi_llvm_mul(k->program, tgi_llvm_add(k->program, first, n), item_size);
    to = tgi_llvm_min(k->program, to,
                      tgi_llvm_dim(k, k->loops->extent[axis]));
    tgi_llvm_point_addresses_emit(k);
    if (axis == k->schedule->inner)
        tgi_llvm_point_emit(k, from, to);
    else
        tgi_llvm_row_order_emit(k, from, to);
}

static void set_point(tgi_llvm_kernel *k, const odometer *o)
{
    const int interchanged = tgi_schedule_interchanged_axis(k->schedule);
    for (int axis = 0; axis < k->schedule->inner; axis++)
        k->index[axis] =
            axis == k->schedule->vector_axis || axis == interchanged
                ? NULL
                : o->index[axis];
    if (interchanged >= 0)
        k->interchanged_item = o->index[interchanged];
}

/* True if the first n_axes have one item each. */
static bool has_one_item(const odometer *o, int n_axes)
{
    int64_t n;
    for (int axis = 0; axis < n_axes; axis++)
        if (!tgi_llvm_is_const_i64(o->extent[axis], &n) || n != 1)
            return false;
    return true;
}

static void emit_items(tgi_llvm_kernel *k)
{
    const int64_t *item_extent = k->schedule->item_extent;
    const int joined = joined_axis(k->schedule);
    LLVMTypeRef i64 = k->program->i64;
    odometer o = {.n = k->schedule->inner + 1};
    for (int axis = 0; axis < o.n; axis++)
        o.extent[axis] = n_items_along(k, axis, item_extent[axis]);
    delinearise(k, &o, k->begin);
    if (joined >= 0 && has_one_item(&o, joined)) {
        set_point(k, &o);
        emit_row_items(k, joined, k->begin,
                       LLVMBuildSub(k->b, k->end, k->begin, ""));
        return;
    }
    if (has_one_item(&o, o.n)) {
        set_point(k, &o);
        emit_item(k, &o);
        return;
    }

    LLVMBasicBlockRef before = LLVMGetInsertBlock(k->b);
    LLVMBasicBlockRef block = tgi_llvm_block_append(k, "item");
    LLVMBasicBlockRef after = tgi_llvm_block_append(k, "done");
    LLVMBuildBr(k->b, block);
    LLVMPositionBuilderAtEnd(k->b, block);
    LLVMValueRef item = LLVMBuildPhi(k->b, i64, "");
    LLVMAddIncoming(item, &k->begin, &before, 1);
    LLVMValueRef phi[TGI_LOOP_AXES] = {NULL};
    for (int axis = 0; axis < o.n; axis++) {
        int64_t n;
        if (tgi_llvm_is_const_i64(o.index[axis], &n))
            continue;
        phi[axis] = LLVMBuildPhi(k->b, i64, "");
        LLVMAddIncoming(phi[axis], &o.index[axis], &before, 1);
        o.index[axis] = phi[axis];
    }
    set_point(k, &o);

    LLVMValueRef next[TGI_LOOP_AXES],
        n_done = tgi_llvm_const_i64(k->program, 1);
    LLVMValueRef carry = LLVMConstInt(k->program->bit, 1, false);
    if (joined >= 0) {
        n_done = items_of_row(k, &o, joined, item);
        emit_row_items(k, joined, o.index[joined], n_done);
        next[joined] = tgi_llvm_const_i64(k->program, 0);
        increment_odometer(k, &o, carry, joined - 1, next);
    } else {
        emit_item(k, &o);
        increment_odometer(k, &o, carry, k->schedule->inner, next);
    }
    LLVMValueRef next_item = tgi_llvm_add(k->program, item, n_done);
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(k->b);
    LLVMBuildCondBr(k->b,
                    LLVMBuildICmp(k->b, LLVMIntSLT, next_item, k->end, ""),
                    block, after);
    LLVMAddIncoming(item, &next_item, &latch, 1);
    for (int axis = 0; axis < o.n; axis++)
        if (phi[axis])
            LLVMAddIncoming(phi[axis], &next[axis], &latch, 1);
    LLVMPositionBuilderAtEnd(k->b, after);
}

/* -- Functions ------------------------------------------------------------- */

static tgi_llvm_debug_place begin_function(tgi_llvm_kernel *k)
{
    tgi_llvm_program *program = k->program;
    k->function =
        LLVMAddFunction(k->e->module, k->loops->name, program->kernel_type);
    LLVMSetLinkage(k->function, LLVMInternalLinkage);
    tgi_llvm_target_set_function(program->target, k->function,
                                 tgi_llvm_vector_bits(k));
    static const char noinline_name[] = "noinline";
    LLVMAddAttributeAtIndex(
        k->function, LLVMAttributeFunctionIndex,
        LLVMCreateEnumAttribute(k->e->context,
                                LLVMGetEnumAttributeKindForName(
                                    noinline_name, sizeof(noinline_name) - 1),
                                0));
    const tgi_llvm_debug_place before =
        tgi_llvm_debug_enter(program, k->function, k->loops->main_site);
    k->frame = LLVMGetParam(k->function, 0);
    k->table = LLVMGetParam(k->function, 1);
    k->begin = LLVMGetParam(k->function, 2);
    k->end = LLVMGetParam(k->function, 3);
    k->thread = LLVMGetParam(k->function, 4);
    k->entry = tgi_llvm_block_append(k, "entry");
    LLVMBasicBlockRef first = tgi_llvm_block_append(k, "first");
    LLVMPositionBuilderAtEnd(k->b, k->entry);
    LLVMBuildBr(k->b, first);
    LLVMPositionBuilderAtEnd(k->b, first);
    return before;
}

static void define_function(tgi_llvm_kernel *k)
{
    const tgi_llvm_debug_place before = begin_function(k);
    LLVMBasicBlockRef block = tgi_llvm_position_at_entry(k);
    k->e->lanes = 1;
    tgi_llvm_kernel_insts_emit(k);
    tgi_llvm_position_restore(k, block);
    tgi_llvm_non_temporal_begin(k);
    tgi_llvm_offset_tables_emit(k);
    emit_items(k);
    tgi_llvm_non_temporal_fence(k);
    LLVMBuildRetVoid(k->b);
    tgi_llvm_debug_leave(k->program, before);
}

static bool make_arrays(tgi_llvm_kernel *k)
{
    const tgi_kernel_loops *loops = k->loops;
    const size_t n_values = loops->insts.n + 1;
    const size_t n_accesses = loops->accesses.n;
    const size_t n_buffers = k->program->loops->buffers.n;
    const size_t bytes = n_values * (sizeof(*k->values) + sizeof(*k->sites)) +
                         (3 * n_accesses + n_buffers + 2 * loops->stores.n +
                          loops->n_phases + loops->offsets.n) *
                             sizeof(LLVMValueRef);
    k->memory = k->program->alloc(bytes);
    if (!k->memory)
        return false;
    memset(k->memory, 0, bytes);
    k->values = k->memory;
    k->point_bases = (LLVMValueRef *)(k->values + n_values);
    k->matmul.row_starts = k->point_bases + n_accesses;
    k->tile_memory = k->matmul.row_starts + n_accesses;
    k->buffers = k->tile_memory + n_accesses;
    k->matmul.partials = k->buffers + n_buffers;
    k->matmul.column_partials = k->matmul.partials + loops->stores.n;
    k->non_temporal_phases = k->matmul.column_partials + loops->stores.n;
    k->offset_tables = k->non_temporal_phases + loops->n_phases;
    k->sites = (const tgi_site_chain **)(void *)(k->offset_tables +
                                                 loops->offsets.n);
    return true;
}

bool tgi_llvm_kernel_begin(tgi_llvm_kernel *k, tgi_llvm_program *program,
                           const tgi_kernel_loops *loops)
{
    *k = (tgi_llvm_kernel){
        .program = program,
        .e = &program->emitter,
        .b = program->emitter.builder,
    };
    k->schedule = loops->schedule;
    k->loops = k->schedule->loops;
    if (!make_arrays(k))
        return tgi_llvm_fail_memory(program);
    if (program->debug)
        tgi_llvm_debug_find_sites(k);
    return true;
}

void tgi_llvm_kernel_end(tgi_llvm_kernel *k)
{
    if (k->memory)
        k->program->free(k->memory);
}

bool tgi_llvm_kernel_define(tgi_llvm_program *program,
                            const tgi_kernel_loops *loops,
                            LLVMValueRef *out_function)
{
    *out_function = NULL;
    if (loops->is_straightline)
        return true;
    tgi_llvm_kernel k;
    if (tgi_llvm_kernel_begin(&k, program, loops))
        define_function(&k);
    *out_function = k.function;
    tgi_llvm_kernel_end(&k);
    return !program->failure;
}
