/* SPDX-License-Identifier: MIT */
/*
 * report_json.c - JSON in the format of Google Benchmark (schema 1), which its
 * compare.py and other tools read: one object per repetition, then aggregates,
 * including "min", which for rows of the JIT has the ratio to the best peer.
 * Members beyond that format describe the machine (in the context) and the row
 * (in the aggregate "median"); results_read.c reads them.
 */
#include <math.h>

#include "results.h"

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
    fprintf(out, ", \"%s\": ", name);
    print_string(out, text);
}

static void member_integer(FILE *out, const char *name, long long number)
{
    fprintf(out, ", \"%s\": %lld", name, number);
}

static void member_number(FILE *out, const char *name, double number)
{
    fprintf(out, ", \"%s\": %.9g", name, number);
}

/* Only if it is known. */
static void member_positive(FILE *out, const char *name, double number)
{
    if (number > 0)
        member_number(out, name, number);
}

/* -- Context --------------------------------------------------------------- */

static void print_caches(FILE *out, const machine_facts *machine)
{
    const char *between = "";
    fputs(",\n    \"caches\": [", out);
    for (int level = 1; level <= 3; level++) {
        const double bytes = machine->cache_bytes[level - 1];
        if (!(bytes > 0))
            continue;
        fprintf(out,
                "%s\n      {\"type\": \"%s\", \"level\": %d, \"size\": %.0f, "
                "\"num_sharing\": 0}",
                between, level == 1 ? "Data" : "Unified", level, bytes);
        between = ",";
    }
    fputs("\n    ]", out);
}

static void print_roof(FILE *out, const roof *r)
{
    fprintf(out,
            "{\"threads\": %d, \"f32_flops_per_second\": %.6g, "
            "\"f64_flops_per_second\": %.6g, \"levels\": [",
            r->threads, r->f32_flops, r->f64_flops);
    for (int i = 0; i < r->n_levels; i++) {
        fprintf(out, "%s{\"bytes_per_second\": %.6g", i ? ", " : "",
                r->levels[i].rate);
        if (!isinf(r->levels[i].bytes))
            fprintf(out, ", \"capacity\": %.0f", r->levels[i].bytes);
        fputc('}', out);
    }
    fputs("]}", out);
}

static void print_context(FILE *out, const results *r)
{
    const machine_facts *machine = &r->machine;
    fputs("{\n  \"context\": {\n    \"date\": ", out);
    print_string(out, r->date);
    fputs(",\n    \"host_name\": \"\",\n    \"executable\": ", out);
    print_string(out, r->program);
    fprintf(out, ",\n    \"num_cpus\": %d", machine->processors);
    fputs(",\n    \"mhz_per_cpu\": 0,\n    \"cpu_scaling_enabled\": false",
          out);
    print_caches(out, machine);
    fputs(",\n    \"load_avg\": [", out);
    for (int i = 0; i < 3; i++)
        fprintf(out, "%s%.2f", i ? ", " : "", r->load[i]);
    fputs("],\n    \"library_version\": ", out);
    print_string(out, machine->library);
    fputs(",\n    \"library_build_type\": \"release\"", out);
    fputs(",\n    \"json_schema_version\": 1", out);
    fputs(",\n    \"label\": ", out);
    print_string(out, r->label);
    fputs(",\n    \"cpu\": ", out);
    print_string(out, machine->cpu);
    fprintf(out, ",\n    \"vector_bits\": %d", machine->vector_bits);
    fputs(",\n    \"llvm_version\": ", out);
    print_string(out, machine->llvm);
    fputs(",\n    \"roofs\": [", out);
    for (int i = 0; i < r->roofs.n; i++) {
        fputs(i ? ",\n      " : "\n      ", out);
        print_roof(out, &r->roofs.all[i]);
    }
    fputs("\n    ]\n  },\n  \"benchmarks\": [", out);
}

/* -- Rows ------------------------------------------------------------------ */

typedef enum row_text { ROW_TEXT_ITERATION, ROW_TEXT_AGGREGATE } row_text;

static void begin_object(FILE *out, const row *r, const char *suffix,
                         row_text type, bool *is_first)
{
    fprintf(out, "%s\n    {\"name\": \"%s%s\"", *is_first ? "" : ",", r->name,
            suffix);
    *is_first = false;
    member_string(out, "run_name", r->name);
    member_string(out, "run_type",
                  type == ROW_TEXT_AGGREGATE ? "aggregate" : "iteration");
    member_integer(out, "repetitions", (long long)r->n_repetitions);
    member_integer(out, "threads", r->threads);
}

static void end_object(FILE *out)
{
    fputc('}', out);
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
}

static void print_rates(FILE *out, const row *r, double seconds)
{
    if (r->bytes > 0)
        member_number(out, "bytes_per_second", r->bytes / seconds);
    if (r->flops > 0)
        member_number(out, "flops_per_second", r->flops / seconds);
}

/* What is the same for all repetitions. */
static void print_facts(FILE *out, const row *r)
{
    static const char *const phases[] = {
#define PHASE_NAME(name) "phase_" #name "_ns",
        ROW_PHASES(PHASE_NAME)
#undef PHASE_NAME
    };
    member_string(out, "section", r->section);
    fprintf(out, ", \"on_screen\": %s", r->is_on_screen ? "true" : "false");
    fprintf(out, ", \"overhead\": %s", r->is_overhead ? "true" : "false");
    fprintf(out, ", \"is_f64\": %s", r->is_f64 ? "true" : "false");
    member_positive(out, "count_per_iteration", r->count);
    member_positive(out, "bytes_per_iteration", r->bytes);
    member_positive(out, "flops_per_iteration", r->flops);
    if (r->roof) {
        member_number(out, "roof_share", r->roof_share);
        member_string(out, "roof", r->roof == ROOF_FMA ? "fma" : "memory");
    }
    member_positive(out, "resident_bytes", r->resident_bytes);
    member_positive(out, "stored_bytes", r->stored_bytes);
    member_positive(out, "stored_peak_bytes", r->stored_peak_bytes);
    for (int i = 0; i < N_ROW_PHASES; i++)
        member_positive(out, phases[i], r->phases[i] * 1e9);
}

static void begin_aggregate(FILE *out, const row *r, const char *name,
                            repetition time, const char *unit)
{
    char suffix[16];
    bool is_first = false;
    snprintf(suffix, sizeof(suffix), "_%s", name);
    begin_object(out, r, suffix, ROW_TEXT_AGGREGATE, &is_first);
    member_string(out, "aggregate_name", name);
    print_times(out, (long long)r->n_repetitions, time, unit);
    member_string(out, "aggregate_unit", *unit ? "time" : "percentage");
}

static void print_peer(FILE *out, const row *r, const row *peer)
{
    const double ratio = row_peer_ratio(r, peer);
    if (ratio > 0) {
        member_number(out, "best_peer_ratio", ratio);
        member_string(out, "best_peer", backend_name(peer->which));
    }
}

static void print_measured(FILE *out, const row *r, const row *peer,
                           bool *is_first)
{
    for (size_t i = 0; i < r->n_repetitions; i++) {
        begin_object(out, r, "", ROW_TEXT_ITERATION, is_first);
        member_integer(out, "repetition_index", (long long)i);
        print_times(out, (long long)r->iterations, r->repetitions[i], "ns");
        print_rates(out, r, r->repetitions[i].real);
        end_object(out);
    }
    const statistics s = row_statistics(r);
    const repetition share = {
        s.mean.real > 0 ? s.deviation.real / s.mean.real : 0,
        s.mean.cpu > 0 ? s.deviation.cpu / s.mean.cpu : 0,
    };
    begin_aggregate(out, r, "mean", s.mean, "ns");
    end_object(out);
    begin_aggregate(out, r, "median", s.median, "ns");
    member_number(out, "median_low", s.median_low * 1e9);
    member_number(out, "median_high", s.median_high * 1e9);
    print_facts(out, r);
    end_object(out);
    begin_aggregate(out, r, "stddev", s.deviation, "ns");
    end_object(out);
    begin_aggregate(out, r, "cv", share, "");
    end_object(out);
    begin_aggregate(out, r, "min", s.best, "ns");
    print_peer(out, r, peer);
    end_object(out);
}

static void print_unmeasured(FILE *out, const row *r, bool *is_first)
{
    const bool failed = r->state == ROW_FAILED;
    begin_object(out, r, "", ROW_TEXT_ITERATION, is_first);
    member_integer(out, "repetition_index", 0);
    fprintf(out, ", \"%s\": true", failed ? "error_occurred" : "skipped");
    member_string(out, failed ? "error_message" : "skip_message", r->why.text);
    member_string(out, "section", r->section);
    end_object(out);
}

void report_json(FILE *out, const results *r)
{
    bool is_first = true;
    print_context(out, r);
    for (size_t begin = 0, n; begin < r->n_rows; begin += n) {
        n = results_group(r, begin);
        const row *peer = rows_best_peer(r->rows + begin, n);
        for (size_t i = begin; i < begin + n; i++)
            if (r->rows[i].state == ROW_MEASURED)
                print_measured(out, &r->rows[i], peer, &is_first);
            else
                print_unmeasured(out, &r->rows[i], &is_first);
    }
    fputs("\n  ]\n}\n", out);
}
