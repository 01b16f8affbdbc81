/* SPDX-License-Identifier: MIT */
/*
 * in_place.c - in-place reuse. A buffer that a kernel stores takes the storage
 * of one that the kernel loads, if the two do not interfere: the old one dies
 * in the kernel, and every load of it reads the element being stored
 * (coalesce.c).
 *
 * Requires:    steps; copies already elided.
 * Preserves:   results and effects.
 * Invalidates: buffer ids.
 * Terminates:  one attempt per store and load of a kernel.
 */
#include "base/error.h"
#include "loop/loop_pass.h"
#include "memory/coalesce.h"

static bool is_temporary(const tgi_coalescer *c, tgi_buffer_id buffer)
{
    return tgi_loops_buffer(c->loops, tgi_coalescer_find(c, buffer))->place ==
           TGI_PLACE_TEMP;
}

/* Unites `new` with a buffer that the kernel loads, if possible. */
static void unite_with_input(tgi_coalescer *c, const tgi_kernel_loops *k,
                             tgi_buffer_id new)
{
    for (size_t i = 1; i < k->insts.n; i++) {
        const tgi_inst *inst = &k->insts.data[i];
        if (inst->kind != TGI_INST_LOAD)
            continue;
        const tgi_buffer_id old = k->accesses.data[inst->number].buffer;
        if (is_temporary(c, old) &&
            !tgi_buffer_id_equals(tgi_coalescer_find(c, old),
                                  tgi_coalescer_find(c, new)) &&
            tgi_coalescer_try(c, old, new))
            return;
    }
}

static void reuse_in_place(tgi_coalescer *c)
{
    const tgi_loops *loops = c->loops;
    for (size_t i = 0; i < loops->steps.n; i++) {
        const tgi_kernel_loops *k = tgi_loops_kernel_at(loops, i);
        if (!k || k->is_straightline || !tgi_kernel_is_single_sweep(k))
            continue;
        for (size_t j = 0; j < k->stores.n; j++) {
            const tgi_buffer_id new =
                k->accesses.data[k->stores.data[j].access].buffer;
            /* Not the memory of a variable. */
            if (tgi_loops_buffer(loops, tgi_coalescer_find(c, new))->place !=
                TGI_PLACE_PARAM)
                unite_with_input(c, k, new);
        }
    }
}

tg_status tgi_loop_pass_in_place(tgi_loop_pass_state *s)
{
    tgi_coalescer c;
    tg_status status = tgi_coalescer_init(&c, s->loops, s->explain);
    if (!status) {
        reuse_in_place(&c);
        status = tgi_coalescer_apply(&c);
    }
    tgi_coalescer_deinit(&c);
    return status;
}
