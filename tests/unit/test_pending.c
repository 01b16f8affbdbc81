/* SPDX-License-Identifier: MIT */
/*
 * test_pending.c - pending traces: a trace may be more general than the call
 * that started it, and both its thread and others must recognise it. And no
 * user code runs while a table is locked.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "support/api.h"

/* -- Recursion ------------------------------------------------------------- */

typedef struct loop {
    tg_function *f;
    tg_tensor *x; /* the argument of the callback's call of f, or NULL */
    int depth;
} loop;

static void calls_itself(tg_trace *t, const tg_value *in, void *user)
{
    loop *l = user;
    tg_value y = in[0];
    if (l->x && ++l->depth > 20)
        tg_fail(t, "it goes on for ever");
    else if (l->x)
        tg_apply(l->f, TG_ARGS(l->x), &y, 1);
    tg_return(t, y);
}

Test(pending, recursion_is_seen_in_a_generalised_trace)
{
    session s;
    session_begin(&s);
    loop l = {0};
    l.f = tg_function_create(s.ctx, calls_itself, &l, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2, 3);
    call_only(l.f, TG_ARGS(x));
    l.x = f32_vector(s.ctx, 1, 2, 3, 4);
    check_fails(tg_call(l.f, TG_ARGS(l.x), TG_RESULTS()), TG_ERROR_RECURSION,
                "calls_itself", "depends on its own trace");
    cr_assert_eq(l.depth, 1);
    tg_tensor_release(l.x);
    tg_tensor_release(x);
    tg_function_release(l.f);
    session_end(&s);
}

Test(pending, recursion_is_seen_through_a_declared_signature)
{
    session s;
    session_begin(&s);
    const tg_spec signature[] = {tg_spec_tensor(TG_F32, TG_DIMS(TG_UNKNOWN))};
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.signature = signature;
    options.n_signature = 1;
    loop l = {.x = f32_vector(s.ctx, 1, 2, 3)};
    l.f = tg_function_create(s.ctx, calls_itself, &l, &options);
    check_fails(tg_call(l.f, TG_ARGS(l.x), TG_RESULTS()), TG_ERROR_RECURSION,
                "calls_itself", "depends on its own trace");
    cr_assert_eq(l.depth, 1);
    tg_tensor_release(l.x);
    tg_function_release(l.f);
    session_end(&s);
}

/* -- Threads --------------------------------------------------------------- */

enum { THREADS = 6 };

typedef struct caller {
    tg_context *ctx;
    tg_function *f;
    int64_t n;
    tg_status status;
} caller;

static atomic_int n_calls, n_awaited;

/* Traces until all callers have arrived, and long enough for their lookups. */
static void slow(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    while (atomic_load(&n_calls) < atomic_load(&n_awaited))
        sched_yield();
    for (int i = 0; i < 1000; i++)
        sched_yield();
    tg_return(t, tg_neg(in[0]));
}

static void *call_slow(void *user)
{
    caller *c = user;
    tg_tensor *x = tg_tensor_create(c->ctx, TG_F32, TG_DIMS(c->n), tg_zeros());
    atomic_fetch_add(&n_calls, 1);
    c->status = tg_call(c->f, TG_ARGS(x), TG_RESULTS());
    tg_tensor_release(x);
    return NULL;
}

Test(pending, threads_with_other_lengths_share_one_generalised_trace)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, slow, NULL, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1);
    call_only(f, TG_ARGS(x));
    atomic_store(&n_awaited, THREADS);
    caller callers[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        callers[i] = (caller){s.ctx, f, 2 + i, TG_ERROR_INTERNAL};
        pthread_create(&threads[i], NULL, call_slow, &callers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        check_works(callers[i].status);
    }
    cr_assert_eq(tg_function_trace_count(f), 2, "%zu traces",
                 tg_function_trace_count(f));
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

/* -- Locks ----------------------------------------------------------------- */

static tg_function *queried;
static size_t n_answers;

static void query(tg_log_level level, const char *component,
                  const char *message, void *user)
{
    (void)level, (void)component, (void)message, (void)user;
    cr_assert_eq(tg_function_trace_count(queried), 0);
    n_answers++;
}

Test(pending, a_log_callback_may_query_its_function, .timeout = 20)
{
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.explain = "retrace";
    options.log_callback = query;
    tg_context *ctx = tg_context_create(&options);
    queried = tg_function_create(ctx, slow, NULL, NULL);
    call_only(queried, TG_ARGS(1.0f));
    cr_assert_eq(n_answers, 1);
    tg_function_release(queried);
    tg_context_release(ctx);
    check_nothing_is_alive();
}
