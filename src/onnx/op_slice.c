/* SPDX-License-Identifier: MIT */
/*
 * op_slice.c - Slice, Pad and CenterCropPad.
 *
 * ONNX clamps positions to the extent of the axis. That of an unknown extent is
 * left to the library, for which a position out of range is an error.
 */
#include "onnx_known.h"

/* -- Slice ----------------------------------------------------------------- */

enum { FAR = INT32_MAX }; /* positions beyond are "to the end" */

/* Positions of an axis of extent n that Slice means by start, end and step. */
static tg_value slice_known(const tgi_onnx_call *c, tg_value x, int axis,
                            int64_t n, int64_t start, int64_t end, int64_t step)
{
    start += start < 0 ? n : 0;
    end += end < 0 ? n : 0;
    if (step > 0) {
        start = start < 0 ? 0 : start > n ? n : start;
        end = end < start ? start : end > n ? n : end;
        return tg_slice_at(TG_IN(x), axis, start, end, step, c->site);
    }
    start = start < -1 ? -1 : start > n - 1 ? n - 1 : start;
    end = end < -1 ? -1 : end;
    if (end >= start)
        return tg_slice_at(TG_IN(x), axis, 0, 0, 1, c->site);
    return tg_slice_at(TG_IN(x), axis, start, end < 0 ? TG_END : end, step,
                       c->site);
}

/* The same for an extent that is a symbol, or positions that are. */
static tg_value slice_symbolic(const tgi_onnx_call *c, tg_value x, int axis,
                               tgi_onnx_extent start, tgi_onnx_extent end,
                               int64_t step)
{
    if (!start.is_symbol && !end.is_symbol)
        return tg_slice_at(TG_IN(x), axis, start.n,
                           end.n >= FAR || (step < 0 && end.n <= -FAR)
                               ? TG_END
                               : end.n,
                           step, c->site);
    const tgi_onnx_extent n = tgi_onnx_extent_of(tg_value_dim(x, axis));
    tgi_onnx_extent size;
    if (!end.is_symbol && (end.n >= FAR || end.n < 0)) {
        const tgi_onnx_extent from_end = {.n = end.n};
        bool is_known = true;
        if (end.n < 0)
            is_known = tgi_onnx_extent_add(n, from_end, c->site, &end);
        else
            end = n;
        if (!is_known)
            return (tg_value){0, 0};
    }
    if (step != 1 || !tgi_onnx_extent_sub(end, start, c->site, &size)) {
        tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED,
                      "axis %d: the size of the slice is not known", axis);
        return (tg_value){0, 0};
    }
    return tg_dynamic_slice_at(TG_IN(x), axis,
                               TG_IN(tgi_onnx_extent_value(start, c->site)),
                               size.n, c->site);
}

/* Integers of an attribute before opset 10, of an input from then on. */
static bool positions(const tgi_onnx_call *c, const char *name, size_t i,
                      tgi_onnx_extents *out)
{
    size_t n;
    out->n = 0;
    if (tgi_onnx_has(c, i))
        return tgi_onnx_known_extents(c, i, out);
    const int64_t *ints = tgi_onnx_ints(c, name, &n);
    for (; out->n < n && out->n < TGI_ONNX_MAX_EXTENTS; out->n++)
        out->e[out->n] = (tgi_onnx_extent){.n = ints[out->n]};
    return true;
}

void tgi_onnx_build_slice(const tgi_onnx_call *c)
{
    tg_value x = tgi_onnx_in(c, 0);
    const int rank = tgi_onnx_in_rank(c, 0);
    tgi_onnx_extents starts, ends, axes, steps;
    if (!positions(c, "starts", 1, &starts) ||
        !positions(c, "ends", 2, &ends) || !positions(c, "axes", 3, &axes) ||
        !positions(c, "steps", 4, &steps))
        return;
    if (ends.n != starts.n || (axes.n && axes.n != starts.n) ||
        (steps.n && steps.n != starts.n) || starts.n > (size_t)rank) {
        tgi_onnx_fail(c, TG_ERROR_SHAPE,
                      "%zu starts, %zu ends, %zu axes, %zu steps", starts.n,
                      ends.n, axes.n, steps.n);
        return;
    }
    for (size_t i = 0; i < starts.n && !tgi_onnx_failed(c); i++) {
        const int axis =
            tgi_onnx_axis(c, axes.n ? axes.e[i].n : (int64_t)i, rank);
        const int64_t step = steps.n ? steps.e[i].n : 1;
        const int64_t n = tg_value_dim(x, axis);
        if (step == 0)
            tgi_onnx_fail(c, TG_ERROR_INVALID_ARGUMENT, "step %zu is 0", i);
        else if (tg_dim_is_known(n) && !starts.e[i].is_symbol &&
                 !ends.e[i].is_symbol)
            x = slice_known(c, x, axis, n, starts.e[i].n, ends.e[i].n, step);
        else
            x = slice_symbolic(c, x, axis, starts.e[i], ends.e[i], step);
    }
    tgi_onnx_out(c, 0, x);
}

/* -- Pad ------------------------------------------------------------------- */

typedef struct padding {
    int64_t low[TG_MAX_RANK], high[TG_MAX_RANK];
} padding;

/* Reads `pads`: all that are before an axis, then all that are after it. */
static bool read_padding(const tgi_onnx_call *c, int rank, padding *out)
{
    size_t n, n_axes = 0;
    const int64_t *pads =
        tgi_onnx_ints_of(c, c->opset < 2 ? "paddings" : "pads", 1, &n);
    const int64_t *axes =
        tgi_onnx_has(c, 3) ? tgi_onnx_known_ints(c, 3, &n_axes) : NULL;
    const size_t n_padded = axes ? n_axes : (size_t)rank;
    if (tgi_onnx_failed(c))
        return false;
    if (n != 2 * n_padded) {
        tgi_onnx_fail(c, TG_ERROR_SHAPE, "%zu pads for %zu axes", n, n_padded);
        return false;
    }
    *out = (padding){{0}, {0}};
    for (size_t i = 0; i < n_padded; i++) {
        const int axis = axes ? tgi_onnx_axis(c, axes[i], rank) : (int)i;
        if (pads[i] < -FAR || pads[i] > FAR || pads[n_padded + i] < -FAR ||
            pads[n_padded + i] > FAR)
            tgi_onnx_fail(c, TG_ERROR_OVERFLOW, "pads of axis %d", axis);
        out->low[axis] = pads[i];
        out->high[axis] = pads[n_padded + i];
    }
    return !tgi_onnx_failed(c);
}

/* Negative pads remove elements. */
static tg_value crop(const tgi_onnx_call *c, tg_value x, int rank, padding *p)
{
    for (int i = 0; i < rank; i++) {
        const int64_t low = p->low[i] < 0 ? -p->low[i] : 0;
        const int64_t high = p->high[i] < 0 ? p->high[i] : TG_END;
        if (low || high != TG_END)
            x = tg_slice_at(TG_IN(x), i, low, high, 1, c->site);
        p->low[i] += low;
        p->high[i] = high == TG_END ? p->high[i] : 0;
    }
    return x;
}

void tgi_onnx_build_pad(const tgi_onnx_call *c)
{
    static const struct {
        const char *name;
        tg_pad_kind kind;
    } kinds[] = {{"edge", TG_PAD_EDGE},
                 {"reflect", TG_PAD_REFLECT},
                 {"wrap", TG_PAD_WRAP}};
    tg_value x = tgi_onnx_in(c, 0);
    const int rank = tgi_onnx_in_rank(c, 0);
    padding p;
    if (!read_padding(c, rank, &p))
        return;
    x = crop(c, x, rank, &p);
    if (tgi_onnx_is(c, "mode", "constant", "constant")) {
        const tg_value with =
            tgi_onnx_has(c, 2)
                ? tg_reshape_at(TG_IN(tgi_onnx_in(c, 2)), 0, NULL, c->site)
                : tgi_onnx_scalar_like(c, x, tgi_onnx_float(c, "value", 0));
        tgi_onnx_out(c, 0, tg_pad_axes_at(TG_IN(x), rank, p.low, rank, p.high,
                                          TG_IN(with), c->site));
        return;
    }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (tgi_onnx_is(c, "mode", kinds[i].name, "")) {
            tgi_onnx_out(c, 0,
                         tg_pad_from_axes_at(TG_IN(x), rank, p.low, rank,
                                             p.high, kinds[i].kind, c->site));
            return;
        }
    tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED, "unknown mode");
}

/* Removes or adds elements at both ends of axes, for given extents. */
void tgi_onnx_build_center_crop_pad(const tgi_onnx_call *c)
{
    tg_value x = tgi_onnx_in(c, 0);
    const int rank = tgi_onnx_in_rank(c, 0);
    size_t n, n_axes;
    const int64_t *sizes = tgi_onnx_known_ints(c, 1, &n);
    const int64_t *axes = tgi_onnx_ints(c, "axes", &n_axes);
    if (tgi_onnx_failed(c))
        return;
    if (n != (axes ? n_axes : (size_t)rank)) {
        tgi_onnx_fail(c, TG_ERROR_SHAPE, "%zu extents", n);
        return;
    }
    const tg_value zero = tgi_onnx_scalar_like(c, x, 0);
    for (size_t i = 0; i < n; i++) {
        const int axis = tgi_onnx_axis(c, axes ? axes[i] : (int64_t)i, rank);
        const int64_t extent = tg_value_dim(x, axis);
        if (!tg_dim_is_known(extent)) {
            tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED,
                          "the extent of axis %d is not known", axis);
            return;
        }
        if (sizes[i] < 0) {
            tgi_onnx_fail(c, TG_ERROR_SHAPE, "extent %zu is negative", i);
            return;
        }
        const int64_t more = sizes[i] - extent;
        if (more > 0)
            x = tg_pad_at(TG_IN(x), axis, more / 2, more - more / 2,
                          TG_IN(zero), c->site);
        else if (more < 0)
            x = tg_slice_at(TG_IN(x), axis, -more / 2, -more / 2 + sizes[i], 1,
                            c->site);
    }
    tgi_onnx_out(c, 0, x);
}
