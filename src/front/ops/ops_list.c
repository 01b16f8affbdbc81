/* SPDX-License-Identifier: MIT */
/*
 * ops_list.c - lists of bounded length: a buffer of the declared capacity and a
 * count. In a loop, a push updates the buffer in place.
 */
#include <string.h>

#include "front/trace/trace_state.h"
#include "tgjit/control.h"

tg_list tg_list_create_at(int64_t capacity, tg_dtype dtype, int rank,
                          const int64_t *dims, tg_site site)
{
    tgi_operation o;
    tg_list list = {{0, 0}, {0, 0}};
    const tgi_number zero = {TGI_NUMBER_INT, {.i = 0}};
    tgi_dim item_dims[TG_MAX_RANK] = {capacity};
    if (!tgi_operation_begin(&o, "list", site))
        return list;
    tgi_ref items = 0;
    if (rank < 0 || rank >= TG_MAX_RANK || (rank && !dims)) {
        tgi_build_fail(&o.b, TG_ERROR_SHAPE, NULL, 0,
                       "elements of rank %d do not fit in a list", rank);
    } else {
        if (rank)
            memcpy(item_dims + 1, dims, (size_t)rank * sizeof(*item_dims));
        items = tgi_build_number(&o.b, dtype, TG_I64, zero);
        if (items)
            items = tgi_build_broadcast(&o.b, items, rank + 1, item_dims);
    }
    list.items = tgi_operation_end(&o, items);
    if (items)
        list.count = tgi_operation_end(
            &o, tgi_build_number(&o.b, TG_I64, TG_I64, zero));
    return list;
}

tg_list tg_list_push_at(tg_list list, tg_operand value, tg_site site)
{
    tgi_operation o;
    tg_list grown = {{0, 0}, {0, 0}};
    if (!tgi_operation_begin(&o, "list", site))
        return grown;
    tgi_ref items = tgi_operation_operand(&o, tg_in_value(list.items));
    tgi_ref count = tgi_operation_operand(&o, tg_in_value(list.count));
    tgi_ref one = tgi_build_number(&o.b, TG_I64, TG_I64,
                                   (tgi_number){TGI_NUMBER_INT, {.i = 1}});
    tgi_ref next = 0;
    if (items && count && one)
        next = tgi_build_scatter(&o.b, items, count,
                                 tgi_operation_operand(&o, value), 0,
                                 TG_SCATTER_SET, TG_SCATTER_CHECK);
    grown.items = tgi_operation_end(&o, next);
    if (next)
        grown.count =
            tgi_operation_end(&o, tgi_build_2(&o.b, TGI_OP_ADD, count, one));
    return grown;
}
