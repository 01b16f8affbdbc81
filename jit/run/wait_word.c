/* SPDX-License-Identifier: MIT */
/* wait_word.c - see wait_word.h. Systems other than Linux poll instead of
   sleeping on the word. */
#include "run/wait_word.h"

#include <limits.h>
#include <sched.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/spin.h"

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

enum {
    POLLS_PER_CLOCK_READ = 32, /* about 1 us */
    POLLS_BEFORE_YIELD = 16,
    TIMEOUT_DIVISOR = 4,
    MIN_NS = 1000,
    PROBE_PERIOD = 16
};

/* -- Spinning -------------------------------------------------------------- */

static bool has_advanced(const tgi_wait_word *word, uint32_t seen)
{
    return tgi_wait_word_read(word) != seen;
}

/* True if the word has advanced within about `ns`. */
static bool spin_until_advanced(const tgi_wait_word *word, uint32_t seen,
                                uint32_t ns, bool yields)
{
    uint64_t begin = 0;
    for (uint32_t n_polls = 1; !has_advanced(word, seen); n_polls++) {
        if (ns == 0)
            return false;
        if (yields && n_polls >= POLLS_BEFORE_YIELD)
            sched_yield();
        else
            tgi_spin_pause();
        if (n_polls % POLLS_PER_CLOCK_READ)
            continue;
        const uint64_t now = tgi_clock_ns();
        if (begin == 0)
            begin = now;
        else if (now - begin >= ns)
            return false;
    }
    return true;
}

/* -- Sleeping -------------------------------------------------------------- */

/* Blocks while the word has this value; may also return early. */
static void sleep_while(tgi_wait_word *word, uint32_t bits)
{
#ifdef __linux__
    syscall(SYS_futex, &word->bits, FUTEX_WAIT_PRIVATE, bits, NULL, NULL, 0);
#else
    (void)word;
    (void)bits;
    nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
#endif
}

static void wake_all(tgi_wait_word *word)
{
#ifdef __linux__
    syscall(SYS_futex, &word->bits, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
#else
    (void)word;
#endif
}

static void sleep_until_advanced(tgi_wait_word *word, uint32_t seen)
{
    const uint32_t sleeping = seen | TGI_WAIT_WORD_SLEEPERS;
    while (!has_advanced(word, seen)) {
        uint32_t bits = seen;
        /* Set before sleeping, so that the advance that clears it wakes. */
        if (atomic_compare_exchange_strong_explicit(
                &word->bits, &bits, sleeping, memory_order_relaxed,
                memory_order_relaxed) ||
            bits == sleeping)
            sleep_while(word, sleeping);
    }
}

void tgi_wait_word_advance(tgi_wait_word *word)
{
    const uint32_t next = tgi_wait_word_read(word) + TGI_WAIT_WORD_STEP;
    if (atomic_exchange_explicit(&word->bits, next, memory_order_acq_rel) &
        TGI_WAIT_WORD_SLEEPERS)
        wake_all(word);
}

/* -- The spin time --------------------------------------------------------- */

void tgi_spin_init(tgi_spin *spin, uint32_t max_ns, bool yields)
{
    spin->max_ns = max_ns;
    spin->yields = yields;
    atomic_init(&spin->now_ns, max_ns);
    atomic_init(&spin->n_waits, 0);
}

/* The spin time of the next wait. */
static uint32_t next_spin_ns(tgi_spin *spin)
{
    const uint32_t ns =
        atomic_load_explicit(&spin->now_ns, memory_order_relaxed);
    if (ns == spin->max_ns)
        return ns;
    const uint32_t n_waits =
        atomic_load_explicit(&spin->n_waits, memory_order_relaxed) + 1;
    atomic_store_explicit(&spin->n_waits, n_waits % PROBE_PERIOD,
                          memory_order_relaxed);
    return n_waits < PROBE_PERIOD ? ns : spin->max_ns;
}

static void shorten_spin(tgi_spin *spin)
{
    const uint32_t ns =
        atomic_load_explicit(&spin->now_ns, memory_order_relaxed) /
        TIMEOUT_DIVISOR;
    const uint32_t least = spin->max_ns < MIN_NS ? spin->max_ns : MIN_NS;
    atomic_store_explicit(&spin->now_ns, ns > least ? ns : least,
                          memory_order_relaxed);
}

/* Writes only if the value changes: the threads share the cache line. */
void tgi_spin_restore(tgi_spin *spin)
{
    if (atomic_load_explicit(&spin->now_ns, memory_order_relaxed) !=
        spin->max_ns)
        atomic_store_explicit(&spin->now_ns, spin->max_ns,
                              memory_order_relaxed);
}

bool tgi_wait_word_wait(tgi_wait_word *word, uint32_t seen, tgi_spin *spin)
{
    if (spin_until_advanced(word, seen, next_spin_ns(spin), spin->yields)) {
        tgi_spin_restore(spin);
        return true;
    }
    shorten_spin(spin);
    sleep_until_advanced(word, seen);
    return false;
}
