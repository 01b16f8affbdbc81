/* SPDX-License-Identifier: MIT */
/*
 * gradient_region.c - the backward pass of nodes with results: calls, as if
 * inlined; branches, by a backward branch for each, selected by the same index;
 * nodes with custom gradients.
 */
#include <string.h>

#include "base/error.h"
#include "gradient/gradient_region.h"
#include "pass/callee_import.h"

/* -- Tapes of regions ------------------------------------------------------ */

bool tgi_inner_begin(tgi_tape *inner, tgi_tape *outer, tgi_ref region,
                     size_t index, tg_trace *t)
{
    const tgi_node *node = tgi_graph_node(outer->graph, region);
    if (!tgi_tape_init(inner, tgi_node_regions(node).graphs[index], t,
                       &outer->b))
        return false;
    inner->outer = outer;
    inner->region = region;
    inner->index = index;
    return true;
}

/* The parameter of the region for input i. */
static tgi_ref param_of_input(const tgi_tape *inner, uint32_t i)
{
    return inner->graph->params.data[i].node;
}

void tgi_inner_activate_input(tgi_tape *inner, uint32_t i, bool is_active)
{
    const tgi_ref param = param_of_input(inner, i);
    inner->is_active[param] =
        is_active && tgi_dtype_is(tgi_graph_node(inner->graph, param)->dtype,
                                  TGI_CLASS_REAL);
}

tgi_ref tgi_inner_capture(tgi_tape *inner, tgi_ref ref)
{
    return tgi_tape_capture(inner, inner->outer->t, ref);
}

/* -- Results --------------------------------------------------------------- */

tgi_ref tgi_tape_next_result(const tgi_tape *tape, tgi_ref ref)
{
    while (ref && !tape->gradients[ref])
        ref = tape->next[ref];
    return ref;
}

int64_t tgi_result_index(const tgi_tape *tape, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(tape->graph, ref);
    return tgi_node_index(node);
}

/* Seeds the results of the region's graph with the gradients of its RESULTs. */
static bool seed_results(tgi_tape *inner)
{
    tgi_tape *tape = inner->outer;
    tgi_ref ref = tgi_tape_next_result(tape, tape->next[inner->region]);
    for (; ref; ref = tgi_tape_next_result(tape, tape->next[ref])) {
        const int64_t index = tgi_result_index(tape, ref);
        tgi_ref gradient = tgi_inner_capture(inner, tape->gradients[ref]);
        if (!gradient ||
            !tgi_tape_add(inner, inner->graph->results.data[index], gradient))
            return false;
    }
    return true;
}

/* -- Calls ----------------------------------------------------------------- */

bool tgi_tape_clone_callee(tgi_tape *tape, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(tape->graph, ref);
    const tgi_attr_call *attr = node->attr;
    if (attr->callee->dims == tape->graph->dims)
        return true;
    const tgi_graph *callee = attr->traced ? attr->traced : attr->callee;
    tgi_graph *clone = NULL;
    tgi_import t;
    bool ok = tgi_import_init(&t, callee, tape->graph->dims);
    if (!ok) {
        tgi_trace_record_error(tape->t);
        return false;
    }
    ok = tgi_import_extents(&t, tape->graph, node) == TG_OK &&
         tgi_import_graph(&t, callee, &clone) == TG_OK &&
         tgi_graph_set_callee(tape->graph, ref, clone);
    tgi_graph_release(clone);
    tgi_import_deinit(&t);
    if (!ok)
        tgi_trace_record_error(tape->t);
    return ok;
}

static bool differentiate_call(tgi_tape *tape, tgi_ref ref)
{
    if (!tgi_tape_clone_callee(tape, ref))
        return false;
    const tgi_node *node = tgi_graph_node(tape->graph, ref);
    tgi_stack_gradients stack_gradients = {0};
    tgi_tape inner;
    bool ok = tgi_inner_begin(&inner, tape, ref, 0, tape->t);
    for (uint32_t i = 0; ok && i < node->n_inputs; i++)
        tgi_inner_activate_input(&inner, i, tape->is_active[node->inputs[i]]);
    ok = ok && tgi_tape_activate(&inner) && seed_results(&inner) &&
         tgi_stack_gradients_seed(&inner) && tgi_tape_backward(&inner) &&
         tgi_stack_gradients_return(&inner, &stack_gradients) &&
         tgi_stack_gradients_receive(tape, &stack_gradients, NULL, false);
    for (uint32_t i = 0; ok && i < node->n_inputs; i++) {
        const tgi_ref gradient = inner.gradients[param_of_input(&inner, i)];
        ok = !gradient || tgi_tape_add(tape, node->inputs[i], gradient);
    }
    tgi_vec_deinit(&stack_gradients);
    tgi_tape_deinit(&inner);
    return ok;
}

/* -- Branches -------------------------------------------------------------- */

typedef struct branch {
    tgi_tape *tape;
    tgi_ref ref;
    size_t index;
    size_t n_common;                     /* results common to all branches */
    tgi_stack_gradients stack_gradients; /* its own results, which follow
                                            them */
} branch;

/* True if backward branches return a gradient for the input. */
static bool has_branch_gradient(const tgi_tape *tape, tgi_ref input)
{
    const tgi_node *node = tgi_graph_node(tape->graph, input);
    return tape->is_active[input] &&
           tgi_dtype_is(node->dtype, TGI_CLASS_REAL) &&
           !tgi_graph_is_unbounded(tape->graph, input);
}

/* The callback of a backward branch: returns a gradient for each active
   input. */
static void trace_backward_branch(tg_trace *t, const tg_value *in, void *user)
{
    branch *br = user;
    tgi_tape *tape = br->tape;
    const tgi_node *node = tgi_graph_node(tape->graph, br->ref);
    tgi_tape inner;
    (void)in;
    bool ok = tgi_inner_begin(&inner, tape, br->ref, br->index, t);
    for (uint32_t i = 0; ok && i < node->n_inputs; i++)
        tgi_inner_activate_input(&inner, i, tape->is_active[node->inputs[i]]);
    ok = ok && tgi_tape_activate(&inner) && seed_results(&inner) &&
         tgi_stack_gradients_seed(&inner) && tgi_tape_backward(&inner);
    for (uint32_t i = 0; ok && i < node->n_inputs; i++) {
        const tgi_ref param = param_of_input(&inner, i);
        if (!has_branch_gradient(tape, node->inputs[i]))
            continue;
        tgi_ref gradient = inner.gradients[param];
        if (!gradient)
            gradient = tgi_build_zeros_like(&inner.b, inner.graph, param);
        ok = gradient && tgi_vec_push(&t->results, gradient);
        if (gradient && !ok)
            tgi_error_memory();
    }
    br->n_common = t->results.n;
    ok = ok && tgi_stack_gradients_return(&inner, &br->stack_gradients);
    if (!ok)
        tgi_trace_record_error(t);
    tgi_tape_deinit(&inner);
}

/* Appends the results of graph `source` after the first `n_common` to `graph`,
   which is `source` or another branch; the latter gets placeholders. */
static bool add_branch_results(tgi_graph *graph, const tgi_graph *source,
                               const tgi_refs *results, size_t n_common)
{
    tgi_builder b = {.graph = graph};
    for (size_t i = n_common; i < results->n; i++) {
        const tgi_ref ref = results->data[i];
        const tgi_ref result =
            graph == source ? ref : tgi_build_placeholder(&b, source, ref);
        if (!result || !tgi_graph_add_result(graph, result))
            return false;
    }
    return true;
}

/* Makes all branches return the results of each. */
static bool align_results(tgi_control *c, size_t n_common)
{
    bool ok = true;
    size_t n = c->graphs.n;
    tgi_refs *branch_results =
        tgi_alloc_zero((n + 1) * sizeof(*branch_results));
    if (!branch_results) {
        tgi_error_memory();
        return false;
    }
    for (size_t k = 0; ok && k < n; k++) {
        tgi_graph *graph = c->graphs.data[k];
        for (size_t i = 0; ok && i < graph->results.n; i++)
            ok = tgi_vec_push(&branch_results[k], graph->results.data[i]);
        graph->results.n = n_common;
        if (!ok)
            tgi_error_memory();
    }
    for (size_t k = 0; ok && k < n; k++)
        for (size_t i = 0; ok && i < n; i++)
            ok = add_branch_results(c->graphs.data[i], c->graphs.data[k],
                                    &branch_results[k], n_common);
    for (size_t k = 0; k < n; k++)
        tgi_vec_deinit(&branch_results[k]);
    tgi_free(branch_results);
    return ok;
}

/* Adds the results of the backward branches to the gradients of active
   inputs. */
static bool receive_gradients(tgi_tape *tape, const tgi_node *node,
                              const branch *branches, size_t n_branches,
                              const tg_value *results)
{
    size_t n = 0;
    bool ok = true;
    for (uint32_t i = 0; ok && i < node->n_inputs; i++)
        if (has_branch_gradient(tape, node->inputs[i]))
            ok = tgi_tape_add(tape, node->inputs[i], results[n++].node);
    for (size_t k = 0; ok && k < n_branches; k++) {
        ok = tgi_stack_gradients_receive(tape, &branches[k].stack_gradients,
                                         results + n, false);
        n += tgi_stack_gradients_n_results(&branches[k].stack_gradients);
    }
    return ok;
}

static bool trace_backward_branches(tgi_control *c, tgi_tape *tape, tgi_ref ref,
                                    branch *branches, size_t n)
{
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        branches[i] = (branch){.tape = tape, .ref = ref, .index = i};
        tg_trace *t = tgi_control_open(c, "gradient", trace_backward_branch,
                                       &branches[i], 1);
        ok = t && tgi_control_close(c, t);
    }
    if (ok && !align_results(c, branches[0].n_common)) {
        tgi_trace_record_error(tape->t);
        ok = false;
    }
    return ok;
}

static bool differentiate_switch(tgi_tape *tape, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(tape->graph, ref);
    const tgi_attr_regions *attr = node->attr;
    const size_t n = (size_t)attr->n_graphs;
    branch *branches = tgi_alloc_zero((n + 1) * sizeof(*branches));
    tg_value *results = NULL;
    tgi_control c = {0};
    bool ok =
        branches && tgi_control_begin(&c, "gradients", tgi_node_site(node)) &&
        tgi_control_add_input(&c, tgi_tape_value(tape, node->inputs[0])) &&
        trace_backward_branches(&c, tape, ref, branches, n);
    if (ok) {
        const size_t n_results = c.graphs.data[0]->results.n;
        results = tgi_alloc_zero((n_results + 1) * sizeof(*results));
        if (results)
            tgi_control_finish(&c, TGI_OP_SWITCH, 0, attr->flags, results,
                               n_results);
    }
    if (!branches || (ok && !results)) {
        tgi_error_memory();
        tgi_trace_record_error(tape->t);
        ok = false;
    }
    ok = ok && tape->t->status == TG_OK &&
         receive_gradients(tape, node, branches, n, results);
    tgi_control_end(&c);
    for (size_t i = 0; branches && i < n; i++)
        tgi_vec_deinit(&branches[i].stack_gradients);
    tgi_free(branches);
    tgi_free(results);
    return ok;
}

/* -- Custom gradients ------------------------------------------------------ */

/* The arguments of the user's callback: inputs, results, gradients of
   results. */
static bool custom_arguments(tgi_tape *tape, tgi_ref ref, size_t n_args,
                             tg_value *in)
{
    const tgi_node *node = tgi_graph_node(tape->graph, ref);
    const size_t n_results = tgi_node_n_results(node);
    for (size_t i = 0; i < n_args; i++)
        in[i] = tgi_trace_value(tape->t,
                                tgi_tape_value(tape, node->inputs[i]));
    for (size_t i = 0; i < n_results; i++) {
        tgi_ref result = tape->next[ref];
        while (result && tgi_result_index(tape, result) != (int64_t)i)
            result = tape->next[result];
        if (!result)
            result = tgi_region_result(tape->graph, ref, (int64_t)i);
        if (!result)
            return false;
        tgi_ref gradient =
            result <= tape->n ? tape->gradients[result] : 0;
        if (!gradient)
            gradient = tgi_build_zeros_like(&tape->b, tape->graph, result);
        in[n_args + i] =
            tgi_trace_value(tape->t, tgi_tape_value(tape, result));
        if (!gradient)
            return false;
        in[n_args + n_results + i] = tgi_tape_export(tape, gradient);
    }
    return tape->t->status == TG_OK;
}

/* Adds the gradient that the callback returned for argument i. */
static bool add_custom_gradient(tgi_tape *tape, const tgi_node *node,
                                uint32_t i, tgi_ref gradient)
{
    const tgi_ref input = node->inputs[i];
    const tgi_node *argument = tgi_graph_node(tape->graph, input);
    if (!tgi_dtype_is(argument->dtype, TGI_CLASS_REAL))
        return true;
    gradient = tgi_build_adapt(&tape->b, gradient, (tg_dtype)argument->dtype);
    if (gradient &&
        tgi_graph_shape(tape->b.graph, gradient)->rank == 0) {
        const tgi_shape *shape = tgi_graph_shape(tape->graph, input);
        gradient = tgi_build_broadcast(&tape->b, gradient, shape->rank,
                                       shape->dims);
    }
    if (gradient &&
        tgi_graph_node(tape->b.graph, gradient)->shape != argument->shape)
        gradient =
            tgi_build_fail(&tape->b, TG_ERROR_SHAPE, (tgi_ref[]){gradient}, 1,
                           "the gradient of argument %u does not have "
                           "the shape of the argument",
                           i);
    return tgi_tape_add(tape, input, gradient);
}

static bool differentiate_custom(tgi_tape *tape, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(tape->graph, ref);
    const tgi_custom_gradient *custom = tgi_node_custom_gradient(node);
    const size_t n_results = tgi_node_n_results(node);
    /* Variables that a callee captured come last. */
    size_t n_args = node->n_inputs;
    while (n_args > 0 &&
           tgi_graph_node(tape->graph, node->inputs[n_args - 1])->op ==
               TGI_OP_VARIABLE)
        n_args--;
    tg_value *in =
        tgi_alloc_zero((n_args + 2 * n_results + 1) * sizeof(*in));
    tgi_refs returned = {0};
    bool ok = in != NULL;
    if (!ok)
        tgi_error_memory();
    tape->b.site = tgi_node_site(node);
    tape->b.op_name = "custom_gradient";
    ok = ok && custom_arguments(tape, ref, n_args, in) &&
         tgi_trace_run_inline(tape->t, custom->backward, in, custom->user,
                              &tape->b, &returned);
    if (ok && returned.n != n_args)
        ok = tgi_build_fail(&tape->b, TG_ERROR_INVALID_ARGUMENT, NULL, 0,
                            "the gradient returns %zu value%s for %zu "
                            "argument%s",
                            returned.n, TGI_PLURAL(returned.n), (size_t)n_args,
                            TGI_PLURAL(n_args)) != 0;
    for (uint32_t i = 0; ok && i < n_args; i++)
        ok = add_custom_gradient(tape, node, i, returned.data[i]);
    tgi_vec_deinit(&returned);
    tgi_free(in);
    if (!ok)
        tgi_trace_record_error(tape->t);
    return ok;
}

/* -- All nodes with results ------------------------------------------------ */

bool tgi_tape_region(tgi_tape *tape, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(tape->graph, ref);
    if (!tgi_tape_next_result(tape, tape->next[ref]) &&
        !tgi_tape_has_stack_gradients(tape, ref))
        return true;
    if (tgi_node_custom_gradient(node))
        return differentiate_custom(tape, ref);
    switch (node->op) {
    case TGI_OP_CALL:
        return differentiate_call(tape, ref);
    case TGI_OP_SWITCH:
        return differentiate_switch(tape, ref);
    case TGI_OP_LOOP:
        return tgi_tape_loop(tape, ref);
    default:
        return true;
    }
}
