/* SPDX-License-Identifier: MIT */
/*
 * ops_conv.c - windows and convolutions. The primitive CONV has neither padding
 * nor groups: padding is a PAD, groups are a batch axis, and a depthwise
 * convolution is a chain of fma over the elements of a window, whose order is
 * that of CONV.
 */
#include "tgjit/ops_conv.h"

#include "base/versioned.h"
#include "front/ops/ops_spatial.h"

enum { K_BLOCK = 256 }; /* steps that CONV accumulates from 0 */

/* -- Options --------------------------------------------------------------- */

bool tgi_conv_options_read(tgi_operation *o, const tg_conv_options *options,
                           tg_conv_options *out)
{
    tgi_builder *b = &o->b;
    if (tgi_versioned_read(out, sizeof(*out), options, "tg_conv_options")) {
        b->has_error = true;
        return false;
    }
    if (!tgi_build_check_layout(b, out->layout))
        return false;
    for (int i = 0; i < TG_MAX_SPATIAL; i++) {
        out->stride[i] += out->stride[i] == 0;
        out->dilation[i] += out->dilation[i] == 0;
    }
    out->groups += out->groups == 0;
    if (out->groups < 1)
        return tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT, NULL, 0,
                              "%lld groups", (long long)out->groups);
    if (out->batch && (out->groups > 1 || out->layout != TG_CHANNELS_LAST))
        return tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT, NULL, 0,
                              "batch axes need channels last, and no groups");
    return true;
}

/* -- Groups ---------------------------------------------------------------- */

/* Splits axis `axis` of x into groups, and moves these to the front. */
static tgi_ref split_groups(tgi_builder *b, tgi_ref x, int axis, int64_t groups)
{
    if (!x)
        return 0;
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    tgi_dim dims[TG_MAX_RANK];
    int perm[TG_MAX_RANK], n = 0;
    if (shape->rank == TG_MAX_RANK)
        return tgi_build_fail(b, TG_ERROR_UNSUPPORTED, &x, 1,
                              "groups of more than %d axes", TG_MAX_RANK - 1);
    const tgi_dim of_group =
        tgi_dim_div(b->graph->dims, shape->dims[axis], groups);
    if (!tgi_build_check(b, TGI_CHECK_EQUAL, shape->dims[axis],
                         tgi_dim_mul(b->graph->dims, of_group, groups),
                         "channels of all groups"))
        return tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                              "axis %d is not divisible into %lld groups", axis,
                              (long long)groups);
    perm[n++] = axis;
    for (int i = 0, at = 0; i < shape->rank; i++) {
        if (i != axis) {
            dims[at++] = shape->dims[i];
            perm[n++] = i + (i > axis);
            continue;
        }
        dims[at++] = groups;
        dims[at++] = of_group;
        perm[n++] = i + 1;
    }
    return tgi_build_transpose(
        b, tgi_build_reshape(b, x, shape->rank + 1, dims), n, perm);
}

/* The reverse: the groups in front become part of the last axis. */
static tgi_ref join_groups(tgi_builder *b, tgi_ref x)
{
    if (!x)
        return 0;
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    const int rank = shape->rank;
    tgi_dim dims[TG_MAX_RANK];
    int perm[TG_MAX_RANK];
    for (int i = 0; i < rank - 1; i++) {
        perm[i] = i < rank - 2 ? i + 1 : 0;
        dims[i] = shape->dims[i + 1];
    }
    perm[rank - 1] = rank - 1;
    dims[rank - 2] =
        tgi_dim_mul(b->graph->dims, shape->dims[0], shape->dims[rank - 1]);
    return tgi_build_reshape(b, tgi_build_transpose(b, x, rank, perm),
                             rank - 1, dims);
}

static tgi_ref build_groups(tgi_builder *b, tgi_ref x, tgi_ref w,
                            const tg_conv_options *options)
{
    if (!x || !w)
        return 0;
    const int rank = tgi_graph_shape(b->graph, x)->rank;
    x = split_groups(b, x, rank - 1, options->groups);
    w = split_groups(b, w, rank - 1, options->groups);
    return join_groups(
        b, tgi_build_conv(b, x, w, 1, options->stride, options->dilation));
}

/* -- Depthwise ------------------------------------------------------------- */

/* The elements of a window, if each group is one channel and one filter; else
   0. The filters alone decide, so that the gradients of a function that does not
   know the extents of the operand have the same bits. */
static int64_t depthwise_elements(const tgi_builder *b, tgi_ref w,
                                  const tg_conv_options *options)
{
    const tgi_shape *of_w = tgi_graph_shape(b->graph, w);
    const int rank = of_w->rank;
    int64_t n = 1;
    if (of_w->dims[rank - 2] != 1 || of_w->dims[rank - 1] != options->groups)
        return 0;
    for (int i = 0; i < rank - 2; i++) {
        if (!tgi_dim_is_known(of_w->dims[i]) || of_w->dims[i] > K_BLOCK)
            return 0;
        n *= of_w->dims[i];
        if (n > K_BLOCK)
            return 0;
    }
    return n;
}

/* Element `number` of all windows, in the layout of x, whose spatial axes begin
   with `first`. */
static tgi_ref window_element(tgi_builder *b, tgi_ref x, tgi_ref w, int first,
                              int64_t number, const tgi_dim *counts,
                              const tg_conv_options *options)
{
    const tgi_shape *of_w = tgi_graph_shape(b->graph, w);
    const int n_spatial = of_w->rank - 2;
    int64_t start[TG_MAX_RANK] = {0}, stop[TG_MAX_RANK], step[TG_MAX_RANK];
    for (int i = 0; i < first; i++) {
        stop[i] = tgi_graph_shape(b->graph, x)->dims[i];
        step[i] = 1;
    }
    for (int i = n_spatial - 1; i >= 0; i--) {
        const int axis = first + i;
        start[axis] = number % of_w->dims[i] * options->dilation[i];
        number /= of_w->dims[i];
        step[axis] = options->stride[i];
        stop[axis] = tgi_build_dim(
            b, tgi_dim_add(b->graph->dims, start[axis] + 1,
                           tgi_dim_mul(b->graph->dims,
                                       tgi_dim_sub(b->graph->dims, counts[i],
                                                   1),
                                       options->stride[i])));
        if (stop[axis] == TGI_DIM_NONE)
            return 0;
    }
    return tgi_build_slice_axes(b, x, first + n_spatial, start, stop, step);
}

/* The filters at that element: [channel], followed by axes of extent 1 for the
   spatial axes if these are behind the channels. */
static tgi_ref filter_element(tgi_builder *b, tgi_ref w, int first,
                              int64_t number)
{
    const tgi_shape *shape = tgi_graph_shape(b->graph, w);
    const int rank = shape->rank;
    tgi_dim dims[TG_MAX_RANK] = {shape->dims[rank - 1]};
    for (int i = 1; i < rank - 1; i++)
        dims[i] = 1;
    int64_t start[TG_MAX_RANK] = {0}, stop[TG_MAX_RANK], step[TG_MAX_RANK];
    for (int i = rank - 3; i >= 0; i--) {
        start[i] = number % shape->dims[i];
        stop[i] = start[i] + 1;
        step[i] = 1;
        number /= shape->dims[i];
    }
    return tgi_build_reshape(
        b, tgi_build_slice_axes(b, w, rank - 2, start, stop, step),
        first == 1 ? 1 : rank - 1, dims);
}

/* The layout of x is kept: a transpose would cost more than the convolution. */
static tgi_ref build_depthwise(tgi_builder *b, tgi_ref x, tgi_ref w, int first,
                               int64_t n, const tg_conv_options *options)
{
    const tgi_shape *of_w = tgi_graph_shape(b->graph, w);
    tgi_dim counts[TG_MAX_RANK];
    for (int i = 0; i < of_w->rank - 2; i++) {
        counts[i] = tgi_build_window_count(b, x, first + i, of_w->dims[i],
                                           options->stride[i],
                                           options->dilation[i]);
        if (counts[i] == TGI_DIM_NONE)
            return 0;
    }
    const tg_dtype dtype = tgi_graph_node(b->graph, x)->dtype;
    tgi_ref sum =
        tgi_build_number(b, dtype, dtype, (tgi_number){TGI_NUMBER_UINT, {0}});
    for (int64_t i = 0; sum && i < n; i++) {
        const tgi_ref of_x = window_element(b, x, w, first, i, counts, options);
        sum = tgi_build_3(b, TGI_OP_FMA, of_x, filter_element(b, w, first, i),
                          sum);
    }
    return sum;
}

/* -- Convolutions ---------------------------------------------------------- */

/* Checks the number of spatial axes. */
static bool check_rank(tgi_builder *b, tgi_ref x, int n_spatial, int batch)
{
    const int rank = tgi_graph_shape(b->graph, x)->rank;
    if (batch < 0 || rank < 2 + batch)
        return tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                              "needs axes of examples and channels");
    if (n_spatial >= 0 && rank != n_spatial + 2 + batch)
        return tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                              "needs %d axes, but has %d",
                              n_spatial + 2 + batch, rank);
    return true;
}

/* Filters [filter, channel, spatial …] as [spatial …, channel, filter]. */
static tgi_ref filters_last(tgi_builder *b, tgi_ref w)
{
    if (!w)
        return 0;
    const int rank = tgi_graph_shape(b->graph, w)->rank;
    int perm[TG_MAX_RANK];
    for (int i = 0; i < rank - 2; i++)
        perm[i] = i + 2;
    if (rank >= 2) {
        perm[rank - 2] = 1;
        perm[rank - 1] = 0;
    }
    return tgi_build_transpose(b, w, rank, perm);
}

/* Compares channels before padding and groups change the shapes, so that a
   message has those of the user's operands, `in`. Dtypes are reported before
   channels, by tgi_build_conv. */
static bool check_channels(tgi_builder *b, const tgi_ref *in, tgi_dim of_x,
                           tgi_dim of_group, int64_t groups)
{
    const int dtype = tgi_graph_node(b->graph, in[0])->dtype;
    if (!tgi_dim_is_known(of_x) || !tgi_dim_is_known(of_group) ||
        of_x % groups != 0 || of_x / groups == of_group ||
        dtype != tgi_graph_node(b->graph, in[1])->dtype ||
        !tgi_dtype_is(dtype, TGI_CLASS_NUM_HALF))
        return true;
    if (groups == 1)
        return tgi_build_fail(b, TG_ERROR_SHAPE, in, 2,
                              "the operand has %lld channels, the filters are "
                              "for %lld",
                              (long long)of_x, (long long)of_group);
    return tgi_build_fail(b, TG_ERROR_SHAPE, in, 2,
                          "each of %lld groups has %lld channels of the "
                          "operand, the filters are for %lld",
                          (long long)groups, (long long)(of_x / groups),
                          (long long)of_group);
}

tgi_ref tgi_build_spatial_conv(tgi_builder *b, tgi_ref x, tgi_ref w,
                               int n_spatial, const tg_conv_options *options)
{
    const tgi_ref given = x;
    const tgi_ref user_in[] = {x, w};
    if (options->layout == TG_CHANNELS_FIRST) {
        x = tgi_build_channels_last(b, x);
        w = filters_last(b, w);
    }
    const tgi_ref in[] = {x, w};
    if (!x || !w || !check_rank(b, x, n_spatial, options->batch))
        return 0;
    const int rank = tgi_graph_shape(b->graph, x)->rank;
    if (tgi_graph_shape(b->graph, w)->rank != rank)
        return tgi_build_fail(b, TG_ERROR_SHAPE, in, 2,
                              "operand and filters differ in rank");
    if (!check_channels(b, user_in,
                        tgi_graph_shape(b->graph, x)->dims[rank - 1],
                        tgi_graph_shape(b->graph, w)->dims[rank - 2],
                        options->groups))
        return 0;
    const tg_dtype dtype = tgi_graph_node(b->graph, x)->dtype;
    const int64_t depthwise =
        options->groups > 1 && tgi_dtype_is((int)dtype, TGI_CLASS_FLOAT)
            ? depthwise_elements(b, w, options)
            : 0;
    if (depthwise &&
        !tgi_build_check(b, TGI_CHECK_EQUAL,
                         tgi_graph_shape(b->graph, x)->dims[rank - 1],
                         options->groups, "channels and groups"))
        return tgi_build_fail(b, TG_ERROR_SHAPE, user_in, 2,
                              "channels are not as many as groups");
    const bool keeps_layout = depthwise && options->layout == TG_CHANNELS_FIRST;
    x = keeps_layout ? given : x;
    const tgi_spatial spatial = {
        .first = options->batch + (keeps_layout ? 2 : 1),
        .n = rank - options->batch - 2,
        .window = &tgi_graph_shape(b->graph, w)->dims[options->batch],
        .stride = options->stride,
        .dilation = options->dilation,
        .padding = options->padding,
        .low = options->low,
        .high = options->high};
    x = tgi_build_spatial_pad(
        b, x, &spatial,
        tgi_build_number(b, dtype, dtype, (tgi_number){TGI_NUMBER_UINT, {0}}));
    if (!x)
        return 0;
    tgi_ref result = depthwise ? build_depthwise(b, x, w, spatial.first,
                                                 depthwise, options)
                     : options->groups > 1
                         ? build_groups(b, x, w, options)
                         : tgi_build_conv(b, x, w, options->batch,
                                          options->stride, options->dilation);
    return options->layout == TG_CHANNELS_FIRST && !keeps_layout
               ? tgi_build_channels_first(b, result)
               : result;
}

tg_value tg_conv_at(tg_operand x, tg_operand w, int n_spatial,
                    const tg_conv_options *user_options, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    tg_conv_options options;
    if (tgi_operation_begin_wide(&o, "conv", site) &&
        tgi_conv_options_read(&o, user_options, &options)) {
        const tgi_ref operand = tgi_operation_operand(&o, x);
        result = tgi_build_spatial_conv(&o.b, operand,
                                        tgi_operation_operand(&o, w),
                                        n_spatial, &options);
    }
    return tgi_operation_end(&o, result);
}

/* -- Transposes of convolutions -------------------------------------------- */

/* Padding of a convolution whose result has the extent of x: SAME gives an
   operand `stride` times as large. Negative: windows do not cover it. */
static bool find_padding(tgi_builder *b, tgi_ref w, const tgi_spatial *spatial,
                         int i, int64_t *out_low, int64_t *out_high)
{
    const tgi_dim window = spatial->window[i];
    if (!tgi_dim_is_known(window) || window < 1 || spatial->stride[i] < 1 ||
        spatial->dilation[i] < 1 || window > INT32_MAX ||
        spatial->stride[i] > INT32_MAX || spatial->dilation[i] > INT32_MAX)
        return tgi_build_fail(b, TG_ERROR_SHAPE, &w, 1,
                              "windows, strides and dilations must be known, "
                              "and at least 1");
    const int64_t border = (window - 1) * spatial->dilation[i];
    tgi_dim low = 0, high = 0;
    *out_low = *out_high = 0;
    if (spatial->padding == TG_PADDING_SAME) {
        const int64_t both = border + 1 - spatial->stride[i];
        *out_low = both > 0 ? both / 2 : 0;
        *out_high = both - *out_low;
    } else if (tgi_build_spatial_padding(b, 0, spatial, i, &low, &high)) {
        *out_low = low;
        *out_high = high;
    } else {
        return false;
    }
    if (*out_low > border || *out_high > border)
        return tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT, &w, 1,
                              "padding of %lld and %lld exceeds the window",
                              (long long)*out_low, (long long)*out_high);
    return true;
}

/* x with stride - 1 zeros between elements, and a border from which windows
   reach the first and the last element. */
static tgi_ref spread(tgi_builder *b, tgi_ref x, tgi_ref w,
                      const tgi_spatial *spatial)
{
    tgi_dims *table = b->graph->dims;
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    const tg_dtype dtype = tgi_graph_node(b->graph, x)->dtype;
    tgi_attr_pad pad = {{0}, {0}, {0}};
    tgi_dim dims[TG_MAX_RANK];
    for (int i = 0; i < shape->rank; i++)
        dims[i] = shape->dims[i];
    for (int i = 0; i < spatial->n; i++) {
        const int axis = spatial->first + i;
        int64_t low = 0, high = 0;
        if (!find_padding(b, w, spatial, i, &low, &high))
            return 0;
        const int64_t border = (spatial->window[i] - 1) * spatial->dilation[i];
        pad.low[axis] = border - low;
        pad.high[axis] = border - high;
        pad.interior[axis] = spatial->stride[i] - 1;
        if (!tgi_build_check(b, TGI_CHECK_AT_MOST, 1, dims[axis],
                             "elements of a spatial axis"))
            return tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                                  "axis %d has no elements", axis);
        const tgi_dim gaps = tgi_dim_mul(
            table, tgi_dim_sub(table, dims[axis], 1), pad.interior[axis]);
        dims[axis] = tgi_dim_add(table, tgi_dim_add(table, dims[axis], gaps),
                                 pad.low[axis] + pad.high[axis]);
        if (tgi_build_dim(b, dims[axis]) == TGI_DIM_NONE)
            return 0;
    }
    const tgi_ref zero =
        tgi_build_number(b, dtype, dtype, (tgi_number){TGI_NUMBER_UINT, {0}});
    return zero ? tgi_build_node(b, TGI_OP_PAD, dtype,
                                 tgi_build_shape(b, shape->rank, dims),
                                 (tgi_ref[]){x, zero}, 2, &pad, sizeof(pad))
                : 0;
}

static tgi_ref build_transpose(tgi_builder *b, tgi_ref x, tgi_ref w,
                               int n_spatial, const tg_conv_options *options)
{
    const tgi_ref user_in[] = {x, w};
    if (options->layout == TG_CHANNELS_FIRST) {
        x = tgi_build_channels_last(b, x);
        w = filters_last(b, w);
    }
    if (!x || !w || !check_rank(b, x, n_spatial, options->batch))
        return 0;
    const tgi_ref in[] = {x, w};
    const int rank = tgi_graph_shape(b->graph, x)->rank;
    const int n_batch = options->batch;
    if (tgi_graph_shape(b->graph, w)->rank != rank)
        return tgi_build_fail(b, TG_ERROR_SHAPE, in, 2,
                              "operand and filters differ in rank");
    if (!check_channels(b, user_in,
                        tgi_graph_shape(b->graph, x)->dims[rank - 1],
                        tgi_graph_shape(b->graph, w)->dims[rank - 1], 1))
        return 0;
    const tgi_spatial spatial = {
        .first = n_batch + 1,
        .n = rank - n_batch - 2,
        .window = &tgi_graph_shape(b->graph, w)->dims[n_batch],
        .stride = options->stride,
        .dilation = options->dilation,
        .padding = options->padding,
        .low = options->low,
        .high = options->high};
    tg_conv_options plain = *options;
    for (int i = 0; i < TG_MAX_SPATIAL; i++)
        plain.stride[i] = 1;
    x = spread(b, x, w, &spatial);
    if (options->groups > 1) {
        /* Each group exchanges its own channels and filters. */
        x = split_groups(b, x, rank - 1, options->groups);
        w = split_groups(b, w, rank - 1, options->groups);
    }
    const int n_leading = n_batch + (options->groups > 1);
    w = x ? tgi_build_reversed_filters(b, w, n_leading, spatial.n) : 0;
    tgi_ref result = tgi_build_conv(b, x, w, n_leading, plain.stride,
                                    plain.dilation);
    if (options->groups > 1)
        result = join_groups(b, result);
    return options->layout == TG_CHANNELS_FIRST
               ? tgi_build_channels_first(b, result)
               : result;
}

tg_value tg_conv_transpose_at(tg_operand x, tg_operand w, int n_spatial,
                              const tg_conv_options *user_options,
                              tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    tg_conv_options options;
    if (tgi_operation_begin_wide(&o, "conv_transpose", site) &&
        tgi_conv_options_read(&o, user_options, &options)) {
        const tgi_ref operand = tgi_operation_operand(&o, x);
        result = build_transpose(&o.b, operand, tgi_operation_operand(&o, w),
                                 n_spatial, &options);
    }
    return tgi_operation_end(&o, result);
}

/* -- Windows --------------------------------------------------------------- */

tg_value tg_windows_at(tg_operand operand, int n, const int *axes,
                       const int64_t *sizes, const int64_t *strides,
                       const int64_t *dilations, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (!tgi_operation_begin(&o, "windows", site))
        return tgi_operation_end(&o, 0);
    tgi_ref x = tgi_operation_operand(&o, operand);
    int64_t ones[TG_MAX_RANK];
    for (int i = 0; i < TG_MAX_RANK; i++)
        ones[i] = 1;
    if (x && n > 0 && (!axes || !sizes))
        result = tgi_build_fail(&o.b, TG_ERROR_INVALID_ARGUMENT, &x, 1,
                                "axes or sizes are NULL");
    else if (x)
        result = tgi_build_window(&o.b, x, n, axes, sizes,
                                  strides ? strides : ones,
                                  dilations ? dilations : ones);
    return tgi_operation_end(&o, result);
}
