/* SPDX-License-Identifier: MIT */
/*
 * verify_interchange.c - a loop along an outer axis inside the vector loop, and
 * row order. The points of an elementwise kernel are independent, so their
 * order does not matter; so are the columns of a COLUMNS kernel, each of which
 * goes down its rows in order. A hoisted inst does not depend on the axis of
 * the loop that it is hoisted out of, so by induction it has the value that it
 * would have in the loop.
 */
#include "schedule/verify.h"

/* True if the loop computes an inst. In row order, points are in the loop. */
static bool is_in_loop(const tgi_schedule *s, uint32_t number)
{
    return (s->insts[number].level == TGI_LEVEL_INNER ||
            (s->insts[number].level == TGI_LEVEL_POINT &&
             tgi_schedule_is_row_order(s))) &&
           !s->insts[number].is_hoisted;
}

static bool is_stored(const tgi_schedule *s, tgi_buffer_id buffer)
{
    bool is_any = false;
    for (size_t i = 0; i < s->loops->stores.n; i++) {
        const uint32_t access = s->loops->stores.data[i].access;
        is_any |= tgi_buffer_id_equals(s->loops->accesses.data[access].buffer,
                                       buffer);
    }
    return is_any;
}

static tg_status verify_inst(const tgi_schedule *s, uint32_t number, int axis)
{
    const tgi_inst *inst = &s->loops->insts.data[number];
    if (is_in_loop(s, number))
        return TG_OK;
    for (int n = 0; tgi_schedule_dependence(s, inst, n); n++)
        TGI_REQUIRE(!is_in_loop(s, tgi_schedule_dependence(s, inst, n)),
                    "an inst is hoisted before its operand", number);
    if (inst->kind != TGI_INST_LOAD && inst->kind != TGI_INST_POSITION)
        return TG_OK;
    const tgi_access *access = &s->loops->accesses.data[inst->number];
    TGI_REQUIRE(tgi_stride_is_zero(access->stride[axis]),
                "an inst outside of a loop depends on its axis", number);
    TGI_REQUIRE(inst->kind != TGI_INST_LOAD || !s->insts[number].is_hoisted ||
                    !is_stored(s, access->buffer),
                "a load is hoisted from a buffer that is stored to", number);
    return TG_OK;
}

/* What is carried from row to row has memory for each column of a strip, whole
   vectors. */
static tg_status verify_carried(const tgi_schedule *s)
{
    const tgi_nest *nest = &s->phases[0].nest;
    const int64_t lanes = tgi_phase_lanes(&s->phases[0]);
    int64_t bytes = 0;
    for (uint32_t i = 1; i < s->loops->insts.n; i++) {
        const tgi_inst *inst = &s->loops->insts.data[i];
        if (inst->kind != TGI_INST_CARRIED)
            continue;
        TGI_REQUIRE(s->wide_columns && !s->insts[i].is_hoisted,
                    "row order of carried values without memory", i);
        bytes += tgi_dtype_bytes((int)inst->dtype);
    }
    TGI_REQUIRE(nest->n == 2, "row order of several rows", nest->n);
    TGI_REQUIRE(s->wide_columns % lanes == 0, "wide columns divide a vector",
                s->wide_columns);
    TGI_REQUIRE(s->wide_columns * bytes <= TGI_MAX_STACK_BYTES,
                "wide columns exceed the stack", s->wide_columns);
    return TG_OK;
}

/* Nothing runs before or after the rows of a column. */
static tg_status verify_row_order(const tgi_schedule *s)
{
    const tgi_kernel_loops *loops = s->loops;
    TGI_REQUIRE(loops->n_phases == 1 && !loops->checks.n && !s->pack_width,
                "row order of a kernel that packs, checks or has phases", 0);
    for (size_t i = 0; i < loops->stores.n; i++)
        TGI_REQUIRE(loops->stores.data[i].level == TGI_LEVEL_INNER,
                    "row order of a store per column", i);
    return verify_carried(s);
}

static tg_status verify_interchanged(const tgi_schedule *s, int axis)
{
    const tgi_kernel_loops *loops = s->loops;
    TGI_REQUIRE(axis < s->inner, "interchange of the inner axis", axis);
    TGI_REQUIRE(!loops->is_straightline && tgi_schedule_is_elementwise(s) &&
                    !loops->checks.n,
                "interchange of a kernel that is not elementwise", axis);
    /* jit/llvm peels, prefetches, transposes and splits a row of one point. */
    TGI_REQUIRE(!s->phases[0].fission.n_parts && !s->tiles.rows &&
                    !s->phases[0].is_non_temporal &&
                    !s->phases[0].aligned_store,
                "interchange of a loop that is split or peeled", axis);
    return TG_OK;
}

tg_status tgi_schedule_verify_interchange(const tgi_schedule *s)
{
    const tgi_kernel_loops *loops = s->loops;
    const bool is_row_order = tgi_schedule_is_row_order(s);
    const int axis =
        is_row_order ? s->vector_axis : tgi_schedule_interchanged_axis(s);
    for (uint32_t i = 1; i < loops->insts.n; i++)
        TGI_REQUIRE(!s->insts[i].is_hoisted ||
                        (axis >= 0 && s->insts[i].level == TGI_LEVEL_INNER),
                    "an inst is hoisted that is in no loop", i);
    if (axis < 0)
        return TG_OK;
    TGI_TRY(is_row_order ? verify_row_order(s) : verify_interchanged(s, axis));
    for (uint32_t i = 1; i < loops->insts.n; i++)
        TGI_TRY(verify_inst(s, i, axis));
    return TG_OK;
}
