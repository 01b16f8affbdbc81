/* SPDX-License-Identifier: MIT */
/*
 * callee_import.h - clones nodes of a callee into its caller, with the callee's
 * symbolic extents replaced by the caller's in shapes, attributes and the
 * graphs of branches and loops. pass_inline.c decides where nodes go;
 * callee_import.c knows what refers to extents.
 */
#ifndef TGI_CALLEE_IMPORT_H
#define TGI_CALLEE_IMPORT_H

#include "ir/graph.h"

/* The state of an import. */
typedef struct tgi_import {
    const tgi_graph *callee;
    tgi_dims *dims;   /* the caller's */
    tgi_dim *symbols; /* by symbol of the callee */
    tgi_dim *extents; /* by symbolic extent of the callee */
    tgi_ref *refs;    /* by ref of the callee */
    tgi_ref *inputs;  /* space for the inputs of any of its nodes */
    /* The call, of which imported nodes become inlined ones; NULL: a copy. */
    const tgi_site_chain *call;
} tgi_import;

/* False when out of memory (recorded). */
bool tgi_import_init(tgi_import *t, const tgi_graph *callee, tgi_dims *dims);
void tgi_import_deinit(tgi_import *t);

/* Maps the callee's symbols, and so its extents, to extents of the call's
   inputs. The identity if the callee shares the caller's table. */
tg_status tgi_import_extents(const tgi_import *t, const tgi_graph *caller,
                             const tgi_node *call);

tgi_shape_ref tgi_import_shape(const tgi_import *t, tgi_shape_ref ref);
tgi_check tgi_import_check(const tgi_import *t, tgi_check check);

/* Imports shape and attribute of a node of the callee, whose inputs are already
   refs of `out`, and adds it by `add_to`; 0 on failure (recorded). */
tgi_ref tgi_import_node(const tgi_import *t, tgi_graph *out, tgi_node *node,
                        void *user,
                        tgi_ref add_to(tgi_graph *out, const tgi_node *node,
                                       void *user));

/* Clones `in`, the callee itself or a graph inside it. *out_graph is NULL on
   failure. */
tg_status tgi_import_graph(const tgi_import *t, const tgi_graph *in,
                           tgi_graph **out_graph);

#endif /* TGI_CALLEE_IMPORT_H */
