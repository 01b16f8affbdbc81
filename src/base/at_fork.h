/* SPDX-License-Identifier: MIT */
/*
 * at_fork.h - process-wide locks across fork. A child has only the forking
 * thread, so a lock that another thread held would stay locked for ever.
 * Therefore fork acquires all of these locks first. Their order is irrelevant,
 * because no thread acquires one while it holds another.
 */
#ifndef TGI_AT_FORK_H
#define TGI_AT_FORK_H

#include <pthread.h>

/* Priority of the constructor: before that of fork_lock.c. */
#define TGI_AT_FORK 1000

/*
 * Installs fork handlers for the mutex at address LOCK, once per source file.
 * The child executes the statement IN_CHILD, which resets the guarded state,
 * before it unlocks. Handlers are installed when the library is loaded, as the
 * first call may follow a fork. If that fails for lack of memory, a child can
 * deadlock.
 */
#define TGI_LOCK_ACROSS_FORK(LOCK, IN_CHILD) \
    static void before_fork(void) \
    { \
        pthread_mutex_lock(LOCK); \
    } \
    static void in_parent(void) \
    { \
        pthread_mutex_unlock(LOCK); \
    } \
    static void in_child(void) \
    { \
        IN_CHILD; \
        pthread_mutex_unlock(LOCK); \
    } \
    __attribute__((constructor(TGI_AT_FORK))) static void install_fork_handlers(void) \
    { \
        (void)pthread_atfork(before_fork, in_parent, in_child); \
    }

#endif /* TGI_AT_FORK_H */
