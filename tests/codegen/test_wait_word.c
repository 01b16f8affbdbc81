/* SPDX-License-Identifier: MIT */
/*
 * test_wait_word.c - words that threads wait for: order, wake-ups, and how the
 * spin time adapts. A maximum of 0 makes every wait sleep, a large one makes
 * every wait spin, so no test depends on the machine's load.
 */
#include "run/wait_word.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "support/support.h"

enum { SECOND_NS = 1000000000, THREADS = 12, ROUNDS = 300 };

/* So that a lost wake-up fails instead of hanging. */
static void set_alarm(void)
{
    alarm(60);
}

TestSuite(wait_word, .init = set_alarm);

/* -- Words ----------------------------------------------------------------- */

Test(wait_word, a_wait_for_the_past_returns)
{
    tgi_wait_word word = {0};
    tgi_spin spin;
    tgi_spin_init(&spin, 0, false);
    const uint32_t seen = tgi_wait_word_read(&word);
    tgi_wait_word_advance(&word);
    cr_assert_neq(tgi_wait_word_read(&word), seen);
    tgi_wait_word_wait(&word, seen, &spin);
}

Test(wait_word, counts_wrap)
{
    tgi_wait_word word;
    atomic_init(&word.bits, UINT32_MAX - TGI_WAIT_WORD_SLEEPERS);
    const uint32_t seen = tgi_wait_word_read(&word);
    tgi_wait_word_advance(&word);
    cr_assert_eq(tgi_wait_word_read(&word), 0);
    cr_assert_neq(seen, 0);
}

/* A relay: thread i advances its word when the one before has been advanced. */
typedef struct relay {
    tgi_wait_word words[THREADS + 1];
    tgi_spin spin;
    int value; /* not atomic: the words order its accesses */
} relay;

typedef struct runner {
    relay *of;
    int number;
} runner;

static void *pass_on(void *user)
{
    const runner *r = user;
    relay *all = r->of;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        tgi_wait_word_wait(&all->words[r->number], round * TGI_WAIT_WORD_STEP,
                           &all->spin);
        all->value++;
        tgi_wait_word_advance(&all->words[r->number + 1]);
    }
    return NULL;
}

/* More threads than CPUs, one of which runs at a time. */
static void run_relay(uint32_t max_ns, bool yields)
{
    relay all = {.value = 0};
    pthread_t threads[THREADS];
    runner runners[THREADS];
    tgi_spin_init(&all.spin, max_ns, yields);
    for (int i = 0; i < THREADS; i++) {
        runners[i] = (runner){&all, i};
        cr_assert_eq(pthread_create(&threads[i], NULL, pass_on, &runners[i]),
                     0);
    }
    for (uint32_t round = 0; round < ROUNDS; round++) {
        tgi_wait_word_advance(&all.words[0]);
        tgi_wait_word_wait(&all.words[THREADS], round * TGI_WAIT_WORD_STEP,
                           &all.spin);
        cr_assert_eq(all.value, (int)(round + 1) * THREADS);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

Test(wait_word, sleeping_threads_are_woken)
{
    run_relay(0, false);
}

Test(wait_word, threads_that_spin_before_they_sleep_are_woken)
{
    run_relay(1, false);
    run_relay(20000, false);
    run_relay(20000, true);
}

/* All threads wait for one word. */
typedef struct crowd {
    tgi_wait_word word;
    tgi_spin spin;
    _Atomic int n_released;
} crowd;

static void *wait_once(void *user)
{
    crowd *c = user;
    tgi_wait_word_wait(&c->word, 0, &c->spin);
    atomic_fetch_add(&c->n_released, 1);
    return NULL;
}

Test(wait_word, an_advance_releases_all)
{
    crowd c = {.n_released = 0};
    pthread_t threads[THREADS];
    tgi_spin_init(&c.spin, 0, false);
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, wait_once, &c), 0);
    while (!(atomic_load(&c.word.bits) & TGI_WAIT_WORD_SLEEPERS))
        sched_yield();
    usleep(10000); /* until most sleep */
    cr_assert_eq(c.n_released, 0);
    tgi_wait_word_advance(&c.word);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    cr_assert_eq(c.n_released, THREADS);
    cr_assert_eq(atomic_load(&c.word.bits), TGI_WAIT_WORD_STEP);
}

/* -- The spin time --------------------------------------------------------- */

/* Advances when the waiting thread sleeps: its wait has timed out. */
static void *advance_late(void *user)
{
    tgi_wait_word *word = user;
    while (!(atomic_load(&word->bits) & TGI_WAIT_WORD_SLEEPERS))
        sched_yield();
    tgi_wait_word_advance(word);
    return NULL;
}

static void time_out(tgi_spin *spin)
{
    pthread_t thread;
    tgi_wait_word word = {0};
    cr_assert_eq(pthread_create(&thread, NULL, advance_late, &word), 0);
    tgi_wait_word_wait(&word, 0, spin);
    pthread_join(thread, NULL);
}

/* A wait that ends at the first poll. */
static void succeed(tgi_spin *spin)
{
    tgi_wait_word word = {TGI_WAIT_WORD_STEP};
    tgi_wait_word_wait(&word, 0, spin);
}

Test(wait_word, a_time_out_shortens_the_spin_time_down_to_a_minimum)
{
    tgi_spin spin;
    tgi_spin_init(&spin, 100000, false);
    time_out(&spin);
    cr_assert_eq(spin.now_ns, 25000);
    time_out(&spin);
    cr_assert_eq(spin.now_ns, 6250);
    for (int i = 0; i < 8; i++)
        time_out(&spin);
    cr_assert_eq(spin.now_ns, 1000);
}

Test(wait_word, a_success_restores_the_spin_time)
{
    tgi_spin spin;
    tgi_spin_init(&spin, 100000, false);
    for (int i = 0; i < 5; i++)
        time_out(&spin);
    succeed(&spin);
    cr_assert_eq(spin.now_ns, 100000);
}

Test(wait_word, the_minimum_is_at_most_the_maximum)
{
    tgi_spin spin;
    tgi_spin_init(&spin, 500, false);
    time_out(&spin);
    cr_assert_eq(spin.now_ns, 500);
    tgi_spin_init(&spin, 0, false);
    time_out(&spin);
    cr_assert_eq(spin.now_ns, 0);
}

/* Advances after the waiting thread has spun much longer than the minimum, but
   never lets it time out at the maximum. */
static void *advance_later(void *user)
{
    usleep(20000);
    tgi_wait_word_advance(user);
    return NULL;
}

/* Without probes, all of these waits would sleep. */
Test(wait_word, some_waits_probe_the_maximum)
{
    enum { WAITS = 17 };
    tgi_spin spin;
    tgi_spin_init(&spin, SECOND_NS, false);
    atomic_store(&spin.now_ns, 1000);
    int n_waits = 0;
    for (; n_waits < WAITS && spin.now_ns != SECOND_NS; n_waits++) {
        pthread_t thread;
        tgi_wait_word word = {0};
        cr_assert_eq(pthread_create(&thread, NULL, advance_later, &word), 0);
        tgi_wait_word_wait(&word, 0, &spin);
        pthread_join(thread, NULL);
    }
    cr_assert_eq(spin.now_ns, SECOND_NS);
    cr_assert_gt(n_waits, 1);
}
