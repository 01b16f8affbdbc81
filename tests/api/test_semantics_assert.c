/* SPDX-License-Identifier: MIT */
/*
 * test_semantics_assert.c - promise 14 for tg_assert: the message and its
 * place, the effects before and after a failure, branches, loops, nested
 * functions and unknown sizes. Every scenario runs interpreted, compiled for
 * several numbers of threads, and in mode auto; all runs agree.
 */
#include <math.h>

#include "support/control.h"
#include "support/modes.h"

/* -- The message ----------------------------------------------------------- */

static int positive_line;

CALLBACK(root_of_positive)
{
    positive_line = __LINE__ + 1;
    tg_assert(t, tg_gt(in[0], 0), "%v is not above %v, 100%%", in[0], 0.5);
    tg_return(t, tg_sqrt(in[0]));
}

static void message_scenario(session *s, outcome *out)
{
    tg_function *f = tg_function_create(s->ctx, root_of_positive, NULL, NULL);
    TG_AUTO(tg_tensor) good = f32_vector(s->ctx, 1, 4);
    TG_AUTO(tg_tensor) bad = f32_vector(s->ctx, 1, -4);
    char want[256];
    for (int i = 0; i < 3; i++) {
        tg_tensor *y = NULL;
        check_f32(call_one(f, TG_ARGS(good)), 1, 2);
        check_asserts(out, tg_call(f, TG_ARGS(bad), TG_RESULTS(&y)), "assert");
        cr_assert_null(y);
        snprintf(want, sizeof want, "%s:%d: assert: [1 -4] is not above 0.5, "
                 "100%%", __FILE__, positive_line);
        cr_assert_str_eq(tg_error(s->ctx), want);
        cr_assert_str_eq(tg_error_last()->file, __FILE__);
        cr_assert_eq(tg_error_last()->line, positive_line);
    }
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_function_release(f);
}

Test(semantics, line_14_an_assert_fails_with_its_message_and_line)
{
    check_all_modes(message_scenario);
}

CALLBACK(only_text)
{
    tg_assert(t, in[0], "50%% is all");
}

CALLBACK(much_text)
{
    tg_value matrix = tg_reshape(in[1], TG_DIMS(-1, 3));
    tg_assert(t, in[0], "%v %v %v|%v|%v", 1, (bool)true, in[0], matrix,
              tg_broadcast(7, TG_DIMS(30, 30, 8)));
}

static void text_scenario(session *s, outcome *out)
{
    tg_function *f = tg_function_create(s->ctx, only_text, NULL, NULL);
    tg_function *g = tg_function_create(s->ctx, much_text, NULL, NULL);
    TG_AUTO(tg_tensor) no = bool_scalar(s->ctx, false);
    TG_AUTO(tg_tensor) yes = bool_scalar(s->ctx, true);
    TG_AUTO(tg_tensor) x = f32_vector(s->ctx, 1, 2, 3, 4, 5, 6);
    check_asserts(out, tg_call(f, TG_ARGS(no), TG_RESULTS()),
                  "assert: 50% is all");
    call_only(f, TG_ARGS(yes));
    /* The end of a long text is cut off. */
    check_asserts(out, tg_call(g, TG_ARGS(no, x), TG_RESULTS()),
                  "assert: 1 true false|[[1 2 3]\n [4 5 6]]|[[[7 7 7 ... 7 7 7]\n");
    cr_assert_lt(strlen(tg_error(s->ctx)), 1024);
    call_only(g, TG_ARGS(yes, x));
    tg_function_release(f);
    tg_function_release(g);
}

Test(semantics, line_14_a_message_may_have_several_values)
{
    check_all_modes(text_scenario);
}

/* -- Order ----------------------------------------------------------------- */

typedef struct state {
    tg_variable *a, *b;
    tg_function *inner;
    session *s;
} state;

static void state_begin(state *w, session *s)
{
    *w = (state){f32_scalar_variable(s->ctx, "a", 0),
                 f32_scalar_variable(s->ctx, "b", 0), NULL, s};
}

static void state_end(state *w)
{
    tg_variable_release(w->a);
    tg_variable_release(w->b);
    tg_function_release(w->inner);
}

/* Both variables have these contents; sets them to 0. */
static void check_state(int line, const state *w, float a, float b)
{
    check_variable_at(line, w->a, &a, 1);
    check_variable_at(line, w->b, &b, 1);
    check_set_at(line, w->a, (float[]){0}, 1);
    check_set_at(line, w->b, (float[]){0}, 1);
}

static tg_status keep_call(const tg_host_buffer *in, size_t n_in,
                           const tg_host_buffer *out, size_t n_out, void *user)
{
    char text[64];
    float x;
    (void)n_in, (void)out, (void)n_out;
    memcpy(&x, in[0].data, sizeof x);
    snprintf(text, sizeof text, "host %g", (double)x);
    keep_line(((state *)user)->s->printed, sizeof(session){0}.printed, text);
    return TG_OK;
}

CALLBACK(many_effects)
{
    const state *w = user;
    tg_assign(w->a, 1);
    tg_host_call(t, keep_call, user, TG_ARGS(w->a), NULL, NULL, 0);
    tg_print(t, "before %v", w->a);
    tg_assign_add(w->a, in[0]);
    tg_assert(t, tg_gt(in[0], 0), "a is %v, b %v", w->a, w->b);
    tg_assign(w->a, 100);
    tg_assign_add(w->b, w->a);
    tg_print(t, "between %v", w->a);
    tg_assert(t, tg_lt(in[0], 10), "%v is large", in[0]);
    tg_host_call(t, keep_call, user, TG_ARGS(w->a), NULL, NULL, 0);
    tg_print(t, "after %v", w->b);
    tg_assign(w->b, 7);
    tg_return(t, tg_add(w->a, w->b));
}

static void order_scenario(session *s, outcome *out)
{
    state w;
    state_begin(&w, s);
    tg_function *f = tg_function_create(s->ctx, many_effects, &w, NULL);
    tg_tensor *y = NULL;
    check_works(tg_call(f, TG_ARGS(2.0f), TG_RESULTS(&y)));
    check_f32(y, 107);
    cr_assert_str_eq(s->printed, "host 1\nbefore 1\nbetween 100\nhost 100\n"
                                 "after 100\n");
    check_state(__LINE__, &w, 100, 7);

    s->printed[0] = 0;
    check_asserts(out, tg_call(f, TG_ARGS(-2.0f), TG_RESULTS()),
                  "assert: a is -1, b 0");
    cr_assert_str_eq(s->printed, "host 1\nbefore 1\n");
    check_state(__LINE__, &w, -1, 0);

    s->printed[0] = 0;
    check_asserts(out, tg_call(f, TG_ARGS(20.0f), TG_RESULTS()),
                  "assert: 20 is large");
    cr_assert_str_eq(s->printed, "host 1\nbefore 1\nbetween 100\n");
    check_state(__LINE__, &w, 100, 100);
    tg_function_release(f);
    state_end(&w);
}

Test(semantics, line_14_effects_before_an_assert_stay_and_later_ones_do_not)
{
    check_all_modes(order_scenario);
}

CALLBACK(guarded_gather)
{
    tg_assert(t, tg_lt(in[1], 3), "position %v", in[1]);
    tg_return(t, tg_gather(in[0], in[1], 0));
}

CALLBACK(gather_first)
{
    tg_value y = tg_gather(in[0], in[1], 0);
    tg_assert(t, tg_lt(in[1], 3), "position %v", in[1]);
    tg_return(t, y);
}

static void guard_scenario(session *s, outcome *out)
{
    tg_function *f = tg_function_create(s->ctx, guarded_gather, NULL, NULL);
    tg_function *g = tg_function_create(s->ctx, gather_first, NULL, NULL);
    TG_AUTO(tg_tensor) x = f32_vector(s->ctx, 1, 2, 3);
    check_f32(call_one(f, TG_ARGS(x, (int32_t)2)), 3);
    check_asserts(out, tg_call(f, TG_ARGS(x, (int32_t)3), TG_RESULTS()),
                  "assert: position 3");
    check_fails(tg_call(g, TG_ARGS(x, (int32_t)3), TG_RESULTS()),
                TG_ERROR_INDEX, "gather");
    tg_function_release(f);
    tg_function_release(g);
}

Test(semantics, line_14_the_first_of_several_failures_counts)
{
    check_all_modes(guard_scenario);
}

/* A vector that all threads share: the old contents are still needed. */
CALLBACK(replace_all)
{
    tg_variable *v = user;
    tg_value old = tg_read(v);
    tg_assign_add(v, 1);
    tg_assert(t, tg_lt(v, in[0]), "%v", tg_reduce_max(v, TG_ALL_AXES));
    tg_assign(v, tg_slice(old, 0, -1, TG_END, -1));
    tg_return(t, tg_sum(tg_mul(old, v), TG_ALL_AXES));
}

static void vector_scenario(session *s, outcome *out)
{
    tg_variable *v = tg_variable_create(s->ctx, "v", TG_F32, TG_DIMS(1000),
                                        tg_uniform(0, 1));
    tg_function *f = tg_function_create(s->ctx, replace_all, v, NULL);
    TG_AUTO(tg_tensor) y = call_one(f, TG_ARGS(2.0f));
    note_tensor(out, y);
    note_variable(out, v);
    check_asserts(out, tg_call(f, TG_ARGS(1.5f), TG_RESULTS()), "assert: 1.9");
    note_variable(out, v);
    tg_function_release(f);
    tg_variable_release(v);
}

Test(semantics, line_14_an_assert_follows_the_whole_assignment)
{
    check_all_modes(vector_scenario);
}

/* -- Branches -------------------------------------------------------------- */

CALLBACK(never)
{
    const state *w = user;
    tg_assign(w->a, 1);
    tg_assert(t, false, "reached with %v", in[0]);
    tg_assign(w->a, 2);
    tg_return(t, in[0]);
}

CALLBACK(negated)
{
    tg_return(t, tg_neg(in[0]));
}

CALLBACK(fail_in_branch)
{
    const state *w = user;
    tg_value y;
    tg_cond(tg_gt(in[0], 5), never, negated, user, TG_ARGS(in[0]), &y, 1);
    tg_assign(w->b, y);
    tg_return(t, y);
}

static void branch_scenario(session *s, outcome *out)
{
    state w;
    state_begin(&w, s);
    tg_function *f = tg_function_create(s->ctx, fail_in_branch, &w, NULL);
    check_f32(call_one(f, TG_ARGS(4.0f)), -4);
    check_state(__LINE__, &w, 0, -4);
    check_asserts(out, tg_call(f, TG_ARGS(6.0f), TG_RESULTS()),
                  "assert: reached with 6");
    check_state(__LINE__, &w, 1, 0);
    tg_function_release(f);
    state_end(&w);
}

Test(semantics, line_14_an_assert_in_a_branch_fails_only_if_it_is_taken)
{
    check_all_modes(branch_scenario);
}

CALLBACK(always)
{
    tg_assert(t, true, "never %v", in[0]);
    tg_return(t, in[0]);
}

Test(semantics, line_14_a_constant_condition_that_holds_leaves_no_trace)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, always, NULL, NULL);
    check_f32(call_one(f, TG_ARGS(4.0f)), 4);
    char *text = tg_function_text(f, TG_TEXT_GRAPH);
    cr_assert_null(strstr(text, "switch"), "%s", text);
    cr_assert_null(strstr(text, "fail"), "%s", text);
    tg_text_free(text);
    tg_function_release(f);
    session_end(&s);
}

/* -- Loops ----------------------------------------------------------------- */

CALLBACK(count_up)
{
    const state *w = user;
    tg_value limit = tg_read(w->b);
    tg_assign_add(w->a, 1);
    tg_print(t, "%v", in[0]);
    tg_value next = tg_add(in[1], 0.5);
    tg_assert(t, tg_le(next, limit), "iteration %v: %v, not %v", in[0],
              tg_reduce_max(next, TG_ALL_AXES), in[1]);
    tg_assign_add(w->a, 10);
    tg_return(t, next);
}

CALLBACK(count_in_loop)
{
    const state *w = user;
    tg_value y;
    tg_for(4, count_up, user, TG_ARGS(in[0]), &y, 1);
    tg_assign(w->b, -1);
    tg_return(t, y);
}

static void loop_scenario(session *s, outcome *out)
{
    state w;
    state_begin(&w, s);
    tg_function *f = tg_function_create(s->ctx, count_in_loop, &w, NULL);
    TG_AUTO(tg_tensor) few = f32_vector(s->ctx, 0, 0.25);
    TG_AUTO(tg_tensor) many =
        tg_tensor_create(s->ctx, TG_F32, TG_DIMS(3000), tg_zeros());
    tg_tensor *x[] = {few, many};
    for (int i = 0; i < 2; i++) {
        check_set_at(__LINE__, w.b, (float[]){3}, 1);
        TG_AUTO(tg_tensor) y = call_one(f, TG_ARGS(x[i]));
        note_tensor(out, y);
        check_state(__LINE__, &w, 44, -1);
        check_set_at(__LINE__, w.b, (float[]){1.25}, 1);
        s->printed[0] = 0;
        check_asserts(out, tg_call(f, TG_ARGS(x[i]), TG_RESULTS()),
                      i ? "assert: iteration 2: 1.5, not [1 1 1 ... 1 1 1]"
                        : "assert: iteration 2: 1.75, not [1 1.25]");
        cr_assert_str_eq(s->printed, "0\n1\n2\n");
        check_state(__LINE__, &w, 23, 1.25);
    }
    tg_function_release(f);
    state_end(&w);
}

Test(semantics, line_14_an_assert_in_a_loop_ends_its_iteration)
{
    check_all_modes(loop_scenario);
}

CALLBACK(is_below_ten)
{
    tg_assert(t, tg_ne(in[0], 7), "the test meets %v", in[0]);
    tg_return(t, tg_lt(in[0], 10));
}

CALLBACK(add_step)
{
    const state *w = user;
    tg_assign_add(w->a, 1);
    tg_return(t, tg_add(in[0], in[1]), in[1]);
}

CALLBACK(count_to_ten)
{
    const state *w = user;
    tg_value y[2];
    tg_while(is_below_ten, add_step, user, TG_ARGS(in[0], in[1]), y, 2);
    tg_assign(w->b, 1);
    tg_return(t, y[0]);
}

static void test_scenario(session *s, outcome *out)
{
    state w;
    state_begin(&w, s);
    tg_function *f = tg_function_create(s->ctx, count_to_ten, &w, NULL);
    check_f32(call_one(f, TG_ARGS(0.0f, 2.0f)), 10);
    check_state(__LINE__, &w, 5, 1);
    check_asserts(out, tg_call(f, TG_ARGS(1.0f, 3.0f), TG_RESULTS()),
                  "assert: the test meets 7");
    check_state(__LINE__, &w, 2, 0);
    tg_function_release(f);
    state_end(&w);
}

Test(semantics, line_14_the_test_of_a_loop_may_assert)
{
    check_all_modes(test_scenario);
}

/* -- Nested functions, unknown sizes, bound calls -------------------------- */

CALLBACK(apply_root)
{
    const state *w = user;
    tg_value y;
    tg_assign(w->a, 1);
    tg_apply(w->inner, TG_ARGS(in[0]), &y, 1);
    tg_assign(w->b, 1);
    tg_return(t, tg_sum(y, TG_ALL_AXES));
}

static void nested_scenario(session *s, outcome *out)
{
    state w;
    state_begin(&w, s);
    w.inner = tg_function_create(s->ctx, root_of_positive, NULL, NULL);
    tg_function *f = tg_function_create(s->ctx, apply_root, &w, NULL);
    TG_AUTO(tg_tensor) good = f32_vector(s->ctx, 1, 4);
    TG_AUTO(tg_tensor) bad = f32_vector(s->ctx, 0, 4);
    check_f32(call_one(f, TG_ARGS(good)), 3);
    check_state(__LINE__, &w, 1, 1);
    check_asserts(out, tg_call(f, TG_ARGS(bad), TG_RESULTS()), "[0 4]");
    cr_assert_eq(tg_error_last()->line, positive_line);
    check_state(__LINE__, &w, 1, 0);
    tg_function_release(f);
    state_end(&w);
}

Test(semantics, line_14_an_assert_of_an_applied_function_fails_the_call)
{
    check_all_modes(nested_scenario);
}

static void sizes_scenario(session *s, outcome *out)
{
    tg_function_options relaxed = TG_FUNCTION_OPTIONS_INIT;
    relaxed.policy = TG_RELAXED;
    tg_function *f =
        tg_function_create(s->ctx, root_of_positive, NULL, &relaxed);
    static const int64_t sizes[] = {0, 1, 2, 17, 5000};
    for (int i = 0; i < 5; i++) {
        const int64_t n = sizes[i];
        TG_AUTO(tg_tensor) x =
            tg_tensor_create(s->ctx, TG_F32, TG_DIMS(n), tg_fill(4));
        TG_AUTO(tg_tensor) y = call_one(f, TG_ARGS(x));
        note_tensor(out, y);
        if (!n)
            continue; /* holds for all of no elements */
        ((float *)tg_tensor_data(x))[n - 1] = 0;
        check_asserts(out, tg_call(f, TG_ARGS(x), TG_RESULTS()), "0] is not");
        ((float *)tg_tensor_data(x))[n - 1] = NAN;
        check_asserts(out, tg_call(f, TG_ARGS(x), TG_RESULTS()), "nan] is not");
    }
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_function_release(f);
}

Test(semantics, line_14_conditions_may_have_any_size)
{
    check_all_modes(sizes_scenario);
}

static void bound_scenario(session *s, outcome *out)
{
    tg_function *f = tg_function_create(s->ctx, root_of_positive, NULL, NULL);
    TG_AUTO(tg_tensor) x = f32_vector(s->ctx, 1, 4);
    TG_AUTO(tg_tensor) y = NULL;
    TG_AUTO(tg_bound) bound = tg_bind(f, TG_ARGS(x), TG_RESULTS(&y));
    float *data = tg_tensor_data(x);
    check_works(tg_run(bound));
    data[1] = -1;
    check_asserts(out, tg_run(bound), "[1 -1] is not");
    note_tensor(out, y); /* as before */
    cr_assert_eq(((const float *)tg_tensor_data(y))[1], 2);
    data[1] = 9;
    check_works(tg_run(bound));
    note_tensor(out, y);
    tg_function_release(f);
}

Test(semantics, line_14_a_bound_call_works_again_after_an_assert)
{
    check_all_modes(bound_scenario);
}
