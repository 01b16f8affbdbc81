/* SPDX-License-Identifier: MIT */
/*
 * test_bad_input_gradient.c - invalid requests for gradients, and gradients
 * that do not exist: the message gives the reason and the responsible source
 * location.
 */
#include "support/control.h"

/* A wrong callback, and the expected message. */
static void check_refused_at(int line, tg_callback *callback, void *user,
                             tg_status status, const char *const *pieces)
{
    session s;
    session_begin_with(&s, (tg_context_options){.jit = "off"});
    tg_function *f = tg_function_create(s.ctx, callback, user, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2, 3);
    tg_tensor *n = i32_vector(s.ctx, 1, 2, 3);
    check_failure_at(line, tg_call(f, TG_ARGS(x, n), TG_RESULTS()), status,
                     pieces);
    cr_assert_str_eq(tg_error_last()->file, __FILE__, "line %d", line);
    cr_assert_eq(tg_function_trace_count(f), 0, "line %d", line);
    tg_tensor_release(x);
    tg_tensor_release(n);
    tg_function_release(f);
    session_end(&s);
}
#define check_refused(callback, status, ...) \
    check_refused_at(__LINE__, callback, NULL, status, \
                     (const char *const[]){__VA_ARGS__, NULL})

/* -- Targets, seeds and sources -------------------------------------------- */

CALLBACK(integer_target)
{
    tg_gradient(in[1], in[0]);
}

CALLBACK(constant_source)
{
    tg_gradient(in[0], 2.0);
}

CALLBACK(wrong_seed)
{
    tg_value g;
    const tg_operand seed = TG_IN(tg_iota(TG_F32, TG_DIMS(2), 0));
    tg_gradients_with(TG_ARGS(in[0]), &seed, TG_UNCONNECTED_NONE,
                      TG_ARGS(in[0]), &g);
}

CALLBACK(wrong_seed_type)
{
    tg_value g;
    const tg_operand seed = TG_IN(in[1]);
    tg_gradients_with(TG_ARGS(in[0]), &seed, TG_UNCONNECTED_NONE,
                      TG_ARGS(in[0]), &g);
}

CALLBACK(no_targets)
{
    tg_value g;
    tg_gradients_with(NULL, (size_t)1, NULL, TG_UNCONNECTED_NONE,
                      TG_ARGS(in[0]), &g);
}

CALLBACK(no_room)
{
    tg_gradients(in[0], in, 1, NULL);
}

CALLBACK(invalid_target)
{
    const tg_value none = {0, 0};
    tg_gradient(none, in[0]);
}

Test(bad_input, targets_and_sources_of_gradients)
{
    check_refused(integer_target, TG_ERROR_DTYPE, "gradient: ", "i32[3]",
                  "a target needs a float type");
    check_refused(constant_source, TG_ERROR_INVALID_ARGUMENT,
                  "a source is a constant");
    check_refused(wrong_seed, TG_ERROR_SHAPE, "f32[2] x f32[3]",
                  "the seed does not have the shape of its target");
    check_refused(wrong_seed_type, TG_ERROR_DTYPE, "i32");
    check_refused(no_targets, TG_ERROR_INVALID_ARGUMENT,
                  "the targets are NULL");
    check_refused(no_room, TG_ERROR_INVALID_ARGUMENT, "the results are NULL");
    check_refused(invalid_target, TG_ERROR_INVALID_ARGUMENT,
                  "an operand is not a valid value");
}

/* -- Gradients that do not exist ------------------------------------------- */

/* Uses the gradient of `y` with respect to `x`, which does not exist. */
static void use_gradient(tg_value y, tg_value x)
{
    const tg_value g = tg_gradient(y, x);
    cr_assert_not(tg_is_valid(g));
    cr_assert_str_neq(tg_gradient_reason(g), "");
    tg_neg(g);
}

CALLBACK(by_integer)
{
    use_gradient(tg_mul(in[0], tg_cast(in[1], TG_F32)), in[1]);
}

CALLBACK(by_other)
{
    const tg_value named = tg_name(tg_exp(in[0]), "other");
    use_gradient(tg_sin(in[0]), named);
}

CALLBACK(by_cast)
{
    use_gradient(tg_cast(tg_cast(in[0], TG_I32), TG_F32), in[0]);
}

CALLBACK(by_stopped)
{
    use_gradient(tg_exp(tg_stop_gradient(in[0])), in[0]);
}

CALLBACK(by_assigned)
{
    tg_variable *v =
        tg_own_variable(t, "v", TG_F32, TG_DIMS(3), tg_zeros());
    tg_assign(v, in[0]);
    use_gradient(tg_exp(v), in[0]);
}

static tg_status nothing(const tg_host_buffer *in, size_t n_in,
                         const tg_host_buffer *out, size_t n_out, void *user)
{
    (void)in, (void)n_in, (void)out, (void)n_out, (void)user;
    return TG_OK;
}

CALLBACK(by_host)
{
    tg_value y;
    const tg_host_spec spec = {TG_F32, TG_DIMS(3)};
    tg_host_call(t, nothing, NULL, TG_ARGS(in[0]), &spec, &y, 1);
    use_gradient(y, in[0]);
}

CALLBACK(only_integers)
{
    tg_return(t, tg_cast(tg_cast(in[1], TG_I32), TG_F32));
}

CALLBACK(by_loop)
{
    tg_value y;
    const tg_value rest = tg_cast(tg_cast(in[0], TG_I32), TG_F32);
    tg_for(2, only_integers, NULL, TG_ARGS(rest), &y, 1);
    use_gradient(y, in[0]);
}

Test(bad_input, missing_gradients_have_a_reason)
{
    check_refused(by_integer, TG_ERROR_INVALID_ARGUMENT,
                  "neg: an operand is a gradient that does not exist",
                  __FILE__, "source 0", "it is i32[3]",
                  "only float types have gradients");
    check_refused(by_other, TG_ERROR_INVALID_ARGUMENT,
                  "source 0 ('other'): the target does not depend on it");
    check_refused(by_cast, TG_ERROR_INVALID_ARGUMENT, "cast at ", __FILE__,
                  "returns i32[3], which has no gradient");
    check_refused(by_stopped, TG_ERROR_INVALID_ARGUMENT, "stop_gradient at ",
                  "blocks gradients");
    check_refused(by_assigned, TG_ERROR_INVALID_ARGUMENT,
                  "v' is assigned at ", __FILE__,
                  "gradients do not flow through assignments");
    check_refused(by_host, TG_ERROR_INVALID_ARGUMENT, "the host call at ",
                  "has no gradient");
    check_refused(by_loop, TG_ERROR_INVALID_ARGUMENT, "cast at ",
                  "returns i32[3]");
}

Test(bad_input, there_is_no_reason_outside_of_a_trace)
{
    const tg_value none = {1, 0};
    cr_assert_str_eq(tg_gradient_reason(none), "");
}

/* -- Custom gradients ------------------------------------------------------ */

CALLBACK(pass_on)
{
    tg_return(t, in[0], in[1]);
}

CALLBACK(one_too_few)
{
    tg_return(t, in[0]);
}

CALLBACK(of_another_shape)
{
    tg_return(t, tg_iota(TG_F32, TG_DIMS(2), 0), in[1]);
}

CALLBACK(of_another_type)
{
    tg_return(t, in[1], in[1]);
}

CALLBACK(fails)
{
    tg_fail(t, "no gradient today");
}

static void call_with(tg_callback *backward, const tg_value *in)
{
    tg_value y[2];
    tg_custom_gradient(pass_on, backward, NULL, TG_ARGS(in[0], in[1]), y, 2);
    tg_gradient(y[0], in[0]);
}

CALLBACK(return_one_too_few) { call_with(one_too_few, in); }
CALLBACK(return_another_shape) { call_with(of_another_shape, in); }
CALLBACK(return_another_type) { call_with(of_another_type, in); }
CALLBACK(return_failure) { call_with(fails, in); }

CALLBACK(too_many_results)
{
    tg_value y[3];
    tg_custom_gradient(pass_on, pass_on, NULL, TG_ARGS(in[0], in[1]), y, 3);
}

CALLBACK(no_backward)
{
    tg_value y[2];
    tg_custom_gradient(pass_on, NULL, NULL, TG_ARGS(in[0], in[1]), y, 2);
}

Test(bad_input, custom_gradients)
{
    check_refused(return_one_too_few, TG_ERROR_INVALID_ARGUMENT,
                  "custom_gradient: ",
                  "the gradient returns 1 value for 2 arguments");
    check_refused(return_another_shape, TG_ERROR_SHAPE, "custom_gradient: ",
                  "gradient of argument 0 does not have the shape");
    check_refused(return_another_type, TG_ERROR_DTYPE, "custom_gradient: ",
                  "i32");
    check_refused(return_failure, TG_ERROR_CALLBACK, "no gradient today");
    check_refused(too_many_results, TG_ERROR_INVALID_ARGUMENT,
                  "returns 2 results, but 3 were requested");
    check_refused(no_backward, TG_ERROR_INVALID_ARGUMENT, "are NULL");
}

/* -- Checkpoints and others ------------------------------------------------ */

CALLBACK(body_with_effect)
{
    tg_print(t, "once");
    tg_return(t, in[0]);
}

CALLBACK(effect_in_checkpoint)
{
    tg_value y;
    tg_checkpoint(body_with_effect, NULL, TG_ARGS(in[0]), &y, 1);
}

CALLBACK(too_many_of_checkpoint)
{
    tg_value y[2];
    tg_checkpoint(one_too_few, NULL, TG_ARGS(in[0]), y, 2);
}

CALLBACK(wrong_direction)
{
    tg_jvp(in[0], in[0], tg_iota(TG_F32, TG_DIMS(2), 0));
}

CALLBACK(wrong_vector)
{
    tg_hessian_vector(in[0], in[0], tg_iota(TG_F32, TG_DIMS(2), 0));
}

CALLBACK(jacobian_of_integers)
{
    tg_jacobian(in[1], in[0]);
}

CALLBACK(jacobian_by_constant)
{
    tg_jacobian(in[0], 1.0);
}

CALLBACK(is_small)
{
    tg_return(t, tg_lt(tg_sum(in[0], TG_ALL_AXES), 80.0));
}

CALLBACK(square_it)
{
    tg_return(t, tg_square(in[0]));
}

/* Each row of the Jacobian needs all values that the loop has saved. */
CALLBACK(gradient_of_jacobian)
{
    tg_value y;
    tg_while(is_small, square_it, NULL, TG_ARGS(in[0]), &y, 1);
    tg_gradient(tg_jacobian(y, in[0]), in[0]);
}

Test(bad_input, checkpoints_and_other_derivatives)
{
    check_refused(gradient_of_jacobian, TG_ERROR_STATE,
                  "gradients: values saved by a loop with an unknown number "
                  "of iterations are read repeatedly");
    check_refused(effect_in_checkpoint, TG_ERROR_STATE,
                  "checkpoint: the body has effects");
    check_refused(too_many_of_checkpoint, TG_ERROR_INVALID_ARGUMENT,
                  "returns 1 value, but 2 were requested");
    check_refused(wrong_direction, TG_ERROR_SHAPE,
                  "the direction does not have the shape of the source");
    check_refused(wrong_vector, TG_ERROR_SHAPE,
                  "the vector does not have the shape of the source");
    check_refused(jacobian_of_integers, TG_ERROR_DTYPE,
                  "target and source must have float dtypes");
    check_refused(jacobian_by_constant, TG_ERROR_INVALID_ARGUMENT,
                  "neither a value nor a variable");
}

/* -- Outside of traces ----------------------------------------------------- */

Test(bad_input, gradients_work_inside_a_trace_only)
{
    const tg_value none = {0, 0};
    tg_value g = {1, 1};
    tg_gradients(none, &none, 1, &g);
    cr_assert_not(tg_is_valid(g));
    check_record(TG_ERROR_TRACE, "can only be used inside a traced callback");
    cr_assert_not(tg_is_valid(tg_jacobian(none, none)));
    cr_assert_not(tg_is_valid(tg_jvp(none, none, none)));
    check_nothing_is_alive();
}
