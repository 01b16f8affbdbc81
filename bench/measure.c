/* SPDX-License-Identifier: MIT */
/*
 * measure.c - see measure.h.
 */
#include "measure.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

static double clock_seconds(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

double seconds_now(void)
{
    return clock_seconds(CLOCK_MONOTONIC);
}

/* -- One repetition -------------------------------------------------------- */

/* Seconds of all iterations; the row fails if one does. */
static repetition repeat(row *r, int64_t iterations)
{
    double partial = -1; /* set by families that time part of the run */
    reason why = {""};
    const double cpu = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
    const double real = seconds_now();
    const bool did = r->c->family->run(r->runner, iterations, &partial, &why);
    repetition took = {
        .real = seconds_now() - real,
        .cpu = clock_seconds(CLOCK_THREAD_CPUTIME_ID) - cpu,
    };
    if (!did) {
        r->state = ROW_FAILED;
        r->why = why;
    }
    if (partial >= 0)
        took = (repetition){partial, partial};
    return took;
}

/* Number of iterations that take at least `min_time`; also warms up. The first
   ones are timed several times, because a disturbance of one of them would
   make all repetitions too short. */
static int64_t iterations_for(row *r, double min_time)
{
    const int64_t max_n = INT64_C(1) << 40;
    int64_t n = 1;
    double took = repeat(r, n).real;
    for (int i = 0; i < 4 && r->state == ROW_READY && took < 10 * min_time;
         i++)
        took = fmin(took, repeat(r, n).real);
    while (r->state == ROW_READY && took < min_time / 10 && n < max_n) {
        n *= 8;
        took = repeat(r, n).real;
    }
    const double wanted = ceil(min_time / took * (double)n);
    return wanted < 1 ? 1 : wanted > (double)max_n ? max_n : (int64_t)wanted;
}

/* -- Rounds ---------------------------------------------------------------- */

/* Nanoseconds for which idle threads of a team spin before they sleep, at most;
   engines are stopped between their turns. */
static long spin_ns(backend team)
{
    if (backend_is_engine(team))
        return 0;
    return team == BACKEND_OPENBLAS ? 30000000
           : team == BACKEND_C      ? 10000000 /* measured: libgomp 4 ms */
                                    : 1000000;
}

/*
 * When the next row has another team, waits until the spinning threads sleep,
 * then warms up the others and the caches. Else the threads of the row would
 * share CPUs with those that spin: the first call on two threads took 4 ms, a
 * time slice, longer.
 */
static void switch_team(row *r)
{
    static backend last = N_BACKENDS;
    const backend team = backend_team(r->which);
    if (team == last)
        return;
    if (r->threads > 1 && last != N_BACKENDS) {
        const struct timespec spin_time = {.tv_nsec = spin_ns(last)};
        nanosleep(&spin_time, NULL);
    }
    last = team;
    /* A cache that holds most of the data fills over several iterations. */
    repeat(r, r->iterations ? (r->iterations + 1) / 2 : 1);
}

static void prepare(row *r, const measure_options *options)
{
    r->repetitions = calloc(options->repetitions, sizeof(*r->repetitions));
    if (!r->repetitions) {
        r->state = ROW_FAILED;
        reason_set(&r->why, "out of memory");
        return;
    }
    switch_team(r);
    if (r->state == ROW_READY)
        r->iterations = iterations_for(r, options->min_time);
}

static void measure_round(row *r, const measure_options *options,
                          double *spent)
{
    const double budget = 2 * options->min_time * (double)options->repetitions;
    if (r->state != ROW_READY || (r->n_repetitions && *spent > budget))
        return;
    switch_team(r);
    if (r->state != ROW_READY)
        return;
    const repetition all = repeat(r, r->iterations);
    const double n = (double)r->iterations;
    if (r->state != ROW_READY)
        return;
    r->repetitions[r->n_repetitions++] =
        (repetition){all.real / n, all.cpu / n};
    *spent += all.real;
}

void measure_rows(row *rows, size_t n_rows, const measure_options *options)
{
    double spent[N_BACKENDS] = {0};
    for (size_t i = 0; i < n_rows; i++)
        if (rows[i].state == ROW_READY)
            prepare(&rows[i], options);
    for (size_t round = 0; round < options->repetitions; round++)
        for (size_t i = 0; i < n_rows; i++)
            measure_round(&rows[i], options, &spent[rows[i].which]);
    for (size_t i = 0; i < n_rows; i++)
        if (rows[i].state == ROW_READY)
            rows[i].state = ROW_MEASURED;
}
