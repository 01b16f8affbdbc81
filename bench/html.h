/* SPDX-License-Identifier: MIT */
/*
 * html.h - parts of the page of --html. The page is one file, readable without
 * JavaScript and without a network; charts are SVG, and its colours follow the
 * reader's scheme. Elements with a time have the exact nanoseconds and the name
 * of their row in data-ns and data-row.
 */
#ifndef BENCH_HTML_H
#define BENCH_HTML_H

#include "report.h"

/* Text with <, > and & escaped. */
void html_text(FILE *out, const char *plain);

/* Speed-ups of all cases: over the interpreter, and against plain C and the
   fastest library. */
void html_bars(FILE *out, const results *r);

/* The roofline of one number of threads, with its cases. */
void html_roofline(FILE *out, const results *r);

/* Throughput and compile time by size. */
void html_curves(FILE *out, const results *r);

/* Time of each phase of compiling. */
void html_phases(FILE *out, const results *r);

/* Ratios to each other library and engine. */
void html_peers(FILE *out, const results *r);

/* All rows with the distribution of their repetitions. */
void html_rows(FILE *out, const results *r);

#endif /* BENCH_HTML_H */
