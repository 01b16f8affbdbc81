/* SPDX-License-Identifier: MIT */
/*
 * random_graph_make_conv.c - sliding windows and convolutions.
 */
#include "random/random_graph.h"

/* Windows along an axis. */
typedef struct axis_windows {
    int64_t size, stride, dilation;
} axis_windows;

/* Windows that fit n elements, at least one; sets the number of windows. */
static axis_windows take_windows(rg_maker *m, int64_t n, int64_t *out_count)
{
    const unsigned choice = rg_take(&m->bytes);
    axis_windows w = {.size = 1 + choice % 4,
                      .stride = 1 + choice / 4 % 3,
                      .dilation = 1 + choice / 16 % 2};
    while ((w.size - 1) * w.dilation >= n)
        w.size--;
    *out_count = (n - 1 - (w.size - 1) * w.dilation) / w.stride + 1;
    return w;
}

void rg_make_window(rg_maker *m, tgi_op op)
{
    (void)op;
    const rg_operand x = rg_pick_ranked(m);
    rg_type type = x.type;
    type.is_weak = false;
    int axes[TG_MAX_RANK], n = 0;
    int64_t sizes[TG_MAX_RANK], strides[TG_MAX_RANK], dilations[TG_MAX_RANK];
    const int rank = x.type.rank, n_wanted = 1 + rg_below(&m->bytes, 2);
    const int first = rg_below(&m->bytes, rank);
    for (int i = 0; i < rank && n < n_wanted; i++) {
        const int axis = (first + i) % rank;
        if (x.type.dims[axis] == 0 || rank + n == TG_MAX_RANK)
            return;
        const axis_windows w =
            take_windows(m, x.type.dims[axis], &type.dims[axis]);
        axes[n] = rg_below(&m->bytes, 2) ? axis : axis - rank;
        sizes[n] = w.size;
        strides[n] = w.stride;
        dilations[n++] = w.dilation;
        type.dims[type.rank++] = w.size;
    }
    if (rg_is_small(m, &type))
        rg_keep(m, type, RG_DO(m, tg_windows(x.operand, n, axes, sizes, strides,
                                             dilations)));
}

/* Filters of this type, alike along batch axes, but not in all channels; `dims`
   are its extents, of which those of x may be symbols. */
static tg_operand make_filters(rg_maker *m, const rg_type *type, int n_batch,
                               const int64_t *dims)
{
    const int of_channels = type->rank - 2;
    rg_type one_channel = *type;
    for (int i = 0; i < n_batch; i++)
        one_channel.dims[i] = 1;
    one_channel.dims[of_channels] = 1;
    const rg_operand filters = rg_constant(m, one_channel);
    return tg_in_value(RG_DO(
        m, tg_add(filters.operand,
                  tg_cast(tg_iota(TG_I32, type->rank, dims, of_channels),
                          (tg_dtype)type->dtype))));
}

/* Images from x: one example of it, of one channel, or both. */
static rg_operand make_images(rg_maker *m, rg_operand x)
{
    const unsigned choice = rg_take(&m->bytes);
    const bool is_example = x.type.rank < 3 && choice % 4;
    const bool has_one_channel = x.type.rank < 4 && choice / 4 % 4;
    rg_type type = {.dtype = x.type.dtype};
    int64_t dims[TG_MAX_RANK];
    if (is_example)
        dims[type.rank] = 1, type.dims[type.rank++] = 1;
    for (int i = 0; i < x.type.rank; i++) {
        dims[type.rank] = rg_dim(m, &x, i);
        type.dims[type.rank++] = x.type.dims[i];
    }
    if (has_one_channel)
        dims[type.rank] = 1, type.dims[type.rank++] = 1;
    return type.rank == x.type.rank
               ? x
               : rg_value(type,
                          RG_DO(m, tg_reshape(x.operand, type.rank, dims)));
}

void rg_make_conv(rg_maker *m, tgi_op op)
{
    const rg_operand x = make_images(
        m, rg_fit_classes(m, rg_pick_ranked(m), tgi_op_table[op].types));
    const int rank = x.type.rank;
    const unsigned choice = rg_take(&m->bytes);
    tg_conv_options options = {.struct_bytes = sizeof(options)};
    options.batch = rank > 2 && choice % 4 == 0;
    const int n_batch = options.batch, n_spatial = rank - 2 - n_batch;
    if (n_spatial < 0 || n_spatial > 3)
        return;
    rg_type type = x.type, filters = x.type;
    type.is_weak = filters.is_weak = false;
    int64_t dims[TG_MAX_RANK];
    for (int i = 0; i < n_batch; i++)
        dims[i] = rg_dim(m, &x, i);
    for (int i = 0; i < n_spatial; i++) {
        const int axis = n_batch + 1 + i;
        if (x.type.dims[axis] == 0)
            return;
        const axis_windows w =
            take_windows(m, x.type.dims[axis], &type.dims[axis]);
        dims[axis - 1] = filters.dims[axis - 1] = w.size;
        options.stride[i] = w.stride;
        options.dilation[i] = w.dilation;
    }
    filters.dims[rank - 2] = x.type.dims[rank - 1];
    dims[rank - 2] = rg_dim(m, &x, rank - 1);
    dims[rank - 1] = type.dims[rank - 1] = filters.dims[rank - 1] =
        1 + choice / 4 % 20;
    if (!rg_is_small(m, &type) || !rg_is_small(m, &filters))
        return;
    const tg_operand w = make_filters(m, &filters, n_batch, dims);
    rg_keep(m, type, RG_DO(m, tg_conv_at(x.operand, w, n_spatial, &options,
                                         TG_HERE)));
}
