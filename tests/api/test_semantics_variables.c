/* SPDX-License-Identifier: MIT */
/*
 * test_semantics_variables.c - promises 4 to 6: variables as arguments, and
 * variables captured by a callback.
 */
#include "support/api.h"

static void twice(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(in[0], 2));
}

/* -- 4: variables as arguments --------------------------------------------- */

static void add_one_to(tg_trace *t, const tg_value *in, void *user)
{
    (void)t, (void)user;
    tg_assign_add(in[0], 1);
}

static void add_1_and_10(tg_trace *t, const tg_value *in, void *user)
{
    (void)t, (void)user;
    tg_assign_add(in[0], 1);
    tg_assign_add(in[1], 10);
}

Test(semantics, line_04_the_value_of_a_variable_is_a_tensor)
{
    session s;
    session_begin(&s);
    tg_variable *v = tg_variable_create(s.ctx, "v", TG_F32, TG_DIMS(2),
                                        tg_fill(3));
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    tg_function *f = tg_function_create(s.ctx, twice, NULL, NULL);
    check_f32(call_one(f, TG_ARGS(tg_value_of(v))), 6, 6);
    check_f32(call_one(f, TG_ARGS(x)), 2, 4);
    cr_assert_eq(tg_function_trace_count(f), 1);

    tg_function *g = tg_function_create(s.ctx, add_one_to, NULL, NULL);
    check_fails(tg_call(g, TG_ARGS(tg_value_of(v)), TG_RESULTS()),
                TG_ERROR_INVALID_ARGUMENT, "assign_add", "not a variable");
    check_variable(v, 3, 3);
    call_only(g, TG_ARGS(v));
    check_variable(v, 4, 4);
    tg_tensor_release(x);
    tg_variable_release(v);
    tg_function_release(f);
    tg_function_release(g);
    session_end(&s);
}

/* Adds the first argument, the previous contents of the variable, twice. */
static void add_value_twice(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_assign_add(in[1], in[0]);
    tg_assign_add(in[1], in[0]);
    tg_return(t, in[0]);
}

Test(semantics, line_04_a_value_is_the_one_before_the_call)
{
    session s;
    session_begin(&s);
    tg_variable *v = f32_scalar_variable(s.ctx, "v", 1);
    tg_function *f = tg_function_create(s.ctx, add_value_twice, NULL, NULL);
    check_f32(call_one(f, TG_ARGS(tg_value_of(v), v)), 1);
    check_variable(v, 3);
    check_f32(call_one(f, TG_ARGS(tg_value_of(v), v)), 3);
    check_variable(v, 9);

    tg_bound *b = tg_bind(f, TG_ARGS(tg_value_of(v), v), TG_RESULTS());
    check_works(tg_run(b));
    check_works(tg_run(b));
    check_variable(v, 81);
    tg_bound_release(b);
    tg_variable_release(v);
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_04_two_variables_share_a_trace_and_stay_apart)
{
    session s;
    session_begin(&s);
    tg_variable *v = f32_scalar_variable(s.ctx, "v", 0);
    tg_variable *w = f32_scalar_variable(s.ctx, "w", 100);
    tg_function *f = tg_function_create(s.ctx, add_one_to, NULL, NULL);
    call_only(f, TG_ARGS(v));
    check_variable(v, 1);
    check_variable(w, 100);
    call_only(f, TG_ARGS(w));
    check_variable(v, 1);
    check_variable(w, 101);
    call_only(f, TG_ARGS(v));
    check_variable(v, 2);
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_variable_release(v);
    tg_variable_release(w);
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_04_one_variable_twice_is_another_trace_than_two)
{
    session s;
    session_begin(&s);
    tg_variable *v = f32_scalar_variable(s.ctx, "v", 0);
    tg_variable *w = f32_scalar_variable(s.ctx, "w", 0);
    tg_function *f = tg_function_create(s.ctx, add_1_and_10, NULL, NULL);
    call_only(f, TG_ARGS(v, v));
    check_variable(v, 11);
    call_only(f, TG_ARGS(v, w));
    check_variable(v, 12);
    check_variable(w, 10);
    cr_assert_eq(tg_function_trace_count(f), 2);
    call_only(f, TG_ARGS(w, v));
    check_variable(v, 22);
    check_variable(w, 11);
    call_only(f, TG_ARGS(w, w));
    check_variable(w, 22);
    cr_assert_eq(tg_function_trace_count(f), 2);
    tg_variable_release(v);
    tg_variable_release(w);
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_04_a_variable_of_another_spec_makes_a_new_trace)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, add_one_to, NULL, NULL);
    tg_variable *v[] = {
        tg_variable_create(s.ctx, NULL, TG_F32, TG_SCALAR, tg_zeros()),
        tg_variable_create(s.ctx, NULL, TG_F64, TG_SCALAR, tg_zeros()),
        tg_variable_create(s.ctx, NULL, TG_F32, TG_DIMS(2), tg_zeros()),
        tg_variable_create(s.ctx, NULL, TG_F32, TG_DIMS(3), tg_zeros()),
        tg_variable_create(s.ctx, NULL, TG_F32, TG_DIMS(4), tg_zeros()),
    };
    for (size_t round = 0; round < 2; round++)
        for (size_t i = 0; i < 5; i++)
            call_only(f, TG_ARGS(v[i]));
    cr_assert_eq(tg_function_trace_count(f), 5);
    check_variable(v[4], 2, 2, 2, 2);
    for (size_t i = 0; i < 5; i++)
        tg_variable_release(v[i]);
    tg_function_release(f);
    session_end(&s);
}

static void add_1_and_10_to_captured(tg_trace *t, const tg_value *in,
                                     void *user)
{
    (void)t;
    tg_assign_add(in[0], 1);
    tg_assign_add((tg_variable *)user, 10);
    tg_assign_add(in[0], 100);
}

/* Calls with the captured variable and another, in either order. */
static void check_captured_argument(bool captured_first)
{
    session s;
    session_begin(&s);
    tg_variable *c = f32_scalar_variable(s.ctx, "c", 0);
    tg_variable *v = f32_scalar_variable(s.ctx, "v", 0);
    tg_function *f =
        tg_function_create(s.ctx, add_1_and_10_to_captured, c, NULL);
    for (int round = 0; round < 2; round++) {
        call_only(f, TG_ARGS(captured_first ? c : v));
        call_only(f, TG_ARGS(captured_first ? v : c));
    }
    check_variable(v, 2 * 101);
    check_variable(c, 2 * (111 + 10));
    cr_assert_eq(tg_function_trace_count(f), 2);
    tg_retrace retrace;
    cr_assert(tg_function_retrace(f, 1, &retrace));
    cr_assert_eq(retrace.reason, TG_RETRACE_CAPTURE);
    tg_variable_release(c);
    tg_variable_release(v);
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_04_an_argument_may_also_be_captured)
{
    check_captured_argument(true);
    check_captured_argument(false);
}

static void add_to_both_and_captured(tg_trace *t, const tg_value *in,
                                     void *user)
{
    (void)t;
    tg_assign_add(in[0], 1);
    tg_assign_add(in[1], 10);
    tg_assign_add((tg_variable *)user, 100);
}

Test(semantics, line_04_captured_variables_are_found_in_every_place)
{
    session s;
    session_begin(&s);
    tg_variable *c = f32_scalar_variable(s.ctx, "c", 0);
    tg_variable *v = f32_scalar_variable(s.ctx, "v", 0);
    tg_function *f =
        tg_function_create(s.ctx, add_to_both_and_captured, c, NULL);
    call_only(f, TG_ARGS(c, v)); /* c 101, v 10 */
    call_only(f, TG_ARGS(v, c)); /* c 110, v 1 */
    call_only(f, TG_ARGS(v, v)); /* c 100, v 11 */
    call_only(f, TG_ARGS(c, c)); /* c 111 */
    check_variable(c, 101 + 110 + 100 + 111);
    check_variable(v, 10 + 1 + 11);
    const size_t n = tg_function_trace_count(f);
    call_only(f, TG_ARGS(c, v));
    call_only(f, TG_ARGS(v, c));
    call_only(f, TG_ARGS(v, v));
    call_only(f, TG_ARGS(c, c));
    check_variable(c, 2 * (101 + 110 + 100 + 111));
    check_variable(v, 2 * (10 + 1 + 11));
    cr_assert_eq(tg_function_trace_count(f), n);
    tg_variable_release(c);
    tg_variable_release(v);
    tg_function_release(f);
    session_end(&s);
}

/* -- 5: captures ----------------------------------------------------------- */

static void times_captured_number(tg_trace *t, const tg_value *in, void *user)
{
    tg_return(t, tg_mul(in[0], *(double *)user));
}

Test(semantics, line_05_a_captured_number_is_frozen)
{
    session s;
    session_begin(&s);
    double factor = 2;
    tg_function *f =
        tg_function_create(s.ctx, times_captured_number, &factor, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    check_f32(call_one(f, TG_ARGS(x)), 2, 4);
    factor = 5;
    check_f32(call_one(f, TG_ARGS(x)), 2, 4);
    tg_function_clear(f);
    check_f32(call_one(f, TG_ARGS(x)), 5, 10);
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

static void times_captured_variable(tg_trace *t, const tg_value *in,
                                    void *user)
{
    tg_return(t, tg_mul(in[0], (tg_variable *)user));
}

Test(semantics, line_05_a_captured_variable_is_live)
{
    session s;
    session_begin(&s);
    tg_variable *v = f32_scalar_variable(s.ctx, "v", 2);
    tg_function *f =
        tg_function_create(s.ctx, times_captured_variable, v, NULL);
    tg_function *inc = tg_function_create(s.ctx, add_one_to, NULL, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    check_f32(call_one(f, TG_ARGS(x)), 2, 4);
    set_variable(v, 10); /* by the host */
    check_f32(call_one(f, TG_ARGS(x)), 10, 20);
    call_only(inc, TG_ARGS(v)); /* by another function */
    check_f32(call_one(f, TG_ARGS(x)), 11, 22);
    float *data = tg_variable_map(v, TG_WRITE); /* in place */
    *data = 3;
    check_works(tg_variable_unmap(v));
    check_f32(call_one(f, TG_ARGS(x)), 3, 6);
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_tensor_release(x);
    tg_variable_release(v);
    tg_function_release(f);
    tg_function_release(inc);
    session_end(&s);
}

Test(semantics, line_05_a_captured_variable_stays_alive)
{
    session s;
    session_begin(&s);
    tg_variable *v = f32_scalar_variable(s.ctx, "v", 2);
    tg_function *f =
        tg_function_create(s.ctx, times_captured_variable, v, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    call_only(f, TG_ARGS(x));
    tg_variable_release(v);
    check_f32(call_one(f, TG_ARGS(x)), 2, 4);
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

/* -- 6: tensors as constants ----------------------------------------------- */

typedef struct constants {
    tg_tensor *tensor;
    float *data;
} constants;

static void add_constants(tg_trace *t, const tg_value *in, void *user)
{
    const constants *c = user;
    tg_value data = tg_constant(TG_F32, TG_DIMS(2), c->data);
    tg_return(t, tg_add(tg_add(in[0], c->tensor), data));
}

Test(semantics, line_06_tensors_are_copied_when_traced)
{
    session s;
    session_begin(&s);
    float wrapped[2] = {10, 20}, data[2] = {100, 200};
    constants c = {tg_tensor_wrap(s.ctx, wrapped, TG_F32, TG_DIMS(2)), data};
    tg_function *f = tg_function_create(s.ctx, add_constants, &c, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    check_f32(call_one(f, TG_ARGS(x)), 111, 222);
    wrapped[0] = data[0] = -1;
    tg_tensor_release(c.tensor);
    c.tensor = NULL;
    check_f32(call_one(f, TG_ARGS(x)), 111, 222);
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}
