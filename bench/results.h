/* SPDX-License-Identifier: MIT */
/*
 * results.h - measured rows with the machine and its roofs: made by a session,
 * or read from files that --out wrote. All reports but the tables, which are
 * printed as rows are measured, are written from complete results.
 */
#ifndef BENCH_RESULTS_H
#define BENCH_RESULTS_H

#include <stdio.h>

#include "machine.h"
#include "roof.h"
#include "statistics.h"

typedef struct results {
    char date[40], program[64];
    char label[160]; /* what the user says about the run; "" if nothing */
    double load[3];  /* averages when the run began */
    machine_facts machine;
    roofs roofs;
    row *rows; /* those of one group are consecutive */
    size_t n_rows, capacity;
} results;

void results_init(results *r, const char *program, const char *label);
void results_deinit(results *r);

/* Moves rows to the results, which then own their repetitions. False if out of
   memory; nothing is moved then. */
bool results_add(results *r, const row *rows, size_t n_rows);

/* Number of rows from `begin` on with the same case, size and threads. */
size_t results_group(const results *r, size_t begin);

/* Puts the rows in the order in which a session measures them. False if out of
   memory. */
bool results_sort(results *r);

/* Computes the shares of the roofs of all rows. */
void results_apply_roofs(results *r);

/*
 * Adds the rows of a file that --out wrote; the machine is that of the first
 * file, and the roofs are the highest that files of this CPU have. Rows of the same name replace earlier ones. False, with the reason, if
 * the file cannot be read or has no rows.
 */
bool results_read(results *r, const char *path, reason *out_why);

const row *results_find(const results *r, const char *name);

/* Google Benchmark's JSON (schema 1); its CSV; tables in Markdown; a page. */
void report_json(FILE *out, const results *r);
void report_csv(FILE *out, const results *r);
void report_markdown(FILE *out, const results *r);
void report_html(FILE *out, const results *r);

#endif /* BENCH_RESULTS_H */
