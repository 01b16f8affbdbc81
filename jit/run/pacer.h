/* SPDX-License-Identifier: MIT */
/*
 * pacer.h - how many threads a program uses on a busy machine. If other
 * processes have its CPUs, a program with many barriers is faster on fewer
 * threads, one with few barriers on all. The pacer tries it out.
 *
 * It is inactive until threads of the team lose their CPUs repeatedly. Then it
 * measures windows of calls and now and then one with another number of
 * threads, and keeps the faster number. A window on all threads without
 * disturbance ends it. The number of threads never changes a bit of a result.
 */
#ifndef TGI_PACER_H
#define TGI_PACER_H

#include <stdbool.h>
#include <stdint.h>

/* All zero: inactive. */
typedef struct tgi_pacer {
    bool is_active;
    bool is_probing; /* the window uses n_probed threads */
    bool goes_up;    /* direction of the next probe, if both exist */
    int n_max;       /* threads of an idle machine */
    int n_threads;   /* the best number known */
    int n_probed;
    int n_windows;        /* until the next probe */
    int period;           /* windows between probes */
    uint32_t n_disturbed; /* preemptions in the window */
    uint64_t first_ns;    /* inactive: time of the first of them */
    uint64_t n_calls, ns; /* of the window */
    double best_ns;       /* mean of a call on n_threads */
} tgi_pacer;

/* The number of threads of the next call, of at most n_max. */
int tgi_pacer_threads(const tgi_pacer *pacer, int n_max);

/*
 * Adds a call on tgi_pacer_threads(pacer, n_max) threads that took `ns`, ended
 * at time now_ns, and in which n_disturbed preemptions were noticed. While
 * inactive, calls without preemptions may be left out, and ns is ignored.
 */
void tgi_pacer_add(tgi_pacer *pacer, int n_max, uint64_t now_ns, uint64_t ns,
                   uint32_t n_disturbed);

#endif /* TGI_PACER_H */
