/* SPDX-License-Identifier: MIT */
/*
 * random_graph_make_scan.c - cumulative sums and products, and recurrences.
 */
#include "random/random_graph.h"

/* A recurrence of a value, with itself or its negation as the factor. */
void rg_make_linear_scan(rg_maker *m, tgi_op op)
{
    rg_operand x =
        rg_fit_classes(m, rg_pick_ranked(m), tgi_op_table[op].types);
    const unsigned choice = rg_take(&m->bytes);
    const int axis = rg_below(&m->bytes, x.type.rank);
    rg_type type = x.type;
    type.is_weak = false;
    switch (choice % 4) {
    case 0:
        rg_keep(m, type,
                RG_DO(m, tg_cumsum_with(x.operand, axis, choice / 4 % 4)));
        break;
    case 1:
        rg_keep(m, type,
                RG_DO(m, tg_cumprod_with(x.operand, axis, choice / 4 % 4)));
        break;
    case 2:
        rg_keep(m, type,
                RG_DO(m, tg_linear_scan(x.operand, x.operand, axis,
                                        choice / 4 % 2)));
        break;
    default:
        rg_keep(m, type,
                RG_DO(m, tg_linear_scan(tg_neg(x.operand), x.operand, axis,
                                        choice / 4 % 2)));
        break;
    }
}
