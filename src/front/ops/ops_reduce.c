/* SPDX-License-Identifier: MIT */
/*
 * ops_reduce.c - reductions composed of others.
 */
#include "tgjit/ops_reduce.h"

#include <math.h>

#include "build/build_formula.h"
#include "front/ops/ops_sort.h"
#include "front/trace/trace_state.h"

typedef tgi_ref build_reduction(tgi_builder *b, tgi_ref x, tg_axes axes);

static tg_value apply(const char *name, build_reduction *build, tg_operand x,
                      tg_axes axes, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin_wide(&o, name, site)) {
        tgi_ref in = tgi_operation_operand(&o, x);
        result = in ? build(&o.b, in, axes) : 0;
    }
    return tgi_operation_end(&o, result);
}

/* -- Sums ------------------------------------------------------------------ */

/*
 * The maximum cancels, so it takes no part in gradients. An infinite one is
 * replaced by 0, because infinity - infinity is NaN; that of nothing is 0, too,
 * so that the result is log(0).
 */
static tgi_ref build_logsumexp(tgi_builder *b, tgi_ref x, tg_axes axes)
{
    if (!tgi_build_require_float(b, x))
        return 0;
    tgi_ref max =
        BUILD_1(STOP, tgi_build_reduce_or_zero(b, TGI_OP_REDUCE_MAX, x,
                                               tg_keep(axes)));
    tgi_ref infinity = tgi_build_number_like(b, x, HUGE_VAL);
    max = SELECT(EQ(ABS(max), infinity), tgi_build_number_like(b, x, 0), max);
    tgi_ref sum = tgi_build_reduce(b, TGI_OP_SUM, EXP(SUB(x, max)), axes);
    if (!sum)
        return 0;
    const tgi_shape *shape = tgi_graph_shape(b->graph, sum);
    max = tgi_build_reshape(b, max, shape->rank, shape->dims);
    return ADD(LOG(sum), max);
}

tg_value tg_logsumexp_at(tg_operand x, tg_axes axes, tg_site site)
{
    return apply("logsumexp", build_logsumexp, x, axes, site);
}

static tgi_ref build_sum_square(tgi_builder *b, tgi_ref x, tg_axes axes)
{
    return tgi_build_reduce(b, TGI_OP_SUM, MUL(x, x), axes);
}

tg_value tg_sum_square_at(tg_operand x, tg_axes axes, tg_site site)
{
    return apply("sum_square", build_sum_square, x, axes, site);
}

static tgi_ref build_norm_l1(tgi_builder *b, tgi_ref x, tg_axes axes)
{
    return tgi_build_reduce(b, TGI_OP_SUM, ABS(x), axes);
}

tg_value tg_norm_l1_at(tg_operand x, tg_axes axes, tg_site site)
{
    return apply("norm_l1", build_norm_l1, x, axes, site);
}

static tgi_ref build_norm_l2(tgi_builder *b, tgi_ref x, tg_axes axes)
{
    return SQRT(build_sum_square(b, x, axes));
}

tg_value tg_norm_l2_at(tg_operand x, tg_axes axes, tg_site site)
{
    return apply("norm_l2", build_norm_l2, x, axes, site);
}

/* -- Positions ------------------------------------------------------------- */

/* The last one is the first of the elements in reverse. */
static tgi_ref build_arg(tgi_builder *b, tgi_op op, tgi_ref x, tg_axes axes,
                         tg_arg_select select)
{
    uint64_t mask;
    if (!x || !tgi_build_axes_mask(b, x, axes, &mask))
        return 0;
    if (select != TG_ARG_FIRST && select != TG_ARG_LAST)
        return tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT, &x, 1,
                              "invalid selection %d", (int)select);
    tgi_ref merged = tgi_build_merge_axes_last(b, x, mask);
    if (!merged)
        return 0;
    const int last = tgi_graph_shape(b->graph, merged)->rank - 1;
    const tgi_dim n = tgi_graph_shape(b->graph, merged)->dims[last];
    if (select == TG_ARG_LAST)
        merged = tgi_build_reverse(b, merged, last);
    tgi_ref found = tgi_build_arg_reduce(b, op, merged, last);
    if (found && select == TG_ARG_LAST) {
        tgi_ref end =
            SUB(tgi_build_extent(b, n), tgi_build_number_like(b, found, 1));
        found = SUB(end, found);
    }
    return tgi_build_keep_axes(b, found, x, mask, axes.keep);
}

static tg_value apply_arg(const char *name, tgi_op op, tg_operand x,
                          tg_axes axes, tg_arg_select select, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, name, site))
        result =
            build_arg(&o.b, op, tgi_operation_operand(&o, x), axes, select);
    return tgi_operation_end(&o, result);
}

tg_value tg_argmax_axes_at(tg_operand x, tg_axes axes, tg_arg_select select,
                           tg_site site)
{
    return apply_arg("argmax_axes", TGI_OP_ARGMAX, x, axes, select, site);
}

tg_value tg_argmin_axes_at(tg_operand x, tg_axes axes, tg_arg_select select,
                           tg_site site)
{
    return apply_arg("argmin_axes", TGI_OP_ARGMIN, x, axes, select, site);
}
