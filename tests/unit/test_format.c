/* SPDX-License-Identifier: MIT */
/* test_format.c - tensors as text, whole and shortened. */
#include <criterion/criterion.h>

#include "base/alloc.h"
#include "runtime/format.h"
#include "support/support.h"

#define DIMS(...) (const int64_t[]){__VA_ARGS__}

static tgi_view dense(void *data, tg_dtype dtype, int rank,
                      const int64_t *dims)
{
    tgi_view view;
    tgi_view_init(&view, data, dtype, rank, dims);
    return view;
}

static void expect_text(tgi_view view, const char *expected)
{
    tgi_strbuf out = {0};
    tgi_format_view(&view, &out);
    cr_assert_not(out.failed);
    cr_expect_str_eq(out.text, expected, "%s", out.text);
    tgi_strbuf_deinit(&out);
    check_nothing_is_alive();
}

static void expect_print(const char *format, const tgi_view *values, size_t n,
                         const char *expected)
{
    tgi_strbuf out = {0};
    tgi_format_print(format, values, n, &out);
    cr_assert_not(out.failed);
    cr_expect_str_eq(out.text ? out.text : "", expected);
    tgi_strbuf_deinit(&out);
    check_nothing_is_alive();
}

Test(format, shows_scalars_plainly)
{
    int32_t i = -7;
    uint8_t truth = 1;
    float f = 1.5f;
    expect_text(dense(&i, TG_I32, 0, NULL), "-7");
    expect_text(dense(&truth, TG_BOOL, 0, NULL), "true");
    expect_text(dense(&f, TG_F32, 0, NULL), "1.5");
}

Test(format, nests_brackets_and_breaks_lines)
{
    int8_t x[] = {1, 2, 3, 4, 5, 6, 7, 8};
    expect_text(dense(x, TG_I8, 1, DIMS(3)), "[1 2 3]");
    expect_text(dense(x, TG_I8, 2, DIMS(2, 2)), "[[1 2]\n [3 4]]");
    expect_text(dense(x, TG_I8, 3, DIMS(2, 2, 2)),
                "[[[1 2]\n  [3 4]]\n\n [[5 6]\n  [7 8]]]");
    expect_text(dense(x, TG_I8, 2, DIMS(1, 1)), "[[1]]");
}

Test(format, shortens_axes_longer_than_six)
{
    int16_t x[49];
    for (int i = 0; i < 49; i++)
        x[i] = (int16_t)i;
    expect_text(dense(x, TG_I16, 1, DIMS(6)), "[0 1 2 3 4 5]");
    expect_text(dense(x, TG_I16, 1, DIMS(7)), "[0 1 2 ... 4 5 6]");
    expect_text(dense(x, TG_I16, 2, DIMS(7, 7)),
                "[[0 1 2 ... 4 5 6]\n"
                " [7 8 9 ... 11 12 13]\n"
                " [14 15 16 ... 18 19 20]\n"
                " ...\n"
                " [28 29 30 ... 32 33 34]\n"
                " [35 36 37 ... 39 40 41]\n"
                " [42 43 44 ... 46 47 48]]");
}

Test(format, follows_strides)
{
    int8_t x[] = {1, 2, 3, 4};
    tgi_view transposed = dense(x, TG_I8, 2, DIMS(2, 2));
    transposed.strides[0] = 1;
    transposed.strides[1] = 2;
    expect_text(transposed, "[[1 3]\n [2 4]]");
    tgi_view reversed = dense(x + 3, TG_I8, 1, DIMS(4));
    reversed.strides[0] = -1;
    expect_text(reversed, "[4 3 2 1]");
    tgi_view repeated = dense(x, TG_I8, 1, DIMS(INT64_MAX));
    repeated.strides[0] = 0;
    expect_text(repeated, "[1 1 1 ... 1 1 1]");
}

Test(format, prints_empty_tensors)
{
    expect_text(dense(NULL, TG_F32, 1, DIMS(0)), "[]");
    expect_text(dense(NULL, TG_F32, 2, DIMS(2, 0)), "[[]\n []]");
    expect_text(dense(NULL, TG_F32, 2, DIMS(0, 2)), "[]");
    expect_text(dense(NULL, TG_F32, 3, DIMS(1, 0, 3)), "[[]]");
}

Test(format, replaces_values_and_percent_signs)
{
    int32_t a = 1, b[] = {2, 3};
    tgi_view values[] = {dense(&a, TG_I32, 0, NULL),
                         dense(b, TG_I32, 1, DIMS(2))};
    expect_print("a=%v, b=%v, 100%%", values, 2, "a=1, b=[2 3], 100%");
    expect_print("%v%v%%v", values, 2, "1[2 3]%v");
    expect_print("", values, 2, "");
    expect_print("no values", NULL, 0, "no values");
}

Test(format, replaces_types)
{
    int32_t a = 1, b[] = {2, 3};
    tgi_view values[] = {dense(&a, TG_I32, 0, NULL),
                         dense(b, TG_I32, 2, DIMS(1, 2)),
                         dense(NULL, TG_F64, 1, DIMS(0))};
    expect_print("%t %t %t", values, 3, "i32[] i32[1,2] f64[0]");
    expect_print("%v is %t, %%t", values, 2, "1 is i32[1,2], %t");
    expect_print("%t %t", values, 1, "i32[] %t");
}

Test(format, repeats_one_value)
{
    int32_t a = 1;
    tgi_view value = dense(&a, TG_I32, 0, NULL);
    tgi_strbuf out = {0};
    tgi_format_repeated("%t %v %v", &value, &out);
    cr_expect_str_eq(out.text, "i32[] 1 1");
    tgi_strbuf_deinit(&out);
    check_nothing_is_alive();
}

Test(format, copies_unknown_conversions)
{
    int32_t a = 1;
    tgi_view value = dense(&a, TG_I32, 0, NULL);
    expect_print("%d %v %v %", &value, 1, "%d 1 %v %");
}

Test(format, survives_a_lack_of_memory)
{
    int32_t x[] = {1, 2, 3};
    tgi_view view = dense(x, TG_I32, 1, DIMS(3));
    tgi_strbuf out = {0};
    tgi_alloc_inject_failure(0, 1);
    tgi_format_view(&view, &out);
    tgi_alloc_inject_failure(-1, 0);
    cr_expect(out.failed);
    tgi_strbuf_deinit(&out);
    check_nothing_is_alive();
}
