/* SPDX-License-Identifier: MIT */
/*
 * cost.c - instruction estimates: precise enough to decide whether more
 * threads pay and whether a body is heavy. A recipe is counted by running it
 * over an emitter that emits nothing, so a new op needs no entry here.
 */
#include "schedule/choose.h"
#include "recipe/emit.h"

/* Instructions on full vectors; other primitives cost one. */
enum {
    COST_DIV = 5,
    COST_SQRT = 6,
    COST_INTEGER_DIV = 40, /* one lane at a time */
    COST_LOOKUP = 4,
    COST_RANDOM = 120,
    COST_STRIDED = 8 /* a load of one element per lane */
};

/* Picoseconds: of an instruction, per byte of its element; of a load or store,
   per byte; of a point. */
enum { PS_PER_BYTE = 5, PS_PER_BYTE_MOVED = 20, PS_PER_POINT = 5000 };

/* -- Recipes --------------------------------------------------------------- */

typedef struct cost_counter {
    tgi_emitter base;
    unsigned cost;
} cost_counter;

static tgi_emitted count_constant(tgi_emitter *base, tg_dtype dtype,
                                  uint64_t bits)
{
    (void)dtype;
    (void)bits;
    return base;
}

static tgi_emitted count_primitive(tgi_emitter *base, tgi_primitive primitive,
                                   tg_dtype dtype, tg_dtype other,
                                   const tgi_emitted *operands)
{
    (void)other;
    (void)operands;
    cost_counter *c = (cost_counter *)base;
    switch (primitive) {
    case TGI_PRIMITIVE_BITS_OF:
    case TGI_PRIMITIVE_FLOAT_OF:
        break;
    case TGI_PRIMITIVE_DIV:
    case TGI_PRIMITIVE_REM:
        c->cost += tgi_dtype_is((int)dtype, TGI_CLASS_FLOAT) ? COST_DIV
                                                             : COST_INTEGER_DIV;
        break;
    case TGI_PRIMITIVE_SQRT:
        c->cost += COST_SQRT;
        break;
    default:
        c->cost++;
    }
    return base;
}

static tgi_emitted count_lookup(tgi_emitter *base, tg_dtype dtype,
                                const void *table, size_t n, tgi_emitted index)
{
    (void)dtype;
    (void)table;
    (void)n;
    (void)index;
    ((cost_counter *)base)->cost += COST_LOOKUP;
    return base;
}

static unsigned recipe_cost(const tgi_inst *inst)
{
    cost_counter c = {.base = {count_constant, count_primitive, count_lookup}};
    const tgi_emitted operands[3] = {&c, &c, &c};
    if (inst->kind == TGI_INST_CAST) {
        tgi_emit_cast(&c.base, inst->type, inst->dtype, &c);
        return c.cost;
    }
    tgi_emit_recipe *recipe = tgi_emit_recipe_of(inst->op, inst->type);
    if (recipe)
        recipe(&c.base, operands);
    return c.cost;
}

/* -- Insts ----------------------------------------------------------------- */

static unsigned inst_cost(const tgi_schedule *s, uint32_t number)
{
    const tgi_inst *inst = &s->loops->insts.data[number];
    switch ((tgi_inst_kind)inst->kind) {
    case TGI_INST_OP:
    case TGI_INST_CAST:
        return recipe_cost(inst);
    case TGI_INST_RANDOM:
        return COST_RANDOM;
    case TGI_INST_LOAD:
        return tgi_schedule_is_contiguous(
                   s, &s->loops->accesses.data[inst->number])
                   ? 1
                   : COST_STRIDED;
    case TGI_INST_POSITION:
    case TGI_INST_INDEX:
    case TGI_INST_IN_RANGE:
        return 3;
    case TGI_INST_CONSTANT:
    case TGI_INST_EXTENT:
    case TGI_INST_REDUCED:
        break;
    }
    return 0;
}

void tgi_schedule_find_costs(tgi_schedule *s)
{
    for (uint32_t i = 1; i < s->loops->insts.n; i++)
        s->insts[i].cost = inst_cost(s, i);
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
    tgi_kernel_cost cost = {.point = PS_PER_POINT};
    const tgi_kernel_loops *loops = s->loops;
    for (uint32_t i = 1; i < loops->insts.n; i++) {
        const tgi_inst *inst = &loops->insts.data[i];
        const int64_t bytes = tgi_dtype_bytes(
            inst->dtype == TG_BOOL ? inst->type ? inst->type : TG_BOOL
                                   : inst->dtype);
        int64_t picoseconds = s->insts[i].cost * bytes * PS_PER_BYTE;
        if (inst->kind == TGI_INST_LOAD)
            picoseconds += bytes * PS_PER_BYTE_MOVED;
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
            cost.element += bytes * PS_PER_BYTE_MOVED;
    }
    if (s->matmul.mr) /* a micro-kernel reuses what it loads */
        cost.element = 0;
    for (size_t i = 0; i < loops->reductions.n; i++)
        cost.element +=
            PS_PER_BYTE * tgi_dtype_bytes(loops->reductions.data[i].dtype);
    return cost;
}
