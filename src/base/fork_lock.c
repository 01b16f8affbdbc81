/* SPDX-License-Identifier: MIT */
/*
 * fork_lock.c - see fork_lock.h. All locks are in one list, whose own lock is
 * held while a process forks, so that none comes or goes.
 */
#include "base/fork_lock.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

#include "base/clock.h"

enum {
    FIRST_WAIT_NS = 100000, /* for one lock; doubled after each attempt */
    MAX_WAIT_NS = 100000000
};

/* Then fork gives up. A lock is held for so long only by a thread that waits
   for a file; a child must not use that object. */
static const uint64_t all_ns = 10000000000;

static struct {
    pthread_mutex_t mutex;
    tgi_fork_lock *first;
} all = {.mutex = PTHREAD_MUTEX_INITIALIZER};

void tgi_fork_lock_init(tgi_fork_lock *lock,
                        void (*in_child)(tgi_fork_lock *lock))
{
    pthread_mutex_init(&lock->mutex, NULL);
    lock->in_child = in_child;
    lock->is_acquired = false;
    lock->prev = NULL;
    pthread_mutex_lock(&all.mutex);
    lock->next = all.first;
    if (all.first)
        all.first->prev = lock;
    all.first = lock;
    pthread_mutex_unlock(&all.mutex);
}

void tgi_fork_lock_deinit(tgi_fork_lock *lock)
{
    pthread_mutex_lock(&all.mutex);
    if (lock->prev)
        lock->prev->next = lock->next;
    else
        all.first = lock->next;
    if (lock->next)
        lock->next->prev = lock->prev;
    pthread_mutex_unlock(&all.mutex);
    pthread_mutex_destroy(&lock->mutex);
}

/* -- Forks ----------------------------------------------------------------- */

/* pthread_mutex_timedlock takes the time of CLOCK_REALTIME. */
static bool acquire_within(tgi_fork_lock *lock, long ns)
{
    struct timespec end;
    if (pthread_mutex_trylock(&lock->mutex) == 0)
        return lock->is_acquired = true;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += ns;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    lock->is_acquired = pthread_mutex_timedlock(&lock->mutex, &end) == 0;
    return lock->is_acquired;
}

static void release_all(void)
{
    for (tgi_fork_lock *lock = all.first; lock; lock = lock->next) {
        if (lock->is_acquired) {
            lock->is_acquired = false;
            pthread_mutex_unlock(&lock->mutex);
        }
    }
}

/* False, with none held, if a lock is not free in time: its thread may need one
   of those acquired so far, or the list. If `is_last`, goes on without it. */
static bool acquire_all(long ns, bool is_last)
{
    for (tgi_fork_lock *lock = all.first; lock; lock = lock->next) {
        if (!acquire_within(lock, ns) && !is_last) {
            release_all();
            return false;
        }
    }
    return true;
}

static void before_fork(void)
{
    const uint64_t begin = tgi_clock_ns();
    long ns = FIRST_WAIT_NS;
    pthread_mutex_lock(&all.mutex);
    while (!acquire_all(ns, tgi_clock_ns() - begin > all_ns)) {
        pthread_mutex_unlock(&all.mutex);
        sched_yield();
        ns = ns < MAX_WAIT_NS / 2 ? 2 * ns : MAX_WAIT_NS;
        pthread_mutex_lock(&all.mutex);
    }
}

static void in_parent(void)
{
    release_all();
    pthread_mutex_unlock(&all.mutex);
}

static void in_child(void)
{
    for (tgi_fork_lock *lock = all.first; lock; lock = lock->next)
        if (lock->is_acquired && lock->in_child)
            lock->in_child(lock);
    in_parent();
}

/* After the constructors of at_fork.h, whose locks are acquired later: a thread
   may need one of them while it holds one of these. */
__attribute__((constructor)) static void install_fork_handlers(void)
{
    (void)pthread_atfork(before_fork, in_parent, in_child);
}
