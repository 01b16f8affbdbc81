/* SPDX-License-Identifier: MIT */
/*
 * session.h - goes through the cases and does what the options ask for.
 */
#ifndef BENCH_SESSION_H
#define BENCH_SESSION_H

#include "options.h"

/* Prints the names of the rows that the filter lets through. */
void session_list(const options *o);

/* False if the filter matches no row of what is to be done. */
bool session_has_rows(const options *o);

/*
 * Measures them, or with ACTION_CHECK only verifies, and reports. False if a
 * row failed.
 */
bool session_run(const options *o, const char *program);

#endif /* BENCH_SESSION_H */
