/* SPDX-License-Identifier: MIT */
/*
 * op_loss.c - losses of classes. Scores have the classes on axis 1.
 */
#include "onnx_run.h"

/* Moves axis 1 to the end. */
static tg_value classes_last(const tgi_onnx_call *c, tg_value x)
{
    int perm[TG_MAX_RANK];
    const int rank = tg_value_rank(x);
    if (rank < 2)
        return x;
    for (int i = 0; i < rank; i++)
        perm[i] = i == 0 ? 0 : i < rank - 1 ? i + 1 : 1;
    return tg_transpose_at(TG_IN(x), rank, perm, c->site);
}

static void build_loss(const tgi_onnx_call *c, bool takes_log_probabilities)
{
    tg_class_loss_options o = TG_OPTIONS_INIT(tg_class_loss_options);
    const tg_value scores = classes_last(c, tgi_onnx_in(c, 0));
    const tg_operand weights =
        tgi_onnx_has(c, 2) ? TG_IN(tgi_onnx_in(c, 2)) : TG_IN(scores);
    o.takes_log_probabilities = takes_log_probabilities;
    o.ignores_label = tgi_onnx_attribute(c, "ignore_index");
    o.ignored_label = tgi_onnx_int(c, "ignore_index", 0);
    o.reduction = tgi_onnx_is(c, "reduction", "sum", "mean") ? TG_LOSS_SUM
                  : tgi_onnx_is(c, "reduction", "none", "mean")
                      ? TG_LOSS_NONE
                      : TG_LOSS_MEAN;
    tgi_onnx_out(c, 0,
                 tg_class_loss_at(TG_IN(scores), TG_IN(tgi_onnx_in(c, 1)),
                                  tgi_onnx_has(c, 2) ? &weights : NULL, &o,
                                  c->site));
}

void tgi_onnx_build_nll_loss(const tgi_onnx_call *c)
{
    build_loss(c, true);
}

void tgi_onnx_build_softmax_cross_entropy_loss(const tgi_onnx_call *c)
{
    build_loss(c, false);
    if (tgi_onnx_has_out(c, 1))
        tgi_onnx_out(c, 1,
                     tg_log_softmax_at(TG_IN(tgi_onnx_in(c, 0)), 1, c->site));
}
