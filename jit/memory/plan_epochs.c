/* SPDX-License-Identifier: MIT */
/*
 * plan_epochs.c - the last loop pass: live ranges in epochs, by which a call
 * packs its temporaries (memory_plan.c). Holes in live ranges are ignored.
 * Buffers whose addresses a loop swaps share one range, because the value of
 * each may be in the memory of any of them.
 *
 * Requires:    the final steps and places of buffers.
 * Establishes: n_epochs; is_used, first_epoch and last_epoch of all buffers.
 * Preserves:   everything else.
 */
#include "base/error.h"
#include "loop/loop_pass.h"
#include "memory/live_ranges.h"

typedef struct planner {
    tgi_loops *loops;
    tgi_live_ranges live;
    uint32_t *epoch;  /* by step, and one more for the end */
    uint32_t *parent; /* by buffer: union-find of swapped ones */
} planner;

static uint32_t find_swapped(const planner *p, uint32_t buffer)
{
    while (p->parent[buffer] != buffer)
        buffer = p->parent[buffer] = p->parent[p->parent[buffer]];
    return buffer;
}

static void number_epochs(planner *p)
{
    const tgi_loops *loops = p->loops;
    p->epoch[0] = 0;
    for (size_t i = 0; i < loops->steps.n; i++)
        p->epoch[i + 1] =
            p->epoch[i] + (loops->steps.data[i].kind == TGI_STEP_BARRIER);
    p->loops->n_epochs = p->epoch[loops->steps.n] + 1;
}

static void unite_swapped(planner *p)
{
    const tgi_loops *loops = p->loops;
    for (uint32_t i = 0; i < loops->buffers.n; i++)
        p->parent[i] = i;
    for (size_t i = 0; i < loops->controls.n; i++) {
        const tgi_control_flow *c = &loops->controls.data[i];
        for (uint32_t k = 0; k < c->n_moved; k++)
            p->parent[find_swapped(p, tgi_buffer_id_index(c->to[k]))] =
                find_swapped(p, tgi_buffer_id_index(c->from[k]));
    }
}

/* Extends the range of `b` to that of another buffer. */
static void extend(tgi_loop_buffer *b, const tgi_loop_buffer *other)
{
    if (!other->is_used)
        return;
    if (!b->is_used || other->first_epoch < b->first_epoch)
        b->first_epoch = other->first_epoch;
    if (!b->is_used || other->last_epoch > b->last_epoch)
        b->last_epoch = other->last_epoch;
    b->is_used = true;
}

static tg_status plan_epochs(planner *p)
{
    tgi_loops *loops = p->loops;
    tgi_live_range range = {0};
    number_epochs(p);
    unite_swapped(p);
    for (size_t i = 0; i < loops->buffers.n; i++) {
        tgi_loop_buffer *b = &loops->buffers.data[i];
        range.n = 0;
        if (!tgi_live_range_of(&p->live, tgi_buffer_id_from(i), &range)) {
            tgi_vec_deinit(&range);
            return tgi_error_memory();
        }
        b->is_used = range.n > 0;
        b->first_epoch = b->last_epoch = 0;
        if (!b->is_used)
            continue;
        b->first_epoch = p->epoch[range.data[0].span.first / 2];
        b->last_epoch = p->epoch[range.data[range.n - 1].span.last / 2];
    }
    tgi_vec_deinit(&range);
    for (uint32_t i = 0; i < loops->buffers.n; i++)
        extend(&loops->buffers.data[find_swapped(p, i)],
               &loops->buffers.data[i]);
    for (uint32_t i = 0; i < loops->buffers.n; i++)
        extend(&loops->buffers.data[i],
               &loops->buffers.data[find_swapped(p, i)]);
    return TG_OK;
}

tg_status tgi_loop_pass_plan(tgi_loop_pass_state *s)
{
    planner p = {.loops = s->loops,
                 .epoch = tgi_alloc((s->loops->steps.n + 1) * sizeof(*p.epoch)),
                 .parent =
                     tgi_alloc((s->loops->buffers.n + 1) * sizeof(*p.parent))};
    tg_status status = tgi_live_ranges_init(&p.live, s->loops);
    if (!status)
        status = p.epoch && p.parent ? plan_epochs(&p) : tgi_error_memory();
    tgi_live_ranges_deinit(&p.live);
    tgi_free(p.epoch);
    tgi_free(p.parent);
    return status;
}
