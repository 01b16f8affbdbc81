/* SPDX-License-Identifier: MIT */
/*
 * html_bars.c - bars of speed-ups on logarithmic scales, a chart per heading:
 * to the left over the interpreter, to the right against plain C (a bar from 1)
 * and the fastest library (a mark).
 */
#include <math.h>
#include <string.h>

#include "format.h"
#include "html.h"

enum {
    WIDTH = 1060,
    ROW = 22,
    TOP = 34,
    NAME_END = 230, /* names are right-aligned here */
    INTERP = 240,   /* the left chart */
    INTERP_END = 500,
    RATIO = 590, /* the right chart, whose middle is 1 */
    RATIO_END = 890
};

static const double interp_max = 1000, ratio_max = 10;

static double clamp(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

static double interp_x(double speedup)
{
    const double share = log(clamp(speedup, 1, interp_max)) / log(interp_max);
    return INTERP + share * (INTERP_END - INTERP);
}

static double ratio_x(double speed)
{
    const double share =
        log(clamp(speed, 1 / ratio_max, ratio_max)) / log(ratio_max);
    return (RATIO + RATIO_END) / 2.0 + share * (RATIO_END - RATIO) / 2.0;
}

static void print_grid_line(FILE *out, double x, double height,
                            const char *label)
{
    fprintf(out,
            "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" "
            "y2=\"%.0f\"/><text class=\"soft\" font-size=\"11\" "
            "text-anchor=\"middle\" x=\"%.1f\" y=\"%d\">%s</text>\n",
            x, x, TOP - 8, height - 6, x, TOP - 12, label);
}

static void print_grid(FILE *out, double height)
{
    print_grid_line(out, interp_x(1), height, "1&times;");
    print_grid_line(out, interp_x(10), height, "10&times;");
    print_grid_line(out, interp_x(100), height, "100&times;");
    print_grid_line(out, interp_x(1000), height, "1000&times;");
    print_grid_line(out, ratio_x(0.1), height, "0.1&times;");
    print_grid_line(out, ratio_x(0.5), height, "0.5&times;");
    print_grid_line(out, ratio_x(1), height, "1&times;");
    print_grid_line(out, ratio_x(2), height, "2&times;");
    print_grid_line(out, ratio_x(10), height, "10&times;");
    fprintf(out,
            "<line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" "
            "y2=\"%.0f\"/>\n",
            ratio_x(1), ratio_x(1), TOP - 8, height - 6);
}

static void print_interp(FILE *out, const screen_line *line, double y)
{
    if (!(line->speedup > 0))
        return;
    const double end = interp_x(line->speedup);
    fprintf(out,
            "<rect class=\"ours\" rx=\"2\" x=\"%d\" y=\"%.0f\" width=\"%.1f\" "
            "height=\"12\"/><text font-size=\"11\" x=\"%.1f\" y=\"%.0f\">"
            "%s&times;</text>\n",
            INTERP, y, fmax(end - INTERP, 1), end + 5, y + 10,
            text_number(line->speedup).text);
}

static void print_ratios(FILE *out, const screen_line *line, double y)
{
    if (line->c_ratio > 0) {
        const double speed = 1 / line->c_ratio;
        const double one = ratio_x(1), end = ratio_x(speed);
        fprintf(out,
                "<rect class=\"%s\" rx=\"2\" x=\"%.1f\" y=\"%.0f\" "
                "width=\"%.1f\" height=\"12\"/>\n",
                line->ours->is_overhead ? "idle"
                : speed >= 1            ? "good"
                                        : "bad",
                fmin(one, end), y,
                fmax(fabs(end - one), 1));
    }
    if (line->library_ratio > 0) {
        const double x = ratio_x(1 / line->library_ratio);
        fprintf(out,
                "<path class=\"lib\" d=\"M%.1f %.0fl6 7-6 7-6-7z\"><title>", x,
                y - 1);
        fprintf(out, "%s&times; the speed of %s</title></path>\n",
                text_number(1 / line->library_ratio).text,
                backend_name(line->library->which));
    }
    fprintf(out, "<text font-size=\"11\" x=\"%d\" y=\"%.0f\">", RATIO_END + 10,
            y + 10);
    if (line->c_ratio > 0)
        fprintf(out, "%s", text_number(1 / line->c_ratio).text);
    if (line->library_ratio > 0)
        fprintf(out, "%s%s %s", line->c_ratio > 0 ? ", " : "",
                text_number(1 / line->library_ratio).text,
                backend_name(line->library->which));
    fputs("</text>\n", out);
}

/* True if there is a comparison to draw. */
static bool has_bars(const screen_line *line)
{
    return line->ours &&
           (line->speedup > 0 || line->c_ratio > 0 || line->library_ratio > 0);
}

static void print_bars(FILE *out, const screen_line *line, double y)
{
    fprintf(out,
            "<text font-size=\"12\" text-anchor=\"end\" x=\"%d\" "
            "y=\"%.0f\">",
            NAME_END, y + 10);
    html_text(out, line->ours->case_name);
    fputc(' ', out);
    html_text(out, line->ours->size_label);
    fputs("</text>\n", out);
    print_interp(out, line, y);
    print_ratios(out, line, y);
}

/* The cases of one heading, from `begin` on; returns the end. */
static size_t print_section(FILE *out, const results *r, size_t begin)
{
    size_t end = begin, n, n_lines = 0;
    for (; end < r->n_rows &&
           strcmp(r->rows[end].section, r->rows[begin].section) == 0;
         end += n) {
        n = results_size(r, end);
        const screen_line line = screen_line_of(r->rows + end, n);
        n_lines += r->rows[end].is_on_screen && has_bars(&line);
    }
    if (!n_lines)
        return end;
    const double height = TOP + ROW * (double)n_lines + 6;
    fputs("<h3>", out);
    html_text(out, r->rows[begin].section);
    fprintf(out,
            "</h3>\n<div class=\"chart\"><svg viewBox=\"0 0 %d %.0f\" "
            "role=\"img\" width=\"%d\">\n",
            WIDTH, height, WIDTH);
    print_grid(out, height);
    double y = TOP;
    for (size_t i = begin; i < end; i += n) {
        n = results_size(r, i);
        const screen_line line = screen_line_of(r->rows + i, n);
        if (!r->rows[i].is_on_screen || !has_bars(&line))
            continue;
        print_bars(out, &line, y);
        y += ROW;
    }
    fputs("</svg></div>\n", out);
    return end;
}

void html_bars(FILE *out, const results *r)
{
    fputs("<h2 id=\"speed\">Speed-ups</h2>\n<p>Left: how many times faster "
          "compiled code is than the interpreter. Right: its speed relative "
          "to plain C (bar; to the right of 1&times; it is faster) and to the "
          "fastest other library or engine (diamond). Grey bars are overhead, "
          "which plain C does not have. Scales are logarithmic; bars beyond "
          "an end are cut off, numbers are not.</p>\n",
          out);
    for (size_t begin = 0; begin < r->n_rows;)
        begin = print_section(out, r, begin);
}
