/* SPDX-License-Identifier: MIT */
/*
 * lower_saved_channel.c - stacks that are passed through a graph because a loop
 * inside appends to them: as parameters and results of the graph, and as inputs
 * and results of the regions on the way.
 */
#include "pass/lower_saved_state.h"

#include "base/error.h"

void tgi_channels_deinit(tgi_channels *list)
{
    for (size_t i = 0; i < list->n; i++)
        tgi_vec_deinit(&list->data[i].stacks);
    tgi_vec_deinit(list);
}

/* -- Nodes ----------------------------------------------------------------- */

tgi_ref tgi_lower_i64_constant(tgi_graph *graph, int64_t value)
{
    tgi_builder b = {.graph = graph};
    return tgi_build_number(&b, TG_I64, TG_I64,
                            (tgi_number){TGI_NUMBER_INT, {.i = value}});
}

tgi_shape_ref tgi_lower_scalar_shape(const tgi_graph *graph)
{
    return tgi_shape_intern(graph->dims, 0, NULL);
}

tgi_ref tgi_lower_initial_stack(tgi_lowering *s, bool is_param, int dtype,
                                tgi_shape_ref shape)
{
    const tgi_shape *type = shape ? tgi_shape_of(s->out->dims, shape) : NULL;
    tgi_builder b = {.graph = s->out};
    if (!type)
        return 0;
    return is_param
               ? tgi_graph_add_param(s->out, TGI_OP_PARAM, (tg_dtype)dtype,
                                     shape, 0)
               : tgi_build_unset(&b, (tg_dtype)dtype, type->rank, type->dims);
}

tgi_ref tgi_lower_initial_count(tgi_lowering *s, bool is_param)
{
    return is_param ? tgi_graph_add_param(s->out, TGI_OP_PARAM, TG_I64,
                                          tgi_lower_scalar_shape(s->out), 0)
                    : tgi_lower_i64_constant(s->out, 0);
}

/* -- Channels -------------------------------------------------------------- */

tgi_channel *tgi_channel_add(tgi_lowering *s, tgi_ref in)
{
    if (in && tgi_vec_push(s->channels_out, ((tgi_channel){.in = in})))
        return &s->channels_out->data[s->channels_out->n - 1];
    tgi_error_memory();
    return NULL;
}

bool tgi_channel_add_stack(tgi_channel *c, tgi_ref in, int64_t result)
{
    const tgi_channel_stack stack = {.in = in, .result = result};
    if (in && tgi_vec_push(&c->stacks, stack))
        return true;
    tgi_error_memory();
    return false;
}

/* True if a stack of the channel, which belongs to a graph of the region, is a
   result of this graph. */
static bool is_graph_channel(const tgi_lowering *s,
                             const tgi_lowered_region *lowered,
                             const tgi_channel *c)
{
    for (size_t i = 0; i < c->stacks.n; i++)
        if (tgi_lower_result_index(s, lowered, c->stacks.data[i].result) >= 0)
            return true;
    return false;
}

bool tgi_channel_add_inputs(tgi_lowering *s, const tgi_lowered_region *lowered,
                            const tgi_graph *inner, const tgi_channel *c,
                            tgi_lowering_refs *inputs)
{
    const bool is_param = is_graph_channel(s, lowered, c);
    const tgi_ref count = tgi_lower_initial_count(s, is_param);
    tgi_channel *outer_channel = is_param ? tgi_channel_add(s, count) : NULL;
    bool ok =
        count && (outer_channel || !is_param) && tgi_vec_push(inputs, count);
    for (size_t i = 0; ok && i < c->stacks.n; i++) {
        const tgi_channel_stack *stack = &c->stacks.data[i];
        const tgi_node *param = tgi_graph_node(inner, stack->in);
        const tgi_ref in =
            tgi_lower_initial_stack(s, is_param, param->dtype, param->shape);
        const int64_t result =
            tgi_lower_result_index(s, lowered, stack->result);
        ok = in && tgi_vec_push(inputs, in) &&
             (!outer_channel ||
              tgi_channel_add_stack(outer_channel, in, result));
    }
    if (!ok)
        tgi_error_memory();
    return ok;
}

tgi_ref tgi_lower_result_node(tgi_lowering *s, tgi_ref region, size_t index,
                              int dtype, tgi_shape_ref shape)
{
    const tgi_attr_index attr = {(int64_t)index};
    tgi_builder b = {.graph = s->out};
    return tgi_build_node(&b, TGI_OP_RESULT, dtype, shape, &region, 1, &attr,
                          sizeof(attr));
}

/* Records the result indices of a channel's stacks, `first` being the channel's
   first result, and, if it is a channel of this graph, their final values.
   Returns the next result index; 0 on failure. */
static size_t bind_channel_results(tgi_lowering *s, tgi_lowered_region *lowered,
                                   tgi_ref region, const tgi_channel *c,
                                   size_t first, tgi_channel *outer_channel)
{
    if (outer_channel &&
        !(outer_channel->out = tgi_lower_result_node(
              s, region, first, TG_I64, tgi_lower_scalar_shape(s->out))))
        return 0;
    for (size_t i = 0; i < c->stacks.n; i++) {
        const size_t new_index = first + 1 + i;
        if (c->stacks.data[i].result >= 0)
            lowered->new_index[c->stacks.data[i].result] =
                (uint32_t)new_index + 1;
        if (!outer_channel)
            continue;
        const tgi_node *in =
            tgi_graph_node(s->out, outer_channel->stacks.data[i].in);
        if (!(outer_channel->stacks.data[i].out = tgi_lower_result_node(
                  s, region, new_index, in->dtype, in->shape)))
            return 0;
    }
    return first + 1 + c->stacks.n;
}

bool tgi_channels_bind_results(tgi_lowering *s, tgi_lowered_region *lowered,
                               size_t n_graphs, tgi_ref region, size_t first,
                               size_t n_before)
{
    for (size_t g = 0; g < n_graphs; g++)
        for (size_t i = 0; i < lowered->channels[g].n; i++) {
            const tgi_channel *c = &lowered->channels[g].data[i];
            tgi_channel *outer_channel =
                is_graph_channel(s, lowered, c)
                    ? &s->channels_out->data[n_before++]
                    : NULL;
            if (!(first = bind_channel_results(s, lowered, region, c, first,
                                               outer_channel)))
                return false;
        }
    return true;
}

/* -- Parameters ------------------------------------------------------------ */

tgi_ref tgi_lower_add_param(tgi_graph *graph, size_t at, int dtype,
                            tgi_shape_ref shape)
{
    tgi_ref ref =
        tgi_graph_add_param(graph, TGI_OP_PARAM, (tg_dtype)dtype, shape, 0);
    if (ref)
        tgi_graph_move_param(graph, graph->params.n - 1, at);
    return ref;
}

/* Moves a parameter of graph `source` to index `at`, and inserts a parameter of
   the same type there in the other graphs. Writes the parameters by graph. */
static bool align_param(const tgi_regions *regions, size_t source,
                        tgi_ref param, size_t at, tgi_ref *out_params)
{
    const tgi_node like = *tgi_graph_node(regions->graphs[source], param);
    for (size_t g = 0; g < regions->n; g++) {
        tgi_graph *graph = regions->graphs[g];
        out_params[g] = param;
        if (g == source)
            tgi_graph_move_param(graph, tgi_graph_param_index(graph, param),
                                 at);
        else if (!(out_params[g] =
                       tgi_lower_add_param(graph, at, like.dtype, like.shape)))
            return false;
    }
    return true;
}

bool tgi_channels_align_params(const tgi_lowered_region *lowered,
                               const tgi_regions *regions, bool is_loop,
                               size_t at)
{
    tgi_ref *params = tgi_alloc((regions->n + 1) * sizeof(*params));
    bool ok = params != NULL;
    if (!ok)
        tgi_error_memory();
    for (size_t source = 0; ok && source < regions->n; source++)
        for (size_t i = 0; ok && i < lowered->channels[source].n; i++) {
            const tgi_channel *c = &lowered->channels[source].data[i];
            for (size_t k = 0; ok && k <= c->stacks.n; k++) {
                const tgi_ref in = k ? c->stacks.data[k - 1].in : c->in;
                const tgi_ref out = k ? c->stacks.data[k - 1].out : c->out;
                ok = align_param(regions, source, in, at++, params);
                for (size_t g = 0; ok && g < (is_loop ? 1 : regions->n); g++)
                    ok = tgi_graph_add_result(regions->graphs[g],
                                              g == source ? out : params[g]);
            }
        }
    tgi_free(params);
    return ok;
}
