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

enum { WORKERS_MOST = 64 };

typedef struct workers {
    uint64_t count, most_failures; /* it stops after so many */
    int n_jobs;                    /* processes, at most WORKERS_MOST */
    unsigned seconds;              /* for one number: longer hangs */
    const void *user;

    /* In a process of its own: whether a number passes. It adds to a tally of
       that process, of `tally_bytes`, zero at first. */
    bool (*check)(const void *user, uint64_t number, void *tally);
    size_t tally_bytes;
    /* In the parent: this number fails; the status is that of waitpid. If the
       number is `count`, the end of a process has failed, as with a leak. */
    void (*tell)(const void *user, uint64_t number, int status);
    /* In the parent: adds the tally of a process to that of all. */
    void (*add)(void *sum, const void *tally);
} workers;

/* As many as there are CPUs. */
int workers_default_jobs(void);

/* Adds to both numbers, of which the second one counts for most_failures. */
void workers_run(const workers *w, void *sum, uint64_t *n_passed,
                 uint64_t *n_failed);

#endif /* TGI_TEST_WORKERS_H */
