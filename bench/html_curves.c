/* SPDX-License-Identifier: MIT */
/*
 * html_curves.c - how times grow with the size: rows of the cases growth_*,
 * whose size labels are numbers, on logarithmic scales.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "html.h"

enum {
    WIDTH = 1060,
    HEIGHT = 330,
    LEFT = 70,
    RIGHT = 850, /* labels of curves are to the right */
    TOP = 18,
    BOTTOM = 285,
    MAX_CURVES = 6
};

/* A row's height in a chart; 0: none. */
typedef double curve_value(const row *r);

static double gigabytes_per_second(const row *r)
{
    return r->bytes / row_best(r) * 1e-9;
}

static double gigaflops(const row *r)
{
    return r->flops / row_best(r) * 1e-9;
}

static double milliseconds(const row *r)
{
    return row_best(r) * 1e3;
}

typedef struct curve {
    const char *case_name;
    backend which;
    bool is_team; /* with the last number of threads */
    const char *label;
} curve;

typedef struct chart {
    const char *title, *x_axis, *y_axis;
    curve_value *value;
    curve curves[MAX_CURVES];
} chart;

static const chart charts[] = {
    {"Throughput of y = a x + y by the number of elements",
     "elements",
     "GB/s",
     gigabytes_per_second,
     {{"growth_axpy", BACKEND_JIT, false, "jit, 1 thread"},
      {"growth_axpy", BACKEND_JIT, true, "jit, all threads"},
      {"growth_axpy", BACKEND_C, false, "plain C, 1 thread"},
      {"growth_axpy", BACKEND_C, true, "plain C, all threads"},
      {"growth_axpy", BACKEND_INTERP, false, "interpreter"}}},
    {"Throughput of the chain by the number of elements",
     "elements",
     "GFLOP/s",
     gigaflops,
     {{"growth_chain", BACKEND_JIT, false, "jit, 1 thread"},
      {"growth_chain", BACKEND_JIT, true, "jit, all threads"},
      {"growth_chain", BACKEND_C, false, "plain C, 1 thread"},
      {"growth_chain", BACKEND_C, true, "plain C, all threads"},
      {"growth_chain", BACKEND_INTERP, false, "interpreter"}}},
    {"Time to trace and compile by the number of operations",
     "operations",
     "ms",
     milliseconds,
     {{"growth_trace", BACKEND_INTERP, false, "trace"},
      {"growth_passes", BACKEND_INTERP, false, "passes"},
      {"growth_compile", BACKEND_JIT, false, "first result, compiled"}}},
};

/* -- Scales ---------------------------------------------------------------- */

typedef struct scale {
    double x_low, x_high, y_low, y_high;
    bool is_empty;
} scale;

static double to_x(const scale *s, double x)
{
    return LEFT +
           (RIGHT - LEFT) * log(x / s->x_low) / log(s->x_high / s->x_low);
}

static double to_y(const scale *s, double y)
{
    return BOTTOM -
           (BOTTOM - TOP) * log(y / s->y_low) / log(s->y_high / s->y_low);
}

/* The value of a row if it belongs to the curve, else 0; *out_x is its size. */
static double value_of(const row *r, const chart *c, const curve *of,
                       double *out_x)
{
    const bool is_team = r->threads > 1;
    *out_x = strtod(r->size_label, NULL);
    if (strcmp(r->case_name, of->case_name) != 0 || r->which != of->which ||
        is_team != of->is_team || !(row_best(r) > 0) || !(*out_x > 0))
        return 0;
    return c->value(r);
}

static scale scale_of(const results *r, const chart *c)
{
    scale s = {1e300, 0, 1e300, 0, true};
    for (size_t k = 0; k < MAX_CURVES && c->curves[k].case_name; k++)
        for (size_t i = 0; i < r->n_rows; i++) {
            double x;
            const double y = value_of(&r->rows[i], c, &c->curves[k], &x);
            if (!(y > 0))
                continue;
            s.x_low = fmin(s.x_low, x);
            s.x_high = fmax(s.x_high, x);
            s.y_low = fmin(s.y_low, y);
            s.y_high = fmax(s.y_high, y);
            s.is_empty = false;
        }
    s.y_low /= 1.2;
    s.y_high *= 1.2;
    s.is_empty |= !(s.x_high > s.x_low);
    return s;
}

/* -- Drawing --------------------------------------------------------------- */

static void print_axes(FILE *out, const chart *c, const scale *s)
{
    for (int power = -6; power <= 12; power++) {
        const double at = pow(10, power);
        if (at >= s->x_low * 0.999 && at <= s->x_high * 1.001)
            fprintf(out,
                    "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" "
                    "y2=\"%d\"/><text class=\"soft\" font-size=\"11\" "
                    "text-anchor=\"middle\" x=\"%.1f\" y=\"%d\">10"
                    "<tspan font-size=\"8\" dy=\"-5\">%d</tspan></text>\n",
                    to_x(s, at), to_x(s, at), TOP, BOTTOM, to_x(s, at),
                    BOTTOM + 18, power);
        if (at >= s->y_low && at <= s->y_high)
            fprintf(out,
                    "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" "
                    "y2=\"%.1f\"/><text class=\"soft\" font-size=\"11\" "
                    "text-anchor=\"end\" x=\"%d\" y=\"%.1f\">%g</text>\n",
                    LEFT, RIGHT, to_y(s, at), to_y(s, at), LEFT - 6,
                    to_y(s, at) + 4, at);
    }
    fprintf(out,
            "<text class=\"soft\" font-size=\"12\" text-anchor=\"end\" "
            "x=\"%d\" y=\"%d\">%s</text><text class=\"soft\" "
            "font-size=\"12\" x=\"%d\" y=\"%d\">%s</text>\n",
            RIGHT, BOTTOM + 36, c->x_axis, LEFT + 6, TOP + 4, c->y_axis);
}

/* The end of a curve in the chart; y is 0 if it has no point. */
typedef struct place {
    double x, y;
} place;

static place print_line(FILE *out, const results *r, const chart *c, size_t k,
                        const scale *s)
{
    const curve *of = &c->curves[k];
    place last = {0, 0};
    for (size_t i = 0; i < r->n_rows; i++) {
        double x;
        const double y = value_of(&r->rows[i], c, of, &x);
        if (!(y > 0))
            continue;
        if (last.y > 0)
            fprintf(out, "L%.1f %.1f", to_x(s, x), to_y(s, y));
        else
            fprintf(out, "<path class=\"curve s%zu\"%s d=\"M%.1f %.1f", k,
                    of->is_team ? " stroke-dasharray=\"6 3\"" : "", to_x(s, x),
                    to_y(s, y));
        last = (place){to_x(s, x), to_y(s, y)};
    }
    if (last.y > 0)
        fputs("\"/>\n", out);
    return last;
}

static void print_points(FILE *out, const results *r, const chart *c, size_t k,
                         const scale *s)
{
    for (size_t i = 0; i < r->n_rows; i++) {
        double x;
        const double y = value_of(&r->rows[i], c, &c->curves[k], &x);
        if (!(y > 0))
            continue;
        fprintf(out,
                "<circle class=\"f%zu\" r=\"3\" cx=\"%.1f\" cy=\"%.1f\">"
                "<title>",
                k, to_x(s, x), to_y(s, y));
        html_text(out, r->rows[i].name);
        fprintf(out, ": %s %s</title></circle>\n", text_number(y).text,
                c->y_axis);
    }
}

/* Labels stand beside the last point, or below the label above. */
static void print_labels(FILE *out, const chart *c, const place *ends)
{
    enum { LINE = 16 };
    bool is_done[MAX_CURVES] = {false};
    double above = TOP - LINE;
    for (size_t n = 0; n < MAX_CURVES; n++) {
        size_t next = MAX_CURVES;
        for (size_t k = 0; k < MAX_CURVES; k++)
            if (!is_done[k] && ends[k].y > 0 &&
                (next == MAX_CURVES || ends[k].y < ends[next].y))
                next = k;
        if (next == MAX_CURVES)
            return;
        is_done[next] = true;
        above = fmax(ends[next].y, above + LINE);
        fprintf(out,
                "<text class=\"t%zu\" font-size=\"12\" x=\"%.1f\" "
                "y=\"%.1f\">%s</text>\n",
                next, ends[next].x + 10, above + 4, c->curves[next].label);
    }
}

/* Prints nothing and returns false if there are no rows of the chart. */
static bool print_chart(FILE *out, const results *r, const chart *c)
{
    const scale s = scale_of(r, c);
    place ends[MAX_CURVES] = {{0, 0}};
    if (s.is_empty)
        return false;
    fprintf(out,
            "<h3>%s</h3>\n<div class=\"chart\"><svg viewBox=\"0 0 %d %d\" "
            "width=\"%d\" role=\"img\">\n",
            c->title, WIDTH, HEIGHT, WIDTH);
    print_axes(out, c, &s);
    for (size_t k = 0; k < MAX_CURVES && c->curves[k].case_name; k++) {
        ends[k] = print_line(out, r, c, k, &s);
        print_points(out, r, c, k, &s);
    }
    print_labels(out, c, ends);
    fputs("</svg></div>\n", out);
    return true;
}

void html_curves(FILE *out, const results *r)
{
    fputs("<h2 id=\"growth\">Growth</h2>\n<p>Throughput steps down where "
          "data no longer fits a cache. Threads pay off from some thousand "
          "elements on. Tracing and compiling should be linear.</p>\n",
          out);
    bool is_empty = true;
    for (size_t i = 0; i < sizeof(charts) / sizeof(*charts); i++)
        if (print_chart(out, r, &charts[i]))
            is_empty = false;
    if (is_empty)
        fputs("<p>The results contain no rows of the cases growth_*.</p>\n", out);
}
