/* SPDX-License-Identifier: MIT */
/* test_lock.c - the lock of a variable group. */
#include "base/lock.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "support/support.h"

Test(lock, is_held_by_the_thread_that_took_it)
{
    tgi_lock lock = {0};
    cr_assert_not(tgi_lock_is_owned(&lock));
    cr_assert(tgi_lock_acquire(&lock));
    cr_assert(tgi_lock_is_owned(&lock));
    tgi_lock_release(&lock);
    cr_assert_not(tgi_lock_is_owned(&lock));
}

Test(lock, a_thread_does_not_wait_for_itself)
{
    tgi_lock lock = {0};
    cr_assert(tgi_lock_acquire(&lock));
    cr_assert_not(tgi_lock_acquire(&lock));
    cr_assert(tgi_lock_is_owned(&lock), "the first hold is still good");
    tgi_lock_release(&lock);
    cr_assert(tgi_lock_acquire(&lock));
    tgi_lock_release(&lock);
}

enum { THREADS = 4, ROUNDS = 20000 };

typedef struct shared {
    tgi_lock lock;
    long counter; /* guarded by the lock */
    int n_wrong;
} shared;

static void *count_up(void *argument)
{
    shared *s = argument;
    for (int i = 0; i < ROUNDS; i++) {
        const bool is_taken = tgi_lock_acquire(&s->lock);
        s->n_wrong += !is_taken || !tgi_lock_is_owned(&s->lock);
        const long seen = s->counter;
        if (i % 1000 == 0)
            sched_yield(); /* makes others wait */
        s->counter = seen + 1;
        tgi_lock_release(&s->lock);
    }
    return NULL;
}

Test(lock, lets_one_thread_in_at_a_time)
{
    static shared s;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, count_up, &s), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    cr_assert_eq(s.counter, (long)THREADS * ROUNDS);
    cr_assert_eq(s.n_wrong, 0);
    cr_assert_eq(s.lock.state, 0);
    cr_assert_eq(s.lock.owner, 0);
}

static void *enter_once(void *argument)
{
    shared *s = argument;
    s->n_wrong += tgi_lock_is_owned(&s->lock);
    tgi_lock_acquire(&s->lock);
    s->counter++;
    tgi_lock_release(&s->lock);
    return NULL;
}

Test(lock, wakes_all_that_sleep_on_it)
{
    static shared s;
    pthread_t threads[THREADS];
    cr_assert(tgi_lock_acquire(&s.lock));
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, enter_once, &s), 0);
    while (s.lock.n_blocked != THREADS)
        sched_yield();
    usleep(5000); /* they sleep, and are late */
    cr_assert_eq(s.lock.n_late, THREADS);
    cr_assert_eq(s.counter, 0);
    tgi_lock_release(&s.lock);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    cr_assert_eq(s.counter, THREADS);
    cr_assert_eq(s.n_wrong, 0);
}

/* -- Hand-over ------------------------------------------------------------- */

enum { ENTRIES = 20 };

static void *enter_some_times(void *argument)
{
    for (int i = 0; i < ENTRIES; i++)
        enter_once(argument);
    return NULL;
}

/* A thread that holds it nearly always does not keep others out. */
Test(lock, threads_that_wait_are_not_overtaken_for_ever, .timeout = 60)
{
    static shared s;
    volatile int work;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        cr_assert_eq(
            pthread_create(&threads[i], NULL, enter_some_times, &s), 0);
    for (bool is_done = false; !is_done;) {
        cr_assert(tgi_lock_acquire(&s.lock));
        for (work = 0; work < 10000; work++)
            ;
        is_done = s.counter == (long)2 * ENTRIES;
        tgi_lock_release(&s.lock);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    cr_assert_eq(s.n_wrong, 0);
    cr_assert_eq(s.lock.n_blocked, 0);
    cr_assert_eq(s.lock.n_late, 0);
}

/* A child forked while others waited has their numbers, but not the threads. */
Test(lock, is_not_left_to_threads_that_do_not_exist, .timeout = 20)
{
    tgi_lock lock = {.n_blocked = 2, .n_late = 1};
    for (int i = 0; i < 3; i++) {
        cr_assert(tgi_lock_acquire(&lock));
        tgi_lock_release(&lock);
    }
}

/* If a sleeping thread were not woken, this would not end. */
static void *enter_in_turn(void *argument)
{
    shared *s = argument;
    for (int i = 0; i < ROUNDS; i++) {
        enter_once(s);
        for (volatile int n = i % 64; n > 0; n--)
            ;
    }
    return NULL;
}

Test(lock, no_wake_up_is_lost, .timeout = 120)
{
    static shared s;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, enter_in_turn, &s), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    cr_assert_eq(s.counter, (long)2 * ROUNDS);
}
