/* SPDX-License-Identifier: MIT */
/*
 * test_semantics_assert_gradients.c - asserts inside computations that are
 * differentiated, with custom gradients and checkpoints; and bad arguments of
 * tg_assert.
 */
#include "support/control.h"
#include "support/modes.h"

/* -- Gradients ------------------------------------------------------------- */

CALLBACK(is_small)
{
    tg_return(t, tg_lt(tg_reduce_max(in[0], TG_ALL_AXES), 10));
}

CALLBACK(checked_square)
{
    tg_print(t, "%v", in[0]);
    tg_assert(t, tg_gt(in[0], 1), "%v stays below 10", in[0]);
    tg_return(t, tg_mul(in[0], in[0]));
}

CALLBACK(loop_gradient)
{
    tg_value y;
    tg_assert(t, tg_lt(in[0], 100), "%v", in[0]);
    tg_while(is_small, checked_square, user, TG_ARGS(in[0]), &y, 1);
    tg_assert(t, tg_lt(y, 1000), "%v", y);
    tg_return(t, tg_gradient(y, in[0]));
}

static void gradient_scenario(session *s, outcome *out)
{
    tg_function *f = tg_function_create(s->ctx, loop_gradient, NULL, NULL);
    TG_AUTO(tg_tensor) good = f32_vector(s->ctx, 2, 3);
    TG_AUTO(tg_tensor) bad = f32_vector(s->ctx, 0.5, 3);
    check_f32(call_one(f, TG_ARGS(good)), 4 * 8, 4 * 27);
    cr_assert_str_eq(s->printed, "[2 3]\n[4 9]\n");
    check_asserts(out, tg_call(f, TG_ARGS(bad), TG_RESULTS()),
                  "assert: [0.5 3] stays");
    cr_assert_str_eq(s->printed, "[2 3]\n[4 9]\n[0.5 3]\n");
    tg_function_release(f);
}

Test(semantics, line_14_a_backward_pass_does_not_repeat_asserts)
{
    check_all_modes(gradient_scenario);
}

CALLBACK(custom_backward)
{
    tg_assert(t, tg_gt(in[0], 2), "backward of %v", in[0]);
    tg_return(t, tg_mul(in[0], 10));
}

CALLBACK(custom_forward)
{
    tg_assert(t, tg_gt(in[0], 1), "forward of %v", in[0]);
    tg_return(t, tg_mul(in[0], 2));
}

CALLBACK(custom_gradient)
{
    tg_value y;
    tg_custom_gradient(custom_forward, custom_backward, user, TG_ARGS(in[0]),
                       &y, 1);
    tg_return(t, tg_gradient(y, in[0]));
}

static void custom_scenario(session *s, outcome *out)
{
    tg_function *f = tg_function_create(s->ctx, custom_gradient, NULL, NULL);
    check_f32(call_one(f, TG_ARGS(3.0f)), 30);
    check_asserts(out, tg_call(f, TG_ARGS(2.0f), TG_RESULTS()),
                  "assert: backward of 2");
    check_asserts(out, tg_call(f, TG_ARGS(1.0f), TG_RESULTS()),
                  "assert: forward of 1");
    tg_function_release(f);
}

Test(semantics, line_14_custom_gradients_may_assert)
{
    check_all_modes(custom_scenario);
}

/* -- Bad input ------------------------------------------------------------- */

CALLBACK(float_condition)
{
    tg_assert(t, in[0], "%v", in[0]);
}

CALLBACK(number_condition)
{
    tg_assert(t, 0.5, "a half");
}

CALLBACK(null_format)
{
    tg_assert(t, true, (const char *)NULL);
}

CALLBACK(no_format)
{
    tg_assert_at(t, tg_in_bool(true), NULL, 0, TG_HERE);
}

CALLBACK(value_as_format)
{
    tg_assert(t, tg_gt(in[0], 0), in[0]);
}

CALLBACK(printf_format)
{
    tg_assert(t, true, "%d", in[0]);
}

CALLBACK(too_few_values)
{
    tg_assert(t, true, "%v and %v", in[0]);
}

CALLBACK(no_trace)
{
    tg_assert(NULL, true, "none");
}

CALLBACK(invalid_condition)
{
    tg_assert(t, ((tg_value){0, 0}), "none");
}

CALLBACK(invalid_value)
{
    tg_assert(t, true, "%v", ((tg_value){77, 78}));
}

CALLBACK(checkpointed)
{
    tg_value y;
    tg_checkpoint(custom_forward, NULL, TG_ARGS(in[0]), &y, 1);
    tg_return(t, y);
}

Test(semantics, line_14_bad_asserts_are_refused_while_tracing)
{
    static const struct {
        tg_callback *callback;
        tg_status status;
        const char *message;
    } cases[] = {
        {float_condition, TG_ERROR_DTYPE,
         "assert: the condition is f32[2], not bool; compare it, or convert"},
        {number_condition, TG_ERROR_DTYPE,
         "assert: the condition is f64[], not bool"},
        {null_format, TG_ERROR_INVALID_ARGUMENT,
         "assert: the first operand is not a format"},
        {no_format, TG_ERROR_INVALID_ARGUMENT, "not a format"},
        {value_as_format, TG_ERROR_INVALID_ARGUMENT, "not a format"},
        {printf_format, TG_ERROR_INVALID_ARGUMENT, "only %v, %t and %%"},
        {too_few_values, TG_ERROR_INVALID_ARGUMENT,
         "assert: the format takes 2 values, but 1 was given"},
        {no_trace, TG_ERROR_TRACE, "assert: the argument is not the trace"},
        {invalid_condition, TG_ERROR_INVALID_ARGUMENT,
         "assert: an operand is not a valid value"},
        {invalid_value, TG_ERROR_TRACE, "assert"},
        {checkpointed, TG_ERROR_STATE, "checkpoint: the body has effects"},
    };
    session s;
    session_begin(&s);
    TG_AUTO(tg_tensor) x = f32_vector(s.ctx, 1, 2);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tg_function *f =
            tg_function_create(s.ctx, cases[i].callback, NULL, NULL);
        check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS()), cases[i].status,
                    cases[i].message, __FILE__);
        tg_function_release(f);
    }
    tg_error_clear();
    tg_assert_at(NULL, tg_in_bool(true), NULL, 0, TG_HERE);
    check_record(TG_ERROR_TRACE, "assert");
    tg_tensor_release(x);
    x = NULL;
    session_end(&s);
}
