/* SPDX-License-Identifier: MIT */
/*
 * cost_node.c - see cost_node.h.
 */
#include "recipe/cost_node.h"

static bool is_broadcast_scalar(const tgi_graph *graph, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(graph, ref);
    return node->op == TGI_OP_BROADCAST &&
           tgi_graph_shape(graph, node->inputs[0])->rank == 0;
}

static tgi_cost cost_of_elementwise(const tgi_graph *graph,
                                    const tgi_node *node)
{
    const tgi_ref typed = node->inputs[node->op == TGI_OP_SELECT];
    const tg_dtype dtype = (tg_dtype)tgi_graph_node(graph, typed)->dtype;
    if (tgi_op_table[node->op].cls == TGI_OPCLASS_CAST)
        return tgi_cost_of_cast(node->op, dtype, (tg_dtype)node->dtype,
                                TGI_COST_ASSUMED);
    unsigned uniform = 0;
    for (uint32_t i = 0; i < node->n_inputs; i++)
        uniform |= is_broadcast_scalar(graph, node->inputs[i]) ? 1u << i : 0;
    return tgi_cost_of_op(node->op, dtype, uniform, TGI_COST_ASSUMED);
}

tgi_cost tgi_cost_of_node(const tgi_graph *graph, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(graph, ref);
    if (tgi_op_is_elementwise(node->op))
        return cost_of_elementwise(graph, node);
    if (node->op == TGI_OP_RANDOM_BITS)
        return tgi_cost_of_random((tg_dtype)node->dtype, TGI_COST_ASSUMED);
    if (node->op == TGI_OP_GATHER)
        return tgi_cost_of_simple(TGI_COST_POSITION + TGI_COST_STRIDED_LOAD);
    return (tgi_cost){0};
}
