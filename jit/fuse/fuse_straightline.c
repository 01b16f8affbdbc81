/* SPDX-License-Identifier: MIT */
/*
 * fuse_straightline.c - which kernels become straight-line code in the entry: those
 * with a few hundred elements at most, whose every extent is known, so that
 * all of it can be written out. Calling, dividing into shares and looping
 * would take longer than what they do.
 *
 * Such kernels, one after the other, are a region. What they leave for each
 * other, and for nobody else, is never stored: it is values. What is counted
 * here decides how long LLVM takes, so it is bounded.
 */
#include "base/error.h"
#include "fuse/fuse_straightline.h"
#include "fuse/fuse_value.h"
#include "recipe/reduce_tree.h"

enum {
    MOST_WORDS = 600, /* of a kernel, written out */
    LANES = 4,        /* taken for sure: what is counted must not depend on
                            the width of vectors */
    WORDS_OF_RANDOM = 60
};

/* Vectors of full width, then halves of it, and halves of that. */
static int64_t pieces_of(int64_t n)
{
    return n / LANES + __builtin_popcountll((uint64_t)(n % LANES));
}

static int64_t words_of(const tgi_fuse_state *s, const tgi_inst *inst)
{
    if (inst->kind == TGI_INST_RANDOM)
        return WORDS_OF_RANDOM;
    if (inst->kind == TGI_INST_OP && inst->node &&
        s->values[inst->node].node_cost > 1)
        return s->values[inst->node].node_cost;
    return 1;
}

/* True if all extents are known; writes the points (of COLUMNS: without the
   last axis), how many elements vectors go along, and the rows of COLUMNS. */
static bool find_extents(const tgi_kernel_loops *k, int64_t *out_points,
                         int64_t *out_along, int64_t *out_rows)
{
    const bool is_rows = k->vectors == TGI_ROWS;
    const int along = is_rows ? k->n_outer : k->n_outer - 1;
    int64_t all = 1;
    *out_points = 1;
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

uint32_t tgi_fuse_straightline_cost(const tgi_fuse_state *s,
                                    const tgi_kernel_loops *k)
{
    int64_t points, along, rows;
    if (k->checks.n || !find_extents(k, &points, &along, &rows))
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
    const int64_t bodies = points * pieces_of(along) * rows;
    const int64_t at_points = is_rows ? points : points * pieces_of(along);
    int64_t words = 1;
    for (size_t i = 1; i < k->insts.n; i++) {
        const int level = k->insts.data[i].level;
        words += words_of(s, &k->insts.data[i]) *
                 (level == TGI_LEVEL_INNER   ? bodies
                  : level == TGI_LEVEL_POINT ? at_points
                                             : 1);
        if (words > MOST_WORDS)
            return 0;
    }
    /* Of rows, elements are reduced one by one. */
    words += (int64_t)k->reductions.n * (is_rows ? points * along : bodies);
    words += (int64_t)k->stores.n * bodies;
    return words <= MOST_WORDS ? (uint32_t)words : 0;
}

/* -- Values ---------------------------------------------------------------- */

/* Regions are numbered from 1 on; what is touched elsewhere too, or in ways
   for which it must have an address, is … */
enum { ELSEWHERE = UINT32_MAX };

bool tgi_access_is_static(const tgi_kernel_loops *k, const tgi_access *access)
{
    if (access->index || access->shift || !tgi_dim_is_known(access->offset))
        return false;
    for (int axis = 0; axis <= k->n_outer; axis++)
        if (!tgi_dim_is_known(access->stride[axis].distance))
            return false;
    return true;
}

static void note_kernel(const tgi_kernel_loops *k, uint32_t region,
                        uint32_t *regions)
{
    for (size_t i = 0; i < k->accesses.n; i++) {
        const tgi_access *access = &k->accesses.data[i];
        uint32_t *of_buffer = &regions[tgi_buffer_id_index(access->buffer)];
        const bool is_same = !*of_buffer || *of_buffer == region;
        *of_buffer =
            k->is_straightline && is_same && tgi_access_is_static(k, access)
                ? region
                : (uint32_t)ELSEWHERE;
    }
}

tg_status tgi_fuse_promote_buffers(tgi_fuse_state *s)
{
    tgi_loops *loops = s->loops;
    uint32_t *regions =
        tgi_alloc_zero((loops->buffers.n + 1) * sizeof(*regions));
    if (!regions)
        return tgi_error_memory();
    tgi_group_walk walk = {.group = 1};
    for (size_t i = 0; i < loops->steps.n; i++) {
        const tgi_kernel_loops *k = tgi_loops_kernel_at(loops, i);
        tgi_loops_walk_groups(loops, i, &walk);
        if (k)
            note_kernel(k, walk.group, regions);
    }
    for (size_t i = 0; i < loops->hosts.n; i++) {
        const tgi_host_step *host = &loops->hosts.data[i];
        for (uint32_t j = 0; j < host->n_buffers; j++)
            regions[tgi_buffer_id_index(host->buffers[j])] = ELSEWHERE;
    }
    for (size_t i = 0; i < loops->runtime_checks.n; i++)
        regions[tgi_buffer_id_index(loops->runtime_checks.data[i].buffer)] =
            ELSEWHERE;
    for (size_t i = 0; i < loops->controls.n; i++)
        regions[tgi_buffer_id_index(loops->controls.data[i].operand)] =
            regions[tgi_buffer_id_index(loops->controls.data[i].base)] =
                ELSEWHERE;
    for (size_t i = 0; i < loops->buffers.n; i++) {
        tgi_loop_buffer *b = &loops->buffers.data[i];
        if (!b->is_pinned &&
            (b->place == TGI_PLACE_TEMP || b->place == TGI_PLACE_SCRATCH) &&
            regions[i] && regions[i] != ELSEWHERE &&
            tgi_dim_is_known(b->count) && b->count <= TGI_MAX_SSA_ELEMENTS)
            b->place = TGI_PLACE_SSA;
    }
    tgi_free(regions);
    return TG_OK;
}
