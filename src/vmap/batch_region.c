/* SPDX-License-Identifier: MIT */
/*
 * batch_region.c - rules of calls, branches and loops.
 *
 * A call is inlined. A branch whose number is the same for all elements remains
 * one; else all graphs are built, each under the mask of its elements, and the
 * results are selected. A loop whose elements run different numbers of
 * iterations carries the mask of those that are not done; it ends when none is
 * left, and the others keep their values.
 */
#include <string.h>

#include "batch.h"
#include "pass/callee_import.h"

/* -- Regions --------------------------------------------------------------- */

/* A SWITCH or LOOP being built with a batch. Its parameters are those of the
   node, then the mask if there is one, then others that the rule adds. */
typedef struct region {
    tgi_batch *s;
    const tgi_node *node;
    const tgi_graph *graph;  /* being built */
    const bool *params;      /* by input: has a batch */
    const bool *results;     /* by result */
    size_t mask;             /* parameter; 0: none */
} region;

/* Builds `graph` with the parameters `in` of a region of trace `t`. */
static bool build_inside(const region *r, tg_trace *t, const tgi_graph *graph,
                         const tgi_ref *in, tgi_ref mask, tgi_batched *out)
{
    tgi_batched *params = tgi_alloc((graph->params.n + 1) * sizeof(*params));
    if (!params) {
        tgi_error_memory();
        tgi_trace_record_error(t);
        return false;
    }
    for (size_t i = 0; i < graph->params.n; i++)
        params[i] = (tgi_batched){in[i], r->params[i]};
    const bool ok = tgi_batch_graph(t, r->s->extent, mask, graph, params,
                                    r->s->b.site, out);
    tgi_free(params);
    return ok;
}

/* The builder of a region of trace `t`, for parts of rules. */
static tgi_batch builder_of(const region *r, tg_trace *t)
{
    tgi_batch inner = {.t = t, .b = r->s->b, .extent = r->s->extent};
    inner.b.graph = t->graph;
    return inner;
}

static bool return_ref(tg_trace *t, tgi_ref ref)
{
    if (ref && tgi_vec_push(&t->results, ref))
        return true;
    if (ref)
        tgi_error_memory();
    tgi_trace_record_error(t);
    return false;
}

/* Returns results, with a batch where `wanted` says so. */
static bool return_results(tgi_batch *inner, const tgi_batched *results,
                           size_t n, const bool *wanted)
{
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++)
        ok = return_ref(inner->t, wanted[i]
                                      ? tgi_batch_repeat(inner, results[i])
                                      : results[i].ref);
    return ok;
}

static void refs_of(const tg_value *in, size_t n, tgi_ref *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = in[i].node;
}

/* The callback of a graph whose results are those of the node. */
static void trace_region(tg_trace *t, const tg_value *in, void *user)
{
    const region *r = user;
    const size_t n_params = r->node->n_inputs, n = r->graph->results.n;
    tgi_ref *refs = tgi_alloc((n_params + 1) * sizeof(*refs));
    tgi_batched *results = tgi_alloc((n + 1) * sizeof(*results));
    if (!refs || !results) {
        tgi_error_memory();
        tgi_trace_record_error(t);
    } else {
        tgi_batch inner = builder_of(r, t);
        refs_of(in, n_params, refs);
        if (build_inside(r, t, r->graph, refs,
                         r->mask ? in[r->mask].node : 0, results))
            return_results(&inner, results, n, r->results);
    }
    tgi_free(refs);
    tgi_free(results);
}

/* -- What a node with results becomes -------------------------------------- */

/* Which inputs have a batch, and which results will; NULL on failure, which
   sticks. */
typedef struct plan {
    bool *inputs, *results;
    size_t n_results;
    bool differ;
} plan;

static bool plan_node(tgi_batch *s, const tgi_node *node, plan *p)
{
    *p = (plan){.n_results = tgi_node_n_results(node)};
    p->inputs = tgi_alloc_zero((size_t)node->n_inputs + 1);
    p->results = tgi_alloc_zero(p->n_results + 1);
    if (!p->inputs || !p->results)
        return tgi_batch_fail_memory(s);
    for (uint32_t i = 0; i < node->n_inputs; i++)
        p->inputs[i] = tgi_batch_input(s, node, i).is_batched;
    const tgi_batch_verdict verdict = tgi_batch_infer_node(
        node, p->inputs, s->mask != 0, p->results, &p->differ);
    if (verdict == TGI_BATCH_SEQUENCE)
        tgi_build_fail(&s->b, TG_ERROR_INTERNAL, NULL, 0,
                       "a region that was to be sequential");
    return verdict == TGI_BATCH_OK;
}

static void plan_free(plan *p)
{
    tgi_free(p->inputs);
    tgi_free(p->results);
}

/* The refs of RESULT nodes, as results of `old`. */
static bool keep_results(tgi_batch *s, tgi_ref old, const tg_value *values,
                         const plan *p)
{
    tgi_batched *results = tgi_alloc((p->n_results + 1) * sizeof(*results));
    if (!results)
        return tgi_batch_fail_memory(s);
    for (size_t i = 0; i < p->n_results; i++)
        results[i] = (tgi_batched){values[i].node, p->results[i]};
    const bool ok = tgi_batch_set_results(s, old, results, p->n_results);
    tgi_free(results);
    return ok;
}

/* -- Calls ----------------------------------------------------------------- */

/* The graph of a callee over the extents of the caller; NULL on failure. */
static tgi_graph *import_callee(tgi_batch *s, const tgi_node *node)
{
    const tgi_graph *callee = tgi_batch_callee(node);
    if (callee->dims == s->in->dims)
        return tgi_graph_retain(callee);
    tgi_graph *graph = NULL;
    tgi_import import;
    if (!tgi_import_init(&import, callee, s->in->dims))
        return NULL;
    if (tgi_import_extents(&import, s->in, node) == TG_OK)
        tgi_import_graph(&import, callee, &graph);
    tgi_import_deinit(&import);
    return graph;
}

static bool inline_call(tgi_batch *s, const tgi_node *node,
                        const tgi_graph *callee)
{
    const size_t n = callee->results.n;
    tgi_batched *params = tgi_alloc((node->n_inputs + 1) * sizeof(*params));
    tgi_batched *results = tgi_alloc((n + 1) * sizeof(*results));
    bool ok = params && results;
    if (!ok)
        tgi_batch_fail_memory(s);
    for (size_t i = 0; ok && i < callee->checks.n; i++)
        ok = tgi_graph_add_check(s->b.graph, callee->checks.data[i]);
    for (uint32_t i = 0; ok && i < node->n_inputs; i++)
        params[i] = tgi_batch_input(s, node, i);
    ok = ok && tgi_batch_graph(s->t, s->extent, s->mask, callee, params,
                               s->b.site, results) &&
         tgi_batch_set_results(s, s->at, results, n);
    tgi_free(params);
    tgi_free(results);
    return ok;
}

tgi_batched tgi_batch_call(tgi_batch *s, const tgi_node *node)
{
    tgi_graph *callee = import_callee(s, node);
    tgi_batched any = {0, false};
    if (callee && tgi_node_custom_gradient(node))
        any = tgi_batch_custom_call(s, node, callee);
    else if (callee && inline_call(s, node, callee))
        any.ref = 1;
    tgi_graph_release(callee);
    return any;
}

/* -- Branches -------------------------------------------------------------- */

/* The inputs of a region: those of the node, and the mask. */
static bool add_inputs(tgi_batch *s, tgi_control *c, const tgi_node *node,
                       uint32_t from, uint32_t to)
{
    bool ok = true;
    for (uint32_t i = from; ok && i < to; i++)
        ok = tgi_control_add_input(c, tgi_batch_input(s, node, i).ref);
    return ok;
}

static bool build_common_switch(tgi_batch *s, const tgi_node *node,
                                const plan *p)
{
    const tgi_attr_regions *attr = node->attr;
    tgi_control c;
    region r = {.s = s,
                .node = node,
                .params = p->inputs,
                .results = p->results,
                .mask = s->mask ? node->n_inputs : 0};
    bool ok = tgi_control_begin(&c, "vmap", s->b.site) &&
              add_inputs(s, &c, node, 0, node->n_inputs) &&
              (!s->mask || tgi_control_add_input(&c, s->mask));
    for (int64_t i = 0; ok && i < attr->n_graphs; i++) {
        r.graph = attr->graphs[i];
        tg_trace *t = tgi_control_open(&c, r.graph->name, trace_region, &r, 0);
        ok = t && tgi_control_close(&c, t);
    }
    tg_value *values = tgi_alloc_zero((p->n_results + 1) * sizeof(*values));
    if (ok && values) {
        tgi_control_finish(&c, TGI_OP_SWITCH, 0, attr->flags, values,
                           p->n_results);
        ok = s->t->status == TG_OK &&
             keep_results(s, s->at, values, p);
    }
    tgi_control_end(&c);
    tgi_free(values);
    return ok && (values || tgi_batch_fail_memory(s));
}

/* Selects between results by a mask. */
static tgi_batched select_result(tgi_batch *s, tgi_ref mask, tgi_batched yes,
                                 tgi_batched no)
{
    if (yes.ref == no.ref && yes.is_batched == no.is_batched)
        return tgi_batch_of(tgi_batch_repeat(s, yes));
    const tgi_ref a = tgi_batch_repeat(s, yes), b = tgi_batch_repeat(s, no);
    if (!a || !b)
        return (tgi_batched){0, true};
    return tgi_batch_of(
        tgi_build_3(&s->b, TGI_OP_SELECT,
                    tgi_batch_spread(s, mask, tgi_batch_shape(s, a)), a, b));
}

static bool build_selected_switch(tgi_batch *s, const tgi_node *node,
                                  const plan *p)
{
    const tgi_attr_regions *attr = node->attr;
    tgi_batched *params = tgi_alloc((node->n_inputs + 1) * sizeof(*params));
    tgi_batched *results = tgi_alloc((p->n_results + 1) * sizeof(*results));
    tgi_batched *chosen = tgi_alloc((p->n_results + 1) * sizeof(*chosen));
    bool ok = params && results && chosen;
    if (!ok)
        tgi_batch_fail_memory(s);
    for (uint32_t i = 0; ok && i < node->n_inputs; i++)
        params[i] = tgi_batch_input(s, node, i);
    const tgi_ref last = tgi_batch_i64(s, attr->n_graphs - 1);
    tgi_ref index = ok ? params[0].ref : 0;
    index = tgi_build_2(
        &s->b, TGI_OP_MIN,
        tgi_build_2(&s->b, TGI_OP_MAX, index, tgi_batch_i64(s, 0)), last);
    for (int64_t k = 0; ok && k < attr->n_graphs; k++) {
        const tgi_ref is_here =
            tgi_build_2(&s->b, TGI_OP_EQ, index, tgi_batch_i64(s, k));
        ok = is_here &&
             tgi_batch_graph(s->t, s->extent,
                             tgi_batch_and(s, s->mask, is_here),
                             attr->graphs[k], params, s->b.site, results);
        for (size_t i = 0; ok && i < p->n_results; i++) {
            chosen[i] = k == 0 ? results[i]
                               : select_result(s, is_here, results[i],
                                               chosen[i]);
            if (k == 0)
                chosen[i] = tgi_batch_of(tgi_batch_repeat(s, chosen[i]));
            ok = chosen[i].ref != 0;
        }
    }
    ok = ok && tgi_batch_set_results(s, s->at, chosen, p->n_results);
    tgi_free(params);
    tgi_free(results);
    tgi_free(chosen);
    return ok;
}

tgi_batched tgi_batch_switch(tgi_batch *s, const tgi_node *node)
{
    plan p;
    const bool ok = plan_node(s, node, &p) &&
                    (p.inputs[0] ? build_selected_switch(s, node, &p)
                                 : build_common_switch(s, node, &p));
    plan_free(&p);
    return (tgi_batched){ok, false};
}

/* -- Loops of equally many iterations -------------------------------------- */

/* The initial values, repeated if the loop makes them differ. */
static bool add_carried(tgi_batch *s, tgi_control *c, const tgi_node *node,
                        const plan *p)
{
    const tgi_attr_regions *attr = node->attr;
    bool ok = true;
    for (int64_t k = 0; ok && k < attr->n_carried; k++) {
        const tgi_batched initial =
            tgi_batch_input(s, node, (uint32_t)k + 1);
        ok = tgi_control_add_input(c, p->results[k]
                                          ? tgi_batch_repeat(s, initial)
                                          : initial.ref);
        p->inputs[k + 1] = p->results[k];
    }
    return ok;
}

/* The values saved per iteration have the batch second. */
static bool move_saved(tgi_batch *s, tg_value *values, const plan *p,
                       int64_t n_carried)
{
    bool ok = true;
    for (size_t i = (size_t)n_carried; ok && i < p->n_results; i++) {
        if (!p->results[i])
            continue;
        const int rank = tgi_batch_shape(s, values[i].node)->rank;
        int perm[TG_MAX_RANK] = {1, 0};
        for (int k = 2; k < rank; k++)
            perm[k] = k;
        values[i].node =
            tgi_build_transpose(&s->b, values[i].node, rank, perm);
        ok = values[i].node != 0;
    }
    return ok;
}

/* Keeps the results of a finished loop; `count` of them are those of the
   node. */
static bool keep_loop(tgi_batch *s, const tgi_node *node, tg_value *values,
                      const plan *p)
{
    const tgi_attr_regions *attr = node->attr;
    const tgi_ref old = s->at;
    return s->t->status == TG_OK &&
           move_saved(s, values, p, attr->n_carried) &&
           keep_results(s, old, values, p);
}

static bool build_common_loop(tgi_batch *s, const tgi_node *node,
                              const plan *p)
{
    const tgi_attr_regions *attr = node->attr;
    const uint32_t n_fixed = (uint32_t)attr->n_carried + 1;
    static const bool test_result[] = {false};
    tgi_control c;
    region r = {.s = s,
                .node = node,
                .params = p->inputs,
                .mask = s->mask ? node->n_inputs : 0};
    bool ok = tgi_control_begin(&c, "vmap", s->b.site) &&
              add_inputs(s, &c, node, 0, 1) && add_carried(s, &c, node, p) &&
              add_inputs(s, &c, node, n_fixed, node->n_inputs) &&
              (!s->mask || tgi_control_add_input(&c, s->mask));
    for (int64_t i = 0; ok && i < attr->n_graphs; i++) {
        r.graph = attr->graphs[i];
        r.results = i == 0 ? p->results : test_result;
        tg_trace *t = tgi_control_open(&c, r.graph->name, trace_region, &r, 0);
        ok = t && tgi_control_close(&c, t);
    }
    tg_value *values = tgi_alloc_zero((p->n_results + 1) * sizeof(*values));
    if (ok && values) {
        tgi_control_finish(&c, TGI_OP_LOOP, (size_t)attr->n_carried,
                           attr->flags, values, p->n_results);
        ok = keep_loop(s, node, values, p);
    }
    tgi_control_end(&c);
    tgi_free(values);
    return ok && (values || tgi_batch_fail_memory(s));
}

/* -- Loops of different numbers of iterations ------------------------------ */

/*
 * The parameters: the iteration, the carried values, the mask of the elements
 * that are not done, the other inputs, the number of iterations of each.
 */
typedef struct masked_loop {
    region r;
    size_t n_carried;
    size_t n_iterations; /* parameter; 0: the same for all */
} masked_loop;

/* The refs of the node's own parameters among `in`. */
static void pick_params(const masked_loop *w, const tg_value *in, tgi_ref *out)
{
    size_t n = 0;
    for (size_t i = 0; n < w->r.node->n_inputs; i++)
        if (i != w->n_carried + 1)
            out[n++] = in[i].node;
}

/* The mask of elements that run iteration `iteration`, given those that were
   not done. `params` are those of the node. */
static tgi_ref build_active(const masked_loop *w, tgi_batch *inner,
                            tgi_ref active, tgi_ref n_iterations,
                            tgi_ref iteration, const tgi_ref *params)
{
    const tgi_attr_regions *attr = w->r.node->attr;
    if (n_iterations)
        active = tgi_batch_and(
            inner, active,
            tgi_build_2(&inner->b, TGI_OP_LT, iteration, n_iterations));
    if (attr->n_graphs == 1 || !active)
        return active;
    tgi_batched result;
    if (!build_inside(&w->r, inner->t, attr->graphs[1], params, active,
                      &result))
        return 0;
    return tgi_batch_and(inner, active, tgi_batch_repeat(inner, result));
}

static void trace_masked_test(tg_trace *t, const tg_value *in, void *user)
{
    const masked_loop *w = user;
    tgi_batch inner = builder_of(&w->r, t);
    return_ref(t, tgi_batch_any(&inner, in[w->n_carried + 1].node));
}

static bool build_masked_body(const masked_loop *w, tgi_batch *inner,
                              const tg_value *in, tgi_ref *params,
                              tgi_batched *results)
{
    tg_trace *t = inner->t;
    const tgi_attr_regions *attr = w->r.node->attr;
    const tgi_ref active = in[w->n_carried + 1].node;
    pick_params(w, in, params);
    bool ok =
        build_inside(&w->r, t, attr->graphs[0], params, active, results);
    for (size_t k = 0; ok && k < w->n_carried; k++) {
        const tgi_batched next = select_result(
            inner, active, results[k], tgi_batch_of(params[k + 1]));
        params[k + 1] = next.ref;
        ok = return_ref(t, next.ref);
    }
    if (!ok)
        return false;
    params[0] = tgi_build_2(&inner->b, TGI_OP_ADD, params[0],
                            tgi_batch_i64(inner, 1));
    return return_ref(
        t, build_active(w, inner, active,
                        w->n_iterations ? in[w->n_iterations].node : 0,
                        params[0], params));
}

static void trace_masked_body(tg_trace *t, const tg_value *in, void *user)
{
    const masked_loop *w = user;
    const tgi_attr_regions *attr = w->r.node->attr;
    const size_t n = attr->graphs[0]->results.n;
    tgi_ref *params = tgi_alloc((w->r.node->n_inputs + 1) * sizeof(*params));
    tgi_batched *results = tgi_alloc((n + 1) * sizeof(*results));
    tgi_batch inner = builder_of(&w->r, t);
    if (!params || !results)
        tgi_error_memory();
    if (!params || !results ||
        !build_masked_body(w, &inner, in, params, results))
        tgi_trace_record_error(t);
    tgi_free(params);
    tgi_free(results);
}

/* The largest of the numbers of iterations, at least 0. */
static tgi_ref build_most(tgi_batch *s, tgi_ref n_iterations)
{
    const tgi_ref zero = tgi_batch_i64(s, 0);
    return tgi_build_reduce(&s->b, TGI_OP_REDUCE_MAX,
                            tgi_build_pad(&s->b, n_iterations, 0, 0, 1, zero),
                            (tg_axes){.n = -1});
}

/* All elements that run the first iteration. */
static tgi_ref build_first_active(const masked_loop *w, tgi_batch *s,
                                  const tgi_control *c, tgi_ref n_iterations,
                                  tgi_ref *params)
{
    const tgi_ref all = tgi_build_number(
        &s->b, TG_BOOL, TG_BOOL, (tgi_number){TGI_NUMBER_INT, {.i = 1}});
    const tgi_ref active =
        s->mask ? s->mask
                : tgi_batch_repeat(s, (tgi_batched){all, false});
    const tgi_node *node = w->r.node;
    for (uint32_t i = 0; i < node->n_inputs; i++)
        params[i] = i > 0 && i <= w->n_carried
                        ? c->inputs.data[i]
                        : tgi_batch_input(s, node, i).ref;
    params[0] = tgi_batch_i64(s, 0);
    return build_active(w, s, active, n_iterations, params[0], params);
}

static bool add_masked_inputs(masked_loop *w, tgi_batch *s, tgi_control *c,
                              const plan *p, tgi_ref *params)
{
    const tgi_node *node = w->r.node;
    const tgi_batched n = tgi_batch_input(s, node, 0);
    const tgi_ref each = n.is_batched ? n.ref : 0;
    const uint32_t n_fixed = (uint32_t)w->n_carried + 1;
    p->inputs[0] = false; /* the iteration */
    bool ok = tgi_control_add_input(c, each ? build_most(s, each) : n.ref) &&
              add_carried(s, c, node, p) &&
              tgi_control_add_input(
                  c, build_first_active(w, s, c, each, params)) &&
              add_inputs(s, c, node, n_fixed, node->n_inputs);
    if (ok && each) {
        w->n_iterations = c->n_fixed;
        ok = tgi_control_add_input(c, each);
    }
    return ok;
}

static bool build_masked_loop(tgi_batch *s, const tgi_node *node,
                              const plan *p)
{
    const tgi_attr_regions *attr = node->attr;
    const size_t n = (size_t)attr->n_carried;
    masked_loop w = {.r = {.s = s, .node = node, .params = p->inputs},
                     .n_carried = n};
    tgi_control c;
    tgi_ref *params = tgi_alloc((node->n_inputs + 1) * sizeof(*params));
    tg_value *values = tgi_alloc_zero((p->n_results + 1) * sizeof(*values));
    bool ok = tgi_control_begin(&c, "vmap", s->b.site) &&
              ((params && values) || tgi_batch_fail_memory(s)) &&
              add_masked_inputs(&w, s, &c, p, params);
    if (ok) {
        tg_trace *t =
            tgi_control_open(&c, "body", trace_masked_body, &w, 0);
        ok = t && tgi_control_close(&c, t);
    }
    if (ok) {
        tg_trace *t =
            tgi_control_open(&c, "test", trace_masked_test, &w, 0);
        ok = t && tgi_control_close(&c, t);
    }
    if (ok) {
        tgi_control_finish(&c, TGI_OP_LOOP, n + 1, attr->flags, values,
                           p->n_results);
        ok = keep_loop(s, node, values, p);
    }
    tgi_control_end(&c);
    tgi_free(params);
    tgi_free(values);
    return ok;
}

tgi_batched tgi_batch_loop(tgi_batch *s, const tgi_node *node)
{
    plan p;
    const bool ok = plan_node(s, node, &p) &&
                    (p.differ ? build_masked_loop(s, node, &p)
                              : build_common_loop(s, node, &p));
    plan_free(&p);
    return (tgi_batched){ok, false};
}
