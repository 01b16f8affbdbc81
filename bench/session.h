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

/* Verifies the selected rows at small sizes. Returns an exit status. */
int session_check(const options *o);

/* Measures the selected rows, or reads them from files, and writes the reports.
   Returns an exit status. */
int session_measure(const options *o, const char *program);

#endif /* BENCH_SESSION_H */
