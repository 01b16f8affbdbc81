/* SPDX-License-Identifier: MIT */
/*
 * verify_nest.c - every point of the domain is computed once. Work items cover
 * the domain without overlap. Inside an item, the loops over an axis nest: each
 * covers a step of the one around it, and the last one has step 1, or that of
 * the vector. The tail of a vector loop computes the rest.
 */
#include "schedule/verify.h"

/* -- Nests ----------------------------------------------------------------- */

static bool is_vector_access(const tgi_schedule *s, const tgi_access *access)
{
    return tgi_schedule_is_contiguous(s, access);
}

/* An operand that is packed without a mask. */
static bool is_packed_transposed(const tgi_schedule *s, size_t access)
{
    return s->matmul.mr && s->matmul.packs_b && s->matmul.transposes_b &&
           access == s->matmul.b_access;
}

/* Masks skip lanes of contiguous vectors only. */
static tg_status verify_mask(const tgi_schedule *s, unsigned phase)
{
    const tgi_kernel_loops *loops = s->loops;
    const bool is_rows = loops->vectors == TGI_ROWS;
    for (uint32_t i = 1; i < loops->insts.n; i++) {
        const tgi_inst *inst = &loops->insts.data[i];
        if (inst->kind == TGI_INST_LOAD && s->insts[i].varies &&
            (!is_rows || inst->phase == phase))
            TGI_REQUIRE(
                is_packed_transposed(s, inst->number) ||
                    is_vector_access(s, &loops->accesses.data[inst->number]),
                "a mask on a load that is not contiguous", i);
    }
    for (size_t i = 0; i < loops->stores.n; i++) {
        const tgi_loop_store *store = &loops->stores.data[i];
        if (!is_rows ||
            (store->level == TGI_LEVEL_INNER && store->phase == phase))
            TGI_REQUIRE(
                is_vector_access(s, &loops->accesses.data[store->access]),
                "a mask on a store that is not contiguous", i);
    }
    return TG_OK;
}

static tg_status verify_vector(const tgi_schedule *s, unsigned number,
                               const tgi_nest_loop *loop)
{
    const tgi_phase_schedule *phase = &s->phases[number];
    const int tail = phase->fission.n_parts ? TGI_TAIL_STACK
                     : phase->can_mask      ? TGI_TAIL_MASK
                                            : TGI_TAIL_SCALAR;
    TGI_REQUIRE(loop->axis == s->vector_axis, "vectors along another axis",
                loop->axis);
    TGI_REQUIRE(tgi_is_power_of_two(loop->step), "lanes not a power of two",
                loop->step);
    TGI_REQUIRE(loop->step <= TGI_MAX_LANES, "too many lanes", loop->step);
    TGI_REQUIRE(loop->tail == tail, "tail is not computed as its accesses need",
                loop->tail);
    TGI_REQUIRE(tgi_is_power_of_two(loop->tail_lanes) &&
                    loop->tail_lanes <= loop->step &&
                    (phase->can_mask || loop->tail_lanes == 1),
                "lanes of the tail", loop->tail_lanes);
    TGI_REQUIRE(!loop->narrow_lanes ||
                    (tgi_is_power_of_two(loop->narrow_lanes) &&
                     loop->narrow_lanes < loop->step),
                "lanes of the narrow loop", loop->narrow_lanes);
    TGI_REQUIRE(s->loops->vectors == TGI_ROWS ||
                    (loop->step == tgi_phase_lanes(&s->phases[0]) &&
                     phase->can_mask == s->phases[0].can_mask),
                "phases of a COLUMNS kernel have different vectors", number);
    return phase->can_mask ? verify_mask(s, number) : TG_OK;
}

/* True if a loop of the nest must run along an axis: the work item has several
   indices of it that nothing else iterates over. */
static bool needs_loop(const tgi_schedule *s, unsigned phase, int axis)
{
    if (axis == s->vector_axis)
        return true;
    if (axis == s->inner)
        return s->phases[phase].has_loop;
    if (s->loops->is_straightline)
        return true;
    return s->item_extent[axis] != 1 &&
           !(s->tiles.rows && axis == s->tiles.row_axis);
}

/* A loop covers a step of the loop around it, or of the work item. */
static tg_status verify_step(const tgi_schedule *s, const tgi_nest_loop *loop,
                             int64_t around)
{
    const int axis = loop->axis;
    const int64_t item = s->loops->is_straightline ? 0 : s->item_extent[axis];
    const bool is_whole = !item || tgi_extent_is_at_most(s, axis, item);
    TGI_REQUIRE(loop->step > 0, "step of a loop", axis);
    if (around)
        TGI_REQUIRE(loop->step <= around && around % loop->step == 0,
                    "a loop does not divide the step of the one around it",
                    axis);
    else
        TGI_REQUIRE(is_whole || item % loop->step == 0,
                    "a loop does not divide its work item", axis);
    return TG_OK;
}

/* True if the inner axis has something to sweep in a phase. */
static bool has_inner_work(const tgi_schedule *s, unsigned phase)
{
    const tgi_kernel_loops *loops = s->loops;
    for (uint32_t i = 1; i < loops->insts.n; i++)
        if (loops->insts.data[i].phase == phase &&
            s->insts[i].level == TGI_LEVEL_INNER)
            return true;
    for (size_t i = 0; i < loops->stores.n; i++)
        if (loops->stores.data[i].phase == phase &&
            loops->stores.data[i].level == TGI_LEVEL_INNER)
            return true;
    for (size_t i = 0; i < loops->checks.n; i++)
        if (loops->checks.data[i].phase == phase)
            return true;
    for (size_t i = 0; i < loops->reductions.n; i++)
        if (loops->reductions.data[i].phase == phase)
            return true;
    return false;
}

tg_status tgi_schedule_verify_nest(const tgi_schedule *s, unsigned phase)
{
    const tgi_nest *nest = &s->phases[phase].nest;
    int64_t step[TGI_LOOP_AXES] = {0};
    unsigned n_vectors = 0, n_unrolled = 0;
    TGI_REQUIRE(s->phases[phase].has_loop == has_inner_work(s, phase),
                "a phase with inner insts has no loop, or one without has",
                phase);
    TGI_REQUIRE(nest->n > 0 && nest->n <= TGI_MAX_NEST, "size of a nest",
                nest->n);
    for (unsigned i = 0; i < nest->n; i++) {
        const tgi_nest_loop *loop = &nest->loops[i];
        TGI_REQUIRE(loop->kind <= TGI_LOOP_VECTOR, "kind of a loop", i);
        TGI_REQUIRE(loop->axis <= s->inner, "axis of a loop", i);
        n_vectors += loop->kind == TGI_LOOP_VECTOR;
        n_unrolled += loop->kind == TGI_LOOP_UNROLL;
    }
    TGI_REQUIRE(n_vectors == 1, "a nest needs one vector loop", n_vectors);
    /* jit/llvm unrolls one loop, but for matmuls and straight-line kernels. */
    TGI_REQUIRE(n_unrolled <= 1 || s->matmul.mr || s->loops->is_straightline,
                "several unrolled loops", n_unrolled);
    /* jit/llvm divides rows into groups of a power of two, and the rest. */
    TGI_REQUIRE(tgi_is_power_of_two(tgi_nest_unrolled(nest)) ||
                    s->phases[phase].n_reductions || s->loops->is_straightline,
                "unrolled rows not a power of two", phase);
    for (unsigned i = 0; i < nest->n; i++) {
        const tgi_nest_loop *loop = &nest->loops[i];
        if (loop->kind == TGI_LOOP_VECTOR)
            TGI_TRY(verify_vector(s, phase, loop));
        TGI_TRY(verify_step(s, loop, step[loop->axis]));
        step[loop->axis] = loop->step;
    }
    for (int axis = 0; axis <= s->inner; axis++) {
        const int64_t last =
            axis == s->vector_axis ? tgi_phase_lanes(&s->phases[phase]) : 1;
        TGI_REQUIRE(step[axis] || !needs_loop(s, phase, axis),
                    "no loop runs along an axis", axis);
        TGI_REQUIRE(!step[axis] || step[axis] == last,
                    "the last loop along an axis skips elements", axis);
    }
    return TG_OK;
}

/* -- Work items ------------------------------------------------------------ */

bool tgi_schedule_is_elementwise(const tgi_schedule *s)
{
    const tgi_kernel_loops *loops = s->loops;
    if (loops->vectors != TGI_ROWS || loops->n_phases != 1 ||
        loops->reductions.n > 0 || !s->phases[0].has_loop)
        return false;
    for (size_t i = 0; i < loops->stores.n; i++)
        if (loops->stores.data[i].level != TGI_LEVEL_INNER)
            return false;
    return true;
}

/* No two work items have an element in common: a reduction is in one. */
static tg_status verify_inner_items(const tgi_schedule *s)
{
    const int64_t item = s->item_extent[s->inner];
    TGI_REQUIRE(item >= 0, "extent of a work item", s->inner);
    TGI_REQUIRE(!item || tgi_schedule_is_elementwise(s),
                "work items divide a row that is reduced or stored once",
                s->inner);
    TGI_REQUIRE(!s->tiles.rows || item == TGI_ITEM_ELEMENTS,
                "work items of tiles are not one tile wide", item);
    return TG_OK;
}

static tg_status verify_column_items(const tgi_schedule *s)
{
    const int64_t item = s->item_extent[s->vector_axis];
    const int64_t lanes = tgi_phase_lanes(&s->phases[0]);
    if (s->matmul.reduces_rows)
        TGI_REQUIRE(tgi_extent_is_at_most(s, s->vector_axis, item),
                    "work items divide a row that is reduced", item);
    else
        TGI_REQUIRE(item % lanes == 0, "work items divide a vector", item);
    /* jit/llvm emits one vector unless something else says how many. */
    const int64_t columns = s->wide_columns && s->loops->reductions.n
                                ? s->wide_columns
                            : s->matmul.n_panels > 1
                                ? s->matmul.n_panels * lanes
                                : lanes;
    TGI_REQUIRE(s->matmul.reduces_rows || item == columns,
                "work items do not have the columns that are emitted", item);
    return TG_OK;
}

tg_status tgi_schedule_verify_items(const tgi_schedule *s)
{
    if (s->loops->is_straightline)
        return TG_OK;
    TGI_TRY(verify_inner_items(s));
    if (s->loops->vectors == TGI_COLUMNS)
        TGI_TRY(verify_column_items(s));
    for (int axis = 0; axis < s->inner; axis++) {
        const bool is_divided = axis == s->vector_axis ||
                                axis == tgi_schedule_interchanged_axis(s) ||
                                (s->matmul.mr && axis == s->matmul.row_axis) ||
                                (s->matmul.item_matrices > 1 &&
                                 axis == s->matmul.row_axis - 1) ||
                                (s->tiles.rows && axis == s->tiles.row_axis);
        TGI_REQUIRE(s->item_extent[axis] >= 1, "extent of a work item", axis);
        TGI_REQUIRE(is_divided || s->item_extent[axis] == 1,
                    "work items have several points that nothing iterates over",
                    axis);
    }
    return TG_OK;
}
