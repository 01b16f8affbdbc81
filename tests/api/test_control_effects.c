/* SPDX-License-Identifier: MIT */
/*
 * test_control_effects.c - promises 13 to 16 for branches: effects on
 * variables, prints and failures, and their order.
 */
#include "support/control.h"

/* -- 16: both are traced, one runs ----------------------------------------- */

typedef struct counted {
    int n_then, n_else;
} counted;

CALLBACK(count_then)
{
    ((counted *)user)->n_then++;
    tg_return(t, in[0]);
}

CALLBACK(count_else)
{
    ((counted *)user)->n_else++;
    tg_return(t, tg_neg(in[0]));
}

CALLBACK(count_branches)
{
    tg_value y;
    tg_cond(in[0], count_then, count_else, user, TG_ARGS(in[1]), &y, 1);
    tg_return(t, y);
}

static void check_counts(session *s)
{
    counted n = {0};
    tg_function *f = tg_function_create(s->ctx, count_branches, &n, NULL);
    tg_tensor *yes = bool_scalar(s->ctx, true), *x = f32_vector(s->ctx, 1, 2);
    for (int i = 0; i < 3; i++)
        check_f32(call_one(f, TG_ARGS(yes, x)), 1, 2);
    cr_assert_eq(n.n_then, 1);
    cr_assert_eq(n.n_else, 1);
    tg_tensor_release(yes);
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(control, line_16_both_branches_are_traced_once)
{
    check_control(check_counts);
}

typedef struct effects {
    tg_variable *a, *b;
} effects;

static effects effects_create(tg_context *ctx, double a, double b)
{
    return (effects){f32_scalar_variable(ctx, "a", a),
                     f32_scalar_variable(ctx, "b", b)};
}

static void effects_release(effects *e)
{
    tg_variable_release(e->a);
    tg_variable_release(e->b);
}

CALLBACK(write_a)
{
    const effects *e = user;
    tg_print(t, "then %v", in[0]);
    tg_assign_add(e->a, in[0]);
    tg_return(t, tg_mul(e->a, 2.0));
}

CALLBACK(write_b)
{
    const effects *e = user;
    tg_assign(e->b, tg_add(e->a, e->b));
    tg_print(t, "else %v %v", e->b, e->a);
    tg_return(t, tg_read(e->b));
}

CALLBACK(write_one)
{
    const effects *e = user;
    tg_value y;
    tg_print(t, "before");
    tg_cond(in[0], write_a, write_b, user, TG_ARGS(in[1]), &y, 1);
    tg_print(t, "after %v %v", e->a, e->b);
    tg_return(t, y);
}

static void check_effects(session *s)
{
    effects e = effects_create(s->ctx, 1, 10);
    tg_function *f = tg_function_create(s->ctx, write_one, &e, NULL);
    tg_tensor *yes = bool_scalar(s->ctx, true);
    tg_tensor *no = bool_scalar(s->ctx, false);
    check_f32(call_one(f, TG_ARGS(yes, 4.0f)), 10);
    check_printed(s, "before\nthen 4\nafter 5 10\n");
    check_f32(call_one(f, TG_ARGS(no, 4.0f)), 15);
    check_printed(s, "before\nelse 15 5\nafter 5 15\n");
    check_variable(e.a, 5);
    check_variable(e.b, 15);
    /* Unused results: the effects happen anyway. */
    call_only(f, TG_ARGS(yes, 1.0f));
    check_printed(s, "before\nthen 1\nafter 6 15\n");
    tg_tensor_release(yes);
    tg_tensor_release(no);
    tg_function_release(f);
    effects_release(&e);
}

Test(control, line_16_effects_of_the_other_branch_do_not_happen)
{
    check_control(check_effects);
}

/* -- 13: program order across branches ------------------------------------- */

CALLBACK(double_a)
{
    const effects *e = user;
    tg_value before = tg_read(e->a);
    tg_assign(e->a, tg_mul(before, 2.0));
    tg_return(t, before, tg_read(e->a));
}

CALLBACK(only_read_a)
{
    const effects *e = user;
    tg_return(t, tg_read(e->a), tg_neg(e->a));
}

CALLBACK(read_around)
{
    const effects *e = user;
    tg_value y[2], first = tg_read(e->a);
    tg_assign_add(e->a, 1.0);
    tg_value second = tg_read(e->a);
    tg_cond(in[0], double_a, only_read_a, user, TG_ARGS(), y, 2);
    tg_value third = tg_read(e->a);
    tg_assign_add(e->a, 100.0);
    /* All are used after everything was written. */
    tg_return(t, tg_neg(first), tg_neg(second), tg_neg(y[0]), tg_neg(y[1]),
              tg_neg(third), tg_neg(e->a));
}

static void check_order(session *s)
{
    effects e = effects_create(s->ctx, 3, 0);
    tg_function *f = tg_function_create(s->ctx, read_around, &e, NULL);
    for (int i = 0; i < 2; i++) {
        tg_tensor *p = bool_scalar(s->ctx, i == 0), *y[6] = {NULL};
        const float want[2][6] = {{-3, -4, -4, -8, -8, -108},
                                  {-108, -109, -109, 109, -109, -209}};
        check_works(tg_call(f, TG_ARGS(p),
                            TG_RESULTS(&y[0], &y[1], &y[2], &y[3], &y[4],
                                       &y[5])));
        for (int k = 0; k < 6; k++)
            check_f32(y[k], want[i][k]);
        tg_tensor_release(p);
    }
    check_variable(e.a, 209);
    tg_function_release(f);
    effects_release(&e);
}

Test(control, line_13_reads_around_a_branch_see_earlier_writes)
{
    check_control(check_order);
}

typedef struct outside {
    tg_value x, variable;
} outside;

/* A value read before, used in the branch that overwrites the variable. */
CALLBACK(overwrite_then_use)
{
    const outside *o = user;
    tg_assign(o->variable, tg_add(o->x, 1.0));
    tg_return(t, tg_add(tg_mul(o->x, 100.0), o->variable));
}

CALLBACK(keep_all)
{
    const outside *o = user;
    tg_return(t, o->x);
}

CALLBACK(use_old_contents)
{
    outside o = {.x = tg_read(in[1]), .variable = in[1]};
    tg_value y;
    tg_cond(in[0], overwrite_then_use, keep_all, &o, TG_ARGS(), &y, 1);
    tg_return(t, y, o.x);
}

static void check_old_contents(session *s)
{
    tg_variable *v = tg_variable_create(s->ctx, "v", TG_F32, TG_DIMS(2),
                                        tg_from_data((float[]){1, 2}));
    tg_function *f = tg_function_create(s->ctx, use_old_contents, NULL, NULL);
    tg_tensor *yes = bool_scalar(s->ctx, true), *y = NULL, *old = NULL;
    check_works(tg_call(f, TG_ARGS(yes, v), TG_RESULTS(&y, &old)));
    check_f32(y, 102, 203);
    check_f32(old, 1, 2);
    check_variable(v, 2, 3);
    tg_tensor_release(yes);
    tg_variable_release(v);
    tg_function_release(f);
}

Test(control, line_13_a_value_read_before_a_branch_is_fixed_inside)
{
    check_control(check_old_contents);
}

/* -- 14: failures ---------------------------------------------------------- */

CALLBACK(pick)
{
    const effects *e = user;
    tg_assign_add(e->a, 1.0);
    tg_print(t, "picking %v", in[1]);
    tg_value picked = tg_gather(in[0], in[1], 0);
    tg_assign_add(e->b, picked);
    tg_print(t, "picked");
    tg_return(t, picked);
}

CALLBACK(do_not_pick)
{
    tg_return(t, -1.0);
}

CALLBACK(pick_or_not)
{
    const effects *e = user;
    tg_value y;
    tg_cond(in[0], pick, do_not_pick, user, TG_ARGS(in[1], in[2]), &y, 1);
    tg_print(t, "done");
    tg_assign_add(e->a, 10.0);
    tg_return(t, y);
}

static void check_failure(session *s)
{
    effects e = effects_create(s->ctx, 0, 0);
    tg_function *f = tg_function_create(s->ctx, pick_or_not, &e, NULL);
    tg_tensor *yes = bool_scalar(s->ctx, true);
    tg_tensor *no = bool_scalar(s->ctx, false);
    tg_tensor *x = f32_vector(s->ctx, 5, 6), *y = NULL;
    check_fails(tg_call(f, TG_ARGS(yes, x, 2), TG_RESULTS(&y)),
                TG_ERROR_INDEX, "gather", "index 2", "extent 2", __FILE__);
    cr_assert_null(y);
    check_printed(s, "picking 2\n");
    check_variable(e.a, 1);
    check_variable(e.b, 0);
    check_f32(call_one(f, TG_ARGS(no, x, 2)), -1);
    check_printed(s, "done\n");
    check_variable(e.a, 11);
    check_f32(call_one(f, TG_ARGS(yes, x, 1)), 6);
    check_printed(s, "picking 1\npicked\ndone\n");
    check_variable(e.a, 22);
    check_variable(e.b, 6);
    tg_tensor_release(x);
    tg_tensor_release(yes);
    tg_tensor_release(no);
    tg_function_release(f);
    effects_release(&e);
}

Test(control, line_14_a_failure_in_a_branch_stops_later_steps)
{
    check_control(check_failure);
}
