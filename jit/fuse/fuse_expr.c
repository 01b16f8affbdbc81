/* SPDX-License-Identifier: MIT */
/*
 * fuse_expr.c - the expression of a task: every node that the task computes,
 * once per map through which it is used, down to loads.
 *
 * Nodes are visited in descending order, by a heap, so that the depth of a
 * graph costs no stack; the reverse order puts operands before their users.
 * The start of a shift precedes all shifted addresses, wherever it is in the
 * graph: it has a greater depth, and is visited after all nodes of a lower
 * depth, again if necessary.
 *
 * Empty values are not expanded. Their elements are never used, but a load that
 * is invariant along the empty axis is hoisted out of its loop and would run:
 * at an address that may be outside of the buffer, such as that of an empty
 * slice at the end of its operand.
 */
#include <string.h>

#include "base/error.h"
#include "fuse/fuse_buffer.h"
#include "fuse/fuse_task.h"
#include "fuse/fuse_value.h"
#include "tgjit/ops.h"

/* A node to visit, unless its depth has changed since. */
typedef struct pending {
    tgi_expr_id id;
    uint32_t depth;
    tgi_ref node;
} pending;

typedef struct expander {
    tgi_fuse_state *state;
    tgi_task *task;
    TGI_VEC(pending) heap;
} expander;

void tgi_expr_deinit(tgi_expr *expr)
{
    tgi_vec_deinit(&expr->nodes);
    tgi_vec_deinit(&expr->order);
    tgi_index_deinit(&expr->index);
}

/* -- Heap ------------------------------------------------------------------ */

/* The lowest depth comes first, then the largest node. */
static bool is_before(const pending *a, const pending *b)
{
    return a->depth != b->depth ? a->depth < b->depth : a->node > b->node;
}

static void heap_swap(expander *e, size_t a, size_t b)
{
    const pending first = e->heap.data[a];
    e->heap.data[a] = e->heap.data[b];
    e->heap.data[b] = first;
}

static bool heap_push(expander *e, tgi_expr_id id)
{
    const tgi_expr_node *node = tgi_expr_at(&e->task->expr, id);
    pending w = {id, node->depth, node->node};
    if (!tgi_vec_push(&e->heap, w)) {
        tgi_error_memory();
        return false;
    }
    for (size_t i = e->heap.n - 1; i > 0; i = (i - 1) / 2) {
        if (!is_before(&e->heap.data[i], &e->heap.data[(i - 1) / 2]))
            break;
        heap_swap(e, i, (i - 1) / 2);
    }
    return true;
}

static pending heap_pop(expander *e)
{
    pending top = e->heap.data[0];
    e->heap.data[0] = e->heap.data[--e->heap.n];
    for (size_t i = 0;;) {
        size_t first = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2; child++)
            if (child < e->heap.n &&
                is_before(&e->heap.data[child], &e->heap.data[first]))
                first = child;
        if (first == i)
            return top;
        heap_swap(e, i, first);
        i = first;
    }
}

/* -- Nodes ----------------------------------------------------------------- */

/* The expression node of a graph node and map, existing or new, at least at
   `depth`; none when out of memory (recorded). */
static tgi_expr_id find_node(expander *e, tgi_ref node, const tgi_map *map,
                             uint32_t depth)
{
    static const tgi_expr_id none;
    tgi_expr *x = &e->task->expr;
    uint64_t hash = tgi_hash(map, sizeof(*map), node);
    size_t probe = 0;
    tgi_expr_id id;
    while ((id.raw = tgi_index_next(&x->index, hash, &probe))) {
        tgi_expr_node *known = tgi_expr_at(x, id);
        if (known->node != node || memcmp(&known->map, map, sizeof(*map)) != 0)
            continue;
        if (known->depth >= depth)
            return id;
        known->depth = depth;
        return heap_push(e, id) ? id : none;
    }
    id = tgi_expr_id_from(x->nodes.n);
    tgi_expr_node new = {.node = node, .depth = depth, .map = *map};
    if (!tgi_vec_push(&x->nodes, new) ||
        !tgi_index_add(&x->index, hash, id.raw)) {
        tgi_error_memory();
        return none;
    }
    return heap_push(e, id) ? id : none;
}

static bool add_operand(expander *e, tgi_expr_id user, tgi_ref node,
                        const tgi_map *map)
{
    const tgi_expr_id operand =
        find_node(e, tgi_fuse_resolve(e->state, node), map,
                  tgi_expr_at(&e->task->expr, user)->depth);
    tgi_expr_node *u = tgi_expr_at(&e->task->expr, user);
    u->operands[u->n_operands++] = operand;
    return !tgi_expr_id_is_none(operand);
}

/* Adds the starts of a shift, one deeper than the address they shift. */
static bool add_shift_starts(expander *e, tgi_shift_id shift, uint32_t depth)
{
    const tgi_fuse_state *s = e->state;
    while (!tgi_shift_id_is_none(shift)) {
        const tgi_shift *at = &s->shifts.data[tgi_shift_id_index(shift)];
        tgi_map of_start;
        tgi_map_init(s, at->start, &of_start);
        if (tgi_expr_id_is_none(find_node(e, at->start, &of_start, depth + 1)))
            return false;
        shift = at->outer;
    }
    return true;
}

static bool add_node_starts(expander *e, tgi_expr_id id)
{
    const tgi_expr_node user = *tgi_expr_at(&e->task->expr, id);
    for (int32_t axis = 0; axis < user.map.rank; axis++)
        if (!add_shift_starts(e, user.map.axis[axis].shift, user.depth))
            return false;
    return true;
}

/* Operand 0 is the index, operand 1 the data with one GATHERED axis. */
static bool expand_gather(expander *e, tgi_expr_id id)
{
    const tgi_fuse_state *s = e->state;
    tgi_map map = tgi_expr_at(&e->task->expr, id)->map;
    tgi_ref ref = tgi_expr_at(&e->task->expr, id)->node;
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    const tgi_attr_gather *attr = node->attr;
    tgi_ref data = tgi_fuse_resolve(s, node->inputs[0]);
    tgi_ref index = tgi_fuse_resolve(s, node->inputs[1]);

    tgi_map of_index = {.rank = tgi_fuse_rank(s, index)};
    for (int32_t axis = 0; axis < of_index.rank; axis++)
        of_index.axis[axis] = map.axis[attr->axis + axis];
    if (!add_operand(e, id, index, &of_index))
        return false;

    tgi_map of_data = {.rank = tgi_fuse_rank(s, data)};
    of_data.index = tgi_expr_at(&e->task->expr, id)->operands[0];
    for (int32_t axis = 0; axis < of_data.rank; axis++)
        of_data.axis[axis] =
            axis < attr->axis ? map.axis[axis]
            : axis == attr->axis
                ? (tgi_map_axis){.axis = TGI_AXIS_GATHERED, .step = 1}
                : map.axis[axis - 1 + of_index.rank];
    /* An axis of extent 1 needs no index. */
    if (tgi_fuse_extent(s, data, (int)attr->axis) == 1) {
        of_data.axis[attr->axis] = (tgi_map_axis){.axis = TGI_AXIS_NONE};
        of_data.index = (tgi_expr_id){0};
    }
    return add_operand(e, id, data, &of_data);
}

/* Adds the operands of a node. */
static bool expand_node(expander *e, tgi_expr_id id)
{
    const tgi_fuse_state *s = e->state;
    tgi_map map = tgi_expr_at(&e->task->expr, id)->map;
    tgi_ref ref = tgi_expr_at(&e->task->expr, id)->node;
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    tgi_expr_at(&e->task->expr, id)->n_operands = 0;
    if (tgi_fuse_is_empty(s, ref))
        return true;
    if (tgi_expr_node_is_loaded(s, e->task, id))
        return add_node_starts(e, id);
    switch (tgi_op_table[node->op].cls) {
    case TGI_OPCLASS_LEAF:
        return add_node_starts(e, id);
    case TGI_OPCLASS_VIEW: {
        tgi_map through;
        if (!tgi_map_compose(s, ref, &map, &through) &&
            tgi_fuse_force(e->state, ref, "its users cannot index windows"))
            return false;
        return add_operand(e, id, node->inputs[0], &through);
    }
    case TGI_OPCLASS_INDEX: {
        tgi_map through;
        if (node->op == TGI_OP_GATHER)
            return expand_gather(e, id);
        return tgi_map_compose_dynamic(e->state, ref, &map, &through) &&
               add_operand(e, id, node->inputs[0], &through);
    }
    case TGI_OPCLASS_RANDOM: {
        tgi_map of_scalar;
        for (uint32_t i = 0; i < 2; i++) {
            tgi_map_init(s, tgi_fuse_resolve(s, node->inputs[i]), &of_scalar);
            if (!add_operand(e, id, node->inputs[i], &of_scalar))
                return false;
        }
        return add_node_starts(e, id);
    }
    default:
        for (uint32_t i = 0; i < node->n_inputs; i++)
            if (!add_operand(e, id, node->inputs[i], &map))
                return false;
        return true;
    }
}

bool tgi_expr_node_is_loaded(const tgi_fuse_state *s, const tgi_task *task,
                             tgi_expr_id id)
{
    tgi_ref ref = tgi_expr_at(&task->expr, id)->node;
    const tgi_fuse_value *value = &s->values[ref];
    if (tgi_fuse_is_empty(s, ref))
        return false;
    if (value->class == TGI_VALUE_INPUT || value->class == TGI_VALUE_ALIAS)
        return true;
    if (value->class != TGI_VALUE_MATERIALISED)
        return false;
    /* A task computes its own node, except the snapshot of a variable, which
       it loads. */
    return !tgi_task_materialises(task, ref) ||
           tgi_graph_node(s->graph, ref)->op == TGI_OP_READ;
}

/* Reverses the order of visits, keeps the last visit of each node, and sums up
   the cost. */
static void finish_order(const tgi_fuse_state *s, tgi_task *task)
{
    tgi_expr *x = &task->expr;
    task->cost = tgi_cost_of_simple(TGI_COST_STORE);
    for (size_t i = 0; i < x->order.n / 2; i++) {
        const tgi_expr_id first = x->order.data[i];
        x->order.data[i] = x->order.data[x->order.n - 1 - i];
        x->order.data[x->order.n - 1 - i] = first;
    }
    size_t n = 0;
    for (size_t i = 0; i < x->order.n; i++) {
        const tgi_expr_id id = x->order.data[i];
        if (tgi_expr_at(x, id)->is_ordered)
            continue;
        tgi_expr_at(x, id)->is_ordered = true;
        x->order.data[n++] = id;
        if (!tgi_expr_node_is_loaded(s, task, id))
            task->cost = tgi_cost_add(
                task->cost, s->values[tgi_expr_at(x, id)->node].node_cost);
    }
    x->order.n = n;
}

/* The roots of a task's expression. */
static void find_roots(tgi_task *task, tgi_expr_root *out_roots[2])
{
    out_roots[0] = &task->value;
    out_roots[1] = tgi_task_is_reduction(task)      ? &task->reduce.rhs
                   : task->kind == TGI_TASK_SCATTER ? &task->scatter.indices
                   : task->kind == TGI_TASK_SCAN    ? &task->scan.addend
                                                    : NULL;
}

tg_status tgi_fuse_build_expr(tgi_fuse_state *s, tgi_task *task)
{
    expander e = {.state = s, .task = task};
    tgi_expr *x = &task->expr;
    tg_status status = TG_OK;
    tgi_expr_root *roots[2];
    find_roots(task, roots);
    for (int i = 0; i < 2 && !status; i++) {
        if (!roots[i] || !roots[i]->node)
            continue;
        roots[i]->id = find_node(&e, roots[i]->node, &roots[i]->map, 0);
        if (tgi_expr_id_is_none(roots[i]->id))
            status = TG_ERROR_OUT_OF_MEMORY;
    }
    if (!status && !add_shift_starts(&e, task->target.shift, 0))
        status = TG_ERROR_OUT_OF_MEMORY;
    while (!status && e.heap.n) {
        const pending next = heap_pop(&e);
        if (next.depth != tgi_expr_at(x, next.id)->depth)
            continue;
        if (!expand_node(&e, next.id))
            status = TG_ERROR_OUT_OF_MEMORY;
        else if (!tgi_vec_push(&x->order, next.id))
            status = tgi_error_memory();
    }
    finish_order(s, task);
    tgi_vec_deinit(&e.heap);
    return status;
}

/* -- Addresses ------------------------------------------------------------- */

static tgi_stride scaled_stride(const tgi_fuse_state *s, tgi_dim stride,
                                int64_t step)
{
    return (tgi_stride){tgi_dim_mul(s->dims, stride, step < 0 ? -step : step),
                        step < 0};
}

bool tgi_fuse_leaf_access(tgi_fuse_state *s, const tgi_expr_node *node,
                          tgi_access *out_access)
{
    tgi_dim strides[TG_MAX_RANK];
    tgi_fuse_strides(s, node->node, strides);
    *out_access = (tgi_access){0};
    for (int32_t axis = 0; axis < node->map.rank; axis++) {
        const tgi_map_axis *at = &node->map.axis[axis];
        out_access->offset =
            tgi_dim_add(s->dims, out_access->offset,
                        tgi_dim_mul(s->dims, at->start, strides[axis]));
        if (out_access->offset == TGI_DIM_NONE)
            return false;
        if (at->window_step != 0) {
            const tgi_stride stride =
                scaled_stride(s, strides[axis], at->window_step);
            if (stride.distance == TGI_DIM_NONE)
                return false;
            out_access->stride[at->window] = stride;
        }
        if (at->axis == TGI_AXIS_NONE || at->step == 0)
            continue; /* shifts are added by loop_builder.c */
        const tgi_stride stride = scaled_stride(s, strides[axis], at->step);
        if (stride.distance == TGI_DIM_NONE)
            return false;
        if (at->axis == TGI_AXIS_GATHERED) {
            out_access->index = node->map.index.raw;
            out_access->index_stride = stride;
        } else {
            out_access->stride[at->axis] = stride;
        }
    }
    return true;
}
