/* SPDX-License-Identifier: MIT */
/*
 * gradient_scan.c - the gradient rule of LINEAR_SCAN, h[i] = a[i] * h[i-1] +
 * b[i]: the gradient of b is a scan from the end, r[i] = a[i+1] * r[i+1] +
 * g[i]; that of a[i] is r[i] * h[i-1].
 */
#include "gradient/gradient_primitives.h"

/* x moved by one along an axis, towards the end or the start; `number` takes
   the free place. */
static tgi_ref move_by_one(tgi_rule *rule, tgi_ref x, int axis, bool is_to_end,
                           int number)
{
    if (!x)
        return 0;
    tgi_dims *table = rule->b->graph->dims;
    const tgi_node *node = tgi_graph_node(rule->b->graph, x);
    const tgi_shape *shape = tgi_graph_shape(rule->b->graph, x);
    tgi_attr_pad pad = {{0}, {0}, {0}};
    tgi_attr_slice kept = {{0}, {0}};
    tgi_dim dims[TG_MAX_RANK];
    for (int i = 0; i < shape->rank; i++) {
        dims[i] = shape->dims[i];
        kept.step[i] = 1;
    }
    dims[axis] = tgi_dim_add(table, dims[axis], 1);
    *(is_to_end ? &pad.low[axis] : &pad.high[axis]) = 1;
    kept.start[axis] = !is_to_end;
    const tgi_shape_ref of_x = node->shape;
    const tgi_shape_ref padded = tgi_rule_shape_of(rule, shape->rank, dims);
    return tgi_rule_slice(
        rule, tgi_rule_pad(rule, x, K(number), &pad, padded), &kept, of_x);
}

RULE(linear_scan)
{
    const tgi_attr_scan *attr = rule->node->attr;
    const int axis = (int)attr->axis;
    tgi_ref next = move_by_one(rule, A, axis, false, 0);
    next = tgi_build_reverse(rule->b, next, axis);
    const tgi_ref g = tgi_build_reverse(rule->b, G, axis);
    const tgi_ref r = tgi_build_reverse(
        rule->b, tgi_build_linear_scan(rule->b, next, g, axis, false), axis);
    return r &&
           ADD_GRADIENT(0, MUL(r, move_by_one(rule, Y, axis, true,
                                              attr->starts_at_one))) &&
           ADD_GRADIENT(1, r);
}
