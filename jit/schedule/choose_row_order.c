/* SPDX-License-Identifier: MIT */
/*
 * choose_row_order.c - the loop along rows outside of that along columns, in a
 * COLUMNS kernel without reductions. A scatter adds each row of its updates to
 * a row of the table. With the loop along columns outside, it passes over the
 * indices and over all rows again for each vector of columns. Every column
 * still gets its updates in the order of rows.
 */
#include "schedule/choose.h"

/* True if nothing is kept from row to row, or between phases. */
static bool is_legal(const tgi_schedule *s)
{
    const tgi_kernel_loops *loops = s->loops;
    if (loops->vectors != TGI_COLUMNS || loops->is_straightline ||
        loops->n_phases != 1 || loops->reductions.n || loops->checks.n ||
        s->pack_width || !s->phases[0].has_loop)
        return false;
    for (uint32_t i = 1; i < loops->insts.n; i++)
        if (loops->insts.data[i].kind == TGI_INST_CARRIED)
            return false;
    for (size_t i = 0; i < loops->stores.n; i++)
        if (loops->stores.data[i].level != TGI_LEVEL_INNER)
            return false;
    return true;
}

bool tgi_schedule_choose_row_order(const tgi_scheduler *r,
                                   const tgi_schedule *s, unsigned lanes)
{
    const tgi_dim columns = s->loops->extent[s->vector_axis];
    const uint16_t hint = r->hints->values[TGI_HINT_INTERCHANGE];
    if (hint == TGI_HINT_NO || !is_legal(s))
        return false;
    return hint == TGI_HINT_YES ||
           (!(tgi_dim_is_known(columns) && columns <= lanes) &&
            tgi_schedule_point_cost(s) <= TGI_MAX_POINT_COST);
}
