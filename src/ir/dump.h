/* SPDX-License-Identifier: MIT */
/*
 * dump.h - graphs as text and as Graphviz input. Output is deterministic
 * across processes: it contains no addresses, times or counters.
 */
#ifndef TGI_DUMP_H
#define TGI_DUMP_H

#include "ir/graph.h"

enum { TGI_DUMP_SITES = 1 /* the user's file:line at each node */ };

void tgi_graph_dump(const tgi_graph *graph, unsigned flags, tgi_strbuf *out);
void tgi_graph_dump_dot(const tgi_graph *graph, tgi_strbuf *out);

/* "f32[64,?0]", for dumps and messages. */
void tgi_type_print(const tgi_graph *graph, tgi_ref ref, tgi_strbuf *out);

/* " in square, called at a.c:30 in norm, called at …": the calls through which a
   line is reached, or nothing. */
void tgi_site_print_calls(const tgi_site_chain *site, tgi_strbuf *out);
/* " ; a.c:12" and the calls; nothing for NULL. File names have no folder. */
void tgi_site_print(const tgi_site_chain *site, tgi_strbuf *out);

/* -- Shared by both formats ------------------------------------------------ */

/*
 * A graph and the graphs reachable from its nodes, each once, in breadth-first
 * order. Zero-initialised, it is empty.
 */
typedef struct tgi_graph_list {
    TGI_VEC(const tgi_graph *) graphs; /* not retained */
    tgi_index index;
} tgi_graph_list;

/* False when out of memory (not recorded: printers set `failed`). */
bool tgi_graph_list_init(tgi_graph_list *list, const tgi_graph *graph);
size_t tgi_graph_list_find(const tgi_graph_list *list, const tgi_graph *graph);
void tgi_graph_list_deinit(tgi_graph_list *list);

/* "name" for graph 0 of a list, "name#2" for graph 2. */
void tgi_graph_label(const tgi_graph_list *list, size_t i, tgi_strbuf *out);

/* The attribute of a node, such as " axis=1", or nothing. The graphs it owns
   are printed by tgi_regions_print. */
void tgi_attr_print(const tgi_graph *graph, const tgi_node *node,
                    tgi_strbuf *out);

/* The labels of the graphs a node owns, each after a space. */
void tgi_regions_print(const tgi_graph_list *list, const tgi_node *node,
                       tgi_strbuf *out);

/* Quoted text, with quotes, backslashes and control characters escaped. */
void tgi_quote(const char *text, char quote, tgi_strbuf *out);

#endif /* TGI_DUMP_H */
