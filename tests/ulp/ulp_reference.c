/* SPDX-License-Identifier: MIT */
/*
 * ulp_reference.c - the functions of ulp_bounds.def by MPFR, their table, and
 * the exact error of a result.
 */
#include "ulp/ulp.h"

#include "ulp/ulp_quick.h"

/* Precision of every operation; none of the functions here cancels. */
#define BITS 128

/* -- By MPFR --------------------------------------------------------------- */

#define UNUSED __attribute__((unused))

#define EXACT_1(name, function) \
    static void exact_##name(mpfr_t y, const mpfr_t a, UNUSED const mpfr_t b) \
    { \
        function(y, a, MPFR_RNDN); \
    }
#define EXACT_2(name, function) \
    static void exact_##name(mpfr_t y, const mpfr_t a, const mpfr_t b) \
    { \
        function(y, a, b, MPFR_RNDN); \
    }

EXACT_1(neg, mpfr_neg)
EXACT_1(abs, mpfr_abs)
EXACT_1(stop, mpfr_set)
EXACT_1(floor, mpfr_rint_floor)
EXACT_1(ceil, mpfr_rint_ceil)
EXACT_1(round, mpfr_rint_roundeven)
EXACT_1(trunc, mpfr_rint_trunc)
EXACT_1(sqrt, mpfr_sqrt)
EXACT_1(cbrt, mpfr_cbrt)
EXACT_1(exp, mpfr_exp)
EXACT_1(exp2, mpfr_exp2)
EXACT_1(expm1, mpfr_expm1)
EXACT_1(log, mpfr_log)
EXACT_1(log2, mpfr_log2)
EXACT_1(log10, mpfr_log10)
EXACT_1(log1p, mpfr_log1p)
EXACT_1(sin, mpfr_sin)
EXACT_1(cos, mpfr_cos)
EXACT_1(tan, mpfr_tan)
EXACT_1(asin, mpfr_asin)
EXACT_1(acos, mpfr_acos)
EXACT_1(atan, mpfr_atan)
EXACT_1(sinh, mpfr_sinh)
EXACT_1(cosh, mpfr_cosh)
EXACT_1(tanh, mpfr_tanh)
EXACT_1(asinh, mpfr_asinh)
EXACT_1(acosh, mpfr_acosh)
EXACT_1(atanh, mpfr_atanh)
EXACT_1(erf, mpfr_erf)
EXACT_1(erfc, mpfr_erfc)
EXACT_2(pow, mpfr_pow)
EXACT_2(atan2, mpfr_atan2)
EXACT_2(hypot, mpfr_hypot)

static void exact_sign(mpfr_t y, const mpfr_t a, UNUSED const mpfr_t b)
{
    if (mpfr_zero_p(a) || mpfr_nan_p(a))
        mpfr_set(y, a, MPFR_RNDN);
    else
        mpfr_set_si(y, mpfr_sgn(a) > 0 ? 1 : -1, MPFR_RNDN);
}

/* Not mpfr_rec_sqrt, which returns +Inf for -0. */
static void exact_rsqrt(mpfr_t y, const mpfr_t a, UNUSED const mpfr_t b)
{
    mpfr_sqrt(y, a, MPFR_RNDN);
    mpfr_ui_div(y, 1, y, MPFR_RNDN);
}

static void exact_sigmoid(mpfr_t y, const mpfr_t a, UNUSED const mpfr_t b)
{
    mpfr_neg(y, a, MPFR_RNDN);
    mpfr_exp(y, y, MPFR_RNDN);
    mpfr_add_ui(y, y, 1, MPFR_RNDN);
    mpfr_ui_div(y, 1, y, MPFR_RNDN);
}

static bool is_minus_infinity(const mpfr_t a)
{
    return mpfr_inf_p(a) && mpfr_sgn(a) < 0;
}

static void exact_silu(mpfr_t y, const mpfr_t a, const mpfr_t b)
{
    exact_sigmoid(y, a, b);
    if (is_minus_infinity(a))
        mpfr_neg(y, y, MPFR_RNDN);
    else
        mpfr_mul(y, y, a, MPFR_RNDN);
}

static void exact_softplus(mpfr_t y, const mpfr_t a, UNUSED const mpfr_t b)
{
    const bool is_positive = mpfr_sgn(a) > 0 && !mpfr_nan_p(a);
    mpfr_set(y, a, MPFR_RNDN);
    if (is_positive)
        mpfr_neg(y, y, MPFR_RNDN);
    mpfr_exp(y, y, MPFR_RNDN);
    mpfr_log1p(y, y, MPFR_RNDN);
    if (is_positive)
        mpfr_add(y, y, a, MPFR_RNDN);
}

static void exact_gelu(mpfr_t y, const mpfr_t a, UNUSED const mpfr_t b)
{
    mpfr_sqrt_ui(y, 2, MPFR_RNDN);
    mpfr_div(y, a, y, MPFR_RNDN);
    mpfr_neg(y, y, MPFR_RNDN);
    mpfr_erfc(y, y, MPFR_RNDN);
    if (is_minus_infinity(a))
        mpfr_neg(y, y, MPFR_RNDN);
    else
        mpfr_mul(y, y, a, MPFR_RNDN);
    mpfr_div_2ui(y, y, 1, MPFR_RNDN);
}

/* -- Table ----------------------------------------------------------------- */

#define ULP_1(ID, f32, f64, quick, exact) \
    {TGI_OP_##ID, 1, {f32, f64}, quick, NULL, exact},
#define ULP_2(ID, f32, f64, quick, exact) \
    {TGI_OP_##ID, 2, {f32, f64}, NULL, quick, exact},
const ulp_function ulp_functions[ULP_FUNCTIONS_MAX] = {
#include "ulp/ulp_bounds.def"
};
#undef ULP_1
#undef ULP_2

#define ULP_1(...) +1
#define ULP_2(...) +1
const int ulp_n_functions = 0
#include "ulp/ulp_bounds.def"
    ;
#undef ULP_1
#undef ULP_2

const ulp_function *ulp_function_of(int op)
{
    for (int i = 0; i < ulp_n_functions; i++)
        if (ulp_functions[i].op == op)
            return &ulp_functions[i];
    return NULL;
}

bool ulp_function_is_wanted(int op)
{
    const tgi_op_info *info = &tgi_op_table[op];
    return (info->cls == TGI_OPCLASS_UNARY &&
            (info->types & TGI_CLASS_FLOAT) != 0) ||
           (info->cls == TGI_OPCLASS_BINARY && info->types == TGI_CLASS_FLOAT);
}

double ulp_bound(const ulp_function *f, int dtype)
{
    return f->bound[dtype == TG_F64];
}

double ulp_uncertainty(const ulp_function *f, int dtype)
{
    return ulp_bound(f, dtype) == 0 ? 0 : dtype == TG_F32 ? 1e-5 : 1e-2;
}

/* -- Errors ---------------------------------------------------------------- */

typedef struct format {
    int digits;  /* of the significand */
    int lowest;  /* exponent of the smallest denormal */
    int highest; /* exponent of the first power of 2 that overflows */
} format;

static format format_of(int dtype)
{
    return dtype == TG_F32 ? (format){24, -149, 128}
                           : (format){53, -1074, 1024};
}

/* Exponent of an ulp of a correctly rounded result. */
static int unit_of(format f, double rounded)
{
    if (isinf(rounded))
        return f.highest - f.digits;
    if (rounded == 0)
        return f.lowest;
    const int unit = ilogb(rounded) - f.digits + 1;
    return unit < f.lowest ? f.lowest : unit;
}

double ulp_error_quick(const ulp_function *f, double given,
                       const double *operands)
{
    return quick_error(given, f->arity == 1
                                  ? f->quick_1(operands[0])
                                  : f->quick_2(operands[0], operands[1]));
}

void ulp_numbers_init(ulp_numbers *numbers)
{
    mpfr_inits2(BITS, numbers->a, numbers->b, numbers->y, numbers->difference,
                (mpfr_ptr)NULL);
}

void ulp_numbers_deinit(ulp_numbers *numbers)
{
    mpfr_clears(numbers->a, numbers->b, numbers->y, numbers->difference,
                (mpfr_ptr)NULL);
    mpfr_free_cache();
}

double ulp_error_exact(const ulp_function *f, int dtype, double given,
                       const double *operands, ulp_numbers *numbers)
{
    mpfr_ptr y = numbers->y, difference = numbers->difference;
    mpfr_set_d(numbers->a, operands[0], MPFR_RNDN);
    mpfr_set_d(numbers->b, f->arity == 2 ? operands[1] : 0, MPFR_RNDN);
    f->exact(y, numbers->a, numbers->b);

    if (mpfr_nan_p(y) || isnan(given))
        return mpfr_nan_p(y) && isnan(given) ? 0 : HUGE_VAL;
    if (mpfr_inf_p(y))
        return isinf(given) && !signbit(given) == !mpfr_signbit(y) ? 0
                                                                   : HUGE_VAL;
    if (given == 0 && !signbit(given) != !mpfr_signbit(y))
        return HUGE_VAL;
    if (mpfr_zero_p(y))
        return given == 0 ? 0 : HUGE_VAL;
    const format type = format_of(dtype);
    const double rounded = dtype == TG_F32
                               ? (double)mpfr_get_flt(y, MPFR_RNDN)
                               : mpfr_get_d(y, MPFR_RNDN);
    if (isinf(given) && isinf(rounded))
        return given == rounded ? 0 : HUGE_VAL;
    if (isinf(given)) {
        mpfr_set_si_2exp(difference, given > 0 ? 1 : -1, type.highest,
                         MPFR_RNDN);
        mpfr_sub(difference, difference, y, MPFR_RNDN);
    } else {
        mpfr_d_sub(difference, given, y, MPFR_RNDN);
    }
    mpfr_mul_2si(difference, difference, -unit_of(type, rounded), MPFR_RNDN);
    return fabs(mpfr_get_d(difference, MPFR_RNDN));
}
