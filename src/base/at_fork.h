/* SPDX-License-Identifier: MIT */
/*
 * at_fork.h - locks of the process, and forks. A child has only the thread
 * that forked: a lock that another one held then would be held there for ever.
 * So a fork takes all these locks first. They come in no order, as nobody takes
 * one of them while holding another.
 */
#ifndef TGI_AT_FORK_H
#define TGI_AT_FORK_H

#include <pthread.h>

/*
 * For a file with such a lock, at the address LOCK. IN_CHILD is a statement
 * that puts in order what a child finds; the lock is held meanwhile. From load
 * time on: the first call may come after the fork. Without memory for the
 * handlers a child may hang; nothing is better.
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
    __attribute__((constructor)) static void watch_forks(void) \
    { \
        (void)pthread_atfork(before_fork, in_parent, in_child); \
    }

#endif /* TGI_AT_FORK_H */
