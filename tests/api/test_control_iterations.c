/* SPDX-License-Identifier: MIT */
/*
 * test_control_iterations.c - promises 13, 14 and 16 for loops: effects of
 * iterations on variables, prints and failures, their order, and limits on
 * iterations.
 */
#include "support/control.h"

/* -- 13: program order across iterations ----------------------------------- */

CALLBACK(grow)
{
    tg_variable *v = user;
    tg_value before = tg_read(v);
    tg_assign(v, tg_add(tg_mul(before, 10.0), tg_cast(in[0], TG_F32)));
    tg_return(t, tg_add(in[1], before), tg_read(v));
}

CALLBACK(read_around)
{
    tg_variable *v = user;
    tg_value y[2], first = tg_read(v);
    tg_assign(v, 1.0);
    tg_value second = tg_read(v);
    tg_for(in[0], grow, v, TG_ARGS(0.0f, -1.0f), y, 2);
    tg_value third = tg_read(v);
    tg_assign_add(v, 0.5);
    tg_return(t, first, second, y[0], y[1], third, tg_read(v));
}

static void check_order(session *s)
{
    tg_variable *v = f32_scalar_variable(s->ctx, "v", 7);
    tg_function *f = tg_function_create(s->ctx, read_around, v, NULL);
    const struct {
        int iterations;
        float want[6];
    } cases[] = {{3, {7, 1, 1 + 10 + 101, 1012, 1012, 1012.5f}},
                 {0, {1012.5f, 1, 0, -1, 1, 1.5f}},
                 {1, {1.5f, 1, 1, 10, 10, 10.5f}}};
    for (size_t i = 0; i < 3; i++) {
        tg_tensor *y[6] = {NULL};
        check_works(tg_call(f, TG_ARGS(cases[i].iterations),
                            TG_RESULTS(&y[0], &y[1], &y[2], &y[3], &y[4],
                                       &y[5])));
        for (int k = 0; k < 6; k++)
            check_f32(y[k], cases[i].want[k]);
    }
    check_variable(v, 10.5f);
    tg_variable_release(v);
    tg_function_release(f);
}

Test(control, line_13_reads_see_writes_of_earlier_iterations)
{
    check_control(check_order);
}

/* The test reads a variable that the body writes. */
CALLBACK(is_below_five)
{
    tg_print(t, "test %v", (tg_variable *)user);
    tg_return(t, tg_lt((tg_variable *)user, 5.0));
}

CALLBACK(count_variable)
{
    tg_print(t, "body %v", (tg_variable *)user);
    tg_assign_add((tg_variable *)user, 2.0);
}

CALLBACK(loop_by_variable)
{
    tg_while(is_below_five, count_variable, user, TG_ARGS(), NULL, 0);
    tg_print(t, "end %v", (tg_variable *)user);
}

static void check_test_reads(session *s)
{
    tg_variable *v = f32_scalar_variable(s->ctx, "v", 2);
    tg_function *f = tg_function_create(s->ctx, loop_by_variable, v, NULL);
    call_only(f, TG_ARGS());
    check_printed(s, "test 2\nbody 2\ntest 4\nbody 4\ntest 6\nend 6\n");
    call_only(f, TG_ARGS());
    check_printed(s, "test 6\nend 6\n");
    tg_variable_release(v);
    tg_function_release(f);
}

Test(control, line_13_a_test_sees_writes_of_the_body_and_prints_in_order)
{
    check_control(check_test_reads);
}

/* A test may write too. */
CALLBACK(count_tests)
{
    tg_return(t, tg_lt(tg_assign_add((tg_variable *)user, 1.0), 4.0));
}

CALLBACK(add_one)
{
    tg_return(t, tg_add(in[0], 1.0));
}

CALLBACK(loop_by_tests)
{
    tg_value y;
    tg_while(count_tests, add_one, user, TG_ARGS(0.0f), &y, 1);
    tg_return(t, y);
}

static void check_test_writes(session *s)
{
    tg_variable *v = f32_scalar_variable(s->ctx, "v", 0);
    tg_function *f = tg_function_create(s->ctx, loop_by_tests, v, NULL);
    check_f32(call_one(f, TG_ARGS()), 3);
    check_variable(v, 4);
    check_f32(call_one(f, TG_ARGS()), 0);
    check_variable(v, 5);
    tg_variable_release(v);
    tg_function_release(f);
}

Test(control, a_test_may_have_effects)
{
    check_control(check_test_writes);
}

/* The iteration count is read once, before the first iteration. */
CALLBACK(change_iterations)
{
    tg_assign((tg_variable *)user, 1000);
    tg_return(t, tg_add(in[1], 1));
}

CALLBACK(iterations_from_variable)
{
    tg_value y;
    tg_for((tg_variable *)user, change_iterations, user, TG_ARGS((int64_t)0),
           &y, 1);
    tg_return(t, y);
}

static void check_fixed_iterations(session *s)
{
    tg_variable *v =
        tg_variable_create(s->ctx, "n", TG_I64, TG_SCALAR, tg_fill(3));
    tg_function *f =
        tg_function_create(s->ctx, iterations_from_variable, v, NULL);
    check_i64(call_one(f, TG_ARGS()), 3);
    check_i64(call_one(f, TG_ARGS()), 1000);
    tg_variable_release(v);
    tg_function_release(f);
}

Test(control, line_13_the_number_of_iterations_is_read_before_the_first)
{
    check_control(check_fixed_iterations);
}

/* A value read before the loop stays, although iterations overwrite the
   variable. */
typedef struct outside {
    tg_value old;
    tg_variable *v;
} outside;

CALLBACK(overwrite)
{
    const outside *o = user;
    tg_assign(o->v, tg_add(o->old, o->v));
    tg_return(t, tg_add(in[1], o->old));
}

CALLBACK(keep_old)
{
    outside o = {tg_read((tg_variable *)user), user};
    tg_value y;
    tg_for(in[0], overwrite, &o, TG_ARGS(o.old), &y, 1);
    tg_return(t, y, o.old);
}

static void check_old(session *s)
{
    tg_variable *v = tg_variable_create(s->ctx, "v", TG_F32, TG_DIMS(2),
                                        tg_from_data((float[]){1, 2}));
    tg_function *f = tg_function_create(s->ctx, keep_old, v, NULL);
    tg_tensor *y = NULL, *old = NULL;
    check_works(tg_call(f, TG_ARGS(3), TG_RESULTS(&y, &old)));
    check_f32(y, 4, 8);
    check_f32(old, 1, 2);
    check_variable(v, 4, 8);
    tg_variable_release(v);
    tg_function_release(f);
}

Test(control, line_13_a_value_read_before_a_loop_is_fixed_inside)
{
    check_control(check_old);
}

/* Two variables are swapped in every iteration. */
typedef struct two {
    tg_variable *a, *b;
} two;

CALLBACK(swap_variables)
{
    const two *v = user;
    tg_value a = tg_read(v->a);
    tg_assign(v->a, v->b);
    tg_assign(v->b, a);
}

CALLBACK(swap_often)
{
    tg_for(in[0], swap_variables, user, TG_ARGS(), NULL, 0);
}

static void check_swaps(session *s)
{
    two v = {tg_variable_create(s->ctx, "a", TG_F32, TG_DIMS(2),
                                tg_from_data((float[]){1, 2})),
             tg_variable_create(s->ctx, "b", TG_F32, TG_DIMS(2),
                                tg_from_data((float[]){3, 4}))};
    tg_function *f = tg_function_create(s->ctx, swap_often, &v, NULL);
    call_only(f, TG_ARGS(3));
    check_variable(v.a, 3, 4);
    check_variable(v.b, 1, 2);
    call_only(f, TG_ARGS(2));
    check_variable(v.a, 3, 4);
    check_variable(v.b, 1, 2);
    tg_variable_release(v.a);
    tg_variable_release(v.b);
    tg_function_release(f);
}

Test(control, line_13_variables_may_be_swapped_in_every_iteration)
{
    check_control(check_swaps);
}

/* -- 14: failures ---------------------------------------------------------- */

typedef struct walk {
    tg_variable *before, *after;
    tg_value table;
} walk;

CALLBACK(walk_step)
{
    const walk *w = user;
    tg_assign_add(w->before, 1.0);
    tg_print(t, "iteration %v", in[0]);
    tg_value next = tg_gather(w->table, in[1], 0);
    tg_print(t, "to %v", next);
    tg_assign_add(w->after, 1.0);
    tg_return(t, next);
}

CALLBACK(walk_table)
{
    walk w = *(const walk *)user;
    w.table = in[1];
    tg_value y;
    tg_for(in[0], walk_step, &w, TG_ARGS(in[2]), &y, 1);
    tg_assign_add(w.after, 100.0);
    tg_return(t, y);
}

static void check_failure(session *s)
{
    walk w = {f32_scalar_variable(s->ctx, "before", 0),
              f32_scalar_variable(s->ctx, "after", 0), {0, 0}};
    tg_function *f = tg_function_create(s->ctx, walk_table, &w, NULL);
    tg_tensor *table = i32_vector(s->ctx, 2, 9, 1);
    tg_tensor *start = i32_scalar(s->ctx, 0), *y = NULL;
    check_fails(tg_call(f, TG_ARGS(6, table, start), TG_RESULTS(&y)),
                TG_ERROR_INDEX, "gather", "index 9", "extent 3", __FILE__);
    cr_assert_null(y);
    check_printed(s, "iteration 0\nto 2\niteration 1\nto 1\n"
                     "iteration 2\nto 9\niteration 3\n");
    check_variable(w.before, 4);
    check_variable(w.after, 3);
    /* The next call starts again. */
    y = call_one(f, TG_ARGS(2, table, start));
    cr_assert_eq(*(int32_t *)tg_tensor_data(y), 1);
    check_printed(s, "iteration 0\nto 2\niteration 1\nto 1\n");
    check_variable(w.before, 6);
    check_variable(w.after, 105);
    /* A tensor passed for the result is unchanged. */
    check_fails(tg_call(f, TG_ARGS(6, table, start), TG_RESULTS(&y)),
                TG_ERROR_INDEX, "gather");
    cr_assert_eq(*(int32_t *)tg_tensor_data(y), 1);
    tg_tensor_release(y);
    tg_tensor_release(table);
    tg_tensor_release(start);
    tg_variable_release(w.before);
    tg_variable_release(w.after);
    tg_function_release(f);
}

Test(control, line_14_a_failure_keeps_effects_of_earlier_iterations)
{
    check_control(check_failure);
}

static void check_bound(session *s)
{
    walk w = {f32_scalar_variable(s->ctx, "before", 0),
              f32_scalar_variable(s->ctx, "after", 0), {0, 0}};
    tg_function *f = tg_function_create(s->ctx, walk_table, &w, NULL);
    tg_tensor *table = i32_vector(s->ctx, 2, 9, 1), *y = NULL;
    tg_tensor *start = i32_scalar(s->ctx, 0);
    tg_tensor *iterations = i64_scalar(s->ctx, 2);
    tg_bound *b = tg_bind(f, TG_ARGS(iterations, table, start), TG_RESULTS(&y));
    cr_assert_not_null(b, "%s", tg_error(NULL));
    for (int i = 0; i < 2; i++) {
        *(int64_t *)tg_tensor_data(iterations) = 2;
        check_works(tg_run(b));
        cr_assert_eq(*(int32_t *)tg_tensor_data(y), 1);
        *(int64_t *)tg_tensor_data(iterations) = 4;
        check_fails(tg_run(b), TG_ERROR_INDEX, "index 9");
    }
    check_variable(w.before, 12);
    check_variable(w.after, 210);
    tg_bound_release(b);
    tg_tensor_release(y);
    tg_tensor_release(table);
    tg_tensor_release(start);
    tg_tensor_release(iterations);
    tg_variable_release(w.before);
    tg_variable_release(w.after);
    tg_function_release(f);
}

Test(control, line_14_a_bound_loop_fails_too_and_runs_again)
{
    check_control(check_bound);
}

/* A failure in the test precedes the iteration. */
CALLBACK(table_says_so)
{
    const walk *w = user;
    tg_return(t, tg_gt(tg_gather(w->table, in[0], 0), 0));
}

CALLBACK(next_place)
{
    const walk *w = user;
    tg_assign_add(w->before, 1.0);
    tg_return(t, tg_add(in[0], 1));
}

CALLBACK(walk_by_table)
{
    walk w = *(const walk *)user;
    w.table = in[0];
    tg_value y;
    tg_while(table_says_so, next_place, &w, TG_ARGS(in[1]), &y, 1);
    tg_assign_add(w.after, 1.0);
    tg_return(t, y);
}

static void check_failing_test(session *s)
{
    walk w = {f32_scalar_variable(s->ctx, "before", 0),
              f32_scalar_variable(s->ctx, "after", 0), {0, 0}};
    tg_function *f = tg_function_create(s->ctx, walk_by_table, &w, NULL);
    tg_tensor *bad = i32_vector(s->ctx, 1, 1, 1);
    tg_tensor *good = i32_vector(s->ctx, 1, 1, 0);
    tg_tensor *start = i64_scalar(s->ctx, 0);
    check_fails(tg_call(f, TG_ARGS(bad, start), TG_RESULTS()),
                TG_ERROR_INDEX, "gather", "index 3");
    check_variable(w.before, 3);
    check_variable(w.after, 0);
    check_i64(call_one(f, TG_ARGS(good, start)), 2);
    check_variable(w.before, 5);
    check_variable(w.after, 1);
    tg_tensor_release(bad);
    tg_tensor_release(good);
    tg_tensor_release(start);
    tg_variable_release(w.before);
    tg_variable_release(w.after);
    tg_function_release(f);
}

Test(control, line_14_a_failing_test_precedes_its_iteration)
{
    check_control(check_failing_test);
}

/* -- Limits ---------------------------------------------------------------- */

typedef struct limited {
    int64_t most;
    tg_variable *n;
} limited;

CALLBACK(is_below_ten)
{
    tg_return(t, tg_lt(in[0], 10));
}

CALLBACK(count_to_ten)
{
    const limited *l = user;
    tg_assign_add(l->n, 1.0);
    tg_return(t, tg_add(in[0], 1));
}

CALLBACK(limit)
{
    const limited *l = user;
    tg_value y;
    tg_while_limit(l->most, is_below_ten, count_to_ten, user, TG_ARGS(in[0]),
                   &y, 1);
    tg_assign_add(l->n, 100.0);
    tg_return(t, y);
}

static void check_limit(session *s)
{
    static const struct {
        int64_t most, start;
        float iterations;
    } cases[] = {{5, 5, 5}, {5, 6, 4}, {5, 4, -5}, {0, 10, 0},
                 {0, 9, 0}, {-3, 10, 0}, {-3, 9, 0}, {INT64_MAX, 0, 10}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        limited l = {cases[i].most, f32_scalar_variable(s->ctx, "n", 0)};
        const bool fits = cases[i].iterations > 0 || cases[i].start >= 10;
        tg_function *f = tg_function_create(s->ctx, limit, &l, NULL);
        tg_tensor *x = i64_scalar(s->ctx, cases[i].start);
        if (fits) {
            check_i64(call_one(f, TG_ARGS(x)), 10);
            check_variable(l.n, 100 + cases[i].iterations);
        } else {
            const int n = (int)-cases[i].iterations;
            char text[40];
            snprintf(text, sizeof(text), "limit of %d iteration%s", n,
                     n == 1 ? "" : "s");
            check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS()),
                        TG_ERROR_LIMIT, "while", text, __FILE__);
            check_variable(l.n, 0 - cases[i].iterations);
        }
        tg_tensor_release(x);
        tg_variable_release(l.n);
        tg_function_release(f);
    }
}

Test(control, a_limited_loop_fails_if_it_would_go_on)
{
    check_control(check_limit);
}

CALLBACK(for_ever)
{
    tg_return(t, (bool)1);
}

CALLBACK(unused_limit)
{
    tg_value y;
    tg_while_limit(7, for_ever, add_one, user, TG_ARGS(0.0f), &y, 1);
    tg_return(t, 1.0f);
}

static void check_unused_limit(session *s)
{
    tg_function *f = tg_function_create(s->ctx, unused_limit, NULL, NULL);
    check_fails(tg_call(f, TG_ARGS(), TG_RESULTS()), TG_ERROR_LIMIT,
                "while", "limit of 7 iterations");
    tg_function_release(f);
}

Test(control, line_14_a_limit_holds_even_if_results_are_unused)
{
    check_control(check_unused_limit);
}
