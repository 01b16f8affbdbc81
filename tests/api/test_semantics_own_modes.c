/* SPDX-License-Identifier: MIT */
/*
 * test_semantics_own_modes.c - promise 7, variables created inside a callback,
 * interpreted and compiled: a function's own ones and those of a scope.
 */
#include "support/modes.h"

/* -- The whole promise ----------------------------------------------------- */

typedef struct attempt {
    tg_dtype dtype;
    bool fails, makes_another, repeats;
} attempt;

/* first: from the argument of the first call; calls: a counter. */
static void make(tg_trace *t, const tg_value *in, void *user)
{
    const attempt *now = user;
    tg_value start = tg_reshape(tg_mul(tg_sum(in[0], TG_ALL_AXES), 10),
                                TG_DIMS(1));
    tg_variable *first = tg_own_variable_from(t, "first", start);
    tg_variable *calls =
        tg_own_variable(t, "calls", now->dtype, TG_SCALAR, tg_zeros());
    if (now->makes_another)
        tg_own_variable(t, "another", TG_F32, TG_SCALAR, tg_zeros());
    if (now->repeats)
        tg_own_variable(t, "calls", now->dtype, TG_SCALAR, tg_zeros());
    tg_assign_add(calls, 1);
    if (now->fails)
        tg_fail(t, "on purpose");
    tg_return(t, first, calls);
}

static void check_promise(session *s)
{
    attempt now = {TG_I64, .fails = true};
    tg_function *f = tg_function_create(s->ctx, make, &now, NULL);
    tg_tensor *x = f32_vector(s->ctx, 1, 2), *y = f32_vector(s->ctx, 5, 5, 5);
    float first = 0;
    int64_t calls = 0;
    /* A failed trace leaves nothing. */
    check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS()), TG_ERROR_CALLBACK,
                "on purpose");
    cr_assert_eq(tg_function_variables(f, TG_ALL_VARIABLES, NULL, 0), 0);
    now = (attempt){TG_I64, .repeats = true};
    check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS()), TG_ERROR_STATE,
                "'calls' is created twice in one trace");
    cr_assert_eq(tg_function_variables(f, TG_ALL_VARIABLES, NULL, 0), 0);
    /* Made once; the initial value is that of the first call. */
    now = (attempt){.dtype = TG_I64};
    for (int i = 1; i <= 3; i++) {
        check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&first, &calls)));
        cr_assert(first == 30 && calls == i);
        tg_tensor_f32(x)[0] = 100;
    }
    /* A later trace has the same variables. */
    check_works(tg_call(f, TG_ARGS(y), TG_RESULTS(&first, &calls)));
    cr_assert(first == 30 && calls == 4);
    cr_assert_eq(tg_function_trace_count(f), 2);
    /* Another spec, or another variable, is an error on a later trace. */
    now.dtype = TG_I32;
    check_fails(tg_call(f, TG_ARGS(1.0), TG_RESULTS()), TG_ERROR_STATE,
                "'first' is f32[1] since the first trace", "f64[1]");
    check_fails(tg_call(f, TG_ARGS(1.0f), TG_RESULTS()), TG_ERROR_STATE,
                "'calls' is i64[] since the first trace", "i32[]");
    now = (attempt){TG_I64, .makes_another = true};
    check_fails(tg_call(f, TG_ARGS(1.0f), TG_RESULTS()), TG_ERROR_STATE,
                "'another' is new in a later trace");
    /* They are listed by the function, which owns them. */
    tg_variable *list[2] = {NULL};
    cr_assert_eq(tg_function_variables(f, TG_ALL_VARIABLES, list, 2), 2);
    cr_assert_str_eq(tg_variable_name(list[0]), "make/first");
    cr_assert_str_eq(tg_variable_name(list[1]), "make/calls");
    tg_variable_release(list[0]);
    tg_variable_release(list[1]);
    cr_assert_eq(tg_function_variables(f, TG_TRAINABLE, list, 1), 1);
    cr_assert_str_eq(tg_variable_name(list[0]), "make/first");
    tg_variable_release(list[0]);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    check_works(tg_compile_wait(s->ctx)); /* which keeps the trace alive */
    cr_assert_eq(tg_context_variables(s->ctx, TG_ALL_VARIABLES, NULL, 0), 0);
}

Test(semantics, line_07_own_variables_behave_alike_in_every_mode)
{
    in_modes(check_promise);
}

/* -- Random initialisers --------------------------------------------------- */

static void draw(tg_trace *t, const tg_value *in, void *user)
{
    (void)in, (void)user;
    tg_variable *w =
        tg_own_variable(t, "w", TG_F32, TG_DIMS(4), tg_normal(0, 1));
    tg_return(t, tg_read(w));
}

/* Values follow from the seed and the name, whatever runs them. */
static void draw_scenario(session *s, outcome *out)
{
    tg_function *f = tg_function_create(s->ctx, draw, NULL, NULL);
    tg_tensor *w = call_one(f, TG_ARGS());
    note_tensor(out, w);
    tg_tensor_release(w);
    tg_function_release(f);
}

Test(semantics, line_07_random_initial_values_are_those_of_every_mode)
{
    check_modes(draw_scenario);
}
