/* SPDX-License-Identifier: MIT */
/*
 * batch_host.c - rules of host operations, which treat leading axes alike, and
 * of calls with a custom gradient, which remain calls: the gradient is the
 * user's callback, batched.
 *
 * A host operation can fail, so elements for which it does not run get the
 * inputs of one for which it does; if there is none, it is not called.
 */
#include <string.h>

#include "batch.h"
#include "tgjit/ops.h"
#include "tgjit/vmap.h"

/* -- Elements that run ----------------------------------------------------- */

/* The position of every element that runs, and of the first one for others. */
static tgi_ref build_stand_ins(tgi_batch *s)
{
    const tgi_ref first =
        tgi_build_arg_reduce(&s->b, TGI_OP_ARGMAX, s->mask, 0);
    const tgi_ref own =
        tgi_build_iota(&s->b, TG_I64, 1, &s->extent, 0);
    return tgi_build_3(&s->b, TGI_OP_SELECT, s->mask, own, first);
}

/* A batched input with the elements that run in place of the others. */
static tgi_ref replace_masked(tgi_batch *s, tgi_ref x, tgi_ref stand_ins)
{
    return stand_ins ? tgi_build_gather(&s->b, x, stand_ins, 0,
                                        TG_GATHER_ZERO)
                     : x;
}

/* -- Host operations ------------------------------------------------------- */

/* Adds the node and its results; `inputs` have a batch. */
static bool add_host(tgi_batch *s, const tgi_node *node, const tgi_ref *inputs,
                     tgi_ref *out_results)
{
    tgi_attr_host *attr = tgi_alloc(node->attr_bytes);
    if (!attr)
        return tgi_batch_fail_memory(s);
    memcpy(attr, node->attr, node->attr_bytes);
    bool ok = true;
    for (int64_t i = 0; ok && i < attr->n_outputs; i++) {
        attr->outputs[i].shape = tgi_batch_extend(
            s, tgi_shape_of(s->in->dims, attr->outputs[i].shape));
        ok = attr->outputs[i].shape != 0;
    }
    const tgi_ref host =
        ok ? tgi_batch_add(s, node, node->shape, inputs, attr) : 0;
    ok = host != 0;
    for (int64_t i = 0; ok && i < attr->n_outputs; i++) {
        const tgi_attr_index index = {i};
        out_results[i] = tgi_build_node(
            &s->b, TGI_OP_RESULT, (int)attr->outputs[i].dtype,
            attr->outputs[i].shape, &host, 1, &index, sizeof(index));
        ok = out_results[i] != 0;
    }
    tgi_free(attr);
    return ok;
}

/* A branch of a masked host operation: calls it, or returns zeros. */
typedef struct masked_host {
    const tgi_batch *s;
    const tgi_node *node;
    bool calls;
} masked_host;

static bool build_zeros(tgi_batch *s, const tgi_host_output *output,
                        tgi_ref *out)
{
    const tgi_shape *element = tgi_shape_of(s->in->dims, output->shape);
    const tgi_ref zero =
        tgi_build_number(&s->b, (tg_dtype)output->dtype, TG_I64,
                         (tgi_number){TGI_NUMBER_INT, {.i = 0}});
    *out = zero ? tgi_build_broadcast(&s->b, zero, element->rank,
                                      element->dims)
                : 0;
    *out = tgi_batch_repeat(s, (tgi_batched){*out, false});
    return *out != 0;
}

static void trace_host_branch(tg_trace *t, const tg_value *in, void *user)
{
    const masked_host *h = user;
    const tgi_attr_host *attr = h->node->attr;
    tgi_batch s = {
        .t = t, .b = h->s->b, .in = h->s->in, .extent = h->s->extent};
    s.b.graph = t->graph;
    tgi_ref *inputs = tgi_alloc((h->node->n_inputs + 1) * sizeof(*inputs));
    tgi_ref *results =
        tgi_alloc(((size_t)attr->n_outputs + 1) * sizeof(*results));
    bool ok = (inputs && results) || tgi_batch_fail_memory(&s);
    for (uint32_t i = 0; ok && i < h->node->n_inputs; i++)
        inputs[i] = in[i].node;
    if (ok && h->calls)
        ok = add_host(&s, h->node, inputs, results);
    for (int64_t i = 0; ok && i < attr->n_outputs; i++) {
        ok = h->calls || build_zeros(&s, &attr->outputs[i], &results[i]);
        if (ok && !tgi_vec_push(&t->results, results[i]))
            ok = tgi_batch_fail_memory(&s);
    }
    if (!ok)
        tgi_trace_record_error(t);
    tgi_free(inputs);
    tgi_free(results);
}

static bool add_masked_host(tgi_batch *s, const tgi_node *node,
                            const tgi_ref *inputs, tgi_ref *out_results)
{
    const size_t n = tgi_node_n_results(node);
    tg_value *values = tgi_alloc_zero((n + 1) * sizeof(*values));
    tgi_control c;
    masked_host h = {s, node, false};
    const tgi_ref is_any =
        tgi_build_cast(&s->b, tgi_batch_any(s, s->mask), TG_I64);
    bool ok = tgi_control_begin(&c, "vmap", s->b.site) &&
              (values || tgi_batch_fail_memory(s)) && tgi_control_add_input(&c, is_any);
    for (uint32_t i = 0; ok && i < node->n_inputs; i++)
        ok = tgi_control_add_input(&c, inputs[i]);
    for (int k = 0; ok && k < 2; k++) {
        h.calls = k == 1;
        tg_trace *t = tgi_control_open(&c, k ? "host" : "none",
                                       trace_host_branch, &h, 1);
        ok = t && tgi_control_close(&c, t);
    }
    if (ok) {
        tgi_control_finish(&c, TGI_OP_SWITCH, 0, 0, values, n);
        ok = s->t->status == TG_OK;
    }
    for (size_t i = 0; ok && i < n; i++)
        out_results[i] = values[i].node;
    tgi_control_end(&c);
    tgi_free(values);
    return ok;
}

tgi_batched tgi_batch_host(tgi_batch *s, const tgi_node *node)
{
    const size_t n = tgi_node_n_results(node);
    tgi_ref *inputs = tgi_alloc((node->n_inputs + 1) * sizeof(*inputs));
    tgi_ref *refs = tgi_alloc((n + 1) * sizeof(*refs));
    tgi_batched *results = tgi_alloc((n + 1) * sizeof(*results));
    bool ok = (inputs && refs && results) || tgi_batch_fail_memory(s);
    const tgi_ref stand_ins = ok && s->mask ? build_stand_ins(s) : 0;
    for (uint32_t i = 0; ok && i < node->n_inputs; i++)
        inputs[i] = replace_masked(
            s, tgi_batch_repeat(s, tgi_batch_input(s, node, i)), stand_ins);
    ok = ok && (s->mask ? add_masked_host(s, node, inputs, refs)
                        : add_host(s, node, inputs, refs));
    for (size_t i = 0; ok && i < n; i++)
        results[i] = tgi_batch_of(refs[i]);
    ok = ok && tgi_batch_set_results(s, s->at, results, n);
    tgi_free(inputs);
    tgi_free(refs);
    tgi_free(results);
    return (tgi_batched){ok, false};
}

/* -- Custom gradients ------------------------------------------------------ */

/* The gradient of a batched call; in the arena of the graph that holds it. */
typedef struct batched_gradient {
    tgi_custom_gradient original;
    size_t n_args, n_results;
    bool is_batched[]; /* by argument, then by result */
} batched_gradient;

/* Receives the arguments, the results and their gradients, and returns the
   gradients of the arguments: summed over the batch for those without. */
static void batch_backward(tg_trace *t, const tg_value *in, void *user)
{
    const batched_gradient *g = user;
    const tg_site site = {NULL, 0};
    const size_t n = g->n_args + 2 * g->n_results;
    tg_operand *args = tgi_alloc((n + 1) * sizeof(*args));
    int *axes = tgi_alloc((n + 1) * sizeof(*axes));
    tg_value *out = tgi_alloc_zero((g->n_args + 1) * sizeof(*out));
    if (!args || !axes || !out) {
        tgi_error_memory();
        tgi_trace_record_error(t);
    } else {
        for (size_t i = 0; i < n; i++) {
            const size_t k = i < g->n_args + g->n_results
                                 ? i
                                 : i - g->n_results;
            args[i] = tg_in_value(in[i]);
            axes[i] = g->is_batched[k] ? 0 : TG_UNBATCHED;
        }
        tg_vmap_at(g->original.backward, g->original.user, axes, NULL, args, n,
                   out, g->n_args, site);
        for (size_t i = 0; i < g->n_args; i++) {
            const tg_operand gradient = tg_in_value(out[i]);
            args[i] = g->is_batched[i]
                          ? gradient
                          : tg_in_value(tg_sum_at(
                                gradient, tg_axes_of(1, &(int){0}), site));
        }
        tg_return_at(t, args, g->n_args, site);
    }
    tgi_free(args);
    tgi_free(axes);
    tgi_free(out);
}

/* The callee with a batch, as a region that shares the extents of the
   caller. */
typedef struct batched_callee {
    tgi_batch *s;
    const tgi_graph *callee;
    const tgi_batched *params;
    tgi_batched *results;
} batched_callee;

static void trace_callee(tg_trace *t, const tg_value *in, void *user)
{
    const batched_callee *w = user;
    const size_t n = w->callee->params.n;
    tgi_batched *params = tgi_alloc((n + 1) * sizeof(*params));
    bool ok = params != NULL;
    if (!ok)
        tgi_error_memory();
    for (size_t i = 0; ok && i < n; i++)
        params[i] = (tgi_batched){in[i].node, w->params[i].is_batched};
    ok = ok && tgi_batch_graph(t, w->s->extent, 0, w->callee, params,
                               w->s->b.site, w->results);
    for (size_t i = 0; ok && i < w->callee->results.n; i++)
        if (!tgi_vec_push(&t->results, w->results[i].ref)) {
            tgi_error_memory();
            ok = false;
        }
    if (!ok)
        tgi_trace_record_error(t);
    tgi_free(params);
}

/* The number of arguments: variables that a callee captured come last. */
static size_t count_args(const tgi_batch *s, const tgi_node *node)
{
    size_t n = node->n_inputs;
    while (n > 0 &&
           tgi_graph_node(s->in, node->inputs[n - 1])->op == TGI_OP_VARIABLE)
        n--;
    return n;
}

static bool add_custom_call(tgi_batch *s, const tgi_node *node,
                            const batched_callee *w, tgi_graph *graph)
{
    const tgi_custom_gradient *original = tgi_node_custom_gradient(node);
    const size_t n_args = count_args(s, node), n = w->callee->results.n;
    batched_gradient *gradient =
        tgi_arena_alloc(&s->b.graph->arena,
                        sizeof(*gradient) + (n_args + n) * sizeof(bool));
    tgi_ref *inputs = tgi_alloc((node->n_inputs + 1) * sizeof(*inputs));
    bool ok = (gradient && inputs) || tgi_batch_fail_memory(s);
    for (uint32_t i = 0; ok && i < node->n_inputs; i++)
        inputs[i] = w->params[i].ref;
    if (ok) {
        gradient->original = *original;
        gradient->n_args = n_args;
        gradient->n_results = n;
        for (size_t i = 0; i < n_args + n; i++)
            gradient->is_batched[i] = i < n_args
                                          ? w->params[i].is_batched
                                          : w->results[i - n_args].is_batched;
        const tgi_attr_call attr = {
            .callee = graph, .gradient = {batch_backward, gradient}};
        const tgi_ref call =
            tgi_batch_add(s, node, node->shape, inputs, &attr);
        ok = call != 0;
        for (size_t i = 0; ok && i < n; i++) {
            w->results[i].ref =
                tgi_region_result(s->b.graph, call, (int64_t)i);
            ok = w->results[i].ref != 0;
        }
        ok = ok &&
             tgi_batch_set_results(s, s->at, w->results, n);
    }
    tgi_free(inputs);
    return ok;
}

tgi_batched tgi_batch_custom_call(tgi_batch *s, const tgi_node *node,
                                  const tgi_graph *callee)
{
    const size_t n = callee->params.n;
    tgi_batched *params = tgi_alloc((n + 1) * sizeof(*params));
    tgi_batched *results =
        tgi_alloc((callee->results.n + 1) * sizeof(*results));
    bool ok = (params && results) || tgi_batch_fail_memory(s);
    batched_callee w = {s, callee, params, results};
    tgi_control c;
    const tgi_ref stand_ins = ok && s->mask ? build_stand_ins(s) : 0;
    for (size_t i = 0; ok && i < n; i++) {
        params[i] = tgi_batch_input(s, node, (uint32_t)i);
        if (params[i].is_batched)
            params[i].ref = replace_masked(s, params[i].ref, stand_ins);
    }
    ok = tgi_control_begin(&c, "vmap", s->b.site) && ok;
    for (size_t i = 0; ok && i < n; i++)
        ok = tgi_control_add_input(&c, params[i].ref);
    for (size_t i = 0; ok && i < callee->checks.n; i++)
        ok = tgi_graph_add_check(s->b.graph, callee->checks.data[i]);
    if (ok) {
        tg_trace *t =
            tgi_control_open(&c, callee->name, trace_callee, &w, 0);
        ok = t && tgi_control_close(&c, t) &&
             add_custom_call(s, node, &w, c.graphs.data[0]);
    }
    tgi_control_end(&c);
    tgi_free(params);
    tgi_free(results);
    return (tgi_batched){ok, false};
}
