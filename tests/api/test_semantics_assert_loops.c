/* SPDX-License-Identifier: MIT */
/*
 * test_semantics_assert_loops.c - asserts in loops of a few elements, which are
 * compiled to straight-line code with their values in registers: a failed
 * assert reports the values of its iteration, and leaves all loops.
 */
#include <stdlib.h>

#include "support/control.h"
#include "support/modes.h"

typedef struct counts {
    tg_variable *before, *after; /* steps before and after the assert */
} counts;

static void counts_begin(counts *c, session *s)
{
    *c = (counts){f32_scalar_variable(s->ctx, "before", 0),
                  f32_scalar_variable(s->ctx, "after", 0)};
}

static void counts_end(counts *c)
{
    tg_variable_release(c->before);
    tg_variable_release(c->after);
}

/* Checks the counts, and sets them to 0. */
static void check_counts(const counts *c, float before, float after)
{
    check_variable(c->before, before);
    check_variable(c->after, after);
    check_works(tg_variable_assign(c->before, 0));
    check_works(tg_variable_assign(c->after, 0));
}

/* Fails unless a scenario compiles its loop to straight-line code. */
static void check_is_straightline(void run(session *s, outcome *out))
{
    need_compiler();
    session s;
    outcome *out = calloc(1, sizeof(*out));
    session_begin_with(&s, (tg_context_options){.jit = "required",
                                                .explain = "fusion"});
    run(&s, out);
    cr_assert_not_null(strstr(s.logged, "straight-line code, in registers"),
                       "%s", s.logged);
    session_end(&s);
    free(out);
}

/* -- One loop -------------------------------------------------------------- */

/* Reports the next value, the carried ones, and one that is only computed. */
CALLBACK(grow)
{
    const counts *c = user;
    tg_value next = tg_add(tg_mul(in[1], 1.5), 1);
    tg_assign_add(c->before, 1);
    tg_assert(t, tg_lt(next, in[3]), "%v after %v, sum %v, twice %v", next,
              in[1], in[2], tg_mul(next, 2));
    tg_assign_add(c->after, 1);
    tg_return(t, next, tg_add(in[2], tg_sum(next, TG_ALL_AXES)), in[3]);
}

CALLBACK(grow_in_loop)
{
    const counts *c = user;
    tg_value y[3];
    tg_for(in[2], grow, user, TG_ARGS(in[0], 0.0f, in[1]), y, 3);
    tg_assign_add(c->after, 100); /* not after a failure */
    tg_return(t, y[0], y[1]);
}

static void one_loop(session *s, outcome *out)
{
    counts c;
    counts_begin(&c, s);
    tg_function *f = tg_function_create(s->ctx, grow_in_loop, &c, NULL);
    TG_AUTO(tg_tensor) x = f32_vector(s->ctx, 0, 1, 2);
    TG_AUTO(tg_tensor) y = NULL;
    float sum;
    for (int i = 0; i < 3; i++) { /* a failed call does no harm to the next */
        check_works(tg_call(f, TG_ARGS(x, 100.0f, (int64_t)4),
                            TG_RESULTS(&y, &sum)));
        note_tensor(out, y);
        note(out, &sum, sizeof(sum));
        check_counts(&c, 4, 104);
        check_asserts(out,
                      tg_call(f, TG_ARGS(x, 8.0f, (int64_t)4),
                              TG_RESULTS(&y, &sum)),
                      "assert: [4.75 8.125 11.5] after [2.5 4.75 7], "
                      "sum 21.75, twice [9.5 16.25 23]");
        check_counts(&c, 3, 2);
    }
    tg_function_release(f);
    counts_end(&c);
}

Test(semantics, line_14_an_assert_reports_values_in_registers)
{
    check_all_modes(one_loop);
}

/* So few iterations are not cancelled: only the assert can end the loop. */
CALLBACK(grow_four_times)
{
    const counts *c = user;
    tg_value y[3];
    tg_for(4, grow, user, TG_ARGS(in[0], 0.0f, in[1]), y, 3);
    tg_assign_add(c->after, 100); /* not after a failure */
    tg_return(t, y[0], y[1]);
}

static void short_loop(session *s, outcome *out)
{
    counts c;
    counts_begin(&c, s);
    tg_function *f = tg_function_create(s->ctx, grow_four_times, &c, NULL);
    TG_AUTO(tg_tensor) x = f32_vector(s->ctx, 0, 1, 2);
    TG_AUTO(tg_tensor) y = NULL;
    float sum;
    check_works(tg_call(f, TG_ARGS(x, 100.0f), TG_RESULTS(&y, &sum)));
    note_tensor(out, y);
    check_counts(&c, 4, 104);
    check_asserts(out, tg_call(f, TG_ARGS(x, 8.0f), TG_RESULTS(&y, &sum)),
                  "assert: [4.75 8.125 11.5] after [2.5 4.75 7], "
                  "sum 21.75, twice [9.5 16.25 23]");
    check_counts(&c, 3, 2);
    tg_function_release(f);
    counts_end(&c);
}

Test(semantics, line_14_an_assert_ends_a_short_loop_and_the_call)
{
    check_all_modes(short_loop);
    check_is_straightline(short_loop);
}

Test(semantics, line_14_a_small_loop_with_an_assert_is_straight_line_code)
{
    check_is_straightline(one_loop);
}

/* -- The number of the iteration ------------------------------------------- */

CALLBACK(count_iterations)
{
    tg_value next = tg_add(in[1], 1);
    tg_assert(t, tg_lt(next, in[2]), "iteration %v: %v", in[0], next);
    tg_return(t, next, in[2]);
}

CALLBACK(iterations_in_loop)
{
    tg_value y[2];
    tg_for(10, count_iterations, user, TG_ARGS(in[0], in[1]), y, 2);
    tg_return(t, y[0]);
}

static void iterations(session *s, outcome *out)
{
    tg_function *f =
        tg_function_create(s->ctx, iterations_in_loop, NULL, NULL);
    check_f32(call_one(f, TG_ARGS(0.0f, 11.0f)), 10);
    check_asserts(out, tg_call(f, TG_ARGS(0.0f, 4.0f), TG_RESULTS()),
                  "assert: iteration 3: 4");
    tg_function_release(f);
}

Test(semantics, line_14_an_assert_may_report_the_iteration)
{
    check_all_modes(iterations);
}

Test(semantics, line_14_an_assert_of_the_iteration_is_straight_line_code)
{
    check_is_straightline(iterations);
}

/* The iteration of the outer loop is captured. `in` is the count, its limit and
   a value that the loop passes on. */
CALLBACK(count_in_inner)
{
    const tg_value *outer = user;
    tg_value next = tg_add(in[1], 1);
    tg_assert(t, tg_lt(next, in[2]), "iteration %v in %v: %v", in[0], *outer,
              next);
    tg_return(t, next, in[2]);
}

CALLBACK(count_in_outer)
{
    (void)user;
    tg_value outer = in[0], y[2];
    tg_for(3, count_in_inner, &outer, TG_ARGS(in[1], in[2]), y, 2);
    tg_return(t, y[0], in[2], tg_add(in[3], in[3]));
}

CALLBACK(iterations_in_loops)
{
    tg_value y[3];
    tg_for(4, count_in_outer, user, TG_ARGS(in[0], in[1], in[2]), y, 3);
    tg_return(t, y[0], y[2]);
}

static void check_nested_iterations(session *s, outcome *out, int64_t n)
{
    tg_function *f =
        tg_function_create(s->ctx, iterations_in_loops, NULL, NULL);
    TG_AUTO(tg_tensor) x = f32_range(s->ctx, n);
    TG_AUTO(tg_tensor) y = NULL;
    float count;
    for (int i = 0; i < 2; i++) {
        check_works(
            tg_call(f, TG_ARGS(0.0f, 13.0f, x), TG_RESULTS(&count, &y)));
        note(out, &count, sizeof(count));
        check_asserts(out, tg_call(f, TG_ARGS(0.0f, 9.0f, x), TG_RESULTS()),
                      "assert: iteration 2 in 2: 9");
    }
    tg_function_release(f);
}

/* Both loops are straight-line code. */
static void small_nested_iterations(session *s, outcome *out)
{
    check_nested_iterations(s, out, 3);
}

/* Only the inner one is. */
static void large_nested_iterations(session *s, outcome *out)
{
    check_nested_iterations(s, out, 5000);
}

Test(semantics, line_14_an_assert_may_report_the_iterations_of_two_loops)
{
    check_all_modes(small_nested_iterations);
    check_all_modes(large_nested_iterations);
    check_is_straightline(large_nested_iterations);
}

/* -- Loops in loops -------------------------------------------------------- */

CALLBACK(is_below_sum)
{
    tg_assert(t, tg_lt(in[0], in[2]), "inner test: %v, limit %v", in[0], in[2]);
    tg_return(t, tg_lt(in[0], in[1]));
}

CALLBACK(add_two)
{
    const counts *c = user;
    tg_assign_add(c->before, 1);
    tg_assert(t, tg_ne(in[0], 9), "inner body: %v of %v", in[0], in[1]);
    tg_return(t, tg_add(in[0], 2), in[1], in[2]);
}

/* The inner loop goes up to 5 (iteration + 1). */
CALLBACK(outer_body)
{
    const counts *c = user;
    tg_value y[3], bound = tg_mul(tg_cast(tg_add(in[0], 1), TG_F32), 5);
    tg_while(is_below_sum, add_two, user, TG_ARGS(in[1], bound, in[2]), y, 3);
    tg_assign_add(c->after, 1);
    tg_assert(t, tg_lt(y[0], 18), "outer body: %v from %v", y[0], in[1]);
    tg_return(t, y[0], in[2]);
}

CALLBACK(loop_in_loop)
{
    tg_value y[2];
    tg_for(4, outer_body, user, TG_ARGS(in[0], in[1]), y, 2);
    tg_return(t, y[0]);
}

static void nested_loops(session *s, outcome *out)
{
    counts c;
    counts_begin(&c, s);
    tg_function *f = tg_function_create(s->ctx, loop_in_loop, &c, NULL);
    /* 0, 6, 10, 16, 20: fails behind the inner loop of iteration 3. */
    check_asserts(out, tg_call(f, TG_ARGS(0.0f, 100.0f), TG_RESULTS()),
                  "assert: outer body: 20 from 16");
    check_counts(&c, 10, 4);
    /* 1, 5, 11, … : 9 comes up in the inner body of iteration 1. */
    check_asserts(out, tg_call(f, TG_ARGS(1.0f, 100.0f), TG_RESULTS()),
                  "assert: inner body: 9 of 10");
    check_counts(&c, 5, 1);
    check_asserts(out, tg_call(f, TG_ARGS(0.0f, 12.0f), TG_RESULTS()),
                  "assert: inner test: 12, limit 12");
    check_counts(&c, 6, 2);
    tg_function_release(f);
    counts_end(&c);
}

Test(semantics, line_14_an_assert_leaves_all_loops_around_it)
{
    check_all_modes(nested_loops);
}

/* -- A small loop in one whose values change places ------------------------ */

CALLBACK(double_sum)
{
    tg_value next = tg_mul(in[1], 2);
    tg_assert(t, tg_lt(next, in[3]), "%v of %v", next, in[2]);
    tg_return(t, next, in[2], in[3]);
}

/* A vector that is permuted, and thus has two buffers, and a number. */
CALLBACK(large_body)
{
    tg_value y[3], matrix = tg_reshape(in[1], TG_DIMS(60, 50));
    tg_value next = tg_reshape(tg_transpose(matrix, TG_PERM(1, 0)),
                               TG_DIMS(3000));
    tg_for(2, double_sum, user, TG_ARGS(in[2], in[1], in[3]), y, 3);
    tg_return(t, next, y[0], in[3]);
}

CALLBACK(large_loop)
{
    tg_value y[3];
    tg_for(5, large_body, user, TG_ARGS(in[0], 1.0f, in[1]), y, 3);
    tg_return(t, y[0], y[1]);
}

static void moved_values(session *s, outcome *out)
{
    tg_function *f = tg_function_create(s->ctx, large_loop, NULL, NULL);
    TG_AUTO(tg_tensor) x = f32_range(s->ctx, 3000);
    TG_AUTO(tg_tensor) y = NULL;
    float last;
    for (int i = 0; i < 6; i++) {
        const float limit = i % 2 ? 2000 : (float)(20 << i);
        const tg_status status =
            tg_call(f, TG_ARGS(x, limit), TG_RESULTS(&y, &last));
        note_status(out, status);
        cr_assert_eq(status, i % 2 ? TG_OK : TG_ERROR_ASSERT);
        if (status)
            continue;
        note_tensor(out, y);
        note(out, &last, sizeof(last));
    }
    tg_function_release(f);
}

Test(semantics, line_14_a_small_loop_may_be_inside_a_large_one)
{
    check_all_modes(moved_values);
}

/* -- Branches with results beside asserts ---------------------------------- */

CALLBACK(halve)
{
    tg_return(t, tg_div(in[0], 2));
}

CALLBACK(triple_and_add)
{
    tg_assert(t, tg_lt(in[0], 50), "before %v is tripled", in[0]);
    tg_return(t, tg_add(tg_mul(in[0], 3), 1));
}

CALLBACK(step_of_collatz)
{
    tg_value y, is_even = tg_eq(tg_rem(in[1], 2), 0);
    tg_cond(is_even, halve, triple_and_add, user, TG_ARGS(in[1]), &y, 1);
    tg_assert(t, tg_gt(y, 0), "%v", y);
    tg_return(t, y);
}

CALLBACK(collatz)
{
    tg_value y;
    tg_for(in[1], step_of_collatz, user, TG_ARGS(in[0]), &y, 1);
    tg_return(t, y);
}

static void branches(session *s, outcome *out)
{
    tg_function *f = tg_function_create(s->ctx, collatz, NULL, NULL);
    const int64_t six = 6, twenty_seven = 27, steps = 8;
    int64_t y;
    check_works(tg_call(f, TG_ARGS(six, steps), TG_RESULTS(&y)));
    cr_assert_eq(y, 1);
    /* 27, 82, 41, 124, 62, 31, 94, 47, 142 */
    check_works(tg_call(f, TG_ARGS(twenty_seven, steps), TG_RESULTS(&y)));
    cr_assert_eq(y, 142);
    check_asserts(out, tg_call(f, TG_ARGS(twenty_seven, 2 * steps),
                               TG_RESULTS(&y)),
                  "assert: before 71 is tripled");
    tg_function_release(f);
}

Test(semantics, line_14_an_assert_may_be_in_a_branch_of_a_loop)
{
    check_all_modes(branches);
}
