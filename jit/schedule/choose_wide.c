/* SPDX-License-Identifier: MIT */
/*
 * choose_wide.c - reductions down thousands of columns at once. One vector of
 * columns reads little of each row before it goes to the next; memory is
 * fastest when a few whole rows are read side by side. So the accumulators of
 * many columns stay in L1 and take TGI_WIDE_ROWS rows at a time (with one, it
 * is 1.5 times as slow).
 *
 * This handles one block of rows: partial results of several would not fit.
 * Fusion makes longer reductions two-stage. The k-blocks of a vector-matrix
 * product (matmuls with more rows use micro-kernels) are added in order.
 */
#include "schedule/choose.h"

enum {
    MIN_COLUMNS = 1024,     /* of a work item, unless there are fewer */
    UNKNOWN_COLUMNS = 2048, /* of a work item, if the extent is unknown */
    MIN_ROWS = 8,           /* with fewer it does not pay */
    MIN_ITEMS = 16
};

static bool has_one_matmul(const tgi_schedule *s)
{
    return s->loops->reductions.n == 1 &&
           s->loops->reductions.data[0].op == TGI_OP_MATMUL;
}

static bool is_one_block(const tgi_schedule *s)
{
    const tgi_dim rows = s->loops->extent[s->inner];
    return s->split_block || (tgi_dim_is_known(rows) && rows >= MIN_ROWS &&
                              rows <= TGI_BLOCK_ROWS);
}

unsigned tgi_schedule_point_cost(const tgi_schedule *s)
{
    unsigned cost = 0;
    for (uint32_t i = 1; i < s->loops->insts.n; i++)
        if (s->insts[i].level == TGI_LEVEL_POINT &&
            !s->insts[i].is_after_loop && s->loops->insts.data[i].phase == 0)
            cost += s->insts[i].cost;
    return cost;
}

static unsigned accumulator_bytes(const tgi_schedule *s)
{
    unsigned bytes = 0;
    for (size_t i = 0; i < s->loops->reductions.n; i++) {
        const tgi_reduction *r = &s->loops->reductions.data[i];
        bytes += (unsigned)tgi_dtype_bytes(r->dtype) +
                 (tgi_reduction_is_arg(r) ? (unsigned)sizeof(int64_t) : 0);
    }
    return bytes;
}

/* Work items along the other axes of known extent; MIN_ITEMS at most. */
static int64_t items_beside(const tgi_schedule *s)
{
    int64_t items = 1;
    for (int axis = 0; axis < s->vector_axis && items < MIN_ITEMS; axis++) {
        const tgi_dim extent = s->loops->extent[axis];
        if (tgi_dim_is_known(extent))
            items *= extent < MIN_ITEMS ? extent : MIN_ITEMS;
    }
    return items;
}

/* True if the rows are elements of windows. These overlap, so they are in the
   cache, and few: accumulators stay in registers. */
static bool has_windows(const tgi_schedule *s)
{
    for (size_t i = 0; i < s->loops->accesses.n; i++) {
        const uint32_t index = s->loops->accesses.data[i].index;
        if (index && s->loops->insts.data[index].kind == TGI_INST_OFFSET)
            return true;
    }
    return false;
}

unsigned tgi_schedule_wide_columns(const tgi_schedule *s, unsigned lanes)
{
    const tgi_kernel_loops *loops = s->loops;
    const tgi_dim extent = loops->extent[s->vector_axis];
    const bool is_known = tgi_dim_is_known(extent);
    if (loops->is_straightline || loops->reductions.n == 0 ||
        loops->reductions.data[0].combines_blocks ||
        !(is_one_block(s) || has_one_matmul(s)) ||
        tgi_schedule_point_cost(s) > TGI_MAX_POINT_COST || lanes == 1 || has_windows(s) ||
        (is_known && extent < 2 * (int64_t)lanes))
        return 0;
    int64_t columns = is_known ? TGI_WIDE_BYTES : UNKNOWN_COLUMNS;
    while (columns * accumulator_bytes(s) > TGI_WIDE_BYTES ||
           (is_known && columns / 2 >= extent))
        columns /= 2;
    while (is_known && columns > MIN_COLUMNS && extent < columns * MIN_ITEMS &&
           items_beside(s) * ((extent + columns - 1) / columns) < MIN_ITEMS)
        columns /= 2;
    return columns < (int64_t)lanes ? 0 : (unsigned)columns;
}
