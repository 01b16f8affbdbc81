/* SPDX-License-Identifier: MIT */
/*
 * onnx_needs.c - which values must be known while tracing, because they decide
 * shapes: what the table of operators says that a node needs, and what that is
 * computed from. A single sweep against the order of nodes finds all.
 *
 * The extents of values are known while tracing, if only as symbols, so a need
 * ends at Shape and Size.
 */
#include <string.h>

#include "onnx_reader.h"

static void mark_graph(tgi_onnx_body *body, const tgi_onnx_graph *graph);

/* Returns whether the fact is new. */
static bool mark(tgi_onnx_body *body, tgi_onnx_id id, int fact)
{
    if (id == TGI_ONNX_ABSENT || (body->facts[id] & fact))
        return false;
    body->facts[id] |= (uint8_t)fact;
    return true;
}

static bool is_needed(tgi_onnx_body *body, tgi_onnx_id id)
{
    return id != TGI_ONNX_ABSENT && (body->facts[id] & TGI_ONNX_NEEDED);
}

static bool is_op(const tgi_onnx_node *node, const char *name)
{
    return node->op && !strcmp(node->op->name, name);
}

/* A function is swept again only if more of its outputs are needed, so that
   nested functions are not swept once for every path of calls. */
static void mark_function(tgi_onnx_body *body, const tgi_onnx_node *node)
{
    tgi_onnx_body *f = node->function;
    bool is_new = !f->is_swept;
    for (size_t i = 0; i < node->n_outputs; i++)
        if (is_needed(body, node->outputs[i]))
            is_new |= mark(f, f->graph.outputs[i], TGI_ONNX_NEEDED);
    f->is_swept = true;
    if (is_new)
        mark_graph(f, &f->graph);
    body->draws_random |= f->draws_random;
    for (size_t i = 0; i < node->n_inputs; i++)
        if (is_needed(f, f->graph.inputs[i]))
            mark(body, node->inputs[i], TGI_ONNX_NEEDED);
}

static void mark_node(tgi_onnx_body *body, const tgi_onnx_node *node)
{
    bool needs_all = false;
    for (size_t i = 0; i < node->n_outputs; i++)
        needs_all |= is_needed(body, node->outputs[i]);
    needs_all &= !is_op(node, "Shape") && !is_op(node, "Size") &&
                 node->n_graphs == 0 && !node->function;
    for (size_t i = 0; i < node->n_inputs; i++)
        if (needs_all ||
            (node->op && i < 15 && (node->op->needs >> i & 1)))
            mark(body, node->inputs[i], TGI_ONNX_NEEDED);
    body->draws_random |= node->op && (node->op->needs & TGI_ONNX_RANDOM);
    if (is_op(node, "BatchNormalization"))
        for (size_t i = 3; i < node->n_inputs && i < 5; i++)
            mark(body, node->inputs[i], TGI_ONNX_STATISTIC);
    for (size_t g = 0; g < node->n_graphs; g++) {
        const tgi_onnx_graph *graph = &node->graphs[g];
        for (size_t i = 0; is_op(node, "If") && i < node->n_outputs &&
                           i < graph->n_outputs; i++)
            if (is_needed(body, node->outputs[i]))
                mark(body, graph->outputs[i], TGI_ONNX_NEEDED);
        mark_graph(body, graph);
    }
    if (node->function)
        mark_function(body, node);
}

static void mark_graph(tgi_onnx_body *body, const tgi_onnx_graph *graph)
{
    for (size_t i = graph->n_nodes; i > 0; i--)
        mark_node(body, &graph->nodes[i - 1]);
}

void tgi_onnx_find_needs(tgi_onnx_body *body)
{
    mark_graph(body, &body->graph);
}
