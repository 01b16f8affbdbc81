/* SPDX-License-Identifier: MIT */
/*
 * helper_threads.h - threads without OpenMP, for team.c: they test whether the
 * system can start enough threads for a team, and are the team if it cannot.
 *
 *     tgi_helpers_start      starts threads, which wait
 *     tgi_helpers_dismiss    ends them, or
 *     tgi_helpers_run        lets them work, then ends them
 */
#ifndef TGI_HELPER_THREADS_H
#define TGI_HELPER_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Bounds the size of tgi_helpers, which is on the stack. */
enum { TGI_HELPERS_MAX = 288 };

/* The work of one thread of n_threads; thread 0 is the caller. */
typedef void tgi_helpers_part(void *user, int thread, int n_threads);

typedef struct tgi_helpers {
    int n; /* started and waiting */
    pthread_mutex_t lock;
    pthread_cond_t decided;
    bool is_decided;
    int n_threads; /* that work, including the caller */
    tgi_helpers_part *part;
    void *user;
    struct tgi_helper {
        struct tgi_helpers *of;
        pthread_t thread;
        int number; /* from 1 */
        pid_t id;   /* gettid() */
    } each[TGI_HELPERS_MAX];
} tgi_helpers;

/* Starts up to n_wanted threads, at most TGI_HELPERS_MAX, with stacks of this
   size (0: the default). helpers->n is the number that could be started.
   Exactly one of the next two functions must follow. */
void tgi_helpers_start(tgi_helpers *helpers, int n_wanted, size_t stack_bytes);

/* Ends all threads. True if the kernel has released them, so that they no
   longer count towards system limits. */
bool tgi_helpers_dismiss(tgi_helpers *helpers);

/* Runs `part` on n_threads <= helpers->n + 1 threads, including the caller, and
   ends the helpers. */
void tgi_helpers_run(tgi_helpers *helpers, int n_threads,
                     tgi_helpers_part *part, void *user);

#endif /* TGI_HELPER_THREADS_H */
