/* SPDX-License-Identifier: MIT */
/*
 * choose_fission.c - loop fission of heavy elementwise bodies: where a body is
 * split into parts, which of them are functions, and which values live in slots
 * between them. A part needs fewer registers than the whole body, its
 * iterations overlap in the CPU's window, and LLVM compiles it faster.
 */
#include "base/alloc.h"
#include "schedule/choose.h"

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

/* Bytes of all slots; elements of a strip, a power of two and no less than the
   lanes of any vector. */
enum { MAX_SLOTS_BYTES = 16 << 10, MAX_STRIP = 512, MIN_STRIP = TGI_MAX_LANES };

/*
 * A body of at most this cost is not copied to the stack for its tail, but
 * emitted again under a mask, if the tail is a large part of the row: a body of
 * one part gains nothing from fission, except that it is compiled once.
 */
enum { MAX_REPEATED_COST = 40, FEW_VECTORS = 32 };

/* -- Legality -------------------------------------------------------------- */

static bool has_unit_stride(const tgi_schedule *s, uint32_t number)
{
    const tgi_access *access = &s->loops->accesses.data[number];
    const tgi_stride stride = access->stride[s->inner];
    return stride.distance == 1 && !stride.is_negative && !access->index;
}

static bool is_in_body(const tgi_schedule *s, unsigned phase, uint32_t inst)
{
    return s->insts[inst].level == TGI_LEVEL_INNER &&
           s->loops->insts.data[inst].phase == phase;
}

/* No reductions or checks; unit strides. */
static bool is_legal(const tgi_schedule *s, unsigned phase)
{
    const tgi_kernel_loops *loops = s->loops;
    if (s->phases[phase].n_reductions || !s->phases[phase].has_loop ||
        tgi_phase_lanes(&s->phases[phase]) == 1)
        return false;
    for (uint32_t i = 1; i < loops->insts.n; i++)
        if (is_in_body(s, phase, i) &&
            (!s->insts[i].varies ||
             (loops->insts.data[i].kind == TGI_INST_LOAD &&
              !has_unit_stride(s, loops->insts.data[i].number))))
            return false;
    for (size_t i = 0; i < loops->stores.n; i++)
        if (loops->stores.data[i].phase == phase &&
            loops->stores.data[i].level == TGI_LEVEL_INNER &&
            !has_unit_stride(s, loops->stores.data[i].access))
            return false;
    for (size_t i = 0; i < loops->checks.n; i++)
        if (loops->checks.data[i].phase == phase)
            return false;
    return true;
}

/* -- Parts ----------------------------------------------------------------- */

/* A body, while it is split. */
typedef struct split {
    const tgi_scheduler *r;
    tgi_schedule *s;
    unsigned phase;
    bool *is_function;       /* by part */
    uint32_t *last_use;      /* by inst: the last part that uses it */
    uint32_t *slot_last_use; /* by slot: the last part that reads it */
} split;

/* True for insts that one part computes. Every part that uses a load or a
   position computes it again. */
static bool is_in_parts(const split *p, uint32_t inst)
{
    const int kind = p->s->loops->insts.data[inst].kind;
    return is_in_body(p->s, p->phase, inst) && kind != TGI_INST_LOAD &&
           kind != TGI_INST_POSITION;
}

static bool is_shared_op(const split *p, const tgi_inst *inst, unsigned cost)
{
    return inst->kind == TGI_INST_OP && cost >= MIN_SHARED_COST &&
           p->r->op_uses[inst->op][inst->type] >= MIN_SHARED_USES;
}

/* Assigns insts to parts in order. A part ends where the next inst would exceed
   the greatest cost of one. Returns the number of parts. */
static uint32_t split_body(split *p)
{
    unsigned cost = 0;
    uint32_t part = 0;
    bool is_empty = true;
    const unsigned hint = p->r->hints->values[TGI_HINT_PART_COST];
    const unsigned max_cost = hint ? hint : MAX_PART_COST;
    for (uint32_t i = 1; i < p->s->loops->insts.n; i++) {
        if (!is_in_parts(p, i))
            continue;
        const unsigned inst_cost = p->s->insts[i].cost;
        const bool shared =
            is_shared_op(p, &p->s->loops->insts.data[i], inst_cost);
        if (!is_empty && (shared || cost + inst_cost > max_cost)) {
            part++;
            cost = 0;
        }
        p->s->insts[i].part = part;
        p->is_function[part] = shared;
        cost += inst_cost;
        is_empty = shared;
        if (shared) {
            part++;
            cost = 0;
        }
    }
    /* The last part stores; it may have no insts. */
    return part + 1;
}

/* -- Slots ----------------------------------------------------------------- */

static void extend_live_range(split *p, uint32_t inst, uint32_t part)
{
    if (part > p->last_use[inst])
        p->last_use[inst] = part;
}

static void find_last_uses(split *p, uint32_t n_parts)
{
    const tgi_kernel_loops *loops = p->s->loops;
    for (uint32_t i = 1; i < loops->insts.n; i++)
        for (int j = 0; j < loops->insts.data[i].n_operands; j++)
            if (is_in_body(p->s, p->phase, i))
                extend_live_range(p, loops->insts.data[i].operands[j],
                                  p->s->insts[i].part);
    for (size_t i = 0; i < loops->stores.n; i++)
        if (loops->stores.data[i].phase == p->phase &&
            loops->stores.data[i].level == TGI_LEVEL_INNER)
            extend_live_range(p, loops->stores.data[i].value, n_parts - 1);
}

/* A slot that is dead before part `from`; returns its number + 1. */
static uint32_t allocate_slot(split *p, tgi_fission *f, uint32_t from,
                              uint32_t last)
{
    uint32_t slot = 0;
    while (slot < f->n_slots && p->slot_last_use[slot] >= from)
        slot++;
    if (slot == f->n_slots)
        f->n_slots++;
    p->slot_last_use[slot] = last;
    return slot + 1;
}

static void assign_slots(split *p, tgi_fission *f)
{
    for (uint32_t i = 1; i < p->s->loops->insts.n; i++) {
        tgi_inst_schedule *inst = &p->s->insts[i];
        if (!is_in_parts(p, i) || p->last_use[i] <= inst->part)
            continue;
        const uint32_t bytes =
            (uint32_t)tgi_dtype_bytes(p->s->loops->insts.data[i].dtype);
        inst->slot = allocate_slot(p, f, inst->part, p->last_use[i]);
        if (bytes > f->slot_bytes)
            f->slot_bytes = bytes;
    }
}

/* -- Entry point ----------------------------------------------------------- */

static void choose_parts(split *p, tgi_fission *f)
{
    f->n_parts = split_body(p);
    find_last_uses(p, f->n_parts);
    assign_slots(p, f);
    const bool all_are_functions = f->n_parts >= MIN_FUNCTION_PARTS;
    for (uint32_t i = 1; i < p->s->loops->insts.n; i++)
        if (is_in_parts(p, i))
            p->s->insts[i].is_function =
                all_are_functions || p->is_function[p->s->insts[i].part];
    f->last_is_function = all_are_functions || p->is_function[f->n_parts - 1];
    if (f->n_parts == 1)
        return;
    f->strip = MAX_STRIP;
    while (f->strip > MIN_STRIP &&
           f->strip * f->slot_bytes * f->n_slots > MAX_SLOTS_BYTES)
        f->strip /= 2;
}

/* True if a body with a masked tail is better than one part with a tail on the
   stack. */
static bool repeats_body(const tgi_schedule *s, unsigned phase)
{
    const tgi_dim extent = s->loops->extent[s->inner];
    return s->phases[phase].can_mask &&
           tgi_schedule_body_cost(s, phase) <= MAX_REPEATED_COST &&
           (!tgi_dim_is_known(extent) ||
            extent < FEW_VECTORS * tgi_phase_lanes(&s->phases[phase]));
}

bool tgi_schedule_choose_fission(const tgi_scheduler *r, tgi_schedule *s,
                                 unsigned phase)
{
    const size_t n = s->loops->insts.n + 1;
    if (s->loops->is_straightline || s->loops->vectors != TGI_ROWS ||
        tgi_schedule_interchanged_axis(s) >= 0 ||
        tgi_schedule_body_cost(s, phase) <= TGI_HEAVY_COST ||
        repeats_body(s, phase) || !is_legal(s, phase))
        return true;
    split p = {.r = r, .s = s, .phase = phase};
    p.last_use = tgi_alloc_zero(n * (2 * sizeof(uint32_t) + sizeof(bool)));
    if (!p.last_use)
        return false;
    p.slot_last_use = p.last_use + n;
    p.is_function = (bool *)(p.slot_last_use + n);
    tgi_nest *nest = &s->phases[phase].nest;
    nest->loops[nest->n - 1].tail = TGI_TAIL_STACK;
    choose_parts(&p, &s->phases[phase].fission);
    tgi_free(p.last_use);
    return true;
}
