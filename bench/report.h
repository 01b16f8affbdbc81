/* SPDX-License-Identifier: MIT */
/*
 * report.h - how measured rows are written.
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdio.h>

#include "measure.h"

/* Of most names; longer ones push the rest of their line aside. */
enum { ROW_NAME_WIDTH = 50 };

typedef struct report_format {
    const char *name;
    void (*begin)(FILE *out, const char *program);
    /* The rows of one group, which ratios are made of. `is_first`: of all. */
    void (*group)(FILE *out, const row *rows, size_t n_rows, bool is_first);
    void (*end)(FILE *out);
} report_format;

/* A table for people; Google Benchmark's JSON, schema 1, and CSV. */
extern const report_format report_console, report_json, report_csv;

#endif /* BENCH_REPORT_H */
