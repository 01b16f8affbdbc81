/* SPDX-License-Identifier: MIT */
/*
 * compare.h - what the recipes share: a bound call and plain C compute the same
 * in turns, with one thread each, and must agree.
 *
 * The programs are compiled with the flags of the peers of tgjit-bench (gcc -O3
 * -march=native -ffast-math), so that C is at its best.
 */
#ifndef COMPARE_H
#define COMPARE_H

#include <math.h>
#include <string.h>
#include <time.h>

#include "../check.h"

/* A context whose calls use one thread and wait for their code. */
static inline tg_context *one_thread(void)
{
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.threads = 1;
    options.compile = "eager";
    tg_context *ctx = tg_context_create(&options);
    check(ctx);
    return ctx;
}

static inline double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

/* In [0, 1); the same numbers on every machine. */
static inline float random_number(void)
{
    static uint32_t state = 1;
    state = state * 1664525 + 1013904223;
    return (float)(state >> 8) * 0x1p-24f;
}

/*
 * Runs both about ten times, and prints the best time of each. `ours` and
 * `theirs` are n results, which may differ by `tolerance`.
 */
static inline void compare(const char *what, tg_bound *bound,
                           void (*plain)(void), const float *ours,
                           const float *theirs, size_t n, double tolerance)
{
    double best[2] = {1e30, 1e30};
    const double begin = now_us();
    for (int i = 0; i < 3 || (i < 10 && now_us() - begin < 2e5); i++) {
        const double first = now_us();
        check(!tg_run(bound));
        const double second = now_us();
        plain();
        const double third = now_us();
        best[0] = second - first < best[0] ? second - first : best[0];
        best[1] = third - second < best[1] ? third - second : best[1];
    }
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        const double by = (double)ours[i] - (double)theirs[i];
        most = by > most ? by : -by > most ? -by : most;
    }
    if (most > tolerance) {
        printf("%s: results differ by %g\n", what, most);
        exit(1);
    }
    printf("%s: libtgjit %.0f us, C %.0f us, %.2f\n", what, best[0], best[1],
           best[0] / best[1]);
}

#endif /* COMPARE_H */
