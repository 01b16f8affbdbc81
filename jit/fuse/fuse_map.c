/* SPDX-License-Identifier: MIT */
/*
 * fuse_map.c - index maps, and their composition with views.
 */
#include <string.h>

#include "base/error.h"
#include "fuse/fuse_map.h"
#include "fuse/fuse_value.h"

/* -- Domains --------------------------------------------------------------- */

tgi_domain tgi_domain_of(const tgi_fuse_state *s, tgi_ref ref)
{
    tgi_domain domain = {0};
    int rank = tgi_fuse_rank(s, ref);
    for (int axis = 0; axis < rank; axis++) {
        tgi_dim extent = tgi_fuse_extent(s, ref, axis);
        if (extent != 1)
            domain.extent[domain.n++] = extent;
    }
    return domain;
}

bool tgi_domain_equals(const tgi_domain *a, const tgi_domain *b)
{
    if (a->n != b->n)
        return false;
    for (int i = 0; i < a->n; i++)
        if (a->extent[i] != b->extent[i])
            return false;
    return true;
}

tgi_domain tgi_domain_join(const tgi_domain *a, const tgi_domain *b)
{
    tgi_domain both = *a;
    for (int i = 0; i < b->n && both.n < TGI_LOOP_AXES; i++)
        both.extent[both.n++] = b->extent[i];
    return both;
}

void tgi_domain_dense_strides(tgi_fuse_state *s, const tgi_domain *domain,
                              tgi_stride *out_strides)
{
    tgi_dim stride = 1;
    for (int axis = domain->n - 1; axis >= 0; axis--) {
        out_strides[axis] = (tgi_stride){stride, false};
        stride = tgi_dim_mul(s->dims, stride, domain->extent[axis]);
    }
}

/* -- Maps ------------------------------------------------------------------ */

void tgi_map_init(const tgi_fuse_state *s, tgi_ref ref, tgi_map *out_map)
{
    memset(out_map, 0, sizeof(*out_map));
    out_map->rank = tgi_fuse_rank(s, ref);
    int32_t next = 0;
    for (int axis = 0; axis < out_map->rank; axis++) {
        bool moves = tgi_fuse_extent(s, ref, axis) != 1;
        out_map->axis[axis] = moves ? (tgi_map_axis){.axis = next++, .step = 1}
                                    : (tgi_map_axis){.axis = TGI_AXIS_NONE};
    }
}

bool tgi_map_is_identity(const tgi_fuse_state *s, tgi_ref ref,
                         const tgi_map *map)
{
    tgi_map identity;
    tgi_map_init(s, ref, &identity);
    return memcmp(map, &identity, sizeof(identity)) == 0;
}

/* True if both shapes have the same axes, ignoring extents of 1. */
static bool has_same_axes(const tgi_fuse_state *s, tgi_ref a, tgi_ref b)
{
    tgi_domain of_a = tgi_domain_of(s, a), of_b = tgi_domain_of(s, b);
    return tgi_domain_equals(&of_a, &of_b);
}

bool tgi_fuse_is_affine(const tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    if (node->op == TGI_OP_RESHAPE)
        return has_same_axes(s, ref, tgi_fuse_resolve(s, node->inputs[0]));
    return tgi_fuse_is_view(node);
}

/* start + step * offset, for a step of either sign. */
static tgi_dim advance(tgi_dims *dims, tgi_dim start, int64_t step,
                       tgi_dim offset)
{
    if (offset == 0)
        return start;
    tgi_dim distance = tgi_dim_mul(dims, offset, step < 0 ? -step : step);
    if (step >= 0)
        return tgi_dim_add(dims, start, distance);
    return tgi_dim_sub(dims, start, distance);
}

static void compose_broadcast(const tgi_fuse_state *s, tgi_ref in,
                              const tgi_map *map, tgi_map *out)
{
    const int32_t added = map->rank - out->rank;
    for (int axis = 0; axis < out->rank; axis++)
        out->axis[axis] = tgi_fuse_extent(s, in, axis) == 1
                              ? (tgi_map_axis){.axis = TGI_AXIS_NONE}
                              : map->axis[axis + added];
}

static void compose_reshape(const tgi_fuse_state *s, tgi_ref in, tgi_ref view,
                            const tgi_map *map, tgi_map *out)
{
    int from = 0;
    for (int axis = 0; axis < out->rank; axis++) {
        out->axis[axis] = (tgi_map_axis){.axis = TGI_AXIS_NONE};
        if (tgi_fuse_extent(s, in, axis) == 1)
            continue;
        while (tgi_fuse_extent(s, view, from) == 1)
            from++;
        out->axis[axis] = map->axis[from++];
    }
}

static void compose_slice(const tgi_fuse_state *s, tgi_ref view,
                          const tgi_map *map, tgi_map *out)
{
    const tgi_attr_slice *attr = tgi_graph_node(s->graph, view)->attr;
    for (int axis = 0; axis < out->rank; axis++) {
        const tgi_map_axis *from = &map->axis[axis];
        tgi_dim start = tgi_variant_dim(s->variant, attr->start[axis]);
        const int64_t step = attr->step[axis];
        out->axis[axis] = (tgi_map_axis){
            .axis = from->axis,
            .start = advance(s->dims, start, step, from->start),
            .step = from->axis == TGI_AXIS_NONE ? 0 : from->step * step,
            .shift = from->shift,
            .shift_step = from->shift_step * step,
            .window = from->window,
            .window_step = from->window_step * step};
    }
}

/* Position on one axis, scaled. */
static tgi_map_axis scale_axis(const tgi_fuse_state *s, const tgi_map_axis *at,
                               int64_t factor)
{
    tgi_map_axis scaled = *at;
    scaled.start = tgi_dim_mul(s->dims, at->start, factor);
    scaled.step *= factor;
    scaled.shift_step *= factor;
    scaled.window_step *= factor;
    return scaled;
}

static bool has_loop(const tgi_map_axis *at)
{
    return at->axis != TGI_AXIS_NONE || at->window_step != 0;
}

/* Adds a position to another one of the same axis. False if that takes a third
   loop axis, a second shift, or the index of a gather. */
static bool add_axis(const tgi_fuse_state *s, const tgi_map_axis *at,
                     tgi_map_axis *to)
{
    to->start = tgi_dim_add(s->dims, to->start, at->start);
    if (!tgi_shift_id_is_none(at->shift)) {
        if (!tgi_shift_id_is_none(to->shift))
            return false;
        to->shift = at->shift;
        to->shift_step = at->shift_step;
    }
    if (!has_loop(at))
        return true;
    if (!has_loop(to)) {
        to->axis = at->axis;
        to->step = at->step;
        to->window = at->window;
        to->window_step = at->window_step;
    } else {
        if (at->window_step != 0 || to->window_step != 0)
            return false;
        to->window = at->axis;
        to->window_step = at->step;
    }
    return true;
}

/* The windows of an axis: the position of the window is on `axis` of the view,
   that of the element on an axis of its own. */
static bool compose_window(const tgi_fuse_state *s, tgi_ref view,
                           const tgi_map *map, tgi_map *out)
{
    const tgi_attr_window *attr = tgi_graph_node(s->graph, view)->attr;
    for (int axis = 0, next = out->rank; axis < out->rank; axis++) {
        tgi_map_axis *to = &out->axis[axis];
        *to = map->axis[axis];
        if (attr->size[axis] == 0)
            continue;
        const tgi_map_axis element =
            scale_axis(s, &map->axis[next++], attr->dilation[axis]);
        *to = scale_axis(s, to, attr->stride[axis]);
        if (to->axis == TGI_AXIS_GATHERED ||
            element.axis == TGI_AXIS_GATHERED || !add_axis(s, &element, to))
            return false;
    }
    return true;
}

/* Drops the index if no axis uses it. */
static void drop_unused_index(tgi_map *map)
{
    bool is_dynamic = false;
    for (int axis = 0; axis < map->rank; axis++)
        is_dynamic |= map->axis[axis].axis == TGI_AXIS_GATHERED;
    if (!is_dynamic)
        map->index = (tgi_expr_id){0};
}

bool tgi_map_compose(const tgi_fuse_state *s, tgi_ref view, const tgi_map *map,
                     tgi_map *out_map)
{
    bool is_exact = true;
    const tgi_node *node = tgi_graph_node(s->graph, view);
    tgi_ref in = tgi_fuse_resolve(s, node->inputs[0]);
    memset(out_map, 0, sizeof(*out_map));
    out_map->rank = tgi_fuse_rank(s, in);
    out_map->index = map->index;
    switch (node->op) {
    case TGI_OP_BROADCAST:
        compose_broadcast(s, in, map, out_map);
        break;
    case TGI_OP_TRANSPOSE:
        for (int axis = 0; axis < map->rank; axis++)
            out_map->axis[((const tgi_attr_perm *)node->attr)->perm[axis]] =
                map->axis[axis];
        break;
    case TGI_OP_SLICE:
        compose_slice(s, view, map, out_map);
        break;
    case TGI_OP_WINDOW:
        is_exact = compose_window(s, view, map, out_map);
        break;
    default:
        compose_reshape(s, in, view, map, out_map);
        break;
    }
    drop_unused_index(out_map);
    return is_exact;
}

tgi_shift_id tgi_fuse_find_shift(tgi_fuse_state *s, tgi_ref ref, tgi_ref part,
                                 tgi_shift_id outer, int64_t outer_step)
{
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    const int axis = (int)((const tgi_attr_index *)node->attr)->index;
    tgi_ref whole = tgi_fuse_resolve(s, node->inputs[0]);
    /* Add first: a slice of an empty value, in code that never runs, may be
       larger than its operand. */
    const tgi_dim n_starts = tgi_dim_sub(
        s->dims, tgi_dim_add(s->dims, tgi_fuse_extent(s, whole, axis), 1),
        tgi_fuse_extent(s, part, axis));
    const tgi_shift shift = {
        .start = tgi_fuse_resolve(s, node->inputs[node->n_inputs - 1]),
        .outer = outer,
        .outer_step = outer_step,
        .n_starts = n_starts};
    if (shift.n_starts == TGI_DIM_NONE)
        return (tgi_shift_id){0};
    for (size_t i = 0; i < s->shifts.n; i++)
        if (memcmp(&s->shifts.data[i], &shift, sizeof(shift)) == 0)
            return tgi_shift_id_from(i);
    if (!tgi_vec_push(&s->shifts, shift)) {
        tgi_error_memory();
        return (tgi_shift_id){0};
    }
    return tgi_shift_id_from(s->shifts.n - 1);
}

bool tgi_map_compose_dynamic(tgi_fuse_state *s, tgi_ref slice,
                             const tgi_map *map, tgi_map *out_map)
{
    const tgi_node *node = tgi_graph_node(s->graph, slice);
    const int sliced = (int)((const tgi_attr_index *)node->attr)->index;
    tgi_ref in = tgi_fuse_resolve(s, node->inputs[0]);
    const tgi_dim extent = tgi_fuse_extent(s, in, sliced);
    *out_map = *map;
    tgi_map_axis *at = &out_map->axis[sliced];
    if (extent == 1)
        *at = (tgi_map_axis){.axis = TGI_AXIS_NONE};
    /* A slice of the whole axis starts at 0. */
    if (extent == tgi_fuse_extent(s, slice, sliced)) {
        drop_unused_index(out_map);
        return true;
    }
    at->shift = tgi_fuse_find_shift(s, slice, slice, at->shift, at->shift_step);
    at->shift_step = 1;
    return !tgi_shift_id_is_none(at->shift);
}
