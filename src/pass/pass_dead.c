/* SPDX-License-Identifier: MIT */
/*
 * pass_dead.c - dead code elimination. Removes nodes that no result, no effect
 * and no node that may fail depends on. Unused reads are removed, unused writes
 * stay. Inputs precede their users, so one backward sweep marks all live nodes.
 *
 * Requires:    a verified graph.
 * Preserves:   every bit of results and effects; the order of nodes.
 * Invalidates: refs.
 * Terminates:  one sweep per graph.
 */
#include "base/error.h"
#include "ir/rebuild.h"
#include "pass/pass.h"

static void mark_live(const tgi_graph *graph, bool *is_live)
{
    for (size_t i = 0; i < graph->results.n; i++)
        is_live[graph->results.data[i]] = true;
    for (tgi_ref ref = graph->n_nodes; ref > 0; ref--) {
        const tgi_node *node = tgi_graph_node(graph, ref);
        is_live[ref] |= tgi_graph_is_root(graph, node);
        if (is_live[ref])
            for (uint32_t i = 0; i < node->n_inputs; i++)
                is_live[node->inputs[i]] = true;
    }
}

tg_status tgi_pass_dead(const tgi_graph *in, tgi_graph **out_graph)
{
    bool *is_live = tgi_alloc_zero(((size_t)in->n_nodes + 1) * sizeof *is_live);
    if (!is_live)
        return tgi_error_memory();
    mark_live(in, is_live);
    tgi_rebuild rebuild = {.in = in, .region = tgi_pass_dead, .keep = is_live};
    tg_status status = tgi_rebuild_run(&rebuild);
    tgi_free(is_live);
    *out_graph = rebuild.out;
    return status;
}
