/* SPDX-License-Identifier: MIT */
/*
 * ops_detection.c - non-maximum suppression as a loop over the boxes that a
 * class selects: an iteration finds the highest score that remains in every
 * class of every batch, and removes the boxes that overlap. Without sorting,
 * and all classes at once.
 */
#include "tgjit/ops_detection.h"

#include <math.h>

#include "build/build_formula.h"
#include "front/ops/ops_arrange.h"
#include "front/trace/trace_state.h"
#include "tgjit/control.h"
#include "tgjit/ops_index.h"

/* Low and high ends of boxes along two axes, and their areas. */
typedef struct box_ends {
    tg_value low[2], high[2], area;
} box_ends;

typedef struct suppression {
    tg_value boxes;     /* [batch, n, 4], low and high ends */
    box_ends all;        /* [batch, 1, n] */
    tg_value threshold; /* of the intersection over union */
    int64_t max_per_class;
    tg_site site;
} suppression;

#define V tg_in_value

/* -- Boxes ----------------------------------------------------------------- */

/* Column k of the last axis, without that axis. */
static tgi_ref column(tgi_builder *b, tgi_ref x, int k)
{
    tgi_ref part = tgi_build_slice(b, x, -1, k, k + 1, 1);
    if (!part)
        return 0;
    const tgi_shape *shape = tgi_graph_shape(b->graph, part);
    return tgi_build_reshape(b, part, shape->rank - 1, shape->dims);
}

/* y and x of the low corner, then of the high one, along the last axis. */
static tgi_ref build_ends(tgi_builder *b, tgi_ref x, tg_box_format format)
{
    tgi_ref ends[4];
    for (int i = 0; i < 2; i++) {
        if (format == TG_BOX_CORNERS) {
            const tgi_ref from = column(b, x, i), to = column(b, x, i + 2);
            ends[i] = MIN(from, to);
            ends[i + 2] = MAX(from, to);
        } else {
            const tgi_ref size = column(b, x, 3 - i);
            const tgi_ref half = MUL(size, tgi_build_number_like(b, x, 0.5));
            const tgi_ref center = column(b, x, 1 - i);
            ends[i] = SUB(center, half);
            ends[i + 2] = ADD(center, half);
        }
    }
    for (int i = 0; i < 4; i++)
        if (!ends[i] ||
            !(ends[i] = tgi_build_insert_axis(
                  b, ends[i], tgi_graph_shape(b->graph, ends[i])->rank)))
            return 0;
    return tgi_build_concat(b, -1, ends, 4);
}

/* The ends of boxes […, 4] as values with a new axis at `axis`. */
static box_ends split_ends(tgi_operation *o, tgi_ref x, int axis)
{
    tgi_builder *b = &o->b;
    box_ends split = {0};
    tgi_ref side[2] = {0, 0};
    for (int i = 0; i < 2 && x; i++) {
        tgi_ref low = column(b, x, i), high = column(b, x, i + 2);
        low = low ? tgi_build_insert_axis(b, low, axis) : 0;
        high = high ? tgi_build_insert_axis(b, high, axis) : 0;
        side[i] = SUB(high, low);
        split.low[i] = tgi_operation_end(o, low);
        split.high[i] = tgi_operation_end(o, high);
    }
    split.area = tgi_operation_end(o, MUL(side[0], side[1]));
    return split;
}

/* Whether the intersection over union exceeds the threshold. */
static tgi_ref build_overlaps(tgi_operation *o, const box_ends *x, const box_ends *y,
                              tg_value threshold)
{
    tgi_builder *b = &o->b;
#define R(value) tgi_operation_operand(o, V(value))
    tgi_ref side[2];
    for (int i = 0; i < 2; i++) {
        const tgi_ref high = MIN(R(x->high[i]), R(y->high[i]));
        const tgi_ref low = MAX(R(x->low[i]), R(y->low[i]));
        side[i] = SUB(high, low);
        if (!side[i])
            return 0;
    }
    const tgi_ref zero = tgi_build_number_like(b, side[0], 0);
    const tgi_ref inner =
        MUL(MAX(side[0], zero), MAX(side[1], zero));
    const tgi_ref both = SUB(ADD(R(x->area), R(y->area)), inner);
    const tgi_ref ratio = DIV(inner, both);
    return AND(LT(zero, inner), LT(R(threshold), ratio));
#undef R
}

/* -- The loop -------------------------------------------------------------- */

/* Receives the remaining scores, the selected boxes and their number so far. */
static void has_more(tg_trace *t, const tg_value *in, void *user)
{
    const suppression *s = user;
    const tg_value is_left =
        tg_gt_at(V(in[0]), tg_in_f64((double)-INFINITY), s->site);
    const tg_value any =
        tg_any_at(V(is_left), (tg_axes){.n = -1}, s->site);
    const tg_value has_room =
        tg_lt_at(V(in[2]), tg_in_i64(s->max_per_class), s->site);
    const tg_value both = tg_and_at(V(any), V(has_room), s->site);
    tg_return_at(t, (tg_operand[]){V(both)}, 1, s->site);
}

static void select_boxes(tg_trace *t, const tg_value *in, void *user)
{
    const suppression *s = user;
    const tg_site site = s->site;
    const tg_value best = tg_argmax_at(V(in[0]), -1, site);
    tgi_operation o;
    if (!tgi_operation_begin(&o, "nonmax_suppression", site))
        return;
    tgi_builder *b = &o.b;
    tgi_ref at = tgi_operation_operand(&o, V(best));
    tgi_ref scores = tgi_operation_operand(&o, V(in[0]));
    at = at ? tgi_build_insert_axis(b, at, 2) : 0;
    const tg_value index = tgi_operation_end(&o, at);
    const tg_value chosen =
        tg_gather_nd_at(V(s->boxes), V(index), 1, TG_GATHER_CHECK, site);
    const box_ends ends =
        split_ends(&o, tgi_operation_operand(&o, V(chosen)), 2);
    tgi_ref overlaps = build_overlaps(&o, &s->all, &ends, s->threshold);
    if (!overlaps || !scores)
        return;
    const tgi_ref none =
        tgi_build_number_like(b, scores, (double)-INFINITY);
    tgi_ref highest = tgi_build_reduce(
        b, TGI_OP_REDUCE_MAX, scores, tg_keep(tg_axes_of(1, &(int){-1})));
    const tgi_ref is_found = LT(none, highest);
    const tgi_ref position = tgi_build_iota(
        b, TG_I64, 3, tgi_graph_shape(b->graph, scores)->dims, 2);
    const tgi_ref removes = OR(overlaps, EQ(position, at));
    const tgi_ref left = SELECT(removes, none, scores);
    const tgi_ref minus_one = tgi_build_number(
        b, TG_I64, TG_I64, (tgi_number){TGI_NUMBER_INT, {.i = -1}});
    const tgi_ref found = SELECT(is_found, at, minus_one);
    const tg_value remaining = tgi_operation_end(&o, left);
    const tg_value update = tgi_operation_end(&o, found);
    const tg_value selected = tg_dynamic_update_slice_at(
        V(in[1]), V(update), 2, V(in[2]), site);
    const tg_value next = tg_add_at(V(in[2]), tg_in_i64(1), site);
    tg_return_at(t, (tg_operand[]){V(remaining), V(selected), V(next)}, 3,
                 site);
}

/* -- The operation --------------------------------------------------------- */

static bool check_types(tgi_builder *b, tgi_ref boxes, tgi_ref scores,
                        int64_t max_per_class, tg_box_format format)
{
    const tgi_ref in[] = {boxes, scores};
    if (!boxes || !scores || !tgi_build_require_float(b, boxes))
        return false;
    const tgi_shape *x = tgi_graph_shape(b->graph, boxes);
    const tgi_shape *y = tgi_graph_shape(b->graph, scores);
    bool ok = x->rank == 3 && y->rank == 3 && x->dims[2] == 4;
    if (ok) {
        static const char what[] = "extents of boxes and scores";
        ok = tgi_build_check(b, TGI_CHECK_EQUAL, x->dims[0], y->dims[0],
                             what) &&
             tgi_build_check(b, TGI_CHECK_EQUAL, x->dims[1], y->dims[2], what);
    }
    if (!ok)
        tgi_build_fail(b, TG_ERROR_SHAPE, in, 2,
                       "needs boxes [batch, n, 4] and scores [batch, classes, "
                       "n]");
    else if (tgi_graph_node(b->graph, boxes)->dtype !=
             tgi_graph_node(b->graph, scores)->dtype)
        ok = tgi_build_fail(b, TG_ERROR_DTYPE, in, 2,
                            "dtypes differ; convert one with tg_cast");
    else if (max_per_class < 0 ||
             (format != TG_BOX_CORNERS && format != TG_BOX_CENTER))
        ok = tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT, NULL, 0,
                            "%lld boxes per class, or format %d",
                            (long long)max_per_class, (int)format);
    return ok;
}

/* The boxes and scores, with one more box without a score, so that there is
   one; false on failure. */
static bool prepare(tgi_operation *o, tgi_ref x, tgi_ref scores,
                    tg_operand score_threshold, tg_box_format format,
                    suppression *s, tg_value *out_scores)
{
    tgi_builder *b = &o->b;
    tgi_ref ends = build_ends(b, x, format);
    ends = ends ? tgi_build_pad(b, ends, 1, 0, 1,
                                tgi_build_number_like(b, ends, 0))
                : 0;
    s->boxes = tgi_operation_end(o, ends);
    s->all = split_ends(o, ends, 1);
    const tgi_ref none =
        tgi_build_number_like(b, scores, (double)-INFINITY);
    tgi_ref is_used = LT(tgi_operation_operand(o, score_threshold), scores);
    tgi_ref used = SELECT(is_used, scores, none);
    if (used)
        used = tgi_build_pad(b, used, 2, 0, 1, none);
    *out_scores = tgi_operation_end(o, used);
    return o->t->status == TG_OK;
}

/* [batch, classes, k] selected boxes, -1: none, as rows. */
static tg_suppression_results list_selected(tg_value selected,
                                            int64_t max_count, tg_site site)
{
    const tg_value is_set = tg_ge_at(V(selected), tg_in_i64(0), site);
    const tg_value positions = tg_nonzero_at(V(is_set), max_count, site);
    const tg_value box =
        tg_gather_nd_at(V(selected), V(positions), 0, TG_GATHER_ZERO, site);
    const tg_value first =
        tg_slice_at(V(positions), 1, 0, 2, 1, site);
    const tg_value is_listed = tg_ge_at(
        V(tg_slice_at(V(positions), 1, 0, 1, 1, site)), tg_in_i64(0), site);
    const tg_value column = tg_reshape_at(
        V(box), 2, (int64_t[]){tg_value_dim(positions, 0), 1}, site);
    const tg_value last =
        tg_select_at(V(is_listed), V(column), tg_in_i64(-1), site);
    return (tg_suppression_results){
        tg_concat_at(1, (tg_operand[]){V(first), V(last)}, 2, site),
        tg_count_nonzero_at(V(is_set), (tg_axes){.n = -1}, site)};
}

tg_suppression_results tg_nonmax_suppression_at(
    tg_operand boxes_operand, tg_operand scores_operand, int64_t max_per_class,
    tg_operand iou_threshold, tg_operand score_threshold, tg_box_format format,
    int64_t max_count, tg_site site)
{
    tgi_operation o;
    tg_suppression_results results = {{0, 0}, {0, 0}};
    if (!tgi_operation_begin(&o, "nonmax_suppression", site))
        return results;
    tgi_builder *b = &o.b;
    const tgi_ref x = tgi_operation_operand(&o, boxes_operand);
    const tgi_ref scores = tgi_operation_operand(&o, scores_operand);
    suppression s = {.max_per_class = max_per_class, .site = site};
    tg_value in[3], out[3];
    bool ok = check_types(b, x, scores, max_per_class, format);
    if (ok) {
        s.threshold = tgi_operation_end(
            &o, tgi_operation_operand(&o, iou_threshold));
        ok = prepare(&o, x, scores, score_threshold, format, &s, &in[0]);
    } else {
        tgi_operation_end(&o, 0);
    }
    if (!ok)
        return results;
    const tgi_shape *shape = tgi_graph_shape(b->graph, scores);
    const tgi_dim dims[] = {shape->dims[0], shape->dims[1],
                            tg_dim_max(1, tg_dim_min(max_per_class,
                                                 shape->dims[2]))};
    const tgi_ref minus_one = tgi_build_number(
        b, TG_I64, TG_I64, (tgi_number){TGI_NUMBER_INT, {.i = -1}});
    in[1] = tgi_operation_end(&o, tgi_build_broadcast(b, minus_one, 3, dims));
    const tg_operand initial[] = {V(in[0]), V(in[1]), tg_in_i64(0)};
    tg_while_at(has_more, select_boxes, &s, initial, 3, out, 3, site);
    return tg_is_valid(out[1]) ? list_selected(out[1], max_count, site)
                               : results;
}
