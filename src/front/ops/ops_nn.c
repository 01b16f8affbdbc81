/* SPDX-License-Identifier: MIT */
/*
 * ops_nn.c - neural-network and statistics functions, composed of primitive
 * ops, which the compiler fuses.
 */
#include "tgjit/ops_nn.h"

#include "build/build.h"
#include "front/ops/ops_arrange.h"
#include "front/ops/ops_nn.h"
#include "front/trace/trace_state.h"

static tg_axes keep_axis(int axis)
{
    return tg_keep(tg_axes_of(1, &axis));
}

static tg_axes last_axis(void)
{
    return tg_axes_of(1, &(int){-1});
}

/* -- Activations ----------------------------------------------------------- */

tg_value tg_relu_at(tg_operand operand, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "relu", site)) {
        tgi_ref x = tgi_operation_operand(&o, operand);
        if (x && !tgi_dtype_is(tgi_graph_node(o.t->graph, x)->dtype,
                               TGI_CLASS_NUM_HALF))
            x = tgi_build_fail(&o.b, TG_ERROR_DTYPE, &x, 1,
                               "needs a number type");
        /* In this order: for equal operands, the gradient goes to the first. */
        result = tgi_build_2(&o.b, TGI_OP_MAX,
                             tgi_build_number_like(&o.b, x, 0), x);
    }
    return tgi_operation_end(&o, result);
}

/* -- Along one axis -------------------------------------------------------- */

/*
 * x - max(x) along the axis; 0 on error. The maximum cancels in the result, so
 * it takes no part in gradients, and an empty axis may have any.
 */
static tgi_ref subtract_max(tgi_builder *b, tgi_ref x, int axis)
{
    x = tgi_build_require_float(b, x);
    if (!x || tgi_build_axis(b, x, axis) < 0)
        return 0;
    tgi_ref max =
        tgi_build_reduce_or_zero(b, TGI_OP_REDUCE_MAX, x, keep_axis(axis));
    return tgi_build_2(b, TGI_OP_SUB, x, tgi_build_1(b, TGI_OP_STOP, max));
}

/* log(sum(exp(d))) along the axis. */
static tgi_ref build_log_sum_exp(tgi_builder *b, tgi_ref d, tg_axes axes)
{
    tgi_ref e = tgi_build_1(b, TGI_OP_EXP, d);
    return tgi_build_1(b, TGI_OP_LOG,
                       tgi_build_reduce(b, TGI_OP_SUM, e, axes));
}

tgi_ref tgi_build_softmax(tgi_builder *b, tgi_ref x, int axis)
{
    tgi_ref e = tgi_build_1(b, TGI_OP_EXP, subtract_max(b, x, axis));
    tgi_ref sum = tgi_build_reduce(b, TGI_OP_SUM, e, keep_axis(axis));
    return tgi_build_2(b, TGI_OP_MUL, e,
                       tgi_build_2(b, TGI_OP_DIV,
                                   tgi_build_number_like(b, e, 1), sum));
}

tg_value tg_softmax_at(tg_operand operand, int axis, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin_wide(&o, "softmax", site))
        result = tgi_build_softmax(&o.b, tgi_operation_operand(&o, operand),
                                   axis);
    return tgi_operation_end(&o, result);
}

tgi_ref tgi_build_log_softmax(tgi_builder *b, tgi_ref x, int axis)
{
    tgi_ref d = subtract_max(b, x, axis);
    return tgi_build_2(b, TGI_OP_SUB, d,
                       build_log_sum_exp(b, d, keep_axis(axis)));
}

tg_value tg_log_softmax_at(tg_operand operand, int axis, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin_wide(&o, "log_softmax", site))
        result = tgi_build_log_softmax(
            &o.b, tgi_operation_operand(&o, operand), axis);
    return tgi_operation_end(&o, result);
}

tg_value tg_layer_norm_at(tg_operand operand, tg_operand scale,
                          tg_operand shift, double epsilon, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin_wide(&o, "layer_norm", site)) {
        tgi_builder *b = &o.b;
        tgi_ref x =
            tgi_build_require_float(b, tgi_operation_operand(&o, operand));
        tgi_ref gain = tgi_operation_operand(&o, scale);
        tgi_ref offset = tgi_operation_operand(&o, shift);
        tgi_ref centred =
            tgi_build_2(b, TGI_OP_SUB, x, tgi_build_mean(b, x, keep_axis(-1)));
        tgi_ref square = tgi_build_2(b, TGI_OP_MUL, centred, centred);
        tgi_ref variance = tgi_build_mean(b, square, keep_axis(-1));
        tgi_ref inverse = tgi_build_1(
            b, TGI_OP_RSQRT,
            tgi_build_2(b, TGI_OP_ADD, variance,
                        tgi_build_number_like(b, variance, epsilon)));
        tgi_ref normal = tgi_build_2(b, TGI_OP_MUL, centred, inverse);
        result = tgi_build_2(b, TGI_OP_ADD,
                             tgi_build_2(b, TGI_OP_MUL, normal, gain), offset);
    }
    return tgi_operation_end(&o, result);
}

/* -- Losses ---------------------------------------------------------------- */

/* -sum(labels * log_softmax(x)) along the last axis. */
static tgi_ref cross_entropy_of_weights(tgi_builder *b, tgi_ref x,
                                        tgi_ref labels)
{
    tgi_ref logs = tgi_build_log_softmax(b, x, -1);
    tgi_ref product = tgi_build_2(b, TGI_OP_MUL, labels, logs);
    return tgi_build_1(b, TGI_OP_NEG,
                       tgi_build_reduce(b, TGI_OP_SUM, product, last_axis()));
}

/*
 * log(sum(exp(d))) - d[class]. The class is selected by a masked sum, so that
 * both sums, and their gradients, share one loop.
 */
static tgi_ref cross_entropy_of_classes(tgi_builder *b, tgi_ref x,
                                        tgi_ref labels)
{
    tgi_ref d = subtract_max(b, x, -1);
    if (!d || !labels)
        return 0;
    const tgi_shape *shape = tgi_graph_shape(b->graph, d);
    const tgi_shape *rows = tgi_graph_shape(b->graph, labels);
    const int last = shape->rank - 1;
    if (rows->rank != last)
        return tgi_build_fail(
            b, TG_ERROR_SHAPE, (tgi_ref[]){x, labels}, 2,
            "class labels must have all axes of the logits but the last");
    const tg_dtype dtype =
        tgi_class_dtype(tgi_graph_node(b->graph, labels)->dtype);
    tgi_ref is_class = tgi_build_class_mask(b, labels, shape->dims[last]);
    tgi_ref zero = tgi_build_number_like(b, d, 0);
    tgi_ref at_class = tgi_build_reduce(
        b, TGI_OP_SUM, tgi_build_3(b, TGI_OP_SELECT, is_class, d, zero),
        last_axis());
    tgi_ref loss = tgi_build_2(b, TGI_OP_SUB,
                               build_log_sum_exp(b, d, last_axis()), at_class);

    tgi_ref label = tgi_build_cast(b, labels, dtype);
    tgi_ref n = tgi_build_cast(b, tgi_build_extent(b, shape->dims[last]),
                               dtype);
    tgi_ref is_non_negative =
        tgi_build_2(b, TGI_OP_LE, tgi_build_number_like(b, label, 0), label);
    tgi_ref is_valid = tgi_build_2(b, TGI_OP_AND, is_non_negative,
                                   tgi_build_2(b, TGI_OP_LT, label, n));
    return tgi_build_3(b, TGI_OP_SELECT, is_valid, loss, zero);
}

tg_value tg_softmax_cross_entropy_at(tg_operand logits, tg_operand labels,
                                     tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin_wide(&o, "softmax_cross_entropy", site)) {
        tgi_ref x = tgi_operation_operand(&o, logits);
        tgi_ref y = tgi_operation_operand(&o, labels);
        const bool are_classes =
            y && tgi_dtype_is(tgi_graph_node(o.t->graph, y)->dtype,
                              TGI_CLASS_INT);
        result = are_classes ? cross_entropy_of_classes(&o.b, x, y)
                             : cross_entropy_of_weights(&o.b, x, y);
    }
    return tgi_operation_end(&o, result);
}
