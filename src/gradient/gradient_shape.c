/* SPDX-License-Identifier: MIT */
/*
 * gradient_shape.c - gradient rules of what moves elements: broadcast,
 * reshape, transpose, slice, pad, concat; and the shape words of all rules.
 *
 * Extents may be unknown. A gradient has the very shape of its value, by name:
 * where the call makes two names equal, a reshape turns one into the other.
 */
#include <string.h>

#include "gradient/gradient_primitives.h"

/* -- Words ----------------------------------------------------------------- */

tgi_shape_ref tgi_rule_shape_of(tgi_rule *rule, int rank, const tgi_dim *dims)
{
    for (int i = 0; i < rank; i++)
        if (tgi_build_dim(rule->b, dims[i]) == TGI_DIM_NONE)
            return 0;
    return tgi_shape_intern(rule->b->graph->dims, rank, dims);
}

/* A node that has the elements of x in another shape. */
static tgi_ref view(tgi_rule *rule, tgi_op op, tgi_ref x, tgi_shape_ref shape)
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
    return view(rule, TGI_OP_RESHAPE, x, shape);
}

tgi_ref tgi_rule_broadcast(tgi_rule *rule, tgi_ref x, tgi_shape_ref shape)
{
    return view(rule, TGI_OP_BROADCAST, x, shape);
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
 * x summed over an axis if `extent`, that of the result, is 1. If only the
 * call can tell, it is 1 or that of x: then the axis is two, of which one is 1
 * in any case, and the sum goes over the second. That has the bits of the sum
 * over the whole axis, and none if there is nothing to sum.
 */
static tgi_ref sum_axis(tgi_rule *rule, tgi_ref x, int axis, tgi_dim extent)
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
        /* Other axes are put together, lest the rank becomes too high. */
        tgi_dim split[] = {
            1, extent, tgi_dim_div(table, shape->dims[axis], extent), 1};
        for (int i = 0; i < shape->rank; i++)
            if (i != axis) {
                tgi_dim *beside = &split[i < axis ? 0 : 3];
                *beside = tgi_dim_mul(table, *beside, shape->dims[i]);
            }
        const bool is_last = axis == shape->rank - 1;
        x = tgi_rule_reshape(rule, x,
                             tgi_rule_shape_of(rule, is_last ? 3 : 4, split));
        mask = 1 << 2;
    }
    return tgi_rule_reshape(rule, tgi_rule_reduce(rule, TGI_OP_SUM, x, mask),
                            tgi_rule_shape_of(rule, shape->rank, result));
}

/*
 * Axes of one that may or may not have been broadcast are summed one by one,
 * in the same order whether it is known or not; new ones all together.
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
            x = sum_axis(rule, x, added + axis, to->dims[axis]);
    if (added)
        x = tgi_rule_reduce(rule, TGI_OP_SUM, x, (UINT64_C(1) << added) - 1);
    return tgi_rule_reshape(rule, x, tgi_rule_node(rule, i)->shape);
}

RULE(broadcast)
{
    return PART(0, tgi_rule_unbroadcast(rule, G, 0, 0));
}

/* -- The same elements in another order ------------------------------------ */

RULE(reshape)
{
    return PART(0, tgi_rule_reshape(rule, G, tgi_rule_node(rule, 0)->shape));
}

RULE(transpose)
{
    const tgi_attr_perm *attr = rule->node->attr;
    const int rank = tgi_rule_shape(rule, 0)->rank;
    int back[TG_MAX_RANK];
    for (int i = 0; i < rank; i++)
        back[attr->perm[i]] = i;
    return PART(0, tgi_build_transpose(rule->b, G, rank, back));
}

/* -- Parts ----------------------------------------------------------------- */

/* From the first to the last of n elements, one of every `step`; at least 0. */
static tgi_dim span(tgi_dims *table, tgi_dim n, int64_t step)
{
    if (step == 1)
        return n;
    tgi_dim gaps = tgi_dim_sub(table, tgi_dim_max(table, n, 1), 1);
    return tgi_dim_add(table, n, tgi_dim_mul(table, gaps, step - 1));
}

/* Back to their places, with zeros around and between. */
RULE(slice)
{
    tgi_dims *table = rule->b->graph->dims;
    const tgi_attr_slice *attr = rule->node->attr;
    const tgi_shape *whole = tgi_rule_shape(rule, 0);
    const tgi_shape *part = tgi_graph_shape(rule->graph, rule->ref);
    tgi_attr_pad pad = {{0}, {0}, {0}};
    tgi_attr_slice turn = {{0}, {0}};
    bool turns = false, failed = false;
    for (int i = 0; i < whole->rank; i++) {
        const bool is_up = attr->step[i] > 0;
        const int64_t step = is_up ? attr->step[i] : -attr->step[i];
        const tgi_dim n = part->dims[i];
        const tgi_dim length = span(table, n, step);
        const tgi_dim end = tgi_dim_add(table, attr->start[i],
                                        is_up ? length : 1);
        pad.low[i] = tgi_dim_sub(table, end, length);
        pad.high[i] = tgi_dim_sub(table, whole->dims[i], end);
        pad.interior[i] = step - 1;
        turn.step[i] = is_up ? 1 : -1;
        turn.start[i] = is_up || n == 0 ? 0 : tgi_dim_sub(table, n, 1);
        turns |= !is_up;
        failed |= pad.low[i] == TGI_DIM_NONE || pad.high[i] == TGI_DIM_NONE ||
                  turn.start[i] == TGI_DIM_NONE;
    }
    if (failed)
        return tgi_rule_add(rule, 0, 0);
    tgi_ref g = turns ? tgi_rule_slice(rule, G, &turn, rule->node->shape) : G;
    return PART(0, tgi_rule_pad(rule, g, K(0), &pad,
                                tgi_rule_node(rule, 0)->shape));
}

/* The sum of what stands where the padding is. */
static tgi_ref padding_gradient(tgi_rule *rule)
{
    tgi_builder *b = rule->b;
    const tgi_number numbers[] = {{TGI_NUMBER_UINT, {.u = 0}},
                                  {TGI_NUMBER_UINT, {.u = 1}}};
    tgi_ref no = tgi_build_number(b, TG_BOOL, TG_BOOL, numbers[0]);
    tgi_ref yes = tgi_build_number(b, TG_BOOL, TG_BOOL, numbers[1]);
    no = tgi_rule_broadcast(rule, no, tgi_rule_node(rule, 0)->shape);
    tgi_ref is_padding =
        tgi_rule_pad(rule, no, yes, rule->node->attr, rule->node->shape);
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
    return PART(0, tgi_rule_slice(rule, G, &inner,
                                  tgi_rule_node(rule, 0)->shape)) &&
           PART(1, padding_gradient(rule));
}

RULE(concat)
{
    const int axis = (int)((const tgi_attr_index *)rule->node->attr)->index;
    tgi_attr_slice part = {{0}, {0}};
    for (int i = 0; i < tgi_rule_shape(rule, 0)->rank; i++)
        part.step[i] = 1;
    bool ok = true;
    for (uint32_t i = 0; ok && i < rule->node->n_inputs; i++) {
        const tgi_shape_ref shape =
            part.start[axis] == TGI_DIM_NONE ? 0
                                             : tgi_rule_node(rule, i)->shape;
        ok = PART(i, tgi_rule_slice(rule, G, &part, shape));
        part.start[axis] =
            tgi_dim_add(rule->b->graph->dims, part.start[axis],
                        tgi_rule_shape(rule, i)->dims[axis]);
    }
    return ok;
}
