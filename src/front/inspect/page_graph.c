/* SPDX-License-Identifier: MIT */
/*
 * page_graph.c - the graphs of a page: a picture of each that is not too large,
 * and a table of all nodes with their kernels and the reasons of fusion. Also
 * the picture of the program: kernels, and the buffers they pass on.
 */
#include <string.h>

#include "base/error.h"
#include "front/inspect/layered_layout.h"
#include "front/inspect/page.h"

enum {
    MAX_DRAWN_NODES = 600,
    MAX_DRAWN_KERNELS = 400,
    LABEL_LENGTH = 19,
    KERNEL_LABEL_LENGTH = 25
};
#define NODE_WIDTH 168.0
#define NODE_HEIGHT 38.0
#define KERNEL_WIDTH 216.0
#define LAYER_HEIGHT 74.0

/* -- Pictures -------------------------------------------------------------- */

static void print_edge(const tgi_page *p, const tgi_layout *l,
                       const tgi_layout_edge *edge)
{
    const tgi_layout_node *nodes = l->nodes.data;
    const tgi_layout_node *from = &nodes[edge->from], *to = &nodes[edge->to];
    double x = from->x, y = from->y + NODE_HEIGHT / 2;
    if (edge->is_far) { /* the two ends only */
        tgi_strbuf_addf(p->out,
                        "<path class=\"e\" stroke-dasharray=\"2 3\" "
                        "d=\"M%.0f %.0fv12M%.0f %.0fv-12\"/>\n",
                        x, y, to->x, to->y - NODE_HEIGHT / 2);
        return;
    }
    tgi_strbuf_addf(p->out, "<path class=\"e\" d=\"M%.0f %.0f", x, y);
    for (uint32_t i = 0; i <= edge->n_bends; i++) {
        const bool is_last = i == edge->n_bends;
        const tgi_layout_node *next =
            is_last ? to : &nodes[edge->first_bend + i];
        const double next_y = is_last ? next->y - NODE_HEIGHT / 2 : next->y;
        const double middle = (y + next_y) / 2;
        tgi_strbuf_addf(p->out, "C%.0f %.0f %.0f %.0f %.0f %.0f", x, middle,
                        next->x, middle, next->x, next_y);
        x = next->x;
        y = next_y;
    }
    tgi_strbuf_add(p->out, "\"/>\n");
}

static void begin_picture(const tgi_page *p, const tgi_layout *l,
                          const char *what)
{
    tgi_strbuf_addf(p->out,
                    "<div class=\"s\"><svg width=\"%.0f\" height=\"%.0f\" "
                    "role=\"img\"><title>%s</title>\n",
                    l->width, l->height, what);
    for (size_t i = 0; i < l->edges.n; i++)
        print_edge(p, l, &l->edges.data[i]);
}

static void end_picture(const tgi_page *p)
{
    tgi_strbuf_add(p->out, "</svg></div>\n");
}

/* A box with two lines of text; the first has been opened with a link. */
static void print_box(const tgi_page *p, const tgi_layout_node *at,
                      uint32_t kernel, const char *style, double radius)
{
    const double x = at->x - at->width / 2, y = at->y - NODE_HEIGHT / 2;
    tgi_strbuf_add(p->out, "<rect class=\"b ");
    tgi_strbuf_add(p->out, style);
    tgi_strbuf_addf(p->out,
                    "\" x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" "
                    "rx=\"%.0f\"/>",
                    x, y, at->width, NODE_HEIGHT, radius);
    if (kernel)
        tgi_strbuf_addf(p->out,
                        "<rect class=\"f\" x=\"%.0f\" y=\"%.0f\" width=\"4\" "
                        "height=\"%.0f\" rx=\"2\"/>",
                        x + 5, y + 6, NODE_HEIGHT - 12);
}

static void begin_text(const tgi_page *p, const tgi_layout_node *at, int line)
{
    tgi_strbuf_addf(p->out, "<text%s x=\"%.0f\" y=\"%.0f\">",
                    line ? " class=\"t\"" : "", at->x - at->width / 2 + 15,
                    at->y + (line ? 12 : -3));
}

/* -- Pictures of graphs ---------------------------------------------------- */

/* Scalars that are constants clutter the picture; the table has them. */
static bool is_drawn(const tgi_graph *graph, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(graph, ref);
    return (node->op != TGI_OP_CONSTANT ||
            tgi_graph_shape(graph, ref)->rank > 0) &&
           node->op != TGI_OP_EXTENT;
}

static void print_node_box(const tgi_page *p, size_t g, tgi_ref ref,
                           const tgi_layout_node *at)
{
    const tgi_graph *graph = p->graphs.graphs.data[g];
    const tgi_node *node = tgi_graph_node(graph, ref);
    const tgi_page_node *facts = &p->nodes[g][ref];
    const bool is_leaf = tgi_op_table[node->op].cls == TGI_OPCLASS_LEAF;
    const uint32_t kernel = facts->n_kernels ? facts->kernels[0] : 0;
    tgi_strbuf label = {0}, type = {0};
    tgi_strbuf_addf(p->out, "<a href=\"#g%zun%u\"", g, ref);
    if (kernel)
        tgi_strbuf_addf(p->out, " class=\"c%d\"", tgi_page_colour(kernel));
    tgi_page_mark_line(p, tgi_node_site(node));
    tgi_strbuf_add(p->out, ">");
    print_box(p, at, kernel,
              is_leaf || facts->buffer || !p->loops ? "st" : "in",
              is_leaf ? NODE_HEIGHT / 2 : 7);
    tgi_strbuf_addf(&label, "%%%u %s", ref, tgi_op_table[node->op].name);
    if (node->name)
        tgi_strbuf_addf(&label, " %s", node->name);
    if (node->dtype)
        tgi_type_print(graph, ref, &type);
    begin_text(p, at, 0);
    tgi_html_short(p->out, label.text ? label.text : "", LABEL_LENGTH);
    tgi_strbuf_add(p->out, "</text>");
    begin_text(p, at, 1);
    tgi_html_short(p->out, type.text ? type.text : "", LABEL_LENGTH + 2);
    tgi_strbuf_add(p->out, "</text><title>");
    tgi_attr_print(graph, node, &label);
    tgi_html_textf(p->out, "%s %s", label.text ? label.text : "",
                   type.text ? type.text : "");
    if (node->site)
        tgi_html_textf(p->out, " at %s:%d", node->site->file, node->site->line);
    tgi_strbuf_add(p->out, "</title></a>\n");
    p->out->failed |= label.failed || type.failed;
    tgi_strbuf_deinit(&label);
    tgi_strbuf_deinit(&type);
}

/* Leaves, and views of them, are drawn near their users. */
static bool is_late(const tgi_node *node, const uint32_t *number,
                    const tgi_layout *l)
{
    const int cls = tgi_op_table[node->op].cls;
    bool late = cls == TGI_OPCLASS_LEAF || cls == TGI_OPCLASS_VIEW ||
                node->op == TGI_OP_READ;
    for (uint32_t i = 0; i < node->n_inputs && late; i++)
        late = !number[node->inputs[i]] ||
               l->nodes.data[number[node->inputs[i]] - 1].is_late;
    return late;
}

/* `number`: by ref, the node of the layout plus 1, or 0. */
static bool layout_graph(const tgi_graph *graph, uint32_t *number,
                         tgi_layout *l)
{
    for (tgi_ref ref = 1; ref <= graph->n_nodes; ref++) {
        const tgi_node *node = tgi_graph_node(graph, ref);
        if (!is_drawn(graph, ref))
            continue;
        if (!tgi_layout_add_node(l, NODE_WIDTH, is_late(node, number, l)))
            return false;
        number[ref] = (uint32_t)l->n_nodes;
        for (uint32_t i = 0; i < node->n_inputs; i++) {
            bool is_repeated = false;
            for (uint32_t k = 0; k < i; k++)
                is_repeated |= node->inputs[k] == node->inputs[i];
            if (number[node->inputs[i]] && !is_repeated &&
                !tgi_layout_add_edge(l, number[node->inputs[i]] - 1,
                                     number[ref] - 1))
                return false;
        }
    }
    return tgi_layout_run(l);
}

static bool print_picture(const tgi_page *p, size_t g)
{
    const tgi_graph *graph = p->graphs.graphs.data[g];
    if (graph->n_nodes > MAX_DRAWN_NODES) {
        tgi_strbuf_addf(p->out,
                        "<p class=\"d\">No picture: the graph has %u nodes, "
                        "more than %d. The table has all of them.</p>\n",
                        graph->n_nodes, MAX_DRAWN_NODES);
        return true;
    }
    tgi_layout l = {.layer_height = LAYER_HEIGHT};
    uint32_t *number =
        tgi_alloc_zero(((size_t)graph->n_nodes + 1) * sizeof(*number));
    bool is_good = number != NULL;
    if (!is_good)
        tgi_error_memory();
    is_good = is_good && layout_graph(graph, number, &l);
    if (is_good && l.n_nodes) {
        begin_picture(p, &l, "graph");
        for (tgi_ref ref = 1; ref <= graph->n_nodes; ref++)
            if (number[ref])
                print_node_box(p, g, ref, &l.nodes.data[number[ref] - 1]);
        end_picture(p);
    }
    tgi_free(number);
    tgi_layout_deinit(&l);
    return is_good;
}

/* -- Tables of nodes ------------------------------------------------------- */

static void print_inputs(const tgi_page *p, size_t g, const tgi_node *node)
{
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        tgi_strbuf_add(p->out, i ? " " : "");
        tgi_page_link_node(p, g, node->inputs[i]);
    }
}

static void print_fate(const tgi_page *p, const tgi_page_node *facts,
                       bool is_view)
{
    if (facts->buffer) {
        tgi_strbuf_addf(p->out, "<a href=\"#b%u\" class=\"m\">",
                        facts->buffer - 1);
        tgi_loops_print_buffer(p->loops, tgi_buffer_id_from(facts->buffer - 1),
                               p->out);
        tgi_strbuf_add(p->out, "</a> ");
    }
    if (facts->reason) {
        const size_t n = strcspn(facts->reason, "\n");
        tgi_html_text_bytes(p->out, facts->reason, n);
    } else if (!facts->buffer) {
        tgi_strbuf_add(p->out, facts->n_kernels
                                   ? "<span class=\"d\">inlined</span>"
                               : is_view ? "<span class=\"d\">view</span>"
                                         : "");
    }
}

static void print_row(const tgi_page *p, size_t g, tgi_ref ref)
{
    const tgi_graph *graph = p->graphs.graphs.data[g];
    const tgi_node *node = tgi_graph_node(graph, ref);
    const tgi_page_node *facts = &p->nodes[g][ref];
    tgi_strbuf text = {0};
    tgi_strbuf_addf(p->out, "<tr id=\"g%zun%u\"", g, ref);
    tgi_page_mark_line(p, tgi_node_site(node));
    tgi_strbuf_addf(p->out, "><td class=\"m n\">%%%u</td><td>", ref);
    tgi_strbuf_addf(&text, "%s", tgi_op_table[node->op].name);
    tgi_regions_print(&p->graphs, node, &text);
    tgi_attr_print(graph, node, &text);
    tgi_html_text(p->out, text.text ? text.text : "");
    p->out->failed |= text.failed;
    if (node->name) {
        tgi_strbuf_add(p->out, " <b>");
        tgi_html_text(p->out, node->name);
        tgi_strbuf_add(p->out, "</b>");
    }
    tgi_strbuf_add(p->out, "</td><td class=\"m\">");
    tgi_strbuf_truncate(&text, 0);
    if (node->dtype)
        tgi_type_print(graph, ref, &text);
    tgi_html_text(p->out, text.n ? text.text : "");
    tgi_strbuf_deinit(&text);
    tgi_strbuf_add(p->out, "</td><td>");
    print_inputs(p, g, node);
    tgi_strbuf_add(p->out, "</td><td>");
    tgi_page_link_site(p, tgi_node_site(node));
    tgi_strbuf_add(p->out, "</td>");
    if (p->loops) {
        tgi_strbuf_add(p->out, "<td>");
        for (uint32_t i = 0; i < facts->n_kernels && i < TGI_PAGE_NODE_KERNELS;
             i++)
            tgi_page_link_kernel(p, facts->kernels[i]);
        tgi_strbuf_add(p->out, "</td><td>");
        print_fate(p, facts, tgi_op_table[node->op].cls == TGI_OPCLASS_VIEW);
        tgi_strbuf_add(p->out, "</td>");
    }
    tgi_strbuf_add(p->out, "</tr>\n");
}

static void print_table(const tgi_page *p, size_t g)
{
    const tgi_graph *graph = p->graphs.graphs.data[g];
    tgi_strbuf_addf(p->out,
                    "<details%s><summary>%u nodes</summary>\n<table><tr>"
                    "<th>node</th><th>operation</th><th>type</th>"
                    "<th>operands</th><th>line</th>",
                    graph->n_nodes <= MAX_DRAWN_NODES ? " open" : "",
                    graph->n_nodes);
    if (p->loops)
        tgi_strbuf_add(p->out, "<th>computed in</th><th>stored? why?</th>");
    tgi_strbuf_add(p->out, "</tr>\n");
    for (tgi_ref ref = 1; ref <= graph->n_nodes; ref++)
        print_row(p, g, ref);
    tgi_strbuf_add(p->out, "</table>\n<p class=\"d\">Returns");
    for (size_t i = 0; i < graph->results.n; i++) {
        tgi_strbuf_add(p->out, i ? ", " : " ");
        tgi_page_link_node(p, g, graph->results.data[i]);
    }
    tgi_strbuf_add(p->out, graph->results.n ? ".</p></details>\n"
                                            : " nothing.</p></details>\n");
}

bool tgi_page_print_graphs(const tgi_page *page)
{
    bool is_good = true;
    tgi_strbuf_add(page->out,
                   "<section id=\"graph\"><h2>Graph</h2><p class=\"d\">");
    tgi_strbuf_add(page->out,
                   page->loops
                       ? "After graph passes. Colours are kernels; boxes with "
                         "dashed borders are inlined into their users, the "
                         "others are stored. Edges to far layers are "
                         "stubs.</p>\n"
                       : "After graph passes.</p>\n");
    for (size_t g = 0; g < page->graphs.graphs.n && is_good; g++) {
        tgi_strbuf label = {0};
        if (page->graphs.graphs.n > 1) {
            tgi_graph_label(&page->graphs, g, &label);
            tgi_strbuf_addf(page->out, "<h3 id=\"g%zu\">", g);
            tgi_html_text(page->out, label.text ? label.text : "");
            tgi_strbuf_add(page->out, "</h3>\n");
        }
        tgi_strbuf_deinit(&label);
        is_good = print_picture(page, g);
        print_table(page, g);
    }
    tgi_strbuf_add(page->out, "</section>\n");
    return is_good;
}

/* -- Picture of the program ------------------------------------------------ */

static bool accesses(const tgi_kernel_loops *k, uint32_t buffer, bool stores)
{
    bool found = false;
    for (size_t i = 0; stores && i < k->stores.n; i++)
        found |=
            tgi_buffer_id_index(
                k->accesses.data[k->stores.data[i].access].buffer) == buffer;
    for (size_t i = 1; !stores && i < k->insts.n; i++)
        found |=
            k->insts.data[i].kind == TGI_INST_LOAD &&
            tgi_buffer_id_index(
                k->accesses.data[k->insts.data[i].number].buffer) == buffer;
    return found;
}

/* Edges from a kernel to the next ones that load what it stores. */
static bool add_flows(const tgi_loops *loops, tgi_layout *l, uint32_t kernel)
{
    const tgi_kernel_loops *k = loops->kernels.data[kernel];
    for (uint32_t to = kernel + 1; to < loops->kernels.n; to++) {
        bool flows = false;
        for (size_t i = 0; i < k->stores.n && !flows; i++)
            flows =
                accesses(loops->kernels.data[to],
                         tgi_buffer_id_index(
                             k->accesses.data[k->stores.data[i].access].buffer),
                         false);
        if (flows && !tgi_layout_add_edge(l, kernel, to))
            return false;
    }
    return true;
}

static void print_kernel_box(const tgi_page *p, uint32_t i,
                             const tgi_layout_node *at)
{
    const tgi_kernel_loops *k = p->loops->kernels.data[i];
    const tgi_page_unit *unit = tgi_page_unit_of(p, i + 1);
    tgi_strbuf_addf(p->out, "<a href=\"#k%u\" class=\"c%d\"", i,
                    tgi_page_colour(i + 1));
    if (k->n_sites)
        tgi_page_mark_line(p, k->sites[0]);
    tgi_strbuf_add(p->out, ">");
    print_box(p, at, i + 1, "st", 7);
    begin_text(p, at, 0);
    /* Without tg_FUNCTION_. */
    const size_t n = strlen(p->loops->name);
    const char *name = k->name;
    if (strncmp(name, "tg_", 3) == 0 &&
        strncmp(name + 3, p->loops->name, n) == 0 && name[3 + n] == '_')
        name += 3 + n + 1;
    tgi_html_short(p->out, name, KERNEL_LABEL_LENGTH);
    tgi_strbuf_add(p->out, "</text>");
    begin_text(p, at, 1);
    if (unit && p->profile.total_ns)
        tgi_strbuf_addf(
            p->out, "%s, %.1f %%", tgi_html_time((double)unit->median_ns).text,
            100 * (double)unit->total_ns / (double)p->profile.total_ns);
    else if (k->n_sites && k->sites[0].file)
        tgi_html_textf(p->out, "line %d", k->sites[0].line);
    tgi_strbuf_add(p->out, "</text><title>");
    tgi_html_text(p->out, k->name);
    tgi_strbuf_add(p->out, "</title></a>\n");
}

bool tgi_page_print_program_picture(const tgi_page *page)
{
    const tgi_loops *loops = page->loops;
    if (loops->kernels.n < 2 || loops->kernels.n > MAX_DRAWN_KERNELS)
        return true;
    tgi_layout l = {.layer_height = LAYER_HEIGHT};
    bool is_good = true;
    for (size_t i = 0; i < loops->kernels.n && is_good; i++)
        is_good = tgi_layout_add_node(&l, KERNEL_WIDTH, false);
    for (uint32_t i = 0; i < loops->kernels.n && is_good; i++)
        is_good = add_flows(loops, &l, i);
    is_good = is_good && tgi_layout_run(&l);
    if (is_good) {
        begin_picture(page, &l, "kernels and what they pass on");
        for (uint32_t i = 0; i < loops->kernels.n; i++)
            print_kernel_box(page, i, &l.nodes.data[i]);
        end_picture(page);
    }
    tgi_layout_deinit(&l);
    return is_good;
}
