/* SPDX-License-Identifier: MIT */
/*
 * lock.c - the lock of a variable group: an atomic state, and a futex to block
 * on. The separate state CONTENDED lets an uncontended release skip the system
 * call. Other systems than Linux yield instead of blocking.
 *
 * An uncontended release is a plain store: an atomic exchange takes half as long
 * as all that a lock adds to a bound call. A thread that makes the state
 * CONTENDED between the load and the store of a release may therefore sleep
 * although the lock is free. So threads sleep for a limited time, then look
 * again.
 */
#include "base/lock.h"

#include <assert.h>
#include <sched.h>
#include <stddef.h>
#include <time.h>

#include "base/initial_exec_tls.h"

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

enum { FREE, HELD, CONTENDED };

enum { FIRST_SLEEP_NS = 1000000, MAX_SLEEP_NS = 64000000 };

/* Its address identifies the thread. */
static _Thread_local char self TGI_INITIAL_EXEC_TLS;

/* Blocks while the state is CONTENDED, at most `ns`; may also return early. */
static void block_while_contended(tgi_lock *lock, long ns)
{
#ifdef __linux__
    const struct timespec most = {.tv_nsec = ns};
    syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, CONTENDED, &most, NULL,
            0);
#else
    (void)lock;
    (void)ns;
    sched_yield();
#endif
}

static void wake_one(tgi_lock *lock)
{
#ifdef __linux__
    syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
#else
    (void)lock;
#endif
}

uintptr_t tgi_lock_self(void)
{
    return (uintptr_t)&self;
}

/* Only this thread stores its own identity, so a relaxed load suffices. */
bool tgi_lock_is_owned(const tgi_lock *lock)
{
    return atomic_load_explicit(&lock->owner, memory_order_relaxed) ==
           (uintptr_t)&self;
}

bool tgi_lock_acquire(tgi_lock *lock)
{
    if (tgi_lock_is_owned(lock))
        return false;
    uint32_t seen = FREE;
    if (!atomic_compare_exchange_strong_explicit(&lock->state, &seen, HELD,
                                                 memory_order_acquire,
                                                 memory_order_relaxed)) {
        /* After blocking, the state must stay CONTENDED: other threads may
           still be blocked. */
        long ns = FIRST_SLEEP_NS;
        while (atomic_exchange_explicit(&lock->state, CONTENDED,
                                        memory_order_acquire) != FREE) {
            block_while_contended(lock, ns);
            ns = ns < MAX_SLEEP_NS ? 2 * ns : ns;
        }
    }
    atomic_store_explicit(&lock->owner, (uintptr_t)&self, memory_order_relaxed);
    return true;
}

void tgi_lock_release(tgi_lock *lock)
{
    assert(tgi_lock_is_owned(lock));
    atomic_store_explicit(&lock->owner, 0, memory_order_relaxed);
    if (atomic_load_explicit(&lock->state, memory_order_relaxed) == HELD)
        atomic_store_explicit(&lock->state, FREE, memory_order_release);
    else if (atomic_exchange_explicit(&lock->state, FREE,
                                      memory_order_release) == CONTENDED)
        wake_one(lock);
}
