/* SPDX-License-Identifier: MIT */
/*
 * fuse.h - fusion: from a graph to the loop IR.
 */
#ifndef TGI_FUSE_H
#define TGI_FUSE_H

#include "fuse/variant.h"
#include "loop/loops.h"

/*
 * Builds the loops of `graph` for a variant of its extents. The graph has no
 * calls; it is lent and must outlive the loops, which the caller destroys. If
 * `explain` is not NULL, a line per decision is appended to it. Fails when out
 * of memory.
 */
tg_status tgi_fuse(const tgi_graph *graph, const tgi_variant *variant,
                   tgi_strbuf *explain, tgi_loops **out_loops);

#endif /* TGI_FUSE_H */
