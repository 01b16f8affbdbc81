/* SPDX-License-Identifier: MIT */
/*
 * ops_macros.h - the user-facing names of the operations of ops.h: macros in C
 * (one each, because a macro cannot define macros), inline functions in C++.
 */
#ifndef TGJIT_OPS_MACROS_H
#define TGJIT_OPS_MACROS_H

#include "ops.h" /* includes this file at its end */

#ifndef __cplusplus

/* From here on compilers omit the expansions of macros from their messages. */
#pragma GCC system_header

/*
 * C leaves the evaluation order of arguments unspecified. These macros evaluate
 * operands from left to right, so that nested operations are recorded in the
 * same order with every compiler.
 */
#define TG_NEW_NAME(prefix) TG_MAP_CAT(prefix, __COUNTER__)
#define TG_OP_1(f, x) f(TG_IN(x), TG_HERE)
#define TG_OP_2(f, a, b) \
    TG_OP_2_(f, a, b, TG_NEW_NAME(tgi_a_), TG_NEW_NAME(tgi_b_))
#define TG_OP_2_(f, a, b, first, second) \
    __extension__({ \
        tg_operand first = TG_IN(a); \
        tg_operand second = TG_IN(b); \
        f(first, second, TG_HERE); \
    })
#define TG_OP_3(f, a, b, c) \
    TG_OP_3_(f, a, b, c, TG_NEW_NAME(tgi_a_), TG_NEW_NAME(tgi_b_), \
             TG_NEW_NAME(tgi_c_))
#define TG_OP_3_(f, a, b, c, first, second, third) \
    __extension__({ \
        tg_operand first = TG_IN(a); \
        tg_operand second = TG_IN(b); \
        tg_operand third = TG_IN(c); \
        f(first, second, third, TG_HERE); \
    })

#define tg_neg(x) TG_OP_1(tg_neg_at, x)
#define tg_abs(x) TG_OP_1(tg_abs_at, x)
#define tg_sign(x) TG_OP_1(tg_sign_at, x)
#define tg_floor(x) TG_OP_1(tg_floor_at, x)
#define tg_ceil(x) TG_OP_1(tg_ceil_at, x)
#define tg_round(x) TG_OP_1(tg_round_at, x)
#define tg_trunc(x) TG_OP_1(tg_trunc_at, x)
#define tg_sqrt(x) TG_OP_1(tg_sqrt_at, x)
#define tg_rsqrt(x) TG_OP_1(tg_rsqrt_at, x)
#define tg_cbrt(x) TG_OP_1(tg_cbrt_at, x)
#define tg_exp(x) TG_OP_1(tg_exp_at, x)
#define tg_exp2(x) TG_OP_1(tg_exp2_at, x)
#define tg_expm1(x) TG_OP_1(tg_expm1_at, x)
#define tg_log(x) TG_OP_1(tg_log_at, x)
#define tg_log2(x) TG_OP_1(tg_log2_at, x)
#define tg_log10(x) TG_OP_1(tg_log10_at, x)
#define tg_log1p(x) TG_OP_1(tg_log1p_at, x)
#define tg_sin(x) TG_OP_1(tg_sin_at, x)
#define tg_cos(x) TG_OP_1(tg_cos_at, x)
#define tg_tan(x) TG_OP_1(tg_tan_at, x)
#define tg_asin(x) TG_OP_1(tg_asin_at, x)
#define tg_acos(x) TG_OP_1(tg_acos_at, x)
#define tg_atan(x) TG_OP_1(tg_atan_at, x)
#define tg_sinh(x) TG_OP_1(tg_sinh_at, x)
#define tg_cosh(x) TG_OP_1(tg_cosh_at, x)
#define tg_tanh(x) TG_OP_1(tg_tanh_at, x)
#define tg_asinh(x) TG_OP_1(tg_asinh_at, x)
#define tg_acosh(x) TG_OP_1(tg_acosh_at, x)
#define tg_atanh(x) TG_OP_1(tg_atanh_at, x)
#define tg_erf(x) TG_OP_1(tg_erf_at, x)
#define tg_erfc(x) TG_OP_1(tg_erfc_at, x)
#define tg_sigmoid(x) TG_OP_1(tg_sigmoid_at, x)
#define tg_silu(x) TG_OP_1(tg_silu_at, x)
#define tg_softplus(x) TG_OP_1(tg_softplus_at, x)
#define tg_gelu(x) TG_OP_1(tg_gelu_at, x)
#define tg_log_fast(x) TG_OP_1(tg_log_fast_at, x)
#define tg_tanh_fast(x) TG_OP_1(tg_tanh_fast_at, x)
#define tg_erf_fast(x) TG_OP_1(tg_erf_fast_at, x)
#define tg_erfc_fast(x) TG_OP_1(tg_erfc_fast_at, x)
#define tg_sigmoid_fast(x) TG_OP_1(tg_sigmoid_fast_at, x)
#define tg_silu_fast(x) TG_OP_1(tg_silu_fast_at, x)
#define tg_gelu_fast(x) TG_OP_1(tg_gelu_fast_at, x)
#define tg_log2_fast(x) TG_OP_1(tg_log2_fast_at, x)
#define tg_log10_fast(x) TG_OP_1(tg_log10_fast_at, x)
#define tg_sin_fast(x) TG_OP_1(tg_sin_fast_at, x)
#define tg_cos_fast(x) TG_OP_1(tg_cos_fast_at, x)
#define tg_tan_fast(x) TG_OP_1(tg_tan_fast_at, x)
#define tg_atan_fast(x) TG_OP_1(tg_atan_fast_at, x)
#define tg_stop_gradient(x) TG_OP_1(tg_stop_gradient_at, x)
#define tg_not(x) TG_OP_1(tg_not_at, x)
#define tg_square(x) TG_OP_1(tg_square_at, x)
#define tg_add(a, b) TG_OP_2(tg_add_at, a, b)
#define tg_sub(a, b) TG_OP_2(tg_sub_at, a, b)
#define tg_mul(a, b) TG_OP_2(tg_mul_at, a, b)
#define tg_div(a, b) TG_OP_2(tg_div_at, a, b)
#define tg_rem(a, b) TG_OP_2(tg_rem_at, a, b)
#define tg_min(a, b) TG_OP_2(tg_min_at, a, b)
#define tg_max(a, b) TG_OP_2(tg_max_at, a, b)
#define tg_pow(a, b) TG_OP_2(tg_pow_at, a, b)
#define tg_and(a, b) TG_OP_2(tg_and_at, a, b)
#define tg_or(a, b) TG_OP_2(tg_or_at, a, b)
#define tg_xor(a, b) TG_OP_2(tg_xor_at, a, b)
#define tg_shl(a, b) TG_OP_2(tg_shl_at, a, b)
#define tg_shr(a, b) TG_OP_2(tg_shr_at, a, b)
#define tg_eq(a, b) TG_OP_2(tg_eq_at, a, b)
#define tg_ne(a, b) TG_OP_2(tg_ne_at, a, b)
#define tg_lt(a, b) TG_OP_2(tg_lt_at, a, b)
#define tg_le(a, b) TG_OP_2(tg_le_at, a, b)
#define tg_gt(a, b) TG_OP_2(tg_gt_at, a, b)
#define tg_ge(a, b) TG_OP_2(tg_ge_at, a, b)
#define tg_hypot(a, b) TG_OP_2(tg_hypot_at, a, b)
#define tg_atan2(a, b) TG_OP_2(tg_atan2_at, a, b)
#define tg_atan2_fast(a, b) TG_OP_2(tg_atan2_fast_at, a, b)
#define tg_fma(a, b, c) TG_OP_3(tg_fma_at, a, b, c)
#define tg_select(a, b, c) TG_OP_3(tg_select_at, a, b, c)
#define tg_clamp(a, b, c) TG_OP_3(tg_clamp_at, a, b, c)

#define tg_reciprocal(x) TG_OP_1(tg_reciprocal_at, x)
#define tg_is_nan(x) TG_OP_1(tg_is_nan_at, x)
#define tg_is_inf(x) TG_OP_1(tg_is_inf_at, x)
#define tg_is_finite(x) TG_OP_1(tg_is_finite_at, x)
#define tg_signbit(x) TG_OP_1(tg_signbit_at, x)
#define tg_floordiv(a, b) TG_OP_2(tg_floordiv_at, a, b)
#define tg_floormod(a, b) TG_OP_2(tg_floormod_at, a, b)
#define tg_fmod(a, b) TG_OP_2(tg_fmod_at, a, b)
#define tg_copysign(a, b) TG_OP_2(tg_copysign_at, a, b)
#define tg_nextafter(a, b) TG_OP_2(tg_nextafter_at, a, b)
#define tg_logical_xor(a, b) TG_OP_2(tg_logical_xor_at, a, b)

#define tg_cast(x, dtype) tg_cast_at(TG_IN(x), dtype, TG_HERE)
#define tg_bitcast(x, dtype) tg_bitcast_at(TG_IN(x), dtype, TG_HERE)
#define tg_scalar(dtype, number) tg_scalar_at(dtype, TG_IN(number), TG_HERE)
#define tg_constant(...) tg_constant_at(__VA_ARGS__, TG_HERE)
#define tg_iota(...) tg_iota_at(__VA_ARGS__, TG_HERE)
#define tg_extent(x, axis) tg_extent_at(TG_IN(x), axis, TG_HERE)

#define tg_broadcast(x, ...) tg_broadcast_at(TG_IN(x), __VA_ARGS__, TG_HERE)
#define tg_reshape(x, ...) tg_reshape_at(TG_IN(x), __VA_ARGS__, TG_HERE)
#define tg_transpose(x, ...) tg_transpose_at(TG_IN(x), __VA_ARGS__, TG_HERE)
#define tg_slice(x, axis, start, stop, step) \
    tg_slice_at(TG_IN(x), axis, start, stop, step, TG_HERE)
#define tg_pad(x, axis, low, high, value) \
    tg_pad_at(TG_IN(x), axis, low, high, TG_IN(value), TG_HERE)
#define tg_slice_axes(x, ...) \
    tg_slice_axes_at(TG_IN(x), __VA_ARGS__, 0, NULL, TG_HERE)
#define tg_slice_axes_step(x, ...) \
    tg_slice_axes_at(TG_IN(x), __VA_ARGS__, TG_HERE)
/* low and high are TG_DIMS. */
#define tg_pad_axes(x, low, high, value) \
    tg_pad_axes_at(TG_IN(x), low, high, TG_IN(value), TG_HERE)
#define tg_concat(axis, ...) tg_concat_at(axis, TG_ARGS(__VA_ARGS__), TG_HERE)
#define tg_gather(x, indices, axis) \
    tg_gather_at(TG_IN(x), TG_IN(indices), axis, TG_GATHER_CHECK, TG_HERE)
#define tg_gather_with(x, indices, axis, mode) \
    tg_gather_at(TG_IN(x), TG_IN(indices), axis, mode, TG_HERE)
#define tg_scatter(x, indices, updates, axis, mode) \
    tg_scatter_with(x, indices, updates, axis, mode, TG_SCATTER_CHECK)
#define tg_scatter_with(x, indices, updates, axis, mode, range) \
    tg_scatter_at(TG_IN(x), TG_IN(indices), TG_IN(updates), axis, mode, \
                  range, TG_HERE)
#define tg_dynamic_slice(x, axis, start, size) \
    tg_dynamic_slice_at(TG_IN(x), axis, TG_IN(start), size, TG_HERE)
#define tg_dynamic_update_slice(x, update, axis, start) \
    tg_dynamic_update_slice_at(TG_IN(x), TG_IN(update), axis, TG_IN(start), \
                               TG_HERE)
#define tg_dynamic_slice_axes(x, ...) \
    tg_dynamic_slice_axes_at(TG_IN(x), __VA_ARGS__, TG_HERE)
#define tg_dynamic_update_slice_axes(x, update, ...) \
    tg_dynamic_update_slice_axes_at(TG_IN(x), TG_IN(update), __VA_ARGS__, \
                                    TG_HERE)

#define TG_ALL_AXES ((tg_axes){-1, false, {0}})
#define TG_AXES(...) \
    tg_axes_of(sizeof((const int[]){__VA_ARGS__}) / sizeof(int), \
               (const int[]){__VA_ARGS__})

#define tg_sum(x, axes) tg_sum_at(TG_IN(x), axes, TG_HERE)
#define tg_prod(x, axes) tg_prod_at(TG_IN(x), axes, TG_HERE)
#define tg_reduce_max(x, axes) tg_reduce_max_at(TG_IN(x), axes, TG_HERE)
#define tg_reduce_min(x, axes) tg_reduce_min_at(TG_IN(x), axes, TG_HERE)
#define tg_mean(x, axes) tg_mean_at(TG_IN(x), axes, TG_HERE)
#define tg_any(x, axes) tg_any_at(TG_IN(x), axes, TG_HERE)
#define tg_all(x, axes) tg_all_at(TG_IN(x), axes, TG_HERE)
#define tg_argmax(x, axis) tg_argmax_at(TG_IN(x), axis, TG_HERE)
#define tg_argmin(x, axis) tg_argmin_at(TG_IN(x), axis, TG_HERE)

#define tg_matmul(a, b) \
    tg_matmul_with_at(TG_IN(a), TG_IN(b), TG_MATMUL_PLAIN, TG_HERE)
#define tg_matmul_with(a, b, flags) \
    tg_matmul_with_at(TG_IN(a), TG_IN(b), flags, TG_HERE)
/* Axes are written (tg_dot_axes){.contract_a = TG_AXES(1), …}. */
#define tg_dot_general(a, b, ...) \
    tg_dot_general_at(TG_IN(a), TG_IN(b), __VA_ARGS__, TG_HERE)
#define tg_einsum(labels, ...) \
    tg_einsum_at(labels, TG_ARGS(__VA_ARGS__), TG_HERE)

#define tg_read(variable) TG_OP_1(tg_read_at, variable)
#define tg_assign(variable, value) TG_OP_2(tg_assign_at, variable, value)
#define tg_assign_add(variable, value) \
    TG_OP_2(tg_assign_add_at, variable, value)
#define tg_assign_sub(variable, value) \
    TG_OP_2(tg_assign_sub_at, variable, value)

#else /* __cplusplus */

#define TG_DEFINE_OP_1(name) \
    inline tg_value tg_##name(tg_in x, tg_site site = TG_HERE) \
    { \
        return tg_##name##_at(x, site); \
    }
#define TG_DEFINE_OP_2(name) \
    inline tg_value tg_##name(tg_in a, tg_in b, tg_site site = TG_HERE) \
    { \
        return tg_##name##_at(a, b, site); \
    }
#define TG_DEFINE_OP_3(name) \
    inline tg_value tg_##name(tg_in a, tg_in b, tg_in c, \
                              tg_site site = TG_HERE) \
    { \
        return tg_##name##_at(a, b, c, site); \
    }
#define TG_DEFINE_REDUCTION(name) \
    inline tg_value tg_##name(tg_in x, tg_axes axes, tg_site site = TG_HERE) \
    { \
        return tg_##name##_at(x, axes, site); \
    }
#define TG_DEFINE_BY_AXIS(name) \
    inline tg_value tg_##name(tg_in x, int axis, tg_site site = TG_HERE) \
    { \
        return tg_##name##_at(x, axis, site); \
    }
#define TG_DEFINE_BY_DIMS(name) \
    inline tg_value tg_##name(tg_in x, tg_dims dims, tg_site site = TG_HERE) \
    { \
        return tg_##name##_at(x, (int)dims.size(), dims.begin(), site); \
    }

TG_ELEMENTWISE_OPS(TG_DEFINE_OP_1, TG_DEFINE_OP_2, TG_DEFINE_OP_3)

inline tg_value tg_cast(tg_in x, tg_dtype dtype, tg_site site = TG_HERE)
{
    return tg_cast_at(x, dtype, site);
}
inline tg_value tg_bitcast(tg_in x, tg_dtype dtype, tg_site site = TG_HERE)
{
    return tg_bitcast_at(x, dtype, site);
}
inline tg_value tg_scalar(tg_dtype dtype, tg_in number, tg_site site = TG_HERE)
{
    return tg_scalar_at(dtype, number, site);
}
inline tg_value tg_constant(tg_dtype dtype, tg_dims dims, const void *data,
                            tg_site site = TG_HERE)
{
    return tg_constant_at(dtype, (int)dims.size(), dims.begin(), data, site);
}
inline tg_value tg_iota(tg_dtype dtype, tg_dims dims, int axis,
                        tg_site site = TG_HERE)
{
    return tg_iota_at(dtype, (int)dims.size(), dims.begin(), axis, site);
}
TG_DEFINE_BY_AXIS(extent)
TG_DEFINE_BY_DIMS(broadcast)
TG_DEFINE_BY_DIMS(reshape)
inline tg_value tg_transpose(tg_in x, std::initializer_list<int> perm,
                             tg_site site = TG_HERE)
{
    return tg_transpose_at(x, (int)perm.size(), perm.begin(), site);
}
inline tg_value tg_slice(tg_in x, int axis, int64_t start, int64_t stop,
                         int64_t step, tg_site site = TG_HERE)
{
    return tg_slice_at(x, axis, start, stop, step, site);
}
inline tg_value tg_pad(tg_in x, int axis, int64_t low, int64_t high,
                       tg_in value, tg_site site = TG_HERE)
{
    return tg_pad_at(x, axis, low, high, value, site);
}
inline tg_value tg_slice_axes(tg_in x, tg_dims starts, tg_dims stops,
                              tg_site site = TG_HERE)
{
    return tg_slice_axes_at(x, (int)starts.size(), starts.begin(),
                            (int)stops.size(), stops.begin(), 0, nullptr,
                            site);
}
inline tg_value tg_slice_axes_step(tg_in x, tg_dims starts, tg_dims stops,
                                   tg_dims steps, tg_site site = TG_HERE)
{
    return tg_slice_axes_at(x, (int)starts.size(), starts.begin(),
                            (int)stops.size(), stops.begin(),
                            (int)steps.size(), steps.begin(), site);
}
inline tg_value tg_pad_axes(tg_in x, tg_dims low, tg_dims high, tg_in value,
                            tg_site site = TG_HERE)
{
    return tg_pad_axes_at(x, (int)low.size(), low.begin(), (int)high.size(),
                          high.begin(), value, site);
}
inline tg_value tg_concat(int axis, tg_ins parts, tg_site site = TG_HERE)
{
    return tg_concat_at(axis, parts.begin(), parts.size(), site);
}
template <typename... more>
inline tg_value tg_concat(tg_located<int> axis, tg_in first,
                          const more &...others)
{
    return tg_concat(axis.value, {first, tg_in(others)...}, axis.site);
}
inline tg_value tg_gather(tg_in x, tg_in indices, int axis,
                          tg_site site = TG_HERE)
{
    return tg_gather_at(x, indices, axis, TG_GATHER_CHECK, site);
}
inline tg_value tg_gather_with(tg_in x, tg_in indices, int axis,
                               tg_gather_mode mode, tg_site site = TG_HERE)
{
    return tg_gather_at(x, indices, axis, mode, site);
}
inline tg_value tg_scatter(tg_in x, tg_in indices, tg_in updates, int axis,
                           tg_scatter_mode mode, tg_site site = TG_HERE)
{
    return tg_scatter_at(x, indices, updates, axis, mode, TG_SCATTER_CHECK,
                         site);
}
inline tg_value tg_scatter_with(tg_in x, tg_in indices, tg_in updates,
                                int axis, tg_scatter_mode mode,
                                tg_scatter_range range,
                                tg_site site = TG_HERE)
{
    return tg_scatter_at(x, indices, updates, axis, mode, range, site);
}
inline tg_value tg_dynamic_slice(tg_in x, int axis, tg_in start, int64_t size,
                                 tg_site site = TG_HERE)
{
    return tg_dynamic_slice_at(x, axis, start, size, site);
}
inline tg_value tg_dynamic_update_slice(tg_in x, tg_in update, int axis,
                                        tg_in start, tg_site site = TG_HERE)
{
    return tg_dynamic_update_slice_at(x, update, axis, start, site);
}
inline tg_value tg_dynamic_slice_axes(tg_in x, tg_ins starts, tg_dims sizes,
                                      tg_site site = TG_HERE)
{
    return tg_dynamic_slice_axes_at(x, starts.begin(), starts.size(),
                                    (int)sizes.size(), sizes.begin(), site);
}
inline tg_value tg_dynamic_update_slice_axes(tg_in x, tg_in update,
                                             tg_ins starts,
                                             tg_site site = TG_HERE)
{
    return tg_dynamic_update_slice_axes_at(x, update, starts.begin(),
                                           starts.size(), site);
}

inline tg_axes TG_AXES(std::initializer_list<int> axes)
{
    return tg_axes_of(axes.size(), axes.begin());
}
template <class... Axis> inline tg_axes TG_AXES(Axis... axis)
{
    return TG_AXES({static_cast<int>(axis)...});
}
#define TG_ALL_AXES (tg_axes{-1, false, {}})

TG_DEFINE_REDUCTION(sum)
TG_DEFINE_REDUCTION(prod)
TG_DEFINE_REDUCTION(reduce_max)
TG_DEFINE_REDUCTION(reduce_min)
TG_DEFINE_REDUCTION(mean)
TG_DEFINE_REDUCTION(any)
TG_DEFINE_REDUCTION(all)
TG_DEFINE_BY_AXIS(argmax)
TG_DEFINE_BY_AXIS(argmin)

inline tg_value tg_matmul(tg_in a, tg_in b, tg_site site = TG_HERE)
{
    return tg_matmul_with_at(a, b, TG_MATMUL_PLAIN, site);
}
inline tg_value tg_matmul_with(tg_in a, tg_in b, int flags,
                               tg_site site = TG_HERE)
{
    return tg_matmul_with_at(a, b, flags, site);
}
inline tg_value tg_dot_general(tg_in a, tg_in b, tg_dot_axes axes,
                               tg_site site = TG_HERE)
{
    return tg_dot_general_at(a, b, axes, site);
}
inline tg_value tg_einsum(const char *labels, tg_ins operands,
                          tg_site site = TG_HERE)
{
    return tg_einsum_at(labels, operands.begin(), operands.size(), site);
}
template <typename... more>
inline tg_value tg_einsum(tg_located<const char *> labels, tg_in first,
                          const more &...others)
{
    return tg_einsum(labels.value, {first, tg_in(others)...}, labels.site);
}

TG_DEFINE_OP_1(read)
TG_DEFINE_OP_2(assign)
TG_DEFINE_OP_2(assign_add)
TG_DEFINE_OP_2(assign_sub)

#endif /* __cplusplus */

#endif /* TGJIT_OPS_MACROS_H */
