/* SPDX-License-Identifier: MIT */
/*
 * test_extend.c - what libraries of operations use: named host operations,
 * operands, failures and sites; arithmetic of extents.
 */
#include <stdint.h>

#include "support/api.h"

#define CALLBACK(name) \
    static void name(tg_trace *t, const tg_value *in, void *user)

/* -- Host operations ------------------------------------------------------- */

static tg_status fail_always(const tg_host_buffer *in, size_t n_in,
                             const tg_host_buffer *out, size_t n_out,
                             void *user)
{
    (void)in, (void)n_in, (void)out, (void)n_out, (void)user;
    return tg_host_fail("no luck");
}

static void call_op(const tg_host_op *op, tg_operand x, tg_site site)
{
    const tg_host_spec spec = {TG_F32, 0, NULL};
    tg_value y;
    tg_host_op_at(op, &x, 1, &spec, &y, 1, site);
}

CALLBACK(use_op)
{
    call_op(user, tg_in_value(in[0]), TG_HERE);
    tg_return(t);
}

/* A library that has no site of its own. */
CALLBACK(use_without_site)
{
    const tg_value x = tg_neg(in[0]);
    call_op(user, tg_in_value(x), (tg_site){NULL, 0});
    tg_return(t);
}

static tg_status call_with(session *s, tg_callback *callback, void *user)
{
    tg_function *f = tg_function_create(s->ctx, callback, user, NULL);
    const tg_status status = tg_call(f, TG_ARGS(1.0f), TG_RESULTS());
    tg_function_release(f);
    return status;
}

Test(extend, host_operations_fail_under_their_names)
{
    session s;
    session_begin(&s);
    tg_host_op op = {.struct_bytes = sizeof(op),
                     .name = "lucky",
                     .function = fail_always};
    check_fails(call_with(&s, use_op, &op), TG_ERROR_CALLBACK,
                "lucky: no luck", "test_extend.c:");
    check_fails(call_with(&s, use_without_site, &op), TG_ERROR_CALLBACK,
                "lucky: no luck", "test_extend.c:");
    op.function = NULL;
    check_fails(call_with(&s, use_op, &op), TG_ERROR_INVALID_ARGUMENT,
                "lucky: the function is NULL");
    op = (tg_host_op){.struct_bytes = sizeof(op), .function = fail_always};
    check_fails(call_with(&s, use_op, &op), TG_ERROR_CALLBACK,
                "host_op: no luck");
    op.struct_bytes = 3;
    check_fails(call_with(&s, use_op, &op), TG_ERROR_INVALID_ARGUMENT,
                "tg_host_op");
    session_end(&s);
}

/* -- Operands and failures ------------------------------------------------- */

CALLBACK(return_operands)
{
    tg_variable *v = user;
    const tg_value x = tg_op_operand("mine", tg_in_variable(v), TG_HERE);
    const tg_value y = tg_op_operand("mine", tg_in_value(in[0]), TG_HERE);
    cr_assert_eq(tg_value_rank(x), 1);
    tg_return(t, tg_add(x, y));
}

CALLBACK(fail_with_status)
{
    (void)t, (void)in, (void)user;
    const tg_value none = tg_op_fail(TG_ERROR_SHAPE, TG_HERE,
                                     "mine: %d is too many", 7);
    cr_assert_not(tg_is_valid(none));
    /* The first failure sticks. */
    tg_op_fail(TG_ERROR_DTYPE, TG_HERE, "mine: another");
}

Test(extend, operands_are_values_and_failures_have_a_status)
{
    session s;
    session_begin(&s);
    tg_variable *v = tg_variable_create(s.ctx, "v", TG_F32, TG_DIMS(2),
                                        tg_fill(3));
    tg_function *f = tg_function_create(s.ctx, return_operands, v, NULL);
    check_f32(call_one(f, TG_ARGS(1.5f)), 4.5f, 4.5f);
    tg_function_release(f);
    tg_variable_release(v);
    check_fails(call_with(&s, fail_with_status, NULL), TG_ERROR_SHAPE,
                "mine: 7 is too many", "test_extend.c:");
    session_end(&s);
}

Test(extend, nothing_happens_outside_of_a_trace)
{
    cr_assert_not(
        tg_is_valid(tg_op_operand("mine", tg_in_f64(1), TG_HERE)));
    check_record(TG_ERROR_TRACE, "mine: can only be used inside");
    tg_op_fail(TG_ERROR_SHAPE, TG_HERE, "mine: %s", "outside");
    check_record(TG_ERROR_SHAPE, "mine: outside");
    cr_assert_eq(tg_dim_add(1, 2), INT64_MIN);
    tg_error_clear();
    check_nothing_is_alive();
}

/* -- Extents --------------------------------------------------------------- */

CALLBACK(compute_extents)
{
    (void)user;
    const int64_t n = tg_value_dim(in[0], 0), m = tg_value_dim(in[0], 1);
    const tg_value one = tg_scalar(TG_F32, 1);
    tg_return(t, tg_broadcast(one, TG_DIMS(tg_dim_add(n, m))),
              tg_broadcast(one, TG_DIMS(tg_dim_sub(n, 1))),
              tg_broadcast(one, TG_DIMS(tg_dim_mul(n, m))),
              tg_broadcast(one, TG_DIMS(tg_dim_div(n, 2))),
              tg_broadcast(one, TG_DIMS(tg_dim_max(n, m))),
              tg_broadcast(one, TG_DIMS(tg_dim_min(n, m))));
    cr_assert_eq(tg_dim_add(n, -5), INT64_MIN);
    cr_assert_eq(tg_dim_min(4, 7), 4);
}

Test(extend, extents_are_computed_at_the_call)
{
    session s;
    session_begin(&s);
    for (tg_policy policy = TG_EXACT; policy <= TG_RELAXED; policy++) {
        tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
        options.policy = policy;
        tg_function *f =
            tg_function_create(s.ctx, compute_extents, NULL, &options);
        for (int64_t n = 2; n < 8; n += 3) {
            const int64_t m = 4, want[] = {n + m, n - 1, n * m, n / 2,
                                           n > m ? n : m, n < m ? n : m};
            tg_tensor *x = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(n, m),
                                            tg_zeros());
            tg_tensor *y[6] = {NULL};
            check_works(tg_call(f, TG_ARGS(x),
                                TG_RESULTS(&y[0], &y[1], &y[2], &y[3], &y[4],
                                           &y[5])));
            for (int i = 0; i < 6; i++) {
                cr_assert_eq(tg_tensor_count(y[i]), want[i], "extent %d", i);
                tg_tensor_release(y[i]);
            }
            tg_tensor_release(x);
        }
        tg_function_release(f);
    }
    session_end(&s);
}
