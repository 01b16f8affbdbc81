/* SPDX-License-Identifier: MIT */
/*
 * ops_spatial.c - see ops_spatial.h.
 */
#include "front/ops/ops_spatial.h"

/* -- Padding --------------------------------------------------------------- */

/* SAME: what the windows, one for each multiple of the stride, exceed the
   extent by. */
static tgi_dim same_padding(tgi_dims *dims, tgi_dim extent, tgi_dim window,
                            int64_t stride, int64_t dilation)
{
    const tgi_dim covered = tgi_dim_add(
        dims, tgi_dim_mul(dims, tgi_dim_sub(dims, window, 1), dilation), 1);
    const tgi_dim count = tgi_dim_div(
        dims, tgi_dim_add(dims, extent, stride - 1), stride);
    /* (count - 1) * stride + covered, at least the extent */
    const tgi_dim all = tgi_dim_max(
        dims,
        tgi_dim_sub(dims,
                    tgi_dim_add(dims, tgi_dim_mul(dims, count, stride),
                                covered),
                    stride),
        extent);
    return tgi_dim_sub(dims, all, extent);
}

bool tgi_build_spatial_padding(tgi_builder *b, tgi_dim extent,
                               const tgi_spatial *spatial, int i,
                               tgi_dim *out_low, tgi_dim *out_high)
{
    tgi_dims *dims = b->graph->dims;
    *out_low = *out_high = 0;
    switch (spatial->padding) {
    case TG_PADDING_VALID:
        return true;
    case TG_PADDING_EXPLICIT:
        *out_low = spatial->low[i];
        *out_high = spatial->high[i];
        if (*out_low >= 0 && *out_high >= 0)
            return true;
        return tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT, NULL, 0,
                              "padding of %lld and %lld is negative",
                              (long long)*out_low, (long long)*out_high);
    case TG_PADDING_SAME: {
        if (spatial->stride[i] < 1 || spatial->dilation[i] < 1 ||
            spatial->window[i] == 0)
            return true; /* reported with the windows */
        const tgi_dim both =
            same_padding(dims, extent, spatial->window[i], spatial->stride[i],
                         spatial->dilation[i]);
        *out_low = tgi_dim_div(dims, both, 2);
        *out_high = tgi_dim_sub(dims, both, *out_low);
        return tgi_build_dim(b, *out_high) != TGI_DIM_NONE;
    }
    }
    return tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT, NULL, 0,
                          "padding %d is unknown", (int)spatial->padding);
}

tgi_ref tgi_build_spatial_pad(tgi_builder *b, tgi_ref x,
                              const tgi_spatial *spatial, tgi_ref value)
{
    if (!x || !value)
        return 0;
    int64_t low[TG_MAX_RANK] = {0}, high[TG_MAX_RANK] = {0};
    bool is_padded = false;
    for (int i = 0; i < spatial->n; i++) {
        const int axis = spatial->first + i;
        if (!tgi_build_spatial_padding(
                b, tgi_graph_shape(b->graph, x)->dims[axis], spatial, i,
                &low[axis], &high[axis]))
            return 0;
        is_padded |= low[axis] != 0 || high[axis] != 0;
    }
    return is_padded ? tgi_build_pad_axes(b, x, spatial->first + spatial->n,
                                          low, high, value)
                     : x;
}

/* -- Layouts --------------------------------------------------------------- */

bool tgi_build_check_layout(tgi_builder *b, tg_layout layout)
{
    if (layout == TG_CHANNELS_LAST || layout == TG_CHANNELS_FIRST)
        return true;
    return tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT, NULL, 0,
                          "layout %d is unknown", (int)layout);
}

static tgi_ref move_channels(tgi_builder *b, tgi_ref x, bool is_to_last)
{
    if (!x)
        return 0;
    const int rank = tgi_graph_shape(b->graph, x)->rank;
    int perm[TG_MAX_RANK];
    for (int i = 0; i < rank; i++)
        perm[i] = i == 0       ? 0
                  : is_to_last ? (i == rank - 1 ? 1 : i + 1)
                               : (i == 1 ? rank - 1 : i - 1);
    return rank < 3 ? x : tgi_build_transpose(b, x, rank, perm);
}

tgi_ref tgi_build_channels_last(tgi_builder *b, tgi_ref x)
{
    return move_channels(b, x, true);
}

tgi_ref tgi_build_channels_first(tgi_builder *b, tgi_ref x)
{
    return move_channels(b, x, false);
}
