/* SPDX-License-Identifier: MIT */
/*
 * build_conv.c - builders of WINDOW and CONV.
 */
#include "build/build.h"

/* The elements that a window covers: (size - 1) * dilation + 1. */
static tgi_dim window_extent(tgi_dims *dims, tgi_dim size, int64_t dilation)
{
    return tgi_dim_add(
        dims, tgi_dim_mul(dims, tgi_dim_sub(dims, size, 1), dilation), 1);
}

tgi_dim tgi_build_window_count(tgi_builder *b, tgi_ref x, int axis,
                               tgi_dim size, int64_t stride, int64_t dilation)
{
    tgi_dims *dims = b->graph->dims;
    const tgi_dim extent = tgi_graph_shape(b->graph, x)->dims[axis];
    if (size == 0 || !tgi_dims_has(dims, size)) {
        tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1, "a window of %lld elements",
                       (long long)size);
        return TGI_DIM_NONE;
    }
    if (stride < 1 || dilation < 1 || stride > INT32_MAX ||
        dilation > INT32_MAX) {
        tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT, &x, 1,
                       "stride %lld and dilation %lld must be at least 1 and "
                       "at most %d",
                       (long long)stride, (long long)dilation, INT32_MAX);
        return TGI_DIM_NONE;
    }
    const tgi_dim covered = window_extent(dims, size, dilation);
    if (tgi_build_dim(b, covered) == TGI_DIM_NONE)
        return TGI_DIM_NONE;
    if (!tgi_build_check(b, TGI_CHECK_AT_MOST, covered, extent,
                         "elements of a window")) {
        tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                       "a window of %lld elements does not fit axis %d",
                       (long long)covered, axis);
        return TGI_DIM_NONE;
    }
    return tgi_build_dim(
        b, tgi_dim_add(dims,
                       tgi_dim_div(dims, tgi_dim_sub(dims, extent, covered),
                                   stride),
                       1));
}

/* The axes of windows, which stand in the order of the axes they are taken from,
   in that of `axes`. */
static tgi_ref order_windows(tgi_builder *b, tgi_ref x, int first, int n,
                             const int *axes)
{
    int perm[TG_MAX_RANK];
    bool is_ordered = true;
    for (int i = 0; i < first; i++)
        perm[i] = i;
    for (int i = 0; i < n; i++) {
        perm[first + i] = first;
        for (int j = 0; j < n; j++)
            perm[first + i] += axes[j] < axes[i];
        is_ordered &= perm[first + i] == first + i;
    }
    return !x || is_ordered ? x : tgi_build_transpose(b, x, first + n, perm);
}

tgi_ref tgi_build_window(tgi_builder *b, tgi_ref x, int n, const int *axes,
                         const int64_t *sizes, const int64_t *strides,
                         const int64_t *dilations)
{
    if (!x)
        return 0;
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    if (n < 0 || shape->rank + n > TG_MAX_RANK)
        return tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                              "%d axes of windows exceed the maximum rank %d",
                              n, TG_MAX_RANK);
    tgi_attr_window attr = {{0}, {0}, {0}};
    tgi_dim dims[TG_MAX_RANK];
    int rank = shape->rank, of_x[TG_MAX_RANK];
    for (int i = 0; i < rank; i++)
        dims[i] = shape->dims[i];
    for (int i = 0; i < n; i++) {
        const int axis = tgi_build_axis(b, x, axes[i]);
        if (axis < 0)
            return 0;
        if (attr.size[axis])
            return tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT, &x, 1,
                                  "axis %d has windows twice", axis);
        dims[axis] = tgi_build_window_count(b, x, axis, sizes[i], strides[i],
                                            dilations[i]);
        if (dims[axis] == TGI_DIM_NONE)
            return 0;
        of_x[i] = axis;
        attr.size[axis] = sizes[i];
        attr.stride[axis] = strides[i];
        attr.dilation[axis] = dilations[i];
    }
    for (int axis = 0; axis < shape->rank; axis++)
        if (attr.size[axis])
            dims[rank++] = attr.size[axis];
    const tgi_ref windows = tgi_build_node(
        b, TGI_OP_WINDOW, tgi_graph_node(b->graph, x)->dtype,
        tgi_build_shape(b, rank, dims), &x, 1, &attr, sizeof(attr));
    return order_windows(b, windows, rank - n, n, of_x);
}

tgi_ref tgi_build_reversed_filters(tgi_builder *b, tgi_ref w, int n_batch,
                                   int n_spatial)
{
    if (!w)
        return 0;
    const tgi_node *node = tgi_graph_node(b->graph, w);
    const tgi_shape *shape = tgi_graph_shape(b->graph, w);
    const int rank = shape->rank;
    tgi_attr_slice reversal = {{0}, {0}};
    int perm[TG_MAX_RANK];
    for (int i = 0; i < rank; i++) {
        const bool is_spatial = i >= n_batch && i < n_batch + n_spatial;
        reversal.step[i] = is_spatial ? -1 : 1;
        if (is_spatial)
            reversal.start[i] =
                tgi_dim_sub(b->graph->dims, shape->dims[i], 1);
        if (tgi_build_dim(b, reversal.start[i]) == TGI_DIM_NONE)
            return 0;
        perm[i] = i;
    }
    perm[rank - 2] = rank - 1;
    perm[rank - 1] = rank - 2;
    if (n_spatial)
        w = tgi_build_node(b, TGI_OP_SLICE, node->dtype, node->shape, &w, 1,
                           &reversal, sizeof(reversal));
    return tgi_build_transpose(b, w, rank, perm);
}

/* Checks dtypes and ranks of the operands of a convolution. */
static bool check_operands(tgi_builder *b, const tgi_ref *in, int n_batch)
{
    const tgi_node *x = tgi_graph_node(b->graph, in[0]);
    const tgi_node *w = tgi_graph_node(b->graph, in[1]);
    const int rank = tgi_graph_shape(b->graph, in[0])->rank;
    const int w_rank = tgi_graph_shape(b->graph, in[1])->rank;
    if (x->dtype != w->dtype)
        return tgi_build_fail(b, TG_ERROR_DTYPE, in, 2,
                              "dtypes differ; convert one with tg_cast");
    if (!tgi_dtype_is(x->dtype, TGI_CLASS_NUM_HALF))
        return tgi_build_fail(b, TG_ERROR_DTYPE, in, 2, "needs a number type");
    if (n_batch < 0 || rank < n_batch + 2)
        return tgi_build_fail(b, TG_ERROR_SHAPE, in, 2,
                              "%d batch axes, examples and channels are more "
                              "than %d axes",
                              n_batch, rank);
    if (rank != w_rank)
        return tgi_build_fail(b, TG_ERROR_SHAPE, in, 2,
                              "ranks %d and %d differ", rank, w_rank);
    return true;
}

tgi_ref tgi_build_conv(tgi_builder *b, tgi_ref x, tgi_ref w, int n_batch,
                       const int64_t *strides, const int64_t *dilations)
{
    const tgi_ref in[] = {x, w};
    if (!x || !w || !check_operands(b, in, n_batch))
        return 0;
    const tgi_shape *of_x = tgi_graph_shape(b->graph, x);
    const tgi_shape *of_w = tgi_graph_shape(b->graph, w);
    const int rank = of_x->rank;
    for (int i = 0; i < n_batch; i++)
        if (!tgi_build_check(b, TGI_CHECK_EQUAL, of_x->dims[i], of_w->dims[i],
                             "batch extents"))
            return tgi_build_fail(b, TG_ERROR_SHAPE, in, 2,
                                  "batch axis %d differs", i);
    if (!tgi_build_check(b, TGI_CHECK_EQUAL, of_x->dims[rank - 1],
                         of_w->dims[rank - 2], "channels"))
        return tgi_build_fail(b, TG_ERROR_SHAPE, in, 2,
                              "the operand and the filters have different "
                              "numbers of channels");
    tgi_attr_conv attr = {.n_batch = n_batch};
    tgi_dim dims[TG_MAX_RANK];
    for (int i = 0; i <= n_batch; i++)
        dims[i] = of_x->dims[i];
    for (int i = 0; i < rank - n_batch - 2; i++) {
        const int axis = n_batch + 1 + i;
        attr.stride[i] = strides[i];
        attr.dilation[i] = dilations[i];
        dims[axis] = tgi_build_window_count(b, x, axis, of_w->dims[axis - 1],
                                            strides[i], dilations[i]);
        if (dims[axis] == TGI_DIM_NONE)
            return 0;
    }
    dims[rank - 1] = of_w->dims[rank - 1];
    const tg_dtype dtype = tgi_graph_node(b->graph, x)->dtype;
    const tgi_ref wide[] = {tgi_build_widen(b, x), tgi_build_widen(b, w)};
    if (!wide[0] || !wide[1])
        return 0;
    const tgi_ref product = tgi_build_node(
        b, TGI_OP_CONV, tgi_graph_node(b->graph, wide[0])->dtype,
        tgi_build_shape(b, rank, dims), wide, 2, &attr, sizeof(attr));
    return tgi_build_narrow(b, product, dtype);
}
