/* SPDX-License-Identifier: MIT */
/*
 * gradient_conv.c - gradient rules of WINDOW and CONV. Both gradients of a
 * convolution are convolutions:
 *
 *   operand  the gradient, with gaps of the stride and padded, by the reversed
 *            filters
 *   filters  the operand, by the gradient; examples are a spatial axis, channels
 *            are examples, stride and dilation change places
 */
#include <string.h>

#include "gradient/gradient_primitives.h"

/* (n - 1) * step, where n is at least 1. */
static tgi_dim span(tgi_dims *table, tgi_dim n, int64_t step)
{
    return tgi_dim_mul(table, tgi_dim_sub(table, n, 1), step);
}

/* The extent that `count` windows cover. */
static tgi_dim covered_by(tgi_dims *table, tgi_dim count, int64_t stride,
                          tgi_dim size, int64_t dilation)
{
    const tgi_dim starts = span(table, count, stride);
    const tgi_dim window = span(table, size, dilation);
    return tgi_dim_add(table, tgi_dim_add(table, starts, window), 1);
}

/* What is left of an axis after the last of `count` windows. */
static tgi_dim rest_after_windows(tgi_dims *table, tgi_dim extent,
                                  tgi_dim count, int64_t stride, tgi_dim size,
                                  int64_t dilation)
{
    const tgi_dim used = covered_by(table, count, stride, size, dilation);
    return tgi_dim_sub(table, extent, used);
}

/* -- Windows --------------------------------------------------------------- */

/* An axis of windows, whose elements are the last axis of the gradient. */
typedef struct windows {
    int axis;
    tgi_dim extent; /* of the axis of the operand */
    tgi_dim size;
    int64_t stride, dilation;
} windows;

/* x with the extents of axis `axis`, and `is_without_last` without its last
   axis. */
static tgi_shape_ref changed_shape(tgi_rule *rule, tgi_ref x, int axis,
                                   tgi_dim extent, bool is_without_last)
{
    const tgi_shape *shape = tgi_graph_shape(rule->b->graph, x);
    tgi_dim dims[TG_MAX_RANK];
    memcpy(dims, shape->dims, (size_t)shape->rank * sizeof(dims[0]));
    dims[axis] = extent;
    return tgi_rule_shape_of(rule, shape->rank - is_without_last, dims);
}

/* Windows side by side: each axis is their elements, and what is left. One
   transpose for all axes puts the elements where they belong. */
static tgi_ref fold_adjacent(tgi_rule *rule, tgi_ref g)
{
    tgi_dims *table = rule->b->graph->dims;
    const tgi_attr_window *attr = rule->node->attr;
    const int rank = tgi_rule_shape(rule, 0)->rank;
    tgi_dim dims[TG_MAX_RANK];
    tgi_attr_pad pad = {{0}, {0}, {0}};
    int perm[TG_MAX_RANK], at = 0, elements = rank;
    bool has_rest = false;
    memcpy(dims, tgi_graph_shape(rule->b->graph, g)->dims,
           (size_t)rank * sizeof(dims[0]));
    for (int axis = 0; axis < rank; axis++) {
        perm[at++] = axis;
        if (attr->size[axis] == 0)
            continue;
        perm[at++] = elements++;
        dims[axis] = tgi_dim_mul(table, dims[axis], attr->size[axis]);
        if (tgi_build_dim(rule->b, dims[axis]) == TGI_DIM_NONE)
            return 0;
        pad.high[axis] = tgi_build_dim(
            rule->b, tgi_dim_sub(table, tgi_rule_shape(rule, 0)->dims[axis],
                                 dims[axis]));
        if (pad.high[axis] == TGI_DIM_NONE)
            return 0;
        has_rest |= pad.high[axis] != 0;
    }
    g = tgi_build_transpose(rule->b, g, at, perm);
    const tgi_shape_ref shape = tgi_rule_shape_of(rule, rank, dims);
    g = g && shape ? tgi_rule_reshape(rule, g, shape) : 0;
    return g && has_rest ? tgi_rule_pad(rule, g, K(0), &pad,
                                        tgi_rule_node(rule, 0)->shape)
                         : g;
}

/* Windows that overlap, or have gaps: element e of all windows, at its places
   along the axis, for every e. */
static tgi_ref fold_overlapping(tgi_rule *rule, tgi_ref g, const windows *w)
{
    tgi_dims *table = rule->b->graph->dims;
    if (!tgi_dim_is_known(w->size))
        return tgi_build_fail(rule->b, TG_ERROR_UNSUPPORTED, NULL, 0,
                              "the gradient of overlapping windows of unknown "
                              "size");
    const tgi_dim n = tgi_graph_shape(rule->b->graph, g)->dims[w->axis];
    const int rank = tgi_graph_shape(rule->b->graph, g)->rank;
    const tgi_dim border = span(table, w->size, w->dilation);
    tgi_attr_pad pad = {{0}, {0}, {0}};
    pad.low[w->axis] = border;
    pad.high[w->axis] = tgi_dim_add(
        table, border,
        rest_after_windows(table, w->extent, n, w->stride, w->size,
                           w->dilation));
    pad.interior[w->axis] = w->stride - 1;
    if (tgi_build_dim(rule->b, pad.high[w->axis]) == TGI_DIM_NONE)
        return 0;
    const tgi_shape_ref padded = changed_shape(
        rule, g, w->axis, tgi_dim_add(table, w->extent, border), false);
    g = tgi_rule_pad(rule, g, K(0), &pad, padded);
    const tgi_shape_ref result =
        g ? changed_shape(rule, g, w->axis, w->extent, true) : 0;
    tgi_ref sum = 0;
    for (tgi_dim e = 0; g && result && e < w->size; e++) {
        tgi_attr_slice part = {{0}, {0}};
        tgi_dim dims[TG_MAX_RANK];
        memcpy(dims, tgi_graph_shape(rule->b->graph, g)->dims,
               (size_t)rank * sizeof(dims[0]));
        for (int i = 0; i < rank; i++)
            part.step[i] = 1;
        part.start[w->axis] = (w->size - 1 - e) * w->dilation;
        part.start[rank - 1] = e;
        dims[w->axis] = w->extent;
        dims[rank - 1] = 1;
        const tgi_ref term = tgi_rule_reshape(
            rule,
            tgi_rule_slice(rule, g, &part, tgi_rule_shape_of(rule, rank, dims)),
            result);
        sum = e == 0 ? term : ADD(sum, term);
        if (!sum)
            return 0;
    }
    return sum;
}

static tgi_ref gradient_of_windows(tgi_rule *rule)
{
    const tgi_attr_window *attr = rule->node->attr;
    const tgi_shape *input = tgi_rule_shape(rule, 0);
    tgi_ref g = G;
    bool are_adjacent = true;
    for (int axis = 0; axis < input->rank; axis++)
        are_adjacent &= attr->size[axis] == 0 ||
                        (attr->stride[axis] == attr->size[axis] &&
                         attr->dilation[axis] == 1);
    if (are_adjacent)
        return g ? fold_adjacent(rule, g) : 0;
    /* The last axis of windows is the last axis. */
    for (int axis = input->rank - 1; g && axis >= 0; axis--) {
        const windows w = {axis, input->dims[axis], attr->size[axis],
                           attr->stride[axis], attr->dilation[axis]};
        if (w.size != 0)
            g = fold_overlapping(rule, g, &w);
    }
    return g ? tgi_rule_reshape(rule, g, tgi_rule_node(rule, 0)->shape) : 0;
}

RULE(window)
{
    return ADD_GRADIENT(0, gradient_of_windows(rule));
}

/* -- Convolutions ---------------------------------------------------------- */

static tgi_ref build_conv(tgi_rule *rule, tgi_ref x, tgi_ref w,
                          const tgi_attr_conv *attr, tgi_shape_ref shape)
{
    if (!x || !w || !shape)
        return 0;
    return tgi_build_node(rule->b, TGI_OP_CONV,
                          tgi_graph_node(rule->b->graph, x)->dtype, shape,
                          (tgi_ref[]){x, w}, 2, attr, sizeof(*attr));
}

static tgi_ref gradient_of_operand(tgi_rule *rule)
{
    tgi_dims *table = rule->b->graph->dims;
    const tgi_attr_conv *attr = rule->node->attr;
    const tgi_shape *x = tgi_rule_shape(rule, 0), *w = tgi_rule_shape(rule, 1);
    const tgi_shape *y = tgi_graph_shape(rule->graph, rule->ref);
    const int n_batch = (int)attr->n_batch, n_spatial = x->rank - n_batch - 2;
    tgi_attr_pad pad = {{0}, {0}, {0}};
    tgi_attr_conv conv = {.n_batch = n_batch};
    tgi_dim dims[TG_MAX_RANK];
    memcpy(dims, y->dims, (size_t)y->rank * sizeof(dims[0]));
    bool is_padded = false;
    for (int i = 0; i < n_spatial; i++) {
        const int axis = n_batch + 1 + i;
        const tgi_dim size = w->dims[axis - 1];
        const tgi_dim border = span(table, size, attr->dilation[i]);
        pad.low[axis] = border;
        pad.high[axis] = tgi_dim_add(
            table, border,
            rest_after_windows(table, x->dims[axis], y->dims[axis],
                               attr->stride[i], size, attr->dilation[i]));
        pad.interior[axis] = attr->stride[i] - 1;
        dims[axis] = tgi_dim_add(table, x->dims[axis], border);
        conv.stride[i] = 1;
        conv.dilation[i] = attr->dilation[i];
        is_padded |= pad.low[axis] != 0 || pad.high[axis] != 0 ||
                     pad.interior[axis] != 0;
        if (tgi_build_dim(rule->b, pad.high[axis]) == TGI_DIM_NONE)
            return 0;
    }
    tgi_ref g = G;
    if (is_padded) {
        const tgi_shape_ref padded = tgi_rule_shape_of(rule, y->rank, dims);
        g = tgi_rule_pad(rule, g, K(0), &pad, padded);
    }
    return build_conv(rule, g,
                      tgi_build_reversed_filters(rule->b,
                                                 tgi_rule_input(rule, 1),
                                                 n_batch, n_spatial),
                      &conv, tgi_rule_node(rule, 0)->shape);
}

/* The operand without what is left after the last window, as
   [batch …, channel, example, spatial …, 1]. */
static tgi_ref operand_by_channel(tgi_rule *rule, int n_batch, int n_spatial)
{
    tgi_dims *table = rule->b->graph->dims;
    const tgi_attr_conv *attr = rule->node->attr;
    const tgi_shape *w = tgi_rule_shape(rule, 1);
    const tgi_shape *y = tgi_graph_shape(rule->graph, rule->ref);
    tgi_ref x = tgi_rule_input(rule, 0);
    if (!x)
        return 0;
    const int rank = y->rank;
    tgi_attr_slice used = {{0}, {0}};
    tgi_dim dims[TG_MAX_RANK];
    int perm[TG_MAX_RANK];
    memcpy(dims, tgi_graph_shape(rule->b->graph, x)->dims,
           (size_t)rank * sizeof(dims[0]));
    for (int i = 0; i < rank; i++) {
        used.step[i] = 1;
        perm[i] = i < n_batch ? i : i == n_batch ? rank - 1 : i - 1;
    }
    for (int i = 0; i < n_spatial; i++) {
        const int axis = n_batch + 1 + i;
        dims[axis] = covered_by(table, y->dims[axis], attr->stride[i],
                                w->dims[axis - 1], attr->dilation[i]);
    }
    const tgi_shape_ref shape = tgi_rule_shape_of(rule, rank, dims);
    if (!shape)
        return 0;
    if (shape != tgi_graph_node(rule->b->graph, x)->shape)
        x = tgi_rule_slice(rule, x, &used, shape);
    x = x ? tgi_build_transpose(rule->b, x, rank, perm) : 0;
    if (!x)
        return 0;
    memcpy(dims, tgi_graph_shape(rule->b->graph, x)->dims,
           (size_t)rank * sizeof(dims[0]));
    dims[rank] = 1;
    return tgi_rule_reshape(rule, x, tgi_rule_shape_of(rule, rank + 1, dims));
}

static tgi_ref gradient_of_filters(tgi_rule *rule)
{
    const tgi_attr_conv *attr = rule->node->attr;
    const tgi_shape *w = tgi_rule_shape(rule, 1);
    const tgi_shape *y = tgi_graph_shape(rule->graph, rule->ref);
    const int rank = y->rank, n_batch = (int)attr->n_batch;
    const int n_spatial = rank - n_batch - 2;
    if (rank == TG_MAX_RANK)
        return tgi_build_fail(rule->b, TG_ERROR_UNSUPPORTED, NULL, 0,
                              "the gradient of filters has more than %d axes",
                              TG_MAX_RANK);
    tgi_attr_conv conv = {.n_batch = n_batch, .stride = {1}, .dilation = {1}};
    for (int i = 0; i < n_spatial; i++) {
        conv.stride[i + 1] = attr->dilation[i];
        conv.dilation[i + 1] = attr->stride[i];
    }
    const tgi_ref x = operand_by_channel(rule, n_batch, n_spatial);
    /* [batch …, example, spatial …, 1, filter] */
    tgi_dim dims[TG_MAX_RANK];
    memcpy(dims, y->dims, (size_t)rank * sizeof(dims[0]));
    dims[rank - 1] = 1;
    dims[rank] = y->dims[rank - 1];
    const tgi_ref g =
        tgi_rule_reshape(rule, G, tgi_rule_shape_of(rule, rank + 1, dims));
    /* [batch …, channel, 1, spatial …, filter], without the 1 */
    tgi_dim result[TG_MAX_RANK];
    int perm[TG_MAX_RANK];
    for (int i = 0; i < n_batch; i++)
        result[i] = dims[i] = w->dims[i];
    dims[n_batch] = result[n_batch] = w->dims[rank - 2];
    dims[n_batch + 1] = 1;
    for (int i = 0; i < n_spatial; i++)
        dims[n_batch + 2 + i] = result[n_batch + 1 + i] = w->dims[n_batch + i];
    dims[rank] = result[rank - 1] = w->dims[rank - 1];
    tgi_ref filters = build_conv(rule, x, g, &conv,
                                 tgi_rule_shape_of(rule, rank + 1, dims));
    filters = tgi_rule_reshape(rule, filters,
                               tgi_rule_shape_of(rule, rank, result));
    for (int i = 0; i < rank; i++)
        perm[i] = i < n_batch || i == rank - 1       ? i
                  : i < n_batch + n_spatial ? i + 1
                                            : n_batch;
    return filters ? tgi_build_transpose(rule->b, filters, rank, perm) : 0;
}

RULE(conv)
{
    return ADD_GRADIENT(0, gradient_of_operand(rule)) &&
           ADD_GRADIENT(1, gradient_of_filters(rule));
}
