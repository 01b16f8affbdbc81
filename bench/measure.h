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

/* Phases of the first call of a function, as the profile names them. */
#define ROW_PHASES(X) X(trace) X(passes) X(fuse) X(schedule) X(codegen) X(load)
#define ROW_PHASE_ENUM(name) PHASE_OF_##name,
enum { ROW_PHASES(ROW_PHASE_ENUM) N_ROW_PHASES };
#undef ROW_PHASE_ENUM

typedef enum roof_kind { ROOF_NONE, ROOF_MEMORY, ROOF_FMA } roof_kind;

/* Reports read all but the runner and its case, so that rows can also come
   from a file. */
struct row {
    char name[112]; /* CASE/SIZE/BACKEND/threads:N, of these: */
    char case_name[40], size_label[40];
    backend which;
    int threads;

    const bench_case *c; /* NULL in rows from a file */
    const case_size *size;
    char section[48];  /* heading of the report */
    bool is_overhead;  /* not part of the mean of all cases */
    bool is_on_screen; /* its case has a line on the first screen */

    row_state state;
    reason why; /* of ROW_SKIPPED and ROW_FAILED */
    runner *runner;

    int64_t iterations; /* of each repetition */
    repetition *repetitions;
    size_t n_repetitions;

    double count;        /* elements or multiply-adds of an iteration */
    double bytes, flops; /* of an iteration; 0: not reported */
    bool is_f64;
    double roof_share;   /* of the attainable rate; 0: not known */
    roof_kind roof;      /* what limits that rate */
    double resident_bytes, stored_bytes, stored_peak_bytes; /* 0: none */
    double phases[N_ROW_PHASES]; /* seconds, of one compile; 0: none */
};

typedef struct measure_options {
    double min_time; /* seconds of one repetition */
    size_t repetitions;
} measure_options;

/*
 * Measures the rows in state ROW_READY. A row whose single iteration exceeds
 * the time of a repetition gets fewer repetitions.
 */
void measure_rows(row *rows, size_t n_rows, const measure_options *options);

#endif /* BENCH_MEASURE_H */
