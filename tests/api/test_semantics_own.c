/* SPDX-License-Identifier: MIT */
/* test_semantics_own.c - promise 7: variables created inside a callback. */
#include "support/api.h"

static tg_tensor *zeros(tg_context *ctx, int64_t n)
{
    return tg_tensor_create(ctx, TG_F32, TG_DIMS(n), tg_zeros());
}

static size_t n_variables(tg_context *ctx)
{
    return tg_context_variables(ctx, TG_ALL_VARIABLES, NULL, 0);
}

/* -- Made once ------------------------------------------------------------- */

static void count_up(tg_trace *t, const tg_value *in, void *user)
{
    (void)in, (void)user;
    tg_variable *n = tg_own_variable(t, "n", TG_F32, TG_SCALAR, tg_fill(100));
    tg_return(t, tg_assign_add(n, 1));
}

Test(semantics, line_07_a_variable_of_the_callback_is_made_once)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, count_up, NULL, NULL);
    for (int i = 1; i <= 3; i++)
        check_f32(call_one(f, TG_ARGS()), 100 + i);
    cr_assert_eq(n_variables(s.ctx), 1);
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_07_it_belongs_to_the_function)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, count_up, NULL, NULL);
    call_only(f, TG_ARGS());
    tg_variable *n = tg_context_find_variable(s.ctx, "count_up/n");
    cr_assert_not_null(n);
    check_variable(n, 101);
    tg_variable_release(n);
    tg_function_release(f);
    cr_assert_eq(tg_compile_wait(s.ctx), TG_OK); /* a background compile
                                                    keeps it alive */
    cr_assert_eq(n_variables(s.ctx), 0);
    session_end(&s);
}

Test(semantics, line_07_two_functions_of_one_callback_have_two)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, count_up, NULL, NULL);
    tg_function *g = tg_function_create(s.ctx, count_up, NULL, NULL);
    check_f32(call_one(f, TG_ARGS()), 101);
    check_f32(call_one(f, TG_ARGS()), 102);
    check_f32(call_one(g, TG_ARGS()), 101);
    cr_assert_eq(n_variables(s.ctx), 2);
    tg_function_release(f);
    tg_function_release(g);
    session_end(&s);
}

Test(semantics, line_07_a_later_trace_gets_the_existing_one)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, count_up, NULL, NULL);
    tg_tensor *x = zeros(s.ctx, 3);
    check_f32(call_one(f, TG_ARGS()), 101);
    check_f32(call_one(f, TG_ARGS(x)), 102);
    check_f32(call_one(f, TG_ARGS(TG_STATIC(1))), 103);
    check_f32(call_one(f, TG_ARGS()), 104);
    cr_assert_eq(tg_function_trace_count(f), 3);
    cr_assert_eq(n_variables(s.ctx), 1);
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_07_it_survives_the_traces)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, count_up, NULL, NULL);
    check_f32(call_one(f, TG_ARGS()), 101);
    tg_function_clear(f);
    check_f32(call_one(f, TG_ARGS()), 102);
    cr_assert_eq(n_variables(s.ctx), 1);
    tg_function_release(f);
    session_end(&s);
}

/* -- Initial values -------------------------------------------------------- */

static void running_sum(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_variable *sum = tg_own_variable_from(t, "sum", tg_mul(in[0], 10));
    tg_return(t, tg_assign_add(sum, in[0]));
}

Test(semantics, line_07_the_initial_value_comes_from_the_first_call)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, running_sum, NULL, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2), *y = f32_vector(s.ctx, 5, 5);
    check_f32(call_one(f, TG_ARGS(x)), 11, 22);
    check_f32(call_one(f, TG_ARGS(y)), 16, 27);
    check_f32(call_one(f, TG_ARGS(x)), 17, 29);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_07_the_first_call_may_come_long_after_the_trace)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, running_sum, NULL, NULL);
    tg_spec spec = tg_spec_tensor(TG_F32, TG_DIMS(2));
    tg_concrete *c = tg_function_concrete(f, &spec, 1);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    check_f32(call_one(f, TG_ARGS(x)), 11, 22);
    check_f32(call_one(f, TG_ARGS(x)), 12, 24);
    tg_concrete_release(c);
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_07_the_host_may_set_it_before_the_first_call)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, running_sum, NULL, NULL);
    tg_spec spec = tg_spec_tensor(TG_F32, TG_DIMS(2));
    tg_concrete_release(tg_function_concrete(f, &spec, 1));
    tg_variable *sum = tg_context_find_variable(s.ctx, "running_sum/sum");
    set_variable(sum, 100, 100);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    check_f32(call_one(f, TG_ARGS(x)), 101, 102);
    tg_variable_release(sum);
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

static void twice(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(in[0], 2));
}

Test(semantics, line_07_before_the_first_call_it_has_no_value)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, running_sum, NULL, NULL);
    tg_function *g = tg_function_create(s.ctx, twice, NULL, NULL);
    tg_spec spec = tg_spec_tensor(TG_F32, TG_DIMS(2));
    tg_concrete_release(tg_function_concrete(f, &spec, 1));
    tg_variable *sum = tg_context_find_variable(s.ctx, "running_sum/sum");
    check_fails(tg_call(g, TG_ARGS(sum), TG_RESULTS()), TG_ERROR_STATE,
                "'running_sum/sum'", "is uninitialised");
    check_fails(tg_call(g, TG_ARGS(tg_value_of(sum)), TG_RESULTS()),
                TG_ERROR_STATE, "'running_sum/sum'", "is uninitialised");
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    call_only(f, TG_ARGS(x));
    check_f32(call_one(g, TG_ARGS(sum)), 22, 44);
    tg_variable_release(sum);
    tg_tensor_release(x);
    tg_function_release(f);
    tg_function_release(g);
    session_end(&s);
}

/* The initial value of the first trace's variable is used by another trace
   too, which takes x differently. */
static void sum_by_kind(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value start = tg_value_rank(in[0]) == 1
                         ? tg_sum(in[0], TG_ALL_AXES)
                         : tg_mul(tg_sum(in[0], TG_ALL_AXES), -1);
    tg_return(t, tg_read(tg_own_variable_from(t, "start", start)));
}

Test(semantics, line_07_whichever_trace_runs_first_gives_the_initial_value)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, sum_by_kind, NULL, NULL);
    const tg_spec vector = tg_spec_tensor(TG_F32, TG_DIMS(2));
    tg_concrete_release(tg_function_concrete(f, &vector, 1));
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    tg_tensor *y =
        tg_tensor_copy(s.ctx, (float[]){10, 20}, TG_F32, TG_DIMS(1, 2));
    check_f32(call_one(f, TG_ARGS(y)), -30);
    check_f32(call_one(f, TG_ARGS(x)), -30);
    cr_assert_eq(tg_function_trace_count(f), 2);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    session_end(&s);
}

static void start_from_captured(tg_trace *t, const tg_value *in, void *user)
{
    tg_variable *start = user;
    tg_variable *own = tg_own_variable_from(t, "own", tg_add(start, in[0]));
    tg_assign(start, -1);
    tg_return(t, tg_read(own), tg_read(start));
}

Test(semantics, line_07_the_initial_value_may_read_variables)
{
    session s;
    session_begin(&s);
    tg_variable *start = f32_scalar_variable(s.ctx, "start", 7);
    tg_function *f =
        tg_function_create(s.ctx, start_from_captured, start, NULL);
    tg_tensor *own = NULL, *now = NULL;
    check_works(tg_call(f, TG_ARGS(1.0f), TG_RESULTS(&own, &now)));
    check_f32(own, 8);
    check_f32(now, -1);
    check_f32(call_one(f, TG_ARGS(2.0f)), 8);
    tg_variable_release(start);
    tg_function_release(f);
    session_end(&s);
}

static void start_from_assigned(tg_trace *t, const tg_value *in, void *user)
{
    (void)in;
    tg_assign((tg_variable *)user, 5);
    tg_variable *own =
        tg_own_variable_from(t, "own", tg_read((tg_variable *)user));
    tg_return(t, tg_read(own));
}

Test(semantics, line_07_an_initial_value_after_an_assignment_is_refused)
{
    session s;
    session_begin(&s);
    tg_variable *v = f32_scalar_variable(s.ctx, "v", 7);
    tg_function *f = tg_function_create(s.ctx, start_from_assigned, v, NULL);
    check_fails(tg_call(f, TG_ARGS(), TG_RESULTS()), TG_ERROR_STATE,
                "initial value", "assignment");
    check_variable(v, 7);
    cr_assert_eq(n_variables(s.ctx), 1);
    tg_variable_release(v);
    tg_function_release(f);
    session_end(&s);
}

static void start_from_gather(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_variable *own =
        tg_own_variable_from(t, "own", tg_gather(in[0], in[1], 0));
    tg_return(t, tg_assign_add(own, 1));
}

Test(semantics, line_07_a_failed_initial_value_is_tried_again)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, start_from_gather, NULL, NULL);
    tg_tensor *x = f32_vector(s.ctx, 10, 20, 30), *bad = i32_vector(s.ctx, 3),
              *good = i32_vector(s.ctx, 1), *y = NULL;
    check_fails(tg_call(f, TG_ARGS(x, bad), TG_RESULTS(&y)), TG_ERROR_INDEX,
                "gather");
    cr_assert_null(y);
    check_f32(call_one(f, TG_ARGS(x, good)), 21);
    check_f32(call_one(f, TG_ARGS(x, good)), 22);
    tg_tensor_release(x);
    tg_tensor_release(bad);
    tg_tensor_release(good);
    tg_function_release(f);
    session_end(&s);
}

static void start_from_all_of_x(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_read(tg_own_variable_from(t, "own", in[0])));
}

Test(semantics, line_07_an_initial_value_has_known_extents)
{
    session s;
    session_begin(&s);
    tg_function *f =
        tg_function_create(s.ctx, start_from_all_of_x, NULL, NULL);
    tg_spec spec = tg_spec_tensor(TG_F32, TG_DIMS(TG_UNKNOWN));
    cr_assert_null(tg_function_concrete(f, &spec, 1));
    check_record(TG_ERROR_SHAPE, "own", "unknown extent");
    cr_assert_eq(n_variables(s.ctx), 0);
    tg_function_release(f);
    session_end(&s);
}

/* -- Roll-back ------------------------------------------------------------- */

typedef struct attempt {
    bool fails;
    int64_t n;
} attempt;

static void make_and_perhaps_fail(tg_trace *t, const tg_value *in, void *user)
{
    const attempt *now = user;
    (void)in;
    tg_variable *a = tg_own_variable(t, "a", TG_F32, TG_DIMS(now->n),
                                     tg_fill((double)now->n));
    tg_variable *b = tg_own_variable_from(t, "b", tg_add(a, 1));
    if (now->fails)
        tg_fail(t, "on purpose");
    tg_return(t, tg_read(b));
}

Test(semantics, line_07_a_failed_trace_deletes_its_variables)
{
    session s;
    session_begin(&s);
    attempt now = {true, 3};
    tg_function *f =
        tg_function_create(s.ctx, make_and_perhaps_fail, &now, NULL);
    for (int i = 0; i < 2; i++) {
        check_fails(tg_call(f, TG_ARGS(), TG_RESULTS()), TG_ERROR_CALLBACK,
                    "on purpose");
        cr_assert_eq(n_variables(s.ctx), 0);
    }
    now = (attempt){false, 2}; /* another spec: nothing is left of the first */
    check_f32(call_one(f, TG_ARGS()), 3, 3);
    cr_assert_eq(n_variables(s.ctx), 2);
    tg_variable *a =
        tg_context_find_variable(s.ctx, "make_and_perhaps_fail/a");
    cr_assert_not_null(a); /* the name is free again */
    tg_variable_release(a);
    tg_function_release(f);
    session_end(&s);
}

/* -- Restrictions on later traces ------------------------------------------ */

static void made_as_long_as_x(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_dtype dtype = tg_value_dtype(in[0]);
    const int64_t n = tg_value_dim(in[0], 0);
    tg_own_variable(t, "w", dtype, TG_DIMS(n), tg_zeros());
}

Test(semantics, line_07_another_spec_on_a_later_trace_is_an_error)
{
    session s;
    session_begin(&s);
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.policy = TG_EXACT;
    tg_function *f =
        tg_function_create(s.ctx, made_as_long_as_x, NULL, &options);
    tg_tensor *x = zeros(s.ctx, 3), *y = zeros(s.ctx, 4),
              *i = i32_vector(s.ctx, 1, 2, 3);
    call_only(f, TG_ARGS(x));
    check_fails(tg_call(f, TG_ARGS(y), TG_RESULTS()), TG_ERROR_STATE, "'w'",
                "f32[3]", "f32[4]", __FILE__);
    check_fails(tg_call(f, TG_ARGS(i), TG_RESULTS()), TG_ERROR_STATE, "'w'",
                "f32[3]", "i32[3]");
    call_only(f, TG_ARGS(x));
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_tensor_release(i);
    tg_function_release(f);
    session_end(&s);
}

static void one_more_for_matrices(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_own_variable(t, "first", TG_F32, TG_SCALAR, tg_zeros());
    if (tg_value_rank(in[0]) == 2)
        tg_own_variable(t, "second", TG_F32, TG_SCALAR, tg_zeros());
}

Test(semantics, line_07_a_new_variable_on_a_later_trace_is_an_error)
{
    session s;
    session_begin(&s);
    tg_function *f =
        tg_function_create(s.ctx, one_more_for_matrices, NULL, NULL);
    tg_tensor *x = zeros(s.ctx, 3);
    tg_tensor *m = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(2, 2), tg_zeros());
    call_only(f, TG_ARGS(x));
    check_fails(tg_call(f, TG_ARGS(m), TG_RESULTS()), TG_ERROR_STATE,
                "'second'", "later trace");
    cr_assert_eq(n_variables(s.ctx), 1);
    call_only(f, TG_ARGS(x));
    tg_tensor_release(x);
    tg_tensor_release(m);
    tg_function_release(f);
    session_end(&s);
}

static void one_name_twice(tg_trace *t, const tg_value *in, void *user)
{
    (void)in, (void)user;
    tg_own_variable(t, "w", TG_F32, TG_SCALAR, tg_zeros());
    tg_own_variable(t, "w", TG_F32, TG_SCALAR, tg_zeros());
}

Test(semantics, line_07_one_name_twice_in_a_trace_is_an_error)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, one_name_twice, NULL, NULL);
    check_fails(tg_call(f, TG_ARGS(), TG_RESULTS()), TG_ERROR_STATE, "'w'",
                "twice");
    cr_assert_eq(n_variables(s.ctx), 0);
    tg_function_release(f);
    session_end(&s);
}

/* -- Nested ---------------------------------------------------------------- */

static void apply_user(tg_trace *t, const tg_value *in, void *user)
{
    tg_value y;
    tg_apply((tg_function *)user, TG_ARGS(in[0]), &y, 1);
    tg_return(t, y);
}

Test(semantics, line_07_a_nested_function_makes_its_own_variable)
{
    session s;
    session_begin(&s);
    tg_function *inner = tg_function_create(s.ctx, running_sum, NULL, NULL);
    tg_function *outer = tg_function_create(s.ctx, apply_user, inner, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2), *y = f32_vector(s.ctx, 5, 5);
    check_f32(call_one(outer, TG_ARGS(x)), 11, 22);
    check_f32(call_one(outer, TG_ARGS(y)), 16, 27);
    check_f32(call_one(inner, TG_ARGS(y)), 21, 32); /* it belongs to inner */
    check_f32(call_one(outer, TG_ARGS(x)), 22, 34);
    cr_assert_eq(n_variables(s.ctx), 1);
    tg_variable *sum = tg_context_find_variable(s.ctx, "running_sum/sum");
    cr_assert_not_null(sum);
    tg_variable_release(sum);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(outer);
    tg_function_release(inner);
    session_end(&s);
}

Test(semantics, line_07_a_nested_variable_has_the_value_of_its_first_call)
{
    session s;
    session_begin(&s);
    tg_function *inner = tg_function_create(s.ctx, running_sum, NULL, NULL);
    tg_function *outer = tg_function_create(s.ctx, apply_user, inner, NULL);
    tg_spec spec = tg_spec_tensor(TG_F32, TG_DIMS(2));
    tg_concrete_release(tg_function_concrete(outer, &spec, 1));
    tg_tensor *x = f32_vector(s.ctx, 1, 2), *y = f32_vector(s.ctx, 5, 5);
    check_f32(call_one(inner, TG_ARGS(y)), 55, 55);
    check_f32(call_one(outer, TG_ARGS(x)), 56, 57);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(outer);
    tg_function_release(inner);
    session_end(&s);
}

/* Counts its own calls, and applies itself to a smaller static number. */
static void count_down(tg_trace *t, const tg_value *in, void *user)
{
    (void)in;
    tg_variable *n = tg_own_variable(t, "n", TG_F32, TG_SCALAR, tg_zeros());
    const int64_t depth = tg_static_int(t, 0);
    tg_value ignored;
    if (depth > 0)
        tg_apply(*(tg_function **)user, TG_ARGS(TG_STATIC((int)depth - 1)),
                 &ignored, 1);
    tg_return(t, tg_assign_add(n, 1));
}

Test(semantics, line_07_a_function_that_calls_itself_has_one_variable)
{
    session s;
    session_begin(&s);
    tg_function *f = NULL;
    f = tg_function_create(s.ctx, count_down, &f, NULL);
    check_f32(call_one(f, TG_ARGS(TG_STATIC(3))), 4);
    cr_assert_eq(n_variables(s.ctx), 1);
    check_f32(call_one(f, TG_ARGS(TG_STATIC(0))), 5);
    check_f32(call_one(f, TG_ARGS(TG_STATIC(2))), 8);
    cr_assert_eq(tg_function_trace_count(f), 4);
    tg_function_release(f);
    session_end(&s);
}

/* The same, but the outermost call fails after the inner ones succeeded. */
static void count_down_and_fail(tg_trace *t, const tg_value *in, void *user)
{
    count_down(t, in, user);
    if (tg_static_int(t, 0) == 3)
        tg_fail(t, "three is too many");
}

Test(semantics, line_07_a_variable_stays_with_the_traces_that_succeeded)
{
    session s;
    session_begin(&s);
    tg_function *f = NULL;
    f = tg_function_create(s.ctx, count_down_and_fail, &f, NULL);
    check_fails(tg_call(f, TG_ARGS(TG_STATIC(3)), TG_RESULTS()),
                TG_ERROR_CALLBACK, "too many");
    cr_assert_eq(tg_function_trace_count(f), 3);
    cr_assert_eq(n_variables(s.ctx), 1);
    check_f32(call_one(f, TG_ARGS(TG_STATIC(2))), 3);
    check_f32(call_one(f, TG_ARGS(TG_STATIC(0))), 4);
    tg_function_release(f);
    session_end(&s);
}
