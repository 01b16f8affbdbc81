/* SPDX-License-Identifier: MIT */
/*
 * page_kernels.c - the program of a page: its steps, then a section for each
 * kernel with its lines, loops, schedule and assembly.
 */
#include <string.h>

#include "front/inspect/page.h"
#include "schedule/schedule.h"

enum { SHOWN_SITES = 8, MAX_OPEN_LINES = 120 /* of assembly */ };

/* Appends what `print` has printed, escaped. */
static void add_escaped(const tgi_page *p, tgi_strbuf *text)
{
    tgi_html_text(p->out, text->text ? text->text : "");
    p->out->failed |= text->failed;
    tgi_strbuf_deinit(text);
}

/* -- Steps ----------------------------------------------------------------- */

/* Change of the indentation before and after a step. */
static int depth_before(int kind)
{
    return kind == TGI_STEP_SWITCH_END ? -2
           : kind == TGI_STEP_LOOP_END || kind == TGI_STEP_CASE ||
                   kind == TGI_STEP_ROWS_END
               ? -1
               : 0;
}

static int depth_after(int kind)
{
    return kind == TGI_STEP_SWITCH ? 2
           : kind == TGI_STEP_LOOP || kind == TGI_STEP_CASE ||
                   kind == TGI_STEP_ROWS
               ? 1
               : 0;
}

static void print_host_step(const tgi_page *p, const tgi_loop_step *step)
{
    const tgi_host_step *host =
        &p->loops->hosts.data[tgi_host_id_index(step->host)];
    const tgi_node *node = tgi_graph_node(host->graph, host->node);
    const size_t graph = tgi_graph_list_find(&p->graphs, host->graph);
    tgi_strbuf_addf(p->out, "%s ", tgi_op_table[node->op].name);
    if (graph < p->graphs.graphs.n)
        tgi_page_link_node(p, graph, host->node);
    tgi_strbuf_add(p->out, " ");
    tgi_page_link_site(p, tgi_node_site(node));
}

static void print_step(const tgi_page *p, size_t i)
{
    const tgi_loop_step *step = &p->loops->steps.data[i];
    const tgi_kernel_loops *k = tgi_loops_kernel_at(p->loops, i);
    if (k) {
        tgi_page_link_kernel(p, tgi_kernel_id_index(step->kernel) + 1);
        tgi_strbuf_add(p->out, "<span class=\"m\">");
        tgi_html_text(p->out, k->name);
        tgi_strbuf_add(p->out, "</span> ");
        if (k->n_sites)
            tgi_page_link_site(p, k->sites[0]);
        return;
    }
    if (step->kind == TGI_STEP_HOST) {
        print_host_step(p, step);
        return;
    }
    tgi_strbuf text = {0};
    tgi_loops_print_step(p->loops, i, &text);
    tgi_strbuf_add(p->out, "<span class=\"d\">");
    add_escaped(p, &text);
    tgi_strbuf_add(p->out, "</span>");
}

void tgi_page_print_program(const tgi_page *page)
{
    int depth = 0;
    tgi_strbuf_add(page->out, "<h4>Steps, in order</h4>\n");
    for (size_t i = 0; i < page->loops->steps.n; i++) {
        const int kind = page->loops->steps.data[i].kind;
        depth += depth_before(kind);
        tgi_strbuf_addf(page->out, "<div style=\"padding-left:%dpx\">",
                        24 * depth);
        print_step(page, i);
        tgi_strbuf_add(page->out, "</div>\n");
        depth += depth_after(kind);
    }
}

/* -- Assembly -------------------------------------------------------------- */

/* The source line of a row: the link and its text. */
static void print_row_source(const tgi_page *p, const tgi_assembly_line *line,
                             uint32_t file)
{
    size_t n = 0;
    if (file == UINT32_MAX || line->line <= 0)
        return;
    tgi_page_link_site(p, (tg_site){p->files.data[file].path, line->line});
    const char *text = tgi_page_line(p, file, line->line, &n);
    if (text) {
        tgi_strbuf_add(p->out, "<br><code>");
        tgi_html_text_bytes(p->out, text, n);
        tgi_strbuf_add(p->out, "</code>");
    }
}

static uint32_t file_of(const tgi_page *p, const tgi_assembly_line *line)
{
    for (uint32_t i = 0; i < p->files.n && line->line > 0; i++)
        if (tgi_assembly_is_file(&p->assembly, line->file,
                                 p->files.data[i].path))
            return i;
    return UINT32_MAX;
}

/* A label, or a mnemonic, operands and a shortened comment in columns. */
static void print_instruction(const tgi_page *p, tgi_assembly_span s)
{
    enum { MNEMONIC = 13, OPERANDS = 34, COMMENT = 44 };
    if (s.text[0] == '.') {
        tgi_html_text_bytes(p->out, s.text, s.n);
        tgi_strbuf_add(p->out, "\n");
        return;
    }
    size_t n = 0, end = 0;
    while (n < s.n && s.text[n] != '\t' && s.text[n] != ' ')
        n++;
    const char *comment = memchr(s.text, '#', s.n);
    end = comment ? (size_t)(comment - s.text) : s.n;
    tgi_strbuf_add(p->out, "    ");
    tgi_html_text_bytes(p->out, s.text, n);
    size_t begin = n;
    while (begin < end && (s.text[begin] == '\t' || s.text[begin] == ' '))
        begin++;
    while (end > begin && (s.text[end - 1] == '\t' || s.text[end - 1] == ' '))
        end--;
    if (end > begin || comment)
        tgi_strbuf_addf(p->out, "%*s", n < MNEMONIC ? (int)(MNEMONIC - n) : 1,
                        "");
    tgi_html_text_bytes(p->out, s.text + begin, end - begin);
    if (comment) {
        const size_t used = end - begin;
        const size_t length = s.n - (size_t)(comment - s.text);
        tgi_strbuf_addf(p->out, "%*s",
                        used < OPERANDS ? (int)(OPERANDS - used) : 2, "");
        tgi_html_text_bytes(p->out, comment,
                            length < COMMENT ? length : COMMENT);
        tgi_strbuf_add(p->out, length < COMMENT ? "" : "…");
    }
    tgi_strbuf_add(p->out, "\n");
}

static void print_function(const tgi_page *p,
                           const tgi_assembly_function *function)
{
    const tgi_assembly_line *lines =
        p->assembly.lines.data + function->first_line;
    tgi_strbuf_add(p->out, "<div class=\"s\"><table class=\"asm\">\n");
    for (size_t i = 0; i < function->n_lines;) {
        const uint32_t file = file_of(p, &lines[i]);
        tgi_strbuf_add(p->out, "<tr");
        if (file != UINT32_MAX)
            tgi_strbuf_addf(p->out, " data-l=\"%u-%d\"", file, lines[i].line);
        tgi_strbuf_add(p->out, "><td>");
        print_row_source(p, &lines[i], file);
        tgi_strbuf_add(p->out, "</td><td><pre>");
        const size_t first = i;
        for (; i < function->n_lines && lines[i].line == lines[first].line &&
               lines[i].file == lines[first].file;
             i++) {
            print_instruction(p, lines[i].text);
        }
        tgi_strbuf_add(p->out, "</pre></td></tr>\n");
    }
    tgi_strbuf_add(p->out, "</table></div>\n");
}

static void print_assembly(const tgi_page *p, const tgi_kernel_loops *k)
{
    const tgi_assembly_function *function =
        tgi_assembly_find(&p->assembly, k->name);
    if (!function) {
        tgi_strbuf_add(p->out, "<h4>Assembly</h4><p class=\"d\">");
        if (!p->of->code.assembly) {
            tgi_strbuf_add(p->out, "None: ");
            tgi_html_text(p->out, p->of->code.reason);
        } else {
            tgi_strbuf_add(p->out, k->is_straightline
                                       ? "Straight-line code, part of the "
                                         "<a href=\"#functions\">entry</a>."
                                       : "Part of the "
                                         "<a href=\"#functions\">entry</a>.");
        }
        tgi_strbuf_add(p->out, "</p>\n");
        return;
    }
    tgi_strbuf_addf(p->out,
                    "<details%s><summary>Assembly beside source lines: %zu "
                    "instructions and labels</summary>\n",
                    function->n_lines <= MAX_OPEN_LINES ? " open" : "",
                    function->n_lines);
    print_function(p, function);
    tgi_strbuf_add(p->out, "</details>\n");
}

/* The entry, and micro-kernels, which products share. */
static void print_other_functions(const tgi_page *p)
{
    if (!p->of->code.assembly)
        return;
    tgi_strbuf_add(
        p->out, "<section id=\"functions\"><h3>Entry and shared functions"
                "</h3><p class=\"d\">The entry runs the steps. Micro-kernels "
                "of matrix products are shared by all kernels that have "
                "them.</p>\n");
    for (size_t i = 0; i < p->assembly.functions.n; i++) {
        const tgi_assembly_function *f = &p->assembly.functions.data[i];
        bool is_kernel = false;
        for (size_t k = 0; k < p->loops->kernels.n && !is_kernel; k++)
            is_kernel = tgi_assembly_find(&p->assembly,
                                          p->loops->kernels.data[k]->name) == f;
        if (is_kernel)
            continue;
        tgi_strbuf_add(p->out, "<details><summary><span class=\"m\">");
        tgi_html_text_bytes(p->out, f->name.text, f->name.n);
        tgi_strbuf_addf(p->out,
                        "</span>: %zu instructions and labels"
                        "</summary>\n",
                        f->n_lines);
        print_function(p, f);
        tgi_strbuf_add(p->out, "</details>\n");
    }
    tgi_strbuf_add(p->out, "</section>\n");
}

/* -- Kernels --------------------------------------------------------------- */

static void print_sites(const tgi_page *p, const tgi_kernel_loops *k)
{
    for (uint32_t i = 0; i < k->n_sites && i < SHOWN_SITES; i++) {
        tgi_strbuf_add(p->out, i ? ", " : "");
        tgi_page_link_site(p, k->sites[i]);
    }
    if (k->n_sites > SHOWN_SITES)
        tgi_strbuf_addf(p->out, " +%u", k->n_sites - SHOWN_SITES);
}

static void print_facts(const tgi_page *p, uint32_t kernel)
{
    const tgi_page_unit *unit = tgi_page_unit_of(p, kernel);
    if (!unit)
        return;
    tgi_strbuf_addf(p->out, "<span class=\"d\">%s in %llu run%s, median %s",
                    tgi_html_time((double)unit->total_ns).text,
                    (unsigned long long)unit->n_runs,
                    unit->n_runs == 1 ? "" : "s",
                    tgi_html_time((double)unit->median_ns).text);
    if (unit->gigabytes > 0)
        tgi_strbuf_addf(p->out, ", %.1f GB/s", unit->gigabytes);
    if (unit->gigaflops > 0)
        tgi_strbuf_addf(p->out, ", %.1f GFLOP/s", unit->gigaflops);
    if (unit->roof > 0)
        tgi_strbuf_addf(p->out, ", %.0f %% of the roof", 100 * unit->roof);
    if (unit->threads > 1)
        tgi_strbuf_addf(p->out, ", %d threads (imbalance %.2f)", unit->threads,
                        unit->imbalance);
    tgi_strbuf_add(p->out, "</span>");
}

static void print_nodes(const tgi_page *p, uint32_t kernel)
{
    tgi_strbuf_add(p->out, "<p class=\"d\">Nodes:");
    for (size_t g = 0; g < p->graphs.graphs.n; g++)
        for (tgi_ref ref = 1; ref <= p->graphs.graphs.data[g]->n_nodes; ref++) {
            const tgi_page_node *node = &p->nodes[g][ref];
            bool is_here = false;
            for (uint32_t i = 0;
                 i < node->n_kernels && i < TGI_PAGE_NODE_KERNELS; i++)
                is_here |= node->kernels[i] == kernel;
            if (!is_here)
                continue;
            tgi_strbuf_add(p->out, " ");
            tgi_page_link_node(p, g, ref);
        }
    tgi_strbuf_add(p->out, "</p>\n");
}

static void print_kernel(const tgi_page *p, uint32_t kernel)
{
    const tgi_kernel_loops *k = p->loops->kernels.data[kernel - 1];
    tgi_strbuf text = {0};
    tgi_strbuf_addf(p->out,
                    "<section class=\"kernel c%d\" id=\"k%u\">"
                    "<div class=\"head\">",
                    tgi_page_colour(kernel), kernel - 1);
    tgi_page_link_kernel(p, kernel);
    tgi_strbuf_add(p->out, "<h3 class=\"m\">");
    tgi_html_text(p->out, k->name);
    tgi_strbuf_add(p->out, "</h3><span>");
    print_sites(p, k);
    tgi_strbuf_add(p->out, "</span></div>\n");
    print_facts(p, kernel);
    print_nodes(p, kernel);
    tgi_strbuf_add(p->out, "<h4>Loops</h4><pre>");
    tgi_loops_print_kernel(p->loops, k, 0, &text);
    add_escaped(p, &text);
    tgi_strbuf_add(p->out, "</pre>\n");
    if (k->schedule) {
        tgi_strbuf_add(p->out, "<h4>Schedule</h4><pre>");
        text = (tgi_strbuf){0};
        tgi_schedule_print(k->schedule, &text);
        add_escaped(p, &text);
        tgi_strbuf_add(p->out, "</pre>\n");
    }
    print_assembly(p, k);
    tgi_strbuf_add(p->out, "</section>\n");
}

void tgi_page_print_kernels(const tgi_page *page)
{
    for (uint32_t i = 0; i < page->loops->kernels.n; i++)
        print_kernel(page, i + 1);
    print_other_functions(page);
}
