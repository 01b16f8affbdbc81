/* SPDX-License-Identifier: MIT */
/*
 * saved_element.c - reads the element of one iteration from values saved for
 * all iterations. Short elementwise expressions over all iterations are
 * recomputed for one.
 */
#include <string.h>

#include "gradient/gradient_tape.h"
#include "recipe/cost_node.h"

tgi_ref tgi_tape_saved_element(tgi_tape *tape, tgi_ref stack, tgi_ref index,
                               tgi_ref like)
{
    const tgi_shape *shape = tgi_graph_shape(tape->b.graph, stack);
    tgi_dim dims[TG_MAX_RANK];
    memcpy(dims, shape->dims, (size_t)shape->rank * sizeof(*dims));
    dims[0] = 1;
    const tgi_ref in[] = {stack, index};
    const tgi_attr_index attr = {0};
    const int dtype = tgi_graph_node(tape->b.graph, stack)->dtype;
    const tgi_shape_ref one =
        like ? tgi_graph_node(tape->graph, like)->shape
             : tgi_shape_intern(tape->b.graph->dims, shape->rank - 1,
                                dims + 1);
    tgi_ref slice = tgi_build_node(
        &tape->b, TGI_OP_DYNAMIC_SLICE, dtype,
        tgi_shape_intern(tape->b.graph->dims, shape->rank, dims), in, 2, &attr,
        sizeof(attr));
    return slice && one ? tgi_build_node(&tape->b, TGI_OP_RESHAPE, dtype, one,
                                         &slice, 1, NULL, 0)
                        : 0;
}

/* True for elementwise arithmetic that takes no longer than a load. */
static bool is_cheap_arithmetic(const tgi_graph *graph, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(graph, ref);
    return tgi_op_is_elementwise(node->op) &&
           tgi_op_table[node->op].result == TGI_RESULT_SAME &&
           node->op != TGI_OP_SELECT &&
           tgi_cost_of_node(graph, ref).half_cycles <= TGI_COST_LOAD;
}

/* The scalar that an operand broadcasts, or 0. */
static tgi_ref broadcast_scalar(const tgi_graph *graph, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(graph, ref);
    while (node->op == TGI_OP_BROADCAST || node->op == TGI_OP_RESHAPE) {
        ref = node->inputs[0];
        node = tgi_graph_node(graph, ref);
    }
    return tgi_graph_shape(graph, ref)->rank == 0 ? ref : 0;
}

tgi_ref tgi_tape_saved_element_of(tgi_tape *tape, tgi_ref outer, tgi_ref like,
                                  int depth)
{
    const tg_trace *from = tape->outer->t;
    const tgi_node *node = tgi_graph_node(from->graph, outer);
    const tgi_shape *shape = tgi_graph_shape(tape->graph, like);
    const tgi_ref scalar = broadcast_scalar(from->graph, outer);
    if (scalar) {
        tgi_ref value = tgi_tape_capture(tape, from, scalar);
        return value ? tgi_build_broadcast(&tape->b, value, shape->rank,
                                           shape->dims)
                     : 0;
    }
    if (depth > 0 && is_cheap_arithmetic(from->graph, outer)) {
        tgi_ref in[3] = {0};
        const uint32_t n = node->n_inputs;
        const tgi_op op = (tgi_op)node->op;
        for (uint32_t i = 0; i < n; i++)
            in[i] = tgi_tape_saved_element_of(tape, node->inputs[i], like,
                                              depth - 1);
        return tgi_build_elementwise(&tape->b, op, in, n);
    }
    const tgi_ref whole = tgi_tape_capture(tape, from, outer);
    return whole ? tgi_tape_saved_element(tape, whole, tape->iteration, like)
                 : 0;
}
