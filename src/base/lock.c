/* SPDX-License-Identifier: MIT */
/*
 * lock.c - the lock of a variable group: an atomic state, the number of threads
 * that wait for it, and a futex to sleep on. Other systems than Linux yield
 * instead of sleeping.
 *
 * A release stores to the state, then reads the number of waiting threads; a
 * thread that is about to sleep writes that number, then reads the state. One of
 * the two must see what the other has written, else the thread sleeps although
 * the lock is free. An atomic exchange in each release would do, but takes half
 * as long as all that a lock adds to a bound call. Instead, the thread that is
 * about to sleep has the system make all threads of the process execute a memory
 * barrier (membarrier). Where the system cannot, releases exchange.
 *
 * A thread that releases and acquires again at once overtakes those that it has
 * woken. So a thread that has waited for LATE_NS counts itself as late, and the
 * next release leaves the lock to late threads. Any other thread that waits is
 * late soon, so the lock is not lost if the late thread does not exist any more,
 * in a forked child.
 */
#include "base/lock.h"

#include <assert.h>
#include <limits.h>
#include <sched.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/initial_exec_tls.h"
#include "base/spin.h"

#ifdef __linux__
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

enum { FREE, HELD, FREE_FOR_LATE };

enum {
    SPIN_NS = 20000, /* before sleeping: about a wake-up */
    POLLS_PER_CLOCK_READ = 32,
    LATE_NS = 1000000
};

/* Its address identifies the thread. */
static _Thread_local char self TGI_INITIAL_EXEC_TLS;

/* -- The system ------------------------------------------------------------ */

/* Set before there are locks. */
static bool has_membarrier;

#ifdef __linux__

static bool call_membarrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0) == 0;
}

/* At load time: with several threads it would take milliseconds. */
__attribute__((constructor)) static void register_membarrier(void)
{
    has_membarrier = call_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

/* What this thread has written is visible to all later reads of others. */
static void order_threads(void)
{
    if (has_membarrier && !call_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) &&
        call_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED))
        (void)call_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

/* Sleeps while the state is `seen`, at most `ns` unless they are 0; may also
   return early. */
static void sleep_while(tgi_lock *lock, uint32_t seen, long ns)
{
    const struct timespec most = {.tv_nsec = ns};
    syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, seen,
            ns ? &most : NULL, NULL, 0);
}

static void wake(tgi_lock *lock, int n)
{
    syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

#else

static void order_threads(void)
{
}

static void sleep_while(tgi_lock *lock, uint32_t seen, long ns)
{
    (void)lock;
    (void)seen;
    (void)ns;
    sched_yield();
}

static void wake(tgi_lock *lock, int n)
{
    (void)lock;
    (void)n;
}

#endif

/* -- Acquiring ------------------------------------------------------------- */

/* The state that kept this thread out, or FREE if the lock is its own now. */
static uint32_t try_to_acquire(tgi_lock *lock, bool is_late)
{
    uint32_t seen = atomic_load_explicit(&lock->state, memory_order_relaxed);
    while (seen == FREE || (seen == FREE_FOR_LATE && is_late))
        if (atomic_compare_exchange_weak_explicit(&lock->state, &seen, HELD,
                                                  memory_order_acquire,
                                                  memory_order_relaxed))
            return FREE;
    return seen;
}

/* Tries for about SPIN_NS. */
static uint32_t spin(tgi_lock *lock, bool is_late)
{
    const uint64_t begin = tgi_clock_ns();
    uint32_t seen;
    for (uint32_t n_polls = 1;
         (seen = try_to_acquire(lock, is_late)) != FREE; n_polls++) {
        tgi_spin_pause();
        if (n_polls % POLLS_PER_CLOCK_READ == 0 &&
            tgi_clock_ns() - begin >= SPIN_NS)
            break;
    }
    return seen;
}

/* Sleeps, counted as blocked, until the lock is free. */
static void wait_blocked(tgi_lock *lock, uint64_t begin)
{
    bool is_late = false;
    uint32_t seen;
    while ((seen = try_to_acquire(lock, is_late)) != FREE) {
        const uint64_t waited = tgi_clock_ns() - begin;
        if (is_late) {
            sleep_while(lock, seen, 0);
        } else if (waited < LATE_NS) {
            sleep_while(lock, seen, (long)(LATE_NS - waited));
        } else {
            is_late = true;
            atomic_fetch_add(&lock->n_late, 1);
            continue;
        }
        if (spin(lock, is_late) == FREE)
            break;
    }
    if (is_late)
        atomic_fetch_sub(&lock->n_late, 1);
}

static void acquire_contended(tgi_lock *lock)
{
    const uint64_t begin = tgi_clock_ns();
    if (spin(lock, false) == FREE)
        return;
    atomic_fetch_add(&lock->n_blocked, 1);
    order_threads();
    wait_blocked(lock, begin);
    atomic_fetch_sub(&lock->n_blocked, 1);
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
                                                 memory_order_relaxed))
        acquire_contended(lock);
    atomic_store_explicit(&lock->owner, (uintptr_t)&self, memory_order_relaxed);
    return true;
}

/* -- Releasing ------------------------------------------------------------- */

static uint32_t load_count(const _Atomic uint32_t *n)
{
    return atomic_load_explicit(n, memory_order_relaxed);
}

/* Wakes all if there are late threads: only those may take the lock. */
static void release_contended(tgi_lock *lock)
{
    const bool has_late = load_count(&lock->n_late) != 0;
    atomic_store_explicit(&lock->state, has_late ? FREE_FOR_LATE : FREE,
                          memory_order_seq_cst);
    wake(lock, has_late ? INT_MAX : 1);
}

void tgi_lock_release(tgi_lock *lock)
{
    assert(tgi_lock_is_owned(lock));
    atomic_store_explicit(&lock->owner, 0, memory_order_relaxed);
    if (load_count(&lock->n_blocked)) {
        release_contended(lock);
        return;
    }
    if (has_membarrier) {
        atomic_store_explicit(&lock->state, FREE, memory_order_release);
        atomic_signal_fence(memory_order_seq_cst); /* see order_threads */
    } else {
        (void)atomic_exchange_explicit(&lock->state, FREE,
                                       memory_order_seq_cst);
    }
    if (load_count(&lock->n_blocked))
        wake(lock, 1);
}
