/* SPDX-License-Identifier: MIT */
/*
 * random_gradient_elementwise.c - elementwise operations of random programs.
 * Arguments are mapped to where the function is defined and smooth; functions
 * with kinks get arguments at some distance on either side.
 */
#include <math.h>
#include <string.h>

#include "ir/op.h"
#include "random/random_gradient.h"

/* -- One operand ----------------------------------------------------------- */

static double c_neg(double x)
{
    return -x;
}
static double c_rsqrt(double x)
{
    return 1 / sqrt(x);
}
static double c_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}
static double c_silu(double x)
{
    return x / (1 + exp(-x));
}
static double c_softplus(double x)
{
    return log1p(exp(x));
}
static double c_gelu(double x)
{
    return x / 2 * (1 + erf(x * M_SQRT1_2));
}
static double c_square(double x)
{
    return x * x;
}

typedef struct unary {
    const char *name;
    tg_value (*make)(tg_operand x, tg_site site);
    double (*c)(double x);
    double low, high; /* bounds of the argument */
} unary;

#define WIDE -GR_LARGEST, GR_LARGEST
#define POSITIVE 0.3, GR_LARGEST
#define UNIT -0.9, 0.9

static const unary unaries[] = {
    {"neg", tg_neg_at, c_neg, WIDE},
    {"square", tg_square_at, c_square, WIDE},
    {"sqrt", tg_sqrt_at, sqrt, POSITIVE},
    {"rsqrt", tg_rsqrt_at, c_rsqrt, POSITIVE},
    {"cbrt", tg_cbrt_at, cbrt, POSITIVE},
    {"cbrt", tg_cbrt_at, cbrt, -GR_LARGEST, -0.3},
    {"exp", tg_exp_at, exp, -GR_LARGEST, 2},
    {"exp2", tg_exp2_at, exp2, -GR_LARGEST, 2},
    {"expm1", tg_expm1_at, expm1, -GR_LARGEST, 2},
    {"log", tg_log_at, log, POSITIVE},
    {"log2", tg_log2_at, log2, POSITIVE},
    {"log10", tg_log10_at, log10, POSITIVE},
    {"log1p", tg_log1p_at, log1p, -0.6, GR_LARGEST},
    {"sin", tg_sin_at, sin, WIDE},
    {"cos", tg_cos_at, cos, WIDE},
    {"tan", tg_tan_at, tan, UNIT},
    {"asin", tg_asin_at, asin, UNIT},
    {"acos", tg_acos_at, acos, UNIT},
    {"atan", tg_atan_at, atan, WIDE},
    {"sinh", tg_sinh_at, sinh, -2, 2},
    {"cosh", tg_cosh_at, cosh, -2, 2},
    {"tanh", tg_tanh_at, tanh, WIDE},
    {"asinh", tg_asinh_at, asinh, WIDE},
    {"acosh", tg_acosh_at, acosh, 1.3, GR_LARGEST},
    {"atanh", tg_atanh_at, atanh, UNIT},
    {"erf", tg_erf_at, erf, WIDE},
    {"erfc", tg_erfc_at, erfc, WIDE},
    {"sigmoid", tg_sigmoid_at, c_sigmoid, WIDE},
    {"silu", tg_silu_at, c_silu, WIDE},
    {"softplus", tg_softplus_at, c_softplus, WIDE},
    {"gelu", tg_gelu_at, c_gelu, WIDE},
};

/* Bounds of the function on a grid, with a margin; at least one of n operands
   varies. */
enum { GRID = 16 };

static void widen(double *low, double *high)
{
    const double margin = 0.02 * (*high - *low) + 1e-6;
    *low -= margin;
    *high += margin;
}

static void bounds_1(double (*c)(double), const gr_value *x, double *low,
                     double *high)
{
    *low = HUGE_VAL;
    *high = -HUGE_VAL;
    for (int i = 0; i <= 4 * GRID; i++) {
        const double y = c(x->low + (x->high - x->low) * i / (4 * GRID));
        *low = fmin(*low, y);
        *high = fmax(*high, y);
    }
    widen(low, high);
}

void gr_make_unary(gr_frame *f)
{
    const unary *u =
        &unaries[gr_below(f, (int)(sizeof(unaries) / sizeof(*unaries)))];
    const gr_value x = gr_between(f, gr_pick(f), u->low, u->high);
    double low, high;
    bounds_1(u->c, &x, &low, &high);
    gr_add(f, u->name, u->make(TG_IN(x.value), TG_HERE), &x.shape, low, high);
}

/* -- Two operands ---------------------------------------------------------- */

static double c_add(double x, double y)
{
    return x + y;
}
static double c_sub(double x, double y)
{
    return x - y;
}
static double c_mul(double x, double y)
{
    return x * y;
}
static double c_div(double x, double y)
{
    return x / y;
}

typedef struct binary {
    const char *name;
    tg_value (*make)(tg_operand x, tg_operand y, tg_site site);
    double (*c)(double x, double y);
    double low_x, high_x, low_y, high_y;
} binary;

static const binary binaries[] = {
    {"add", tg_add_at, c_add, WIDE, WIDE},
    {"sub", tg_sub_at, c_sub, WIDE, WIDE},
    {"mul", tg_mul_at, c_mul, WIDE, WIDE},
    {"mul", tg_mul_at, c_mul, WIDE, WIDE},
    {"div", tg_div_at, c_div, WIDE, 0.5, GR_LARGEST},
    {"div", tg_div_at, c_div, WIDE, -GR_LARGEST, -0.5},
    {"pow", tg_pow_at, pow, 0.4, 3, -2, 2},
    {"hypot", tg_hypot_at, hypot, WIDE, POSITIVE},
    {"hypot", tg_hypot_at, hypot, -GR_LARGEST, -0.3, WIDE},
    {"atan2", tg_atan2_at, atan2, WIDE, POSITIVE},
    {"atan2", tg_atan2_at, atan2, POSITIVE, WIDE},
    {"atan2", tg_atan2_at, atan2, -GR_LARGEST, -0.3, WIDE},
};

static void bounds_2(double (*c)(double, double), const gr_value *x,
                     const gr_value *y, double *low, double *high)
{
    *low = HUGE_VAL;
    *high = -HUGE_VAL;
    for (int i = 0; i <= GRID; i++)
        for (int k = 0; k <= GRID; k++) {
            const double z = c(x->low + (x->high - x->low) * i / GRID,
                               y->low + (y->high - y->low) * k / GRID);
            *low = fmin(*low, z);
            *high = fmax(*high, z);
        }
    widen(low, high);
}

/* An integral exponent allows any base. */
static void make_whole_power(gr_frame *f)
{
    const gr_value x = gr_between(f, gr_pick(f), -1.5, 1.5);
    const int power = gr_below(f, 4);
    gr_add(f, "pow of a whole number", tg_pow(x.value, (double)power), &x.shape,
           -4, 4);
}

void gr_make_binary(gr_frame *f)
{
    if (gr_one_in(f, 20)) {
        make_whole_power(f);
        return;
    }
    const binary *b =
        &binaries[gr_below(f, (int)(sizeof(binaries) / sizeof(*binaries)))];
    gr_value x = gr_pick(f);
    gr_value y = gr_pick_beside(f, &x.shape);
    if (gr_one_in(f, 2)) {
        const gr_value swap = x;
        x = y;
        y = swap;
    }
    x = gr_between(f, x, b->low_x, b->high_x);
    y = gr_between(f, y, b->low_y, b->high_y);
    const gr_shape shape = gr_common(&x.shape, &y.shape);
    double low, high;
    bounds_2(b->c, &x, &y, &low, &high);
    gr_add(f, b->name, b->make(TG_IN(x.value), TG_IN(y.value), TG_HERE), &shape,
           low, high);
}

static bool is_made(const char *name)
{
    for (size_t i = 0; i < sizeof(unaries) / sizeof(*unaries); i++)
        if (strcmp(unaries[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < sizeof(binaries) / sizeof(*binaries); i++)
        if (strcmp(binaries[i].name, name) == 0)
            return true;
    return false;
}

const char *gr_forgotten(void)
{
    for (int op = 1; op < TGI_OPS; op++) {
        const tgi_op_info *info = &tgi_op_table[op];
        /* A fast form is that of the op above, in contexts of that accuracy. */
        const int made = op - (tgi_op_has(op, TGI_FLAG_FAST) ? 1 : 0);
        if ((info->cls == TGI_OPCLASS_UNARY ||
             info->cls == TGI_OPCLASS_BINARY) &&
            info->gradient == TGI_GRADIENT_SMOOTH &&
            !is_made(tgi_op_table[made].name))
            return info->name;
    }
    return NULL;
}

/* -- Three operands -------------------------------------------------------- */

void gr_make_ternary(gr_frame *f)
{
    const gr_value x = gr_pick(f);
    const gr_value y = gr_pick_beside(f, &x.shape);
    const gr_shape product = gr_common(&x.shape, &y.shape);
    const gr_value z = gr_pick_beside(f, &product);
    const gr_shape shape = gr_common(&product, &z.shape);
    double low, high;
    bounds_2(c_mul, &x, &y, &low, &high);
    gr_add(f, "fma", tg_fma(x.value, y.value, z.value), &shape, low + z.low,
           high + z.high);
}

/* Selects by a condition on elements away from its threshold, or occasionally
   on any elements. */
void gr_make_select(gr_frame *f)
{
    const gr_value x = gr_pick(f);
    const gr_value y = gr_pick_beside(f, &x.shape);
    const gr_shape both = gr_common(&x.shape, &y.shape);
    const gr_value z = gr_pick_beside(f, &both);
    const gr_shape shape = gr_common(&both, &z.shape);
    const tg_value safe =
        tg_gt(tg_add(x.value, gr_signs(f, &x, GR_LARGEST + 1)), 0.0);
    const tg_value condition = gr_one_in(f, 8) ? tg_le(x.value, 0.1) : safe;
    gr_add(f, "select", tg_select(condition, y.value, z.value), &shape,
           fmin(y.low, z.low), fmax(y.high, z.high));
}

/* -- Kinks ----------------------------------------------------------------- */

enum { APART = 2 * GR_LARGEST + 1 };

static void make_abs(gr_frame *f, const gr_value *x)
{
    const double size = GR_LARGEST + 0.5;
    const tg_value y = tg_abs(tg_add(x->value, gr_signs(f, x, size)));
    gr_add(f, "abs", tg_sub(y, size), &x->shape, -GR_LARGEST, GR_LARGEST);
}

static void make_relu(gr_frame *f, const gr_value *x)
{
    const double size = GR_LARGEST + 0.5;
    const tg_value y = tg_relu(tg_add(x->value, gr_signs(f, x, size)));
    gr_add(f, "relu", tg_mul(y, 0.4), &x->shape, 0, GR_LARGEST);
}

static void make_max(gr_frame *f, const gr_value *x)
{
    const gr_value y = gr_pick_beside(f, &x->shape);
    const gr_shape shape = gr_common(&x->shape, &y.shape);
    const tg_value moved = tg_add(x->value, gr_signs(f, x, APART));
    if (gr_one_in(f, 2))
        gr_add(f, "max", tg_max(moved, y.value), &shape, -GR_LARGEST,
               APART + GR_LARGEST);
    else
        gr_add(f, "min", tg_min(y.value, moved), &shape, -APART - GR_LARGEST,
               GR_LARGEST);
}

/* Beyond either limit, or between them. */
static void make_clamp(gr_frame *f, const gr_value *x)
{
    const tg_value moved = tg_add(tg_add(x->value, gr_signs(f, x, APART / 2.0)),
                                  gr_signs(f, x, APART / 2.0));
    gr_add(f, "clamp", tg_clamp(moved, -GR_LARGEST - 0.25, GR_LARGEST + 0.25),
           &x->shape, -GR_LARGEST - 0.25, GR_LARGEST + 0.25);
}

/* Step functions: finite differences are zero away from the jumps. */
static void make_steps(gr_frame *f, const gr_value *x)
{
    static tg_value (*const makes[])(tg_operand, tg_site) = {
        tg_floor_at, tg_ceil_at, tg_trunc_at, tg_round_at, tg_sign_at};
    const tg_value near =
        tg_add(tg_mul(x->value, 0.2 / GR_LARGEST), gr_signs(f, x, 1.25));
    const tg_value y = makes[gr_below(f, 5)](TG_IN(near), TG_HERE);
    gr_add(f, "steps", tg_fma(y, 0.5, tg_mul(x->value, 0.5)), &x->shape, -3, 3);
}

void gr_make_kinked(gr_frame *f)
{
    static void (*const makes[])(gr_frame *, const gr_value *) = {
        make_abs, make_relu, make_max, make_max, make_clamp, make_steps};
    const gr_value x = gr_pick(f);
    makes[gr_below(f, (int)(sizeof(makes) / sizeof(*makes)))](f, &x);
}

/* Casts to the other float dtype and back. Only to the wider one, because
   finite differences would see the rounding. */
void gr_make_cast(gr_frame *f)
{
    const gr_value x = gr_pick(f);
    const tg_dtype wide = TG_F64;
    const tg_value y = tg_sin(tg_cast(x.value, wide));
    gr_add(f, "cast", tg_cast(y, f->root->dtype), &x.shape, -1, 1);
}
