/* SPDX-License-Identifier: MIT */
/*
 * report_json.c - JSON in the format of Google Benchmark (schema 1), which its
 * compare.py and other tools read: one object per repetition, then aggregates,
 * including "min", which for rows of the JIT has the ratio to the best peer.
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "machine.h"
#include "report.h"

/* -- JSON ------------------------------------------------------------------ */

static void print_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        const unsigned char byte = (unsigned char)*text;
        if (byte == '"' || byte == '\\')
            fprintf(out, "\\%c", byte);
        else if (byte < 0x20)
            fprintf(out, "\\u%04x", byte);
        else
            fputc(byte, out);
    }
    fputc('"', out);
}

static void member_string(FILE *out, const char *name, const char *text)
{
    fprintf(out, ",\n      \"%s\": ", name);
    print_string(out, text);
}

static void member_integer(FILE *out, const char *name, long long number)
{
    fprintf(out, ",\n      \"%s\": %lld", name, number);
}

static void member_number(FILE *out, const char *name, double number)
{
    fprintf(out, ",\n      \"%s\": %.9e", name, number);
}

/* -- Context --------------------------------------------------------------- */

static void print_caches(FILE *out)
{
    const char *between = "";
    fputs(",\n    \"caches\": [", out);
    for (int level = 1; level <= 3; level++) {
        const size_t bytes = machine_cache_bytes(level);
        if (!bytes)
            continue;
        fprintf(out,
                "%s\n      {\"type\": \"%s\", \"level\": %d, \"size\": %zu, "
                "\"num_sharing\": 0}",
                between, level == 1 ? "Data" : "Unified", level, bytes);
        between = ",";
    }
    fputs("\n    ]", out);
}

static void begin(FILE *out, const char *program)
{
    char date[40] = "", host[256] = "";
    const time_t now = time(NULL);
    struct tm local;
    if (localtime_r(&now, &local))
        strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S%z", &local);
    gethostname(host, sizeof(host) - 1);

    fputs("{\n  \"context\": {\n    \"date\": ", out);
    print_string(out, date);
    fputs(",\n    \"host_name\": ", out);
    print_string(out, host);
    fputs(",\n    \"executable\": ", out);
    print_string(out, program);
    fprintf(out, ",\n    \"num_cpus\": %d", machine_processors());
    fputs(",\n    \"mhz_per_cpu\": 0,\n    \"cpu_scaling_enabled\": false",
          out);
    print_caches(out);
    fputs(",\n    \"load_avg\": [", out);
    double load[3];
    const int n = getloadavg(load, 3);
    for (int i = 0; i < n; i++)
        fprintf(out, "%s%.2f", i ? ", " : "", load[i]);
    fputs("],\n    \"library_version\": ", out);
    print_string(out, tg_version());
    fputs(",\n    \"library_build_type\": \"release\"", out);
    fputs(",\n    \"json_schema_version\": 1\n  },\n  \"benchmarks\": [", out);
}

/* -- Rows ------------------------------------------------------------------ */

typedef enum row_text { ROW_TEXT_ITERATION, ROW_TEXT_AGGREGATE } row_text;

static void begin_object(FILE *out, const row *r, const char *suffix,
                         row_text type, bool *is_first)
{
    fprintf(out, "%s\n    {\n      \"name\": \"%s%s\"", *is_first ? "" : ",",
            r->name, suffix);
    *is_first = false;
    member_string(out, "run_name", r->name);
    member_string(out, "run_type",
                  type == ROW_TEXT_AGGREGATE ? "aggregate" : "iteration");
    member_integer(out, "repetitions", (long long)r->n_repetitions);
    member_integer(out, "threads", r->threads);
}

static void end_object(FILE *out)
{
    fputs("\n    }", out);
}

/* Converts seconds to nanoseconds; a ratio has no unit. */
static void print_times(FILE *out, long long iterations, repetition time,
                        const char *unit)
{
    const double scale = *unit ? 1e9 : 1;
    member_integer(out, "iterations", iterations);
    member_number(out, "real_time", time.real * scale);
    member_number(out, "cpu_time", time.cpu * scale);
    member_string(out, "time_unit", "ns");
    if (!*unit)
        member_string(out, "aggregate_unit", "percentage");
}

static void print_resident(FILE *out, const row *r)
{
    if (r->c->family->resident)
        member_integer(out, "resident_bytes",
                       (long long)r->c->family->resident(r->runner));
}

static void print_stored(FILE *out, const row *r)
{
    stored_bytes stored;
    if (!r->c->family->stored || !r->c->family->stored(r->runner, &stored))
        return;
    member_integer(out, "stored_bytes", (long long)stored.allocated);
    member_integer(out, "stored_peak_bytes", (long long)stored.peak);
}

static void print_rates(FILE *out, const row *r, double seconds)
{
    const double count = case_count(r->c, r->size);
    if (r->c->bytes > 0)
        member_number(out, "bytes_per_second", r->c->bytes * count / seconds);
    if (r->c->flops > 0)
        member_number(out, "flops_per_second", r->c->flops * count / seconds);
}

/* `peer` is NULL where no ratio is printed. */
static void print_aggregate(FILE *out, const row *r, const char *name,
                            repetition time, const char *unit, const row *peer)
{
    char suffix[16];
    bool is_first = false;
    snprintf(suffix, sizeof(suffix), "_%s", name);
    begin_object(out, r, suffix, ROW_TEXT_AGGREGATE, &is_first);
    member_string(out, "aggregate_name", name);
    print_times(out, (long long)r->n_repetitions, time, unit);
    const double ratio = row_peer_ratio(r, peer);
    if (ratio > 0) {
        member_number(out, "best_peer_ratio", ratio);
        member_string(out, "best_peer", backend_name(peer->which));
    }
    end_object(out);
}

static void print_measured(FILE *out, const row *r, const row *peer,
                           bool *is_first)
{
    for (size_t i = 0; i < r->n_repetitions; i++) {
        begin_object(out, r, "", ROW_TEXT_ITERATION, is_first);
        member_integer(out, "repetition_index", (long long)i);
        print_times(out, (long long)r->iterations, r->repetitions[i], "ns");
        print_rates(out, r, r->repetitions[i].real);
        print_resident(out, r);
        print_stored(out, r);
        end_object(out);
    }
    const statistics s = row_statistics(r);
    const repetition share = {
        s.mean.real > 0 ? s.deviation.real / s.mean.real : 0,
        s.mean.cpu > 0 ? s.deviation.cpu / s.mean.cpu : 0,
    };
    print_aggregate(out, r, "mean", s.mean, "ns", NULL);
    print_aggregate(out, r, "median", s.median, "ns", NULL);
    print_aggregate(out, r, "stddev", s.deviation, "ns", NULL);
    print_aggregate(out, r, "cv", share, "", NULL);
    print_aggregate(out, r, "min", s.best, "ns", peer);
}

static void group(FILE *out, const row *rows, size_t n_rows, bool is_first)
{
    const row *peer = rows_best_peer(rows, n_rows);
    for (size_t i = 0; i < n_rows; i++) {
        const row *r = &rows[i];
        if (r->state == ROW_MEASURED) {
            print_measured(out, r, peer, &is_first);
            continue;
        }
        begin_object(out, r, "", ROW_TEXT_ITERATION, &is_first);
        member_integer(out, "repetition_index", 0);
        const bool failed = r->state == ROW_FAILED;
        fprintf(out, ",\n      \"%s\": true",
                failed ? "error_occurred" : "skipped");
        member_string(out, failed ? "error_message" : "skip_message",
                      r->why.text);
        end_object(out);
    }
    fflush(out);
}

static void end(FILE *out)
{
    fputs("\n  ]\n}\n", out);
    fflush(out);
}

const report_format report_json = {"json", begin, group, end};
