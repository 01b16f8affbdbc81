/* SPDX-License-Identifier: MIT */
/*
 * interp_updates.c - what loops carry and change where it lies. In the body of
 * a loop such a value lies where its next one goes. If that is made by nothing
 * but updates and scatters, each the last to look at what was before, then
 * these happen right there, and a trip costs what it changes. This is decided
 * when a graph is made ready: after its first sweep, when it is known until
 * when each buffer is used.
 */
#include "interp/interp_instance.h"

static bool is_update(const tgi_node *node)
{
    return node->op == TGI_OP_DYNAMIC_UPDATE || node->op == TGI_OP_SCATTER;
}

static bool is_param(const tgi_node *node, size_t number)
{
    return node->op == TGI_OP_PARAM &&
           ((const tgi_attr_index *)node->attr)->index == (int64_t)number;
}

static tgi_buffer *buffer_of(const tgi_instance *instance, tgi_ref ref)
{
    return &instance->buffers.data[instance->values[ref].buffer];
}

/* True if nobody looks at what an update begins with after it, and the update
   takes nothing of it to put elsewhere. */
static bool is_last_look(const tgi_instance *instance, tgi_ref ref,
                         const tgi_node *node)
{
    const tgi_buffer *before = buffer_of(instance, node->inputs[0]);
    for (uint32_t i = 1; i < node->n_inputs; i++)
        if (buffer_of(instance, node->inputs[i]) == before)
            return false;
    return before->last == ref;
}

/* Lets the updates of carried value k happen where it lies, if they can. */
static void find_updates(const tgi_instance *instance, uint32_t k)
{
    const tgi_graph *graph = instance->graph;
    tgi_ref ref = graph->results.data[k];
    const tgi_node *node = tgi_graph_node(graph, ref);
    while (is_update(node) && is_last_look(instance, ref, node)) {
        ref = node->inputs[0];
        node = tgi_graph_node(graph, ref);
    }
    if (!is_param(node, (size_t)k + 1))
        return;
    const tgi_ref param = ref;
    for (ref = graph->results.data[k]; ref != param;
         ref = tgi_graph_node(graph, ref)->inputs[0]) {
        buffer_of(instance, ref)->storage = TGI_STORAGE_PARAM;
        buffer_of(instance, ref)->param = k + 1;
    }
}

void tgi_instance_update_in_place(const tgi_instance *instance)
{
    for (uint32_t k = 0; k < instance->n_carried; k++)
        find_updates(instance, k);
}

bool tgi_instance_result_is_in_place(const tgi_instance *instance,
                                     size_t result)
{
    const tgi_ref ref = instance->graph->results.data[result];
    const tgi_node *node = tgi_graph_node(instance->graph, ref);
    const tgi_buffer *buffer = buffer_of(instance, ref);
    return (int64_t)result < instance->n_carried &&
           (is_param(node, result + 1) ||
            (is_update(node) && buffer->storage == TGI_STORAGE_PARAM &&
             buffer->param == result + 1));
}
