/* SPDX-License-Identifier: MIT */
/*
 * op_elementwise.c - elementwise operators other than those of one line in the
 * table.
 */
#include "onnx_run.h"

/* -- Any number of operands ------------------------------------------------ */

typedef tg_value binary(tg_operand a, tg_operand b, tg_site site);

static tg_value combine(const tgi_onnx_call *c, binary *op)
{
    tg_value all = tgi_onnx_in(c, 0);
    for (size_t i = 1; i < c->node->n_inputs; i++) {
        const tg_value next = tgi_onnx_in(c, i);
        all = op(TG_IN(all), TG_IN(next), c->site);
    }
    return all;
}

void tgi_onnx_build_max(const tgi_onnx_call *c)
{
    tgi_onnx_out(c, 0, combine(c, tg_max_at));
}

void tgi_onnx_build_min(const tgi_onnx_call *c)
{
    tgi_onnx_out(c, 0, combine(c, tg_min_at));
}

void tgi_onnx_build_sum(const tgi_onnx_call *c)
{
    tgi_onnx_out(c, 0, combine(c, tg_add_at));
}

void tgi_onnx_build_mean(const tgi_onnx_call *c)
{
    const tg_value sum = combine(c, tg_add_at);
    tgi_onnx_out(c, 0,
                 F2(div, sum,
                    tgi_onnx_scalar_like(c, sum, (double)c->node->n_inputs)));
}

/* -- Types ----------------------------------------------------------------- */

void tgi_onnx_build_identity(const tgi_onnx_call *c)
{
    tgi_onnx_out(c, 0, tgi_onnx_in(c, 0));
}

void tgi_onnx_build_cast(const tgi_onnx_call *c)
{
    const int32_t code = (int32_t)tgi_onnx_int(c, "to", 0);
    const tg_dtype to = tgi_onnx_dtype(code);
    if (!to)
        tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED, "dtype %s (%d) is unsupported",
                      tgi_onnx_dtype_name(code), (int)code);
    else
        tgi_onnx_out(c, 0,
                     tg_cast_at(TG_IN(tgi_onnx_in(c, 0)), to, c->site));
}

void tgi_onnx_build_cast_like(const tgi_onnx_call *c)
{
    tgi_onnx_out(c, 0,
                 tg_cast_at(TG_IN(tgi_onnx_in(c, 0)), tgi_onnx_in_dtype(c, 1),
                            c->site));
}

/* -- Comparisons ----------------------------------------------------------- */

void tgi_onnx_build_is_inf(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    const bool negative = tgi_onnx_int(c, "detect_negative", 1);
    const bool positive = tgi_onnx_int(c, "detect_positive", 1);
    tg_value y = F1(is_inf, x);
    if (!negative)
        y = F2(and, y, F1(not, F1(signbit, x)));
    if (!positive)
        y = F2(and, y, F1(signbit, x));
    tgi_onnx_out(c, 0, y);
}

void tgi_onnx_build_where(const tgi_onnx_call *c)
{
    tgi_onnx_out(c, 0, F3(select, tgi_onnx_in(c, 0), tgi_onnx_in(c, 1),
                          tgi_onnx_in(c, 2)));
}

/* Bounds are attributes before opset 11, inputs from then on. */
void tgi_onnx_build_clip(const tgi_onnx_call *c)
{
    static const char *const names[] = {"min", "max"};
    tg_value y = tgi_onnx_in(c, 0);
    for (size_t i = 0; i < 2; i++) {
        tg_value bound;
        if (c->opset >= 11 && tgi_onnx_has(c, i + 1))
            bound = tgi_onnx_in(c, i + 1);
        else if (c->opset < 11 && tgi_onnx_attribute(c, names[i]))
            bound = tgi_onnx_scalar_like(c, y, tgi_onnx_float(c, names[i], 0));
        else
            continue;
        y = i == 0 ? F2(max, y, bound) : F2(min, y, bound);
    }
    tgi_onnx_out(c, 0, y);
}

/* -- Arithmetic ------------------------------------------------------------ */

void tgi_onnx_build_mod(const tgi_onnx_call *c)
{
    const tg_value a = tgi_onnx_in(c, 0), b = tgi_onnx_in(c, 1);
    if (!tgi_onnx_int(c, "fmod", 0))
        tgi_onnx_out(c, 0, F2(floormod, a, b));
    else if (tgi_onnx_is_float(tg_value_dtype(a)))
        tgi_onnx_out(c, 0, F2(fmod, a, b));
    else
        tgi_onnx_out(c, 0, F2(rem, a, b));
}

void tgi_onnx_build_bit_shift(const tgi_onnx_call *c)
{
    const tg_value a = tgi_onnx_in(c, 0), b = tgi_onnx_in(c, 1);
    if (tgi_onnx_is(c, "direction", "LEFT", ""))
        tgi_onnx_out(c, 0, F2(shl, a, b));
    else
        tgi_onnx_out(c, 0, F2(shr, a, b));
}

/* a^b of integers by squaring, for 0 <= b < 64; larger powers of numbers other
   than 0, 1 and -1 overflow. */
static tg_value integer_power(const tgi_onnx_call *c, tg_value a, tg_value b)
{
    const tg_value one = tgi_onnx_scalar_like(c, a, 1);
    tg_value result = one;
    b = tg_cast_at(TG_IN(b), TG_I64, c->site);
    for (int bit = 0; bit < 6; bit++) {
        const tg_value is_set =
            F2(ne, F2(and, b, tg_scalar_at(TG_I64, tg_in_i64(1ll << bit),
                                           c->site)),
               tg_scalar_at(TG_I64, tg_in_i64(0), c->site));
        result = F2(mul, result, F3(select, is_set, a, one));
        a = F2(mul, a, a);
    }
    return result;
}

/* The result has the dtype of the base. */
void tgi_onnx_build_pow(const tgi_onnx_call *c)
{
    const tg_value a = tgi_onnx_in(c, 0), b = tgi_onnx_in(c, 1);
    const tg_dtype dtype = tg_value_dtype(a);
    tg_value y;
    if (tgi_onnx_is_float(dtype)) {
        y = F2(pow, a, tg_cast_at(TG_IN(b), dtype, c->site));
    } else if (tgi_onnx_is_float(tg_value_dtype(b))) {
        y = F2(pow, tg_cast_at(TG_IN(a), TG_F64, c->site),
               tg_cast_at(TG_IN(b), TG_F64, c->site));
        y = tg_cast_at(TG_IN(y), dtype, c->site);
    } else {
        y = integer_power(c, a, b);
    }
    tgi_onnx_out(c, 0, y);
}
