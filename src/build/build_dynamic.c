/* SPDX-License-Identifier: MIT */
/*
 * build_dynamic.c - operations on positions known only at run time: dynamic
 * slices and updates, scatters.
 */
#include <string.h>

#include "build/build.h"

/* Checks the axis of in[0] and the start in[n - 1]; -1 and an error. */
static int check_axis_and_start(tgi_builder *b, const tgi_ref *in, size_t n,
                                int user_axis)
{
    int axis = tgi_build_axis(b, in[0], user_axis);
    const tgi_ref start = in[n - 1];
    if (axis >= 0 && !tgi_dtype_is(tgi_graph_node(b->graph, start)->dtype,
                                   TGI_CLASS_INT)) {
        tgi_build_fail(b, TG_ERROR_DTYPE, in, n,
                       "the start needs an integer type");
        return -1;
    }
    if (axis >= 0 && tgi_graph_shape(b->graph, start)->rank != 0) {
        tgi_build_fail(b, TG_ERROR_SHAPE, in, n, "the start is not a scalar");
        return -1;
    }
    return axis;
}

/* True if an axis of in[0] has at least `size` elements; else an error. */
static bool check_slice_size(tgi_builder *b, const tgi_ref *in, size_t n,
                             int axis, tgi_dim size)
{
    if (tgi_build_check(b, TGI_CHECK_AT_MOST, size,
                        tgi_graph_shape(b->graph, in[0])->dims[axis],
                        "size of the slice and extent"))
        return true;
    tgi_strbuf text = {0};
    tgi_dim_print(b->graph->dims, size, &text);
    tgi_build_fail(b, TG_ERROR_SHAPE, in, n,
                   "axis %d has fewer than %s elements", axis,
                   text.text ? text.text : "?");
    tgi_strbuf_deinit(&text);
    return false;
}

tgi_ref tgi_build_dynamic_slice(tgi_builder *b, tgi_ref x, int user_axis,
                                tgi_ref start, int64_t size)
{
    if (!x || !start)
        return 0;
    const tgi_ref in[] = {x, start};
    int axis = check_axis_and_start(b, in, 2, user_axis);
    if (axis < 0)
        return 0;
    if (!tgi_dims_has(b->graph->dims, size))
        return tgi_build_fail(b, TG_ERROR_SHAPE, in, 2,
                              "size %lld is negative", (long long)size);
    if (!check_slice_size(b, in, 2, axis, size))
        return 0;
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    tgi_dim dims[TG_MAX_RANK];
    memcpy(dims, shape->dims, (size_t)shape->rank * sizeof(dims[0]));
    dims[axis] = size;
    tgi_attr_index attr = {axis};
    return tgi_build_node(b, TGI_OP_DYNAMIC_SLICE,
                          tgi_graph_node(b->graph, x)->dtype,
                          tgi_build_shape(b, shape->rank, dims), in, 2, &attr,
                          sizeof(attr));
}

tgi_ref tgi_build_dynamic_update(tgi_builder *b, tgi_ref x, tgi_ref update,
                                 int user_axis, tgi_ref start)
{
    if (!x || !update || !start)
        return 0;
    tgi_ref in[] = {x, update, start};
    int axis = check_axis_and_start(b, in, 3, user_axis);
    if (axis < 0)
        return 0;
    tg_dtype dtype = tgi_build_unify(b, in, 2);
    if (dtype == TG_DTYPE_NONE)
        return 0;
    const tgi_shape *whole = tgi_graph_shape(b->graph, x);
    const tgi_shape *part = tgi_graph_shape(b->graph, update);
    bool fits = part->rank == whole->rank;
    for (int i = 0; fits && i < whole->rank; i++)
        fits = i == axis ||
               tgi_build_check(b, TGI_CHECK_EQUAL, part->dims[i],
                               whole->dims[i], "extents");
    if (!fits)
        return tgi_build_fail(b, TG_ERROR_SHAPE, in, 2,
                              "shapes differ in an axis other than %d", axis);
    if (!check_slice_size(b, in, 2, axis, part->dims[axis]))
        return 0;
    tgi_attr_index attr = {axis};
    return tgi_build_node(b, TGI_OP_DYNAMIC_UPDATE, dtype,
                          tgi_graph_node(b->graph, x)->shape, in, 3, &attr,
                          sizeof(attr));
}

/* -- Several axes ---------------------------------------------------------- */

tgi_ref tgi_build_dynamic_slice_axes(tgi_builder *b, tgi_ref x, int n,
                                     const tgi_ref *starts,
                                     const int64_t *sizes)
{
    if (!x || !tgi_build_check_n_axes(b, x, n))
        return 0;
    for (int axis = 0; axis < n; axis++)
        x = tgi_build_dynamic_slice(b, x, axis, starts[axis], sizes[axis]);
    return x;
}

/*
 * An update of the axes 0 … n - 1 replaces axis 0 of x by rows that have been
 * updated along the other axes. parts[k] is the part of x that an update of the
 * axes k … n - 1 changes. Starts are clamped per axis, so that every part is
 * the one that its update writes.
 */
tgi_ref tgi_build_dynamic_update_axes(tgi_builder *b, tgi_ref x,
                                      tgi_ref update, int n,
                                      const tgi_ref *starts)
{
    if (!x || !update || !tgi_build_check_n_axes(b, x, n))
        return 0;
    const tgi_shape *shape = tgi_graph_shape(b->graph, update);
    if (shape->rank != tgi_graph_shape(b->graph, x)->rank)
        return tgi_build_fail(b, TG_ERROR_SHAPE, (tgi_ref[]){x, update}, 2,
                              "ranks differ");
    tgi_ref parts[TG_MAX_RANK] = {x};
    for (int k = 1; k < n; k++)
        parts[k] = tgi_build_dynamic_slice(b, parts[k - 1], k - 1,
                                           starts[k - 1], shape->dims[k - 1]);
    for (int k = n; k-- > 0;)
        update = tgi_build_dynamic_update(b, parts[k], update, k, starts[k]);
    return update;
}

/* -- Scatter --------------------------------------------------------------- */

/* True if the updates have x's shape with its axis replaced by the axes of the
   indices. */
static bool updates_have_gathered_shape(tgi_builder *b, const tgi_ref *in,
                                        int axis)
{
    const tgi_shape *x = tgi_graph_shape(b->graph, in[0]);
    const tgi_shape *at = tgi_graph_shape(b->graph, in[1]);
    const tgi_shape *updates = tgi_graph_shape(b->graph, in[2]);
    bool fits = updates->rank == x->rank - 1 + at->rank;
    for (int i = 0; fits && i < updates->rank; i++) {
        tgi_dim wanted = i < axis              ? x->dims[i]
                         : i < axis + at->rank ? at->dims[i - axis]
                                               : x->dims[i + 1 - at->rank];
        fits = tgi_build_check(b, TGI_CHECK_EQUAL, updates->dims[i], wanted,
                               "extents of the updates");
    }
    return fits;
}

/* Reshapes the updates to the extents of x and the indices, which are equal at
   the call but may be different expressions. */
static tgi_ref unify_update_extents(tgi_builder *b, const tgi_ref *in, int axis)
{
    const tgi_shape *x = tgi_graph_shape(b->graph, in[0]);
    const tgi_shape *at = tgi_graph_shape(b->graph, in[1]);
    tgi_dim dims[2 * TG_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < axis; i++)
        dims[rank++] = x->dims[i];
    for (int i = 0; i < at->rank; i++)
        dims[rank++] = at->dims[i];
    for (int i = axis + 1; i < x->rank; i++)
        dims[rank++] = x->dims[i];
    const tgi_node *node = tgi_graph_node(b->graph, in[2]);
    const tgi_shape_ref shape = tgi_shape_intern(b->graph->dims, rank, dims);
    if (!shape || shape == node->shape)
        return shape ? in[2] : 0;
    return tgi_build_node(b, TGI_OP_RESHAPE, node->dtype, shape, &in[2], 1,
                          NULL, 0);
}

tgi_ref tgi_build_scatter(tgi_builder *b, tgi_ref x, tgi_ref indices,
                          tgi_ref updates, int user_axis, tg_scatter_mode mode,
                          tg_scatter_range range)
{
    if (!x || !indices || !updates)
        return 0;
    int axis = tgi_build_axis(b, x, user_axis);
    if (axis < 0)
        return 0;
    tgi_ref in[] = {x, indices, updates}, data[] = {x, updates};
    if (!tgi_dtype_is(tgi_graph_node(b->graph, indices)->dtype, TGI_CLASS_INT))
        return tgi_build_fail(b, TG_ERROR_DTYPE, in, 3,
                              "indices need an integer type");
    if ((int)mode < TG_SCATTER_SET || mode > TG_SCATTER_MIN)
        return tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT, in, 3,
                              "invalid mode %d", (int)mode);
    if (range != TG_SCATTER_CHECK && range != TG_SCATTER_DROP)
        return tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT, in, 3,
                              "invalid range %d", (int)range);
    tg_dtype dtype = tgi_build_unify(b, data, 2);
    if (dtype == TG_DTYPE_NONE)
        return 0;
    in[0] = data[0];
    in[2] = data[1];
    const tgi_op op = tgi_scatter_op(mode);
    if (op && !tgi_dtype_is(dtype, tgi_op_table[op].types | TGI_CLASS_HALF))
        return tgi_build_fail(b, TG_ERROR_DTYPE, in, 3,
                              "needs a numeric type to %s",
                              tgi_op_table[op].name);
    if (!updates_have_gathered_shape(b, in, axis))
        return tgi_build_fail(b, TG_ERROR_SHAPE, in, 3,
                              "the updates do not have the shape of a gather "
                              "with these indices along axis %d",
                              axis);
    in[2] = unify_update_extents(b, in, axis);
    if (!in[2])
        return 0;
    if (op) {
        in[0] = tgi_build_widen(b, in[0]);
        in[2] = tgi_build_widen(b, in[2]);
    }
    if (!in[0] || !in[2])
        return 0;
    tgi_attr_scatter attr = {axis, mode, range};
    const tgi_node *node = tgi_graph_node(b->graph, in[0]);
    const tgi_ref result =
        tgi_build_node(b, TGI_OP_SCATTER, node->dtype, node->shape, in, 3,
                       &attr, sizeof(attr));
    return op ? tgi_build_narrow(b, result, dtype) : result;
}
