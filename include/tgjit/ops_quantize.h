/* SPDX-License-Identifier: MIT */
/*
 * ops_quantize.h - integers that stand for floats: x is (q - zero_point) *
 * scale, with one scale for all of x, or one for each position along an axis;
 * and products of small integers.
 */
#ifndef TGJIT_OPS_QUANTIZE_H
#define TGJIT_OPS_QUANTIZE_H

#include "ops.h"

TG_BEGIN_DECLS

/*
 * round(x / scale) + zero_point, saturated, in the dtype of zero_point, which is
 * i8, u8, i16 or u16. Ties round to even. x and scale are floats of one dtype;
 * scale and zero_point are scalars, or vectors along the axis of x.
 */
TG_API tg_value tg_quantize_at(tg_operand x, tg_operand scale,
                               tg_operand zero_point, int axis, tg_site site);

/* (x - zero_point) * scale, in the dtype of scale. x and zero_point have one
   dtype: i8, u8, i16, u16 or i32. */
TG_API tg_value tg_dequantize_at(tg_operand x, tg_operand scale,
                                 tg_operand zero_point, int axis, tg_site site);

/*
 * x quantised to u8 with a scale and a zero point of its own, so that 0 and all
 * elements are in range: scale is (max(x, 0) - min(x, 0)) / 255, or 1 if that is
 * 0, and zero_point is round(-min(x, 0) / scale). The scale of halves is f32.
 */
TG_API tg_value tg_quantize_dynamic_at(tg_operand x, tg_value *out_scale,
                                       tg_value *out_zero_point, tg_site site);

/* The matrix product of i8 or u8 operands, in any combination, as i32: exact,
   but for sums beyond 2^31, which wrap. Axes as in tg_matmul. */
TG_API tg_value tg_matmul_integer_at(tg_operand a, tg_operand b, tg_site site);

TG_END_DECLS

#ifndef __cplusplus
#define tg_quantize(x, scale, zero_point, axis) \
    tg_quantize_at(TG_IN(x), TG_IN(scale), TG_IN(zero_point), axis, TG_HERE)
#define tg_dequantize(x, scale, zero_point, axis) \
    tg_dequantize_at(TG_IN(x), TG_IN(scale), TG_IN(zero_point), axis, TG_HERE)
#define tg_quantize_dynamic(x, out_scale, out_zero_point) \
    tg_quantize_dynamic_at(TG_IN(x), out_scale, out_zero_point, TG_HERE)
#define tg_matmul_integer(a, b) \
    tg_matmul_integer_at(TG_IN(a), TG_IN(b), TG_HERE)
#else
inline tg_value tg_quantize(tg_in x, tg_in scale, tg_in zero_point, int axis,
                            tg_site site = TG_HERE)
{
    return tg_quantize_at(x, scale, zero_point, axis, site);
}
inline tg_value tg_dequantize(tg_in x, tg_in scale, tg_in zero_point, int axis,
                              tg_site site = TG_HERE)
{
    return tg_dequantize_at(x, scale, zero_point, axis, site);
}
inline tg_value tg_quantize_dynamic(tg_in x, tg_value *out_scale,
                                    tg_value *out_zero_point,
                                    tg_site site = TG_HERE)
{
    return tg_quantize_dynamic_at(x, out_scale, out_zero_point, site);
}
inline tg_value tg_matmul_integer(tg_in a, tg_in b, tg_site site = TG_HERE)
{
    return tg_matmul_integer_at(a, b, site);
}
#endif

#endif /* TGJIT_OPS_QUANTIZE_H */
