/* SPDX-License-Identifier: MIT */
/*
 * lower_saved_loop.c - turns the saved values of a loop into carried stacks,
 * and its number of iterations into a carried counter. A loop that appends to
 * stacks it is passed pushes its first slice after the existing ones.
 */
#include <string.h>

#include "base/error.h"
#include "pass/lower_saved_state.h"

/* A loop whose graphs may be modified. */
typedef struct loop_lowering {
    tgi_lowering *s;
    tgi_lowered_region *lowered;
    const tgi_node *node;      /* its inputs are refs of the new graph */
    tgi_attr_regions *attr;    /* n_carried is updated */
    tgi_lowering_refs initial; /* initial values of the added carried values */
    tgi_channel *channel;      /* if its stacks are results of this graph, else
                                  NULL */
    tgi_ref base; /* if `channel`: number of existing slices, in the body */
} loop_lowering;

/* Builds the stack with `value` as the slice of this iteration. */
static tgi_ref build_push(const loop_lowering *c, tgi_builder *b, tgi_ref to,
                          tgi_ref value)
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

/* Builds the iteration plus one. */
static tgi_ref build_count(tgi_builder *b)
{
    const tgi_ref one = tgi_lower_i64_constant(b->graph, 1);
    return tgi_build_2(b, TGI_OP_ADD, b->graph->params.data[0].node, one);
}

/* Adds a carried value to every graph; writes its parameter in the body. */
static bool add_carried(loop_lowering *c, int dtype, tgi_shape_ref shape,
                        tgi_ref initial, tgi_ref *out_param)
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

/* Adds the stack of a value that result `index` of the loop picks. */
static bool add_carried_stack(loop_lowering *c, tgi_ref value,
                              tgi_dim n_iterations, int64_t index)
{
    tgi_graph *body = c->attr->graphs[0];
    const tgi_shape *shape = tgi_graph_shape(body, value);
    const int dtype = tgi_graph_node(body, value)->dtype;
    tgi_dim dims[TG_MAX_RANK] = {n_iterations};
    memcpy(dims + 1, shape->dims, (size_t)shape->rank * sizeof(*dims));
    const tgi_shape_ref stack_shape =
        tgi_shape_intern(body->dims, shape->rank + 1, dims);
    tgi_builder b = {.graph = body, .site = tgi_node_site(c->node)};
    tgi_ref param = 0;
    const tgi_ref initial =
        tgi_lower_initial_stack(c->s, c->channel != NULL, dtype, stack_shape);
    if (!add_carried(c, dtype, stack_shape, initial, &param) ||
        (c->channel && !tgi_channel_add_stack(
                           c->channel, initial,
                           tgi_lower_result_index(c->s, c->lowered, index))))
        return false;
    tgi_ref result = build_push(c, &b, param, value);
    return result && tgi_graph_add_result(body, result);
}

static bool add_carried_count(loop_lowering *c)
{
    tgi_graph *body = c->attr->graphs[0];
    tgi_builder b = {.graph = body, .site = tgi_node_site(c->node)};
    tgi_ref param = 0, result = 0;
    return add_carried(c, TG_I64, tgi_lower_scalar_shape(body),
                       tgi_lower_i64_constant(c->s->out, 0), &param) &&
           (result = build_count(&b)) && tgi_graph_add_result(body, result);
}

/* The result of the old body with that new index; 0 if there is none. */
static int64_t result_with_index(const tgi_lowered_region *lowered,
                                 size_t n_results, size_t new_index)
{
    for (size_t i = 0; i < n_results; i++)
        if (lowered->new_index[i] == new_index + 1)
            return (int64_t)i;
    return 0;
}

/* True if a stack of the loop itself is a result of this graph. */
static bool has_channel(const tgi_lowering *s,
                        const tgi_lowered_region *lowered, size_t n_results)
{
    const tgi_node *node = tgi_graph_node(s->in, lowered->region);
    bool is_channel = false;
    for (size_t i = 0; i < n_results; i++)
        is_channel |= lowered->new_index[i] &&
                      tgi_lower_result_index(s, lowered, (int64_t)i) >= 0;
    return is_channel && tgi_loop_iterations(s->in, node) == TGI_UNBOUNDED;
}

/* Adds the number of existing slices as the last, loop-invariant parameter. */
static bool add_base_param(loop_lowering *c)
{
    for (int64_t i = c->attr->n_graphs; i-- > 0;)
        if (!(c->base =
                  tgi_graph_add_param(c->attr->graphs[i], TGI_OP_PARAM, TG_I64,
                                      tgi_lower_scalar_shape(c->s->out), 0)))
            return false;
    c->lowered->base = c->channel->in;
    return true;
}

/* Removes saved results from the body and carries those that are picked. */
static bool lower_body(loop_lowering *c, tgi_dim n_iterations)
{
    tgi_graph *body = c->attr->graphs[0];
    tgi_lowered_region *lowered = c->lowered;
    const size_t n_old = (size_t)c->attr->n_carried;
    const size_t n_results = body->results.n;
    tgi_lowering_refs results = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < n_results; i++)
        ok = tgi_vec_push(&results, body->results.data[i]);
    if (!ok)
        tgi_error_memory();
    if (ok && has_channel(c->s, lowered, n_results)) {
        lowered->counts_iterations = true;
        c->channel = tgi_channel_add(c->s, tgi_lower_initial_count(c->s, true));
        ok = c->channel != NULL;
    }
    body->results.n = n_old;
    const tgi_regions regions = {(size_t)c->attr->n_graphs, c->attr->graphs};
    const size_t n_params = c->node->n_inputs;
    /* Channel parameters follow the current ones; they are aligned below. */
    ok = ok && (!c->channel || add_base_param(c));
    if (c->channel)
        for (size_t g = 0; ok && g < regions.n; g++)
            tgi_graph_move_param(regions.graphs[g],
                                 regions.graphs[g]->params.n - 1, n_params);
    for (size_t i = 0; ok && i < lowered->n_saved; i++) {
        const int64_t index = result_with_index(lowered, n_results, n_old + i);
        ok = add_carried_stack(c, results.data[index], n_iterations, index);
    }
    if (ok && lowered->counts_iterations)
        ok = add_carried_count(c);
    tgi_vec_deinit(&results);
    return ok && tgi_channels_align_params(lowered, &regions, true,
                                           (size_t)c->attr->n_carried + 1);
}

static tgi_ref add_loop(loop_lowering *c, size_t n_old)
{
    const size_t n_new = c->initial.n;
    const size_t n = c->node->n_inputs + n_new + (c->channel != NULL);
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
    if (c->channel)
        inputs[n - 1] = c->channel->in;
    tgi_node node = *c->node;
    node.inputs = inputs;
    node.n_inputs = (uint32_t)n;
    node.attr = c->attr;
    tgi_ref ref = tgi_graph_add(c->s->out, &node);
    tgi_free(inputs);
    return ref;
}

/* Sets the final values of the loop's own stacks and their number of slices. */
static bool bind_channel(loop_lowering *c, size_t index, tgi_ref loop,
                         size_t n_old)
{
    tgi_lowering *s = c->s;
    tgi_channel *channel = &s->channels_out->data[index];
    tgi_builder b = {.graph = s->out, .site = tgi_node_site(c->node)};
    const tgi_ref n_iterations =
        tgi_lower_result_node(s, loop, n_old + c->lowered->n_saved, TG_I64,
                              tgi_lower_scalar_shape(s->out));
    if (!n_iterations || !(channel->out = tgi_build_2(
                               &b, TGI_OP_ADD, channel->in, n_iterations)))
        return false;
    for (size_t i = 0; i < channel->stacks.n; i++) {
        tgi_channel_stack *stack = &channel->stacks.data[i];
        const tgi_node *in = tgi_graph_node(s->out, stack->in);
        if (!(stack->out = tgi_lower_result_node(s, loop, n_old + i, in->dtype,
                                                 in->shape)))
            return false;
    }
    return true;
}

tgi_ref tgi_lower_loop(tgi_lowering *s, tgi_lowered_region *lowered,
                       const tgi_node *node, tgi_attr_regions *attr)
{
    const size_t before = s->channels_out->n;
    loop_lowering c = {.s = s, .lowered = lowered, .node = node, .attr = attr};
    const size_t n_old = (size_t)attr->n_carried;
    const tgi_dim n_iterations =
        tgi_loop_iterations(s->in, tgi_graph_node(s->in, lowered->region));
    bool ok = lower_body(&c, n_iterations);
    const bool is_channel_loop = c.channel != NULL;
    const size_t n_with_own = (size_t)attr->n_carried;
    for (size_t i = 0; ok && i < lowered->channels[0].n; i++) {
        const tgi_channel *source = &lowered->channels[0].data[i];
        ok = tgi_channel_add_inputs(s, lowered, attr->graphs[0], source,
                                    &c.initial);
        attr->n_carried += 1 + (int64_t)source->stacks.n;
    }
    /* The list may have been reallocated. */
    c.channel = is_channel_loop ? &s->channels_out->data[before] : NULL;
    const tgi_ref ref = ok ? add_loop(&c, n_old) : 0;
    ok = ref && (!is_channel_loop || bind_channel(&c, before, ref, n_old)) &&
         tgi_channels_bind_results(s, lowered, 1, ref, n_with_own,
                                   before + is_channel_loop);
    tgi_vec_deinit(&c.initial);
    return ok ? ref : 0;
}
