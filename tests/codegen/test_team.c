/* SPDX-License-Identifier: MIT */
/*
 * test_team.c - teams: their members, the guarantees of barriers, the
 * floating-point mode of the threads, and when there is no team.
 * tests/stress/stress_teams.c runs many teams at once.
 */
#include "run/team.h"

#include <dirent.h>
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "base/fpenv.h"
#include "support/ping_pong.h"
#include "support/support.h"

enum { MAX_THREADS = 16, ROUNDS = 1000 };

/* The state of an entry: the frame's `user`. */
typedef struct work {
    atomic_int n_calls;          /* calls of the entry by all threads */
    atomic_int n_calls_of[MAX_THREADS]; /* calls by each thread */
    atomic_int n_threads;        /* as passed; -1: inconsistent */
    atomic_int n_wrong;
    int slots[MAX_THREADS];      /* each written by one thread, read by all */
    unsigned modes[MAX_THREADS]; /* rounding mode of each thread */
} work;

/* Tests set the number of threads, not the environment. */
static void configure_openmp(void)
{
#ifdef _OPENMP
    omp_set_dynamic(0);
    if (omp_get_thread_limit() < MAX_THREADS)
        cr_skip_test("OMP_THREAD_LIMIT is too low");
#endif
}

/* Before the first team. */
static void wait_passively(void)
{
    configure_openmp();
    setenv("OMP_WAIT_POLICY", "passive", 1);
}

TestSuite(team, .init = configure_openmp);

static void count_entry(tgi_frame *frame, int64_t thread, int64_t n_threads)
{
    work *w = frame->user;
    int seen = 0;
    atomic_fetch_add(&w->n_calls, 1);
    if (thread >= 0 && thread < MAX_THREADS)
        atomic_fetch_add(&w->n_calls_of[thread], 1);
    if (!atomic_compare_exchange_strong(&w->n_threads, &seen, (int)n_threads) &&
        seen != n_threads)
        atomic_store(&w->n_threads, -1);
}

static void ping_pong_entry(tgi_frame *frame, int64_t thread, int64_t n_threads)
{
    work *w = frame->user;
    count_entry(frame, thread, n_threads);
    ping_pong(frame, thread, n_threads, ROUNDS, w->slots, &w->n_wrong);
}

static void run(tgi_entry *entry, work *w, int n_threads)
{
    tgi_frame frame = {.user = w};
    tgi_team_run(entry, &frame, n_threads);
}

/* Checks that all threads of a team of at most `n` ran once; returns their
   number. */
static int check_team(const work *w, int n)
{
    const int got = w->n_threads;
    cr_assert_geq(got, 1);
    cr_assert_leq(got, n);
    cr_assert_eq(w->n_calls, got);
    for (int i = 0; i < got; i++)
        cr_assert_eq(w->n_calls_of[i], 1, "thread %d of %d: %d calls", i, got,
                     w->n_calls_of[i]);
    return got;
}

Test(team, one_thread_is_a_plain_call)
{
    work w = {0};
    run(ping_pong_entry, &w, 1);
    cr_assert_eq(check_team(&w, 1), 1);
    cr_assert_eq(w.n_wrong, 0);
    cr_assert_eq(tgi_team_size(1), 1);
}

Test(team, every_thread_runs_the_entry_once)
{
    for (int n = 1; n <= MAX_THREADS; n++) {
        work w = {0};
        run(count_entry, &w, n);
        const int got = check_team(&w, n);
#ifdef _OPENMP
        cr_assert_eq(got, n);
#else
        cr_assert_eq(got, 1);
#endif
    }
}

Test(team, barriers_order_writes)
{
    const int sizes[] = {2, 3, 7};
    for (int i = 0; i < 3; i++) {
        work w = {0};
        run(ping_pong_entry, &w, sizes[i]);
        check_team(&w, sizes[i]);
        cr_assert_eq(w.n_wrong, 0, "%d wrong with %d threads", w.n_wrong,
                     sizes[i]);
    }
}

/* One thread is late: the others stop spinning and sleep. */
static void late_entry(tgi_frame *frame, int64_t thread, int64_t n_threads)
{
    work *w = frame->user;
    count_entry(frame, thread, n_threads);
    if (thread == n_threads - 1)
        usleep(50000);
    w->slots[thread] = 1;
    frame->barrier(frame);
    for (int64_t i = 0; i < n_threads; i++)
        if (w->slots[i] != 1)
            atomic_fetch_add(&w->n_wrong, 1);
}

Test(team, barriers_wait_for_late_threads)
{
    work w = {0};
    run(late_entry, &w, 3);
    check_team(&w, 3);
    cr_assert_eq(w.n_wrong, 0);
}

/* Every wait sleeps: no spinning hides a lost wake-up. */
Test(team, passive_threads_are_woken, .init = wait_passively, .timeout = 60)
{
    const int sizes[] = {2, 3, 7, MAX_THREADS};
    for (int i = 0; i < 4; i++) {
        work w = {0};
        run(ping_pong_entry, &w, sizes[i]);
        check_team(&w, sizes[i]);
        cr_assert_eq(w.n_wrong, 0, "%d wrong with %d threads", w.n_wrong,
                     sizes[i]);
    }
}

/* Calls of changing size follow one another without a pause: a worker may
   leave a call only after it has begun the next. */
Test(team, calls_follow_one_another)
{
    for (int i = 0; i < 2000; i++) {
        work w = {0};
        const int n = 2 + i * 7 % (MAX_THREADS - 1);
        run(count_entry, &w, n);
        check_team(&w, n);
    }
}

/* -- Owners ---------------------------------------------------------------- */

#ifdef _OPENMP

/* Number of threads of this process. A joined thread may still count. */
static int count_threads_now(void)
{
    DIR *dir = opendir("/proc/self/task");
    int n = -2; /* . and .. */
    cr_assert(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

/* True if the number of threads is or becomes `n`. */
static bool has_threads(int n)
{
    for (int i = 0; i < 100 && count_threads_now() != n; i++)
        usleep(10000);
    return count_threads_now() == n;
}

static void *run_three(void *user)
{
    run(ping_pong_entry, user, 3);
    return NULL;
}

Test(team, an_ended_thread_leaves_its_workers_to_the_next)
{
    const int n_before = count_threads_now();
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        work w = {0};
        cr_assert_eq(pthread_create(&thread, NULL, run_three, &w), 0);
        pthread_join(thread, NULL);
        cr_assert_eq(check_team(&w, 3), 3);
        cr_assert_eq(w.n_wrong, 0);
    }
    work w = {0};
    run(ping_pong_entry, &w, 3);
    cr_assert_eq(check_team(&w, 3), 3);
    cr_assert(has_threads(n_before + 2));
}

static void mask_entry(tgi_frame *frame, int64_t thread, int64_t n_threads)
{
    work *w = frame->user;
    cpu_set_t mask;
    count_entry(frame, thread, n_threads);
    if (sched_getaffinity(0, sizeof(mask), &mask) == 0)
        w->slots[thread] = CPU_COUNT(&mask);
}

static void bind_to_first_cpu(void)
{
    cpu_set_t mask, first;
    sched_getaffinity(0, sizeof(mask), &mask);
    CPU_ZERO(&first);
    for (int i = 0; CPU_COUNT(&first) == 0; i++)
        if (CPU_ISSET(i, &mask))
            CPU_SET(i, &first);
    sched_setaffinity(0, sizeof(first), &first);
}

static void *run_two_on_one_cpu(void *user)
{
    bind_to_first_cpu();
    run(mask_entry, user, 2);
    return NULL;
}

/* Workers run on the CPUs of their owner, also of the next one. */
Test(team, workers_share_the_cpus_of_their_owner)
{
    cpu_set_t mask;
    pthread_t thread;
    work bound = {0}, unbound = {0};
    const int n_before = count_threads_now();
    cr_assert_eq(sched_getaffinity(0, sizeof(mask), &mask), 0);
    cr_assert_eq(pthread_create(&thread, NULL, run_two_on_one_cpu, &bound), 0);
    pthread_join(thread, NULL);
    run(mask_entry, &unbound, 2);
    cr_assert(has_threads(n_before + 1));
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(bound.slots[i], 1);
        cr_assert_eq(unbound.slots[i], CPU_COUNT(&mask));
    }
}

/* Stores the CPU of each thread. If `w->n_wrong` is not 0, worker 1 moves to the
   CPU of the owner, and both arrive so late that each wait times out. */
static void cpu_entry(tgi_frame *frame, int64_t thread, int64_t n_threads)
{
    work *w = frame->user;
    cpu_set_t mask, one;
    count_entry(frame, thread, n_threads);
    w->slots[thread] = sched_getcpu();
    frame->barrier(frame);
    if (thread == 1 && w->n_wrong &&
        sched_getaffinity(0, sizeof(mask), &mask) == 0) {
        CPU_ZERO(&one);
        CPU_SET(w->slots[0], &one);
        sched_setaffinity(0, sizeof(one), &one);
        sched_setaffinity(0, sizeof(mask), &mask);
    }
    if (thread == 0)
        usleep(2000);
}

/* Calls on two threads with pauses, in which worker 1 sleeps; returns how many
   had both on one CPU. */
static int count_calls_on_one_cpu(int n_calls, bool joins_owner)
{
    int n_shared = 0;
    for (int i = 0; i < n_calls; i++) {
        work w = {.n_wrong = joins_owner};
        run(cpu_entry, &w, 2);
        cr_assert_eq(check_team(&w, 2), 2);
        n_shared += w.slots[0] == w.slots[1];
        usleep(1000);
    }
    return n_shared;
}

/* A worker that is where its owner is leaves when it wakes up. The owner may be
   moved in between, so some calls may have both on one CPU. */
Test(team, threads_that_share_a_cpu_are_separated)
{
    cpu_set_t mask;
    cr_assert_eq(sched_getaffinity(0, sizeof(mask), &mask), 0);
    if (CPU_COUNT(&mask) < 2)
        cr_skip_test("one CPU");
    (void)count_calls_on_one_cpu(1, false);
    const int n_shared = count_calls_on_one_cpu(100, true);
    cr_assert_lt(n_shared, 50, "%d of 100 calls on one CPU", n_shared);
    work w = {0};
    run(mask_entry, &w, 2);
    cr_assert_eq(w.slots[1], CPU_COUNT(&mask));
}

/* A host step may call the library again. */
static void nested_entry(tgi_frame *frame, int64_t thread, int64_t n_threads)
{
    count_entry(frame, thread, n_threads);
    if (thread == 0) {
        work inner = {0};
        run(ping_pong_entry, &inner, 3);
        if (check_team(&inner, 3) != 1 || tgi_team_size(3) != 1)
            atomic_fetch_add(&((work *)frame->user)->n_wrong, 1);
    }
    frame->barrier(frame);
}

Test(team, a_call_inside_a_call_is_serial)
{
    work w = {0};
    run(nested_entry, &w, 3);
    cr_assert_eq(check_team(&w, 3), 3);
    cr_assert_eq(w.n_wrong, 0);
}

static void exit_entry(tgi_frame *frame, int64_t thread, int64_t n_threads)
{
    (void)n_threads;
    if (thread == 0)
        exit(7);
    frame->barrier(frame);
}

/* A host step may end the process, while the workers wait for it. */
Test(team, exit_inside_a_call_ends_the_process, .exit_code = 7, .timeout = 60)
{
    work w = {0};
    run(count_entry, &w, 3);
    run(exit_entry, &w, 3);
}

#endif

/* -- Number of threads ----------------------------------------------------- */

Test(team, has_at_least_one_and_at_most_the_requested_threads)
{
    for (int wanted = 1; wanted <= MAX_THREADS; wanted++) {
        const int n = tgi_team_size(wanted);
#ifdef _OPENMP
        cr_assert_eq(n, wanted);
#else
        cr_assert_eq(n, 1);
#endif
    }
    cr_assert_geq(tgi_team_size(0), 1);
    /* More than any OpenMP could start. */
    cr_assert_lt(tgi_team_size(1 << 30), 1 << 20);
}

#ifdef _OPENMP

Test(team, uses_the_openmp_limit_up_to_the_cpus)
{
    cpu_set_t mask;
    cr_assert_eq(sched_getaffinity(0, sizeof(mask), &mask), 0);
    omp_set_num_threads(1);
    cr_assert_eq(tgi_team_size(0), 1);
    cr_assert_eq(tgi_team_size(3), 3);
    omp_set_num_threads(2);
    cr_assert_eq(tgi_team_size(0), CPU_COUNT(&mask) > 1 ? 2 : 1);
    omp_set_num_threads(1000);
    cr_assert_eq(tgi_team_size(0), CPU_COUNT(&mask));
}

static void *threads_on_one_cpu(void *out)
{
    bind_to_first_cpu();
    omp_set_num_threads(2);
    *(int *)out = tgi_team_size(0);
    return NULL;
}

Test(team, a_thread_bound_to_one_cpu_works_alone)
{
    pthread_t thread;
    int n = 0;
    cr_assert_eq(pthread_create(&thread, NULL, threads_on_one_cpu, &n), 0);
    pthread_join(thread, NULL);
    cr_assert_eq(n, 1);
}

Test(team, is_serial_in_a_region_of_the_user)
{
    work works[2] = {0};
    int n_said[2] = {0};
#pragma omp parallel num_threads(2)
    {
        const int i = omp_get_thread_num();
        n_said[i] = tgi_team_size(0) * 10 + tgi_team_size(7);
        run(ping_pong_entry, &works[i], tgi_team_size(7));
    }
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(n_said[i], 11);
        cr_assert_eq(check_team(&works[i], 1), 1);
        cr_assert_eq(works[i].n_wrong, 0);
    }
}

/* The team is what OpenMP would provide, whatever was requested. */
Test(team, a_smaller_team_than_requested_does_the_work)
{
    work inner[2] = {0}, dynamic = {0}, flat = {0};
#pragma omp parallel num_threads(2)
    run(ping_pong_entry, &inner[omp_get_thread_num()], 3);
    for (int i = 0; i < 2; i++) {
        check_team(&inner[i], 3);
        cr_assert_eq(inner[i].n_wrong, 0);
    }
    omp_set_dynamic(1);
    run(ping_pong_entry, &dynamic, 7);
    check_team(&dynamic, 7);
    cr_assert_eq(dynamic.n_wrong, 0);

    omp_set_max_active_levels(0);
    run(ping_pong_entry, &flat, 7);
    cr_assert_eq(check_team(&flat, 7), 1);
    cr_assert_eq(flat.n_wrong, 0);
}

/* With nested regions enabled by the user, nested teams work too. */
Test(team, teams_in_a_region_of_the_user_are_apart)
{
    work works[2] = {0};
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    run(ping_pong_entry, &works[omp_get_thread_num()], 3);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(check_team(&works[i], 3), 3);
        cr_assert_eq(works[i].n_wrong, 0);
    }
}

#endif

/* -- Forks ----------------------------------------------------------------- */

/* Runs a team of any size in a child; returns its number of threads. */
static int threads_of_child(int n_before_fork)
{
    const pid_t child = fork();
    if (child == 0) {
        alarm(20); /* so that a hang fails */
        work w = {0}, old = {0};
        run(ping_pong_entry, &w, tgi_team_size(3));
        run(ping_pong_entry, &old, n_before_fork);
        const bool good = w.n_wrong == 0 && w.n_calls == w.n_threads &&
                          old.n_wrong == 0 && old.n_calls == old.n_threads;
        _exit(good ? w.n_threads : 99);
    }
    int status = 0;
    cr_assert_gt(child, 0);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status), "the child ended with signal %d",
              WTERMSIG(status));
    return WEXITSTATUS(status);
}

Test(team, a_child_forked_after_a_team_is_serial)
{
    work w = {0};
    const int n = tgi_team_size(3);
    run(count_entry, &w, n);
    check_team(&w, n);
    cr_assert_eq(threads_of_child(n), 1);
    work again = {0};
    run(ping_pong_entry, &again, n);
    cr_assert_eq(check_team(&again, n), w.n_threads);
}

#ifdef _OPENMP

Test(team, a_child_forked_after_a_region_of_the_user_is_serial)
{
    atomic_int n = 0;
#pragma omp parallel num_threads(3)
    atomic_fetch_add(&n, 1);
    cr_assert_eq(n, 3);
    cr_assert_eq(threads_of_child(1), 1);
}

#endif

Test(team, a_child_forked_before_any_team_works)
{
    const int n = threads_of_child(1);
    cr_assert(n == 1 || n == tgi_team_size(3), "%d threads", n);
}

/* -- The floating-point mode ----------------------------------------------- */

/* Hidden from the compiler, which ignores rounding modes. */
static volatile float one = 1, three = 3;

/*
 * The rounding direction of this thread, determined by arithmetic, because
 * fegetround reads another register. 3 is to nearest: one third is rounded away
 * from zero.
 */
static unsigned rounding(void)
{
    const float third = 0x1.555556p-2f;
    return (one / three == third) | (-one / three == -third) << 1;
}

static void mode_entry(tgi_frame *frame, int64_t thread, int64_t n_threads)
{
    work *w = frame->user;
    count_entry(frame, thread, n_threads);
    w->modes[thread] = rounding();
}

#ifdef _OPENMP

/* Whatever the mode of the thread that starts them. The threads of the
   program's regions have the program's mode. */
Test(team, threads_have_our_mode_inside_and_their_own_after)
{
    const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    work first = {0};
    fesetround(FE_UPWARD);
    run(count_entry, &first, 3);
    for (int k = 0; k < 3; k++) {
        work w = {0};
        unsigned after[3];
        fesetround(modes[k]);
        const unsigned theirs = rounding();
#pragma omp parallel num_threads(3)
        fesetround(modes[k]);

        const uint32_t saved = tgi_fpenv_begin();
        run(mode_entry, &w, 3);
        tgi_fpenv_end(saved);
#pragma omp parallel num_threads(3)
        after[omp_get_thread_num()] = rounding();

        fesetround(FE_TONEAREST);
        cr_assert_neq(theirs, 3);
        cr_assert_eq(check_team(&w, 3), 3);
        for (int i = 0; i < 3; i++) {
            cr_assert_eq(w.modes[i], 3, "thread %d", i);
            cr_assert_eq(after[i], theirs, "thread %d", i);
        }
    }
}

#endif

Test(team, the_mode_of_the_caller_is_let_be)
{
    for (int n = 1; n <= 2; n++) {
        work w = {0};
        fesetround(FE_UPWARD);
        const uint32_t saved = tgi_fpenv_begin();
        run(mode_entry, &w, n);
        const unsigned inside = rounding();
        tgi_fpenv_end(saved);
        fesetround(FE_TONEAREST);
        cr_assert_eq(w.modes[0], 3);
        cr_assert_eq(inside, 3);
    }
}
