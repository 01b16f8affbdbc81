/* SPDX-License-Identifier: MIT */
/*
 * test_control_loops.c - loops: carried values, iteration counts, and promises
 * 13, 14 and 16 for the effects of an iteration.
 */
#include "support/control.h"

/* -- Iterations ------------------------------------------------------------ */

CALLBACK(is_small)
{
    tg_return(t, tg_lt(in[0], 100.0));
}

CALLBACK(twice)
{
    tg_return(t, tg_add(in[0], in[0]));
}

CALLBACK(double_while_small)
{
    tg_value y;
    tg_while(is_small, twice, NULL, TG_ARGS(in[0]), &y, 1);
    tg_return(t, y);
}

static void check_while(session *s)
{
    tg_function *f =
        tg_function_create(s->ctx, double_while_small, NULL, NULL);
    static const float cases[][2] = {
        {1, 128}, {3, 192}, {99, 198}, {100, 100}, {1000, 1000}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        tg_tensor *x = f32_scalar(s->ctx, cases[i][0]);
        check_f32(call_one(f, TG_ARGS(x)), cases[i][1]);
        tg_tensor_release(x);
    }
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_function_release(f);
}

Test(control, line_16_a_while_runs_while_its_test_is_true)
{
    check_control(check_while);
}

CALLBACK(add_iteration)
{
    tg_return(t, tg_add(tg_mul(in[1], 10.0), tg_cast(in[0], TG_F32)));
}

CALLBACK(collect_iterations)
{
    tg_value y;
    tg_for(in[0], add_iteration, NULL, TG_ARGS(in[1]), &y, 1);
    tg_return(t, y);
}

static void check_for(session *s)
{
    tg_function *f = tg_function_create(s->ctx, collect_iterations, NULL, NULL);
    tg_tensor *x = f32_vector(s->ctx, 5, 0);
    static const struct {
        int64_t iterations;
        float want[2];
    } cases[] = {{1, {50, 0}},  {4, {50123, 123}},   {0, {5, 0}},
                 {-1, {5, 0}}, {INT64_MIN, {5, 0}}, {2, {501, 1}}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        tg_tensor *n = i64_scalar(s->ctx, cases[i].iterations);
        check_f32(call_one(f, TG_ARGS(n, x)), cases[i].want[0],
                  cases[i].want[1]);
        tg_tensor_release(n);
    }
    tg_tensor *byte = tg_tensor_copy(s->ctx, &(uint8_t){3}, TG_U8, TG_SCALAR);
    check_f32(call_one(f, TG_ARGS(byte, x)), 5012, 12);
    check_f32(call_one(f, TG_ARGS(2, x)), 501, 1);
    tg_tensor_release(byte);
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(control, line_16_a_for_runs_and_counts_its_iterations)
{
    check_control(check_for);
}

CALLBACK(constant_iterations)
{
    tg_value y[3];
    tg_for(3, add_iteration, NULL, TG_ARGS(in[0]), &y[0], 1);
    tg_for(0, add_iteration, NULL, TG_ARGS(in[0]), &y[1], 1);
    tg_for((int8_t)-3, add_iteration, NULL, TG_ARGS(in[0]), &y[2], 1);
    tg_return(t, y[0], y[1], y[2]);
}

static void check_constant_iterations(session *s)
{
    tg_function *f =
        tg_function_create(s->ctx, constant_iterations, NULL, NULL);
    tg_tensor *x = f32_vector(s->ctx, 5), *y[3] = {NULL};
    check_works(
        tg_call(f, TG_ARGS(x), TG_RESULTS(&y[0], &y[1], &y[2])));
    check_f32(y[0], 5012);
    check_f32(y[1], 5);
    check_f32(y[2], 5);
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(control, line_16_zero_iterations_return_the_initial_values)
{
    check_control(check_constant_iterations);
}

CALLBACK(count_iteration)
{
    tg_return(t, tg_add(in[1], 1), in[0]);
}

CALLBACK(count_iterations)
{
    tg_value y[2];
    tg_for(in[0], count_iteration, NULL, TG_ARGS((int64_t)0, (int64_t)-1), y,
           2);
    tg_return(t, y[0], y[1]);
}

static void check_many_iterations(session *s)
{
    tg_function *f = tg_function_create(s->ctx, count_iterations, NULL, NULL);
    tg_tensor *y[2] = {NULL};
    check_works(
        tg_call(f, TG_ARGS(100000), TG_RESULTS(&y[0], &y[1])));
    check_i64(y[0], 100000);
    check_i64(y[1], 99999);
    tg_function_release(f);
}

Test(control, a_loop_may_go_round_very_often)
{
    check_control(check_many_iterations);
}

typedef struct counted {
    int n_test, n_body;
} counted;

CALLBACK(count_test)
{
    ((counted *)user)->n_test++;
    tg_return(t, tg_lt(in[0], 10.0));
}

CALLBACK(count_body)
{
    ((counted *)user)->n_body++;
    tg_return(t, tg_add(in[0], 1.0));
}

CALLBACK(count_callbacks)
{
    tg_value y;
    tg_while(count_test, count_body, user, TG_ARGS(in[0]), &y, 1);
    tg_return(t, y);
}

static void check_counts(session *s)
{
    counted n = {0};
    tg_function *f = tg_function_create(s->ctx, count_callbacks, &n, NULL);
    tg_tensor *x = f32_scalar(s->ctx, 0);
    check_f32(call_one(f, TG_ARGS(x)), 10);
    check_f32(call_one(f, TG_ARGS(x)), 10);
    cr_assert_eq(n.n_test, 1);
    cr_assert_eq(n.n_body, 1);
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(control, line_16_a_body_is_traced_once)
{
    check_control(check_counts);
}

/* Newton's method for square roots, with a convergence test. */
CALLBACK(is_far)
{
    tg_value square = tg_mul(in[0], in[0]);
    tg_value distance = tg_abs(tg_sub(square, *(tg_value *)user));
    tg_return(t, tg_gt(tg_reduce_max(distance, TG_ALL_AXES), 0.0001));
}

CALLBACK(step_near)
{
    tg_value ratio = tg_div(*(tg_value *)user, in[0]);
    tg_return(t, tg_mul(tg_add(in[0], ratio), 0.5), tg_add(in[1], 1));
}

CALLBACK(square_roots)
{
    tg_value y[2], x = in[0];
    tg_while(is_far, step_near, &x, TG_ARGS(x, (int64_t)0), y, 2);
    tg_return(t, y[0], y[1]);
}

static void check_early_exit(session *s)
{
    tg_function *f = tg_function_create(s->ctx, square_roots, NULL, NULL);
    tg_tensor *x = f32_vector(s->ctx, 4, 9, 16), *one = f32_vector(s->ctx, 1);
    tg_tensor *y = NULL, *n = NULL;
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&y, &n)));
    for (int i = 0; i < 3; i++)
        cr_assert_float_eq(((float *)tg_tensor_data(y))[i], 2.0f + (float)i,
                           1e-4);
    cr_assert_lt(*(int64_t *)tg_tensor_data(n), 10);
    tg_tensor_release(y);
    tg_tensor_release(n);
    y = n = NULL;
    check_works(tg_call(f, TG_ARGS(one), TG_RESULTS(&y, &n)));
    check_f32(y, 1);
    check_i64(n, 0);
    tg_tensor_release(x);
    tg_tensor_release(one);
    tg_function_release(f);
}

Test(control, a_while_ends_when_it_has_converged)
{
    check_control(check_early_exit);
}

/* -- Loop values ----------------------------------------------------------- */

CALLBACK(fibonacci_step)
{
    tg_return(t, in[2], tg_add(in[1], in[2]), in[3]);
}

CALLBACK(fibonacci)
{
    tg_value y[3];
    tg_for(in[0], fibonacci_step, NULL,
           TG_ARGS(tg_scalar(TG_I64, 0), tg_scalar(TG_I64, 1), in[1]), y, 3);
    tg_return(t, y[0], y[1], y[2]);
}

static void check_slots(session *s)
{
    tg_function *f = tg_function_create(s->ctx, fibonacci, NULL, NULL);
    tg_tensor *x = f32_vector(s->ctx, 7, 8), *y[3] = {NULL};
    check_works(
        tg_call(f, TG_ARGS(30, x), TG_RESULTS(&y[0], &y[1], &y[2])));
    check_i64(y[0], 832040);
    check_i64(y[1], 1346269);
    check_f32(y[2], 7, 8);
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(control, loop_values_change_places_and_stay)
{
    check_control(check_slots);
}

CALLBACK(turn_three)
{
    tg_return(t, in[2], in[3], in[1]);
}

CALLBACK(rotate)
{
    tg_value y[3];
    tg_for(in[0], turn_three, NULL, TG_ARGS(in[1], in[2], in[3]), y, 3);
    tg_return(t, y[0], y[1], y[2]);
}

static void check_turns(session *s)
{
    enum { N = 1000 };
    tg_function *f = tg_function_create(s->ctx, rotate, NULL, NULL);
    tg_tensor *x[3], *y[3] = {NULL};
    for (int i = 0; i < 3; i++) {
        x[i] = tg_tensor_create(s->ctx, TG_F32, TG_DIMS(N), tg_zeros());
        for (int k = 0; k < N; k++)
            ((float *)tg_tensor_data(x[i]))[k] = (float)(i * N + k);
    }
    for (int iterations = 0; iterations < 5; iterations++) {
        check_works(tg_call(f, TG_ARGS(iterations, x[0], x[1], x[2]),
                            TG_RESULTS(&y[0], &y[1], &y[2])));
        for (int i = 0; i < 3; i++)
            cr_assert_arr_eq(tg_tensor_data(y[i]),
                             tg_tensor_data(x[(i + iterations) % 3]),
                             N * sizeof(float), "%d iterations", iterations);
    }
    for (int i = 0; i < 3; i++) {
        tg_tensor_release(x[i]);
        tg_tensor_release(y[i]);
    }
    tg_function_release(f);
}

Test(control, large_loop_values_rotate)
{
    check_control(check_turns);
}

CALLBACK(power_step)
{
    tg_value y = tg_matmul(*(tg_value *)user, in[1]);
    tg_value norm = tg_sqrt(tg_sum(tg_mul(y, y), TG_ALL_AXES));
    tg_return(t, tg_div(y, norm), norm);
}

CALLBACK(power_iteration)
{
    tg_value y[2], matrix = in[0];
    tg_for(40, power_step, &matrix, TG_ARGS(in[1], tg_scalar(TG_F32, 0)), y,
           2);
    tg_return(t, y[1], tg_transpose(y[0], TG_PERM(1, 0)));
}

static void check_matrices(session *s)
{
    const float m[] = {2, 1, 1, 2}, v[] = {1, 0};
    tg_function *f = tg_function_create(s->ctx, power_iteration, NULL, NULL);
    tg_tensor *x = tg_tensor_copy(s->ctx, m, TG_F32, TG_DIMS(2, 2));
    tg_tensor *z = tg_tensor_copy(s->ctx, v, TG_F32, TG_DIMS(2, 1));
    tg_tensor *largest = NULL, *y = NULL;
    check_works(tg_call(f, TG_ARGS(x, z), TG_RESULTS(&largest, &y)));
    cr_assert_float_eq(*(float *)tg_tensor_data(largest), 3, 1e-5);
    cr_assert_float_eq(((float *)tg_tensor_data(y))[1], 0.70710678, 1e-5);
    tg_tensor_release(largest);
    tg_tensor_release(y);
    tg_tensor_release(x);
    tg_tensor_release(z);
    tg_function_release(f);
}

Test(control, a_loop_carries_a_vector_and_captures_a_matrix)
{
    check_control(check_matrices);
}

/* A view of a loop value as the next one, overlapping itself. */
CALLBACK(turn_over)
{
    tg_value transposed = tg_transpose(in[1], TG_PERM(1, 0));
    tg_return(t, transposed, tg_slice(tg_concat(0, in[2], in[2]), 0, 1, 4, 1));
}

CALLBACK(turn_often)
{
    tg_value y[2];
    tg_for(in[0], turn_over, NULL, TG_ARGS(in[1], in[2]), y, 2);
    tg_return(t, y[0], y[1]);
}

static void check_views(session *s)
{
    const float m[] = {1, 2, 3, 4};
    tg_function *f = tg_function_create(s->ctx, turn_often, NULL, NULL);
    tg_tensor *x = tg_tensor_copy(s->ctx, m, TG_F32, TG_DIMS(2, 2));
    tg_tensor *z = f32_vector(s->ctx, 1, 2, 3), *y[2] = {NULL};
    check_works(tg_call(f, TG_ARGS(3, x, z), TG_RESULTS(&y[0], &y[1])));
    check_f32(y[0], 1, 3, 2, 4);
    check_f32(y[1], 1, 2, 3);
    y[0] = y[1] = NULL;
    check_works(tg_call(f, TG_ARGS(4, x, z), TG_RESULTS(&y[0], &y[1])));
    check_f32(y[0], 1, 2, 3, 4);
    check_f32(y[1], 2, 3, 1);
    tg_tensor_release(x);
    tg_tensor_release(z);
    tg_function_release(f);
}

Test(control, a_loop_value_may_become_a_view_of_itself)
{
    check_control(check_views);
}

CALLBACK(keep_outer)
{
    const tg_value *outer = user;
    tg_return(t, outer[0], 2.0, in[0]);
}

CALLBACK(become_outer)
{
    tg_value y[3], outer = in[1];
    tg_for(in[0], keep_outer, &outer,
           TG_ARGS(in[2], 1.0f, tg_scalar(TG_I64, 9)), y, 3);
    cr_assert_eq(tg_value_dtype(y[1]), TG_F32);
    tg_return(t, y[0], y[1], y[2]);
}

static void check_captured_results(session *s)
{
    tg_function *f = tg_function_create(s->ctx, become_outer, NULL, NULL);
    tg_tensor *x = f32_vector(s->ctx, 1, 2), *z = f32_vector(s->ctx, 3, 4);
    for (int iterations = 0; iterations < 3; iterations++) {
        tg_tensor *y[3] = {NULL};
        check_works(tg_call(f, TG_ARGS(iterations, x, z),
                            TG_RESULTS(&y[0], &y[1], &y[2])));
        check_f32(y[0], iterations ? 1 : 3, iterations ? 2 : 4);
        check_f32(y[1], iterations ? 2 : 1);
        check_i64(y[2], iterations ? iterations - 1 : 9);
    }
    tg_tensor_release(x);
    tg_tensor_release(z);
    tg_function_release(f);
}

Test(control, a_body_may_return_numbers_and_values_of_the_callback_around)
{
    check_control(check_captured_results);
}

CALLBACK(nothing_carried)
{
    tg_assign_add((tg_variable *)user, tg_cast(in[0], TG_F32));
}

CALLBACK(carry_nothing)
{
    tg_for(in[0], nothing_carried, user, TG_ARGS(), NULL, 0);
}

static void check_nothing_carried(session *s)
{
    tg_variable *v = f32_scalar_variable(s->ctx, "v", 100);
    tg_function *f = tg_function_create(s->ctx, carry_nothing, v, NULL);
    call_only(f, TG_ARGS(5));
    check_variable(v, 110);
    call_only(f, TG_ARGS(0));
    check_variable(v, 110);
    tg_variable_release(v);
    tg_function_release(f);
}

Test(control, a_loop_may_carry_nothing)
{
    check_control(check_nothing_carried);
}

static void check_empty_values(session *s)
{
    tg_function *f = tg_function_create(s->ctx, collect_iterations, NULL, NULL);
    tg_tensor *x = tg_tensor_create(s->ctx, TG_F32, TG_DIMS(0, 3), tg_zeros());
    tg_tensor *y = call_one(f, TG_ARGS(3, x));
    cr_assert_eq(tg_tensor_count(y), 0);
    cr_assert_eq(tg_tensor_rank(y), 2);
    tg_tensor_release(y);
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(control, a_loop_may_carry_values_without_elements)
{
    check_control(check_empty_values);
}

/* -- Loops without a loop -------------------------------------------------- */

/* The same body in a loop and unrolled; the number has its C type. */
CALLBACK(number_step)
{
    cr_assert_eq(tg_value_dtype(in[0]), TG_I64);
    cr_assert_eq(tg_value_dtype(in[2]), TG_F64);
    tg_value half = tg_mul(in[0], 1);
    cr_assert_eq(tg_value_dtype(half), TG_I64);
    tg_print((tg_trace *)t, "iteration %v", in[0]);
    tg_assign_add((tg_variable *)user, in[1]);
    tg_return(t, tg_add(in[1], tg_cast(half, TG_F32)),
              tg_mul(in[2], tg_cast(in[1], TG_F64)));
}

CALLBACK(unroll_and_loop)
{
    tg_variable *const *v = user;
    tg_value a[2], b[2], c[2];
    tg_for_unrolled(3, number_step, v[0], TG_ARGS(in[0], 1.5), a, 2);
    tg_for(3, number_step, v[1], TG_ARGS(in[0], 1.5), b, 2);
    tg_for_unrolled(-2, number_step, v[1], TG_ARGS(in[0], 1.5), c, 2);
    tg_return(t, a[0], b[0], c[0], tg_cast(a[1], TG_F32),
              tg_cast(b[1], TG_F32), tg_cast(c[1], TG_F32));
}

static void check_unrolled(session *s)
{
    tg_variable *v[2] = {f32_scalar_variable(s->ctx, "v", 0),
                         f32_scalar_variable(s->ctx, "w", 0)};
    tg_function *f = tg_function_create(s->ctx, unroll_and_loop, v, NULL);
    tg_tensor *x = f32_scalar(s->ctx, 2), *y[6] = {NULL};
    check_works(tg_call(f, TG_ARGS(x),
                        TG_RESULTS(&y[0], &y[1], &y[2], &y[3], &y[4],
                                   &y[5])));
    check_printed(s, "iteration 0\niteration 1\niteration 2\n"
                     "iteration 0\niteration 1\niteration 2\n");
    const float want[] = {5, 5, 2, 18, 18, 1.5};
    for (int i = 0; i < 6; i++)
        check_f32(y[i], want[i]);
    for (int i = 0; i < 2; i++) {
        check_variable(v[i], 7);
        tg_variable_release(v[i]);
    }
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(control, an_unrolled_loop_does_the_same_as_a_loop)
{
    check_control(check_unrolled);
}

CALLBACK(count_unrolled)
{
    ((counted *)user)->n_body++;
    tg_return(t, tg_add(in[1], in[0]));
}

CALLBACK(unroll_five)
{
    tg_value y;
    tg_for_unrolled(5, count_unrolled, user, TG_ARGS((int64_t)0), &y, 1);
    tg_return(t, y);
}

Test(control, an_unrolled_loop_runs_its_callback_for_each_iteration)
{
    session s;
    session_begin(&s);
    counted n = {0};
    tg_function *f = tg_function_create(s.ctx, unroll_five, &n, NULL);
    check_i64(call_one(f, TG_ARGS()), 10);
    cr_assert_eq(n.n_body, 5);
    tg_function_release(f);
    session_end(&s);
}
