/* SPDX-License-Identifier: MIT */
/*
 * report_screen.c - the first screen: a header about the machine, and for each
 * case the best time with one thread, the speed-up over the interpreter, the
 * ratios to plain C and to the fastest library, the share of the roof, and the
 * gain of all threads. Groups end with geometric means.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format.h"
#include "report.h"

/* Of columns; the longest name of a library is tensorflow.xla. */
enum { NAME_WIDTH = 34, LIBRARY_WIDTH = 14 };

/* A ratio up to which a row does not count as behind: noise. */
static const double tolerance = 1.05;

/* A case that is slower than plain C or a library. */
typedef struct behind {
    char name[96];
    double ratio;
} behind;

enum { N_WORST = 4 };

typedef struct means {
    geometric_mean speedup, c, library, scaling;
} means;

/* What an operation is compared with. Functions of C with fast math are those
   of libmvec, of up to 4 ulp; our bound is 1, with fast accuracy 4. */
typedef enum op_peer {
    PEER_STRICT,       /* C */
    PEER_FAST,         /* C with fast math */
    PEER_FAST_TO_FAST, /* the same, for our fast form */
    OP_PEERS
} op_peer;

/* A case of one operation: our time over that of the peers, or 0. */
typedef struct one_op {
    char name[48];
    double ratios[OP_PEERS];
} one_op;

enum { MAX_OPS = 256 };

/* The heading of the lines so far. Tables are printed one at a time. */
static struct {
    char section[48];
    means section_means, all_means;
    size_t n_lines, n_behind, n_not_shown, n_ops;
    behind worst[N_WORST]; /* in descending order */
    one_op ops[MAX_OPS];
    bool has_colour;
} screen;

/* -- Colours --------------------------------------------------------------- */

typedef enum colour {
    COLOUR_NONE,
    COLOUR_BOLD,
    COLOUR_GOOD,
    COLOUR_BAD,
    COLOUR_DIM
} colour;

static const char *code(colour which)
{
    static const char *const codes[] = {"", "\033[1m", "\033[32m", "\033[31m",
                                        "\033[2m"};
    return screen.has_colour ? codes[which] : "";
}

static const char *reset(void)
{
    return screen.has_colour ? "\033[0m" : "";
}

/* Only on a terminal that has colours, unless NO_COLOR is set
   (https://no-color.org). */
static bool wants_colour(FILE *out)
{
    const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return isatty(fileno(out)) && !(no && *no) && terminal &&
           strcmp(terminal, "dumb") != 0;
}

/* Ratios of overhead are not judged. */
static colour ratio_colour(const row *ours, double ratio)
{
    return ours->is_overhead || !(ratio > 0) ? COLOUR_NONE
           : ratio <= 1        ? COLOUR_GOOD
           : ratio > tolerance ? COLOUR_BAD
                               : COLOUR_NONE;
}

/* -- Header ---------------------------------------------------------------- */

static void print_roof(FILE *out, const roof *r)
{
    fprintf(out, "%d thread%s: %.0f GFLOP/s f32, %.0f f64;", r->threads,
            r->threads > 1 ? "s" : "", r->f32_flops * 1e-9,
            r->f64_flops * 1e-9);
    for (int i = 0; i < r->n_levels; i++) {
        char name[16] = "memory";
        if (!isinf(r->levels[i].bytes))
            snprintf(name, sizeof(name), "L%d", i + 1);
        fprintf(out, "%s %.0f GB/s %s", i ? "," : "", r->levels[i].rate * 1e-9,
                name);
    }
    fputc('\n', out);
}

static void begin(FILE *out, const results *r)
{
    memset(&screen, 0, sizeof(screen));
    screen.has_colour = wants_colour(out);
    fprintf(out, "%stgjit %s%s on %s, %d CPU%s\n", code(COLOUR_BOLD),
            r->machine.library, reset(),
            *r->machine.cpu ? r->machine.cpu : "an unknown CPU",
            r->machine.processors, r->machine.processors > 1 ? "s" : "");
    fprintf(out, "%s\n", text_machine(&r->machine).text);
    for (int i = 0; i < r->roofs.n; i++) {
        fputs(i ? "       " : "Roofs, ", out);
        print_roof(out, &r->roofs.all[i]);
    }
}

/* -- Lines ----------------------------------------------------------------- */

/* "68.6x" */
static text text_times(double factor)
{
    text t = text_number(factor);
    if (*t.text)
        strcat(t.text, "x");
    return t;
}

/* Right-aligned; colours do not count as columns. */
static void print_cell(FILE *out, int width, const char *cell, colour in)
{
    fprintf(out, " %s%*s%s", code(in), width, cell, in ? reset() : "");
}

static void print_columns(FILE *out, const results *r)
{
    const int first = r->roofs.n ? r->roofs.all[0].threads : 1;
    const int last = r->roofs.n ? r->roofs.all[r->roofs.n - 1].threads : 1;
    char time[24], team[24] = "";
    snprintf(time, sizeof(time), "%d thread%s", first, first > 1 ? "s" : "");
    if (last != first)
        snprintf(team, sizeof(team), "%d threads", last);
    fprintf(out, "\n%s%-*s %10s %8s %6s %6s %-*s %6s %9s%s\n",
            code(COLOUR_BOLD), NAME_WIDTH, screen.section, time, "/interp",
            "/c", "/lib", LIBRARY_WIDTH, "", "roof", team, reset());
}

static void print_means(FILE *out, const char *name, const means *m)
{
    fprintf(out, "%s%-*s %10s", code(COLOUR_DIM), NAME_WIDTH, name, "");
    print_cell(out, 8, text_times(geometric_mean_value(&m->speedup)).text,
               COLOUR_NONE);
    print_cell(out, 6, text_ratio(geometric_mean_value(&m->c)).text,
               COLOUR_NONE);
    print_cell(out, 6, text_ratio(geometric_mean_value(&m->library)).text,
               COLOUR_NONE);
    fprintf(out, " %-*s %6s", LIBRARY_WIDTH, "", "");
    print_cell(out, 9, text_times(geometric_mean_value(&m->scaling)).text,
               COLOUR_NONE);
    fprintf(out, "%s\n", reset());
}

static void finish_section(FILE *out)
{
    const means *m = &screen.section_means;
    if (m->speedup.n > 1 || m->c.n > 1 || m->library.n > 1)
        print_means(out, "  geometric mean", m);
    memset(&screen.section_means, 0, sizeof(screen.section_means));
}

static void add_means(means *m, const screen_line *line)
{
    geometric_mean_add(&m->speedup, line->speedup);
    geometric_mean_add(&m->c, line->c_ratio);
    geometric_mean_add(&m->library, line->library_ratio);
    geometric_mean_add(&m->scaling, line->scaling);
}

static void print_line(FILE *out, const screen_line *line)
{
    char name[96];
    const row *ours = line->ours;
    snprintf(name, sizeof(name), "  %s %s", ours->case_name, ours->size_label);
    fprintf(out, "%-*.*s", NAME_WIDTH, NAME_WIDTH, name);
    print_cell(out, 10, text_time(row_best(ours)).text, COLOUR_NONE);
    print_cell(out, 8, text_times(line->speedup).text, COLOUR_NONE);
    print_cell(out, 6, text_ratio(line->c_ratio).text,
               ratio_colour(ours, line->c_ratio));
    print_cell(out, 6, text_ratio(line->library_ratio).text,
               ratio_colour(ours, line->library_ratio));
    fprintf(out, " %-*s", LIBRARY_WIDTH,
            line->library_ratio > 0 ? backend_name(line->library->which) : "");
    print_cell(out, 6, text_share(ours->roof_share).text, COLOUR_NONE);
    print_cell(out, 9, text_times(line->scaling).text, COLOUR_NONE);
    fputc('\n', out);
}

/* The cost of a profile, in place of the comparisons. */
static void print_profiled(FILE *out, const screen_line *line)
{
    const double off = row_best(line->ours), on = row_best(line->profiled);
    char name[96];
    snprintf(name, sizeof(name), "  %s %s, profiled", line->ours->case_name,
             line->ours->size_label);
    const double percent = 100 * fmax(on / off - 1, 0);
    fprintf(out, "%-*.*s %10s   the profile takes %s, %.*f %%\n", NAME_WIDTH,
            NAME_WIDTH, name, text_time(on).text,
            on > off ? text_time(on - off).text : "no time",
            percent < 10 ? 1 : 0, percent);
}

static void note_behind(const screen_line *line)
{
    behind now = {.ratio = fmax(line->c_ratio, line->library_ratio)};
    if (line->ours->is_overhead || !(now.ratio > tolerance))
        return;
    screen.n_behind++;
    snprintf(now.name, sizeof(now.name), "%s %s", line->ours->case_name,
             line->ours->size_label);
    for (int i = 0; i < N_WORST; i++)
        if (now.ratio > screen.worst[i].ratio) {
            const behind next = screen.worst[i];
            screen.worst[i] = now;
            now = next;
        }
}

static void print_behind(FILE *out)
{
    if (!screen.n_behind)
        return;
    fprintf(out,
            "%zu case%s behind plain C or a library by more than 5 %%%s:\n",
            screen.n_behind, screen.n_behind > 1 ? "s are" : " is",
            screen.n_behind > N_WORST ? ", most of all" : "");
    for (int i = 0; i < N_WORST && screen.worst[i].ratio > 0; i++)
        fprintf(out, "  %-*.*s %s\n", NAME_WIDTH, NAME_WIDTH,
                screen.worst[i].name,
                text_ratio(screen.worst[i].ratio).text);
}

static void print_failures(FILE *out, const row *rows, size_t n_rows)
{
    for (size_t i = 0; i < n_rows; i++)
        if (rows[i].state == ROW_FAILED)
            fprintf(out, "  %s%.50s: FAILED: %.36s%s\n", code(COLOUR_BAD),
                    rows[i].name, rows[i].why.text, reset());
}

/* -- Single operations ----------------------------------------------------- */

static bool is_one_op(const row *r)
{
    return strncmp(r->case_name, "ops_", 4) == 0;
}

static void add_op(const screen_line *line)
{
    if (screen.n_ops == MAX_OPS)
        return;
    one_op *op = &screen.ops[screen.n_ops++];
    snprintf(op->name, sizeof(op->name), "%s", line->ours->case_name + 4);
    op->ratios[PEER_STRICT] = line->strict_ratio;
    op->ratios[PEER_FAST] = line->c_ratio;
    op->ratios[PEER_FAST_TO_FAST] = line->fast_ratio;
}

/* Sorts the operations by their ratio to a peer, the largest first. */
static void sort_ops(op_peer peer)
{
    for (size_t i = 1; i < screen.n_ops; i++) {
        const one_op op = screen.ops[i];
        size_t at = i;
        for (; at && screen.ops[at - 1].ratios[peer] < op.ratios[peer]; at--)
            screen.ops[at] = screen.ops[at - 1];
        screen.ops[at] = op;
    }
}

/* The operations that take more than `most` times as long as a peer. */
static void print_slow_ops(FILE *out, op_peer peer, double most,
                           const char *ops, const char *than)
{
    enum { PER_LINE = 4 };
    size_t n = 0, n_compared = 0;
    sort_ops(peer);
    while (n_compared < screen.n_ops && screen.ops[n_compared].ratios[peer] > 0)
        n += screen.ops[n_compared++].ratios[peer] > most;
    if (!n_compared)
        return;
    fprintf(out, "\n%zu of %zu %s are slower than %s%s\n", n, n_compared, ops,
            than, n ? ", worst first:" : ".");
    for (size_t i = 0; i < n; i++)
        fprintf(out, "  %-16.16s %s%5.2f%s%s", screen.ops[i].name,
                code(COLOUR_BAD), screen.ops[i].ratios[peer], reset(),
                i % PER_LINE == PER_LINE - 1 || i + 1 == n ? "\n" : "");
}

static void print_all_slow_ops(FILE *out)
{
    /* What full accuracy may cost over a function of four times the error, and
       what the same error has to gain. */
    const double accuracy = 1.1, gain = 0.95;
    print_slow_ops(out, PEER_STRICT, tolerance, "operations",
                   "a loop in plain C");
    print_slow_ops(out, PEER_FAST, accuracy, "operations",
                   "1.1 times a loop in C with fast math");
    print_slow_ops(out, PEER_FAST_TO_FAST, gain, "fast forms",
                   "0.95 times a loop in C with fast math");
}

static void size(FILE *out, const results *r, const row *rows, size_t n_rows)
{
    const screen_line line = screen_line_of(rows, n_rows);
    if (!rows->is_on_screen)
        screen.n_not_shown += line.ours != NULL;
    if (rows->is_on_screen && strcmp(screen.section, rows->section) != 0) {
        finish_section(out);
        snprintf(screen.section, sizeof(screen.section), "%s", rows->section);
        print_columns(out, r);
    }
    if (line.ours && rows->is_on_screen) {
        print_line(out, &line);
        add_means(&screen.section_means, &line);
        if (!rows->is_overhead)
            add_means(&screen.all_means, &line);
        screen.n_lines++;
        note_behind(&line);
    }
    if (line.c_ratio > 0 && is_one_op(rows))
        add_op(&line);
    if (line.profiled && rows->is_on_screen)
        print_profiled(out, &line);
    print_failures(out, rows, n_rows);
    fflush(out);
}

static void end(FILE *out, const results *r)
{
    (void)r;
    finish_section(out);
    print_all_slow_ops(out);
    if (screen.all_means.speedup.n + screen.all_means.c.n > 2) {
        fputc('\n', out);
        print_means(out, "All that compute, geometric mean", &screen.all_means);
    }
    fprintf(out, "\n/interp: how many times faster than the interpreter. "
                 "/c, /lib: our time over that of plain C\n"
                 "and of the fastest other library; below 1 we are faster. "
                 "roof: share of what the roofs allow.\n");
    print_behind(out);
    if (screen.n_not_shown)
        fprintf(out,
                "%zu more cases were measured; --all prints every "
                "row.\n",
                screen.n_not_shown);
    fflush(out);
}

const table table_screen = {begin, size, end};
