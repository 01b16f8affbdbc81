/* SPDX-License-Identifier: MIT */
/*
 * variant.h - the extents of a graph, as far as code is specialised on them.
 *
 * Code is generic in symbolic extents. It is specialised only on which of them
 * are 0 or 1, because this decides which axes are broadcast, degenerate or
 * empty. Each such pattern is a variant; a graph without symbols has one.
 */
#ifndef TGI_VARIANT_H
#define TGI_VARIANT_H

#include "ir/graph.h"

typedef struct tgi_variant {
    tgi_dims *dims; /* its extents, over the symbols of the graph's table */
    tgi_dim *map;   /* from expressions of the graph's table to these */
} tgi_variant;

/* The variant of a call whose extents have these values. Fails when out of
   memory, with nothing to deinit. */
tg_status tgi_variant_init(tgi_variant *variant, const tgi_graph *graph,
                           const int64_t *values);
void tgi_variant_deinit(tgi_variant *variant);

static inline tgi_dim tgi_variant_dim(const tgi_variant *variant, tgi_dim dim)
{
    return tgi_dim_value(dim, variant->map);
}

/* True if calls with these two sets of values of the graph's extents have the
   same variant. */
bool tgi_variant_is_same(const tgi_graph *graph, const int64_t *values,
                         const int64_t *others);

#endif /* TGI_VARIANT_H */
