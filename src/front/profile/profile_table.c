/* SPDX-License-Identifier: MIT */
/*
 * profile_table.c - a profile for people: a line per kernel, the one with most
 * time first, then a line per trace. Names come last, because they are long.
 */
#include "front/profile/profile_report.h"

#include <stdio.h>
#include <stdlib.h>

/* -- Numbers --------------------------------------------------------------- */

typedef struct cell {
    char text[16];
} cell;

/* "12.3 us": four digits at most. */
static cell time_text(double ns)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    cell c;
    size_t unit = 0;
    while (ns >= 999.5 && unit < 3) {
        ns /= 1000;
        unit++;
    }
    snprintf(c.text, sizeof(c.text), "%.*f %s",
             unit == 0 || ns >= 99.95 ? 0
             : ns >= 9.995            ? 1
                                      : 2,
             ns, units[unit]);
    return c;
}

static cell bytes_text(double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    cell c;
    size_t unit = 0;
    while (bytes >= 1024 && unit < 3) {
        bytes /= 1024;
        unit++;
    }
    snprintf(c.text, sizeof(c.text), "%.*f %s", unit && bytes < 99.5, bytes,
             units[unit]);
    return c;
}

/* "-" if it is unknown. */
static cell number_text(double number, int decimals, const char *suffix)
{
    cell c = {"-"};
    if (number > 0)
        snprintf(c.text, sizeof(c.text), "%.*f%s", decimals, number, suffix);
    return c;
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100 * (double)part / (double)whole : 0;
}

/* -- Kernels --------------------------------------------------------------- */

static int compare_units(const void *a, const void *b)
{
    const tgi_profile_unit *const *x = a, *const *y = b;
    return (*x)->total_ns < (*y)->total_ns ? 1
           : (*x)->total_ns > (*y)->total_ns ? -1
                                             : 0;
}

static void print_unit(const tgi_profile_unit *unit, const tgi_roof *roof,
                       uint64_t total_ns, tgi_strbuf *out)
{
    const double seconds = 1e-9 * (double)unit->total_ns;
    const double n = (double)unit->n_runs;
    tgi_strbuf_addf(
        out, "%8s %4.1f%% %7llu %8s %8s %6s %7s %5s %4d %5.2f %8s  %s%s",
        time_text((double)unit->total_ns).text,
        percent(unit->total_ns, total_ns), (unsigned long long)unit->n_runs,
        time_text((double)tgi_profile_median_ns(unit)).text,
        time_text((double)unit->min_ns).text,
        number_text(1e-9 * unit->bytes / seconds, 1, "").text,
        number_text(1e-9 * unit->flops / seconds, 1, "").text,
        number_text(100 * tgi_profile_roof_share(roof, unit), 0, "%").text,
        unit->threads, tgi_profile_imbalance(unit),
        time_text((double)unit->wait_ns / n).text,
        unit->is_interpreted ? "interpreted " : "", unit->name);
    if (unit->n_sites)
        tgi_strbuf_addf(out, "  %s:%d", unit->sites[0].file,
                        unit->sites[0].line);
    if (unit->n_sites > 1)
        tgi_strbuf_addf(out, " (+%zu)", unit->n_sites - 1);
    tgi_strbuf_add(out, "\n");
}

static void print_rest(const char *what, uint64_t ns, uint64_t total_ns,
                       tgi_strbuf *out)
{
    if (ns)
        tgi_strbuf_addf(out, "%8s %4.1f%% %59s %s\n",
                        time_text((double)ns).text, percent(ns, total_ns), "",
                        what);
}

static void print_units(const tgi_profile_view *view, const tgi_roof *roof,
                        uint64_t total_ns, tgi_strbuf *out)
{
    TGI_VEC(const tgi_profile_unit *) all = {0};
    uint64_t barrier_ns = 0, host_ns = 0, other_ns = 0;
    for (size_t i = 0; i < view->n_traces; i++) {
        const tgi_profile_trace *trace = view->traces[i];
        barrier_ns += trace->barrier_ns;
        host_ns += trace->host_ns;
        other_ns += tgi_profile_other_ns(trace);
        for (size_t k = 0; k < trace->units.n; k++)
            if (trace->units.data[k]->n_runs &&
                !tgi_vec_push(&all, trace->units.data[k]))
                out->failed = true;
    }
    if (all.n)
        qsort(all.data, all.n, sizeof(*all.data), compare_units);
    tgi_strbuf_add(out, "    time share    runs   median      min   GB/s "
                        "GFLOP/s  roof team imbal     wait  kernel\n");
    for (size_t i = 0; i < all.n; i++)
        print_unit(all.data[i], roof, total_ns, out);
    print_rest("barriers", barrier_ns, total_ns, out);
    print_rest("host calls, prints", host_ns, total_ns, out);
    print_rest("starting threads, locks, copying results", other_ns, total_ns,
               out);
    tgi_vec_deinit(&all);
}

/* -- Traces ---------------------------------------------------------------- */

static void print_codes(const tgi_profile_trace *trace, tgi_strbuf *out)
{
    static const char *const sources[TGI_CODE_SOURCES] = {
        [TGI_CODE_COMPILED] = "compiled",
        [TGI_CODE_FROM_MEMORY] = "from memory",
        [TGI_CODE_FROM_DISK] = "from disk"};
    const char *separator = "";
    for (int i = 0; i < TGI_CODE_SOURCES; i++)
        if (trace->n_codes[i]) {
            tgi_strbuf_addf(out, "%s%u %s", separator, trace->n_codes[i],
                            sources[i]);
            separator = ", ";
        }
    if (trace->n_interpreted)
        tgi_strbuf_addf(out, "%s%llu call%s interpreted", separator,
                        (unsigned long long)trace->n_interpreted,
                        trace->n_interpreted == 1 ? "" : "s");
}

static void print_trace(const tgi_profile_trace *trace, tgi_strbuf *out)
{
    tgi_strbuf_addf(out, "%8s %7llu %9s ",
                    time_text((double)trace->total_ns).text,
                    (unsigned long long)trace->n_calls,
                    bytes_text((double)trace->temporary_bytes).text);
    for (int i = 0; i < TGI_N_PHASES; i++)
        tgi_strbuf_addf(
            out, "%8s ",
            trace->phase_ns[i] ? time_text((double)trace->phase_ns[i]).text
                               : "-");
    tgi_strbuf_addf(out, " %s, trace %zu (%s", trace->function, trace->number,
                    trace->reason);
    if (trace->site.file)
        tgi_strbuf_addf(out, ", %s:%d", trace->site.file, trace->site.line);
    tgi_strbuf_add(out, "): ");
    print_codes(trace, out);
    tgi_strbuf_add(out, "\n");
}

static void print_traces(const tgi_profile_view *view, tgi_strbuf *out)
{
    tgi_strbuf_add(out, "\n    time   calls temporary ");
    for (int i = 0; i < TGI_N_PHASES; i++)
        tgi_strbuf_addf(out, "%8s ", tgi_profile_phase_names[i]);
    tgi_strbuf_add(out, " function\n");
    for (size_t i = 0; i < view->n_traces; i++)
        print_trace(view->traces[i], out);
}

/* -- Machine --------------------------------------------------------------- */

static void print_machine(const tgi_roof *roof, tgi_strbuf *out)
{
    for (int t = 0; t < TGI_ROOF_TEAMS; t++) {
        const tgi_roof_team *team = &roof->teams[t];
        if (!team->n_threads || (t && team->n_threads == 1))
            continue;
        tgi_strbuf_addf(out, "machine, %d thread%s: %.0f GFLOP/s (f32);",
                        team->n_threads, team->n_threads == 1 ? "" : "s",
                        1e-9 * team->flops);
        for (int i = 0; i < TGI_ROOF_LEVELS; i++)
            tgi_strbuf_addf(out, "%s %.0f GB/s at %s", i ? "," : "",
                            1e-9 * team->bandwidth[i],
                            bytes_text(roof->level_bytes[i]).text);
        tgi_strbuf_add(out, " per thread\n");
    }
}

void tgi_profile_print_table(const tgi_profile_view *view,
                             const tgi_roof *roof, tgi_strbuf *out)
{
    uint64_t total_ns = 0, n_calls = 0, n_interpreted = 0;
    for (size_t i = 0; i < view->n_traces; i++) {
        total_ns += view->traces[i]->total_ns;
        n_calls += view->traces[i]->n_calls;
        n_interpreted += view->traces[i]->n_interpreted;
    }
    tgi_strbuf_addf(out, "profile of %s: %llu call%s, %s",
                    time_text((double)view->wall_ns).text,
                    (unsigned long long)n_calls, n_calls == 1 ? "" : "s",
                    time_text((double)total_ns).text);
    if (n_interpreted)
        tgi_strbuf_addf(out, "; %llu interpreted",
                        (unsigned long long)n_interpreted);
    if (view->n_dropped)
        tgi_strbuf_addf(out, "; %llu more not recorded",
                        (unsigned long long)view->n_dropped);
    tgi_strbuf_add(out, "\n");
    if (!view->n_traces)
        return;
    print_machine(roof, out);
    tgi_strbuf_add(out, "\n");
    print_units(view, roof, total_ns, out);
    print_traces(view, out);
}
