/* SPDX-License-Identifier: MIT */
/*
 * block_steps.c - adds row blocks to the loops: the units of a segment in their
 * new order, and buffers that only the members use, which become per-thread
 * memory of one block.
 */
#include <string.h>

#include "base/error.h"
#include "blocks/blocks.h"

/* -- Buffers --------------------------------------------------------------- */

/* True if no kernel but members accesses a buffer, and no other step. */
static bool is_local(const tgi_blocks *b, const tgi_block_group *g,
                     tgi_buffer_id buffer)
{
    const tgi_loops *loops = b->loops;
    const tgi_loop_buffer *info = tgi_loops_buffer(loops, buffer);
    if (info->place != TGI_PLACE_TEMP || info->is_pinned)
        return false;
    for (size_t i = 0; i < loops->hosts.n; i++)
        for (uint32_t j = 0; j < loops->hosts.data[i].n_buffers; j++)
            if (tgi_buffer_id_equals(loops->hosts.data[i].buffers[j], buffer))
                return false;
    for (size_t i = 0; i < loops->runtime_checks.n; i++)
        if (tgi_buffer_id_equals(loops->runtime_checks.data[i].buffer, buffer))
            return false;
    for (size_t i = 0; i < loops->kernels.n; i++) {
        const tgi_kernel_loops *k = loops->kernels.data[i];
        bool is_member = false;
        for (size_t j = 0; j < g->n; j++)
            is_member |= tgi_block_is_member(g, j) &&
                         tgi_block_member(b, g, j) == k;
        for (size_t a = 0; a < k->accesses.n && !is_member; a++)
            if (tgi_buffer_id_equals(k->accesses.data[a].buffer, buffer))
                return false;
    }
    return true;
}

/* True if every member uses a buffer by the same rows, and the first one stores
   all of a row before it is loaded. Sets the elements of a row. */
static tg_status is_row_local(tgi_blocks *b, const tgi_block_group *g,
                              tgi_buffer_id buffer, tgi_dim *out_elements,
                              bool *out_is)
{
    *out_elements = 0;
    *out_is = false;
    for (size_t i = 0; i < g->n; i++) {
        if (!tgi_block_is_member(g, i))
            continue;
        if (!tgi_row_uses_find(b->loops, tgi_block_member(b, g, i),
                               &g->maps[i], &b->others))
            return tgi_error_memory();
        const tgi_row_use *use = tgi_row_use_of(&b->others, buffer);
        if (!use)
            continue;
        if (!use->row_elements || (!*out_elements && !use->is_complete) ||
            (*out_elements && use->row_elements != *out_elements))
            return TG_OK;
        *out_elements = use->row_elements;
    }
    *out_is = *out_elements != 0;
    return TG_OK;
}

/* Elements of a block, and of a cache line for the alignment of its first
   row. */
static tgi_dim block_elements(const tgi_loops *loops, int64_t rows,
                              tgi_dim row_elements, int dtype)
{
    return tgi_dim_add(loops->dims,
                       tgi_dim_mul(loops->dims, rows, row_elements),
                       TGI_BUFFER_ALIGN / (int64_t)tgi_dtype_bytes(dtype));
}

static tg_status localise(tgi_blocks *b, const tgi_block_group *g,
                          tgi_buffer_id id, tgi_row_blocks *rows)
{
    tgi_dim elements;
    bool is_row;
    tgi_loop_buffer *buffer = tgi_loops_buffer(b->loops, id);
    if (rows->n_buffers == TGI_MAX_BLOCK_BUFFERS || !is_local(b, g, id))
        return TG_OK;
    TGI_TRY(is_row_local(b, g, id, &elements, &is_row));
    const tgi_dim count =
        is_row ? block_elements(b->loops, g->block_rows, elements,
                                buffer->dtype)
               : TGI_DIM_NONE;
    if (count == TGI_DIM_NONE)
        return TG_OK;
    buffer->place = TGI_PLACE_BLOCK;
    buffer->count = count;
    rows->buffers[rows->n_buffers++] =
        (tgi_block_buffer){.buffer = id, .row_elements = elements};
    return TG_OK;
}

static tg_status localise_all(tgi_blocks *b, const tgi_block_group *g,
                              tgi_row_blocks *rows)
{
    for (size_t i = 0; i < g->n; i++) {
        if (!tgi_block_is_member(g, i))
            continue;
        const tgi_kernel_loops *k = tgi_block_member(b, g, i);
        for (size_t s = 0; s < k->stores.n; s++)
            TGI_TRY(localise(
                b, g, k->accesses.data[k->stores.data[s].access].buffer,
                rows));
    }
    return TG_OK;
}

/* -- Row blocks ------------------------------------------------------------ */

static tg_status add_row_blocks(tgi_blocks *b, const tgi_block_group *g)
{
    tgi_loops *loops = b->loops;
    tgi_row_blocks rows = {.matrices = g->domain.matrices,
                           .rows = g->domain.rows,
                           .block_rows = g->block_rows};
    rows.kernels = tgi_arena_alloc(&loops->arena,
                                   g->n_members * sizeof(*rows.kernels));
    rows.buffers = tgi_arena_alloc(
        &loops->arena, TGI_MAX_BLOCK_BUFFERS * sizeof(*rows.buffers));
    if (!rows.kernels || !rows.buffers ||
        !tgi_vec_reserve(&loops->row_blocks, loops->row_blocks.n + 1))
        return tgi_error_memory();
    for (size_t i = 0; i < g->n; i++)
        if (tgi_block_is_member(g, i))
            rows.kernels[rows.n_kernels++] = g->maps[i];
    TGI_TRY(localise_all(b, g, &rows));
    loops->row_blocks.data[loops->row_blocks.n++] = rows;
    return TG_OK;
}

/* -- Order ----------------------------------------------------------------- */

static void put(tgi_block_unit *to, size_t *n, tgi_block_unit unit)
{
    to[(*n)++] = unit;
}

/* Kernels before the members, members, kernels after them. */
static void reorder(tgi_blocks *b, tgi_block_group *g, tgi_block_unit *to,
                    size_t *out_end)
{
    const tgi_block_unit *from = &b->units.data[g->first];
    const tgi_rows_id id = tgi_rows_id_from(b->loops->row_blocks.n - 1);
    size_t n = 0;
    for (size_t i = 0; i < g->n; i++)
        if (g->roles[i] == TGI_ROLE_BEFORE)
            put(to, &n, from[i]);
    for (size_t i = 0; i < g->n; i++)
        if (tgi_block_is_member(g, i))
            put(to, &n,
                (tgi_block_unit){.kernel = tgi_block_member(b, g, i),
                                 .epoch = from[i].epoch,
                                 .rows = id});
    *out_end = g->first + n;
    for (size_t i = 0; i < g->n; i++) {
        if (g->roles[i] == TGI_ROLE_AFTER)
            put(to, &n, from[i]);
        if (g->roles[i] == TGI_ROLE_SPLIT)
            put(to, &n,
                (tgi_block_unit){.kernel = g->rest[i],
                                 .epoch = from[i].epoch + 1});
    }
}

/* Replaces kernels that were split in the list of kernels, whose order the pass
   restores at its end. False when out of memory, without effect. */
static bool replace_kernels(tgi_blocks *b, const tgi_block_group *g)
{
    tgi_loops *loops = b->loops;
    if (!tgi_vec_reserve(&loops->kernels, loops->kernels.n + g->n_members))
        return false;
    for (size_t i = 0; i < g->n; i++) {
        if (g->roles[i] != TGI_ROLE_SPLIT)
            continue;
        tgi_kernel_loops *k = b->units.data[g->first + i].kernel;
        size_t at = 0;
        while (loops->kernels.data[at] != k)
            at++;
        loops->kernels.data[at] = g->split[i];
        loops->kernels.data[loops->kernels.n++] = g->rest[i];
        tgi_kernel_loops_destroy(k);
    }
    return true;
}

tg_status tgi_blocks_commit(tgi_blocks *b, tgi_block_group *g, size_t *out_end)
{
    size_t n_splits = 0;
    for (size_t i = 0; i < g->n; i++)
        n_splits += g->roles[i] == TGI_ROLE_SPLIT;
    const size_t n = g->n + n_splits;
    tgi_block_unit *ordered = tgi_alloc(n * sizeof(*ordered));
    if (!ordered || !tgi_vec_reserve(&b->units, b->units.n + n_splits) ||
        !replace_kernels(b, g)) {
        tgi_free(ordered);
        tgi_blocks_undo(b, g);
        return tgi_error_memory();
    }
    const tg_status status = add_row_blocks(b, g);
    if (!status) {
        tgi_blocks_set_items(b, g);
        reorder(b, g, ordered, out_end);
        for (size_t i = 0; i < n; i++)
            ordered[i].kernel->rows = ordered[i].rows;
        tgi_block_unit *at = &b->units.data[g->first];
        memmove(at + n, at + g->n,
                (b->units.n - g->first - g->n) * sizeof(*at));
        memcpy(at, ordered, n * sizeof(*at));
        b->units.n += n_splits;
    }
    tgi_free(ordered);
    return status;
}
