/* SPDX-License-Identifier: MIT */
/*
 * stress_compile.c - eight threads call and compile the same and different
 * functions at once. First calls race, and each signature and variant is
 * compiled once; in every second round, with the in-memory code cache, equal
 * functions are compiled once in total. Traces are evicted while others run
 * them, and any thread may release the last reference.
 *
 * A plain program, so that it runs under ThreadSanitizer too. Takes the number
 * of rounds.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jit.h"
#include "tgjit.h"

enum {
    THREADS = 8,
    DEFAULT_ROUNDS = 6,
    CALLS = 25, /* per thread and round, with a small table of traces */
    MAX_ELEMENTS = 40,
    WATCHDOG_SECONDS = 540
};

static atomic_long n_passed, n_failed;

/* Counts a check; reports the first few failures. */
static void check(bool good, const char *what, int line)
{
    if (good) {
        atomic_fetch_add(&n_passed, 1);
    } else if (atomic_fetch_add(&n_failed, 1) < 20) {
        fprintf(stderr, "stress_compile.c:%d: %s: %s\n", line, what,
                tg_error(NULL));
    }
}

#define CHECK(condition) check(condition, #condition, __LINE__)

/* -- Shared state ---------------------------------------------------------- */

typedef struct shared {
    tg_context *ctx;
    pthread_barrier_t barrier;
    tg_function *same;    /* all threads call it with one signature */
    tg_function *relaxed; /* all threads call it with all variants */
    tg_function *few;     /* table of two traces */
    tg_function *own[THREADS];
    tg_variable *counter; /* counts calls of `few` */
    atomic_int n_compiles;
    bool can_compile;
    bool keeps_code; /* uses the code cache in this round */
    long rounds;
} shared;

static void count_compiles(tg_log_level level, const char *component,
                           const char *message, void *user)
{
    shared *s = user;
    (void)level, (void)component;
    if (strstr(message, ": compiled "))
        atomic_fetch_add(&s->n_compiles, 1);
    else
        fprintf(stderr, "%s\n", message);
}

/* The sum of 2 x. */
static void twice(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_sum(tg_add(in[0], in[0]), TG_ALL_AXES));
}

static void twice_and_count(tg_trace *t, const tg_value *in, void *user)
{
    shared *s = user;
    tg_assign_add(s->counter, 1);
    twice(t, in, NULL);
}

/* -- Threads --------------------------------------------------------------- */

typedef struct worker {
    pthread_t thread;
    shared *s;
    uint64_t seed;
    int number;
} worker;

static uint64_t random_next(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Calls with n ones, or binds and runs. */
static void call(shared *s, tg_function *f, int64_t n, bool is_bound)
{
    float data[MAX_ELEMENTS];
    for (int i = 0; i < MAX_ELEMENTS; i++)
        data[i] = 1;
    tg_tensor *x = tg_tensor_wrap(s->ctx, data, TG_F32, TG_DIMS(n));
    tg_tensor *y = NULL;
    if (is_bound) {
        tg_bound *b = tg_bind(f, TG_ARGS(x), TG_RESULTS(&y));
        CHECK(b != NULL);
        CHECK(b && tg_run(b) == TG_OK);
        tg_bound_release(b);
    } else {
        CHECK(tg_call(f, TG_ARGS(x), TG_RESULTS(&y)) == TG_OK);
    }
    CHECK(y && *(float *)tg_tensor_data(y) == 2 * (float)n);
    tg_tensor_release(x);
    tg_tensor_release(y);
}

/* Barrier; one thread executes `what`, and all see its effect. */
static void meet(worker *w, void (*what)(shared *s))
{
    pthread_barrier_wait(&w->s->barrier);
    if (w->number == 0 && what)
        what(w->s);
    pthread_barrier_wait(&w->s->barrier);
}

static void expect_compiles(shared *s, int n)
{
    const int seen = atomic_exchange(&s->n_compiles, 0);
    if (seen != (s->can_compile ? n : 0))
        fprintf(stderr, "%d compiles, not %d\n", seen, n);
    CHECK(seen == (s->can_compile ? n : 0));
}

static void begin_round(shared *s)
{
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    s->keeps_code = !s->keeps_code;
    tg_code_limit(s->keeps_code ? 64 << 20 : 0);
    tg_code_clear();
    s->same = tg_function_create(s->ctx, twice, s, NULL);
    options.policy = TG_RELAXED;
    s->relaxed = tg_function_create(s->ctx, twice, s, &options);
    options.policy = TG_EXACT;
    options.max_traces = 2;
    s->few = tg_function_create(s->ctx, twice_and_count, s, &options);
    for (int i = 0; i < THREADS; i++)
        s->own[i] = tg_function_create(s->ctx, twice, s, NULL);
    /* One reference for each thread. */
    for (int i = 1; i < THREADS; i++) {
        tg_function_retain(s->same);
        tg_function_retain(s->relaxed);
        tg_function_retain(s->few);
    }
}

static void end_same(shared *s)
{
    CHECK(tg_function_trace_count(s->same) == 1);
    expect_compiles(s, 1);
}

static void end_relaxed(shared *s)
{
    CHECK(tg_function_trace_count(s->relaxed) == 1);
    expect_compiles(s, 3); /* zero, one, many elements */
    tg_code_clear();
}

static void end_own(shared *s)
{
    expect_compiles(s, s->keeps_code ? 1 : THREADS);
}

static void end_few(shared *s)
{
    int64_t n = -1;
    CHECK(tg_variable_get(s->counter, &n, sizeof n) == TG_OK);
    CHECK(n == THREADS * CALLS);
    n = 0;
    CHECK(tg_variable_set(s->counter, &n, sizeof n) == TG_OK);
    const int n_compiles = atomic_exchange(&s->n_compiles, 0);
    CHECK(n_compiles == 0 || s->can_compile);
    CHECK((size_t)n_compiles <= tg_function_trace_count(s->few));
}

static void *work(void *user)
{
    worker *w = user;
    shared *s = w->s;
    for (long round = 0; round < s->rounds; round++) {
        meet(w, begin_round);
        call(s, s->same, MAX_ELEMENTS, w->number & 1);
        meet(w, end_same);
        for (int i = 0; i < 3; i++) {
            const int class = (w->number + i) % 3;
            call(s, s->relaxed, class == 2 ? 2 + w->number : class, false);
        }
        meet(w, end_relaxed);
        call(s, s->own[w->number], MAX_ELEMENTS, false);
        meet(w, end_own);
        for (int i = 0; i < CALLS; i++) {
            const uint64_t dice = random_next(&w->seed);
            call(s, s->few, 1 + (int64_t)(dice >> 8 & 3), dice >> 16 & 1);
            if ((dice >> 24 & 31) == 0)
                tg_function_clear(s->few);
        }
        meet(w, end_few);
        /* The thread that releases a function last frees it. */
        call(s, s->same, MAX_ELEMENTS, false);
        tg_function_release(s->own[w->number]);
        tg_function_release(s->same);
        tg_function_release(s->relaxed);
        tg_function_release(s->few);
    }
    return NULL;
}

/* -- The program ----------------------------------------------------------- */

int main(int argc, char **argv)
{
    static shared s;
    worker workers[THREADS];
    char text[256];
    alarm(WATCHDOG_SECONDS);
    s.can_compile = tgi_jit_describe(text, sizeof text);
    setenv("TGJIT_GRAIN", "0", 1); /* so that every thread has a team */
    const tg_context_options options = {
        .struct_bytes = sizeof options,
        .log = "warn,+jit",
        .log_callback = count_compiles,
        .log_user = &s,
        .jit = s.can_compile ? "required" : "off",
        .threads = 2,
    };
    s.ctx = tg_context_create(&options);
    s.rounds = argc > 1 ? atol(argv[1]) : DEFAULT_ROUNDS;
    s.counter =
        tg_variable_create(s.ctx, "counter", TG_I64, TG_SCALAR, tg_zeros());
    pthread_barrier_init(&s.barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        workers[i].s = &s;
        workers[i].seed = (uint64_t)i + 1;
        workers[i].number = i;
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_barrier_destroy(&s.barrier);
    tg_variable_release(s.counter);
    tg_context_release(s.ctx);
    CHECK(tg_live_objects() == 0 && tg_live_bytes() == 0);
    printf("%ld passed, %ld failed\n", n_passed, n_failed);
    return n_failed ? 1 : 0;
}
