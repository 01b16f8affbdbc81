/* SPDX-License-Identifier: MIT */
/*
 * graphs.h - helpers that build graphs node by node, without the builders, so
 * that tests can also build invalid ones.
 */
#ifndef TGI_TEST_GRAPHS_H
#define TGI_TEST_GRAPHS_H

#include "support/support.h"

#include <string.h>

#include "ir/dump.h"
#include "tgjit/ops.h"

#define N_OF(array) (sizeof(array) / sizeof((array)[0]))

/* shape_of(g, 2, 3) is the shape [2,3]. */
#define shape_of(graph, ...) \
    tgi_shape_intern((graph)->dims, \
                     (int)(sizeof((tgi_dim[]){__VA_ARGS__}) / \
                           sizeof(tgi_dim)), \
                     (tgi_dim[]){__VA_ARGS__})

static inline tgi_shape_ref scalar_shape(tgi_graph *graph)
{
    return tgi_shape_intern(graph->dims, 0, NULL);
}

static inline tgi_ref param(tgi_graph *graph, tg_dtype dtype,
                            tgi_shape_ref shape)
{
    return tgi_graph_add_param(graph, TGI_OP_PARAM, dtype, shape, 0);
}

static inline tgi_ref variable(tgi_graph *graph, tg_dtype dtype,
                               tgi_shape_ref shape)
{
    return tgi_graph_add_param(graph, TGI_OP_VARIABLE, dtype, shape, 0);
}

/* A new symbolic extent, that of an axis of a parameter. */
static inline tgi_dim symbol(tgi_graph *graph, uint32_t of_param,
                             uint32_t axis)
{
    return tgi_dim_symbol(graph->dims, (tgi_symbol){of_param, axis});
}

/* Any node: dtype, shape, a 0-terminated list of inputs, attribute. */
static inline tgi_ref add_node(tgi_graph *graph, tgi_op op, tg_dtype dtype,
                               tgi_shape_ref shape, const tgi_ref *inputs,
                               const void *attr, size_t attr_bytes)
{
    uint32_t n = 0;
    while (inputs && inputs[n])
        n++;
    const tgi_site_chain site = {.file = "tests/user.c",
                                 .line = (int)graph->n_nodes + 1};
    return tgi_graph_add(graph, &(tgi_node){.op = (uint8_t)op,
                                            .dtype = (uint8_t)dtype,
                                            .shape = shape,
                                            .inputs = inputs,
                                            .n_inputs = n,
                                            .attr = attr,
                                            .attr_bytes = (uint32_t)attr_bytes,
                                            .site = &site});
}

#define INPUTS(...) ((const tgi_ref[]){__VA_ARGS__, 0})
#define ATTR(type, ...) &(const type){__VA_ARGS__}, sizeof(type)
#define NO_ATTR NULL, (size_t)0

/* An elementwise node with the dtype and shape of its last input;
   comparisons return bool. */
static inline tgi_ref apply_n(tgi_graph *graph, tgi_op op,
                              const tgi_ref *inputs)
{
    uint32_t last = 0;
    while (inputs[last + 1])
        last++;
    const tgi_node *input = tgi_graph_node(graph, inputs[last]);
    tg_dtype dtype = tgi_op_table[op].result == TGI_RESULT_BOOL
                         ? TG_BOOL
                         : (tg_dtype)input->dtype;
    return add_node(graph, op, dtype, input->shape, inputs, NO_ATTR);
}
#define apply(graph, op, ...) apply_n(graph, TGI_OP_##op, INPUTS(__VA_ARGS__))

static inline tgi_ref cast(tgi_graph *graph, tgi_ref x, tg_dtype dtype)
{
    return add_node(graph, TGI_OP_CAST, dtype, tgi_graph_node(graph, x)->shape,
                    INPUTS(x), NO_ATTR);
}

/* A scalar constant. */
static inline tgi_ref number(tgi_graph *graph, tg_dtype dtype, double value)
{
    char element[8];
    cr_assert(tgi_dtype_store(
        dtype, (tgi_number){TGI_NUMBER_FLOAT, {.f = value}}, element));
    return tgi_graph_add_constant(graph, dtype, scalar_shape(graph), element,
                                  tg_dtype_bytes(dtype), 0,
                                  (tg_site){NULL, 0});
}

/* A view or another op that takes one input and keeps its dtype. */
static inline tgi_ref reshaped(tgi_graph *graph, tgi_op op, tgi_ref x,
                               tgi_shape_ref shape, const void *attr,
                               size_t attr_bytes)
{
    return add_node(graph, op,
                    (tg_dtype)tgi_graph_node(graph, x)->dtype, shape,
                    INPUTS(x), attr, attr_bytes);
}

static inline tgi_ref broadcast(tgi_graph *graph, tgi_ref x,
                                tgi_shape_ref shape)
{
    return reshaped(graph, TGI_OP_BROADCAST, x, shape, NO_ATTR);
}

/* A constant with the dtype and shape of `like`. */
static inline tgi_ref number_like(tgi_graph *graph, tgi_ref like, double value)
{
    const tgi_node *node = tgi_graph_node(graph, like);
    return broadcast(graph, number(graph, (tg_dtype)node->dtype, value),
                     node->shape);
}

/* The contents of a variable after `write` (0: initially). */
static inline tgi_ref read_variable(tgi_graph *graph, tgi_ref variable_ref,
                                    tgi_ref write)
{
    const tgi_node *node = tgi_graph_node(graph, variable_ref);
    return add_node(graph, TGI_OP_READ, (tg_dtype)node->dtype, node->shape,
                    INPUTS(variable_ref, write), NO_ATTR);
}

static inline tgi_ref assign(tgi_graph *graph, tgi_ref variable_ref,
                             tgi_ref value)
{
    const tgi_node *node = tgi_graph_node(graph, variable_ref);
    return add_node(graph, TGI_OP_ASSIGN, (tg_dtype)node->dtype, node->shape,
                    INPUTS(variable_ref, value), NO_ATTR);
}

static inline tgi_ref call(tgi_graph *graph, tgi_graph *callee,
                           const tgi_ref *inputs)
{
    return add_node(graph, TGI_OP_CALL, TG_DTYPE_NONE, 0, inputs,
                    ATTR(tgi_attr_call, .callee = callee));
}

static inline tgi_ref result(tgi_graph *graph, tgi_ref call_ref,
                             tg_dtype dtype, tgi_shape_ref shape,
                             int64_t index)
{
    return add_node(graph, TGI_OP_RESULT, dtype, shape, INPUTS(call_ref),
                    ATTR(tgi_attr_index, index));
}

/* The text of a graph; free with tgi_free. */
static inline char *text_of(const tgi_graph *graph)
{
    tgi_strbuf buf = {0};
    tgi_graph_dump(graph, 0, &buf);
    char *text = tgi_strbuf_take(&buf);
    cr_assert_not_null(text);
    return text;
}

#endif /* TGI_TEST_GRAPHS_H */
