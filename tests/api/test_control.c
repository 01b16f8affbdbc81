/* SPDX-License-Identifier: MIT */
/* test_control.c - branches: how one is selected, its arguments and results. */
#include "support/control.h"

/* -- Choosing -------------------------------------------------------------- */

CALLBACK(add_ten)
{
    tg_return(t, tg_add(in[0], 10.0));
}

CALLBACK(negate)
{
    tg_return(t, tg_neg(in[0]));
}

CALLBACK(choose)
{
    tg_value y;
    tg_cond(in[0], add_ten, negate, NULL, TG_ARGS(in[1]), &y, 1);
    tg_return(t, y);
}

static void check_choice(session *s)
{
    tg_function *f = tg_function_create(s->ctx, choose, NULL, NULL);
    tg_tensor *x = f32_vector(s->ctx, 1, 2, 3);
    tg_tensor *yes = bool_scalar(s->ctx, true);
    tg_tensor *no = bool_scalar(s->ctx, false);
    for (int i = 0; i < 2; i++) {
        check_f32(call_one(f, TG_ARGS(yes, x)), 11, 12, 13);
        check_f32(call_one(f, TG_ARGS(no, x)), -1, -2, -3);
    }
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_tensor_release(x);
    tg_tensor_release(yes);
    tg_tensor_release(no);
    tg_function_release(f);
}

Test(control, the_predicate_chooses_which_branch_runs)
{
    check_control(check_choice);
}

CALLBACK(choose_by_value)
{
    tg_value y;
    tg_value is_large = tg_gt(tg_sum(in[0], TG_ALL_AXES), 5.0);
    tg_cond(is_large, negate, add_ten, NULL, TG_ARGS(in[0]), &y, 1);
    tg_return(t, tg_mul(y, 2.0));
}

static void check_choice_by_value(session *s)
{
    tg_function *f = tg_function_create(s->ctx, choose_by_value, NULL, NULL);
    tg_tensor *large = f32_vector(s->ctx, 4, 2);
    tg_tensor *small = f32_vector(s->ctx, 1, 2);
    check_f32(call_one(f, TG_ARGS(large)), -8, -4);
    check_f32(call_one(f, TG_ARGS(small)), 22, 24);
    tg_tensor_release(large);
    tg_tensor_release(small);
    tg_function_release(f);
}

Test(control, a_predicate_may_depend_on_inputs_of_the_branches)
{
    check_control(check_choice_by_value);
}

CALLBACK(choose_by_constant)
{
    tg_value a, b;
    tg_cond((bool)1, add_ten, negate, NULL, TG_ARGS(in[0]), &a, 1);
    tg_cond((bool)0, add_ten, negate, NULL, TG_ARGS(in[0]), &b, 1);
    tg_return(t, a, b);
}

static void check_constant_choice(session *s)
{
    tg_function *f = tg_function_create(s->ctx, choose_by_constant, NULL,
                                        NULL);
    tg_tensor *x = f32_vector(s->ctx, 1, 2), *a = NULL, *b = NULL;
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&a, &b)));
    check_f32(a, 11, 12);
    check_f32(b, -1, -2);
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(control, a_predicate_may_be_known_while_tracing)
{
    check_control(check_constant_choice);
}

CALLBACK(times_two)
{
    tg_return(t, tg_mul(in[0], 2.0));
}

CALLBACK(switch_three)
{
    tg_callback *const branches[] = {add_ten, negate, times_two};
    tg_value y;
    tg_switch(in[0], branches, 3, NULL, TG_ARGS(in[1]), &y, 1);
    tg_return(t, y);
}

static void check_switch(session *s)
{
    tg_function *f = tg_function_create(s->ctx, switch_three, NULL, NULL);
    tg_tensor *x = f32_vector(s->ctx, 3);
    static const struct {
        int64_t index;
        float want;
    } cases[] = {{0, 13},         {1, -3},        {2, 6}, {3, 6},
                 {INT64_MAX, 6}, {-1, 13},        {INT64_MIN, 13}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        tg_tensor *index = i64_scalar(s->ctx, cases[i].index);
        check_f32(call_one(f, TG_ARGS(index, x)), cases[i].want);
        tg_tensor_release(index);
    }
    /* Any integer dtype is an index. */
    tg_tensor *byte =
        tg_tensor_copy(s->ctx, &(uint8_t){200}, TG_U8, TG_SCALAR);
    tg_tensor *minus = tg_tensor_copy(s->ctx, &(int8_t){-7}, TG_I8, TG_SCALAR);
    tg_tensor *one = i32_scalar(s->ctx, 1);
    check_f32(call_one(f, TG_ARGS(byte, x)), 6);
    check_f32(call_one(f, TG_ARGS(minus, x)), 13);
    check_f32(call_one(f, TG_ARGS(one, x)), -3);
    tg_tensor_release(byte);
    tg_tensor_release(minus);
    tg_tensor_release(one);
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(control, a_switch_takes_the_nearest_branch)
{
    check_control(check_switch);
}

CALLBACK(switch_one)
{
    tg_callback *const branches[] = {negate};
    tg_value y;
    tg_switch(in[0], branches, 1, NULL, TG_ARGS(in[1]), &y, 1);
    tg_return(t, y);
}

static void check_switch_of_one(session *s)
{
    tg_function *f = tg_function_create(s->ctx, switch_one, NULL, NULL);
    tg_tensor *x = f32_vector(s->ctx, 3);
    check_f32(call_one(f, TG_ARGS(0, x)), -3);
    check_f32(call_one(f, TG_ARGS(5, x)), -3);
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(control, a_switch_may_have_one_branch)
{
    check_control(check_switch_of_one);
}

/* -- Results of branches --------------------------------------------------- */

CALLBACK(several_a)
{
    tg_return(t, in[0], tg_gt(in[0], 2.0), tg_sum(in[0], TG_ALL_AXES),
              tg_cast(in[1], TG_I64));
}

CALLBACK(several_b)
{
    tg_return(t, tg_mul(in[0], in[0]), tg_lt(in[0], 2.0), 0.5, 7);
}

CALLBACK(give_several)
{
    tg_value y[4];
    tg_cond(in[0], several_a, several_b, NULL, TG_ARGS(in[1], in[2]), y, 4);
    tg_return(t, y[0], y[1], y[2], y[3]);
}

static void check_several(session *s)
{
    tg_function *f = tg_function_create(s->ctx, give_several, NULL, NULL);
    tg_tensor *x = f32_vector(s->ctx, 1, 2, 3), *n = i32_scalar(s->ctx, 4);
    for (int i = 0; i < 2; i++) {
        tg_tensor *p = bool_scalar(s->ctx, i == 0), *y[4] = {NULL};
        check_works(tg_call(f, TG_ARGS(p, x, n),
                            TG_RESULTS(&y[0], &y[1], &y[2], &y[3])));
        const bool *more = tg_tensor_data(y[1]);
        cr_assert_eq(tg_tensor_dtype(y[1]), TG_BOOL);
        cr_assert_eq(more[0], i == 1);
        cr_assert_eq(more[1], false);
        cr_assert_eq(more[2], i == 0);
        tg_tensor_release(y[1]);
        if (i == 0) {
            check_f32(y[0], 1, 2, 3);
            check_f32(y[2], 6);
            check_i64(y[3], 4);
        } else {
            check_f32(y[0], 1, 4, 9);
            check_f32(y[2], 0.5f);
            check_i64(y[3], 7);
        }
        tg_tensor_release(p);
    }
    tg_tensor_release(x);
    tg_tensor_release(n);
    tg_function_release(f);
}

Test(control, branches_give_several_values_of_several_types)
{
    check_control(check_several);
}

CALLBACK(return_number)
{
    tg_return(t, 0.0);
}

CALLBACK(return_in)
{
    tg_return(t, in[0]);
}

CALLBACK(numbers_meet_values)
{
    tg_callback *const branches[] = {return_number, return_number, return_in};
    tg_value a, b, c;
    tg_cond(in[0], return_number, return_in, NULL, TG_ARGS(in[1]), &a, 1);
    tg_cond(in[0], return_in, return_number, NULL, TG_ARGS(in[1]), &b, 1);
    tg_switch(tg_cast(in[0], TG_I32), branches, 3, NULL, TG_ARGS(in[1]), &c,
              1);
    cr_assert_eq(tg_value_dtype(a), TG_F32);
    cr_assert_eq(tg_value_dtype(b), TG_F32);
    cr_assert_eq(tg_value_dtype(c), TG_F32);
    tg_return(t, a, b, c);
}

static void check_numbers(session *s)
{
    tg_function *f = tg_function_create(s->ctx, numbers_meet_values, NULL,
                                        NULL);
    tg_tensor *x = f32_scalar(s->ctx, 3), *yes = bool_scalar(s->ctx, true);
    tg_tensor *a = NULL, *b = NULL, *c = NULL;
    check_works(tg_call(f, TG_ARGS(yes, x), TG_RESULTS(&a, &b, &c)));
    check_f32(a, 0);
    check_f32(b, 3);
    check_f32(c, 0);
    tg_tensor_release(x);
    tg_tensor_release(yes);
    tg_function_release(f);
}

Test(control, a_plain_number_takes_the_type_of_the_other_branch)
{
    check_control(check_numbers);
}

CALLBACK(two_numbers)
{
    tg_value y;
    tg_cond(in[0], return_number, return_number, NULL, TG_ARGS(), &y, 1);
    cr_assert_eq(tg_value_dtype(y), TG_F64);
    tg_return(t, tg_cast(y, TG_F32));
}

static void check_two_numbers(session *s)
{
    tg_function *f = tg_function_create(s->ctx, two_numbers, NULL, NULL);
    tg_tensor *yes = bool_scalar(s->ctx, true);
    check_f32(call_one(f, TG_ARGS(yes)), 0);
    tg_tensor_release(yes);
    tg_function_release(f);
}

Test(control, plain_numbers_of_all_branches_have_their_C_type)
{
    check_control(check_two_numbers);
}

CALLBACK(fewer_results)
{
    tg_value y;
    tg_cond(in[0], several_a, several_b, NULL, TG_ARGS(in[1], in[2]), &y, 1);
    tg_return(t, y);
}

static void check_fewer(session *s)
{
    tg_function *f = tg_function_create(s->ctx, fewer_results, NULL, NULL);
    tg_tensor *x = f32_vector(s->ctx, 1, 2, 3), *no = bool_scalar(s->ctx, 0);
    check_f32(call_one(f, TG_ARGS(no, x, 1)), 1, 4, 9);
    tg_tensor_release(x);
    tg_tensor_release(no);
    tg_function_release(f);
}

Test(control, fewer_results_may_be_requested_than_returned)
{
    check_control(check_fewer);
}

CALLBACK(swap_two)
{
    tg_return(t, in[1], in[0]);
}

CALLBACK(same_two)
{
    tg_return(t, in[0], in[0]);
}

CALLBACK(pass_through)
{
    tg_value y[2];
    tg_cond(in[0], swap_two, same_two, NULL, TG_ARGS(in[1], in[2]), y, 2);
    tg_return(t, y[0], y[1], in[1]);
}

static void check_pass_through(session *s)
{
    tg_function *f = tg_function_create(s->ctx, pass_through, NULL, NULL);
    tg_tensor *x = f32_vector(s->ctx, 1, 2), *z = f32_vector(s->ctx, 8, 9);
    for (int i = 0; i < 2; i++) {
        tg_tensor *p = bool_scalar(s->ctx, i), *y[3] = {NULL};
        check_works(tg_call(f, TG_ARGS(p, x, z),
                            TG_RESULTS(&y[0], &y[1], &y[2])));
        check_f32(y[0], i ? 8 : 1, i ? 9 : 2);
        check_f32(y[1], 1, 2);
        check_f32(y[2], 1, 2);
        tg_tensor_release(p);
    }
    tg_tensor_release(x);
    tg_tensor_release(z);
    tg_function_release(f);
}

Test(control, branches_may_return_their_inputs)
{
    check_control(check_pass_through);
}

/* -- Captured values ------------------------------------------------------- */

typedef struct outside {
    tg_value x, y, weak;
    tg_tensor *table;
} outside;

CALLBACK(use_outside)
{
    const outside *o = user;
    tg_return(t, tg_add(tg_mul(o->x, o->weak), o->table));
}

CALLBACK(use_other_outside)
{
    const outside *o = user;
    tg_return(t, tg_sub(tg_add(o->y, o->y), tg_mul(o->x, 3.0)));
}

CALLBACK(capture)
{
    const outside *given = user;
    outside o = {in[1], tg_exp(in[2]), tg_add(1.0, 1.0), given->table};
    tg_value y;
    tg_cond(in[0], use_outside, use_other_outside, &o, TG_ARGS(), &y, 1);
    cr_assert_eq(tg_value_dtype(y), TG_F32);
    tg_return(t, y);
}

static void check_capture(session *s)
{
    outside o = {.table = f32_vector(s->ctx, 100, 200)};
    tg_function *f = tg_function_create(s->ctx, capture, &o, NULL);
    tg_tensor *x = f32_vector(s->ctx, 1, 2), *z = f32_vector(s->ctx, 0, 0);
    tg_tensor *yes = bool_scalar(s->ctx, true);
    tg_tensor *no = bool_scalar(s->ctx, false);
    check_f32(call_one(f, TG_ARGS(yes, x, z)), 102, 204);
    check_f32(call_one(f, TG_ARGS(no, x, z)), -1, -4);
    tg_tensor_release(x);
    tg_tensor_release(z);
    tg_tensor_release(yes);
    tg_tensor_release(no);
    tg_tensor_release(o.table);
    tg_function_release(f);
}

Test(control, branches_use_values_numbers_and_tensors_of_the_callback_around)
{
    check_control(check_capture);
}

/* Static values and a bundle of variables, requested through the branch's
   own trace. */
typedef struct pair {
    tg_variable *a, *b;
} pair;
static const tg_bundle_field pair_fields[] = {TG_FIELD(pair, a),
                                              TG_FIELD(pair, b)};
static const tg_bundle_type pair_type = TG_BUNDLE(pair, pair_fields);

CALLBACK(add_to_a)
{
    const pair *p = tg_bundle_argument(t, 1, &pair_type);
    tg_return(t, tg_assign_add(p->a, (double)tg_static_int(t, 2)));
}

CALLBACK(add_to_b)
{
    const pair *p = user; /* the placeholders of the enclosing callback */
    tg_return(t, tg_assign_add(p->b, p->a));
}

CALLBACK(change_pair)
{
    const pair *p = tg_bundle_argument(t, 1, &pair_type);
    tg_value y;
    tg_cond(in[0], add_to_a, add_to_b, (void *)(uintptr_t)p, TG_ARGS(), &y,
            1);
    tg_return(t, y);
}

static void check_bundles(session *s)
{
    pair p = {f32_scalar_variable(s->ctx, "a", 1),
              f32_scalar_variable(s->ctx, "b", 2)};
    pair q = {f32_scalar_variable(s->ctx, "c", 10),
              f32_scalar_variable(s->ctx, "d", 20)};
    tg_function *f = tg_function_create(s->ctx, change_pair, NULL, NULL);
    tg_tensor *yes = bool_scalar(s->ctx, true);
    tg_tensor *no = bool_scalar(s->ctx, false);
    tg_operand first = tg_bundle_of(&pair_type, &p);
    tg_operand second = tg_bundle_of(&pair_type, &q);
    check_f32(call_one(f, TG_ARGS(yes, first, TG_STATIC(5))), 6);
    check_f32(call_one(f, TG_ARGS(yes, second, TG_STATIC(5))), 15);
    check_f32(call_one(f, TG_ARGS(no, second, TG_STATIC(5))), 35);
    check_variable(p.a, 6);
    check_variable(p.b, 2);
    check_variable(q.a, 15);
    check_variable(q.b, 35);
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_tensor_release(yes);
    tg_tensor_release(no);
    tg_bundle_release(&pair_type, &p);
    tg_bundle_release(&pair_type, &q);
    tg_function_release(f);
}

Test(control, branches_reach_bundles_and_static_arguments)
{
    check_control(check_bundles);
}

CALLBACK(reset_argument)
{
    const tg_value *variable = user;
    tg_assign(*variable, 0.0);
}

CALLBACK(leave_argument)
{
}

CALLBACK(reset_if_large)
{
    tg_value old = tg_read(in[0]), variable = in[0];
    tg_cond(tg_gt(in[0], 5.0), reset_argument, leave_argument, &variable,
            TG_ARGS(), NULL, 0);
    tg_return(t, tg_add(old, in[0]));
}

static void check_variable_arguments(session *s)
{
    tg_variable *v = f32_scalar_variable(s->ctx, "v", 7);
    tg_variable *w = f32_scalar_variable(s->ctx, "w", 3);
    tg_function *f = tg_function_create(s->ctx, reset_if_large, NULL, NULL);
    check_f32(call_one(f, TG_ARGS(v)), 7);
    check_f32(call_one(f, TG_ARGS(w)), 6);
    check_f32(call_one(f, TG_ARGS(v)), 0);
    check_variable(v, 0);
    check_variable(w, 3);
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_variable_release(v);
    tg_variable_release(w);
    tg_function_release(f);
}

Test(control, branches_assign_variables_that_are_arguments)
{
    check_control(check_variable_arguments);
}
