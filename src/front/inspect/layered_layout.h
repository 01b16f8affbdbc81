/* SPDX-License-Identifier: MIT */
/*
 * layered_layout.h - places the nodes of an acyclic graph for a picture, in the
 * style of Sugiyama: layers from top to bottom, few crossings, edges that bend
 * around nodes.
 */
#ifndef TGI_LAYERED_LAYOUT_H
#define TGI_LAYERED_LAYOUT_H

#include "base/vec.h"
#include "tgjit/base.h"

typedef struct tgi_layout_node {
    double width; /* 0: a bend of an edge */
    double x, y;  /* of its centre */
    uint32_t layer;
    bool is_late; /* as near to its users as possible */
} tgi_layout_node;

typedef struct tgi_layout_edge {
    uint32_t from, to;            /* nodes; from < to */
    bool is_far;                  /* spans too many layers to be drawn */
    uint32_t first_bend, n_bends; /* nodes, from top to bottom */
} tgi_layout_edge;

typedef struct tgi_layout {
    TGI_VEC(tgi_layout_node) nodes; /* those of the graph, then bends */
    size_t n_nodes;                 /* of the graph */
    TGI_VEC(tgi_layout_edge) edges;
    double layer_height;
    double width, height; /* of the picture */
} tgi_layout;

/* Adds a node; its number is that of earlier calls. All operands of a late node
   are late. False when out of memory (recorded), here and below. */
bool tgi_layout_add_node(tgi_layout *layout, double width, bool is_late);
bool tgi_layout_add_edge(tgi_layout *layout, uint32_t from, uint32_t to);

/* Places everything. All nodes have been added. */
bool tgi_layout_run(tgi_layout *layout);
void tgi_layout_deinit(tgi_layout *layout);

#endif /* TGI_LAYERED_LAYOUT_H */
