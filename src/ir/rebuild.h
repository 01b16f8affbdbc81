/* SPDX-License-Identifier: MIT */
/*
 * rebuild.h - the loop all passes share: walk the old graph in order, let the
 * pass choose a new node for each old one, carry over parameters, checks,
 * names, places and results.
 */
#ifndef TGI_REBUILD_H
#define TGI_REBUILD_H

#include "ir/graph.h"

typedef struct tgi_rebuild tgi_rebuild;

/* The answer for a node that nothing stands for and nobody will ask for. */
#define TGI_REBUILD_DROPPED UINT32_MAX

struct tgi_rebuild {
    const tgi_graph *in;
    tgi_graph *out;
    tgi_ref *map; /* old ref to new; 0: dropped */
    /*
     * The new ref for `node`, whose inputs are new refs already (only node
     * inputs that are 0 were dropped). The usual answer is
     * tgi_graph_add(out, node). 0 is failure (recorded).
     */
    tgi_ref (*visit)(tgi_rebuild *rebuild, tgi_ref old, const tgi_node *node);
    /* What becomes of the graphs of branches and loops: mostly the pass
       itself. Their checks are added to the new graph. NULL: they stay. */
    tg_status (*region)(const tgi_graph *in, tgi_graph **out_graph);
    /* By old ref, or NULL: nodes without it are dropped. */
    const bool *keep;
    /* Checks for which it is false are dropped; NULL keeps all. */
    bool (*keep_check)(const tgi_rebuild *rebuild, const tgi_check *check);
    void *user;
};

/*
 * Fills rebuild->out; NULL and a status on failure. Parameters come first and
 * are all kept. The map is gone afterwards.
 */
tg_status tgi_rebuild_run(tgi_rebuild *rebuild);

/*
 * The attribute of a branch or loop with other graphs in it, made by `region`
 * from those of `node`; their checks become checks of `out` as well. NULL on
 * failure (recorded). Freed by tgi_rebuild_regions_free.
 */
tgi_attr_regions *tgi_rebuild_regions(
    const tgi_node *node, tgi_graph *out, void *user,
    tg_status region(const tgi_graph *in, void *user, tgi_graph **out_graph));
void tgi_rebuild_regions_free(tgi_attr_regions *attr);

#endif /* TGI_REBUILD_H */
