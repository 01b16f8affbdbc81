/* SPDX-License-Identifier: MIT */
/*
 * test_bad_input_control.c - invalid branches and loops: each message names the
 * error, the operands and the source location.
 */
#include "support/control.h"

/* The first line of the wrong operation. Compilers differ in which of its
   lines they report. */
static int wrong_line;
#define BELOW_IS_WRONG (wrong_line = __LINE__ + 1)

static void check_place(const char *what)
{
    const tg_error_record *record = tg_error_last();
    cr_assert_str_eq(record->file, __FILE__);
    cr_assert(record->line >= wrong_line && record->line <= wrong_line + 2,
              "%s: at line %d, not %d: %s", what, record->line, wrong_line,
              record->message);
}

CALLBACK(keep)
{
    tg_return(t, in[0]);
}

CALLBACK(keep_second)
{
    tg_return(t, in[1]);
}

CALLBACK(always)
{
    tg_return(t, (bool)1);
}

/* A wrong callback and the expected message. Requested results stay invalid. */
typedef struct row {
    tg_callback *callback;
    tg_status status;
    const char *pieces[4];
} row;

static void check_rows_at(int line, const row *rows, size_t n, void *user)
{
    session s;
    session_begin_with(&s, (tg_context_options){.jit = "off"});
    for (size_t i = 0; i < n; i++) {
        tg_function *f =
            tg_function_create(s.ctx, rows[i].callback, user, NULL);
        tg_tensor *x = f32_vector(s.ctx, 1, 2, 3);
        const tg_status is = tg_call(f, TG_ARGS(x, 1.0f, 1), TG_RESULTS());
        cr_assert_eq(is, rows[i].status, "line %d, row %zu: %s: %s", line, i,
                     tg_status_name(is), is ? tg_error(NULL) : "");
        for (int k = 0; k < 4 && rows[i].pieces[k]; k++)
            cr_assert_not_null(strstr(tg_error(NULL), rows[i].pieces[k]),
                               "line %d, row %zu: no \"%s\" in \"%s\"", line,
                               i, rows[i].pieces[k], tg_error(NULL));
        check_place(tg_function_name(f));
        /* It can be requested again; no state was left. */
        cr_assert_eq(tg_function_trace_count(f), 0);
        tg_tensor_release(x);
        tg_function_release(f);
    }
    session_end(&s);
}

#define check_rows(rows, user) \
    check_rows_at(__LINE__, rows, sizeof(rows) / sizeof(*(rows)), user)

/* -- Predicates and numbers ------------------------------------------------ */

CALLBACK(vector_predicate)
{
    tg_value y = {1, 1};
    BELOW_IS_WRONG;
    tg_cond(tg_gt(in[0], 0.0), keep, keep, NULL, TG_ARGS(in[0]), &y, 1);
    cr_assert_not(tg_is_valid(y));
}

CALLBACK(number_predicate)
{
    BELOW_IS_WRONG;
    tg_cond(in[1], keep, keep, NULL, TG_ARGS(in[0]), NULL, 0);
}

CALLBACK(integer_predicate)
{
    BELOW_IS_WRONG;
    tg_cond(1, keep, keep, NULL, TG_ARGS(in[0]), NULL, 0);
}

CALLBACK(float_index)
{
    tg_callback *const branches[] = {keep, keep};
    BELOW_IS_WRONG;
    tg_switch(in[1], branches, 2, NULL, TG_ARGS(in[0]), NULL, 0);
}

CALLBACK(bool_index)
{
    tg_callback *const branches[] = {keep, keep};
    BELOW_IS_WRONG;
    tg_switch((bool)1, branches, 2, NULL, TG_ARGS(in[0]), NULL, 0);
}

CALLBACK(vector_index)
{
    tg_callback *const branches[] = {keep, keep};
    tg_value index = tg_cast(in[0], TG_I32);
    BELOW_IS_WRONG;
    tg_switch(index, branches, 2, NULL, TG_ARGS(in[0]), NULL, 0);
}

CALLBACK(float_iterations)
{
    BELOW_IS_WRONG;
    tg_for(2.5, keep_second, NULL, TG_ARGS(in[0]), NULL, 0);
}

CALLBACK(vector_iterations)
{
    tg_value iterations = tg_cast(in[0], TG_I64);
    BELOW_IS_WRONG;
    tg_for(iterations, keep_second, NULL, TG_ARGS(in[0]), NULL, 0);
}

CALLBACK(test_of_floats)
{
    BELOW_IS_WRONG;
    tg_while(keep, keep, NULL, TG_ARGS(in[1]), NULL, 0);
}

CALLBACK(is_positive)
{
    tg_return(t, tg_gt(in[0], 0.0));
}

CALLBACK(test_of_vectors)
{
    BELOW_IS_WRONG;
    tg_while(is_positive, keep, NULL, TG_ARGS(in[0]), NULL, 0);
}

CALLBACK(test_of_nothing)
{
}

CALLBACK(test_of_two)
{
    tg_return(t, (bool)1, (bool)0);
}

CALLBACK(silent_test)
{
    BELOW_IS_WRONG;
    tg_while(test_of_nothing, keep, NULL, TG_ARGS(in[0]), NULL, 0);
}

CALLBACK(double_test)
{
    BELOW_IS_WRONG;
    tg_while(test_of_two, keep, NULL, TG_ARGS(in[0]), NULL, 0);
}

Test(bad_input, predicates_are_bool_scalars_and_indices_integer_scalars)
{
    static const row rows[] = {
        {vector_predicate, TG_ERROR_SHAPE,
         {"cond: ", "predicate is bool[3]", "bool scalar"}},
        {number_predicate, TG_ERROR_DTYPE,
         {"cond: ", "predicate is f32[]", "bool scalar"}},
        {integer_predicate, TG_ERROR_DTYPE, {"cond: ", "predicate is i32[]"}},
        {float_index, TG_ERROR_DTYPE,
         {"switch: ", "index is f32[]", "integer scalar"}},
        {bool_index, TG_ERROR_DTYPE, {"switch: ", "index is bool[]"}},
        {vector_index, TG_ERROR_SHAPE, {"switch: ", "index is i32[3]"}},
        {float_iterations, TG_ERROR_DTYPE,
         {"for: ", "number of iterations is f64[]", "integer scalar"}},
        {vector_iterations, TG_ERROR_SHAPE,
         {"for: ", "number of iterations is i64[3]"}},
        {test_of_floats, TG_ERROR_DTYPE,
         {"while: ", "test returns f32[]", "bool scalar"}},
        {test_of_vectors, TG_ERROR_SHAPE,
         {"while: ", "test returns bool[3]", "bool scalar"}},
        {silent_test, TG_ERROR_INVALID_ARGUMENT,
         {"while: ", "test returns 0 values, not one"}},
        {double_test, TG_ERROR_INVALID_ARGUMENT,
         {"while: ", "test returns 2 values, not one"}},
    };
    check_rows(rows, NULL);
}

/* -- Types that change ----------------------------------------------------- */

CALLBACK(shorten)
{
    tg_return(t, tg_slice(in[0], 0, 0, 2, 1));
}

CALLBACK(shorten_second)
{
    tg_return(t, tg_slice(in[1], 0, 0, 2, 1));
}

CALLBACK(widen)
{
    tg_return(t, tg_cast(in[0], TG_F64));
}

CALLBACK(reduce)
{
    tg_return(t, tg_sum(in[0], TG_ALL_AXES));
}

CALLBACK(while_shrinks)
{
    BELOW_IS_WRONG;
    tg_while(always, shorten, NULL, TG_ARGS(in[0]), NULL, 0);
}

CALLBACK(while_widens)
{
    tg_name(in[0], "weights");
    BELOW_IS_WRONG;
    tg_while(always, widen, NULL, TG_ARGS(in[0]), NULL, 0);
}

CALLBACK(while_loses_rank)
{
    BELOW_IS_WRONG;
    tg_while(always, reduce, NULL, TG_ARGS(in[0]), NULL, 0);
}

CALLBACK(for_shrinks)
{
    BELOW_IS_WRONG;
    tg_for(2, shorten_second, NULL, TG_ARGS(in[0]), NULL, 0);
}

CALLBACK(unrolled_shrinks)
{
    BELOW_IS_WRONG;
    tg_for_unrolled(2, shorten_second, NULL, TG_ARGS(in[0]), NULL, 0);
}

CALLBACK(change_the_second)
{
    tg_return(t, in[0], tg_gt(in[1], 0.0));
}

CALLBACK(second_changes)
{
    tg_value norm = tg_name(tg_sum(in[0], TG_ALL_AXES), "norm");
    BELOW_IS_WRONG;
    tg_while(always, change_the_second, NULL, TG_ARGS(in[0], norm), NULL, 0);
}

CALLBACK(number_is_f64)
{
    /* A plain number has its C type. */
    BELOW_IS_WRONG;
    tg_for(2, keep, NULL, TG_ARGS(1.0), NULL, 0);
}

CALLBACK(return_half)
{
    tg_return(t, 0.5);
}

CALLBACK(number_does_not_fit)
{
    BELOW_IS_WRONG;
    tg_for(2, return_half, NULL, TG_ARGS(1), NULL, 0);
}

CALLBACK(branches_differ)
{
    BELOW_IS_WRONG;
    tg_cond((bool)1, keep, shorten, NULL, TG_ARGS(in[0]), NULL, 0);
}

CALLBACK(branches_differ_in_type)
{
    BELOW_IS_WRONG;
    tg_cond((bool)1, keep, widen, NULL, TG_ARGS(in[0]), NULL, 0);
}

CALLBACK(third_branch_differs)
{
    tg_callback *const branches[] = {keep, keep, reduce};
    BELOW_IS_WRONG;
    tg_switch(0, branches, 3, NULL, TG_ARGS(in[0]), NULL, 0);
}

CALLBACK(number_in_vector_branch)
{
    BELOW_IS_WRONG;
    tg_cond((bool)1, return_half, keep, NULL, TG_ARGS(in[0]), NULL, 0);
}

Test(bad_input, a_loop_value_that_changes_its_type_is_named)
{
    static const row rows[] = {
        {while_shrinks, TG_ERROR_SHAPE,
         {"while: ", "loop value 0 ", "f32[3]", "returns f32[2]"}},
        {while_widens, TG_ERROR_DTYPE,
         {"while: ", "loop value 0 ('weights') is f32[3]", "f64[3]"}},
        {while_loses_rank, TG_ERROR_SHAPE,
         {"while: ", "loop value 0 ", "returns f32[]"}},
        {for_shrinks, TG_ERROR_SHAPE,
         {"for: ", "loop value 0 ", "f32[3]", "returns f32[2]"}},
        {unrolled_shrinks, TG_ERROR_SHAPE,
         {"for_unrolled: ", "loop value 0 ", "f32[3]", "returns f32[2]"}},
        {second_changes, TG_ERROR_DTYPE,
         {"while: ", "loop value 1 ('norm') is f32[]", "returns bool[]"}},
        {number_is_f64, TG_ERROR_DTYPE,
         {"for: ", "loop value 0 is f64[]", "returns i64[]"}},
        {number_does_not_fit, TG_ERROR_DTYPE, {"for: ", "0.5", "i32"}},
    };
    check_rows(rows, NULL);
}

Test(bad_input, branches_that_return_different_types_are_named)
{
    static const row rows[] = {
        {branches_differ, TG_ERROR_SHAPE,
         {"cond: ", "result 0 is f32[3]", "else returns f32[2]"}},
        {branches_differ_in_type, TG_ERROR_DTYPE,
         {"cond: ", "result 0 is f32[3]", "else returns f64[3]"}},
        {third_branch_differs, TG_ERROR_SHAPE,
         {"switch: ", "result 0 is f32[3]", "branch 2 returns f32[]"}},
        {number_in_vector_branch, TG_ERROR_SHAPE,
         {"cond: ", "result 0 is f32[3]", "then returns f32[]"}},
    };
    check_rows(rows, NULL);
}

/* A loop value may not grow with unknown extents either. */
CALLBACK(append)
{
    tg_return(t, tg_concat(0, in[1], in[1]));
}

CALLBACK(for_grows)
{
    BELOW_IS_WRONG;
    tg_for(2, append, NULL, TG_ARGS(in[0]), NULL, 0);
}

Test(bad_input, a_loop_value_may_not_grow_by_unknown_extents)
{
    session s;
    session_begin(&s);
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.policy = TG_RELAXED;
    tg_function *f = tg_function_create(s.ctx, for_grows, NULL, &options);
    tg_tensor *x = f32_vector(s.ctx, 1, 2, 3);
    check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS()), TG_ERROR_SHAPE,
                "for: ", "loop value 0", __FILE__);
    check_place("for_grows");
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

/* -- Numbers of values ----------------------------------------------------- */

CALLBACK(return_nothing)
{
}

CALLBACK(return_both)
{
    tg_return(t, in[0], in[0]);
}

CALLBACK(body_returns_nothing)
{
    tg_value y;
    BELOW_IS_WRONG;
    tg_while(always, return_nothing, NULL, TG_ARGS(in[0]), &y, 1);
}

CALLBACK(body_returns_more)
{
    BELOW_IS_WRONG;
    tg_for(1, return_both, NULL, TG_ARGS((int64_t)1), NULL, 0);
}

CALLBACK(unrolled_returns_nothing)
{
    BELOW_IS_WRONG;
    tg_for_unrolled(1, return_nothing, NULL, TG_ARGS(in[0]), NULL, 0);
}

CALLBACK(branch_returns_more)
{
    BELOW_IS_WRONG;
    tg_cond((bool)1, keep, return_both, NULL, TG_ARGS(in[0]), NULL, 0);
}

CALLBACK(too_many_results)
{
    tg_value y[3] = {{1, 1}, {1, 1}, {1, 1}};
    BELOW_IS_WRONG;
    tg_cond((bool)1, keep, keep, NULL, TG_ARGS(in[0]), y, 3);
    for (int i = 0; i < 3; i++)
        cr_assert_not(tg_is_valid(y[i]));
}

CALLBACK(too_many_loop_results)
{
    tg_value y[2];
    BELOW_IS_WRONG;
    tg_while(always, keep, NULL, TG_ARGS(in[0]), y, 2);
}

CALLBACK(too_many_for_results)
{
    tg_value y[2];
    BELOW_IS_WRONG;
    tg_for(1, keep_second, NULL, TG_ARGS(in[0]), y, 2);
}

CALLBACK(no_branches)
{
    BELOW_IS_WRONG;
    tg_switch(0, NULL, 0, NULL, TG_ARGS(in[0]), NULL, 0);
}

CALLBACK(no_branch_list)
{
    BELOW_IS_WRONG;
    tg_switch(0, NULL, 2, NULL, TG_ARGS(in[0]), NULL, 0);
}

Test(bad_input, wrong_numbers_of_values_are_reported)
{
    static const row rows[] = {
        {body_returns_nothing, TG_ERROR_INVALID_ARGUMENT,
         {"while: ", "body returns 0 values, but the loop has 1"}},
        {body_returns_more, TG_ERROR_INVALID_ARGUMENT,
         {"for: ", "body returns 2 values, but the loop has 1"}},
        {unrolled_returns_nothing, TG_ERROR_INVALID_ARGUMENT,
         {"for_unrolled: ", "body returns 0 values"}},
        {branch_returns_more, TG_ERROR_INVALID_ARGUMENT,
         {"cond: ", "then returns 1 value, but else returns 2"}},
        {too_many_results, TG_ERROR_INVALID_ARGUMENT,
         {"cond: ", "return 1 result, but 3 were requested"}},
        {too_many_loop_results, TG_ERROR_INVALID_ARGUMENT,
         {"while: ", "the loop has 1 value, but 2 were requested"}},
        {too_many_for_results, TG_ERROR_INVALID_ARGUMENT,
         {"for: ", "the loop has 1 value, but 2 were requested"}},
        {no_branches, TG_ERROR_INVALID_ARGUMENT,
         {"switch: ", "no branches"}},
        {no_branch_list, TG_ERROR_INVALID_ARGUMENT,
         {"switch: ", "no branches"}},
    };
    check_rows(rows, NULL);
}

/* -- NULL ------------------------------------------------------------------ */

CALLBACK(null_then)
{
    BELOW_IS_WRONG;
    tg_cond((bool)1, NULL, keep, NULL, TG_ARGS(in[0]), NULL, 0);
}

CALLBACK(null_else)
{
    BELOW_IS_WRONG;
    tg_cond((bool)1, keep, NULL, NULL, TG_ARGS(in[0]), NULL, 0);
}

CALLBACK(null_branch)
{
    tg_callback *const branches[] = {keep, NULL, keep};
    BELOW_IS_WRONG;
    tg_switch(0, branches, 3, NULL, TG_ARGS(in[0]), NULL, 0);
}

CALLBACK(null_test)
{
    BELOW_IS_WRONG;
    tg_while(NULL, keep, NULL, TG_ARGS(in[0]), NULL, 0);
}

CALLBACK(null_body)
{
    BELOW_IS_WRONG;
    tg_for(1, NULL, NULL, TG_ARGS(in[0]), NULL, 0);
}

CALLBACK(null_unrolled_body)
{
    BELOW_IS_WRONG;
    tg_for_unrolled(1, NULL, NULL, TG_ARGS(in[0]), NULL, 0);
}

CALLBACK(null_results)
{
    BELOW_IS_WRONG;
    tg_cond((bool)1, keep, keep, NULL, TG_ARGS(in[0]), NULL, 1);
}

CALLBACK(null_values)
{
    BELOW_IS_WRONG;
    tg_while(always, keep, NULL, NULL, 2, NULL, 0);
}

CALLBACK(null_tensor)
{
    BELOW_IS_WRONG;
    tg_while(always, keep, NULL, TG_ARGS((tg_tensor *)NULL), NULL, 0);
}

CALLBACK(null_variable)
{
    BELOW_IS_WRONG;
    tg_for(1, keep, NULL, TG_ARGS((tg_variable *)NULL), NULL, 0);
}

CALLBACK(string_value)
{
    BELOW_IS_WRONG;
    tg_for(1, keep, NULL, TG_ARGS("three"), NULL, 0);
}

Test(bad_input, null_and_invalid_operands_are_refused)
{
    static const row rows[] = {
        {null_then, TG_ERROR_INVALID_ARGUMENT, {"cond: ", "NULL"}},
        {null_else, TG_ERROR_INVALID_ARGUMENT, {"cond: ", "NULL"}},
        {null_branch, TG_ERROR_INVALID_ARGUMENT, {"switch: ", "NULL"}},
        {null_test, TG_ERROR_INVALID_ARGUMENT, {"while: ", "NULL"}},
        {null_body, TG_ERROR_INVALID_ARGUMENT, {"for: ", "NULL"}},
        {null_unrolled_body, TG_ERROR_INVALID_ARGUMENT,
         {"for_unrolled: ", "NULL"}},
        {null_results, TG_ERROR_INVALID_ARGUMENT,
         {"cond: ", "results are NULL"}},
        {null_values, TG_ERROR_INVALID_ARGUMENT,
         {"while: ", "values are NULL"}},
        {null_tensor, TG_ERROR_INVALID_ARGUMENT, {"while: ", "NULL"}},
        {null_variable, TG_ERROR_INVALID_ARGUMENT, {"NULL"}},
        {string_value, TG_ERROR_INVALID_ARGUMENT, {"for: ", "string"}},
    };
    check_rows(rows, NULL);
}

/* -- Unrolled loops without end -------------------------------------------- */

CALLBACK(keep_the_second)
{
    tg_return(t, in[1]);
}

CALLBACK(unrolled_for_ever)
{
    BELOW_IS_WRONG;
    tg_for_unrolled(INT64_MAX, keep_the_second, NULL, TG_ARGS(in[0]), NULL, 0);
}

CALLBACK(unrolled_in_two_parts)
{
    tg_for_unrolled(3, keep_the_second, NULL, TG_ARGS(in[0]), NULL, 0);
    BELOW_IS_WRONG;
    tg_for_unrolled(TG_MAX_UNROLLED - 2, keep_the_second, NULL,
                    TG_ARGS(in[0]), NULL, 0);
}

CALLBACK(many_nodes)
{
    tg_value y = in[1];
    for (int i = 0; i < 1 << 20; i++)
        y = tg_sin(y);
    tg_return(t, y);
}

CALLBACK(unrolled_to_many_nodes)
{
    BELOW_IS_WRONG;
    tg_for_unrolled(100, many_nodes, NULL, TG_ARGS(in[0]), NULL, 0);
}

Test(bad_input, unrolled_loops_have_a_limit)
{
    static const row rows[] = {
        {unrolled_for_ever, TG_ERROR_LIMIT,
         {"for_unrolled: 9223372036854775807 iterations", "limit of 1048576",
          "tg_for"}},
        {unrolled_in_two_parts, TG_ERROR_LIMIT,
         {"for_unrolled: 1048574 iterations", "after 3", "limit of 1048576"}},
        {unrolled_to_many_nodes, TG_ERROR_LIMIT,
         {"for_unrolled: ", "nodes after iteration 3 of 100",
          "limit is 4194304"}},
    };
    check_rows(rows, NULL);
}
