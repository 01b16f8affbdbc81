/* SPDX-License-Identifier: MIT */
/*
 * baseline.h - comparison of results with those of an earlier run.
 */
#ifndef BENCH_BASELINE_H
#define BENCH_BASELINE_H

#include "results.h"

/*
 * Prints the rows of the library whose times changed significantly since the
 * run that `path` has, and how many did not. Returns an exit status:
 * EXIT_REGRESSION if a row is slower by more than `threshold` (0.05 is 5 %),
 * EXIT_FAILURE if the file cannot be read or has none of the rows.
 */
int baseline_compare(FILE *out, const results *now, const char *path,
                     double threshold);

#endif /* BENCH_BASELINE_H */
