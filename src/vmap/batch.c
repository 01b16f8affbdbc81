/* SPDX-License-Identifier: MIT */
/*
 * batch.c - visits the nodes of a graph in order. A node without batched inputs
 * is copied; a rule, selected by its op, builds each of the others. Rules add
 * nodes directly: the builders of operations would contract products that the
 * body has not.
 */
#include "batch.h"

#include <string.h>

#include "tgjit/control.h"

/* -- Shapes ---------------------------------------------------------------- */

tgi_shape_ref tgi_batch_extend(tgi_batch *s, const tgi_shape *element)
{
    tgi_dim dims[TG_MAX_RANK + 1] = {s->extent};
    if (element->rank == TG_MAX_RANK)
        return tgi_build_fail(&s->b, TG_ERROR_OVERFLOW, NULL, 0,
                              "a value of %d axes has no room for the batch",
                              TG_MAX_RANK);
    memcpy(dims + 1, element->dims, (size_t)element->rank * sizeof(*dims));
    return tgi_shape_intern(s->b.graph->dims, element->rank + 1, dims);
}

tgi_ref tgi_batch_repeat(tgi_batch *s, tgi_batched value)
{
    if (!value.ref || value.is_batched)
        return value.ref;
    const tgi_node *node = tgi_graph_node(s->b.graph, value.ref);
    return tgi_build_node(
        &s->b, TGI_OP_BROADCAST, node->dtype,
        tgi_batch_extend(s, tgi_batch_shape(s, value.ref)), &value.ref, 1,
        NULL, 0);
}

tgi_ref tgi_batch_reshape(tgi_batch *s, tgi_ref x, int rank,
                          const tgi_dim *dims)
{
    if (!x)
        return 0;
    for (int i = 0; i < rank; i++)
        if (dims[i] == TGI_DIM_NONE)
            return 0;
    if (rank > TG_MAX_RANK)
        return tgi_build_fail(&s->b, TG_ERROR_OVERFLOW, &x, 1,
                              "a value of %d axes has no room for the batch",
                              TG_MAX_RANK);
    const tgi_node *node = tgi_graph_node(s->b.graph, x);
    const tgi_shape_ref shape =
        tgi_shape_intern(s->b.graph->dims, rank, dims);
    return shape == node->shape
               ? x
               : tgi_build_node(&s->b, TGI_OP_RESHAPE, node->dtype, shape, &x,
                                1, NULL, 0);
}

tgi_ref tgi_batch_spread(tgi_batch *s, tgi_ref vector, const tgi_shape *like)
{
    tgi_dim dims[TG_MAX_RANK];
    for (int i = 0; i < like->rank; i++)
        dims[i] = i == 0 ? like->dims[0] : 1;
    vector = tgi_batch_reshape(s, vector, like->rank, dims);
    const tgi_shape_ref shape =
        tgi_shape_intern(s->b.graph->dims, like->rank, like->dims);
    return !vector || tgi_graph_node(s->b.graph, vector)->shape == shape
               ? vector
               : tgi_build_node(&s->b, TGI_OP_BROADCAST,
                                tgi_graph_node(s->b.graph, vector)->dtype,
                                shape, &vector, 1, NULL, 0);
}

/* -- Nodes ----------------------------------------------------------------- */

tgi_ref tgi_batch_add(tgi_batch *s, const tgi_node *node, tgi_shape_ref shape,
                      const tgi_ref *inputs, const void *attr)
{
    tgi_node copy = *node;
    if (!shape)
        return 0;
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (!inputs[i])
            return 0;
    copy.shape = shape;
    copy.inputs = inputs;
    copy.attr = attr;
    copy.flags &= (uint16_t)~TGI_NODE_WEAK;
    const tgi_ref ref = tgi_graph_add(s->b.graph, &copy);
    if (ref && node->name)
        tgi_graph_set_name(s->b.graph, ref, node->name);
    return ref;
}

tgi_ref tgi_batch_i64(tgi_batch *s, int64_t value)
{
    return tgi_build_number(&s->b, TG_I64, TG_I64,
                            (tgi_number){TGI_NUMBER_INT, {.i = value}});
}

tgi_ref tgi_batch_any(tgi_batch *s, tgi_ref mask)
{
    /* A sum, because an empty batch has no maximum. */
    const tgi_ref count =
        tgi_build_reduce(&s->b, TGI_OP_SUM,
                         tgi_build_cast(&s->b, mask, TG_I64),
                         (tg_axes){.n = -1});
    return tgi_build_2(&s->b, TGI_OP_NE, count, tgi_batch_i64(s, 0));
}

tgi_ref tgi_batch_and(tgi_batch *s, tgi_ref a, tgi_ref b)
{
    return a && b ? tgi_build_2(&s->b, TGI_OP_AND, a, b) : a ? a : b;
}

bool tgi_batch_fail_memory(tgi_batch *s)
{
    tgi_error_memory();
    tgi_trace_record_error(s->t);
    return false;
}

bool tgi_batch_set_results(tgi_batch *s, tgi_ref old,
                           const tgi_batched *results, size_t n)
{
    s->first_result[old] = (uint32_t)s->results.n + 1;
    for (size_t i = 0; i < n; i++) {
        if (!results[i].ref)
            return false;
        if (!tgi_vec_push(&s->results, results[i])) {
            tgi_error_memory();
            return false;
        }
    }
    return true;
}

/* -- Rules of any op ------------------------------------------------------- */

tgi_batched tgi_batch_copy(tgi_batch *s, const tgi_node *node)
{
    tgi_ref few[8] = {0};
    tgi_ref *inputs = few;
    if (node->n_inputs > sizeof(few) / sizeof(*few))
        inputs = tgi_alloc(node->n_inputs * sizeof(*inputs));
    if (!inputs) {
        tgi_error_memory();
        return (tgi_batched){0, false};
    }
    for (uint32_t i = 0; i < node->n_inputs; i++)
        inputs[i] = tgi_batch_input(s, node, i).ref;
    const tgi_ref ref =
        tgi_batch_add(s, node, node->shape, inputs, node->attr);
    if (inputs != few)
        tgi_free(inputs);
    return (tgi_batched){ref, false};
}

/* Reads of variables that the body cannot write. */
tgi_batched tgi_batch_read(tgi_batch *s, const tgi_node *node)
{
    return (tgi_batched){tgi_trace_read(s->t, tgi_batch_input(s, node, 0).ref,
                                        tgi_node_site(node)),
                         false};
}

tgi_batched tgi_batch_result(tgi_batch *s, const tgi_node *node)
{
    const uint32_t first = s->first_result[node->inputs[0]];
    return first ? s->results.data[first - 1 + (size_t)tgi_node_index(node)]
                 : tgi_batch_copy(s, node);
}

tgi_batched tgi_batch_elementwise(tgi_batch *s, const tgi_node *node)
{
    tgi_ref inputs[3];
    for (uint32_t i = 0; i < node->n_inputs; i++)
        inputs[i] = tgi_batch_repeat(s, tgi_batch_input(s, node, i));
    const tgi_shape *element = tgi_shape_of(s->in->dims, node->shape);
    return tgi_batch_of(tgi_batch_add(s, node, tgi_batch_extend(s, element),
                                      inputs, node->attr));
}

/* -- Visiting -------------------------------------------------------------- */

/* Elementwise ops share a rule; NULL: the op is not built from a body. */
static tgi_batch_rule *const rules[TGI_OPS] = {
    [TGI_OP_BROADCAST] = tgi_batch_broadcast,
    [TGI_OP_RESHAPE] = tgi_batch_reshape_rule,
    [TGI_OP_TRANSPOSE] = tgi_batch_transpose,
    [TGI_OP_SLICE] = tgi_batch_slice,
    [TGI_OP_WINDOW] = tgi_batch_window,
    [TGI_OP_PAD] = tgi_batch_pad,
    [TGI_OP_CONCAT] = tgi_batch_concat,
    [TGI_OP_GATHER] = tgi_batch_gather,
    [TGI_OP_DYNAMIC_SLICE] = tgi_batch_dynamic_slice,
    [TGI_OP_DYNAMIC_UPDATE] = tgi_batch_dynamic_update,
    [TGI_OP_SCATTER] = tgi_batch_scatter,
    [TGI_OP_SUM] = tgi_batch_reduce,
    [TGI_OP_PROD] = tgi_batch_reduce,
    [TGI_OP_REDUCE_MAX] = tgi_batch_reduce,
    [TGI_OP_REDUCE_MIN] = tgi_batch_reduce,
    [TGI_OP_ARGMAX] = tgi_batch_arg_reduce,
    [TGI_OP_ARGMIN] = tgi_batch_arg_reduce,
    [TGI_OP_LINEAR_SCAN] = tgi_batch_scan,
    [TGI_OP_MATMUL] = tgi_batch_matmul,
    [TGI_OP_CONV] = tgi_batch_conv,
    [TGI_OP_RANDOM_BITS] = tgi_batch_random,
    [TGI_OP_HOST] = tgi_batch_host,
    [TGI_OP_CALL] = tgi_batch_call,
    [TGI_OP_SWITCH] = tgi_batch_switch,
    [TGI_OP_LOOP] = tgi_batch_loop,
};

/* Nodes that behave differently under a mask are never copied there. */
static bool needs_rule(const tgi_batch *s, const tgi_node *node)
{
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (tgi_batch_input(s, node, i).is_batched)
            return true;
    return s->mask && (tgi_op_has(node->op, TGI_FLAG_MAY_FAIL) ||
                       tgi_node_owns_graphs(node));
}

static bool visit(tgi_batch *s, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(s->in, ref);
    s->at = ref;
    s->b.site = tgi_node_site(node);
    if (s->t->graph->n_nodes > TG_MAX_UNROLLED_NODES)
        return tgi_build_fail(&s->b, TG_ERROR_LIMIT, NULL, 0,
                              "the graph has more than %d nodes",
                              TG_MAX_UNROLLED_NODES);
    if (node->op == TGI_OP_READ)
        s->values[ref] = tgi_batch_read(s, node);
    else if (node->op == TGI_OP_RESULT)
        s->values[ref] = tgi_batch_result(s, node);
    else if (!needs_rule(s, node))
        s->values[ref] = tgi_batch_copy(s, node);
    else if (tgi_op_is_elementwise(node->op))
        s->values[ref] = tgi_batch_elementwise(s, node);
    else if (rules[node->op])
        s->values[ref] = rules[node->op](s, node);
    else
        s->values[ref].ref = tgi_build_fail(
            &s->b, TG_ERROR_UNSUPPORTED, NULL, 0, "%s cannot be batched",
            tgi_op_table[node->op].name);
    return s->values[ref].ref != 0;
}

bool tgi_batch_graph(tg_trace *t, tgi_dim extent, tgi_ref mask,
                     const tgi_graph *in, const tgi_batched *params,
                     tg_site site, tgi_batched *out_results)
{
    const size_t n = (size_t)in->n_nodes + 1;
    tgi_batch s = {.t = t,
                   .b = {.graph = t->graph,
                         .site = site,
                         .op_name = "vmap",
                         .no_contraction = true},
                   .extent = extent,
                   .mask = mask,
                   .in = in,
                   .values = tgi_alloc_zero(n * sizeof(*s.values)),
                   .first_result =
                       tgi_alloc_zero(n * sizeof(*s.first_result))};
    bool ok = s.values && s.first_result;
    if (!ok)
        tgi_error_memory();
    for (size_t i = 0; ok && i < in->params.n; i++) {
        s.values[in->params.data[i].node] = params[i];
        ok = params[i].ref != 0; /* else it has failed */
    }
    for (tgi_ref ref = 1; ok && ref <= in->n_nodes; ref++)
        ok = s.values[ref].ref || visit(&s, ref);
    for (size_t i = 0; ok && i < in->results.n; i++)
        out_results[i] = s.values[in->results.data[i]];
    tgi_free(s.values);
    tgi_free(s.first_result);
    tgi_vec_deinit(&s.results);
    if (!ok)
        tgi_trace_record_error(t);
    return ok;
}
