/* SPDX-License-Identifier: MIT */
/*
 * test_random_numbers.c - random numbers of a generator: the moments of their
 * distributions, and that they do not depend on how many are drawn at a time.
 * tests/op_matrix has the words of which they are made.
 */
#include <math.h>

#include "support/api.h"

enum { DRAWN = 1 << 16 };

static double element(tg_dtype dtype, const char *data, size_t i)
{
    return dtype == TG_F64 ? ((const double *)(const void *)data)[i]
                           : (double)((const float *)(const void *)data)[i];
}

static void draw_both(tg_trace *t, const tg_value *in, void *user)
{
    const tg_dtype *dtype = user;
    tg_return(t, tg_random_uniform(in[0], *dtype, TG_DIMS(DRAWN)),
              tg_random_normal(in[0], *dtype, TG_DIMS(DRAWN)));
}

/* Mean and mean square of n numbers, within five standard deviations. */
static void check_moments(tg_tensor *tensor, double mean, double square,
                          double square_deviation)
{
    const char *data = tg_tensor_data(tensor);
    const tg_dtype dtype = tg_tensor_dtype(tensor);
    double sum = 0, squares = 0;
    for (size_t i = 0; i < DRAWN; i++) {
        const double x = element(dtype, data, i);
        cr_assert(isfinite(x));
        sum += x;
        squares += x * x;
    }
    const double root = sqrt(DRAWN);
    cr_expect_lt(fabs(sum / DRAWN - mean),
                 5 * sqrt(square - mean * mean) / root);
    cr_expect_lt(fabs(squares / DRAWN - square), 5 * square_deviation / root);
    tg_tensor_release(tensor);
}

Test(random_numbers, have_the_moments_of_their_distribution)
{
    tg_context *ctx = tg_context_create(NULL);
    const tg_dtype dtypes[] = {TG_F32, TG_F64};
    for (int i = 0; i < 2; i++) {
        tg_dtype dtype = dtypes[i];
        tg_function *f = tg_function_create(ctx, draw_both, &dtype, NULL);
        tg_variable *generator = tg_generator_create(ctx, NULL, 2024);
        tg_tensor *uniform = NULL, *normal = NULL;
        cr_assert_eq(tg_call(f, TG_ARGS(generator),
                             TG_RESULTS(&uniform, &normal)),
                     TG_OK, "%s", tg_error(ctx));
        /* x^2 has mean 1/3 and variance 1/5 - 1/9; or 1 and 2. */
        check_moments(uniform, 0.5, 1.0 / 3, sqrt(1.0 / 5 - 1.0 / 9));
        check_moments(normal, 0, 1, sqrt(2));
        tg_variable_release(generator);
        tg_function_release(f);
    }
    tg_context_release(ctx);
    check_nothing_is_alive();
}

static void draw(tg_trace *t, const tg_value *in, void *user)
{
    const int64_t n = tg_static_int(t, 1);
    const tg_dtype *dtype = user;
    tg_return(t, tg_random_uniform(in[0], *dtype, TG_DIMS(n)));
}

static void draw_normal(tg_trace *t, const tg_value *in, void *user)
{
    const int64_t n = tg_static_int(t, 1);
    const tg_dtype *dtype = user;
    tg_return(t, tg_random_normal(in[0], *dtype, TG_DIMS(n)));
}

static tg_tensor *drawn(tg_function *f, tg_variable *generator, int n)
{
    tg_tensor *result = NULL;
    cr_assert_eq(tg_call(f, TG_ARGS(generator, TG_STATIC(n)),
                         TG_RESULTS(&result)),
                 TG_OK, "%s", tg_error(NULL));
    return result;
}

Test(random_numbers, are_the_same_if_drawn_in_parts)
{
    tg_context *ctx = tg_context_create(NULL);
    tg_callback *const callbacks[] = {draw, draw_normal};
    const tg_dtype dtypes[] = {TG_F32, TG_F64};
    for (int i = 0; i < 4; i++) {
        tg_dtype dtype = dtypes[i / 2];
        const size_t bytes = tg_dtype_bytes(dtype);
        tg_function *f = tg_function_create_named(ctx, "draw",
                                                  callbacks[i % 2], &dtype,
                                                  NULL);
        tg_variable *a = tg_generator_create(ctx, NULL, 5);
        tg_variable *b = tg_generator_create(ctx, NULL, 5);
        cr_assert_not(tg_variable_is_trainable(a));
        tg_tensor *all = drawn(f, a, 20);
        tg_tensor *first = drawn(f, b, 7), *second = drawn(f, b, 13);
        const char *whole = tg_tensor_data(all);
        cr_expect_arr_eq(tg_tensor_data(first), whole, 7 * bytes);
        cr_expect_arr_eq(tg_tensor_data(second), whole + 7 * bytes,
                         13 * bytes);
        uint64_t state_a[2], state_b[2];
        cr_assert_eq(tg_variable_get(a, state_a, sizeof(state_a)), TG_OK);
        cr_assert_eq(tg_variable_get(b, state_b, sizeof(state_b)), TG_OK);
        const uint64_t words = (dtype == TG_F64 ? 2 : 1) * (i % 2 ? 2 : 1);
        cr_expect_eq(state_a[0], 5);
        cr_expect_eq(state_a[1], 20 * words);
        cr_expect_arr_eq(state_a, state_b, sizeof(state_a));
        tg_tensor_release(all);
        tg_tensor_release(first);
        tg_tensor_release(second);
        tg_variable_release(a);
        tg_variable_release(b);
        tg_function_release(f);
    }
    tg_context_release(ctx);
    check_nothing_is_alive();
}
