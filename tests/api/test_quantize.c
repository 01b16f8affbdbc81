/* SPDX-License-Identifier: MIT */
/*
 * test_quantize.c - tg_quantize and tg_dequantize, per tensor and per axis, the
 * dynamic form, and products of 8-bit integers, compared with integers computed
 * here.
 */
#include <math.h>

#include "support/api.h"

/* -- Quantisation ---------------------------------------------------------- */

static void quantised(tg_trace *t, const tg_value *in, void *user)
{
    const int axis = *(const int *)user;
    const tg_value q = tg_quantize(in[0], in[1], in[2], axis);
    tg_return(t, q, tg_dequantize(q, in[1], in[2], axis));
}

Test(quantize, ties_round_to_even_and_sums_saturate)
{
    static const float x[] = {-0.75f, 0.25f, 0.75f, 1.25f, 1e9f, -1e9f};
    static const int8_t wanted[] = {-1 * 2 + 1, 1, 2 + 1, 2 + 1, 127, -128};
    static const float back[] = {-1, 0, 1, 1, 63, -64.5f};
    const int axis = 0;
    session s;
    session_begin(&s);
    tg_function *f =
        tg_function_create(s.ctx, quantised, (void *)(uintptr_t)&axis, NULL);
    const float scale = 0.5f;
    const int8_t zero = 1;
    tg_tensor *in = tg_tensor_copy(s.ctx, x, TG_F32, TG_DIMS(6));
    tg_tensor *step = tg_tensor_copy(s.ctx, &scale, TG_F32, TG_SCALAR);
    tg_tensor *at = tg_tensor_copy(s.ctx, &zero, TG_I8, TG_SCALAR);
    tg_tensor *q = NULL, *r = NULL;
    check_works(tg_call(f, TG_ARGS(in, step, at), TG_RESULTS(&q, &r)));
    cr_assert_eq(tg_tensor_dtype(q), TG_I8);
    for (int i = 0; i < 6; i++) {
        cr_expect_eq(tg_tensor_i8(q)[i], wanted[i], "element %d is %d", i,
                     tg_tensor_i8(q)[i]);
        cr_expect_eq(tg_tensor_f32(r)[i], back[i]);
    }
    tg_tensor_release(in);
    tg_tensor_release(step);
    tg_tensor_release(at);
    tg_tensor_release(q);
    tg_tensor_release(r);
    tg_function_release(f);
    session_end(&s);
}

Test(quantize, an_axis_has_scales_and_zero_points)
{
    static const float x[] = {1, 2, 3, 4, 5, 6}; /* 3 x 2 */
    static const float scales[] = {1, 0.5f, 2};
    static const uint8_t zeros[] = {0, 10, 255};
    static const uint8_t wanted[] = {1, 2, 16, 18, 255, 255};
    const int axis = -2;
    session s;
    session_begin(&s);
    tg_function *f =
        tg_function_create(s.ctx, quantised, (void *)(uintptr_t)&axis, NULL);
    tg_tensor *in = tg_tensor_copy(s.ctx, x, TG_F32, TG_DIMS(3, 2));
    tg_tensor *step = tg_tensor_copy(s.ctx, scales, TG_F32, TG_DIMS(3));
    tg_tensor *at = tg_tensor_copy(s.ctx, zeros, TG_U8, TG_DIMS(3));
    tg_tensor *q = NULL, *r = NULL;
    check_works(tg_call(f, TG_ARGS(in, step, at), TG_RESULTS(&q, &r)));
    for (int i = 0; i < 6; i++) {
        cr_expect_eq(tg_tensor_u8(q)[i], wanted[i]);
        cr_expect_eq(tg_tensor_f32(r)[i],
                     (float)(wanted[i] - zeros[i / 2]) * scales[i / 2]);
    }
    tg_tensor *short_step =
        tg_tensor_copy(s.ctx, scales, TG_F32, TG_DIMS(2));
    check_fails(tg_call(f, TG_ARGS(in, short_step, at), TG_RESULTS(&q, &r)),
                TG_ERROR_SHAPE, "quantize", "along the axis");
    check_fails(tg_call(f, TG_ARGS(in, step, step), TG_RESULTS(&q, &r)),
                TG_ERROR_DTYPE, "zero point must have dtype i8, u8, i16 or");
    tg_tensor_release(in);
    tg_tensor_release(step);
    tg_tensor_release(short_step);
    tg_tensor_release(at);
    tg_tensor_release(q);
    tg_tensor_release(r);
    tg_function_release(f);
    session_end(&s);
}

static void dynamic(tg_trace *t, const tg_value *in, void *user)
{
    tg_value scale, zero;
    (void)user;
    const tg_value q = tg_quantize_dynamic(in[0], &scale, &zero);
    tg_return(t, q, scale, zero);
}

/* The example of ONNX's DynamicQuantizeLinear, and one of zeros. */
Test(quantize, a_tensor_has_a_range_of_its_own)
{
    static const float x[] = {0, 2, -3, -2.5f, 1.34f, 0.5f};
    static const uint8_t wanted[] = {153, 255, 0, 26, 221, 179};
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, dynamic, NULL, NULL);
    tg_tensor *in = tg_tensor_copy(s.ctx, x, TG_F32, TG_DIMS(6));
    tg_tensor *none = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(2), tg_zeros());
    tg_tensor *q = NULL;
    float scale;
    uint8_t zero;
    check_works(tg_call(f, TG_ARGS(in), TG_RESULTS(&q, &scale, &zero)));
    cr_expect_float_eq(scale, 5.0f / 255, 1e-7f);
    cr_expect_eq(zero, 153);
    for (int i = 0; i < 6; i++)
        cr_expect_eq(tg_tensor_u8(q)[i], wanted[i]);
    tg_tensor_release(q);
    q = NULL;
    check_works(tg_call(f, TG_ARGS(none), TG_RESULTS(&q, &scale, &zero)));
    cr_expect_eq(scale, 1);
    cr_expect_eq(zero, 0);
    cr_expect_eq(tg_tensor_u8(q)[0], 0);
    tg_tensor_release(q);
    tg_tensor_release(in);
    tg_tensor_release(none);
    tg_function_release(f);
    session_end(&s);
}

/* -- Products -------------------------------------------------------------- */

static void product(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_matmul_integer(in[0], in[1]));
}

/* Elements of the largest magnitude, whose sums f32 does not hold, and others. */
static tg_tensor *filled(tg_context *ctx, tg_dtype dtype, int64_t rows,
                         int64_t columns, unsigned seed)
{
    tg_tensor *x =
        tg_tensor_create(ctx, dtype, TG_DIMS(rows, columns), tg_zeros());
    uint8_t *data = tg_tensor_data(x);
    for (int64_t i = 0; i < rows * columns; i++) {
        seed = seed * 1664525 + 1013904223;
        data[i] = (uint8_t)(seed >> 28 ? (dtype == TG_U8 ? 255 : 128)
                                       : seed >> 8);
    }
    return x;
}

static int64_t number(const tg_tensor *x, int64_t i)
{
    return tg_tensor_dtype(x) == TG_U8 ? tg_tensor_u8(x)[i]
                                       : tg_tensor_i8(x)[i];
}

Test(quantize, products_of_small_integers_are_exact)
{
    static const tg_dtype dtypes[] = {TG_I8, TG_U8};
    static const int64_t inner[] = {1, 7, 257, 513, 1025, 4099, 9000};
    enum { ROWS = 5, COLUMNS = 19 };
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, product, NULL, NULL);
    for (size_t n = 0; n < sizeof(inner) / sizeof(*inner); n++)
        for (int pair = 0; pair < 4; pair++) {
            const int64_t k = inner[n];
            tg_tensor *a = filled(s.ctx, dtypes[pair & 1], ROWS, k, 1);
            tg_tensor *b = filled(s.ctx, dtypes[pair >> 1], k, COLUMNS, 2);
            tg_tensor *c = NULL;
            check_works(tg_call(f, TG_ARGS(a, b), TG_RESULTS(&c)));
            for (int64_t i = 0; i < ROWS; i++)
                for (int64_t j = 0; j < COLUMNS; j++) {
                    int64_t sum = 0;
                    for (int64_t l = 0; l < k; l++)
                        sum += number(a, i * k + l) *
                               number(b, l * COLUMNS + j);
                    cr_assert_eq(tg_tensor_i32(c)[i * COLUMNS + j], sum,
                                 "k %d, pair %d", (int)k, pair);
                }
            tg_tensor_release(a);
            tg_tensor_release(b);
            tg_tensor_release(c);
        }
    tg_tensor *x = tg_tensor_create(s.ctx, TG_I16, TG_DIMS(2, 2), tg_zeros());
    tg_tensor *y = NULL;
    check_fails(tg_call(f, TG_ARGS(x, x), TG_RESULTS(&y)), TG_ERROR_DTYPE,
                "matmul_integer", "needs operands of i8 or u8");
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

/* Extents of the operands, of ranks 1 to 3; the first `rank` of each count. */
typedef struct product_shape {
    int a_rank, b_rank;
    int64_t a[3], b[3];
} product_shape;

static tg_tensor *product_in(const tg_context_options *options,
                             const product_shape *shape, int pair)
{
    static const tg_dtype dtypes[] = {TG_I8, TG_U8};
    session s;
    tg_context_options eager = *options;
    eager.compile = "eager";
    session_begin_with(&s, eager);
    tg_tensor *in[2], *out = NULL;
    for (int i = 0; i < 2; i++) {
        in[i] = tg_tensor_create(s.ctx, dtypes[i ? pair >> 1 : pair & 1],
                                 i ? shape->b_rank : shape->a_rank,
                                 i ? shape->b : shape->a, tg_zeros());
        uint8_t *bytes = tg_tensor_data(in[i]);
        unsigned seed = (unsigned)i + 1;
        for (size_t n = 0; n < (size_t)tg_tensor_bytes(in[i]); n++) {
            seed = seed * 1664525 + 1013904223;
            bytes[n] = (uint8_t)(seed >> 24);
        }
    }
    tg_function *f = tg_function_create(s.ctx, product, NULL, NULL);
    tg_call(f, TG_ARGS(in[0], in[1]), TG_RESULTS(&out));
    cr_expect_not_null(out, "%s", tg_error(s.ctx));
    tg_tensor_release(in[0]);
    tg_tensor_release(in[1]);
    tg_function_release(f);
    tg_context_release(s.ctx);
    return out;
}

/* With the instructions of VNNI, those of AVX2 and AVX-512 without it, generic
   code of few lanes, and the interpreter. CPUs that the host lacks are left
   out. */
Test(quantize, products_have_the_same_bits_on_every_cpu)
{
    static const product_shape shapes[] = {
        {2, 2, {6, 3}, {3, 2}},       {2, 2, {1, 70}, {70, 33}},
        {2, 2, {33, 130}, {130, 1}},  {1, 2, {18}, {18, 40}},
        {2, 1, {40, 18}, {18}},       {1, 1, {300}, {300}},
        {3, 2, {2, 9, 66}, {66, 50}}, {2, 2, {150, 300}, {300, 200}},
        {3, 3, {3, 5, 8}, {1, 8, 16}}};
    static const tg_context_options ways[] = {
        {.jit = "off"},
        {.jit = "auto"},
        {.jit = "auto", .cpu = "x86-64-v3"},
        {.jit = "auto", .cpu = "x86-64-v4"},
        {.jit = "auto", .cpu = "icelake-server"},
        {.jit = "auto", .vector_bits = 128, .threads = 3},
        {.jit = "auto", .vector_bits = 256, .threads = 7}};
    const size_t n_ways = sizeof(ways) / sizeof(*ways);
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
        for (int pair = 0; pair < 4; pair++) {
            tg_tensor *expected = product_in(&ways[0], &shapes[i], pair);
            for (size_t way = 1; way < n_ways; way++) {
                tg_tensor *y = product_in(&ways[way], &shapes[i], pair);
                cr_assert_eq(memcmp(tg_tensor_data(y), tg_tensor_data(expected),
                                    (size_t)tg_tensor_bytes(y)),
                             0, "shape %zu, pair %d, way %zu", i, pair, way);
                tg_tensor_release(y);
            }
            tg_tensor_release(expected);
        }
    check_nothing_is_alive();
}

static void product_of_words(tg_trace *t, const tg_value *in, void *user)
{
    const int flags = *(const int *)user;
    tg_return(t, tg_matmul_with(in[0], in[1], flags));
}

Test(quantize, bytes_of_words_are_unsigned_and_signed)
{
    static const int32_t a[] = {-1, 0x04030201}, b[] = {-1, 0x7f80ff01};
    static const int flags = TG_MATMUL_BYTES;
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, product_of_words,
                                        (void *)(uintptr_t)&flags, NULL);
    tg_tensor *x = tg_tensor_copy(s.ctx, a, TG_I32, TG_DIMS(1, 2));
    tg_tensor *y = tg_tensor_copy(s.ctx, b, TG_I32, TG_DIMS(2, 1));
    tg_tensor *z = tg_tensor_create(s.ctx, TG_U32, TG_DIMS(2, 2), tg_zeros());
    int32_t sum = 0;
    check_works(tg_call(f, TG_ARGS(x, y), TG_RESULTS(&sum)));
    cr_expect_eq(sum, -4 * 255 + 1 * 1 + 2 * -1 + 3 * -128 + 4 * 127);
    check_fails(tg_call(f, TG_ARGS(z, z), TG_RESULTS(NULL)), TG_ERROR_DTYPE,
                "matmul", "products of bytes need i32");
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_tensor_release(z);
    tg_function_release(f);
    session_end(&s);
}
