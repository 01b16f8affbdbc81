/* SPDX-License-Identifier: MIT */
/*
 * lock.c - the lock of a variable group: a word that is exchanged in user
 * space, and a futex to sleep on when it is held. The state "waited for" is
 * what spares the release of an unwanted lock its system call.
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

enum { FREE, HELD, WAITED_FOR };

/* Its address is the name of the thread. */
static _Thread_local char self TGI_INITIAL_EXEC_TLS;

/* Sleeps while the state is WAITED_FOR; may also return early. */
static void wait_for(tgi_lock *lock)
{
#ifdef __linux__
    syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, WAITED_FOR, NULL, NULL,
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

/* No other thread ever writes this one's name: relaxed is enough. */
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
        /* Whoever has slept cannot know whether others still do. */
        while (atomic_exchange_explicit(&lock->state, WAITED_FOR,
                                        memory_order_acquire) != FREE)
            wait_for(lock);
    }
    atomic_store_explicit(&lock->owner, (uintptr_t)&self, memory_order_relaxed);
    return true;
}

void tgi_lock_release(tgi_lock *lock)
{
    assert(tgi_lock_is_owned(lock));
    atomic_store_explicit(&lock->owner, 0, memory_order_relaxed);
    if (atomic_exchange_explicit(&lock->state, FREE, memory_order_release) ==
        WAITED_FOR)
        wake_one(lock);
}
