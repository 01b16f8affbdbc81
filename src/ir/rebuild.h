/* SPDX-License-Identifier: MIT */
/*
 * rebuild.h - graph rewriting, shared by all passes: visits the nodes of the
 * old graph in order, lets the pass map each to a node of a new graph, and
 * copies parameters, checks, names, sites and results.
 */
#ifndef TGI_REBUILD_H
#define TGI_REBUILD_H

#include "ir/graph.h"

typedef struct tgi_rebuild tgi_rebuild;

/* Returned by `visit` for a node without replacement; it must have no users. */
#define TGI_REBUILD_DROPPED UINT32_MAX

struct tgi_rebuild {
    const tgi_graph *in;
    tgi_graph *out;
    tgi_ref *map; /* old ref to new; 0: dropped */
    /*
     * Returns the new ref for `node`, whose inputs are new refs (0: dropped);
     * 0 on failure (recorded). NULL copies every node.
     */
    tgi_ref (*visit)(tgi_rebuild *rebuild, tgi_ref old, const tgi_node *node);
    /* Rewrites the graphs of SWITCH and LOOP nodes, usually by the same pass;
       their checks are added to the new graph. NULL: they are unchanged. */
    tg_status (*region)(const tgi_graph *in, tgi_graph **out_graph);
    /* By old ref: nodes for which it is false are dropped. NULL keeps all. */
    const bool *keep;
    /* Checks for which it returns false are dropped. NULL keeps all. */
    bool (*keep_check)(const tgi_rebuild *rebuild, const tgi_check *check);
    void *user;
};

/*
 * Fills rebuild->out, which the caller owns; NULL and a status on failure. All
 * parameters are copied, first. Frees rebuild->map.
 */
tg_status tgi_rebuild_run(tgi_rebuild *rebuild);

/*
 * A copy of the attribute of a SWITCH or LOOP in which `region` has rewritten
 * each graph; adds the checks of the new graphs to `out`. NULL on failure
 * (recorded). Free it with tgi_rebuild_regions_free.
 */
tgi_attr_regions *tgi_rebuild_regions(
    const tgi_node *node, tgi_graph *out, void *user,
    tg_status region(const tgi_graph *in, void *user, tgi_graph **out_graph));
void tgi_rebuild_regions_free(tgi_attr_regions *attr);

#endif /* TGI_REBUILD_H */
