/* SPDX-License-Identifier: MIT */
/*
 * ops.c - the operations of ops.h: each begins an operation on the current
 * trace, converts its operands to nodes and calls a builder.
 */
#include "tgjit/ops.h"

#include <string.h>

#include "front/trace/trace_state.h"

/* -- Elementwise ----------------------------------------------------------- */

static tg_value build_elementwise(tgi_op op, const tg_operand *operands,
                                  size_t n, tg_site site)
{
    tgi_operation o;
    tgi_ref in[3] = {0}, result = 0;
    if (tgi_operation_begin(&o, tgi_op_table[op].name, site)) {
        for (size_t i = 0; i < n; i++)
            in[i] = tgi_operation_operand(&o, operands[i]);
        result = tgi_build_elementwise(&o.b, op, in, n);
    }
    return tgi_operation_end(&o, result);
}

/* One function per elementwise op of op.def; an op that ops.h does not declare
   is a missing prototype. CAST has its own function. */
#define DEFINE_UNARY(ID, name) \
    tg_value tg_##name##_at(tg_operand x, tg_site site) \
    { \
        return build_elementwise(TGI_OP_##ID, &x, 1, site); \
    }
#define DEFINE_BINARY(ID, name) \
    tg_value tg_##name##_at(tg_operand a, tg_operand b, tg_site site) \
    { \
        return build_elementwise(TGI_OP_##ID, (tg_operand[]){a, b}, 2, site); \
    }
#define DEFINE_TERNARY(ID, name) \
    tg_value tg_##name##_at(tg_operand a, tg_operand b, tg_operand c, \
                            tg_site site) \
    { \
        return build_elementwise(TGI_OP_##ID, (tg_operand[]){a, b, c}, 3, \
                                 site); \
    }
#define DEFINE_LEAF(ID, name)
#define DEFINE_VIEW(ID, name)
#define DEFINE_INDEX(ID, name)
#define DEFINE_REDUCE(ID, name)
#define DEFINE_MATMUL(ID, name)
#define DEFINE_CONV(ID, name)
#define DEFINE_SCAN(ID, name)
#define DEFINE_RANDOM(ID, name)
#define DEFINE_STATE(ID, name)
#define DEFINE_EFFECT(ID, name)
#define DEFINE_REGION(ID, name)
#define DEFINE_CAST(ID, name)
#define OP(ID, name, cls, ...) DEFINE_##cls(ID, name)
#include "ir/op.def"
#undef OP

/* -- Types and constants --------------------------------------------------- */

tg_value tg_cast_at(tg_operand x, tg_dtype dtype, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "cast", site))
        result = tgi_build_cast(&o.b, tgi_operation_operand(&o, x), dtype);
    return tgi_operation_end(&o, result);
}

tg_value tg_bitcast_at(tg_operand x, tg_dtype dtype, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "bitcast", site))
        result = tgi_build_bitcast(&o.b, tgi_operation_operand(&o, x), dtype);
    return tgi_operation_end(&o, result);
}

tg_value tg_scalar_at(tg_dtype dtype, tg_operand number, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "scalar", site)) {
        if (!tgi_dtype_is_valid(dtype))
            tgi_build_fail(&o.b, TG_ERROR_DTYPE, NULL, 0,
                           "%d is not an element type", (int)dtype);
        else if (number.kind != TG_OPERAND_INT &&
                 number.kind != TG_OPERAND_UINT &&
                 number.kind != TG_OPERAND_FLOAT)
            tgi_build_fail(&o.b, TG_ERROR_INVALID_ARGUMENT, NULL, 0,
                           "the operand is not a number");
        else
            result = tgi_build_number(&o.b, dtype, dtype,
                                      tgi_operand_number(&number));
    }
    return tgi_operation_end(&o, result);
}

tg_value tg_constant_at(tg_dtype dtype, int rank, const int64_t *dims,
                        const void *data, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "constant", site))
        result = tgi_build_constant(&o.b, dtype, rank, dims, data);
    return tgi_operation_end(&o, result);
}

tg_value tg_iota_at(tg_dtype dtype, int rank, const int64_t *dims, int axis,
                    tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "iota", site))
        result = tgi_build_iota(&o.b, dtype, rank, dims, axis);
    return tgi_operation_end(&o, result);
}

tg_value tg_extent_at(tg_operand x, int axis, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "extent", site)) {
        tgi_ref in = tgi_operation_operand(&o, x);
        int at = in ? tgi_build_axis(&o.b, in, axis) : -1;
        if (at >= 0)
            result = tgi_build_extent(
                &o.b, tgi_graph_shape(o.t->graph, in)->dims[at]);
    }
    return tgi_operation_end(&o, result);
}

/* -- Shapes ---------------------------------------------------------------- */

tg_value tg_broadcast_at(tg_operand x, int rank, const int64_t *dims,
                         tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "broadcast", site))
        result =
            tgi_build_broadcast(&o.b, tgi_operation_operand(&o, x), rank, dims);
    return tgi_operation_end(&o, result);
}

tg_value tg_reshape_at(tg_operand x, int rank, const int64_t *dims,
                       tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "reshape", site))
        result =
            tgi_build_reshape(&o.b, tgi_operation_operand(&o, x), rank, dims);
    return tgi_operation_end(&o, result);
}

tg_value tg_transpose_at(tg_operand x, int n_axes, const int *perm,
                         tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "transpose", site))
        result = tgi_build_transpose(&o.b, tgi_operation_operand(&o, x), n_axes,
                                     perm);
    return tgi_operation_end(&o, result);
}

tg_value tg_slice_at(tg_operand x, int axis, int64_t start, int64_t stop,
                     int64_t step, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "slice", site))
        result = tgi_build_slice(&o.b, tgi_operation_operand(&o, x), axis,
                                 start, stop, step);
    return tgi_operation_end(&o, result);
}

tg_value tg_pad_at(tg_operand x, int axis, int64_t low, int64_t high,
                   tg_operand value, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "pad", site)) {
        tgi_ref in = tgi_operation_operand(&o, x);
        result = tgi_build_pad(&o.b, in, axis, low, high,
                               tgi_operation_operand(&o, value));
    }
    return tgi_operation_end(&o, result);
}

tg_value tg_gather_at(tg_operand x, tg_operand indices, int axis,
                      tg_gather_mode mode, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "gather", site)) {
        tgi_ref in = tgi_operation_operand(&o, x);
        result = tgi_build_gather(&o.b, in, tgi_operation_operand(&o, indices),
                                  axis, mode);
    }
    return tgi_operation_end(&o, result);
}

tg_value tg_scatter_at(tg_operand x, tg_operand indices, tg_operand updates,
                       int axis, tg_scatter_mode mode, tg_scatter_range range,
                       tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "scatter", site)) {
        tgi_ref in = tgi_operation_operand(&o, x);
        tgi_ref at = tgi_operation_operand(&o, indices);
        result =
            tgi_build_scatter(&o.b, in, at, tgi_operation_operand(&o, updates),
                              axis, mode, range);
    }
    return tgi_operation_end(&o, result);
}

tg_value tg_dynamic_slice_at(tg_operand x, int axis, tg_operand start,
                             int64_t size, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "dynamic_slice", site)) {
        tgi_ref in = tgi_operation_operand(&o, x);
        result = tgi_build_dynamic_slice(
            &o.b, in, axis, tgi_operation_operand(&o, start), size);
    }
    return tgi_operation_end(&o, result);
}

tg_value tg_dynamic_update_slice_at(tg_operand x, tg_operand update, int axis,
                                    tg_operand start, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "dynamic_update_slice", site)) {
        tgi_ref in = tgi_operation_operand(&o, x);
        tgi_ref part = tgi_operation_operand(&o, update);
        result = tgi_build_dynamic_update(&o.b, in, part, axis,
                                          tgi_operation_operand(&o, start));
    }
    return tgi_operation_end(&o, result);
}

/* -- Reductions ------------------------------------------------------------ */

tg_axes tg_axes_of(size_t n, const int *axes)
{
    tg_axes result = {.n = TG_MAX_RANK + 1};
    if (n > TG_MAX_RANK || (n && !axes))
        return result; /* rejected by the operation */
    result.n = (int8_t)n;
    for (size_t i = 0; i < n; i++)
        result.axis[i] = axes[i] < INT8_MIN || axes[i] > INT8_MAX
                             ? INT8_MAX
                             : (int8_t)axes[i];
    return result;
}

static tg_value build_reduction(tgi_op op, tg_operand x, tg_axes axes,
                                tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, tgi_op_table[op].name, site))
        result = tgi_build_reduce(&o.b, op, tgi_operation_operand(&o, x), axes);
    return tgi_operation_end(&o, result);
}

tg_value tg_sum_at(tg_operand x, tg_axes axes, tg_site site)
{
    return build_reduction(TGI_OP_SUM, x, axes, site);
}

tg_value tg_prod_at(tg_operand x, tg_axes axes, tg_site site)
{
    return build_reduction(TGI_OP_PROD, x, axes, site);
}

tg_value tg_reduce_max_at(tg_operand x, tg_axes axes, tg_site site)
{
    return build_reduction(TGI_OP_REDUCE_MAX, x, axes, site);
}

tg_value tg_reduce_min_at(tg_operand x, tg_axes axes, tg_site site)
{
    return build_reduction(TGI_OP_REDUCE_MIN, x, axes, site);
}

tg_value tg_mean_at(tg_operand x, tg_axes axes, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "mean", site))
        result = tgi_build_mean(&o.b, tgi_operation_operand(&o, x), axes);
    return tgi_operation_end(&o, result);
}

/*
 * any and all are sums of the deciding elements, compared with 0. Unlike max
 * and min, these are defined without elements (false and true).
 */
static tg_value build_any_or_all(const char *name, bool is_all, tg_operand x,
                                 tg_axes axes, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, name, site)) {
        tgi_ref in = tgi_operation_operand(&o, x);
        if (in && tgi_graph_node(o.t->graph, in)->dtype != TG_BOOL) {
            tgi_build_fail(&o.b, TG_ERROR_DTYPE, &in, 1, "needs bool");
            in = 0;
        }
        if (is_all)
            in = tgi_build_1(&o.b, TGI_OP_NOT, in);
        tgi_ref sum = tgi_build_reduce(&o.b, TGI_OP_SUM,
                                       tgi_build_cast(&o.b, in, TG_I64), axes);
        tgi_ref zero = tgi_build_number(&o.b, TG_I64, TG_I64,
                                        (tgi_number){TGI_NUMBER_INT, {.i = 0}});
        result = tgi_build_2(&o.b, is_all ? TGI_OP_EQ : TGI_OP_NE, sum, zero);
    }
    return tgi_operation_end(&o, result);
}

tg_value tg_any_at(tg_operand x, tg_axes axes, tg_site site)
{
    return build_any_or_all("any", false, x, axes, site);
}

tg_value tg_all_at(tg_operand x, tg_axes axes, tg_site site)
{
    return build_any_or_all("all", true, x, axes, site);
}

static tg_value build_arg_reduction(tgi_op op, tg_operand x, int axis,
                                    tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, tgi_op_table[op].name, site))
        result =
            tgi_build_arg_reduce(&o.b, op, tgi_operation_operand(&o, x), axis);
    return tgi_operation_end(&o, result);
}

tg_value tg_argmax_at(tg_operand x, int axis, tg_site site)
{
    return build_arg_reduction(TGI_OP_ARGMAX, x, axis, site);
}

tg_value tg_argmin_at(tg_operand x, int axis, tg_site site)
{
    return build_arg_reduction(TGI_OP_ARGMIN, x, axis, site);
}

/* -- Matmul ---------------------------------------------------------------- */

tg_value tg_matmul_with_at(tg_operand a, tg_operand b, int flags, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "matmul", site)) {
        tgi_ref left = tgi_operation_operand(&o, a);
        result =
            tgi_build_matmul(&o.b, left, tgi_operation_operand(&o, b), flags);
    }
    return tgi_operation_end(&o, result);
}
