/* SPDX-License-Identifier: MIT */
/*
 * progress.h - a line on standard error that says what is being measured and
 * how long it will still take, if that is a terminal.
 */
#ifndef BENCH_PROGRESS_H
#define BENCH_PROGRESS_H

#include <stddef.h>

/* `row_seconds`: an estimate for one row, used until some are measured. */
void progress_begin(size_t n_rows, double row_seconds);
void progress_show(const char *case_name, const char *size_label);
void progress_advance(size_t n_rows);
/* Removes the line, so that others can be printed. */
void progress_hide(void);

#endif /* BENCH_PROGRESS_H */
