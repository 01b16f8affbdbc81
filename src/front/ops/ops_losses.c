/* SPDX-License-Identifier: MIT */
/*
 * ops_losses.c - losses over predictions and targets of one shape. The softmax
 * cross-entropy, which shares its parts with softmax, is in ops_nn.c.
 */
#include "tgjit/losses.h"

#include <math.h>

#include "front/trace/trace_state.h"

static const tg_axes all_axes = {.n = -1};

/* -- Sigmoid cross-entropy ------------------------------------------------- */

/* Bool and integer labels as numbers of the dtype of the logits. */
static tgi_ref labels_like(tgi_builder *b, tgi_ref logits, tgi_ref labels)
{
    if (!logits || !labels)
        return 0;
    const tg_dtype dtype = tgi_graph_node(b->graph, labels)->dtype;
    return tgi_dtype_is(dtype, TGI_CLASS_REAL)
               ? labels
               : tgi_build_cast(b, labels,
                                tgi_graph_node(b->graph, logits)->dtype);
}

/*
 * max(x, 0) - x * y + softplus(-|x|). For y = 0 and 1 nothing cancels, however
 * large x is. Selects instead of max and abs make the gradient at 0 exact, too:
 * sigmoid(0) - y.
 */
static tgi_ref build_sigmoid_loss(tgi_builder *b, tgi_ref x, tgi_ref y)
{
    tgi_ref zero = tgi_build_number_like(b, x, 0);
    tgi_ref is_positive = tgi_build_2(b, TGI_OP_LE, zero, x);
    tgi_ref positive = tgi_build_3(b, TGI_OP_SELECT, is_positive, x, zero);
    tgi_ref negative = tgi_build_3(b, TGI_OP_SELECT, is_positive,
                                   tgi_build_1(b, TGI_OP_NEG, x), x);
    tgi_ref linear = tgi_build_2(b, TGI_OP_SUB, positive,
                                 tgi_build_2(b, TGI_OP_MUL, x, y));
    return tgi_build_2(b, TGI_OP_ADD, linear,
                       tgi_build_1(b, TGI_OP_SOFTPLUS, negative));
}

tg_value tg_sigmoid_cross_entropy_at(tg_operand logits, tg_operand labels,
                                     tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin_wide(&o, "sigmoid_cross_entropy", site)) {
        tgi_builder *b = &o.b;
        tgi_ref x = tgi_operation_operand(&o, logits);
        tgi_ref y = tgi_operation_operand(&o, labels);
        x = tgi_build_require_float(b, x);
        y = labels_like(b, x, y);
        if (tgi_build_same_shape(b, x, y, "logits and labels"))
            result = build_sigmoid_loss(b, x, y);
    }
    return tgi_operation_end(&o, result);
}

/* -- Means of differences -------------------------------------------------- */

/* predictions - targets; 0 on error. */
static tgi_ref build_difference(tgi_operation *o, tg_operand predictions,
                                tg_operand targets)
{
    tgi_builder *b = &o->b;
    tgi_ref x = tgi_operation_operand(o, predictions);
    tgi_ref y = tgi_operation_operand(o, targets);
    if (!tgi_build_same_shape(b, x, y, "predictions and targets"))
        return 0;
    return tgi_build_require_float(b, tgi_build_2(b, TGI_OP_SUB, x, y));
}

tg_value tg_mean_squared_error_at(tg_operand predictions, tg_operand targets,
                                  tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin_wide(&o, "mean_squared_error", site)) {
        tgi_ref d = build_difference(&o, predictions, targets);
        result = tgi_build_mean(&o.b, tgi_build_2(&o.b, TGI_OP_MUL, d, d),
                                all_axes);
    }
    return tgi_operation_end(&o, result);
}

tg_value tg_mean_absolute_error_at(tg_operand predictions, tg_operand targets,
                                   tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin_wide(&o, "mean_absolute_error", site)) {
        tgi_ref d = build_difference(&o, predictions, targets);
        result = tgi_build_mean(&o.b, tgi_build_1(&o.b, TGI_OP_ABS, d),
                                all_axes);
    }
    return tgi_operation_end(&o, result);
}

/*
 * With c = min(|d|, delta), both branches are c * (|d| - c/2): no square of a
 * large difference can overflow. The gradient at |d| = delta is that of either.
 */
static tgi_ref build_huber(tgi_builder *b, tgi_ref d, double delta)
{
    tgi_ref size = tgi_build_1(b, TGI_OP_ABS, d);
    tgi_ref c = tgi_build_2(b, TGI_OP_MIN, size,
                            tgi_build_number_like(b, size, delta));
    tgi_ref half =
        tgi_build_2(b, TGI_OP_MUL, c, tgi_build_number_like(b, size, 0.5));
    return tgi_build_2(b, TGI_OP_MUL, c,
                       tgi_build_2(b, TGI_OP_SUB, size, half));
}

tg_value tg_huber_loss_at(tg_operand predictions, tg_operand targets,
                          double delta, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin_wide(&o, "huber_loss", site)) {
        tgi_ref d = build_difference(&o, predictions, targets);
        if (d && !(isfinite(delta) && delta > 0))
            d = tgi_build_fail(&o.b, TG_ERROR_INVALID_ARGUMENT, NULL, 0,
                               "delta must be positive, not %g", delta);
        result = tgi_build_mean(&o.b, build_huber(&o.b, d, delta), all_axes);
    }
    return tgi_operation_end(&o, result);
}
