/* SPDX-License-Identifier: MIT */
/*
 * gradient_loop.c - back through a loop: a second one, from the last trip to
 * the first. It carries the gradients of what the first has carried, and the
 * sums over all trips of the gradients of everything else, which begin with
 * what other users have added already.
 */
#include <string.h>

#include "gradient/gradient_region.h"

/* Of expressions over all trips that are computed trip by trip. */
enum { MOST_DEPTH = 3 };

typedef struct way_back {
    tgi_tape *tape;
    tgi_ref ref;
    const tgi_node *node;
    const tgi_attr_regions *attr;
    bool *is_active; /* by input: has a gradient */
    tgi_ref trips;   /* done by the first loop; in tape->t's graph */
    tgi_stack_gradients slots; /* that the second one saves */
    size_t n_results;     /* of its body */
} way_back;

static bool is_carried(const way_back *w, uint32_t i)
{
    return i > 0 && i <= w->attr->n_carried;
}

/* True for an input that is what another loop has saved: it grows. */
static bool grows(const way_back *w, uint32_t i)
{
    return tgi_shape_is_unbounded(
        tgi_graph_shape(w->tape->graph, w->node->inputs[i]));
}

/* True if the second loop carries a gradient for the input. */
static bool is_summed(const way_back *w, uint32_t i)
{
    return w->is_active[i] && !grows(w, i);
}

/* True if an input in front of i, no carried one, is the same. */
static bool is_repeated(const way_back *w, uint32_t i)
{
    for (uint32_t k = (uint32_t)w->attr->n_carried + 1; k < i; k++)
        if (w->node->inputs[k] == w->node->inputs[i])
            return true;
    return false;
}

/* -- Which inputs ---------------------------------------------------------- */

static bool find_active(way_back *w)
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
            tgi_dtype_is(input->dtype, TGI_CLASS_FLOAT);
    }
    tgi_free(results);
    if (!ok)
        tgi_trace_record_error(tape->t);
    return ok;
}

/* What the second loop begins with for input i. */
static tgi_ref first_gradient(const way_back *w, uint32_t i)
{
    tgi_tape *tape = w->tape;
    tgi_ref gradient = 0;
    if (!is_carried(w, i)) {
        gradient = is_repeated(w, i) ? 0 : tape->gradients[w->node->inputs[i]];
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

static bool add_inputs(way_back *w, tgi_control *c)
{
    tgi_tape *tape = w->tape;
    tgi_ref trips = w->node->inputs[0];
    if (w->attr->n_graphs > 1)
        trips = tgi_region_result(tape->graph, w->ref, TGI_RESULT_ITERATIONS);
    w->trips = trips ? tgi_tape_value(tape, trips) : 0;
    bool ok = tgi_control_add_input(c, w->trips);
    for (uint32_t i = 1; ok && i < w->node->n_inputs; i++)
        if (is_summed(w, i))
            ok = tgi_control_add_input(c, first_gradient(w, i));
    return ok;
}

/* -- The body -------------------------------------------------------------- */

/* The trip that is gone back through: trips - 1 - counter. */
static tgi_ref find_trip(const way_back *w, tgi_tape *inner, tgi_ref counter)
{
    tgi_builder *b = &inner->b;
    const tgi_ref trips = tgi_inner_capture(inner, w->trips);
    const tgi_ref one = tgi_build_number(
        b, TG_I64, TG_I64, (tgi_number){TGI_NUMBER_INT, {.i = 1}});
    return tgi_build_2(b, TGI_OP_SUB, tgi_build_2(b, TGI_OP_SUB, trips, one),
                       counter);
}

/* Gradients of what was saved for each trip: that of this one. */
static bool seed_saved(const way_back *w, tgi_tape *inner)
{
    tgi_tape *tape = w->tape;
    tgi_ref ref = tgi_tape_next_result(tape, tape->next[w->ref]);
    for (; ref; ref = tgi_tape_next_result(tape, tape->next[ref])) {
        const int64_t index = tgi_result_index(tape, ref);
        if (index < w->attr->n_carried)
            continue;
        const tgi_ref value = inner->graph->results.data[index];
        const tgi_ref gradient = tgi_tape_saved_element_of(
            inner, tape->gradients[ref], value, MOST_DEPTH);
        if (!gradient || !tgi_tape_add(inner, value, gradient))
            return false;
    }
    return true;
}

static bool seed(const way_back *w, tgi_tape *inner, const tg_value *in)
{
    size_t n = 1;
    bool ok = true;
    for (uint32_t i = 1; ok && i < w->node->n_inputs; i++) {
        if (!is_summed(w, i))
            continue;
        /* A result may be what another input is: both count. */
        ok = tgi_tape_add(inner,
                          is_carried(w, i)
                              ? inner->graph->results.data[i - 1]
                              : inner->graph->params.data[i].node,
                          in[n++].node);
    }
    return ok && seed_saved(w, inner) && tgi_stack_gradients_seed(inner);
}

static bool return_gradients(const way_back *w, tgi_tape *inner)
{
    bool ok = true;
    for (uint32_t i = 1; ok && i < w->node->n_inputs; i++) {
        if (!is_summed(w, i))
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

/* -- Both ------------------------------------------------------------------ */

static void trace_body(tg_trace *t, const tg_value *in, void *user)
{
    way_back *w = user;
    tgi_tape inner;
    bool ok = tgi_inner_begin(&inner, w->tape, w->ref, 0, t);
    for (uint32_t i = 1; ok && i < w->node->n_inputs; i++)
        tgi_inner_activate_input(&inner, i, w->is_active[i]);
    inner.trip = ok ? find_trip(w, &inner, in[0].node) : 0;
    ok = inner.trip && tgi_tape_activate(&inner) && seed(w, &inner, in) &&
         tgi_tape_backward(&inner) && return_gradients(w, &inner) &&
         tgi_stack_gradients_return(&inner, &w->slots);
    w->n_results = t->results.n;
    if (!ok)
        tgi_trace_record_error(t);
    tgi_tape_deinit(&inner);
}

/* -- Afterwards ------------------------------------------------------------ */

/* Sums first: they have begun with what was there, and replace it. */
static bool take_results(const way_back *w, const tg_value *results)
{
    tgi_tape *tape = w->tape;
    bool ok = true;
    for (int adds = 0; adds < 2; adds++) {
        size_t n = 0;
        for (uint32_t i = 1; ok && i < w->node->n_inputs; i++) {
            const tgi_ref input = w->node->inputs[i];
            if (!is_summed(w, i))
                continue;
            const tgi_ref gradient = results[n++].node;
            const bool is_sum = !is_carried(w, i) && !is_repeated(w, i);
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
    way_back w = {.tape = tape, .ref = ref, .node = node, .attr = node->attr};
    tgi_control c = {0};
    tg_value *results = NULL;
    bool ok = find_active(&w) &&
              tgi_control_begin(&c, "gradients", tgi_node_site(node)) &&
              add_inputs(&w, &c);
    if (ok) {
        const size_t n = c.n_fixed - 1;
        tg_trace *t = tgi_control_open(&c, "gradient", trace_body, &w, 0);
        ok = t && tgi_control_close(&c, t);
        const size_t n_results = w.n_results;
        results = tgi_alloc_zero((n_results + 1) * sizeof(*results));
        if (!results) {
            tgi_error_memory();
            tgi_trace_record_error(tape->t);
        }
        if (ok && results) {
            tgi_control_finish(&c, TGI_OP_LOOP, n, 0, results, n_results);
            ok = tape->t->status == TG_OK && take_results(&w, results) &&
                 tgi_stack_gradients_receive(tape, &w.slots, results + n, true);
        }
        ok = ok && results;
    }
    tgi_control_end(&c);
    tgi_free(results);
    tgi_free(w.is_active);
    tgi_vec_deinit(&w.slots);
    return ok;
}
