/* SPDX-License-Identifier: MIT */
/*
 * explain.c - see explain.h.
 */
#include "loop/explain.h"

#include <stdarg.h>
#include <stdio.h>

void tgi_explain_node(tgi_strbuf *explain, const tgi_graph *graph, tgi_ref ref,
                      const char *format, ...)
{
    if (!explain)
        return;
    const tgi_node *node = tgi_graph_node(graph, ref);
    char text[160];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    tgi_strbuf_addf(explain, "%%%u %s%s%s: %s\n", ref,
                    tgi_op_table[node->op].name, node->name ? " " : "",
                    node->name ? node->name : "", text);
}
