/* SPDX-License-Identifier: MIT */
/*
 * report.h - output formats of measured rows.
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdio.h>

#include "measure.h"

/* Width of the name column; longer names shift the rest of their line. */
enum { ROW_NAME_WIDTH = 50 };

typedef struct report_format {
    const char *name;
    void (*begin)(FILE *out, const char *program);
    /* Writes the rows of one group, between which ratios are formed.
       `is_first`: this is the first group of the report. */
    void (*group)(FILE *out, const row *rows, size_t n_rows, bool is_first);
    void (*end)(FILE *out);
} report_format;

/* A text table; Google Benchmark's JSON (schema 1); its CSV. */
extern const report_format report_console, report_json, report_csv;

#endif /* BENCH_REPORT_H */
