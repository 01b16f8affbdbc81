/* SPDX-License-Identifier: MIT */
/*
 * lock.c - the lock of a variable group: an atomic state, and a futex to block
 * on. The separate state CONTENDED lets an uncontended release skip the system
 * call. Other systems than Linux yield instead of blocking.
 */
#include "base/lock.h"

#include <assert.h>
#include <sched.h>
#include <stddef.h>

#include "base/initial_exec_tls.h"

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

enum { FREE, HELD, CONTENDED };

/* Its address identifies the thread. */
static _Thread_local char self TGI_INITIAL_EXEC_TLS;

/* Blocks while the state is CONTENDED; may also return early. */
static void block_while_contended(tgi_lock *lock)
{
#ifdef __linux__
    syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, CONTENDED, NULL, NULL,
            0);
#else
    (void)lock;
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
        while (atomic_exchange_explicit(&lock->state, CONTENDED,
                                        memory_order_acquire) != FREE)
            block_while_contended(lock);
    }
    atomic_store_explicit(&lock->owner, (uintptr_t)&self, memory_order_relaxed);
    return true;
}

void tgi_lock_release(tgi_lock *lock)
{
    assert(tgi_lock_is_owned(lock));
    atomic_store_explicit(&lock->owner, 0, memory_order_relaxed);
    if (atomic_exchange_explicit(&lock->state, FREE, memory_order_release) ==
        CONTENDED)
        wake_one(lock);
}
