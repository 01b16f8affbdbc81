/* SPDX-License-Identifier: MIT */
/*
 * team_workers.h - the threads of teams. A thread of the program that runs a
 * call on several threads owns a team: workers, which wait between calls. When
 * the thread ends, the next thread without a team takes it over.
 *
 * Threads are not OpenMP's, because
 *
 *   - libgomp's workers, and the thread that joins them, spin for milliseconds;
 *     on a busy machine they use up the time slices of the team;
 *   - libgomp ends the process if it cannot start a thread. Here the team is
 *     smaller.
 *
 * A program that alternates its own parallel regions with calls has two sets of
 * threads, and those of OpenMP spin after each region. OMP_WAIT_POLICY=passive
 * avoids it.
 */
#ifndef TGI_TEAM_WORKERS_H
#define TGI_TEAM_WORKERS_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "codegen/entry_abi.h"
#include "run/wait_word.h"

enum {
    TGI_CACHE_LINE_BYTES = 64,
    TGI_WORKER_FAN_OUT = 4 /* each thread releases up to 4 others */
};

typedef struct tgi_worker {
    /* Advanced to start a call. In a cache line of its own. */
    _Alignas(TGI_CACHE_LINE_BYTES) tgi_wait_word go;
    int number; /* in the team, from 1 */
    uint32_t seen_sleeps; /* of the team, when it last looked for its CPU */
    _Atomic int cpu; /* when it last looked for it, or -1 */
    struct tgi_team *team;
    struct tgi_worker *released[TGI_WORKER_FAN_OUT];
    struct tgi_worker *next; /* of the team */
    pthread_t thread;
} tgi_worker;

struct tgi_team {
    /* The barrier. Waiting threads read only `passed`, which is in a cache line
       of its own: arriving threads do not invalidate it. */
    _Alignas(TGI_CACHE_LINE_BYTES) _Atomic uint32_t n_arrived;
    _Alignas(TGI_CACHE_LINE_BYTES) tgi_wait_word passed;
    /* The call. Workers read it after their release, before they arrive at its
       last barrier. */
    _Alignas(TGI_CACHE_LINE_BYTES) tgi_entry *entry; /* NULL: end the thread */
    tgi_frame *frame;
    int n_threads;
    bool is_crowded;       /* more threads than CPUs */
    _Atomic int owner_cpu; /* where the owner started the call, or -1 */
    _Atomic uint32_t n_sleeps; /* waits that timed out */
    _Atomic uint32_t n_preempted; /* preemptions that were noticed */
    _Atomic uint64_t restored_ns; /* when a worker last restored the spins */
    /* By is_crowded. */
    tgi_spin at_barrier[2], between_calls[2];
    /* For the owner. */
    tgi_worker *released[TGI_WORKER_FAN_OUT];
    tgi_worker *first, *last;
    int n_workers;
    atomic_bool is_running; /* a call */
    struct tgi_team *next_idle;
#ifdef CPU_COUNT
    cpu_set_t mask; /* of the owner, when the last worker was started */
#endif
};

/* The team of this thread with enough workers for n_threads, or as many as the
   system allows; NULL if it allows none. */
struct tgi_team *tgi_team_prepare(int n_threads);

/* Starts the call that the team holds on its workers. */
void tgi_team_release(struct tgi_team *team);

/* Returns when all threads of the team have called it. */
void tgi_team_wait(struct tgi_team *team);

/* The same on thread 0 of a call, which polls while it waits (entry_abi.h). */
void tgi_team_wait_polling(struct tgi_team *team, tgi_frame *frame);

/* To be called in a forked child, which has no workers. */
void tgi_workers_forget(void);

#endif /* TGI_TEAM_WORKERS_H */
