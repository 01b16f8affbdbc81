/* SPDX-License-Identifier: MIT */
/*
 * fuse_starts.h - when host calls of tg_host_start run: as soon as their inputs
 * exist, ahead of computations recorded before them.
 */
#ifndef TGI_FUSE_STARTS_H
#define TGI_FUSE_STARTS_H

#include "ir/graph.h"

/*
 * The order in which fusion takes the nodes of a graph: that of the refs, but
 * starts, and the cheap nodes that only their inputs need, move forward.
 * *out_order is NULL if the graph has no starts; else the caller frees it.
 */
tg_status tgi_fuse_order_nodes(const tgi_graph *graph, tgi_ref **out_order);

/* True for a host call of tg_host_start. */
bool tgi_fuse_is_start(const tgi_node *node);

#endif /* TGI_FUSE_STARTS_H */
