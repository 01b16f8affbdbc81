/* SPDX-License-Identifier: MIT */
/*
 * fuse.h - from a graph to loops: which values are never stored, which share
 * a kernel, and what each kernel does.
 */
#ifndef TGI_FUSE_H
#define TGI_FUSE_H

#include "fuse/variant.h"
#include "loop/loops.h"

/*
 * Makes the loops of `graph` (without calls; lent, must outlive them) for a
 * variant of its extents. If `explain` is not NULL, one line for every
 * decision is appended to it.
 */
tg_status tgi_fuse(const tgi_graph *graph, const tgi_variant *variant,
                   tgi_strbuf *explain, tgi_loops **out_loops);

#endif /* TGI_FUSE_H */
