/* SPDX-License-Identifier: MIT */
/*
 * wait_word.h - a word that one thread advances and others wait for. A waiting
 * thread spins for a while, then sleeps in the kernel (futex).
 *
 * The time it spins decides the speed of a team. On an idle machine a sleeping
 * thread costs a wake-up: 5 us, up to 50 us on a virtual machine. On a busy one
 * a spinning thread uses up its time slice while the thread that it waits for
 * has none, and then is not scheduled when that thread is. A tgi_spin adapts: a
 * time-out divides the spin time by 4, a wait that ends while spinning restores
 * the maximum, and every 16th wait in between spins for the maximum.
 */
#ifndef TGI_WAIT_WORD_H
#define TGI_WAIT_WORD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { TGI_WAIT_WORD_SLEEPERS = 1, TGI_WAIT_WORD_STEP = 2 };

/* Bit 0: threads sleep. The other bits count the advances, modulo 2^31. */
typedef struct tgi_wait_word {
    _Atomic uint32_t bits;
} tgi_wait_word;

/* Shared by the threads that wait for the same words. Their updates may be
   lost, which is harmless. */
typedef struct tgi_spin {
    uint32_t max_ns; /* 0: never spins */
    bool yields;     /* lets other threads run; for more threads than CPUs */
    _Atomic uint32_t now_ns;
    _Atomic uint32_t n_waits; /* since now_ns was max_ns, or the last probe */
} tgi_spin;

void tgi_spin_init(tgi_spin *spin, uint32_t max_ns, bool yields);

/* The next wait spins for the maximum. */
void tgi_spin_restore(tgi_spin *spin);

/* The state to pass to tgi_wait_word_wait. */
static inline uint32_t tgi_wait_word_read(const tgi_wait_word *word)
{
    return atomic_load_explicit(&word->bits, memory_order_acquire) &
           ~(uint32_t)TGI_WAIT_WORD_SLEEPERS;
}

/* Releases all waiting threads, and wakes those that sleep. By one thread at a
   time. Everything before it happens before the returns of the waits. */
void tgi_wait_word_advance(tgi_wait_word *word);

/* Returns when the state is no longer `seen`: true if that was while it spun,
   false if it slept. */
bool tgi_wait_word_wait(tgi_wait_word *word, uint32_t seen, tgi_spin *spin);

#endif /* TGI_WAIT_WORD_H */
