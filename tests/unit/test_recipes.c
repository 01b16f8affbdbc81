/* SPDX-License-Identifier: MIT */
/*
 * test_recipes.c - edge cases of scalar recipes for every class of element
 * types, tested through the kernels generated from them.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "interp/kernel.h"

/* Runs an elementwise op or a cast over n elements. */
static void apply(tgi_op op, const tg_dtype *types, int n_operands, int64_t n,
                  void *out, void *const *operands)
{
    tgi_view in[3];
    tgi_kernel_args args = {.in = in};
    tgi_view_init(&args.out, out, types[0], 1, &n);
    for (int i = 0; i < n_operands; i++)
        tgi_view_init(&in[i], operands[i], types[1 + i], 1, &n);
    tgi_kernel *kernel = op == TGI_OP_CAST
                             ? tgi_kernel_cast(TGI_OP_CAST, types[1], types[0])
                             : tgi_kernel_elementwise(op, types[1], types[0]);
    cr_assert_not_null(kernel, "%s", tgi_op_table[op].name);
    cr_assert_eq(kernel(&args), TG_OK);
}

#define TYPES(...) (const tg_dtype[]){__VA_ARGS__}
#define OPERANDS(...) (void *const[]){__VA_ARGS__}

/* -- Tables are complete --------------------------------------------------- */

Test(recipes, exist_for_every_row_and_class_and_no_other)
{
    for (int op = 1; op < TGI_OPS; op++)
        for (int dtype = 0; dtype < TGI_DTYPES; dtype++) {
            if (!tgi_dtype_is_valid(dtype))
                continue;
            const tgi_op_info *info = &tgi_op_table[op];
            bool is_wanted = tgi_dtype_is(dtype, info->types);
            int out = info->result == TGI_RESULT_BOOL ? TG_BOOL : dtype;
            int in = op == TGI_OP_SELECT ? TG_BOOL : dtype;
            bool has = info->cls == TGI_OPCLASS_REDUCE
                           ? tgi_kernel_reduce(op, dtype) != NULL
                           : tgi_kernel_elementwise(op, in, out) != NULL;
            bool has_recipe = info->cls == TGI_OPCLASS_UNARY ||
                              info->cls == TGI_OPCLASS_BINARY ||
                              info->cls == TGI_OPCLASS_TERNARY ||
                              info->cls == TGI_OPCLASS_REDUCE;
            cr_expect_eq(has, has_recipe && is_wanted, "%s of %s", info->name,
                         tg_dtype_name((tg_dtype)dtype));
        }
}

/* -- Integers: compared with arithmetic in a wider type -------------------- */

typedef __int128 wide;

static wide divide(wide a, wide b)
{
    return b == 0 ? -1 : a / b;
}

static wide remainder_of(wide a, wide b)
{
    return b == 0 ? a : a % b;
}

static wide shift_left(wide a, wide b, int width)
{
    return b < 0 || b >= width ? 0 : (wide)((unsigned __int128)a << (int)b);
}

static wide shift_right(wide a, wide b, int width)
{
    return b < 0 || b >= width ? (a < 0 ? -1 : 0) : a >> (int)b;
}

static const int64_t edges[] = {
    0,          1,         2,         3,          7,         8,
    9,          15,        16,        31,         32,        63,
    64,         127,       128,       255,        256,       -1,
    -2,         -8,        -127,      -128,       32767,     -32768,
    65535,      INT32_MAX, INT32_MIN, UINT32_MAX, INT64_MAX, INT64_MIN,
    INT64_MAX - 1, INT64_MIN + 1};
enum { EDGES = sizeof(edges) / sizeof(edges[0]) };

#define EXPECT_BINARY(OP, expected) \
    do { \
        apply(TGI_OP_##OP, TYPES(dtype, dtype, dtype), 2, EDGES, out, \
              OPERANDS(a, b)); \
        for (int j = 0; j < EDGES; j++) { \
            wide x = a[j], y = b[j]; \
            (void)y; \
            cr_expect_eq(out[j], (element)(expected), "%s %s: %lld %lld", \
                         #OP, tg_dtype_name(dtype), (long long)a[j], \
                         (long long)b[j]); \
        } \
    } while (0)
#define EXPECT_UNARY(OP, expected) \
    do { \
        apply(TGI_OP_##OP, TYPES(dtype, dtype), 1, EDGES, out, OPERANDS(b)); \
        for (int j = 0; j < EDGES; j++) { \
            wide x = b[j]; \
            cr_expect_eq(out[j], (element)(expected), "%s %s: %lld", #OP, \
                         tg_dtype_name(dtype), (long long)b[j]); \
        } \
    } while (0)
#define EXPECT_COMPARISON(OP, expected) \
    do { \
        apply(TGI_OP_##OP, TYPES(TG_BOOL, dtype, dtype), 2, EDGES, truth, \
              OPERANDS(a, b)); \
        for (int j = 0; j < EDGES; j++) { \
            wide x = a[j], y = b[j]; \
            cr_expect_eq(truth[j], (expected), "%s %s", #OP, \
                         tg_dtype_name(dtype)); \
        } \
    } while (0)

/* All pairs of edge values. */
#define CHECK_INTEGER(ID, type) \
    static void check_##ID(void) \
    { \
        typedef type element; \
        const tg_dtype dtype = TG_##ID; \
        const int width = 8 * (int)sizeof(element); \
        element a[EDGES], b[EDGES], out[EDGES]; \
        uint8_t truth[EDGES]; \
        for (int j = 0; j < EDGES; j++) \
            b[j] = (element)edges[j]; \
        for (int i = 0; i < EDGES; i++) { \
            for (int j = 0; j < EDGES; j++) \
                a[j] = (element)edges[i]; \
            EXPECT_BINARY(ADD, x + y); \
            EXPECT_BINARY(SUB, x - y); \
            EXPECT_BINARY(MUL, (unsigned __int128)x * (unsigned __int128)y); \
            EXPECT_BINARY(DIV, divide(x, y)); \
            EXPECT_BINARY(REM, remainder_of(x, y)); \
            EXPECT_BINARY(MIN, x < y ? x : y); \
            EXPECT_BINARY(MAX, x > y ? x : y); \
            EXPECT_BINARY(AND, x & y); \
            EXPECT_BINARY(OR, x | y); \
            EXPECT_BINARY(XOR, x ^ y); \
            EXPECT_BINARY(SHL, shift_left(x, y, width)); \
            EXPECT_BINARY(SHR, shift_right(x, y, width)); \
            EXPECT_COMPARISON(EQ, x == y); \
            EXPECT_COMPARISON(NE, x != y); \
            EXPECT_COMPARISON(LT, x < y); \
            EXPECT_COMPARISON(LE, x <= y); \
        } \
        EXPECT_UNARY(NEG, -x); \
        EXPECT_UNARY(NOT, ~x); \
        EXPECT_UNARY(ABS, x < 0 ? -x : x); \
        EXPECT_UNARY(SIGN, (x > 0) - (x < 0)); \
    }
#define CHECK_SINT CHECK_INTEGER
#define CHECK_UINT CHECK_INTEGER
#define CHECK_BOOL(ID, type) \
    static void check_##ID(void) \
    { \
    }
#define CHECK_FLOAT CHECK_BOOL
#define CHECK_HALF CHECK_BOOL
#define DTYPE(ID, name, type, cls) CHECK_##cls(ID, type)
#include "base/dtype.def"
#undef DTYPE

Test(recipes, of_integers_wrap_and_are_defined_everywhere)
{
#define DTYPE(ID, ...) check_##ID();
#include "base/dtype.def"
#undef DTYPE
}

Test(recipes, of_integer_division_return_the_documented_values)
{
    int32_t a[] = {7, INT32_MIN, 7, INT32_MIN, -7}, b[] = {0, -1, -2, 0, 2};
    int32_t out[5];
    apply(TGI_OP_DIV, TYPES(TG_I32, TG_I32, TG_I32), 2, 5, out,
          OPERANDS(a, b));
    cr_expect_arr_eq(out, ((int32_t[]){-1, INT32_MIN, -3, -1, -3}), 20);
    apply(TGI_OP_REM, TYPES(TG_I32, TG_I32, TG_I32), 2, 5, out,
          OPERANDS(a, b));
    cr_expect_arr_eq(out, ((int32_t[]){7, 0, 1, INT32_MIN, -1}), 20);
    uint8_t u[] = {7}, zero[] = {0}, quotient[1];
    apply(TGI_OP_DIV, TYPES(TG_U8, TG_U8, TG_U8), 2, 1, quotient,
          OPERANDS(u, zero));
    cr_expect_eq(quotient[0], 255);
}

Test(recipes, of_bool_are_truth_tables)
{
    uint8_t a[] = {0, 0, 1, 1}, b[] = {0, 1, 0, 1}, out[4];
    static const struct {
        tgi_op op;
        uint8_t out[4];
    } tables[] = {{TGI_OP_AND, {0, 0, 0, 1}}, {TGI_OP_OR, {0, 1, 1, 1}},
                  {TGI_OP_XOR, {0, 1, 1, 0}}, {TGI_OP_MIN, {0, 0, 0, 1}},
                  {TGI_OP_MAX, {0, 1, 1, 1}}, {TGI_OP_EQ, {1, 0, 0, 1}},
                  {TGI_OP_NE, {0, 1, 1, 0}},  {TGI_OP_LT, {0, 1, 0, 0}},
                  {TGI_OP_LE, {1, 1, 0, 1}}};
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        apply(tables[i].op, TYPES(TG_BOOL, TG_BOOL, TG_BOOL), 2, 4, out,
              OPERANDS(a, b));
        cr_expect_arr_eq(out, tables[i].out, 4, "%s",
                         tgi_op_table[tables[i].op].name);
    }
    apply(TGI_OP_NOT, TYPES(TG_BOOL, TG_BOOL), 1, 4, out, OPERANDS(b));
    cr_expect_arr_eq(out, ((uint8_t[]){1, 0, 1, 0}), 4);
}

/* -- Floats: bit by bit ---------------------------------------------------- */

/* Equal bits, or both NaN with a clear sign. */
#define EXPECT_SAME_FLOATS(out, expected, n, what) \
    for (int k = 0; k < (n); k++) { \
        if (isnan((expected)[k])) \
            cr_expect(isnan((out)[k]) && !signbit((out)[k]), "%s: %d", what, \
                      k); \
        else \
            cr_expect_eq(memcmp(&(out)[k], &(expected)[k], sizeof(*(out))), \
                         0, "%s: %d: %a, expected %a", what, k, \
                         (double)(out)[k], (double)(expected)[k]); \
    }

#define CHECK_FLOATS(type, ID) \
    do { \
        type nan = (type)NAN, inf = (type)INFINITY, out[8]; \
        type a[] = {-0.0, 0.0, nan, 1, -inf, 2, -0.0, -nan}; \
        type b[] = {0.0, -0.0, 1, nan, inf, -3, -0.0, nan}; \
        type smaller[] = {-0.0, -0.0, nan, nan, -inf, -3, -0.0, nan}; \
        type larger[] = {0.0, 0.0, nan, nan, inf, 2, -0.0, nan}; \
        type sign[] = {-0.0, 0.0, nan, 1, -1, 1, -0.0, nan}; \
        type half[] = {0.5, 1.5, 2.5, -0.5, -1.5, 0.25, -0.25, 0x1p90}; \
        type even[] = {0, 2, 2, -0.0, -2, 0, -0.0, 0x1p90}; \
        apply(TGI_OP_MIN, TYPES(TG_##ID, TG_##ID, TG_##ID), 2, 8, out, \
              OPERANDS(a, b)); \
        EXPECT_SAME_FLOATS(out, smaller, 8, "min"); \
        apply(TGI_OP_MAX, TYPES(TG_##ID, TG_##ID, TG_##ID), 2, 8, out, \
              OPERANDS(a, b)); \
        EXPECT_SAME_FLOATS(out, larger, 8, "max"); \
        apply(TGI_OP_SIGN, TYPES(TG_##ID, TG_##ID), 1, 8, out, OPERANDS(a)); \
        EXPECT_SAME_FLOATS(out, sign, 8, "sign"); \
        apply(TGI_OP_ROUND, TYPES(TG_##ID, TG_##ID), 1, 8, out, \
              OPERANDS(half)); \
        EXPECT_SAME_FLOATS(out, even, 8, "round"); \
        apply(TGI_OP_NEG, TYPES(TG_##ID, TG_##ID), 1, 2, out, OPERANDS(a)); \
        EXPECT_SAME_FLOATS(out, b, 2, "neg"); \
        apply(TGI_OP_ABS, TYPES(TG_##ID, TG_##ID), 1, 8, out, OPERANDS(a)); \
        for (int k = 0; k < 8; k++) \
            cr_expect(!signbit(out[k]), "abs"); \
    } while (0)

Test(recipes, of_floats_keep_zeros_and_nans_apart)
{
    CHECK_FLOATS(double, F64);
    CHECK_FLOATS(float, F32);
}

Test(recipes, of_comparisons_are_false_for_nan_but_ne)
{
    double a[] = {(double)NAN, 1}, b[] = {1, (double)NAN};
    uint8_t out[2];
    static const tgi_op ops[] = {TGI_OP_EQ, TGI_OP_LT, TGI_OP_LE, TGI_OP_NE};
    for (int i = 0; i < 4; i++) {
        apply(ops[i], TYPES(TG_BOOL, TG_F64, TG_F64), 2, 2, out,
              OPERANDS(a, b));
        cr_expect_eq(out[0], i == 3);
        cr_expect_eq(out[1], i == 3);
    }
}

Test(recipes, of_fma_round_once)
{
    /* (1 + e)(1 - e) - 1 = -e², which two roundings lose. */
    float a[] = {1 + 0x1p-12f}, b[] = {1 - 0x1p-12f}, c[] = {-1}, out[1];
    apply(TGI_OP_FMA, TYPES(TG_F32, TG_F32, TG_F32, TG_F32), 3, 1, out,
          OPERANDS(a, b, c));
    cr_expect_eq(out[0], -0x1p-24f);
    /* Just below a tie, by less than a double shows: rounding to double first
       would make it the tie, and round up. */
    float x[] = {0x1p-12f + 0x1p-27f}, y[] = {0x1p-12f - 0x1p-27f};
    float z[] = {1 + 0x1p-23f};
    apply(TGI_OP_FMA, TYPES(TG_F32, TG_F32, TG_F32, TG_F32), 3, 1, out,
          OPERANDS(x, y, z));
    cr_expect_eq(out[0], 1 + 0x1p-23f);
    volatile double sum = (double)x[0] * (double)y[0] + (double)z[0];
    cr_expect_neq((float)sum, out[0]);
}

/* With two roundings only, the error at the second is 1.49 ulp. */
Test(recipes, of_rsqrt_correct_their_roundings)
{
    float x[] = {4, 0x1.019566p0f, 0x1p-149f, 0, -0.0f, INFINITY}, out[7];
    apply(TGI_OP_RSQRT, TYPES(TG_F32, TG_F32), 1, 6, out, OPERANDS(x));
    float expected[] = {0.5f, 0, 0x1.6a09e6p74f, INFINITY, -INFINITY, 0};
    expected[1] = (float)(1 / sqrt((double)x[1]));
    cr_expect_arr_eq(out, expected, sizeof(expected));
    volatile float root = sqrtf(x[1]), twice = 1 / root;
    cr_expect_neq(out[1], twice);
    float none[] = {-INFINITY, -1, NAN};
    apply(TGI_OP_RSQRT, TYPES(TG_F32, TG_F32), 1, 3, out, OPERANDS(none));
    cr_expect(isnan(out[0]) && isnan(out[1]) && isnan(out[2]));
}

Test(recipes, of_select_take_bool_and_any_type)
{
    uint8_t m[] = {1, 0};
    int16_t a[] = {-5, -6}, b[] = {7, 8}, out[2];
    apply(TGI_OP_SELECT, TYPES(TG_I16, TG_BOOL, TG_I16, TG_I16), 3, 2, out,
          OPERANDS(m, a, b));
    cr_expect_arr_eq(out, ((int16_t[]){-5, 8}), 4);
}

/* -- Casts ----------------------------------------------------------------- */

Test(recipes, of_casts_from_float_saturate)
{
    double inf = (double)INFINITY;
    double x[] = {(double)NAN, inf, -inf, -1.9, 255.9, 1e30, -0.5, 127.99};
    int8_t i8[8];
    uint8_t u8[8];
    int64_t i64[8];
    uint64_t u64[8];
    apply(TGI_OP_CAST, TYPES(TG_I8, TG_F64), 1, 8, i8, OPERANDS(x));
    cr_expect_arr_eq(i8, ((int8_t[]){0, 127, -128, -1, 127, 127, 0, 127}), 8);
    apply(TGI_OP_CAST, TYPES(TG_U8, TG_F64), 1, 8, u8, OPERANDS(x));
    cr_expect_arr_eq(u8, ((uint8_t[]){0, 255, 0, 0, 255, 255, 0, 127}), 8);
    apply(TGI_OP_CAST, TYPES(TG_I64, TG_F64), 1, 8, i64, OPERANDS(x));
    cr_expect_arr_eq(i64,
                     ((int64_t[]){0, INT64_MAX, INT64_MIN, -1, 255, INT64_MAX,
                                  0, 127}),
                     64);
    apply(TGI_OP_CAST, TYPES(TG_U64, TG_F64), 1, 8, u64, OPERANDS(x));
    cr_expect_arr_eq(
        u64, ((uint64_t[]){0, UINT64_MAX, 0, 0, 255, UINT64_MAX, 0, 127}), 64);

    float f[] = {0x1p31f, -0x1p31f, 0x1p32f, 0x1.fffffep30f, -1};
    int32_t i32[5];
    uint32_t u32[5];
    apply(TGI_OP_CAST, TYPES(TG_I32, TG_F32), 1, 5, i32, OPERANDS(f));
    cr_expect_arr_eq(
        i32, ((int32_t[]){INT32_MAX, INT32_MIN, INT32_MAX, 2147483520, -1}),
        20);
    apply(TGI_OP_CAST, TYPES(TG_U32, TG_F32), 1, 5, u32, OPERANDS(f));
    cr_expect_arr_eq(
        u32, ((uint32_t[]){1u << 31, 0, UINT32_MAX, 2147483520, 0}), 20);
}

Test(recipes, of_casts_between_integers_wrap)
{
    int32_t x[] = {-1, 300, INT32_MIN, 128};
    uint8_t u8[4];
    int8_t i8[4];
    uint64_t u64[4];
    apply(TGI_OP_CAST, TYPES(TG_U8, TG_I32), 1, 4, u8, OPERANDS(x));
    cr_expect_arr_eq(u8, ((uint8_t[]){255, 44, 0, 128}), 4);
    apply(TGI_OP_CAST, TYPES(TG_I8, TG_I32), 1, 4, i8, OPERANDS(x));
    cr_expect_arr_eq(i8, ((int8_t[]){-1, 44, 0, -128}), 4);
    apply(TGI_OP_CAST, TYPES(TG_U64, TG_I32), 1, 4, u64, OPERANDS(x));
    cr_expect_eq(u64[0], UINT64_MAX);
}

Test(recipes, of_casts_to_float_round_once)
{
    /* Just above a tie of f32, by less than a double shows. */
    int64_t i = (INT64_C(1) << 60) + (INT64_C(1) << 36) + 1;
    uint64_t u = (UINT64_C(1) << 63) + (UINT64_C(1) << 39) + 1;
    uint64_t most = UINT64_MAX;
    double d = 1 + 0x1p-24;
    float out[1];
    apply(TGI_OP_CAST, TYPES(TG_F32, TG_I64), 1, 1, out, OPERANDS(&i));
    cr_expect_eq(out[0], 0x1.000002p60f);
    apply(TGI_OP_CAST, TYPES(TG_F32, TG_U64), 1, 1, out, OPERANDS(&u));
    cr_expect_eq(out[0], 0x1.000002p63f);
    apply(TGI_OP_CAST, TYPES(TG_F32, TG_U64), 1, 1, out, OPERANDS(&most));
    cr_expect_eq(out[0], 0x1p64f);
    apply(TGI_OP_CAST, TYPES(TG_F32, TG_F64), 1, 1, out, OPERANDS(&d));
    cr_expect_eq(out[0], 1.0f);
}

Test(recipes, of_casts_to_and_from_bool)
{
    float f[] = {0, -0.0f, NAN, 0x1p-149f};
    int16_t i[] = {0, 256, -1, 1};
    uint8_t out[4];
    double d[4];
    apply(TGI_OP_CAST, TYPES(TG_BOOL, TG_F32), 1, 4, out, OPERANDS(f));
    cr_expect_arr_eq(out, ((uint8_t[]){0, 0, 1, 1}), 4);
    apply(TGI_OP_CAST, TYPES(TG_BOOL, TG_I16), 1, 4, out, OPERANDS(i));
    cr_expect_arr_eq(out, ((uint8_t[]){0, 1, 1, 1}), 4);
    apply(TGI_OP_CAST, TYPES(TG_F64, TG_BOOL), 1, 4, d, OPERANDS(out));
    cr_expect(d[0] == 0 && d[1] == 1);
}
