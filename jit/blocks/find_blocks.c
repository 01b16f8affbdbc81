/* SPDX-License-Identifier: MIT */
/*
 * find_blocks.c - kernels that can run by row blocks together.
 *
 * From a first kernel on, each of the next ones is a member if its rows are the
 * same, each buffer that it shares with a member either is only read or is
 * accessed within the row by both, and they share at least one buffer by rows.
 * Any other kernel runs before the members if it conflicts with none of them,
 * else after them, and so do later kernels that conflict with it.
 */
#include "blocks/block_sums.h"
#include "blocks/blocks.h"

#include "base/error.h"
#include "schedule/schedule.h"

/* -- Members --------------------------------------------------------------- */

typedef enum relation {
    CONFLICT, /* they cannot both be members */
    UNRELATED,
    SHARES_ROWS /* the same rows of a buffer */
} relation;

/* How a kernel, whose uses are in b->uses, relates to a member. */
static tg_status relate(tgi_blocks *b, const tgi_block_group *g, size_t member,
                        bool is_same_epoch, relation *out)
{
    *out = UNRELATED;
    if (!tgi_row_uses_find(b->loops, tgi_block_member(b, g, member),
                           &g->maps[member], &b->others))
        return tgi_error_memory();
    for (size_t i = 0; i < b->uses.n; i++) {
        const tgi_row_use *use = &b->uses.data[i];
        const tgi_row_use *other = tgi_row_use_of(&b->others, use->buffer);
        if (!other)
            continue;
        const bool has_same_rows =
            use->row_elements && use->row_elements == other->row_elements;
        if ((use->writes || other->writes) && !has_same_rows &&
            !is_same_epoch) {
            *out = CONFLICT;
            return TG_OK;
        }
        if (has_same_rows)
            *out = SHARES_ROWS;
    }
    return TG_OK;
}

/* Decides whether a kernel at position i of the window can be a member, and
   sets its map. */
static tg_status can_join(tgi_blocks *b, tgi_block_group *g, size_t i,
                          const tgi_kernel_loops *k, bool *out_can)
{
    *out_can = false;
    if (!tgi_row_kernel_find(b->loops, k, &g->domain, &g->maps[i]))
        return TG_OK;
    if (!tgi_row_uses_find(b->loops, k, &g->maps[i], &b->uses))
        return tgi_error_memory();
    const uint32_t epoch = b->units.data[g->first + i].epoch;
    bool shares = false;
    for (size_t j = 0; j < i; j++) {
        relation related;
        if (!tgi_block_is_member(g, j))
            continue;
        TGI_TRY(relate(b, g, j, b->units.data[g->first + j].epoch == epoch,
                       &related));
        if (related == CONFLICT)
            return TG_OK;
        shares |= related == SHARES_ROWS;
    }
    *out_can = shares;
    return TG_OK;
}

/* True if a kernel conflicts with one of these roles. */
static bool conflicts(const tgi_blocks *b, const tgi_block_group *g, size_t i,
                      const tgi_kernel_loops *k, bool with_members)
{
    const tgi_block_unit *units = &b->units.data[g->first];
    for (size_t j = 0; j < i; j++) {
        if (g->roles[j] == TGI_ROLE_SPLIT && !with_members &&
            tgi_kernels_conflict(b->loops, g->rest[j], k))
            return true;
        const bool is_asked = with_members ? tgi_block_is_member(g, j)
                                           : g->roles[j] == TGI_ROLE_AFTER;
        if (is_asked && units[j].epoch != units[i].epoch &&
            tgi_kernels_conflict(b->loops, tgi_block_member(b, g, j), k))
            return true;
    }
    return false;
}

/* -- Splitting ------------------------------------------------------------- */

/* Splits are undone from the last one on. */
static void undo_split(tgi_blocks *b, tgi_block_group *g, size_t i)
{
    if (!g->split[i])
        return;
    tgi_kernel_loops_destroy(g->split[i]);
    tgi_kernel_loops_destroy(g->rest[i]);
    g->split[i] = g->rest[i] = NULL;
    b->loops->buffers.n = g->n_buffers[i];
}

/* Splits a kernel that sums over all rows, if its other part can be a member. */
static tg_status try_split(tgi_blocks *b, tgi_block_group *g, size_t i,
                           bool *out_can)
{
    const tgi_kernel_loops *k = b->units.data[g->first + i].kernel;
    tgi_dims *dims = b->loops->dims;
    g->n_buffers[i] = b->loops->buffers.n;
    *out_can = false;
    if (!tgi_block_sums_can_split(
            k, tgi_dim_mul(dims, g->domain.matrices, g->domain.rows)))
        return TG_OK;
    TGI_TRY(tgi_block_sums_split(b->loops, k, &g->split[i], &g->rest[i]));
    tg_status status = tgi_schedule_choose_kernel(
        b->loops, b->pass->target, g->split[i]);
    if (!status)
        status = tgi_schedule_choose_kernel(b->loops, b->pass->target,
                                            g->rest[i]);
    if (!status)
        status = can_join(b, g, i, g->split[i], out_can);
    if (*out_can && !status)
        return TG_OK;
    undo_split(b, g, i);
    return status;
}

void tgi_blocks_undo(tgi_blocks *b, tgi_block_group *g)
{
    for (size_t i = TGI_BLOCK_WINDOW; i-- > 0;)
        undo_split(b, g, i);
}

/* -- Groups ---------------------------------------------------------------- */

static bool set_domain(tgi_blocks *b, const tgi_kernel_loops *k, int n_axes,
                       tgi_row_domain *out)
{
    *out = (tgi_row_domain){.matrices = 1, .rows = k->extent[n_axes - 1]};
    for (int axis = 0; axis < n_axes - 1; axis++)
        out->matrices =
            tgi_dim_mul(b->loops->dims, out->matrices, k->extent[axis]);
    for (int axis = n_axes; axis <= k->n_outer; axis++)
        out->inside[out->n_inside++] = k->extent[axis];
    return out->matrices != TGI_DIM_NONE && out->matrices != 0 &&
           out->rows != 0 && out->rows != 1;
}

/* Adds a member, if blocks remain possible. */
static tg_status add_member(tgi_blocks *b, tgi_block_group *g, size_t i,
                            tgi_block_role role, bool *out_is)
{
    const size_t n = g->n;
    g->roles[i] = (uint8_t)role;
    g->n = i + 1;
    TGI_TRY(tgi_blocks_fit(b, g, out_is));
    g->n_members += *out_is;
    if (!*out_is) {
        undo_split(b, g, i);
        g->n = n;
    }
    return TG_OK;
}

static tg_status find_role(tgi_blocks *b, tgi_block_group *g, size_t i)
{
    const tgi_kernel_loops *k = b->units.data[g->first + i].kernel;
    bool can = false;
    if (!conflicts(b, g, i, k, false)) {
        TGI_TRY(can_join(b, g, i, k, &can));
        if (can) {
            TGI_TRY(add_member(b, g, i, TGI_ROLE_MEMBER, &can));
        } else {
            TGI_TRY(try_split(b, g, i, &can));
            if (can)
                TGI_TRY(add_member(b, g, i, TGI_ROLE_SPLIT, &can));
        }
        if (can)
            return TG_OK;
    }
    g->roles[i] = conflicts(b, g, i, k, false) || conflicts(b, g, i, k, true)
                      ? TGI_ROLE_AFTER
                      : TGI_ROLE_BEFORE;
    return TG_OK;
}

/* Sums that no other member follows need not be split. */
static void trim(tgi_blocks *b, tgi_block_group *g)
{
    while (g->roles[g->n - 1] != TGI_ROLE_MEMBER) {
        g->n_members -= g->roles[g->n - 1] == TGI_ROLE_SPLIT;
        undo_split(b, g, --g->n);
    }
}

tg_status tgi_blocks_find(tgi_blocks *b, size_t first, int n_axes,
                          tgi_block_group *g)
{
    *g = (tgi_block_group){.first = first};
    const tgi_kernel_loops *k = b->units.data[first].kernel;
    if (!set_domain(b, k, n_axes, &g->domain) ||
        !tgi_row_kernel_find(b->loops, k, &g->domain, &g->maps[0]) ||
        g->maps[0].per_row != 1 || g->maps[0].rows_per_index != 1)
        return TG_OK;
    g->roles[0] = TGI_ROLE_MEMBER;
    g->n_members = 1;
    g->n = 1;
    for (size_t i = 1;
         i < TGI_BLOCK_WINDOW && i < g->n + TGI_MAX_BLOCK_GAP &&
         first + i < b->units.n &&
         tgi_rows_id_is_none(b->units.data[first + i].rows);
         i++)
        TGI_TRY(find_role(b, g, i));
    trim(b, g);
    return TG_OK;
}
