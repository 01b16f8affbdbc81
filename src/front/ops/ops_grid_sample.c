/* SPDX-License-Identifier: MIT */
/*
 * ops_grid_sample.c - images sampled at given positions. Channels are moved to
 * the end, so that every place gathers rows of channels; the indices of example
 * and spatial axes are merged into one.
 */
#include "base/versioned.h"
#include "build/build_formula.h"
#include "front/ops/ops_arrange.h"
#include "front/ops/ops_index.h"
#include "front/ops/ops_sampling.h"
#include "front/ops/ops_spatial.h"
#include "front/trace/trace_state.h"
#include "tgjit/ops_resize.h"

enum { MAX_SAMPLED = 3 };

typedef struct sampling {
    tgi_builder *b;
    const tg_sample_options *options;
    int n; /* spatial axes */
    tgi_dim extent[MAX_SAMPLED];
    tgi_ref rows;    /* x as [example and spatial axes, channel] */
    tgi_ref example; /* its index, shaped like the places */
    tgi_ref position[MAX_SAMPLED], first[MAX_SAMPLED]; /* first: its floor */
    tgi_taps taps[MAX_SAMPLED];
} sampling;

static tgi_ref extent_like(tgi_builder *b, tgi_ref x, tgi_dim n)
{
    return tgi_build_cast(b, tgi_build_extent(b, n),
                          (tg_dtype)tgi_graph_node(b->graph, x)->dtype);
}

/* -- Positions ------------------------------------------------------------- */

/* Reflects at `low` and `high` = low + span, as often as necessary. */
static tgi_ref reflect(tgi_builder *b, tgi_ref x, tgi_ref low, tgi_ref span)
{
    tgi_ref zero = tgi_build_number_like(b, x, 0);
    tgi_ref two = tgi_build_number_like(b, x, 2);
    tgi_ref distance = ABS(SUB(x, low));
    tgi_ref period = MUL(span, two);
    tgi_ref whole = FLOOR(DIV(distance, period));
    tgi_ref rest = SUB(distance, MUL(whole, period));
    tgi_ref folded = MIN(rest, SUB(period, rest));
    return SELECT(LT(zero, span), ADD(folded, low), zero);
}

/* -1 … 1 to a position along an axis of extent n, made valid if the options
   say so. */
static tgi_ref position_of(const sampling *s, tgi_ref x, tgi_dim n)
{
    tgi_builder *b = s->b;
    if (!x)
        return 0;
    tgi_ref one = tgi_build_number_like(b, x, 1);
    tgi_ref half = tgi_build_number_like(b, x, 0.5);
    tgi_ref extent = extent_like(b, x, n);
    tgi_ref last = SUB(extent, one);
    const bool aligns = s->options->aligns_corners;
    tgi_ref position = aligns ? MUL(MUL(ADD(x, one), half), last)
                              : MUL(SUB(MUL(ADD(x, one), extent), one), half);
    if (s->options->outside == TG_SAMPLE_REFLECTION)
        position = reflect(b, position,
                           aligns ? tgi_build_number_like(b, x, 0)
                                  : tgi_build_number_like(b, x, -0.5),
                           aligns ? last : extent);
    if (s->options->outside != TG_SAMPLE_ZEROS &&
        s->options->mode != TG_RESIZE_CUBIC)
        position = MIN(MAX(position, tgi_build_number_like(b, x, 0)), last);
    return position;
}

/* -- Taps ------------------------------------------------------------------ */

/* The index of a tap along an axis; beyond the ends, it is clamped or reflected
   as the options say. */
static tgi_ref tap_index(const sampling *s, int axis, int offset)
{
    tgi_builder *b = s->b;
    tgi_ref at = s->first[axis];
    at = ADD(at, tgi_build_number_like(b, at, offset));
    if (s->options->mode == TG_RESIZE_CUBIC &&
        s->options->outside == TG_SAMPLE_REFLECTION) {
        const bool aligns = s->options->aligns_corners;
        tgi_ref extent = extent_like(b, at, s->extent[axis]);
        tgi_ref last = SUB(extent, tgi_build_number_like(b, at, 1));
        tgi_ref low = tgi_build_number_like(b, at, aligns ? 0 : -0.5);
        at = reflect(b, at, low, aligns ? last : extent);
    }
    return tgi_build_cast(b, at, TG_I64);
}

/* The rows at one combination of taps; zeros outside, or the nearest row. */
static tgi_ref sample_rows(const sampling *s, const tgi_ref *index)
{
    tgi_builder *b = s->b;
    tgi_ref merged = s->example, is_valid = 0;
    for (int i = 0; i < s->n; i++) {
        tgi_ref n = tgi_build_extent(b, s->extent[i]);
        tgi_ref at = index[i];
        tgi_ref zero = tgi_build_number_like(b, at, 0);
        tgi_ref is_inside = AND(LE(zero, at), LT(at, n));
        is_valid = is_valid ? AND(is_valid, is_inside) : is_inside;
        if (s->options->outside != TG_SAMPLE_ZEROS)
            at = MIN(MAX(at, zero), SUB(n, tgi_build_number_like(b, at, 1)));
        merged = ADD(MUL(merged, n), at);
    }
    if (s->options->outside == TG_SAMPLE_ZEROS)
        merged = SELECT(is_valid, merged, tgi_build_number_like(b, merged, -1));
    return tgi_build_gather(b, s->rows, merged, 0, TG_GATHER_ZERO);
}

/* The weighted sum over the taps of all axes from `axis` on. */
static tgi_ref sum_of_taps(const sampling *s, int axis, tgi_ref *index,
                           tgi_ref weight)
{
    tgi_builder *b = s->b;
    if (axis == s->n) {
        tgi_ref rows = sample_rows(s, index);
        if (!weight || !rows)
            return weight ? 0 : rows;
        const int rank = tgi_graph_shape(b->graph, weight)->rank;
        return MUL(rows, tgi_build_insert_axis(b, weight, rank));
    }
    tgi_ref sum = 0;
    const tgi_taps *taps = &s->taps[axis];
    for (int k = 0; k < taps->n; k++) {
        index[axis] = tap_index(s, axis, taps->offset[k]);
        tgi_ref both = !taps->weight[k] ? weight
                       : weight         ? MUL(weight, taps->weight[k])
                                        : taps->weight[k];
        tgi_ref part = sum_of_taps(s, axis + 1, index, both);
        sum = sum ? ADD(sum, part) : part;
    }
    return sum;
}

/* -- The whole ------------------------------------------------------------- */

/* Coordinate i of the last axis of the grid, without that axis. */
static tgi_ref coordinate(tgi_builder *b, tgi_ref grid, int i)
{
    const tgi_shape *shape = tgi_graph_shape(b->graph, grid);
    return tgi_build_reshape(b, tgi_build_slice(b, grid, -1, i, i + 1, 1),
                             shape->rank - 1, shape->dims);
}

static bool check_shapes(tgi_builder *b, tgi_ref x, tgi_ref grid)
{
    const tgi_ref pair[] = {x, grid};
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    const tgi_shape *at = tgi_graph_shape(b->graph, grid);
    const int n = shape->rank - 2;
    return (n >= 1 && n <= MAX_SAMPLED && at->rank >= 2 &&
            tgi_build_check(b, TGI_CHECK_EQUAL, at->dims[at->rank - 1], n,
                            "positions and spatial axes") &&
            tgi_build_check(b, TGI_CHECK_EQUAL, at->dims[0], shape->dims[0],
                            "examples")) ||
           tgi_build_fail(b, TG_ERROR_SHAPE, pair, 2,
                          "needs [n, channel, spatial …] with 1 to 3 spatial "
                          "axes and [n, place …, number of these axes]");
}

/* Channels from the last axis to the second. */
static tgi_ref channels_second(tgi_builder *b, tgi_ref x)
{
    return x ? tgi_build_channels_first(b, x) : 0;
}

static tgi_ref build_grid_sample(tgi_builder *b, tgi_ref x, tgi_ref grid,
                                 const tg_sample_options *options)
{
    tgi_ref in[] = {x, grid};
    if (!x || !grid || !tgi_build_unify(b, in, 2) ||
        !tgi_build_require_float(b, in[0]) || !check_shapes(b, x, grid))
        return 0;
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    const tgi_shape *at = tgi_graph_shape(b->graph, grid);
    sampling s = {.b = b, .options = options, .n = shape->rank - 2};
    s.rows = tgi_build_merge_first(b, tgi_build_channels_last(b, x), 1 + s.n);
    s.example = tgi_build_iota(b, TG_I64, at->rank - 1, at->dims, 0);
    for (int i = 0; i < s.n; i++) {
        s.extent[i] = shape->dims[2 + i];
        tgi_ref position =
            position_of(&s, coordinate(b, grid, s.n - 1 - i), s.extent[i]);
        if (!position)
            return 0;
        if (options->mode == TG_RESIZE_NEAREST) {
            s.first[i] = BUILD_1(ROUND, position);
            s.taps[i] = (tgi_taps){.n = 1};
            continue;
        }
        s.first[i] = FLOOR(position);
        tgi_ref t = SUB(position, s.first[i]);
        s.taps[i] = options->mode == TG_RESIZE_LINEAR
                        ? tgi_build_linear_taps(b, t)
                        : tgi_build_cubic_taps(b, t, -0.75);
    }
    tgi_ref index[MAX_SAMPLED];
    return channels_second(b, sum_of_taps(&s, 0, index, 0));
}

tg_value tg_grid_sample_at(tg_operand x, tg_operand grid,
                           const tg_sample_options *user_options, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    tg_sample_options options;
    if (tgi_operation_begin_wide(&o, "grid_sample", site)) {
        tgi_ref in = tgi_operation_operand(&o, x);
        tgi_ref at = tgi_operation_operand(&o, grid);
        if (tgi_versioned_read(&options, sizeof(options), user_options,
                               "tg_sample_options"))
            o.b.has_error = true;
        else if (options.mode > TG_RESIZE_CUBIC ||
                 options.outside > TG_SAMPLE_REFLECTION)
            tgi_build_fail(&o.b, TG_ERROR_INVALID_ARGUMENT, NULL, 0,
                           "invalid mode %d or outside %d", (int)options.mode,
                           (int)options.outside);
        else
            result = build_grid_sample(&o.b, in, at, &options);
    }
    return tgi_operation_end(&o, result);
}
