/* SPDX-License-Identifier: MIT */
/*
 * build_reduce.c - reductions, matrix products and random words.
 */
#include <string.h>

#include "base/error.h"
#include "build/build.h"

/* -- Reductions ------------------------------------------------------------ */

bool tgi_build_axes_mask(tgi_builder *b, tgi_ref x, tg_axes axes,
                         uint64_t *out_mask)
{
    int rank = tgi_graph_shape(b->graph, x)->rank;
    *out_mask = 0;
    if (axes.n < 0) {
        *out_mask = (UINT64_C(1) << rank) - 1;
        return true;
    }
    if (axes.n > TG_MAX_RANK) {
        tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1, "too many axes");
        return false;
    }
    for (int i = 0; i < axes.n; i++) {
        int axis = tgi_build_axis(b, x, axes.axis[i]);
        if (axis < 0)
            return false;
        if (*out_mask & (UINT64_C(1) << axis)) {
            tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1, "axis %d is repeated",
                           axis);
            return false;
        }
        *out_mask |= UINT64_C(1) << axis;
    }
    return true;
}

tgi_dim tgi_build_reduced_count(tgi_builder *b, tgi_ref x, tg_axes axes)
{
    uint64_t mask;
    tgi_dim count = 1;
    if (!x || !tgi_build_axes_mask(b, x, axes, &mask))
        return TGI_DIM_NONE;
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    for (int i = 0; i < shape->rank; i++)
        if (mask & (UINT64_C(1) << i))
            count = tgi_dim_mul(b->graph->dims, count, shape->dims[i]);
    return count;
}

/* The reduction over the axes in the mask, or 0 and an error; if it
   `takes_nothing`, there may be no elements to reduce. */
static tgi_ref reduce_axes(tgi_builder *b, tgi_op op, tgi_ref x, uint64_t mask,
                           bool takes_nothing, const void *attr,
                           size_t attr_bytes)
{
    const tgi_op_info *info = &tgi_op_table[op];
    const int dtype = tgi_graph_node(b->graph, x)->dtype;
    if (!tgi_dtype_is(dtype, info->types | TGI_CLASS_HALF))
        return tgi_build_fail(b, TG_ERROR_DTYPE, &x, 1, "needs a number type");

    takes_nothing |= op == TGI_OP_SUM || op == TGI_OP_PROD;
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    tgi_dim dims[TG_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < shape->rank; i++) {
        if (!(mask & (UINT64_C(1) << i)))
            dims[rank++] = shape->dims[i];
        else if (!takes_nothing &&
                 !tgi_build_check(b, TGI_CHECK_NOT_ZERO, shape->dims[i], 0,
                                  "extent to reduce"))
            return tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                                  "axis %d has no elements", i);
    }
    const tgi_shape_ref result = tgi_shape_intern(b->graph->dims, rank, dims);
    if (!(x = tgi_build_widen(b, x)))
        return 0;
    if (info->result == TGI_RESULT_I64)
        return tgi_build_node(b, op, TG_I64, result, &x, 1, attr, attr_bytes);
    const tgi_ref reduced =
        tgi_build_node(b, op, tgi_graph_node(b->graph, x)->dtype, result, &x, 1,
                       attr, attr_bytes);
    return tgi_build_narrow(b, reduced, dtype);
}

static tgi_ref build_reduce(tgi_builder *b, tgi_op op, tgi_ref x, tg_axes axes,
                            bool takes_nothing)
{
    tgi_attr_axes attr;
    if (!x || !tgi_build_axes_mask(b, x, axes, &attr.mask))
        return 0;
    tgi_ref reduced = reduce_axes(b, op, x, attr.mask, takes_nothing, &attr,
                                  sizeof(attr));
    if (!reduced || !axes.keep)
        return reduced;

    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    tgi_dim dims[TG_MAX_RANK];
    for (int i = 0; i < shape->rank; i++)
        dims[i] = attr.mask & (UINT64_C(1) << i) ? 1 : shape->dims[i];
    return tgi_build_reshape(b, reduced, shape->rank, dims);
}

tgi_ref tgi_build_reduce(tgi_builder *b, tgi_op op, tgi_ref x, tg_axes axes)
{
    return build_reduce(b, op, x, axes, false);
}

tgi_ref tgi_build_reduce_or_zero(tgi_builder *b, tgi_op op, tgi_ref x,
                                 tg_axes axes)
{
    return build_reduce(b, op, x, axes, true);
}

tgi_ref tgi_build_arg_reduce(tgi_builder *b, tgi_op op, tgi_ref x,
                             int user_axis)
{
    if (!x)
        return 0;
    int axis = tgi_build_axis(b, x, user_axis);
    if (axis < 0)
        return 0;
    tgi_attr_index attr = {axis};
    return reduce_axes(b, op, x, UINT64_C(1) << axis, false, &attr,
                       sizeof(attr));
}

tgi_ref tgi_build_mean(tgi_builder *b, tgi_ref x, tg_axes axes)
{
    if (!x)
        return 0;
    const int dtype = tgi_graph_node(b->graph, x)->dtype;
    if (!tgi_dtype_is(dtype, TGI_CLASS_REAL))
        return tgi_build_fail(b, TG_ERROR_DTYPE, &x, 1, "needs a float type");
    if (tgi_build_is_half(b, x))
        return tgi_build_narrow(b, tgi_build_mean(b, tgi_build_widen(b, x), axes),
                                dtype);
    tgi_ref sum = tgi_build_reduce(b, TGI_OP_SUM, x, axes);
    tgi_ref n = tgi_build_extent(b, tgi_build_reduced_count(b, x, axes));
    return tgi_build_2(b, TGI_OP_DIV, sum, tgi_build_cast(b, n, dtype));
}

/* -- Matrix products ------------------------------------------------------- */

/* Reshapes a vector to [1,n] or [n,1]; other operands are unchanged. */
static tgi_ref as_matrix(tgi_builder *b, tgi_ref x, bool is_row)
{
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    if (shape->rank != 1)
        return x;
    tgi_dim n = shape->dims[0];
    return tgi_build_reshape(
        b, x, 2, is_row ? (int64_t[]){1, n} : (int64_t[]){n, 1});
}

/* Removes the axes that as_matrix added. */
static tgi_ref drop_added_axes(tgi_builder *b, tgi_ref product, bool row,
                               bool column)
{
    if (!product || (!row && !column))
        return product;
    const tgi_shape *shape = tgi_graph_shape(b->graph, product);
    tgi_dim dims[TG_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < shape->rank; i++)
        if (!(row && i == shape->rank - 2) &&
            !(column && i == shape->rank - 1))
            dims[rank++] = shape->dims[i];
    return tgi_build_reshape(b, product, rank, dims);
}

/* Records that inner dimensions, which may be symbolic, differ. */
static tgi_ref fail_inner_dims(tgi_builder *b, const tgi_ref *operands,
                               tgi_dim k, tgi_dim k2)
{
    tgi_strbuf text = {0};
    tgi_dim_print(b->graph->dims, k, &text);
    tgi_strbuf_add(&text, " and ");
    tgi_dim_print(b->graph->dims, k2, &text);
    tgi_build_fail(b, TG_ERROR_SHAPE, operands, 2,
                   "inner dimensions %s differ", text.text ? text.text : "?");
    tgi_strbuf_deinit(&text);
    return 0;
}

tgi_ref tgi_build_matmul(tgi_builder *b, tgi_ref x, tgi_ref y, int flags)
{
    if (!x || !y)
        return 0;
    const tgi_ref user[] = {x, y};
    const tgi_node *nodes[] = {tgi_graph_node(b->graph, x),
                               tgi_graph_node(b->graph, y)};
    int x_rank = tgi_graph_shape(b->graph, x)->rank;
    int y_rank = tgi_graph_shape(b->graph, y)->rank;
    if (x_rank == 0 || y_rank == 0)
        return tgi_build_fail(b, TG_ERROR_SHAPE, user, 2,
                              "a scalar is not a matrix");
    if (flags & ~(TG_TRANSPOSE_A | TG_TRANSPOSE_B | TG_MATMUL_BYTES))
        return tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT, user, 2,
                              "invalid flags %d", flags);
    if (nodes[0]->dtype != nodes[1]->dtype)
        return tgi_build_fail(b, TG_ERROR_DTYPE, user, 2,
                              "dtypes differ; convert one with tg_cast");
    const tg_dtype dtype = nodes[0]->dtype;
    if (!tgi_dtype_is(dtype, TGI_CLASS_NUM_HALF))
        return tgi_build_fail(b, TG_ERROR_DTYPE, user, 2,
                              "needs a number type");
    if ((flags & TG_MATMUL_BYTES) && dtype != TG_I32)
        return tgi_build_fail(b, TG_ERROR_DTYPE, user, 2,
                              "products of bytes need i32");
    /* Transposing a vector has no effect. */
    if (x_rank == 1)
        flags &= ~TG_TRANSPOSE_A;
    if (y_rank == 1)
        flags &= ~TG_TRANSPOSE_B;
    tgi_ref in[2];
    in[0] = as_matrix(b, x, true);
    in[1] = as_matrix(b, y, false);
    if (!in[0] || !in[1])
        return 0;

    const tgi_shape *p = tgi_graph_shape(b->graph, in[0]);
    const tgi_shape *q = tgi_graph_shape(b->graph, in[1]);
    bool p_transposed = flags & TG_TRANSPOSE_A;
    bool q_transposed = flags & TG_TRANSPOSE_B;
    tgi_dim m = p->dims[p->rank - (p_transposed ? 1 : 2)];
    tgi_dim k = p->dims[p->rank - (p_transposed ? 2 : 1)];
    tgi_dim k2 = q->dims[q->rank - (q_transposed ? 1 : 2)];
    tgi_dim n = q->dims[q->rank - (q_transposed ? 2 : 1)];
    if (!tgi_build_check(b, TGI_CHECK_EQUAL, k, k2, "inner dimensions"))
        return fail_inner_dims(b, user, k, k2);

    int rank = p->rank > q->rank ? p->rank : q->rank;
    tgi_dim dims[TG_MAX_RANK];
    tgi_build_compare(b, nodes[0]->shape, nodes[1]->shape, false);
    for (int i = 0; i < rank - 2; i++) {
        int p_axis = i - (rank - p->rank), q_axis = i - (rank - q->rank);
        if (!tgi_build_common_dim(b, p_axis >= 0 ? p->dims[p_axis] : 1,
                                  q_axis >= 0 ? q->dims[q_axis] : 1, &dims[i]))
            return tgi_build_fail(b, TG_ERROR_SHAPE, user, 2,
                                  "batch axes do not broadcast");
    }
    tgi_build_compare(b, 0, 0, false);
    dims[rank - 2] = m;
    dims[rank - 1] = n;
    tgi_attr_matmul attr = {flags};
    const tgi_shape_ref shape = tgi_build_shape(b, rank, dims);
    in[0] = tgi_build_widen(b, in[0]);
    in[1] = tgi_build_widen(b, in[1]);
    if (!in[0] || !in[1])
        return 0;
    tgi_ref product = tgi_build_node(b, TGI_OP_MATMUL,
                                     tgi_graph_node(b->graph, in[0])->dtype,
                                     shape, in, 2, &attr, sizeof(attr));
    return drop_added_axes(b, tgi_build_narrow(b, product, dtype), x_rank == 1,
                           y_rank == 1);
}

/* -- Random words ---------------------------------------------------------- */

tgi_ref tgi_build_random_bits(tgi_builder *b, tg_dtype dtype, tgi_ref key,
                              tgi_ref offset, int rank, const int64_t *dims)
{
    tgi_ref in[2];
    in[0] = tgi_build_adapt(b, key, TG_U64);
    in[1] = tgi_build_adapt(b, offset, TG_U64);
    if (!in[0] || !in[1])
        return 0;
    if (tgi_graph_shape(b->graph, in[0])->rank ||
        tgi_graph_shape(b->graph, in[1])->rank)
        return tgi_build_fail(b, TG_ERROR_SHAPE, in, 2,
                              "key and offset are not scalars");
    if (dtype != TG_U32 && dtype != TG_U64)
        return tgi_build_fail(b, TG_ERROR_DTYPE, NULL, 0,
                              "the dtype must be u32 or u64, not %s",
                              tg_dtype_name(dtype));
    return tgi_build_node(b, TGI_OP_RANDOM_BITS, dtype,
                          tgi_build_shape(b, rank, dims), in, 2, NULL, 0);
}
