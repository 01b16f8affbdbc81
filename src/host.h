/* SPDX-License-Identifier: MIT */
/*
 * host.h - what happens when a run comes to a host call: the same for the
 * interpreter and compiled code.
 */
#ifndef TGI_HOST_H
#define TGI_HOST_H

#include "graph.h"

/*
 * Calls the function of a HOST node. `data` has the dense elements of its
 * inputs, then room for those of its outputs; none is NULL. Its failure is
 * recorded with the place of the node.
 */
tg_status tgi_host_call(const tgi_graph *graph, const tgi_node *node,
                        const int64_t *extents, void *const *data);

#endif /* TGI_HOST_H */
