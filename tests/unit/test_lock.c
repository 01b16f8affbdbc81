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
    while (s.lock.state != 2) /* until it is contended */
        sched_yield();
    cr_assert_eq(s.counter, 0);
    tgi_lock_release(&s.lock);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    cr_assert_eq(s.counter, THREADS);
    cr_assert_eq(s.n_wrong, 0);
}

/* A release and the beginning of a wait may cross, so that nobody is woken. */
Test(lock, a_thread_that_is_not_woken_looks_again, .timeout = 60)
{
    static shared s;
    pthread_t thread;
    cr_assert(tgi_lock_acquire(&s.lock));
    cr_assert_eq(pthread_create(&thread, NULL, enter_once, &s), 0);
    while (s.lock.state != 2)
        sched_yield();
    usleep(5000); /* it sleeps */
    s.lock.owner = 0;
    s.lock.state = 0;
    pthread_join(thread, NULL);
    cr_assert_eq(s.counter, 1);
    cr_assert_eq(s.n_wrong, 0);
}
