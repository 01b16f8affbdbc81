/* SPDX-License-Identifier: MIT */
/*
 * choose_tiles.c - elementwise kernels with *transposed* accesses: contiguous
 * along an outer axis instead of the inner one. These are transposes, with
 * whatever is computed around them.
 *
 * Such a kernel goes by tiles: a few rows of that outer axis x
 * TGI_ITEM_ELEMENTS of the inner axis. What a transposed access loads is first
 * copied to a tile on the stack, which fits L1, and transposed in registers on
 * the way. Then the rows of the tile run as in any other kernel, with the
 * access redirected to the tile. Last, stored tiles are copied to their
 * buffers. So memory is read and written by whole cache lines.
 *
 * A work item is a column of tiles along the transposed axis, so that each line
 * of a transposed load continues where the previous tile left it.
 */
#include "base/alloc.h"
#include "schedule/choose.h"

#include <string.h>

enum {
    MIN_EXTENT = 8, /* of both axes; tiles do not pay below it */
    /* Rows of a work item; fewer if there would be fewer than ENOUGH_ITEMS. At
       its end the next lines of the operand have been prefetched in vain.
       Measured on Zen 5, 4096 x 4096 elements: items of 64 rows 5.9 to 6.3 ms,
       128 5.4, 256 5.05 to 5.3, 512 5.0 to 5.2, 1024 4.7 to 4.9, 2048 4.6 to
       5.2. */
    MAX_ITEM_ROWS = 1024,
    ENOUGH_ITEMS = 16,
    /* Bytes of all tiles of a kernel; accesses beyond that have no tile. */
    MAX_TILES_BYTES = 64 << 10
};

/* -- Transposed accesses --------------------------------------------------- */

static void record_uses(const tgi_kernel_loops *loops, uint8_t *uses)
{
    for (uint32_t i = 1; i < loops->insts.n; i++) {
        const tgi_inst *inst = &loops->insts.data[i];
        if (inst->kind == TGI_INST_LOAD)
            uses[inst->number] |= TGI_IS_LOADED;
        if (inst->kind == TGI_INST_POSITION)
            uses[inst->number] |= TGI_IS_POSITION;
    }
    for (size_t i = 0; i < loops->stores.n; i++)
        uses[loops->stores.data[i].access] |= TGI_IS_STORED;
}

/* Accesses of positions cannot be redirected. */
static bool is_transposed(const tgi_kernel_loops *loops, const uint8_t *uses,
                          size_t number, int axis)
{
    const tgi_access *access = &loops->accesses.data[number];
    const tgi_dim inner = access->stride[loops->n_outer].distance;
    return uses[number] && !(uses[number] & TGI_IS_POSITION) &&
           !access->index && access->stride[axis].distance == 1 && inner != 0 &&
           inner != 1;
}

static unsigned element_bytes(const tgi_scheduler *r, const tgi_access *access)
{
    return (unsigned)tgi_dtype_bytes(
        tgi_loops_buffer(r->program, access->buffer)->dtype);
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
static int choose_row_axis(const tgi_scheduler *r,
                           const tgi_kernel_loops *loops, const uint8_t *uses)
{
    unsigned max_bytes = 0;
    int found = -1;
    for (int axis = 0; axis < loops->n_outer; axis++) {
        unsigned bytes = 0;
        for (size_t i = 0; i < loops->accesses.n; i++)
            if (is_long(loops->extent[axis]) &&
                is_transposed(loops, uses, i, axis))
                bytes += element_bytes(r, &loops->accesses.data[i]);
        if (bytes > max_bytes) {
            max_bytes = bytes;
            found = axis;
        }
    }
    return found;
}

/* -- Sizes ----------------------------------------------------------------- */

/* Rows of a work item: a power of two, at least those of a tile. Unknown
   extents count as large. */
static unsigned choose_item_rows(const tgi_kernel_loops *loops,
                                 const tgi_tiles *tiles)
{
    const tgi_dim rows = loops->extent[tiles->row_axis];
    int64_t other_items = 1;
    for (int axis = 0; axis <= loops->n_outer; axis++) {
        const tgi_dim extent = loops->extent[axis];
        if (!tgi_dim_is_known(extent))
            return MAX_ITEM_ROWS;
        const int64_t items =
            axis == loops->n_outer
                ? extent / TGI_ITEM_ELEMENTS + (extent % TGI_ITEM_ELEMENTS != 0)
                : extent;
        if (axis != tiles->row_axis && other_items < ENOUGH_ITEMS)
            other_items *= items < ENOUGH_ITEMS ? items : ENOUGH_ITEMS;
    }
    unsigned item_rows = MAX_ITEM_ROWS;
    while (item_rows > tiles->rows &&
           rows < (int64_t)item_rows * ENOUGH_ITEMS &&
           (rows + item_rows - 1) / item_rows * other_items < ENOUGH_ITEMS)
        item_rows /= 2;
    return item_rows;
}

/* A line of the narrowest transposed element. */
static unsigned choose_tile_rows(const tgi_scheduler *r,
                                 const tgi_kernel_loops *loops,
                                 const uint8_t *uses, int axis)
{
    unsigned rows = MIN_EXTENT;
    for (size_t i = 0; i < loops->accesses.n; i++) {
        const unsigned line =
            r->target->line_bytes / element_bytes(r, &loops->accesses.data[i]);
        if (is_transposed(loops, uses, i, axis) && line > rows)
            rows = line;
    }
    return rows;
}

/* Redirects transposed accesses of the copy to tiles. */
static void redirect_accesses(const tgi_scheduler *r, tgi_schedule *s,
                              const uint8_t *uses)
{
    const tgi_kernel_loops *loops = s->original;
    unsigned bytes = 0;
    for (size_t i = 0; i < loops->accesses.n; i++) {
        tgi_access *access = &s->copy.accesses.data[i];
        const unsigned size =
            s->tiles.rows * TGI_ITEM_ELEMENTS * element_bytes(r, access);
        if (!is_transposed(loops, uses, i, s->tiles.row_axis) ||
            bytes + size > MAX_TILES_BYTES)
            continue;
        bytes += size;
        s->tiles.uses[i] = uses[i];
        memset(access->stride, 0, sizeof(access->stride));
        access->offset = 0;
        access->shift = 0;
        access->stride[loops->n_outer].distance = 1;
    }
}

static bool make_tiles(const tgi_scheduler *r, tgi_schedule *s,
                       const uint8_t *uses, int axis, unsigned rows)
{
    const tgi_kernel_loops *loops = s->original;
    const size_t n = loops->accesses.n;
    tgi_arena *arena = r->arena;
    s->tiles.uses = tgi_arena_alloc(arena, n * sizeof(*s->tiles.uses));
    s->copy = *loops;
    s->copy.accesses.data = tgi_arena_copy(arena, loops->accesses.data,
                                           n * sizeof(*loops->accesses.data));
    if (!s->tiles.uses || !s->copy.accesses.data)
        return false;
    memset(s->tiles.uses, 0, n * sizeof(*s->tiles.uses));
    s->tiles.row_axis = axis;
    s->tiles.rows = rows;
    s->item_extent[axis] = choose_item_rows(loops, &s->tiles);
    redirect_accesses(r, s, uses);
    s->loops = &s->copy;
    return true;
}

bool tgi_schedule_choose_tiles(const tgi_scheduler *r, tgi_schedule *s)
{
    const tgi_kernel_loops *loops = s->original;
    if (!is_elementwise(loops) || !is_long(loops->extent[s->inner]))
        return true;
    uint8_t *uses = tgi_alloc_zero(loops->accesses.n);
    if (!uses)
        return false;
    record_uses(loops, uses);
    const int axis = choose_row_axis(r, loops, uses);
    const bool is_fine =
        axis < 0 || make_tiles(r, s, uses, axis,
                               choose_tile_rows(r, loops, uses, axis));
    tgi_free(uses);
    return is_fine;
}

bool tgi_schedule_add_tiles(const tgi_scheduler *r, tgi_schedule *s, int axis,
                            unsigned rows)
{
    const tgi_kernel_loops *loops = s->original;
    if (!is_elementwise(loops) || loops->is_straightline)
        return true;
    uint8_t *uses = tgi_alloc_zero(loops->accesses.n + 1);
    if (!uses)
        return false;
    record_uses(loops, uses);
    bool is_any = false;
    for (size_t i = 0; i < loops->accesses.n; i++)
        is_any |= is_transposed(loops, uses, i, axis);
    const bool is_fine = !is_any || make_tiles(r, s, uses, axis, rows);
    tgi_free(uses);
    return is_fine;
}
