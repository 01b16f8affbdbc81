/* SPDX-License-Identifier: MIT */
/*
 * fork_lock.h - locks of objects across fork. A child has only the forking
 * thread, so a lock that another thread held would stay locked for ever, and
 * the state it guards might be torn. Therefore fork acquires all of these locks
 * before the process-wide ones (at_fork.h), and releases them in both
 * processes.
 *
 * Acquiring one costs what its mutex costs. No user code runs while one is
 * held. One may be held while another is acquired, created or destroyed, in any
 * order that does not deadlock by itself: fork backs off if a lock is not free
 * soon.
 */
#ifndef TGI_FORK_LOCK_H
#define TGI_FORK_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct tgi_fork_lock {
    pthread_mutex_t mutex;
    struct tgi_fork_lock *next, *prev; /* of all locks of the process */
    void (*in_child)(struct tgi_fork_lock *lock);
    bool is_acquired; /* by the fork that is under way */
} tgi_fork_lock;

/* A child calls `in_child`, unless it is NULL, before it releases the lock: it
   resets what the threads that it does not have were doing. */
void tgi_fork_lock_init(tgi_fork_lock *lock,
                        void (*in_child)(tgi_fork_lock *lock));
void tgi_fork_lock_deinit(tgi_fork_lock *lock);

/* The object of type `type` whose member `member` is the lock. */
#define TGI_OBJECT_OF(lock, type, member) \
    ((type *)(void *)((char *)(lock) - offsetof(type, member)))

static inline void tgi_fork_lock_acquire(tgi_fork_lock *lock)
{
    pthread_mutex_lock(&lock->mutex);
}

static inline void tgi_fork_lock_release(tgi_fork_lock *lock)
{
    pthread_mutex_unlock(&lock->mutex);
}

#endif /* TGI_FORK_LOCK_H */
