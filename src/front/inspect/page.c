/* SPDX-License-Identifier: MIT */
/*
 * page.c - composes a page, and writes it to a file. A page needs nothing but
 * itself: no network, no other file; the script only highlights.
 */
#include "front/inspect/page.h"

#include <string.h>

#include "base/atomic_file.h"
#include "base/error.h"

/* -- Head ------------------------------------------------------------------ */

/* Facts for tgjit-inspect, which lists pages. */
static void print_meta(const tgi_page *p, const char *name,
                       unsigned long long number)
{
    tgi_strbuf_addf(p->out, "<meta name=\"tgjit-%s\" content=\"%llu\">\n", name,
                    number);
}

static void print_head(const tgi_page *p)
{
    const tgi_inspection *of = p->of;
    tgi_strbuf_add(p->out,
                   "<!DOCTYPE html>\n<html lang=\"en\"><head>"
                   "<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
                   "content=\"width=device-width,initial-scale=1\">\n"
                   "<meta http-equiv=\"Content-Security-Policy\" "
                   "content=\"default-src 'none';style-src 'unsafe-inline';"
                   "script-src 'unsafe-inline'\">\n"
                   "<meta name=\"generator\" content=\"tgjit-inspect\">\n");
    print_meta(p, "trace", of->number);
    print_meta(p, "nodes", of->graph->n_nodes);
    print_meta(p, "kernels", p->loops ? p->loops->kernels.n : 0);
    print_meta(p, "interpreted", of->interpreted != NULL);
    print_meta(p, "calls", p->profile.n_calls);
    print_meta(p, "time-ns", p->profile.total_ns);
    tgi_strbuf_add(p->out, "<title>");
    tgi_html_textf(p->out, "%s, trace %zu", of->function, of->number);
    tgi_strbuf_add(p->out, "</title>\n<style>\n");
    tgi_strbuf_add(p->out, tgi_page_style);
    tgi_strbuf_add(p->out, "</style></head>\n<body>\n");
}

/* -- Overview -------------------------------------------------------------- */

static void print_fact(const tgi_page *p, const char *name, const char *value)
{
    tgi_strbuf_addf(p->out, "<div><dt>%s</dt><dd>", name);
    tgi_html_text(p->out, value);
    tgi_strbuf_add(p->out, "</dd></div>\n");
}

static void print_count(const tgi_page *p, const char *name, size_t number)
{
    tgi_strbuf_addf(p->out, "<div><dt>%s</dt><dd>%zu</dd></div>\n", name,
                    number);
}

static void print_phases(const tgi_page *p)
{
    uint64_t total = 0;
    for (int i = 0; i < TGI_N_PHASES; i++)
        total += p->of->phase_ns[i];
    if (!total)
        return;
    tgi_strbuf_add(p->out, "<h4>Time to make it</h4><div style=\"display:flex;"
                           "gap:2px;margin:6px 0\">");
    for (int i = 0; i < TGI_N_PHASES; i++)
        if (p->of->phase_ns[i])
            tgi_strbuf_addf(p->out,
                            "<span class=\"bar c%d\" style=\"width:%.2f%%\">"
                            "</span>",
                            i % TGI_PAGE_COLOURS,
                            100 * (double)p->of->phase_ns[i] / (double)total);
    tgi_strbuf_add(p->out, "</div><p class=\"d\">");
    for (int i = 0; i < TGI_N_PHASES; i++)
        if (p->of->phase_ns[i])
            tgi_strbuf_addf(p->out, "<span class=\"k c%d\">%s</span>%s ",
                            i % TGI_PAGE_COLOURS, tgi_profile_phase_names[i],
                            tgi_html_time((double)p->of->phase_ns[i]).text);
    tgi_strbuf_add(p->out, "</p>\n");
}

static void print_facts(const tgi_page *p)
{
    static const char *const sources[TGI_CODE_SOURCES] = {
        [TGI_CODE_COMPILED] = "compiled",
        [TGI_CODE_FROM_MEMORY] = "compiled code, from memory",
        [TGI_CODE_FROM_DISK] = "compiled code, from the disk cache"};
    const tgi_inspection *of = p->of;
    tgi_strbuf_add(p->out, "<dl>\n");
    print_fact(p, "calls run",
               of->interpreted  ? "interpreted"
               : of->has_source ? sources[of->source]
                                : "nothing yet: not called");
    print_count(p, "nodes", of->graph->n_nodes);
    if (p->loops) {
        print_count(p, "kernels", p->loops->kernels.n);
        print_count(p, "epochs", p->loops->n_epochs);
        if (p->has_plan)
            print_fact(p, "temporaries",
                       tgi_html_bytes((double)p->plan.bytes).text);
    }
    if (p->profile.is_known && p->profile.n_calls)
        print_fact(p, "time of a call",
                   tgi_html_time((double)p->profile.total_ns /
                                 (double)p->profile.n_calls)
                       .text);
    tgi_strbuf_add(p->out, "</dl>\n");
    if (of->machine) {
        tgi_strbuf_add(p->out, "<p class=\"d\" style=\"margin-top:12px\">");
        tgi_html_text(p->out, of->machine);
        tgi_strbuf_add(p->out, "</p>\n");
    }
}

/* The extents that symbols have on this page. */
static void print_extents(const tgi_page *p)
{
    const tgi_dims *dims = p->of->graph->dims;
    bool is_first = true;
    for (size_t i = 0; i < p->of->n_values; i++) {
        const tgi_dim dim = (tgi_dim)i + TGI_DIM_NONE + 1;
        const int64_t number = tgi_dim_symbol_number(dims, dim);
        if (number < 0)
            continue;
        tgi_strbuf_addf(p->out, "%s?%lld = %lld",
                        is_first ? "<p class=\"d\">Shown for calls with "
                                 : ", ",
                        (long long)number, (long long)p->of->values[i]);
        is_first = false;
    }
    tgi_strbuf_add(p->out, is_first ? "" : ".</p>\n");
}

static void print_header(const tgi_page *p)
{
    const tgi_inspection *of = p->of;
    tgi_strbuf_add(p->out, "<header><h1>");
    tgi_html_text(p->out, of->function);
    tgi_strbuf_addf(p->out, " <small>trace %zu</small></h1>\n<p class=\"m d\">",
                    of->number);
    tgi_html_text(p->out, of->signature);
    tgi_strbuf_add(p->out, "</p>\n<p class=\"d\">Traced ");
    if (of->file) {
        tgi_strbuf_add(p->out, "at ");
        tgi_page_link_site(p, (tg_site){of->file, of->line});
    }
    tgi_strbuf_add(p->out, ": ");
    tgi_html_text(p->out, of->reason);
    tgi_strbuf_add(p->out, ".</p>\n");
    print_extents(p);
    if (of->interpreted) {
        tgi_strbuf_add(p->out, "<p class=\"w\">Calls are interpreted: ");
        tgi_html_text(p->out, of->interpreted);
        tgi_strbuf_add(p->out, "</p>\n");
    }
    print_facts(p);
    print_phases(p);
    tgi_strbuf_add(p->out, "</header>\n<nav><div><a href=\"#source\">Source</a>"
                           "<a href=\"#profile\">Profile</a>");
    if (p->loops)
        tgi_strbuf_add(p->out, "<a href=\"#program\">Program</a>"
                               "<a href=\"#kernels\">Kernels</a>");
    tgi_strbuf_add(p->out, "<a href=\"#graph\">Graph</a>");
    if (p->loops)
        tgi_strbuf_add(p->out, "<a href=\"#memory\">Memory</a>"
                               "<a href=\"#fusion\">Fusion</a>");
    tgi_strbuf_add(p->out, "</div></nav>\n<main>\n");
}

/* -- Parts of compiled functions ------------------------------------------- */

static void print_fusion(const tgi_page *p)
{
    tgi_strbuf_add(p->out,
                   "<section id=\"fusion\"><h2>Decisions of fusion</h2>"
                   "<p class=\"d\">Why values are stored between kernels, as "
                   "<code>TGJIT_EXPLAIN=fusion</code> logs it. The tables of "
                   "nodes and buffers have the same reasons.</p><pre>");
    tgi_html_text(p->out, p->of->code.fusion);
    tgi_strbuf_add(p->out, "</pre></section>\n");
}

static bool print_program(const tgi_page *p)
{
    tgi_strbuf_add(p->out,
                   "<section id=\"program\"><h2>Program</h2><p class=\"d\">"
                   "Kernels and the values they pass on in memory.</p>\n");
    const bool is_good = tgi_page_print_program_picture(p);
    tgi_page_print_program(p);
    tgi_strbuf_add(p->out, "</section>\n<div id=\"kernels\">\n");
    tgi_page_print_kernels(p);
    tgi_strbuf_add(p->out, "</div>\n");
    return is_good;
}

static void print_no_loops(const tgi_page *p)
{
    tgi_strbuf_add(p->out, "<section id=\"program\"><h2>Program</h2><p>There "
                           "are no loops, schedules and assembly: ");
    tgi_html_text(p->out, p->of->code.reason[0] ? p->of->code.reason
                                                : "the trace is interpreted");
    tgi_strbuf_add(p->out, ".</p></section>\n");
}

/* -- All ------------------------------------------------------------------- */

static bool print_page(const tgi_page *p)
{
    bool is_good = true;
    print_head(p);
    print_header(p);
    tgi_page_print_sources(p);
    tgi_page_print_profile(p);
    if (p->loops)
        is_good = print_program(p);
    else
        print_no_loops(p);
    is_good = is_good && tgi_page_print_graphs(p);
    if (p->loops) {
        tgi_page_print_memory(p);
        print_fusion(p);
    }
    tgi_strbuf_add(p->out, "</main>\n<footer>libtgjit ");
    tgi_html_text(p->out, tg_version());
    tgi_strbuf_add(p->out, "</footer>\n<script>");
    tgi_strbuf_add(p->out, tgi_page_script);
    tgi_strbuf_add(p->out, "</script>\n</body></html>\n");
    return is_good;
}

bool tgi_inspection_print(const tgi_inspection *inspection, tgi_strbuf *out)
{
    tgi_page page;
    const bool is_good =
        tgi_page_init(&page, inspection, out) && print_page(&page);
    tgi_page_deinit(&page);
    if (is_good && out->failed)
        tgi_error_memory();
    return is_good && !out->failed;
}

tg_status tgi_inspection_write(const tgi_inspection *inspection,
                               const char *path)
{
    tgi_strbuf text = {0};
    tgi_atomic_file file;
    tg_status status = TG_OK;
    if (!tgi_inspection_print(inspection, &text)) {
        status = tg_error_last()->status;
    } else {
        int reason = tgi_atomic_file_begin(&file, path);
        if (!reason)
            reason = tgi_atomic_file_end(
                &file, tgi_atomic_file_write(&file, text.text, text.n));
        if (reason)
            status = tgi_error_file("write", path, reason);
    }
    tgi_strbuf_deinit(&text);
    return status;
}

void tgi_inspection_deinit(tgi_inspection *inspection)
{
    tgi_inspected_code_deinit(&inspection->code);
    tgi_graph_release(inspection->graph);
    tgi_free(inspection->values);
    tgi_free(inspection->function);
    tgi_free(inspection->file);
    tgi_free(inspection->reason);
    tgi_free(inspection->machine);
    tgi_free(inspection->signature);
    tgi_free(inspection->interpreted);
    *inspection = (tgi_inspection){.function = NULL};
}
