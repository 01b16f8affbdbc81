/* SPDX-License-Identifier: MIT */
/*
 * op_roi.c - RoiAlign. Interpolation is linear along each axis, so that the mean
 * of the samples of a cell is a product with weights by row and by column.
 */
#include "onnx_run.h"

/* What the axes have in common. */
typedef struct cells {
    const tgi_onnx_call *c;
    tg_dtype dtype;
    int64_t n_rois, n_samples; /* samples of a cell along one axis */
    bool is_aligned;
} cells;

static tg_value number(const cells *s, double x)
{
    const tgi_onnx_call *c = s->c;
    return tg_scalar_at(s->dtype, tg_in_f64(x), c->site);
}

/* The weights [roi, cell, element] of an axis of `extent` elements: `from` and
   `to` are its ends of each region. */
static tg_value weights(const cells *s, tg_value from, tg_value to,
                        int64_t n_cells, int64_t extent)
{
    const tgi_onnx_call *c = s->c;
    const int64_t n = n_cells * s->n_samples;
    const int64_t row[] = {s->n_rois, 1}, flat[] = {1, n};
    tg_value size = F2(sub, to, from);
    if (!s->is_aligned)
        size = F2(max, size, number(s, 1));
    const tg_value step = F2(div, size, number(s, (double)n));
    const tg_value at =
        F2(add, tg_iota_at(s->dtype, 2, flat, 1, c->site), number(s, 0.5));
    tg_value x = F2(add, tg_reshape_at(TG_IN(from), 2, row, c->site),
                    F2(mul, at, tg_reshape_at(TG_IN(step), 2, row, c->site)));
    const tg_value is_inside =
        F2(and, F2(ge, x, number(s, -1)), F2(le, x, number(s, (double)extent)));
    x = F3(clamp, x, number(s, 0), number(s, (double)(extent - 1)));
    const int64_t all[] = {1, 1, extent};
    const tg_value distance =
        F1(abs, F2(sub, tg_expand_dims_at(TG_IN(x), 2, c->site),
                   tg_iota_at(s->dtype, 3, all, 2, c->site)));
    tg_value w = F2(max, F2(sub, number(s, 1), distance), number(s, 0));
    w = F3(select, tg_expand_dims_at(TG_IN(is_inside), 2, c->site), w,
           number(s, 0));
    const int64_t by_cell[] = {s->n_rois, n_cells, s->n_samples, extent};
    const int samples = 2;
    return tg_mean_at(TG_IN(tg_reshape_at(TG_IN(w), 4, by_cell, c->site)),
                      tg_axes_of(1, &samples), c->site);
}

void tgi_onnx_build_roi_align(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    tg_value roi[4];
    cells s = {.c = c, .dtype = tg_value_dtype(x)};
    s.n_samples = tgi_onnx_int(c, "sampling_ratio", 0);
    s.n_rois = tg_value_dim(tgi_onnx_in(c, 1), 0);
    s.is_aligned = tgi_onnx_is(c, "coordinate_transformation_mode",
                               "half_pixel",
                               c->opset < 16 ? "output_half_pixel"
                                             : "half_pixel");
    const int64_t height = tg_value_dim(x, 2), width = tg_value_dim(x, 3);
    const int64_t rows = tgi_onnx_int(c, "output_height", 1);
    const int64_t columns = tgi_onnx_int(c, "output_width", 1);
    if (tgi_onnx_failed(c))
        return;
    if (tgi_onnx_in_rank(c, 0) != 4 || !tg_dim_is_known(height) ||
        !tg_dim_is_known(width) || s.n_samples < 1 || s.n_samples > 1024 ||
        rows < 1 || columns < 1 || rows > 65536 || columns > 65536 ||
        !tgi_onnx_is(c, "mode", "avg", "avg")) {
        tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED,
                      "unknown extents, a sampling_ratio of 0, or a mode other "
                      "than avg");
        return;
    }
    const tg_value scale =
        number(&s, tgi_onnx_float(c, "spatial_scale", 1));
    const tg_value shift = number(&s, s.is_aligned ? 0.5 : 0);
    tg_unstack_at(TG_IN(tgi_onnx_in(c, 1)), 1, roi, 4, c->site);
    for (int i = 0; i < 4; i++)
        roi[i] = F2(sub, F2(mul, roi[i], scale), shift);
    const tg_value images =
        tg_gather_at(TG_IN(x), TG_IN(tgi_onnx_in(c, 2)), 0, TG_GATHER_CHECK,
                     c->site);
    const tg_operand parts[] = {
        TG_IN(weights(&s, roi[1], roi[3], rows, height)), TG_IN(images),
        TG_IN(weights(&s, roi[0], roi[2], columns, width))};
    tgi_onnx_out(c, 0, tg_einsum_at("rph,rchw,rqw->rcpq", parts, 3, c->site));
}
