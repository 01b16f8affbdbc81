/* SPDX-License-Identifier: MIT */
/*
 * reduce_rows.h - reductions over several axes that are better done row by row.
 */
#ifndef TGI_REDUCE_ROWS_H
#define TGI_REDUCE_ROWS_H

#include "ir/graph.h"

/*
 * True if the reduction `node`, whose input is in `graph`, is better done in
 * two steps: over the last axis, then over the others. The bits are the same in
 * any order.
 */
bool tgi_reduces_by_rows(const tgi_graph *graph, const tgi_node *node);

#endif /* TGI_REDUCE_ROWS_H */
