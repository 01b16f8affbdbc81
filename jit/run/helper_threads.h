/* SPDX-License-Identifier: MIT */
/*
 * helper_threads.h - threads without OpenMP, for team.c: to find out whether the
 * system has as many as a team wants, and to be the team if it has not.
 *
 *     tgi_helpers_start      all there can be, alive at once, waiting
 *     tgi_helpers_dismiss    they end, or
 *     tgi_helpers_run        they work, and end
 */
#ifndef TGI_HELPER_THREADS_H
#define TGI_HELPER_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* It lies on the stack, which may be small. */
enum { TGI_HELPERS_MAX = 288 };

/* One thread's part of `n_threads`, numbered from 0, which is the caller. */
typedef void tgi_helpers_part(void *user, int thread, int n_threads);

typedef struct tgi_helpers {
    int n; /* that are waiting */
    pthread_mutex_t lock;
    pthread_cond_t decided;
    bool is_decided;
    int n_threads; /* that work, the caller included */
    tgi_helpers_part *part;
    void *user;
    struct tgi_helper {
        struct tgi_helpers *of;
        pthread_t thread;
        int number; /* from 1 on */
        pid_t id;   /* the system's */
    } each[TGI_HELPERS_MAX];
} tgi_helpers;

/* Starts `n_wanted` threads, at most TGI_HELPERS_MAX, with stacks of this size
   (0: the usual one); as many as there can be: helpers->n. Exactly one of the
   next two follows. */
void tgi_helpers_start(tgi_helpers *helpers, int n_wanted, size_t stack_bytes);

/* Ends all. True if none of them counts any more towards any limit of the
   system: others can take their places. */
bool tgi_helpers_dismiss(tgi_helpers *helpers);

/* Runs the parts of `n_threads` <= helpers->n + 1 threads. */
void tgi_helpers_run(tgi_helpers *helpers, int n_threads,
                     tgi_helpers_part *part, void *user);

#endif /* TGI_HELPER_THREADS_H */
