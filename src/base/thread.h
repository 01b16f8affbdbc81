/* SPDX-License-Identifier: MIT */
/*
 * thread.h - starts the library's own threads. They block all signals, so that
 * only the program's threads handle them.
 */
#ifndef TGI_THREAD_H
#define TGI_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

/* Compiling needs up to 160 KiB of stack for the largest kernels. The default,
   RLIMIT_STACK, may be smaller. */
enum { TGI_THREAD_MIN_STACK_BYTES = 1 << 20 };

static inline void tgi_thread_reserve_stack(pthread_attr_t *attributes)
{
    size_t bytes = 0;
    if (pthread_attr_getstacksize(attributes, &bytes) == 0 &&
        bytes < TGI_THREAD_MIN_STACK_BYTES)
        pthread_attr_setstacksize(attributes, TGI_THREAD_MIN_STACK_BYTES);
}

/* False if the system cannot create a thread. */
static inline bool tgi_thread_start(pthread_t *out_thread,
                                    const pthread_attr_t *attributes,
                                    void *(*body)(void *), void *user)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool is_started =
        pthread_create(out_thread, attributes, body, user) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_started;
}

#endif /* TGI_THREAD_H */
