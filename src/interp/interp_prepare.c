/* SPDX-License-Identifier: MIT */
/*
 * interp_prepare.c - prepares a graph to run, in three sweeps over the nodes:
 *
 *   forward    gives each node a buffer or a view of another node's; finds the
 *              live ranges of buffers
 *   backward   finds the reads of variables that need a snapshot, because they
 *              are used at or after the next write to the variable; finds the
 *              carried values of loops that are updated in place
 *   forward    creates the steps, after all buffers have been placed
 *
 * Until the real address is known, views point to `origin` plus their offset.
 */
#include "interp/interp_instance.h"

#include <string.h>

#include "base/error.h"
#include "runtime/host.h"

static char origin[TGI_BUFFER_ALIGN];

/* The element that every UNSET value repeats. */
static char unset_element[TGI_BUFFER_ALIGN];

int tgi_instance_dims(const tgi_instance *instance, tgi_ref ref,
                      int64_t *out_dims)
{
    const tgi_shape *shape = tgi_graph_shape(instance->graph, ref);
    for (int axis = 0; axis < shape->rank; axis++)
        out_dims[axis] = tgi_dim_value(shape->dims[axis], instance->extents);
    return shape->rank;
}

/* -- First sweep: values and buffers --------------------------------------- */

/* Adds a buffer that is live from `first`; 0 when out of memory (recorded). */
static uint32_t add_buffer(tgi_instance *instance, tgi_buffer buffer,
                           tgi_ref first)
{
    buffer.first = buffer.last = first;
    if (!tgi_vec_push(&instance->buffers, buffer)) {
        tgi_error_memory();
        return 0;
    }
    return (uint32_t)instance->buffers.n - 1;
}

/* The dense view of a node's value, and its size in bytes. */
static tg_status dense_value(const tgi_instance *instance, tgi_ref ref,
                             tgi_view *out_view, int64_t *out_bytes)
{
    const tgi_node *node = tgi_graph_node(instance->graph, ref);
    int64_t dims[TG_MAX_RANK];
    TGI_TRY(tgi_graph_value_size(instance->graph, ref, instance->extents, dims,
                                 out_bytes));
    tgi_view_init(out_view, origin, (tg_dtype)node->dtype,
                  tgi_graph_shape(instance->graph, ref)->rank, dims);
    return TG_OK;
}

/* Gives a node its own buffer. */
static tg_status give_buffer(tgi_instance *instance, tgi_ref ref,
                             tgi_buffer buffer)
{
    tgi_interp_value *value = &instance->values[ref];
    TGI_TRY(dense_value(instance, ref, &value->view, &buffer.bytes));
    value->buffer = add_buffer(instance, buffer, ref);
    return value->buffer ? TG_OK : TG_ERROR_OUT_OF_MEMORY;
}

/* The instance of a graph that a node owns, for the extents of its inputs.
   A graph that shares its owner's table of extents shares all their values. */
static tgi_instance *get_region_instance(tgi_instance *instance,
                                         tgi_instances *instances,
                                         const tgi_node *node,
                                         size_t region_index)
{
    const tgi_graph *region = tgi_node_regions(node).graphs[region_index];
    const tgi_attr_regions *attr = node->attr;
    const bool is_body = node->op == TGI_OP_LOOP && region_index == 0;
    if (region->dims == instance->graph->dims)
        return tgi_instances_get(instances, region, instance->symbols,
                                 is_body ? attr->n_carried : 0);
    size_t n = tgi_dims_n_symbols(region->dims);
    int64_t *symbols = tgi_alloc((n + 1) * sizeof(*symbols));
    if (!symbols) {
        tgi_error_memory();
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        tgi_symbol symbol = tgi_dims_symbol(region->dims, i);
        tgi_ref argument = node->inputs[symbol.param];
        symbols[i] = instance->values[argument].view.dims[symbol.axis];
    }
    tgi_instance *found = tgi_instances_get(instances, region, symbols, 0);
    tgi_free(symbols);
    return found;
}

/* True for the initial value of a carried value: the loop copies it to the
   buffer of its result. */
static bool is_carried(const tgi_node *node, uint32_t i)
{
    return node->op == TGI_OP_LOOP && i > 0 &&
           i <= ((const tgi_attr_regions *)node->attr)->n_carried;
}

/* Parameters must be dense, so other views are copied for the call. */
static tg_status prepare_copies(tgi_instance *instance, tgi_ref ref,
                                const tgi_node *node, tgi_interp_call *call)
{
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const tgi_view *view = &instance->values[node->inputs[i]].view;
        call->copies[i] = 0;
        if (tgi_view_is_dense(view) || is_carried(node, i) ||
            tgi_graph_is_unbounded(instance->graph, node->inputs[i]))
            continue;
        int64_t bytes =
            tgi_view_count(view) * tgi_dtype_bytes(view->dtype);
        call->copies[i] =
            add_buffer(instance, (tgi_buffer){.bytes = bytes}, ref);
        if (!call->copies[i])
            return TG_ERROR_OUT_OF_MEMORY;
    }
    return TG_OK;
}

/* Adds an unbounded stack as a buffer; 0 when out of memory (recorded). */
static uint32_t add_stack(tgi_instance *instance, int64_t slice_bytes,
                          tgi_ref first)
{
    tgi_stack_group *stack =
        tgi_arena_alloc(&instance->arena, sizeof(*stack) + sizeof(tgi_stack));
    if (!stack || !tgi_vec_push(&instance->stacks, stack)) {
        tgi_error_memory();
        return 0;
    }
    *stack = (tgi_stack_group){.n = 1, .all = (tgi_stack *)(stack + 1)};
    *stack->all = (tgi_stack){.slice_bytes = slice_bytes};
    return add_buffer(instance,
                      (tgi_buffer){.storage = TGI_STORAGE_FIXED,
                                   .data = (char *)(void *)stack},
                      first);
}

/* Creates the stacks that start at a node, one for each unbounded UNSET
   input. */
static tg_status prepare_stacks(tgi_instance *instance, tgi_ref ref,
                                const tgi_node *node, tgi_interp_call *call)
{
    const tgi_graph *graph = instance->graph;
    call->stacks = tgi_arena_alloc(
        &instance->arena, (node->n_inputs + 1) * sizeof(*call->stacks));
    if (!call->stacks)
        return tgi_error_memory();
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        call->stacks[i] = 0;
        if (tgi_graph_node(graph, node->inputs[i])->op != TGI_OP_UNSET ||
            !tgi_graph_is_unbounded(graph, node->inputs[i]))
            continue;
        int64_t dims[TG_MAX_RANK], slice_bytes;
        TGI_TRY(tgi_graph_value_size(graph, node->inputs[i], instance->extents,
                                     dims, &slice_bytes));
        call->stacks[i] = add_stack(instance, slice_bytes, ref);
        if (!call->stacks[i])
            return TG_ERROR_OUT_OF_MEMORY;
    }
    return TG_OK;
}

/* An unbounded result is the stack that was passed to the node. */
static tg_status prepare_unbounded_result(tgi_instance *instance, tgi_ref ref,
                                          const tgi_node *node)
{
    tgi_interp_value *values = instance->values;
    const tgi_node *region = tgi_graph_node(instance->graph, node->inputs[0]);
    const tgi_attr_index *attr = node->attr;
    const int64_t input = tgi_stack_input(region, (size_t)attr->index);
    int64_t bytes;
    if (input < 0)
        TGI_FAIL(TG_ERROR_INTERNAL, TGI_NO_SITE,
                 "unbounded value %%%u of '%s' has no initial stack", ref,
                 instance->graph->name);
    const uint32_t stack_buffer =
        instance->calls.data[values[node->inputs[0]].call].stacks[input];
    values[ref] = values[region->inputs[input]];
    if (!stack_buffer)
        return TG_OK;
    values[ref].buffer = stack_buffer;
    return dense_value(instance, ref, &values[ref].view, &bytes);
}

static tg_status prepare_region(tgi_instance *instance,
                                tgi_instances *instances, tgi_ref ref,
                                const tgi_node *node)
{
    const tgi_regions regions = tgi_node_regions(node);
    const size_t n_results = tgi_node_n_results(node);
    tgi_arena *arena = &instance->arena;
    tgi_interp_call call = {
        .n_results = n_results,
        .n_regions = regions.n,
        .regions = tgi_arena_alloc(arena, regions.n * sizeof(*call.regions)),
        .copies = tgi_arena_alloc(arena, node->n_inputs * sizeof(*call.copies)),
        .params_data = tgi_arena_alloc(arena, node->n_inputs * sizeof(void *)),
        /* One more, for the test of a loop. */
        .results_data =
            tgi_arena_alloc(arena, (n_results + 1) * sizeof(void *))};
    if (!call.regions || !call.copies || !call.params_data ||
        !call.results_data)
        return tgi_error_memory();
    for (size_t i = 0; i < regions.n; i++) {
        if (!(call.regions[i] =
                  get_region_instance(instance, instances, node, i)))
            return tg_error_last()->status;
        call.regions[i]->n_calls++;
    }
    if (!(call.region_memory = add_buffer(instance, (tgi_buffer){0}, ref)))
        return TG_ERROR_OUT_OF_MEMORY;

    TGI_TRY(prepare_copies(instance, ref, node, &call));
    call.results = (uint32_t)instance->buffers.n;
    for (size_t i = 0; i < n_results; i++) {
        tgi_view view;
        tgi_buffer buffer = {0};
        TGI_TRY(dense_value(call.regions[0],
                            regions.graphs[0]->results.data[i], &view,
                            &buffer.bytes));
        if (view.rank > 0 && view.dims[0] == TGI_UNBOUNDED)
            buffer = (tgi_buffer){.storage = TGI_STORAGE_FIXED};
        if (!add_buffer(instance, buffer, ref))
            return TG_ERROR_OUT_OF_MEMORY;
    }
    TGI_TRY(prepare_stacks(instance, ref, node, &call));
    instance->values[ref].call = (uint32_t)instance->calls.n;
    return tgi_vec_push(&instance->calls, call) ? TG_OK : tgi_error_memory();
}

static tg_status prepare_host(tgi_instance *instance, tgi_ref ref,
                              const tgi_node *node)
{
    const tgi_attr_host *attr = node->attr;
    tgi_arena *arena = &instance->arena;
    const size_t n_inputs = node->n_inputs;
    tgi_interp_call call = {
        .n_results = tgi_node_n_results(node),
        .host = tgi_host_prepare(instance->graph, node, instance->extents,
                                 arena)};
    if (!call.host)
        return tg_error_last()->status;
    call.copies = tgi_arena_alloc(arena, (n_inputs + 1) * sizeof(*call.copies));
    call.params_data = tgi_arena_alloc(arena, (n_inputs + 1) * sizeof(void *));
    call.results_data =
        tgi_arena_alloc(arena, (call.n_results + 1) * sizeof(void *));
    if (!call.copies || !call.params_data || !call.results_data)
        return tgi_error_memory();
    TGI_TRY(prepare_copies(instance, ref, node, &call));
    call.results = (uint32_t)instance->buffers.n;
    for (size_t i = 0; i < call.n_results; i++) {
        tgi_buffer buffer = {0};
        int64_t dims[TG_MAX_RANK];
        TGI_TRY(tgi_graph_type_size(instance->graph, node,
                                    (tg_dtype)attr->outputs[i].dtype,
                                    attr->outputs[i].shape, instance->extents,
                                    dims, &buffer.bytes));
        if (!add_buffer(instance, buffer, ref))
            return TG_ERROR_OUT_OF_MEMORY;
    }
    instance->values[ref].call = (uint32_t)instance->calls.n;
    return tgi_vec_push(&instance->calls, call) ? TG_OK : tgi_error_memory();
}

static tg_status prepare_node(tgi_instance *instance, tgi_instances *instances,
                              tgi_ref ref, const tgi_node *node)
{
    tgi_interp_value *values = instance->values, *value = &values[ref];
    int64_t bytes;
    switch (node->op) {
    case TGI_OP_PARAM:
    case TGI_OP_VARIABLE:
        return give_buffer(
            instance, ref,
            (tgi_buffer){.storage = TGI_STORAGE_PARAM,
                         .param = tgi_graph_param_index(instance->graph, ref)});
    case TGI_OP_READ:
        /* The backward sweep may turn it into a snapshot. */
        return give_buffer(instance, ref,
                           (tgi_buffer){.storage = TGI_STORAGE_PARAM,
                                        .param = tgi_graph_param_index(
                                            instance->graph, node->inputs[0])});
    case TGI_OP_CONSTANT:
        return give_buffer(
            instance, ref,
            (tgi_buffer){
                .storage = TGI_STORAGE_FIXED,
                .data = ((const tgi_attr_literal *)node->attr)->literal->data});
    case TGI_OP_UNSET:
        TGI_TRY(give_buffer(
            instance, ref,
            (tgi_buffer){.storage = TGI_STORAGE_FIXED, .data = unset_element}));
        memset(value->view.strides, 0, sizeof(value->view.strides));
        return TG_OK;
    case TGI_OP_ASSIGN:
        /* Not the variable's buffer, which may be written again. */
        *value = values[node->inputs[1]];
        return TG_OK;
    case TGI_OP_CALL:
    case TGI_OP_SWITCH:
    case TGI_OP_LOOP:
        return prepare_region(instance, instances, ref, node);
    case TGI_OP_RESULT: {
        const tgi_attr_index *attr = node->attr;
        if (tgi_graph_is_unbounded(instance->graph, ref))
            return prepare_unbounded_result(instance, ref, node);
        uint32_t call = values[node->inputs[0]].call;
        value->buffer =
            instance->calls.data[call].results + (uint32_t)attr->index;
        return dense_value(instance, ref, &value->view, &bytes);
    }
    case TGI_OP_HOST:
        return prepare_host(instance, ref, node);
    case TGI_OP_PRINT:
    case TGI_OP_FAIL:
        return TG_OK;
    case TGI_OP_DYNAMIC_UPDATE:
        if (!tgi_graph_is_unbounded(instance->graph, ref))
            break;
        *value = values[node->inputs[0]];
        return TG_OK;
    default:
        break;
    }
    if (tgi_op_table[node->op].cls == TGI_OPCLASS_VIEW) {
        const tgi_interp_value *in = &values[node->inputs[0]];
        TGI_TRY(dense_value(instance, ref, &value->view, &bytes));
        if (tgi_kernel_view(instance->graph, node, instance->extents,
                            &in->view, &value->view)) {
            value->buffer = in->buffer;
            return TG_OK;
        }
    }
    return give_buffer(instance, ref, (tgi_buffer){0});
}

static void extend_live_range(tgi_instance *instance, tgi_ref value,
                              tgi_ref user)
{
    uint32_t buffer = instance->values[value].buffer;
    instance->buffers.data[buffer].last = user;
}

static tg_status prepare_nodes(tgi_instance *instance,
                               tgi_instances *instances)
{
    const tgi_graph *graph = instance->graph;
    uint32_t max_inputs = 0;
    for (tgi_ref ref = 1; ref <= graph->n_nodes; ref++) {
        const tgi_node *node = tgi_graph_node(graph, ref);
        TGI_TRY(prepare_node(instance, instances, ref, node));
        if (max_inputs < node->n_inputs)
            max_inputs = node->n_inputs;
        /* The inputs of READ are a variable and an ordering edge, not
           values. */
        if (node->op != TGI_OP_READ)
            for (uint32_t i = 0; i < node->n_inputs; i++)
                extend_live_range(instance, node->inputs[i], ref);
    }
    for (size_t i = 0; i < graph->results.n; i++)
        extend_live_range(instance, graph->results.data[i], graph->n_nodes + 1);
    instance->scratch_inputs =
        tgi_arena_alloc(&instance->arena, max_inputs * sizeof(tgi_view));
    return instance->scratch_inputs ? TG_OK : tgi_error_memory();
}

/* -- Second sweep: snapshots of variables ---------------------------------- */

static void find_snapshots(tgi_instance *instance, tgi_ref *next_write)
{
    const tgi_graph *graph = instance->graph;
    for (tgi_ref ref = graph->n_nodes; ref > 0; ref--) {
        const tgi_node *node = tgi_graph_node(graph, ref);
        if (node->op == TGI_OP_READ) {
            tgi_buffer *buffer =
                &instance->buffers.data[instance->values[ref].buffer];
            tgi_ref write = next_write[buffer->param];
            if (write && buffer->last >= write)
                buffer->storage = TGI_STORAGE_TEMPORARY;
        } else if (node->op == TGI_OP_ASSIGN) {
            next_write[tgi_graph_param_index(graph, node->inputs[0])] = ref;
        } else if (tgi_node_owns_graphs(node)) {
            for (uint32_t i = 0; i < node->n_inputs; i++)
                if (tgi_node_writes(node, i))
                    next_write[tgi_graph_param_index(graph, node->inputs[i])] =
                        ref;
        }
    }
}

/* -- Results --------------------------------------------------------------- */

/*
 * Result buffers may be those of parameters. A result that is a view of a
 * parameter is copied first, unless it is already in its destination.
 */
static tg_status prepare_results(tgi_instance *instance)
{
    const tgi_graph *graph = instance->graph;
    tgi_instance_update_in_place(instance);
    for (size_t i = 0; i < graph->results.n; i++) {
        tgi_interp_result result = {
            .ref = graph->results.data[i],
            .is_in_place = tgi_instance_result_is_in_place(instance, i)};
        if (tgi_graph_is_unbounded(graph, result.ref))
            result.is_in_place = true;
        const tgi_interp_value *value = &instance->values[result.ref];
        if (instance->buffers.data[value->buffer].storage ==
                TGI_STORAGE_PARAM &&
            !result.is_in_place) {
            tgi_buffer copy_buffer = {.bytes =
                                          tgi_view_count(&value->view) *
                                          tgi_dtype_bytes(value->view.dtype)};
            result.copy_buffer =
                add_buffer(instance, copy_buffer, graph->n_nodes + 1);
            if (!result.copy_buffer)
                return TG_ERROR_OUT_OF_MEMORY;
        }
        if (!tgi_vec_push(&instance->results, result))
            return tgi_error_memory();
    }
    return TG_OK;
}

tg_status tgi_instance_prepare(tgi_instance *instance,
                               tgi_instances *instances)
{
    const tgi_graph *graph = instance->graph;
    size_t n_values = (size_t)graph->n_nodes + 1;
    instance->values = tgi_alloc_zero(n_values * sizeof(tgi_interp_value));
    /* Buffer 0, of nodes without a value, has no memory. */
    if (!instance->values ||
        !tgi_vec_push(&instance->buffers,
                      ((tgi_buffer){.storage = TGI_STORAGE_FIXED})))
        return tgi_error_memory();
    TGI_TRY(prepare_nodes(instance, instances));

    tgi_ref *next_write =
        tgi_alloc_zero((graph->params.n + 1) * sizeof(tgi_ref));
    if (!next_write)
        return tgi_error_memory();
    find_snapshots(instance, next_write);
    tgi_free(next_write);

    return prepare_results(instance);
}

/* -- Third sweep: addresses and steps -------------------------------------- */

static bool resolve_address(tgi_instance *instance, tgi_ref ref)
{
    tgi_interp_value *value = &instance->values[ref];
    const tgi_buffer *buffer = &instance->buffers.data[value->buffer];
    int64_t offset =
        (int64_t)((uintptr_t)value->view.data - (uintptr_t)origin);
    if (buffer->storage != TGI_STORAGE_PARAM) {
        value->view.data = buffer->data + offset;
        return true;
    }
    tgi_interp_param_view view = {ref, buffer->param, offset};
    return tgi_vec_push(&instance->param_views, view);
}

/* The step that executes a node, if any. */
static tgi_interp_step make_step(const tgi_instance *instance, tgi_ref ref)
{
    const tgi_graph *graph = instance->graph;
    const tgi_node *node = tgi_graph_node(graph, ref);
    const tgi_buffer *buffer =
        &instance->buffers.data[instance->values[ref].buffer];
    tgi_interp_step step = {.kind = TGI_INTERP_STEP_NONE, .ref = ref};
    switch (node->op) {
    case TGI_OP_PARAM:
    case TGI_OP_VARIABLE:
    case TGI_OP_CONSTANT:
    case TGI_OP_UNSET:
    case TGI_OP_RESULT:
        break;
    case TGI_OP_BROADCAST:
    case TGI_OP_RESHAPE:
    case TGI_OP_TRANSPOSE:
    case TGI_OP_SLICE:
    case TGI_OP_WINDOW:
    case TGI_OP_READ:
        if (buffer->first == ref && buffer->storage == TGI_STORAGE_TEMPORARY)
            step.kind = TGI_INTERP_STEP_COPY;
        break;
    case TGI_OP_ASSIGN:
        step.kind = TGI_INTERP_STEP_ASSIGN;
        break;
    case TGI_OP_PRINT:
    case TGI_OP_FAIL:
        step.kind = TGI_INTERP_STEP_PRINT;
        break;
    case TGI_OP_HOST:
        step.kind = TGI_INTERP_STEP_HOST;
        break;
    case TGI_OP_CALL:
    case TGI_OP_SWITCH:
    case TGI_OP_LOOP:
        step.kind = TGI_INTERP_STEP_REGION;
        break;
    default:
        if (node->op == TGI_OP_DYNAMIC_UPDATE &&
            tgi_graph_is_unbounded(graph, ref)) {
            step.kind = TGI_INTERP_STEP_STACK_PUSH;
            break;
        }
        if (node->op == TGI_OP_DYNAMIC_SLICE &&
            tgi_graph_is_unbounded(graph, node->inputs[0])) {
            step.kind = TGI_INTERP_STEP_STACK_READ;
            break;
        }
        step.kind = TGI_INTERP_STEP_KERNEL;
        step.kernel = tgi_kernel_of(graph, node);
        break;
    }
    return step;
}

tg_status tgi_instance_finalise(tgi_instance *instance, char *memory)
{
    for (size_t i = 0; i < instance->buffers.n; i++) {
        tgi_buffer *buffer = &instance->buffers.data[i];
        if (buffer->storage == TGI_STORAGE_TEMPORARY)
            buffer->data = memory + instance->offset + buffer->offset;
    }
    for (size_t i = 0; i < instance->calls.n; i++) {
        tgi_interp_call *call = &instance->calls.data[i];
        for (size_t k = 0; k < call->n_results; k++)
            call->results_data[k] =
                instance->buffers.data[call->results + k].data;
    }
    for (tgi_ref ref = 1; ref <= instance->graph->n_nodes; ref++) {
        if (instance->values[ref].buffer && !resolve_address(instance, ref))
            return tgi_error_memory();
        tgi_interp_step step = make_step(instance, ref);
        if (step.kind == TGI_INTERP_STEP_KERNEL && !step.kernel)
            TGI_FAIL(TG_ERROR_INTERNAL, TGI_NO_SITE,
                     "node %u of '%s' has no kernel", ref,
                     instance->graph->name);
        if (step.kind != TGI_INTERP_STEP_NONE &&
            !tgi_vec_push(&instance->steps, step))
            return tgi_error_memory();
    }
    return TG_OK;
}
