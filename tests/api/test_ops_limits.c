/* SPDX-License-Identifier: MIT */
/*
 * test_ops_limits.c - functions composed of several operations, at the limits
 * of their arguments: diagonals and zero points whose differences overflow,
 * ranges of halves and beyond a dtype, zeros of both signs, convolutions whose
 * channels are unknown while tracing, gradients of reversals of nothing, and
 * of every other element of a roll, rolls by any number, softmax of nothing.
 */
#include <math.h>

#include "support/modes.h"

static tg_function *create(session *s, tg_callback *callback, void *user,
                           tg_policy policy)
{
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.policy = policy;
    tg_function *f = tg_function_create(s->ctx, callback, user, &options);
    cr_assert_not_null(f);
    return f;
}

/* -- Diagonals ------------------------------------------------------------- */

static void all_triangles(tg_trace *t, const tg_value *in, void *user)
{
    const int64_t diagonal = *(const int64_t *)user;
    tg_return(t, tg_tril(in[0], diagonal), tg_triu(in[0], diagonal),
              tg_cast(tg_triangle(3, 2, diagonal), TG_F32),
              tg_eye(TG_F32, 3, 2, diagonal));
}

/* Elements below are those of tril and triangle, elements above of triu. */
static void check_triangles(session *s, int64_t diagonal, bool is_below,
                            tg_policy policy)
{
    tg_tensor *x = tg_tensor_create(s->ctx, TG_F32, TG_DIMS(3, 2), tg_ones());
    tg_tensor *y[4] = {NULL};
    tg_function *f = create(s, all_triangles, &diagonal, policy);
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&y[0], &y[1], &y[2], &y[3])));
    for (int i = 0; i < 4; i++) {
        const bool is_set = i == 3 ? false : i == 1 ? !is_below : is_below;
        for (int k = 0; k < 6; k++)
            cr_expect_eq(tg_tensor_f32(y[i])[k], is_set ? 1.0f : 0.0f,
                         "%d of %lld: element %d", i, (long long)diagonal, k);
        tg_tensor_release(y[i]);
    }
    tg_function_release(f);
    tg_tensor_release(x);
}

static void check_far_diagonals(session *s)
{
    for (tg_policy policy = TG_EXACT; policy <= TG_RELAXED; policy++) {
        check_triangles(s, INT64_MAX, true, policy);
        check_triangles(s, INT64_MAX - 1, true, policy);
        check_triangles(s, INT64_MIN, false, policy);
        check_triangles(s, INT64_MIN + 1, false, policy);
    }
}

Test(ops_limits, diagonals_may_be_any_number)
{
    in_modes(check_far_diagonals);
}

/* -- Ranges ---------------------------------------------------------------- */

static void ranges_of_halves(tg_trace *t, const tg_value *in, void *user)
{
    (void)in, (void)user;
    tg_return(t, tg_cast(tg_arange(TG_F16, -1, 1, 0x1p-11), TG_F32),
              tg_cast(tg_arange(TG_BF16, 1, -1, -0x1p-8), TG_F32));
}

/* All elements are halves, although not all positions are. */
static void check_ranges_of_halves(session *s)
{
    tg_tensor *f16 = NULL, *bf16 = NULL;
    tg_function *f = create(s, ranges_of_halves, NULL, TG_EXACT);
    check_works(tg_call(f, TG_ARGS(), TG_RESULTS(&f16, &bf16)));
    cr_assert_eq(tg_tensor_count(f16), 4096);
    cr_assert_eq(tg_tensor_count(bf16), 512);
    for (int i = 0; i < 4096; i++)
        cr_assert_eq(tg_tensor_f32(f16)[i], -1 + (float)i * 0x1p-11f);
    for (int i = 0; i < 512; i++)
        cr_assert_eq(tg_tensor_f32(bf16)[i], 1 - (float)i * 0x1p-8f);
    tg_tensor_release(f16);
    tg_tensor_release(bf16);
    tg_function_release(f);
}

Test(ops_limits, positions_in_ranges_are_not_rounded_to_halves)
{
    in_modes(check_ranges_of_halves);
}

typedef struct range {
    tg_dtype dtype;
    double start, stop, step;
} range;

static void one_range(tg_trace *t, const tg_value *in, void *user)
{
    const range *r = user;
    (void)in;
    tg_return(t, tg_arange(r->dtype, r->start, r->stop, r->step));
}

Test(ops_limits, ranges_do_not_leave_their_dtype)
{
    static const range good[] = {{TG_I8, -128, 128, 5},
                                 {TG_U8, 255, -1, -1},
                                 {TG_I64, -0x1p63, 0, 0x1p62},
                                 {TG_U64, 0x1p63, 0, -0x1p62},
                                 {TG_F16, 65504, 65505, 1},
                                 {TG_I8, 0, 0, 1}};
    static const range bad[] = {{TG_I8, 0, 1000, 100},
                                {TG_U8, 10, -10, -3},
                                {TG_U8, 0, -1, 200},
                                {TG_U64, 1, -2, -1},
                                {TG_F16, 0, 1e6, 6e4},
                                {TG_F32, 0, 1e39, 3e38}};
    session s;
    session_begin(&s);
    for (size_t i = 0; i < 6; i++) {
        range r = good[i];
        tg_function *f = create(&s, one_range, &r, TG_EXACT);
        check_works(tg_call(f, TG_ARGS(), TG_RESULTS(NULL)));
        tg_function_release(f);
        r = bad[i];
        f = create(&s, one_range, &r, TG_EXACT);
        if (i != 2) /* it has no elements */
            check_fails(tg_call(f, TG_ARGS(), TG_RESULTS(NULL)), TG_ERROR_DTYPE,
                        "arange", "is not representable in");
        tg_function_release(f);
    }
    session_end(&s);
}

/* -- Zeros of both signs --------------------------------------------------- */

static void unique_of(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_unique_results u = tg_unique(in[0], 3);
    tg_return(t, tg_bitcast(u.values, TG_I32), u.counts, u.indices, u.inverse);
}

static void check_unique_zeros(session *s)
{
    static const float zeros[] = {1, 0.0f, -0.0f, 0.0f, -0.0f, -2};
    static const int32_t minus_two = (int32_t)0xc0000000, one = 0x3f800000;
    tg_tensor *x = tg_tensor_copy(s->ctx, zeros, TG_F32, TG_DIMS(6));
    tg_tensor *values = NULL, *counts = NULL, *indices = NULL, *inverse = NULL;
    tg_function *f = create(s, unique_of, NULL, TG_EXACT);
    check_works(tg_call(f, TG_ARGS(x),
                        TG_RESULTS(&values, &counts, &indices, &inverse)));
    const int32_t *bits = tg_tensor_i32(values);
    cr_expect_eq(bits[0], minus_two);
    cr_expect_eq(bits[1], 0, "the first zero is +0");
    cr_expect_eq(bits[2], one);
    check_i64(counts, 1, 4, 1);
    check_i64(indices, 5, 1, 0);
    check_i64(inverse, 2, 1, 1, 1, 1, 0);
    tg_tensor_release(values);
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(ops_limits, the_first_zero_of_either_sign_is_the_unique_one)
{
    in_modes(check_unique_zeros);
}

/* -- Quantised i32 --------------------------------------------------------- */

static void dequantized(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_dequantize(in[0], tg_scalar(TG_F64, 1), in[1], 0));
}

Test(ops_limits, differences_of_i32_and_zero_point_do_not_wrap)
{
    static const int32_t ends[] = {INT32_MAX, INT32_MIN};
    static const int32_t zero_points[] = {-1, 1};
    session s;
    session_begin(&s);
    tg_tensor *x = tg_tensor_copy(s.ctx, ends, TG_I32, TG_DIMS(2));
    tg_tensor *zero = tg_tensor_copy(s.ctx, zero_points, TG_I32, TG_DIMS(2));
    tg_function *f = create(&s, dequantized, NULL, TG_EXACT);
    tg_tensor *y = NULL;
    check_works(tg_call(f, TG_ARGS(x, zero), TG_RESULTS(&y)));
    cr_expect_eq(tg_tensor_f64(y)[0], 0x1p31);
    cr_expect_eq(tg_tensor_f64(y)[1], -0x1p31 - 1);
    tg_tensor_release(y);
    tg_tensor_release(x);
    tg_tensor_release(zero);
    tg_function_release(f);
    session_end(&s);
}

/* -- Depthwise convolutions ------------------------------------------------ */

static void depthwise(tg_trace *t, const tg_value *in, void *user)
{
    tg_variable *w = user;
    tg_value y = tg_conv2d(in[0], w, .groups = 3, .stride = {2, 1},
                           .padding = TG_PADDING_SAME);
    tg_value loss = tg_sum(tg_mul(y, y), TG_ALL_AXES);
    tg_return(t, y, tg_gradient(loss, in[0]), tg_gradient(loss, w));
}

/* The filters of a layer are a variable, whose extents are known. */
static void check_depthwise(session *s)
{
    tg_variable *w = tg_variable_create(s->ctx, "w", TG_F32,
                                        TG_DIMS(3, 3, 1, 3), tg_normal(0, 1));
    tg_tensor *x = tg_tensor_create(s->ctx, TG_F32, TG_DIMS(2, 7, 5, 3),
                                    tg_normal(0, 1));
    tg_tensor *y[2][3] = {{NULL}};
    for (int i = 0; i < 2; i++) {
        tg_function *f = create(s, depthwise, w, i ? TG_RELAXED : TG_EXACT);
        check_works(tg_call(f, TG_ARGS(x),
                            TG_RESULTS(&y[i][0], &y[i][1], &y[i][2])));
        tg_tensor *four = tg_tensor_create(s->ctx, TG_F32,
                                           TG_DIMS(2, 7, 5, 4), tg_zeros());
        check_fails(tg_call(f, TG_ARGS(four), TG_RESULTS(NULL, NULL, NULL)),
                    TG_ERROR_SHAPE, "conv");
        tg_tensor_release(four);
        tg_function_release(f);
    }
    for (int i = 0; i < 3; i++) {
        cr_expect_eq(memcmp(tg_tensor_data(y[0][i]), tg_tensor_data(y[1][i]),
                            tg_tensor_bytes(y[0][i])),
                     0, "result %d", i);
        tg_tensor_release(y[0][i]);
        tg_tensor_release(y[1][i]);
    }
    tg_tensor_release(x);
    tg_variable_release(w);
}

Test(ops_limits, depthwise_gradients_have_the_same_bits_if_channels_are_unknown)
{
    in_modes(check_depthwise);
}

/* -- Reversals ------------------------------------------------------------- */

static void reversed_products(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y = tg_cumprod_with(in[0], 1, TG_CUMULATIVE_REVERSE);
    tg_value z = tg_reverse(in[0], TG_AXES(1));
    tg_value first = tg_gradient(tg_mul(z, z), in[0]);
    tg_return(t, tg_gradient(y, in[0]), tg_gradient(tg_mul(z, y), in[0]),
              tg_gradient(first, in[0]));
}

/* Calls with three rows of `n` ones each; a product is 1. */
static void check_reversed_products(session *s, tg_function *f, int64_t n)
{
    tg_tensor *x = tg_tensor_create(s->ctx, TG_F64, TG_DIMS(3, n), tg_ones());
    tg_tensor *y = NULL, *z = NULL, *second = NULL;
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&y, &z, &second)));
    cr_assert_eq(tg_tensor_count(y), 3 * n);
    for (int64_t i = 0; i < 3 * n; i++) {
        const double products = (double)(i % n + 1); /* that have element i */
        cr_expect_eq(tg_tensor_f64(y)[i], products);
        cr_expect_eq(tg_tensor_f64(z)[i], products + 1);
        cr_expect_eq(tg_tensor_f64(second)[i], 2.0);
    }
    tg_tensor_release(second);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_tensor_release(z);
}

static void check_empty_reversals(session *s)
{
    static const int64_t extents[] = {0, 3, 1, 0};
    for (tg_policy policy = TG_EXACT; policy <= TG_RELAXED; policy++) {
        tg_function *f = create(s, reversed_products, NULL, policy);
        for (int i = 0; i < 4; i++)
            check_reversed_products(s, f, extents[i]);
        tg_function_release(f);
    }
}

Test(ops_limits, gradients_of_reversals_of_nothing_are_empty)
{
    in_modes(check_empty_reversals);
}

/* -- Pads with gaps -------------------------------------------------------- */

/* The gradient pads a concat, the roll backwards, with gaps. */
static void roll_of_every_other(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value padded = tg_pad(in[0], 0, 0, 3, 1.5);
    tg_value y = tg_roll(tg_slice(padded, 0, 0, TG_END, 2), 0, 1);
    tg_return(t, tg_gradient(tg_mul(y, y), in[0]));
}

static void check_gaps(session *s)
{
    for (tg_policy policy = TG_EXACT; policy <= TG_RELAXED; policy++) {
        tg_function *f = create(s, roll_of_every_other, NULL, policy);
        for (int64_t n = 1; n < 40; n += 6) {
            tg_tensor *x = f32_range(s->ctx, n), *y = NULL;
            check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&y)));
            for (int64_t i = 0; i < n; i++)
                cr_expect_eq(tg_tensor_f32(y)[i],
                             i % 2 ? 0.0f : 2 * tg_tensor_f32(x)[i]);
            tg_tensor_release(x);
            tg_tensor_release(y);
        }
        tg_function_release(f);
    }
}

Test(ops_limits, pads_with_gaps_take_concats_as_a_whole)
{
    in_modes(check_gaps);
}

/* -- Far rolls ------------------------------------------------------------- */

static void far_roll(tg_trace *t, const tg_value *in, void *user)
{
    tg_return(t, tg_roll(in[0], 0, *(const int64_t *)user));
}

/* With a relaxed policy, the extents are unknown from the second call on. */
static void check_far_rolls(session *s)
{
    static const int64_t shifts[] = {INT64_MAX, -INT64_MAX, INT64_MAX - 1,
                                     INT64_C(1) << 62, -(INT64_C(1) << 61)};
    for (size_t i = 0; i < 5; i++) {
        int64_t shift = shifts[i];
        tg_function *f = create(s, far_roll, &shift, TG_RELAXED);
        for (int64_t n = 0; n < 8; n++) {
            tg_tensor *x = tg_tensor_create(s->ctx, TG_F32, TG_DIMS(n, n + 1),
                                            tg_ones());
            tg_tensor *y = NULL;
            const int64_t count = n * (n + 1);
            for (int64_t k = 0; k < count; k++)
                tg_tensor_f32(x)[k] = (float)k;
            check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&y)));
            for (int64_t k = 0; k < count; k++) {
                const int64_t row = (k / (n + 1) - shift % n + n) % n;
                cr_expect_eq(tg_tensor_f32(y)[k],
                             (float)(row * (n + 1) + k % (n + 1)),
                             "element %lld of %lld rows, shifted by %lld",
                             (long long)k, (long long)n, (long long)shift);
            }
            tg_tensor_release(x);
            tg_tensor_release(y);
        }
        tg_function_release(f);
    }
}

Test(ops_limits, rolls_may_be_by_any_number)
{
    in_modes(check_far_rolls);
}

/* -- Softmax of nothing ---------------------------------------------------- */

static void softmax_of_rows(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value x = in[0];
    const tg_value loss =
        tg_add(tg_sum(tg_softmax(x, 1), TG_ALL_AXES),
               tg_sum(tg_logsumexp(x, TG_AXES(1)), TG_ALL_AXES));
    tg_return(t, tg_softmax(x, 1), tg_log_softmax(x, -1),
              tg_logsumexp(x, TG_AXES(1)), tg_gradient(loss, x));
}

static void check_softmax_of_nothing(session *s)
{
    for (tg_policy policy = TG_EXACT; policy <= TG_RELAXED; policy++) {
        tg_function *f = create(s, softmax_of_rows, NULL, policy);
        for (int64_t n = 3; n-- > 0;) {
            tg_tensor *y[4] = {NULL};
            tg_tensor *x = tg_tensor_create(s->ctx, TG_F32, TG_DIMS(2, n),
                                            tg_ones());
            check_works(tg_call(f, TG_ARGS(x),
                                TG_RESULTS(&y[0], &y[1], &y[2], &y[3])));
            for (int i = 0; i < 4; i++)
                cr_expect_eq(tg_tensor_count(y[i]), i == 2 ? 2 : 2 * n);
            for (int row = 0; row < 2; row++)
                if (n == 0)
                    cr_expect_eq(tg_tensor_f32(y[2])[row], -INFINITY);
            if (n == 1)
                cr_expect_eq(tg_tensor_f32(y[0])[1], 1.0f);
            for (int i = 0; i < 4; i++)
                tg_tensor_release(y[i]);
            tg_tensor_release(x);
        }
        tg_function_release(f);
    }
}

Test(ops_limits, softmax_of_nothing_is_empty_and_its_sum_is_zero)
{
    in_modes(check_softmax_of_nothing);
}
