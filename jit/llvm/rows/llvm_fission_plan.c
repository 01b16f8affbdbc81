/* SPDX-License-Identifier: MIT */
/*
 * llvm_fission_plan.c - where a body is split into parts, which of them are
 * functions, and which values live in slots between them.
 */
#include "llvm/emit/llvm_analysis.h"
#include "llvm/emit/llvm_cost.h"
#include "llvm/emit/llvm_program.h"
#include "llvm/rows/llvm_fission.h"

/*
 * Estimated instructions of a part, at most. The CPU's window of a few hundred
 * instructions should reach independent elements. Smaller parts do not help:
 * two functions of one element overlap, too. Measured from 40 to 200, for 1, 2
 * and 4 registers per value: splitting tanh(x) * sigmoid(x), 90 instructions,
 * takes 1.1 times as long; not splitting Black-Scholes, 180 in f64, 1.3 times.
 */
enum { MAX_PART_COST = 100 };

/* An op of at least this cost that the program has at least this often is a
   part of its own, and a function. */
enum { MIN_SHARED_USES = 4, MIN_SHARED_COST = 16 };

/* From this number of parts on, all are functions: some are probably equal, and
   LLVM compiles them one at a time. */
enum { MIN_FUNCTION_PARTS = 4 };

bool tgi_llvm_fission_in_body(const tgi_llvm_fission *s, uint32_t inst)
{
    return s->k->analysis.insts[inst].level == TGI_LEVEL_INNER &&
           tgi_llvm_fission_inst_at(s, inst)->phase == s->phase;
}

bool tgi_llvm_fission_rematerialises(const tgi_llvm_fission *s, uint32_t inst)
{
    return tgi_llvm_fission_inst_at(s, inst)->kind == TGI_INST_LOAD ||
           tgi_llvm_fission_inst_at(s, inst)->kind == TGI_INST_POSITION;
}

bool tgi_llvm_fission_in_part(const tgi_llvm_fission *s, uint32_t inst,
                              uint32_t part)
{
    return tgi_llvm_fission_in_body(s, inst) &&
           !tgi_llvm_fission_rematerialises(s, inst) &&
           s->insts[inst].part == part;
}

/* -- Parts ----------------------------------------------------------------- */

static bool is_shared_op(const tgi_llvm_fission *s, const tgi_inst *inst,
                         unsigned cost)
{
    return inst->kind == TGI_INST_OP && cost >= MIN_SHARED_COST &&
           s->k->program->op_uses[inst->op][inst->type] >= MIN_SHARED_USES;
}

bool tgi_llvm_needs_fission(const tgi_llvm_analysis *a, unsigned phase)
{
    unsigned cost = 0;
    for (uint32_t i = 1; i < a->loops->insts.n; i++)
        if (a->insts[i].level == TGI_LEVEL_INNER &&
            a->loops->insts.data[i].phase == phase)
            cost += tgi_llvm_inst_cost(a, &a->loops->insts.data[i]);
    return cost > MAX_PART_COST;
}

/* Assigns insts to parts in order. A part ends where the next inst would exceed
   MAX_PART_COST. */
static void split_body(tgi_llvm_fission *s)
{
    unsigned cost = 0;
    uint32_t part = 0;
    bool is_empty = true;
    for (uint32_t i = 1; i < s->k->loops->insts.n; i++) {
        if (!tgi_llvm_fission_in_body(s, i) ||
            tgi_llvm_fission_rematerialises(s, i))
            continue;
        const unsigned inst_cost =
            tgi_llvm_inst_cost(&s->k->analysis, tgi_llvm_fission_inst_at(s, i));
        const bool shared =
            is_shared_op(s, tgi_llvm_fission_inst_at(s, i), inst_cost);
        if (!is_empty && (shared || cost + inst_cost > MAX_PART_COST)) {
            part++;
            cost = 0;
        }
        s->insts[i].part = part;
        s->is_function[part] = shared;
        cost += inst_cost;
        is_empty = shared;
        if (shared) {
            part++;
            cost = 0;
        }
    }
    /* The last part stores; it may have no insts. */
    s->n_parts = part + 1;
    for (uint32_t i = 0; i < s->n_parts && s->n_parts >= MIN_FUNCTION_PARTS;
         i++)
        s->is_function[i] = true;
}

/* -- Slots ----------------------------------------------------------------- */

static void extend_live_range(tgi_llvm_fission *s, uint32_t inst, uint32_t part)
{
    if (part > s->insts[inst].last_use)
        s->insts[inst].last_use = part;
}

static void find_last_uses(tgi_llvm_fission *s)
{
    const tgi_kernel_loops *loops = s->k->loops;
    for (uint32_t i = 1; i < loops->insts.n; i++)
        for (int j = 0; j < tgi_llvm_fission_inst_at(s, i)->n_operands; j++)
            if (tgi_llvm_fission_in_body(s, i))
                extend_live_range(s,
                                  tgi_llvm_fission_inst_at(s, i)->operands[j],
                                  s->insts[i].part);
    for (size_t i = 0; i < loops->stores.n; i++)
        if (tgi_llvm_fission_has_store(s, &loops->stores.data[i]))
            extend_live_range(s, loops->stores.data[i].value, s->n_parts - 1);
}

/* A slot that is dead before part `from`; returns its number + 1. */
static uint32_t allocate_slot(tgi_llvm_fission *s, uint32_t from, uint32_t last)
{
    uint32_t slot = 0;
    while (slot < s->n_slots && s->slot_last_use[slot] >= from)
        slot++;
    if (slot == s->n_slots)
        s->n_slots++;
    s->slot_last_use[slot] = last;
    return slot + 1;
}

static void assign_slots(tgi_llvm_fission *s)
{
    for (uint32_t i = 1; i < s->k->loops->insts.n; i++) {
        tgi_llvm_fission_inst *info = &s->insts[i];
        if (!tgi_llvm_fission_in_part(s, i, info->part) ||
            info->last_use <= info->part)
            continue;
        const unsigned bytes =
            (unsigned)tgi_dtype_bytes(tgi_llvm_fission_inst_at(s, i)->dtype);
        info->slot = allocate_slot(s, info->part, info->last_use);
        if (bytes > s->slot_bytes)
            s->slot_bytes = bytes;
    }
}

void tgi_llvm_fission_plan(tgi_llvm_fission *s)
{
    split_body(s);
    find_last_uses(s);
    assign_slots(s);
}
