/* SPDX-License-Identifier: MIT */
/*
 * html_rows.c - tables: the ratios to each peer, and every row with all of its
 * repetitions as a strip plot.
 */
#include <math.h>
#include <string.h>

#include "format.h"
#include "html.h"

/* -- Peers ----------------------------------------------------------------- */

/* The row of a back end with as many threads as `like`; NULL: none. */
static const row *find_row(const row *rows, size_t n, backend which,
                           const row *like)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i].which == which && rows[i].threads == like->threads &&
            row_best(&rows[i]) > 0)
            return &rows[i];
    return NULL;
}

static void print_ratio(FILE *out, const row *ours, const row *peer)
{
    const double ratio = peer ? row_best(ours) / row_best(peer) : 0;
    fprintf(out, "<td%s%s>%s</td>", ratio > 1.05 ? " class=\"bad\"" : "",
            ratio > 0 && ratio <= 1 ? " class=\"good\"" : "",
            text_ratio(ratio).text);
}

static void print_peer_line(FILE *out, const row *rows, size_t n,
                            const row *ours, const bool *has)
{
    fputs("<tr><td>", out);
    html_text(out, ours->case_name);
    fputc(' ', out);
    html_text(out, ours->size_label);
    fprintf(out, "</td><td>%d</td><td>%s</td>", ours->threads,
            text_time(row_best(ours)).text);
    for (int which = BACKEND_C; which < N_BACKENDS; which++)
        if (has[which])
            print_ratio(out, ours, find_row(rows, n, (backend)which, ours));
    fputs("</tr>\n", out);
}

/* True if a library or engine was measured with as many threads. */
static bool has_peer(const row *rows, size_t n, const row *ours)
{
    for (size_t i = 0; i < n; i++)
        if (backend_is_installed(rows[i].which) &&
            rows[i].threads == ours->threads && row_best(&rows[i]) > 0)
            return true;
    return false;
}

static bool is_ours(const row *r)
{
    return r->which == BACKEND_JIT && r->is_on_screen && row_best(r) > 0;
}

void html_peers(FILE *out, const results *r)
{
    bool has[N_BACKENDS] = {false}, has_any = false;
    for (size_t i = 0; i < r->n_rows; i++)
        if (!backend_is_library(r->rows[i].which) && r->rows[i].is_on_screen &&
            row_best(&r->rows[i]) > 0) {
            has[r->rows[i].which] = true;
            has_any |= backend_is_installed(r->rows[i].which);
        }
    fputs("<h2 id=\"peers\">Peers</h2>\n", out);
    if (!has_any) {
        fputs("<p>No other library was measured. Install some, or see "
              "<code>--peers</code>.</p>\n",
              out);
        return;
    }
    fputs("<p>The time of compiled code over that of each other "
          "implementation in the same run; below 1 we are faster.</p>\n"
          "<div class=\"chart\"><table class=\"wide\"><tr><th>case</th>"
          "<th>threads</th>"
          "<th>jit</th>",
          out);
    for (int which = BACKEND_C; which < N_BACKENDS; which++)
        if (has[which])
            fprintf(out, "<th>%s</th>", backend_name((backend)which));
    fputs("</tr>\n", out);
    for (size_t begin = 0, n; begin < r->n_rows; begin += n) {
        n = results_size(r, begin);
        for (size_t i = begin; i < begin + n; i++)
            if (is_ours(&r->rows[i]) &&
                has_peer(r->rows + begin, n, &r->rows[i]))
                print_peer_line(out, r->rows + begin, n, &r->rows[i], has);
    }
    fputs("</table></div>\n", out);
}

/* -- Every row ------------------------------------------------------------- */

/*
 * A strip plot of the repetitions of a row, from 0.9 to 1.4 times its median,
 * so that the noise of all rows can be compared. The bar is the confidence
 * interval of the median, the line the median.
 */
static void print_strip(FILE *out, const row *r, const statistics *s)
{
    enum { STRIP = 240, MARGIN = 5, LINE = 16 };
    const double low = 0.9 * s->median.real, high = 1.4 * s->median.real;
    const double scale = (STRIP - 2 * MARGIN) / (high - low);
#define X(time) (MARGIN + scale * (fmin(fmax(time, low), high) - low))
    fprintf(out,
            "<svg width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\"><line "
            "class=\"grid\" x1=\"0\" x2=\"%d\" y1=\"8\" y2=\"8\"/>"
            "<rect class=\"lib\" opacity=\".35\" x=\"%.1f\" y=\"2\" "
            "width=\"%.1f\" height=\"12\"/>"
            "<line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"0\" "
            "y2=\"16\"/>",
            STRIP, LINE, STRIP, LINE, STRIP, X(s->median_low),
            X(s->median_high) - X(s->median_low), X(s->median.real),
            X(s->median.real));
    for (size_t i = 0; i < r->n_repetitions; i++)
        fprintf(out,
                "<circle class=\"ours\" opacity=\".7\" r=\"2.4\" "
                "cx=\"%.1f\" cy=\"%d\"/>",
                X(r->repetitions[i].real), 5 + (int)(i % 3) * 3);
    fputs("</svg>", out);
#undef X
}

static void print_row(FILE *out, const row *r)
{
    const statistics s = row_statistics(r);
    fprintf(out, "<tr%s><td>",
            r->which == BACKEND_JIT ? " class=\"ours\"" : "");
    html_text(out, backend_name(r->which));
    fprintf(out, "</td><td>%d</td>", r->threads);
    if (r->state != ROW_MEASURED) {
        fputs("<td colspan=\"8\">", out);
        html_text(out, r->why.text);
        fputs("</td></tr>\n", out);
        return;
    }
    fputs("<td data-row=\"", out);
    html_text(out, r->name);
    fprintf(out, "\" data-ns=\"%.9g\">%s</td>", s.best.real * 1e9,
            text_time(s.best.real).text);
    fprintf(out, "<td>%s</td><td>%s</td><td>%s</td>",
            text_time(s.median.real).text, text_time(s.median_low).text,
            text_time(s.median_high).text);
    fprintf(out, "<td>%s</td><td>%s</td><td>%s</td><td>",
            text_number(r->bytes * 1e-9 / s.best.real).text,
            text_number(r->flops * 1e-9 / s.best.real).text,
            text_share(r->roof_share).text);
    print_strip(out, r, &s);
    fputs("</td></tr>\n", out);
}

static void print_case(FILE *out, const row *rows, size_t n)
{
    const screen_line line = screen_line_of(rows, n);
    fputs("<details><summary><b>", out);
    html_text(out, rows->case_name);
    fputs("</b> ", out);
    html_text(out, rows->size_label);
    if (line.ours)
        fprintf(out, " <span class=\"soft\">%s%s%s%s%s</span>",
                text_time(row_best(line.ours)).text,
                line.c_ratio > 0 ? ", /c " : "", text_ratio(line.c_ratio).text,
                line.library_ratio > 0 ? ", /library " : "",
                text_ratio(line.library_ratio).text);
    fputs("</summary>\n<table><tr><th>back end</th><th>threads</th>"
          "<th>best</th><th>median</th><th colspan=\"2\">95 % interval</th>"
          "<th>GB/s</th><th>GFLOP/s</th><th>roof</th>"
          "<th>repetitions</th></tr>\n",
          out);
    for (size_t i = 0; i < n; i++)
        print_row(out, &rows[i]);
    fputs("</table></details>\n", out);
}

void html_rows(FILE *out, const results *r)
{
    const char *section = "";
    fputs("<h2 id=\"rows\">All rows</h2>\n<p>Each dot is a repetition, the "
          "line the median, and the bar its 95 % confidence interval. A strip "
          "reaches from 0.9 to 1.4 times the median of its row; what lies "
          "beyond is drawn at its end.</p>\n",
          out);
    for (size_t begin = 0, n; begin < r->n_rows; begin += n) {
        n = results_size(r, begin);
        if (strcmp(section, r->rows[begin].section) != 0) {
            section = r->rows[begin].section;
            fputs("<h3>", out);
            html_text(out, section);
            fputs("</h3>\n", out);
        }
        print_case(out, r->rows + begin, n);
    }
}
