/* SPDX-License-Identifier: MIT */
/*
 * update_pieces.c - dynamic updates as concats. Compiled code makes an update
 * in a copy of its operand, or in place if the operand is dead. If it is alive,
 * and the update replaces most of it, copying only the rest is cheaper.
 */
#include "pass/update_pieces.h"

#include "base/error.h"
#include "runtime/index_check.h"

/* The rest is at most this part of an axis: one eighth. */
enum { MIN_RATIO = 8 };

/* The elements `from` … `to` - 1 of an axis of the operand; 0 on failure. */
static tgi_ref add_rest(tgi_graph *graph, const tgi_node *update, int axis,
                        int64_t from, int64_t to)
{
    const tgi_shape *shape = tgi_graph_shape(graph, update->inputs[0]);
    tgi_attr_slice attr = {{0}, {0}};
    tgi_dim dims[TG_MAX_RANK];
    for (int i = 0; i < shape->rank; i++) {
        attr.start[i] = i == axis ? from : 0;
        attr.step[i] = 1;
        dims[i] = i == axis ? to - from : shape->dims[i];
    }
    tgi_node slice = *update;
    slice.op = TGI_OP_SLICE;
    slice.n_inputs = 1;
    slice.attr = &attr;
    slice.attr_bytes = sizeof(attr);
    slice.shape = tgi_shape_intern(graph->dims, shape->rank, dims);
    return slice.shape ? tgi_graph_add(graph, &slice) : 0;
}

bool tgi_update_pieces(tgi_graph *graph, const tgi_node *node, tgi_ref *out_ref)
{
    const int axis = (int)tgi_node_index(node);
    const tgi_ref update = node->inputs[1], start = node->inputs[2];
    const void *element = tgi_graph_constant(graph, start);
    const tgi_shape *shape = tgi_shape_of(graph->dims, node->shape);
    const int64_t extent = shape->dims[axis];
    const int64_t count = tgi_graph_shape(graph, update)->dims[axis];
    *out_ref = 0;
    if (!element || tgi_shape_is_unbounded(shape) ||
        !tgi_dim_is_known(extent) || !tgi_dim_is_known(count) ||
        count > extent || extent - count > extent / MIN_RATIO)
        return true;
    const int dtype = tgi_graph_node(graph, start)->dtype;
    const int64_t from =
        tgi_clamp_index(tgi_index_reader(dtype)(element), extent - count + 1);
    tgi_ref pieces[3];
    uint32_t n = 0;
    if (from > 0)
        pieces[n++] = add_rest(graph, node, axis, 0, from);
    pieces[n++] = update;
    if (from + count < extent)
        pieces[n++] = add_rest(graph, node, axis, from + count, extent);
    for (uint32_t i = 0; i < n; i++)
        if (!pieces[i])
            return false;
    tgi_node concat = *node;
    concat.op = TGI_OP_CONCAT;
    concat.inputs = pieces;
    concat.n_inputs = n;
    *out_ref = tgi_graph_add(graph, &concat);
    return *out_ref != 0;
}
