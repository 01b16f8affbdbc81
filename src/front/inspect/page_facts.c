/* SPDX-License-Identifier: MIT */
/*
 * page_facts.c - collects what the parts of a page show: by node, the kernels
 * that compute it, the buffer it is stored in and why; by source line, its
 * nodes; by buffer, its place. Also the links between the parts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "front/inspect/page.h"

/* -- Kernels and buffers of nodes ------------------------------------------ */

static tgi_page_node *node_of(const tgi_page *p, const tgi_graph *graph,
                              tgi_ref ref)
{
    const size_t i = graph && ref ? tgi_graph_list_find(&p->graphs, graph)
                                  : p->graphs.graphs.n;
    return i < p->graphs.graphs.n && ref <= graph->n_nodes ? &p->nodes[i][ref]
                                                           : NULL;
}

static void add_kernel(const tgi_page *p, const tgi_kernel_loops *k,
                       tgi_ref ref, uint32_t number)
{
    tgi_page_node *node = node_of(p, k->graph, ref);
    if (!node ||
        (node->n_kernels &&
         node->kernels[(node->n_kernels - 1) % TGI_PAGE_NODE_KERNELS] ==
             number))
        return;
    if (node->n_kernels < TGI_PAGE_NODE_KERNELS)
        node->kernels[node->n_kernels] = number;
    node->n_kernels++;
}

static void find_kernels(const tgi_page *p)
{
    for (uint32_t i = 0; i < p->loops->kernels.n; i++) {
        const tgi_kernel_loops *k = p->loops->kernels.data[i];
        for (size_t j = 1; j < k->insts.n; j++)
            if (k->insts.data[j].kind != TGI_INST_LOAD &&
                k->insts.data[j].kind != TGI_INST_CONSTANT)
                add_kernel(p, k, k->insts.data[j].node, i + 1);
        for (size_t j = 0; j < k->reductions.n; j++)
            add_kernel(p, k, k->reductions.data[j].node, i + 1);
        for (size_t j = 0; j < k->stores.n; j++)
            add_kernel(p, k, k->stores.data[j].node, i + 1);
    }
}

static void find_buffers(const tgi_page *p)
{
    for (uint32_t i = 0; i < p->loops->buffers.n; i++) {
        const tgi_loop_buffer *b = &p->loops->buffers.data[i];
        tgi_page_node *node = node_of(p, b->graph, b->node);
        if (node && !node->buffer)
            node->buffer = i + 1;
    }
}

/* -- Reasons --------------------------------------------------------------- */

/* "%12 mul: materialised: …" is about a node of the graph with this number if
   it has such a one. */
static bool fits_line(const tgi_page *p, size_t graph, tgi_ref ref,
                      const char *op)
{
    const tgi_graph *g = p->graphs.graphs.data[graph];
    if (ref == 0 || ref > g->n_nodes)
        return false;
    const char *name = tgi_op_table[tgi_graph_node(g, ref)->op].name;
    const size_t n = strlen(name);
    return strncmp(op, name, n) == 0 && (op[n] == ' ' || op[n] == ':');
}

/* The lines do not say which graph a node belongs to: prefer one in which it
   is stored. */
static tgi_page_node *find_explained(const tgi_page *p, tgi_ref ref,
                                     const char *op)
{
    tgi_page_node *found = NULL;
    for (size_t i = 0; i < p->graphs.graphs.n; i++)
        if (fits_line(p, i, ref, op) &&
            (!found || (!found->buffer && p->nodes[i][ref].buffer)))
            found = &p->nodes[i][ref];
    return found;
}

static void find_reasons(const tgi_page *p)
{
    const char *line = p->of->code.fusion;
    while (line && *line) {
        char *op;
        if (*line == '%') {
            const tgi_ref ref = (tgi_ref)strtoul(line + 1, &op, 10);
            tgi_page_node *node =
                *op == ' ' ? find_explained(p, ref, op + 1) : NULL;
            const char *reason = strstr(op, ": ");
            const char *end = strchr(op, '\n');
            if (node && !node->reason && reason && end && reason < end)
                node->reason = reason + 2;
        }
        line = strchr(line, '\n');
        line += line != NULL;
    }
}

/* -- Source lines ---------------------------------------------------------- */

static bool add_file(tgi_page *p, const char *path)
{
    const tgi_page_file file = {.path = path};
    return tgi_page_find_file(p, path) != UINT32_MAX ||
           tgi_vec_push(&p->files, file);
}

static bool add_uses_of_node(tgi_page *p, size_t graph, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(p->graphs.graphs.data[graph], ref);
    for (const tgi_site_chain *s = node->site; s; s = s->caller) {
        if (!s->file)
            continue;
        if (!add_file(p, s->file))
            return false;
        const tgi_page_use use = {.file = tgi_page_find_file(p, s->file),
                                  .line = s->line,
                                  .graph = (uint32_t)graph,
                                  .node = ref};
        if (!tgi_vec_push(&p->uses, use))
            return false;
    }
    return true;
}

static int compare_uses(const void *a, const void *b)
{
    const tgi_page_use *x = a, *y = b;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    if (x->graph != y->graph)
        return x->graph < y->graph ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static bool find_uses(tgi_page *p)
{
    for (size_t i = 0; i < p->graphs.graphs.n; i++)
        for (tgi_ref ref = 1; ref <= p->graphs.graphs.data[i]->n_nodes; ref++)
            if (!add_uses_of_node(p, i, ref)) {
                tgi_error_memory();
                return false;
            }
    if (p->of->file && !add_file(p, p->of->file)) {
        tgi_error_memory();
        return false;
    }
    if (p->uses.n)
        qsort(p->uses.data, p->uses.n, sizeof(*p->uses.data), compare_uses);
    for (size_t i = 0; i < p->uses.n; i++) {
        tgi_page_file *file = &p->files.data[p->uses.data[i].file];
        if (file->n_uses++ == 0)
            file->first_use = i;
    }
    return true;
}

/* -- Memory ---------------------------------------------------------------- */

/* Without sizes if they overflow: then calls fail as well. */
static bool find_places(tgi_page *p)
{
    const size_t n = p->loops->buffers.n + 1;
    int64_t *values = tgi_alloc_zero((tgi_dims_n_values(p->loops->dims) + 1) *
                                     sizeof(*values));
    p->sizes = tgi_alloc_zero(n * sizeof(*p->sizes));
    p->offsets = tgi_alloc_zero(n * sizeof(*p->offsets));
    bool is_good = values && p->sizes && p->offsets;
    if (!is_good)
        tgi_error_memory();
    p->has_plan =
        is_good && tgi_plan_values(p->loops, p->of->values, values) == TG_OK &&
        tgi_plan_sizes(p->loops, values, p->sizes) == TG_OK &&
        tgi_plan_memory(p->loops, p->sizes, 1, p->offsets, &p->plan) == TG_OK;
    tgi_free(values);
    return is_good;
}

/* -- All ------------------------------------------------------------------- */

static bool alloc_nodes(tgi_page *p)
{
    p->nodes = tgi_alloc_zero(p->graphs.graphs.n * sizeof(*p->nodes));
    for (size_t i = 0; p->nodes && i < p->graphs.graphs.n; i++) {
        const size_t n = (size_t)p->graphs.graphs.data[i]->n_nodes + 1;
        p->nodes[i] = tgi_alloc_zero(n * sizeof(**p->nodes));
        if (!p->nodes[i])
            return false;
    }
    return p->nodes != NULL;
}

bool tgi_page_init(tgi_page *page, const tgi_inspection *of, tgi_strbuf *out)
{
    *page = (tgi_page){.of = of, .loops = of->code.loops, .out = out};
    if (!tgi_graph_list_init(&page->graphs, of->graph) || !alloc_nodes(page)) {
        tgi_error_memory();
        return false;
    }
    if (page->loops) {
        find_kernels(page);
        find_buffers(page);
        find_reasons(page);
        if (!find_places(page))
            return false;
    }
    return find_uses(page) && tgi_page_read_sources(page) &&
           tgi_page_read_profile(page) &&
           (!of->code.assembly ||
            tgi_assembly_parse(&page->assembly, of->code.assembly));
}

void tgi_page_deinit(tgi_page *page)
{
    for (size_t i = 0; page->nodes && i < page->graphs.graphs.n; i++)
        tgi_free(page->nodes[i]);
    tgi_free(page->nodes);
    tgi_graph_list_deinit(&page->graphs);
    for (size_t i = 0; i < page->files.n; i++) {
        tgi_free(page->files.data[i].text);
        tgi_free(page->files.data[i].lines);
    }
    for (size_t i = 0; i < page->profile.units.n; i++)
        tgi_free(page->profile.units.data[i].name);
    tgi_vec_deinit(&page->profile.units);
    tgi_vec_deinit(&page->files);
    tgi_vec_deinit(&page->uses);
    tgi_assembly_deinit(&page->assembly);
    tgi_free(page->sizes);
    tgi_free(page->offsets);
}

/* -- Links ----------------------------------------------------------------- */

void tgi_page_link_kernel(const tgi_page *page, uint32_t kernel)
{
    if (kernel)
        tgi_strbuf_addf(page->out, "<a class=\"k c%d\" href=\"#k%u\">k%u</a>",
                        tgi_page_colour(kernel), kernel - 1, kernel - 1);
}

void tgi_page_link_node(const tgi_page *page, size_t graph, tgi_ref ref)
{
    tgi_strbuf_addf(page->out, "<a class=\"m\" href=\"#g%zun%u\">%%%u</a>",
                    graph, ref, ref);
}

void tgi_page_link_site(const tgi_page *page, tg_site site)
{
    if (!site.file)
        return;
    const uint32_t file = tgi_page_find_file(page, site.file);
    const char *slash = strrchr(site.file, '/');
    const bool is_listed = file != UINT32_MAX && page->files.data[file].text &&
                           site.line >= 1 &&
                           (size_t)site.line <= page->files.data[file].n_lines;
    if (is_listed)
        tgi_strbuf_addf(page->out, "<a class=\"n\" href=\"#l%u-%d\">", file,
                        site.line);
    tgi_html_textf(page->out, "%s:%d", slash ? slash + 1 : site.file,
                   site.line);
    if (is_listed)
        tgi_strbuf_add(page->out, "</a>");
}

void tgi_page_mark_line(const tgi_page *page, tg_site site)
{
    const uint32_t file =
        site.file ? tgi_page_find_file(page, site.file) : UINT32_MAX;
    if (file != UINT32_MAX)
        tgi_strbuf_addf(page->out, " data-l=\"%u-%d\"", file, site.line);
}
