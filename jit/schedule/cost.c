/* SPDX-License-Identifier: MIT */
/*
 * cost.c - the cost model (recipe/cost.h) of a kernel whose vector axis is
 * known: whether more threads pay, and whether a body is heavy.
 */
#include "loop/inst_cost.h"
#include "schedule/choose.h"

/* -- Insts ----------------------------------------------------------------- */

static tgi_cost inst_cost(const tgi_schedule *s, const tgi_inst *inst,
                          tgi_cost_width width)
{
    if (inst->kind == TGI_INST_LOAD &&
        !tgi_schedule_is_contiguous(s, &s->loops->accesses.data[inst->number]))
        return tgi_cost_of_simple(TGI_COST_STRIDED_LOAD);
    return tgi_inst_cost(s->loops, inst, width);
}

void tgi_schedule_find_costs(tgi_schedule *s)
{
    const tgi_cost_width width = tgi_cost_width_of(s->vector_bits);
    for (uint32_t i = 1; i < s->loops->insts.n; i++)
        s->insts[i].cost =
            inst_cost(s, &s->loops->insts.data[i], width).instructions;
}

unsigned tgi_schedule_body_cost(const tgi_schedule *s, unsigned phase)
{
    unsigned cost = s->phases[phase].n_reductions;
    for (uint32_t i = 1; i < s->loops->insts.n; i++)
        if (s->insts[i].level == TGI_LEVEL_INNER && s->insts[i].varies &&
            s->loops->insts.data[i].phase == phase)
            cost += s->insts[i].cost;
    return cost;
}

/* -- Kernels --------------------------------------------------------------- */

tgi_kernel_cost tgi_schedule_kernel_cost(const tgi_schedule *s)
{
    tgi_kernel_cost cost = {.point = TGI_COST_PS_PER_POINT};
    const tgi_kernel_loops *loops = s->loops;
    for (uint32_t i = 1; i < loops->insts.n; i++) {
        const tgi_inst *inst = &loops->insts.data[i];
        const int64_t bytes = tgi_dtype_bytes(
            inst->dtype == TG_BOOL ? inst->type ? inst->type : TG_BOOL
                                   : inst->dtype);
        int64_t picoseconds = inst_cost(s, inst, TGI_COST_ASSUMED).half_cycles *
                              bytes * TGI_COST_PS_PER_BYTE;
        if (inst->kind == TGI_INST_LOAD)
            picoseconds += bytes * TGI_COST_PS_PER_BYTE_MOVED;
        if (s->insts[i].level == TGI_LEVEL_INNER)
            cost.element += picoseconds;
        else if (s->insts[i].level == TGI_LEVEL_POINT)
            cost.point += picoseconds;
    }
    for (size_t i = 0; i < loops->stores.n; i++) {
        const tgi_loop_store *store = &loops->stores.data[i];
        const int64_t bytes =
            tgi_dtype_bytes(loops->insts.data[store->value].dtype);
        if (store->level == TGI_LEVEL_INNER)
            cost.element += bytes * TGI_COST_PS_PER_BYTE_MOVED;
    }
    if (s->matmul.mr) /* a micro-kernel reuses what it loads */
        cost.element = 0;
    for (size_t i = 0; i < loops->reductions.n; i++) {
        const tgi_reduction *r = &loops->reductions.data[i];
        cost.element +=
            tgi_cost_of_step(r->op, (tg_dtype)r->dtype, TGI_COST_ASSUMED)
                .half_cycles *
            tgi_dtype_bytes(r->dtype) * TGI_COST_PS_PER_BYTE;
    }
    return cost;
}
