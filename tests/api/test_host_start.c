/* SPDX-License-Identifier: MIT */
/*
 * test_host_start.c - host calls that begin something: compiled code runs them
 * as soon as their inputs exist, but behind the effects recorded before them,
 * and polls a function while the rest of the call runs.
 */
#include "support/control.h"

enum { N = 192, N_PRODUCTS = 40 };

/* -- Functions to call ----------------------------------------------------- */

static int64_t n_polls, max_polls;
static bool was_accepted;

static bool count_poll(void *user)
{
    (void)user;
    n_polls++;
    return n_polls < max_polls;
}

/* Begins to count polls. */
static tg_status begin(const tg_host_buffer *in, size_t n_in,
                       const tg_host_buffer *out, size_t n_out, void *user)
{
    (void)in;
    (void)out;
    (void)user;
    cr_assert_eq(n_in, 1);
    cr_assert_eq(n_out, 0);
    n_polls = 0;
    was_accepted = tg_host_poll(count_poll, NULL);
    return TG_OK;
}

/* The number of polls so far, and no more. */
static tg_status end(const tg_host_buffer *in, size_t n_in,
                     const tg_host_buffer *out, size_t n_out, void *user)
{
    (void)in;
    (void)n_in;
    (void)user;
    cr_assert_eq(n_out, 1);
    tg_host_poll(NULL, NULL);
    *(int64_t *)out[0].data = n_polls;
    return TG_OK;
}

static tg_value work(tg_value x)
{
    for (int i = 0; i < N_PRODUCTS; i++)
        x = tg_matmul(x, x);
    return x;
}

static tg_value polls_before(tg_trace *t, tg_value x)
{
    const tg_host_spec spec = {TG_I64, 0, NULL};
    tg_value n;
    tg_host_call(t, end, NULL, TG_ARGS(x), &spec, &n, 1);
    return n;
}

/* -- Polls ----------------------------------------------------------------- */

CALLBACK(start_then_work)
{
    (void)user;
    tg_host_start(t, begin, NULL, TG_ARGS(in[0]));
    const tg_value y = work(in[0]);
    const tg_value n = polls_before(t, y);
    tg_return(t, n, y);
}

CALLBACK(work_then_start)
{
    (void)user;
    const tg_value first = tg_sum(in[0], TG_AXES(0));
    const tg_value y = work(in[0]);
    /* A sum that is recorded late moves with it. */
    tg_host_start(t, begin, NULL, TG_ARGS(tg_add(first, 1)));
    const tg_value n = polls_before(t, y);
    tg_return(t, n, y);
}

CALLBACK(only_work)
{
    (void)user;
    tg_return(t, 0, work(in[0]));
}

/* A function of x, and what it is made of. */
typedef struct case_of {
    tg_callback *callback;
    const void *user;
} case_of;

/* The polls of a call, its first result; the second one has the bits of that of
   a call without polls. */
static int64_t compare_calls(const char *jit, int threads, case_of polled,
                             case_of plain, int64_t rows, int64_t columns)
{
    session s;
    session_begin_with(&s, (tg_context_options){.jit = jit,
                                                .compile = "eager",
                                                .threads = threads});
    tg_function *f = tg_function_create(s.ctx, polled.callback,
                                        (void *)(uintptr_t)polled.user, NULL);
    tg_function *g = tg_function_create(s.ctx, plain.callback,
                                        (void *)(uintptr_t)plain.user, NULL);
    tg_tensor *x = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(rows, columns),
                                    tg_uniform(-1.0 / N, 1.0 / N));
    tg_tensor *y = NULL, *z = NULL;
    int64_t n = -1;
    int32_t unused;
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&n, &y)));
    check_works(tg_call(g, TG_ARGS(x), TG_RESULTS(&unused, &z)));
    cr_assert(was_accepted);
    cr_assert_eq(memcmp(tg_tensor_data(y), tg_tensor_data(z),
                        tg_tensor_bytes(y)),
                 0);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_tensor_release(z);
    tg_function_release(f);
    tg_function_release(g);
    session_end(&s);
    return n;
}

static int64_t count_polls(const char *jit, int threads, tg_callback *callback)
{
    return compare_calls(jit, threads, (case_of){callback, NULL},
                         (case_of){only_work, NULL}, N, N);
}

Test(host_start, is_polled_while_the_rest_of_the_call_runs)
{
    max_polls = INT64_MAX;
    cr_assert_gt(count_polls("required", 1, start_then_work), 0);
    cr_assert_gt(count_polls("required", 2, start_then_work), 0);
    cr_assert_gt(count_polls("off", 1, start_then_work), 0);
}

Test(host_start, runs_ahead_of_work_that_it_does_not_need)
{
    max_polls = INT64_MAX;
    cr_assert_gt(count_polls("required", 1, work_then_start), 0);
    cr_assert_gt(count_polls("required", 2, work_then_start), 0);
    /* The interpreter runs it where it was recorded. */
    cr_assert_geq(count_polls("off", 1, work_then_start), 0);
}

Test(host_start, is_polled_until_the_function_returns_false)
{
    max_polls = 1;
    cr_assert_eq(count_polls("required", 1, start_then_work), 1);
    cr_assert_eq(count_polls("required", 2, start_then_work), 1);
    cr_assert_eq(count_polls("off", 1, start_then_work), 1);
}

/* -- Long work items ------------------------------------------------------- */

/* A function of in[0], [N_LONG, WIDTH], that runs in few work items. */
typedef tg_value long_work(tg_value x);

enum { N_LONG = 1 << 17, WIDTH = 16 };

static tg_value sum_along_columns(tg_value x)
{
    return tg_cumsum(x, 0);
}

static tg_value largest_of_one_row(tg_value x)
{
    return tg_argmax(tg_reshape(x, TG_DIMS(1, -1)), 1);
}

static tg_value soft_rows(tg_value x)
{
    const tg_value rows = tg_reshape(x, TG_DIMS(2, -1));
    return tg_log_softmax(tg_add(tg_sin(rows), tg_exp(rows)), 1);
}

static tg_value long_product(tg_value x)
{
    const tg_value a = tg_reshape(x, TG_DIMS(16, -1));
    return tg_matmul(a, tg_transpose(a, TG_PERM(1, 0)));
}

/* Rows in blocks: one loop over the kernels of all. */
static tg_value block_of_rows(tg_value x)
{
    return tg_softmax(tg_matmul(x, tg_slice(x, 0, 0, WIDTH, 1)), 1);
}

CALLBACK(one_step)
{
    (void)t;
    (void)user;
    tg_return(t, tg_sin(tg_add(in[1], 0.25f)));
}

static tg_value scalar_loop(tg_value x)
{
    tg_value y;
    const tg_value first = tg_slice(tg_reshape(x, TG_DIMS(-1)), 0, 0, 1, 1);
    tg_for(50000, one_step, NULL, TG_ARGS(first), &y, 1);
    return y;
}

typedef struct long_case {
    long_work *compute;
} long_case;

CALLBACK(start_then_long_work)
{
    const long_case *c = user;
    tg_host_start(t, begin, NULL, TG_ARGS(tg_slice(in[0], 0, 0, 1, 1)));
    const tg_value y = c->compute(in[0]);
    const tg_value n = polls_before(t, y);
    tg_return(t, n, y);
}

CALLBACK(only_long_work)
{
    const long_case *c = user;
    tg_return(t, 0, c->compute(in[0]));
}

Test(host_start, is_polled_within_long_work_items)
{
    long_work *const works[] = {sum_along_columns, largest_of_one_row,
                                soft_rows,         long_product,
                                block_of_rows,     scalar_loop};
    max_polls = INT64_MAX;
    for (size_t i = 0; i < sizeof(works) / sizeof(*works); i++)
        for (int threads = 1; threads <= 2; threads++) {
            const long_case c = {works[i]};
            cr_assert_gt(compare_calls("required", threads,
                                       (case_of){start_then_long_work, &c},
                                       (case_of){only_long_work, &c}, N_LONG,
                                       WIDTH),
                         5);
        }
}

/* -- Order ----------------------------------------------------------------- */

static char order[64];

static tg_status note(const tg_host_buffer *in, size_t n_in,
                      const tg_host_buffer *out, size_t n_out, void *user)
{
    (void)out;
    (void)n_out;
    char text[32] = "";
    if (n_in)
        snprintf(text, sizeof(text), "%g", (double)*(const float *)in[0].data);
    strcat(strcat(strcat(order, user), text), " ");
    return TG_OK;
}

CALLBACK(starts_among_effects)
{
    tg_variable *v = user;
    tg_host_call(t, note, "a", TG_ARGS(), NULL, NULL, 0);
    tg_host_start(t, note, "b", TG_ARGS(tg_mul(in[0], 2)));
    tg_assign_add(v, 1.0f);
    tg_host_start(t, note, "c", TG_ARGS(v));
    tg_host_start(t, note, "d", TG_ARGS(in[0]));
    tg_assign_add(v, 1.0f);
    tg_host_call(t, note, "e", TG_ARGS(v), NULL, NULL, 0);
}

static void check_effects(session *s)
{
    tg_variable *v = f32_scalar_variable(s->ctx, "v", 1);
    tg_function *f = tg_function_create(s->ctx, starts_among_effects, v, NULL);
    order[0] = '\0';
    check_works(tg_call(f, TG_ARGS(5.0f), TG_RESULTS()));
    cr_assert_str_eq(order, "a b10 c2 d5 e3 ");
    tg_function_release(f);
    tg_variable_release(v);
}

Test(host_start, keeps_its_place_among_effects)
{
    check_control(check_effects);
}

/* -- Misuse ---------------------------------------------------------------- */

CALLBACK(start_nothing)
{
    (void)user;
    (void)in;
    tg_host_start(t, NULL, NULL, TG_ARGS());
}

Test(host_start, rejects_bad_arguments)
{
    session s;
    session_begin_with(&s, (tg_context_options){.jit = "off"});
    tg_function *f = tg_function_create(s.ctx, start_nothing, NULL, NULL);
    check_fails(tg_call(f, TG_ARGS(), TG_RESULTS()), TG_ERROR_INVALID_ARGUMENT,
                "test_host_start.c:", "host_start: the function is NULL");
    tg_function_release(f);
    session_end(&s);
    cr_assert_not(tg_host_poll(count_poll, NULL)); /* no host function runs */
}
