/* SPDX-License-Identifier: MIT */
/*
 * test_halves.c - f16 and bf16 through the public interface: C types, numbers,
 * text, files, rounding of functions of several steps, gradients, random
 * numbers, and what is refused. test_op_matrix.c has the values of operations.
 */
#include <math.h>

#include "support/files.h"

static const tg_dtype halves[] = {TG_F16, TG_BF16};

static uint16_t bits_of(tg_dtype dtype, float x)
{
    return dtype == TG_F16 ? tg_f16_from_float(x).bits
                           : tg_bf16_from_float(x).bits;
}

static float float_of(tg_dtype dtype, uint16_t bits)
{
    return dtype == TG_F16 ? tg_f16_to_float((tg_f16){bits})
                           : tg_bf16_to_float((tg_bf16){bits});
}

static tg_tensor *tensor_of(tg_context *ctx, tg_dtype dtype, int64_t n,
                            const float *values)
{
    tg_tensor *x = tg_tensor_create(ctx, dtype, 1, &n, tg_zeros());
    cr_assert_not_null(x, "%s", tg_error(NULL));
    for (int64_t i = 0; i < n; i++)
        ((uint16_t *)tg_tensor_data(x))[i] = bits_of(dtype, values[i]);
    return x;
}

static float element(const tg_tensor *x, int64_t i)
{
    return float_of(tg_tensor_dtype(x),
                    ((const uint16_t *)tg_tensor_data(x))[i]);
}

/* -- C types --------------------------------------------------------------- */

#ifdef __FLT16_MAX__
/* Any float is between two f16; the compiler's conversion decides which. */
Test(halves, c_types_convert_as_the_compiler_does)
{
    uint32_t bits = 0;
    do {
        const float x = tg_float_of_bits(bits);
        const _Float16 half = (_Float16)x;
        uint16_t wanted;
        memcpy(&wanted, &half, sizeof(wanted));
        if (isnan(x))
            cr_assert(isnan(tg_f16_to_float(tg_f16_from_float(x))));
        else
            cr_assert_eq(tg_f16_from_float(x).bits, wanted, "%a", (double)x);
        bits += 4093;
    } while (bits >= 4093);
    for (uint32_t i = 0; i < 0x10000; i++) {
        const uint16_t half = (uint16_t)i;
        _Float16 value;
        memcpy(&value, &half, sizeof(value));
        const float x = tg_f16_to_float((tg_f16){half});
        cr_assert(x == (float)value || (isnan(x) && isnan((float)value)));
    }
}
#endif

Test(halves, elements_have_c_types)
{
    session s;
    session_begin(&s);
    tg_tensor *x = tensor_of(s.ctx, TG_F16, 2, (float[]){1.5f, -0.1f});
    tg_tensor *y = tensor_of(s.ctx, TG_BF16, 1, (float[]){0.1f});
    tg_f16 half;
    tg_bf16 brain;
    cr_assert_eq(tg_tensor_f16(x)[0].bits, 0x3e00);
    cr_assert_eq(tg_tensor_bf16(y)[0].bits, 0x3dcd);
    check_works(tg_tensor_get(x, &half, 1));
    cr_expect_float_eq(tg_f16_to_float(half), -0.1f, 1e-4f);
    check_works(tg_tensor_get(y, &brain, 0));
    check_fails(tg_tensor_get(x, &brain, 0), TG_ERROR_DTYPE, "f16", "bf16");
    cr_assert_null(tg_tensor_bf16(x));
    cr_assert_str_eq(tg_tensor_text(x), "[1.5 -0.1]");
    cr_assert_str_eq(tg_tensor_text(y), "[0.1]");
    cr_assert_eq(tg_dtype_bytes(TG_BF16), 2);
    cr_assert_str_eq(tg_dtype_name(TG_F16), "f16");
    tg_tensor_release(x);
    tg_tensor_release(y);
    session_end(&s);
}

/* -- Functions ------------------------------------------------------------- */

static void of_several_steps(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value x = in[0];
    tg_return(t, tg_var(x, TG_ALL_AXES, 0), tg_softmax(x, 0),
              tg_gelu_tanh(x), tg_sum_square(tg_mul(x, 0.125), TG_ALL_AXES));
}

/* The squares of 300 are beyond f16, their mean and root are not. */
Test(halves, functions_of_several_steps_round_once)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, of_several_steps, NULL, NULL);
    for (int h = 0; h < 2; h++) {
        tg_tensor *x = tensor_of(s.ctx, halves[h], 4,
                                 (float[]){200, -40, 0.25f, 60});
        tg_tensor *v = NULL, *p = NULL, *g = NULL, *q = NULL;
        check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&v, &p, &g, &q)));
        double mean = 0, variance = 0;
        for (int i = 0; i < 4; i++)
            mean += (double)element(x, i) / 4;
        for (int i = 0; i < 4; i++)
            variance += pow((double)element(x, i) - mean, 2) / 4;
        const double step = halves[h] == TG_F16 ? 0x1p-11 : 0x1p-8;
        cr_expect_float_eq((double)element(v, 0), variance, variance * step);
        cr_expect_eq(element(p, 0), 1.0f);
        cr_expect_eq(element(g, 0), 200.0f);
        cr_expect_eq(tg_tensor_dtype(v), halves[h]);
        tg_tensor_release(v);
        tg_tensor_release(p);
        tg_tensor_release(g);
        tg_tensor_release(q);
        tg_tensor_release(x);
    }
    tg_function_release(f);
    session_end(&s);
}

/* d/dx sum(x * exp(x)) = exp(x) (1 + x) */
static void with_gradient(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y = tg_sum(tg_mul(in[0], tg_exp(in[0])), TG_ALL_AXES);
    tg_return(t, tg_gradient(y, in[0]), y);
}

Test(halves, gradients_have_the_dtype_of_the_source)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, with_gradient, NULL, NULL);
    for (int h = 0; h < 2; h++) {
        tg_tensor *x =
            tensor_of(s.ctx, halves[h], 3, (float[]){0.5f, -1.25f, 2});
        tg_tensor *g = NULL, *y = NULL;
        check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&g, &y)));
        cr_assert_eq(tg_tensor_dtype(g), halves[h]);
        for (int i = 0; i < 3; i++) {
            const double at = (double)element(x, i);
            const double wanted = exp(at) * (1 + at);
            cr_expect_float_eq((double)element(g, i), wanted,
                               (fabs(wanted) + 1) *
                                   (h ? 0x1p-7 : 0x1p-10));
        }
        tg_tensor_release(g);
        tg_tensor_release(y);
        tg_tensor_release(x);
    }
    tg_function_release(f);
    session_end(&s);
}

static void draw(tg_trace *t, const tg_value *in, void *user)
{
    const tg_dtype dtype = *(const tg_dtype *)user;
    tg_return(t, tg_random_uniform(in[0], dtype, TG_DIMS(20000)),
              tg_random_normal(in[0], dtype, TG_DIMS(20000)));
}

Test(halves, uniform_numbers_are_below_1)
{
    session s;
    session_begin(&s);
    for (int h = 0; h < 2; h++) {
        tg_function *f =
            tg_function_create(s.ctx, draw, (void *)(uintptr_t)&halves[h], NULL);
        tg_tensor *u = NULL, *n = NULL;
        check_works(tg_call(f, TG_ARGS((uint64_t)5), TG_RESULTS(&u, &n)));
        double sum = 0, squares = 0;
        for (int i = 0; i < 20000; i++) {
            cr_assert(element(u, i) >= 0 && element(u, i) < 1);
            sum += (double)element(u, i);
            squares += (double)element(n, i) * (double)element(n, i);
        }
        cr_expect_float_eq(sum / 20000, 0.5, 0.01);
        cr_expect_float_eq(squares / 20000, 1, 0.05);
        tg_tensor_release(u);
        tg_tensor_release(n);
        tg_function_release(f);
    }
    session_end(&s);
}

/* -- Numbers and dtypes that are refused ----------------------------------- */

static void times_a_million(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(in[0], 1e6));
}

static void times_an_argument(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(in[0], in[1]));
}

static void normalised(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_rms_norm(in[0], in[1], 1e-5));
}

Test(halves, numbers_out_of_range_are_refused)
{
    session s;
    session_begin(&s);
    tg_function *literal = tg_function_create(s.ctx, times_a_million, NULL, NULL);
    tg_function *argument = tg_function_create(s.ctx, times_an_argument, NULL, NULL);
    tg_function *norm = tg_function_create(s.ctx, normalised, NULL, NULL);
    tg_tensor *x = tensor_of(s.ctx, TG_F16, 1, (float[]){2});
    tg_tensor *b = tensor_of(s.ctx, TG_BF16, 1, (float[]){2});
    tg_tensor *w = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(1), tg_zeros());
    tg_tensor *y = NULL;
    check_fails(tg_call(literal, TG_ARGS(x), TG_RESULTS(&y)), TG_ERROR_DTYPE,
                "the number 1000000 is not representable in f16");
    check_works(tg_call(literal, TG_ARGS(b), TG_RESULTS(&y)));
    tg_tensor_release(y);
    y = NULL;
    check_fails(tg_call(argument, TG_ARGS(x, 70000.0), TG_RESULTS(&y)),
                TG_ERROR_DTYPE, "70000", "f16");
    check_works(tg_call(argument, TG_ARGS(x, 65504.0), TG_RESULTS(&y)));
    cr_assert_eq(element(y, 0), INFINITY);
    check_fails(tg_call(argument, TG_ARGS(x, b), TG_RESULTS(&y)),
                TG_ERROR_DTYPE, "dtypes f16 and bf16 differ");
    check_fails(tg_call(norm, TG_ARGS(x, w), TG_RESULTS(&y)), TG_ERROR_DTYPE,
                "dtypes f16 and f32 differ");
    tg_tensor_release(y);
    tg_tensor_release(x);
    tg_tensor_release(b);
    tg_tensor_release(w);
    tg_function_release(literal);
    tg_function_release(argument);
    tg_function_release(norm);
    session_end(&s);
}

/* -- Files ----------------------------------------------------------------- */

static void check_same(tg_tensor *a, tg_tensor *b)
{
    cr_assert_not_null(b, "%s", tg_error(NULL));
    cr_assert_eq(tg_tensor_dtype(a), tg_tensor_dtype(b));
    cr_assert_eq(tg_tensor_bytes(a), tg_tensor_bytes(b));
    cr_assert_eq(memcmp(tg_tensor_data(a), tg_tensor_data(b),
                        tg_tensor_bytes(a)),
                 0);
}

Test(halves, files_keep_every_bit)
{
    static const char *const names[] = {"x.npz", "x.safetensors"};
    file_session f;
    files_begin(&f);
    for (int h = 0; h < 2; h++) {
        tg_tensor *x = tensor_of(f.ctx, halves[h], 3,
                                 (float[]){1.5f, NAN, -INFINITY});
        check_works(tg_npy_save(x, file_path(&f, "x.npy")));
        tg_tensor *y = tg_npy_load(f.ctx, file_path(&f, "x.npy"));
        check_same(x, y);
        tg_tensor_release(y);
        for (int i = 0; i < 2; i++) {
            tg_archive *a = tg_archive_create(f.ctx);
            check_works(tg_archive_add(a, "x", x));
            check_works(tg_archive_save(a, file_path(&f, names[i])));
            tg_archive_release(a);
            a = tg_archive_load(f.ctx, file_path(&f, names[i]));
            check_same(x, tg_archive_get(a, "x"));
            tg_archive_release(a);
        }
        tg_tensor_release(x);
    }
    files_end(&f, 3);
}
