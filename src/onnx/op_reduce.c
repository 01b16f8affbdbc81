/* SPDX-License-Identifier: MIT */
/*
 * op_reduce.c - reductions, softmax and its relatives, sums along an axis.
 */
#include "onnx_known.h"

/* -- Axes ------------------------------------------------------------------ */

/*
 * The axes of a reduction, an attribute or input 1, and whether they are kept;
 * false if there is nothing to reduce.
 */
static bool reduced_axes(const tgi_onnx_call *c, int rank, tg_axes *out)
{
    size_t n;
    int axis[TG_MAX_RANK];
    const int64_t *axes = tgi_onnx_ints_of(c, "axes", 1, &n);
    *out = TG_ALL_AXES;
    if (n == 0 && tgi_onnx_int(c, "noop_with_empty_axes", 0))
        return false;
    if (n > TG_MAX_RANK) {
        tgi_onnx_fail(c, TG_ERROR_SHAPE, "%zu axes", n);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        axis[i] = tgi_onnx_axis(c, axes[i], rank);
    if (n)
        *out = tg_axes_of(n, axis);
    out->keep = tgi_onnx_int(c, "keepdims", 1);
    return true;
}

/* Whether no elements are reduced, as far as is known while tracing. */
static bool is_empty(tg_value x, tg_axes axes)
{
    for (int i = 0; i < (axes.n < 0 ? tg_value_rank(x) : axes.n); i++)
        if (tg_value_dim(x, axes.n < 0 ? i : axes.axis[i]) == 0)
            return true;
    return false;
}

typedef tg_value reduction(tg_operand x, tg_axes axes, tg_site site);

static void reduce(const tgi_onnx_call *c, tg_value x, reduction *op)
{
    tg_axes axes;
    if (reduced_axes(c, tgi_onnx_in_rank(c, 0), &axes))
        x = op(TG_IN(x), axes, c->site);
    tgi_onnx_out(c, 0, x);
}

#define REDUCTION(name, op) \
    void tgi_onnx_build_reduce_##name(const tgi_onnx_call *c) \
    { \
        reduce(c, tgi_onnx_in(c, 0), op); \
    }
REDUCTION(l1, tg_norm_l1_at)
REDUCTION(log_sum_exp, tg_logsumexp_at)
REDUCTION(prod, tg_prod_at)
REDUCTION(sum, tg_sum_at)
REDUCTION(sum_square, tg_sum_square_at)

/* Of integers: in f64, cut off. */
static void reduce_floats(const tgi_onnx_call *c, reduction *op)
{
    const tg_dtype dtype = tgi_onnx_in_dtype(c, 0);
    const tg_value x = tgi_onnx_in(c, 0);
    tg_axes axes;
    if (tgi_onnx_is_float(dtype)) {
        reduce(c, x, op);
        return;
    }
    tg_value y = tg_cast_at(TG_IN(x), TG_F64, c->site);
    if (reduced_axes(c, tgi_onnx_in_rank(c, 0), &axes))
        y = op(TG_IN(y), axes, c->site);
    tgi_onnx_out(c, 0, tg_cast_at(TG_IN(y), dtype, c->site));
}

void tgi_onnx_build_reduce_l2(const tgi_onnx_call *c)
{
    reduce_floats(c, tg_norm_l2_at);
}

void tgi_onnx_build_reduce_mean(const tgi_onnx_call *c)
{
    reduce_floats(c, tg_mean_at);
}

static tg_value log_of_sum(tg_operand x, tg_axes axes, tg_site site)
{
    return tg_log_at(TG_IN(tg_sum_at(x, axes, site)), site);
}

void tgi_onnx_build_reduce_log_sum(const tgi_onnx_call *c)
{
    reduce_floats(c, log_of_sum);
}

/* The value of a maximum or minimum of no elements, in place of each result. */
static tg_value of_nothing(const tgi_onnx_call *c, tg_value x, tg_axes axes,
                           bool is_max)
{
    const tg_dtype dtype = tg_value_dtype(x);
    const unsigned bits = 8 * (unsigned)tg_dtype_bytes(dtype);
    const bool is_signed = dtype >= TG_I8 && dtype <= TG_I64;
    tg_value zeros = tg_sum_at(
        TG_IN(tg_cast_at(TG_IN(x), TG_F64, c->site)), axes, c->site);
    zeros = tg_cast_at(TG_IN(zeros), dtype, c->site);
    tg_operand bound;
    if (tgi_onnx_is_float(dtype))
        bound = tg_in_f64(is_max ? -__builtin_inf() : __builtin_inf());
    else if (dtype == TG_BOOL)
        return is_max ? zeros : F1(not, zeros);
    else if (is_signed)
        bound = tg_in_i64(is_max ? (int64_t)(UINT64_MAX << (bits - 1))
                                 : (int64_t)~(UINT64_MAX << (bits - 1)));
    else
        bound = tg_in_u64(is_max ? 0 : UINT64_MAX >> (64 - bits));
    return F2(add, zeros, tg_scalar_at(dtype, bound, c->site));
}

static void reduce_extreme(const tgi_onnx_call *c, bool is_max)
{
    tg_value x = tgi_onnx_in(c, 0);
    tg_axes axes;
    if (reduced_axes(c, tgi_onnx_in_rank(c, 0), &axes)) {
        if (is_empty(x, axes))
            x = of_nothing(c, x, axes, is_max);
        else if (tg_value_dtype(x) == TG_BOOL)
            x = is_max ? tg_any_at(TG_IN(x), axes, c->site)
                       : tg_all_at(TG_IN(x), axes, c->site);
        else
            x = is_max ? tg_reduce_max_at(TG_IN(x), axes, c->site)
                       : tg_reduce_min_at(TG_IN(x), axes, c->site);
    }
    tgi_onnx_out(c, 0, x);
}

void tgi_onnx_build_reduce_max(const tgi_onnx_call *c)
{
    reduce_extreme(c, true);
}

void tgi_onnx_build_reduce_min(const tgi_onnx_call *c)
{
    reduce_extreme(c, false);
}

/* -- Positions of maxima --------------------------------------------------- */

static void build_arg(const tgi_onnx_call *c, bool is_max)
{
    const tg_value x = tgi_onnx_in(c, 0);
    const int axis = tgi_onnx_axis(c, tgi_onnx_int(c, "axis", 0),
                                   tgi_onnx_in_rank(c, 0));
    tg_axes axes = tg_axes_of(1, &axis);
    axes.keep = tgi_onnx_int(c, "keepdims", 1);
    const tg_arg_select select =
        tgi_onnx_int(c, "select_last_index", 0) ? TG_ARG_LAST : TG_ARG_FIRST;
    tgi_onnx_out(c, 0,
                 is_max ? tg_argmax_axes_at(TG_IN(x), axes, select, c->site)
                        : tg_argmin_axes_at(TG_IN(x), axes, select, c->site));
}

void tgi_onnx_build_arg_max(const tgi_onnx_call *c)
{
    build_arg(c, true);
}

void tgi_onnx_build_arg_min(const tgi_onnx_call *c)
{
    build_arg(c, false);
}

/* -- Along one axis -------------------------------------------------------- */

typedef tg_value along_axis(const tgi_onnx_call *c, tg_value x, int axis);

/* Before opset 13 the operand is a matrix, whose columns begin at the axis. */
static void build_along(const tgi_onnx_call *c, along_axis *op)
{
    const tg_value x = tgi_onnx_in(c, 0);
    const int rank = tgi_onnx_in_rank(c, 0);
    int64_t dims[TG_MAX_RANK];
    if (c->opset >= 13) {
        const int axis = tgi_onnx_axis(c, tgi_onnx_int(c, "axis", -1), rank);
        tgi_onnx_out(c, 0, op(c, x, axis));
        return;
    }
    const int axis = tgi_onnx_axis(c, tgi_onnx_int(c, "axis", 1), rank);
    tgi_onnx_dims(x, dims);
    if (tgi_onnx_failed(c))
        return;
    tg_value y = x;
    if (axis < rank - 1)
        y = tg_flatten_at(TG_IN(y), axis, rank - 1, c->site);
    y = op(c, y, axis);
    tgi_onnx_out(c, 0,
                 axis < rank - 1
                     ? tg_reshape_at(TG_IN(y), rank, dims, c->site)
                     : y);
}

static tg_value softmax(const tgi_onnx_call *c, tg_value x, int axis)
{
    return tg_softmax_at(TG_IN(x), axis, c->site);
}

static tg_value log_softmax(const tgi_onnx_call *c, tg_value x, int axis)
{
    return tg_log_softmax_at(TG_IN(x), axis, c->site);
}

/* 1 at the first maximum, else 0. */
static tg_value hardmax(const tgi_onnx_call *c, tg_value x, int axis)
{
    int64_t dims[TG_MAX_RANK];
    const int rank = tgi_onnx_dims(x, dims);
    const tg_value at =
        tg_argmax_axes_at(TG_IN(x), tg_keep(tg_axes_of(1, &axis)),
                          TG_ARG_FIRST, c->site);
    const tg_value is_max =
        F2(eq, tg_iota_at(TG_I64, rank, dims, axis, c->site), at);
    return tg_cast_at(TG_IN(is_max), tg_value_dtype(x), c->site);
}

void tgi_onnx_build_softmax(const tgi_onnx_call *c)
{
    build_along(c, softmax);
}

void tgi_onnx_build_log_softmax(const tgi_onnx_call *c)
{
    build_along(c, log_softmax);
}

void tgi_onnx_build_hardmax(const tgi_onnx_call *c)
{
    build_along(c, hardmax);
}

void tgi_onnx_build_cum_sum(const tgi_onnx_call *c)
{
    const int axis = tgi_onnx_axis(c, tgi_onnx_known_int(c, 1),
                                   tgi_onnx_in_rank(c, 0));
    const unsigned flags =
        (tgi_onnx_int(c, "exclusive", 0) ? TG_CUMULATIVE_EXCLUSIVE : 0) |
        (tgi_onnx_int(c, "reverse", 0) ? TG_CUMULATIVE_REVERSE : 0);
    tgi_onnx_out(c, 0,
                 tg_cumsum_at(TG_IN(tgi_onnx_in(c, 0)), axis, flags, c->site));
}
