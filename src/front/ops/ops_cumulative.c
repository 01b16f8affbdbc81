/* SPDX-License-Identifier: MIT */
/*
 * ops_cumulative.c - cumulative sums and products, and linear recurrences.
 */
#include "tgjit/ops_cumulative.h"

#include "build/build.h"
#include "front/trace/trace_state.h"

/* A number that leaves sums (-0) or products unchanged. */
static tgi_ref identity_of(tgi_builder *b, tgi_ref x, bool is_product)
{
    const tg_dtype dtype = tgi_graph_node(b->graph, x)->dtype;
    return tgi_build_number(
        b, dtype, dtype,
        (tgi_number){TGI_NUMBER_FLOAT, {.f = is_product ? 1 : -0.0}});
}

static tgi_ref build_cumulative(tgi_builder *b, tgi_ref x, int user_axis,
                                unsigned flags, bool is_product)
{
    const int axis = x ? tgi_build_axis(b, x, user_axis) : -1;
    if (axis < 0)
        return 0;
    if (flags & ~(unsigned)(TG_CUMULATIVE_EXCLUSIVE | TG_CUMULATIVE_REVERSE))
        return tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT, &x, 1,
                              "invalid flags %u", flags);
    if (!tgi_dtype_is(tgi_graph_node(b->graph, x)->dtype,
                      TGI_CLASS_NUM_HALF))
        return tgi_build_fail(b, TG_ERROR_DTYPE, &x, 1, "needs a number type");
    const tgi_dim n = tgi_graph_shape(b->graph, x)->dims[axis];
    const bool is_reverse = flags & TG_CUMULATIVE_REVERSE;
    if (is_reverse)
        x = tgi_build_reverse(b, x, axis);
    if (flags & TG_CUMULATIVE_EXCLUSIVE)
        x = x ? tgi_build_pad(b, x, axis, 1, 0,
                              tgi_build_number(
                                  b, tgi_graph_node(b->graph, x)->dtype,
                                  tgi_graph_node(b->graph, x)->dtype,
                                  (tgi_number){TGI_NUMBER_FLOAT,
                                               {.f = is_product ? 1 : 0}}))
              : 0;
    if (!x)
        return 0;
    tgi_ref result =
        is_product
            ? tgi_build_linear_scan(b, x, identity_of(b, x, false), axis, true)
            : tgi_build_linear_scan(b, identity_of(b, x, true), x, axis, false);
    if (flags & TG_CUMULATIVE_EXCLUSIVE)
        result = tgi_build_slice(b, result, axis, 0, n, 1);
    return is_reverse ? tgi_build_reverse(b, result, axis) : result;
}

static tg_value trace_cumulative(const char *name, tg_operand x, int axis,
                                 unsigned flags, bool is_product, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, name, site))
        result = build_cumulative(&o.b, tgi_operation_operand(&o, x), axis,
                                  flags, is_product);
    return tgi_operation_end(&o, result);
}

tg_value tg_cumsum_at(tg_operand x, int axis, unsigned flags, tg_site site)
{
    return trace_cumulative("cumsum", x, axis, flags, false, site);
}

tg_value tg_cumprod_at(tg_operand x, int axis, unsigned flags, tg_site site)
{
    return trace_cumulative("cumprod", x, axis, flags, true, site);
}

tg_value tg_linear_scan_at(tg_operand a, tg_operand b, int axis,
                           bool starts_at_one, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "linear_scan", site)) {
        const tgi_ref first = tgi_operation_operand(&o, a);
        result =
            tgi_build_linear_scan(&o.b, first, tgi_operation_operand(&o, b),
                                  axis, starts_at_one);
    }
    return tgi_operation_end(&o, result);
}
