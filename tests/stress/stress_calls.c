/* SPDX-License-Identifier: MIT */
/*
 * stress_calls.c - eight threads call, bind, clear, map and inspect the same
 * functions and variables. Every call is atomic: transfers between accounts
 * never lose money or expose an intermediate state, and counters are exact.
 *
 * A plain program, so that it runs under ThreadSanitizer too. Takes the number
 * of rounds per thread. Most rounds trace again and are interpreted; then some
 * are compiled. stress_compile.c has more.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tgjit.h"

enum {
    THREADS = 8,
    DEFAULT_ROUNDS = 4000,
    FEWER_COMPILED = 25, /* factor */
    STARTS = 30, /* functions whose first calls race */
    BALANCE = 1000, /* initial balance of each account */
    ACCOUNTS = 1000, /* per variable, so that a call takes a while */
    WATCHDOG_SECONDS = 540
};

static atomic_long n_passed, n_failed;

/* Counts a check; reports the first few failures. */
static void check(bool good, const char *what, int line)
{
    if (good) {
        atomic_fetch_add(&n_passed, 1);
    } else if (atomic_fetch_add(&n_failed, 1) < 20) {
        fprintf(stderr, "stress_calls.c:%d: %s: %s\n", line, what,
                tg_error(NULL));
    }
}

#define CHECK(condition) check(condition, #condition, __LINE__)

/* -- Shared state ---------------------------------------------------------- */

typedef struct bank {
    tg_variable *from, *to; /* in one group */
} bank;
static const tg_bundle_field bank_fields[] = {TG_FIELD(bank, from),
                                              TG_FIELD(bank, to)};
static const tg_bundle_type bank_type = TG_BUNDLE(bank, bank_fields);

typedef struct shared {
    tg_context *ctx;
    bank grouped;          /* two variables in one group */
    bank apart;            /* two variables in two groups */
    tg_variable *n_calls;  /* counts runs of `count` */
    tg_variable *n_mapped; /* counts additions by the host */
    tg_function *transfer, *audit, *count, *both, *lengths, *lazy;
    tg_function *starts[STARTS]; /* traced, but not called yet */
    tg_tensor *two;
    long rounds;
    pthread_barrier_t start; /* for all threads */
    atomic_long expected_calls, expected_maps, expected_lazy;
    atomic_int n_lazy_traces;
} shared;

/* Moves in[1] between the accounts of the bundle in[0]. */
static void transfer(tg_trace *t, const tg_value *in, void *user)
{
    const bank *b = tg_bundle_argument(t, 0, &bank_type);
    (void)user;
    if (!b)
        return;
    tg_assign_sub(b->from, in[1]);
    tg_assign_add(b->to, in[1]);
    tg_return(t, tg_sum(tg_add(b->from, b->to), TG_ALL_AXES));
}

/* The sum of all captured accounts. */
static void audit(tg_trace *t, const tg_value *in, void *user)
{
    const shared *s = user;
    (void)in;
    tg_return(t, tg_sum(tg_add(s->grouped.from, s->grouped.to), TG_ALL_AXES),
              tg_sum(tg_add(s->apart.from, s->apart.to), TG_ALL_AXES));
}

static void count(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_assign_add(in[0], 1));
}

/* Transfers from the second bank and counts, by applying functions. */
static void both(tg_trace *t, const tg_value *in, void *user)
{
    const shared *s = user;
    tg_value sum = {0};
    tg_apply(s->transfer, TG_ARGS(tg_bundle_of(&bank_type, &s->apart), in[0]),
             &sum, 1);
    tg_apply(s->count, TG_ARGS(s->n_calls), NULL, 0);
    tg_return(t, sum);
}

/* The length of its argument, computed from its elements. */
static void lengths(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_sum(tg_add(tg_mul(in[0], 0), 1), TG_ALL_AXES));
}

/* Counts in its own variable. */
static void lazy(tg_trace *t, const tg_value *in, void *user)
{
    shared *s = user;
    atomic_fetch_add(&s->n_lazy_traces, 1);
    tg_variable *n = tg_own_variable_from(t, "n", tg_mul(in[0], 0));
    tg_return(t, tg_assign_add(n, 1));
}

/* Creates its own variable and only initialises it. */
static void start(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_own_variable_from(t, "unused", tg_mul(in[0], 2));
}

/* -- Threads --------------------------------------------------------------- */

static uint64_t random_next(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static int64_t number_in(tg_tensor *tensor)
{
    int64_t number = tensor ? *(int64_t *)tg_tensor_data(tensor) : -1;
    tg_tensor_release(tensor);
    return number;
}

static const int64_t all_money = (int64_t)2 * BALANCE * ACCOUNTS;

static void do_transfer(shared *s, int64_t amount)
{
    tg_tensor *sum = NULL;
    const bank *b = amount & 1 ? &s->grouped : &s->apart;
    CHECK(tg_call(s->transfer, TG_ARGS(tg_bundle_of(&bank_type, b), amount),
                  TG_RESULTS(&sum)) == TG_OK);
    CHECK(number_in(sum) == all_money);
}

static void do_audit(shared *s)
{
    tg_tensor *a = NULL, *b = NULL;
    CHECK(tg_call(s->audit, TG_ARGS(), TG_RESULTS(&a, &b)) == TG_OK);
    CHECK(number_in(a) == all_money);
    CHECK(number_in(b) == all_money);
}

static void do_both(shared *s, int64_t amount)
{
    tg_tensor *sum = NULL;
    CHECK(tg_call(s->both, TG_ARGS(amount), TG_RESULTS(&sum)) == TG_OK);
    CHECK(number_in(sum) == all_money);
    atomic_fetch_add(&s->expected_calls, 1);
}

static void do_bound(shared *s, int n)
{
    tg_tensor *before = NULL;
    tg_bound *b = tg_bind(s->count, TG_ARGS(s->n_calls), TG_RESULTS(&before));
    CHECK(b != NULL);
    for (int i = 0; i < n; i++) {
        CHECK(tg_run(b) == TG_OK);
        atomic_fetch_add(&s->expected_calls, 1);
    }
    tg_bound_release(b);
    tg_tensor_release(before);
}

static void do_lengths(shared *s, int64_t n)
{
    float data[16] = {0};
    tg_tensor *x = tg_tensor_wrap(s->ctx, data, TG_F32, TG_DIMS(n));
    tg_tensor *y = NULL;
    CHECK(tg_call(s->lengths, TG_ARGS(x), TG_RESULTS(&y)) == TG_OK);
    CHECK(y && *(float *)tg_tensor_data(y) == (float)n);
    tg_tensor_release(x);
    tg_tensor_release(y);
}

static void do_map(shared *s)
{
    int64_t *n = tg_variable_map(s->n_mapped, TG_WRITE);
    CHECK(n != NULL);
    ++*n;
    CHECK(tg_variable_unmap(s->n_mapped) == TG_OK);
    atomic_fetch_add(&s->expected_maps, 1);

    /* Two variables of one group share a lock. */
    const int64_t *from = tg_variable_map(s->grouped.from, TG_READ);
    const int64_t *to = tg_variable_map(s->grouped.to, TG_READ);
    int64_t sum = 0;
    for (int i = 0; from && to && i < ACCOUNTS; i++)
        sum += from[i] + to[i];
    CHECK(sum == all_money);
    CHECK(tg_variable_unmap(s->grouped.to) == TG_OK);
    CHECK(tg_variable_unmap(s->grouped.from) == TG_OK);
}

static void do_looking(shared *s)
{
    tg_variable *list[128];
    char *text = tg_function_text(s->lengths, TG_TEXT_VERBOSE);
    char *reasons = tg_explain_retrace(s->lengths);
    CHECK(text && reasons);
    tg_text_free(text);
    tg_text_free(reasons);
    tg_variable *v = tg_variable_create(s->ctx, "passing", TG_F32, TG_DIMS(3),
                                        tg_seeded(tg_uniform(0, 1), 5));
    const size_t n = tg_context_variables(s->ctx, TG_ALL_VARIABLES, list, 128);
    CHECK(n >= 7 && n <= 128);
    for (size_t i = 0; i < n; i++)
        tg_variable_release(list[i]);
    tg_variable_release(v);
}

static void do_lazy(shared *s, int64_t first)
{
    CHECK(tg_call(s->lazy, TG_ARGS(first), TG_RESULTS()) == TG_OK);
    atomic_fetch_add(&s->expected_lazy, 1);
}

static void do_clear(shared *s, unsigned which)
{
    tg_function *const all[] = {s->transfer, s->audit,   s->count,
                                s->both,     s->lengths, s->lazy};
    tg_function_clear(all[which % 6]);
}

typedef struct worker {
    pthread_t thread;
    shared *s;
    uint64_t seed;
} worker;

static void *work(void *user)
{
    worker *w = user;
    shared *s = w->s;
    for (int i = 0; i < STARTS; i++) {
        pthread_barrier_wait(&s->start);
        CHECK(tg_call(s->starts[i], TG_ARGS(s->two), TG_RESULTS()) == TG_OK);
    }
    pthread_barrier_wait(&s->start);
    do_lazy(s, 7); /* all threads at once, before anything is traced */
    for (long i = 0; i < s->rounds; i++) {
        const uint64_t dice = random_next(&w->seed);
        const int64_t amount = (int64_t)(dice >> 8 & 63) - 32;
        switch (dice & 15) {
        case 0:
            do_audit(s);
            break;
        case 1:
            do_bound(s, 3);
            break;
        case 2:
            do_map(s);
            break;
        case 3:
            do_looking(s);
            break;
        case 4:
            do_lazy(s, amount);
            break;
        case 5:
            do_clear(s, (unsigned)(dice >> 32));
            break;
        case 6:
        case 7:
        case 8:
            do_lengths(s, (int64_t)(dice >> 8 & 15) + 1);
            break;
        case 9:
        case 10:
        case 11:
            do_both(s, amount);
            break;
        default:
            do_transfer(s, amount);
            break;
        }
    }
    return NULL;
}

/* -- The whole ------------------------------------------------------------- */

static tg_variable *accounts(tg_context *ctx, const char *name,
                             tg_group *group)
{
    tg_variable_options options = TG_VARIABLE_OPTIONS_INIT;
    options.group = group;
    return tg_variable_create_with(ctx, name, TG_I64, TG_DIMS(ACCOUNTS),
                                   tg_fill(BALANCE), &options);
}

static tg_variable *counter(tg_context *ctx, const char *name)
{
    return tg_variable_create(ctx, name, TG_I64, TG_SCALAR, tg_zeros());
}

static int64_t contents(tg_variable *v)
{
    int64_t number = -1;
    CHECK(tg_variable_get(v, &number, sizeof number) == TG_OK);
    return number;
}

static void shared_init(shared *s, long rounds, const char *jit)
{
    const tg_context_options options = {.struct_bytes = sizeof options,
                                        .jit = jit};
    memset(s, 0, sizeof *s);
    s->rounds = rounds;
    s->ctx = tg_context_create(&options);
    tg_group *group = tg_group_create(s->ctx);
    s->grouped.from = accounts(s->ctx, "from", group);
    s->grouped.to = accounts(s->ctx, "to", group);
    s->apart.from = accounts(s->ctx, "from", NULL);
    s->apart.to = accounts(s->ctx, "to", NULL);
    s->n_calls = counter(s->ctx, "calls");
    s->n_mapped = counter(s->ctx, "mapped");
    tg_group_release(group);

    tg_function_options few = TG_FUNCTION_OPTIONS_INIT;
    few.max_traces = 3;
    few.policy = TG_EXACT;
    s->transfer = tg_function_create(s->ctx, transfer, s, NULL);
    s->audit = tg_function_create(s->ctx, audit, s, NULL);
    s->count = tg_function_create(s->ctx, count, s, NULL);
    s->both = tg_function_create(s->ctx, both, s, NULL);
    s->lengths = tg_function_create(s->ctx, lengths, s, &few);
    s->lazy = tg_function_create(s->ctx, lazy, s, NULL);
    s->two = tg_tensor_copy(s->ctx, &(int64_t){2}, TG_I64, TG_SCALAR);
    const tg_spec spec = tg_spec_tensor(TG_I64, TG_SCALAR);
    for (int i = 0; i < STARTS; i++) {
        s->starts[i] = tg_function_create(s->ctx, start, s, NULL);
        tg_concrete_release(tg_function_concrete(s->starts[i], &spec, 1));
    }
    pthread_barrier_init(&s->start, NULL, THREADS);
}

static void shared_deinit(shared *s)
{
    /* What is compiled in the background keeps its objects. */
    CHECK(tg_compile_wait(s->ctx) == TG_OK);
    tg_function_release(s->both);
    tg_function_release(s->transfer);
    tg_function_release(s->audit);
    tg_function_release(s->count);
    tg_function_release(s->lengths);
    tg_function_release(s->lazy);
    for (int i = 0; i < STARTS; i++)
        tg_function_release(s->starts[i]);
    tg_tensor_release(s->two);
    tg_bundle_release(&bank_type, &s->grouped);
    tg_bundle_release(&bank_type, &s->apart);
    tg_variable_release(s->n_calls);
    tg_variable_release(s->n_mapped);
    tg_context_release(s->ctx);
    pthread_barrier_destroy(&s->start);
}

static void run_all(long rounds, const char *jit)
{
    shared s;
    worker workers[THREADS];
    shared_init(&s, rounds, jit);
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i].s = &s;
        workers[i].seed = i + 1;
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);

    do_audit(&s);
    CHECK(contents(s.n_calls) == s.expected_calls);
    CHECK(contents(s.n_mapped) == s.expected_maps);
    tg_variable *own = tg_context_find_variable(s.ctx, "lazy/n");
    CHECK(own && contents(own) == s.expected_lazy);
    tg_variable_release(own);
    own = tg_context_find_variable(s.ctx, "start/unused");
    CHECK(own && contents(own) == 4);
    tg_variable_release(own);
    CHECK((size_t)s.n_lazy_traces == tg_function_trace_count(s.lazy));
    shared_deinit(&s);
    CHECK(tg_live_objects() == 0 && tg_live_bytes() == 0);
}

int main(int argc, char **argv)
{
    const long rounds = argc > 1 ? atol(argv[1]) : DEFAULT_ROUNDS;
    alarm(WATCHDOG_SECONDS);
    run_all(rounds, "off");
    run_all(rounds / FEWER_COMPILED, "auto");
    printf("%ld passed, %ld failed\n", n_passed, n_failed);
    return n_failed ? 1 : 0;
}
