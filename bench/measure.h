/* SPDX-License-Identifier: MIT */
/*
 * measure.h - timing of rows. The rows of one group (a case, a size, a number
 * of threads) are measured round by round, one repetition of each in turn, so
 * that a temporary disturbance of the machine affects all of them.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include "case.h"

/* Seconds of a monotonic clock. */
double seconds_now(void);

typedef enum row_state {
    ROW_READY,    /* verified, to be measured */
    ROW_MEASURED,
    ROW_SKIPPED,  /* the back end is not available */
    ROW_FAILED    /* wrong result, or an error */
} row_state;

/* Seconds of one iteration, in one repetition. */
typedef struct repetition {
    double real, cpu;
} repetition;

typedef struct row {
    char name[96];
    const bench_case *c;
    const case_size *size;
    backend which;
    int threads;

    row_state state;
    reason why; /* of ROW_SKIPPED and ROW_FAILED */
    runner *runner;

    int64_t iterations; /* of each repetition */
    repetition *repetitions;
    size_t n_repetitions;
} row;

typedef struct measure_options {
    double min_time; /* seconds of one repetition */
    size_t repetitions;
} measure_options;

/*
 * Measures the rows in state ROW_READY. A row whose single iteration exceeds
 * the time of a repetition gets fewer repetitions.
 */
void measure_rows(row *rows, size_t n_rows, const measure_options *options);

/* -- Statistics of a measured row ------------------------------------------ */

typedef struct statistics {
    repetition best, median, mean, deviation;
} statistics;

statistics row_statistics(const row *r);

/* The fastest measured row of a group that is not the library; NULL if there is
   none. */
const row *rows_best_peer(const row *rows, size_t n_rows);

/* Ratio of the best times of a row of the JIT and of the best peer; 0 for other
   rows, and without a peer. Below 1, the JIT is faster. */
double row_peer_ratio(const row *r, const row *peer);

#endif /* BENCH_MEASURE_H */
