/* SPDX-License-Identifier: MIT */
/*
 * choose_interchange.c - loop interchange: the last outer axis inside the
 * vector loop of an elementwise kernel. A depthwise convolution multiplies the
 * pixels of a row by the same filters. With the loop along pixels inside that
 * along channels, a vector of each filter is loaded once per row, into a
 * register.
 */
#include "schedule/choose.h"

enum {
    /* Minimum of hoisted loads, which are also at least half of the others:
       else the loop is bound by the others, which are contiguous without
       interchange. Minimum of others: a body that loads one element per result
       is bound by memory, and sequential reads are faster. Measured
       on Zen 5, ((x * a + b) + c) * d, 6272 x 1024: 1790 us instead of 880;
       depthwise, 3 x 3: 0.5 to 0.8 of the time, with 32 to 1024 channels. */
    MIN_HOISTED_LOADS = 4,
    MIN_OTHER_LOADS = 4,
    MAX_HOISTED = 256, /* insts; count_live takes as many steps per inst */
    /* Registers of the body beside the hoisted values. */
    BODY_REGISTERS = 4,
    MAX_REGISTERS = 2, /* per value */
    /* Points of a work item. */
    MAX_ITEM_POINTS = 64
};

/* True if the body of a kernel can run in any order of its points, and all its
   insts are in it or before it. */
static bool is_legal(const tgi_schedule *s, int axis)
{
    const tgi_kernel_loops *loops = s->loops;
    if (axis < 0 || loops->vectors != TGI_ROWS || loops->is_straightline ||
        loops->n_phases != 1 || loops->reductions.n || loops->checks.n ||
        s->tiles.rows)
        return false;
    for (uint32_t i = 1; i < loops->insts.n; i++) {
        const tgi_inst *inst = &loops->insts.data[i];
        if ((inst->kind == TGI_INST_LOAD || inst->kind == TGI_INST_POSITION) &&
            s->insts[i].level != TGI_LEVEL_INNER &&
            loops->accesses.data[inst->number].stride[axis].distance != 0)
            return false;
    }
    for (size_t i = 0; i < loops->stores.n; i++)
        if (loops->stores.data[i].level != TGI_LEVEL_INNER)
            return false;
    return true;
}

static bool is_stored_buffer(const tgi_kernel_loops *loops,
                             tgi_buffer_id buffer)
{
    for (size_t i = 0; i < loops->stores.n; i++)
        if (tgi_buffer_id_equals(
                loops->accesses.data[loops->stores.data[i].access].buffer,
                buffer))
            return true;
    return false;
}

/* In row order, the loop along columns has the POINT insts, too. */
static bool is_in_loop(const tgi_schedule *s, uint32_t inst)
{
    const tgi_level level = s->loops->vectors == TGI_COLUMNS ? TGI_LEVEL_POINT
                                                             : TGI_LEVEL_INNER;
    return inst && s->insts[inst].level >= level && !s->insts[inst].is_hoisted;
}

/* True if an inst depends on the axis, given the insts before it; loads from a
   buffer that the kernel stores to count as such, and so do carried values. */
static bool depends_on(const tgi_schedule *s, const tgi_inst *inst, int axis)
{
    if (inst->kind == TGI_INST_CARRIED)
        return true;
    for (int i = 0; i < inst->n_operands; i++)
        if (is_in_loop(s, inst->operands[i]))
            return true;
    if (inst->kind != TGI_INST_LOAD && inst->kind != TGI_INST_POSITION)
        return false;
    const tgi_access *access = &s->loops->accesses.data[inst->number];
    return access->stride[axis].distance != 0 || is_in_loop(s, access->index) ||
           is_in_loop(s, access->shift) ||
           (inst->kind == TGI_INST_LOAD &&
            is_stored_buffer(s->loops, access->buffer));
}

void tgi_schedule_hoist(tgi_schedule *s, int axis)
{
    for (uint32_t i = 1; i < s->loops->insts.n; i++)
        s->insts[i].is_hoisted =
            axis >= 0 && s->insts[i].level == TGI_LEVEL_INNER &&
            !depends_on(s, &s->loops->insts.data[i], axis);
}

/* Hoisted values that the loop uses: each needs a register. */
static unsigned count_live(const tgi_schedule *s)
{
    const tgi_kernel_loops *loops = s->loops;
    unsigned n = 0;
    for (uint32_t i = 1; i < loops->insts.n; i++) {
        bool is_live = false;
        for (uint32_t j = i + 1; j < loops->insts.n; j++)
            for (int k = 0; k < loops->insts.data[j].n_operands; k++)
                is_live |= loops->insts.data[j].operands[k] == i &&
                           is_in_loop(s, j);
        for (size_t j = 0; j < loops->stores.n; j++)
            is_live |= loops->stores.data[j].value == i;
        n += is_live && s->insts[i].is_hoisted;
    }
    return n;
}

static bool is_profitable(const tgi_schedule *s)
{
    unsigned n_hoisted = 0, n_loads = 0, n_others = 0;
    for (uint32_t i = 1; i < s->loops->insts.n; i++) {
        const bool is_load = s->insts[i].varies &&
                             s->loops->insts.data[i].kind == TGI_INST_LOAD;
        n_hoisted += s->insts[i].is_hoisted;
        n_loads += is_load && s->insts[i].is_hoisted;
        n_others += is_load && !s->insts[i].is_hoisted;
    }
    return n_hoisted <= MAX_HOISTED && n_loads >= MIN_HOISTED_LOADS &&
           n_others >= MIN_OTHER_LOADS && 2 * n_loads >= n_others;
}

/* Points of a work item: whole rows of points, or equal parts of one. */
static int64_t item_points(tgi_dim extent)
{
    if (!tgi_dim_is_known(extent) || extent <= 0)
        return MAX_ITEM_POINTS;
    const int64_t n = (extent + MAX_ITEM_POINTS - 1) / MAX_ITEM_POINTS;
    return (extent + n - 1) / n;
}

int tgi_schedule_choose_interchange(const tgi_scheduler *r, tgi_schedule *s,
                                    unsigned *out_registers)
{
    const int axis = s->inner - 1;
    const uint16_t hint = r->hints->values[TGI_HINT_INTERCHANGE];
    *out_registers = MAX_REGISTERS;
    if (hint == TGI_HINT_NO || !is_legal(s, axis))
        return -1;
    tgi_schedule_hoist(s, axis);
    const unsigned n_free = r->target->n_registers - BODY_REGISTERS;
    const bool is_tried = hint == TGI_HINT_YES || is_profitable(s);
    const unsigned n_live = is_tried ? count_live(s) : 0;
    if (!is_tried || (hint != TGI_HINT_YES && n_live > n_free)) {
        tgi_schedule_hoist(s, -1);
        return -1;
    }
    while (*out_registers > 1 && n_live * *out_registers > n_free)
        --*out_registers;
    s->item_extent[axis] = item_points(s->loops->extent[axis]);
    return axis;
}
