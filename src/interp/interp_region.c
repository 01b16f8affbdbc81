/* SPDX-License-Identifier: MIT */
/*
 * interp_region.c - how the interpreter goes through nodes that own graphs.
 * Each is a small machine: asked again and again, it says which graph runs
 * next, until it is done.
 *
 * The values a loop carries lie in the buffers of its results from the first
 * trip on. A body may write its results there, although they are its own
 * parameters: results are written last. Where updates are all it does to them,
 * they happen there at once. What grows is handed on as the stack it is.
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

static bool is_stack(const tgi_instance *instance, const tgi_node *node,
                     size_t i)
{
    return tgi_shape_is_unbounded(
        tgi_graph_shape(instance->graph, node->inputs[i]));
}

static int64_t number_of(const tgi_instance *instance, const tgi_node *node)
{
    int64_t number;
    memcpy(&number, input_view(instance, node, 0)->data, sizeof(number));
    return number;
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

static void run(tgi_instance *instance, const tgi_interp_call *call,
                size_t region, void *const *results, tgi_instance **out_next)
{
    *out_next = call->regions[region];
    tgi_instance_begin(*out_next, instance, call->params_data, results);
}

/* A callee, or the branch that input 0 chooses. */
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
    call->number = node->op == TGI_OP_CALL ? 0 : number_of(instance, node);
    if (call->number >= n)
        call->number = n - 1;
    if (call->number < 0)
        call->number = 0;
    call->stage = TGI_STAGE_RUN;
    run(instance, call, (size_t)call->number, call->results_data, out_next);
}

static void begin_loop(tgi_instance *instance, const tgi_node *node,
                       tgi_interp_call *call)
{
    const tgi_attr_regions *attr = node->attr;
    call->number = 0;
    call->params_data[0] = &call->number;
    for (uint32_t i = 1; i < node->n_inputs; i++) {
        if (i > attr->n_carried || is_stack(instance, node, i)) {
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
    const int64_t trips = number_of(instance, node);
    if (call->stage == TGI_STAGE_BEGIN)
        begin_loop(instance, node, call);
    if (call->stage == TGI_STAGE_RUN)
        call->number++;
    if (call->stage != TGI_STAGE_TESTED) {
        if (call->number >= trips && !is_limited)
            goto done;
        if (attr->n_graphs > 1) {
            call->stage = TGI_STAGE_TESTED;
            call->results_data[attr->n_carried] = &call->goes_on;
            run(instance, call, 1, &call->results_data[attr->n_carried],
                out_next);
            return TG_OK;
        }
    } else if (!call->goes_on) {
        goto done;
    }
    if (call->number >= trips)
        return tgi_loop_limit_fail(node, trips);
    call->stage = TGI_STAGE_RUN;
    run(instance, call, 0, call->results_data, out_next);
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
