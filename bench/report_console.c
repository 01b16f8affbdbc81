/* SPDX-License-Identifier: MIT */
/*
 * report_console.c - a table: times of one iteration, what was moved and done
 * in the best one, and its ratio to the peers' best in the same group.
 */
#include "machine.h"
#include "report.h"

static void begin(FILE *out, const char *program)
{
    (void)program;
    fprintf(out, "tgjit %s, processors: %d\n", tg_version(),
            machine_processors());
    fprintf(out, "%-44s %11s %11s %8s %8s %8s %8s\n", "", "best", "median",
            "GB/s", "GFLOP/s", "/c", "/expert");
}

/* "123.4 us": four digits that count. */
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

/* An empty column if the number says nothing. */
static void print_number(FILE *out, double number, int digits)
{
    if (number > 0)
        fprintf(out, " %8.*f", digits, number);
    else
        fprintf(out, " %8s", "");
}

static double best_of(const row *rows, size_t n_rows, backend which)
{
    for (size_t i = 0; i < n_rows; i++)
        if (rows[i].which == which && rows[i].state == ROW_MEASURED)
            return row_statistics(&rows[i]).best.real;
    return 0;
}

static void print_measured(FILE *out, const row *r, double of_c,
                           double of_expert)
{
    const statistics s = row_statistics(r);
    const double count = size_count(r->size) * 1e-9 / s.best.real;
    print_time(out, s.best.real);
    print_time(out, s.median.real);
    print_number(out, r->c->bytes * count, 1);
    print_number(out, r->c->flops * count, 1);
    print_number(out, of_c > 0 ? s.best.real / of_c : 0, 2);
    print_number(out, of_expert > 0 ? s.best.real / of_expert : 0, 2);
    if (r->c->family->resident)
        fprintf(out, " %8.1f MB resident",
                (double)r->c->family->resident(r->runner) * 1e-6);
}

static void group(FILE *out, const row *rows, size_t n_rows, bool is_first)
{
    (void)is_first;
    const double of_c = best_of(rows, n_rows, BACKEND_C);
    const double of_expert = best_of(rows, n_rows, BACKEND_EXPERT);
    for (size_t i = 0; i < n_rows; i++) {
        const row *r = &rows[i];
        fprintf(out, "%-44s", r->name);
        if (r->state == ROW_MEASURED)
            print_measured(out, r, of_c, of_expert);
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
