/* SPDX-License-Identifier: MIT */
/*
 * llvm_transpose.c - elementwise kernels with *transposed* accesses: contiguous
 * along an outer axis instead of the inner one. These are transposes, with
 * whatever is computed around them.
 *
 * Such a kernel goes by tiles: a few rows of that outer axis x
 * TGI_LLVM_ITEM_ELEMENTS of the inner axis. What a transposed access loads is
 * first copied to a tile on the stack, which fits L1, and transposed in
 * registers on the way. Then the rows of the tile run as in any other kernel,
 * with the access redirected to the tile. Last, stored tiles are copied to
 * their buffers. So memory is read and written by whole cache lines.
 *
 * A work item is a column of tiles along the transposed axis, so that each line
 * of a transposed load continues where the previous tile left it.
 */
#include "llvm/rows/llvm_transpose.h"
#include "llvm/emit/llvm_access.h"
#include "llvm/emit/llvm_analysis.h"
#include "llvm/emit/llvm_cache_hints.h"
#include "llvm/emit/llvm_emit.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_frame.h"
#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/emit/llvm_program.h"
#include "llvm/emit/llvm_register_transpose.h"
#include "llvm/rows/llvm_rows.h"

#include <string.h>

enum {
    LINE = 64,      /* bytes of a cache line */
    MIN_EXTENT = 8, /* of both axes; tiles do not pay below it */
    /* Rows of a work item; fewer if there would be fewer than ENOUGH_ITEMS.
       Measured with unknown extents: items of 64 rows take twice as long for
       4096 x 4096 elements. */
    MAX_ITEM_ROWS = 256,
    ENOUGH_ITEMS = 16,
    /* Bytes of all tiles of a kernel; accesses beyond that have no tile. */
    MAX_TILES_BYTES = 64 << 10
};

/* -- Transposed accesses --------------------------------------------------- */

/* How an access is used. Those of positions cannot be redirected. */
enum { IS_LOADED = 1, IS_STORED = 2, IS_POSITION = 4 };

static void record_uses(const tgi_kernel_loops *loops, uint8_t *uses)
{
    for (uint32_t i = 1; i < loops->insts.n; i++) {
        const tgi_inst *inst = &loops->insts.data[i];
        if (inst->kind == TGI_INST_LOAD)
            uses[inst->number] |= IS_LOADED;
        if (inst->kind == TGI_INST_POSITION)
            uses[inst->number] |= IS_POSITION;
    }
    for (size_t i = 0; i < loops->stores.n; i++)
        uses[loops->stores.data[i].access] |= IS_STORED;
}

static bool is_transposed(const tgi_kernel_loops *loops, const uint8_t *uses,
                          size_t number, int axis)
{
    const tgi_access *access = &loops->accesses.data[number];
    const tgi_dim inner = access->stride[loops->n_outer].distance;
    return uses[number] && !(uses[number] & IS_POSITION) && !access->index &&
           access->stride[axis].distance == 1 && inner != 0 && inner != 1;
}

static tg_dtype access_dtype(const tgi_llvm_analysis *a, size_t access)
{
    const uint32_t buffer =
        tgi_buffer_id_index(a->loops->accesses.data[access].buffer);
    return a->program->loops->buffers.data[buffer].dtype;
}

static unsigned access_element_bytes(const tgi_llvm_analysis *a, size_t access)
{
    return (unsigned)tgi_dtype_bytes((int)access_dtype(a, access));
}

static bool is_long(tgi_dim extent)
{
    return !tgi_dim_is_known(extent) || extent >= MIN_EXTENT;
}

/* True if a kernel is elementwise, so that any tiling is legal. */
static bool is_elementwise(const tgi_kernel_loops *loops)
{
    if (loops->vectors != TGI_ROWS || loops->n_phases != 1 ||
        loops->reductions.n > 0 || !loops->has_inner)
        return false;
    for (size_t i = 0; i < loops->stores.n; i++)
        if (loops->stores.data[i].level != TGI_LEVEL_INNER)
            return false;
    return loops->stores.n > 0;
}

/* The outer axis along which the accesses of most bytes are transposed; -1:
   none. */
static int choose_row_axis(const tgi_llvm_analysis *a, const uint8_t *uses)
{
    const tgi_kernel_loops *loops = a->loops;
    unsigned max_bytes = 0;
    int found = -1;
    for (int axis = 0; axis < loops->n_outer; axis++) {
        unsigned bytes = 0;
        for (size_t i = 0; i < loops->accesses.n; i++)
            if (is_long(loops->extent[axis]) &&
                is_transposed(loops, uses, i, axis))
                bytes += access_element_bytes(a, i);
        if (bytes > max_bytes) {
            max_bytes = bytes;
            found = axis;
        }
    }
    return found;
}

/* Rows of a work item: a power of two, at least those of a tile. Unknown
   extents count as large. */
static unsigned choose_item_rows(const tgi_llvm_analysis *a,
                                 const tgi_llvm_transpose *tiles)
{
    const tgi_kernel_loops *loops = a->loops;
    const tgi_dim rows = loops->extent[tiles->row_axis];
    int64_t other_items = 1;
    for (int axis = 0; axis <= loops->n_outer; axis++) {
        const tgi_dim extent = loops->extent[axis];
        if (!tgi_dim_is_known(extent))
            return MAX_ITEM_ROWS;
        const int64_t items = axis == loops->n_outer
                                  ? extent / TGI_LLVM_ITEM_ELEMENTS +
                                        (extent % TGI_LLVM_ITEM_ELEMENTS != 0)
                                  : extent;
        if (axis != tiles->row_axis && other_items < ENOUGH_ITEMS)
            other_items *= items < ENOUGH_ITEMS ? items : ENOUGH_ITEMS;
    }
    unsigned item_rows = MAX_ITEM_ROWS;
    while (item_rows > tiles->tile_rows &&
           rows < (int64_t)item_rows * ENOUGH_ITEMS &&
           (rows + item_rows - 1) / item_rows * other_items < ENOUGH_ITEMS)
        item_rows /= 2;
    return item_rows;
}

/* Chooses the size of tiles, and redirects transposed accesses to them. */
static void redirect_accesses(tgi_llvm_analysis *a, tgi_llvm_transpose *tiles,
                              const uint8_t *uses)
{
    const tgi_kernel_loops *loops = a->loops;
    unsigned bytes = 0;
    tiles->tile_rows = MIN_EXTENT;
    for (size_t i = 0; i < loops->accesses.n; i++)
        if (is_transposed(loops, uses, i, tiles->row_axis) &&
            LINE / access_element_bytes(a, i) > tiles->tile_rows)
            tiles->tile_rows = LINE / access_element_bytes(a, i);
    tiles->item_rows = choose_item_rows(a, tiles);
    for (size_t i = 0; i < loops->accesses.n; i++) {
        const unsigned size = tiles->tile_rows * TGI_LLVM_ITEM_ELEMENTS *
                              access_element_bytes(a, i);
        if (!is_transposed(loops, uses, i, tiles->row_axis) ||
            bytes + size > MAX_TILES_BYTES)
            continue;
        bytes += size;
        tiles->uses[i] = uses[i];
        tgi_access *access = &tiles->loops.accesses.data[i];
        memset(access->stride, 0, sizeof(access->stride));
        access->offset = 0;
        access->shift = 0;
        access->stride[loops->n_outer].distance = 1;
    }
}

static bool allocate_tiles(tgi_llvm_analysis *a, int axis, const uint8_t *uses)
{
    const tgi_kernel_loops *loops = a->loops;
    const size_t n = loops->accesses.n;
    const size_t bytes =
        sizeof(*a->transpose) +
        n * (sizeof(*a->transpose->uses) + sizeof(*loops->accesses.data));
    tgi_llvm_transpose *tiles = a->program->alloc(bytes);
    if (!tiles)
        return false;
    memset(tiles, 0, bytes);
    tiles->row_axis = axis;
    tiles->original = loops;
    tiles->loops = *loops;
    tiles->loops.accesses.data = (tgi_access *)(tiles + 1);
    tiles->uses = (uint8_t *)(tiles->loops.accesses.data + n);
    memcpy(tiles->loops.accesses.data, loops->accesses.data,
           n * sizeof(*loops->accesses.data));
    redirect_accesses(a, tiles, uses);
    a->transpose = tiles;
    a->loops = &tiles->loops;
    return true;
}

bool tgi_llvm_transpose_prepare(tgi_llvm_analysis *a)
{
    if (!is_elementwise(a->loops) || !is_long(a->loops->extent[a->inner]))
        return true;
    uint8_t *uses = a->program->alloc(a->loops->accesses.n);
    if (!uses)
        return false;
    memset(uses, 0, a->loops->accesses.n);
    record_uses(a->loops, uses);
    const int axis = choose_row_axis(a, uses);
    const bool is_fine = axis < 0 || allocate_tiles(a, axis, uses);
    a->program->free(uses);
    return is_fine;
}

void tgi_llvm_transpose_free(tgi_llvm_analysis *a)
{
    if (a->transpose)
        a->program->free(a->transpose);
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
    const tgi_access *access =
        &k->analysis.transpose->original->accesses.data[number];
    const int along = across == k->analysis.inner
                          ? k->analysis.transpose->row_axis
                          : k->analysis.inner;
    k->index[k->analysis.transpose->row_axis] = at->row;
    k->index[k->analysis.inner] = at->column;
    const tgi_llvm_line_array lines = {
        .start = tgi_llvm_address_from_indices(k, access),
        .line = tgi_llvm_stride(k, access->stride[across]),
        .is_reversed = access->stride[along].is_negative};
    k->index[k->analysis.inner] = NULL;
    return lines;
}

static tgi_llvm_register_transpose begin_transpose(tgi_llvm_kernel *k,
                                                   size_t number)
{
    return (tgi_llvm_register_transpose){
        .k = k,
        .element =
            tgi_llvm_element_type(k->e, access_dtype(&k->analysis, number)),
        .bytes = access_element_bytes(&k->analysis, number)};
}

/* Copies a tile from its buffer, or back. */
static void copy_tile(tgi_llvm_kernel *k, size_t number, const tile_place *at,
                      bool is_load)
{
    const tgi_llvm_line_array memory =
        lines_at(k, number, at, k->analysis.inner);
    const tgi_llvm_line_array tile = {
        .start = k->tile_memory[number],
        .line = tgi_llvm_const_i64(k->program, TGI_LLVM_ITEM_ELEMENTS)};
    tgi_llvm_register_transpose t = begin_transpose(k, number);
    t.from = is_load ? memory : tile;
    t.to = is_load ? tile : memory;
    t.n_lines = is_load ? at->n_columns : at->n_rows;
    t.n_elements = is_load ? at->n_rows : at->n_columns;
    t.prefetch_distance = is_load ? k->analysis.transpose->tile_rows : 0;
    /* The inner loop runs along memory lines, so that each is finished at
       once. */
    tgi_llvm_register_transpose_emit(&t, is_load);
}

static void copy_tiles(tgi_llvm_kernel *k, const tile_place *at, bool is_load)
{
    for (size_t i = 0; i < k->loops->accesses.n; i++)
        if (k->analysis.transpose->uses[i] & (is_load ? IS_LOADED : IS_STORED))
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
        if (k->analysis.transpose->uses[inst->number] || access->index ||
            access->stride[k->analysis.transpose->row_axis].distance == 0 ||
            access->stride[k->analysis.inner].distance != 1 ||
            access->stride[k->analysis.inner].is_negative)
            continue;
        LLVMValueRef rows = tgi_llvm_mul(
            k->program,
            tgi_llvm_stride(k, access->stride[k->analysis.transpose->row_axis]),
            tgi_llvm_const_i64(k->program, k->analysis.transpose->tile_rows));
        k->index[k->analysis.inner] = at->column;
        LLVMValueRef next =
            LLVMBuildGEP2(k->b, tgi_llvm_element_type(k->e, inst->dtype),
                          tgi_llvm_address(k, access), &rows, 1, "");
        k->index[k->analysis.inner] = NULL;
        tgi_llvm_prefetch(k, next,
                          TGI_LLVM_ITEM_ELEMENTS *
                              (int64_t)tgi_dtype_bytes(inst->dtype),
                          false);
    }
}

static void emit_tile_rows(tgi_llvm_kernel *k, const tile_place *at)
{
    const tgi_llvm_program *program = k->program;
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, tgi_llvm_const_i64(program, 0), at->n_rows, 1,
                        NULL, 0);
    k->index[k->analysis.transpose->row_axis] =
        tgi_llvm_add(program, at->row, loop.index);
    tgi_llvm_point_addresses_emit(k);
    LLVMValueRef base = LLVMBuildSub(
        k->b,
        tgi_llvm_mul(program, loop.index,
                     tgi_llvm_const_i64(program, TGI_LLVM_ITEM_ELEMENTS)),
        at->column, "");
    for (size_t i = 0; i < k->loops->accesses.n; i++)
        if (k->analysis.transpose->uses[i])
            k->point_bases[i] = base;
    prefetch_next_tile(k, at);
    tgi_llvm_rows_emit(k, at->column,
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
    const tgi_kernel_loops *loops = k->analysis.transpose->original;
    const tgi_loop_store *store = &loops->stores.data[0];
    const tgi_inst *inst = &loops->insts.data[store->value];
    return loops->stores.n == 1 && !k->analysis.non_temporal_stores[0] &&
                   inst->kind == TGI_INST_LOAD &&
                   k->analysis.transpose->uses[inst->number] &&
                   loops->accesses.data[store->access]
                           .stride[k->analysis.inner]
                           .distance == 1
               ? inst
               : NULL;
}

/* Transposes from buffer to buffer, without a tile. */
static void copy_directly(tgi_llvm_kernel *k, const tgi_inst *load,
                          const tile_place *at)
{
    tgi_llvm_register_transpose t = begin_transpose(k, load->number);
    t.from = lines_at(k, load->number, at, k->analysis.inner);
    t.to = lines_at(k, k->loops->stores.data[0].access, at,
                    k->analysis.transpose->row_axis);
    t.n_lines = at->n_columns;
    t.n_elements = at->n_rows;
    t.prefetch_distance = k->analysis.transpose->tile_rows;
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
    full.n_rows =
        tgi_llvm_const_i64(k->program, k->analysis.transpose->tile_rows);
    full.n_columns = tgi_llvm_const_i64(k->program, TGI_LLVM_ITEM_ELEMENTS);
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
    tgi_llvm_transpose *tiles = k->analysis.transpose;
    const tgi_dim rows = k->loops->extent[tiles->row_axis];
    const tgi_dim columns = k->loops->extent[k->analysis.inner];
    tile_place at = {.column = scale(k, inner_block, TGI_LLVM_ITEM_ELEMENTS)};
    at.n_columns =
        clamp_to_extent(k, columns, at.column, TGI_LLVM_ITEM_ELEMENTS);
    for (size_t i = 0; i < k->loops->accesses.n; i++)
        if (tiles->uses[i])
            k->tile_memory[i] = tgi_llvm_stack_array(
                k, tgi_llvm_element_type(k->e, access_dtype(&k->analysis, i)),
                tiles->tile_rows * TGI_LLVM_ITEM_ELEMENTS);

    LLVMValueRef first = scale(k, row_block, tiles->item_rows);
    LLVMValueRef end = tgi_llvm_add(
        k->program, first, clamp_to_extent(k, rows, first, tiles->item_rows));
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, first, end, tiles->tile_rows, NULL, 0);
    at.row = loop.index;
    at.n_rows = clamp_to_extent(k, rows, at.row, tiles->tile_rows);
    emit_tile(k, &at);
    tgi_llvm_loop_end(k, &loop, NULL);
}
