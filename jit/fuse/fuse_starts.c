/* SPDX-License-Identifier: MIT */
/*
 * fuse_starts.c - see fuse_starts.h. A start stays behind its inputs and behind
 * every other effect recorded before it; starts keep their order. So a transfer
 * that it begins goes on while the kernels behind it run. Elementwise nodes,
 * views and constants that lead to an input of a start move with it: a sum of
 * two gradients is recorded after all of them. The interpreter runs starts where
 * they were recorded, which has the same results.
 */
#include "fuse/fuse_starts.h"

#include "base/error.h"

bool tgi_fuse_is_start(const tgi_node *node)
{
    return node->op == TGI_OP_HOST &&
           ((const tgi_attr_host *)node->attr)->is_start;
}

/* An effect; also a branch or loop that has effects. */
static bool has_effect(const tgi_node *node)
{
    const tgi_regions regions = tgi_node_regions(node);
    bool has = tgi_op_has(node->op, TGI_FLAG_EFFECT);
    for (size_t i = 0; i < regions.n; i++)
        has |= regions.graphs[i]->has_effects;
    return has;
}

static bool can_move(const tgi_graph *graph, const tgi_node *node)
{
    return (tgi_op_is_elementwise(node->op) ||
            tgi_op_table[node->op].cls == TGI_OPCLASS_VIEW ||
            tgi_op_table[node->op].cls == TGI_OPCLASS_LEAF) &&
           !tgi_graph_is_root(graph, node);
}

/* By ref: the last node that has to precede it, itself if it does not move. */
static void find_positions(const tgi_graph *graph, tgi_ref *after)
{
    tgi_ref effect = 0; /* the last effect, or the position of a start */
    for (tgi_ref ref = 1; ref <= graph->n_nodes; ref++) {
        const tgi_node *node = tgi_graph_node(graph, ref);
        const bool is_start = tgi_fuse_is_start(node);
        tgi_ref last = is_start ? effect : 0;
        for (uint32_t i = 0; i < node->n_inputs; i++)
            if (after[node->inputs[i]] > last)
                last = after[node->inputs[i]];
        after[ref] = is_start || can_move(graph, node) ? last : ref;
        if (is_start || has_effect(node))
            effect = after[ref];
    }
}

/* Nodes that lead to the inputs of starts, through nodes that can move. */
static void find_moved(const tgi_graph *graph, bool *is_moved)
{
    for (tgi_ref ref = graph->n_nodes; ref > 0; ref--) {
        const tgi_node *node = tgi_graph_node(graph, ref);
        is_moved[ref] |= tgi_fuse_is_start(node);
        for (uint32_t i = 0; is_moved[ref] && i < node->n_inputs; i++)
            is_moved[node->inputs[i]] |=
                can_move(graph, tgi_graph_node(graph, node->inputs[i]));
    }
}

/* A stable sort by position: counts how many nodes each position has. */
static void sort_by_position(tgi_ref n, const tgi_ref *after,
                             const bool *is_moved, tgi_ref *first,
                             tgi_ref *order)
{
    for (tgi_ref ref = 1; ref <= n; ref++)
        first[is_moved[ref] ? after[ref] + 1 : ref]++;
    for (tgi_ref at = 0, position = 0; position <= n + 1; position++) {
        const tgi_ref count = first[position];
        first[position] = at;
        at += count;
    }
    /* What moves comes before the node that stays at its position. */
    for (tgi_ref ref = 1; ref <= n; ref++)
        if (is_moved[ref])
            order[first[after[ref] + 1]++] = ref;
    for (tgi_ref ref = 1; ref <= n; ref++)
        if (!is_moved[ref])
            order[first[ref]++] = ref;
}

static bool has_starts(const tgi_graph *graph)
{
    for (tgi_ref ref = 1; ref <= graph->n_nodes; ref++)
        if (tgi_fuse_is_start(tgi_graph_node(graph, ref)))
            return true;
    return false;
}

tg_status tgi_fuse_order_nodes(const tgi_graph *graph, tgi_ref **out_order)
{
    const size_t n = (size_t)graph->n_nodes + 2;
    *out_order = NULL;
    if (!has_starts(graph))
        return TG_OK;
    tgi_ref *after = tgi_alloc_zero(n * sizeof(*after));
    tgi_ref *first = tgi_alloc_zero(n * sizeof(*first));
    tgi_ref *order = tgi_alloc_zero(n * sizeof(*order));
    bool *is_moved = tgi_alloc_zero(n * sizeof(*is_moved));
    const bool has_memory = after && first && order && is_moved;
    if (has_memory) {
        find_positions(graph, after);
        find_moved(graph, is_moved);
        sort_by_position(graph->n_nodes, after, is_moved, first, order);
        *out_order = order;
    } else {
        tgi_free(order);
    }
    tgi_free(after);
    tgi_free(first);
    tgi_free(is_moved);
    return has_memory ? TG_OK : tgi_error_memory();
}
