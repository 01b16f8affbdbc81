/* SPDX-License-Identifier: MIT */
/*
 * llvm_kernel.c - a function for each kernel:
 *
 *     void kernel(frame, begin, end, thread)
 *
 * does its items begin … end - 1. An item is a point of the outer axes (of
 * COLUMNS: a chunk of columns); of a kernel without reductions it is a unit
 * of TGI_LLVM_ITEM_ELEMENTS elements along the inner axis, and all units of a row that
 * a thread has are one loop; if it goes by tiles, it is a stack of them. The
 * point of the first item is found by division; from there indices move as an
 * odometer does.
 */
#include "llvm/llvm_kernel.h"
#include "llvm/llvm_access.h"
#include "llvm/llvm_analysis.h"
#include "llvm/llvm_columns.h"
#include "llvm/llvm_cost.h"
#include "llvm/llvm_fission.h"
#include "llvm/llvm_flow.h"
#include "llvm/llvm_frame.h"
#include "llvm/llvm_inst.h"
#include "llvm/llvm_kernel_state.h"
#include "llvm/llvm_non_temporal.h"
#include "llvm/llvm_program.h"
#include "llvm/llvm_rows.h"
#include "llvm/llvm_target.h"
#include "llvm/llvm_transpose.h"

#include <assert.h>
#include <string.h>

/* -- Items ----------------------------------------------------------------- */

/* True if rows can be cut anywhere: nothing is done once for a whole row. */
static bool has_units(const tgi_llvm_kernel *k)
{
    const tgi_kernel_loops *loops = k->loops;
    if (loops->vectors != TGI_ROWS || loops->n_phases != 1 ||
        loops->reductions.n > 0 || !k->analysis.phases[0].has_loop)
        return false;
    for (size_t i = 0; i < loops->stores.n; i++)
        if (loops->stores.data[i].level != TGI_LEVEL_INNER)
            return false;
    return true;
}

/* How an axis is cut; see tgi_llvm_kernel_info. */
static int64_t piece_of(const tgi_llvm_kernel *k, int axis, bool units)
{
    if (axis == k->analysis.inner)
        return units ? TGI_LLVM_ITEM_ELEMENTS : 0;
    if (axis == k->analysis.vector_axis)
        return tgi_llvm_item_columns(&k->analysis);
    if (k->analysis.matmul.mr && axis == k->analysis.matmul.row_axis)
        return k->analysis.matmul.item_rows;
    return k->analysis.transpose && axis == k->analysis.transpose->row_axis
               ? k->analysis.transpose->item_rows
               : 1;
}

/* How far an axis of items goes. */
static LLVMValueRef items_along(tgi_llvm_kernel *k, int axis, int64_t piece)
{
    return piece ? tgi_llvm_ceil_div(k->program,
                                     tgi_llvm_dim(k, k->loops->extent[axis]),
                                     piece)
                 : tgi_llvm_const_i64(k->program, 1);
}

typedef struct odometer {
    int n; /* axes, the inner one included */
    LLVMValueRef extent[TGI_LOOP_AXES];
    LLVMValueRef index[TGI_LOOP_AXES];
} odometer;

/* Row-major: the last axis moves first. */
static void decode(tgi_llvm_kernel *k, odometer *o, LLVMValueRef item)
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

/* On by one along the axes before the last; `carry` tells if at all. */
static void advance(tgi_llvm_kernel *k, const odometer *o, LLVMValueRef carry,
                    int first, LLVMValueRef *next)
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

/* Inner elements of a point, if reductions are split; else 0. */
static int64_t block_of_split(const tgi_llvm_kernel *k)
{
    if (!k->analysis.is_split)
        return 0;
    if (k->loops->vectors == TGI_COLUMNS)
        return TGI_BLOCK_ROWS;
    unsigned phase = 0;
    while (k->analysis.phases[phase].n_reductions == 0)
        phase++;
    return tgi_llvm_block_elements(&k->analysis, &k->analysis.phases[phase]);
}

static void run_item(tgi_llvm_kernel *k, const odometer *o)
{
    if (k->analysis.transpose) {
        tgi_llvm_transpose_item_emit(k,
                                     o->index[k->analysis.transpose->row_axis],
                                     o->index[k->analysis.inner]);
        return;
    }
    if (!k->analysis.matmul.mr)
        tgi_llvm_point_addresses_emit(k);
    if (k->loops->vectors == TGI_COLUMNS) {
        tgi_llvm_columns_emit(k, o->index[k->analysis.vector_axis]);
        return;
    }
    LLVMValueRef from = tgi_llvm_const_i64(k->program, 0);
    LLVMValueRef to = tgi_llvm_dim(k, k->loops->extent[k->analysis.inner]);
    if (k->analysis.is_split) {
        LLVMValueRef size = tgi_llvm_const_i64(k->program, block_of_split(k));
        from = tgi_llvm_mul(k->program, o->index[k->analysis.inner - 1], size);
        to = tgi_llvm_min(k->program, to, tgi_llvm_add(k->program, from, size));
    }
    tgi_llvm_rows_emit(k, from, to);
}

/* How many units of a row are among the items. */
static LLVMValueRef units_of_row(tgi_llvm_kernel *k, const odometer *o,
                                 LLVMValueRef item)
{
    return tgi_llvm_min(k->program,
                        LLVMBuildSub(k->b, o->extent[k->analysis.inner],
                                     o->index[k->analysis.inner], ""),
                        LLVMBuildSub(k->b, k->end, item, ""));
}

/* n units of a row, from the one of that number on. */
static void run_units(tgi_llvm_kernel *k, LLVMValueRef first, LLVMValueRef n)
{
    LLVMValueRef unit = tgi_llvm_const_i64(k->program, TGI_LLVM_ITEM_ELEMENTS);
    LLVMValueRef from = tgi_llvm_mul(k->program, first, unit);
    LLVMValueRef to =
        tgi_llvm_mul(k->program, tgi_llvm_add(k->program, first, n), unit);
    to = tgi_llvm_min(k->program, to,
                      tgi_llvm_dim(k, k->loops->extent[k->analysis.inner]));
    tgi_llvm_point_addresses_emit(k);
    tgi_llvm_rows_emit(k, from, to);
}

static void set_point(tgi_llvm_kernel *k, const odometer *o)
{
    for (int axis = 0; axis < k->analysis.inner; axis++)
        k->index[axis] =
            axis == k->analysis.vector_axis ? NULL : o->index[axis];
}

/* True if the body is done in several strips. */
static bool is_cut(const tgi_llvm_kernel *k)
{
    return tgi_llvm_can_fission(&k->analysis, 0) &&
           tgi_llvm_needs_fission(&k->analysis, 0);
}

static bool is_one_row(const odometer *o)
{
    int64_t n;
    for (int axis = 0; axis < o->n - 1; axis++)
        if (!tgi_llvm_is_const_i64(o->extent[axis], &n) || n != 1)
            return false;
    return true;
}

static void run_items(tgi_llvm_kernel *k, const tgi_llvm_kernel_info *info)
{
    const bool units =
        info->item_extent[k->analysis.inner] && !k->analysis.transpose;
    LLVMTypeRef i64 = k->program->i64;
    odometer o = {.n = k->analysis.inner + 1};
    for (int axis = 0; axis < o.n; axis++)
        o.extent[axis] = items_along(k, axis, info->item_extent[axis]);
    decode(k, &o, k->begin);
    /* Inside a loop over items LLVM leaves constants of strips where they are
       used; without it, it keeps them on the stack, and Black-Scholes takes a
       tenth longer. */
    if (units && is_one_row(&o) && !is_cut(k)) {
        set_point(k, &o);
        run_units(k, k->begin, LLVMBuildSub(k->b, k->end, k->begin, ""));
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
    if (units) {
        n_done = units_of_row(k, &o, item);
        run_units(k, o.index[k->analysis.inner], n_done);
        next[k->analysis.inner] = tgi_llvm_const_i64(k->program, 0);
        advance(k, &o, carry, k->analysis.inner - 1, next);
    } else {
        run_item(k, &o);
        advance(k, &o, carry, k->analysis.inner, next);
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

static void begin_function(tgi_llvm_kernel *k)
{
    const tgi_llvm_program *program = k->program;
    k->function =
        LLVMAddFunction(k->e->module, k->loops->name, program->kernel_type);
    LLVMSetLinkage(k->function, LLVMInternalLinkage);
    tgi_llvm_target_set_function(program->target, k->function);
    static const char noinline_name[] = "noinline";
    LLVMAddAttributeAtIndex(
        k->function, LLVMAttributeFunctionIndex,
        LLVMCreateEnumAttribute(k->e->context,
                                LLVMGetEnumAttributeKindForName(
                                    noinline_name, sizeof(noinline_name) - 1),
                                0));
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
}

static void define(tgi_llvm_kernel *k, tgi_llvm_kernel_info *out)
{
    *out = (tgi_llvm_kernel_info){
        .split_block = block_of_split(k),
        .cost = tgi_llvm_kernel_cost(&k->analysis),
    };
    for (int axis = 0; axis <= k->analysis.inner; axis++)
        out->item_extent[axis] = piece_of(k, axis, has_units(k));
    begin_function(k);
    out->function = k->function;
    LLVMBasicBlockRef block = tgi_llvm_position_at_entry(k);
    k->e->lanes = 1;
    tgi_llvm_kernel_insts_emit(k);
    tgi_llvm_position_restore(k, block);
    tgi_llvm_non_temporal_classify(k);
    run_items(k, out);
    tgi_llvm_non_temporal_fence(k);
    LLVMBuildRetVoid(k->b);
}

static bool make_arrays(tgi_llvm_kernel *k)
{
    const tgi_kernel_loops *loops = k->loops;
    const size_t n_values = loops->insts.n + 1;
    const size_t n_accesses = loops->accesses.n;
    const size_t n_buffers = k->program->loops->buffers.n;
    const size_t bytes =
        n_values * sizeof(*k->values) +
        (3 * n_accesses + n_buffers + 2 * loops->stores.n + loops->n_phases) *
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
    if (!tgi_llvm_analysis_init(&k->analysis, program, loops))
        return false;
    k->loops = k->analysis.loops;
    return make_arrays(k) || tgi_llvm_fail_memory(program);
}

void tgi_llvm_kernel_end(tgi_llvm_kernel *k)
{
    tgi_llvm_analysis_deinit(&k->analysis);
    if (k->memory)
        k->program->free(k->memory);
}

bool tgi_llvm_kernel_define(tgi_llvm_program *program,
                            const tgi_kernel_loops *loops,
                            tgi_llvm_kernel_info *out)
{
    tgi_llvm_kernel k;
    if (tgi_llvm_kernel_begin(&k, program, loops)) {
        if (loops->is_straightline)
            *out = (tgi_llvm_kernel_info){
                .cost = tgi_llvm_kernel_cost(&k.analysis)};
        else
            define(&k, out);
    }
    tgi_llvm_kernel_end(&k);
    return !program->failure;
}
