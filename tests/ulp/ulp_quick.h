/* SPDX-License-Identifier: MIT */
/*
 * ulp_quick.h - the functions of ulp_bounds.def that C lacks, in double, and
 * the error of an f32 result relative to a double value. Branch-free, so that
 * compilers can vectorise loops over them.
 */
#ifndef TGI_TEST_ULP_QUICK_H
#define TGI_TEST_ULP_QUICK_H

#include <math.h>
#include <stdint.h>

static inline double quick_neg(double x)
{
    return -x;
}

static inline double quick_stop(double x)
{
    return x;
}

static inline double quick_sign(double x)
{
    const double sign = copysign(1, x);
    return fabs(x) > 0 ? sign : x;
}

static inline double quick_rsqrt(double x)
{
    return 1 / sqrt(x);
}

static inline double quick_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static inline double quick_silu(double x)
{
    const double y = x * quick_sigmoid(x);
    return x == -HUGE_VAL ? -0.0 : y;
}

static inline double quick_softplus(double x)
{
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

static inline double quick_gelu(double x)
{
    const double y = 0.5 * x * erfc(-x * M_SQRT1_2);
    return x == -HUGE_VAL ? -0.0 : y;
}

/*
 * The error in ulp of the exact value rounded to f32; a wrong Inf counts as
 * the smallest power of 2 that overflows. Infinite if NaN, Inf, zero or the
 * sign of a zero is wrong.
 */
static inline double quick_error(double given, double exact)
{
    const double rounded = (double)(float)exact;
    const double size = fabs(rounded);
    const double low = size > 0x1p-126 ? size : 0x1p-126;
    const union {
        double value;
        uint64_t bits;
    } bounded = {.value = low < 0x1p127 ? low : 0x1p127};
    /* 2^23 over the power of two that `bounded` begins with. 2069 is twice
       the bias, and 23. */
    const union {
        uint64_t bits;
        double value;
    } per_unit = {.bits = (UINT64_C(2069) << 52) -
                          (bounded.bits & UINT64_C(0x7ff0000000000000))};
    const double largest = copysign(0x1p128, given);
    const double finite = fabs(given) > 0x1p127 * 2 ? largest : given;
    double error = fabs(finite - exact) * per_unit.value;
    error = given == rounded && fabs(given) == HUGE_VAL ? 0 : error;
    const int is_zero_wrong =
        (given == 0) & (copysign(1, given) != copysign(1, exact));
    const int is_number_wrong = (given != 0) & (exact == 0);
    error = is_zero_wrong | is_number_wrong ? HUGE_VAL : error;
    const int is_one_nan = (given != given) | (exact != exact);
    const int are_both_nan = (given != given) & (exact != exact);
    return are_both_nan ? 0 : is_one_nan ? HUGE_VAL : error;
}

#endif /* TGI_TEST_ULP_QUICK_H */
