/* SPDX-License-Identifier: MIT */
/*
 * pass_dead.c - drops what nobody needs: nodes that no result, no effect and
 * nothing that may fail depends on. Unused reads go, unused writes stay.
 *
 * Requires nothing; keeps the order of what is left. Inputs stand before
 * their users, so one sweep from the last node to the first marks all.
 */
#include "base/error.h"
#include "ir/rebuild.h"
#include "pass/pass.h"

static tgi_ref visit(tgi_rebuild *rebuild, tgi_ref old, const tgi_node *node)
{
    (void)old;
    return tgi_graph_add(rebuild->out, node);
}

static void mark(const tgi_graph *graph, bool *keep)
{
    for (size_t i = 0; i < graph->results.n; i++)
        keep[graph->results.data[i]] = true;
    for (tgi_ref ref = graph->n_nodes; ref > 0; ref--) {
        const tgi_node *node = tgi_graph_node(graph, ref);
        keep[ref] |= tgi_graph_is_root(graph, node);
        if (keep[ref])
            for (uint32_t i = 0; i < node->n_inputs; i++)
                keep[node->inputs[i]] = true;
    }
}

tg_status tgi_pass_dead(const tgi_graph *in, tgi_graph **out_graph)
{
    bool *keep = tgi_alloc_zero(((size_t)in->n_nodes + 1) * sizeof *keep);
    if (!keep)
        return tgi_error_memory();
    mark(in, keep);
    tgi_rebuild rebuild = {
        .in = in, .visit = visit, .region = tgi_pass_dead, .keep = keep};
    tg_status status = tgi_rebuild_run(&rebuild);
    tgi_free(keep);
    *out_graph = rebuild.out;
    return status;
}
