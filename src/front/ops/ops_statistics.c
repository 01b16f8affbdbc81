/* SPDX-License-Identifier: MIT */
/*
 * ops_statistics.c - variance, standard deviation, accuracy and confusion
 * matrix.
 */
#include "tgjit/ops_statistics.h"

#include "front/trace/trace_state.h"

/* -- Spread ---------------------------------------------------------------- */

static tgi_ref build_variance(tgi_builder *b, tgi_ref x, tg_axes axes,
                              int correction)
{
    x = tgi_build_require_float(b, x);
    tgi_ref d =
        tgi_build_2(b, TGI_OP_SUB, x, tgi_build_mean(b, x, tg_keep(axes)));
    tgi_ref square = tgi_build_2(b, TGI_OP_MUL, d, d);
    if (correction == 0)
        return tgi_build_mean(b, square, axes);
    tgi_ref sum = tgi_build_reduce(b, TGI_OP_SUM, square, axes);
    if (!sum)
        return 0;
    tgi_ref n = tgi_build_cast(
        b, tgi_build_extent(b, tgi_build_reduced_count(b, x, axes)),
        tgi_graph_node(b->graph, x)->dtype);
    tgi_ref freedom = tgi_build_2(b, TGI_OP_SUB, n,
                                  tgi_build_number_like(b, sum, correction));
    return tgi_build_2(b, TGI_OP_DIV, sum,
                       tgi_build_2(b, TGI_OP_MAX, freedom,
                                   tgi_build_number_like(b, sum, 0)));
}

tg_value tg_var_at(tg_operand x, tg_axes axes, int correction, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin_wide(&o, "var", site))
        result = build_variance(&o.b, tgi_operation_operand(&o, x), axes,
                                correction);
    return tgi_operation_end(&o, result);
}

tg_value tg_std_at(tg_operand x, tg_axes axes, int correction, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin_wide(&o, "std", site))
        result = tgi_build_1(&o.b, TGI_OP_SQRT,
                             build_variance(&o.b, tgi_operation_operand(&o, x),
                                            axes, correction));
    return tgi_operation_end(&o, result);
}

/* -- Classifiers ----------------------------------------------------------- */

/* The operand as i64 if it has an integer dtype; else 0 and an error. */
static tgi_ref class_operand(tgi_operation *o, tg_operand operand)
{
    tgi_ref x = tgi_operation_operand(o, operand);
    if (x && !tgi_dtype_is(tgi_graph_node(o->t->graph, x)->dtype,
                           TGI_CLASS_INT))
        return tgi_build_fail(&o->b, TG_ERROR_DTYPE, &x, 1,
                              "classes need an integer type");
    return tgi_build_cast(&o->b, x, TG_I64);
}

tg_value tg_accuracy_at(tg_operand scores, tg_operand labels, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "accuracy", site)) {
        tgi_ref x = tgi_operation_operand(&o, scores);
        tgi_ref found = tgi_build_arg_reduce(&o.b, TGI_OP_ARGMAX, x, -1);
        tgi_ref wanted = found ? class_operand(&o, labels) : 0;
        if (tgi_build_same_shape(&o.b, found, wanted,
                                 "the rows of scores and the labels")) {
            tgi_ref is_right = tgi_build_2(&o.b, TGI_OP_EQ, found, wanted);
            result = tgi_build_mean(&o.b,
                                    tgi_build_cast(&o.b, is_right, TG_F32),
                                    (tg_axes){.n = -1});
        }
    }
    return tgi_operation_end(&o, result);
}

/* 0 <= x < n, elementwise. */
static tgi_ref is_class(tgi_builder *b, tgi_ref x, tgi_ref n)
{
    tgi_ref is_non_negative =
        tgi_build_2(b, TGI_OP_LE, tgi_build_number_like(b, x, 0), x);
    return tgi_build_2(b, TGI_OP_AND, is_non_negative,
                       tgi_build_2(b, TGI_OP_LT, x, n));
}

/* Adds 1 at label * n + prediction of a flat matrix; pairs out of range get
   position -1, which the scatter drops. */
static tgi_ref build_confusion_matrix(tgi_builder *b, tgi_ref labels,
                                      tgi_ref predictions, int64_t n_classes)
{
    tgi_dims *table = b->graph->dims;
    if (!tgi_build_same_shape(b, labels, predictions,
                              "labels and predictions"))
        return 0;
    const tgi_dim sides[] = {n_classes, n_classes};
    if (!tgi_build_shape(b, 2, sides))
        return 0;
    const tgi_dim cells = tgi_build_dim(
        b, tgi_dim_mul(table, n_classes, n_classes));
    const tgi_dim pairs = tgi_build_dim(
        b, tgi_dim_product(table, tgi_graph_shape(b->graph, labels)));
    if (cells == TGI_DIM_NONE || pairs == TGI_DIM_NONE)
        return 0;
    tgi_ref n = tgi_build_extent(b, n_classes);
    tgi_ref at = tgi_build_2(b, TGI_OP_ADD,
                             tgi_build_2(b, TGI_OP_MUL, labels, n),
                             predictions);
    tgi_ref is_counted = is_class(b, labels, n);
    is_counted = tgi_build_2(b, TGI_OP_AND, is_counted,
                             is_class(b, predictions, n));
    at = tgi_build_3(b, TGI_OP_SELECT, is_counted, at,
                     tgi_build_number_like(b, at, -1));
    tgi_ref zeros = tgi_build_broadcast(b, tgi_build_number_like(b, at, 0), 1,
                                        &cells);
    tgi_ref ones = tgi_build_broadcast(b, tgi_build_number_like(b, at, 1), 1,
                                       &pairs);
    tgi_ref counts = tgi_build_scatter(
        b, zeros, tgi_build_reshape(b, at, 1, &pairs), ones, 0,
        TG_SCATTER_ADD, TG_SCATTER_DROP);
    return tgi_build_reshape(b, counts, 2, sides);
}

tg_value tg_confusion_matrix_at(tg_operand labels, tg_operand predictions,
                                int64_t n_classes, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "confusion_matrix", site)) {
        tgi_ref rows = class_operand(&o, labels);
        tgi_ref columns = rows ? class_operand(&o, predictions) : 0;
        result = build_confusion_matrix(&o.b, rows, columns, n_classes);
    }
    return tgi_operation_end(&o, result);
}
