/* SPDX-License-Identifier: MIT */
/*
 * update_pieces.h - dynamic updates as concats.
 */
#ifndef TGI_UPDATE_PIECES_H
#define TGI_UPDATE_PIECES_H

#include "ir/graph.h"

/*
 * Adds the concat that equals the DYNAMIC_UPDATE `node`, whose inputs are in
 * `graph`: the update between the rest of the operand. *out_ref is 0 if the
 * position is not constant, or most of the operand is not replaced: then the
 * update stays better as it is. False when out of memory (recorded).
 */
bool tgi_update_pieces(tgi_graph *graph, const tgi_node *node,
                       tgi_ref *out_ref);

#endif /* TGI_UPDATE_PIECES_H */
