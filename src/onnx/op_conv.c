/* SPDX-License-Identifier: MIT */
/*
 * op_conv.c - convolution and its transpose.
 */
#include "op_windows.h"

tg_value tgi_onnx_add_bias(const tgi_onnx_call *c, tg_value y, tg_value bias)
{
    const int n = tg_value_rank(y) - 1;
    int64_t dims[TG_MAX_RANK] = {tg_value_dim(bias, 0)};
    for (int i = 1; i < n; i++)
        dims[i] = 1;
    return tgi_onnx_failed(c)
               ? y
               : F2(add, y, tg_reshape_at(TG_IN(bias), n, dims, c->site));
}

static tg_conv_options conv_options(const tgi_onnx_call *c,
                                    const tgi_onnx_windows *s)
{
    tg_conv_options o = TG_OPTIONS_INIT(tg_conv_options);
    o.layout = TG_CHANNELS_FIRST;
    o.groups = tgi_onnx_int(c, "group", 1);
    o.padding = s->padding;
    for (int i = 0; i < s->n_spatial; i++) {
        o.stride[i] = s->stride[i];
        o.dilation[i] = s->dilation[i];
        o.low[i] = s->low[i];
        o.high[i] = s->high[i];
    }
    return o;
}

tg_value tgi_onnx_convolve(const tgi_onnx_call *c, tg_value x, tg_value w)
{
    tgi_onnx_windows s;
    if (!tgi_onnx_read_windows(c, x, w, &s))
        return (tg_value){0, 0};
    const tg_conv_options o = conv_options(c, &s);
    return tg_conv_at(TG_IN(x), TG_IN(w), s.n_spatial, &o, c->site);
}

void tgi_onnx_build_conv(const tgi_onnx_call *c)
{
    tg_value y = tgi_onnx_convolve(c, tgi_onnx_in(c, 0), tgi_onnx_in(c, 1));
    if (tgi_onnx_has(c, 2))
        y = tgi_onnx_add_bias(c, y, tgi_onnx_in(c, 2));
    tgi_onnx_out(c, 0, y);
}

/* -- Transposed convolution ------------------------------------------------ */

/*
 * Sets the pads: given, or such that the result has the extents that
 * output_shape or auto_pad ask for. *more elements are added at the end.
 */
static bool transposed_pads(const tgi_onnx_call *c, tgi_onnx_windows *s,
                            int64_t *more)
{
    size_t n_shape, n_more;
    const int64_t *shape = tgi_onnx_ints(c, "output_shape", &n_shape);
    const int64_t *output = tgi_onnx_ints(c, "output_padding", &n_more);
    const bool is_upper = tgi_onnx_is(c, "auto_pad", "SAME_UPPER", "");
    const bool is_same =
        is_upper || tgi_onnx_is(c, "auto_pad", "SAME_LOWER", "");
    const size_t n = (size_t)s->n_spatial;
    if ((shape && n_shape < n) || (output && n_more != n)) {
        tgi_onnx_fail(c, TG_ERROR_SHAPE,
                      "output_shape or output_padding of another rank");
        return false;
    }
    for (int i = 0; i < s->n_spatial; i++) {
        more[i] = output ? output[i] : 0;
        if (!shape && !is_same)
            continue;
        if (!tg_dim_is_known(s->extent[i])) {
            tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED,
                          "a given output shape for an unknown extent");
            return false;
        }
        const int64_t want = shape ? shape[n_shape - n + (size_t)i]
                                   : s->extent[i] * s->stride[i];
        const int64_t all = s->stride[i] * (s->extent[i] - 1) + more[i] +
                            (s->kernel[i] - 1) * s->dilation[i] + 1 - want;
        const int64_t half = all > 0 ? all / 2 : 0;
        s->low[i] = is_upper ? half : all > 0 ? all - half : 0;
        s->high[i] = all > 0 ? all - s->low[i] : 0;
        more[i] += all < 0 ? -all : 0;
    }
    s->padding = TG_PADDING_EXPLICIT;
    return true;
}

void tgi_onnx_build_conv_transpose(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0), w = tgi_onnx_in(c, 1);
    tgi_onnx_windows s;
    int64_t more[TG_MAX_SPATIAL];
    if (!tgi_onnx_read_windows(c, x, w, &s) || !transposed_pads(c, &s, more))
        return;
    /* Elements added at the end take the place of those that padding removes;
       what is left over is zero. */
    for (int i = 0; i < s.n_spatial; i++) {
        const int64_t kept = more[i] < s.high[i] ? more[i] : s.high[i];
        s.high[i] -= kept;
        more[i] -= kept;
    }
    const tg_conv_options o = conv_options(c, &s);
    tg_value y =
        tg_conv_transpose_at(TG_IN(x), TG_IN(w), s.n_spatial, &o, c->site);
    const tg_value zero = tgi_onnx_scalar_like(c, x, 0);
    for (int i = 0; i < s.n_spatial; i++)
        if (more[i])
            y = tg_pad_at(TG_IN(y), i + 2, 0, more[i], TG_IN(zero), c->site);
    if (tgi_onnx_has(c, 2))
        y = tgi_onnx_add_bias(c, y, tgi_onnx_in(c, 2));
    tgi_onnx_out(c, 0, y);
}
