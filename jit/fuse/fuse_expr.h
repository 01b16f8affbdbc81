/* SPDX-License-Identifier: MIT */
/*
 * fuse_expr.h - the expression of a task: graph nodes, each with the index map
 * through which the task uses it.
 */
#ifndef TGI_FUSE_EXPR_H
#define TGI_FUSE_EXPR_H

#include "base/hash.h"
#include "fuse/fuse_map.h"

typedef struct tgi_expr_node {
    tgi_ref node;
    uint32_t n_operands;
    tgi_expr_id operands[3];
    uint32_t depth;  /* 0; n + 1 if a shift of a node of depth n needs it */
    bool is_ordered; /* it is in `order` */
    tgi_map map;
} tgi_expr_node;

typedef struct tgi_expr {
    TGI_VEC(tgi_expr_node) nodes;
    TGI_VEC(tgi_expr_id) order; /* operands before their users */
    tgi_index index;            /* nodes by graph node and map */
} tgi_expr;

/* A value at the root of an expression. */
typedef struct tgi_expr_root {
    tgi_ref node; /* 0: there is no such root */
    tgi_map map;
    tgi_expr_id id; /* set by tgi_fuse_build_expr */
} tgi_expr_root;

static inline tgi_expr_node *tgi_expr_at(const tgi_expr *expr, tgi_expr_id id)
{
    return &expr->nodes.data[tgi_expr_id_index(id)];
}

/* Builds the expression of a task and estimates its cost. */
tg_status tgi_fuse_build_expr(tgi_fuse_state *s, tgi_task *task);
void tgi_expr_deinit(tgi_expr *expr);

/* True if the task loads the node from a buffer. Nodes of empty values are
   constants. */
bool tgi_expr_node_is_loaded(const tgi_fuse_state *s, const tgi_task *task,
                             tgi_expr_id id);

/* The address of a leaf, without buffer and shifts; `index` is set to the raw
   id of the index node of a gather. False when out of memory (recorded). */
bool tgi_fuse_leaf_access(tgi_fuse_state *s, const tgi_expr_node *node,
                          tgi_access *out_access);

#endif /* TGI_FUSE_EXPR_H */
