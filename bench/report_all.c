/* SPDX-License-Identifier: MIT */
/*
 * report_all.c - the table of every row: times of one iteration, and for the
 * best one GB/s, GFLOP/s, the share of the roof, and ratios to the best times
 * of the peers in the same group. The fastest other library or engine counts as
 * one peer. Rows of the JIT end with the ratio to the fastest peer of all and
 * its name.
 */
#include <string.h>

#include "format.h"
#include "report.h"

static void begin(FILE *out, const results *r)
{
    fprintf(out, "tgjit %s on %s, %d CPU%s\n%s\n", r->machine.library,
            *r->machine.cpu ? r->machine.cpu : "an unknown CPU",
            r->machine.processors, r->machine.processors > 1 ? "s" : "",
            text_machine(&r->machine).text);
}

/* The best time of each kind of peer; 0 if there is none. */
typedef struct peer_times {
    double c, expert, library;
} peer_times;

static peer_times peer_times_of(const row *rows, size_t n_rows)
{
    peer_times times = {0, 0, 0};
    for (size_t i = 0; i < n_rows; i++) {
        const double best = row_best(&rows[i]);
        if (!(best > 0))
            continue;
        if (rows[i].which == BACKEND_C)
            times.c = best;
        else if (rows[i].which == BACKEND_EXPERT)
            times.expert = best;
        else if (backend_is_installed(rows[i].which) &&
                 (!(times.library > 0) || best < times.library))
            times.library = best;
    }
    return times;
}

static text ratio_to(double time, double peer)
{
    return text_ratio(peer > 0 ? time / peer : 0);
}

static void print_measured(FILE *out, const row *r, const peer_times *peers,
                           const row *best_peer)
{
    const statistics s = row_statistics(r);
    const double best = s.best.real;
    fprintf(out, " %8s %8s %6s %6s %5s %6s %6s %6s", text_time(best).text,
            text_time(s.median.real).text,
            text_number(r->bytes * 1e-9 / best).text,
            text_number(r->flops * 1e-9 / best).text,
            text_share(r->roof_share).text, ratio_to(best, peers->c).text,
            ratio_to(best, peers->expert).text,
            ratio_to(best, peers->library).text);
    const double ratio = row_peer_ratio(r, best_peer);
    if (ratio > 0)
        fprintf(out, " %5s %s", text_ratio(ratio).text,
                backend_name(best_peer->which));
    if (r->resident_bytes > 0)
        fprintf(out, " %.1f MB resident", r->resident_bytes * 1e-6);
    fputc('\n', out);
    if (r->stored_bytes > 0)
        fprintf(out, "      temporaries: %s, peak %s\n",
                text_bytes(r->stored_bytes).text,
                text_bytes(r->stored_peak_bytes).text);
}

static void print_group(FILE *out, const row *rows, size_t n_rows)
{
    const peer_times peers = peer_times_of(rows, n_rows);
    const row *best_peer = rows_best_peer(rows, n_rows);
    for (size_t i = 0; i < n_rows; i++) {
        const row *r = &rows[i];
        fprintf(out, "  %2d %-18s", r->threads, backend_name(r->which));
        if (r->state == ROW_MEASURED)
            print_measured(out, r, &peers, best_peer);
        else
            fprintf(out, " %s: %.67s\n",
                    r->state == ROW_SKIPPED ? "skipped" : "FAILED",
                    r->why.text);
    }
}

static void size(FILE *out, const results *r, const row *rows, size_t n_rows)
{
    (void)r;
    char name[96];
    snprintf(name, sizeof(name), "%s/%s", rows->case_name, rows->size_label);
    fprintf(out, "\n%-23s %8s %8s %6s %6s %5s %6s %6s %6s %s\n", name, "best",
            "median", "GB/s", "GFLOPS", "roof", "/c", "/exprt", "/lib",
            " /best");
    for (size_t begin = 0, n; begin < n_rows; begin += n) {
        for (n = 1; begin + n < n_rows &&
                    rows[begin + n].threads == rows[begin].threads;)
            n++;
        print_group(out, rows + begin, n);
    }
    fflush(out);
}

static void end(FILE *out, const results *r)
{
    (void)r;
    fflush(out);
}

const table table_all = {begin, size, end};
