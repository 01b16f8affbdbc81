/* SPDX-License-Identifier: MIT */
/*
 * ops_resize.c - images of another size. Every axis is resampled by gathers:
 * one for the nearest element, or two or four with weights. Indices and weights
 * are vectors, computed from positions in f64.
 */
#include "tgjit/ops_resize.h"

#include "base/versioned.h"
#include "build/build_formula.h"
#include "front/ops/ops_sampling.h"
#include "front/trace/trace_state.h"

/* One axis. */
typedef struct resized_axis {
    int axis;
    tgi_dim from, to;
    int i; /* its place in the list of axes */
} resized_axis;

static tgi_ref f64_extent(tgi_builder *b, tgi_dim n)
{
    return tgi_build_cast(b, tgi_build_extent(b, n), TG_F64);
}

/* The scale of the axis, as f64 scalar. */
static tgi_ref scale_of(tgi_builder *b, const resized_axis *r,
                        const tg_resize_options *o)
{
    if (o->scale[r->i] > 0)
        return tgi_build_f64(b, o->scale[r->i]);
    tgi_ref to = f64_extent(b, r->to);
    return DIV(to, f64_extent(b, r->from));
}

/* start + i * (end - start) / (m - 1), all times n - 1, where m is n * s if a
   scale is given; the middle if the result has one element. Align-corners is the
   crop from 0 to 1, but 0 for one element. */
static tgi_ref crop_position(tgi_builder *b, tgi_ref i, const resized_axis *r,
                             const tg_resize_options *o, double start,
                             double end, double single)
{
    tgi_ref one = tgi_build_f64(b, 1);
    tgi_ref last_from = SUB(f64_extent(b, r->from), one);
    tgi_ref to = f64_extent(b, r->to);
    tgi_ref scaled = o->scale[r->i] > 0
                         ? MUL(f64_extent(b, r->from), scale_of(b, r, o))
                         : to;
    tgi_ref last_to = SUB(scaled, one);
    tgi_ref step =
        DIV(MUL(tgi_build_f64(b, end - start), last_from), MAX(last_to, one));
    tgi_ref first = MUL(tgi_build_f64(b, start), last_from);
    return SELECT(LT(one, to), ADD(MUL(i, step), first),
                  MUL(tgi_build_f64(b, single), last_from));
}

/* The position of every element of the result along the axis, as f64 vector. */
static tgi_ref position_of(tgi_builder *b, const resized_axis *r,
                           const tg_resize_options *o)
{
    tgi_ref i = tgi_build_iota(b, TG_F64, 1, &r->to, 0);
    tgi_ref half = tgi_build_f64(b, 0.5);
    tgi_ref pixel;
    switch (o->position) {
    case TG_POSITION_ASYMMETRIC:
        return DIV(i, scale_of(b, r, o));
    case TG_POSITION_ALIGN_CORNERS:
        return crop_position(b, i, r, o, 0, 1, 0);
    case TG_POSITION_CROP:
        return crop_position(b, i, r, o, o->crop_start[r->i], o->crop_end[r->i],
                             (o->crop_start[r->i] + o->crop_end[r->i]) / 2);
    case TG_POSITION_HALF_PIXEL_NN:
        return DIV(ADD(i, half), scale_of(b, r, o));
    case TG_POSITION_HALF_PIXEL:
    case TG_POSITION_PYTORCH_HALF_PIXEL:
        break;
    }
    pixel = SUB(DIV(ADD(i, half), scale_of(b, r, o)), half);
    if (o->position == TG_POSITION_HALF_PIXEL)
        return pixel;
    return SELECT(LT(tgi_build_f64(b, 1), f64_extent(b, r->to)), pixel,
                  tgi_build_f64(b, 0));
}

/* -- One axis -------------------------------------------------------------- */

static tgi_ref nearest_index(tgi_builder *b, tgi_ref position,
                             tg_nearest nearest)
{
    tgi_ref half = tgi_build_f64(b, 0.5);
    tgi_ref rounded = nearest == TG_NEAREST_ROUND_PREFER_FLOOR
                          ? BUILD_1(CEIL, SUB(position, half))
                      : nearest == TG_NEAREST_ROUND_PREFER_CEIL
                          ? FLOOR(ADD(position, half))
                      : nearest == TG_NEAREST_FLOOR ? FLOOR(position)
                                                    : BUILD_1(CEIL, position);
    return tgi_build_cast(b, rounded, TG_I64);
}

/* A vector along the axis, as f64 weights of the elements of x. */
static tgi_ref along_axis(tgi_builder *b, tgi_ref x, tgi_ref weight,
                          const resized_axis *r)
{
    tgi_dim dims[TG_MAX_RANK];
    if (!x || !weight)
        return 0;
    const tgi_node *node = tgi_graph_node(b->graph, x);
    const int rank = tgi_shape_of(b->graph->dims, node->shape)->rank - r->axis;
    dims[0] = r->to;
    for (int i = 1; i < rank; i++)
        dims[i] = 1;
    return tgi_build_reshape(
        b, tgi_build_cast(b, weight, (tg_dtype)node->dtype), rank, dims);
}

/* Weights 0 for elements outside; the others are divided by their sum. */
static void exclude_outside(tgi_builder *b, tgi_taps *taps, tgi_ref first,
                            tgi_dim n)
{
    tgi_ref zero = tgi_build_f64(b, 0), sum = 0;
    tgi_ref extent = f64_extent(b, n);
    for (int k = 0; k < taps->n; k++) {
        tgi_ref at = ADD(first, tgi_build_f64(b, taps->offset[k]));
        tgi_ref is_inside = AND(LE(zero, at), LT(at, extent));
        taps->weight[k] = SELECT(is_inside, taps->weight[k], zero);
        sum = sum ? ADD(sum, taps->weight[k]) : taps->weight[k];
    }
    for (int k = 0; k < taps->n; k++)
        taps->weight[k] = DIV(taps->weight[k], sum);
}

static tgi_ref resize_axis(tgi_builder *b, tgi_ref x, tgi_ref position,
                           const resized_axis *r, const tg_resize_options *o)
{
    if (o->mode == TG_RESIZE_NEAREST)
        return tgi_build_gather(b, x, nearest_index(b, position, o->nearest),
                                r->axis, TG_GATHER_CLAMP);
    tgi_ref first = FLOOR(position);
    tgi_ref t = SUB(position, first);
    tgi_taps taps = o->mode == TG_RESIZE_LINEAR
                        ? tgi_build_linear_taps(b, t)
                        : tgi_build_cubic_taps(b, t, o->cubic_a);
    if (o->excludes_outside)
        exclude_outside(b, &taps, first, r->from);
    tgi_ref index = tgi_build_cast(b, first, TG_I64), sum = 0;
    for (int k = 0; k < taps.n; k++) {
        tgi_ref at =
            ADD(index, tgi_build_number_like(b, index, taps.offset[k]));
        tgi_ref tap = tgi_build_gather(b, x, at, r->axis, TG_GATHER_CLAMP);
        tgi_ref weighted = MUL(tap, along_axis(b, x, taps.weight[k], r));
        sum = sum ? ADD(weighted, sum) : weighted;
    }
    return sum;
}

/* -- All axes -------------------------------------------------------------- */

static bool check_options(tgi_builder *b, tgi_ref x, const tg_resize_options *o,
                          int n_axes, int n_sizes, const int64_t *sizes)
{
    if (n_sizes != n_axes || (n_sizes && !sizes))
        return tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                              "%d sizes and %d axes are given; pass one size "
                              "per axis",
                              sizes ? n_sizes : 0, n_axes);
    if (o->mode > TG_RESIZE_CUBIC || o->position > TG_POSITION_CROP ||
        o->nearest > TG_NEAREST_CEIL)
        return tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT, &x, 1,
                              "invalid mode %d, position %d or nearest %d",
                              (int)o->mode, (int)o->position, (int)o->nearest);
    for (int i = 0; i < n_axes; i++)
        if (!(o->scale[i] >= 0))
            return tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT, &x, 1,
                                  "invalid scale %g", o->scale[i]);
    return o->mode == TG_RESIZE_NEAREST || tgi_build_require_float(b, x);
}

/* 0 <= position <= n - 1, with axes of extent 1 for those that follow. */
static tgi_ref is_inside_axis(tgi_builder *b, tgi_ref x, tgi_ref position,
                              const resized_axis *r)
{
    tgi_ref last = SUB(f64_extent(b, r->from), tgi_build_f64(b, 1));
    tgi_ref is_inside =
        AND(LE(tgi_build_f64(b, 0), position), LE(position, last));
    tgi_dim dims[TG_MAX_RANK];
    if (!x)
        return 0;
    const int rank = tgi_graph_shape(b->graph, x)->rank - r->axis;
    dims[0] = r->to;
    for (int i = 1; i < rank; i++)
        dims[i] = 1;
    return tgi_build_reshape(b, is_inside, rank, dims);
}

static tgi_ref build_resize(tgi_builder *b, tgi_ref x, tg_axes axes,
                            const int64_t *sizes, const tg_resize_options *o)
{
    tgi_ref is_inside = 0;
    for (int i = 0; x && i < axes.n; i++) {
        const int axis = tgi_build_axis(b, x, axes.axis[i]);
        if (axis < 0 || !tgi_build_shape(b, 1, &sizes[i]))
            return 0;
        const resized_axis r = {axis, tgi_graph_shape(b->graph, x)->dims[axis],
                                sizes[i], i};
        tgi_ref position = position_of(b, &r, o);
        if (o->position == TG_POSITION_CROP) {
            tgi_ref inside = is_inside_axis(b, x, position, &r);
            is_inside = is_inside ? AND(is_inside, inside) : inside;
        }
        x = resize_axis(b, x, position, &r, o);
    }
    return is_inside
               ? SELECT(is_inside, x, tgi_build_number_like(b, x, o->outside))
               : x;
}

tg_value tg_resize_at(tg_operand operand, tg_axes axes, int n_sizes,
                      const int64_t *sizes,
                      const tg_resize_options *user_options, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    tg_resize_options options;
    if (tgi_operation_begin_wide(&o, "resize", site)) {
        tgi_ref x = tgi_operation_operand(&o, operand);
        uint64_t mask;
        if (tgi_versioned_read(&options, sizeof(options), user_options,
                               "tg_resize_options")) {
            o.b.has_error = true;
            x = 0;
        } else if (x && tgi_build_axes_mask(&o.b, x, axes, &mask)) {
            if (axes.n < 0)
                axes =
                    (tg_axes){.n = (int8_t)tgi_graph_shape(o.t->graph, x)->rank,
                              .axis = {0, 1, 2, 3, 4, 5, 6, 7}};
            if (options.cubic_a == 0)
                options.cubic_a = -0.75;
            if (check_options(&o.b, x, &options, axes.n, n_sizes, sizes))
                result = build_resize(&o.b, x, axes, sizes, &options);
        }
    }
    return tgi_operation_end(&o, result);
}
