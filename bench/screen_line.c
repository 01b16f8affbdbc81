/* SPDX-License-Identifier: MIT */
/*
 * screen_line.c - the comparisons on the first screen, which the page and
 * docs/PERFORMANCE.md show too. See report.h.
 */
#include <string.h>

#include "report.h"

size_t results_size(const results *r, size_t begin)
{
    const row *first = &r->rows[begin];
    size_t end = begin;
    while (end < r->n_rows &&
           strcmp(r->rows[end].case_name, first->case_name) == 0 &&
           strcmp(r->rows[end].size_label, first->size_label) == 0)
        end++;
    return end - begin;
}

/* The row of the library that a line is about: compiled, if there is one. */
static bool is_ours(const row *r)
{
    return r->which == BACKEND_JIT || r->which == BACKEND_INTERP;
}

static double ratio_of(const row *ours, const row *other)
{
    return ours && other ? row_best(ours) / row_best(other) : 0;
}

screen_line screen_line_of(const row *rows, size_t n_rows)
{
    screen_line line = {.ours = NULL};
    int fewest = 0;
    for (size_t i = 0; i < n_rows; i++)
        if (row_best(&rows[i]) > 0 && (!fewest || rows[i].threads < fewest))
            fewest = rows[i].threads;
    for (size_t i = 0; i < n_rows; i++) {
        const row *r = &rows[i];
        if (!(row_best(r) > 0))
            continue;
        if (r->which == BACKEND_JIT && r->threads > fewest)
            line.team = r;
        if (r->threads != fewest)
            continue;
        if (r->which == BACKEND_INTERP)
            line.interp = r;
        if (r->which == BACKEND_JIT_PROFILED)
            line.profiled = r;
        if (r->which == BACKEND_JIT_FAST)
            line.fast = r;
        if (r->which == BACKEND_C)
            line.c = r;
        if (r->which == BACKEND_C_STRICT)
            line.strict = r;
        if (backend_is_installed(r->which) &&
            (!line.library || row_best(r) < row_best(line.library)))
            line.library = r;
        if (!line.ours || (is_ours(r) && r->which >= line.ours->which))
            line.ours = r;
    }
    if (line.ours && line.ours->which == BACKEND_JIT) {
        const double to_interp = ratio_of(line.ours, line.interp);
        line.speedup = to_interp > 0 ? 1 / to_interp : 0;
        line.c_ratio = ratio_of(line.ours, line.c);
        line.strict_ratio = ratio_of(line.ours, line.strict);
        line.fast_ratio = ratio_of(line.fast, line.c);
        line.library_ratio = ratio_of(line.ours, line.library);
        const double to_team = ratio_of(line.ours, line.team);
        line.scaling = to_team;
    }
    return line;
}
