/* SPDX-License-Identifier: MIT */
/* test_store_threshold.c - the decision, from given measurements. */
#include "run/store_threshold.h"

#include "support/support.h"

#define THRESHOLD(...) \
    tgi_store_threshold((double[]){__VA_ARGS__}, \
                        sizeof((double[]){__VA_ARGS__}) / sizeof(double), 1024)

Test(store_threshold, is_the_least_size_that_pays_clearly)
{
    cr_expect_eq(THRESHOLD(120, 100, 96, 70, 80), 8 << 10);
    cr_expect_eq(THRESHOLD(80, 80, 80), 1 << 10);
    cr_expect_eq(THRESHOLD(120, 110, 100, 96), 8 << 10);
    cr_expect_eq(THRESHOLD(50), 1 << 10);
    check_nothing_is_alive();
}

Test(store_threshold, one_disturbed_size_does_not_count)
{
    cr_expect_eq(THRESHOLD(120, 100, 70, 140, 80), 4 << 10);
    cr_expect_eq(THRESHOLD(120, 70, 140, 140, 80), 16 << 10);
    /* Equal times within noise are below 100 now and then. */
    cr_expect_eq(THRESHOLD(95, 93, 96, 70, 80), 8 << 10);
    check_nothing_is_alive();
}

Test(store_threshold, may_be_unknown_or_never_reached)
{
    cr_expect_eq(THRESHOLD(80, 80, 99), 0);
    cr_expect_eq(THRESHOLD(80, 80, 106), INT64_MAX);
    check_nothing_is_alive();
}

Test(store_threshold, medians_ignore_outliers)
{
    double odd[] = {5, 1, 900, 2, 3}, even[] = {4, 1, 3, 2};
    cr_expect_eq(tgi_median_of(odd, 5), 3);
    cr_expect_eq(tgi_median_of(even, 4), 2);
    cr_expect_eq(tgi_median_of(even, 1), 1);
    check_nothing_is_alive();
}
