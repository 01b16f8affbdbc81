/* SPDX-License-Identifier: MIT */
/*
 * test_semantics_nesting.c - promises 8 and 9: functions that call functions,
 * and values that escape their trace.
 */
#include <pthread.h>
#include <unistd.h>

#include "support/api.h"

static tg_tensor *zeros(tg_context *ctx, int64_t n)
{
    return tg_tensor_create(ctx, TG_F32, TG_DIMS(n), tg_zeros());
}

/* -- 8: nested functions --------------------------------------------------- */

static void square_plus_one(tg_trace *t, const tg_value *in, void *user)
{
    if (user)
        ++*(int *)user;
    tg_return(t, tg_add(tg_square(in[0]), 1));
}

/* Applies the function in `user` to its argument, and again to the result. */
static void apply_twice(tg_trace *t, const tg_value *in, void *user)
{
    tg_value y, z;
    tg_apply((tg_function *)user, TG_ARGS(in[0]), &y, 1);
    tg_apply((tg_function *)user, TG_ARGS(y), &z, 1);
    tg_return(t, z);
}

Test(semantics, line_08_a_nested_function_is_traced_once_for_its_own_table)
{
    session s;
    session_begin(&s);
    int n_runs = 0;
    tg_function *g = tg_function_create(s.ctx, square_plus_one, &n_runs, NULL);
    tg_function *f = tg_function_create(s.ctx, apply_twice, g, NULL);
    tg_tensor *x = f32_vector(s.ctx, 0, 1, 2);
    check_f32(call_one(f, TG_ARGS(x)), 2, 5, 26);
    check_f32(call_one(g, TG_ARGS(x)), 1, 2, 5);
    cr_assert_eq(n_runs, 1);
    cr_assert_eq(tg_function_trace_count(g), 1);
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_tensor_release(x);
    tg_function_release(f);
    tg_function_release(g);
    session_end(&s);
}

Test(semantics, line_08_nesting_may_be_deep)
{
    session s;
    session_begin(&s);
    enum { DEPTH = 6 }; /* 64 applications of the innermost */
    tg_function *f[DEPTH + 1];
    f[0] = tg_function_create(s.ctx, square_plus_one, NULL, NULL);
    for (int i = 1; i <= DEPTH; i++)
        f[i] = tg_function_create(s.ctx, apply_twice, f[i - 1], NULL);
    tg_tensor *x = f32_vector(s.ctx, 0);
    check_f32(call_one(f[2], TG_ARGS(x)), 26); /* 0, 1, 2, 5, 26 */
    call_only(f[DEPTH], TG_ARGS(x));
    for (int i = 0; i <= DEPTH; i++)
        cr_assert_eq(tg_function_trace_count(f[i]), 1);
    tg_tensor_release(x);
    for (int i = DEPTH; i >= 0; i--)
        tg_function_release(f[i]);
    session_end(&s);
}

Test(semantics, line_08_a_function_traced_by_itself_or_nested_has_one_meaning)
{
    session s;
    session_begin_with(&s, (tg_context_options){.skip_passes = "inline"});
    session inlined;
    session_begin(&inlined);
    const float data[] = {0.1f, 1e-3f, 7.7f};
    tg_tensor *results[2];
    for (int i = 0; i < 2; i++) {
        tg_context *ctx = i ? s.ctx : inlined.ctx;
        tg_function *g = tg_function_create(ctx, square_plus_one, NULL, NULL);
        tg_function *f = tg_function_create(ctx, apply_twice, g, NULL);
        tg_tensor *x = tg_tensor_copy(ctx, data, TG_F32, TG_DIMS(3));
        results[i] = call_one(f, TG_ARGS(x));
        tg_tensor_release(x);
        tg_function_release(f);
        tg_function_release(g);
    }
    cr_assert_eq(memcmp(tg_tensor_data(results[0]), tg_tensor_data(results[1]),
                        sizeof data),
                 0);
    tg_tensor_release(results[0]);
    tg_tensor_release(results[1]);
    tg_context_release(inlined.ctx);
    session_end(&s);
}

Test(semantics, line_08_unknown_extents_reach_the_nested_function)
{
    session s;
    session_begin(&s);
    tg_function *g = tg_function_create(s.ctx, square_plus_one, NULL, NULL);
    tg_function *f = tg_function_create(s.ctx, apply_twice, g, NULL);
    tg_spec spec = tg_spec_tensor(TG_F32, TG_DIMS(TG_UNKNOWN));
    tg_concrete_release(tg_function_concrete(f, &spec, 1));
    char *text = tg_function_text(g, TG_TEXT_SHORT);
    cr_assert_str_eq(text, "square_plus_one(f32[?0])\n");
    tg_text_free(text);
    tg_tensor *x = f32_vector(s.ctx, 1), *y = f32_vector(s.ctx, 0, 1, 2);
    check_f32(call_one(f, TG_ARGS(x)), 5);
    check_f32(call_one(f, TG_ARGS(y)), 2, 5, 26);
    check_f32(call_one(g, TG_ARGS(y)), 1, 2, 5);
    cr_assert_eq(tg_function_trace_count(f), 1);
    cr_assert_eq(tg_function_trace_count(g), 1);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    tg_function_release(g);
    session_end(&s);
}

static void sum_and_scaled(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(in[0], in[1]), tg_mul(in[0], tg_static_float(t, 2)));
}

static void apply_to_all_kinds(tg_trace *t, const tg_value *in, void *user)
{
    tg_value y[2];
    const float constant[] = {10, 20};
    tg_apply((tg_function *)user,
             TG_ARGS(tg_constant(TG_F32, TG_DIMS(2), constant), in[0],
                     TG_STATIC(0.5)),
             y, 2);
    tg_value one;
    tg_apply((tg_function *)user, TG_ARGS(y[1], 7, TG_STATIC(0.5)), &one, 1);
    tg_return(t, y[0], one);
}

Test(semantics, line_08_all_kinds_of_arguments_can_be_passed_on)
{
    session s;
    session_begin(&s);
    tg_function *g = tg_function_create(s.ctx, sum_and_scaled, NULL, NULL);
    tg_function *f = tg_function_create(s.ctx, apply_to_all_kinds, g, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2), *a = NULL, *b = NULL;
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&a, &b)));
    check_f32(a, 11, 22);
    check_f32(b, 12, 17);
    tg_tensor_release(x);
    tg_function_release(f);
    tg_function_release(g);
    session_end(&s);
}

static void apply_for_three(tg_trace *t, const tg_value *in, void *user)
{
    tg_value y[3];
    tg_apply((tg_function *)user, TG_ARGS(in[0], in[0], TG_STATIC(1.0)), y, 3);
    tg_return(t, y[0]);
}

Test(semantics, line_08_too_many_requested_results_are_an_error)
{
    session s;
    session_begin(&s);
    tg_function *g = tg_function_create(s.ctx, sum_and_scaled, NULL, NULL);
    tg_function *f = tg_function_create(s.ctx, apply_for_three, g, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS()),
                TG_ERROR_INVALID_ARGUMENT, "sum_and_scaled", "2", "3");
    tg_tensor_release(x);
    tg_function_release(f);
    tg_function_release(g);
    session_end(&s);
}

static void bad_matmul(tg_trace *t, const tg_value *in, void *user)
{
    *(int *)user = __LINE__ + 1;
    tg_value y = tg_matmul(in[0], in[0]);
    tg_return(t, y);
}

static void apply_user(tg_trace *t, const tg_value *in, void *user)
{
    tg_value y;
    tg_apply((tg_function *)user, TG_ARGS(in[0]), &y, 1);
    tg_return(t, y);
}

Test(semantics, line_08_an_error_in_a_nested_function_names_its_own_line)
{
    session s;
    session_begin(&s);
    int line = 0;
    tg_function *g = tg_function_create(s.ctx, bad_matmul, &line, NULL);
    tg_function *f = tg_function_create(s.ctx, apply_user, g, NULL);
    tg_tensor *x = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(2, 3), tg_zeros());
    check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS()), TG_ERROR_SHAPE,
                "matmul", "inner dimensions 3 and 2 differ");
    cr_assert_eq(tg_error_last()->line, line);
    tg_tensor_release(x);
    tg_function_release(f);
    tg_function_release(g);
    session_end(&s);
}

/* -- 8: recursion ---------------------------------------------------------- */

/* Calls whatever function `user` points to. */
static void apply_pointed_to(tg_trace *t, const tg_value *in, void *user)
{
    tg_value y;
    tg_apply(*(tg_function **)user, TG_ARGS(in[0]), &y, 1);
    tg_return(t, y);
}

Test(semantics, line_08_recursion_on_one_signature_is_an_error)
{
    session s;
    session_begin(&s);
    tg_function *f = NULL;
    f = tg_function_create(s.ctx, apply_pointed_to, &f, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    for (int i = 0; i < 2; i++)
        check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS()), TG_ERROR_RECURSION,
                    "apply_pointed_to", "depends on its own trace");
    cr_assert_eq(tg_function_trace_count(f), 0);
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_08_recursion_by_way_of_another_is_an_error)
{
    session s;
    session_begin(&s);
    tg_function *f = NULL, *g = NULL, *good = NULL, *target = NULL;
    f = tg_function_create(s.ctx, apply_pointed_to, &target, NULL);
    g = tg_function_create(s.ctx, apply_pointed_to, &f, NULL);
    good = tg_function_create(s.ctx, square_plus_one, NULL, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    target = g;
    check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS()), TG_ERROR_RECURSION,
                "depends on its own trace");
    check_fails(tg_call(g, TG_ARGS(x), TG_RESULTS()), TG_ERROR_RECURSION,
                "depends on its own trace");
    target = good; /* and both are as good as new */
    check_f32(call_one(g, TG_ARGS(x)), 2, 5);
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_tensor_release(x);
    tg_function_release(f);
    tg_function_release(g);
    tg_function_release(good);
    session_end(&s);
}

/* x to the power of a static number, by recursion. */
static void power(tg_trace *t, const tg_value *in, void *user)
{
    const int64_t n = tg_static_int(t, 1);
    if (n == 1) {
        tg_return(t, in[0]);
        return;
    }
    tg_value y;
    tg_apply(*(tg_function **)user, TG_ARGS(in[0], TG_STATIC((int)n - 1)), &y,
             1);
    tg_return(t, tg_mul(y, in[0]));
}

Test(semantics, line_08_recursion_on_other_signatures_works)
{
    session s;
    session_begin(&s);
    tg_function *f = NULL;
    f = tg_function_create(s.ctx, power, &f, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2, 3);
    check_f32(call_one(f, TG_ARGS(x, TG_STATIC(5))), 1, 32, 243);
    cr_assert_eq(tg_function_trace_count(f), 5);
    check_f32(call_one(f, TG_ARGS(x, TG_STATIC(3))), 1, 8, 27);
    cr_assert_eq(tg_function_trace_count(f), 5);
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

/* -- 8: no lock is held while user code runs ------------------------------- */

/* Uses the function that is being traced in every way except recursion. */
static void use_myself(tg_trace *t, const tg_value *in, void *user)
{
    tg_function *self = *(tg_function **)user;
    if (tg_value_rank(in[0]) == 0) {
        tg_return(t, tg_mul(in[0], in[0]));
        return;
    }
    tg_text_free(tg_function_text(self, TG_TEXT_VERBOSE));
    tg_text_free(tg_explain_retrace(self));
    (void)tg_function_trace_count(self);
    tg_function_clear(self);

    tg_tensor *y = NULL; /* a call in the middle of a trace */
    if (tg_call(self, TG_ARGS(7.0f), TG_RESULTS(&y)))
        tg_fail(t, "the call inside failed: %s", tg_error(NULL));
    const float number = y ? *(float *)tg_tensor_data(y) : 0;
    tg_tensor_release(y);
    tg_return(t, tg_add(in[0], number));
}

Test(semantics, line_08_no_lock_is_held_while_a_callback_runs)
{
    session s;
    session_begin(&s);
    tg_function *f = NULL;
    f = tg_function_create(s.ctx, use_myself, &f, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    check_f32(call_one(f, TG_ARGS(x)), 50, 51);
    cr_assert_eq(tg_function_trace_count(f), 2);
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

static void make_and_drop_things(tg_trace *t, const tg_value *in, void *user)
{
    tg_context *ctx = user;
    tg_variable *v = tg_variable_create(ctx, "temporary", TG_F32, TG_SCALAR,
                                        tg_fill(5));
    tg_function *g = tg_function_create(ctx, square_plus_one, NULL, NULL);
    tg_value y;
    tg_apply(g, TG_ARGS(v), &y, 1);
    tg_function_release(g); /* the trace retains it */
    tg_variable_release(v);
    tg_return(t, tg_add(in[0], y));
}

Test(semantics, line_08_a_callback_may_make_and_drop_objects)
{
    session s;
    session_begin(&s);
    tg_function *f =
        tg_function_create(s.ctx, make_and_drop_things, s.ctx, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    check_f32(call_one(f, TG_ARGS(x)), 27, 28);
    check_f32(call_one(f, TG_ARGS(x)), 27, 28);
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

typedef struct listener {
    tg_function *f;
    int n_lines;
    size_t n_traces; /* as last seen by the log callback */
} listener;

static void ask_while_logging(tg_log_level level, const char *component,
                              const char *message, void *user)
{
    listener *l = user;
    (void)level, (void)component, (void)message;
    l->n_lines++;
    l->n_traces = tg_function_trace_count(l->f);
    tg_text_free(tg_function_text(l->f, TG_TEXT_SHORT));
}

Test(semantics, line_08_no_lock_is_held_while_a_log_callback_runs)
{
    listener l = {0};
    const tg_context_options options = {.struct_bytes = sizeof options,
                                        .log = "debug",
                                        .explain = "retrace",
                                        .jit = "off", /* a compile would log
                                                         later */
                                        .log_callback = ask_while_logging,
                                        .log_user = &l};
    tg_context *ctx = tg_context_create(&options);
    alarm(60); /* so that a hang fails */
    l.f = tg_function_create(ctx, square_plus_one, NULL, NULL);
    for (int i = 1; i <= 3; i++) {
        tg_tensor *x = zeros(ctx, i);
        l.n_lines = 0;
        call_only(l.f, TG_ARGS(x));
        cr_assert((i <= 2) == (l.n_lines > 0)); /* the second call
                                                   generalises */
        tg_tensor_release(x);
    }
    cr_assert_eq(l.n_traces, 2); /* the last line says how the second runs */
    tg_function_release(l.f);
    tg_context_release(ctx);
    check_nothing_is_alive();
}

/* -- 9: values outside of their trace -------------------------------------- */

/* Keeps its argument from the first trace and uses it in the second. */
static void keep_then_use(tg_trace *t, const tg_value *in, void *user)
{
    tg_value *escaped = user;
    if (!tg_is_valid(*escaped)) {
        *escaped = tg_mul(in[0], 2);
        tg_return(t, *escaped);
        return;
    }
    cr_assert_eq(tg_value_dtype(*escaped), TG_DTYPE_NONE);
    cr_assert_eq(tg_value_rank(*escaped), -1);
    cr_assert_eq(tg_value_dim(*escaped, 0), -1);
    (void)tg_name(*escaped, "stale");
    tg_return(t, tg_add(in[0], *escaped));
}

Test(semantics, line_09_a_value_of_an_ended_trace_is_an_error)
{
    session s;
    session_begin(&s);
    tg_value escaped = {0};
    tg_function *f = tg_function_create(s.ctx, keep_then_use, &escaped, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2), *i = i32_vector(s.ctx, 1, 2);
    check_f32(call_one(f, TG_ARGS(x)), 2, 4);
    check_fails(tg_call(f, TG_ARGS(i), TG_RESULTS()), TG_ERROR_TRACE, "add",
                "another trace");
    check_f32(call_one(f, TG_ARGS(x)), 2, 4);
    tg_tensor_release(x);
    tg_tensor_release(i);
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_09_values_and_operations_need_a_trace)
{
    session s;
    session_begin(&s);
    tg_value escaped = {0};
    tg_function *f = tg_function_create(s.ctx, keep_then_use, &escaped, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    call_only(f, TG_ARGS(x));
    const int line = __LINE__ + 1;
    cr_assert_not(tg_is_valid(tg_add(escaped, 1)));
    check_record(TG_ERROR_TRACE, "add", "callback");
    cr_assert_eq(tg_error_last()->line, line);
    cr_assert_not(tg_is_valid(tg_mul(x, x)));
    check_record(TG_ERROR_TRACE, "mul", "callback");
    check_fails(tg_call(f, TG_ARGS(escaped), TG_RESULTS()), TG_ERROR_TRACE,
                "argument 0");
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

typedef struct outer_state {
    tg_function *inner;
    tg_trace *t;
    tg_value x;
    bool uses_trace;
} outer_state;

static void use_values_of_outer(tg_trace *t, const tg_value *in, void *user)
{
    const outer_state *outer = user;
    if (outer->uses_trace)
        tg_return(outer->t, in[0]);
    else
        tg_return(t, tg_add(in[0], outer->x));
}

static void lend_values(tg_trace *t, const tg_value *in, void *user)
{
    outer_state *outer = user;
    outer->t = t;
    outer->x = in[0];
    tg_value y;
    tg_apply(outer->inner, TG_ARGS(in[0]), &y, 1);
    tg_return(t, y);
}

Test(semantics, line_09_a_value_of_the_caller_has_to_be_passed)
{
    session s;
    session_begin(&s);
    outer_state state = {0};
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    state.inner =
        tg_function_create(s.ctx, use_values_of_outer, &state, NULL);
    tg_function *f = tg_function_create(s.ctx, lend_values, &state, NULL);
    check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS()), TG_ERROR_TRACE, "add",
                "calling function", "pass it as an argument");
    state.uses_trace = true;
    check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS()), TG_ERROR_TRACE,
                "return", "not the trace of this callback");
    tg_tensor_release(x);
    tg_function_release(f);
    tg_function_release(state.inner);
    session_end(&s);
}

/* Uses a value that another thread is tracing. */
static void *use_in_another_thread(void *user)
{
    const outer_state *outer = user;
    if (tg_is_valid(tg_add(outer->x, 1)) ||
        tg_error_last()->status != TG_ERROR_TRACE)
        return "an operation";
    tg_error_clear();
    tg_return(outer->t, 1);
    return tg_error_last()->status == TG_ERROR_TRACE ? NULL : "return";
}

static void lend_to_thread(tg_trace *t, const tg_value *in, void *user)
{
    outer_state outer = {.t = t, .x = in[0]};
    pthread_t thread;
    (void)user;
    void *complaint;
    pthread_create(&thread, NULL, use_in_another_thread, &outer);
    pthread_join(thread, &complaint);
    cr_assert_null(complaint, "%s was not refused", (char *)complaint);
    tg_return(t, in[0]);
}

Test(semantics, line_09_another_thread_cannot_join_a_trace)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, lend_to_thread, NULL, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    check_f32(call_one(f, TG_ARGS(x)), 1, 2);
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

typedef struct pair {
    tg_variable *a, *b;
} pair;
static const tg_bundle_field pair_fields[] = {TG_FIELD(pair, a),
                                              TG_FIELD(pair, b)};
static const tg_bundle_type pair_type = TG_BUNDLE(pair, pair_fields);

/* Keeps the placeholder of a variable from the first trace. */
static void keep_stand_in(tg_trace *t, const tg_value *in, void *user)
{
    tg_variable **escaped = user;
    (void)in;
    const pair *p = tg_bundle_argument(t, 0, &pair_type);
    *escaped = tg_variable_retain(p->a);
    tg_return(t, tg_read(p->a));
}

static void use_stand_in(tg_trace *t, const tg_value *in, void *user)
{
    (void)in;
    tg_return(t, tg_read((tg_variable *)user));
}

Test(semantics, line_09_a_placeholder_is_valid_in_its_own_trace_only)
{
    session s;
    session_begin(&s);
    tg_variable *escaped = NULL;
    pair p = {f32_scalar_variable(s.ctx, "a", 1),
              f32_scalar_variable(s.ctx, "b", 2)};
    tg_function *f = tg_function_create(s.ctx, keep_stand_in, &escaped, NULL);
    check_f32(call_one(f, TG_ARGS(tg_bundle_of(&pair_type, &p))), 1);

    tg_function *g = tg_function_create(s.ctx, use_stand_in, escaped, NULL);
    check_fails(tg_call(g, TG_ARGS(), TG_RESULTS()), TG_ERROR_TRACE, "read",
                "only in its own trace");
    check_fails(tg_call(f, TG_ARGS(escaped), TG_RESULTS()), TG_ERROR_TRACE,
                "only in its own trace");
    cr_assert_null(tg_variable_map(escaped, TG_READ));
    check_record(TG_ERROR_TRACE, "only in its own trace");
    float number;
    check_fails(tg_variable_get(escaped, &number, sizeof number),
                TG_ERROR_TRACE, "only in its own trace");
    tg_variable_release(escaped);
    tg_bundle_release(&pair_type, &p);
    tg_function_release(f);
    tg_function_release(g);
    session_end(&s);
}

static void forge_values(tg_trace *t, const tg_value *in, void *user)
{
    tg_value forged = in[0];
    forged.node = *(uint32_t *)user;
    tg_return(t, tg_add(in[0], forged));
}

Test(semantics, line_09_a_forged_value_is_an_error)
{
    session s;
    session_begin(&s);
    uint32_t node;
    tg_function *f = tg_function_create(s.ctx, forge_values, &node, NULL);
    tg_tensor *x = zeros(s.ctx, 2);
    const uint32_t nodes[] = {0, 1000, UINT32_MAX};
    for (int i = 0; i < 3; i++) {
        node = nodes[i];
        check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS()), TG_ERROR_TRACE,
                    "add");
    }
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}
