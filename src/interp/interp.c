/* SPDX-License-Identifier: MIT */
/*
 * interp.c - the reference interpreter: the table of instances, and the loop
 * that runs their steps.
 *
 * Calls, branches and loops do not recurse: an instance records its caller and
 * its next step, so nesting needs no stack space.
 */
#include "interp/interp.h"

#include <stdio.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/live.h"
#include "interp/interp_check.h"
#include "interp/interp_instance.h"
#include "profile/timeline.h"
#include "runtime/host.h"

struct tgi_interp {
    tgi_instances instances;
    tgi_host host;
    tgi_host_poller poller; /* of the run */
    tgi_cancel cancel;      /* of the run */
    char *memory; /* temporaries of all instances */
    int64_t bytes;
    unsigned checks; /* TGI_CHECK_… */
};

/* -- Instances ------------------------------------------------------------- */

static void instance_destroy(tgi_instance *instance)
{
    if (!instance)
        return;
    for (size_t i = 0; i < instance->stacks.n; i++)
        tgi_stack_group_deinit(instance->stacks.data[i]);
    tgi_vec_deinit(&instance->stacks);
    tgi_free(instance->values);
    tgi_vec_deinit(&instance->buffers);
    tgi_vec_deinit(&instance->calls);
    tgi_vec_deinit(&instance->steps);
    tgi_vec_deinit(&instance->param_views);
    tgi_vec_deinit(&instance->results);
    tgi_arena_deinit(&instance->arena);
    tgi_graph_release(instance->graph);
    tgi_free(instance);
}

/* Copies the symbols, evaluates the extents and runs the graph's checks. */
static tg_status instance_init(tgi_instance *instance, const int64_t *symbols)
{
    const tgi_graph *graph = instance->graph;
    size_t n_symbols = tgi_dims_n_symbols(graph->dims);
    size_t n_extents = tgi_dims_n_values(graph->dims);
    int64_t *storage = tgi_arena_alloc(
        &instance->arena, (n_symbols + n_extents + 1) * sizeof(*storage));
    if (!storage)
        return tgi_error_memory();
    for (size_t i = 0; i < n_symbols; i++)
        storage[i] = symbols[i];
    instance->symbols = storage;
    instance->extents = storage + n_symbols;
    TGI_TRY(
        tgi_dims_evaluate(graph->dims, instance->symbols, storage + n_symbols));
    return tgi_graph_run_checks(graph, instance->extents);
}

static uint64_t hash_instance(const tgi_graph *graph, const int64_t *symbols,
                              int64_t n_carried)
{
    size_t n = tgi_dims_n_symbols(graph->dims);
    uint64_t hash = tgi_hash(&graph, sizeof(graph), (uint64_t)n_carried);
    return n ? tgi_hash(symbols, n * sizeof(*symbols), hash) : hash;
}

static bool matches(const tgi_instance *instance, const tgi_graph *graph,
                    const int64_t *symbols, int64_t n_carried)
{
    if (instance->graph != graph || instance->n_carried != n_carried)
        return false;
    size_t n = tgi_dims_n_symbols(graph->dims);
    for (size_t i = 0; i < n; i++)
        if (instance->symbols[i] != symbols[i])
            return false;
    return true;
}

tgi_instance *tgi_instances_get(tgi_instances *instances,
                                const tgi_graph *graph, const int64_t *symbols,
                                int64_t n_carried)
{
    uint64_t hash = hash_instance(graph, symbols, n_carried);
    size_t probe = 0;
    uint32_t position;
    while ((position = tgi_index_next(&instances->index, hash, &probe)))
        if (matches(instances->all.data[position - 1], graph, symbols,
                    n_carried))
            return instances->all.data[position - 1];

    tgi_instance *instance = tgi_alloc_zero(sizeof(*instance));
    if (!instance) {
        tgi_error_memory();
        return NULL;
    }
    instance->graph = tgi_graph_retain(graph);
    instance->n_carried = n_carried;
    instance->budget = &instances->budget;
    if (instance_init(instance, symbols) != TG_OK) {
        instance_destroy(instance);
        return NULL;
    }
    if (!tgi_vec_push(&instances->all, instance)) {
        tgi_error_memory();
        instance_destroy(instance);
        return NULL;
    }
    /* The list owns it from here on. */
    if (!tgi_index_add(&instances->index, hash,
                       (uint32_t)instances->all.n)) {
        tgi_error_memory();
        return NULL;
    }
    return instance;
}

void tgi_instances_deinit(tgi_instances *instances)
{
    for (size_t i = 0; i < instances->all.n; i++)
        instance_destroy(instances->all.data[i]);
    tgi_vec_deinit(&instances->all);
    tgi_index_deinit(&instances->index);
}

/* -- Creation -------------------------------------------------------------- */

static tg_status allocate_memory(tgi_interp *interp, uint64_t memory_limit)
{
    if (memory_limit && (uint64_t)interp->bytes > memory_limit)
        TGI_FAIL(TG_ERROR_OUT_OF_MEMORY, TGI_NO_SITE,
                 "out of memory: the call needs %lld bytes of temporaries, "
                 "the limit is %llu",
                 (long long)interp->bytes, (unsigned long long)memory_limit);
    interp->memory = tgi_buffer_alloc((size_t)interp->bytes);
    if (!interp->memory)
        TGI_FAIL(TG_ERROR_OUT_OF_MEMORY, TGI_NO_SITE,
                 "out of memory: the call needs %lld bytes of temporaries",
                 (long long)interp->bytes);
    return TG_OK;
}

static tg_status prepare_instances(tgi_interp *interp, const tgi_graph *graph,
                                   const int64_t *symbols,
                                   uint64_t memory_limit)
{
    tgi_instances *instances = &interp->instances;
    if (!tgi_instances_get(instances, graph, symbols, 0))
        return tg_error_last()->status;
    /* Preparing an instance may append callees to the list. */
    for (size_t i = 0; i < instances->all.n; i++)
        TGI_TRY(tgi_instance_prepare(instances->all.data[i], instances));
    TGI_TRY(tgi_instances_place(instances, &interp->bytes));
    TGI_TRY(allocate_memory(interp, memory_limit));
    instances->budget =
        (tgi_memory_budget){(uint64_t)interp->bytes, memory_limit};
    for (size_t i = 0; i < instances->all.n; i++)
        TGI_TRY(tgi_instance_finalise(instances->all.data[i], interp->memory));
    return TG_OK;
}

tg_status tgi_interp_create(const tgi_graph *graph, const int64_t *symbols,
                            const tgi_host *host, uint64_t memory_limit,
                            tgi_interp **out_interp)
{
    *out_interp = NULL;
    tgi_interp *interp = tgi_alloc_zero(sizeof(*interp));
    if (!interp)
        return tgi_error_memory();
    tgi_live_add(TGI_LIVE_INTERP, 1);
    if (host)
        interp->host = *host;
    interp->host.poller = &interp->poller;
    interp->host.cancel = &interp->cancel;
    tg_status status = prepare_instances(interp, graph, symbols, memory_limit);
    if (status == TG_OK)
        *out_interp = interp;
    else
        tgi_interp_destroy(interp);
    return status;
}

void tgi_interp_destroy(tgi_interp *interp)
{
    if (!interp)
        return;
    tgi_instances_deinit(&interp->instances);
    if (interp->memory)
        tgi_buffer_free(interp->memory, (size_t)interp->bytes);
    tgi_free(interp);
    tgi_live_add(TGI_LIVE_INTERP, -1);
}

void tgi_interp_set_checks(tgi_interp *interp, unsigned kinds)
{
    interp->checks = kinds;
}

/* -- Queries --------------------------------------------------------------- */

static const tgi_view *result_view(const tgi_interp *interp, size_t result)
{
    const tgi_instance *instance = interp->instances.all.data[0];
    return &instance->values[instance->results.data[result].ref].view;
}

const int64_t *tgi_interp_result_dims(const tgi_interp *interp, size_t result)
{
    return result_view(interp, result)->dims;
}

int64_t tgi_interp_result_bytes(const tgi_interp *interp, size_t result)
{
    const tgi_view *view = result_view(interp, result);
    return tgi_view_count(view) * tgi_dtype_bytes(view->dtype);
}

uint64_t tgi_interp_bytes(const tgi_interp *interp)
{
    return (uint64_t)interp->bytes;
}

/* -- Running --------------------------------------------------------------- */

/* Data of empty parameters that are NULL, since kernels add offsets of 0 to the
   address. */
static char empty_param[TGI_BUFFER_ALIGN];

void tgi_instance_begin(tgi_instance *instance, tgi_instance *caller,
                        void *const *params, void *const *results)
{
    instance->caller = caller;
    instance->next_step = 0;
    instance->results_data = results;
    /* A failed run may have left any stage. */
    for (size_t i = 0; i < instance->calls.n; i++)
        instance->calls.data[i].stage = TGI_STAGE_BEGIN;
    for (size_t i = 0; i < instance->param_views.n; i++) {
        const tgi_interp_param_view *view = &instance->param_views.data[i];
        char *data = params[view->param];
        instance->values[view->ref].view.data =
            (data ? data : empty_param) + view->offset;
    }
}

/* Writes the results. A result buffer may be that of a parameter, so results
   that are views of parameters are copied to temporaries first. */
static void write_results(const tgi_instance *instance)
{
    const tgi_buffer *buffers = instance->buffers.data;
    for (size_t i = 0; i < instance->results.n; i++) {
        const tgi_interp_result *result = &instance->results.data[i];
        if (result->copy_buffer)
            tgi_view_copy_dense(&instance->values[result->ref].view,
                                buffers[result->copy_buffer].data);
    }
    for (size_t i = 0; i < instance->results.n; i++) {
        const tgi_interp_result *result = &instance->results.data[i];
        tgi_view view = instance->values[result->ref].view;
        if (result->copy_buffer)
            view =
                tgi_view_dense_like(&view, buffers[result->copy_buffer].data);
        if (instance->results_data[i] && !result->is_in_place)
            tgi_view_copy_dense(&view, instance->results_data[i]);
    }
}

static const tgi_view *gather_inputs(tgi_instance *instance,
                                     const tgi_node *node)
{
    for (uint32_t i = 0; i < node->n_inputs; i++)
        instance->scratch_inputs[i] = instance->values[node->inputs[i]].view;
    return instance->scratch_inputs;
}

static tg_status run_host(const tgi_interp *interp, tgi_instance *instance,
                          tgi_ref ref, const tgi_node *node)
{
    const tgi_interp_call *call =
        &instance->calls.data[instance->values[ref].call];
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        tgi_instance_bind_input(instance, node, call, i);
        call->host[i].data = call->params_data[i];
    }
    for (size_t i = 0; i < call->n_results; i++)
        call->host[node->n_inputs + i].data = call->results_data[i];
    return tgi_host_call(&interp->host, node, call->host);
}

/* -- Stacks ---------------------------------------------------------------- */

/* An unbounded value is the address of its stack. */
static tgi_stack_group *stack_of_value(const tgi_interp_value *value)
{
    return (tgi_stack_group *)(void *)value->view.data;
}

static int64_t read_i64(const tgi_interp_value *value)
{
    int64_t index;
    memcpy(&index, value->view.data, sizeof(index));
    return index;
}

/* Appends a slice; the index is the number of slices already there. */
static tg_status push_slice(const tgi_instance *instance, const tgi_node *node)
{
    const tgi_interp_value *values = instance->values;
    tgi_stack_group *stack = stack_of_value(&values[node->inputs[0]]);
    const int64_t at = read_i64(&values[node->inputs[2]]);
    if (at >= stack->capacity)
        TGI_TRY(tgi_stack_group_grow(stack, at, instance->budget));
    if (stack->all->slice_bytes)
        tgi_view_copy_dense(&values[node->inputs[1]].view,
                            stack->all->data + at * stack->all->slice_bytes);
    return TG_OK;
}

static void read_slice(const tgi_instance *instance, const tgi_node *node,
                       char *out)
{
    const tgi_interp_value *values = instance->values;
    const tgi_stack *stack = stack_of_value(&values[node->inputs[0]])->all;
    if (stack->slice_bytes)
        memcpy(out,
               stack->data +
                   read_i64(&values[node->inputs[1]]) * stack->slice_bytes,
               (size_t)stack->slice_bytes);
}

/* Runs any step but those of nodes that own graphs. */
static tg_status run_step(const tgi_interp *interp, tgi_instance *instance,
                          const tgi_interp_step *step)
{
    const tgi_node *node = tgi_graph_node(instance->graph, step->ref);
    const tgi_interp_value *values = instance->values;
    switch (step->kind) {
    case TGI_INTERP_STEP_KERNEL: {
        tgi_kernel_args args = {.node = node,
                                .values = instance->extents,
                                .out = values[step->ref].view,
                                .in = gather_inputs(instance, node)};
        return step->kernel(&args);
    }
    case TGI_INTERP_STEP_COPY:
        tgi_view_copy_dense(&values[node->inputs[0]].view,
                            values[step->ref].view.data);
        return TG_OK;
    case TGI_INTERP_STEP_ASSIGN:
        /* A read that is used after the assignment is a snapshot, so the two do
           not overlap. */
        tgi_view_copy_dense(&values[node->inputs[1]].view,
                   values[node->inputs[0]].view.data);
        return TG_OK;
    case TGI_INTERP_STEP_STACK_PUSH:
        return push_slice(instance, node);
    case TGI_INTERP_STEP_STACK_READ:
        read_slice(instance, node, values[step->ref].view.data);
        return TG_OK;
    case TGI_INTERP_STEP_PRINT:
        return tgi_host_print(&interp->host, node,
                              gather_inputs(instance, node));
    case TGI_INTERP_STEP_HOST:
        return run_host(interp, instance, step->ref, node);
    case TGI_INTERP_STEP_NONE:
    case TGI_INTERP_STEP_REGION:
        break;
    }
    return TG_OK;
}

/* run_step, timed: for the profile and the timeline. */
static tg_status run_timed_step(const tgi_interp *interp,
                                tgi_instance *instance,
                                const tgi_interp_step *step, tgi_op_time *times)
{
    const tgi_node *node = tgi_graph_node(instance->graph, step->ref);
    const uint64_t begin = tgi_clock_ns();
    const tg_status status = run_step(interp, instance, step);
    const uint64_t end = tgi_clock_ns(), ns = end - begin;
    tgi_op_time *time = &times[node->op];
    if (time->n++ == 0 || ns < time->min_ns)
        time->min_ns = ns;
    time->ns += ns;
    if (tgi_profile_mode_has(TGI_TRACING)) {
        char site[256];
        const tg_site at = tgi_node_site(node);
        snprintf(site, sizeof(site), "%s:%d", at.file ? at.file : "?", at.line);
        tgi_timeline_add("interpreted", tgi_op_table[node->op].name, site,
                         begin, end);
    }
    return status;
}

/* Inlined twice, so that untimed runs do not test `times`. */
static inline __attribute__((always_inline)) tg_status
run_steps(tgi_interp *interp, void *const *params, void *const *results,
          tgi_op_time *times)
{
    tgi_instance *instance = interp->instances.all.data[0], *next;
    interp->poller.function = NULL;
    interp->cancel = tgi_cancel_begin(interp->host.cancel_word);
    tgi_instance_begin(instance, NULL, params, results);
    while (instance) {
        if (interp->poller.function)
            tgi_host_poller_poll(&interp->poller);
        if (tgi_cancel_is_near(&interp->cancel) &&
            tgi_cancel_is_due(&interp->cancel))
            return tgi_cancel_fail(&interp->cancel);
        if (instance->next_step == instance->steps.n) {
            write_results(instance);
            instance = instance->caller;
            continue;
        }
        const tgi_interp_step *step =
            &instance->steps.data[instance->next_step];
        next = NULL;
        if (step->kind == TGI_INTERP_STEP_REGION)
            TGI_TRY(tgi_instance_advance(instance, step->ref, &next));
        else if (times)
            TGI_TRY(run_timed_step(interp, instance, step, times));
        else
            TGI_TRY(run_step(interp, instance, step));
        if (interp->checks)
            TGI_TRY(tgi_interp_check_step(instance, step, interp->checks));
        if (next)
            instance = next;
        else
            instance->next_step++;
    }
    return TG_OK;
}

tg_status tgi_interp_run(tgi_interp *interp, void *const *params,
                         void *const *results)
{
    return run_steps(interp, params, results, NULL);
}

tg_status tgi_interp_run_timed(tgi_interp *interp, void *const *params,
                               void *const *results, tgi_op_time *times)
{
    return run_steps(interp, params, results, times);
}
