/* SPDX-License-Identifier: MIT */
/*
 * callee_import.h - what a callee says, in the words of its caller: the same
 * nodes with other names of extents, in shapes, attributes and in the graphs
 * that branches and loops own. Between pass_inline.c, which decides what goes
 * where, and callee_import.c, which knows what names extents.
 */
#ifndef TGI_CALLEE_IMPORT_H
#define TGI_CALLEE_IMPORT_H

#include "ir/graph.h"

/* What is needed to say a callee's things in the caller's words. */
typedef struct tgi_import {
    const tgi_graph *callee;
    tgi_dims *dims;   /* the caller's */
    tgi_dim *symbols; /* by symbol of the callee */
    tgi_dim *extents; /* by expression of the callee */
    tgi_ref *refs;    /* by ref of the callee */
    tgi_ref *inputs;  /* room for those of any node of it */
} tgi_import;

/* False when out of memory (recorded). */
bool tgi_import_init(tgi_import *t, const tgi_graph *callee, tgi_dims *dims);
void tgi_import_deinit(tgi_import *t);

/* The symbols of the callee are extents of the call's inputs. */
tg_status tgi_import_extents(const tgi_import *t, const tgi_graph *caller,
                             const tgi_node *call);

tgi_shape_ref tgi_import_shape(const tgi_import *t, tgi_shape_ref ref);
tgi_check tgi_import_check(const tgi_import *t, tgi_check check);

/* Adds a node of the callee, whose inputs are new refs already, by `add_to`;
   0 on failure. */
tgi_ref tgi_import_node(const tgi_import *t, tgi_graph *out, tgi_node *node,
                        void *user,
                        tgi_ref add_to(tgi_graph *out, const tgi_node *node,
                                       void *user));

/* A graph in the caller's words, the callee itself or one inside it: the same
   nodes, other names of extents. */
tg_status tgi_import_graph(const tgi_import *t, const tgi_graph *in,
                           tgi_graph **out_graph);

#endif /* TGI_CALLEE_IMPORT_H */
