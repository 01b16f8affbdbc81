/* SPDX-License-Identifier: MIT */
/*
 * thread.h - starts threads of the library's own. They block all signals,
 * which are for the program's threads.
 */
#ifndef TGI_THREAD_H
#define TGI_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

/* False if the system has no thread left for this process: the caller goes on
   with the threads it has. */
static inline bool tgi_thread_start(pthread_t *out_thread,
                                    const pthread_attr_t *attributes,
                                    void *(*body)(void *), void *user)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool is_there =
        pthread_create(out_thread, attributes, body, user) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_there;
}

#endif /* TGI_THREAD_H */
