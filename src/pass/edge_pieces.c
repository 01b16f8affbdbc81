/* SPDX-License-Identifier: MIT */
/*
 * edge_pieces.c - gathers that repeat the edges of an axis, as concats. The
 * operand of a gather must be in memory; the pieces of a concat are stored
 * where they belong, and expressions over it are distributed
 * (pass_distribute.c).
 */
#include "pass/edge_pieces.h"

#include "base/error.h"
#include "tgjit/ops.h"

/* The value of a scalar that is an extent; false for other nodes. */
static bool known_extent(const tgi_graph *graph, tgi_ref ref, int64_t *out)
{
    const tgi_node *node = tgi_graph_node(graph, ref);
    while (node->op == TGI_OP_BROADCAST)
        node = tgi_graph_node(graph, node->inputs[0]);
    if (node->op != TGI_OP_EXTENT || !tgi_dim_is_known(tgi_node_index(node)))
        return false;
    *out = tgi_node_index(node);
    return true;
}

/* True for the indices -low, 1 - low, … of rank 1. */
static bool are_consecutive(const tgi_graph *graph, tgi_ref ref,
                            int64_t *out_low)
{
    const tgi_node *node = tgi_graph_node(graph, ref);
    *out_low = 0;
    if (tgi_shape_of(graph->dims, node->shape)->rank != 1)
        return false;
    if (node->op == TGI_OP_SUB) {
        if (!known_extent(graph, node->inputs[1], out_low))
            return false;
        node = tgi_graph_node(graph, node->inputs[0]);
    }
    return node->op == TGI_OP_IOTA && node->dtype == TG_I64;
}

/* One node of the shape of `like` but for the extent of `axis`. */
static tgi_ref add_like(tgi_graph *graph, const tgi_node *like,
                        const tgi_node *node, int axis, tgi_dim extent)
{
    const tgi_shape *shape = tgi_shape_of(graph->dims, like->shape);
    tgi_dim dims[TG_MAX_RANK];
    for (int i = 0; i < shape->rank; i++)
        dims[i] = i == axis ? extent : shape->dims[i];
    tgi_node added = *node;
    added.shape = tgi_shape_intern(graph->dims, shape->rank, dims);
    return added.shape ? tgi_graph_add(graph, &added) : 0;
}

/* `count` copies of the element at `position` of an axis; 0 on failure. */
static tgi_ref add_edge(tgi_graph *graph, const tgi_node *gather, int axis,
                        int64_t position, int64_t count)
{
    tgi_attr_slice attr = {{0}, {0}};
    for (int i = 0; i < tgi_shape_of(graph->dims, gather->shape)->rank; i++)
        attr.step[i] = 1;
    attr.start[axis] = position;
    tgi_node slice = *gather;
    slice.op = TGI_OP_SLICE;
    slice.n_inputs = 1;
    slice.attr = &attr;
    slice.attr_bytes = sizeof(attr);
    const tgi_ref edge = add_like(graph, gather, &slice, axis, 1);
    if (!edge || count == 1)
        return edge;
    tgi_node broadcast = slice;
    broadcast.op = TGI_OP_BROADCAST;
    broadcast.inputs = &edge;
    broadcast.attr = NULL;
    broadcast.attr_bytes = 0;
    return add_like(graph, gather, &broadcast, axis, count);
}

bool tgi_edge_pieces(tgi_graph *graph, const tgi_node *node, tgi_ref *out_ref)
{
    const tgi_attr_gather *attr = node->attr;
    const int axis = (int)attr->axis;
    const tgi_dim n = tgi_graph_shape(graph, node->inputs[0])->dims[axis];
    const tgi_dim wide = tgi_shape_of(graph->dims, node->shape)->dims[axis];
    int64_t low;
    *out_ref = 0;
    if (attr->mode != TG_GATHER_CLAMP ||
        tgi_shape_is_unbounded(tgi_graph_shape(graph, node->inputs[0])) ||
        !are_consecutive(graph, node->inputs[1], &low) ||
        !tgi_dim_is_known(n) || n < 1 || !tgi_dim_is_known(wide) ||
        wide - n < low)
        return true;
    tgi_ref pieces[3];
    uint32_t n_pieces = 0;
    if (low > 0)
        pieces[n_pieces++] = add_edge(graph, node, axis, 0, low);
    pieces[n_pieces++] = node->inputs[0];
    if (wide - n > low)
        pieces[n_pieces++] =
            add_edge(graph, node, axis, n - 1, wide - n - low);
    for (uint32_t i = 0; i < n_pieces; i++)
        if (!pieces[i])
            return false;
    if (n_pieces == 1) {
        *out_ref = pieces[0];
        return true;
    }
    tgi_node concat = *node;
    concat.op = TGI_OP_CONCAT;
    concat.inputs = pieces;
    concat.n_inputs = n_pieces;
    concat.attr = &(tgi_attr_index){axis};
    concat.attr_bytes = sizeof(tgi_attr_index);
    *out_ref = tgi_graph_add(graph, &concat);
    return *out_ref != 0;
}
