/* SPDX-License-Identifier: MIT */
/*
 * test_ops_arrange.c - one_hot, stack, unstack and roll: their elements, with
 * known and unknown extents, interpreted and compiled. Indices of several axes.
 */
#include "support/modes.h"

/* Calls a function of one argument; `policy` decides whether the callback knows
   the extents. */
static tg_tensor *call_with(session *s, tg_callback *callback, tg_tensor *x,
                            tg_policy policy)
{
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.policy = policy;
    tg_function *f = tg_function_create(s->ctx, callback, NULL, &options);
    cr_assert_not_null(f);
    tg_tensor *y = call_one(f, TG_ARGS(x));
    tg_function_release(f);
    return y;
}

#define EACH_POLICY(policy) \
    for (tg_policy policy = TG_EXACT; policy <= TG_RELAXED; policy++)

/* -- One-hot --------------------------------------------------------------- */

static void one_hot_rows(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_one_hot(in[0], 3, TG_F32));
}

static void check_one_hot(session *s)
{
    EACH_POLICY(policy) {
        tg_tensor *x = i32_vector(s->ctx, 2, -1, 0, 3);
        tg_tensor *y = call_with(s, one_hot_rows, x, policy);
        cr_assert_eq(tg_tensor_rank(y), 2);
        check_f32(y, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0);
        tg_tensor_release(x);
    }
}

Test(ops_arrange, one_hot_sets_the_class_and_ignores_others)
{
    in_modes(check_one_hot);
}

static void one_hot_of_u64(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value big = tg_or(tg_cast(in[0], TG_U64), UINT64_MAX << 32);
    tg_return(t, tg_stack(0, tg_one_hot(tg_cast(in[0], TG_U64), 2, TG_I64),
                          tg_one_hot(big, 2, TG_I64)));
}

static void check_one_hot_of_u64(session *s)
{
    tg_tensor *x = i32_vector(s->ctx, 1, 0);
    check_i64(call_with(s, one_hot_of_u64, x, TG_EXACT), 0, 1, 1, 0, 0, 0, 0,
              0);
    tg_tensor_release(x);
}

Test(ops_arrange, one_hot_compares_all_64_bits)
{
    in_modes(check_one_hot_of_u64);
}

/* -- Stack and unstack ----------------------------------------------------- */

static void stack_and_unstack(tg_trace *t, const tg_value *in, void *user)
{
    const int axis = *(const int *)user;
    const tg_value x = tg_reshape(in[0], TG_DIMS(2, 3));
    const tg_value s = tg_stack(axis, x, tg_mul(x, 10), tg_neg(x));
    tg_value part[3];
    tg_unstack(s, axis, part, 3);
    tg_return(t, s, part[1]);
}

static void check_stack(session *s)
{
    static const float want[3][18] = {
        {0, 1, 2, 3, 4, 5, 0, 10, 20, 30, 40, 50, -0.f, -1, -2, -3, -4, -5},
        {0, 1, 2, 0, 10, 20, -0.f, -1, -2, 3, 4, 5, 30, 40, 50, -3, -4, -5},
        {0, 0, -0.f, 1, 10, -1, 2, 20, -2, 3, 30, -3, 4, 40, -4, 5, 50, -5},
    };
    tg_tensor *x = f32_vector(s->ctx, 0, 1, 2, 3, 4, 5);
    for (int axis = -3; axis < 3; axis++) {
        tg_function *f =
            tg_function_create(s->ctx, stack_and_unstack, &axis, NULL);
        tg_tensor *all = NULL, *part = NULL;
        check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&all, &part)));
        cr_assert_eq(tg_tensor_dims(all)[axis < 0 ? axis + 3 : axis], 3);
        check_f32_at(__LINE__, all, want[axis < 0 ? axis + 3 : axis], 18);
        cr_assert_eq(tg_tensor_rank(part), 2);
        check_f32(part, 0, 10, 20, 30, 40, 50);
        tg_function_release(f);
    }
    tg_tensor_release(x);
}

Test(ops_arrange, stack_makes_an_axis_that_unstack_removes)
{
    in_modes(check_stack);
}

static void stack_numbers(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value sum = tg_sum(in[0], TG_ALL_AXES);
    tg_return(t, tg_stack(0, sum, 2, 0.5));
}

static void check_stack_numbers(session *s)
{
    tg_tensor *x = f32_vector(s->ctx, 1, 2, 4);
    check_f32(call_with(s, stack_numbers, x, TG_EXACT), 7, 2, 0.5f);
    tg_tensor_release(x);
}

Test(ops_arrange, stacked_numbers_take_the_dtype_of_the_values)
{
    in_modes(check_stack_numbers);
}

static void unstack_three(tg_trace *t, const tg_value *in, void *user)
{
    tg_value part[3];
    (void)user;
    tg_unstack(in[0], 0, part, 3);
    tg_return(t, part[2]);
}

Test(ops_arrange, an_unknown_extent_is_compared_with_the_parts_at_the_call)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(
        s.ctx, unstack_three, NULL, TG_SIGNATURE(TG_SPEC(TG_F32, TG_UNKNOWN)));
    tg_tensor *three = f32_vector(s.ctx, 5, 6, 7);
    tg_tensor *two = f32_vector(s.ctx, 5, 6);
    check_f32(call_one(f, TG_ARGS(three)), 7);
    check_fails(tg_call(f, TG_ARGS(two), TG_RESULTS(NULL)), TG_ERROR_SHAPE,
                "unstack", "2", "3");
    tg_tensor_release(two);
    tg_tensor_release(three);
    tg_function_release(f);
    session_end(&s);
}

/* -- Roll ------------------------------------------------------------------ */

static void roll_by(tg_trace *t, const tg_value *in, void *user)
{
    tg_return(t, tg_roll(in[0], 0, *(const int64_t *)user));
}

static void check_roll(session *s)
{
    enum { MAX = 6 };
    for (int64_t n = 0; n < MAX; n++)
        for (int64_t shift = -2 * MAX; shift <= 2 * MAX; shift++) {
            float data[MAX], want[MAX];
            for (int64_t i = 0; i < n; i++) {
                data[i] = (float)i + 1;
                want[((i + shift) % n + n) % n] = data[i];
            }
            tg_tensor *x = tg_tensor_copy(s->ctx, data, TG_F32, TG_DIMS(n));
            EACH_POLICY(policy) {
                tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
                options.policy = policy;
                tg_function *f =
                    tg_function_create(s->ctx, roll_by, &shift, &options);
                check_f32_at(__LINE__, call_one(f, TG_ARGS(x)), want, n);
                tg_function_release(f);
            }
            tg_tensor_release(x);
        }
}

Test(ops_arrange, roll_takes_the_shift_modulo_the_extent)
{
    session s;
    session_begin_with(&s, (tg_context_options){.jit = "off"});
    check_roll(&s);
    session_end(&s);
}

/* One trace with an unknown extent serves all sizes. */
static void check_roll_compiled(session *s)
{
    const int64_t shifts[] = {-5, 3};
    for (int k = 0; k < 2; k++) {
        int64_t shift = shifts[k];
        tg_function *f =
            tg_function_create(s->ctx, roll_by, &shift,
                               TG_SIGNATURE(TG_SPEC(TG_F32, TG_UNKNOWN)));
        for (int64_t n = 0; n < 40; n += n < 6 ? 1 : 11) {
            float data[40], want[40];
            for (int64_t i = 0; i < n; i++) {
                data[i] = (float)i + 1;
                want[((i + shift) % n + n) % n] = data[i];
            }
            tg_tensor *x = tg_tensor_copy(s->ctx, data, TG_F32, TG_DIMS(n));
            check_f32_at(__LINE__, call_one(f, TG_ARGS(x)), want, n);
            tg_tensor_release(x);
        }
        cr_assert_eq(tg_function_trace_count(f), 1);
        tg_function_release(f);
    }
}

Test(ops_arrange, one_compiled_roll_serves_all_extents)
{
    in_modes(check_roll_compiled);
}

/* -- Indices of several axes ----------------------------------------------- */

static void take_row_and_column(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_gather_nd(tg_reshape(tg_arange(TG_I32, 0, 6, 1),
                                         TG_DIMS(2, 3)),
                              in[0], 0));
}

static void take_along_rows(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_take_along_axis(tg_reshape(tg_arange(TG_I32, 0, 6, 1),
                                               TG_DIMS(2, 3)),
                                    tg_reshape(in[0], TG_DIMS(2, 1)), 1));
}

/* The element before a row is one of the row before. */
static void check_aliased_indices(session *s)
{
    tg_callback *const callbacks[] = {take_row_and_column, take_along_rows};
    for (int i = 0; i < 2; i++) {
        tg_function *f = tg_function_create(s->ctx, callbacks[i], NULL, NULL);
        tg_tensor *good = i32_vector(s->ctx, 1, 2), *y = NULL;
        tg_tensor *below = i32_vector(s->ctx, 1, -1);
        tg_tensor *above = i32_vector(s->ctx, 0, 3);
        check_works(tg_call(f, TG_ARGS(good), TG_RESULTS(&y)));
        cr_assert_not_null(y, "%s", tg_error(NULL));
        cr_assert_eq(((const int32_t *)tg_tensor_data(y))[i], 5);
        tg_tensor_release(y);
        y = NULL;
        cr_assert_eq(tg_call(f, TG_ARGS(below), TG_RESULTS(&y)),
                     TG_ERROR_INDEX);
        cr_assert_eq(tg_call(f, TG_ARGS(above), TG_RESULTS(&y)),
                     TG_ERROR_INDEX);
        cr_assert_null(y);
        tg_tensor_release(good);
        tg_tensor_release(below);
        tg_tensor_release(above);
        tg_function_release(f);
    }
}

Test(ops_arrange, an_index_out_of_range_selects_no_element_of_another_row)
{
    in_modes(check_aliased_indices);
}
