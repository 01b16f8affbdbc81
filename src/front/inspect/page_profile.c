/* SPDX-License-Identifier: MIT */
/*
 * page_profile.c - the profile of a page's trace: copied from the store, then
 * printed as a table of kernels with their share of the time.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "front/inspect/page.h"
#include "front/profile/profile_report.h"

/* -- Reading --------------------------------------------------------------- */

typedef struct reading {
    tgi_page *page;
    const tgi_roof *roof;
    bool is_good;
} reading;

static bool is_trace_of(const tgi_inspection *of,
                        const tgi_profile_trace *trace)
{
    return trace->number == of->number && trace->site.line == of->line &&
           strcmp(trace->function, of->function) == 0 &&
           (trace->site.file && of->file
                ? strcmp(trace->site.file, of->file) == 0
                : trace->site.file == of->file);
}

/* The kernel of a unit, which is named after its first one: "tg_f_0_add +3". */
static uint32_t find_kernel(const tgi_page *p, const char *unit)
{
    for (uint32_t i = 0; p->loops && i < p->loops->kernels.n; i++) {
        const char *name = p->loops->kernels.data[i]->name;
        const size_t n = strlen(name);
        if (strncmp(unit, name, n) == 0 &&
            (unit[n] == 0 || strncmp(unit + n, " +", 2) == 0))
            return i + 1;
    }
    return 0;
}

static bool copy_unit(reading *r, const tgi_profile_unit *unit)
{
    const double seconds = 1e-9 * (double)unit->total_ns;
    tgi_page_unit copy = {
        .name = tgi_strdup(unit->name),
        .is_interpreted = unit->is_interpreted,
        .kernel = unit->is_interpreted ? 0 : find_kernel(r->page, unit->name),
        .n_runs = unit->n_runs,
        .total_ns = unit->total_ns,
        .median_ns = tgi_profile_median_ns(unit),
        .min_ns = unit->min_ns,
        .wait_ns = unit->wait_ns / unit->n_runs,
        .gigabytes = seconds > 0 ? 1e-9 * unit->bytes / seconds : 0,
        .gigaflops = seconds > 0 ? 1e-9 * unit->flops / seconds : 0,
        .roof = r->roof ? tgi_profile_roof_share(r->roof, unit) : 0,
        .imbalance = tgi_profile_imbalance(unit),
        .threads = unit->threads};
    if (copy.name && tgi_vec_push(&r->page->profile.units, copy))
        return true;
    tgi_free(copy.name);
    return false;
}

static void copy_trace(const tgi_profile_view *view, void *user)
{
    reading *r = user;
    tgi_page_profile *profile = &r->page->profile;
    for (size_t i = 0; i < view->n_traces; i++) {
        const tgi_profile_trace *trace = view->traces[i];
        if (!is_trace_of(r->page->of, trace) || !trace->n_calls)
            continue;
        profile->is_known = true;
        profile->n_calls = trace->n_calls;
        profile->n_interpreted = trace->n_interpreted;
        profile->total_ns = trace->total_ns;
        profile->barrier_ns = trace->barrier_ns;
        profile->host_ns = trace->host_ns;
        profile->other_ns = tgi_profile_other_ns(trace);
        profile->temporary_bytes = trace->temporary_bytes;
        for (size_t k = 0; k < trace->units.n; k++)
            if (trace->units.data[k]->n_runs)
                r->is_good = r->is_good && copy_unit(r, trace->units.data[k]);
        return;
    }
}

/* -- Presence -------------------------------------------------------------- */

typedef struct presence {
    const tgi_inspection *of;
    bool is_found;
} presence;

static void find_trace(const tgi_profile_view *view, void *user)
{
    presence *p = user;
    for (size_t i = 0; i < view->n_traces; i++)
        p->is_found |=
            is_trace_of(p->of, view->traces[i]) && view->traces[i]->n_calls;
}

bool tgi_inspection_has_profile(const tgi_inspection *inspection)
{
    presence p = {.of = inspection};
    tgi_profile_read(find_trace, &p);
    return p.is_found;
}

/* -- All ------------------------------------------------------------------- */

static int compare_units(const void *a, const void *b)
{
    const tgi_page_unit *x = a, *y = b;
    return x->total_ns < y->total_ns ? 1 : x->total_ns > y->total_ns ? -1 : 0;
}

bool tgi_page_read_profile(tgi_page *page)
{
    if (!tgi_inspection_has_profile(page->of))
        return true;
    /* Measuring the machine takes a while: not with the lock of the store. */
    reading r = {.page = page, .roof = tgi_roof_get(), .is_good = true};
    tgi_profile_read(copy_trace, &r);
    if (!r.is_good) {
        tgi_error_memory();
        return false;
    }
    if (page->profile.units.n)
        qsort(page->profile.units.data, page->profile.units.n,
              sizeof(*page->profile.units.data), compare_units);
    return true;
}

const tgi_page_unit *tgi_page_unit_of(const tgi_page *page, uint32_t kernel)
{
    for (size_t i = 0; i < page->profile.units.n; i++)
        if (page->profile.units.data[i].kernel == kernel)
            return &page->profile.units.data[i];
    return NULL;
}

/* -- Printing -------------------------------------------------------------- */

enum { MAX_OPEN_UNITS = 24 };

#define TABLE_HEAD \
    "<tr><th class=\"r\">time</th><th class=\"r\">share</th><th></th>" \
    "<th class=\"r\">runs</th><th class=\"r\">median</th>" \
    "<th class=\"r\">min</th><th class=\"r\">GB/s</th>" \
    "<th class=\"r\">GFLOP/s</th><th class=\"r\">roof</th>" \
    "<th class=\"r\">threads</th><th>kernel</th></tr>\n"

static double percent(const tgi_page *p, uint64_t ns)
{
    return p->profile.total_ns ? 100 * (double)ns / (double)p->profile.total_ns
                               : 0;
}

static void print_number(const tgi_page *p, double number, int decimals,
                         const char *suffix)
{
    if (number > 0)
        tgi_strbuf_addf(p->out, "<td class=\"r\">%.*f%s</td>", decimals, number,
                        suffix);
    else
        tgi_strbuf_add(p->out, "<td class=\"r d\">–</td>");
}

static void print_share(const tgi_page *p, uint64_t ns, int colour)
{
    tgi_strbuf_addf(p->out,
                    "<td class=\"r\">%s</td><td class=\"r\">%.1f %%</td>"
                    "<td style=\"width:120px\"><span class=\"bar",
                    tgi_html_time((double)ns).text, percent(p, ns));
    if (colour >= 0)
        tgi_strbuf_addf(p->out, " c%d", colour);
    tgi_strbuf_addf(p->out, "\" style=\"width:%.1f%%\"></span></td>",
                    percent(p, ns));
}

static void print_unit(const tgi_page *p, const tgi_page_unit *unit)
{
    tgi_strbuf_add(p->out, "<tr>");
    print_share(p, unit->total_ns, tgi_page_colour(unit->kernel));
    tgi_strbuf_addf(p->out,
                    "<td class=\"r\">%llu</td><td class=\"r\">%s</td>"
                    "<td class=\"r\">%s</td>",
                    (unsigned long long)unit->n_runs,
                    tgi_html_time((double)unit->median_ns).text,
                    tgi_html_time((double)unit->min_ns).text);
    print_number(p, unit->gigabytes, 1, "");
    print_number(p, unit->gigaflops, 1, "");
    print_number(p, 100 * unit->roof, 0, " %");
    tgi_strbuf_addf(p->out, "<td class=\"r\">%d</td><td>", unit->threads);
    tgi_page_link_kernel(p, unit->kernel);
    tgi_strbuf_add(p->out, "<span class=\"m\">");
    tgi_html_text(p->out, unit->name);
    tgi_strbuf_add(p->out, unit->is_interpreted
                               ? "</span> <span class=\"d\">interpreted</span>"
                               : "</span>");
    tgi_strbuf_add(p->out, "</td></tr>\n");
}

static void print_rest(const tgi_page *p, const char *what, uint64_t ns)
{
    if (!ns)
        return;
    tgi_strbuf_add(p->out, "<tr>");
    print_share(p, ns, -1);
    tgi_strbuf_addf(p->out,
                    "<td colspan=\"7\"></td><td class=\"d\">%s</td>"
                    "</tr>\n",
                    what);
}

void tgi_page_print_profile(const tgi_page *page)
{
    const tgi_page_profile *profile = &page->profile;
    tgi_strbuf_add(page->out, "<section id=\"profile\"><h2>Profile</h2>\n");
    if (!profile->is_known) {
        tgi_strbuf_add(page->out,
                       "<p class=\"d\">There is no profile of this trace. Set "
                       "<code>TGJIT_PROFILE=table</code>, or call "
                       "<code>tg_profile_start</code> before the calls.</p>"
                       "</section>\n");
        return;
    }
    tgi_strbuf_addf(page->out, "<p class=\"d\">%llu call%s, %s",
                    (unsigned long long)profile->n_calls,
                    profile->n_calls == 1 ? "" : "s",
                    tgi_html_time((double)profile->total_ns).text);
    if (profile->n_interpreted)
        tgi_strbuf_addf(page->out, "; %llu of them interpreted",
                        (unsigned long long)profile->n_interpreted);
    tgi_strbuf_add(page->out,
                   ". Roof: the part of the time that this machine needs at "
                   "least for the work.</p>\n<table>" TABLE_HEAD);
    for (size_t i = 0; i < profile->units.n && i < MAX_OPEN_UNITS; i++)
        print_unit(page, &profile->units.data[i]);
    print_rest(page, "barriers", profile->barrier_ns);
    print_rest(page, "host calls, prints", profile->host_ns);
    print_rest(page, "starting threads, locks, copying results",
               profile->other_ns);
    tgi_strbuf_add(page->out, "</table>\n");
    if (profile->units.n > MAX_OPEN_UNITS) {
        tgi_strbuf_addf(page->out,
                        "<details><summary>%zu more, with less time</summary>"
                        "<table>" TABLE_HEAD,
                        profile->units.n - MAX_OPEN_UNITS);
        for (size_t i = MAX_OPEN_UNITS; i < profile->units.n; i++)
            print_unit(page, &profile->units.data[i]);
        tgi_strbuf_add(page->out, "</table></details>\n");
    }
    tgi_strbuf_add(page->out, "</section>\n");
}
