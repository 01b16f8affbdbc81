/* SPDX-License-Identifier: MIT */
/*
 * html_roofline.c - the roofline model: cases by their operations per byte and
 * per second, below the roofs that roof.c measured, on logarithmic scales.
 */
#include <math.h>
#include <stdlib.h>

#include "format.h"
#include "html.h"

enum {
    WIDTH = 1060,
    HEIGHT = 520,
    LEFT = 62,
    RIGHT = 1040,
    TOP = 20,
    BOTTOM = 470,
    MAX_POINTS = 128
};

typedef struct point {
    const row *row;
    double x, y; /* in the chart */
    double label_x, label_y;
} point;

typedef struct scale {
    double x_low, x_high, y_low, y_high;
} scale;

static double to_x(const scale *s, double intensity)
{
    return LEFT + (RIGHT - LEFT) * log(intensity / s->x_low) /
                      log(s->x_high / s->x_low);
}

static double to_y(const scale *s, double flops)
{
    return BOTTOM -
           (BOTTOM - TOP) * log(flops / s->y_low) / log(s->y_high / s->y_low);
}

/* -- Points ---------------------------------------------------------------- */

static size_t find_points(const results *r, int threads, point *points)
{
    size_t n_points = 0;
    for (size_t begin = 0, n; begin < r->n_rows; begin += n) {
        n = results_size(r, begin);
        for (size_t i = begin; i < begin + n; i++) {
            const row *is = &r->rows[i];
            if (is->which == BACKEND_JIT && is->threads == threads &&
                is->is_on_screen && !is->is_overhead && row_best(is) > 0 &&
                is->bytes > 0 && is->flops > 0 && n_points < MAX_POINTS)
                points[n_points++].row = is;
        }
    }
    return n_points;
}

static scale scale_of(const roof *r, const point *points, size_t n)
{
    scale s = {.1, 100, r->f32_flops * 1e-2, r->f32_flops * 2};
    for (size_t i = 0; i < n; i++) {
        const row *is = points[i].row;
        const double intensity = is->flops / is->bytes;
        s.x_low = fmin(s.x_low, intensity / 1.5);
        s.x_high = fmax(s.x_high, intensity * 1.5);
        s.y_low = fmin(s.y_low, is->flops / row_best(is) / 1.5);
        s.y_high = fmax(s.y_high, is->flops / row_best(is) * 1.5);
    }
    return s;
}

static bool is_free(const point *points, size_t n, size_t own, double x,
                    double y)
{
    enum { NEAR_X = 17, NEAR_Y = 13 };
    if (x < LEFT + 8 || x > RIGHT - 8 || y < TOP + 8 || y > BOTTOM - 8)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (i < own && fabs(points[i].label_x - x) < NEAR_X &&
            fabs(points[i].label_y - y) < NEAR_Y)
            return false;
        if (fabs(points[i].x - x) < 11 && fabs(points[i].y - y) < 10)
            return false;
    }
    return true;
}

/* Places the number of a point at the nearest free place around it. */
static void place_label(point *points, size_t n, size_t own)
{
    point *p = &points[own];
    p->label_x = p->x + 13;
    p->label_y = p->y;
    for (int ring = 0; ring < 8; ring++)
        for (int turn = 0; turn < 16; turn++) {
            const double away = 13 + 9 * ring;
            const double angle = turn * 3.14159265358979 / 8;
            const double x = p->x + away * cos(angle);
            const double y = p->y - away * sin(angle);
            if (is_free(points, n, own, x, y)) {
                p->label_x = x;
                p->label_y = y;
                return;
            }
        }
}

static void print_points(FILE *out, point *points, size_t n, const scale *s)
{
    for (size_t i = 0; i < n; i++) {
        const row *is = points[i].row;
        points[i].x = to_x(s, is->flops / is->bytes);
        points[i].y = to_y(s, is->flops / row_best(is));
    }
    for (size_t i = 0; i < n; i++) {
        const point *p = &points[i];
        place_label(points, n, i);
        fprintf(out,
                "<line class=\"axis\" stroke-width=\".6\" x1=\"%.1f\" "
                "y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>"
                "<circle class=\"ours\" r=\"4\" cx=\"%.1f\" cy=\"%.1f\">"
                "<title>",
                p->x, p->y, p->label_x, p->label_y, p->x, p->y);
        html_text(out, p->row->name);
        fprintf(out,
                "</title></circle><text font-size=\"11\" font-weight=\"600\" "
                "text-anchor=\"middle\" x=\"%.1f\" y=\"%.1f\" "
                "style=\"paint-order:stroke\" stroke=\"var(--panel)\" "
                "stroke-width=\"3\">%zu</text>\n",
                p->label_x, p->label_y + 4, i + 1);
    }
}

static void print_legend(FILE *out, const point *points, size_t n)
{
    fputs("<ol class=\"legend\">\n", out);
    for (size_t i = 0; i < n; i++) {
        const row *is = points[i].row;
        fprintf(out, "<li><b>%zu</b>", i + 1);
        html_text(out, is->case_name);
        fputc(' ', out);
        html_text(out, is->size_label);
        fprintf(out,
                " <span class=\"soft\">%s GFLOP/s%s, %s</span></li>"
                "\n",
                text_number(is->flops / row_best(is) * 1e-9).text,
                is->is_f64 ? " f64" : "", text_share(is->roof_share).text);
    }
    fputs("</ol>\n", out);
}

/* -- Roofs ----------------------------------------------------------------- */

/* A number of GFLOP/s or flops per byte on an axis. */
static void print_number(FILE *out, double number)
{
    if (number >= 1)
        fprintf(out, "%.0f", number);
    else
        fprintf(out, "%g", number);
}

static void print_axes(FILE *out, const scale *s)
{
    for (double at = 1e-3; at <= s->x_high; at *= 10) {
        if (at < s->x_low)
            continue;
        const double x = to_x(s, at);
        fprintf(out,
                "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" "
                "y2=\"%d\"/><text class=\"soft\" font-size=\"11\" "
                "text-anchor=\"middle\" x=\"%.1f\" y=\"%d\">",
                x, x, TOP, BOTTOM, x, BOTTOM + 16);
        print_number(out, at);
        fputs("</text>\n", out);
    }
    for (double at = 1e6; at <= s->y_high; at *= 10) {
        if (at < s->y_low)
            continue;
        const double y = to_y(s, at);
        fprintf(out,
                "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" "
                "y2=\"%.1f\"/><text class=\"soft\" font-size=\"11\" "
                "text-anchor=\"end\" x=\"%d\" y=\"%.1f\">",
                LEFT, RIGHT, y, y, LEFT - 6, y + 4);
        print_number(out, at * 1e-9);
        fputs("</text>\n", out);
    }
    fprintf(out,
            "<text class=\"soft\" font-size=\"12\" text-anchor=\"end\" "
            "x=\"%d\" y=\"%d\">flops per byte of least traffic</text>"
            "<text class=\"soft\" font-size=\"12\" x=\"%d\" y=\"%d\">"
            "GFLOP/s</text>\n",
            RIGHT, BOTTOM + 36, LEFT + 6, TOP + 2);
}

/* A horizontal roof from where memory allows it. */
static void print_peak(FILE *out, const scale *s, double flops, double rate,
                       const char *name)
{
    const double y = to_y(s, flops);
    const double x = fmax(to_x(s, fmax(flops / rate, s->x_low)), LEFT);
    fprintf(out,
            "<line class=\"peak\" stroke-width=\"1.6\" x1=\"%.1f\" "
            "x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text font-size=\"12\" "
            "text-anchor=\"end\" x=\"%d\" y=\"%.1f\">%s: %s GFLOP/s</text>\n",
            x, RIGHT, y, y, RIGHT - 4, y - 5, name,
            text_number(flops * 1e-9).text);
}

/* A slope of one level of the memory, up to the f32 peak. */
static void print_slope(FILE *out, const scale *s, const roof *r, int level)
{
    const double rate = r->levels[level].rate;
    double from = s->x_low, to = r->f32_flops / rate;
    if (!(rate > 0) || to <= from)
        return;
    from = fmax(from, s->y_low / rate);
    const double x1 = to_x(s, from), y1 = to_y(s, from * rate);
    const double x2 = to_x(s, to), y2 = to_y(s, to * rate);
    const double angle = atan2(y2 - y1, x2 - x1) * 57.29577951308232;
    const double x = x1 + (x2 - x1) * 0.16, y = y1 + (y2 - y1) * 0.16;
    char name[16] = "memory";
    if (!isinf(r->levels[level].bytes))
        snprintf(name, sizeof(name), "L%d", level + 1);
    fprintf(out,
            "<line class=\"roof\" stroke-width=\"1.6\" x1=\"%.1f\" "
            "y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/><text font-size=\"11\" "
            "text-anchor=\"middle\" transform=\"translate(%.1f %.1f) "
            "rotate(%.2f)\" style=\"paint-order:stroke\" "
            "stroke=\"var(--panel)\" stroke-width=\"3\">%s %.0f GB/s</text>"
            "\n",
            x1, y1, x2, y2, x, y - 4, angle, name, rate * 1e-9);
}

static void print_chart(FILE *out, const results *r, const roof *of)
{
    point *points = calloc(MAX_POINTS, sizeof(*points));
    if (!points)
        return;
    const size_t n = find_points(r, of->threads, points);
    const scale s = scale_of(of, points, n);
    double best_rate = 1;
    for (int i = 0; i < of->n_levels; i++)
        best_rate = fmax(best_rate, of->levels[i].rate);
    if (n) {
        fprintf(out,
                "<h3>%d thread%s</h3>\n<div class=\"chart\"><svg "
                "viewBox=\"0 0 %d %d\" width=\"%d\" role=\"img\">\n",
                of->threads, of->threads > 1 ? "s" : "", WIDTH, HEIGHT, WIDTH);
        print_axes(out, &s);
        for (int i = 0; i < of->n_levels; i++)
            print_slope(out, &s, of, i);
        print_peak(out, &s, of->f32_flops, best_rate, "FMA peak, f32");
        if (of->f64_flops > 0)
            print_peak(out, &s, of->f64_flops, best_rate, "f64");
        print_points(out, points, n, &s);
        fputs("</svg>\n", out);
        print_legend(out, points, n);
        fputs("</div>\n", out);
    }
    free(points);
}

void html_roofline(FILE *out, const results *r)
{
    fputs("<h2 id=\"roofline\">Roofline</h2>\n<p>The roofs were measured by "
          "tgjit-bench on this machine: FMAs in registers, and reading, "
          "copying or updating data in each cache and in memory. A case is "
          "limited by the roof of the level that holds its data; that level "
          "and its least traffic are estimated from the size, so a case can "
          "exceed a roof. The list has the share of the roof.</p>\n",
          out);
    if (!r->roofs.n)
        fputs("<p>This file has no roofs.</p>\n", out);
    for (int i = 0; i < r->roofs.n; i++)
        print_chart(out, r, &r->roofs.all[i]);
}
