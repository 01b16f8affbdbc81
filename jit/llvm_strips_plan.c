/* SPDX-License-Identifier: MIT */
/*
 * llvm_strips_plan.c - where a long body is cut, and which ops of it are
 * functions. See llvm_strips.c for what strips are good for.
 */
#include "llvm_strips.h"

#include <string.h>

/*
 * Instructions of a strip. A processor looks a few hundred of them ahead: of
 * strips up to this size it has several elements under way at once.
 */
enum { MOST_COST = 64 };

/* An op that a program has so often and that costs so much is a function. */
enum { OFTEN = 4, COSTLY = 16 };

bool tgi_llvm_is_anew(const tgi_inst *inst)
{
    return inst->kind == TGI_INST_LOAD || inst->kind == TGI_INST_POSITION;
}

bool tgi_llvm_is_in_body(const tgi_llvm_kernel *k, uint32_t inst,
                         unsigned phase)
{
    return k->values[inst].level == TGI_LEVEL_INNER &&
           k->loops->insts.data[inst].phase == phase;
}

/* -- Calls ----------------------------------------------------------------- */

/* True if an operand lies in memory, or can, element after element. */
static bool is_array(const tgi_llvm_kernel *k, uint32_t operand, int dtype)
{
    const tgi_inst *inst = &k->loops->insts.data[operand];
    return k->values[operand].level == TGI_LEVEL_INNER &&
           inst->kind != TGI_INST_POSITION && inst->dtype == dtype;
}

static bool is_call(const tgi_llvm_kernel *k, const tgi_inst *inst)
{
    if (inst->kind != TGI_INST_OP || inst->dtype != inst->type ||
        k->program->uses[inst->op][inst->type] < OFTEN ||
        tgi_llvm_inst_cost(k, inst) < COSTLY)
        return false;
    for (int i = 0; i < inst->n_operands; i++)
        if (!is_array(k, inst->operands[i], inst->type))
            return false;
    return true;
}

/* -- Cuts ------------------------------------------------------------------ */

/* Insts in order: a strip ends where the next inst would make it too long. */
static void cut(const tgi_llvm_kernel *k, tgi_llvm_plan *plan)
{
    unsigned cost = 0;
    uint32_t strip = 0;
    bool is_empty = true;
    for (uint32_t i = 1; i < k->loops->insts.n; i++) {
        const tgi_inst *inst = &k->loops->insts.data[i];
        if (!tgi_llvm_is_in_body(k, i, plan->phase) || tgi_llvm_is_anew(inst))
            continue;
        const unsigned own = tgi_llvm_inst_cost(k, inst);
        const bool calls = is_call(k, inst);
        if (!is_empty && (calls || cost + own > MOST_COST)) {
            strip++;
            cost = 0;
        }
        plan->placed[i].strip = strip;
        is_empty = false;
        cost += own;
        if (calls) {
            plan->calls[strip++] = i;
            is_empty = true;
            cost = 0;
        }
    }
    /* The last one stores, and may do nothing else. */
    plan->n_strips = strip + 1;
}

/* -- What is kept ---------------------------------------------------------- */

static void use(tgi_llvm_plan *plan, uint32_t inst, uint32_t strip)
{
    if (strip > plan->placed[inst].last)
        plan->placed[inst].last = strip;
}

static void find_uses(const tgi_llvm_kernel *k, tgi_llvm_plan *plan)
{
    for (uint32_t i = 1; i < k->loops->insts.n; i++) {
        const tgi_inst *inst = &k->loops->insts.data[i];
        if (!tgi_llvm_is_in_body(k, i, plan->phase))
            continue;
        for (int j = 0; j < inst->n_operands; j++)
            use(plan, inst->operands[j], plan->placed[i].strip);
    }
    for (size_t i = 0; i < k->loops->stores.n; i++) {
        const tgi_store *store = &k->loops->stores.data[i];
        if (store->level == TGI_LEVEL_INNER && store->phase == plan->phase)
            use(plan, store->value, plan->n_strips - 1);
    }
}

/* A slot that nobody reads any more when strip `from` begins. */
static uint32_t take_slot(tgi_llvm_plan *plan, uint32_t from, uint32_t last)
{
    uint32_t slot = 0;
    while (slot < plan->n_slots && plan->slot_last[slot] >= from)
        slot++;
    if (slot == plan->n_slots)
        plan->n_slots++;
    plan->slot_last[slot] = last;
    return slot + 1;
}

static void keep(const tgi_llvm_kernel *k, tgi_llvm_plan *plan)
{
    for (uint32_t i = 1; i < k->loops->insts.n; i++) {
        const tgi_inst *inst = &k->loops->insts.data[i];
        tgi_llvm_placed *placed = &plan->placed[i];
        if (!tgi_llvm_is_in_body(k, i, plan->phase) ||
            tgi_llvm_is_anew(inst) || placed->last <= placed->strip)
            continue;
        const unsigned bytes = (unsigned)tgi_dtype_bytes(inst->dtype);
        placed->slot = take_slot(plan, placed->strip, placed->last);
        if (bytes > plan->slot_bytes)
            plan->slot_bytes = bytes;
    }
}

void tgi_llvm_plan_strips(const tgi_llvm_kernel *k, tgi_llvm_plan *plan)
{
    cut(k, plan);
    find_uses(k, plan);
    keep(k, plan);
}
