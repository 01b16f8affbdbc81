/* SPDX-License-Identifier: MIT */
/*
 * gradient_region.c - back through nodes with results: calls, as if the
 * callee's nodes stood there; branches, by a branch for each on the same
 * choice; and those whose gradient the user has given.
 */
#include <string.h>

#include "error.h"
#include "gradient_region.h"
#include "pass_translate.h"

/* -- Tapes inside tapes ---------------------------------------------------- */

bool tgi_inner_begin(tgi_tape *inner, tgi_tape *around, tgi_ref region,
                     size_t number, tg_trace *t)
{
    const tgi_node *node = tgi_graph_node(around->graph, region);
    if (!tgi_tape_init(inner, tgi_node_regions(node).graphs[number], t,
                       &around->b))
        return false;
    inner->around = around;
    inner->region = region;
    inner->number = number;
    return true;
}

/* The parameter of the region that input i is. */
static tgi_ref param_of(const tgi_tape *inner, uint32_t i)
{
    return inner->graph->params.data[i].node;
}

void tgi_inner_activate_input(tgi_tape *inner, uint32_t i, bool is_active)
{
    const tgi_ref param = param_of(inner, i);
    inner->is_active[param] =
        is_active && tgi_dtype_is(tgi_graph_node(inner->graph, param)->dtype,
                                  TGI_CLASS_FLOAT);
}

tgi_ref tgi_inner_reach(tgi_tape *inner, tgi_ref ref)
{
    return tgi_tape_reach(inner, inner->around->t, ref);
}

/* -- Results --------------------------------------------------------------- */

/* The first result from `ref` on that has a gradient; 0: none. */
tgi_ref tgi_tape_next_result(const tgi_tape *tape, tgi_ref ref)
{
    while (ref && !tape->gradients[ref])
        ref = tape->next[ref];
    return ref;
}

int64_t tgi_result_index(const tgi_tape *tape, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(tape->graph, ref);
    return ((const tgi_attr_index *)node->attr)->index;
}

/* Gradients of the results of the region, given to those of its graph. */
static bool seed(tgi_tape *inner)
{
    tgi_tape *tape = inner->around;
    tgi_ref ref = tgi_tape_next_result(tape, tape->next[inner->region]);
    for (; ref; ref = tgi_tape_next_result(tape, tape->next[ref])) {
        const int64_t index = tgi_result_index(tape, ref);
        tgi_ref gradient = tgi_inner_reach(inner, tape->gradients[ref]);
        if (!gradient ||
            !tgi_tape_add(inner, inner->graph->results.data[index], gradient))
            return false;
    }
    return true;
}

/* Those of results that grow, which only a call can hand on. */
static bool seed_slots(tgi_tape *inner)
{
    tgi_tape *tape = inner->around;
    bool ok = true;
    for (size_t i = 0; ok && i < tape->slots.n; i++) {
        tgi_slots slots = tape->slots.data[i];
        const tgi_node *node = tgi_graph_node(tape->graph, slots.ref);
        if (node->op != TGI_OP_RESULT || node->inputs[0] != inner->region)
            continue;
        slots.ref =
            inner->graph->results.data[tgi_result_index(tape, slots.ref)];
        ok = tgi_tape_add_slots(inner, slots);
    }
    return ok;
}

bool tgi_tape_has_slots(const tgi_tape *tape, tgi_ref region)
{
    for (size_t i = 0; i < tape->slots.n; i++) {
        const tgi_node *node =
            tgi_graph_node(tape->graph, tape->slots.data[i].ref);
        if (node->op == TGI_OP_RESULT && node->inputs[0] == region)
            return true;
    }
    return false;
}

/* -- Calls ----------------------------------------------------------------- */

bool tgi_tape_own_callee(tgi_tape *tape, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(tape->graph, ref);
    const tgi_attr_call *attr = node->attr;
    if (attr->callee->dims == tape->graph->dims)
        return true;
    const tgi_graph *callee = attr->traced ? attr->traced : attr->callee;
    tgi_graph *own = NULL;
    tgi_translation t;
    bool ok = tgi_translation_init(&t, callee, tape->graph->dims);
    if (!ok) {
        tgi_trace_stick(tape->t);
        return false;
    }
    ok = tgi_translate_extents(&t, tape->graph, node) == TG_OK &&
         tgi_translate_graph(&t, callee, &own) == TG_OK &&
         tgi_graph_set_callee(tape->graph, ref, own);
    tgi_graph_release(own);
    tgi_translation_deinit(&t);
    if (!ok)
        tgi_trace_stick(tape->t);
    return ok;
}

static bool back_through_call(tgi_tape *tape, tgi_ref ref)
{
    if (!tgi_tape_own_callee(tape, ref))
        return false;
    const tgi_node *node = tgi_graph_node(tape->graph, ref);
    tgi_tape inner;
    bool ok = tgi_inner_begin(&inner, tape, ref, 0, tape->t);
    for (uint32_t i = 0; ok && i < node->n_inputs; i++)
        tgi_inner_activate_input(&inner, i, tape->is_active[node->inputs[i]]);
    ok = ok && tgi_tape_activate(&inner) && seed(&inner) &&
         seed_slots(&inner) && tgi_tape_walk(&inner);
    for (uint32_t i = 0; ok && i < node->n_inputs; i++) {
        const tgi_ref gradient = inner.gradients[param_of(&inner, i)];
        ok = !gradient || tgi_tape_add(tape, node->inputs[i], gradient);
    }
    tgi_tape_deinit(&inner);
    return ok;
}

/* -- Branches -------------------------------------------------------------- */

typedef struct branch {
    tgi_tape *tape;
    tgi_ref ref;
    size_t number;
} branch;

/* The callback of a branch: returns a gradient for each active input. */
static void trace_branch(tg_trace *t, const tg_value *in, void *user)
{
    const branch *br = user;
    tgi_tape *tape = br->tape;
    const tgi_node *node = tgi_graph_node(tape->graph, br->ref);
    tgi_tape inner;
    (void)in;
    bool ok = tgi_inner_begin(&inner, tape, br->ref, br->number, t);
    for (uint32_t i = 0; ok && i < node->n_inputs; i++)
        tgi_inner_activate_input(&inner, i, tape->is_active[node->inputs[i]]);
    ok = ok && tgi_tape_activate(&inner) && seed(&inner) &&
         tgi_tape_walk(&inner);
    for (uint32_t i = 0; ok && i < node->n_inputs; i++) {
        const tgi_ref param = param_of(&inner, i);
        if (!inner.is_active[param])
            continue;
        tgi_ref gradient = inner.gradients[param];
        if (!gradient)
            gradient = tgi_build_zeros_like(&inner.b, inner.graph, param);
        ok = gradient && tgi_vec_push(&t->results, gradient);
        if (gradient && !ok)
            tgi_error_memory();
    }
    if (!ok)
        tgi_trace_stick(t);
    tgi_tape_deinit(&inner);
}

/* Adds to the gradients of active inputs what the new branches have given. */
static bool add_results(tgi_tape *tape, const tgi_node *node,
                        const tg_value *results)
{
    size_t n = 0;
    bool ok = true;
    for (uint32_t i = 0; ok && i < node->n_inputs; i++) {
        const tgi_node *input = tgi_graph_node(tape->graph, node->inputs[i]);
        if (tape->is_active[node->inputs[i]] &&
            tgi_dtype_is(input->dtype, TGI_CLASS_FLOAT))
            ok = tgi_tape_add(tape, node->inputs[i], results[n++].node);
    }
    return ok;
}

static bool back_through_switch(tgi_tape *tape, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(tape->graph, ref);
    const tgi_attr_regions *attr = node->attr;
    tg_value *results = tgi_alloc_zero((node->n_inputs + 1) * sizeof(*results));
    tgi_control c = {0};
    bool ok = results != NULL;
    if (!ok) {
        tgi_error_memory();
        tgi_trace_stick(tape->t);
    }
    ok = ok && tgi_control_begin(&c, "gradients", tgi_node_site(node)) &&
         tgi_control_add_input(&c, tgi_tape_value(tape, node->inputs[0]));
    for (int64_t i = 0; ok && i < attr->n_graphs; i++) {
        branch br = {tape, ref, (size_t)i};
        tg_trace *t =
            tgi_control_open(&c, "gradient", trace_branch, &br, 1);
        ok = t && tgi_control_close(&c, t);
    }
    if (ok) {
        tgi_control_finish(&c, TGI_OP_SWITCH, 0, attr->flags, results,
                           c.graphs.data[0]->results.n);
        ok = tape->t->status == TG_OK && add_results(tape, node, results);
    }
    tgi_control_end(&c);
    tgi_free(results);
    return ok;
}

/* -- Gradients of the user's own ------------------------------------------- */

/* Inputs, results, gradients of results: what the user's callback gets. */
static bool own_arguments(tgi_tape *tape, tgi_ref ref, size_t n_args,
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
        in[n_args + n_results + i] = tgi_tape_hand_out(tape, gradient);
    }
    return tape->t->status == TG_OK;
}

/* What the callback has returned for argument i. */
static bool take_gradient(tgi_tape *tape, const tgi_node *node, uint32_t i,
                          tgi_ref gradient)
{
    const tgi_ref input = node->inputs[i];
    const tgi_node *wanted = tgi_graph_node(tape->graph, input);
    if (!tgi_dtype_is(wanted->dtype, TGI_CLASS_FLOAT))
        return true;
    gradient = tgi_build_adapt(&tape->b, gradient, (tg_dtype)wanted->dtype);
    if (gradient &&
        tgi_graph_shape(tape->b.graph, gradient)->rank == 0) {
        const tgi_shape *shape = tgi_graph_shape(tape->graph, input);
        gradient = tgi_build_broadcast(&tape->b, gradient, shape->rank,
                                       shape->dims);
    }
    if (gradient && tgi_graph_node(tape->b.graph, gradient)->shape !=
                        wanted->shape)
        gradient = tgi_build_fail(&tape->b, TG_ERROR_SHAPE,
                                  (tgi_ref[]){gradient}, 1,
                                  "the gradient of argument %u has another "
                                  "shape than the argument",
                                  i);
    return tgi_tape_add(tape, input, gradient);
}

static bool back_by_callback(tgi_tape *tape, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(tape->graph, ref);
    const tgi_own_gradient *own = tgi_node_gradient(node);
    const size_t n_results = tgi_node_n_results(node);
    /* Variables that a callee has captured come last. */
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
    ok = ok && own_arguments(tape, ref, n_args, in) &&
         tgi_trace_run(tape->t, own->backward, in, own->user, &tape->b,
                       &returned);
    if (ok && returned.n != n_args)
        ok = tgi_build_fail(&tape->b, TG_ERROR_INVALID_ARGUMENT, NULL, 0,
                            "the gradient returns %zu value%s for %zu "
                            "argument%s",
                            returned.n, TGI_PLURAL(returned.n), (size_t)n_args,
                            TGI_PLURAL(n_args)) != 0;
    for (uint32_t i = 0; ok && i < n_args; i++)
        ok = take_gradient(tape, node, i, returned.data[i]);
    tgi_vec_deinit(&returned);
    tgi_free(in);
    if (!ok)
        tgi_trace_stick(tape->t);
    return ok;
}

/* -- All of them ----------------------------------------------------------- */

bool tgi_tape_region(tgi_tape *tape, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(tape->graph, ref);
    if (!tgi_tape_next_result(tape, tape->next[ref]) &&
        !tgi_tape_has_slots(tape, ref))
        return true;
    if (tgi_node_gradient(node))
        return back_by_callback(tape, ref);
    switch (node->op) {
    case TGI_OP_CALL:
        return back_through_call(tape, ref);
    case TGI_OP_SWITCH:
        return back_through_switch(tape, ref);
    case TGI_OP_LOOP:
        return tgi_tape_loop(tape, ref);
    default:
        return true;
    }
}
