/* SPDX-License-Identifier: MIT */
/*
 * edge_pieces.h - gathers that repeat the edges of an axis, as concats.
 */
#ifndef TGI_EDGE_PIECES_H
#define TGI_EDGE_PIECES_H

#include "ir/graph.h"

/*
 * Adds the concat that equals the GATHER `node`, whose inputs are in `graph`,
 * if its indices are consecutive and clamped, and take the whole axis: the axis
 * between copies of its first and its last element. *out_ref is 0 for other
 * gathers, and for unknown extents. False when out of memory (recorded).
 */
bool tgi_edge_pieces(tgi_graph *graph, const tgi_node *node, tgi_ref *out_ref);

#endif /* TGI_EDGE_PIECES_H */
