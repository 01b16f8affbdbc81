/* SPDX-License-Identifier: MIT */
/*
 * test_pacer.c - the number of threads on a busy machine, with simulated calls:
 * no test reads a clock.
 */
#include "run/pacer.h"

#include "support/support.h"

enum { MILLISECOND = 1000000 };

/* A machine, and a program that runs on it. */
typedef struct machine {
    uint64_t now_ns;
    bool is_busy;
    uint64_t call_ns[65]; /* by number of threads, while it is busy */
    tgi_pacer pacer;
} machine;

/* One call; returns its number of threads. A busy machine disturbs every call
   of several threads, and every 4 ms. */
static int call(machine *m, int n_max)
{
    const int n = tgi_pacer_threads(&m->pacer, n_max);
    cr_assert(n >= 1 && n <= n_max, "%d of %d threads", n, n_max);
    const uint64_t ns = m->is_busy ? m->call_ns[n] : MILLISECOND;
    m->now_ns += ns;
    const uint32_t n_disturbed = 1 + (uint32_t)(ns / (4 * MILLISECOND));
    tgi_pacer_add(&m->pacer, n_max, m->now_ns, ns,
                  m->is_busy && n > 1 ? n_disturbed : 0);
    return n;
}

/* How many of n_calls ran on n_threads. */
static int count_calls(machine *m, int n_max, int n_calls, int n_threads)
{
    int n = 0;
    for (int i = 0; i < n_calls; i++)
        n += call(m, n_max) == n_threads;
    return n;
}

Test(pacer, an_idle_machine_has_all_threads)
{
    machine m = {0};
    cr_assert_eq(count_calls(&m, 2, 1000, 2), 1000);
    cr_assert_not(m.pacer.is_active);
}

Test(pacer, rare_disturbances_are_ignored)
{
    machine m = {.call_ns = {0, MILLISECOND, MILLISECOND}};
    for (int i = 0; i < 100; i++) {
        m.is_busy = true;
        cr_assert_eq(call(&m, 2), 2);
        cr_assert_not(m.pacer.is_active);
        m.is_busy = false;
        cr_assert_eq(count_calls(&m, 2, 50, 2), 50);
    }
}

Test(pacer, fewer_threads_are_used_if_they_are_faster)
{
    machine m = {.is_busy = true,
                 .call_ns = {0, 2 * MILLISECOND, 5 * MILLISECOND}};
    (void)count_calls(&m, 2, 200, 1);
    cr_assert(m.pacer.is_active);
    /* All threads are tried again from time to time. */
    const int n_alone = count_calls(&m, 2, 2000, 1);
    cr_assert_gt(n_alone, 1900);
    cr_assert_lt(n_alone, 2000);
}

Test(pacer, all_threads_are_used_if_they_are_faster)
{
    machine m = {.is_busy = true,
                 .call_ns = {0, 3 * MILLISECOND, 2 * MILLISECOND}};
    (void)count_calls(&m, 2, 200, 1);
    cr_assert(m.pacer.is_active);
    const int n_on_all = count_calls(&m, 2, 2000, 2);
    cr_assert_gt(n_on_all, 1850);
    cr_assert_lt(n_on_all, 2000);
}

/* A difference of one percent may be noise. */
Test(pacer, an_insignificant_difference_changes_nothing)
{
    machine m = {.is_busy = true,
                 .call_ns = {0, 99 * MILLISECOND / 100, MILLISECOND}};
    cr_assert_gt(count_calls(&m, 2, 4000, 2), 3500);
}

Test(pacer, the_fastest_of_many_numbers_is_found)
{
    machine m = {.is_busy = true};
    for (int n = 1; n <= 64; n++) /* fastest around 8 */
        m.call_ns[n] = MILLISECOND * (uint64_t)(n < 8 ? 20 - n : 4 + n);
    (void)count_calls(&m, 64, 4000, 8);
    int sum = 0;
    for (int i = 0; i < 2000; i++)
        sum += call(&m, 64);
    cr_assert(sum > 2000 * 5 && sum < 2000 * 12, "mean %d/2000", sum);
}

Test(pacer, all_threads_return_when_the_machine_is_idle_again)
{
    machine m = {.is_busy = true,
                 .call_ns = {0, 2 * MILLISECOND, 5 * MILLISECOND}};
    (void)count_calls(&m, 2, 1000, 1);
    cr_assert(m.pacer.is_active);
    m.is_busy = false;
    (void)count_calls(&m, 2, 1000, 2); /* one second */
    cr_assert_not(m.pacer.is_active);
    cr_assert_eq(count_calls(&m, 2, 1000, 2), 1000);
}

Test(pacer, another_limit_starts_afresh)
{
    machine m = {
        .is_busy = true,
        .call_ns = {0, 2 * MILLISECOND, 5 * MILLISECOND, 5 * MILLISECOND}};
    (void)count_calls(&m, 2, 1000, 1);
    cr_assert(m.pacer.is_active);
    cr_assert_eq(call(&m, 3), 3);
    cr_assert_not(m.pacer.is_active);
    cr_assert_eq(call(&m, 1), 1);
}

Test(pacer, a_single_thread_is_never_paced)
{
    machine m = {.is_busy = true, .call_ns = {0, MILLISECOND}};
    for (int i = 0; i < 100; i++)
        tgi_pacer_add(&m.pacer, 1, (uint64_t)i, 1, 1);
    cr_assert_not(m.pacer.is_active);
    cr_assert_eq(tgi_pacer_threads(&m.pacer, 1), 1);
}
