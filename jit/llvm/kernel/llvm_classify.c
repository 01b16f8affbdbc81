/* SPDX-License-Identifier: MIT */
/*
 * llvm_classify.c - the analysis of a kernel (llvm_analysis.h): which insts
 * vary along the vector axis, at which level each inst is computed, and how
 * many lanes the vectors of a phase have.
 *
 * Requires:  a verified kernel.
 * Computes:  a tgi_llvm_analysis, with the tilings of matmuls and transposes.
 * Preserves: the kernel; a->loops of a transpose is a copy with new accesses.
 */
#include "llvm/kernel/llvm_classify.h"
#include "llvm/columns/llvm_columns.h"
#include "llvm/emit/llvm_analysis.h"
#include "llvm/emit/llvm_cost.h"
#include "llvm/emit/llvm_emit.h"
#include "llvm/emit/llvm_program.h"
#include "llvm/matmul/llvm_matmul.h"
#include "llvm/matmul/llvm_pack.h"
#include "llvm/reduce/llvm_reduce.h"
#include "llvm/rows/llvm_rows.h"
#include "llvm/rows/llvm_transpose.h"

#include <assert.h>
#include <string.h>

/* -- Levels ---------------------------------------------------------------- */

static bool has_access(const tgi_inst *inst)
{
    return inst->kind == TGI_INST_LOAD || inst->kind == TGI_INST_POSITION;
}

static const tgi_access *inst_access(const tgi_llvm_analysis *a,
                                     const tgi_inst *inst)
{
    return &a->loops->accesses.data[inst->number];
}

/* Propagates the facts of an operand to its user. */
static void inherit_facts(tgi_llvm_analysis *a, uint32_t inst, uint32_t used)
{
    tgi_llvm_inst_facts *facts = &a->insts[inst];
    const tgi_llvm_inst_facts *operand = &a->insts[used];
    const tgi_inst *insts = a->loops->insts.data;
    assert(used > 0 && used < inst);
    facts->varies |= operand->varies;
    if (operand->level > facts->level)
        facts->level = operand->level;
    if (operand->is_after_loop && insts[used].phase == insts[inst].phase)
        facts->is_after_loop = true;
}

static void classify_inst(tgi_llvm_analysis *a, uint32_t number)
{
    const tgi_inst *inst = &a->loops->insts.data[number];
    tgi_llvm_inst_facts *facts = &a->insts[number];
    facts->level = inst->level;
    for (int i = 0; i < inst->n_operands; i++)
        inherit_facts(a, number, inst->operands[i]);
    if (has_access(inst)) {
        const tgi_access *access = inst_access(a, inst);
        facts->varies |= !tgi_stride_is_zero(access->stride[a->vector_axis]);
        if (access->index)
            inherit_facts(a, number, access->index);
        if (access->shift)
            inherit_facts(a, number, access->shift);
    }
    if (inst->kind == TGI_INST_REDUCED) {
        const tgi_reduction *reduction =
            &a->loops->reductions.data[inst->number];
        if (facts->level < TGI_LEVEL_POINT)
            facts->level = TGI_LEVEL_POINT;
        facts->varies = a->loops->vectors == TGI_COLUMNS;
        facts->is_after_loop = reduction->phase == inst->phase;
    }
    /* In COLUMNS kernels, lanes are points. */
    if (facts->varies && facts->level < TGI_LEVEL_POINT)
        facts->level = TGI_LEVEL_POINT;
}

/* -- Phases ---------------------------------------------------------------- */

/* Statistics of a phase, by which its lanes are chosen. */
typedef struct phase_stats {
    unsigned bytes; /* of the widest element that varies */
    unsigned cost;
    bool uses_native_minmax; /* has an accumulator of several parts */
    unsigned n_reductions;
} phase_stats;

static void count_dtype(phase_stats *c, int dtype)
{
    const unsigned bytes = (unsigned)tgi_dtype_bytes(dtype);
    if (bytes > c->bytes)
        c->bytes = bytes;
}

static void count_inst(tgi_llvm_analysis *a, uint32_t number,
                       phase_stats *stats)
{
    const tgi_inst *inst = &a->loops->insts.data[number];
    const tgi_llvm_inst_facts *facts = &a->insts[number];
    tgi_llvm_phase *phase = &a->phases[inst->phase];
    phase_stats *c = &stats[inst->phase];
    if (facts->level == TGI_LEVEL_INNER)
        phase->has_loop = true;
    if (!facts->varies)
        return;
    count_dtype(c, inst->dtype);
    if (facts->level == TGI_LEVEL_INNER)
        c->cost += tgi_llvm_inst_cost(a, inst);
    if (inst->kind == TGI_INST_LOAD)
        phase->can_mask &= tgi_llvm_is_maskable(a, inst_access(a, inst));
}

static bool count_reduction(tgi_llvm_analysis *a, uint32_t number,
                            phase_stats *stats)
{
    const tgi_reduction *reduction = &a->loops->reductions.data[number];
    tgi_llvm_phase *phase = &a->phases[reduction->phase];
    if (phase->n_reductions == TGI_LLVM_MAX_REDUCTIONS)
        return tgi_llvm_fail(a->program, "a phase has too many reductions");
    phase->reductions[phase->n_reductions++] = number;
    const tgi_reduction *first =
        &a->loops->reductions.data[phase->reductions[0]];
    if (first->combines_blocks != reduction->combines_blocks)
        return tgi_llvm_fail(
            a->program, "a phase mixes first and second stages of reductions");
    phase->has_loop = true;
    a->is_split |= reduction->is_split;
    const bool is_arg = tgi_llvm_is_arg(reduction);
    count_dtype(&stats[reduction->phase], is_arg ? TG_I64 : reduction->dtype);
    stats[reduction->phase].cost++;
    stats[reduction->phase].uses_native_minmax |=
        is_arg || (a->loops->vectors == TGI_ROWS &&
                   tgi_llvm_uses_native_minmax(a, number));
    stats[reduction->phase].n_reductions++;
    return true;
}

/* -- Lanes ----------------------------------------------------------------- */

/*
 * Registers per value. Four hide loop overhead and latencies; very heavy
 * bodies need registers for intermediate values and take two. Measured: exp,
 * log and tanh are 8 to 12 % faster with four than with two; tanh(x) *
 * sigmoid(x) is not, and is 1.4 times as slow with one.
 */
enum { VERY_HEAVY = 60, MAX_REGISTERS = 4, MIN_REGISTERS = 2 };

/* Instructions above which a body leaves no registers for the lanes of a
   reduction tree. */
enum { HEAVY = 14 };

/* Registers per value of a single cheap reduction down columns. With four, a
   sum over a matrix of 4096 x 4096 takes 1.5 times as long. */
enum { COLUMN_REGISTERS = 8 };

static unsigned registers_per_value(const tgi_llvm_analysis *a,
                                    const phase_stats *c)
{
    if (c->cost > VERY_HEAVY || c->uses_native_minmax)
        return MIN_REGISTERS;
    return a->loops->vectors == TGI_COLUMNS && !a->wide_columns &&
                   c->n_reductions == 1 && c->cost <= HEAVY
               ? COLUMN_REGISTERS
               : MAX_REGISTERS;
}

/* Lanes of the widest element that fill a register. */
static unsigned lanes_per_register(const tgi_llvm_analysis *a,
                                   const phase_stats *c)
{
    return a->program->target->vector_bits / 8 / (c->bytes ? c->bytes : 8);
}

/* A vector covers one packed panel; but a kernel that packs contiguous rows
   fills several panels with one vector. */
static unsigned limit_to_panels(const tgi_llvm_analysis *a, unsigned lanes)
{
    bool is_contiguous = true;
    unsigned panel_width = 0;
    for (size_t i = 0; i < a->loops->accesses.n; i++) {
        const tgi_access *access = &a->loops->accesses.data[i];
        is_contiguous &= tgi_llvm_is_contiguous(a, access);
        panel_width = access->panel_width ? access->panel_width : panel_width;
    }
    if (!panel_width)
        return lanes;
    return is_contiguous && tgi_llvm_pack_panel_width(a) &&
                   !tgi_llvm_pack_is_transposed(a)
               ? TGI_LLVM_MAX_LANES
               : panel_width;
}

static unsigned lanes_of_phase(const tgi_llvm_analysis *a, const phase_stats *c,
                               bool can_mask, unsigned min_lanes)
{
    unsigned lanes = registers_per_value(a, c) * lanes_per_register(a, c);
    if (lanes > TGI_LLVM_MAX_LANES)
        lanes = TGI_LLVM_MAX_LANES;
    lanes = limit_to_panels(a, lanes);
    /* Inactive lanes cost as much as active ones, and without masks a vector
       that is not full is not used at all. */
    const tgi_dim extent = a->loops->extent[a->vector_axis];
    while (tgi_dim_is_known(extent) && lanes > min_lanes &&
           (can_mask ? lanes / 2 : lanes - 1) >= extent)
        lanes /= 2;
    return lanes;
}

static void choose_lanes(tgi_llvm_analysis *a, const phase_stats *stats)
{
    for (unsigned i = 0; i < a->loops->n_phases; i++) {
        const tgi_llvm_phase *phase = &a->phases[i];
        const unsigned tree =
            phase->n_reductions ? tgi_llvm_tree_lanes(a, phase) : 1;
        const unsigned min_lanes = tree < TGI_LLVM_MAX_TREE_VECTORS
                                       ? 1
                                       : tree / TGI_LLVM_MAX_TREE_VECTORS;
        a->phases[i].lanes =
            lanes_of_phase(a, &stats[i], phase->can_mask, min_lanes);
        a->phases[i].is_heavy = stats[i].cost > HEAVY;
        a->phases[i].register_lanes = lanes_per_register(a, &stats[i]);
        if (a->phases[i].register_lanes > a->phases[i].lanes)
            a->phases[i].register_lanes = a->phases[i].lanes;
        a->phases[i].tail_lanes =
            a->phases[i].can_mask ? a->phases[i].register_lanes : 1;
    }
    if (a->loops->vectors == TGI_ROWS)
        return;
    /* All phases of a COLUMNS kernel share one vector of columns. */
    phase_stats all = {0};
    for (unsigned i = 0; i < a->loops->n_phases; i++) {
        if (stats[i].bytes > all.bytes)
            all.bytes = stats[i].bytes;
        if (stats[i].cost > all.cost)
            all.cost = stats[i].cost;
        all.uses_native_minmax |= stats[i].uses_native_minmax;
        all.n_reductions += stats[i].n_reductions;
        a->phases[0].can_mask &= a->phases[i].can_mask;
    }
    const unsigned matmul_lanes = tgi_llvm_matmul_classify(a);
    if (!matmul_lanes && all.cost <= HEAVY)
        a->wide_columns = tgi_llvm_wide_item_columns(
            a, MAX_REGISTERS * lanes_per_register(a, &all));
    for (unsigned i = 0; i < a->loops->n_phases; i++) {
        a->phases[i].lanes =
            matmul_lanes ? matmul_lanes
                         : lanes_of_phase(a, &all, a->phases[0].can_mask, 1);
        a->phases[i].can_mask = a->phases[0].can_mask;
    }
}

/* -- Kernels --------------------------------------------------------------- */

static bool classify_phases(tgi_llvm_analysis *a, phase_stats *stats)
{
    const tgi_kernel_loops *loops = a->loops;
    for (unsigned i = 0; i < loops->n_phases; i++)
        a->phases[i] = (tgi_llvm_phase){.can_mask = true};
    for (uint32_t i = 1; i < loops->insts.n; i++) {
        classify_inst(a, i);
        count_inst(a, i, stats);
    }
    for (size_t i = 0; i < loops->stores.n; i++) {
        const tgi_loop_store *store = &loops->stores.data[i];
        tgi_llvm_phase *phase = &a->phases[store->phase];
        const tgi_access *access = &loops->accesses.data[store->access];
        if (store->level == TGI_LEVEL_INNER)
            phase->has_loop = true;
        if (store->level == TGI_LEVEL_INNER || loops->vectors == TGI_COLUMNS)
            phase->can_mask &= tgi_llvm_is_maskable(a, access);
    }
    for (size_t i = 0; i < loops->checks.n; i++)
        a->phases[loops->checks.data[i].phase].has_loop = true;
    for (uint32_t i = 0; i < loops->reductions.n; i++)
        if (!count_reduction(a, i, stats))
            return false;
    choose_lanes(a, stats);
    return !a->program->failure;
}

static bool classify(tgi_llvm_analysis *a)
{
    tgi_llvm_program *program = a->program;
    phase_stats *stats = program->alloc(a->loops->n_phases * sizeof(*stats));
    if (!stats)
        return tgi_llvm_fail_memory(program);
    for (unsigned i = 0; i < a->loops->n_phases; i++)
        stats[i] = (phase_stats){0};
    const bool is_classified = classify_phases(a, stats);
    program->free(stats);
    return is_classified;
}

static bool make_arrays(tgi_llvm_analysis *a)
{
    const size_t n_insts = a->loops->insts.n + 1;
    const size_t bytes = n_insts * sizeof(*a->insts) +
                         a->loops->n_phases * sizeof(*a->phases) +
                         a->loops->stores.n * sizeof(*a->non_temporal_stores);
    a->memory = a->program->alloc(bytes);
    if (!a->memory)
        return false;
    memset(a->memory, 0, bytes);
    a->phases = a->memory;
    a->insts = (tgi_llvm_inst_facts *)(a->phases + a->loops->n_phases);
    a->non_temporal_stores = (bool *)(a->insts + n_insts);
    return true;
}

bool tgi_llvm_analysis_init(tgi_llvm_analysis *a, tgi_llvm_program *program,
                            const tgi_kernel_loops *loops)
{
    *a = (tgi_llvm_analysis){
        .program = program,
        .loops = loops,
        .inner = loops->n_outer,
        .vector_axis =
            loops->vectors == TGI_ROWS ? loops->n_outer : loops->n_outer - 1,
    };
    if (a->vector_axis < 0)
        return tgi_llvm_fail(program, "a COLUMNS kernel without outer axes");
    if (!make_arrays(a) ||
        (!loops->is_straightline && !tgi_llvm_transpose_prepare(a)))
        return tgi_llvm_fail_memory(program);
    return classify(a);
}

void tgi_llvm_analysis_deinit(tgi_llvm_analysis *a)
{
    tgi_llvm_transpose_free(a);
    if (a->memory)
        a->program->free(a->memory);
}
