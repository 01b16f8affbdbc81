/* SPDX-License-Identifier: MIT */
/*
 * gradient_shape.c - gradient rules of ops that move elements: broadcast,
 * reshape, transpose, slice, pad, concat; and the shape primitives of all
 * rules.
 *
 * Extents may be unknown. A gradient has the same symbolic shape as its value;
 * where two names are equal at run time, a reshape converts one to the other.
 */
#include <string.h>

#include "gradient/gradient_primitives.h"

/* -- Primitives ------------------------------------------------------------ */

tgi_shape_ref tgi_rule_shape_of(tgi_rule *rule, int rank, const tgi_dim *dims)
{
    for (int i = 0; i < rank; i++)
        if (tgi_build_dim(rule->b, dims[i]) == TGI_DIM_NONE)
            return 0;
    return tgi_shape_intern(rule->b->graph->dims, rank, dims);
}

/* A node with the elements of x in another shape. */
static tgi_ref build_view(tgi_rule *rule, tgi_op op, tgi_ref x,
                          tgi_shape_ref shape)
{
    if (!x || !shape)
        return 0;
    const tgi_node *node = tgi_graph_node(rule->b->graph, x);
    if (node->shape == shape)
        return x;
    return tgi_build_node(rule->b, op, node->dtype, shape, &x, 1, NULL, 0);
}

tgi_ref tgi_rule_reshape(tgi_rule *rule, tgi_ref x, tgi_shape_ref shape)
{
    return build_view(rule, TGI_OP_RESHAPE, x, shape);
}

tgi_ref tgi_rule_broadcast(tgi_rule *rule, tgi_ref x, tgi_shape_ref shape)
{
    return build_view(rule, TGI_OP_BROADCAST, x, shape);
}

tgi_ref tgi_rule_slice(tgi_rule *rule, tgi_ref x, const tgi_attr_slice *attr,
                       tgi_shape_ref shape)
{
    if (!x || !shape)
        return 0;
    const int dtype = tgi_graph_node(rule->b->graph, x)->dtype;
    return tgi_build_node(rule->b, TGI_OP_SLICE, dtype, shape, &x, 1, attr,
                          sizeof(*attr));
}

tgi_ref tgi_rule_pad(tgi_rule *rule, tgi_ref x, tgi_ref value,
                     const tgi_attr_pad *attr, tgi_shape_ref shape)
{
    if (!x || !value || !shape)
        return 0;
    const int dtype = tgi_graph_node(rule->b->graph, x)->dtype;
    return tgi_build_node(rule->b, TGI_OP_PAD, dtype, shape,
                          (tgi_ref[]){x, value}, 2, attr, sizeof(*attr));
}

tgi_ref tgi_rule_reduce(tgi_rule *rule, tgi_op op, tgi_ref x, uint64_t mask)
{
    if (!x)
        return 0;
    const tgi_shape *shape = tgi_graph_shape(rule->b->graph, x);
    tg_axes axes = {0};
    for (int i = 0; i < shape->rank; i++)
        if (mask >> i & 1)
            axes.axis[axes.n++] = (int8_t)i;
    return tgi_build_reduce(rule->b, op, x, axes);
}

/* -- Broadcast ------------------------------------------------------------- */

/*
 * Sums x over an axis if `extent`, that of the result, is 1. If the extent is
 * unknown, it is 1 or that of x at run time. The axis is then split into two,
 * one of which has extent 1 in either case, and the sum runs over the second.
 * This gives the bits of a sum over the whole axis, or no rounding if there is
 * nothing to sum.
 */
static tgi_ref sum_broadcast_axis(tgi_rule *rule, tgi_ref x, int axis,
                                  tgi_dim extent)
{
    if (!x)
        return 0;
    tgi_dims *table = rule->b->graph->dims;
    const tgi_shape *shape = tgi_graph_shape(rule->b->graph, x);
    tgi_dim result[TG_MAX_RANK];
    memcpy(result, shape->dims, (size_t)shape->rank * sizeof(result[0]));
    result[axis] = extent;

    uint64_t mask = UINT64_C(1) << axis;
    if (extent != 1) {
        /* Merge the other axes, so that the rank does not exceed the limit. */
        tgi_dim split[] = {
            1, extent, tgi_dim_div(table, shape->dims[axis], extent), 1};
        for (int i = 0; i < shape->rank; i++)
            if (i != axis) {
                tgi_dim *neighbour = &split[i < axis ? 0 : 3];
                *neighbour = tgi_dim_mul(table, *neighbour, shape->dims[i]);
            }
        const bool is_last = axis == shape->rank - 1;
        x = tgi_rule_reshape(rule, x,
                             tgi_rule_shape_of(rule, is_last ? 3 : 4, split));
        mask = 1 << 2;
    }
    const tgi_ref sums = tgi_rule_reduce(rule, TGI_OP_SUM, x, mask);
    return tgi_rule_reshape(rule, sums,
                            tgi_rule_shape_of(rule, shape->rank, result));
}

/*
 * Axes that may have been broadcast from extent 1 are summed one by one, in the
 * same order whether extents are known or not; added axes are summed together.
 */
tgi_ref tgi_rule_unbroadcast(tgi_rule *rule, tgi_ref x, uint32_t i, int n_equal)
{
    if (!x)
        return 0;
    const tgi_shape *to = tgi_rule_shape(rule, i);
    const tgi_shape *from = tgi_graph_shape(rule->b->graph, x);
    const int added = from->rank - to->rank;
    for (int axis = to->rank - n_equal - 1; axis >= 0; axis--)
        if (from->dims[added + axis] != to->dims[axis])
            x = sum_broadcast_axis(rule, x, added + axis, to->dims[axis]);
    if (added)
        x = tgi_rule_reduce(rule, TGI_OP_SUM, x, (UINT64_C(1) << added) - 1);
    return tgi_rule_reshape(rule, x, tgi_rule_node(rule, i)->shape);
}

RULE(broadcast)
{
    return ADD_GRADIENT(0, tgi_rule_unbroadcast(rule, G, 0, 0));
}

/* -- Permutations ---------------------------------------------------------- */

RULE(reshape)
{
    return ADD_GRADIENT(
        0, tgi_rule_reshape(rule, G, tgi_rule_node(rule, 0)->shape));
}

RULE(transpose)
{
    const tgi_attr_perm *attr = rule->node->attr;
    const int rank = tgi_rule_shape(rule, 0)->rank;
    int inverse[TG_MAX_RANK];
    for (int i = 0; i < rank; i++)
        inverse[attr->perm[i]] = i;
    return ADD_GRADIENT(0, tgi_build_transpose(rule->b, G, rank, inverse));
}

/* -- Parts ----------------------------------------------------------------- */

/* The distance from the first to the last of n elements `step` apart, both
   included; at least 0. */
static tgi_dim strided_length(tgi_dims *table, tgi_dim n, int64_t step)
{
    if (step == 1)
        return n;
    tgi_dim gaps = tgi_dim_sub(table, tgi_dim_max(table, n, 1), 1);
    return tgi_dim_add(table, n, tgi_dim_mul(table, gaps, step - 1));
}

/* The smaller of n and 1, in a form that cancels the max(n, 1) in the start of
   a reversal. */
static tgi_dim at_most_one(tgi_dims *table, tgi_dim n)
{
    return tgi_dim_sub(table, tgi_dim_add(table, n, 1),
                       tgi_dim_max(table, n, 1));
}

/* Pads the gradient with zeros around and between its elements. */
RULE(slice)
{
    tgi_dims *table = rule->b->graph->dims;
    const tgi_attr_slice *attr = rule->node->attr;
    const tgi_shape *input = tgi_rule_shape(rule, 0);
    const tgi_shape *part = tgi_graph_shape(rule->graph, rule->ref);
    tgi_attr_pad pad = {{0}, {0}, {0}};
    tgi_attr_slice reversal = {{0}, {0}};
    bool is_reversed = false, failed = false;
    for (int i = 0; i < input->rank; i++) {
        const bool is_forward = attr->step[i] > 0;
        const int64_t step = is_forward ? attr->step[i] : -attr->step[i];
        const tgi_dim n = part->dims[i];
        const tgi_dim length = strided_length(table, n, step);
        const tgi_dim end =
            tgi_dim_add(table, attr->start[i],
                        is_forward ? length : at_most_one(table, n));
        pad.low[i] = tgi_dim_sub(table, end, length);
        pad.high[i] = tgi_dim_sub(table, input->dims[i], end);
        pad.interior[i] = step - 1;
        reversal.step[i] = is_forward ? 1 : -1;
        reversal.start[i] =
            is_forward ? 0 : tgi_dim_sub(table, tgi_dim_max(table, n, 1), 1);
        is_reversed |= !is_forward;
        failed |= pad.low[i] == TGI_DIM_NONE || pad.high[i] == TGI_DIM_NONE ||
                  reversal.start[i] == TGI_DIM_NONE;
    }
    if (failed)
        return tgi_rule_add(rule, 0, 0);
    tgi_ref g =
        is_reversed ? tgi_rule_slice(rule, G, &reversal, rule->node->shape) : G;
    return ADD_GRADIENT(
        0, tgi_rule_pad(rule, g, K(0), &pad, tgi_rule_node(rule, 0)->shape));
}

/* The sum of the gradient over the padding. */
static tgi_ref gradient_of_padding(tgi_rule *rule)
{
    tgi_builder *b = rule->b;
    const tgi_number numbers[] = {{TGI_NUMBER_UINT, {.u = 0}},
                                  {TGI_NUMBER_UINT, {.u = 1}}};
    tgi_ref false_value = tgi_build_number(b, TG_BOOL, TG_BOOL, numbers[0]);
    tgi_ref true_value = tgi_build_number(b, TG_BOOL, TG_BOOL, numbers[1]);
    false_value =
        tgi_rule_broadcast(rule, false_value, tgi_rule_node(rule, 0)->shape);
    tgi_ref is_padding = tgi_rule_pad(rule, false_value, true_value,
                                      rule->node->attr, rule->node->shape);
    return tgi_build_reduce(b, TGI_OP_SUM, SELECT(is_padding, G, K(0)),
                            (tg_axes){.n = -1});
}

RULE(pad)
{
    const tgi_attr_pad *attr = rule->node->attr;
    tgi_attr_slice inner = {{0}, {0}};
    for (int i = 0; i < tgi_rule_shape(rule, 0)->rank; i++) {
        inner.start[i] = attr->low[i];
        inner.step[i] = attr->interior[i] + 1;
    }
    return ADD_GRADIENT(0, tgi_rule_slice(rule, G, &inner,
                                          tgi_rule_node(rule, 0)->shape)) &&
           ADD_GRADIENT(1, gradient_of_padding(rule));
}

RULE(concat)
{
    const int axis = (int)tgi_node_index(rule->node);
    tgi_attr_slice part = {{0}, {0}};
    for (int i = 0; i < tgi_rule_shape(rule, 0)->rank; i++)
        part.step[i] = 1;
    bool ok = true;
    for (uint32_t i = 0; ok && i < rule->node->n_inputs; i++) {
        const tgi_shape_ref shape =
            part.start[axis] == TGI_DIM_NONE ? 0
                                             : tgi_rule_node(rule, i)->shape;
        ok = ADD_GRADIENT(i, tgi_rule_slice(rule, G, &part, shape));
        part.start[axis] =
            tgi_dim_add(rule->b->graph->dims, part.start[axis],
                        tgi_rule_shape(rule, i)->dims[axis]);
    }
    return ok;
}
