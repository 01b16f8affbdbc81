/* SPDX-License-Identifier: MIT */
/*
 * test_bad_input_callbacks.c - callbacks that misuse the library, and callbacks
 * that record large or deep graphs on a small stack.
 */
#include <pthread.h>
#include <unistd.h>

#include "support/api.h"

static void twice(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(in[0], 2));
}

/* -- Callbacks ------------------------------------------------------------- */

static int fail_line;

static void fail_in_words(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    fail_line = __LINE__ + 1;
    tg_fail(t, "layer %d does not like %s", 3, "this");
    tg_fail(t, "but who listens");
    cr_assert_eq(tg_trace_status(t), TG_ERROR_CALLBACK);
    tg_return(t, tg_matmul(in[0], in[0]));
}

Test(bad_input, a_failing_callback_gives_its_own_message)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, fail_in_words, NULL, NULL);
    check_fails(tg_call(f, TG_ARGS(1.0f), TG_RESULTS()), TG_ERROR_CALLBACK,
                "layer 3 does not like this", __FILE__);
    cr_assert_eq(tg_error_last()->line, fail_line);
    cr_assert_str_eq(tg_error_last()->function, "tg_call");
    cr_assert_eq(tg_error_last()->context, s.ctx);
    cr_assert_str_eq(tg_error(s.ctx), tg_error_last()->message);
    tg_function_release(f);
    session_end(&s);
}

static void return_twice(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, in[0]);
    tg_return(t, in[0]);
}

static void return_null(tg_trace *t, const tg_value *in, void *user)
{
    (void)in, (void)user;
    tg_return_at(t, NULL, 2, TG_HERE);
}

static void return_invalid(tg_trace *t, const tg_value *in, void *user)
{
    (void)in, (void)user;
    tg_return(t, ((tg_value){0, 0}));
}

static void use_missing_argument(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    cr_assert_not(tg_is_valid(in[1]) || tg_is_valid(in[9]));
    tg_return(t, tg_add(in[0], in[1]));
}

static void return_missing_argument(tg_trace *t, const tg_value *in,
                                    void *user)
{
    (void)user;
    tg_return(t, in[9]);
}

static void ask_for_statics(tg_trace *t, const tg_value *in, void *user)
{
    (void)in, (void)user;
    cr_assert_eq(tg_static_int(t, 0), 0);
    cr_assert_eq(tg_static_float(t, 0), 0);
    cr_assert_null(tg_static_string(t, 99));
}

static void ask_for_bundle(tg_trace *t, const tg_value *in, void *user)
{
    static const tg_bundle_type type = {"none", 0, NULL, 0};
    (void)in, (void)user;
    cr_assert_null(tg_bundle_argument(t, 0, &type));
}

static void ask_for_no_type(tg_trace *t, const tg_value *in, void *user)
{
    (void)in, (void)user;
    cr_assert_null(tg_bundle_argument(t, 0, NULL));
}

static void own_without_name(tg_trace *t, const tg_value *in, void *user)
{
    (void)in, (void)user;
    cr_assert_null(tg_own_variable(t, NULL, TG_F32, TG_SCALAR, tg_zeros()));
}

static void own_with_empty_name(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    cr_assert_null(tg_own_variable_from(t, "", in[0]));
}

static void print_without_format(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_print_at(t, NULL, 0, TG_HERE);
    tg_print(t, in[0]);
}

static void apply_without_function(tg_trace *t, const tg_value *in, void *user)
{
    (void)t, (void)user;
    tg_value y = {1, 1};
    tg_apply((tg_function *)NULL, TG_ARGS(in[0]), &y, 1);
    cr_assert_not(tg_is_valid(y));
}

static void apply_without_room(tg_trace *t, const tg_value *in, void *user)
{
    (void)t;
    tg_apply((tg_function *)user, TG_ARGS(in[0]), NULL, 2);
}

static void apply_without_arguments(tg_trace *t, const tg_value *in,
                                    void *user)
{
    (void)t, (void)in;
    tg_apply_at((tg_function *)user, NULL, 2, NULL, 0, TG_HERE);
}

Test(bad_input, misuse_of_a_trace_is_an_error)
{
    session s;
    session_begin(&s);
    tg_function *good = tg_function_create(s.ctx, twice, NULL, NULL);
    const struct {
        tg_callback *callback;
        const char *piece;
    } rows[] = {{return_twice, "already returned"},
                {return_null, "NULL"},
                {return_invalid, "not a valid value"},
                {use_missing_argument,
                 "add: argument 1 is missing: the call has 1 argument"},
                {return_missing_argument,
                 "return: argument 9 is missing: the call has 1 argument"},
                {ask_for_statics, "argument 0 is not a static integer"},
                {ask_for_bundle, "argument 0 is not a bundle"},
                {ask_for_no_type, "the requested type is NULL"},
                {own_without_name, "the name is NULL or empty"},
                {own_with_empty_name, "the name is NULL or empty"},
                {print_without_format, "not a format"},
                {apply_without_function, "function is NULL"},
                {apply_without_room, "results are NULL"},
                {apply_without_arguments, "arguments are NULL"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tg_function *f =
            tg_function_create(s.ctx, rows[i].callback, good, NULL);
        check_fails(tg_call(f, TG_ARGS(1.0f), TG_RESULTS()),
                    TG_ERROR_INVALID_ARGUMENT, rows[i].piece,
                    "test_bad_input_callbacks.c:");
        tg_function_release(f);
    }
    tg_function_release(good);
    session_end(&s);
}

Test(bad_input, operations_fail_outside_a_callback)
{
    tg_value y = {1, 1};
    tg_return_at(NULL, NULL, 0, TG_HERE);
    check_record(TG_ERROR_TRACE, "return", __FILE__);
    tg_fail_at(NULL, TG_HERE, "outside");
    check_record(TG_ERROR_TRACE, "fail");
    tg_print_at(NULL, NULL, 0, TG_HERE);
    check_record(TG_ERROR_TRACE, "print");
    cr_assert_eq(tg_static_int(NULL, 0), 0);
    check_record(TG_ERROR_TRACE, "tg_static_int");
    cr_assert_null(tg_bundle_argument(NULL, 0, NULL));
    check_record(TG_ERROR_TRACE, "tg_bundle_argument");
    cr_assert_null(tg_own_variable(NULL, "v", TG_F32, TG_SCALAR, tg_zeros()));
    check_record(TG_ERROR_TRACE, "own variable");
    tg_apply((tg_function *)NULL, TG_ARGS(), &y, 1);
    check_record(TG_ERROR_TRACE, "apply");
    cr_assert_not(tg_is_valid(y));
    cr_assert_not(tg_is_valid(tg_iota(TG_I32, TG_DIMS(3), 0)));
    check_record(TG_ERROR_TRACE, "iota");
    cr_assert_not(
        tg_is_valid(tg_concat_at(0, NULL, SIZE_MAX, TG_HERE)));
    check_record(TG_ERROR_TRACE, "concat");
}

/* A callback that handles the failure of a call inside it. */
static void survive_a_failed_call(tg_trace *t, const tg_value *in, void *user)
{
    if (tg_call((tg_function *)user, TG_ARGS("no"), TG_RESULTS()) == TG_OK)
        tg_fail(t, "that should not have worked");
    tg_return(t, tg_mul(in[0], 3));
}

Test(bad_input, a_failed_call_inside_a_callback_does_not_fail_it)
{
    session s;
    session_begin(&s);
    tg_function *g = tg_function_create(s.ctx, twice, NULL, NULL);
    tg_function *f =
        tg_function_create(s.ctx, survive_a_failed_call, g, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    check_f32(call_one(f, TG_ARGS(x)), 3, 6);
    tg_tensor_release(x);
    tg_function_release(f);
    tg_function_release(g);
    session_end(&s);
}

/* -- Print callbacks that call back ---------------------------------------- */

typedef struct echo {
    tg_context *ctx;
    tg_function *f, *g;
    tg_variable *used, *free;
    int depth;
    tg_status on_used, on_free, on_itself, on_get;
} echo;

static void print_and_add(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_assign_add(in[0], 1);
    tg_print(t, "now");
    tg_assign_add(in[0], 10);
}

static void add_one(tg_trace *t, const tg_value *in, void *user)
{
    (void)t, (void)user;
    tg_assign_add(in[0], 1);
}

/* Runs in the middle of a call, which holds the lock of `used`. */
static void call_while_printing(const char *text, void *user)
{
    echo *e = user;
    float number;
    (void)text;
    if (e->depth++ > 0)
        return;
    e->on_used = tg_call(e->g, TG_ARGS(e->used), TG_RESULTS());
    e->on_get = tg_variable_get(e->used, &number, sizeof number);
    e->on_free = tg_call(e->g, TG_ARGS(e->free), TG_RESULTS());
    e->on_itself = tg_call(e->f, TG_ARGS(e->free), TG_RESULTS());
}

Test(bad_input, a_print_callback_may_call_back)
{
    echo e = {0};
    const tg_context_options options = {
        .struct_bytes = sizeof options,
        .print_callback = call_while_printing,
        .print_user = &e,
    };
    alarm(60); /* so that a hang fails */
    e.ctx = tg_context_create(&options);
    e.f = tg_function_create(e.ctx, print_and_add, NULL, NULL);
    e.g = tg_function_create(e.ctx, add_one, NULL, NULL);
    e.used = f32_scalar_variable(e.ctx, "used", 0);
    e.free = f32_scalar_variable(e.ctx, "free", 0);
    check_works(tg_call(e.f, TG_ARGS(e.used), TG_RESULTS()));
    cr_assert_eq(e.on_used, TG_ERROR_BUSY);
    cr_assert_eq(e.on_get, TG_ERROR_BUSY);
    cr_assert_eq(e.on_free, TG_OK);
    cr_assert_eq(e.on_itself, TG_OK);
    cr_assert_eq(e.depth, 2);
    check_variable(e.used, 11);
    check_variable(e.free, 12);
    tg_variable_release(e.used);
    tg_variable_release(e.free);
    tg_function_release(e.f);
    tg_function_release(e.g);
    tg_context_release(e.ctx);
    check_nothing_is_alive();
}

/* -- Large and deep graphs on a small stack -------------------------------- */

enum { SMALL_STACK = 256 << 10 };

/* Runs it on a thread of 256 KiB; it returns an error message, or NULL. */
static void on_small_stack(void *(*run)(void *))
{
    pthread_attr_t attributes;
    pthread_t thread;
    void *complaint = NULL;
    pthread_attr_init(&attributes);
    cr_assert_eq(pthread_attr_setstacksize(&attributes, SMALL_STACK), 0);
    cr_assert_eq(pthread_create(&thread, &attributes, run, NULL), 0);
    pthread_join(thread, &complaint);
    pthread_attr_destroy(&attributes);
    cr_assert_null(complaint, "%s: %s", (char *)complaint, tg_error(NULL));
    check_nothing_is_alive();
}

/* Traces it, calls it on 1, and compares the result. */
static char *call_and_compare(tg_callback *callback, void *user, float want)
{
    tg_context *ctx = tg_context_create(NULL);
    tg_function *f = tg_function_create(ctx, callback, user, NULL);
    tg_tensor *x = tg_tensor_copy(ctx, &(float){1}, TG_F32, TG_DIMS(1));
    tg_tensor *y = NULL;
    char *complaint = NULL;
    if (tg_call(f, TG_ARGS(x), TG_RESULTS(&y)))
        complaint = "the call failed";
    else if (*(float *)tg_tensor_data(y) != want)
        complaint = "the result is wrong";
    char *text = tg_function_text(f, TG_TEXT_GRAPH);
    if (!text && !complaint)
        complaint = "no text";
    tg_text_free(text);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    tg_context_release(ctx);
    return complaint;
}

static void deep_chain(tg_trace *t, const tg_value *in, void *user)
{
    tg_value y = in[0];
    (void)user;
    for (int i = 0; i < 50000; i++) /* two nodes each */
        y = tg_sub(tg_max(in[0], y), 1);
    tg_return(t, y);
}

static void *run_deep_chain(void *user)
{
    (void)user;
    return call_and_compare(deep_chain, NULL, 0);
}

Test(bad_input, a_chain_of_100000_works_on_a_small_stack)
{
    on_small_stack(run_deep_chain);
}

static void deep_views(tg_trace *t, const tg_value *in, void *user)
{
    tg_value y = tg_concat(0, in[0], tg_neg(in[0]));
    (void)user;
    for (int i = 0; i < 50001; i++) { /* reverses, by two views */
        y = tg_reshape(tg_slice(y, 0, -1, TG_END, -1), TG_DIMS(1, 2));
        y = tg_reshape(tg_transpose(y, TG_PERM(1, 0)), TG_DIMS(2));
    }
    tg_return(t, y);
}

static void *run_deep_views(void *user)
{
    (void)user;
    return call_and_compare(deep_views, NULL, -1);
}

Test(bad_input, a_chain_of_views_works_on_a_small_stack)
{
    on_small_stack(run_deep_views);
}

static void deep_state(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_variable *v =
        tg_own_variable(t, "v", TG_F32, TG_DIMS(1), tg_zeros());
    for (int i = 0; i < 30000; i++) {
        tg_value before = tg_read(v);
        tg_assign(v, tg_sub(in[0], before));
    }
    tg_return(t, tg_read(v));
}

static void *run_deep_state(void *user)
{
    (void)user;
    return call_and_compare(deep_state, NULL, 0);
}

Test(bad_input, a_chain_of_assignments_works_on_a_small_stack)
{
    on_small_stack(run_deep_state);
}

/* A chain of unknown extents: nested sums. */
static void deep_extents(tg_trace *t, const tg_value *in, void *user)
{
    tg_value y = in[0];
    (void)user;
    for (int i = 0; i < 2000; i++)
        y = tg_slice(tg_pad(y, 0, 1, 0, 0.0), 0, 1, TG_END, 1);
    tg_return(t, y);
}

static void *run_deep_extents(void *user)
{
    (void)user;
    tg_context *ctx = tg_context_create(NULL);
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.policy = TG_RELAXED;
    tg_function *f = tg_function_create(ctx, deep_extents, NULL, &options);
    tg_tensor *x = tg_tensor_copy(ctx, &(float){3}, TG_F32, TG_DIMS(1));
    tg_tensor *y = NULL;
    char *complaint = NULL;
    if (tg_call(f, TG_ARGS(x), TG_RESULTS(&y)))
        complaint = "the call failed";
    else if (*(float *)tg_tensor_data(y) != 3)
        complaint = "the result is wrong";
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    tg_context_release(ctx);
    return complaint;
}

Test(bad_input, a_chain_of_unknown_extents_works_on_a_small_stack)
{
    on_small_stack(run_deep_extents);
}

enum { ROW = 1000, N_ROWS = 500 }; /* two nodes each */

static void a_million_nodes(tg_trace *t, const tg_value *in, void *user)
{
    tg_value row[ROW];
    (void)user;
    for (int i = 0; i < ROW; i++)
        row[i] = tg_mul(in[0], (double)i);
    for (int k = 0; k < N_ROWS; k++)
        for (int i = 0; i < ROW; i++)
            row[i] = tg_min(tg_neg(row[i]), row[(i + 1) % ROW]);
    tg_return(t, row[0]);
}

static void *run_a_million_nodes(void *user)
{
    float row[ROW];
    (void)user;
    for (int i = 0; i < ROW; i++)
        row[i] = (float)i;
    for (int k = 0; k < N_ROWS; k++)
        for (int i = 0; i < ROW; i++) {
            const float next = row[(i + 1) % ROW];
            row[i] = -row[i] < next ? -row[i] : next;
        }
    return call_and_compare(a_million_nodes, NULL, row[0]);
}

Test(bad_input, a_million_nodes_work_on_a_small_stack)
{
    on_small_stack(run_a_million_nodes);
}

/* Nested functions, each applying the previous one. */
static void call_the_one_before(tg_trace *t, const tg_value *in, void *user)
{
    tg_value y;
    if (!user) {
        tg_return(t, in[0]);
        return;
    }
    tg_apply((tg_function *)user, TG_ARGS(in[0]), &y, 1);
    tg_return(t, tg_add(y, 1));
}

Test(bad_input, functions_nested_up_to_the_limit_work)
{
    enum { DEPTH = TG_MAX_NESTING };
    session s;
    session_begin(&s);
    tg_function *f[DEPTH];
    for (int i = 0; i < DEPTH; i++)
        f[i] = tg_function_create(s.ctx, call_the_one_before,
                                  i ? f[i - 1] : NULL, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    check_f32(call_one(f[DEPTH - 1], TG_ARGS(x)), DEPTH, DEPTH + 1);
    tg_tensor_release(x);
    for (int i = 0; i < DEPTH; i++)
        tg_function_release(f[i]);
    session_end(&s);
}
