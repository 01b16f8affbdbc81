/* SPDX-License-Identifier: MIT */
/*
 * report_markdown.c - tables in Markdown, for docs/PERFORMANCE.md: a table per
 * heading with a line per case and size, in which each line says where the
 * library is behind, and the ratios to each peer.
 */
#include <math.h>
#include <string.h>

#include "format.h"
#include "report.h"

/* Slower than a peer by more than this counts as behind: noise. */
static const double tolerance = 1.05;

static void print_machine(FILE *out, const results *r)
{
    fprintf(out, "## %s\n\n%s, %d CPUs, %s. libtgjit %s, %.10s.\n\n",
            *r->label ? r->label : r->machine.cpu, r->machine.cpu,
            r->machine.processors, text_machine(&r->machine).text,
            r->machine.library, r->date);
    if (!r->roofs.n)
        return;
    fputs("| roofs | f32 GFLOP/s | f64 GFLOP/s | GB/s by working set |\n"
          "|---|---|---|---|\n",
          out);
    for (int i = 0; i < r->roofs.n; i++) {
        const roof *of = &r->roofs.all[i];
        fprintf(out, "| %d thread%s | %.0f | %.0f |", of->threads,
                of->threads > 1 ? "s" : "", of->f32_flops * 1e-9,
                of->f64_flops * 1e-9);
        for (int k = 0; k < of->n_levels; k++)
            if (isinf(of->levels[k].bytes))
                fprintf(out, "%s memory: %.0f", k ? "," : "",
                        of->levels[k].rate * 1e-9);
            else
                fprintf(out, "%s to %s: %.0f", k ? "," : "",
                        text_bytes(of->levels[k].bytes).text,
                        of->levels[k].rate * 1e-9);
        fputs(" |\n", out);
    }
    fputc('\n', out);
}

/* -- Cases ----------------------------------------------------------------- */

/* The peers that are faster than compiled code, in the group of its row. */
static size_t print_behind(FILE *out, const row *rows, size_t n,
                           const row *ours, size_t n_printed)
{
    const row *c = NULL, *expert = NULL, *library = NULL;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].threads != ours->threads || !(row_best(&rows[i]) > 0))
            continue;
        if (rows[i].which == BACKEND_C)
            c = &rows[i];
        if (rows[i].which == BACKEND_EXPERT)
            expert = &rows[i];
        if (backend_is_installed(rows[i].which) &&
            (!library || row_best(&rows[i]) < row_best(library)))
            library = &rows[i];
    }
    const row *const peers[] = {c, expert, library};
    for (size_t i = 0; i < sizeof(peers) / sizeof(*peers); i++) {
        const double ratio = peers[i] ? row_best(ours) / row_best(peers[i]) : 0;
        if (ratio > tolerance)
            fprintf(out, "%s%s %s%s", n_printed++ ? ", " : "**behind:** ",
                    backend_name(peers[i]->which), text_ratio(ratio).text,
                    ours->threads > 1 ? " (threads)" : "");
    }
    return n_printed;
}

static void print_line(FILE *out, const row *rows, size_t n)
{
    const screen_line line = screen_line_of(rows, n);
    if (!line.ours)
        return;
    fprintf(out, "| %s %s | %s | %s | %s | ", line.ours->case_name,
            line.ours->size_label, text_time(row_best(line.ours)).text,
            text_number(line.speedup).text, text_ratio(line.c_ratio).text);
    if (line.library_ratio > 0)
        fprintf(out, "%s %s", text_ratio(line.library_ratio).text,
                backend_name(line.library->which));
    fprintf(out, " | %s | %s | ", text_share(line.ours->roof_share).text,
            line.team ? text_time(row_best(line.team)).text : "");
    if (line.profiled)
        fprintf(out, "with a profile %s",
                text_time(row_best(line.profiled)).text);
    else if (line.ours->which == BACKEND_JIT && !rows->is_overhead) {
        const size_t behind = print_behind(out, rows, n, line.ours, 0);
        if (line.team)
            print_behind(out, rows, n, line.team, behind);
    }
    fputs(" |\n", out);
}

static void print_cases(FILE *out, const results *r)
{
    const char *section = "";
    for (size_t begin = 0, n; begin < r->n_rows; begin += n) {
        n = results_size(r, begin);
        const row *rows = r->rows + begin;
        if (strcmp(section, rows->section) != 0) {
            section = rows->section;
            fprintf(out,
                    "\n### %s\n\n| case | time | /interp | /c | /library | "
                    "roof | all threads | |\n|---|--:|--:|--:|--:|--:|--:|---|"
                    "\n",
                    section);
        }
        print_line(out, rows, n);
    }
}

/* -- Means and peers ------------------------------------------------------- */

static void print_means(FILE *out, const results *r)
{
    geometric_mean speedup = {0, 0}, c = {0, 0}, library = {0, 0};
    for (size_t begin = 0, n; begin < r->n_rows; begin += n) {
        n = results_size(r, begin);
        const screen_line line = screen_line_of(r->rows + begin, n);
        if (r->rows[begin].is_overhead || !r->rows[begin].is_on_screen)
            continue;
        geometric_mean_add(&speedup, line.speedup);
        geometric_mean_add(&c, line.c_ratio);
        geometric_mean_add(&library, line.library_ratio);
    }
    fprintf(out,
            "Geometric means with one thread, of the cases that compute: %s "
            "times faster than the interpreter (%zu cases), %s of the time of "
            "plain C (%zu), %s of the fastest library (%zu).\n",
            text_number(geometric_mean_value(&speedup)).text, speedup.n,
            text_ratio(geometric_mean_value(&c)).text, c.n,
            text_ratio(geometric_mean_value(&library)).text, library.n);
}

/* Ratios of one row of compiled code to all peers that were measured. */
static void print_peer_line(FILE *out, const row *rows, size_t n,
                            const row *ours, const bool *has)
{
    fprintf(out, "| %s %s | %d |", ours->case_name, ours->size_label,
            ours->threads);
    for (int which = BACKEND_EXPERT; which < N_BACKENDS; which++) {
        if (!has[which])
            continue;
        double ratio = 0;
        for (size_t i = 0; i < n; i++)
            if ((int)rows[i].which == which &&
                rows[i].threads == ours->threads && row_best(&rows[i]) > 0)
                ratio = row_best(ours) / row_best(&rows[i]);
        const char *mark = ratio > tolerance ? "**" : "";
        fprintf(out, " %s%s%s |", mark, text_ratio(ratio).text, mark);
    }
    fputc('\n', out);
}

static bool has_peer(const row *rows, size_t n, const row *ours,
                     const bool *has)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i].which >= BACKEND_EXPERT && has[rows[i].which] &&
            rows[i].threads == ours->threads && row_best(&rows[i]) > 0)
            return true;
    return false;
}

static void print_peers(FILE *out, const results *r)
{
    bool has[N_BACKENDS] = {false}, has_any = false;
    for (size_t i = 0; i < r->n_rows; i++)
        if (r->rows[i].which >= BACKEND_EXPERT && r->rows[i].is_on_screen &&
            row_best(&r->rows[i]) > 0)
            has[r->rows[i].which] = has_any = true;
    if (!has_any)
        return;
    fputs("\n### Ratios to each peer\n\nOur time over theirs; **above 1.05** "
          "we are behind.\n\n| case | threads |",
          out);
    for (int which = BACKEND_EXPERT; which < N_BACKENDS; which++)
        if (has[which])
            fprintf(out, " %s |", backend_name((backend)which));
    fputs("\n|---|--:|", out);
    for (int which = BACKEND_EXPERT; which < N_BACKENDS; which++)
        if (has[which])
            fputs("--:|", out);
    fputc('\n', out);
    for (size_t begin = 0, n; begin < r->n_rows; begin += n) {
        n = results_size(r, begin);
        for (size_t i = begin; i < begin + n; i++)
            if (r->rows[i].which == BACKEND_JIT && row_best(&r->rows[i]) > 0 &&
                has_peer(r->rows + begin, n, &r->rows[i], has))
                print_peer_line(out, r->rows + begin, n, &r->rows[i], has);
    }
}

void report_markdown(FILE *out, const results *r)
{
    print_machine(out, r);
    print_means(out, r);
    print_cases(out, r);
    print_peers(out, r);
}
