/* SPDX-License-Identifier: MIT */
/*
 * roof.h - the roofs of the roofline model, measured by this program: the peak
 * rate of FMAs in registers, and the rate of moving bytes in each level of the
 * memory. The kernels are plain C (plain_roof.c).
 */
#ifndef BENCH_ROOF_H
#define BENCH_ROOF_H

#include "measure.h"

enum { ROOF_LEVELS = 4, MAX_ROOFS = 16 };

/* Of one number of threads. Rates are those of all threads together. */
typedef struct roof {
    int threads;
    double f32_flops, f64_flops; /* per second; an FMA counts as two */
    struct {
        double bytes; /* the largest working set of all threads together that
                         this level serves; that of memory is infinite */
        double rate;  /* bytes read and written per second */
    } levels[ROOF_LEVELS];
    int n_levels;
} roof;

typedef struct roofs {
    roof all[MAX_ROOFS];
    int n;
} roofs;

/*
 * Measures the roofs for a number of threads, in 0.5 s on an idle machine. A
 * disturbance only lowers rates, so the largest of several rounds count, which
 * end when a round finds no larger one. Called again for the same number, keeps
 * the larger rates. No rate is below that of fewer threads.
 */
void roofs_measure(roofs *r, int threads);

/* Adds those of another run on the same machine: the larger rates. */
void roofs_add(roofs *r, const roofs *more);

const roof *roofs_find(const roofs *r, int threads);

/* Bytes per second of a working set. */
double roof_rate(const roof *r, double working_set_bytes);

/* Sets roof and roof_share of a measured row that computes, from its bytes and
   flops. */
void roofs_apply(const roofs *r, row *to);

#endif /* BENCH_ROOF_H */
