/* SPDX-License-Identifier: MIT */
/*
 * ops_order.c - sorted elements, the largest ones, the different ones, and
 * quantiles.
 */
#include "tgjit/ops_order.h"

#include "build/build_formula.h"
#include "front/ops/ops_index.h"
#include "front/ops/ops_sort.h"

static bool check_flags(tgi_builder *b, tgi_ref x, unsigned flags)
{
    return flags <= TG_SORT_DESCENDING ||
           tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT, &x, 1,
                          "invalid flags %u", flags);
}

/* -- Sorting --------------------------------------------------------------- */

/* The positions in order along the axis; 0 and an error if it or the flags are
   invalid. */
static tgi_ref build_order(tgi_operation *o, tgi_ref x, int user_axis,
                           unsigned flags, int *out_axis)
{
    *out_axis = x && check_flags(&o->b, x, flags)
                    ? tgi_build_axis(&o->b, x, user_axis)
                    : -1;
    return *out_axis < 0
               ? 0
               : tgi_build_argsort(o, x, *out_axis, flags & TG_SORT_DESCENDING);
}

tg_value tg_argsort_at(tg_operand x, int axis, unsigned flags, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "argsort", site)) {
        int at;
        result =
            build_order(&o, tgi_operation_operand(&o, x), axis, flags, &at);
    }
    return tgi_operation_end(&o, result);
}

tg_value tg_sort_at(tg_operand operand, int axis, unsigned flags, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "sort", site)) {
        int at;
        tgi_ref x = tgi_operation_operand(&o, operand);
        tgi_ref order = build_order(&o, x, axis, flags, &at);
        if (order)
            result =
                tgi_build_take_along_axis(&o.b, x, order, at, TG_GATHER_ZERO);
    }
    return tgi_operation_end(&o, result);
}

tg_value tg_top_k_at(tg_operand operand, int64_t k, int axis, unsigned flags,
                     tg_value *out_indices, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (out_indices)
        *out_indices = (tg_value){0, 0};
    if (tgi_operation_begin(&o, "top_k", site)) {
        int at;
        tgi_ref x = tgi_operation_operand(&o, operand);
        if (x && k < 0)
            x = tgi_build_fail(&o.b, TG_ERROR_INVALID_ARGUMENT, &x, 1,
                               "%lld elements are requested", (long long)k);
        tgi_ref order = build_order(&o, x, axis, flags, &at);
        if (order)
            order = tgi_build_slice(&o.b, order, at, 0, k, 1);
        if (order)
            result =
                tgi_build_take_along_axis(&o.b, x, order, at, TG_GATHER_ZERO);
        if (result && out_indices)
            *out_indices = tgi_operation_end(&o, order);
    }
    return tgi_operation_end(&o, result);
}

/* -- Different elements ---------------------------------------------------- */

static tgi_ref i64_number(tgi_builder *b, int64_t value)
{
    return tgi_build_number(b, TG_I64, TG_I64,
                            (tgi_number){TGI_NUMBER_INT, {.i = value}});
}

/* A vector of `value`, with elements scattered into it. */
static tgi_ref scatter_into(tgi_builder *b, tgi_ref value, tgi_dim n,
                            tgi_ref at, tgi_ref elements, tg_scatter_mode mode)
{
    tgi_ref to = tgi_build_broadcast(b, value, 1, &n);
    return tgi_build_scatter(b, to, at, elements, 0, mode, TG_SCATTER_DROP);
}

/* True for the first of equal elements in a sorted vector. */
static tgi_ref begins_group(tgi_builder *b, tgi_ref sorted, tgi_dim n)
{
    tgi_ref position = tgi_build_iota(b, TG_I64, 1, &n, 0);
    tgi_ref before = SUB(position, i64_number(b, 1));
    tgi_ref last = tgi_build_gather(b, sorted, before, 0, TG_GATHER_ZERO);
    tgi_ref are_nan = AND(NE(sorted, sorted), NE(last, last));
    tgi_ref differs = AND(NE(sorted, last), NOT(are_nan));
    return OR(differs, EQ(position, i64_number(b, 0)));
}

static bool build_unique(tgi_operation *o, tgi_ref x, int64_t max_count,
                         tg_unique_results *out)
{
    tgi_builder *b = &o->b;
    if (!x || !tgi_build_shape(b, 1, &max_count))
        return false;
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    tgi_ref flat = tgi_build_merge_first(b, x, shape->rank);
    if (!flat)
        return false;
    const tgi_dim n = tgi_graph_shape(b->graph, flat)->dims[0];
    /* A sum with +0 is not -0: the first zero of either sign comes first. */
    tgi_ref key = flat;
    if (tgi_dtype_is(tgi_graph_node(b->graph, flat)->dtype, TGI_CLASS_REAL))
        key = ADD(flat, tgi_build_number_like(b, flat, 0));
    tgi_ref order = tgi_build_argsort(o, key, 0, false);
    tgi_ref sorted = tgi_build_gather(b, flat, order, 0, TG_GATHER_ZERO);
    tgi_ref begins = begins_group(b, sorted, n);
    tgi_ref one = i64_number(b, 1), unused = i64_number(b, -1);
    tgi_ref counted = tgi_build_linear_scan(
        b, one, tgi_build_cast(b, begins, TG_I64), 0, false);
    tgi_ref group = SUB(counted, one);
    tgi_ref number = tgi_build_reduce(
        b, TGI_OP_SUM, tgi_build_cast(b, begins, TG_I64), (tg_axes){.n = -1});
    tgi_ref to = SELECT(begins, group, unused);
    tgi_ref zero = sorted ? tgi_build_number_like(b, sorted, 0) : 0;
    tgi_ref values =
        scatter_into(b, zero, max_count, to, sorted, TG_SCATTER_SET);
    tgi_ref ones = tgi_build_broadcast(b, one, 1, &n);
    tgi_ref counts = scatter_into(b, i64_number(b, 0), max_count, group, ones,
                                  TG_SCATTER_ADD);
    tgi_ref indices =
        scatter_into(b, unused, max_count, to, order, TG_SCATTER_SET);
    tgi_ref kept =
        SELECT(LT(group, tgi_build_extent(b, max_count)), group, unused);
    tgi_ref inverse = scatter_into(b, unused, n, order, kept, TG_SCATTER_SET);
    inverse = tgi_build_reshape(b, inverse, shape->rank, shape->dims);
    if (!values || !counts || !indices || !inverse || !number)
        return false;
    out->values = tgi_operation_end(o, values);
    out->counts = tgi_operation_end(o, counts);
    out->indices = tgi_operation_end(o, indices);
    out->inverse = tgi_operation_end(o, inverse);
    out->n = tgi_operation_end(o, number);
    return true;
}

tg_unique_results tg_unique_at(tg_operand x, int64_t max_count, tg_site site)
{
    tgi_operation o;
    tg_unique_results results = {{0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}};
    if (tgi_operation_begin(&o, "unique", site) &&
        !build_unique(&o, tgi_operation_operand(&o, x), max_count, &results))
        tgi_operation_end(&o, 0);
    return results;
}

/* -- Quantiles ------------------------------------------------------------- */

/* The element at a position (an i64 scalar) of the last axis, without it. */
static tgi_ref element_at(tgi_builder *b, tgi_ref sorted, tgi_ref position)
{
    return tgi_build_gather(b, sorted, position, -1, TG_GATHER_CLAMP);
}

static tgi_ref build_quantile(tgi_operation *o, tgi_ref x, double q,
                              tg_axes axes, tg_quantile_mode mode)
{
    tgi_builder *b = &o->b;
    uint64_t mask;
    x = tgi_build_require_float(b, x);
    if (!x || !tgi_build_axes_mask(b, x, axes, &mask))
        return 0;
    if (!(q >= 0 && q <= 1) || (int)mode < 0 || mode > TG_QUANTILE_MIDPOINT)
        return tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT, &x, 1,
                              "invalid quantile %g or mode %d", q, (int)mode);
    tgi_ref merged = tgi_build_merge_axes_last(b, x, mask);
    if (!merged)
        return 0;
    const tgi_shape *shape = tgi_graph_shape(b->graph, merged);
    const int last = shape->rank - 1;
    tgi_ref order = tgi_build_argsort(o, merged, last, false);
    tgi_ref sorted = order ? tgi_build_take_along_axis(b, merged, order, last,
                                                       TG_GATHER_ZERO)
                           : 0;
    tgi_ref end = SUB(tgi_build_extent(b, shape->dims[last]), i64_number(b, 1));
    tgi_ref position = MUL(tgi_build_f64(b, q), tgi_build_cast(b, end, TG_F64));
    tgi_ref floor = FLOOR(position);
    tgi_ref low = tgi_build_cast(b, floor, TG_I64);
    tgi_ref high = tgi_build_cast(b, BUILD_1(CEIL, position), TG_I64);
    tgi_ref a = element_at(b, sorted, low), c = element_at(b, sorted, high);
    tgi_ref largest = element_at(b, sorted, end);
    if (!a || !c || !largest)
        return 0;
    tgi_ref fraction = tgi_build_cast(
        b, SUB(position, floor), (tg_dtype)tgi_graph_node(b->graph, a)->dtype);
    tgi_ref half = tgi_build_number_like(b, a, 0.5);
    tgi_ref value = mode == TG_QUANTILE_LOWER    ? a
                    : mode == TG_QUANTILE_HIGHER ? c
                    : mode == TG_QUANTILE_MIDPOINT
                        ? MUL(ADD(a, c), half)
                        : ADD(MUL(SUB(c, a), fraction), a);
    /* Equal elements, infinite ones too, have themselves between them. */
    value = SELECT(EQ(a, c), a, value);
    value = SELECT(NE(largest, largest), largest, value);
    return tgi_build_keep_axes(b, value, x, mask, axes.keep);
}

tg_value tg_quantile_at(tg_operand x, double q, tg_axes axes,
                        tg_quantile_mode mode, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin_wide(&o, "quantile", site))
        result =
            build_quantile(&o, tgi_operation_operand(&o, x), q, axes, mode);
    return tgi_operation_end(&o, result);
}

tg_value tg_median_at(tg_operand x, tg_axes axes, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin_wide(&o, "median", site))
        result = build_quantile(&o, tgi_operation_operand(&o, x), 0.5, axes,
                                TG_QUANTILE_LINEAR);
    return tgi_operation_end(&o, result);
}
