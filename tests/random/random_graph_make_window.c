/* SPDX-License-Identifier: MIT */
/*
 * random_graph_make_window.c - sliding windows, convolutions and scans.
 */
#include "random/random_graph.h"

enum { MAX_WINDOWED_RANK = 4, MAX_FILTERS = 20 };

/* A random window that fits an axis of n elements. */
typedef struct window {
    int64_t size, stride, dilation;
} window;

static window take_window(rg_maker *m, int64_t n)
{
    const unsigned choice = rg_take(&m->bytes);
    window w = {.size = 1 + (int64_t)(choice % 4),
                .stride = 1 + (int64_t)(choice / 4 % 3),
                .dilation = 1 + (int64_t)(choice / 16 % 8 == 0)};
    while ((w.size - 1) * w.dilation >= n)
        w.size--;
    return w;
}

static int64_t count_windows(const window *w, int64_t n)
{
    return (n - (w->size - 1) * w->dilation - 1) / w->stride + 1;
}

void rg_make_window(rg_maker *m, tgi_op op)
{
    (void)op;
    rg_operand x = rg_pick_ranked(m);
    const int axis = rg_below(&m->bytes, x.type.rank);
    if (x.type.rank >= MAX_WINDOWED_RANK || x.type.dims[axis] == 0)
        return;
    const window w = take_window(m, x.type.dims[axis]);
    rg_type type = x.type;
    type.is_weak = false;
    type.dims[axis] = count_windows(&w, x.type.dims[axis]);
    type.dims[type.rank++] = w.size;
    if (rg_is_small(m, &type))
        rg_keep(m, type,
                RG_DO(m, tg_windows(x.operand, 1, &axis, &w.size, &w.stride,
                                    &w.dilation)));
}

/* The last axis of x is that of channels; filters are small integers. */
void rg_make_conv(rg_maker *m, tgi_op op)
{
    rg_operand x =
        rg_fit_classes(m, rg_pick_ranked(m), tgi_op_table[op].types);
    const int rank = x.type.rank, n_spatial = rank - 2;
    if (rank < 2 || rank > MAX_WINDOWED_RANK)
        return;
    tg_conv_options options = {.struct_bytes = sizeof(options)};
    rg_type type = x.type;
    type.is_weak = false;
    int64_t dims[TG_MAX_RANK];
    for (int i = 0; i < n_spatial; i++) {
        if (x.type.dims[i + 1] == 0)
            return;
        const window w = take_window(m, x.type.dims[i + 1]);
        dims[i] = w.size;
        options.stride[i] = w.stride;
        options.dilation[i] = w.dilation;
        type.dims[i + 1] = count_windows(&w, x.type.dims[i + 1]);
    }
    dims[rank - 2] = x.type.dims[rank - 1];
    dims[rank - 1] = type.dims[rank - 1] = 1 + rg_below(&m->bytes, MAX_FILTERS);
    if (!rg_is_small(m, &type))
        return;
    const tg_value filters =
        tg_sub(tg_iota((tg_dtype)type.dtype, rank, dims,
                       rg_below(&m->bytes, rank)),
               1);
    rg_keep(m, type,
            RG_DO(m, tg_conv_at(x.operand, TG_IN(filters), n_spatial, &options,
                                TG_HERE)));
}

/* A recurrence of a value, with itself or its negation as the factor. */
void rg_make_linear_scan(rg_maker *m, tgi_op op)
{
    rg_operand x =
        rg_fit_classes(m, rg_pick_ranked(m), tgi_op_table[op].types);
    const unsigned choice = rg_take(&m->bytes);
    const int axis = rg_below(&m->bytes, x.type.rank);
    rg_type type = x.type;
    type.is_weak = false;
    switch (choice % 4) {
    case 0:
        rg_keep(m, type, RG_DO(m, tg_cumsum_with(x.operand, axis, choice / 4 % 4)));
        break;
    case 1:
        rg_keep(m, type,
                RG_DO(m, tg_cumprod_with(x.operand, axis, choice / 4 % 4)));
        break;
    case 2:
        rg_keep(m, type,
                RG_DO(m, tg_linear_scan(x.operand, x.operand, axis,
                                        choice / 4 % 2)));
        break;
    default:
        rg_keep(m, type,
                RG_DO(m, tg_linear_scan(tg_neg(x.operand), x.operand, axis,
                                        choice / 4 % 2)));
        break;
    }
}
