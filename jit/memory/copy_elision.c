/* SPDX-License-Identifier: MIT */
/*
 * copy_elision.c - copy elision: two buffers of which one starts as a copy of
 * the other share storage, if they do not interfere, and the copying store is
 * deleted. This is register coalescing, for buffers:
 *
 *   live ranges    where a buffer may still be read     live_ranges.c
 *   interference   a write makes them differ while      coalesce.c
 *                  both are live
 *   union-find     a class of buffers has the union     coalesce.c
 *                  of their live ranges
 *
 * The pairs to try, in this order, first come, first served:
 *
 *   carried values   The body of a loop reads one buffer and writes the next
 *                    value to a second one; LOOP_END swaps their addresses. The
 *                    second one shares the storage of the buffer it is swapped
 *                    with if that is dead from the first write of the next
 *                    value to LOOP_END. If it is, nothing moves. Buffers that
 *                    still move are pinned: their storage changes.
 *   copies           A store whose value is a load of the same element.
 *   twins            Two stores of the same value to the same element.
 *
 * The rules for each kind of buffer follow from its live range:
 *
 *   variables        live throughout, except between the last read of the old
 *                    contents and a store of all new ones, without an exit in
 *                    between. So the value that is assigned to a variable is
 *                    computed in place if no step in between may fail and no
 *                    step still reads the old contents.
 *   parameters       live throughout, as they are never stored to: only a copy
 *                    that never changes shares their storage.
 *   results          live from the first store to the end. The caller sees
 *                    nothing of a call that fails, because its results are
 *                    staged (native.c). A result never shares the storage of a
 *                    parameter, a variable or another result.
 *   switch results   are written in several cases. A case does not see the
 *                    writes of another one.
 *   host calls       write outputs while they read inputs: these interfere.
 *   memoised values  are never united: they are live between calls.
 *
 * Requires:    steps.
 * Preserves:   results and effects.
 * Invalidates: ids of buffers and kernels, step numbers.
 * Terminates:  one attempt per copy, near-linear in the number of accesses
 *              (coalesce.c).
 */
#include "base/error.h"
#include "loop/loop_pass.h"
#include "memory/coalesce.h"

/* -- Carried values -------------------------------------------------------- */

/* Unites the second buffers of carried values with those that they are swapped
   with, which are not next values themselves. */
static void unite_carried(tgi_coalescer *c, const tgi_control_flow *flow)
{
    for (uint32_t i = 0; i < flow->n_moved; i++) {
        bool is_second = true;
        for (uint32_t k = 0; k < flow->n_carried; k++)
            is_second &= !tgi_buffer_id_equals(flow->carried[k], flow->to[i]);
        if (is_second)
            tgi_coalescer_try_pinned(c, flow->from[i], flow->to[i]);
    }
}

static void pin(const tgi_coalescer *c, tgi_buffer_id buffer)
{
    if (!tgi_buffer_id_is_none(buffer))
        tgi_loops_buffer(c->loops, tgi_coalescer_find(c, buffer))->is_pinned =
            true;
}

/* Carried values that do not move need no longer be pinned. */
static void unpin_carried(const tgi_coalescer *c)
{
    const tgi_loops *loops = c->loops;
    for (size_t i = 0; i < loops->controls.n; i++) {
        const tgi_control_flow *flow = &loops->controls.data[i];
        for (uint32_t k = 0; flow->n_cases == 0 && k < flow->n_carried; k++)
            tgi_loops_buffer(loops, tgi_coalescer_find(c, flow->carried[k]))
                ->is_pinned = false;
    }
    for (size_t i = 0; i < loops->controls.n; i++) {
        const tgi_control_flow *flow = &loops->controls.data[i];
        pin(c, flow->operand);
        pin(c, flow->base);
        if (flow->has_test)
            pin(c, flow->test);
        for (uint32_t k = 0; k < flow->n_moved; k++)
            if (!tgi_buffer_id_equals(tgi_coalescer_find(c, flow->to[k]),
                                      tgi_coalescer_find(c, flow->from[k])))
                pin(c, flow->to[k]);
    }
}

/* -- Copies ---------------------------------------------------------------- */

static void unite_copies(tgi_coalescer *c, const tgi_kernel_loops *k)
{
    for (size_t i = 0; i < k->stores.n; i++) {
        const tgi_loop_store *store = &k->stores.data[i];
        const tgi_buffer_id to = k->accesses.data[store->access].buffer;
        const tgi_access *from = tgi_copy_source(k, store);
        if (from)
            tgi_coalescer_try(c, from->buffer, to);
        for (size_t j = 0; j < i; j++)
            if (tgi_stores_are_twins(k, store, &k->stores.data[j]))
                tgi_coalescer_try(
                    c, k->accesses.data[k->stores.data[j].access].buffer, to);
    }
}

static void elide_copies(tgi_coalescer *c)
{
    const tgi_loops *loops = c->loops;
    for (size_t i = 0; i < loops->steps.n; i++)
        if (loops->steps.data[i].kind == TGI_STEP_LOOP)
            unite_carried(
                c, tgi_loops_control(loops, loops->steps.data[i].control));
    unpin_carried(c);
    for (size_t i = 0; i < loops->steps.n; i++)
        if (loops->steps.data[i].kind == TGI_STEP_RUN)
            unite_copies(c, tgi_loops_kernel_at(loops, i));
}

tg_status tgi_loop_pass_elide_copies(tgi_loop_pass_state *s)
{
    tgi_coalescer c;
    tg_status status = tgi_coalescer_init(&c, s->loops, s->explain);
    if (!status) {
        elide_copies(&c);
        status = tgi_coalescer_apply(&c);
    }
    tgi_coalescer_deinit(&c);
    return status;
}
