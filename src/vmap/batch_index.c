/* SPDX-License-Identifier: MIT */
/*
 * batch_index.c - rules of gathers, scatters, dynamic slices and updates. If
 * the indices depend on the element, the batch and the axis that they select
 * from are merged into one: index * n becomes an index into all elements. An
 * index that is out of range must not select from another element, so it
 * becomes -1.
 */
#include <string.h>

#include "batch.h"

/* -- Parts ----------------------------------------------------------------- */

static tgi_ref add(tgi_batch *s, tgi_op op, tgi_ref a, tgi_ref b)
{
    return tgi_build_2(&s->b, op, a, b);
}

/* The indices of elements for which the node runs, and zeros for the others,
   which do not fail unless the axis is empty. */
static tgi_batched mask_indices(tgi_batch *s, tgi_batched indices)
{
    if (!s->mask || !indices.ref)
        return indices;
    const tgi_shape *shape = tgi_batch_shape(s, indices.ref);
    const tg_dtype dtype =
        (tg_dtype)tgi_graph_node(s->b.graph, indices.ref)->dtype;
    const tgi_ref zero = tgi_build_number(
        &s->b, dtype, TG_I64, (tgi_number){TGI_NUMBER_INT, {.i = 0}});
    const tgi_ref is_used = indices.is_batched
                                ? tgi_batch_spread(s, s->mask, shape)
                                : tgi_batch_any(s, s->mask);
    indices.ref =
        tgi_build_3(&s->b, TGI_OP_SELECT, is_used, indices.ref, zero);
    return indices;
}

/* Indices as i64; those of u64 beyond `last` become `last` first, or negative
   if it is 0. */
static tgi_ref as_i64(tgi_batch *s, tgi_ref indices, tgi_ref last)
{
    if (!indices)
        return 0;
    if (last && tgi_graph_node(s->b.graph, indices)->dtype == TG_U64)
        indices = add(s, TGI_OP_MIN, indices,
                      tgi_build_cast(&s->b, last, TG_U64));
    return tgi_build_cast(&s->b, indices, TG_I64);
}

/* At least 0, at most `last`, which wins. */
static tgi_ref clamp(tgi_batch *s, tgi_ref indices, tgi_ref last)
{
    return add(s, TGI_OP_MIN,
               add(s, TGI_OP_MAX, indices, tgi_batch_i64(s, 0)), last);
}

/* x [batch, …] with the axis of the element after the batch, or back. */
static tgi_ref move_axis(tgi_batch *s, tgi_ref x, int axis, bool is_back)
{
    int perm[TG_MAX_RANK] = {0};
    if (!x || axis == 0)
        return x;
    const int rank = tgi_batch_shape(s, x)->rank;
    for (int i = 0; i < rank; i++) {
        const int from = i == 0 || i > axis + 1 ? i
                         : i == 1               ? axis + 1
                                                : i - 1;
        perm[is_back ? from : i] = is_back ? i : from;
    }
    return tgi_build_transpose(&s->b, x, rank, perm);
}

/* The same with the two axes merged. */
static tgi_ref merge_axis(tgi_batch *s, tgi_ref x, int axis)
{
    x = move_axis(s, x, axis, false);
    if (!x)
        return 0;
    const tgi_shape *shape = tgi_batch_shape(s, x);
    tgi_dim dims[TG_MAX_RANK] = {tgi_dim_mul(
        s->b.graph->dims, shape->dims[0], shape->dims[1])};
    for (int i = 2; i < shape->rank; i++)
        dims[i - 1] = shape->dims[i];
    return tgi_batch_reshape(s, x, shape->rank - 1, dims);
}

/* Indices [batch, …] into the merged axes, of n elements each; -1 if they are
   out of range. */
static tgi_ref merge_indices(tgi_batch *s, tgi_ref indices, tgi_dim n)
{
    if (!indices)
        return 0;
    const tgi_shape *shape = tgi_batch_shape(s, indices);
    const tgi_ref extent = tgi_build_extent(&s->b, n);
    const tgi_ref is_valid = tgi_batch_and(
        s, add(s, TGI_OP_LE, tgi_batch_i64(s, 0), indices),
        add(s, TGI_OP_LT, indices, extent));
    const tgi_ref element =
        tgi_build_iota(&s->b, TG_I64, shape->rank, shape->dims, 0);
    const tgi_ref merged = add(
        s, TGI_OP_ADD, add(s, TGI_OP_MUL, element, extent), indices);
    return tgi_build_3(&s->b, TGI_OP_SELECT, is_valid, merged,
                       tgi_batch_i64(s, -1));
}

/* -- Gathers --------------------------------------------------------------- */

/* Moves axes [batch, indices, before, after] to [batch, before, indices,
   after], or back. */
static tgi_ref place_indices(tgi_batch *s, tgi_ref x, int n_indices,
                             int n_before, bool is_back)
{
    int perm[TG_MAX_RANK] = {0};
    if (!x)
        return 0;
    const int rank = tgi_batch_shape(s, x)->rank;
    for (int i = 0; i < rank; i++) {
        const int from = i == 0                           ? 0
                         : i <= n_before                  ? i + n_indices
                         : i <= n_before + n_indices      ? i - n_before
                                                          : i;
        perm[is_back ? from : i] = is_back ? i : from;
    }
    return n_indices && n_before ? tgi_build_transpose(&s->b, x, rank, perm)
                                 : x;
}

/* Gathers from x by batched i64 indices. */
static tgi_ref gather(tgi_batch *s, tgi_batched x, tgi_ref indices, int axis,
                      int64_t mode)
{
    if (!x.ref || !indices)
        return 0;
    const int n_indices = tgi_batch_shape(s, indices)->rank - 1;
    const tgi_dim n = tgi_batch_shape(s, x.ref)->dims[axis + x.is_batched];
    if (x.is_batched) {
        const tgi_ref last =
            add(s, TGI_OP_SUB, tgi_build_extent(&s->b, n), tgi_batch_i64(s, 1));
        if (mode == TG_GATHER_CLAMP)
            indices = clamp(s, indices, last);
        const tgi_ref y = tgi_build_gather(
            &s->b, merge_axis(s, x.ref, axis), merge_indices(s, indices, n), 0,
            (tg_gather_mode)mode);
        return place_indices(s, y, n_indices, axis, false);
    }
    /* The axes before, the batch, the indices, the axes after. */
    const tgi_ref y = tgi_build_gather(&s->b, x.ref, indices, axis,
                                       (tg_gather_mode)mode);
    int perm[TG_MAX_RANK] = {axis};
    const int rank = y ? tgi_batch_shape(s, y)->rank : 0;
    for (int i = 1; i < rank; i++)
        perm[i] = i <= axis ? i - 1 : i;
    return y && axis ? tgi_build_transpose(&s->b, y, rank, perm) : y;
}

tgi_batched tgi_batch_gather(tgi_batch *s, const tgi_node *node)
{
    const tgi_batched x = tgi_batch_input(s, node, 0);
    tgi_batched indices = tgi_batch_input(s, node, 1);
    const tgi_attr_gather *old = node->attr;
    if (old->mode == TG_GATHER_CHECK)
        indices = mask_indices(s, indices);
    if (!indices.is_batched) {
        const tgi_attr_gather attr = {old->axis + x.is_batched, old->mode};
        const tgi_shape *element = tgi_shape_of(s->in->dims, node->shape);
        return (tgi_batched){
            tgi_batch_add(s, node,
                          x.is_batched ? tgi_batch_extend(s, element)
                                       : node->shape,
                          (tgi_ref[]){x.ref, indices.ref}, &attr),
            x.is_batched};
    }
    tgi_ref last = 0;
    if (old->mode == TG_GATHER_CLAMP)
        last = add(s, TGI_OP_SUB,
                   tgi_build_extent(&s->b, tgi_batch_element(s, node, 0)
                                               ->dims[old->axis]),
                   tgi_batch_i64(s, 1));
    return tgi_batch_of(gather(s, x, as_i64(s, indices.ref, last),
                               (int)old->axis, old->mode));
}

/* -- Scatters -------------------------------------------------------------- */

/* Scatters into batched x by batched i64 indices. */
static tgi_ref scatter(tgi_batch *s, tgi_ref x, tgi_ref indices,
                       tgi_ref updates, int axis, int64_t mode, int64_t range)
{
    if (!x || !indices || !updates)
        return 0;
    const tgi_shape *shape = tgi_batch_shape(s, x);
    const int n_indices = tgi_batch_shape(s, indices)->rank - 1;
    tgi_dim dims[TG_MAX_RANK];
    const tgi_ref moved = move_axis(s, x, axis, false);
    if (!moved)
        return 0;
    memcpy(dims, tgi_batch_shape(s, moved)->dims,
           (size_t)shape->rank * sizeof(*dims));
    const tgi_ref merged = tgi_build_scatter(
        &s->b, merge_axis(s, x, axis),
        merge_indices(s, indices, shape->dims[axis + 1]),
        place_indices(s, updates, n_indices, axis, true), 0,
        (tg_scatter_mode)mode, (tg_scatter_range)range);
    return move_axis(s, tgi_batch_reshape(s, merged, shape->rank, dims), axis,
                     true);
}

tgi_batched tgi_batch_scatter(tgi_batch *s, const tgi_node *node)
{
    const tgi_batched x = tgi_batch_input(s, node, 0);
    const tgi_batched updates = tgi_batch_input(s, node, 2);
    tgi_batched indices = tgi_batch_input(s, node, 1);
    const tgi_attr_scatter *old = node->attr;
    if (old->range == TG_SCATTER_CHECK)
        indices = mask_indices(s, indices);
    if (indices.is_batched)
        return tgi_batch_of(scatter(s, tgi_batch_repeat(s, x),
                                    as_i64(s, indices.ref, 0),
                                    tgi_batch_repeat(s, updates),
                                    (int)old->axis, old->mode, old->range));
    if (!x.is_batched && !updates.is_batched)
        return (tgi_batched){
            tgi_batch_add(s, node, node->shape,
                          (tgi_ref[]){x.ref, indices.ref, updates.ref}, old),
            false};
    tgi_attr_scatter attr = *old;
    attr.axis++;
    const tgi_shape *element = tgi_shape_of(s->in->dims, node->shape);
    return tgi_batch_of(tgi_batch_add(
        s, node, tgi_batch_extend(s, element),
        (tgi_ref[]){tgi_batch_repeat(s, x), indices.ref,
                    tgi_batch_repeat(s, updates)},
        &attr));
}

/* -- Slices from run-time starts ------------------------------------------- */

/* The positions [batch, size] of slices of an axis of n elements. */
static tgi_ref slice_positions(tgi_batch *s, tgi_ref start, tgi_dim n,
                               tgi_dim size)
{
    const tgi_dim dims[] = {s->extent, size}, column[] = {s->extent, 1};
    /* The body of a loop along an empty axis never runs. */
    const bool is_empty =
        tgi_dim_is_known(n) && tgi_dim_is_known(size) && n < size;
    const tgi_dim room =
        is_empty ? 0 : tgi_dim_sub(s->b.graph->dims, n, size);
    const tgi_ref last = tgi_build_extent(&s->b, room);
    start = tgi_batch_reshape(s, clamp(s, as_i64(s, start, last), last), 2,
                              column);
    return add(s, TGI_OP_ADD, start,
               tgi_build_iota(&s->b, TG_I64, 2, dims, 1));
}

tgi_batched tgi_batch_dynamic_slice(tgi_batch *s, const tgi_node *node)
{
    const tgi_batched x = tgi_batch_input(s, node, 0);
    const tgi_batched start = tgi_batch_input(s, node, 1);
    const int axis = (int)tgi_node_index(node);
    const tgi_shape *element = tgi_shape_of(s->in->dims, node->shape);
    if (!start.is_batched) {
        const tgi_attr_index attr = {axis + 1};
        return tgi_batch_of(tgi_batch_add(s, node, tgi_batch_extend(s, element),
                                          (tgi_ref[]){x.ref, start.ref},
                                          &attr));
    }
    const tgi_ref positions =
        slice_positions(s, start.ref, tgi_batch_element(s, node, 0)->dims[axis],
                        element->dims[axis]);
    return tgi_batch_of(gather(s, x, positions, axis, TG_GATHER_ZERO));
}

tgi_batched tgi_batch_dynamic_update(tgi_batch *s, const tgi_node *node)
{
    const tgi_ref x = tgi_batch_repeat(s, tgi_batch_input(s, node, 0));
    const tgi_ref update = tgi_batch_repeat(s, tgi_batch_input(s, node, 1));
    const tgi_batched start = tgi_batch_input(s, node, 2);
    const int axis = (int)tgi_node_index(node);
    const tgi_shape *element = tgi_shape_of(s->in->dims, node->shape);
    if (!start.is_batched) {
        const tgi_attr_index attr = {axis + 1};
        return tgi_batch_of(tgi_batch_add(s, node, tgi_batch_extend(s, element),
                                          (tgi_ref[]){x, update, start.ref},
                                          &attr));
    }
    const tgi_ref positions =
        slice_positions(s, start.ref, element->dims[axis],
                        tgi_batch_element(s, node, 1)->dims[axis]);
    return tgi_batch_of(scatter(s, x, positions, update, axis, TG_SCATTER_SET,
                                TG_SCATTER_DROP));
}
