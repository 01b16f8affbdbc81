/* SPDX-License-Identifier: MIT */
/*
 * ops_class_loss.c - the loss of class labels, with weights and a label to
 * ignore. The score and the weight of a label are selected by masked sums, so
 * that they share a loop with the softmax.
 */
#include "base/versioned.h"
#include "build/build_formula.h"
#include "front/ops/ops_arrange.h"
#include "front/ops/ops_nn.h"
#include "front/trace/trace_state.h"
#include "tgjit/losses.h"

/* The element at the label, 0 if it is out of range. */
static tgi_ref at_label(tgi_builder *b, tgi_ref is_label, tgi_ref x)
{
    tgi_ref zero = tgi_build_number_like(b, x, 0);
    return tgi_build_reduce(b, TGI_OP_SUM, SELECT(is_label, x, zero),
                            tg_axes_of(1, &(int){-1}));
}

/* True where the label counts: not ignored, and in range. */
static tgi_ref counts(tgi_builder *b, tgi_ref labels, tgi_dim n_classes,
                      const tg_class_loss_options *o)
{
    tgi_ref label = tgi_build_cast(b, labels, TG_I64);
    tgi_ref zero = tgi_build_number_like(b, label, 0);
    tgi_ref is_valid =
        AND(LE(zero, label), LT(label, tgi_build_extent(b, n_classes)));
    if (!o->ignores_label)
        return is_valid;
    tgi_ref ignored =
        tgi_build_number(b, TG_I64, TG_I64,
                         (tgi_number){TGI_NUMBER_INT, {.i = o->ignored_label}});
    return AND(is_valid, NE(label, ignored));
}

/* True if the labels and the weights, which may be 0, fit the scores. */
static bool check_operands(tgi_builder *b, tgi_ref x, tgi_ref labels,
                           tgi_ref weights)
{
    const tgi_ref in[] = {x, labels, weights};
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    const tgi_shape *rows = tgi_graph_shape(b->graph, labels);
    if (!tgi_dtype_is(tgi_graph_node(b->graph, labels)->dtype, TGI_CLASS_INT))
        return tgi_build_fail(b, TG_ERROR_DTYPE, in, 2,
                              "labels need an integer type");
    bool fits = rows->rank + 1 == shape->rank;
    for (int i = 0; fits && i < rows->rank; i++)
        fits = tgi_build_check(b, TGI_CHECK_EQUAL, rows->dims[i],
                               shape->dims[i], "labels and rows of scores");
    if (fits && weights) {
        const tgi_shape *by_class = tgi_graph_shape(b->graph, weights);
        fits = by_class->rank == 1 &&
               tgi_build_check(b, TGI_CHECK_EQUAL, by_class->dims[0],
                               shape->dims[rows->rank], "weights and classes");
    }
    return fits || tgi_build_fail(b, TG_ERROR_SHAPE, in, weights ? 3 : 2,
                                  "needs a label per row of scores%s",
                                  weights ? " and a weight per class" : "");
}

static tgi_ref build_class_loss(tgi_builder *b, tgi_ref x, tgi_ref labels,
                                tgi_ref weights, const tg_class_loss_options *o)
{
    const tg_axes all = {.n = -1};
    if (!tgi_build_require_float(b, x) || !labels ||
        !check_operands(b, x, labels, weights))
        return 0;
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    const tgi_dim n_classes = shape->dims[shape->rank - 1];
    const tg_dtype dtype = (tg_dtype)tgi_graph_node(b->graph, x)->dtype;
    tgi_ref logs =
        o->takes_log_probabilities ? x : tgi_build_log_softmax(b, x, -1);
    tgi_ref is_label = tgi_build_class_mask(b, labels, n_classes);
    tgi_ref is_counted = counts(b, labels, n_classes, o);
    tgi_ref zero = tgi_build_number_like(b, x, 0);
    tgi_ref loss = NEG(at_label(b, is_label, logs));
    tgi_ref weight = tgi_build_cast(b, is_counted, dtype);
    if (weights) {
        tgi_ref of_label = at_label(b, is_label, weights);
        weight = SELECT(is_counted, of_label, zero);
        loss = MUL(loss, of_label);
    }
    loss = SELECT(is_counted, loss, zero);
    if (o->reduction == TG_LOSS_NONE)
        return loss;
    tgi_ref sum = tgi_build_reduce(b, TGI_OP_SUM, loss, all);
    return o->reduction == TG_LOSS_SUM
               ? sum
               : DIV(sum, tgi_build_reduce(b, TGI_OP_SUM, weight, all));
}

tg_value tg_class_loss_at(tg_operand scores, tg_operand labels,
                          const tg_operand *weights,
                          const tg_class_loss_options *user_options,
                          tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    tg_class_loss_options options;
    if (tgi_operation_begin_wide(&o, "class_loss", site)) {
        tgi_ref x = tgi_operation_operand(&o, scores);
        tgi_ref y = tgi_operation_operand(&o, labels);
        tgi_ref w = weights ? tgi_operation_operand(&o, *weights) : 0;
        if (tgi_versioned_read(&options, sizeof(options), user_options,
                               "tg_class_loss_options"))
            o.b.has_error = true;
        else if (options.reduction > TG_LOSS_NONE)
            tgi_build_fail(&o.b, TG_ERROR_INVALID_ARGUMENT, NULL, 0,
                           "invalid reduction %d", (int)options.reduction);
        else if (x && (w || !weights))
            result = build_class_loss(&o.b, x, y, w, &options);
    }
    return tgi_operation_end(&o, result);
}
