/* SPDX-License-Identifier: MIT */
/* test_checked.c - overflow-checked arithmetic. */
#include "base/checked.h"

#include "support/support.h"

#define BIG ((int64_t)1 << 40)

static int64_t count_of(int rank, const int64_t *dims)
{
    int64_t count;
    return tgi_checked_count(rank, dims, &count) ? count : -1;
}

Test(checked, counts_elements)
{
    cr_assert_eq(count_of(0, NULL), 1);
    cr_assert_eq(count_of(3, (int64_t[]){2, 3, 4}), 24);
    cr_assert_eq(count_of(3, (int64_t[]){2, 0, 4}), 0);
    cr_assert_eq(count_of(1, (int64_t[]){INT64_MAX}), INT64_MAX);
    cr_assert_eq(count_of(2, (int64_t[]){BIG, 1 << 22}), BIG << 22);
}

Test(checked, refuses_counts_that_do_not_fit)
{
    cr_assert_eq(count_of(2, (int64_t[]){BIG, BIG}), -1);
    cr_assert_eq(count_of(2, (int64_t[]){INT64_MAX, 2}), -1);
    cr_assert_eq(count_of(2, (int64_t[]){2, -3}), -1);
    cr_assert_eq(count_of(2, (int64_t[]){-2, -3}), -1);
    cr_assert_eq(count_of(1, (int64_t[]){INT64_MIN}), -1);
}

Test(checked, a_zero_does_not_excuse_an_overflow)
{
    cr_assert_eq(count_of(3, (int64_t[]){0, BIG, BIG}), -1);
    cr_assert_eq(count_of(3, (int64_t[]){BIG, BIG, 0}), -1);
    cr_assert_eq(count_of(2, (int64_t[]){0, -1}), -1);
}

Test(checked, bytes_must_fit_too)
{
    int64_t bytes;
    cr_assert(tgi_checked_bytes(2, (int64_t[]){3, 5}, 8, &bytes));
    cr_assert_eq(bytes, 120);
    cr_assert(tgi_checked_bytes(0, NULL, 4, &bytes));
    cr_assert_eq(bytes, 4);
    cr_assert(tgi_checked_bytes(1, (int64_t[]){0}, 8, &bytes));
    cr_assert_eq(bytes, 0);
    const int64_t large[] = {INT64_MAX / 4};
    cr_assert(tgi_checked_bytes(1, large, 4, &bytes));
    cr_assert_not(tgi_checked_bytes(1, large, 8, &bytes));
    cr_assert_not(
        tgi_checked_bytes(2, (int64_t[]){0, INT64_MAX / 4}, 8, &bytes));
}

Test(checked, sums_and_products_report_overflow)
{
    int64_t out;
    cr_assert(tgi_checked_mul(INT64_MIN, 1, &out));
    cr_assert_not(tgi_checked_mul(INT64_MIN, -1, &out));
    cr_assert(tgi_checked_add(INT64_MAX, INT64_MIN, &out));
    cr_assert_eq(out, -1);
    cr_assert_not(tgi_checked_add(INT64_MAX, 1, &out));
    cr_assert(tgi_checked_sub(INT64_MIN, INT64_MIN, &out));
    cr_assert_eq(out, 0);
    cr_assert_not(tgi_checked_sub(0, INT64_MIN, &out));
}

Test(checked, floor_division_rounds_down)
{
    for (int64_t b = 1; b < 9; b++)
        for (int64_t a = -40; a <= 40; a++) {
            const int64_t q = tgi_floor_div(a, b);
            cr_assert(q * b <= a && a < (q + 1) * b);
        }
    cr_assert_eq(tgi_floor_div(INT64_MIN, 1), INT64_MIN);
    cr_assert_eq(tgi_floor_div(INT64_MIN, INT64_MAX), -2);
}
