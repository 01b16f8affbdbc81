/* SPDX-License-Identifier: MIT */
/*
 * fuse_straightline.c - selects the kernels that become straight-line code in
 * the entry: all extents are known, at most TGI_STRAIGHTLINE_ELEMENTS elements
 * and MAX_COST instructions. For these, a call, the division among threads and
 * loops would take longer than the work itself.
 *
 * Buffers that only one straight-line group accesses become SSA values.
 *
 * Requires:    steps; merged buffers.
 * Preserves:   results and effects.
 * Invalidates: places of buffers.
 */
#include "base/error.h"
#include "fuse/fuse_straightline.h"
#include "fuse/fuse_value.h"
#include "loop/inst_cost.h"
#include "recipe/reduce_tree.h"

enum {
    MAX_COST = 600, /* instructions of a kernel; bounds compile time */
    LANES = 4       /* assumed: the IR must not depend on the vector width */
};

/* That of LANES elements of 4 bytes. */
static const tgi_cost_width assumed_width = TGI_COST_128;

/* Vectors for n elements: full ones, then one per power of two of the tail. */
static int64_t n_vectors(int64_t n)
{
    return n / LANES + __builtin_popcountll((uint64_t)(n % LANES));
}

/* True if all extents are known and small enough. Writes the number of points
   (COLUMNS: without the last axis), the extent along which vectors lie, and the
   rows of COLUMNS. */
static bool find_extents(const tgi_kernel_loops *k, int64_t *out_points,
                         int64_t *out_along, int64_t *out_rows)
{
    const bool is_rows = k->vectors == TGI_ROWS;
    const int along = is_rows ? k->n_outer : k->n_outer - 1;
    int64_t all = 1;
    *out_points = 1;
    for (size_t i = 1; i < k->insts.n; i++)
        if (k->insts.data[i].kind == TGI_INST_CARRIED)
            return false;
    for (size_t i = 0; i < k->offsets.n; i++)
        if (!tgi_buffer_id_is_none(k->offsets.data[i].memory))
            return false;
    for (int axis = 0; axis <= k->n_outer; axis++) {
        if (!tgi_dim_is_known(k->extent[axis]) ||
            k->extent[axis] > TGI_STRAIGHTLINE_ELEMENTS)
            return false;
        all *= k->extent[axis] ? k->extent[axis] : 1;
        if (all > TGI_STRAIGHTLINE_ELEMENTS)
            return false;
        if (axis < along)
            *out_points *= k->extent[axis];
    }
    *out_along = k->extent[along];
    *out_rows = is_rows ? 1 : k->extent[k->n_outer];
    return true;
}

uint32_t tgi_fuse_straightline_cost(const tgi_kernel_loops *k)
{
    int64_t points, along, rows;
    if (k->checks.n || !tgi_memo_id_is_none(k->memo) ||
        !find_extents(k, &points, &along, &rows))
        return 0;
    for (size_t i = 0; i < k->accesses.n; i++)
        if (k->accesses.data[i].panel_width)
            return 0;
    for (size_t i = 0; i < k->reductions.n; i++)
        if (k->reductions.data[i].is_split ||
            k->reductions.data[i].combines_blocks ||
            k->extent[k->n_outer] > TGI_BLOCK_ROWS)
            return 0;
    for (size_t i = 0; i < k->stores.n; i++)
        if (k->stores.data[i].epilogue_op)
            return 0;
    const bool is_rows = k->vectors == TGI_ROWS;
    const int64_t bodies = points * n_vectors(along) * rows;
    const int64_t at_points = is_rows ? points : points * n_vectors(along);
    int64_t cost = 1;
    for (size_t i = 1; i < k->insts.n; i++) {
        const int level = k->insts.data[i].level;
        cost += (int64_t)tgi_inst_cost(k, &k->insts.data[i], assumed_width)
                    .instructions *
                (level == TGI_LEVEL_INNER   ? bodies
                 : level == TGI_LEVEL_POINT ? at_points
                                            : 1);
        if (cost > MAX_COST)
            return 0;
    }
    /* ROWS reduces elements one by one. */
    for (size_t i = 0; i < k->reductions.n; i++) {
        const tgi_reduction *r = &k->reductions.data[i];
        cost +=
            (int64_t)tgi_cost_of_step(r->op, (tg_dtype)r->dtype, assumed_width)
                .instructions *
            (is_rows ? points * along : bodies);
    }
    cost += TGI_COST_STORE * (int64_t)k->stores.n * bodies;
    return cost <= MAX_COST ? (uint32_t)cost : 0;
}

/* -- Promotion to SSA values ----------------------------------------------- */

/* Groups are numbered from 1. A buffer that is accessed by several groups, or
   otherwise needs an address, is in … */
enum { MEMORY = UINT32_MAX };

bool tgi_access_is_static(const tgi_kernel_loops *k, const tgi_access *access)
{
    if (access->index || access->shift || !tgi_dim_is_known(access->offset))
        return false;
    for (int axis = 0; axis <= k->n_outer; axis++)
        if (!tgi_dim_is_known(access->stride[axis].distance))
            return false;
    return true;
}

static void record_accesses(const tgi_kernel_loops *k, uint32_t group,
                            uint32_t *groups)
{
    for (size_t i = 0; i < k->accesses.n; i++) {
        const tgi_access *access = &k->accesses.data[i];
        uint32_t *of_buffer = &groups[tgi_buffer_id_index(access->buffer)];
        const bool is_same = !*of_buffer || *of_buffer == group;
        *of_buffer =
            k->is_straightline && is_same && tgi_access_is_static(k, access)
                ? group
                : (uint32_t)MEMORY;
    }
}

/* Promotes buffers that only one straight-line group accesses to SSA
   values. */
static tg_status promote_buffers(tgi_loops *loops)
{
    uint32_t *groups = tgi_alloc_zero((loops->buffers.n + 1) * sizeof(*groups));
    if (!groups)
        return tgi_error_memory();
    tgi_group_walk walk = {.group = 1};
    for (size_t i = 0; i < loops->steps.n; i++) {
        const tgi_kernel_loops *k = tgi_loops_kernel_at(loops, i);
        tgi_loops_walk_groups(loops, i, &walk);
        if (k)
            record_accesses(k, walk.group, groups);
    }
    for (size_t i = 0; i < loops->hosts.n; i++) {
        const tgi_host_step *host = &loops->hosts.data[i];
        for (uint32_t j = 0; j < host->n_buffers; j++)
            groups[tgi_buffer_id_index(host->buffers[j])] = MEMORY;
    }
    for (size_t i = 0; i < loops->runtime_checks.n; i++) {
        const tgi_buffer_id buffer = loops->runtime_checks.data[i].buffer;
        if (!tgi_buffer_id_is_none(buffer))
            groups[tgi_buffer_id_index(buffer)] = MEMORY;
    }
    for (size_t i = 0; i < loops->controls.n; i++)
        groups[tgi_buffer_id_index(loops->controls.data[i].operand)] =
            groups[tgi_buffer_id_index(loops->controls.data[i].base)] = MEMORY;
    for (size_t i = 0; i < loops->buffers.n; i++) {
        tgi_loop_buffer *b = &loops->buffers.data[i];
        if (!b->is_pinned &&
            (b->place == TGI_PLACE_TEMP || b->place == TGI_PLACE_SCRATCH) &&
            groups[i] && groups[i] != MEMORY && tgi_dim_is_known(b->count) &&
            b->count <= TGI_MAX_SSA_ELEMENTS)
            b->place = TGI_PLACE_SSA;
    }
    tgi_free(groups);
    return TG_OK;
}

tg_status tgi_loop_pass_group(tgi_loop_pass_state *s)
{
    TGI_TRY(tgi_straightline_loops(s->loops, s->explain));
    return promote_buffers(s->loops);
}
