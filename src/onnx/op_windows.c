/* SPDX-License-Identifier: MIT */
/*
 * op_windows.c - reads kernel_shape, strides, dilations, pads, auto_pad and
 * ceil_mode.
 */
#include "op_windows.h"

/* An attribute of one integer per spatial axis; `otherwise` without it. */
static bool read_ints(const tgi_onnx_call *c, const char *name, int n,
                      int64_t otherwise, int64_t *out)
{
    size_t n_given;
    const int64_t *given = tgi_onnx_ints(c, name, &n_given);
    if (given && n_given != (size_t)n) {
        tgi_onnx_fail(c, TG_ERROR_SHAPE, "%zu %s for %d axes", n_given, name,
                      n);
        return false;
    }
    for (int i = 0; i < n; i++) {
        out[i] = given ? given[i] : otherwise;
        if (out[i] < 1 || out[i] > INT32_MAX) {
            tgi_onnx_fail(c, TG_ERROR_INVALID_ARGUMENT, "%s[%d] is %lld", name,
                          i, (long long)out[i]);
            return false;
        }
    }
    return true;
}

static int64_t span(const tgi_onnx_windows *s, int i)
{
    return (s->kernel[i] - 1) * s->dilation[i] + 1;
}

static bool read_pads(const tgi_onnx_call *c, tgi_onnx_windows *s)
{
    size_t n;
    const int64_t *pads = tgi_onnx_ints(c, "pads", &n);
    if (pads && n != 2 * (size_t)s->n_spatial) {
        tgi_onnx_fail(c, TG_ERROR_SHAPE, "%zu pads for %d axes", n,
                      s->n_spatial);
        return false;
    }
    for (int i = 0; pads && i < s->n_spatial; i++) {
        s->low[i] = pads[i];
        s->high[i] = pads[s->n_spatial + i];
        if (s->low[i] < 0 || s->high[i] < 0 || s->low[i] > INT32_MAX ||
            s->high[i] > INT32_MAX) {
            tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED, "pads are out of range");
            return false;
        }
    }
    return true;
}

/* As many windows as strides, with the operand in the middle. */
static bool pad_same(const tgi_onnx_call *c, tgi_onnx_windows *s, bool is_upper)
{
    for (int i = 0; i < s->n_spatial; i++) {
        if (!tg_dim_is_known(s->extent[i])) {
            s->padding = TG_PADDING_SAME;
            if (!is_upper)
                tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED,
                              "SAME_LOWER of an unknown extent");
            return is_upper;
        }
        const int64_t n = (s->extent[i] + s->stride[i] - 1) / s->stride[i];
        int64_t all = (n - 1) * s->stride[i] + span(s, i) - s->extent[i];
        all = all < 0 ? 0 : all;
        s->low[i] = is_upper ? all / 2 : all - all / 2;
        s->high[i] = all - s->low[i];
    }
    return true;
}

int64_t tgi_onnx_window_count(const tgi_onnx_windows *s, int i)
{
    const int64_t n = s->extent[i] + s->low[i] + s->high[i] - span(s, i);
    return n < 0 ? 0 : n / s->stride[i] + 1;
}

/* Makes room for a window that begins inside, and ends outside. */
static bool round_up(const tgi_onnx_call *c, tgi_onnx_windows *s)
{
    for (int i = 0; i < s->n_spatial; i++) {
        if (!tg_dim_is_known(s->extent[i])) {
            tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED,
                          "ceil_mode of an unknown extent");
            return false;
        }
        const int64_t room = s->extent[i] + s->low[i] + s->high[i] - span(s, i);
        const int64_t rest = room < 0 ? 0 : room % s->stride[i];
        const int64_t more = rest ? s->stride[i] - rest : 0;
        const int64_t begin = room + more;
        if (more && begin < s->extent[i] + s->low[i]) {
            s->high[i] += more;
            s->extra[i] = more;
        }
    }
    return true;
}

bool tgi_onnx_read_windows(const tgi_onnx_call *c, tg_value x, tg_value w,
                           tgi_onnx_windows *out)
{
    const int n = tg_value_rank(x) - 2;
    *out = (tgi_onnx_windows){.n_spatial = n, .padding = TG_PADDING_EXPLICIT};
    if (tgi_onnx_failed(c))
        return false;
    if (n < 0) {
        tgi_onnx_fail(c, TG_ERROR_SHAPE, "an operand of %d axes", n + 2);
        return false;
    }
    if (tg_is_valid(w) && tg_value_rank(w) != n + 2) {
        tgi_onnx_fail(c, TG_ERROR_SHAPE, "an operand of %d axes, filters of %d",
                      n + 2, tg_value_rank(w));
        return false;
    }
    for (int i = 0; i < n; i++)
        out->extent[i] = tg_value_dim(x, i + 2);
    const bool takes_filters =
        tg_is_valid(w) && !tgi_onnx_attribute(c, "kernel_shape");
    for (int i = 0; takes_filters && i < n; i++) {
        out->kernel[i] = tg_value_dim(w, i + 2);
        if (!tg_dim_is_known(out->kernel[i])) {
            tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED, "filters of unknown extent");
            return false;
        }
    }
    if ((!takes_filters && !read_ints(c, "kernel_shape", n, 1, out->kernel)) ||
        !read_ints(c, "strides", n, 1, out->stride) ||
        !read_ints(c, "dilations", n, 1, out->dilation) || !read_pads(c, out))
        return false;
    if (tgi_onnx_is(c, "auto_pad", "SAME_UPPER", ""))
        return pad_same(c, out, true);
    if (tgi_onnx_is(c, "auto_pad", "SAME_LOWER", ""))
        return pad_same(c, out, false);
    return !tgi_onnx_int(c, "ceil_mode", 0) || round_up(c, out);
}
