/* SPDX-License-Identifier: MIT */
/*
 * ulp_wide.c - quick errors of f64, by the functions of ulp_bounds.def in long
 * double, which is useful where it has at least 11 more bits.
 */
#include <float.h>
#include <math.h>

#include "ulp/ulp.h"

/* -- Functions that C lacks ------------------------------------------------ */

static long double quick_negl(long double x)
{
    return -x;
}

static long double quick_stopl(long double x)
{
    return x;
}

static long double quick_signl(long double x)
{
    return x > 0 ? 1 : x < 0 ? -1 : x;
}

static long double quick_rsqrtl(long double x)
{
    return 1 / sqrtl(x);
}

static long double quick_sigmoidl(long double x)
{
    return 1 / (1 + expl(-x));
}

static long double quick_silul(long double x)
{
    return x == -HUGE_VALL ? -0.0L : x * quick_sigmoidl(x);
}

static long double quick_softplusl(long double x)
{
    return (x > 0 ? x : 0) + log1pl(expl(-fabsl(x)));
}

/* erfc is steep in its tail, so the rounding error of its argument z, times the
   slope there, must be added. */
static long double quick_gelul(long double x)
{
    const long double half_root = 0x1.6a09e667f3bcc908p-1L;
    const long double half_root_low = 0x1.6484597d89b3754bp-66L;
    const long double z = x * half_root;
    const long double lost = fmal(x, half_root, -z) + x * half_root_low;
    const long double slope = (long double)M_2_SQRTPI * expl(-z * z);
    if (isinf(x))
        return x > 0 ? x : -0.0L;
    return 0.5L * x * (erfcl(-z) + slope * lost);
}

/* -- Errors ---------------------------------------------------------------- */

static const struct {
    long double (*one)(long double a);
    long double (*two)(long double a, long double b);
} functions[TGI_OPS] = {
#define ULP_1(ID, f32, f64, quick, exact) [TGI_OP_##ID] = {.one = quick##l},
#define ULP_2(ID, f32, f64, quick, exact) [TGI_OP_##ID] = {.two = quick##l},
#include "ulp/ulp_bounds.def"
#undef ULP_1
#undef ULP_2
};

/* Just below a power of 2 the ulp is ambiguous: it depends on whether the exact
   value rounds to the power. */
static bool has_unsure_unit(long double exact)
{
    int exponent;
    const long double middle = 1 - 0x1p-54L;
    return fabsl(frexpl(fabsl(exact), &exponent) - middle) < 0x1p-58L;
}

double ulp_error_wide(const ulp_function *f, double given,
                      const double *operands)
{
    const long double exact =
        f->arity == 1
            ? functions[f->op].one((long double)operands[0])
            : functions[f->op].two((long double)operands[0],
                                   (long double)operands[1]);
    if (LDBL_MANT_DIG < 64 || has_unsure_unit(exact))
        return HUGE_VAL;
    if (isnan(exact) || isnan(given))
        return isnan(exact) && isnan(given) ? 0 : HUGE_VAL;
    const double rounded = (double)exact;
    if (isinf(given) || isinf(rounded))
        return given == rounded ? 0 : HUGE_VAL;
    if (given == 0 && !signbit(given) != !signbit(exact))
        return HUGE_VAL;
    if (exact == 0)
        return given == 0 ? 0 : HUGE_VAL;
    const int exponent = rounded == 0 ? -1074 : ilogb(rounded) - 52;
    const int unit = exponent < -1074 ? -1074 : exponent;
    return (double)ldexpl(fabsl((long double)given - exact), -unit);
}
