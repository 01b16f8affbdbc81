/* SPDX-License-Identifier: MIT */
/*
 * dump_dot.c - a graph as Graphviz input: a box per node with its type and
 * attribute, an edge per use. Callees and regions are separate clusters. Dashed
 * edges are order dependencies, from a write to the reads that see it.
 */
#include "ir/dump.h"

static void add_label(const tgi_graph_list *list, const tgi_graph *graph,
                      tgi_ref ref, tgi_strbuf *out)
{
    const tgi_node *node = tgi_graph_node(graph, ref);
    tgi_strbuf_addf(out, "%%%u", ref);
    if (node->name)
        tgi_strbuf_addf(out, " %s", node->name);
    tgi_strbuf_addf(out, "\n%s", tgi_op_table[node->op].name);
    tgi_regions_print(list, node, out);
    tgi_attr_print(graph, node, out);
    if (node->dtype) {
        tgi_strbuf_add(out, "\n");
        tgi_type_print(graph, ref, out);
    }
}

static void add_node(const tgi_graph_list *list, size_t i, tgi_ref ref,
                     tgi_strbuf *out)
{
    const tgi_graph *graph = list->graphs.data[i];
    const tgi_node *node = tgi_graph_node(graph, ref);

    tgi_strbuf label = {0};
    add_label(list, graph, ref, &label);
    tgi_strbuf_addf(out, "    n%zu_%u [label=", i, ref);
    tgi_quote(label.text ? label.text : "", '"', out);
    tgi_strbuf_addf(out, "%s];\n",
                    tgi_graph_is_root(graph, node) ? ", style=bold" : "");
    out->failed |= label.failed;
    tgi_strbuf_deinit(&label);

    for (uint32_t k = 0; k < node->n_inputs; k++) {
        bool is_order = node->op == TGI_OP_READ && k == 1;
        tgi_strbuf_addf(out, "    n%zu_%u -> n%zu_%u%s;\n", i, node->inputs[k],
                        i, ref, is_order ? " [style=dashed]" : "");
    }
}

static void add_cluster(const tgi_graph_list *list, size_t i, tgi_strbuf *out)
{
    const tgi_graph *graph = list->graphs.data[i];
    tgi_strbuf label = {0};
    tgi_graph_label(list, i, &label);
    tgi_strbuf_addf(out, "  subgraph cluster_%zu {\n    label=", i);
    tgi_quote(label.text ? label.text : "", '"', out);
    tgi_strbuf_add(out, ";\n");
    out->failed |= label.failed;
    tgi_strbuf_deinit(&label);

    for (tgi_ref ref = 1; ref <= graph->n_nodes; ref++)
        add_node(list, i, ref, out);
    tgi_strbuf_addf(out, "    r%zu [label=\"return\", shape=plaintext];\n", i);
    for (size_t k = 0; k < graph->results.n; k++)
        tgi_strbuf_addf(out, "    n%zu_%u -> r%zu;\n", i,
                        graph->results.data[k], i);
    tgi_strbuf_add(out, "  }\n");
}

void tgi_graph_dump_dot(const tgi_graph *graph, tgi_strbuf *out)
{
    tgi_graph_list list;
    if (!tgi_graph_list_init(&list, graph)) {
        out->failed = true;
        return;
    }
    tgi_strbuf_add(out, "digraph tgjit {\n  node [shape=box];\n");
    for (size_t i = 0; i < list.graphs.n; i++)
        add_cluster(&list, i, out);
    tgi_strbuf_add(out, "}\n");
    tgi_graph_list_deinit(&list);
}
