/* SPDX-License-Identifier: MIT */
/*
 * choose_row_order.c - the loop along rows outside of that along columns, in a
 * COLUMNS kernel without reductions. A scatter adds each row of its updates to
 * a row of the table. With the loop along columns outside, it passes over the
 * indices and over all rows again for each vector of columns. A scan down
 * columns reads and writes whole rows; its running values stay in L1. In longer
 * rows, parts of 16 KB are no faster than those of a vector. Every column still
 * goes down its rows in order.
 */
#include "schedule/choose.h"

enum { MIN_ROWS = 8 }; /* of a scan; with fewer it does not pay */

/* True if nothing runs before or after the rows of a column. */
static bool is_legal(const tgi_schedule *s)
{
    const tgi_kernel_loops *loops = s->loops;
    if (loops->vectors != TGI_COLUMNS || loops->is_straightline ||
        loops->n_phases != 1 || loops->reductions.n || loops->checks.n ||
        s->pack_width || !s->phases[0].has_loop)
        return false;
    for (size_t i = 0; i < loops->stores.n; i++)
        if (loops->stores.data[i].level != TGI_LEVEL_INNER)
            return false;
    return true;
}

/* Of the values that a column carries from row to row. */
static int64_t carried_bytes(const tgi_schedule *s)
{
    int64_t bytes = 0;
    for (uint32_t i = 1; i < s->loops->insts.n; i++)
        if (s->loops->insts.data[i].kind == TGI_INST_CARRIED)
            bytes += tgi_dtype_bytes((int)s->loops->insts.data[i].dtype);
    return bytes;
}

/* True if a scan reads and writes its rows, and is bound by that. */
static bool has_cheap_rows(const tgi_schedule *s)
{
    const tgi_kernel_loops *loops = s->loops;
    const tgi_dim rows = loops->extent[s->inner];
    for (uint32_t i = 1; i < loops->insts.n; i++)
        if (loops->insts.data[i].kind == TGI_INST_LOAD &&
            !tgi_schedule_is_contiguous(
                s, &loops->accesses.data[loops->insts.data[i].number]))
            return false;
    for (size_t i = 0; i < loops->stores.n; i++)
        if (!tgi_schedule_is_contiguous(
                s, &loops->accesses.data[loops->stores.data[i].access]))
            return false;
    return tgi_schedule_body_cost(s, 0) <= TGI_HEAVY_COST &&
           !(tgi_dim_is_known(rows) && rows < MIN_ROWS);
}

bool tgi_schedule_choose_row_order(const tgi_scheduler *r, tgi_schedule *s,
                                   unsigned lanes)
{
    const tgi_dim columns = s->loops->extent[s->vector_axis];
    const uint16_t hint = r->hints->values[TGI_HINT_INTERCHANGE];
    if (hint == TGI_HINT_NO || !is_legal(s))
        return false;
    const int64_t bytes = carried_bytes(s);
    const int64_t wide =
        bytes ? TGI_WIDE_BYTES / bytes / lanes * lanes : 0;
    if (bytes && (!wide || r->hints->values[TGI_HINT_WIDE_COLUMNS] ==
                               TGI_HINT_NO))
        return false;
    if (hint != TGI_HINT_YES &&
        ((tgi_dim_is_known(columns) && columns <= lanes) ||
         tgi_schedule_point_cost(s) > TGI_MAX_POINT_COST ||
         (bytes && !has_cheap_rows(s)) ||
         (wide && tgi_dim_is_known(columns) && columns > wide)))
        return false;
    s->wide_columns = (unsigned)wide;
    return true;
}
