/* SPDX-License-Identifier: MIT */
/*
 * llvm_classify.c - facts about a kernel that decide how it is emitted: what
 * varies along the vectors, at which level each inst really stands, and how
 * many lanes the vectors of a phase have. None of them changes a bit.
 */
#include "llvm/llvm_lower.h"

#include <assert.h>

/* -- Levels ---------------------------------------------------------------- */

static bool is_still(tgi_stride stride)
{
    return stride.distance == 0;
}

static bool is_one(tgi_stride stride)
{
    return stride.distance == 1 && !stride.is_negative;
}

static bool has_access(const tgi_inst *inst)
{
    return inst->kind == TGI_INST_LOAD || inst->kind == TGI_INST_POSITION;
}

static const tgi_access *access_of(const tgi_llvm_kernel *k,
                                   const tgi_inst *inst)
{
    return &k->loops->accesses.data[inst->number];
}

/* Takes over what an inst has from one that it uses. */
static void use(tgi_llvm_kernel *k, uint32_t inst, uint32_t used)
{
    tgi_llvm_value *value = &k->values[inst];
    const tgi_llvm_value *operand = &k->values[used];
    const tgi_inst *insts = k->loops->insts.data;
    assert(used > 0 && used < inst);
    value->varies |= operand->varies;
    if (operand->level > value->level)
        value->level = operand->level;
    if (operand->is_after_loop && insts[used].phase == insts[inst].phase)
        value->is_after_loop = true;
}

static void level_of_inst(tgi_llvm_kernel *k, uint32_t number)
{
    const tgi_inst *inst = &k->loops->insts.data[number];
    tgi_llvm_value *value = &k->values[number];
    value->level = inst->level;
    for (int i = 0; i < inst->n_operands; i++)
        use(k, number, inst->operands[i]);
    if (has_access(inst)) {
        const tgi_access *access = access_of(k, inst);
        value->varies |= !is_still(access->stride[k->vector_axis]);
        if (access->index)
            use(k, number, access->index);
        if (access->shift)
            use(k, number, access->shift);
    }
    if (inst->kind == TGI_INST_REDUCED) {
        const tgi_reduction *reduction =
            &k->loops->reductions.data[inst->number];
        if (value->level < TGI_LEVEL_POINT)
            value->level = TGI_LEVEL_POINT;
        value->varies = k->loops->vectors == TGI_COLUMNS;
        value->is_after_loop = reduction->phase == inst->phase;
    }
    /* Along columns it varies from point to point. */
    if (value->varies && value->level < TGI_LEVEL_POINT)
        value->level = TGI_LEVEL_POINT;
}

/* -- Phases ---------------------------------------------------------------- */

bool tgi_llvm_is_contiguous(const tgi_llvm_kernel *k, const tgi_access *access)
{
    return (access->panel_width || is_one(access->stride[k->vector_axis]) ||
            is_still(access->stride[k->vector_axis])) &&
           !(access->index && k->values[access->index].varies);
}

/* What is needed of a phase to choose its lanes. */
typedef struct census {
    unsigned bytes; /* of the widest element */
    unsigned cost;
    bool
        uses_native_minmax; /* has a reduction that keeps more than one value */
    unsigned n_reductions;
} census;

bool tgi_llvm_is_maskable(const tgi_llvm_kernel *k, const tgi_access *access)
{
    const int dtype =
        tgi_loops_buffer(k->program->loops, access->buffer)->dtype;
    return tgi_llvm_is_contiguous(k, access) && tgi_dtype_bytes(dtype) >= 4;
}

static void count_dtype(census *c, int dtype)
{
    const unsigned bytes = (unsigned)tgi_dtype_bytes(dtype);
    if (bytes > c->bytes)
        c->bytes = bytes;
}

static void count_inst(tgi_llvm_kernel *k, uint32_t number, census *of_phases)
{
    const tgi_inst *inst = &k->loops->insts.data[number];
    const tgi_llvm_value *value = &k->values[number];
    tgi_llvm_phase *phase = &k->phases[inst->phase];
    census *c = &of_phases[inst->phase];
    if (value->level == TGI_LEVEL_INNER)
        phase->has_loop = true;
    if (!value->varies)
        return;
    count_dtype(c, inst->dtype);
    if (value->level == TGI_LEVEL_INNER)
        c->cost += tgi_llvm_inst_cost(k, inst);
    if (inst->kind == TGI_INST_LOAD)
        phase->can_mask &= tgi_llvm_is_maskable(k, access_of(k, inst));
}

static bool count_reduction(tgi_llvm_kernel *k, uint32_t number,
                            census *of_phases)
{
    const tgi_reduction *reduction = &k->loops->reductions.data[number];
    tgi_llvm_phase *phase = &k->phases[reduction->phase];
    if (phase->n_reductions == TGI_LLVM_MAX_REDUCTIONS)
        return tgi_llvm_fail(k->program, "a phase has too many reductions");
    phase->reductions[phase->n_reductions++] = number;
    const tgi_reduction *first =
        &k->loops->reductions.data[phase->reductions[0]];
    if (first->combines_blocks != reduction->combines_blocks)
        return tgi_llvm_fail(k->program,
                             "only some reductions of a phase cascade");
    phase->has_loop = true;
    k->is_split |= reduction->is_split;
    const bool is_arg =
        reduction->op == TGI_OP_ARGMAX || reduction->op == TGI_OP_ARGMIN;
    count_dtype(&of_phases[reduction->phase],
                is_arg ? TG_I64 : reduction->dtype);
    of_phases[reduction->phase].cost++;
    of_phases[reduction->phase].uses_native_minmax |=
        is_arg || (k->loops->vectors == TGI_ROWS &&
                   tgi_llvm_uses_native_minmax(k, number));
    of_phases[reduction->phase].n_reductions++;
    return true;
}

/* -- Lanes ----------------------------------------------------------------- */

/*
 * Registers that one value fills. Bodies that wait for memory or for their
 * own results take four, which hides loop overhead and latencies. Very long
 * ones need registers for what they compute: two. Measured: exp, log and tanh
 * are 8 to 12 % quicker with four than with two, tanh(x) * sigmoid(x) is not,
 * and 1.4 times as slow with one.
 */
enum { VERY_LONG = 60, MOST_REGISTERS = 4, FEW_REGISTERS = 2 };

/* A body of so many instructions leaves no registers for lanes of a tree. */
enum { HEAVY = 12 };

/* A sum down columns reads so much of each row, and has a register for each:
   with four instead of eight a matrix of 4096 by 4096 takes 1.5 times as
   long. */
enum { COLUMN_REGISTERS = 8 };

static unsigned registers_for(const tgi_llvm_kernel *k, const census *c)
{
    if (c->cost > VERY_LONG || c->uses_native_minmax)
        return FEW_REGISTERS;
    return k->loops->vectors == TGI_COLUMNS && !k->wide_columns &&
                   c->n_reductions == 1 && c->cost <= HEAVY
               ? COLUMN_REGISTERS
               : MOST_REGISTERS;
}

/* Lanes of the widest element that fill a register. */
static unsigned register_lanes(const tgi_llvm_kernel *k, const census *c)
{
    return k->program->target->vector_bits / 8 / (c->bytes ? c->bytes : 8);
}

/* A vector is of one sliver; but where rows that lie along memory are packed
   it fills several. */
static unsigned lanes_of_slivers(const tgi_llvm_kernel *k, unsigned lanes)
{
    bool is_plain = true;
    unsigned sliver = 0;
    for (size_t i = 0; i < k->loops->accesses.n; i++) {
        const tgi_access *access = &k->loops->accesses.data[i];
        is_plain &= tgi_llvm_is_contiguous(k, access);
        sliver = access->panel_width ? access->panel_width : sliver;
    }
    if (!sliver)
        return lanes;
    return is_plain && tgi_llvm_pack_panel_width(k) &&
                   !tgi_llvm_pack_is_transposed(k)
               ? TGI_LLVM_MAX_LANES
               : sliver;
}

static unsigned lanes_for(const tgi_llvm_kernel *k, const census *c,
                          bool can_mask, unsigned least)
{
    unsigned lanes = registers_for(k, c) * register_lanes(k, c);
    if (lanes > TGI_LLVM_MAX_LANES)
        lanes = TGI_LLVM_MAX_LANES;
    lanes = lanes_of_slivers(k, lanes);
    /* Lanes that are never used cost as much as others; without masks a
       vector that is not full is not used at all. */
    const tgi_dim extent = k->loops->extent[k->vector_axis];
    while (tgi_dim_is_known(extent) && lanes > least &&
           (can_mask ? lanes / 2 : lanes - 1) >= extent)
        lanes /= 2;
    return lanes;
}

static void choose_lanes(tgi_llvm_kernel *k, const census *of_phases)
{
    for (unsigned i = 0; i < k->loops->n_phases; i++) {
        const tgi_llvm_phase *phase = &k->phases[i];
        const unsigned tree =
            phase->n_reductions ? tgi_llvm_tree_lanes(k, phase) : 1;
        const unsigned least = tree < TGI_LLVM_MAX_TREE_VECTORS
                                   ? 1
                                   : tree / TGI_LLVM_MAX_TREE_VECTORS;
        k->phases[i].lanes = lanes_for(k, &of_phases[i],
                                       phase->can_mask, least);
        k->phases[i].is_heavy = of_phases[i].cost > HEAVY;
        k->phases[i].register_lanes = register_lanes(k, &of_phases[i]);
        if (k->phases[i].register_lanes > k->phases[i].lanes)
            k->phases[i].register_lanes = k->phases[i].lanes;
        k->phases[i].tail_lanes =
            k->phases[i].can_mask ? k->phases[i].register_lanes : 1;
    }
    if (k->loops->vectors == TGI_ROWS)
        return;
    /* All phases of columns go over the same ones. */
    census all = {0};
    for (unsigned i = 0; i < k->loops->n_phases; i++) {
        if (of_phases[i].bytes > all.bytes)
            all.bytes = of_phases[i].bytes;
        if (of_phases[i].cost > all.cost)
            all.cost = of_phases[i].cost;
        all.uses_native_minmax |= of_phases[i].uses_native_minmax;
        all.n_reductions += of_phases[i].n_reductions;
        k->phases[0].can_mask &= k->phases[i].can_mask;
    }
    const unsigned tile = tgi_llvm_matmul_classify(k);
    if (!tile && all.cost <= HEAVY)
        k->wide_columns = tgi_llvm_wide_item_columns(
            k, MOST_REGISTERS * register_lanes(k, &all));
    for (unsigned i = 0; i < k->loops->n_phases; i++) {
        k->phases[i].lanes =
            tile ? tile : lanes_for(k, &all, k->phases[0].can_mask, 1);
        k->phases[i].can_mask = k->phases[0].can_mask;
    }
}

/* -- All of it ------------------------------------------------------------- */

static bool look_at(tgi_llvm_kernel *k, census *of_phases)
{
    const tgi_kernel_loops *loops = k->loops;
    for (unsigned i = 0; i < loops->n_phases; i++)
        k->phases[i] = (tgi_llvm_phase){.can_mask = true};
    for (uint32_t i = 1; i < loops->insts.n; i++) {
        level_of_inst(k, i);
        count_inst(k, i, of_phases);
    }
    for (size_t i = 0; i < loops->stores.n; i++) {
        const tgi_loop_store *store = &loops->stores.data[i];
        tgi_llvm_phase *phase = &k->phases[store->phase];
        const tgi_access *access = &loops->accesses.data[store->access];
        if (store->level == TGI_LEVEL_INNER)
            phase->has_loop = true;
        if (store->level == TGI_LEVEL_INNER || loops->vectors == TGI_COLUMNS)
            phase->can_mask &= tgi_llvm_is_maskable(k, access);
    }
    for (size_t i = 0; i < loops->checks.n; i++)
        k->phases[loops->checks.data[i].phase].has_loop = true;
    for (uint32_t i = 0; i < loops->reductions.n; i++)
        if (!count_reduction(k, i, of_phases))
            return false;
    choose_lanes(k, of_phases);
    return !k->program->failure;
}

bool tgi_llvm_classify(tgi_llvm_kernel *k)
{
    tgi_llvm_program *program = k->program;
    census *of_phases =
        program->alloc(k->loops->n_phases * sizeof(*of_phases));
    if (!of_phases) {
        program->is_out_of_memory = true;
        return tgi_llvm_fail(program, "out of memory");
    }
    for (unsigned i = 0; i < k->loops->n_phases; i++)
        of_phases[i] = (census){0};
    const bool is_fine = look_at(k, of_phases);
    program->free(of_phases);
    return is_fine;
}
