/* SPDX-License-Identifier: MIT */
/*
 * pass_dead.c - dead code elimination. Removes nodes that no result, no effect
 * and no node that may fail depends on. Unused reads are removed, unused writes
 * stay. Inputs precede their users, so one backward sweep marks all live nodes.
 *
 * Branches and loops lose the results that nobody takes, with the carried
 * values and inputs that only these depend on (dead_results.h).
 *
 * Requires:    a verified graph.
 * Preserves:   every bit of results and effects; the order of nodes.
 * Invalidates: refs; the numbers of results, carried values and inputs of
 *              branches and loops.
 * Terminates:  one sweep per graph.
 */
#include <assert.h>

#include "base/error.h"
#include "ir/rebuild.h"
#include "pass/dead_results.h"
#include "pass/pass.h"

/* Liveness of a graph, by ref. */
typedef struct dead_state {
    const tgi_graph *graph;
    bool *is_live;
    tgi_region_needs **needs; /* of live SWITCH and LOOP nodes */
} dead_state;

/* The needs of a node, created when first used; NULL when out of memory
   (recorded). */
static tgi_region_needs *needs_of(const dead_state *s, tgi_ref ref)
{
    if (!s->needs[ref])
        s->needs[ref] = tgi_region_needs_create(tgi_graph_node(s->graph, ref));
    return s->needs[ref];
}

/* The branch or loop of which a node is a result; 0: it is none. */
static tgi_ref region_of_result(const tgi_graph *graph, const tgi_node *node)
{
    return node->op == TGI_OP_RESULT &&
                   tgi_node_has_regions(tgi_graph_node(graph, node->inputs[0]))
               ? node->inputs[0]
               : 0;
}

/* Marks the inputs of a live node. False when out of memory (recorded). */
static bool mark_inputs(dead_state *s, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    const tgi_ref region = region_of_result(s->graph, node);
    tgi_region_needs *needs = NULL;
    if (region) {
        needs = needs_of(s, region);
        if (!needs)
            return false;
        assert((uint64_t)tgi_node_index(node) < needs->n_results);
        needs->results[tgi_node_index(node)] = true;
    }
    if (tgi_node_has_regions(node)) {
        needs = needs_of(s, ref);
        if (!needs || !tgi_region_needs_find(needs))
            return false;
    }
    for (uint32_t i = 0; i < node->n_inputs; i++)
        s->is_live[node->inputs[i]] |= region || !needs || needs->inputs[i];
    return true;
}

static bool mark_live(dead_state *s)
{
    const tgi_graph *graph = s->graph;
    for (size_t i = 0; i < graph->results.n; i++)
        s->is_live[graph->results.data[i]] = true;
    for (tgi_ref ref = graph->n_nodes; ref > 0; ref--) {
        s->is_live[ref] |=
            tgi_graph_is_root(graph, tgi_graph_node(graph, ref));
        if (s->is_live[ref] && !mark_inputs(s, ref))
            return false;
    }
    return true;
}

static tgi_ref rebuild_node(tgi_rebuild *rebuild, tgi_ref old,
                            const tgi_node *node)
{
    const dead_state *s = rebuild->user;
    if (tgi_node_has_regions(node))
        return tgi_region_needs_rebuild(s->needs[old], rebuild->out,
                                        node->inputs, tgi_pass_dead);
    const tgi_ref region =
        region_of_result(s->graph, tgi_graph_node(s->graph, old));
    if (!region)
        return tgi_graph_add(rebuild->out, node);
    tgi_attr_index attr = {
        tgi_region_needs_result(s->needs[region], tgi_node_index(node))};
    tgi_node result = *node;
    result.attr = &attr;
    return tgi_graph_add(rebuild->out, &result);
}

tg_status tgi_pass_dead(const tgi_graph *in, tgi_graph **out_graph)
{
    const size_t n = (size_t)in->n_nodes + 1;
    dead_state s = {.graph = in};
    s.needs = tgi_alloc_zero(n * (sizeof(*s.needs) + sizeof(*s.is_live)));
    if (!s.needs)
        return tgi_error_memory();
    s.is_live = (bool *)(s.needs + n);
    tgi_rebuild rebuild = {
        .in = in, .visit = rebuild_node, .keep = s.is_live, .user = &s};
    const tg_status status =
        mark_live(&s) ? tgi_rebuild_run(&rebuild) : tg_error_last()->status;
    for (size_t i = 0; i < n; i++)
        tgi_region_needs_destroy(s.needs[i]);
    tgi_free(s.needs);
    *out_graph = rebuild.out;
    return status;
}
