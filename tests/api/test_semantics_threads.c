/* SPDX-License-Identifier: MIT */
/*
 * test_semantics_threads.c - promise 10: first calls from many threads at once.
 * Where an interleaving matters, barriers in the callbacks force it. A watchdog
 * terminates tests that hang.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "support/api.h"

enum { THREADS = 8, ROUNDS = 40, WATCHDOG_SECONDS = 120 };

static void arm_watchdog(void)
{
    alarm(WATCHDOG_SECONDS);
}

/* The call of one thread, and its outcome. */
typedef struct caller {
    pthread_t thread;
    pthread_barrier_t *start;
    tg_function *f;
    tg_tensor *x;
    tg_status status;
    float first; /* element of the result */
} caller;

static void *make_call(void *user)
{
    caller *c = user;
    tg_tensor *y = NULL;
    if (c->start)
        pthread_barrier_wait(c->start);
    c->status = tg_call(c->f, TG_ARGS(c->x), TG_RESULTS(&y));
    if (y)
        c->first = *(float *)tg_tensor_data(y);
    tg_tensor_release(y);
    return NULL;
}

/* Runs all calls at once. */
static void run_callers(caller *callers, int n)
{
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, (unsigned)n);
    for (int i = 0; i < n; i++) {
        callers[i].start = &start;
        pthread_create(&callers[i].thread, NULL, make_call, &callers[i]);
    }
    for (int i = 0; i < n; i++)
        pthread_join(callers[i].thread, NULL);
    pthread_barrier_destroy(&start);
}

static tg_tensor *ones(tg_context *ctx, int64_t n)
{
    float data[16];
    for (int i = 0; i < 16; i++)
        data[i] = 1;
    return tg_tensor_copy(ctx, data, TG_F32, TG_DIMS(n));
}

/* -- One trace ------------------------------------------------------------- */

static void slow_twice(tg_trace *t, const tg_value *in, void *user)
{
    atomic_fetch_add((atomic_int *)user, 1);
    usleep(1000); /* so that the others arrive meanwhile */
    tg_return(t, tg_mul(in[0], 2));
}

Test(semantics, line_10_eight_first_calls_make_one_trace, .init = arm_watchdog)
{
    session s;
    session_begin(&s);
    tg_tensor *x = ones(s.ctx, 3);
    for (int round = 0; round < ROUNDS; round++) {
        atomic_int n_runs = 0;
        tg_function *f = tg_function_create(s.ctx, slow_twice, &n_runs, NULL);
        caller callers[THREADS] = {0};
        for (int i = 0; i < THREADS; i++)
            callers[i] = (caller){.f = f, .x = x};
        run_callers(callers, THREADS);
        for (int i = 0; i < THREADS; i++) {
            cr_assert_eq(callers[i].status, TG_OK);
            cr_assert_eq(callers[i].first, 2);
        }
        cr_assert_eq(n_runs, 1);
        cr_assert_eq(tg_function_trace_count(f), 1);
        tg_function_release(f);
    }
    tg_tensor_release(x);
    session_end(&s);
}

static void count_and_own(tg_trace *t, const tg_value *in, void *user)
{
    atomic_fetch_add((atomic_int *)user, 1);
    usleep(500);
    tg_variable *n = tg_own_variable(t, "n", TG_F32, TG_SCALAR, tg_zeros());
    (void)in;
    tg_return(t, tg_assign_add(n, 1));
}

Test(semantics, line_10_eight_signatures_at_once_share_their_own_variable,
     .init = arm_watchdog)
{
    session s;
    session_begin(&s);
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.policy = TG_EXACT;
    for (int round = 0; round < ROUNDS; round++) {
        atomic_int n_runs = 0;
        tg_function *f =
            tg_function_create(s.ctx, count_and_own, &n_runs, &options);
        caller callers[THREADS] = {0};
        for (int i = 0; i < THREADS; i++)
            callers[i] = (caller){.f = f, .x = ones(s.ctx, i + 1)};
        run_callers(callers, THREADS);
        float sum = 0;
        for (int i = 0; i < THREADS; i++) {
            cr_assert_eq(callers[i].status, TG_OK);
            sum += callers[i].first;
            tg_tensor_release(callers[i].x);
        }
        cr_assert_eq(sum, THREADS * (THREADS + 1) / 2);
        cr_assert_eq(n_runs, THREADS);
        cr_assert_eq(
            tg_context_variables(s.ctx, TG_ALL_VARIABLES, NULL, 0), 1);
        tg_function_release(f);
        check_works(tg_compile_wait(s.ctx)); /* a background compile keeps
                                                the variable alive */
    }
    session_end(&s);
}

/* -- A trace that fails ---------------------------------------------------- */

typedef struct trial {
    atomic_int n_runs;
    int n_failures; /* this many of the first runs fail */
} trial;

static void fail_at_first(tg_trace *t, const tg_value *in, void *user)
{
    trial *now = user;
    const int run = atomic_fetch_add(&now->n_runs, 1);
    usleep(500);
    if (run < now->n_failures)
        tg_fail(t, "run %d fails", run);
    tg_return(t, tg_mul(in[0], 2));
}

Test(semantics, line_10_a_waiter_traces_again_after_a_failed_trace,
     .init = arm_watchdog)
{
    session s;
    session_begin(&s);
    tg_tensor *x = ones(s.ctx, 3);
    for (int n_failures = 0; n_failures <= THREADS; n_failures++) {
        trial now = {.n_failures = n_failures};
        tg_function *f = tg_function_create(s.ctx, fail_at_first, &now, NULL);
        caller callers[THREADS] = {0};
        for (int i = 0; i < THREADS; i++)
            callers[i] = (caller){.f = f, .x = x};
        run_callers(callers, THREADS);
        int n_failed = 0;
        for (int i = 0; i < THREADS; i++) {
            n_failed += callers[i].status == TG_ERROR_CALLBACK;
            cr_assert(callers[i].status == TG_ERROR_CALLBACK ||
                      (callers[i].status == TG_OK && callers[i].first == 2));
        }
        cr_assert_eq(n_failed, n_failures);
        cr_assert_eq(tg_function_trace_count(f), n_failures < THREADS);
        tg_function_release(f);
    }
    tg_tensor_release(x);
    session_end(&s);
}

/* -- Traces side by side --------------------------------------------------- */

typedef struct meeting {
    pthread_barrier_t barrier;
    atomic_bool is_open; /* callbacks wait for each other only then */
} meeting;

static void meet_and_double(tg_trace *t, const tg_value *in, void *user)
{
    meeting *m = user;
    if (m->is_open)
        pthread_barrier_wait(&m->barrier);
    tg_return(t, tg_mul(in[0], 2));
}

Test(semantics, line_10_two_signatures_are_traced_concurrently,
     .init = arm_watchdog)
{
    session s;
    session_begin(&s);
    meeting m = {.is_open = false};
    pthread_barrier_init(&m.barrier, NULL, 2);
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.policy = TG_EXACT;
    tg_function *f =
        tg_function_create(s.ctx, meet_and_double, &m, &options);
    tg_tensor *x[3];
    for (int i = 0; i < 3; i++)
        x[i] = ones(s.ctx, i + 1);
    call_only(f, TG_ARGS(x[0])); /* the first trace of a function runs alone */
    m.is_open = true;
    caller callers[2] = {{.f = f, .x = x[1]}, {.f = f, .x = x[2]}};
    run_callers(callers, 2); /* ends only if both callbacks run at once */
    cr_assert_eq(callers[0].status, TG_OK);
    cr_assert_eq(callers[1].status, TG_OK);
    cr_assert_eq(tg_function_trace_count(f), 3);
    for (int i = 0; i < 3; i++)
        tg_tensor_release(x[i]);
    tg_function_release(f);
    pthread_barrier_destroy(&m.barrier);
    session_end(&s);
}

/* -- Circles --------------------------------------------------------------- */

typedef struct ring {
    pthread_barrier_t *barrier;
    atomic_bool has_met;
    tg_function *next;
} ring;

/* The first time, waits until all functions of the ring are being traced;
   then applies the next one. */
static void need_the_next(tg_trace *t, const tg_value *in, void *user)
{
    ring *r = user;
    if (!atomic_exchange(&r->has_met, true))
        pthread_barrier_wait(r->barrier);
    tg_value y;
    tg_apply(r->next, TG_ARGS(in[0]), &y, 1);
    tg_return(t, y);
}

/* n threads, each tracing one function of a ring of n. */
static void check_ring(int n)
{
    session s;
    session_begin(&s);
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, (unsigned)n);
    tg_tensor *x = ones(s.ctx, 3);
    ring rings[THREADS] = {0};
    caller callers[THREADS] = {0};
    for (int i = 0; i < n; i++) {
        rings[i].barrier = &barrier;
        callers[i].x = x;
        callers[i].f =
            tg_function_create(s.ctx, need_the_next, &rings[i], NULL);
    }
    for (int i = 0; i < n; i++)
        rings[i].next = callers[(i + 1) % n].f;
    run_callers(callers, n);
    for (int i = 0; i < n; i++) {
        cr_assert_eq(callers[i].status, TG_ERROR_RECURSION, "thread %d: %s", i,
                     tg_status_name(callers[i].status));
        cr_assert_eq(tg_function_trace_count(callers[i].f), 0);
    }

    /* No thread is left waiting or half-traced: without the cycle, the ring
       works. */
    atomic_int n_runs = 0;
    tg_function *f = tg_function_create(s.ctx, slow_twice, &n_runs, NULL);
    rings[n - 1].next = f;
    check_f32(call_one(callers[0].f, TG_ARGS(x)), 2, 2, 2);
    tg_function_release(f);
    for (int i = 0; i < n; i++)
        tg_function_release(callers[i].f);
    tg_tensor_release(x);
    pthread_barrier_destroy(&barrier);
    session_end(&s);
}

Test(semantics, line_10_a_circle_of_two_threads_is_recursion,
     .init = arm_watchdog)
{
    for (int round = 0; round < ROUNDS; round++)
        check_ring(2);
}

Test(semantics, line_10_a_circle_of_many_threads_is_recursion,
     .init = arm_watchdog)
{
    for (int n = 1; n <= THREADS; n++)
        check_ring(n);
}

/* A chain is not a cycle: all wait for the last, and all get their results. */
Test(semantics, line_10_threads_that_wait_in_a_row_all_get_results,
     .init = arm_watchdog)
{
    session s;
    session_begin(&s);
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, THREADS - 1);
    atomic_int n_runs = 0;
    tg_tensor *x = ones(s.ctx, 3);
    ring rings[THREADS - 1] = {0};
    caller callers[THREADS] = {0};
    for (int i = 0; i < THREADS - 1; i++) {
        rings[i].barrier = &barrier;
        callers[i].f =
            tg_function_create(s.ctx, need_the_next, &rings[i], NULL);
    }
    callers[THREADS - 1].f =
        tg_function_create(s.ctx, slow_twice, &n_runs, NULL);
    for (int i = 0; i < THREADS; i++)
        callers[i].x = x;
    for (int i = 0; i < THREADS - 1; i++)
        rings[i].next = callers[i + 1].f;
    run_callers(callers, THREADS);
    for (int i = 0; i < THREADS; i++) {
        cr_assert_eq(callers[i].status, TG_OK, "thread %d: %s", i,
                     tg_status_name(callers[i].status));
        cr_assert_eq(callers[i].first, 2);
        cr_assert_eq(tg_function_trace_count(callers[i].f), 1);
    }
    cr_assert_eq(n_runs, 1);
    for (int i = 0; i < THREADS; i++)
        tg_function_release(callers[i].f);
    tg_tensor_release(x);
    pthread_barrier_destroy(&barrier);
    session_end(&s);
}
