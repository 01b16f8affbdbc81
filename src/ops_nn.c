/* SPDX-License-Identifier: MIT */
/*
 * ops_nn.c - functions of neural networks and statistics, made of primitives;
 * fusion puts them together again.
 */
#include "tgjit/ops_nn.h"

#include "build.h"
#include "trace_state.h"

static tgi_ref number_like(tgi_builder *b, tgi_ref x, double value)
{
    tg_dtype dtype = x ? tgi_graph_node(b->graph, x)->dtype : TG_F64;
    return x ? tgi_build_number(b, dtype, dtype,
                                (tgi_number){TGI_FLOAT, {.f = value}})
             : 0;
}

/* x as it is if it has a float type, else 0 and an error. */
static tgi_ref need_float(tgi_builder *b, tgi_ref x)
{
    if (x && !tgi_dtype_is(tgi_graph_node(b->graph, x)->dtype,
                           TGI_CLASS_FLOAT))
        return tgi_build_fail(b, TG_ERROR_DTYPE, &x, 1, "needs a float type");
    return x;
}

static tg_axes one_axis(int axis)
{
    return tg_keep(tg_axes_of(1, &axis));
}

/* -- Activations ----------------------------------------------------------- */

tg_value tg_relu_at(tg_operand operand, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "relu", site)) {
        tgi_ref x = tgi_operation_in(&o, operand);
        if (x && !tgi_dtype_is(tgi_graph_node(o.t->graph, x)->dtype,
                               TGI_CLASS_NUM))
            x = tgi_build_fail(&o.b, TG_ERROR_DTYPE, &x, 1,
                               "needs a number type");
        result = tgi_build_2(&o.b, TGI_OP_MAX, x, number_like(&o.b, x, 0));
    }
    return tgi_operation_end(&o, result);
}

/* -- Along one axis -------------------------------------------------------- */

/* x - max(x) along the axis; 0 on error. */
static tgi_ref below_max(tgi_builder *b, tgi_ref x, int axis)
{
    x = need_float(b, x);
    if (!x || tgi_build_axis(b, x, axis) < 0)
        return 0;
    return tgi_build_2(
        b, TGI_OP_SUB, x,
        tgi_build_reduce(b, TGI_OP_REDUCE_MAX, x, one_axis(axis)));
}

tg_value tg_softmax_at(tg_operand operand, int axis, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "softmax", site)) {
        tgi_ref x = tgi_operation_in(&o, operand);
        tgi_ref e =
            tgi_build_1(&o.b, TGI_OP_EXP, below_max(&o.b, x, axis));
        tgi_ref sum = tgi_build_reduce(&o.b, TGI_OP_SUM, e, one_axis(axis));
        result = tgi_build_2(&o.b, TGI_OP_MUL, e,
                             tgi_build_2(&o.b, TGI_OP_DIV,
                                         number_like(&o.b, e, 1), sum));
    }
    return tgi_operation_end(&o, result);
}

tg_value tg_log_softmax_at(tg_operand operand, int axis, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "log_softmax", site)) {
        tgi_ref x = tgi_operation_in(&o, operand);
        tgi_ref d = below_max(&o.b, x, axis);
        tgi_ref sum =
            tgi_build_reduce(&o.b, TGI_OP_SUM,
                             tgi_build_1(&o.b, TGI_OP_EXP, d), one_axis(axis));
        result = tgi_build_2(&o.b, TGI_OP_SUB, d,
                             tgi_build_1(&o.b, TGI_OP_LOG, sum));
    }
    return tgi_operation_end(&o, result);
}

tg_value tg_layer_norm_at(tg_operand operand, tg_operand scale,
                          tg_operand shift, double epsilon, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "layer_norm", site)) {
        tgi_builder *b = &o.b;
        tgi_ref x = need_float(b, tgi_operation_in(&o, operand));
        tgi_ref gain = tgi_operation_in(&o, scale);
        tgi_ref offset = tgi_operation_in(&o, shift);
        tgi_ref centred = tgi_build_2(b, TGI_OP_SUB, x,
                                      tgi_build_mean(b, x, one_axis(-1)));
        tgi_ref square = tgi_build_2(b, TGI_OP_MUL, centred, centred);
        tgi_ref variance = tgi_build_mean(b, square, one_axis(-1));
        tgi_ref inverse = tgi_build_1(
            b, TGI_OP_RSQRT,
            tgi_build_2(b, TGI_OP_ADD, variance,
                        number_like(b, variance, epsilon)));
        tgi_ref normal = tgi_build_2(b, TGI_OP_MUL, centred, inverse);
        result = tgi_build_2(b, TGI_OP_ADD,
                             tgi_build_2(b, TGI_OP_MUL, normal, gain), offset);
    }
    return tgi_operation_end(&o, result);
}
