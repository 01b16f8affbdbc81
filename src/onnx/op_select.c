/* SPDX-License-Identifier: MIT */
/*
 * op_select.c - selections. The number of selected elements is part of the shape
 * of the result, so that what decides it must be known while tracing: a
 * condition, or all elements.
 */
#include <string.h>

#include "onnx_known.h"

void tgi_onnx_build_top_k(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    const int axis = tgi_onnx_axis(c, tgi_onnx_int(c, "axis", -1),
                                   tgi_onnx_in_rank(c, 0));
    const int64_t k =
        c->opset < 10 ? tgi_onnx_int(c, "k", 0) : tgi_onnx_known_int(c, 1);
    const unsigned flags = tgi_onnx_int(c, "largest", 1) ? TG_SORT_DESCENDING
                                                         : TG_SORT_ASCENDING;
    tg_value at;
    tgi_onnx_out(c, 0, tg_top_k_at(TG_IN(x), k, axis, flags, &at, c->site));
    tgi_onnx_out(c, 1, at);
}

/* A new i64 array in the arena; NULL, with the trace failed, without memory. */
static int64_t *new_ints(const tgi_onnx_call *c, size_t n)
{
    int64_t *ints =
        tgi_onnx_alloc(&c->frame->shared->arena, n + 1, sizeof(*ints));
    if (!ints)
        tgi_onnx_fail(c, TG_ERROR_OUT_OF_MEMORY, "out of memory");
    return ints;
}

static void out_ints(const tgi_onnx_call *c, size_t i, int rank, int64_t rows,
                     int64_t columns, const int64_t *ints)
{
    tgi_onnx_array *array;
    if (tgi_onnx_array_copy(&c->frame->shared->arena, TG_I64, rank,
                            (const int64_t[]){rows, columns}, ints, &array))
        tgi_onnx_fail(c, TG_ERROR_OUT_OF_MEMORY, "out of memory");
    else
        tgi_onnx_out_array(c, i, array);
}

/* -- Conditions ------------------------------------------------------------ */

void tgi_onnx_build_compress(const tgi_onnx_call *c)
{
    tg_value x = tgi_onnx_in(c, 0);
    const tgi_onnx_array *condition = tgi_onnx_known(c, 1);
    int axis = 0;
    int64_t n = 0;
    if (!condition)
        return;
    int64_t *at = new_ints(c, condition->count);
    if (!at)
        return;
    for (size_t i = 0; i < condition->count; i++)
        if (tgi_onnx_array_int(condition, i))
            at[n++] = (int64_t)i;
    if (tgi_onnx_attribute(c, "axis"))
        axis = tgi_onnx_axis(c, tgi_onnx_int(c, "axis", 0),
                             tgi_onnx_in_rank(c, 0));
    else
        x = tg_reshape_at(TG_IN(x), 1, (const int64_t[]){-1}, c->site);
    const tg_value indices = tg_constant_at(TG_I64, 1, &n, at, c->site);
    tgi_onnx_out(c, 0, tg_gather_at(TG_IN(x), TG_IN(indices), axis,
                                    TG_GATHER_CHECK, c->site));
}

/* The positions of elements other than 0, one column each. */
void tgi_onnx_build_non_zero(const tgi_onnx_call *c)
{
    const tgi_onnx_array *x = tgi_onnx_known(c, 0);
    size_t n = 0, column = 0;
    if (!x)
        return;
    const size_t rank = x->rank ? (size_t)x->rank : 1;
    for (size_t i = 0; i < x->count; i++)
        n += tgi_onnx_array_float(x, i) != 0;
    int64_t *at = new_ints(c, n * rank);
    if (!at)
        return;
    for (size_t i = 0; i < x->count; i++) {
        if (tgi_onnx_array_float(x, i) == 0)
            continue;
        size_t rest = i;
        for (size_t axis = rank; axis-- > 0;) {
            const size_t dim = x->rank ? (size_t)x->dims[axis] : 1;
            at[axis * n + column] = (int64_t)(rest % dim);
            rest /= dim;
        }
        column++;
    }
    out_ints(c, 0, 2, (int64_t)rank, (int64_t)n, at);
}

/* -- Unique ---------------------------------------------------------------- */

/* Slices of an array along an axis: `n` of them, each of `outer` pieces of
   `inner` elements. */
typedef struct slices {
    const tgi_onnx_array *x;
    size_t n, outer, inner;
} slices;

static int compare(const slices *s, size_t a, size_t b)
{
    for (size_t o = 0; o < s->outer; o++)
        for (size_t i = 0; i < s->inner; i++) {
            const size_t ka = (o * s->n + a) * s->inner + i;
            const size_t kb = (o * s->n + b) * s->inner + i;
            if (tgi_onnx_is_float(s->x->dtype)) {
                const double p = tgi_onnx_array_float(s->x, ka);
                const double q = tgi_onnx_array_float(s->x, kb);
                if (p != q && !(p != p && q != q))
                    return p < q || q != q ? -1 : 1;
            } else {
                const int64_t p = tgi_onnx_array_int(s->x, ka);
                const int64_t q = tgi_onnx_array_int(s->x, kb);
                if (p != q)
                    return (s->x->dtype == TG_U64 ? (uint64_t)p < (uint64_t)q
                                                  : p < q)
                               ? -1
                               : 1;
            }
        }
    return 0;
}

/* Sorts positions stably by merging runs; `spare` has room for as many. */
static void sort(const slices *s, int64_t *at, int64_t *spare)
{
    for (size_t run = 1; run < s->n; run *= 2) {
        for (size_t from = 0; from < s->n; from += 2 * run) {
            const size_t middle = from + run < s->n ? from + run : s->n;
            const size_t end = middle + run < s->n ? middle + run : s->n;
            size_t a = from, b = middle;
            for (size_t k = from; k < end; k++) {
                const bool takes_b =
                    a == middle ||
                    (b < end &&
                     compare(s, (size_t)at[b], (size_t)at[a]) < 0);
                spare[k] = takes_b ? at[b++] : at[a++];
            }
        }
        memcpy(at, spare, s->n * sizeof(*at));
    }
}

/* The groups of equal slices of a sorted order. */
typedef struct groups {
    int64_t *first, *inverse, *count;
    size_t n;
} groups;

static void find_groups(const slices *s, const int64_t *order, groups *g)
{
    for (size_t k = 0; k < s->n; k++) {
        if (k == 0 || compare(s, (size_t)order[k - 1], (size_t)order[k])) {
            g->first[g->n] = order[k];
            g->count[g->n++] = 0;
        }
        g->count[g->n - 1]++;
        g->inverse[order[k]] = (int64_t)g->n - 1;
    }
}

/* Numbers the groups by their first slices. */
static void order_by_first(const slices *s, groups *g, int64_t *first,
                           int64_t *count, int64_t *rank)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        const int64_t old = g->inverse[i];
        if (g->first[old] == (int64_t)i) {
            first[n] = (int64_t)i;
            count[n] = g->count[old];
            rank[old] = (int64_t)n++;
        }
        g->inverse[i] = rank[old];
    }
    g->first = first;
    g->count = count;
}

void tgi_onnx_build_unique(const tgi_onnx_call *c)
{
    const tgi_onnx_array *x = tgi_onnx_known(c, 0);
    const bool has_axis = tgi_onnx_attribute(c, "axis");
    int axis = 0;
    if (!x)
        return;
    slices s = {.x = x, .n = x->count, .outer = 1, .inner = 1};
    if (has_axis) {
        axis = tgi_onnx_axis(c, tgi_onnx_int(c, "axis", 0), x->rank);
        s.n = x->rank ? (size_t)x->dims[axis] : 0;
        for (int i = 0; i < x->rank; i++)
            *(i < axis ? &s.outer : &s.inner) *=
                i == axis ? 1 : (size_t)x->dims[i];
    }
    int64_t *order = new_ints(c, s.n), *spare = new_ints(c, s.n);
    int64_t *first = new_ints(c, s.n), *count = new_ints(c, s.n);
    groups g = {new_ints(c, s.n), new_ints(c, s.n), new_ints(c, s.n), 0};
    if (tgi_onnx_failed(c))
        return;
    for (size_t i = 0; i < s.n; i++)
        order[i] = (int64_t)i;
    sort(&s, order, spare);
    find_groups(&s, order, &g);
    if (!tgi_onnx_int(c, "sorted", 1))
        order_by_first(&s, &g, first, count, spare);
    const int64_t n = (int64_t)g.n;
    tg_value from = tgi_onnx_in(c, 0);
    if (!has_axis)
        from = tg_reshape_at(TG_IN(from), 1, (const int64_t[]){-1}, c->site);
    const tg_value indices = tg_constant_at(TG_I64, 1, &n, g.first, c->site);
    tgi_onnx_out(c, 0, tg_gather_at(TG_IN(from), TG_IN(indices), axis,
                                    TG_GATHER_CHECK, c->site));
    out_ints(c, 1, 1, n, 0, g.first);
    out_ints(c, 2, 1, (int64_t)s.n, 0, g.inverse);
    out_ints(c, 3, 1, n, 0, g.count);
}
