/* SPDX-License-Identifier: MIT */
/*
 * test_cancel.c - tg_cancel and deadlines: running calls end with a status of
 * their own, variables have the values of a moment between two iterations,
 * results are untouched, and the same call works afterwards.
 */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <unistd.h>

#include "support/control.h"
#include "support/datasets.h"

enum { N = 20000 }; /* elements that all threads of a team share */

/* -- A thread that cancels ------------------------------------------------- */

typedef struct canceller {
    tg_context *ctx;
    atomic_bool must_end;
    pthread_t thread;
} canceller;

/* Again and again: a request may come before the call begins. */
static void *run_canceller(void *user)
{
    canceller *c = user;
    while (!atomic_load(&c->must_end)) {
        usleep(3000);
        tg_cancel(c->ctx);
    }
    return NULL;
}

static void canceller_begin(canceller *c, tg_context *ctx)
{
    c->ctx = ctx;
    atomic_store(&c->must_end, false);
    cr_assert_eq(pthread_create(&c->thread, NULL, run_canceller, c), 0);
}

static void canceller_end(canceller *c)
{
    atomic_store(&c->must_end, true);
    pthread_join(c->thread, NULL);
}

static void check_cancelled(session *s, tg_function *f, int64_t iterations)
{
    canceller c;
    canceller_begin(&c, s->ctx);
    const tg_status status = tg_call(f, TG_ARGS(iterations), TG_RESULTS());
    canceller_end(&c);
    check_fails(status, TG_ERROR_CANCELLED, "test_cancel.c:",
                "cancelled by tg_cancel");
}

/* -- Loops ----------------------------------------------------------------- */

typedef struct pair {
    tg_variable *a, *b;
} pair;

/* b == 2 a after each iteration; the interpreter may end between the two. */
CALLBACK(count_both)
{
    const pair *p = user;
    tg_assign_add(p->a, 1);
    tg_assign(p->b, tg_mul(tg_read(p->a), 2));
}

CALLBACK(count_long)
{
    tg_for(in[0], count_both, user, TG_ARGS(), NULL, 0);
}

CALLBACK(count_outer)
{
    tg_for(INT64_MAX, count_both, user, TG_ARGS(), NULL, 0);
    tg_assign(((const pair *)user)->b, -1);
}

CALLBACK(count_nested)
{
    tg_for(in[0], count_outer, user, TG_ARGS(), NULL, 0);
}

static void fill(tg_variable *v, int64_t value)
{
    int64_t data[N];
    const size_t bytes = tg_variable_bytes(v);
    for (size_t i = 0; i < bytes / sizeof(*data); i++)
        data[i] = value;
    check_works(tg_variable_set(v, data, bytes));
}

/* The value of all elements, which are equal. */
static int64_t value_of(tg_variable *v)
{
    static int64_t data[N];
    const size_t bytes = tg_variable_bytes(v);
    check_works(tg_variable_get(v, data, bytes));
    for (size_t i = 1; i < bytes / sizeof(*data); i++)
        cr_assert_eq(data[i], data[0], "element %zu", i);
    return data[0];
}

static void check_equal(const pair *p)
{
    const int64_t a = value_of(p->a), b = value_of(p->b);
    cr_assert(b == 2 * a || b == 2 * (a - 1), "%lld and %lld", (long long)a,
              (long long)b);
}

static void check_pair(session *s, int rank, tg_callback *callback)
{
    const int64_t dims[] = {N};
    pair p = {
        tg_variable_create(s->ctx, "a", TG_I64, rank, dims, tg_zeros()),
        tg_variable_create(s->ctx, "b", TG_I64, rank, dims, tg_zeros())};
    tg_function *f =
        tg_function_create(s->ctx, callback, &p, NULL);
    check_cancelled(s, f, INT64_MAX);
    const int64_t a = value_of(p.a);
    check_equal(&p);
    if (callback == count_long) { /* the context works */
        check_works(tg_call(f, TG_ARGS((int64_t)40), TG_RESULTS()));
        cr_assert_eq(value_of(p.a), a + 40);
        cr_assert_eq(value_of(p.b), 2 * (a + 40));
    }
    tg_function_release(f);
    tg_variable_release(p.a);
    tg_variable_release(p.b);
}

static void check_scalar(session *s)
{
    check_pair(s, 0, count_long);
}

Test(cancel, ends_a_loop_in_registers)
{
    check_control(check_scalar);
}

static void check_elements(session *s)
{
    check_pair(s, 1, count_long);
}

Test(cancel, ends_a_loop_of_a_team_at_one_iteration)
{
    check_control(check_elements);
}

static void check_nested(session *s)
{
    check_pair(s, 0, count_nested);
    check_pair(s, 1, count_nested);
}

Test(cancel, ends_an_inner_loop)
{
    check_control(check_nested);
}

/* Each iteration needs all elements of the one before. */
CALLBACK(mix)
{
    tg_return(t, tg_add(tg_mul(in[1], 0.5), tg_sum(in[1], TG_ALL_AXES)));
}

CALLBACK(is_true)
{
    tg_return(t, tg_ge(tg_sum(in[0], TG_ALL_AXES), tg_sub(
                    tg_sum(in[0], TG_ALL_AXES), 1)));
}

CALLBACK(keep)
{
    tg_return(t, tg_mul(in[0], tg_sub(2.0, tg_div(tg_sum(in[0], TG_ALL_AXES),
                                                  tg_sum(in[0], TG_ALL_AXES)))));
}

CALLBACK(mix_variable)
{
    tg_value y;
    tg_for(in[0], mix, NULL, TG_ARGS(tg_read((tg_variable *)user)), &y, 1);
    tg_assign((tg_variable *)user, y);
    tg_return(t, y);
}

CALLBACK(keep_variable)
{
    tg_value y;
    tg_while(is_true, keep, NULL, TG_ARGS(tg_read((tg_variable *)user)), &y, 1);
    tg_assign((tg_variable *)user, y);
    tg_return(t, y);
}

/* A variable that a loop would compute in place has its old value. */
static void check_in_place(session *s, tg_callback *callback, int64_t n)
{
    static float data[N], after[N];
    for (int64_t i = 0; i < n; i++)
        data[i] = (float)(i % 7 + 1);
    const size_t bytes = (size_t)n * sizeof(*data);
    tg_variable *v =
        tg_variable_create(s->ctx, "v", TG_F32, TG_DIMS(n), tg_zeros());
    tg_tensor *y = tg_tensor_copy(s->ctx, data, TG_F32, TG_DIMS(n));
    check_works(tg_variable_set(v, data, bytes));
    tg_function *f = tg_function_create(s->ctx, callback, v, NULL);
    /* Compiled before, so that the request comes amid the loop. */
    tg_bound *b = tg_bind(f, TG_ARGS(INT64_MAX), TG_RESULTS(&y));
    canceller c;
    canceller_begin(&c, s->ctx);
    const tg_status status = tg_run(b);
    canceller_end(&c);
    check_fails(status, TG_ERROR_CANCELLED, "cancelled");
    tg_bound_release(b);
    check_works(tg_variable_get(v, after, bytes));
    cr_assert_arr_eq(after, data, bytes);
    cr_assert_arr_eq(tg_tensor_data(y), data, bytes);
    if (callback == mix_variable)
        check_works(tg_call(f, TG_ARGS((int64_t)3), TG_RESULTS(&y)));
    tg_tensor_release(y);
    tg_function_release(f);
    tg_variable_release(v);
}

static void check_carried(session *s)
{
    check_in_place(s, mix_variable, 5);
    check_in_place(s, mix_variable, N);
    check_in_place(s, keep_variable, 5);
    check_in_place(s, keep_variable, N);
}

Test(cancel, leaves_variables_and_results_that_the_loop_would_change)
{
    check_control(check_carried);
}

/* -- From inside ----------------------------------------------------------- */

/* Cancels its own call in its fifth run. */
static tg_status cancel_fifth(const tg_host_buffer *in, size_t n_in,
                              const tg_host_buffer *out, size_t n_out,
                              void *user)
{
    (void)n_in, (void)out, (void)n_out;
    if (*(const int64_t *)in[0].data == 5)
        tg_cancel(*(tg_context **)user);
    return TG_OK;
}

typedef struct counted {
    tg_context *ctx;
    tg_variable *v;
} counted;

CALLBACK(count_and_tell)
{
    counted *c = user;
    tg_assign_add(c->v, 1);
    tg_host_call(t, cancel_fifth, &c->ctx, TG_ARGS(c->v), NULL, NULL, 0);
}

CALLBACK(count_until_told)
{
    tg_for(in[0], count_and_tell, user, TG_ARGS(), NULL, 0);
}

static void check_exact(session *s)
{
    counted c = {s->ctx,
                 tg_variable_create(s->ctx, "v", TG_I64, TG_SCALAR, tg_zeros())};
    tg_function *f = tg_function_create(s->ctx, count_until_told, &c, NULL);
    check_fails(tg_call(f, TG_ARGS((int64_t)100), TG_RESULTS()),
                TG_ERROR_CANCELLED, "test_cancel.c", "tg_call");
    cr_assert_eq(value_of(c.v), 5);
    check_works(tg_call(f, TG_ARGS((int64_t)100), TG_RESULTS()));
    cr_assert_eq(value_of(c.v), 105);
    fill(c.v, 0);
    tg_bound *b = tg_bind(f, TG_ARGS((int64_t)100), TG_RESULTS());
    check_fails(tg_run(b), TG_ERROR_CANCELLED, "tg_run");
    cr_assert_eq(value_of(c.v), 5);
    tg_cancel(s->ctx); /* no call runs */
    tg_cancel(NULL);
    check_works(tg_run(b));
    cr_assert_eq(value_of(c.v), 105);
    tg_bound_release(b);
    tg_function_release(f);
    tg_variable_release(c.v);
}

Test(cancel, ends_the_call_before_the_next_iteration)
{
    check_control(check_exact);
}

static tg_status cancel_now(const tg_host_buffer *in, size_t n_in,
                            const tg_host_buffer *out, size_t n_out, void *user)
{
    (void)in, (void)n_in, (void)out, (void)n_out;
    tg_cancel(*(tg_context **)user);
    return TG_OK;
}

/* Two kernels that depend on each other, then the assignment. */
CALLBACK(assign_after_kernels)
{
    counted *c = user;
    tg_host_call(t, cancel_now, &c->ctx, TG_ARGS(in[0]), NULL, NULL, 0);
    tg_value x = tg_add(in[0], tg_iota(TG_F32, TG_DIMS(N), 0));
    tg_value y = tg_div(x, tg_sum(x, TG_ALL_AXES));
    y = tg_matmul(tg_reshape(y, TG_DIMS(100, 200)),
                  tg_reshape(y, TG_DIMS(200, 100)));
    tg_assign_add(c->v, tg_cast(tg_ge(tg_sum(y, TG_ALL_AXES), -1.0f), TG_I64));
    tg_return(t, y);
}

static void check_kernels(session *s)
{
    counted c = {s->ctx,
                 tg_variable_create(s->ctx, "v", TG_I64, TG_SCALAR, tg_zeros())};
    tg_function *f = tg_function_create(s->ctx, assign_after_kernels, &c, NULL);
    tg_tensor *y = NULL;
    check_fails(tg_call(f, TG_ARGS(1.0f), TG_RESULTS(&y)), TG_ERROR_CANCELLED,
                "tg_call");
    cr_assert_null(y);
    cr_assert_eq(value_of(c.v), 0);
    tg_function_release(f);
    tg_variable_release(c.v);
}

Test(cancel, ends_a_call_without_loops_between_kernels)
{
    check_control(check_kernels);
}

/* -- Traces and compiles --------------------------------------------------- */

static tg_context *traced_context;
static int n_traces;

CALLBACK(cancel_first_trace)
{
    if (n_traces++ == 0)
        tg_cancel(traced_context);
    tg_return(t, tg_exp(in[0]));
}

static void check_trace(session *s)
{
    traced_context = s->ctx;
    n_traces = 0;
    tg_function *f =
        tg_function_create(s->ctx, cancel_first_trace, NULL, NULL);
    tg_tensor *x = f32_vector(s->ctx, 1, 2, 3), *y = NULL;
    check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS(&y)), TG_ERROR_CANCELLED,
                "test_cancel.c", "tg_call");
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&y)));
    cr_assert_eq(n_traces, 2);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
}

Test(cancel, ends_a_trace_which_the_next_call_repeats)
{
    check_control(check_trace);
}

/* -- Signals --------------------------------------------------------------- */

static tg_context *signalled;

static void on_alarm(int number)
{
    (void)number;
    tg_cancel(signalled);
}

static void check_signal(session *s)
{
    signalled = s->ctx;
    const struct sigaction action = {.sa_handler = on_alarm,
                                     .sa_flags = SA_RESTART};
    const struct itimerval often = {{0, 3000}, {0, 3000}};
    const struct itimerval never = {{0, 0}, {0, 0}};
    tg_variable *v = f32_scalar_variable(s->ctx, "v", 1);
    tg_function *f = tg_function_create(s->ctx, mix_variable, v, NULL);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    const tg_status status = tg_call(f, TG_ARGS(INT64_MAX), TG_RESULTS());
    setitimer(ITIMER_REAL, &never, NULL);
    check_fails(status, TG_ERROR_CANCELLED, "cancelled");
    check_variable(v, 1);
    tg_function_release(f);
    tg_variable_release(v);
}

Test(cancel, works_in_a_signal_handler)
{
    check_control(check_signal);
}

/* -- Deadlines ------------------------------------------------------------- */

static void check_deadline(session *s)
{
    tg_variable *v = f32_scalar_variable(s->ctx, "v", 1);
    tg_function *f = tg_function_create(s->ctx, mix_variable, v, NULL);
    check_works(tg_call(f, TG_ARGS((int64_t)1), TG_RESULTS()));
    check_variable(v, 1.5f);
    check_fails(tg_call_within(f, 0.02, TG_ARGS(INT64_MAX), TG_RESULTS()),
                TG_ERROR_DEADLINE, "test_cancel.c", "deadline of 0.02 s");
    check_variable(v, 1.5f);
    check_fails(tg_call_within(f, 0, TG_ARGS((int64_t)1), TG_RESULTS()),
                TG_ERROR_DEADLINE, "test_cancel.c", "tg_call_within");
    check_fails(tg_call_within(f, NAN, TG_ARGS((int64_t)1), TG_RESULTS()),
                TG_ERROR_DEADLINE, "tg_call_within");
    check_fails(tg_call_within(NULL, 1, TG_ARGS(), TG_RESULTS()),
                TG_ERROR_INVALID_ARGUMENT, "NULL");
    check_works(tg_call_within(f, 1000, TG_ARGS((int64_t)100), TG_RESULTS()));
    check_works(tg_call_within(f, INFINITY, TG_ARGS((int64_t)1), TG_RESULTS()));
    tg_bound *b = tg_bind(f, TG_ARGS(INT64_MAX), TG_RESULTS());
    check_fails(tg_run_within(b, 0.01), TG_ERROR_DEADLINE, "tg_run");
    check_fails(tg_run_within(b, -1), TG_ERROR_DEADLINE, "tg_run_within");
    check_fails(tg_run_within(NULL, 1), TG_ERROR_INVALID_ARGUMENT, "NULL");
    tg_bound_release(b);
    tg_function_release(f);
    tg_variable_release(v);
}

Test(cancel, deadlines_end_calls)
{
    check_control(check_deadline);
}

static void check_team_deadline(session *s)
{
    check_pair(s, 1, count_long);
    const int64_t dims[] = {N};
    pair p = {tg_variable_create(s->ctx, "c", TG_I64, 1, dims, tg_zeros()),
                    tg_variable_create(s->ctx, "d", TG_I64, 1, dims,
                                       tg_zeros())};
    tg_function *f = tg_function_create(s->ctx, count_long, &p, NULL);
    check_fails(tg_call_within(f, 0.02, TG_ARGS(INT64_MAX), TG_RESULTS()),
                TG_ERROR_DEADLINE, "deadline");
    check_equal(&p);
    tg_function_release(f);
    tg_variable_release(p.a);
    tg_variable_release(p.b);
}

Test(cancel, deadlines_end_all_threads_at_one_iteration)
{
    check_control(check_team_deadline);
}

/* A call inside of a call has the deadline of that. */
static tg_status call_inner(const tg_host_buffer *in, size_t n_in,
                            const tg_host_buffer *out, size_t n_out, void *user)
{
    (void)in, (void)n_in, (void)out, (void)n_out;
    return tg_call(user, TG_ARGS(INT64_MAX), TG_RESULTS());
}

CALLBACK(call_host)
{
    tg_host_call(t, call_inner, user, TG_ARGS(in[0]), NULL, NULL, 0);
}

static void check_inner(session *s)
{
    tg_variable *v = f32_scalar_variable(s->ctx, "v", 1);
    tg_function *inner = tg_function_create(s->ctx, mix_variable, v, NULL);
    tg_function *f = tg_function_create(s->ctx, call_host, inner, NULL);
    check_fails(tg_call_within(f, 0.02, TG_ARGS(1.0f), TG_RESULTS()),
                TG_ERROR_DEADLINE, "deadline");
    canceller c;
    canceller_begin(&c, s->ctx);
    const tg_status status = tg_call(f, TG_ARGS(1.0f), TG_RESULTS());
    canceller_end(&c);
    check_fails(status, TG_ERROR_CANCELLED, "cancelled");
    tg_function_release(f);
    tg_function_release(inner);
    tg_variable_release(v);
}

Test(cancel, ends_calls_of_host_functions)
{
    check_control(check_inner);
}

/* -- Datasets -------------------------------------------------------------- */

CALLBACK(is_negative)
{
    tg_return(t, tg_lt(in[0], 0));
}

CALLBACK(loop_for_ever)
{
    tg_value y;
    tg_for(INT64_MAX, mix, NULL, TG_ARGS(tg_cast(in[0], TG_F32)), &y, 1);
    tg_return(t, y);
}

static void check_next(session *s, tg_dataset *d)
{
    canceller c;
    tg_iterator *it = tg_iterate(d);
    cr_assert_not_null(it, "%s", tg_error(NULL));
    canceller_begin(&c, s->ctx);
    const tg_status status = tg_next(it, TG_RESULTS(NULL));
    canceller_end(&c);
    check_fails(status, TG_ERROR_CANCELLED, "cancelled");
    tg_iterator_release(it);
    tg_dataset_release(d);
}

static void check_datasets(session *s)
{
    tg_function *never = tg_function_create(s->ctx, is_negative, NULL, NULL);
    tg_function *slow = tg_function_create(s->ctx, loop_for_ever, NULL, NULL);
        check_next(s, tg_dataset_filter(
                      tg_dataset_repeat(count_to(s->ctx, 3), TG_FOREVER), never));
    check_next(s, tg_dataset_map(count_to(s->ctx, 3), slow));
    check_next(s, tg_dataset_prefetch(
                      tg_dataset_map(count_to(s->ctx, 3), slow), 2));
    tg_function_release(never);
    tg_function_release(slow);
}

Test(cancel, ends_datasets_and_their_threads)
{
    check_control(check_datasets);
}

/* -- Other calls ----------------------------------------------------------- */

static void check_other_context(session *s)
{
    session other;
    session_begin_with(&other, (tg_context_options){.jit = "off"});
    tg_variable *v = f32_scalar_variable(s->ctx, "v", 1);
    tg_function *f = tg_function_create(s->ctx, mix_variable, v, NULL);
    canceller c;
    canceller_begin(&c, other.ctx);
    check_works(tg_call(f, TG_ARGS((int64_t)20000), TG_RESULTS()));
    canceller_end(&c);
    tg_function_release(f);
    tg_variable_release(v);
    tg_context_release(other.ctx);
}

Test(cancel, of_another_context_has_no_effect)
{
    check_control(check_other_context);
}
