/* SPDX-License-Identifier: MIT */
/*
 * report_console.c - a table: times of one iteration, and for the best one
 * GB/s, GFLOP/s and ratios to the best times of the peers in the same group.
 * The fastest other library or engine counts as one peer. Rows of the JIT end
 * with the ratio to the fastest peer of all and its name.
 */
#include "machine.h"
#include "report.h"

static void begin(FILE *out, const char *program)
{
    (void)program;
    fprintf(out, "tgjit %s, processors: %d\n", tg_version(),
            machine_processors());
    fprintf(out, "%-*s %11s %11s %8s %8s %8s %8s %8s  %s\n", ROW_NAME_WIDTH,
            "", "best", "median", "GB/s", "GFLOP/s", "/c", "/expert",
            "/library", "/best peer");
}

/* "123.4 us": four significant digits. */
static void print_time(FILE *out, double seconds)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s ", 1}};
    size_t i = 0;
    while (i < 3 && seconds >= 1000 * units[i].seconds)
        i++;
    const double number = seconds / units[i].seconds;
    fprintf(out, " %8.*f %s", number < 10 ? 3 : number < 100 ? 2 : 1, number,
            units[i].unit);
}

/* An empty column if the number is 0. */
static void print_number(FILE *out, double number, int digits)
{
    if (number > 0)
        fprintf(out, " %8.*f", digits, number);
    else
        fprintf(out, " %8s", "");
}

/* The best time of each kind of peer; 0 if there is none. */
typedef struct peer_times {
    double c, expert, library;
} peer_times;

static peer_times peer_times_of(const row *rows, size_t n_rows)
{
    peer_times times = {0, 0, 0};
    for (size_t i = 0; i < n_rows; i++) {
        if (rows[i].state != ROW_MEASURED)
            continue;
        const double best = row_statistics(&rows[i]).best.real;
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

static void print_ratio(FILE *out, double time, double peer)
{
    print_number(out, peer > 0 ? time / peer : 0, 2);
}

static void print_measured(FILE *out, const row *r, const peer_times *peers,
                           const row *best_peer)
{
    const statistics s = row_statistics(r);
    const double count = case_count(r->c, r->size) * 1e-9 / s.best.real;
    print_time(out, s.best.real);
    print_time(out, s.median.real);
    print_number(out, r->c->bytes * count, 1);
    print_number(out, r->c->flops * count, 1);
    print_ratio(out, s.best.real, peers->c);
    print_ratio(out, s.best.real, peers->expert);
    print_ratio(out, s.best.real, peers->library);
    const double ratio = row_peer_ratio(r, best_peer);
    if (ratio > 0)
        fprintf(out, "  %.2f %s", ratio, backend_name(best_peer->which));
    if (r->c->family->resident)
        fprintf(out, " %8.1f MB resident",
                (double)r->c->family->resident(r->runner) * 1e-6);
    stored_bytes stored;
    if (r->c->family->stored && r->c->family->stored(r->runner, &stored))
        fprintf(out, " %8.1f KB stored, %.1f KB peak",
                (double)stored.allocated * 1e-3, (double)stored.peak * 1e-3);
}

static void group(FILE *out, const row *rows, size_t n_rows, bool is_first)
{
    (void)is_first;
    const peer_times peers = peer_times_of(rows, n_rows);
    const row *best_peer = rows_best_peer(rows, n_rows);
    for (size_t i = 0; i < n_rows; i++) {
        const row *r = &rows[i];
        fprintf(out, "%-*s", ROW_NAME_WIDTH, r->name);
        if (r->state == ROW_MEASURED)
            print_measured(out, r, &peers, best_peer);
        else
            fprintf(out, " %s: %s",
                    r->state == ROW_SKIPPED ? "skipped" : "FAILED",
                    r->why.text);
        fputc('\n', out);
    }
    fflush(out);
}

static void end(FILE *out)
{
    fflush(out);
}

const report_format report_console = {"console", begin, group, end};
