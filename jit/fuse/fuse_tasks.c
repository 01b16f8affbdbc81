/* SPDX-License-Identifier: MIT */
/*
 * fuse_tasks.c - materialised values to tasks, in a valid order of execution.
 * A read after an assignment forwards the assigned value, so nothing reads a
 * variable after it was written. Assignments therefore sink to the end, after
 * all reads of the old contents, or to the next check, print or host call:
 * these may fail, and earlier effects must remain.
 *
 * Requires:  the class of every value.
 * Computes:  tasks; the buffers of results and carried values.
 * Preserves: the graph.
 */
#include <string.h>

#include "base/error.h"
#include "fuse/fuse_buffer.h"
#include "fuse/fuse_early.h"
#include "fuse/fuse_starts.h"
#include "fuse/fuse_task.h"
#include "fuse/fuse_value.h"
#include "tgjit/ops.h"

static const tgi_buffer_id none;

static tgi_task_id last_task(const tgi_fuse_state *s)
{
    return tgi_task_id_from(s->tasks.n - 1);
}

tg_status tgi_fuse_add_task(tgi_fuse_state *s, const tgi_task *task)
{
    for (int axis = 0; axis < TGI_LOOP_AXES; axis++)
        if (task->target.stride[axis].distance == TGI_DIM_NONE)
            return tg_error_last()->status;
    if (task->target.offset == TGI_DIM_NONE)
        return tg_error_last()->status;
    return tgi_vec_push(&s->tasks, *task) ? TG_OK : tgi_error_memory();
}

/* -- Values at every point ------------------------------------------------- */

/* Stores `value` in dense form: into `buffer`, or that of `node` if none. */
static tg_status add_map(tgi_fuse_state *s, tgi_ref node, tgi_ref value,
                         tgi_buffer_id buffer, bool is_assignment)
{
    tgi_task task = {.kind = TGI_TASK_MAP,
                     .node = node,
                     .outer = tgi_domain_of(s, value),
                     .value.node = value,
                     .target.buffer = buffer,
                     .map.is_assignment = is_assignment};
    tgi_map_init(s, value, &task.value.map);
    tgi_domain_dense_strides(s, &task.outer, task.target.stride);
    return tgi_fuse_add_task(s, &task);
}

/* The same for a copy of a variable that is not written. */
static tg_status add_copy(tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_buffer_id buffer = tgi_fuse_buffer_of(s, ref);
    if (tgi_buffer_id_is_none(buffer))
        return tg_error_last()->status;
    TGI_TRY(add_map(s, ref, ref, none, false));
    tgi_task *task = &s->tasks.data[s->tasks.n - 1];
    const int64_t variable = tgi_fuse_copied_variable(s, ref);
    task->is_memoised =
        variable >= 0 &&
        tgi_loops_buffer(s->loops, buffer)->place == TGI_PLACE_TEMP;
    task->memo_param = (uint32_t)variable;
    s->values[ref].is_memoised = task->is_memoised;
    return TG_OK;
}

/* -- Parts ----------------------------------------------------------------- */

/* Stores `value`, or its only element everywhere, into the part of `node`'s
   buffer that begins at `start`. With `step`, step[axis] + 1 elements of an
   axis are advanced at a time, over a part that was stored before. */
static tg_status add_part(tgi_fuse_state *s, tgi_ref node, tgi_ref value,
                          const tgi_dim *start, const tgi_dim *extent,
                          const int64_t *step)
{
    tgi_task task = {.kind = TGI_TASK_MAP,
                     .node = node,
                     .value.node = value,
                     .map.is_part = true,
                     .map.is_overwrite = step != NULL};
    tgi_dim strides[TG_MAX_RANK];
    tgi_fuse_strides(s, node, strides);
    int rank = tgi_fuse_rank(s, node);
    for (int axis = 0; axis < rank; axis++) {
        if (extent[axis] == 0)
            return TG_OK;
        task.target.offset =
            tgi_dim_add(s->dims, task.target.offset,
                        tgi_dim_mul(s->dims, start[axis], strides[axis]));
        if (extent[axis] == 1)
            continue;
        task.outer.extent[task.outer.n] = extent[axis];
        task.target.stride[task.outer.n++].distance =
            tgi_dim_mul(s->dims, strides[axis], step ? step[axis] + 1 : 1);
    }
    tgi_map_init(s, value, &task.value.map);
    return tgi_fuse_add_task(s, &task);
}

/* Stores the operand, then the update over it. */
static tg_status add_dynamic_update(tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    const int updated = (int)((const tgi_attr_index *)node->attr)->index;
    tgi_ref in = tgi_fuse_resolve(s, node->inputs[0]);
    tgi_ref update = tgi_fuse_resolve(s, node->inputs[1]);
    static const tgi_dim start[TG_MAX_RANK];
    static const int64_t step[TG_MAX_RANK];
    tgi_dim whole[TG_MAX_RANK], part[TG_MAX_RANK], strides[TG_MAX_RANK];
    for (int axis = 0; axis < tgi_fuse_rank(s, ref); axis++) {
        whole[axis] = tgi_fuse_extent(s, ref, axis);
        part[axis] = tgi_fuse_extent(s, update, axis);
        /* In a loop without iterations, an update may be larger. */
        if (whole[axis] == 0)
            return TG_OK;
    }
    if (part[updated] == whole[updated])
        return add_part(s, ref, update, start, part, NULL);
    /* An unbounded stack is updated in place. */
    const bool is_over = !tgi_fuse_is_unbounded(s, ref);
    if (is_over)
        TGI_TRY(add_part(s, ref, in, start, whole, NULL));
    const size_t before = s->tasks.n;
    TGI_TRY(add_part(s, ref, update, start, part, is_over ? step : NULL));
    if (s->tasks.n == before)
        return TG_OK;
    tgi_task *task = &s->tasks.data[before];
    tgi_fuse_strides(s, ref, strides);
    task->target.shift =
        tgi_fuse_find_shift(s, ref, update, (tgi_shift_id){0}, 0);
    task->target.shift_stride = strides[updated];
    return tgi_shift_id_is_none(task->target.shift) ? tg_error_last()->status
                                                    : TG_OK;
}

/*
 * Stores the operand, then the updates over it. The axes of a slice are outer,
 * divided among threads; those of the indices are inner, in order.
 */
static tg_status add_scatter(tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    const int64_t at = ((const tgi_attr_scatter *)node->attr)->axis;
    tgi_ref in = tgi_fuse_resolve(s, node->inputs[0]);
    tgi_task task = {.kind = TGI_TASK_SCATTER,
                     .node = ref,
                     .vectors = TGI_COLUMNS,
                     .value.node = tgi_fuse_resolve(s, node->inputs[2])};
    tgi_expr_root *indices = &task.scatter.indices;
    indices->node = tgi_fuse_resolve(s, node->inputs[1]);
    static const tgi_dim start[TG_MAX_RANK];
    tgi_dim extent[TG_MAX_RANK], strides[TG_MAX_RANK];
    tgi_fuse_strides(s, ref, strides);
    int32_t axis_of[TG_MAX_RANK];
    const int rank = tgi_fuse_rank(s, ref);
    for (int axis = 0; axis < rank; axis++) {
        extent[axis] = tgi_fuse_extent(s, ref, axis);
        axis_of[axis] = TGI_AXIS_NONE;
        if (extent[axis] == 0)
            return TG_OK;
        if (axis == at || extent[axis] == 1)
            continue;
        axis_of[axis] = task.outer.n;
        task.target.stride[task.outer.n].distance = strides[axis];
        task.outer.extent[task.outer.n++] = extent[axis];
    }
    TGI_TRY(add_part(s, ref, in, start, extent, NULL));
    task.inner = tgi_domain_of(s, indices->node);
    for (int i = 0; i < task.inner.n; i++)
        if (task.inner.extent[i] == 0)
            return TG_OK;
    tgi_domain_ensure_lanes(&task.outer);
    tgi_map_init(s, indices->node, &indices->map);
    tgi_map_init(s, task.value.node, &task.value.map);
    for (int32_t i = 0; i < indices->map.rank; i++) {
        tgi_map_axis *of_index = &indices->map.axis[i];
        if (of_index->axis != TGI_AXIS_NONE)
            of_index->axis += task.outer.n;
        task.value.map.axis[at + i].axis = of_index->axis;
    }
    for (int32_t i = 0; i < task.value.map.rank; i++)
        if (i < at || i >= at + indices->map.rank)
            task.value.map.axis[i].axis =
                axis_of[i < at ? i : i + 1 - indices->map.rank];
    task.scatter.index_stride = strides[at];
    return tgi_fuse_add_task(s, &task);
}

static tg_status add_pieces(tgi_fuse_state *s, tgi_ref node, tgi_ref ref,
                            const tgi_dim *origin);

/* Stores a piece of a concat or pad: its own pieces if it is a part of
   `node`. */
static tg_status add_piece(tgi_fuse_state *s, tgi_ref node, tgi_ref value,
                           const tgi_dim *start, const tgi_dim *extent)
{
    return s->values[value].class == TGI_VALUE_PART
               ? add_pieces(s, node, value, start)
               : add_part(s, node, value, start, extent, NULL);
}

/* Stores the inputs of a concat, which begins at `origin` of `node`. */
static tg_status add_concat(tgi_fuse_state *s, tgi_ref node, tgi_ref ref,
                            const tgi_dim *origin)
{
    const tgi_node *concat = tgi_graph_node(s->graph, ref);
    const int64_t along = tgi_node_index(concat);
    tgi_dim start[TG_MAX_RANK], extent[TG_MAX_RANK];
    const int rank = tgi_fuse_rank(s, ref);
    memcpy(start, origin, sizeof(start));
    for (uint32_t i = 0; i < concat->n_inputs; i++) {
        tgi_ref in = tgi_fuse_resolve(s, concat->inputs[i]);
        for (int axis = 0; axis < rank; axis++)
            extent[axis] = tgi_fuse_extent(s, in, axis);
        TGI_TRY(add_piece(s, node, in, start, extent));
        start[along] = tgi_dim_add(s->dims, start[along], extent[along]);
    }
    return TG_OK;
}

/*
 * Stores a pad, which begins at `origin` of `node`. Fills the border slab by
 * slab: the slabs of an axis span all of the later axes, and the interior of
 * the earlier ones. With interior padding, everything is filled first.
 */
static tg_status add_pad(tgi_fuse_state *s, tgi_ref node, tgi_ref ref,
                         const tgi_dim *origin)
{
    const tgi_node *pad = tgi_graph_node(s->graph, ref);
    const tgi_attr_pad *attr = pad->attr;
    tgi_ref in = tgi_fuse_resolve(s, pad->inputs[0]);
    tgi_ref fill = tgi_fuse_resolve(s, pad->inputs[1]);
    int rank = tgi_fuse_rank(s, ref);
    tgi_dim low[TG_MAX_RANK], inside[TG_MAX_RANK];
    tgi_dim start[TG_MAX_RANK], extent[TG_MAX_RANK];
    memcpy(low, origin, sizeof(low));
    memcpy(start, origin, sizeof(start));
    for (int axis = 0; axis < rank; axis++) {
        low[axis] = tgi_dim_add(s->dims, origin[axis],
                                tgi_variant_dim(s->variant, attr->low[axis]));
        inside[axis] = tgi_fuse_extent(s, in, axis);
        extent[axis] = tgi_fuse_extent(s, ref, axis);
    }
    if (tgi_fuse_pad_has_gaps(s, ref)) {
        TGI_TRY(add_part(s, node, fill, start, extent, NULL));
        return add_part(s, node, in, low, inside, attr->interior);
    }
    for (int axis = 0; axis < rank; axis++) {
        extent[axis] = tgi_variant_dim(s->variant, attr->low[axis]);
        TGI_TRY(add_part(s, node, fill, start, extent, NULL));
        extent[axis] = tgi_variant_dim(s->variant, attr->high[axis]);
        start[axis] = tgi_dim_add(s->dims, low[axis], inside[axis]);
        TGI_TRY(add_part(s, node, fill, start, extent, NULL));
        start[axis] = low[axis];
        extent[axis] = inside[axis];
    }
    return add_piece(s, node, in, low, inside);
}

/* Stores the pieces of a concat or pad that begins at `origin` of `node`. */
static tg_status add_pieces(tgi_fuse_state *s, tgi_ref node, tgi_ref ref,
                            const tgi_dim *origin)
{
    return tgi_graph_node(s->graph, ref)->op == TGI_OP_PAD
               ? add_pad(s, node, ref, origin)
               : add_concat(s, node, ref, origin);
}

/* -- Reductions ------------------------------------------------------------ */

/* A task that reduces the axes in `mask` of an array with these extents. Writes
   the loop axis of each of its axes. */
static tgi_task begin_reduce(tgi_ref node, int op, int rank,
                             const tgi_dim *extent, uint64_t mask,
                             tgi_vectors vectors, int32_t *out_axis)
{
    tgi_task task = {.kind = TGI_TASK_REDUCE,
                     .node = node,
                     .vectors = (uint8_t)vectors,
                     .reduce.op = (uint8_t)op};
    for (int axis = 0; axis < rank; axis++) {
        tgi_domain *domain = mask >> axis & 1 ? &task.inner : &task.outer;
        if (extent[axis] != 1)
            domain->extent[domain->n++] = extent[axis];
    }
    if (vectors == TGI_COLUMNS)
        tgi_domain_ensure_lanes(&task.outer);
    int32_t outer = 0, inner = task.outer.n;
    for (int axis = 0; axis < rank; axis++)
        out_axis[axis] = extent[axis] == 1  ? TGI_AXIS_NONE
                         : mask >> axis & 1 ? inner++
                                            : outer++;
    return task;
}

/* Reduces a dense array in a buffer. */
static tg_status add_reduce_buffer(tgi_fuse_state *s, tgi_ref node, int op,
                                   tgi_buffer_id source, int rank,
                                   const tgi_dim *extent, uint64_t mask)
{
    int32_t number[TG_MAX_RANK];
    tgi_task task =
        begin_reduce(node, op, rank, extent, mask, TGI_COLUMNS, number);
    task.reduce.source.buffer = source;
    tgi_dim stride = 1;
    for (int axis = rank - 1; axis >= 0; axis--) {
        if (number[axis] != TGI_AXIS_NONE)
            task.reduce.source.stride[number[axis]].distance = stride;
        stride = tgi_dim_mul(s->dims, stride, extent[axis]);
    }
    tgi_domain_dense_strides(s, &task.outer, task.target.stride);
    return tgi_fuse_add_task(s, &task);
}

/* Reduces a node's input into `buffer`, or the node's if none. */
static tg_status add_reduce_value(tgi_fuse_state *s, tgi_ref node, int op,
                                  tgi_buffer_id buffer, int rank,
                                  const tgi_dim *extent, uint64_t mask,
                                  tgi_vectors vectors)
{
    int32_t number[TG_MAX_RANK];
    tgi_task task = begin_reduce(node, op, rank, extent, mask, vectors, number);
    task.value.node =
        tgi_fuse_resolve(s, tgi_graph_node(s->graph, node)->inputs[0]);
    task.target.buffer = buffer;
    tgi_map_init(s, task.value.node, &task.value.map);
    for (int axis = 0; axis < rank; axis++)
        if (number[axis] != TGI_AXIS_NONE)
            task.value.map.axis[axis].axis = number[axis];
    tgi_domain_dense_strides(s, &task.outer, task.target.stride);
    return tgi_fuse_add_task(s, &task);
}

/*
 * Permutes axes so that the reduced ones are adjacent: the other axes but the
 * last, those in `mask`, the last of the others. Writes the extents in that
 * order and the stride of every axis; returns the new mask.
 */
static uint64_t permute_axes(tgi_fuse_state *s, int rank, const tgi_dim *extent,
                             uint64_t mask, tgi_dim *out_extent,
                             tgi_dim *out_stride)
{
    int order[TG_MAX_RANK], n = 0, last = rank - 1;
    while (mask >> last & 1)
        last--;
    for (int axis = 0; axis < last; axis++)
        if (!(mask >> axis & 1))
            order[n++] = axis;
    uint64_t permuted = 0;
    for (int axis = 0; axis < rank; axis++)
        if (mask >> axis & 1) {
            permuted |= UINT64_C(1) << n;
            order[n++] = axis;
        }
    order[n] = last;
    tgi_dim stride = 1;
    for (int i = n; i >= 0; i--) {
        out_extent[i] = extent[order[i]];
        out_stride[order[i]] = stride;
        stride = tgi_dim_mul(s->dims, stride, out_extent[i]);
    }
    return permuted;
}

/* A buffer for an array with these extents; none when out of memory. */
static tgi_buffer_id add_array(tgi_fuse_state *s, tgi_ref node, int rank,
                               const tgi_dim *extent)
{
    tgi_loop_buffer array = {.place = TGI_PLACE_TEMP,
                             .dtype = tgi_fuse_dtype(s, node),
                             .node = node,
                             .count = 1};
    for (int axis = 0; axis < rank; axis++)
        array.count = tgi_dim_mul(s->dims, array.count, extent[axis]);
    return tgi_fuse_add_buffer(s, array);
}

/* Stores the input with the reduced axes adjacent, then reduces that. */
static tg_status add_permuted(tgi_fuse_state *s, tgi_ref node, int op, int rank,
                              const tgi_dim *extent, uint64_t mask)
{
    tgi_ref in = tgi_fuse_resolve(s, tgi_graph_node(s->graph, node)->inputs[0]);
    tgi_task task = {.kind = TGI_TASK_MAP,
                     .node = in,
                     .outer = tgi_domain_of(s, in),
                     .value.node = in,
                     .target.buffer = add_array(s, in, rank, extent)};
    if (tgi_buffer_id_is_none(task.target.buffer))
        return tg_error_last()->status;
    tgi_dim permuted[TG_MAX_RANK], stride[TG_MAX_RANK];
    uint64_t reduced = permute_axes(s, rank, extent, mask, permuted, stride);
    tgi_map_init(s, in, &task.value.map);
    for (int axis = 0; axis < rank; axis++)
        if (task.value.map.axis[axis].axis != TGI_AXIS_NONE)
            task.target.stride[task.value.map.axis[axis].axis].distance =
                stride[axis];
    TGI_TRY(tgi_fuse_add_task(s, &task));
    return add_reduce_buffer(s, node, op, task.target.buffer, rank, permuted,
                             reduced);
}

/* Reduces the trailing axes (`run`) into a buffer in which the remaining
   reduced axes (`rows`) are adjacent, then these. */
static tg_status add_runs_and_rows(tgi_fuse_state *s, tgi_ref node, int op,
                                   int rank, const tgi_dim *extent,
                                   uint64_t run, uint64_t rows)
{
    int n = rank;
    while (run >> (n - 1) & 1)
        n--;
    const tgi_buffer_id buffer = add_array(s, node, n, extent);
    if (tgi_buffer_id_is_none(buffer))
        return tg_error_last()->status;
    tgi_dim permuted[TG_MAX_RANK], stride[TG_MAX_RANK];
    uint64_t reduced = permute_axes(s, n, extent, rows, permuted, stride);
    TGI_TRY(add_reduce_value(s, node, op, buffer, rank, extent, run, TGI_ROWS));
    tgi_task *runs = &s->tasks.data[s->tasks.n - 1];
    int at = 0;
    for (int axis = 0; axis < n; axis++)
        if (extent[axis] != 1)
            runs->target.stride[at++].distance = stride[axis];
    return add_reduce_buffer(s, node, op, buffer, n, permuted, reduced);
}

/* The number of runs of adjacent reduced axes. */
static int count_groups(int rank, const tgi_dim *extent, uint64_t mask)
{
    int groups = 0;
    bool was_reduced = false;
    for (int axis = 0; axis < rank; axis++) {
        if (extent[axis] == 1)
            continue;
        bool is_reduced = mask >> axis & 1;
        groups += is_reduced && !was_reduced;
        was_reduced = is_reduced;
    }
    return groups;
}

/* True if all reduced axes have one element, so that the result is the operand:
   the gradients of broadcasts of unknown extents reduce many such axes. */
static bool reduces_nothing(int rank, const tgi_dim *extent, uint64_t mask)
{
    bool is_one = true;
    for (int axis = 0; axis < rank; axis++)
        is_one &= !(mask >> axis & 1) || extent[axis] == 1;
    return is_one;
}

static tg_status add_reduce(tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    tgi_ref in = tgi_fuse_resolve(s, node->inputs[0]);
    int rank = tgi_fuse_rank(s, in), op = node->op;
    tgi_dim extent[TG_MAX_RANK];
    for (int axis = 0; axis < rank; axis++)
        extent[axis] = tgi_fuse_extent(s, in, axis);
    if (op == TGI_OP_ARGMAX || op == TGI_OP_ARGMIN) {
        const tgi_attr_index *attr = node->attr;
        return add_reduce_value(s, ref, op, none, rank, extent,
                                UINT64_C(1) << attr->index, TGI_COLUMNS);
    }

    uint64_t mask = ((const tgi_attr_axes *)node->attr)->mask;
    if (reduces_nothing(rank, extent, mask))
        return add_map(s, ref, in, none, false);
    int first_of_run = rank;
    while (first_of_run > 0 && mask >> (first_of_run - 1) & 1)
        first_of_run--;
    uint64_t rows = mask & ((UINT64_C(1) << first_of_run) - 1);
    uint64_t run = mask & ~rows;
    if (!run) {
        if (count_groups(rank, extent, rows) > 1)
            return add_permuted(s, ref, op, rank, extent, rows);
        return add_reduce_value(s, ref, op, none, rank, extent, rows,
                                TGI_COLUMNS);
    }
    if (!rows)
        return add_reduce_value(s, ref, op, none, rank, extent, run, TGI_ROWS);

    return add_runs_and_rows(s, ref, op, rank, extent, run, rows);
}

/* -- Scans ----------------------------------------------------------------- */

/* The scanned axis is inner, all others are outer. */
static tg_status add_scan(tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    const int scanned = (int)((const tgi_attr_scan *)node->attr)->axis;
    tgi_task task = {.kind = TGI_TASK_SCAN,
                     .node = ref,
                     .vectors = TGI_COLUMNS,
                     .value.node = tgi_fuse_resolve(s, node->inputs[0])};
    task.scan.addend.node = tgi_fuse_resolve(s, node->inputs[1]);
    tgi_dim strides[TG_MAX_RANK];
    tgi_fuse_strides(s, ref, strides);
    tgi_map_init(s, ref, &task.value.map);
    for (int axis = 0; axis < tgi_fuse_rank(s, ref); axis++) {
        const tgi_dim extent = tgi_fuse_extent(s, ref, axis);
        if (axis == scanned || extent == 1)
            continue;
        task.value.map.axis[axis].axis = task.outer.n;
        task.target.stride[task.outer.n].distance = strides[axis];
        task.outer.extent[task.outer.n++] = extent;
    }
    tgi_domain_ensure_lanes(&task.outer);
    if (task.value.map.axis[scanned].axis != TGI_AXIS_NONE) {
        task.value.map.axis[scanned].axis = task.outer.n;
        task.target.stride[task.outer.n].distance = strides[scanned];
        task.inner =
            (tgi_domain){1, {tgi_fuse_extent(s, ref, scanned)}};
    }
    task.scan.addend.map = task.value.map;
    return tgi_fuse_add_task(s, &task);
}

/* -- Materialised values, assignments, results ----------------------------- */

static tg_status add_materialised(tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    static const tgi_dim origin[TG_MAX_RANK];
    switch (node->op) {
    case TGI_OP_PAD:
    case TGI_OP_CONCAT:
        return add_pieces(s, ref, ref, origin);
    case TGI_OP_DYNAMIC_UPDATE:
        return add_dynamic_update(s, ref);
    case TGI_OP_SCATTER:
        return add_scatter(s, ref);
    case TGI_OP_MATMUL:
        return tgi_fuse_add_matmul(s, ref);
    case TGI_OP_CONV:
        return tgi_fuse_add_conv(s, ref);
    case TGI_OP_LINEAR_SCAN:
        return add_scan(s, ref);
    default:
        return tgi_op_table[node->op].cls == TGI_OPCLASS_REDUCE
                   ? add_reduce(s, ref)
               : s->values[ref].is_memoised
                   ? add_copy(s, ref)
                   : add_map(s, ref, ref, none, false);
    }
}

/* Assignments of nodes `from` … `to` - 1. */
static tg_status add_assignments(tgi_fuse_state *s, tgi_ref from, tgi_ref to)
{
    for (tgi_ref ref = from; ref < to; ref++) {
        const tgi_node *node = tgi_graph_node(s->graph, ref);
        if (node->op != TGI_OP_ASSIGN || s->values[ref].is_overwritten)
            continue;
        const tgi_buffer_id buffer = tgi_fuse_buffer_of(s, node->inputs[0]);
        if (tgi_buffer_id_is_none(buffer))
            return tg_error_last()->status;
        tgi_ref value = tgi_fuse_storage_root(s, node->inputs[1]);
        TGI_TRY(add_map(s, ref, value, buffer, true));
    }
    return TG_OK;
}

/* A CHECK, HOST or REGION task. */
static tg_status add_other(tgi_fuse_state *s, tgi_ref ref, int kind)
{
    tgi_task task = {.kind = (uint8_t)kind, .node = ref};
    if (kind == TGI_TASK_CHECK) {
        task.value.node =
            tgi_fuse_resolve(s, tgi_graph_node(s->graph, ref)->inputs[1]);
        task.outer = tgi_domain_of(s, task.value.node);
        tgi_map_init(s, task.value.node, &task.value.map);
    }
    TGI_TRY(tgi_fuse_add_task(s, &task));
    tgi_fuse_value *indices = &s->values[task.value.node];
    if (kind == TGI_TASK_CHECK && tgi_task_id_is_none(indices->check)) {
        const tgi_node *node = tgi_graph_node(s->graph, ref);
        const int axis = (int)*(const int64_t *)node->attr;
        indices->check = last_task(s);
        indices->checked_extent =
            tgi_fuse_extent(s, tgi_fuse_resolve(s, node->inputs[0]), axis);
    }
    return TG_OK;
}

/* True if a value may be computed in a dense buffer that is given. */
static bool can_have_buffer(const tgi_fuse_value *value)
{
    return value->class == TGI_VALUE_MATERIALISED && !value->swaps_last &&
           tgi_buffer_id_is_none(value->buffer);
}

static tg_status add_result(tgi_fuse_state *s, size_t i)
{
    tgi_ref ref = tgi_fuse_storage_root(s, s->graph->results.data[i]);
    tgi_fuse_value *value = &s->values[ref];
    if ((s->bound_results && tgi_buffer_id_is_none(s->bound_results[i])) ||
        tgi_fuse_is_unbounded(s, ref))
        return TG_OK;
    const tgi_buffer_id buffer =
        s->bound_results
            ? s->bound_results[i]
            : tgi_fuse_add_buffer(
                  s, (tgi_loop_buffer){.place = TGI_PLACE_RESULT,
                                       .dtype = tgi_fuse_dtype(s, ref),
                                       .index = (uint32_t)i,
                                       .node = ref,
                                       .count = tgi_fuse_n_elements(s, ref)});
    if (tgi_buffer_id_is_none(buffer))
        return tg_error_last()->status;
    if (can_have_buffer(value)) {
        value->buffer = buffer;
        return TG_OK;
    }
    return add_map(s, ref, ref, buffer, false);
}

/* -- Branches, loops, host calls ------------------------------------------- */

/* The initial value of carried value k goes into its buffer. A stack exists
   already, or starts there. */
static tg_status add_initial(tgi_fuse_state *s, tgi_ref loop, uint32_t k)
{
    const tgi_node *node = tgi_graph_node(s->graph, loop);
    tgi_ref ref = tgi_fuse_storage_root(s, node->inputs[k + 1]);
    tgi_fuse_value *value = &s->values[ref];
    const bool is_unset = tgi_graph_node(s->graph, ref)->op == TGI_OP_UNSET;
    const bool is_unbounded = tgi_fuse_is_unbounded(s, ref);
    const tgi_buffer_id buffer =
        is_unbounded && is_unset
            ? tgi_fuse_stack_of(s, loop, k + 1)
            : tgi_fuse_add_buffer(
                  s,
                  (tgi_loop_buffer){
                      .place = is_unbounded ? TGI_PLACE_SSA : TGI_PLACE_TEMP,
                      .dtype = tgi_fuse_dtype(s, ref),
                      .is_pinned = true,
                      .node = ref,
                      .count = is_unbounded ? 0 : tgi_fuse_n_elements(s, ref)});
    if (tgi_buffer_id_is_none(buffer))
        return tg_error_last()->status;
    if (k == 0)
        s->values[loop].buffer = buffer;
    if (is_unbounded)
        return TG_OK;
    /* UNSET needs no initial store. */
    if (is_unset)
        return TG_OK;
    /* A value without other uses is computed in place. */
    if (can_have_buffer(value) && value->owner == loop) {
        value->buffer = buffer;
        return TG_OK;
    }
    return add_map(s, ref, ref, buffer, false);
}

static tg_status add_region(tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    const tgi_attr_regions *attr = node->attr;
    for (uint32_t k = 0; k < attr->n_carried; k++)
        TGI_TRY(add_initial(s, ref, k));
    TGI_TRY(add_other(s, ref, TGI_TASK_REGION));
    s->values[ref].task = last_task(s);
    return TG_OK;
}

/* A result of a loop stays in the buffer of its carried value; other results go
   where their first user wants them. */
static tg_status add_region_result(tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    const tgi_ref region = node->inputs[0];
    const size_t index = (size_t)((const tgi_attr_index *)node->attr)->index;
    s->values[ref].task = s->values[region].task;
    if (tgi_fuse_is_unbounded(s, ref))
        s->values[ref].buffer = tgi_fuse_buffer_of(s, ref);
    else if (tgi_graph_node(s->graph, region)->op == TGI_OP_LOOP)
        s->values[ref].buffer =
            tgi_fuse_carried_buffer(s, region, (uint32_t)index);
    return tgi_vec_push(&s->used_results,
                        ((tgi_fuse_result){region, ref, index}))
               ? TG_OK
               : tgi_error_memory();
}

/* -- All ------------------------------------------------------------------- */

/* The tasks of all nodes, in the given order; NULL: that of the refs. */
static tg_status add_tasks(tgi_fuse_state *s, const tgi_ref *order)
{
    const tgi_graph *graph = s->graph;
    tgi_ref assigned = 1, last_effect = 0;
    for (tgi_ref i = 1; i <= graph->n_nodes; i++) {
        const tgi_ref ref = order ? order[i - 1] : i;
        const tgi_node *node = tgi_graph_node(graph, ref);
        const bool is_checked = tgi_fuse_is_checked(node);
        /* A start moves ahead of no effect, so of no assignment. */
        const tgi_ref end = tgi_fuse_is_start(node) ? last_effect + 1 : ref;
        if (node->op == TGI_OP_ASSIGN)
            last_effect = ref;
        if (tgi_node_has_regions(node) && tgi_fuse_is_needed(s, ref)) {
            TGI_TRY(add_assignments(s, assigned, ref));
            assigned = ref;
            TGI_TRY(add_region(s, ref));
        }
        if (is_checked || tgi_fuse_is_host(node)) {
            TGI_TRY(add_assignments(s, assigned, end));
            assigned = end > assigned ? end : assigned;
            TGI_TRY(
                add_other(s, ref, is_checked ? TGI_TASK_CHECK : TGI_TASK_HOST));
            s->values[ref].task = last_task(s);
        }
        tgi_fuse_value *value = &s->values[ref];
        if (value->class != TGI_VALUE_MATERIALISED || value->forwards_to != ref)
            continue;
        if (node->op == TGI_OP_RESULT) {
            TGI_TRY(add_region_result(s, ref));
            continue;
        }
        size_t before = s->tasks.n;
        TGI_TRY(add_materialised(s, ref));
        /* An empty value has no task. */
        value->task = s->tasks.n > before ? last_task(s) : (tgi_task_id){0};
    }
    for (size_t i = 0; i < graph->results.n; i++)
        TGI_TRY(add_result(s, i));
    return add_assignments(s, assigned, graph->n_nodes + 1);
}

tg_status tgi_fuse_tasks(tgi_fuse_state *s)
{
    tgi_ref *order;
    TGI_TRY(tgi_fuse_order_nodes(s->graph, &order));
    tg_status status = tgi_fuse_move_early(s, &order);
    if (!status)
        status = add_tasks(s, order);
    tgi_free(order);
    return status;
}
