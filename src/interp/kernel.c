/* SPDX-License-Identifier: MIT */
/*
 * kernel.c - selects the kernel of a node.
 */
#include "interp/kernel.h"

tgi_kernel *tgi_kernel_of(const tgi_graph *graph, const tgi_node *node)
{
    int in[2] = {TG_DTYPE_NONE, TG_DTYPE_NONE};
    for (uint32_t i = 0; i < node->n_inputs && i < 2; i++)
        in[i] = tgi_graph_node(graph, node->inputs[i])->dtype;

    switch ((tgi_op_class)tgi_op_table[node->op].cls) {
    case TGI_OPCLASS_UNARY:
    case TGI_OPCLASS_BINARY:
    case TGI_OPCLASS_TERNARY:
        return tgi_kernel_elementwise(node->op, in[0], node->dtype);
    case TGI_OPCLASS_CAST:
        return tgi_kernel_cast(node->op, in[0], node->dtype);
    case TGI_OPCLASS_LEAF:
    case TGI_OPCLASS_INDEX:
        return tgi_kernel_index(node->op, node->dtype, in[1]);
    case TGI_OPCLASS_REDUCE:
        return tgi_kernel_reduce(node->op, in[0]);
    case TGI_OPCLASS_MATMUL:
        return tgi_kernel_matmul(node->dtype);
    case TGI_OPCLASS_SCAN:
        return tgi_kernel_scan(node->dtype);
    case TGI_OPCLASS_CONV:
        return tgi_kernel_conv(node->dtype);
    case TGI_OPCLASS_RANDOM:
        return tgi_kernel_random(node->dtype);
    case TGI_OPCLASS_VIEW:
    case TGI_OPCLASS_STATE:
    case TGI_OPCLASS_EFFECT:
    case TGI_OPCLASS_REGION:
        return NULL;
    }
    return NULL;
}
