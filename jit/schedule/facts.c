/* SPDX-License-Identifier: MIT */
/*
 * facts.c - which insts vary along the vector axis, and at which level each
 * inst is computed.
 */
#include "schedule/choose.h"

#include <assert.h>

static bool has_access(const tgi_inst *inst)
{
    return inst->kind == TGI_INST_LOAD || inst->kind == TGI_INST_POSITION;
}

/* Propagates the facts of an operand to its user. */
static void inherit_facts(tgi_schedule *s, uint32_t inst, uint32_t used)
{
    tgi_inst_schedule *facts = &s->insts[inst];
    const tgi_inst_schedule *operand = &s->insts[used];
    const tgi_inst *insts = s->loops->insts.data;
    assert(used > 0 && used < inst);
    facts->varies |= operand->varies;
    if (operand->level > facts->level)
        facts->level = operand->level;
    if (operand->is_after_loop && insts[used].phase == insts[inst].phase)
        facts->is_after_loop = true;
}

static void find_inst_facts(tgi_schedule *s, uint32_t number)
{
    const tgi_inst *inst = &s->loops->insts.data[number];
    tgi_inst_schedule *facts = &s->insts[number];
    facts->level = inst->level;
    for (int i = 0; i < inst->n_operands; i++)
        inherit_facts(s, number, inst->operands[i]);
    if (has_access(inst)) {
        const tgi_access *access = &s->loops->accesses.data[inst->number];
        facts->varies |= !tgi_stride_is_zero(access->stride[s->vector_axis]);
        if (access->index)
            inherit_facts(s, number, access->index);
        if (access->shift)
            inherit_facts(s, number, access->shift);
    }
    if (inst->kind == TGI_INST_CARRIED)
        facts->varies = true; /* COLUMNS: lanes are points */
    if (inst->kind == TGI_INST_REDUCED) {
        if (facts->level < TGI_LEVEL_POINT)
            facts->level = TGI_LEVEL_POINT;
        facts->varies = s->loops->vectors == TGI_COLUMNS;
        facts->is_after_loop =
            s->loops->reductions.data[inst->number].phase == inst->phase;
    }
    /* In COLUMNS kernels, lanes are points. */
    if (facts->varies && facts->level < TGI_LEVEL_POINT)
        facts->level = TGI_LEVEL_POINT;
}

void tgi_schedule_find_facts(tgi_schedule *s)
{
    for (uint32_t i = 1; i < s->loops->insts.n; i++)
        find_inst_facts(s, i);
}

bool tgi_schedule_is_maskable(const tgi_scheduler *r, const tgi_schedule *s,
                              const tgi_access *access)
{
    const unsigned bytes = (unsigned)tgi_dtype_bytes(
        tgi_loops_buffer(r->program, access->buffer)->dtype);
    return tgi_schedule_is_contiguous(s, access) &&
           r->target->min_masked_bytes && bytes >= r->target->min_masked_bytes;
}
