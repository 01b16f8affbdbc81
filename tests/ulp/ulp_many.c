/* SPDX-License-Identifier: MIT */
/*
 * ulp_many.c - exhaustive tests: loops over the f32 recipes, and the quick
 * errors of their results. Compiled twice: as ulp_many_plain for any CPU, and
 * as ulp_many_vector with flags that enable vectorisation. ulp_sweep.c compares
 * samples of both with the library's kernels and with scalar C functions.
 */
#include "recipe/scalar.h"
#include "ulp/ulp.h"

#define DT F32
#define CLASS FLOAT
#include "recipe/recipe.h"

/* -- Vectorised C functions ------------------------------------------------ */

/*
 * glibc has vector versions of these, with errors of up to 4 ulp of double.
 * They call the scalar functions for lanes outside the domain, or with overflow
 * or underflow, which for most functions is half of all arguments. To avoid
 * these calls, arguments are clamped where the f32 result is already known, and
 * outside the domain the result is NaN. Vector sin and cos also call scalar
 * functions for large arguments, but tan does not, so both are derived from it:
 * u = tan(x/2) gives sin x and the sign of cos x. The magnitude of cos x is
 * derived from tan x, because it must be accurate where it is small.
 */
#ifdef ULP_HAS_LIBMVEC
#define HAS_VECTORS(function) \
    __attribute__((simd("notinbranch"))) double function(double);
#define BOUNDED(function) \
    HAS_VECTORS(function) \
    static inline double function##_bounded(double x) \
    { \
        const double high = x > 600 ? 600 : x; \
        return function(high < -600 ? -600 : high); \
    }
#define INSIDE(function, low, high, any) \
    HAS_VECTORS(function) \
    static inline double function##_inside(double x) \
    { \
        const int is_in = (x >= (low)) & (x <= (high)); \
        const double y = function(is_in ? x : (any)); \
        return is_in ? y : (double)NAN; \
    }
HAS_VECTORS(tan)
HAS_VECTORS(atan)
HAS_VECTORS(tanh)
HAS_VECTORS(asinh)
HAS_VECTORS(cbrt)
HAS_VECTORS(erf)
HAS_VECTORS(erfc)
BOUNDED(exp)
BOUNDED(exp2)
BOUNDED(expm1)
BOUNDED(sinh)
BOUNDED(cosh)
INSIDE(log, 0, HUGE_VAL, 1)
INSIDE(log2, 0, HUGE_VAL, 1)
INSIDE(log10, 0, HUGE_VAL, 1)
INSIDE(log1p, -1, HUGE_VAL, 1)
INSIDE(asin, -1, 1, 0)
INSIDE(acos, -1, 1, 0)
INSIDE(acosh, 1, HUGE_VAL, 2)
INSIDE(atanh, -1, 1, 0)

static inline double sin_by_tan(double x)
{
    const double u = tan(x / 2);
    return 2 * u / (1 + u * u);
}

static inline double cos_by_tan(double x)
{
    const double t = tan(x), u = tan(x / 2);
    return copysign(1 / sqrt(1 + t * t), 1 - fabs(u));
}

#define exp(x) exp_bounded(x)
#define exp2(x) exp2_bounded(x)
#define expm1(x) expm1_bounded(x)
#define sinh(x) sinh_bounded(x)
#define cosh(x) cosh_bounded(x)
#define log(x) log_inside(x)
#define log2(x) log2_inside(x)
#define log10(x) log10_inside(x)
#define log1p(x) log1p_inside(x)
#define asin(x) asin_inside(x)
#define acos(x) acos_inside(x)
#define acosh(x) acosh_inside(x)
#define atanh(x) atanh_inside(x)
#define sin(x) sin_by_tan(x)
#define cos(x) cos_by_tan(x)
#endif
#include "ulp/ulp_quick.h"

/* -- Loops ----------------------------------------------------------------- */

#define ULP_1(ID, f32, f64, quick, exact) \
    static void kernel_##ID(int64_t n, const float *restrict x, \
                            float *restrict out) \
    { \
        for (int64_t i = 0; i < n; i++) \
            out[i] = R(ID)(x[i]); \
    } \
    static int64_t errors_##ID(int64_t n, const float *restrict x, \
                               const float *restrict given, double limit, \
                               double *restrict out) \
    { \
        int64_t n_above = 0; \
        for (int64_t i = 0; i < n; i++) { \
            const double error = \
                quick_error((double)given[i], quick((double)x[i])); \
            out[i] = error; \
            n_above += error > limit; \
        } \
        return n_above; \
    }
#define ULP_2(...)
#include "ulp/ulp_bounds.def"
#undef ULP_1

static const ulp_many functions[TGI_OPS] = {
#define ULP_1(ID, ...) [TGI_OP_##ID] = {kernel_##ID, errors_##ID},
#include "ulp/ulp_bounds.def"
#undef ULP_1
#undef ULP_2
};

const ulp_many *ULP_MANY(int op)
{
    return functions[op].kernel ? &functions[op] : NULL;
}
