/* SPDX-License-Identifier: MIT */
/*
 * session.h - lists, verifies or measures the cases that the options select.
 */
#ifndef BENCH_SESSION_H
#define BENCH_SESSION_H

#include "options.h"

/* Prints the names of the selected rows. */
void session_list(const options *o);

/* False if no row is selected. */
bool session_has_rows(const options *o);

/*
 * Measures the selected rows, or with ACTION_CHECK only verifies them, and
 * writes the report. False if a row failed.
 */
bool session_run(const options *o, const char *program);

#endif /* BENCH_SESSION_H */
