/* SPDX-License-Identifier: MIT */
/*
 * gradient_loop.c - the backward pass of a loop: a second loop over the
 * iterations in reverse. It carries the gradients of carried values, and
 * accumulates the gradients of loop-invariant inputs, starting from those that
 * other users have already added.
 */
#include <string.h>

#include "gradient/gradient_region.h"

/* Of elementwise expressions over all iterations that are recomputed per
   iteration. */
enum { MAX_RECOMPUTE_DEPTH = 3 };

typedef struct backward_loop {
    tgi_tape *tape;
    tgi_ref ref;
    const tgi_node *node;
    const tgi_attr_regions *attr;
    bool *is_active;      /* by input: gets a gradient */
    tgi_ref n_iterations; /* of the forward loop; in tape->t's graph */
    tgi_stack_gradients stack_gradients; /* saved by the backward loop */
    size_t n_results;                    /* of the backward body */
} backward_loop;

static bool is_carried(const backward_loop *w, uint32_t i)
{
    return i > 0 && i <= w->attr->n_carried;
}

/* True for an unbounded input, which another loop has saved. */
static bool is_unbounded(const backward_loop *w, uint32_t i)
{
    return tgi_graph_is_unbounded(w->tape->graph, w->node->inputs[i]);
}

/* True if the backward loop carries a gradient for the input. */
static bool has_carried_gradient(const backward_loop *w, uint32_t i)
{
    return w->is_active[i] && !is_unbounded(w, i);
}

/* True if an earlier loop-invariant input is the same node. */
static bool is_duplicate(const backward_loop *w, uint32_t i)
{
    for (uint32_t k = (uint32_t)w->attr->n_carried + 1; k < i; k++)
        if (w->node->inputs[k] == w->node->inputs[i])
            return true;
    return false;
}

/* -- Inputs ---------------------------------------------------------------- */

static bool find_active_inputs(backward_loop *w)
{
    const tgi_tape *tape = w->tape;
    const tgi_node *node = w->node;
    bool *results = tgi_alloc_zero(tgi_node_n_results(node) + 1);
    w->is_active = tgi_alloc_zero((size_t)node->n_inputs + 1);
    bool ok = results && w->is_active;
    if (!ok)
        tgi_error_memory();
    ok = ok &&
         tgi_region_activate(tape->graph, node, tape->is_active, results);
    for (uint32_t i = 1; ok && i < node->n_inputs; i++) {
        const tgi_node *input = tgi_graph_node(tape->graph, node->inputs[i]);
        w->is_active[i] =
            (is_carried(w, i) ? results[i - 1]
                              : tape->is_active[node->inputs[i]]) &&
            tgi_dtype_is(input->dtype, TGI_CLASS_REAL);
    }
    tgi_free(results);
    if (!ok)
        tgi_trace_record_error(tape->t);
    return ok;
}

/* The initial gradient of input i in the backward loop. */
static tgi_ref initial_gradient(const backward_loop *w, uint32_t i)
{
    tgi_tape *tape = w->tape;
    tgi_ref gradient = 0;
    if (!is_carried(w, i)) {
        gradient = is_duplicate(w, i) ? 0 : tape->gradients[w->node->inputs[i]];
    } else {
        tgi_ref ref = tgi_tape_next_result(tape, tape->next[w->ref]);
        for (; ref; ref = tgi_tape_next_result(tape, tape->next[ref]))
            if (tgi_result_index(tape, ref) == (int64_t)i - 1)
                gradient = tape->gradients[ref];
    }
    if (gradient)
        return gradient;
    return tgi_build_zeros_like(&tape->b, tape->graph, w->node->inputs[i]);
}

static bool add_loop_inputs(backward_loop *w, tgi_control *c)
{
    tgi_tape *tape = w->tape;
    tgi_ref n_iterations = w->node->inputs[0];
    if (w->attr->n_graphs > 1)
        n_iterations =
            tgi_region_result(tape->graph, w->ref, TGI_RESULT_ITERATIONS);
    w->n_iterations = n_iterations ? tgi_tape_value(tape, n_iterations) : 0;
    bool ok = tgi_control_add_input(c, w->n_iterations);
    for (uint32_t i = 1; ok && i < w->node->n_inputs; i++)
        if (has_carried_gradient(w, i))
            ok = tgi_control_add_input(c, initial_gradient(w, i));
    return ok;
}

/* -- The body -------------------------------------------------------------- */

/* The forward iteration: n_iterations - 1 - counter. */
static tgi_ref build_iteration(const backward_loop *w, tgi_tape *inner,
                               tgi_ref counter)
{
    tgi_builder *b = &inner->b;
    const tgi_ref n_iterations = tgi_inner_capture(inner, w->n_iterations);
    const tgi_ref one = tgi_build_number(
        b, TG_I64, TG_I64, (tgi_number){TGI_NUMBER_INT, {.i = 1}});
    return tgi_build_2(b, TGI_OP_SUB,
                       tgi_build_2(b, TGI_OP_SUB, n_iterations, one), counter);
}

/* Seeds values saved per iteration with the gradients of this iteration. */
static bool seed_saved_values(const backward_loop *w, tgi_tape *inner)
{
    tgi_tape *tape = w->tape;
    tgi_ref ref = tgi_tape_next_result(tape, tape->next[w->ref]);
    for (; ref; ref = tgi_tape_next_result(tape, tape->next[ref])) {
        const int64_t index = tgi_result_index(tape, ref);
        if (index < w->attr->n_carried)
            continue;
        const tgi_ref value = inner->graph->results.data[index];
        const tgi_ref gradient = tgi_tape_saved_element_of(
            inner, tape->gradients[ref], value, MAX_RECOMPUTE_DEPTH);
        if (!gradient || !tgi_tape_add(inner, value, gradient))
            return false;
    }
    return true;
}

static bool seed_results(const backward_loop *w, tgi_tape *inner,
                         const tg_value *in)
{
    size_t n = 1;
    bool ok = true;
    for (uint32_t i = 1; ok && i < w->node->n_inputs; i++) {
        if (!has_carried_gradient(w, i))
            continue;
        /* A body result may be the parameter of another input: gradients add
           up. */
        ok = tgi_tape_add(inner,
                          is_carried(w, i)
                              ? inner->graph->results.data[i - 1]
                              : inner->graph->params.data[i].node,
                          in[n++].node);
    }
    return ok && seed_saved_values(w, inner) && tgi_stack_gradients_seed(inner);
}

static bool return_input_gradients(const backward_loop *w, tgi_tape *inner)
{
    bool ok = true;
    for (uint32_t i = 1; ok && i < w->node->n_inputs; i++) {
        if (!has_carried_gradient(w, i))
            continue;
        const tgi_ref param = inner->graph->params.data[i].node;
        tgi_ref gradient = inner->gradients[param];
        if (!gradient)
            gradient = tgi_build_zeros_like(&inner->b, inner->graph, param);
        ok = gradient && tgi_vec_push(&inner->t->results, gradient);
        if (gradient && !ok)
            tgi_error_memory();
    }
    return ok;
}

/* -- Tracing --------------------------------------------------------------- */

static void trace_backward_body(tg_trace *t, const tg_value *in, void *user)
{
    backward_loop *w = user;
    tgi_tape inner;
    bool ok = tgi_inner_begin(&inner, w->tape, w->ref, 0, t);
    for (uint32_t i = 1; ok && i < w->node->n_inputs; i++)
        tgi_inner_activate_input(&inner, i, w->is_active[i]);
    inner.iteration = ok ? build_iteration(w, &inner, in[0].node) : 0;
    ok = inner.iteration && tgi_tape_activate(&inner) &&
         seed_results(w, &inner, in) && tgi_tape_backward(&inner) &&
         return_input_gradients(w, &inner) &&
         tgi_stack_gradients_return(&inner, &w->stack_gradients);
    w->n_results = t->results.n;
    if (!ok)
        tgi_trace_record_error(t);
    tgi_tape_deinit(&inner);
}

/* -- Results --------------------------------------------------------------- */

/* Accumulated gradients first: they started from the existing gradient, and
   replace it. */
static bool receive_gradients(const backward_loop *w, const tg_value *results)
{
    tgi_tape *tape = w->tape;
    bool ok = true;
    for (int adds = 0; adds < 2; adds++) {
        size_t n = 0;
        for (uint32_t i = 1; ok && i < w->node->n_inputs; i++) {
            const tgi_ref input = w->node->inputs[i];
            if (!has_carried_gradient(w, i))
                continue;
            const tgi_ref gradient = results[n++].node;
            const bool is_sum = !is_carried(w, i) && !is_duplicate(w, i);
            if (is_sum == adds)
                continue;
            if (is_sum)
                tape->gradients[input] = 0;
            ok = tgi_tape_add(tape, input, gradient);
        }
    }
    return ok;
}

bool tgi_tape_loop(tgi_tape *tape, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(tape->graph, ref);
    backward_loop w = {
        .tape = tape, .ref = ref, .node = node, .attr = node->attr};
    tgi_control c = {0};
    tg_value *results = NULL;
    bool ok = find_active_inputs(&w) &&
              tgi_control_begin(&c, "gradients", tgi_node_site(node)) &&
              add_loop_inputs(&w, &c);
    if (ok) {
        const size_t n = c.n_fixed - 1;
        tg_trace *t =
            tgi_control_open(&c, "gradient", trace_backward_body, &w, 0);
        ok = t && tgi_control_close(&c, t);
        const size_t n_results = w.n_results;
        results = tgi_alloc_zero((n_results + 1) * sizeof(*results));
        if (!results) {
            tgi_error_memory();
            tgi_trace_record_error(tape->t);
        }
        if (ok && results) {
            tgi_control_finish(&c, TGI_OP_LOOP, n, 0, results, n_results);
            ok = tape->t->status == TG_OK && receive_gradients(&w, results) &&
                 tgi_stack_gradients_receive(tape, &w.stack_gradients,
                                             results + n, true);
        }
        ok = ok && results;
    }
    tgi_control_end(&c);
    tgi_free(results);
    tgi_free(w.is_active);
    tgi_vec_deinit(&w.stack_gradients);
    return ok;
}
