/* SPDX-License-Identifier: MIT */
/*
 * test_semantics_scopes.c - variable scopes and tg_get_variable: promises 7
 * and 22.
 */
#include <pthread.h>

#include "support/modes.h"

static tg_variable *get(session *s, const char *name)
{
    return tg_get_variable(s->ctx, name, TG_F32, TG_DIMS(2, 3), tg_zeros());
}

static void check_name(const tg_variable *variable, const char *name)
{
    cr_assert_not_null(variable, "%s", tg_error(NULL));
    cr_assert_str_eq(tg_variable_name(variable), name);
}

/* -- Names ----------------------------------------------------------------- */

Test(semantics, line_22_a_full_name_is_scope_slash_name)
{
    session s;
    session_begin(&s);
    check_name(get(&s, "top"), "top");
    check_works(tg_scope_push(s.ctx, "encoder", TG_REUSE_OFF));
    check_works(tg_scope_push(s.ctx, "fc1", TG_REUSE_OFF));
    cr_assert_str_eq(tg_scope_name(s.ctx), "encoder/fc1");
    check_name(get(&s, "weights"), "encoder/fc1/weights");
    check_works(tg_scope_pop(s.ctx));
    check_name(get(&s, "scale"), "encoder/scale");
    check_works(tg_scope_pop(s.ctx));
    cr_assert_str_eq(tg_scope_name(s.ctx), "");
    session_end(&s);
}

Test(semantics, line_22_default_names_are_numbered_per_parent)
{
    session s;
    session_begin(&s);
    for (int pass = 0; pass < 2; pass++) {
        check_works(tg_scope_push(s.ctx, "model", TG_REUSE_AUTO));
        static const char *const names[] = {"model/dense/w", "model/dense_1/w",
                                            "model/conv/w"};
        for (int i = 0; i < 3; i++) {
            check_works(tg_scope_push_default(
                s.ctx, i < 2 ? "dense" : "conv", TG_REUSE_OFF));
            check_name(get(&s, "w"), names[i]);
            check_works(tg_scope_pop(s.ctx));
        }
        check_works(tg_scope_pop(s.ctx));
    }
    cr_assert_eq(tg_context_variables(s.ctx, TG_ALL_VARIABLES, NULL, 0), 3);
    check_works(tg_scope_push_default(s.ctx, "dense", TG_REUSE_OFF));
    check_works(tg_scope_pop(s.ctx));
    check_works(tg_scope_push_default(s.ctx, "dense", TG_REUSE_OFF));
    cr_assert_str_eq(tg_scope_name(s.ctx), "dense_1");
    check_works(tg_scope_pop(s.ctx));
    session_end(&s);
}

Test(semantics, line_22_plain_variables_are_named_by_scope_and_numbered)
{
    session s;
    session_begin(&s);
    tg_variable *made[3];
    check_works(tg_scope_push(s.ctx, "a", TG_REUSE_ON));
    for (int i = 0; i < 2; i++)
        made[i] = tg_variable_create(s.ctx, "v", TG_F32, TG_SCALAR, tg_zeros());
    check_works(tg_scope_pop(s.ctx));
    check_works(tg_scope_push(s.ctx, "b", TG_REUSE_OFF));
    made[2] = tg_variable_create(s.ctx, "v", TG_F32, TG_SCALAR, tg_zeros());
    check_works(tg_scope_pop(s.ctx));
    check_name(made[0], "a/v");
    check_name(made[1], "a/v_1");
    check_name(made[2], "b/v");
    for (int i = 0; i < 3; i++)
        tg_variable_release(made[i]);
    session_end(&s);
}

/* -- Reuse ----------------------------------------------------------------- */

Test(semantics, line_22_reuse_off_refuses_an_existing_variable)
{
    session s;
    session_begin(&s);
    cr_assert_not_null(get(&s, "w"));
    cr_assert_null(get(&s, "w"));
    check_record(TG_ERROR_STATE, "test_semantics_scopes.c:", "'w'",
                 "already exists", "f32[2,3]");
    session_end(&s);
}

Test(semantics, line_22_reuse_on_refuses_to_create)
{
    session s;
    session_begin(&s);
    tg_variable *w = get(&s, "x/w");
    check_works(tg_scope_push(s.ctx, "x", TG_REUSE_ON));
    cr_assert_eq(get(&s, "w"), w);
    cr_assert_null(get(&s, "b"));
    check_record(TG_ERROR_STATE, "'x/b'", "does not exist");
    check_works(tg_scope_pop(s.ctx));
    session_end(&s);
}

Test(semantics, line_22_another_spec_is_an_error_naming_both)
{
    session s;
    session_begin(&s);
    cr_assert_not_null(get(&s, "fc/w"));
    for (int i = 0; i < 2; i++) {
        check_works(
            tg_scope_push(s.ctx, "fc", i ? TG_REUSE_ON : TG_REUSE_AUTO));
        cr_assert_null(tg_get_variable(s.ctx, "w", TG_F32, TG_DIMS(3, 2),
                                       tg_zeros()));
        check_record(TG_ERROR_STATE, "'fc/w'", "f32[2,3]", "f32[3,2]");
        cr_assert_null(tg_get_variable(s.ctx, "w", TG_F64, TG_DIMS(2, 3),
                                       tg_zeros()));
        check_record(TG_ERROR_STATE, "f32[2,3]", "f64[2,3]");
        check_works(tg_scope_pop(s.ctx));
    }
    session_end(&s);
}

Test(semantics, line_22_auto_creates_or_shares)
{
    session s;
    session_begin(&s);
    tg_variable *w[2];
    for (int i = 0; i < 2; i++) {
        check_works(tg_scope_push(s.ctx, "fc1", TG_REUSE_AUTO));
        w[i] = get(&s, "weights");
        check_works(tg_scope_pop(s.ctx));
    }
    check_name(w[0], "fc1/weights");
    cr_assert_eq(w[0], w[1]);
    session_end(&s);
}

Test(semantics, line_22_reuse_is_inherited_by_inner_scopes)
{
    session s;
    session_begin(&s);
    check_works(tg_scope_push(s.ctx, "a", TG_REUSE_AUTO));
    check_works(tg_scope_push(s.ctx, "b", TG_REUSE_OFF));
    tg_variable *w = get(&s, "w");
    cr_assert_eq(get(&s, "w"), w);
    check_works(tg_scope_push(s.ctx, "c", TG_REUSE_ON));
    check_works(tg_scope_push(s.ctx, "d", TG_REUSE_OFF));
    cr_assert_null(get(&s, "w"));
    for (int i = 0; i < 4; i++)
        check_works(tg_scope_pop(s.ctx));
    cr_assert_null(get(&s, "a/b/w"), "outside, reuse is off again");
    session_end(&s);
}

Test(semantics, line_22_a_plain_variable_is_not_shared)
{
    session s;
    session_begin(&s);
    tg_variable *v =
        tg_variable_create(s.ctx, "v", TG_F32, TG_DIMS(2, 3), tg_zeros());
    check_works(tg_scope_push(s.ctx, "a", TG_REUSE_AUTO));
    check_works(tg_scope_pop(s.ctx));
    cr_assert_null(get(&s, "v"));
    check_record(TG_ERROR_STATE, "'v'", "not created by tg_get_variable");
    tg_variable_release(v);
    session_end(&s);
}

Test(semantics, line_22_lists_hold_all_or_trainable_variables)
{
    session s;
    session_begin(&s);
    tg_variable_options fixed = TG_VARIABLE_OPTIONS_INIT;
    fixed.untrainable = true;
    cr_assert_not_null(get(&s, "w"));
    cr_assert_not_null(tg_get_variable_with(s.ctx, "mean", TG_F32, TG_DIMS(3),
                                            tg_zeros(), &fixed));
    cr_assert_not_null(
        tg_get_variable(s.ctx, "steps", TG_I64, TG_SCALAR, tg_zeros()));
    cr_assert_eq(tg_context_variables(s.ctx, TG_ALL_VARIABLES, NULL, 0), 3);
    cr_assert_eq(tg_context_variables(s.ctx, TG_TRAINABLE, NULL, 0), 1);
    session_end(&s);
}

/* -- Stacks ---------------------------------------------------------------- */

static void *push_elsewhere(void *user)
{
    session *s = user;
    if (*tg_scope_name(s->ctx) || tg_scope_push(s->ctx, "there", TG_REUSE_OFF))
        return "the stack of another thread is not empty";
    return get(s, "w") ? NULL : "no variable"; /* and leaves it open */
}

Test(semantics, line_22_every_thread_has_a_stack)
{
    session s;
    pthread_t thread;
    void *failure;
    session_begin(&s);
    check_works(tg_scope_push(s.ctx, "here", TG_REUSE_OFF));
    cr_assert_eq(pthread_create(&thread, NULL, push_elsewhere, &s), 0);
    pthread_join(thread, &failure);
    cr_assert_null(failure, "%s", (char *)failure);
    cr_assert_str_eq(tg_scope_name(s.ctx), "here");
    tg_variable *w = tg_context_find_variable(s.ctx, "there/w");
    cr_assert_not_null(w, "the store belongs to the context");
    tg_variable_release(w);
    check_works(tg_scope_pop(s.ctx));
    session_end(&s);
}

static void *get_together(void *user)
{
    session *s = user;
    if (tg_scope_push(s->ctx, "fc", TG_REUSE_AUTO))
        return NULL;
    tg_variable *w =
        tg_get_variable(s->ctx, "w", TG_F32, TG_DIMS(64, 64), tg_glorot());
    (void)tg_scope_pop(s->ctx);
    return w;
}

Test(semantics, line_22_threads_that_ask_at_once_share_one_variable)
{
    for (int round = 0; round < 50; round++) {
        session s;
        pthread_t threads[4];
        void *got[4];
        session_begin(&s);
        for (int i = 0; i < 4; i++)
            cr_assert_eq(pthread_create(&threads[i], NULL, get_together, &s),
                         0);
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], &got[i]);
        cr_assert_not_null(got[0]);
        for (int i = 1; i < 4; i++)
            cr_assert_eq(got[i], got[0]);
        session_end(&s);
    }
}

Test(scope, wrong_use_is_an_error)
{
    session s, other;
    session_begin(&s);
    session_begin(&other);
    check_fails(tg_scope_push(s.ctx, "", TG_REUSE_OFF),
                TG_ERROR_INVALID_ARGUMENT, "tg_scope_push", "empty");
    check_fails(tg_scope_push(s.ctx, NULL, TG_REUSE_OFF),
                TG_ERROR_INVALID_ARGUMENT, "empty");
    check_fails(tg_scope_push(NULL, "a", TG_REUSE_OFF),
                TG_ERROR_INVALID_ARGUMENT, "NULL");
    check_fails(tg_scope_push(s.ctx, "a", (tg_reuse)3),
                TG_ERROR_INVALID_ARGUMENT, "3");
    check_fails(tg_scope_pop(s.ctx), TG_ERROR_STATE, "no scope is open");
    check_works(tg_scope_push(s.ctx, "a", TG_REUSE_OFF));
    check_works(tg_scope_push(other.ctx, "b", TG_REUSE_OFF));
    check_fails(tg_scope_pop(s.ctx), TG_ERROR_STATE, "'b'", "another context");
    check_works(tg_scope_pop(other.ctx));
    check_works(tg_scope_pop(s.ctx));
    cr_assert_null(get(&s, ""));
    check_record(TG_ERROR_INVALID_ARGUMENT, "empty");
    cr_assert_null(
        tg_get_variable(s.ctx, "w", TG_F32, TG_DIMS(-2), tg_zeros()));
    tg_context_release(other.ctx);
    session_end(&s);
}

Test(scope, an_open_scope_does_not_keep_its_context)
{
    session s;
    session_begin(&s);
    check_works(tg_scope_push(s.ctx, "left", TG_REUSE_OFF));
    tg_context_release(s.ctx);
    session_begin(&s);
    cr_assert_str_eq(tg_scope_name(s.ctx), "");
    tg_context_release(s.ctx);
}

/* -- Inside callbacks ------------------------------------------------------ */

/* Shared by two functions: y = x * scope "norm"/scale. */
static void scale_by_shared(tg_trace *t, const tg_value *in, void *user)
{
    session *s = user;
    tg_scope_push(s->ctx, "norm", TG_REUSE_AUTO);
    tg_variable *scale = tg_get_variable(s->ctx, "scale", TG_F32, TG_SCALAR,
                                         tg_fill(3));
    tg_scope_pop(s->ctx);
    tg_return(t, tg_mul(in[0], scale));
}

static void change_shared(tg_trace *t, const tg_value *in, void *user)
{
    session *s = user;
    tg_scope_push(s->ctx, "norm", TG_REUSE_AUTO);
    tg_variable *scale = tg_get_variable(s->ctx, "scale", TG_F32, TG_SCALAR,
                                         tg_fill(3));
    tg_scope_pop(s->ctx);
    tg_return(t, tg_assign_add(scale, in[0]));
}

static void check_sharing(session *s)
{
    tg_function *f = tg_function_create(s->ctx, scale_by_shared, s, NULL);
    tg_function *g = tg_function_create(s->ctx, change_shared, s, NULL);
    check_works(tg_scope_push(s->ctx, "caller", TG_REUSE_OFF));
    check_f32(call_one(f, TG_ARGS(2.0f)), 6);
    check_f32(call_one(g, TG_ARGS(4.0f)), 7);
    check_works(tg_scope_pop(s->ctx));
    check_f32(call_one(f, TG_ARGS(2.0f)), 14);
    tg_variable *scale = tg_context_find_variable(s->ctx, "norm/scale");
    cr_assert_not_null(scale, "the caller's scopes do not count");
    check_variable(scale, 7);
    cr_assert_eq(tg_function_variables(f, TG_ALL_VARIABLES, NULL, 0), 1);
    cr_assert_eq(tg_function_variables(g, TG_ALL_VARIABLES, NULL, 0), 0);
    tg_variable_release(scale);
    tg_function_release(f);
    tg_function_release(g);
}

Test(semantics, line_22_functions_share_through_a_scope_in_every_mode)
{
    in_modes(check_sharing);
}

static void create_only(tg_trace *t, const tg_value *in, void *user)
{
    session *s = user;
    tg_variable *w =
        tg_get_variable(s->ctx, "w", TG_F32, TG_SCALAR, tg_fill(1));
    tg_return(t, tg_add(tg_assign_add(w, 1), in[0]));
}

Test(semantics, line_07_later_traces_find_what_the_first_has_created)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, create_only, &s, NULL);
    tg_tensor *x = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(1), tg_zeros());
    check_f32(call_one(f, TG_ARGS(0.0f)), 2);
    check_f32(call_one(f, TG_ARGS(x)), 3);
    cr_assert_eq(tg_function_trace_count(f), 2);
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

typedef struct stages {
    session *s;
    int n_traces;
    bool fails, leaves_open;
    int64_t width;
} stages;

static void in_stages(tg_trace *t, const tg_value *in, void *user)
{
    stages *st = user;
    tg_context *ctx = st->s->ctx;
    tg_variable *w = tg_get_variable(ctx, "w", TG_F32, TG_DIMS(st->width),
                                     tg_fill(5));
    if (st->n_traces++ && st->fails)
        (void)tg_get_variable(ctx, "late", TG_F32, TG_SCALAR, tg_zeros());
    else if (st->fails)
        tg_fail(t, "on purpose");
    if (st->leaves_open)
        tg_scope_push(ctx, "open", TG_REUSE_OFF);
    tg_return(t, tg_add(w, in[0]));
}

Test(semantics, line_07_a_failed_trace_rolls_its_variables_back)
{
    session s;
    session_begin(&s);
    stages st = {&s, .fails = true, .width = 1};
    tg_function *f = tg_function_create(s.ctx, in_stages, &st, NULL);
    check_fails(tg_call(f, TG_ARGS(1.0f), TG_RESULTS()), TG_ERROR_CALLBACK,
                "on purpose");
    cr_assert_eq(tg_context_variables(s.ctx, TG_ALL_VARIABLES, NULL, 0), 0);
    st = (stages){&s, .width = 1};
    check_f32(call_one(f, TG_ARGS(1.0f)), 6);
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_07_a_new_variable_on_a_later_trace_is_an_error)
{
    session s;
    session_begin(&s);
    stages st = {&s, .width = 1};
    tg_function *f = tg_function_create(s.ctx, in_stages, &st, NULL);
    call_only(f, TG_ARGS(1.0f));
    st.fails = true;
    check_fails(tg_call(f, TG_ARGS(1.0), TG_RESULTS()), TG_ERROR_STATE,
                "'late'", "later trace", "test_semantics_scopes.c:");
    st = (stages){&s, .n_traces = 1, .width = 2};
    check_fails(tg_call(f, TG_ARGS(1.0), TG_RESULTS()), TG_ERROR_STATE, "'w'",
                "f32[1]", "f32[2]");
    tg_function_release(f);
    session_end(&s);
}

Test(scope, a_callback_that_leaves_a_scope_open_fails)
{
    session s;
    session_begin(&s);
    stages st = {&s, .leaves_open = true, .width = 1};
    tg_function *f = tg_function_create(s.ctx, in_stages, &st, NULL);
    check_fails(tg_call(f, TG_ARGS(1.0f), TG_RESULTS()), TG_ERROR_STATE,
                "in_stages", "'open'", "tg_scope_pop");
    cr_assert_str_eq(tg_scope_name(s.ctx), "");
    tg_function_release(f);
    session_end(&s);
}

Test(scope, variables_outlive_the_context_in_functions_only)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, create_only, &s, NULL);
    tg_tensor *x = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(1), tg_zeros());
    call_only(f, TG_ARGS(0.0f));
    check_works(tg_compile_wait(s.ctx));
    tg_context_release(s.ctx);
    check_f32(call_one(f, TG_ARGS(0.0f)), 3);
    tg_tensor_release(x);
    tg_function_release(f);
    check_nothing_is_alive();
}
