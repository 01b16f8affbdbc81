/* SPDX-License-Identifier: MIT */
/*
 * profile_json.c - a profile for programs. Times are nanoseconds, sizes bytes.
 * docs/PROFILING.md describes the members.
 */
#include "front/profile/profile_report.h"

#include <inttypes.h>
#include <stdio.h>

static void add_key(tgi_strbuf *out, const char *separator, const char *key)
{
    tgi_strbuf_addf(out, "%s\"%s\": ", separator, key);
}

static void add_number(tgi_strbuf *out, const char *key, uint64_t number)
{
    add_key(out, ", ", key);
    tgi_strbuf_addf(out, "%" PRIu64, number);
}

/* JSON has no infinities: they become 0. The decimal point is a comma in some
   locales. */
static void add_real(tgi_strbuf *out, const char *key, double number)
{
    char text[32];
    if (!(number > -1e300 && number < 1e300))
        number = 0;
    snprintf(text, sizeof(text), "%.6g", number);
    for (char *c = text; *c; c++)
        if (*c == ',')
            *c = '.';
    add_key(out, ", ", key);
    tgi_strbuf_add(out, text);
}

static void add_site(tgi_strbuf *out, tg_site site)
{
    tgi_strbuf_add(out, "{\"file\": ");
    tgi_strbuf_add_json(out, site.file ? site.file : "");
    tgi_strbuf_addf(out, ", \"line\": %d}", site.line);
}

static void add_unit(const tgi_profile_unit *unit, const tgi_roof *roof,
                     tgi_strbuf *out)
{
    const double seconds = 1e-9 * (double)unit->total_ns;
    tgi_strbuf_add(out, "{\"name\": ");
    tgi_strbuf_add_json(out, unit->name);
    add_key(out, ", ", "operations");
    tgi_strbuf_add_json(out, unit->ops);
    add_key(out, ", ", "interpreted");
    tgi_strbuf_add(out, unit->is_interpreted ? "true" : "false");
    add_key(out, ", ", "sites");
    tgi_strbuf_add(out, "[");
    for (size_t i = 0; i < unit->n_sites; i++) {
        tgi_strbuf_add(out, i ? ", " : "");
        add_site(out, unit->sites[i]);
    }
    tgi_strbuf_add(out, "]");
    add_number(out, "runs", unit->n_runs);
    add_number(out, "total_ns", unit->total_ns);
    add_number(out, "min_ns", unit->n_runs ? unit->min_ns : 0);
    add_number(out, "median_ns", tgi_profile_median_ns(unit));
    add_real(out, "bytes", unit->bytes);
    add_real(out, "flops", unit->flops);
    add_real(out, "bytes_per_second", seconds > 0 ? unit->bytes / seconds : 0);
    add_real(out, "flops_per_second", seconds > 0 ? unit->flops / seconds : 0);
    add_real(out, "roof_share", tgi_profile_roof_share(roof, unit));
    add_number(out, "threads", (uint64_t)unit->threads);
    add_real(out, "imbalance", tgi_profile_imbalance(unit));
    add_number(out, "wait_ns", unit->wait_ns);
    tgi_strbuf_add(out, "}");
}

static void add_phases(const tgi_profile_trace *trace, tgi_strbuf *out)
{
    add_key(out, ", ", "phases_ns");
    for (int i = 0; i < TGI_N_PHASES; i++) {
        add_key(out, i ? ", " : "{", tgi_profile_phase_names[i]);
        tgi_strbuf_addf(out, "%" PRIu64, trace->phase_ns[i]);
    }
    tgi_strbuf_addf(out,
                    "}, \"code\": {\"compiled\": %u, \"memory\": %u, "
                    "\"disk\": %u}",
                    trace->n_codes[TGI_CODE_COMPILED],
                    trace->n_codes[TGI_CODE_FROM_MEMORY],
                    trace->n_codes[TGI_CODE_FROM_DISK]);
}

static void add_trace(const tgi_profile_trace *trace, const tgi_roof *roof,
                      tgi_strbuf *out)
{
    tgi_strbuf_add(out, "  {\"function\": ");
    tgi_strbuf_add_json(out, trace->function);
    add_number(out, "trace", trace->number);
    add_key(out, ", ", "reason");
    tgi_strbuf_add_json(out, trace->reason);
    add_key(out, ", ", "site");
    add_site(out, trace->site);
    add_number(out, "calls", trace->n_calls);
    add_number(out, "interpreted_calls", trace->n_interpreted);
    add_number(out, "total_ns", trace->total_ns);
    add_number(out, "barrier_ns", trace->barrier_ns);
    add_number(out, "host_ns", trace->host_ns);
    add_number(out, "other_ns", tgi_profile_other_ns(trace));
    add_number(out, "temporary_bytes", trace->temporary_bytes);
    add_phases(trace, out);
    add_key(out, ",\n   ", "kernels");
    tgi_strbuf_add(out, "[");
    for (size_t i = 0; i < trace->units.n; i++) {
        tgi_strbuf_add(out, i ? ",\n    " : "\n    ");
        add_unit(trace->units.data[i], roof, out);
    }
    tgi_strbuf_add(out, "]}");
}

static void add_machine(const tgi_roof *roof, tgi_strbuf *out)
{
    tgi_strbuf_add(out, "[");
    for (int t = 0; t < TGI_ROOF_TEAMS; t++) {
        const tgi_roof_team *team = &roof->teams[t];
        tgi_strbuf_addf(out, "%s{\"threads\": %d", t ? ", " : "",
                        team->n_threads);
        add_real(out, "flops_per_second", team->flops);
        for (int i = 0; i < TGI_ROOF_LEVELS; i++) {
            tgi_strbuf_add(out,
                           i ? "}, {\"bytes_per_thread\": "
                             : ", \"levels\": [{\"bytes_per_thread\": ");
            tgi_strbuf_addf(out, "%" PRIu64, (uint64_t)roof->level_bytes[i]);
            add_real(out, "bytes_per_second", team->bandwidth[i]);
        }
        tgi_strbuf_add(out, "}]}");
    }
    tgi_strbuf_add(out, "]");
}

void tgi_profile_print_json(const tgi_profile_view *view, const tgi_roof *roof,
                            tgi_strbuf *out)
{
    tgi_strbuf_addf(out, "{\"version\": 1, \"library\": \"%s\"", tg_version());
    add_number(out, "wall_ns", view->wall_ns);
    add_number(out, "calls_not_recorded", view->n_dropped);
    add_key(out, ",\n ", "machine");
    add_machine(roof, out);
    add_key(out, ",\n ", "traces");
    tgi_strbuf_add(out, "[");
    for (size_t i = 0; i < view->n_traces; i++) {
        tgi_strbuf_add(out, i ? ",\n" : "\n");
        add_trace(view->traces[i], roof, out);
    }
    tgi_strbuf_add(out, "]}\n");
}
