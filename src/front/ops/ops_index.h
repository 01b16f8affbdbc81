/* SPDX-License-Identifier: MIT */
/*
 * ops_index.h - elements selected by indices, as part of other operations.
 */
#ifndef TGI_OPS_INDEX_H
#define TGI_OPS_INDEX_H

#include "build/build.h"

/* See tg_take_along_axis; the axis is valid. */
tgi_ref tgi_build_take_along_axis(tgi_builder *b, tgi_ref x, tgi_ref indices,
                                  int axis, tg_gather_mode mode);

/*
 * The row-major position, in a vector of max_count elements, of each element of
 * the bool vector `is_kept` that is true; -1 for the others and for those
 * beyond max_count. Scattering by it compresses.
 */
tgi_ref tgi_build_compressed_position(tgi_builder *b, tgi_ref is_kept,
                                      tgi_dim max_count);

/* x flattened to the axes [all, rest …] that follow the first n. */
tgi_ref tgi_build_merge_first(tgi_builder *b, tgi_ref x, int n);

#endif /* TGI_OPS_INDEX_H */
