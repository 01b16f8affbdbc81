/* SPDX-License-Identifier: MIT */
/*
 * llvm_fission_plan.c - where a long body is cut, and what its parts keep for
 * each other.
 */
#include "llvm/llvm_analysis.h"
#include "llvm/llvm_cost.h"
#include "llvm/llvm_fission.h"
#include "llvm/llvm_program.h"

/*
 * Instructions of a part, at most. A processor looks a few hundred of them
 * ahead, and so far it should find elements that need not wait for these.
 * Shorter is not better: two functions of an element side by side also keep
 * it busy. Measured from 40 to 200, for 1, 2 and 4 registers a value:
 * tanh(x) * sigmoid(x), 90 of them, takes 1.1 times as long if it is cut,
 * Black-Scholes, 180 in f64, 1.3 times as long if it is not.
 */
enum { MOST_COST = 100 };

/* An op that a program has so often and that costs so much is a part of its
   own, and a function. */
enum { OFTEN = 4, COSTLY = 16 };

/* With so many parts, all are functions: chances are that some are the same,
   and LLVM does not see everything at once. */
enum { MANY = 4 };

static const tgi_inst *inst_at(const tgi_llvm_fission *s, uint32_t number)
{
    return &s->k->loops->insts.data[number];
}

bool tgi_llvm_fission_in_body(const tgi_llvm_fission *s, uint32_t inst)
{
    return s->k->analysis.insts[inst].level == TGI_LEVEL_INNER &&
           inst_at(s, inst)->phase == s->phase;
}

bool tgi_llvm_fission_rematerialises(const tgi_llvm_fission *s, uint32_t inst)
{
    return inst_at(s, inst)->kind == TGI_INST_LOAD ||
           inst_at(s, inst)->kind == TGI_INST_POSITION;
}

bool tgi_llvm_fission_in_part(const tgi_llvm_fission *s, uint32_t inst,
                              uint32_t part)
{
    return tgi_llvm_fission_in_body(s, inst) &&
           !tgi_llvm_fission_rematerialises(s, inst) &&
           s->insts[inst].part == part;
}

/* -- Cuts ------------------------------------------------------------------ */

static bool is_alone(const tgi_llvm_fission *s, const tgi_inst *inst,
                     unsigned cost)
{
    return inst->kind == TGI_INST_OP && cost >= COSTLY &&
           s->k->program->op_uses[inst->op][inst->type] >= OFTEN;
}

bool tgi_llvm_needs_fission(const tgi_llvm_analysis *a, unsigned phase)
{
    unsigned cost = 0;
    for (uint32_t i = 1; i < a->loops->insts.n; i++)
        if (a->insts[i].level == TGI_LEVEL_INNER &&
            a->loops->insts.data[i].phase == phase)
            cost += tgi_llvm_inst_cost(a, &a->loops->insts.data[i]);
    return cost > MOST_COST;
}

/* Insts in order: a part ends where the next inst would make it too long. */
static void cut(tgi_llvm_fission *s)
{
    unsigned cost = 0;
    uint32_t part = 0;
    bool is_empty = true;
    for (uint32_t i = 1; i < s->k->loops->insts.n; i++) {
        if (!tgi_llvm_fission_in_body(s, i) ||
            tgi_llvm_fission_rematerialises(s, i))
            continue;
        const unsigned own = tgi_llvm_inst_cost(&s->k->analysis, inst_at(s, i));
        const bool alone = is_alone(s, inst_at(s, i), own);
        if (!is_empty && (alone || cost + own > MOST_COST)) {
            part++;
            cost = 0;
        }
        s->insts[i].part = part;
        s->is_function[part] = alone;
        cost += own;
        is_empty = alone;
        if (alone) {
            part++;
            cost = 0;
        }
    }
    /* The last one stores, and may do nothing else. */
    s->n_parts = part + 1;
    for (uint32_t i = 0; i < s->n_parts && s->n_parts >= MANY; i++)
        s->is_function[i] = true;
}

/* -- What is kept ---------------------------------------------------------- */

static void use(tgi_llvm_fission *s, uint32_t inst, uint32_t part)
{
    if (part > s->insts[inst].last_use)
        s->insts[inst].last_use = part;
}

static void find_uses(tgi_llvm_fission *s)
{
    const tgi_kernel_loops *loops = s->k->loops;
    for (uint32_t i = 1; i < loops->insts.n; i++)
        for (int j = 0; j < inst_at(s, i)->n_operands; j++)
            if (tgi_llvm_fission_in_body(s, i))
                use(s, inst_at(s, i)->operands[j], s->insts[i].part);
    for (size_t i = 0; i < loops->stores.n; i++)
        if (loops->stores.data[i].level == TGI_LEVEL_INNER &&
            loops->stores.data[i].phase == s->phase)
            use(s, loops->stores.data[i].value, s->n_parts - 1);
}

/* A slot that nobody reads any more when part `from` begins. */
static uint32_t take_slot(tgi_llvm_fission *s, uint32_t from, uint32_t last)
{
    uint32_t slot = 0;
    while (slot < s->n_slots && s->slot_last_use[slot] >= from)
        slot++;
    if (slot == s->n_slots)
        s->n_slots++;
    s->slot_last_use[slot] = last;
    return slot + 1;
}

static void find_slots(tgi_llvm_fission *s)
{
    for (uint32_t i = 1; i < s->k->loops->insts.n; i++) {
        tgi_llvm_fission_inst *placed = &s->insts[i];
        if (!tgi_llvm_fission_in_part(s, i, placed->part) ||
            placed->last_use <= placed->part)
            continue;
        const unsigned bytes = (unsigned)tgi_dtype_bytes(inst_at(s, i)->dtype);
        placed->slot = take_slot(s, placed->part, placed->last_use);
        if (bytes > s->slot_bytes)
            s->slot_bytes = bytes;
    }
}

void tgi_llvm_fission_plan(tgi_llvm_fission *s)
{
    cut(s);
    find_uses(s);
    find_slots(s);
}
