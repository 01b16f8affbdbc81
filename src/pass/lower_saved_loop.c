/* SPDX-License-Identifier: MIT */
/*
 * lower_saved_loop.c - what a loop saves as stacks that it carries, and the number
 * of its trips as a counter. A loop that goes on with stacks which it is given
 * puts its first slice behind those that are there.
 */
#include <string.h>

#include "base/error.h"
#include "pass/lower_saved_state.h"

/* A loop whose graphs are its own and may be changed. */
typedef struct change {
    tgi_lowering *s;
    tgi_lowered_region *what;
    const tgi_node *node;   /* its inputs are new refs */
    tgi_attr_regions *attr; /* n_carried grows */
    tgi_lowering_refs initial;  /* of the values that are new */
    tgi_channel *own;           /* its stacks go on; or NULL */
    tgi_ref base;           /* own: in the body */
} change;

/* The stack with `value` in the place of the trip. */
static tgi_ref push(const change *c, tgi_builder *b, tgi_ref to, tgi_ref value)
{
    const tgi_graph *graph = b->graph;
    const tgi_shape *shape = tgi_graph_shape(graph, value);
    const tgi_node *node = tgi_graph_node(graph, to);
    tgi_dim dims[TG_MAX_RANK + 1] = {1};
    memcpy(dims + 1, shape->dims, (size_t)shape->rank * sizeof(*dims));
    const tgi_shape_ref one =
        tgi_shape_intern(graph->dims, shape->rank + 1, dims);
    tgi_ref update = one ? tgi_build_node(b, TGI_OP_RESHAPE, node->dtype, one,
                                          &value, 1, NULL, 0)
                         : 0;
    tgi_ref at = graph->params.data[0].node;
    if (c->base)
        at = tgi_build_2(b, TGI_OP_ADD, c->base, at);
    const tgi_ref in[] = {to, update, at};
    const tgi_attr_index attr = {0};
    return update && at
               ? tgi_build_node(b, TGI_OP_DYNAMIC_UPDATE, node->dtype,
                                node->shape, in, 3, &attr, sizeof(attr))
               : 0;
}

/* The number of the trip, plus one. */
static tgi_ref count(tgi_builder *b)
{
    const tgi_ref one = tgi_lower_i64_constant(b->graph, 1);
    return tgi_build_2(b, TGI_OP_ADD, b->graph->params.data[0].node, one);
}

/* One more carried value of the type, new in every graph; writes its
   parameter in the body. */
static bool carry(change *c, int dtype, tgi_shape_ref shape, tgi_ref initial,
                  tgi_ref *out_param)
{
    const size_t at = (size_t)c->attr->n_carried + 1;
    if (!initial || !tgi_vec_push(&c->initial, initial)) {
        tgi_error_memory();
        return false;
    }
    for (int64_t i = c->attr->n_graphs; i-- > 0;)
        if (!(*out_param =
                  tgi_lower_add_param(c->attr->graphs[i], at, dtype, shape)))
            return false;
    c->attr->n_carried++;
    return true;
}

/* The stack of a value that result `index` of the loop picks. */
static bool carry_stack(change *c, tgi_ref value, tgi_dim trips, int64_t index)
{
    tgi_graph *body = c->attr->graphs[0];
    const tgi_shape *shape = tgi_graph_shape(body, value);
    const int dtype = tgi_graph_node(body, value)->dtype;
    tgi_dim dims[TG_MAX_RANK] = {trips};
    memcpy(dims + 1, shape->dims, (size_t)shape->rank * sizeof(*dims));
    const tgi_shape_ref of_all =
        tgi_shape_intern(body->dims, shape->rank + 1, dims);
    tgi_builder b = {.graph = body, .site = tgi_node_site(c->node)};
    tgi_ref param = 0;
    const tgi_ref initial =
        tgi_lower_initial_stack(c->s, c->own != NULL, dtype, of_all);
    if (!carry(c, dtype, of_all, initial, &param) ||
        (c->own &&
         !tgi_channel_add_stack(c->own, initial,
                                tgi_lower_result_index(c->s, c->what, index))))
        return false;
    tgi_ref result = push(c, &b, param, value);
    return result && tgi_graph_add_result(body, result);
}

static bool carry_count(change *c)
{
    tgi_graph *body = c->attr->graphs[0];
    tgi_builder b = {.graph = body, .site = tgi_node_site(c->node)};
    tgi_ref param = 0, result = 0;
    return carry(c, TG_I64, tgi_lower_scalar_shape(body),
                 tgi_lower_i64_constant(c->s->out, 0), &param) &&
           (result = count(&b)) && tgi_graph_add_result(body, result);
}

/* The result of the old body that has that place; 0 on failure. */
static int64_t result_at(const tgi_lowered_region *what, size_t n_results,
                         size_t place)
{
    for (size_t i = 0; i < n_results; i++)
        if (what->place[i] == place + 1)
            return (int64_t)i;
    return 0;
}

/* Whether stacks of the loop itself are results of this graph. */
static bool has_own_channel(const tgi_lowering *s,
                            const tgi_lowered_region *what, size_t n_results)
{
    const tgi_node *node = tgi_graph_node(s->in, what->region);
    bool goes = false;
    for (size_t i = 0; i < n_results; i++)
        goes |=
            what->place[i] && tgi_lower_result_index(s, what, (int64_t)i) >= 0;
    return goes && tgi_loop_iterations(s->in, node) == TGI_UNBOUNDED;
}

/* Where stacks begin that go on: behind all parameters of the loop, the same
   in all trips. */
static bool add_base(change *c)
{
    for (int64_t i = c->attr->n_graphs; i-- > 0;)
        if (!(c->base =
                  tgi_graph_add_param(c->attr->graphs[i], TGI_OP_PARAM, TG_I64,
                                      tgi_lower_scalar_shape(c->s->out), 0)))
            return false;
    c->what->base = c->own->in;
    return true;
}

/* Takes the results that are saved from the body, and carries those that are
   picked. */
static bool change_loop(change *c, tgi_dim trips)
{
    tgi_graph *body = c->attr->graphs[0];
    tgi_lowered_region *what = c->what;
    const size_t n_old = (size_t)c->attr->n_carried;
    const size_t n_results = body->results.n;
    tgi_lowering_refs results = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < n_results; i++)
        ok = tgi_vec_push(&results, body->results.data[i]);
    if (!ok)
        tgi_error_memory();
    if (ok && has_own_channel(c->s, what, n_results)) {
        what->counts = true;
        c->own = tgi_channel_add(c->s, tgi_lower_initial_count(c->s, true));
        ok = c->own != NULL;
    }
    body->results.n = n_old;
    const tgi_regions regions = {(size_t)c->attr->n_graphs, c->attr->graphs};
    const size_t n_params = c->node->n_inputs;
    /* Channels are behind the parameters so far: they wait. */
    ok = ok && (!c->own || add_base(c));
    if (c->own)
        for (size_t g = 0; ok && g < regions.n; g++)
            tgi_graph_move_param(regions.graphs[g],
                                 regions.graphs[g]->params.n - 1, n_params);
    for (size_t i = 0; ok && i < what->n_saved; i++) {
        const int64_t index = result_at(what, n_results, n_old + i);
        ok = carry_stack(c, results.data[index], trips, index);
    }
    if (ok && what->counts)
        ok = carry_count(c);
    tgi_vec_deinit(&results);
    return ok && tgi_channels_align_params(what, &regions, true,
                                           (size_t)c->attr->n_carried + 1);
}

static tgi_ref add_loop(change *c, size_t n_old)
{
    const size_t n_new = c->initial.n;
    const size_t n = c->node->n_inputs + n_new + (c->own != NULL);
    tgi_ref *inputs = tgi_alloc((n + 1) * sizeof(*inputs));
    if (!inputs) {
        tgi_error_memory();
        return 0;
    }
    memcpy(inputs, c->node->inputs, (n_old + 1) * sizeof(*inputs));
    if (n_new)
        memcpy(inputs + n_old + 1, c->initial.data, n_new * sizeof(*inputs));
    memcpy(inputs + n_old + 1 + n_new, c->node->inputs + n_old + 1,
           (c->node->n_inputs - n_old - 1) * sizeof(*inputs));
    if (c->own)
        inputs[n - 1] = c->own->in;
    tgi_node node = *c->node;
    node.inputs = inputs;
    node.n_inputs = (uint32_t)n;
    node.attr = c->attr;
    tgi_ref ref = tgi_graph_add(c->s->out, &node);
    tgi_free(inputs);
    return ref;
}

/* What the stacks of the loop itself are behind it, and how many slices they
   have. */
static bool end_own_channel(change *c, size_t own, tgi_ref loop, size_t n_old)
{
    tgi_lowering *s = c->s;
    tgi_channel *given = &s->given->data[own];
    tgi_builder b = {.graph = s->out, .site = tgi_node_site(c->node)};
    const tgi_ref trips =
        tgi_lower_result_node(s, loop, n_old + c->what->n_saved, TG_I64,
                              tgi_lower_scalar_shape(s->out));
    if (!trips ||
        !(given->out = tgi_build_2(&b, TGI_OP_ADD, given->in, trips)))
        return false;
    for (size_t i = 0; i < given->stacks.n; i++) {
        tgi_channel_stack *of = &given->stacks.data[i];
        const tgi_node *in = tgi_graph_node(s->out, of->in);
        if (!(of->out = tgi_lower_result_node(s, loop, n_old + i, in->dtype,
                                              in->shape)))
            return false;
    }
    return true;
}

tgi_ref tgi_lower_loop(tgi_lowering *s, tgi_lowered_region *what,
                       const tgi_node *node, tgi_attr_regions *attr)
{
    const size_t before = s->given->n;
    change c = {.s = s, .what = what, .node = node, .attr = attr};
    const size_t n_old = (size_t)attr->n_carried;
    const tgi_dim trips =
        tgi_loop_iterations(s->in, tgi_graph_node(s->in, what->region));
    bool ok = change_loop(&c, trips);
    const bool has_own = c.own != NULL;
    const size_t n_own = (size_t)attr->n_carried;
    for (size_t i = 0; ok && i < what->channels[0].n; i++) {
        const tgi_channel *of = &what->channels[0].data[i];
        ok = tgi_channel_add_inputs(s, what, attr->graphs[0], of, &c.initial);
        attr->n_carried += 1 + (int64_t)of->stacks.n;
    }
    /* The list may have moved. */
    c.own = has_own ? &s->given->data[before] : NULL;
    const tgi_ref ref = ok ? add_loop(&c, n_old) : 0;
    ok = ref && (!has_own || end_own_channel(&c, before, ref, n_old)) &&
         tgi_channels_bind_results(s, what, 1, ref, n_own, before + has_own);
    tgi_vec_deinit(&c.initial);
    return ok ? ref : 0;
}
