/* SPDX-License-Identifier: MIT */
/*
 * op_quantise.c - numbers of 8 and 16 bits with a scale and a zero point. Sums
 * of products are computed in i32.
 */
#include "op_windows.h"

static tg_value cast(const tgi_onnx_call *c, tg_value x, tg_dtype dtype)
{
    return tg_cast_at(TG_IN(x), dtype, c->site);
}

/* A scale or zero point: one number, or one for each position of an axis. */
static tg_value along(const tgi_onnx_call *c, tg_value vector, int axis,
                      int rank)
{
    int64_t dims[TG_MAX_RANK];
    if (tg_value_rank(vector) != 1 || rank == 0)
        return tg_value_rank(vector) > 0 && rank == 0
                   ? tg_reshape_at(TG_IN(vector), 0, NULL, c->site)
                   : vector;
    if (tg_value_dim(vector, 0) == 1)
        return tg_reshape_at(TG_IN(vector), 0, NULL, c->site);
    for (int i = axis; i < rank; i++)
        dims[i - axis] = i == axis ? tg_value_dim(vector, 0) : 1;
    return tg_reshape_at(TG_IN(vector), rank - axis, dims, c->site);
}

static int quantised_axis(const tgi_onnx_call *c, int rank)
{
    if (tgi_onnx_int(c, "block_size", 0))
        tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED, "scales by block");
    const int64_t axis = tgi_onnx_int(c, "axis", 1);
    return axis >= rank ? 0 : tgi_onnx_axis(c, axis, rank);
}

/* round(x / scale) + zero, within the range of the dtype. */
static tg_value quantise(const tgi_onnx_call *c, tg_value x, tg_value scale,
                         tg_value zero, tg_dtype dtype)
{
    const tg_dtype wide = tg_value_dtype(x);
    tg_value y = F1(round, F2(div, x, cast(c, scale, wide)));
    if (tg_is_valid(zero))
        y = F2(add, y, cast(c, zero, wide));
    return cast(c, y, dtype); /* saturates */
}

void tgi_onnx_build_quantize_linear(const tgi_onnx_call *c)
{
    const int32_t code = (int32_t)tgi_onnx_int(c, "output_dtype", 0);
    const int rank = tgi_onnx_in_rank(c, 0);
    const int axis = quantised_axis(c, rank);
    tg_value x = tgi_onnx_in(c, 0), zero = {0, 0};
    tg_dtype dtype = code ? tgi_onnx_dtype(code) : TG_U8;
    if (tgi_onnx_has(c, 2)) {
        zero = along(c, tgi_onnx_in(c, 2), axis, rank);
        dtype = tg_value_dtype(zero);
    }
    if (tg_value_dtype(x) == TG_I32)
        x = cast(c, x, TG_F32);
    if (!dtype) {
        tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED, "dtype %s is unsupported",
                      tgi_onnx_dtype_name(code));
        return;
    }
    tgi_onnx_out(c, 0, quantise(c, x, along(c, tgi_onnx_in(c, 1), axis, rank),
                                zero, dtype));
}

void tgi_onnx_build_dequantize_linear(const tgi_onnx_call *c)
{
    const int rank = tgi_onnx_in_rank(c, 0);
    const int axis = quantised_axis(c, rank);
    const tg_value scale = along(c, tgi_onnx_in(c, 1), axis, rank);
    tg_value x = cast(c, tgi_onnx_in(c, 0), TG_I32);
    if (tgi_onnx_has(c, 2))
        x = F2(sub, x,
               cast(c, along(c, tgi_onnx_in(c, 2), axis, rank), TG_I32));
    tgi_onnx_out(c, 0, F2(mul, cast(c, x, tg_value_dtype(scale)), scale));
}

/* u8, with the scale that maps the range of x and 0 to 0 … 255. */
void tgi_onnx_build_dynamic_quantize_linear(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    const tg_value none = tgi_onnx_scalar_like(c, x, 0);
    const tg_value low =
        F2(min, tg_reduce_min_at(TG_IN(x), TG_ALL_AXES, c->site), none);
    const tg_value high =
        F2(max, tg_reduce_max_at(TG_IN(x), TG_ALL_AXES, c->site), none);
    const tg_value scale =
        F2(div, F2(sub, high, low), tgi_onnx_scalar_like(c, x, 255));
    const tg_value zero =
        cast(c, F1(round, F2(div, F2(sub, none, low), scale)), TG_U8);
    tgi_onnx_out(c, 0, quantise(c, x, scale, zero, TG_U8));
    tgi_onnx_out(c, 1, scale);
    tgi_onnx_out(c, 2, zero);
}

/* -- Products -------------------------------------------------------------- */

/* Input i as i32, less its zero point, input `zero`, by position of an axis. */
static tg_value centred(const tgi_onnx_call *c, size_t i, size_t zero, int axis)
{
    const tg_value x = cast(c, tgi_onnx_in(c, i), TG_I32);
    if (!tgi_onnx_has(c, zero))
        return x;
    const tg_value z = cast(c, tgi_onnx_in(c, zero), TG_I32);
    return F2(sub, x, along(c, z, axis, tgi_onnx_in_rank(c, i)));
}

static bool is_byte(tg_value x)
{
    return tg_value_dtype(x) == TG_I8 || tg_value_dtype(x) == TG_U8;
}

/* The sums of x along an axis, which is kept. */
static tg_value sums(const tgi_onnx_call *c, tg_value x, int axis)
{
    tg_axes axes = tg_axes_of(1, &axis);
    axes.keep = true;
    return tg_sum_at(TG_IN(cast(c, x, TG_I32)), axes, c->site);
}

/*
 * The product of matrices of bytes x and y, for which CPUs have instructions,
 * less its zero points p of x and q of y, of i32 and invalid if there are none:
 *
 *     sum (x - p) (y - q) = sum x y - p sum y - q (sum x - k p)
 *
 * which is exact, because i32 wraps.
 */
static tg_value multiply_bytes(const tgi_onnx_call *c, tg_value x, tg_value p,
                               tg_value y, tg_value q)
{
    const int k = tg_value_rank(x) - 1;
    tg_value result = tg_matmul_integer_at(TG_IN(x), TG_IN(y), c->site);
    if (tg_is_valid(p))
        result = F2(sub, result, F2(mul, p, sums(c, y, tg_value_rank(y) - 2)));
    if (!tg_is_valid(q))
        return result;
    tg_value of_x = sums(c, x, k);
    if (tg_is_valid(p))
        of_x = F2(sub, of_x,
                  F2(mul, p,
                     tgi_onnx_scalar_like(c, p, (double)tg_value_dim(x, k))));
    return F2(sub, result, F2(mul, q, of_x));
}

/* Input `zero` as i32 by position of an axis of input i; invalid: none. */
static tg_value zero_point(const tgi_onnx_call *c, size_t i, size_t zero,
                           int axis)
{
    return tgi_onnx_has(c, zero)
               ? along(c, cast(c, tgi_onnx_in(c, zero), TG_I32), axis,
                       tgi_onnx_in_rank(c, i))
               : (tg_value){0, 0};
}

/* Zero points of a are by row, those of b by column. */
static tg_value multiply(const tgi_onnx_call *c, size_t b, size_t zero_a,
                         size_t zero_b)
{
    const int last = tgi_onnx_in_rank(c, b) - 1;
    const int row = tgi_onnx_in_rank(c, 0) - 2;
    if (row >= 0 && last >= 1 && is_byte(tgi_onnx_in(c, 0)) &&
        is_byte(tgi_onnx_in(c, b)) &&
        tg_dim_is_known(tg_value_dim(tgi_onnx_in(c, 0), row + 1)))
        return multiply_bytes(c, tgi_onnx_in(c, 0),
                              zero_point(c, 0, zero_a, row), tgi_onnx_in(c, b),
                              zero_point(c, b, zero_b, last));
    const tg_value x = centred(c, 0, zero_a, row < 0 ? 0 : row);
    const tg_value y = centred(c, b, zero_b, last < 0 ? 0 : last);
    return tg_matmul_with_at(TG_IN(x), TG_IN(y), TG_MATMUL_PLAIN, c->site);
}

/* x with its zero point p as padding. */
static tg_value pad_windows(const tgi_onnx_call *c, tg_value x, tg_value p,
                            const tgi_onnx_windows *s)
{
    const tg_value zero = tgi_onnx_scalar_like(c, x, 0);
    const tg_value fill =
        tg_is_valid(p) ? cast(c, p, tg_value_dtype(x)) : zero;
    for (int i = 0; i < s->n_spatial; i++)
        if (s->low[i] || s->high[i])
            x = tg_pad_at(TG_IN(x), i + 2, s->low[i], s->high[i], TG_IN(fill),
                          c->site);
    return x;
}

/* The windows of x as rows, and the filters as columns. */
static tg_value convolve_bytes(const tgi_onnx_call *c, tg_value x, tg_value p,
                               tg_value w, tg_value q,
                               const tgi_onnx_windows *s)
{
    const int n = s->n_spatial;
    const int64_t filters = tg_value_dim(w, 0);
    int axes[TG_MAX_SPATIAL], perm[TG_MAX_RANK];
    int64_t dims[TG_MAX_RANK], k = tg_value_dim(w, 1);
    for (int i = 0; i < n; i++) {
        axes[i] = i + 2;
        k *= s->kernel[i];
    }
    x = tg_windows_at(TG_IN(pad_windows(c, x, p, s)), n, axes, s->kernel,
                      s->stride, s->dilation, c->site);
    for (int i = 0; i < 2 * n + 2; i++)
        perm[i] = i == 0 ? 0 : i <= n ? i + 1 : i == n + 1 ? 1 : i;
    x = tg_transpose_at(TG_IN(x), 2 * n + 2, perm, c->site);
    for (int i = 0; i <= n; i++)
        dims[i] = tg_value_dim(x, i);
    dims[n + 1] = filters;
    x = tg_reshape_at(TG_IN(x), 2, (const int64_t[]){-1, k}, c->site);
    w = tg_reshape_at(TG_IN(w), 2, (const int64_t[]){filters, k}, c->site);
    w = tg_transpose_at(TG_IN(w), 2, (const int[]){1, 0}, c->site);
    tg_value y = multiply_bytes(c, x, p, w, q);
    y = tg_reshape_at(TG_IN(y), n + 2, dims, c->site);
    for (int i = 0; i < n + 2; i++)
        perm[i] = i == 0 ? 0 : i == 1 ? n + 1 : i - 1;
    return tg_transpose_at(TG_IN(y), n + 2, perm, c->site);
}

/* True for one group of known extents, but those of the image. */
static bool is_dense(const tgi_onnx_call *c, tg_value x, tg_value w,
                     const tgi_onnx_windows *s)
{
    bool is = tgi_onnx_int(c, "group", 1) == 1 && s->n_spatial > 0 &&
              s->padding == TG_PADDING_EXPLICIT &&
              tg_dim_is_known(tg_value_dim(w, 0)) &&
              tg_dim_is_known(tg_value_dim(w, 1)) &&
              tg_value_dim(x, 1) == tg_value_dim(w, 1);
    for (int i = 0; is && i < s->n_spatial; i++)
        is = tg_value_dim(w, i + 2) == s->kernel[i];
    return is;
}

/* Inputs: x, its zero point; w, at position `w`, its zero point, which may be
   one per filter. */
static tg_value convolve(const tgi_onnx_call *c, size_t zero_x, size_t w,
                         size_t zero_w)
{
    const tg_value x = tgi_onnx_in(c, 0), filters = tgi_onnx_in(c, w);
    tgi_onnx_windows s;
    const tg_value p = zero_point(c, 0, zero_x, 0);
    if (!is_byte(x) || !is_byte(filters) ||
        (tg_is_valid(p) && tg_value_rank(p) > 0) ||
        !tgi_onnx_read_windows(c, x, filters, &s) ||
        !is_dense(c, x, filters, &s))
        return tgi_onnx_convolve(c, centred(c, 0, zero_x, 0),
                                 centred(c, w, zero_w, 0));
    /* By filter, which are the columns of the product. */
    const tg_value q = tgi_onnx_has(c, zero_w)
                           ? along(c, cast(c, tgi_onnx_in(c, zero_w), TG_I32),
                                   1, 2)
                           : (tg_value){0, 0};
    return convolve_bytes(c, x, p, filters, q, &s);
}

void tgi_onnx_build_matmul_integer(const tgi_onnx_call *c)
{
    tgi_onnx_out(c, 0, multiply(c, 1, 2, 3));
}

void tgi_onnx_build_conv_integer(const tgi_onnx_call *c)
{
    tgi_onnx_out(c, 0, convolve(c, 2, 1, 3));
}

/* Sums of products as numbers of the scale and zero point of the result. The
   scale of w may be one per position of axis `axis` of the sums. */
static tg_value requantise(const tgi_onnx_call *c, tg_value sum, size_t scale_x,
                           size_t scale_w, size_t scale_y, int axis)
{
    const int rank = tg_value_rank(sum);
    if (tgi_onnx_failed(c))
        return sum;
    const tg_value factor =
        F2(div, F2(mul, along(c, tgi_onnx_in(c, scale_x), axis, rank),
                   along(c, tgi_onnx_in(c, scale_w), axis, rank)),
           along(c, tgi_onnx_in(c, scale_y), axis, rank));
    const tg_value zero = along(c, tgi_onnx_in(c, scale_y + 1), axis, rank);
    const tg_dtype wide = tg_value_dtype(factor);
    const tg_value y = F1(round, F2(mul, cast(c, sum, wide), factor));
    return cast(c, F2(add, y, cast(c, zero, wide)), tg_value_dtype(zero));
}

/* Inputs: a, its scale and zero point; b …; scale and zero point of y. */
void tgi_onnx_build_qlinear_matmul(const tgi_onnx_call *c)
{
    const tg_value sum = multiply(c, 3, 2, 5);
    const int last = tg_value_rank(sum) - 1;
    tgi_onnx_out(c, 0, requantise(c, sum, 1, 4, 6, last < 0 ? 0 : last));
}

void tgi_onnx_build_qlinear_conv(const tgi_onnx_call *c)
{
    tg_value sum = convolve(c, 2, 3, 5);
    if (tgi_onnx_has(c, 8))
        sum = tgi_onnx_add_bias(c, sum, tgi_onnx_in(c, 8));
    tgi_onnx_out(c, 0, requantise(c, sum, 1, 4, 6, 1));
}
