/* SPDX-License-Identifier: MIT */
/*
 * report_csv.c - CSV with the columns of Google Benchmark: one line per
 * repetition, then the median and the minimum, named like its aggregates. The
 * minimum of a row of the JIT has the ratio to the best peer and its name.
 */
#include "results.h"

static void print_header(FILE *out)
{
    fputs("name,iterations,real_time,cpu_time,time_unit,bytes_per_second,"
          "items_per_second,label,error_occurred,error_message,"
          "best_peer_ratio,best_peer\n",
          out);
}

static void print_quoted(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text == '\n' ? ' ' : *text, out);
    }
    fputc('"', out);
}

/* `peer` is NULL where no ratio is printed. */
static void print_times(FILE *out, const row *r, const char *suffix,
                        repetition time, const row *peer)
{
    fprintf(out, "\"%s%s\",%lld,%.9g,%.9g,ns,", r->name, suffix,
            (long long)r->iterations, time.real * 1e9, time.cpu * 1e9);
    if (r->bytes > 0)
        fprintf(out, "%.9g", r->bytes / time.real);
    fputc(',', out);
    if (r->count > 0)
        fprintf(out, "%.9g", r->count / time.real);
    fputs(",,,,", out);
    const double ratio = row_peer_ratio(r, peer);
    if (ratio > 0)
        fprintf(out, "%.9g,\"%s\"\n", ratio, backend_name(peer->which));
    else
        fputs(",\n", out);
}

static void print_row(FILE *out, const row *r, const row *peer)
{
    if (r->state != ROW_MEASURED) {
        fprintf(out, "\"%s\",,,,,,,,%s,", r->name,
                r->state == ROW_FAILED ? "true" : "false");
        print_quoted(out, r->why.text);
        fputs(",,\n", out);
        return;
    }
    for (size_t k = 0; k < r->n_repetitions; k++)
        print_times(out, r, "", r->repetitions[k], NULL);
    const statistics s = row_statistics(r);
    print_times(out, r, "_median", s.median, NULL);
    print_times(out, r, "_min", s.best, peer);
}

void report_csv(FILE *out, const results *r)
{
    print_header(out);
    for (size_t begin = 0, n; begin < r->n_rows; begin += n) {
        n = results_group(r, begin);
        const row *peer = rows_best_peer(r->rows + begin, n);
        for (size_t i = begin; i < begin + n; i++)
            print_row(out, &r->rows[i], peer);
    }
}
