/* SPDX-License-Identifier: MIT */
/*
 * op_boxes.c - NonMaxSuppression. The number of boxes that are left is part of
 * the shape of the result, so all inputs must be known while tracing.
 */
#include <math.h>
#include <stdlib.h>

#include "onnx_known.h"

typedef struct box {
    double low[2], high[2];
} box;

typedef struct candidate {
    double score;
    int64_t at;
} candidate;

/* The higher score first, then the earlier box. */
static int compare(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Four numbers: two corners in any order, or the centre, width and height. */
static box read_box(const tgi_onnx_array *boxes, size_t i, bool has_centre)
{
    double x[4];
    box b;
    for (size_t k = 0; k < 4; k++)
        x[k] = tgi_onnx_array_float(boxes, 4 * i + k);
    for (int k = 0; k < 2; k++) {
        const double one = has_centre ? x[k] - x[2 + k] / 2 : x[k];
        const double other = has_centre ? x[k] + x[2 + k] / 2 : x[2 + k];
        b.low[k] = fmin(one, other);
        b.high[k] = fmax(one, other);
    }
    return b;
}

static double area(const box *b)
{
    return (b->high[0] - b->low[0]) * (b->high[1] - b->low[1]);
}

/* The area of the intersection by that of the union. */
static double overlap(const box *a, const box *b)
{
    double common = 1;
    for (int k = 0; k < 2; k++)
        common *= fmax(
            fmin(a->high[k], b->high[k]) - fmax(a->low[k], b->low[k]), 0);
    const double all = area(a) + area(b) - common;
    return all > 0 ? common / all : 0;
}

typedef struct suppression {
    const tgi_onnx_array *boxes, *scores;
    int64_t n_batches, n_classes, n_boxes, most;
    double largest_overlap, least_score;
    bool has_centre;
    candidate *order; /* by box */
    box *kept;
    int64_t *out; /* batch, class and box of each that is left */
    size_t n_out;
} suppression;

static void suppress(suppression *s, int64_t batch, int64_t class)
{
    const int64_t n = s->n_boxes;
    int64_t n_order = 0, n_kept = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = (batch * s->n_classes + class) * n + i;
        const double score = tgi_onnx_array_float(s->scores, (size_t)at);
        if (score > s->least_score)
            s->order[n_order++] = (candidate){score, i};
    }
    qsort(s->order, (size_t)n_order, sizeof(*s->order), compare);
    for (int64_t i = 0; i < n_order && n_kept < s->most; i++) {
        const int64_t at = s->order[i].at;
        const box b = read_box(s->boxes, (size_t)(batch * n + at),
                               s->has_centre);
        bool is_kept = true;
        for (int64_t k = 0; k < n_kept && is_kept; k++)
            is_kept = overlap(&b, &s->kept[k]) <= s->largest_overlap;
        if (!is_kept)
            continue;
        s->kept[n_kept++] = b;
        int64_t *out = s->out + 3 * s->n_out++;
        out[0] = batch;
        out[1] = class;
        out[2] = at;
    }
}

static bool read_operands(const tgi_onnx_call *c, suppression *s)
{
    s->boxes = tgi_onnx_known(c, 0);
    s->scores = tgi_onnx_known(c, 1);
    s->most = tgi_onnx_has(c, 2) ? tgi_onnx_known_int(c, 2) : 0;
    s->largest_overlap = tgi_onnx_has(c, 3) ? tgi_onnx_known_float(c, 3) : 0;
    s->least_score =
        tgi_onnx_has(c, 4) ? tgi_onnx_known_float(c, 4) : -HUGE_VAL;
    s->has_centre = tgi_onnx_int(c, "center_point_box", 0);
    if (tgi_onnx_failed(c))
        return false;
    const tgi_onnx_array *b = s->boxes, *x = s->scores;
    if (b->rank != 3 || x->rank != 3 || b->dims[2] != 4 ||
        b->dims[0] != x->dims[0] || b->dims[1] != x->dims[2]) {
        tgi_onnx_fail(c, TG_ERROR_SHAPE,
                      "boxes are not [batch, box, 4], or scores not [batch, "
                      "class, box]");
        return false;
    }
    s->n_batches = x->dims[0];
    s->n_classes = x->dims[1];
    s->n_boxes = x->dims[2];
    return true;
}

void tgi_onnx_build_non_max_suppression(const tgi_onnx_call *c)
{
    tgi_onnx_arena *arena = &c->frame->shared->arena;
    tgi_onnx_array *array;
    suppression s = {.n_out = 0};
    if (!read_operands(c, &s))
        return;
    const size_t n = (size_t)s.n_boxes;
    s.order = tgi_onnx_alloc(arena, n + 1, sizeof(*s.order));
    s.kept = tgi_onnx_alloc(arena, n + 1, sizeof(*s.kept));
    s.out = tgi_onnx_alloc(arena, s.scores->count + 1, 3 * sizeof(*s.out));
    const bool has_memory = s.order && s.kept && s.out;
    for (int64_t i = 0; has_memory && i < s.n_batches; i++)
        for (int64_t k = 0; k < s.n_classes; k++)
            suppress(&s, i, k);
    const int64_t dims[] = {(int64_t)s.n_out, 3};
    if (!has_memory ||
        tgi_onnx_array_copy(arena, TG_I64, 2, dims, s.out, &array))
        tgi_onnx_fail(c, TG_ERROR_OUT_OF_MEMORY, "out of memory");
    else
        tgi_onnx_out_array(c, 0, array);
}
