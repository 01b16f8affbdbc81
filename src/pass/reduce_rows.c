/* SPDX-License-Identifier: MIT */
/*
 * reduce_rows.c - finds reductions that are better done row by row:
 *
 *     max(|slice(x) - y|, axes 0 and 1) = max(max(|slice(x) - y|, axis 1))
 *
 * A kernel reduces along one axis. Several axes are one if all that it reads
 * has them contiguous; else the operand is stored, and read again. After this
 * rewrite, the kernel that computes the operand reduces each row, beside what
 * else it stores, and a second one reduces a number per row.
 */
#include "pass/reduce_rows.h"

enum {
    MIN_ROW = 64,       /* elements; each row has a horizontal reduction */
    MIN_REPEATED_ROW = 256, /* of all pairs: little work for each element */
    MIN_ELEMENTS = 513, /* less is straight-line code, which stores nothing */
    MAX_NODES = 64,     /* of an expression */
    MAX_DEPTH = 32
};

/* The expression that is reduced over axes first … rank - 1. */
typedef struct expression {
    const tgi_graph *graph;
    int first;
    int n_left; /* nodes that may still be visited */
} expression;

/* True if the result does not depend on the order of elements. */
static bool is_reassociable(const tgi_graph *graph, const tgi_node *node)
{
    return node->op == TGI_OP_REDUCE_MAX || node->op == TGI_OP_REDUCE_MIN ||
           (!tgi_dtype_is(node->dtype, TGI_CLASS_FLOAT) &&
            tgi_graph_node(graph, node->inputs[0])->dtype == node->dtype);
}

/* A slice of an axis below the first one leaves gaps between rows. */
static bool slice_has_gaps(const expression *e, const tgi_node *slice)
{
    const tgi_attr_slice *attr = slice->attr;
    const tgi_shape *to = tgi_shape_of(e->graph->dims, slice->shape);
    const tgi_shape *from = tgi_graph_shape(e->graph, slice->inputs[0]);
    bool has_gaps = false;
    for (int axis = 0; axis < to->rank; axis++) {
        if (attr->step[axis] != 1)
            return false;
        has_gaps |= axis > e->first && to->dims[axis] != from->dims[axis];
    }
    return has_gaps;
}

/* A broadcast along some of the axes, not all of them, repeats elements. */
static bool repeats_some(const expression *e, const tgi_node *broadcast)
{
    const tgi_shape *to = tgi_shape_of(e->graph->dims, broadcast->shape);
    const tgi_shape *from = tgi_graph_shape(e->graph, broadcast->inputs[0]);
    bool repeats = false, moves = false;
    for (int axis = e->first; axis < to->rank; axis++) {
        const int at = axis - (to->rank - from->rank);
        const bool is_one = at < 0 || from->dims[at] == 1;
        repeats |= is_one && to->dims[axis] != 1;
        moves |= !is_one;
    }
    return repeats && moves && to->dims[to->rank - 1] >= MIN_REPEATED_ROW;
}

/* True if the axes of an expression are not contiguous in all that it reads. */
static bool is_apart(expression *e, tgi_ref ref, int depth)
{
    const tgi_node *node = tgi_graph_node(e->graph, ref);
    if (depth > MAX_DEPTH || e->n_left-- <= 0)
        return false;
    if (node->op == TGI_OP_SLICE)
        return slice_has_gaps(e, node);
    if (node->op == TGI_OP_BROADCAST)
        return repeats_some(e, node);
    if (!tgi_op_is_elementwise(node->op))
        return false;
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (is_apart(e, node->inputs[i], depth + 1))
            return true;
    return false;
}

/* True if the reduction is over `first` … rank - 1, with long rows, and of many
   elements. */
static bool is_large(const tgi_shape *shape, uint64_t mask, int first)
{
    const int last = shape->rank - 1;
    if (first >= last || !tgi_dim_is_known(shape->dims[last]) ||
        shape->dims[last] < MIN_ROW)
        return false;
    int64_t n = shape->dims[last];
    for (int axis = first; axis < last; axis++) {
        if (!(mask >> axis & 1) || shape->dims[axis] == 0)
            return false;
        n = !tgi_dim_is_known(shape->dims[axis]) ||
                    shape->dims[axis] >= MIN_ELEMENTS || n >= MIN_ELEMENTS
                ? MIN_ELEMENTS
                : n * shape->dims[axis];
    }
    return n >= MIN_ELEMENTS && mask >> last & 1;
}

bool tgi_reduces_by_rows(const tgi_graph *graph, const tgi_node *node)
{
    const uint64_t mask = ((const tgi_attr_axes *)node->attr)->mask;
    const tgi_shape *shape = tgi_graph_shape(graph, node->inputs[0]);
    if (!mask || !is_reassociable(graph, node))
        return false;
    expression e = {.graph = graph, .n_left = MAX_NODES};
    while (!(mask >> e.first & 1) || shape->dims[e.first] == 1) {
        if (e.first == shape->rank - 1)
            return false;
        e.first++;
    }
    return is_large(shape, mask, e.first) && is_apart(&e, node->inputs[0], 0);
}
