/* SPDX-License-Identifier: MIT */
/*
 * html_phases.c - the time of each phase of compiling, as stacked bars: of one
 * compile with a profile, after those that were timed.
 */
#include <math.h>
#include <string.h>

#include "format.h"
#include "html.h"

enum { WIDTH = 1060, ROW = 30, NAME_END = 180, LEFT = 190, RIGHT = 950 };

static const char *const names[] = {
#define PHASE_NAME(name) #name,
    ROW_PHASES(PHASE_NAME)
#undef PHASE_NAME
};

static double total_of(const row *r)
{
    double total = 0;
    for (int i = 0; i < N_ROW_PHASES; i++)
        total += r->phases[i];
    return total;
}

static bool is_shown(const row *r)
{
    return r->is_on_screen && total_of(r) > 0;
}

static void print_bar(FILE *out, const row *r, double most, double y)
{
    double x = LEFT;
    fprintf(out,
            "<text font-size=\"12\" text-anchor=\"end\" x=\"%d\" "
            "y=\"%.0f\">",
            NAME_END, y + 13);
    html_text(out, r->size_label);
    fputs("</text>\n", out);
    for (int i = 0; i < N_ROW_PHASES; i++) {
        const double width = r->phases[i] / most * (RIGHT - LEFT);
        fprintf(out,
                "<rect class=\"f%d\" x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" "
                "height=\"16\"><title>%s: %s</title></rect>\n",
                i, x, y, width, names[i], text_time(r->phases[i]).text);
        x += width;
    }
    fprintf(out, "<text font-size=\"11\" x=\"%.1f\" y=\"%.0f\">%s</text>\n",
            x + 6, y + 13, text_time(total_of(r)).text);
}

static void print_legend(FILE *out)
{
    double x = LEFT;
    for (int i = 0; i < N_ROW_PHASES; i++) {
        fprintf(out,
                "<rect class=\"f%d\" x=\"%.0f\" y=\"6\" width=\"11\" "
                "height=\"11\"/><text font-size=\"12\" x=\"%.0f\" y=\"16\">"
                "%s</text>\n",
                i, x, x + 16, names[i]);
        x += 110;
    }
}

static void print_table(FILE *out, const results *r)
{
    fputs("<table><tr><th>function</th>", out);
    for (int i = 0; i < N_ROW_PHASES; i++)
        fprintf(out, "<th>%s</th>", names[i]);
    fputs("</tr>\n", out);
    for (size_t k = 0; k < r->n_rows; k++) {
        if (!is_shown(&r->rows[k]))
            continue;
        fputs("<tr><td>", out);
        html_text(out, r->rows[k].size_label);
        fputs("</td>", out);
        for (int i = 0; i < N_ROW_PHASES; i++)
            fprintf(out, "<td>%s</td>", text_time(r->rows[k].phases[i]).text);
        fputs("</tr>\n", out);
    }
    fputs("</table>\n", out);
}

void html_phases(FILE *out, const results *r)
{
    double most = 0, y = 28;
    int n = 0;
    for (size_t i = 0; i < r->n_rows; i++)
        if (is_shown(&r->rows[i])) {
            most = fmax(most, total_of(&r->rows[i]));
            n++;
        }
    fputs("<h2 id=\"phases\">Compile time by phase</h2>\n", out);
    if (!n) {
        fputs("<p>No compile was measured.</p>\n", out);
        return;
    }
    fprintf(out,
            "<p>Of one compile of each function, from the profile of the "
            "library.</p>\n<div class=\"chart\"><svg viewBox=\"0 0 %d %d\" "
            "width=\"%d\" role=\"img\">\n",
            WIDTH, 34 + ROW * n, WIDTH);
    print_legend(out);
    for (size_t i = 0; i < r->n_rows; i++)
        if (is_shown(&r->rows[i])) {
            print_bar(out, &r->rows[i], most, y);
            y += ROW;
        }
    fputs("</svg>\n", out);
    print_table(out, r);
    fputs("</div>\n", out);
}
