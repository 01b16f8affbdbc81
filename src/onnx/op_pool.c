/* SPDX-License-Identifier: MIT */
/*
 * op_pool.c - pooling.
 */
#include "onnx_known.h"
#include "op_windows.h"

static const tg_value no_filters = {0, 0};

static tg_pool_options pool_options(const tgi_onnx_windows *s)
{
    tg_pool_options o = TG_OPTIONS_INIT(tg_pool_options);
    o.layout = TG_CHANNELS_FIRST;
    o.padding = s->padding;
    for (int i = 0; i < s->n_spatial; i++) {
        o.window[i] = s->kernel[i];
        o.stride[i] = s->stride[i];
        o.dilation[i] = s->dilation[i];
        o.low[i] = s->low[i];
        o.high[i] = s->high[i];
    }
    return o;
}

/* Pads x itself, but not what ceil_mode adds, for which no element counts. */
static tg_value pad_explicitly(const tgi_onnx_call *c, tg_value x,
                               tgi_onnx_windows *s)
{
    const tg_value zero = tgi_onnx_scalar_like(c, x, 0);
    for (int i = 0; i < s->n_spatial; i++) {
        x = tg_pad_at(TG_IN(x), i + 2, s->low[i], s->high[i] - s->extra[i],
                      TG_IN(zero), c->site);
        s->low[i] = 0;
        s->high[i] = s->extra[i];
    }
    return x;
}

void tgi_onnx_build_average_pool(const tgi_onnx_call *c)
{
    tg_value x = tgi_onnx_in(c, 0);
    tgi_onnx_windows s;
    if (!tgi_onnx_read_windows(c, x, no_filters, &s))
        return;
    const bool counts_padding = tgi_onnx_int(c, "count_include_pad", 0);
    if (counts_padding && tgi_onnx_int(c, "ceil_mode", 0))
        x = pad_explicitly(c, x, &s);
    tg_pool_options o = pool_options(&s);
    o.counts_padding = counts_padding && !tgi_onnx_int(c, "ceil_mode", 0);
    tgi_onnx_out(c, 0, tg_avg_pool_at(TG_IN(x), &o, c->site));
}

void tgi_onnx_build_lp_pool(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    tgi_onnx_windows s;
    if (!tgi_onnx_read_windows(c, x, no_filters, &s))
        return;
    tg_pool_options o = pool_options(&s);
    o.p = (double)tgi_onnx_int(c, "p", 2);
    tgi_onnx_out(c, 0, tg_lp_pool_at(TG_IN(x), &o, c->site));
}

/* -- Maxima and their positions -------------------------------------------- */

/* The elements at one position of all windows. */
static tg_value at_offset(const tgi_onnx_call *c, tg_value x,
                          const tgi_onnx_windows *s, const int64_t *offset)
{
    for (int i = 0; i < s->n_spatial; i++) {
        const int64_t from = offset[i] * s->dilation[i];
        const int64_t n = tgi_onnx_window_count(s, i);
        x = tg_slice_at(TG_IN(x), i + 2, from,
                        n ? from + (n - 1) * s->stride[i] + 1 : from,
                        s->stride[i], c->site);
    }
    return x;
}

/* The position of every element of x in its tensor; with column_major, those of
   the last two axes are exchanged. */
static tg_value positions(const tgi_onnx_call *c, tg_value x, bool column_major)
{
    int64_t dims[TG_MAX_RANK];
    int perm[TG_MAX_RANK];
    const int rank = tgi_onnx_dims(x, dims);
    int64_t count = 1;
    for (int i = 0; i < rank; i++) {
        perm[i] = i;
        count *= dims[i];
    }
    for (int i = 2, k = rank - 1; column_major && i < k; i++, k--) {
        const int64_t dim = dims[i];
        dims[i] = dims[k];
        dims[k] = dim;
        perm[i] = k;
        perm[k] = i;
    }
    const tg_value all = tg_iota_at(TG_I64, 1, &count, 0, c->site);
    const tg_value shaped = tg_reshape_at(TG_IN(all), rank, dims, c->site);
    return column_major ? tg_transpose_at(TG_IN(shaped), rank, perm, c->site)
                        : shaped;
}

static tg_value pad_all(const tgi_onnx_call *c, tg_value x,
                        const tgi_onnx_windows *s, tg_value with)
{
    for (int i = 0; i < s->n_spatial; i++)
        x = tg_pad_at(TG_IN(x), i + 2, s->low[i], s->high[i], TG_IN(with),
                      c->site);
    return x;
}

enum { MAX_KERNEL = 1024 };

/* The position of the first maximum of every window: the elements of the window
   are compared in order. */
static void out_positions(const tgi_onnx_call *c, tg_value x,
                          const tgi_onnx_windows *s)
{
    int64_t offset[TG_MAX_SPATIAL] = {0}, count = 1;
    for (int i = 0; i < s->n_spatial; i++) {
        count *= s->kernel[i];
        if (!tg_dim_is_known(s->extent[i]) || count > MAX_KERNEL) {
            tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED,
                          "positions of unknown extents or large windows");
            return;
        }
    }
    const tg_value nothing = tg_scalar_at(TG_I64, tg_in_i64(-1), c->site);
    const tg_value at =
        pad_all(c, positions(c, x, tgi_onnx_int(c, "storage_order", 0)), s,
                nothing);
    const tg_value values = pad_all(c, x, s, tgi_onnx_scalar_like(c, x, 0));
    const tg_value zero = tg_scalar_at(TG_I64, tg_in_i64(0), c->site);
    tg_value best = at_offset(c, values, s, offset);
    tg_value best_at = at_offset(c, at, s, offset);
    for (int64_t k = 1; k < count; k++) {
        for (int i = s->n_spatial - 1; i >= 0; i--) {
            offset[i] = (offset[i] + 1) % s->kernel[i];
            if (offset[i])
                break;
        }
        const tg_value next = at_offset(c, values, s, offset);
        const tg_value next_at = at_offset(c, at, s, offset);
        const tg_value is_better =
            F2(and, F2(ge, next_at, zero),
               F2(or, F2(lt, best_at, zero), F2(gt, next, best)));
        best = F3(select, is_better, next, best);
        best_at = F3(select, is_better, next_at, best_at);
    }
    tgi_onnx_out(c, 1, best_at);
}

void tgi_onnx_build_max_pool(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    tgi_onnx_windows s;
    if (!tgi_onnx_read_windows(c, x, no_filters, &s))
        return;
    const tg_pool_options o = pool_options(&s);
    tgi_onnx_out(c, 0, tg_max_pool_at(TG_IN(x), &o, c->site));
    if (tgi_onnx_has_out(c, 1))
        out_positions(c, x, &s);
}

/*
 * Writes the elements of x to the positions that MaxPool has found, in a tensor
 * of the extents that its operand had if its windows did not overlap; then
 * appends zeros up to the given extents.
 */
void tgi_onnx_build_max_unpool(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0), at = tgi_onnx_in(c, 1);
    tgi_onnx_windows s;
    int64_t dims[TG_MAX_RANK], count = 1;
    const int rank = tgi_onnx_dims(x, dims);
    if (!tgi_onnx_read_windows(c, x, no_filters, &s))
        return;
    for (int i = 0; i < rank; i++) {
        if (!tg_dim_is_known(dims[i])) {
            tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED,
                          "the extent of axis %d is not known", i);
            return;
        }
        if (i >= 2)
            dims[i] = (dims[i] - 1) * s.stride[i - 2] + s.kernel[i - 2] -
                      s.low[i - 2] - s.high[i - 2];
        count *= dims[i];
    }
    const int64_t flat[] = {-1};
    const tg_value zero = tgi_onnx_scalar_like(c, x, 0);
    tg_value y = tg_broadcast_at(TG_IN(zero), 1, &count, c->site);
    y = tg_scatter_at(TG_IN(y), TG_IN(tg_reshape_at(TG_IN(at), 1, flat,
                                                    c->site)),
                      TG_IN(tg_reshape_at(TG_IN(x), 1, flat, c->site)), 0,
                      TG_SCATTER_SET, TG_SCATTER_CHECK, c->site);
    y = tg_reshape_at(TG_IN(y), rank, dims, c->site);
    if (tgi_onnx_has(c, 2)) {
        size_t n;
        const int64_t *shape = tgi_onnx_known_ints(c, 2, &n);
        for (int i = 0; shape && i < rank && n == (size_t)rank; i++)
            y = shape[i] >= dims[i]
                    ? tg_pad_at(TG_IN(y), i, 0, shape[i] - dims[i],
                                TG_IN(zero), c->site)
                    : tg_slice_at(TG_IN(y), i, 0, shape[i], 1, c->site);
    }
    tgi_onnx_out(c, 0, y);
}

/* -- Over all positions ---------------------------------------------------- */

void tgi_onnx_build_global_average_pool(const tgi_onnx_call *c)
{
    tgi_onnx_out(c, 0,
                 tg_global_avg_pool_at(TG_IN(tgi_onnx_in(c, 0)),
                                       TG_CHANNELS_FIRST, c->site));
}

void tgi_onnx_build_global_max_pool(const tgi_onnx_call *c)
{
    tgi_onnx_out(c, 0,
                 tg_global_max_pool_at(TG_IN(tgi_onnx_in(c, 0)),
                                       TG_CHANNELS_FIRST, c->site));
}

/* sum(|x|^p)^(1/p) */
void tgi_onnx_build_global_lp_pool(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    const double p = (double)tgi_onnx_int(c, "p", 2);
    int axis[TG_MAX_RANK], n = 0;
    for (int i = 2; i < tgi_onnx_in_rank(c, 0); i++)
        axis[n++] = i;
    const tg_value powers =
        F2(pow, F1(abs, x), tgi_onnx_scalar_like(c, x, p));
    const tg_value sum = tg_sum_at(
        TG_IN(powers), tg_keep(tg_axes_of((size_t)n, axis)), c->site);
    tgi_onnx_out(c, 0, F2(pow, sum, tgi_onnx_scalar_like(c, x, 1 / p)));
}
