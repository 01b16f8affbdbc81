/* SPDX-License-Identifier: MIT */
/*
 * statistics.h - statistics of measured rows, and whether two rows differ.
 */
#ifndef BENCH_STATISTICS_H
#define BENCH_STATISTICS_H

#include "measure.h"

typedef struct statistics {
    repetition best, median, mean, deviation;
    /* 95 % confidence interval of the real median, from order statistics:
       exact for any distribution. The whole range if there are fewer than six
       repetitions. */
    double median_low, median_high;
} statistics;

/* All 0 if nothing was measured. */
statistics row_statistics(const row *r);

/* The best real time; 0 unless measured. */
double row_best(const row *r);

/* The fastest measured row of a group that is not the library; NULL if there is
   none. */
const row *rows_best_peer(const row *rows, size_t n_rows);

/* Ratio of the best times of a row of the JIT and of the best peer; 0 for other
   rows, and without a peer. Below 1, the JIT is faster. */
double row_peer_ratio(const row *r, const row *peer);

/* Two-sided p-value of the Mann-Whitney U test that neither of two samples
   tends to be larger: the normal approximation, corrected for ties and
   continuity. 1 if a sample is empty. */
double mann_whitney(const double *x, size_t n_x, const double *y, size_t n_y);

/* The geometric mean of numbers above 0. */
typedef struct geometric_mean {
    double log_sum;
    size_t n;
} geometric_mean;

void geometric_mean_add(geometric_mean *mean, double number);
/* 0 without numbers. */
double geometric_mean_value(const geometric_mean *mean);

#endif /* BENCH_STATISTICS_H */
