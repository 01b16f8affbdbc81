/* SPDX-License-Identifier: MIT */
/*
 * interp_updates.c - in-place updates of carried values. In a loop body, a
 * carried parameter occupies the buffer that its next value goes to. If the
 * next value is a chain of updates and scatters, each the last use of its
 * operand, they write to that buffer directly, and an iteration costs only the
 * elements it changes. Decided after the first sweep, which finds the live
 * ranges of buffers.
 */
#include "interp/interp_instance.h"

static bool is_update(const tgi_node *node)
{
    return node->op == TGI_OP_DYNAMIC_UPDATE || node->op == TGI_OP_SCATTER;
}

static bool is_param(const tgi_node *node, size_t number)
{
    return node->op == TGI_OP_PARAM && tgi_node_index(node) == (int64_t)number;
}

static tgi_buffer *buffer_of_value(const tgi_instance *instance, tgi_ref ref)
{
    return &instance->buffers.data[instance->values[ref].buffer];
}

/* True if the update is the last use of its operand, and its other inputs do
   not read the operand's buffer. */
static bool is_last_use(const tgi_instance *instance, tgi_ref ref,
                        const tgi_node *node)
{
    const tgi_buffer *old = buffer_of_value(instance, node->inputs[0]);
    for (uint32_t i = 1; i < node->n_inputs; i++)
        if (buffer_of_value(instance, node->inputs[i]) == old)
            return false;
    return old->last == ref;
}

/* Makes the updates of carried value k write to its buffer, if legal. */
static void place_updates(const tgi_instance *instance, uint32_t k)
{
    const tgi_graph *graph = instance->graph;
    tgi_ref ref = graph->results.data[k];
    const tgi_node *node = tgi_graph_node(graph, ref);
    while (is_update(node) && is_last_use(instance, ref, node)) {
        ref = node->inputs[0];
        node = tgi_graph_node(graph, ref);
    }
    if (!is_param(node, (size_t)k + 1))
        return;
    const tgi_ref param = ref;
    for (ref = graph->results.data[k]; ref != param;
         ref = tgi_graph_node(graph, ref)->inputs[0]) {
        buffer_of_value(instance, ref)->storage = TGI_STORAGE_PARAM;
        buffer_of_value(instance, ref)->param = k + 1;
    }
}

void tgi_instance_update_in_place(const tgi_instance *instance)
{
    for (uint32_t k = 0; k < instance->n_carried; k++)
        place_updates(instance, k);
}

bool tgi_instance_result_is_in_place(const tgi_instance *instance,
                                     size_t result)
{
    const tgi_ref ref = instance->graph->results.data[result];
    const tgi_node *node = tgi_graph_node(instance->graph, ref);
    const tgi_buffer *buffer = buffer_of_value(instance, ref);
    return (int64_t)result < instance->n_carried &&
           (is_param(node, result + 1) ||
            (is_update(node) && buffer->storage == TGI_STORAGE_PARAM &&
             buffer->param == result + 1));
}
