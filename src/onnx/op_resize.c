/* SPDX-License-Identifier: MIT */
/*
 * op_resize.c - images of another size, and images sampled at given positions.
 */
#include <math.h>

#include "onnx_known.h"

/* -- Resize ---------------------------------------------------------------- */

/* What a node asks for, by axis of x. */
typedef struct target {
    int rank, n;             /* of x; resized axes */
    int axis[TG_MAX_RANK];
    int64_t size[TG_MAX_RANK];
    double scale[TG_MAX_RANK]; /* 0: the ratio of the extents */
} target;

static bool read_mode(const tgi_onnx_call *c, tg_resize_options *o)
{
    if (tgi_onnx_is(c, "mode", "nearest", "nearest"))
        o->mode = TG_RESIZE_NEAREST;
    else if (tgi_onnx_is(c, "mode", "linear", "") ||
             tgi_onnx_is(c, "mode", "bilinear", ""))
        o->mode = TG_RESIZE_LINEAR;
    else if (tgi_onnx_is(c, "mode", "cubic", ""))
        o->mode = TG_RESIZE_CUBIC;
    else
        tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED, "unknown mode");
    return !tgi_onnx_failed(c);
}

/* Which of the names a string attribute has; -1 with the trace failed. */
static int choose(const tgi_onnx_call *c, const char *attribute,
                  const char *const *names, int n)
{
    for (int i = 0; i < n; i++)
        if (tgi_onnx_is(c, attribute, names[i], names[0]))
            return i;
    tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED, "%s is unsupported", attribute);
    return -1;
}

static bool read_positions(const tgi_onnx_call *c, tg_resize_options *o)
{
    static const char *const positions[] = {
        "half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners",
        "tf_half_pixel_for_nn", "tf_crop_and_resize"};
    static const char *const nearest[] = {"round_prefer_floor",
                                          "round_prefer_ceil", "floor", "ceil"};
    if (c->opset < 11) {
        o->position = TG_POSITION_ASYMMETRIC;
        o->nearest = TG_NEAREST_FLOOR;
        return true;
    }
    const int position =
        choose(c, "coordinate_transformation_mode", positions, 6);
    const int rounding = choose(c, "nearest_mode", nearest, 4);
    if (tgi_onnx_int(c, "antialias", 0))
        tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED, "antialias is unsupported");
    if (tgi_onnx_failed(c))
        return false;
    o->position = (tg_resize_position)position;
    o->nearest = (tg_nearest)rounding;
    o->cubic_a = tgi_onnx_float(c, "cubic_coeff_a", -0.75);
    o->excludes_outside = tgi_onnx_int(c, "exclude_outside", 0);
    o->outside = tgi_onnx_float(c, "extrapolation_value", 0);
    return true;
}

/* The axes that the sizes or scales belong to: all, or those of `axes`. */
static bool read_axes(const tgi_onnx_call *c, size_t n_given, target *t)
{
    size_t n;
    const int64_t *axes = tgi_onnx_ints(c, "axes", &n);
    if (n_given != (axes ? n : (size_t)t->rank)) {
        tgi_onnx_fail(c, TG_ERROR_SHAPE, "%zu scales or sizes for %zu axes",
                      n_given, axes ? n : (size_t)t->rank);
        return false;
    }
    for (size_t i = 0; i < n_given; i++)
        t->axis[i] = axes ? tgi_onnx_axis(c, axes[i], t->rank) : (int)i;
    t->n = (int)n_given;
    return !tgi_onnx_failed(c);
}

static bool read_scales(const tgi_onnx_call *c, tg_value x, size_t input,
                        target *t)
{
    const Onnx__AttributeProto *a = tgi_onnx_attribute(c, "scales");
    const tgi_onnx_array *scales =
        tgi_onnx_has(c, input) ? tgi_onnx_known(c, input) : NULL;
    if (tgi_onnx_failed(c) ||
        !read_axes(c, scales ? scales->count : a ? a->n_floats : 0, t))
        return false;
    for (int i = 0; i < t->n; i++) {
        const double scale = scales ? tgi_onnx_array_float(scales, (size_t)i)
                                    : (double)a->floats[i];
        const int64_t n = tg_value_dim(x, t->axis[i]);
        t->scale[i] = scale;
        t->size[i] = n;
        if (scale == 1)
            continue;
        if (!tg_dim_is_known(n)) {
            tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED,
                          "a scale for an axis of unknown extent");
            return false;
        }
        if (!(scale > 0) || (double)n * scale > 1e9) {
            tgi_onnx_fail(c, TG_ERROR_INVALID_ARGUMENT, "scale %d is %g", i,
                          scale);
            return false;
        }
        t->size[i] = (int64_t)floor((double)n * scale);
    }
    return true;
}

/* Sizes; keep_aspect_ratio_policy gives all axes the same scale. */
static bool read_sizes(const tgi_onnx_call *c, tg_value x, target *t)
{
    tgi_onnx_extents sizes;
    if (!tgi_onnx_known_extents(c, 3, &sizes) || !read_axes(c, sizes.n, t))
        return false;
    const bool is_stretched =
        tgi_onnx_is(c, "keep_aspect_ratio_policy", "stretch", "stretch");
    const bool is_larger =
        tgi_onnx_is(c, "keep_aspect_ratio_policy", "not_smaller", "");
    double scale = 0;
    for (int i = 0; i < t->n; i++) {
        t->size[i] = sizes.e[i].n;
        const int64_t n = tg_value_dim(x, t->axis[i]);
        const double ratio = (double)sizes.e[i].n / (double)n;
        if (is_stretched)
            continue;
        if (sizes.e[i].is_symbol || !tg_dim_is_known(n)) {
            tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED,
                          "an aspect ratio of unknown extents");
            return false;
        }
        if (i == 0 || (is_larger ? ratio > scale : ratio < scale))
            scale = ratio;
    }
    for (int i = 0; !is_stretched && i < t->n; i++) {
        const double n = (double)tg_value_dim(x, t->axis[i]);
        t->size[i] = (int64_t)floor(n * scale + 0.5);
        t->scale[i] = scale;
    }
    return true;
}

/* tf_crop_and_resize: starts, then ends, of the resized axes. */
static bool read_crop(const tgi_onnx_call *c, const target *t,
                      tg_resize_options *o)
{
    if (o->position != TG_POSITION_CROP)
        return true;
    const tgi_onnx_array *roi = tgi_onnx_known(c, 1);
    if (!roi)
        return false;
    if (roi->count != 2 * (size_t)t->n) {
        tgi_onnx_fail(c, TG_ERROR_SHAPE, "roi has %zu numbers", roi->count);
        return false;
    }
    for (int i = 0; i < t->n; i++) {
        o->crop_start[i] = tgi_onnx_array_float(roi, (size_t)i);
        o->crop_end[i] = tgi_onnx_array_float(roi, (size_t)(t->n + i));
    }
    return true;
}

static bool is_unchanged(const tg_resize_options *o, const target *t, int i,
                         tg_value x)
{
    return t->size[i] == tg_value_dim(x, t->axis[i]) &&
           (t->scale[i] == 0 || t->scale[i] == 1) &&
           (o->position != TG_POSITION_CROP ||
            (o->crop_start[i] == 0 && o->crop_end[i] == 1));
}

/* Resamples the axes that change. */
static void resample(const tgi_onnx_call *c, tg_value x, const target *t,
                     tg_resize_options o)
{
    target changed = {.n = 0};
    for (int i = 0; i < t->n; i++) {
        if (is_unchanged(&o, t, i, x))
            continue;
        const int k = changed.n++;
        changed.axis[k] = t->axis[i];
        changed.size[k] = t->size[i];
        o.scale[k] = t->scale[i];
        o.crop_start[k] = o.crop_start[i];
        o.crop_end[k] = o.crop_end[i];
    }
    tgi_onnx_out(c, 0,
                 changed.n == 0
                     ? x
                     : tg_resize_at(TG_IN(x),
                                    tg_axes_of((size_t)changed.n, changed.axis),
                                    changed.n, changed.size, &o, c->site));
}

/* An input that is present and not empty. */
static bool is_given(const tgi_onnx_call *c, size_t i)
{
    const tgi_onnx_array *array =
        tgi_onnx_has(c, i) ? tgi_onnx_try_known(c, i) : NULL;
    return tgi_onnx_has(c, i) && (!array || array->count);
}

void tgi_onnx_build_resize(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    tg_resize_options o = TG_OPTIONS_INIT(tg_resize_options);
    target t = {.rank = tgi_onnx_in_rank(c, 0)};
    if (!read_mode(c, &o) || !read_positions(c, &o))
        return;
    if (is_given(c, 3) ? !read_sizes(c, x, &t)
                       : !read_scales(c, x, c->opset < 11 ? 1 : 2, &t))
        return;
    if (read_crop(c, &t, &o))
        resample(c, x, &t, o);
}

void tgi_onnx_build_upsample(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    tg_resize_options o = TG_OPTIONS_INIT(tg_resize_options);
    target t = {.rank = tgi_onnx_in_rank(c, 0)};
    o.position = TG_POSITION_ASYMMETRIC;
    o.nearest = TG_NEAREST_FLOOR;
    if (read_mode(c, &o) && read_scales(c, x, 1, &t))
        resample(c, x, &t, o);
}

/* -- Sampling -------------------------------------------------------------- */

void tgi_onnx_build_grid_sample(const tgi_onnx_call *c)
{
    tg_sample_options o = TG_OPTIONS_INIT(tg_sample_options);
    static const char *const outside[] = {"zeros", "border", "reflection"};
    const bool is_nearest = tgi_onnx_is(c, "mode", "nearest", "");
    const bool is_cubic = tgi_onnx_is(c, "mode", "bicubic", "") ||
                          tgi_onnx_is(c, "mode", "cubic", "");
    const int place = choose(c, "padding_mode", outside, 3);
    if (tgi_onnx_failed(c))
        return;
    o.mode = is_nearest ? TG_RESIZE_NEAREST
             : is_cubic ? TG_RESIZE_CUBIC
                        : TG_RESIZE_LINEAR;
    o.outside = (tg_sample_outside)place;
    o.aligns_corners = tgi_onnx_int(c, "align_corners", 0);
    tgi_onnx_out(c, 0,
                 tg_grid_sample_at(TG_IN(tgi_onnx_in(c, 0)),
                                   TG_IN(tgi_onnx_in(c, 1)), &o, c->site));
}

/* Positions -1 to 1 along an axis of n elements: their centres, or with
   align_corners the ends at the centres of the first and the last. */
static tg_value axis_positions(const tgi_onnx_call *c, tg_dtype dtype,
                               int64_t n, bool aligns_corners)
{
    const double step = aligns_corners ? (n > 1 ? 2.0 / (double)(n - 1) : 0)
                                       : 2.0 / (double)n;
    const double first = aligns_corners ? -1 : -1 + step / 2;
    const tg_value at = tg_iota_at(dtype, 1, &n, 0, c->site);
    return F2(add, F2(mul, at, tgi_onnx_scalar_like(c, at, step)),
              tgi_onnx_scalar_like(c, at, first));
}

/* theta [n, spatial, spatial + 1] times the positions of an image of that size:
   a grid for GridSample, with the last spatial axis first. */
void tgi_onnx_build_affine_grid(const tgi_onnx_call *c)
{
    const tg_value theta = tgi_onnx_in(c, 0);
    size_t n_size;
    const int64_t *size = tgi_onnx_known_ints(c, 1, &n_size);
    const bool aligns = tgi_onnx_int(c, "align_corners", 0);
    const int n = (int)n_size - 2;
    int64_t dims[TG_MAX_RANK], flat = 1;
    tg_operand parts[TG_MAX_RANK];
    if (!size || n < 1 || n > 3) {
        tgi_onnx_fail(c, TG_ERROR_SHAPE, "a size of %zu axes", n_size);
        return;
    }
    for (int i = 0; i < n; i++) {
        dims[i] = size[i + 2];
        if (dims[i] < 1 || dims[i] > INT32_MAX || flat > INT32_MAX) {
            tgi_onnx_fail(c, TG_ERROR_SHAPE, "extent %d is %lld", i,
                          (long long)dims[i]);
            return;
        }
        flat *= dims[i];
    }
    for (int i = 0; i < n; i++) {
        int64_t shape[3] = {1, 1, 1};
        const int axis = n - 1 - i;
        shape[axis] = dims[axis];
        const tg_value at =
            axis_positions(c, tg_value_dtype(theta), dims[axis], aligns);
        const tg_value shaped = tg_reshape_at(TG_IN(at), n, shape, c->site);
        parts[i] = TG_IN(tg_broadcast_at(TG_IN(shaped), n, dims, c->site));
    }
    parts[n] = TG_IN(tg_broadcast_at(
        TG_IN(tg_scalar_at(tg_value_dtype(theta), tg_in_f64(1), c->site)), n,
        dims, c->site));
    const tg_value all = tg_stack_at(-1, parts, (size_t)n + 1, c->site);
    const tg_value rows =
        tg_reshape_at(TG_IN(all), 2, (const int64_t[]){flat, n + 1}, c->site);
    const tg_value grid = tg_matmul_with_at(TG_IN(rows), TG_IN(theta),
                                            TG_TRANSPOSE_B, c->site);
    int64_t result[TG_MAX_RANK] = {tg_value_dim(theta, 0)};
    for (int i = 0; i < n; i++)
        result[i + 1] = dims[i];
    result[n + 1] = n;
    tgi_onnx_out(c, 0, tg_reshape_at(TG_IN(grid), n + 2, result, c->site));
}
