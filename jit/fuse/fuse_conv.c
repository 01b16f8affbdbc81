/* SPDX-License-Identifier: MIT */
/*
 * fuse_conv.c - the task of a convolution: a matmul whose rows are windows of
 * the operand (A) and whose k axis is a nest, of the axes of a window and the
 * channels. Windows are read in place, through an offset table (loops.h).
 *
 * The rows of the micro-kernel lie along the last outer axis but one: the last
 * spatial axis, or examples if it is short and they are not fewer. Filters (B)
 * are dense; if they are large and reused, they are packed first.
 *
 * Filters that fill less than half of a vector change places with the last
 * spatial axis: they are the rows, windows (B) the columns. For this, the pad
 * that is the operand, and the result, are stored with their last two axes
 * swapped, so that neighbouring windows are neighbours in memory. The products
 * and their order are the same.
 */
#include "base/error.h"
#include "fuse/fuse_buffer.h"
#include "fuse/fuse_task.h"
#include "fuse/fuse_value.h"
#include "loop/explain.h"

enum {
    MIN_SPATIAL_ROWS = 4, /* of a micro-kernel along a spatial axis */
    /* Filters are not packed if they have at most so many bytes, or if there
       are fewer windows. */
    MAX_UNPACKED_BYTES = 128 << 10,
    MIN_PACK_WINDOWS = 128,
    MIN_MEMO_WINDOWS = 4, /* the same for panels that are memoised */
    MIN_MEMO_ELEMENTS = 4096,
    /* Windows that an element is in, if it pays to swap its axes. */
    MIN_SWAPPED_WINDOWS = 4
};

typedef struct conv {
    tgi_ref node, x, w;
    const tgi_attr_conv *attr;
    int rank, n_batch, n_spatial;
    tgi_domain outer, inner;
    int32_t outer_axis[TG_MAX_RANK]; /* by axis of the result: loop axis */
    int32_t inner_axis[TG_MAX_RANK]; /* by spatial axis, then of channels */
} conv;

/* True if filters are the rows, and the last spatial axis the columns. */
static bool has_rows_of_filters(const tgi_fuse_state *s, const conv *c)
{
    return s->values[c->node].swaps_last;
}

/* True if examples are the rows of micro-kernels. */
static bool has_rows_of_examples(const tgi_fuse_state *s, const conv *c)
{
    const tgi_dim examples = tgi_fuse_extent(s, c->node, c->n_batch);
    if (c->n_spatial == 0 || has_rows_of_filters(s, c))
        return false;
    const tgi_dim last = tgi_fuse_extent(s, c->node, c->rank - 2);
    return tgi_dim_is_known(last) && last < MIN_SPATIAL_ROWS &&
           (!tgi_dim_is_known(examples) || examples >= last);
}

static void add_outer_axis(const tgi_fuse_state *s, conv *c, int axis)
{
    const tgi_dim extent = tgi_fuse_extent(s, c->node, axis);
    c->outer_axis[axis] = extent == 1 ? TGI_AXIS_NONE : c->outer.n;
    if (extent != 1)
        c->outer.extent[c->outer.n++] = extent;
}

static void find_loops(const tgi_fuse_state *s, conv *c)
{
    const int example = c->n_batch;
    const bool is_late = has_rows_of_examples(s, c);
    const bool is_swapped = has_rows_of_filters(s, c);
    for (int axis = 0; axis < c->rank - 1 - is_swapped; axis++)
        if (!is_late || axis != example)
            add_outer_axis(s, c, axis);
    if (is_late)
        add_outer_axis(s, c, example);
    add_outer_axis(s, c, c->rank - 1);
    if (is_swapped)
        add_outer_axis(s, c, c->rank - 2);
    tgi_domain_ensure_lanes(&c->outer);
    for (int i = 0; i <= c->n_spatial; i++) {
        const tgi_dim extent = tgi_fuse_extent(s, c->w, c->n_batch + i);
        c->inner_axis[i] =
            extent == 1 ? TGI_AXIS_NONE : c->outer.n + c->inner.n;
        if (extent != 1)
            c->inner.extent[c->inner.n++] = extent;
    }
}

static tgi_map_axis axis_of(int32_t axis, int64_t step)
{
    return axis == TGI_AXIS_NONE ? (tgi_map_axis){.axis = TGI_AXIS_NONE}
                                 : (tgi_map_axis){.axis = axis, .step = step};
}

static void map_windows(const conv *c, tgi_map *out_map)
{
    *out_map = (tgi_map){.rank = c->rank};
    for (int axis = 0; axis <= c->n_batch; axis++)
        out_map->axis[axis] = axis_of(c->outer_axis[axis], 1);
    for (int i = 0; i < c->n_spatial; i++) {
        tgi_map_axis *at = &out_map->axis[c->n_batch + 1 + i];
        const int32_t element = c->inner_axis[i];
        *at = axis_of(c->outer_axis[c->n_batch + 1 + i], c->attr->stride[i]);
        if (at->axis == TGI_AXIS_NONE) {
            *at = axis_of(element, c->attr->dilation[i]);
        } else if (element != TGI_AXIS_NONE) {
            at->window = element;
            at->window_step = c->attr->dilation[i];
        }
    }
    out_map->axis[c->rank - 1] = axis_of(c->inner_axis[c->n_spatial], 1);
}

/* The map of the filters, given their loop axes of batch, k and filters. */
static void map_filters(const conv *c, const int32_t *batch, int32_t first_k,
                        int32_t filter, tgi_map *out_map)
{
    *out_map = (tgi_map){.rank = c->rank};
    for (int axis = 0; axis < c->n_batch; axis++)
        out_map->axis[axis] = axis_of(batch[axis], 1);
    for (int i = 0; i <= c->n_spatial; i++) {
        const int32_t axis = c->inner_axis[i];
        out_map->axis[c->n_batch + i] = axis_of(
            axis == TGI_AXIS_NONE ? axis : axis - c->outer.n + first_k, 1);
    }
    out_map->axis[c->rank - 1] = axis_of(filter, 1);
}

/* The product of known extents; a large number if one is unknown. */
static int64_t count_points(const tgi_domain *domain, int n, int64_t max)
{
    int64_t count = 1;
    for (int axis = 0; axis < n; axis++)
        count = tgi_dim_is_known(domain->extent[axis]) &&
                        (domain->extent[axis] == 0 ||
                         count < max / domain->extent[axis])
                    ? count * domain->extent[axis]
                    : max;
    return count;
}

/* Whether the filters are a variable that this graph does not write, with its
   axes in another order: then a copy is memoised, and its panels. */
static bool can_memoise(const tgi_fuse_state *s, const conv *c)
{
    const int64_t bytes =
        tgi_dtype_bytes((tg_dtype)tgi_fuse_dtype(s, c->node));
    tgi_domain all = tgi_domain_of(s, c->w);
    const int64_t count = count_points(&all, all.n, TGI_MAX_MEMO_BYTES);
    for (int axis = 0; axis < c->n_batch; axis++)
        if (tgi_fuse_extent(s, c->w, axis) != 1)
            return false;
    return tgi_graph_node(s->graph, c->w)->op != TGI_OP_READ &&
           tgi_fuse_storage_root(s, c->w) == c->w && !s->bound_params &&
           count >= MIN_MEMO_ELEMENTS && count <= TGI_MAX_MEMO_BYTES / bytes &&
           tgi_fuse_copied_variable(s, c->w) >= 0;
}

static bool should_pack(const tgi_fuse_state *s, const conv *c)
{
    const int64_t bytes =
        tgi_dtype_bytes((tg_dtype)tgi_fuse_dtype(s, c->node));
    const tgi_dim filters = tgi_fuse_extent(s, c->w, c->rank - 1);
    const int64_t k = count_points(&c->inner, c->inner.n, INT32_MAX);
    const int64_t windows =
        count_points(&c->outer, c->outer.n - 1, INT32_MAX);
    if (bytes < 4 || k <= 1)
        return false;
    if (tgi_dim_is_known(filters) && filters < TGI_PANEL_ROW_BYTES / bytes)
        return false;
    if (windows >= MIN_MEMO_WINDOWS && can_memoise(s, c))
        return true;
    return windows >= MIN_PACK_WINDOWS &&
           (!tgi_dim_is_known(filters) ||
            k > MAX_UNPACKED_BYTES / bytes / filters);
}

static tg_status pack_filters(tgi_fuse_state *s, const conv *c,
                              tgi_task *conv_task)
{
    tgi_task task = {.kind = TGI_TASK_PACK,
                     .node = c->w,
                     .user = c->node,
                     .inner = c->inner,
                     .vectors = TGI_COLUMNS,
                     .value.node = c->w};
    int32_t batch[TG_MAX_RANK];
    for (int axis = 0; axis < c->n_batch; axis++) {
        const tgi_dim extent = tgi_fuse_extent(s, c->w, axis);
        batch[axis] = extent == 1 ? TGI_AXIS_NONE : task.outer.n;
        if (extent != 1)
            task.outer.extent[task.outer.n++] = extent;
    }
    const int32_t filter = task.outer.n;
    task.outer.extent[task.outer.n++] = tgi_fuse_extent(s, c->w, c->rank - 1);
    map_filters(c, batch, task.outer.n, filter, &task.value.map);
    if (!tgi_fuse_set_panels(s, &task))
        return tg_error_last()->status;
    tgi_task_reduce *reduce = &conv_task->reduce;
    reduce->panel_width = task.pack.panel_width;
    reduce->packed.buffer = task.target.buffer;
    for (int axis = 0; axis < c->n_batch; axis++)
        if (batch[axis] != TGI_AXIS_NONE)
            reduce->packed.stride[c->outer_axis[axis]] =
                task.target.stride[batch[axis]];
    reduce->packed.stride[c->outer_axis[c->rank - 1]] =
        task.target.stride[filter];
    for (int i = 0; i < c->inner.n; i++)
        reduce->packed.stride[c->outer.n + i] =
            task.target.stride[task.outer.n + i];
    tgi_explain_node(s->explain, s->graph, c->w, "packed for a convolution");
    return tgi_fuse_add_task(s, &task);
}

static conv conv_of(const tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    conv c = {.node = ref,
              .x = tgi_fuse_resolve(s, node->inputs[0]),
              .w = tgi_fuse_resolve(s, node->inputs[1]),
              .attr = node->attr,
              .rank = tgi_fuse_rank(s, ref)};
    c.n_batch = (int)c.attr->n_batch;
    c.n_spatial = c.rank - c.n_batch - 2;
    find_loops(s, &c);
    return c;
}

bool tgi_fuse_suits_rows_of_filters(const tgi_fuse_state *s, tgi_ref ref)
{
    const conv c = conv_of(s, ref);
    const int64_t bytes = tgi_dtype_bytes((tg_dtype)tgi_fuse_dtype(s, ref));
    const tgi_dim filters = tgi_fuse_extent(s, ref, c.rank - 1);
    if (c.n_spatial == 0 || bytes < 4 || !tgi_dim_is_known(filters) ||
        2 * filters > TGI_PANEL_ROW_BYTES / bytes ||
        c.attr->stride[c.n_spatial - 1] != 1)
        return false;
    const tgi_dim columns = tgi_fuse_extent(s, ref, c.rank - 2);
    int64_t n_windows = 1; /* unknown extents count as large */
    for (int i = 0; i < c.n_spatial; i++) {
        const tgi_dim extent = tgi_fuse_extent(s, c.w, c.n_batch + i);
        n_windows *= tgi_dim_is_known(extent) && extent < MIN_SWAPPED_WINDOWS
                         ? extent
                         : MIN_SWAPPED_WINDOWS;
    }
    return n_windows >= MIN_SWAPPED_WINDOWS &&
           (!tgi_dim_is_known(columns) ||
            columns >= TGI_PANEL_ROW_BYTES / bytes);
}

bool tgi_fuse_memoises_filters(const tgi_fuse_state *s, tgi_ref ref)
{
    const conv c = conv_of(s, ref);
    return should_pack(s, &c) && can_memoise(s, &c);
}

tg_status tgi_fuse_add_conv(tgi_fuse_state *s, tgi_ref ref)
{
    const conv c = conv_of(s, ref);
    const bool is_swapped = has_rows_of_filters(s, &c);
    tgi_task task = {.kind = TGI_TASK_REDUCE,
                     .node = ref,
                     .outer = c.outer,
                     .inner = c.inner,
                     .vectors = TGI_COLUMNS,
                     .is_permuted = is_swapped || has_rows_of_examples(s, &c),
                     .late_axis =
                         (uint8_t)(is_swapped ? c.rank - 1 : c.n_batch),
                     .value.node = c.x,
                     .reduce.op = TGI_OP_MATMUL};
    tgi_dim strides[TG_MAX_RANK];
    tgi_fuse_strides(s, ref, strides);
    for (int axis = 0; axis < c.rank; axis++)
        if (c.outer_axis[axis] != TGI_AXIS_NONE)
            task.target.stride[c.outer_axis[axis]].distance = strides[axis];
    map_windows(&c, &task.value.map);
    if (should_pack(s, &c)) {
        TGI_TRY(pack_filters(s, &c, &task));
    } else {
        task.reduce.rhs.node = c.w;
        map_filters(&c, c.outer_axis, c.outer.n, c.outer_axis[c.rank - 1],
                    &task.reduce.rhs.map);
    }
    return tgi_fuse_add_task(s, &task);
}
