/* SPDX-License-Identifier: MIT */
/*
 * workers.h - for programs that check many numbered cases in several processes.
 *
 * Case i goes to process i modulo the number of processes; the assignment does
 * not affect results. If a process crashes, hangs or finds a failure, the
 * parent knows the case and starts another process after it. The parent runs no
 * case itself, so it has no threads that a forked child would lack.
 */
#ifndef TGI_TEST_WORKERS_H
#define TGI_TEST_WORKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WORKERS_MAX = 64 };

typedef struct workers {
    uint64_t count, max_failures;  /* stops after `max_failures` */
    int n_jobs;                    /* processes, at most WORKERS_MAX */
    unsigned seconds;              /* time limit of one case */
    const void *user;

    /* In a worker: returns whether case `number` passes. May add to the
       tally of that process, which has `tally_bytes` bytes, initially zero. */
    bool (*check)(const void *user, uint64_t number, void *tally);
    size_t tally_bytes;
    /* In the parent: case `number` failed; `status` is that of waitpid. If
       the number is `count`, the process failed at exit, for example because of
       a leak. */
    void (*report)(const void *user, uint64_t number, int status);
    /* In the parent: adds the tally of a process to the total. */
    void (*add)(void *sum, const void *tally);
} workers;

/* The number of CPUs. */
int workers_default_jobs(void);

/* Kills this process after so many seconds, not counting times in which it is
   stopped. A later call starts anew. */
void workers_limit_time(unsigned seconds);

/* Adds to both counters; the second counts towards max_failures. */
void workers_run(const workers *w, void *sum, uint64_t *n_passed,
                 uint64_t *n_failed);

#endif /* TGI_TEST_WORKERS_H */
