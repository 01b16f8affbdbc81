/* SPDX-License-Identifier: MIT */
/*
 * cost_node.h - the cost model (cost.h) for nodes of a graph, per vector of
 * TGI_COST_ASSUMED.
 */
#ifndef TGI_COST_NODE_H
#define TGI_COST_NODE_H

#include "ir/graph.h"
#include "recipe/cost.h"

/*
 * The cost of a node for its elements, given those of its inputs: of an
 * elementwise op, RANDOM_BITS or GATHER; else 0. A broadcast scalar is a uniform
 * operand.
 */
tgi_cost tgi_cost_of_node(const tgi_graph *graph, tgi_ref ref);

#endif /* TGI_COST_NODE_H */
