/* SPDX-License-Identifier: MIT */
/*
 * verify_facts.c - each inst's facts follow from those of its operands, so by
 * induction all are right: a uniform value is equal in all lanes, and a value
 * is computed at the level of its latest operand.
 */
#include "schedule/verify.h"

static bool must_vary(const tgi_schedule *s, const tgi_inst *inst)
{
    if (inst->kind == TGI_INST_CARRIED)
        return true;
    if (inst->kind == TGI_INST_REDUCED)
        return s->loops->vectors == TGI_COLUMNS;
    if ((inst->kind == TGI_INST_LOAD || inst->kind == TGI_INST_POSITION) &&
        s->loops->accesses.data[inst->number].stride[s->vector_axis].distance !=
            0)
        return true;
    for (int n = 0; tgi_schedule_dependence(s, inst, n); n++)
        if (s->insts[tgi_schedule_dependence(s, inst, n)].varies)
            return true;
    return false;
}

static int expected_level(const tgi_schedule *s, uint32_t number)
{
    const tgi_inst *inst = &s->loops->insts.data[number];
    int level = inst->level;
    if (level < TGI_LEVEL_POINT &&
        (s->insts[number].varies || inst->kind == TGI_INST_REDUCED))
        level = TGI_LEVEL_POINT;
    for (int n = 0; tgi_schedule_dependence(s, inst, n); n++)
        if (s->insts[tgi_schedule_dependence(s, inst, n)].level > level)
            level = s->insts[tgi_schedule_dependence(s, inst, n)].level;
    return level;
}

/* True if an inst depends on a reduction of its own phase. */
static bool needs_loop(const tgi_schedule *s, const tgi_inst *inst)
{
    if (inst->kind == TGI_INST_REDUCED)
        return s->loops->reductions.data[inst->number].phase == inst->phase;
    uint32_t used;
    for (int n = 0; (used = tgi_schedule_dependence(s, inst, n)); n++)
        if (s->insts[used].is_after_loop &&
            s->loops->insts.data[used].phase == inst->phase)
            return true;
    return false;
}

tg_status tgi_schedule_verify_facts(const tgi_schedule *s)
{
    for (uint32_t i = 1; i < s->loops->insts.n; i++) {
        const tgi_inst *inst = &s->loops->insts.data[i];
        TGI_REQUIRE(s->insts[i].varies == must_vary(s, inst),
                    "wrong uniformity of an inst", i);
        TGI_REQUIRE(s->insts[i].level == expected_level(s, i),
                    "wrong level of an inst", i);
        TGI_REQUIRE(s->insts[i].level != TGI_LEVEL_POINT ||
                        s->insts[i].is_after_loop == needs_loop(s, inst),
                    "an inst runs on the wrong side of its loop", i);
    }
    return TG_OK;
}
