/* SPDX-License-Identifier: MIT */
/*
 * test_bad_input_regions.c - callbacks of branches and loops that misuse the
 * library: values and traces of others, failing callbacks, infinite loops, out
 * of memory.
 */
#include "support/control.h"

CALLBACK(keep)
{
    tg_return(t, in[0]);
}

CALLBACK(always)
{
    tg_return(t, (bool)1);
}

/* The function's callback fails; the function then works with another
   callback, since nothing is left behind. */
static void check_fails_in_trace_at(int line, tg_callback *callback,
                                    void *user, tg_status wanted,
                                    const char *const *pieces)
{
    session s;
    session_begin_with(&s, (tg_context_options){.jit = "off"});
    tg_function *f = tg_function_create(s.ctx, callback, user, NULL);
    tg_function *good = tg_function_create(s.ctx, keep, NULL, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    for (int i = 0; i < 2; i++)
        check_failure_at(line, tg_call(f, TG_ARGS(x), TG_RESULTS()), wanted,
                         pieces);
    check_f32(call_one(good, TG_ARGS(x)), 1, 2);
    tg_tensor_release(x);
    tg_function_release(f);
    tg_function_release(good);
    session_end(&s);
}

#define check_fails_in_trace(callback, user, wanted, ...) \
    check_fails_in_trace_at(__LINE__, callback, user, wanted, \
                            (const char *const[]){__VA_ARGS__, NULL})

/* -- Values that are not there --------------------------------------------- */

static tg_value escaped;

CALLBACK(keep_inner)
{
    escaped = tg_mul(in[0], 2.0);
    tg_return(t, in[0]);
}

CALLBACK(use_escaped)
{
    tg_return(t, tg_add(in[0], escaped));
}

/* A value of a branch, used after it. */
CALLBACK(use_after)
{
    tg_cond((bool)1, keep_inner, keep, NULL, TG_ARGS(in[0]), NULL, 0);
    cr_assert_eq(tg_value_dtype(escaped), TG_DTYPE_NONE);
    cr_assert_eq(tg_value_rank(escaped), -1);
    cr_assert_eq(tg_value_dim(escaped, 0), -1);
    tg_return(t, tg_neg(escaped));
}

/* In the other branch, in another loop, as an initial value, as a result. */
CALLBACK(use_in_else)
{
    tg_cond((bool)1, keep_inner, use_escaped, NULL, TG_ARGS(in[0]), NULL, 0);
}

CALLBACK(use_in_loop)
{
    tg_cond((bool)1, keep_inner, keep, NULL, TG_ARGS(in[0]), NULL, 0);
    tg_while(always, use_escaped, NULL, TG_ARGS(in[0]), NULL, 0);
}

CALLBACK(use_as_initial)
{
    tg_cond((bool)1, keep_inner, keep, NULL, TG_ARGS(in[0]), NULL, 0);
    tg_while(always, keep, NULL, TG_ARGS(escaped), NULL, 0);
}

CALLBACK(use_as_result)
{
    tg_cond((bool)1, keep_inner, keep, NULL, TG_ARGS(in[0]), NULL, 0);
    tg_return(t, escaped);
}

CALLBACK(test_keeps)
{
    escaped = in[0];
    tg_return(t, (bool)1);
}

/* The test and the body of a loop are two regions. */
CALLBACK(use_value_of_test)
{
    tg_while(test_keeps, use_escaped, NULL, TG_ARGS(in[0]), NULL, 0);
}

Test(bad_input, values_of_a_region_are_good_only_in_it)
{
    static tg_callback *const callbacks[] = {
        use_after,      use_in_else,   use_in_loop,
        use_as_initial, use_as_result, use_value_of_test};
    for (size_t i = 0; i < sizeof(callbacks) / sizeof(*callbacks); i++)
        check_fails_in_trace(callbacks[i], NULL, TG_ERROR_TRACE,
                             "another trace, or of one that has ended",
                             __FILE__);
}

/* A value of the calling function, used in a region of the callee. */
CALLBACK(use_kept_in_branch)
{
    tg_cond((bool)1, use_escaped, keep, NULL, TG_ARGS(in[0]), NULL, 0);
}

CALLBACK(apply_other)
{
    tg_function *f =
        tg_function_create((tg_context *)user, use_kept_in_branch, NULL, NULL);
    escaped = in[0];
    tg_apply(f, TG_ARGS(in[0]), NULL, 0);
    tg_function_release(f);
}

Test(bad_input, a_region_does_not_see_values_of_the_calling_function)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, apply_other, s.ctx, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS()), TG_ERROR_TRACE,
                "calling function's trace: pass it as an argument");
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

/* -- Traces that are not there --------------------------------------------- */

CALLBACK(return_from_outer)
{
    tg_return((tg_trace *)user, in[0]);
}

CALLBACK(print_to_outer)
{
    tg_print((tg_trace *)user, "%v", in[0]);
    tg_return(t, in[0]);
}

CALLBACK(fail_outer)
{
    tg_fail((tg_trace *)user, "not mine");
}

CALLBACK(own_of_outer)
{
    cr_assert_null(tg_own_variable((tg_trace *)user, "v", TG_F32, TG_SCALAR,
                                   tg_zeros()));
}

CALLBACK(static_of_outer)
{
    cr_assert_eq(tg_static_int((tg_trace *)user, 0), 0);
}

CALLBACK(outer_in_branch)
{
    tg_callback *const *inner = user;
    tg_value y = {1, 1};
    tg_cond((bool)1, *inner, keep, t, TG_ARGS(in[0]), &y, 1);
    cr_assert_not(tg_is_valid(y));
}

Test(bad_input, a_region_works_with_its_own_trace)
{
    static tg_callback *callbacks[] = {return_from_outer, print_to_outer,
                                       fail_outer, own_of_outer,
                                       static_of_outer};
    for (size_t i = 0; i < sizeof(callbacks) / sizeof(*callbacks); i++)
        check_fails_in_trace(outer_in_branch, &callbacks[i], TG_ERROR_TRACE,
                             "not the trace of this callback");
}

CALLBACK(return_twice)
{
    tg_return(t, in[0]);
    tg_return(t, in[0]);
}

CALLBACK(twice_in_branch)
{
    tg_cond((bool)1, return_twice, keep, t, TG_ARGS(in[0]), NULL, 0);
}

CALLBACK(twice_in_loop)
{
    tg_while(always, return_twice, t, TG_ARGS(in[0]), NULL, 0);
}

CALLBACK(twice_unrolled)
{
    tg_for_unrolled(1, return_twice, t, TG_ARGS(in[0]), NULL, 0);
}

Test(bad_input, a_region_returns_once)
{
    check_fails_in_trace(twice_in_branch, NULL, TG_ERROR_INVALID_ARGUMENT,
                         "already returned", __FILE__);
    check_fails_in_trace(twice_in_loop, NULL, TG_ERROR_INVALID_ARGUMENT,
                         "already returned", __FILE__);
    check_fails_in_trace(twice_unrolled, NULL, TG_ERROR_INVALID_ARGUMENT,
                         "already returned", __FILE__);
}

Test(bad_input, branches_and_loops_need_a_trace)
{
    tg_value y = {1, 1};
    tg_callback *const branches[] = {keep};
    tg_cond((bool)1, keep, keep, NULL, TG_ARGS(), &y, 1);
    cr_assert_not(tg_is_valid(y));
    check_record(TG_ERROR_TRACE, "cond", "inside a traced callback", __FILE__);
    tg_switch(1, branches, 1, NULL, TG_ARGS(), &y, 1);
    check_record(TG_ERROR_TRACE, "switch", "inside a traced callback");
    tg_while(always, keep, NULL, TG_ARGS(1.0), &y, 1);
    check_record(TG_ERROR_TRACE, "while", "inside a traced callback");
    tg_while_limit(3, always, keep, NULL, TG_ARGS(1.0), &y, 1);
    check_record(TG_ERROR_TRACE, "while", "inside a traced callback");
    tg_for(1, keep, NULL, TG_ARGS(1.0), &y, 1);
    check_record(TG_ERROR_TRACE, "for", "inside a traced callback");
    tg_for_unrolled(1, keep, NULL, TG_ARGS(1.0), &y, 1);
    check_record(TG_ERROR_TRACE, "for_unrolled", "inside a traced callback");
    tg_error_clear();
}

/* -- Failures of their own ------------------------------------------------- */

static int n_after;

CALLBACK(fail_in_words)
{
    tg_fail(t, "layer %d does not like this", 3);
    cr_assert_eq(tg_trace_status(t), TG_ERROR_CALLBACK);
    tg_return(t, in[0]);
}

CALLBACK(count_after)
{
    n_after++;
    tg_return(t, in[0]);
}

CALLBACK(fail_deeper)
{
    tg_value y = {1, 1};
    tg_while(always, fail_in_words, NULL, TG_ARGS(in[0]), &y, 1);
    cr_assert_not(tg_is_valid(y));
    cr_assert_eq(tg_trace_status(t), TG_ERROR_CALLBACK);
    tg_return(t, y);
}

CALLBACK(fail_deep)
{
    tg_value y = {1, 1};
    tg_cond((bool)1, fail_deeper, count_after, NULL, TG_ARGS(in[0]), &y, 1);
    cr_assert_not(tg_is_valid(y));
    cr_assert_eq(tg_trace_status(t), TG_ERROR_CALLBACK);
    /* Later operations do nothing; their callbacks are not called. */
    tg_cond((bool)1, count_after, count_after, NULL, TG_ARGS(in[0]), &y, 1);
    tg_return(t, y);
}

Test(bad_input, a_failing_region_gives_its_own_message)
{
    n_after = 0;
    check_fails_in_trace(fail_deep, NULL, TG_ERROR_CALLBACK,
                         "layer 3 does not like this", __FILE__);
    cr_assert_eq(n_after, 0);
}

CALLBACK(fail_third_iteration)
{
    n_after++;
    if (n_after == 3)
        tg_fail(t, "the third one");
    tg_return(t, in[1]);
}

CALLBACK(fail_unrolled)
{
    tg_for_unrolled(5, fail_third_iteration, NULL, TG_ARGS(in[0]), NULL, 0);
    cr_assert_eq(tg_trace_status(t), TG_ERROR_CALLBACK);
    n_after = 0;
}

Test(bad_input, an_unrolled_loop_stops_at_its_failing_iteration)
{
    n_after = 0;
    check_fails_in_trace(fail_unrolled, NULL, TG_ERROR_CALLBACK,
                         "the third one");
}

CALLBACK(add_wrong)
{
    tg_return(t, tg_add(in[0], tg_slice(in[0], 0, 0, 1, 1)),
              tg_matmul(in[0], 1.0));
}

CALLBACK(wrong_op_inside)
{
    tg_cond((bool)1, add_wrong, keep, NULL, TG_ARGS(in[0]), NULL, 0);
}

Test(bad_input, errors_in_regions_are_reported_as_elsewhere)
{
    check_fails_in_trace(wrong_op_inside, NULL, TG_ERROR_SHAPE, "matmul",
                         __FILE__);
}

/* -- Variables of the function --------------------------------------------- */

CALLBACK(own_from_value)
{
    cr_assert_null(tg_own_variable_from(t, "v", in[0]));
}

CALLBACK(own_from_value_inside)
{
    tg_cond((bool)1, own_from_value, keep, NULL, TG_ARGS(in[0]), NULL, 0);
}

CALLBACK(own_twice)
{
    tg_own_variable(t, "v", TG_F32, TG_SCALAR, tg_zeros());
    tg_return(t, in[0]);
}

CALLBACK(own_in_both)
{
    tg_cond((bool)1, own_twice, own_twice, NULL, TG_ARGS(in[0]), NULL, 0);
}

Test(bad_input, own_variables_of_regions_follow_the_rules_of_functions)
{
    check_fails_in_trace(own_from_value_inside, NULL, TG_ERROR_STATE,
                         "own variable 'v'", "branch or loop", __FILE__);
    check_fails_in_trace(own_in_both, NULL, TG_ERROR_STATE,
                         "own variable 'v' is created twice");
}

CALLBACK(assign_value)
{
    tg_assign(in[0], 1.0);
    tg_return(t, in[0]);
}

CALLBACK(assign_loop_value)
{
    tg_while(always, assign_value, NULL, TG_ARGS(in[0]), NULL, 0);
}

Test(bad_input, a_loop_value_is_no_variable)
{
    check_fails_in_trace(assign_loop_value, NULL, TG_ERROR_INVALID_ARGUMENT,
                         "assign", "not a variable", __FILE__);
}

/* -- Loops without an end -------------------------------------------------- */

CALLBACK(for_ever)
{
    tg_value y;
    tg_while_limit(1000, always, keep, NULL, TG_ARGS(in[0]), &y, 1);
    tg_return(t, y);
}

CALLBACK(for_ever_inside)
{
    tg_value y;
    tg_while_limit(3, always, for_ever, NULL, TG_ARGS(in[0]), &y, 1);
    tg_return(t, y);
}

static void check_endless(session *s)
{
    static tg_callback *const callbacks[] = {for_ever, for_ever_inside};
    for (int i = 0; i < 2; i++) {
        tg_function *f =
            tg_function_create(s->ctx, callbacks[i], NULL, NULL);
        tg_tensor *x = f32_vector(s->ctx, 1, 2), *y = NULL;
        check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS(&y)), TG_ERROR_LIMIT,
                    "while", "after the limit of 1000 iterations", __FILE__);
        cr_assert_null(y);
        tg_tensor_release(x);
        tg_function_release(f);
    }
}

Test(bad_input, a_loop_without_an_end_stops_at_its_limit)
{
    check_control(check_endless);
}
