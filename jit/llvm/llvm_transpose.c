/* SPDX-License-Identifier: MIT */
/*
 * llvm_transpose.c - kernels without reductions some of whose accesses go
 * through memory along an outer axis, not along the inner one: transposes,
 * and whatever is computed around them.
 *
 * Such a kernel goes by tiles: a few rows of that outer axis by a unit of the
 * inner one. What a turned access reads is copied to a tile in the first
 * cache, turned in registers on the way; then the rows of the tile are done as
 * all rows are, with the access as if it went along the inner axis; then what
 * was stored in tiles is copied to where it belongs. So memory is read and
 * written by whole lines, whatever is computed in between.
 *
 * An item is a stack of tiles, one after the other along the turned axis: so
 * each line of a turned load is read on where it was left.
 */
#include "llvm/llvm_lower.h"

#include <string.h>

enum {
    LINE = 64, /* bytes that memory moves at once */
    LEAST = 8, /* extent of an axis; with fewer, tiles do not pay */
    /* Elements of a stack along the turned axis; fewer if that would leave
       items for a few threads only. Measured without knowing extents, stacks
       of 64 take 4096 by 4096 elements twice as long. */
    STACK = 256,
    FEW_ITEMS = 16,
    /* Bytes of all tiles of a kernel; what is over stays as it is. */
    MOST_BYTES = 64 << 10
};

/* -- Which accesses are turned --------------------------------------------- */

/* How an access is used; one that is a position is not only an address. */
enum { IS_LOADED = 1, IS_STORED = 2, IS_POSITION = 4 };

static void find_uses(const tgi_kernel_loops *loops, uint8_t *uses)
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

static bool is_turned(const tgi_kernel_loops *loops, const uint8_t *uses,
                      size_t number, int axis)
{
    const tgi_access *access = &loops->accesses.data[number];
    const tgi_dim inner = access->stride[loops->n_outer].distance;
    return uses[number] && !(uses[number] & IS_POSITION) && !access->index &&
           access->stride[axis].distance == 1 && inner != 0 && inner != 1;
}

static tg_dtype dtype_of(const tgi_llvm_kernel *k, size_t access)
{
    const uint32_t buffer =
        tgi_buffer_id_index(k->loops->accesses.data[access].buffer);
    return k->program->loops->buffers.data[buffer].dtype;
}

static unsigned bytes_of(const tgi_llvm_kernel *k, size_t access)
{
    return (unsigned)tgi_dtype_bytes((int)dtype_of(k, access));
}

static bool is_long(tgi_dim extent)
{
    return !tgi_dim_is_known(extent) || extent >= LEAST;
}

/* True if a kernel only maps elements: then tiles can be of any shape. */
static bool is_map(const tgi_kernel_loops *loops)
{
    if (loops->vectors != TGI_ROWS || loops->n_phases != 1 ||
        loops->reductions.n > 0 || !loops->has_inner)
        return false;
    for (size_t i = 0; i < loops->stores.n; i++)
        if (loops->stores.data[i].level != TGI_LEVEL_INNER)
            return false;
    return loops->stores.n > 0;
}

/* The axis along which most bytes of an element lie; -1: none. */
static int find_axis(const tgi_llvm_kernel *k, const uint8_t *uses)
{
    const tgi_kernel_loops *loops = k->loops;
    unsigned most = 0;
    int found = -1;
    for (int axis = 0; axis < loops->n_outer; axis++) {
        unsigned bytes = 0;
        for (size_t i = 0; i < loops->accesses.n; i++)
            if (is_long(loops->extent[axis]) &&
                is_turned(loops, uses, i, axis))
                bytes += bytes_of(k, i);
        if (bytes > most) {
            most = bytes;
            found = axis;
        }
    }
    return found;
}

/* Rows of a stack of tiles: a power of two, no less than those of a tile.
   Extents that are not known are taken for large. */
static unsigned stack_of(const tgi_llvm_kernel *k,
                         const tgi_llvm_transpose *tiles)
{
    const tgi_kernel_loops *loops = k->loops;
    const tgi_dim rows = loops->extent[tiles->row_axis];
    int64_t beside = 1;
    for (int axis = 0; axis <= loops->n_outer; axis++) {
        const tgi_dim extent = loops->extent[axis];
        if (!tgi_dim_is_known(extent))
            return STACK;
        const int64_t items = axis == loops->n_outer
                                  ? extent / TGI_LLVM_ITEM_ELEMENTS +
                                        (extent % TGI_LLVM_ITEM_ELEMENTS != 0)
                                  : extent;
        if (axis != tiles->row_axis && beside < FEW_ITEMS)
            beside *= items < FEW_ITEMS ? items : FEW_ITEMS;
    }
    unsigned stack = STACK;
    while (stack > tiles->tile_rows && rows < (int64_t)stack * FEW_ITEMS &&
           (rows + stack - 1) / stack * beside < FEW_ITEMS)
        stack /= 2;
    return stack;
}

/* Notes tiles, and puts their accesses right. */
static void turn_accesses(tgi_llvm_kernel *k, tgi_llvm_transpose *tiles,
                          const uint8_t *uses)
{
    const tgi_kernel_loops *loops = k->loops;
    unsigned bytes = 0;
    tiles->tile_rows = LEAST;
    for (size_t i = 0; i < loops->accesses.n; i++)
        if (is_turned(loops, uses, i, tiles->row_axis) &&
            LINE / bytes_of(k, i) > tiles->tile_rows)
            tiles->tile_rows = LINE / bytes_of(k, i);
    tiles->item_rows = stack_of(k, tiles);
    for (size_t i = 0; i < loops->accesses.n; i++) {
        const unsigned size =
            tiles->tile_rows * TGI_LLVM_ITEM_ELEMENTS * bytes_of(k, i);
        if (!is_turned(loops, uses, i, tiles->row_axis) ||
            bytes + size > MOST_BYTES)
            continue;
        bytes += size;
        tiles->tiles[i].uses = uses[i];
        tgi_access *access = &tiles->loops.accesses.data[i];
        memset(access->stride, 0, sizeof(access->stride));
        access->offset = 0;
        access->shift = 0;
        access->stride[loops->n_outer].distance = 1;
    }
}

static bool make_tiles(tgi_llvm_kernel *k, int axis, const uint8_t *uses)
{
    const tgi_kernel_loops *loops = k->loops;
    const size_t n = loops->accesses.n;
    const size_t bytes =
        sizeof(*k->transpose) +
        n * (sizeof(*k->transpose->tiles) + sizeof(*loops->accesses.data));
    tgi_llvm_transpose *tiles = k->program->alloc(bytes);
    if (!tiles)
        return false;
    memset(tiles, 0, bytes);
    tiles->row_axis = axis;
    tiles->original = loops;
    tiles->tiles = (tgi_llvm_transpose_tile *)(tiles + 1);
    tiles->loops = *loops;
    tiles->loops.accesses.data = (tgi_access *)(tiles->tiles + n);
    memcpy(tiles->loops.accesses.data, loops->accesses.data,
           n * sizeof(*loops->accesses.data));
    turn_accesses(k, tiles, uses);
    k->transpose = tiles;
    k->loops = &tiles->loops;
    return true;
}

bool tgi_llvm_transpose_prepare(tgi_llvm_kernel *k)
{
    if (!is_map(k->loops) || !is_long(k->loops->extent[k->inner]))
        return true;
    uint8_t *uses = k->program->alloc(k->loops->accesses.n);
    if (!uses)
        return false;
    memset(uses, 0, k->loops->accesses.n);
    find_uses(k->loops, uses);
    const int axis = find_axis(k, uses);
    const bool is_fine = axis < 0 || make_tiles(k, axis, uses);
    k->program->free(uses);
    return is_fine;
}

void tgi_llvm_transpose_free(tgi_llvm_kernel *k)
{
    if (k->transpose)
        k->program->free(k->transpose);
}

/* -- Tiles ----------------------------------------------------------------- */

/* Where a tile is: its first row and column, and how much of it there is. */
typedef struct place {
    LLVMValueRef row, column, n_rows, n_columns;
} place;

/* What an access touches at a place, line by line; `across` is the axis from one
   line to the next. */
static tgi_llvm_line_array lines_at(tgi_llvm_kernel *k, size_t number,
                                    const place *at, int across)
{
    const tgi_access *access = &k->transpose->original->accesses.data[number];
    const int along = across == k->inner ? k->transpose->row_axis : k->inner;
    k->index[k->transpose->row_axis] = at->row;
    k->index[k->inner] = at->column;
    const tgi_llvm_line_array lines = {
        .start = tgi_llvm_address_from_indices(k, access),
        .line = tgi_llvm_stride(k, access->stride[across]),
        .is_reversed = access->stride[along].is_negative};
    k->index[k->inner] = NULL;
    return lines;
}

static tgi_llvm_register_transpose begin_turn(tgi_llvm_kernel *k, size_t number)
{
    return (tgi_llvm_register_transpose){
        .k = k,
        .element = tgi_llvm_element_type(k->e, dtype_of(k, number)),
        .bytes = bytes_of(k, number)};
}

/* Copies a tile from memory or back. */
static void copy_tile(tgi_llvm_kernel *k, size_t number, const place *at,
                      bool is_load)
{
    const tgi_llvm_line_array memory = lines_at(k, number, at, k->inner);
    const tgi_llvm_line_array tile = {
        .start = k->transpose->tiles[number].memory,
        .line = tgi_llvm_const_i64(k->program, TGI_LLVM_ITEM_ELEMENTS)};
    tgi_llvm_register_transpose t = begin_turn(k, number);
    t.from = is_load ? memory : tile;
    t.to = is_load ? tile : memory;
    t.n_lines = is_load ? at->n_columns : at->n_rows;
    t.n_elements = is_load ? at->n_rows : at->n_columns;
    t.prefetch_distance = is_load ? k->transpose->tile_rows : 0;
    /* Along the turned axis first: so a line is done with at once. */
    tgi_llvm_register_transpose_emit(&t, is_load);
}

static void copy_tiles(tgi_llvm_kernel *k, const place *at, bool is_load)
{
    for (size_t i = 0; i < k->loops->accesses.n; i++)
        if (k->transpose->tiles[i].uses & (is_load ? IS_LOADED : IS_STORED))
            copy_tile(k, i, at, is_load);
}

/* Rows of the next tile that are read along the inner axis: as they are far
   from each other, the CPU does not ask for them by itself. */
static void ask_for_next(tgi_llvm_kernel *k, const place *at)
{
    for (uint32_t i = 1; i < k->loops->insts.n; i++) {
        const tgi_inst *inst = &k->loops->insts.data[i];
        if (inst->kind != TGI_INST_LOAD)
            continue;
        const tgi_access *access = &k->loops->accesses.data[inst->number];
        if (k->transpose->tiles[inst->number].uses || access->index ||
            access->stride[k->transpose->row_axis].distance == 0 ||
            access->stride[k->inner].distance != 1 ||
            access->stride[k->inner].is_negative)
            continue;
        LLVMValueRef rows = tgi_llvm_mul(
            k->program,
            tgi_llvm_stride(k, access->stride[k->transpose->row_axis]),
            tgi_llvm_const_i64(k->program, k->transpose->tile_rows));
        k->index[k->inner] = at->column;
        LLVMValueRef next = LLVMBuildGEP2(
            k->b, tgi_llvm_element_type(k->e, inst->dtype),
            tgi_llvm_address(k, access), &rows, 1, "");
        k->index[k->inner] = NULL;
        tgi_llvm_prefetch(k, next,
                          TGI_LLVM_ITEM_ELEMENTS *
                              (int64_t)tgi_dtype_bytes(inst->dtype),
                          false);
    }
}

/* The rows of a tile. */
static void do_rows(tgi_llvm_kernel *k, const place *at)
{
    const tgi_llvm_program *program = k->program;
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, tgi_llvm_const_i64(program, 0), at->n_rows, 1,
                        NULL, 0);
    k->index[k->transpose->row_axis] =
        tgi_llvm_add(program, at->row, loop.index);
    tgi_llvm_point_addresses_emit(k);
    LLVMValueRef base = LLVMBuildSub(
        k->b,
        tgi_llvm_mul(program, loop.index,
                     tgi_llvm_const_i64(program, TGI_LLVM_ITEM_ELEMENTS)),
        at->column, "");
    for (size_t i = 0; i < k->loops->accesses.n; i++)
        if (k->transpose->tiles[i].uses)
            k->point_bases[i] = base;
    ask_for_next(k, at);
    tgi_llvm_rows_emit(k, at->column,
                       tgi_llvm_add(program, at->column, at->n_columns));
    tgi_llvm_loop_end(k, &loop, NULL);
}

/* How many of `size` are left from `at` on; of whole ones `size` itself. */
static LLVMValueRef part_of(tgi_llvm_kernel *k, tgi_dim extent,
                            LLVMValueRef at, int64_t size)
{
    LLVMValueRef whole = tgi_llvm_const_i64(k->program, size);
    if (tgi_dim_is_known(extent) && extent % size == 0)
        return whole;
    return tgi_llvm_min(k->program, whole,
                        LLVMBuildSub(k->b, tgi_llvm_dim(k, extent), at, ""));
}

/* The load that a kernel stores as it is, and nothing else, along the inner
   axis; NULL: it does more, or stores past the cache, which takes whole
   lines. */
static const tgi_inst *find_plain_copy(const tgi_llvm_kernel *k)
{
    const tgi_kernel_loops *loops = k->transpose->original;
    const tgi_loop_store *store = &loops->stores.data[0];
    const tgi_inst *inst = &loops->insts.data[store->value];
    return loops->stores.n == 1 && !k->non_temporal_stores[0] &&
                   inst->kind == TGI_INST_LOAD &&
                   k->transpose->tiles[inst->number].uses &&
                   loops->accesses.data[store->access]
                           .stride[k->inner]
                           .distance == 1
               ? inst
               : NULL;
}

/* Without a detour. */
static void copy_straight(tgi_llvm_kernel *k, const tgi_inst *load,
                          const place *at)
{
    tgi_llvm_register_transpose t = begin_turn(k, load->number);
    t.from = lines_at(k, load->number, at, k->inner);
    t.to = lines_at(k, k->loops->stores.data[0].access, at,
                    k->transpose->row_axis);
    t.n_lines = at->n_columns;
    t.n_elements = at->n_rows;
    t.prefetch_distance = k->transpose->tile_rows;
    tgi_llvm_register_transpose_emit(&t, true);
}

static void do_part(tgi_llvm_kernel *k, const place *at)
{
    const tgi_inst *copied = find_plain_copy(k);
    if (copied) {
        copy_straight(k, copied, at);
        return;
    }
    copy_tiles(k, at, true);
    do_rows(k, at);
    copy_tiles(k, at, false);
}

/* Whole tiles have code of their own if there may be others: what is left over
   need not be asked for in each of their rows. */
static void do_tile(tgi_llvm_kernel *k, const place *at)
{
    place whole = *at;
    whole.n_rows = tgi_llvm_const_i64(k->program, k->transpose->tile_rows);
    whole.n_columns = tgi_llvm_const_i64(k->program, TGI_LLVM_ITEM_ELEMENTS);
    LLVMValueRef is_whole = LLVMBuildAnd(
        k->b, LLVMBuildICmp(k->b, LLVMIntEQ, at->n_rows, whole.n_rows, ""),
        LLVMBuildICmp(k->b, LLVMIntEQ, at->n_columns, whole.n_columns, ""),
        "");
    tgi_llvm_branch branch;
    tgi_llvm_branch_begin(k, &branch, is_whole);
    do_part(k, &whole);
    tgi_llvm_branch_end(k, &branch);
    if (branch.is_unconditional)
        return;
    tgi_llvm_branch_begin(k, &branch, LLVMBuildNot(k->b, is_whole, ""));
    do_part(k, at);
    tgi_llvm_branch_end(k, &branch);
}

static LLVMValueRef times(tgi_llvm_kernel *k, LLVMValueRef item, int64_t size)
{
    return tgi_llvm_mul(k->program, item, tgi_llvm_const_i64(k->program, size));
}

void tgi_llvm_transpose_item_emit(tgi_llvm_kernel *k, LLVMValueRef stack,
                                  LLVMValueRef unit)
{
    tgi_llvm_transpose *tiles = k->transpose;
    const tgi_dim rows = k->loops->extent[tiles->row_axis];
    const tgi_dim columns = k->loops->extent[k->inner];
    place at = {.column = times(k, unit, TGI_LLVM_ITEM_ELEMENTS)};
    at.n_columns = part_of(k, columns, at.column, TGI_LLVM_ITEM_ELEMENTS);
    for (size_t i = 0; i < k->loops->accesses.n; i++)
        if (tiles->tiles[i].uses)
            tiles->tiles[i].memory = tgi_llvm_stack_array(
                k, tgi_llvm_element_type(k->e, dtype_of(k, i)),
                tiles->tile_rows * TGI_LLVM_ITEM_ELEMENTS);

    LLVMValueRef first = times(k, stack, tiles->item_rows);
    LLVMValueRef end = tgi_llvm_add(k->program, first,
                                    part_of(k, rows, first, tiles->item_rows));
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, first, end, tiles->tile_rows, NULL, 0);
    at.row = loop.index;
    at.n_rows = part_of(k, rows, at.row, tiles->tile_rows);
    do_tile(k, &at);
    tgi_llvm_loop_end(k, &loop, NULL);
}
