/* SPDX-License-Identifier: MIT */
/*
 * llvm_transpose.c - work items of kernels that go by transposed tiles
 * (choose_tiles.c): load tiles, run their rows, store tiles.
 */
#include "llvm/loops/llvm_transpose.h"
#include "llvm/emit/llvm_access.h"
#include "schedule/schedule.h"
#include "llvm/emit/llvm_cache_hints.h"
#include "llvm/emit/llvm_emit.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_frame.h"
#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/emit/llvm_program.h"
#include "llvm/emit/llvm_register_transpose.h"
#include "llvm/loops/llvm_phases.h"

static tg_dtype access_dtype(const tgi_llvm_kernel *k, size_t access)
{
    return tgi_loops_buffer(k->program->loops,
                            k->loops->accesses.data[access].buffer)
        ->dtype;
}

/* -- Tiles ----------------------------------------------------------------- */

/* First row and column of a tile, and its size. */
typedef struct tile_place {
    LLVMValueRef row, column, n_rows, n_columns;
} tile_place;

/* The memory that an access touches in a tile, as lines; `across` is the axis
   from one line to the next. */
static tgi_llvm_line_array lines_at(tgi_llvm_kernel *k, size_t number,
                                    const tile_place *at, int across)
{
    const tgi_access *access = &k->schedule->original->accesses.data[number];
    const int along = across == k->schedule->inner ? k->schedule->tiles.row_axis
                                                   : k->schedule->inner;
    k->index[k->schedule->tiles.row_axis] = at->row;
    k->index[k->schedule->inner] = at->column;
    const tgi_llvm_line_array lines = {
        .start = tgi_llvm_address_from_indices(k, access),
        .line = tgi_llvm_stride(k, access->stride[across]),
        .is_reversed = access->stride[along].is_negative};
    k->index[k->schedule->inner] = NULL;
    return lines;
}

static tgi_llvm_register_transpose begin_transpose(tgi_llvm_kernel *k,
                                                   size_t number)
{
    return (tgi_llvm_register_transpose){
        .k = k,
        .element = tgi_llvm_element_type(k->e, access_dtype(k, number)),
        .bytes = (unsigned)tgi_dtype_bytes((int)access_dtype(k, number))};
}

/* Copies a tile from its buffer, or back. */
static void copy_tile(tgi_llvm_kernel *k, size_t number, const tile_place *at,
                      bool is_load)
{
    const tgi_llvm_line_array memory =
        lines_at(k, number, at, k->schedule->inner);
    const tgi_llvm_line_array tile = {
        .start = k->tile_memory[number],
        .line = tgi_llvm_const_i64(k->program, TGI_ITEM_ELEMENTS)};
    tgi_llvm_register_transpose t = begin_transpose(k, number);
    t.from = is_load ? memory : tile;
    t.to = is_load ? tile : memory;
    t.n_lines = is_load ? at->n_columns : at->n_rows;
    t.n_elements = is_load ? at->n_rows : at->n_columns;
    t.prefetch_distance = is_load ? k->schedule->tiles.rows : 0;
    /* The inner loop runs along memory lines, so that each is finished at
       once. */
    tgi_llvm_register_transpose_emit(&t, is_load);
}

static void copy_tiles(tgi_llvm_kernel *k, const tile_place *at, bool is_load)
{
    for (size_t i = 0; i < k->loops->accesses.n; i++)
        if (k->schedule->tiles.uses[i] &
            (is_load ? TGI_IS_LOADED : TGI_IS_STORED))
            copy_tile(k, i, at, is_load);
}

/* Prefetches a row of the next tile for loads that are not transposed: rows are
   too far apart for hardware prefetchers. */
static void prefetch_next_tile(tgi_llvm_kernel *k, const tile_place *at)
{
    for (uint32_t i = 1; i < k->loops->insts.n; i++) {
        const tgi_inst *inst = &k->loops->insts.data[i];
        if (inst->kind != TGI_INST_LOAD)
            continue;
        const tgi_access *access = &k->loops->accesses.data[inst->number];
        if (k->schedule->tiles.uses[inst->number] || access->index ||
            access->stride[k->schedule->tiles.row_axis].distance == 0 ||
            access->stride[k->schedule->inner].distance != 1 ||
            access->stride[k->schedule->inner].is_negative)
            continue;
        LLVMValueRef rows = tgi_llvm_mul(
            k->program,
            tgi_llvm_stride(k, access->stride[k->schedule->tiles.row_axis]),
            tgi_llvm_const_i64(k->program, k->schedule->tiles.rows));
        k->index[k->schedule->inner] = at->column;
        LLVMValueRef next =
            LLVMBuildGEP2(k->b, tgi_llvm_element_type(k->e, inst->dtype),
                          tgi_llvm_address(k, access), &rows, 1, "");
        k->index[k->schedule->inner] = NULL;
        tgi_llvm_prefetch(
            k, next, TGI_ITEM_ELEMENTS * (int64_t)tgi_dtype_bytes(inst->dtype),
            false);
    }
}

static void emit_tile_rows(tgi_llvm_kernel *k, const tile_place *at)
{
    const tgi_llvm_program *program = k->program;
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, tgi_llvm_const_i64(program, 0), at->n_rows, 1,
                        NULL, 0);
    k->index[k->schedule->tiles.row_axis] =
        tgi_llvm_add(program, at->row, loop.index);
    tgi_llvm_point_addresses_emit(k);
    LLVMValueRef base = LLVMBuildSub(
        k->b,
        tgi_llvm_mul(program, loop.index,
                     tgi_llvm_const_i64(program, TGI_ITEM_ELEMENTS)),
        at->column, "");
    for (size_t i = 0; i < k->loops->accesses.n; i++)
        if (k->schedule->tiles.uses[i])
            k->point_bases[i] = base;
    prefetch_next_tile(k, at);
    tgi_llvm_point_emit(k, at->column,
                       tgi_llvm_add(program, at->column, at->n_columns));
    tgi_llvm_loop_end(k, &loop, NULL);
}

/* min(size, extent - at): the constant `size` if it divides a known extent. */
static LLVMValueRef clamp_to_extent(tgi_llvm_kernel *k, tgi_dim extent,
                                    LLVMValueRef at, int64_t size)
{
    LLVMValueRef full = tgi_llvm_const_i64(k->program, size);
    if (tgi_dim_is_known(extent) && extent % size == 0)
        return full;
    return tgi_llvm_min(k->program, full,
                        LLVMBuildSub(k->b, tgi_llvm_dim(k, extent), at, ""));
}

/* The transposed load of a kernel that only stores it along the inner axis;
   NULL: it does more, or its stores are non-temporal and need the whole lines
   of a tile. */
static const tgi_inst *find_pure_copy(const tgi_llvm_kernel *k)
{
    const tgi_kernel_loops *loops = k->schedule->original;
    const tgi_loop_store *store = &loops->stores.data[0];
    const tgi_inst *inst = &loops->insts.data[store->value];
    return loops->stores.n == 1 && !k->schedule->non_temporal_stores[0] &&
                   inst->kind == TGI_INST_LOAD &&
                   k->schedule->tiles.uses[inst->number] &&
                   loops->accesses.data[store->access]
                           .stride[k->schedule->inner]
                           .distance == 1
               ? inst
               : NULL;
}

/* Transposes from buffer to buffer, without a tile. */
static void copy_directly(tgi_llvm_kernel *k, const tgi_inst *load,
                          const tile_place *at)
{
    tgi_llvm_register_transpose t = begin_transpose(k, load->number);
    t.from = lines_at(k, load->number, at, k->schedule->inner);
    t.to = lines_at(k, k->loops->stores.data[0].access, at,
                    k->schedule->tiles.row_axis);
    t.n_lines = at->n_columns;
    t.n_elements = at->n_rows;
    t.prefetch_distance = k->schedule->tiles.rows;
    tgi_llvm_register_transpose_emit(&t, true);
}

static void emit_tile_of_size(tgi_llvm_kernel *k, const tile_place *at)
{
    const tgi_inst *copied = find_pure_copy(k);
    if (copied) {
        copy_directly(k, copied, at);
        return;
    }
    copy_tiles(k, at, true);
    emit_tile_rows(k, at);
    copy_tiles(k, at, false);
}

/* Emits a tile. Full tiles have code of their own, without tails, unless all
   tiles are full. */
static void emit_tile(tgi_llvm_kernel *k, const tile_place *at)
{
    tile_place full = *at;
    full.n_rows = tgi_llvm_const_i64(k->program, k->schedule->tiles.rows);
    full.n_columns = tgi_llvm_const_i64(k->program, TGI_ITEM_ELEMENTS);
    LLVMValueRef is_full = LLVMBuildAnd(
        k->b, LLVMBuildICmp(k->b, LLVMIntEQ, at->n_rows, full.n_rows, ""),
        LLVMBuildICmp(k->b, LLVMIntEQ, at->n_columns, full.n_columns, ""), "");
    tgi_llvm_branch branch;
    tgi_llvm_branch_begin(k, &branch, is_full);
    emit_tile_of_size(k, &full);
    tgi_llvm_branch_end(k, &branch);
    if (branch.is_unconditional)
        return;
    tgi_llvm_branch_begin(k, &branch, LLVMBuildNot(k->b, is_full, ""));
    emit_tile_of_size(k, at);
    tgi_llvm_branch_end(k, &branch);
}

static LLVMValueRef scale(tgi_llvm_kernel *k, LLVMValueRef block, int64_t size)
{
    return tgi_llvm_mul(k->program, block,
                        tgi_llvm_const_i64(k->program, size));
}

void tgi_llvm_transpose_item_emit(tgi_llvm_kernel *k, LLVMValueRef row_block,
                                  LLVMValueRef inner_block)
{
    const tgi_tiles *tiles = &k->schedule->tiles;
    const int64_t item_rows = k->schedule->item_extent[tiles->row_axis];
    const tgi_dim rows = k->loops->extent[tiles->row_axis];
    const tgi_dim columns = k->loops->extent[k->schedule->inner];
    tile_place at = {.column = scale(k, inner_block, TGI_ITEM_ELEMENTS)};
    at.n_columns = clamp_to_extent(k, columns, at.column, TGI_ITEM_ELEMENTS);
    for (size_t i = 0; i < k->loops->accesses.n; i++)
        if (tiles->uses[i])
            k->tile_memory[i] = tgi_llvm_stack_array(
                k, tgi_llvm_element_type(k->e, access_dtype(k, i)),
                tiles->rows * TGI_ITEM_ELEMENTS);

    LLVMValueRef first = scale(k, row_block, item_rows);
    LLVMValueRef end = tgi_llvm_add(k->program, first,
                                    clamp_to_extent(k, rows, first, item_rows));
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, first, end, tiles->rows, NULL, 0);
    at.row = loop.index;
    at.n_rows = clamp_to_extent(k, rows, at.row, tiles->rows);
    emit_tile(k, &at);
    tgi_llvm_loop_end(k, &loop, NULL);
}
