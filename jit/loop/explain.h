/* SPDX-License-Identifier: MIT */
/*
 * explain.h - the text of TGJIT_EXPLAIN=fusion: one line per decision.
 */
#ifndef TGI_EXPLAIN_H
#define TGI_EXPLAIN_H

#include "base/strbuf.h"
#include "ir/graph.h"

/* Appends "%<ref> <op> <name>: <text>\n", unless `explain` is NULL. */
void tgi_explain_node(tgi_strbuf *explain, const tgi_graph *graph, tgi_ref ref,
                      const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif /* TGI_EXPLAIN_H */
