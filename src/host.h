/* SPDX-License-Identifier: MIT */
/*
 * host.h - what happens when a run comes to a host call: the same for the
 * interpreter and compiled code.
 */
#ifndef TGI_HOST_H
#define TGI_HOST_H

#include "graph.h"

/*
 * What a HOST node will show its function for these extents: its inputs, then
 * its outputs, all but where they lie. In the arena, so that a run needs no
 * memory; NULL when out of memory (recorded).
 */
tg_host_buffer *tgi_host_prepare(const tgi_graph *graph, const tgi_node *node,
                                 const int64_t *extents, tgi_arena *arena);

/*
 * Calls the function of a HOST node. `buffers` have all their data: dense,
 * and never NULL. Its failure is recorded with the place of the node.
 */
tg_status tgi_host_call(const tgi_node *node, const tg_host_buffer *buffers);

#endif /* TGI_HOST_H */
