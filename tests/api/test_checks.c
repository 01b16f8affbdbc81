/* SPDX-License-Identifier: MIT */
/*
 * test_checks.c - TGJIT_CHECK: the operation that makes the first NaN or
 * infinity is named.
 */
#include <math.h>

#include "support/api.h"

static int op_line; /* of the operation that makes it */

/* Calls it with f32[n] and ends its session. */
static tg_status call_checked(const char *check, tg_callback *callback,
                              const float *data, int64_t n)
{
    session s;
    session_begin_with(
        &s, (tg_context_options){.check = check, .log = "off"});
    tg_function *f = tg_function_create(s.ctx, callback, NULL, NULL);
    tg_tensor *x = tg_tensor_copy(s.ctx, data, TG_F32, TG_DIMS(n));
    tg_tensor *y = NULL;
    cr_assert(f && x);
    const tg_status status = tg_call(f, TG_ARGS(x), TG_RESULTS(&y));
    cr_assert_eq(y == NULL, status != TG_OK);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    session_end(&s);
    return status;
}

/* The call fails at op_line, and the message has this text. */
static void check_names_op(const char *check, tg_callback *callback,
                        const float *data, int64_t n, const char *text)
{
    cr_assert_eq(call_checked(check, callback, data, n), TG_ERROR_ASSERT);
    cr_assert_eq(tg_error_last()->line, op_line, "%s", tg_error(NULL));
    cr_assert_not_null(strstr(tg_error(NULL), text), "%s", tg_error(NULL));
}

static void logarithm(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value shifted = tg_sub(in[0], 2);
    op_line = __LINE__ + 1;
    tg_value l = tg_log(shifted);
    tg_return(t, tg_sum(tg_mul(l, l), TG_ALL_AXES));
}

static const float numbers[] = {3, 4, 2, 1, 0, 5};

Test(checks, the_operation_and_its_operands_are_named)
{
    check_names_op("nan", logarithm, numbers, 6,
                "log: makes NaN at [3] of f32[6]; operands: -1");
    check_names_op("inf", logarithm, numbers, 6,
                "log: makes -infinity at [2] of f32[6]; operands: 0");
    check_names_op("inf,nan", logarithm, numbers, 6, "-infinity at [2]");
}

Test(checks, nothing_happens_unless_it_is_asked_for)
{
    cr_assert_eq(call_checked(NULL, logarithm, numbers, 6), TG_OK);
    cr_assert_eq(call_checked("", logarithm, numbers, 6), TG_OK);
    cr_assert_eq(call_checked("nan", logarithm, numbers, 2), TG_OK);
}

/* Data of the user is passed on. */
Test(checks, operands_may_have_them)
{
    const float data[] = {3, NAN, 4};
    cr_assert_eq(call_checked("nan,inf", logarithm, data, 3), TG_OK);
    const float infinite[] = {3, INFINITY, 4};
    cr_assert_eq(call_checked("nan,inf", logarithm, infinite, 3), TG_OK);
}

static void difference(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    op_line = __LINE__ + 1;
    tg_return(t, tg_sub(in[0], tg_abs(in[0])));
}

Test(checks, nan_of_infinities_is_made)
{
    const float data[] = {1, INFINITY};
    check_names_op("nan,inf", difference, data, 2,
                "sub: makes NaN at [1] of f32[2]; operands: inf, inf");
}

static void of_constants(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    op_line = __LINE__ + 1;
    tg_value l = tg_sqrt(tg_scalar(TG_F64, -4));
    tg_return(t, tg_add(tg_cast(in[0], TG_F64), l));
}

Test(checks, constants_are_not_folded)
{
    check_names_op("nan", of_constants, numbers, 2, "sqrt: makes NaN ");
}

static void overflow(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value matrix = tg_reshape(in[0], TG_DIMS(2, 2));
    op_line = __LINE__ + 1;
    tg_return(t, tg_matmul(matrix, matrix));
}

Test(checks, operands_of_another_shape_have_their_range)
{
    const float data[] = {1e30F, -1e30F, 1, 1e30F};
    check_names_op("inf", overflow, data, 4,
                "matmul: makes infinity at [0,0] of f32[2,2]");
}

static void sum_up(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    op_line = __LINE__ + 1;
    tg_return(t, tg_sum(in[0], TG_ALL_AXES));
}

Test(checks, a_reduction_reports_a_range)
{
    const float data[] = {3e38F, -1, 3e38F};
    check_names_op("inf", sum_up, data, 3,
                "sum: makes infinity in f32[]; operands: f32[3] from -1 to "
                "3e+38");
}

static void halve(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    op_line = __LINE__ + 1;
    tg_return(t, tg_log(in[1]));
}

static void loop(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value result;
    tg_for(3, halve, NULL, TG_ARGS(in[0]), &result, 1);
    tg_return(t, result);
}

Test(checks, bodies_of_loops_are_checked)
{
    const float data[] = {2}; /* 0.69, -0.37, NaN */
    check_names_op("nan", loop, data, 1, "log: makes NaN at [0] of f32[1]");
}

Test(checks, an_unknown_kind_is_an_error)
{
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.check = "nan,zero";
    cr_assert_null(tg_context_create(&options));
    cr_assert_not_null(strstr(tg_error(NULL), "'zero' is not one of nan, inf"),
                       "%s", tg_error(NULL));
    check_nothing_is_alive();
}

static bool call_with_nan(void)
{
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.check = "nan";
    tg_context *ctx = tg_context_create(&options);
    tg_function *f =
        ctx ? tg_function_create(ctx, logarithm, NULL, NULL) : NULL;
    tg_tensor *x =
        f ? tg_tensor_copy(ctx, numbers, TG_F32, TG_DIMS(6)) : NULL;
    tg_tensor *y = NULL;
    const tg_status status =
        x ? tg_call(f, TG_ARGS(x), TG_RESULTS(&y)) : TG_ERROR_OUT_OF_MEMORY;
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    tg_context_release(ctx);
    return status == TG_ERROR_ASSERT;
}

Test(checks, any_allocation_may_fail)
{
    check_every_fault(call_with_nan);
}
