/* SPDX-License-Identifier: MIT */
/*
 * variant.h - the extents of a graph as code for it may take them for
 * granted.
 *
 * Compiled code serves calls of any size, but whether an axis is repeated or
 * read along, whether a product has only one column, and whether there is
 * anything at all, must be known: a variant knows which extents are 0 and
 * which are 1. A graph without symbols has one variant. Everything else about
 * extents is left to the call.
 */
#ifndef TGI_VARIANT_H
#define TGI_VARIANT_H

#include "ir/graph.h"

typedef struct tgi_variant {
    tgi_dims *dims; /* of its extents, with the symbols of the graph's table */
    tgi_dim *map;   /* what each expression of the graph's table is there */
} tgi_variant;

/* For calls like the one whose extents have these values. */
tg_status tgi_variant_init(tgi_variant *variant, const tgi_graph *graph,
                           const int64_t *values);
void tgi_variant_deinit(tgi_variant *variant);

static inline tgi_dim tgi_variant_dim(const tgi_variant *variant, tgi_dim dim)
{
    return tgi_dim_value(dim, variant->map);
}

/* Whether calls with these values of the graph's extents and calls with the
   others are served by one program. */
bool tgi_variant_is_same(const tgi_graph *graph, const int64_t *values,
                         const int64_t *others);

#endif /* TGI_VARIANT_H */
