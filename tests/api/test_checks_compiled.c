/* SPDX-License-Identifier: MIT */
/*
 * test_checks_compiled.c - TGJIT_CHECK on compiled code: the message, the
 * effects before the operation and those that must not happen are the same in
 * all modes. Each scenario runs interpreted and compiled.
 */
#include <math.h>

#include "support/modes.h"

static int n_host_calls;
static float host_sum; /* of the inputs of all host calls */

static tg_status count_up(const tg_host_buffer *in, size_t n_in,
                          const tg_host_buffer *out, size_t n_out, void *user)
{
    (void)n_in, (void)n_out, (void)user;
    host_sum += *(const float *)in[0].data;
    *(float *)out[0].data = (float)++n_host_calls;
    return TG_OK;
}

static tg_status refuse(const tg_host_buffer *in, size_t n_in,
                        const tg_host_buffer *out, size_t n_out, void *user)
{
    (void)in, (void)n_in, (void)out, (void)n_out, (void)user;
    n_host_calls++;
    return TG_ERROR_STATE;
}

static tg_value call_host(tg_trace *t, tg_host_function *function, tg_value x)
{
    const tg_host_spec spec = {TG_F32, 0, NULL};
    tg_value y;
    tg_host_call(t, function, NULL, TG_ARGS(x), &spec, &y, 1);
    return y;
}

static tg_value first_of(tg_value x)
{
    return tg_reshape(tg_slice(x, 0, 0, 1, 1), TG_SCALAR);
}

static tg_variable *count_variable; /* captured by callbacks */

/* Calls it with this data twice, as tg_call and tg_run; notes everything. */
static void note_calls(session *s, outcome *out, tg_callback *callback,
                       const float *data, int64_t n, tg_status wanted)
{
    n_host_calls = 0;
    host_sum = 0;
    count_variable = f32_scalar_variable(s->ctx, "count", 1);
    tg_function *f = tg_function_create(s->ctx, callback, NULL, NULL);
    tg_tensor *x = tg_tensor_copy(s->ctx, data, TG_F32, TG_DIMS(n));
    tg_tensor *y = NULL;
    const tg_status status = tg_call(f, TG_ARGS(x), TG_RESULTS(&y));
    cr_assert_eq(status, wanted, "%s", tg_error(NULL));
    note_status(out, status);
    cr_assert_eq(y == NULL, status != TG_OK);
    if (y)
        note_tensor(out, y);
    note_variable(out, count_variable);

    float result[64] = {7};
    tg_tensor *z = NULL;
    tg_bound *b = tg_bind(f, TG_ARGS(x), TG_RESULTS(&z));
    cr_assert_not_null(b, "%s", tg_error(NULL));
    cr_assert_leq(tg_tensor_bytes(z), sizeof(result));
    check_works(tg_bound_set_result(b, 0, result));
    note_status(out, tg_run(b));
    note(out, result, sizeof(result));
    note_variable(out, count_variable);
    note(out, &n_host_calls, sizeof(n_host_calls));
    note(out, &host_sum, sizeof(host_sum));
    tg_bound_release(b);
    tg_tensor_release(z);
    tg_tensor_release(y);
    tg_tensor_release(x);
    tg_function_release(f);
    tg_variable_release(count_variable);
}

#define SCENARIO(name, kinds, callback, wanted, ...) \
    static void name##_scenario(session *s, outcome *out) \
    { \
        note_calls(s, out, callback, (const float[]){__VA_ARGS__}, \
                   LENGTH_OF(float, __VA_ARGS__), wanted); \
    } \
    Test(checks_compiled, name) \
    { \
        setenv("TGJIT_CHECK", kinds, 1); \
        setenv("TGJIT_VERIFY", "1", 1); \
        check_modes(name##_scenario); \
    }

/* -- Effects --------------------------------------------------------------- */

static void with_effects(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value first = first_of(in[0]);
    tg_assign(count_variable, tg_add(tg_read(count_variable), 1));
    tg_print(t, "first is %v", first);
    tg_value a = call_host(t, count_up, first);
    tg_assign(count_variable, tg_add(tg_read(count_variable), a));
    tg_value l = tg_log(in[0]); /* not used before the end */
    tg_assign(count_variable, tg_mul(tg_read(count_variable), 10));
    tg_print(t, "after the logarithm");
    tg_value b = call_host(t, count_up, tg_add(a, 1));
    tg_assign(count_variable, tg_add(tg_read(count_variable), b));
    tg_return(t, tg_add(tg_mul(l, 2), b));
}

/* The print and the host call after the logarithm do not happen. */
SCENARIO(later_effects_do_not_happen, "nan", with_effects, TG_ERROR_ASSERT, 3,
         4, -1, 5)
/* The NaN is the user's: the call completes, and every effect happens once. */
SCENARIO(data_with_nan_completes, "nan,inf", with_effects, TG_OK, 3, NAN, 4)
SCENARIO(clean_data_completes, "nan,inf", with_effects, TG_OK, 3, 2, 4)

static void fails_itself(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value l = tg_log(in[0]);
    tg_assign(count_variable, tg_add(tg_read(count_variable), 5));
    tg_value a = call_host(t, refuse, first_of(in[0]));
    tg_return(t, tg_add(l, a));
}

/* The host function is called once per call. */
SCENARIO(a_failed_host_call_is_not_repeated, "nan", fails_itself,
         TG_ERROR_STATE, 3, 2, 4)
SCENARIO(a_nan_precedes_a_failing_host_call, "nan", fails_itself,
         TG_ERROR_ASSERT, 3, -2, 4)

/* -- Values that are not stored, or computed in part ----------------------- */

static void hidden(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value l = tg_log(in[0]);
    tg_return(t, tg_select(tg_gt(in[0], 0), l, 0));
}
SCENARIO(a_nan_that_a_select_hides, "nan", hidden, TG_ERROR_ASSERT, 3, 2, -4)

static void compared(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_cast(tg_lt(tg_sqrt(in[0]), 1), TG_F32));
}
SCENARIO(a_nan_that_a_comparison_hides, "nan", compared, TG_ERROR_ASSERT, 3, 2,
         -4)

static void logistic(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_div(1, tg_add(1, tg_exp(in[0]))));
}
SCENARIO(an_infinity_that_a_division_hides, "inf", logistic, TG_ERROR_ASSERT, 3,
         200, 4)

SCENARIO(an_infinity_that_the_end_of_a_chain_hides, "nan,inf", logistic,
         TG_ERROR_ASSERT, 3, 200, 4)

static void limited(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(tg_min(tg_exp(in[0]), 5), 2));
}
SCENARIO(an_infinity_that_a_minimum_hides, "nan,inf", limited, TG_ERROR_ASSERT,
         3, 200, 4)

static void power(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_exp(tg_pow(tg_log(in[0]), 0)));
}
SCENARIO(a_nan_that_a_power_hides, "nan", power, TG_ERROR_ASSERT, 3, 2, -4)

static void without_elements(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value none = tg_reshape(tg_slice(in[0], 0, 0, 0, 1), TG_DIMS(0, 1));
    tg_value sum = tg_sum(tg_add(tg_log(in[0]), none), TG_ALL_AXES);
    tg_return(t, tg_add(in[0], sum));
}
SCENARIO(a_nan_of_which_no_element_is_used, "nan", without_elements,
         TG_ERROR_ASSERT, 3, 2, -4)

static void normalised(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value l = tg_sqrt(tg_reshape(in[0], TG_DIMS(2, 2)));
    tg_value d = tg_sub(l, tg_reshape(tg_mean(l, TG_AXES(-1)), TG_DIMS(2, 1)));
    tg_value v = tg_mean(tg_mul(d, d), TG_AXES(-1));
    tg_return(t, tg_mul(d, tg_rsqrt(tg_reshape(v, TG_DIMS(2, 1)))));
}
SCENARIO(a_nan_that_reaches_the_result, "nan", normalised, TG_ERROR_ASSERT, 3,
         2, 1, -4)
SCENARIO(a_nan_at_the_end, "nan", normalised, TG_ERROR_ASSERT, 3, 2, 1, 1)
SCENARIO(no_nan_reaches_the_result, "nan", normalised, TG_OK, 3, 2, 1, 4)

static void sliced(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value start = tg_cast(first_of(in[0]), TG_I64);
    tg_value l = tg_log(in[0]);
    tg_return(t, tg_dynamic_slice(l, 0, start, 2));
}
SCENARIO(a_nan_outside_of_a_slice, "nan", sliced, TG_ERROR_ASSERT, 1, 2, 3, 4,
         -4)

static void of_reductions(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value m = tg_reshape(in[0], TG_DIMS(2, 3));
    tg_value p = tg_matmul(m, tg_transpose(m, TG_PERM(1, 0)));
    tg_value e = tg_exp(tg_sum(p, TG_AXES(0)));
    tg_return(t, tg_mul(e, tg_softmax(p, -1)));
}
SCENARIO(an_infinity_of_a_reduction, "inf,nan", of_reductions, TG_ERROR_ASSERT,
         3, 2, 4, 9, 1, 6)
SCENARIO(reductions_of_small_numbers, "inf,nan", of_reductions, TG_OK, .3F, .2F,
         .4F, .9F, .1F, .6F)

/* -- Other failures -------------------------------------------------------- */

static void with_assert(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value l = tg_log(in[0]);
    tg_assert(t, tg_lt(in[0], 10), "too large: %v", in[0]);
    tg_return(t, l);
}
SCENARIO(a_nan_precedes_a_failed_assert, "nan", with_assert, TG_ERROR_ASSERT, 3,
         -2, 40)
SCENARIO(a_failed_assert_is_reported, "nan", with_assert, TG_ERROR_ASSERT, 3, 2,
         40)

static void with_gather(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value l = tg_log(in[0]);
    tg_value index = tg_cast(in[0], TG_I32);
    tg_return(t, tg_add(l, tg_gather(in[0], index, 0)));
}
SCENARIO(a_nan_precedes_a_bad_index, "nan", with_gather, TG_ERROR_ASSERT, 1, -1,
         2)
SCENARIO(a_bad_index_is_reported, "nan", with_gather, TG_ERROR_INDEX, 1, 3, 2)

/* -- Control flow ---------------------------------------------------------- */

static void shrink(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_print(t, "iteration %v", in[0]);
    tg_assign(count_variable, tg_add(tg_read(count_variable), 1));
    tg_value l = tg_log(in[1]);
    tg_value a = call_host(t, count_up, first_of(l));
    tg_return(t, tg_add(l, tg_sub(a, a)));
}

static void in_loop(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value result;
    tg_for(4, shrink, NULL, TG_ARGS(in[0]), &result, 1);
    tg_return(t, result);
}
SCENARIO(an_iteration_makes_it, "nan", in_loop, TG_ERROR_ASSERT, 2, 2, 3)
SCENARIO(no_iteration_makes_it, "nan", in_loop, TG_OK, 1e9F, 1e9F, 1e9F)

static void is_large(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    /* Not below a NaN: without a check the loop goes on for ever. */
    tg_return(t, tg_not(tg_lt(tg_sum(tg_sqrt(in[0]), TG_ALL_AXES), 1)));
}

static void subtract(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_sub(in[0], 3));
}

static void in_test(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value result;
    tg_while(is_large, subtract, NULL, TG_ARGS(in[0]), &result, 1);
    tg_return(t, result);
}
SCENARIO(the_test_of_a_loop_makes_it, "nan", in_test, TG_ERROR_ASSERT, 8, 8)
SCENARIO(the_test_of_a_loop_ends_it, "nan", in_test, TG_OK, 3.04F, 3.04F)

static void before_loop(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value result;
    tg_while(is_large, subtract, NULL, TG_ARGS(tg_log(in[0])), &result, 1);
    tg_return(t, result);
}
SCENARIO(a_loop_is_not_entered_with_it, "nan", before_loop, TG_ERROR_ASSERT, -8,
         8)

static void root(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_sqrt(in[0]));
}

static void same(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, in[0]);
}

static void in_branch(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value result;
    tg_cond(tg_gt(first_of(in[0]), 0), root, same, NULL, TG_ARGS(in[0]),
            &result, 1);
    tg_return(t, result);
}
SCENARIO(a_branch_makes_it, "nan", in_branch, TG_ERROR_ASSERT, 1, -1)
SCENARIO(another_branch_is_taken, "nan", in_branch, TG_OK, -1, -1)

/* -- Code ------------------------------------------------------------------ */

/* It is compiled, and says so. */
static void compiles(session *s)
{
    tg_function *f = tg_function_create(s->ctx, root, NULL, NULL);
    tg_tensor *x = f32_vector(s->ctx, 1, 4), *y = NULL;
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&y)));
    check_f32(y, 1, 2);
    cr_assert_null(strstr(s->logged, "interpreted"), "%s", s->logged);
    cr_assert_not_null(strstr(s->logged, "root: code "), "%s", s->logged);
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(checks_compiled, code_that_is_required_is_compiled)
{
    session s;
    need_compiler();
    session_begin_with(
        &s,
        (tg_context_options){.check = "nan", .jit = "required", .log = "info"});
    compiles(&s);
    session_end(&s);
}

/* -- Faults ---------------------------------------------------------------- */

/* A call whose replay needs the recorded host call. */
static bool call_with_nan(void)
{
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.check = "nan";
    options.jit = "required";
    options.print_callback = NULL;
    tg_context *ctx = tg_context_create(&options);
    tg_function *f =
        ctx ? tg_function_create(ctx, fails_itself, NULL, NULL) : NULL;
    count_variable =
        f ? tg_variable_create(ctx, "count", TG_F32, TG_SCALAR, tg_fill(1))
          : NULL;
    tg_tensor *x = count_variable ? f32_vector(ctx, 3, -2, 4) : NULL;
    tg_tensor *y = NULL;
    const tg_status status =
        x ? tg_call(f, TG_ARGS(x), TG_RESULTS(&y)) : TG_ERROR_OUT_OF_MEMORY;
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_variable_release(count_variable);
    tg_function_release(f);
    tg_context_release(ctx);
    return status == TG_ERROR_ASSERT;
}

Test(checks_compiled, any_allocation_may_fail)
{
    need_compiler();
    check_every_fault(call_with_nan);
}
