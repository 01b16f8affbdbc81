/* SPDX-License-Identifier: MIT */
/*
 * build_shape.c - data movement: broadcast, reshape, transpose, slice, pad,
 * concat, gather. Conditions on unknown extents become checks.
 */
#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "build/build.h"

/* -- Broadcast and reshape ------------------------------------------------- */

tgi_ref tgi_build_broadcast(tgi_builder *b, tgi_ref x, int rank,
                            const int64_t *dims)
{
    if (!x)
        return 0;
    tgi_shape_ref shape = tgi_build_shape(b, rank, dims);
    if (!shape)
        return 0;
    const tgi_shape *from = tgi_graph_shape(b->graph, x);
    const tgi_shape *to = tgi_shape_of(b->graph->dims, shape);
    bool fits = from->rank <= rank;
    tgi_build_compare(b, tgi_graph_node(b->graph, x)->shape, shape, true);
    for (int i = 0; fits && i < from->rank; i++) {
        tgi_dim wanted = to->dims[rank - from->rank + i];
        fits = from->dims[i] == 1 ||
               tgi_build_check(b, TGI_CHECK_EXPANDS, from->dims[i], wanted,
                               "extents");
    }
    tgi_build_compare(b, 0, 0, false);
    const tgi_node *node = tgi_graph_node(b->graph, x);
    if (!fits) {
        tgi_strbuf text = {0};
        tgi_shape_print(b->graph->dims, to, &text);
        tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1, "does not broadcast to %s",
                       text.text ? text.text : "?");
        tgi_strbuf_deinit(&text);
        return 0;
    }
    if (node->shape == shape)
        return x;
    return tgi_build_node(b, TGI_OP_BROADCAST, node->dtype, shape, &x, 1, NULL,
                          0);
}

/* Replaces an extent of -1, if any, so that the shape has `total` elements. */
static bool infer_extent(tgi_builder *b, tgi_ref x, int rank, int64_t *dims,
                         tgi_dim total)
{
    int missing = -1;
    tgi_dim others = 1; /* product of the other extents */
    for (int i = 0; i < rank; i++) {
        if (dims[i] == -1 && missing < 0) {
            missing = i;
        } else if (!tgi_dims_has(b->graph->dims, dims[i])) {
            tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                           "extent %lld of axis %d is negative",
                           (long long)dims[i], i);
            return false;
        } else {
            others = tgi_dim_mul(b->graph->dims, others, dims[i]);
        }
    }
    if (others == TGI_DIM_NONE)
        return false;
    if (missing < 0)
        return true;
    if (!tgi_build_check(b, TGI_CHECK_NOT_ZERO, others, 0,
                         "extents beside one of -1")) {
        tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                       "an extent of -1 is undetermined beside one of 0");
        return false;
    }
    dims[missing] = tgi_dim_div(b->graph->dims, total, others);
    return dims[missing] != TGI_DIM_NONE;
}

tgi_ref tgi_build_reshape(tgi_builder *b, tgi_ref x, int rank,
                          const int64_t *user_dims)
{
    if (!x)
        return 0;
    int64_t dims[TG_MAX_RANK];
    if (rank > 0 && rank <= TG_MAX_RANK && user_dims) {
        memcpy(dims, user_dims, (size_t)rank * sizeof(dims[0]));
        tgi_dim total = tgi_dim_product(b->graph->dims,
                                        tgi_graph_shape(b->graph, x));
        if (total == TGI_DIM_NONE || !infer_extent(b, x, rank, dims, total))
            return 0;
        user_dims = dims;
    }
    tgi_shape_ref shape = tgi_build_shape(b, rank, user_dims);
    if (!shape)
        return 0;

    tgi_dims *table = b->graph->dims;
    const tgi_shape *to = tgi_shape_of(table, shape);
    tgi_dim before = tgi_dim_product(table, tgi_graph_shape(b->graph, x));
    tgi_dim after = tgi_dim_product(table, to);
    if (before == TGI_DIM_NONE || after == TGI_DIM_NONE)
        return 0;
    if (!tgi_build_check(b, TGI_CHECK_EQUAL, before, after,
                         "numbers of elements")) {
        tgi_strbuf text = {0};
        tgi_dim_print(table, before, &text);
        tgi_strbuf_addf(&text, " element%s to ", TGI_PLURAL(before));
        tgi_shape_print(table, to, &text);
        tgi_strbuf_add(&text, " (");
        tgi_dim_print(table, after, &text);
        tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1, "cannot reshape %s element%s)",
                       text.text ? text.text : "?", TGI_PLURAL(after));
        tgi_strbuf_deinit(&text);
        return 0;
    }
    /*
     * A reshape to the same shape is recorded too, because it prevents
     * contraction: with unknown extents it could not be recognised, and the
     * bits must not depend on that.
     */
    const tgi_node *node = tgi_graph_node(b->graph, x);
    if (rank == 0 && node->shape == shape)
        return x;
    return tgi_build_node(b, TGI_OP_RESHAPE, node->dtype, shape, &x, 1, NULL,
                          0);
}

/* -- Transpose ------------------------------------------------------------- */

tgi_ref tgi_build_transpose(tgi_builder *b, tgi_ref x, int n, const int *perm)
{
    if (!x)
        return 0;
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    if (n != shape->rank || (n > 0 && !perm))
        return tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                              "the permutation has length %d", n);
    tgi_attr_perm attr = {{0}};
    tgi_dim dims[TG_MAX_RANK];
    unsigned seen = 0;
    for (int i = 0; i < n; i++) {
        int axis = tgi_build_axis(b, x, perm[i]);
        if (axis < 0)
            return 0;
        if (seen & (1u << axis))
            return tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                                  "axis %d is repeated in the permutation",
                                  axis);
        seen |= 1u << axis;
        attr.perm[i] = (uint8_t)axis;
        dims[i] = shape->dims[axis];
    }
    return tgi_build_node(b, TGI_OP_TRANSPOSE,
                          tgi_graph_node(b->graph, x)->dtype,
                          tgi_shape_intern(b->graph->dims, n, dims), &x, 1,
                          &attr, sizeof(attr));
}

/* -- Slice ----------------------------------------------------------------- */

/*
 * A user's position on an axis of extent n plus `shift` (0 or 1); a negative
 * position counts from the end. Adds a check that the result is not negative;
 * TGI_DIM_NONE if it is known to be.
 */
static tgi_dim slice_position(tgi_builder *b, tgi_dim n, int64_t at,
                              int64_t shift)
{
    tgi_dims *table = b->graph->dims;
    if (tgi_dims_has(table, at))
        return tgi_build_dim(b, tgi_dim_add(table, at, shift));
    if (at == INT64_MIN || tgi_dim_is_symbolic(at))
        return TGI_DIM_NONE;
    int64_t from_end = -at - shift; /* >= 0, since at < 0 */
    if (!tgi_build_check(b, TGI_CHECK_AT_MOST, from_end, n,
                         "slice position and extent"))
        return TGI_DIM_NONE;
    return tgi_build_dim(b, tgi_dim_sub(table, n, from_end));
}

/* Slices one axis: sets its start, step and extent. False, with an error, if it
   has no such positions. */
static bool slice_axis(tgi_builder *b, tgi_ref x, int axis, int64_t start,
                       int64_t stop, int64_t step, tgi_attr_slice *attr,
                       tgi_dim *out_extent)
{
    if (step == 0 || step == INT64_MIN)
        return tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1, "invalid step %lld",
                              (long long)step);

    /*
     * Both directions use the positions `low` … `high`. For a negative step
     * these are stop + 1 … start + 1, so that a stop before the first element
     * is 0.
     */
    tgi_dims *table = b->graph->dims;
    tgi_dim n = tgi_graph_shape(b->graph, x)->dims[axis];
    bool up = step > 0;
    tgi_dim low, high;
    if (up) {
        low = slice_position(b, n, start, 0);
        high = stop == TG_END ? n : slice_position(b, n, stop, 0);
    } else {
        high = slice_position(b, n, start, 1);
        low = stop == TG_END ? 0 : slice_position(b, n, stop, 1);
    }
    static const char what[] = "slice position and extent";
    if (low == TGI_DIM_NONE || high == TGI_DIM_NONE ||
        !tgi_build_check(b, TGI_CHECK_AT_MOST, low, high, what) ||
        !tgi_build_check(b, TGI_CHECK_AT_MOST, high, n, what))
        return tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                              "positions are out of range for axis %d", axis);

    int64_t stride = up ? step : -step;
    attr->step[axis] = step;
    attr->start[axis] = up          ? low
                        : high == 0 ? 0 /* empty: never used */
                                    : tgi_dim_sub(table, high, 1);
    /* ceil(length / stride), as 0 or 1 + floor((length - 1) / stride). */
    tgi_dim length = tgi_dim_sub(table, high, low);
    if (stride == 1 || length == 0 || length == TGI_DIM_NONE)
        *out_extent = length;
    else if (tgi_dim_is_known(length))
        *out_extent = 1 + (length - 1) / stride;
    else
        *out_extent = tgi_dim_div(
            table, tgi_dim_add(table, length, stride - 1), stride);
    return *out_extent != TGI_DIM_NONE && attr->start[axis] != TGI_DIM_NONE;
}

tgi_ref tgi_build_slice_axes(tgi_builder *b, tgi_ref x, int n,
                             const int64_t *starts, const int64_t *stops,
                             const int64_t *steps)
{
    if (!x || !tgi_build_check_n_axes(b, x, n))
        return 0;
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    tgi_attr_slice attr = {{0}, {0}};
    tgi_dim dims[TG_MAX_RANK];
    for (int i = 0; i < shape->rank; i++) {
        attr.step[i] = 1;
        dims[i] = shape->dims[i];
    }
    for (int i = 0; i < n; i++)
        /* A whole axis needs no check, which an unknown extent would add. */
        if ((starts[i] != 0 || stops[i] != TG_END || steps[i] != 1) &&
            !slice_axis(b, x, i, starts[i], stops[i], steps[i], &attr,
                        &dims[i]))
            return 0;
    return tgi_build_node(b, TGI_OP_SLICE, tgi_graph_node(b->graph, x)->dtype,
                          tgi_shape_intern(b->graph->dims, shape->rank, dims),
                          &x, 1, &attr, sizeof(attr));
}

tgi_ref tgi_build_slice(tgi_builder *b, tgi_ref x, int user_axis,
                        int64_t start, int64_t stop, int64_t step)
{
    int64_t starts[TG_MAX_RANK], stops[TG_MAX_RANK], steps[TG_MAX_RANK];
    int axis = x ? tgi_build_axis(b, x, user_axis) : -1;
    for (int i = 0; i <= axis; i++) {
        starts[i] = i == axis ? start : 0;
        stops[i] = i == axis ? stop : TG_END;
        steps[i] = i == axis ? step : 1;
    }
    return axis < 0 ? 0
                    : tgi_build_slice_axes(b, x, axis + 1, starts, stops,
                                           steps);
}

/* -- Pad, concat, gather --------------------------------------------------- */

tgi_ref tgi_build_pad_axes(tgi_builder *b, tgi_ref x, int n,
                           const int64_t *low, const int64_t *high,
                           tgi_ref value)
{
    if (!x || !value || !tgi_build_check_n_axes(b, x, n))
        return 0;
    tgi_dims *table = b->graph->dims;
    for (int i = 0; i < n; i++)
        if (!tgi_dims_has(table, low[i]) || !tgi_dims_has(table, high[i]))
            return tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                                  "padding of %lld and %lld is negative",
                                  (long long)low[i], (long long)high[i]);
    int dtype = tgi_graph_node(b->graph, x)->dtype;
    value = tgi_build_adapt(b, value, dtype);
    if (!value)
        return 0;
    if (tgi_graph_shape(b->graph, value)->rank != 0)
        return tgi_build_fail(b, TG_ERROR_SHAPE, (tgi_ref[]){x, value}, 2,
                              "the padding value is not a scalar");

    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    tgi_attr_pad attr = {{0}, {0}, {0}};
    tgi_dim dims[TG_MAX_RANK];
    memcpy(dims, shape->dims, (size_t)shape->rank * sizeof(dims[0]));
    for (int i = 0; i < n; i++) {
        attr.low[i] = low[i];
        attr.high[i] = high[i];
        dims[i] = tgi_dim_add(table, tgi_dim_add(table, dims[i], low[i]),
                              high[i]);
        if (dims[i] == TGI_DIM_NONE)
            return 0;
    }
    return tgi_build_node(b, TGI_OP_PAD, dtype,
                          tgi_build_shape(b, shape->rank, dims),
                          (tgi_ref[]){x, value}, 2, &attr, sizeof(attr));
}

tgi_ref tgi_build_pad(tgi_builder *b, tgi_ref x, int user_axis, int64_t low,
                      int64_t high, tgi_ref value)
{
    int64_t lows[TG_MAX_RANK] = {0}, highs[TG_MAX_RANK] = {0};
    int axis = x && value ? tgi_build_axis(b, x, user_axis) : -1;
    if (axis < 0)
        return 0;
    lows[axis] = low;
    highs[axis] = high;
    return tgi_build_pad_axes(b, x, axis + 1, lows, highs, value);
}

tgi_ref tgi_build_concat(tgi_builder *b, int user_axis, const tgi_ref *parts,
                         size_t n_parts)
{
    if (n_parts == 0 || n_parts > UINT32_MAX)
        return tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT, NULL, 0,
                              "no values to concatenate");
    for (size_t i = 0; i < n_parts; i++)
        if (!parts[i])
            return 0;
    int axis = tgi_build_axis(b, parts[0], user_axis);
    if (axis < 0)
        return 0;

    tgi_dims *table = b->graph->dims;
    const tgi_shape *first = tgi_graph_shape(b->graph, parts[0]);
    int dtype = tgi_graph_node(b->graph, parts[0])->dtype;
    tgi_dim dims[TG_MAX_RANK];
    memcpy(dims, first->dims, (size_t)first->rank * sizeof(dims[0]));
    for (size_t i = 1; i < n_parts; i++) {
        const tgi_ref pair[] = {parts[0], parts[i]};
        const tgi_shape *part = tgi_graph_shape(b->graph, parts[i]);
        if (tgi_graph_node(b->graph, parts[i])->dtype != dtype)
            return tgi_build_fail(b, TG_ERROR_DTYPE, pair, 2,
                                  "dtypes differ; convert one with tg_cast");
        bool fits = part->rank == first->rank;
        for (int a = 0; fits && a < first->rank; a++) {
            if (a == axis) {
                dims[a] = tgi_dim_add(table, dims[a], part->dims[a]);
                if (dims[a] == TGI_DIM_NONE)
                    return 0;
                continue;
            }
            fits = tgi_build_check(b, TGI_CHECK_EQUAL, dims[a], part->dims[a],
                                   "extents");
            if (!tgi_dim_is_known(dims[a]))
                dims[a] = part->dims[a];
        }
        if (!fits)
            return tgi_build_fail(b, TG_ERROR_SHAPE, pair, 2,
                                  "shapes differ in an axis other than %d",
                                  axis);
    }
    tgi_attr_index attr = {axis};
    return tgi_build_node(b, TGI_OP_CONCAT, dtype,
                          tgi_build_shape(b, first->rank, dims), parts,
                          n_parts, &attr, sizeof(attr));
}

tgi_ref tgi_build_gather(tgi_builder *b, tgi_ref x, tgi_ref indices,
                         int user_axis, tg_gather_mode mode)
{
    if (!x || !indices)
        return 0;
    int axis = tgi_build_axis(b, x, user_axis);
    if (axis < 0)
        return 0;
    const tgi_ref pair[] = {x, indices};
    const tgi_shape *from = tgi_graph_shape(b->graph, x);
    const tgi_shape *at = tgi_graph_shape(b->graph, indices);
    if (!tgi_dtype_is(tgi_graph_node(b->graph, indices)->dtype, TGI_CLASS_INT))
        return tgi_build_fail(b, TG_ERROR_DTYPE, pair, 2,
                              "indices need an integer type");
    if (mode != TG_GATHER_CHECK && mode != TG_GATHER_CLAMP &&
        mode != TG_GATHER_ZERO)
        return tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT, pair, 2,
                              "invalid mode %d", (int)mode);
    if (from->rank - 1 + at->rank > TG_MAX_RANK)
        return tgi_build_fail(b, TG_ERROR_OVERFLOW, pair, 2,
                              "the result has more than %d axes",
                              TG_MAX_RANK);
    if (mode == TG_GATHER_CLAMP &&
        !tgi_build_check(b, TGI_CHECK_NOT_ZERO, from->dims[axis], 0,
                         "extent to clamp to"))
        return tgi_build_fail(b, TG_ERROR_SHAPE, pair, 2,
                              "cannot clamp indices to an empty axis");

    tgi_dim dims[TG_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < axis; i++)
        dims[rank++] = from->dims[i];
    for (int i = 0; i < at->rank; i++)
        dims[rank++] = at->dims[i];
    for (int i = axis + 1; i < from->rank; i++)
        dims[rank++] = from->dims[i];
    tgi_attr_gather attr = {axis, mode};
    return tgi_build_node(b, TGI_OP_GATHER, tgi_graph_node(b->graph, x)->dtype,
                          tgi_build_shape(b, rank, dims), pair, 2, &attr,
                          sizeof(attr));
}
