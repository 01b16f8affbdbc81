/* SPDX-License-Identifier: MIT */
/*
 * report.h - the tables on standard output, which are printed while rows are
 * measured. Lines have at most 100 columns.
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "results.h"

typedef struct table {
    void (*begin)(FILE *out, const results *r);
    /* Prints all rows of one case and size. */
    void (*size)(FILE *out, const results *r, const row *rows, size_t n_rows);
    void (*end)(FILE *out, const results *r);
} table;

/* The first screen: one line per case and size, headings, geometric means. */
extern const table table_screen;
/* Every row. */
extern const table table_all;

/* -- Lines of the first screen --------------------------------------------- */

/* What the first screen says about a case at one size. */
typedef struct screen_line {
    const row *ours;       /* with the first number of threads; NULL: none */
    const row *interp, *c; /* NULL if not measured */
    const row *library;    /* the fastest one, or engine */
    const row *strict;     /* of plain C without fast math, or NULL */
    const row *fast;       /* with fast accuracy, or NULL */
    double speedup, c_ratio, strict_ratio, library_ratio; /* 0: no such row */
    double fast_ratio;     /* of `fast` to plain C */
    const row *profiled;   /* with a profile, or NULL */
    const row *team;       /* with the last number of threads, or NULL */
    double scaling;        /* how much faster than with the first */
} screen_line;

/* Of all rows of one case and size. */
screen_line screen_line_of(const row *rows, size_t n_rows);

/* Number of rows from `begin` on with the same case and size. */
size_t results_size(const results *r, size_t begin);

#endif /* BENCH_REPORT_H */
