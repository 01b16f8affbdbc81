/* SPDX-License-Identifier: MIT */
/*
 * interp_region.c - executes nodes that own graphs. Each is a small state
 * machine: every call of tgi_instance_advance names the graph to run next,
 * until the node is done.
 *
 * Carried values of a loop live in the buffers of its results from the first
 * iteration on. A body may write its results there although they are its
 * parameters, because results are written last. Values that are only updated
 * are updated there in place. Unbounded values are passed on as the address of
 * their stack.
 */
#include <string.h>

#include "base/error.h"
#include "interp/interp.h"
#include "interp/interp_instance.h"

static const tgi_view *input_view(const tgi_instance *instance,
                                  const tgi_node *node, size_t i)
{
    return &instance->values[node->inputs[i]].view;
}

static int64_t read_input_0(const tgi_instance *instance, const tgi_node *node)
{
    int64_t counter;
    memcpy(&counter, input_view(instance, node, 0)->data, sizeof(counter));
    return counter;
}

void tgi_instance_bind_input(const tgi_instance *instance, const tgi_node *node,
                             const tgi_interp_call *call, size_t i)
{
    const tgi_view *view = input_view(instance, node, i);
    call->params_data[i] = view->data;
    if (call->stacks && call->stacks[i])
        call->params_data[i] = instance->buffers.data[call->stacks[i]].data;
    if (call->copies[i]) {
        call->params_data[i] = instance->buffers.data[call->copies[i]].data;
        tgi_view_copy_dense(view, call->params_data[i]);
    }
}

static void begin_region(tgi_instance *instance, const tgi_interp_call *call,
                         size_t region, void *const *results,
                         tgi_instance **out_next)
{
    *out_next = call->regions[region];
    tgi_instance_begin(*out_next, instance, call->params_data, results);
}

/* Runs a callee, or the branch that input 0 selects (clamped). */
static void advance_branch(tgi_instance *instance, const tgi_node *node,
                           tgi_interp_call *call, tgi_instance **out_next)
{
    const int64_t n = (int64_t)tgi_node_regions(node).n;
    if (call->stage == TGI_STAGE_RUN) {
        call->stage = TGI_STAGE_BEGIN;
        return;
    }
    for (uint32_t i = 0; i < node->n_inputs; i++)
        tgi_instance_bind_input(instance, node, call, i);
    call->counter = node->op == TGI_OP_CALL ? 0 : read_input_0(instance, node);
    if (call->counter >= n)
        call->counter = n - 1;
    if (call->counter < 0)
        call->counter = 0;
    call->stage = TGI_STAGE_RUN;
    begin_region(instance, call, (size_t)call->counter, call->results_data,
                 out_next);
}

static void begin_loop(tgi_instance *instance, const tgi_node *node,
                       tgi_interp_call *call)
{
    const tgi_attr_regions *attr = node->attr;
    call->counter = 0;
    call->params_data[0] = &call->counter;
    for (uint32_t i = 1; i < node->n_inputs; i++) {
        if (i > attr->n_carried ||
            tgi_graph_is_unbounded(instance->graph, node->inputs[i])) {
            tgi_instance_bind_input(instance, node, call, i);
            continue;
        }
        call->params_data[i] = call->results_data[i - 1];
        if (tgi_graph_node(instance->graph, node->inputs[i])->op !=
            TGI_OP_UNSET)
            tgi_view_copy_dense(input_view(instance, node, i),
                                call->params_data[i]);
    }
}

static tg_status advance_loop(tgi_instance *instance, const tgi_node *node,
                              tgi_interp_call *call, tgi_instance **out_next)
{
    const tgi_attr_regions *attr = node->attr;
    const bool is_limited = attr->flags & TGI_LOOP_LIMITED;
    const int64_t n_iterations = read_input_0(instance, node);
    if (call->stage == TGI_STAGE_BEGIN)
        begin_loop(instance, node, call);
    if (call->stage == TGI_STAGE_RUN)
        call->counter++;
    if (call->stage != TGI_STAGE_TESTED) {
        if (call->counter >= n_iterations && !is_limited)
            goto done;
        if (attr->n_graphs > 1) {
            call->stage = TGI_STAGE_TESTED;
            call->results_data[attr->n_carried] = &call->condition;
            begin_region(instance, call, 1,
                         &call->results_data[attr->n_carried], out_next);
            return TG_OK;
        }
    } else if (!call->condition) {
        goto done;
    }
    if (call->counter >= n_iterations)
        return tgi_loop_limit_fail(node, n_iterations);
    call->stage = TGI_STAGE_RUN;
    begin_region(instance, call, 0, call->results_data, out_next);
    return TG_OK;

done:
    call->stage = TGI_STAGE_BEGIN;
    return TG_OK;
}

tg_status tgi_instance_advance(tgi_instance *instance, tgi_ref ref,
                               tgi_instance **out_next)
{
    const tgi_node *node = tgi_graph_node(instance->graph, ref);
    tgi_interp_call *call =
        &instance->calls.data[instance->values[ref].call];
    if (node->op == TGI_OP_LOOP)
        return advance_loop(instance, node, call, out_next);
    advance_branch(instance, node, call, out_next);
    return TG_OK;
}
