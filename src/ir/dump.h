/* SPDX-License-Identifier: MIT */
/*
 * dump.h - graphs as text and as Graphviz input. The same graph gives the
 * same bytes in every process: no address, no time, no counter appears.
 */
#ifndef TGI_DUMP_H
#define TGI_DUMP_H

#include "ir/graph.h"

enum { TGI_DUMP_SITES = 1 /* the user's file:line at each node */ };

void tgi_graph_dump(const tgi_graph *graph, unsigned flags, tgi_strbuf *out);
void tgi_graph_dump_dot(const tgi_graph *graph, tgi_strbuf *out);

/* "f32[64,?0]", for dumps and messages. */
void tgi_type_print(const tgi_graph *graph, tgi_ref ref, tgi_strbuf *out);

/* -- Parts both forms are made of ------------------------------------------ */

/*
 * A graph and those it calls, each once: itself, then callees in the order of
 * their first call, level by level. All zero is an empty list.
 */
typedef struct tgi_graph_list {
    TGI_VEC(const tgi_graph *) graphs; /* lent */
    tgi_index index;
} tgi_graph_list;

/* False when out of memory (not recorded: who prints has `failed` for it). */
bool tgi_graph_list_init(tgi_graph_list *list, const tgi_graph *graph);
size_t tgi_graph_list_find(const tgi_graph_list *list, const tgi_graph *graph);
void tgi_graph_list_deinit(tgi_graph_list *list);

/* "name", and "name#2" for graph 2 of a list; the first has no number. */
void tgi_graph_label(const tgi_graph_list *list, size_t i, tgi_strbuf *out);

/* The attribute of a node as " axis=1"; nothing if it has none to show. The
   callee of a call is shown by its label instead. */
void tgi_attr_print(const tgi_graph *graph, const tgi_node *node,
                    tgi_strbuf *out);

/* The labels of the graphs a node owns, each with a space before it. */
void tgi_regions_print(const tgi_graph_list *list, const tgi_node *node,
                       tgi_strbuf *out);

/* Text between quotes, with what would end them or the line escaped. */
void tgi_quote(const char *text, char quote, tgi_strbuf *out);

#endif /* TGI_DUMP_H */
