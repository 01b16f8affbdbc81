/* SPDX-License-Identifier: MIT */
/*
 * test_semantics_explain.c - promises 11 and 12: what a function reports about
 * its traces, and calls of concrete functions.
 */
#include "support/api.h"

static void twice(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(in[0], 2));
}

static void add_captured(tg_trace *t, const tg_value *in, void *user)
{
    tg_return(t, tg_add(in[0], (tg_variable *)user));
}

static void no_op(tg_trace *t, const tg_value *in, void *user)
{
    (void)t, (void)in, (void)user;
}

static void failing(tg_trace *t, const tg_value *in, void *user)
{
    (void)in, (void)user;
    tg_fail(t, "never");
}

static tg_tensor *zeros(tg_context *ctx, tg_dtype dtype, int64_t n)
{
    return tg_tensor_create(ctx, dtype, TG_DIMS(n), tg_zeros());
}

/* -- 11: counts, lists and reasons ----------------------------------------- */

Test(semantics, line_11_failed_traces_are_not_counted)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, failing, NULL, NULL);
    cr_assert_eq(tg_function_trace_count(f), 0);
    for (int i = 0; i < 3; i++)
        check_fails(tg_call(f, TG_ARGS(), TG_RESULTS()), TG_ERROR_CALLBACK,
                    "never");
    cr_assert_eq(tg_function_trace_count(f), 0);
    tg_retrace retrace;
    cr_assert_not(tg_function_retrace(f, 0, &retrace));
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_11_signatures_are_listed_in_short)
{
    session s;
    session_begin(&s);
    tg_variable *v = tg_variable_create(s.ctx, "v", TG_F32, TG_DIMS(2),
                                        tg_zeros());
    tg_function *f = tg_function_create(s.ctx, twice, NULL, NULL);
    tg_tensor *x = zeros(s.ctx, TG_F32, 3), *y = zeros(s.ctx, TG_F32, 5),
              *i = zeros(s.ctx, TG_I32, 5);
    char *text = tg_function_text(f, TG_TEXT_SHORT);
    cr_assert_str_eq(text, "");
    tg_text_free(text);
    call_only(f, TG_ARGS(x));
    call_only(f, TG_ARGS(y));
    call_only(f, TG_ARGS(i, TG_STATIC(7), TG_STATIC("way")));
    call_only(f, TG_ARGS(v, v));
    text = tg_function_text(f, TG_TEXT_SHORT);
    cr_assert_str_eq(text, "twice(f32[3])\n"
                           "twice(f32[?0])\n"
                           "twice(i32[5], static i32 7, static \"way\")\n"
                           "twice(variable f32[2], variable f32[2] = "
                           "argument 0)\n");
    tg_text_free(text);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_tensor_release(i);
    tg_variable_release(v);
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_11_signatures_are_listed_verbosely)
{
    session s;
    session_begin(&s);
    tg_variable *v = tg_variable_create(s.ctx, "bias", TG_F32, TG_DIMS(3),
                                        tg_zeros());
    tg_function *f = tg_function_create(s.ctx, add_captured, v, NULL);
    tg_spec spec = tg_spec_tensor(TG_F32, TG_DIMS(TG_UNKNOWN, 3));
    tg_concrete *c = tg_function_concrete(f, &spec, 1);
    cr_assert_not_null(c, "%s", tg_error(NULL));
    char *of_function = tg_function_text(f, TG_TEXT_VERBOSE);
    char *of_concrete = tg_concrete_text(c, TG_TEXT_VERBOSE);
    cr_assert_not_null(strstr(of_function, "add_captured(f32[?0,3]) -> (f32["));
    cr_assert_not_null(strstr(of_function, "captures 'bias': f32[3]"));
    cr_assert_not_null(strstr(of_function, "nodes traced"));
    cr_assert_str_eq(of_function, of_concrete);
    tg_text_free(of_function);
    tg_text_free(of_concrete);
    tg_concrete_release(c);
    tg_variable_release(v);
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_11_graphs_are_available_as_text)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, twice, NULL, NULL);
    tg_tensor *x = zeros(s.ctx, TG_F32, 3);
    call_only(f, TG_ARGS(x));
    char *graph = tg_function_text(f, TG_TEXT_GRAPH);
    char *dot = tg_function_text(f, TG_TEXT_DOT);
    cr_assert_not_null(strstr(graph, "mul"));
    cr_assert_not_null(strstr(graph, "f32[3]"));
    cr_assert_not_null(strstr(dot, "digraph"));
    tg_text_free(graph);
    tg_text_free(dot);
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

/* The reason of the newest trace, number `n`. */
static tg_retrace newest(tg_function *f, size_t n)
{
    tg_retrace retrace;
    cr_assert_eq(tg_function_trace_count(f), n);
    cr_assert(tg_function_retrace(f, n - 1, &retrace));
    cr_assert_not(tg_function_retrace(f, n, &retrace));
    cr_assert(tg_function_retrace(f, n - 1, &retrace));
    return retrace;
}

Test(semantics, line_11_every_retrace_has_a_reason)
{
    session s;
    session_begin(&s);
    tg_variable *v = f32_scalar_variable(s.ctx, "v", 0);
    tg_variable *w = f32_scalar_variable(s.ctx, "w", 0);
    tg_tensor *x3 = zeros(s.ctx, TG_F32, 3), *x5 = zeros(s.ctx, TG_F32, 5),
              *i3 = zeros(s.ctx, TG_I32, 3),
              *scalar = tg_tensor_create(s.ctx, TG_F32, TG_SCALAR, tg_zeros());
    tg_function *f = tg_function_create(s.ctx, no_op, NULL, NULL);

    call_only(f, TG_ARGS(x3, TG_STATIC(1)));
    cr_assert_eq(newest(f, 1).reason, TG_RETRACE_FIRST);

    call_only(f, TG_ARGS(x5, TG_STATIC(1)));
    tg_retrace r = newest(f, 2);
    cr_assert_eq(r.reason, TG_RETRACE_DIM);
    cr_assert_eq(r.arg, 0);
    cr_assert_eq(r.dim, 0);
    cr_assert_eq(r.before, 3);
    cr_assert_eq(r.now, 5);
    cr_assert(r.generalised);

    call_only(f, TG_ARGS(i3, TG_STATIC(1)));
    r = newest(f, 3);
    cr_assert_eq(r.reason, TG_RETRACE_DTYPE);
    cr_assert_eq(r.arg, 0);
    cr_assert_eq(r.before, TG_F32);
    cr_assert_eq(r.now, TG_I32);

    call_only(f, TG_ARGS(scalar, TG_STATIC(1)));
    r = newest(f, 4);
    cr_assert_eq(r.reason, TG_RETRACE_RANK);
    cr_assert_eq(r.before, 1);
    cr_assert_eq(r.now, 0);

    call_only(f, TG_ARGS(x3, TG_STATIC(2)));
    r = newest(f, 5);
    cr_assert_eq(r.reason, TG_RETRACE_STATIC);
    cr_assert_eq(r.arg, 1);

    call_only(f, TG_ARGS(x3, x3));
    r = newest(f, 6);
    cr_assert_eq(r.reason, TG_RETRACE_KIND);
    cr_assert_eq(r.arg, 1);

    call_only(f, TG_ARGS(x3, x3, x3));
    r = newest(f, 7);
    cr_assert_eq(r.reason, TG_RETRACE_ARG_COUNT);
    cr_assert_eq(r.now, 3);

    tg_function_clear(f);
    call_only(f, TG_ARGS(v, w));
    cr_assert_eq(newest(f, 8).reason, TG_RETRACE_FIRST);
    call_only(f, TG_ARGS(v, v));
    r = newest(f, 9);
    cr_assert_eq(r.reason, TG_RETRACE_ALIAS);
    cr_assert_eq(r.arg, 1);
    call_only(f, TG_ARGS(x3, x3));
    cr_assert_eq(newest(f, 10).reason, TG_RETRACE_DROPPED);

    tg_variable_release(v);
    tg_variable_release(w);
    tg_tensor_release(x3);
    tg_tensor_release(x5);
    tg_tensor_release(i3);
    tg_tensor_release(scalar);
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_11_an_evicted_trace_is_repeated_and_explained)
{
    session s;
    session_begin(&s);
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.max_traces = 2;
    options.policy = TG_EXACT;
    tg_function *f = tg_function_create(s.ctx, twice, NULL, &options);
    tg_tensor *x[3];
    for (int i = 0; i < 3; i++)
        x[i] = zeros(s.ctx, TG_F32, i + 1);
    call_only(f, TG_ARGS(x[0]));
    call_only(f, TG_ARGS(x[1]));
    call_only(f, TG_ARGS(x[0])); /* now x[1] is the least recently used */
    call_only(f, TG_ARGS(x[2]));
    char *text = tg_function_text(f, TG_TEXT_SHORT);
    cr_assert_str_eq(text, "twice(f32[1])\ntwice(f32[3])\n");
    tg_text_free(text);
    call_only(f, TG_ARGS(x[0]));
    cr_assert_eq(tg_function_trace_count(f), 3);
    call_only(f, TG_ARGS(x[1]));
    cr_assert_eq(newest(f, 4).reason, TG_RETRACE_DROPPED);
    for (int i = 0; i < 3; i++)
        tg_tensor_release(x[i]);
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_11_reasons_are_text)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, twice, NULL, NULL);
    char *text = tg_explain_retrace(f);
    cr_assert_str_eq(text, "");
    tg_text_free(text);
    tg_tensor *x = zeros(s.ctx, TG_F32, 32), *y = zeros(s.ctx, TG_F32, 48),
              *i = zeros(s.ctx, TG_I32, 32);
    call_only(f, TG_ARGS(x));
    call_only(f, TG_ARGS(y));
    call_only(f, TG_ARGS(i));
    text = tg_explain_retrace(f);
    cr_assert_str_eq(text, "trace 0: first call\n"
                           "trace 1: arg 0 dim 0: 32 -> 48, "
                           "generalised to ?\n"
                           "trace 2: arg 0: f32 -> i32\n");
    tg_text_free(text);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_tensor_release(i);
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_11_reasons_are_logged_with_the_place_of_the_call)
{
    session s;
    session_begin_with(&s, (tg_context_options){.explain = "retrace"});
    tg_function *f = tg_function_create(s.ctx, twice, NULL, NULL);
    tg_tensor *x = zeros(s.ctx, TG_F32, 32), *y = zeros(s.ctx, TG_F32, 48);
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS()));
    char wanted[512];
    s.logged[0] = '\0';
    const int line = __LINE__ + 1;
    check_works(tg_call(f, TG_ARGS(y), TG_RESULTS()));
    snprintf(wanted, sizeof wanted,
             "%s:%d: twice is traced: arg 0 dim 0: 32 -> 48, generalised to "
             "? (trace 1)\n",
             __FILE__, line);
    cr_assert_str_eq(s.logged, wanted);
    check_works(tg_call(f, TG_ARGS(y), TG_RESULTS()));
    cr_assert_str_eq(s.logged, wanted); /* no trace, no message */
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    session_end(&s);
}

/* -- 12: concrete functions ------------------------------------------------ */

/* The result of a call of a concrete function, which must succeed. */
static tg_tensor *call_trace(tg_concrete *c, const tg_operand *args,
                             size_t n_args)
{
    tg_tensor *y = NULL;
    check_works(tg_concrete_call(c, args, n_args, TG_RESULTS(&y)));
    return y;
}

Test(semantics, line_12_a_trace_can_be_called_directly)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, twice, NULL, NULL);
    tg_spec spec = tg_spec_tensor(TG_F32, TG_DIMS(2));
    tg_concrete *c = tg_function_concrete(f, &spec, 1);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    check_f32(call_trace(c, TG_ARGS(x)), 2, 4);
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_tensor_release(x);
    tg_concrete_release(c);
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_12_a_wrong_shape_is_an_error_that_names_both)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, twice, NULL, NULL);
    tg_spec spec = tg_spec_tensor(TG_F32, TG_DIMS(2));
    tg_concrete *c = tg_function_concrete(f, &spec, 1);
    tg_tensor *x = f32_vector(s.ctx, 1, 2), *y = f32_vector(s.ctx, 1, 2, 3),
              *i = i32_vector(s.ctx, 1, 2), *result = NULL;
    check_fails(tg_concrete_call(c, TG_ARGS(y), TG_RESULTS(&result)),
                TG_ERROR_SIGNATURE, "twice", "argument 0", "f32[2]", "f32[3]");
    check_fails(tg_concrete_call(c, TG_ARGS(i), TG_RESULTS(&result)),
                TG_ERROR_SIGNATURE, "f32[2]", "i32[2]");
    check_fails(tg_concrete_call(c, TG_ARGS(x, x), TG_RESULTS(&result)),
                TG_ERROR_SIGNATURE, "twice", "1", "2");
    check_fails(tg_concrete_call(c, TG_ARGS(), TG_RESULTS(&result)),
                TG_ERROR_SIGNATURE, "twice", "1", "0");
    cr_assert_null(result);
    cr_assert_eq(tg_function_trace_count(f), 1);
    check_f32(call_trace(c, TG_ARGS(x)), 2, 4);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_tensor_release(i);
    tg_concrete_release(c);
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_12_unknown_dims_of_a_trace_take_all_sizes)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, twice, NULL, NULL);
    tg_spec spec = tg_spec_tensor(TG_F32, TG_DIMS(TG_UNKNOWN));
    tg_concrete *c = tg_function_concrete(f, &spec, 1);
    tg_tensor *x = f32_vector(s.ctx, 1), *y = f32_vector(s.ctx, 1, 2, 3),
              *none = zeros(s.ctx, TG_F32, 0);
    check_f32(call_trace(c, TG_ARGS(x)), 2);
    check_f32(call_trace(c, TG_ARGS(y)), 2, 4, 6);
    tg_tensor *empty = call_trace(c, TG_ARGS(none));
    cr_assert_eq(tg_tensor_count(empty), 0);
    tg_tensor_release(empty);
    check_f32(call_one(f, TG_ARGS(y)), 2, 4, 6); /* which matches as well */
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_tensor_release(none);
    tg_concrete_release(c);
    tg_function_release(f);
    session_end(&s);
}

static void add_1_and_10(tg_trace *t, const tg_value *in, void *user)
{
    (void)t, (void)user;
    tg_assign_add(in[0], 1);
    tg_assign_add(in[1], 10);
}

Test(semantics, line_12_a_trace_for_two_variables_refuses_one_twice)
{
    session s;
    session_begin(&s);
    tg_variable *v = f32_scalar_variable(s.ctx, "v", 0);
    tg_variable *w = f32_scalar_variable(s.ctx, "w", 0);
    tg_function *f = tg_function_create(s.ctx, add_1_and_10, NULL, NULL);
    const tg_spec specs[] = {tg_spec_variable(TG_F32, TG_SCALAR),
                             tg_spec_variable(TG_F32, TG_SCALAR)};
    tg_concrete *c = tg_function_concrete(f, specs, 2);
    check_works(tg_concrete_call(c, TG_ARGS(v, w), TG_RESULTS()));
    check_fails(tg_concrete_call(c, TG_ARGS(v, v), TG_RESULTS()),
                TG_ERROR_SIGNATURE, "add_1_and_10");
    check_variable(v, 1);
    check_variable(w, 10);
    tg_concrete_release(c);
    tg_variable_release(v);
    tg_variable_release(w);
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_12_a_trace_refuses_a_variable_it_captured)
{
    session s;
    session_begin(&s);
    tg_variable *v = f32_scalar_variable(s.ctx, "v", 1);
    tg_variable *w = f32_scalar_variable(s.ctx, "w", 2);
    tg_function *f = tg_function_create(s.ctx, add_captured, v, NULL);
    const tg_spec spec = tg_spec_variable(TG_F32, TG_SCALAR);
    tg_concrete *c = tg_function_concrete(f, &spec, 1);
    check_f32(call_trace(c, TG_ARGS(w)), 3);
    check_fails(tg_concrete_call(c, TG_ARGS(v), TG_RESULTS()),
                TG_ERROR_SIGNATURE, "captured");
    check_f32(call_one(f, TG_ARGS(v)), 2); /* the function traces for it */
    tg_concrete_release(c);
    tg_variable_release(v);
    tg_variable_release(w);
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_12_a_trace_outlives_its_function)
{
    session s;
    session_begin(&s);
    tg_variable *v = f32_scalar_variable(s.ctx, "v", 1);
    tg_function *f = tg_function_create(s.ctx, add_captured, v, NULL);
    tg_spec spec = tg_spec_tensor(TG_F32, TG_DIMS(2));
    tg_concrete *c = tg_function_concrete(f, &spec, 1);
    tg_function_clear(f);
    tg_function_release(f);
    tg_variable_release(v);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    check_f32(call_trace(c, TG_ARGS(x)), 2, 3);
    tg_tensor_release(x);
    tg_concrete_release(c);
    session_end(&s);
}
