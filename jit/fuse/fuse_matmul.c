/* SPDX-License-Identifier: MIT */
/*
 * fuse_matmul.c - tasks of matrix products. A product goes over rows and
 * columns of its result, with k as its inner axis. It wants k of its first
 * side along memory, and columns of its second; what is large, used again and
 * again, and lies otherwise is stored another way first, by a task of its own:
 *
 *   the first side   row by row
 *   the second side  by slivers (loops.h), each of which is read from end to
 *                    end; also if it is only large
 *
 * Where one side is a vector, and k is the last axis of the other, it is a
 * sum of products along rows (docs/NUMERICS.md).
 */
#include "base/error.h"
#include "fuse/fuse_buffer.h"
#include "fuse/fuse_task.h"
#include "fuse/fuse_value.h"
#include "loop/explain.h"
#include "tgjit/ops.h"

enum {
    /* Bytes of a first side that stays near enough as it is, and columns for
       which it is worth to store it again. */
    NEAR_ROWS_BYTES = 32 << 10,
    MANY_COLUMNS = 64,
    /* The same of a second side, and rows: for fewer, the product itself
       copies what it needs (llvm_matmul.c). Measured with 128 rows: 64 KB are
       4 % faster as they are, 256 KB 20 % slower. */
    NEAR_COLUMNS_BYTES = 128 << 10,
    MANY_ROWS = 128,
    /* What is packed of a variable that only other calls change is kept from
       call to call: so much of each, and also for few rows. */
    MOST_KEPT_BYTES = 64 << 20,
    FEW_ROWS = 4
};

/* One side: its axis of rows or columns of the result, and that of k. */
typedef struct side {
    tgi_ref ref;
    int rank, kept, inner;
    int result_axis; /* of the kept axis, counted from the end */
} side;

/* A product as its node has it. */
typedef struct product {
    tgi_ref node;
    side a, b;
    tgi_dim m, n, k;
    int64_t bytes; /* of an element */
    bool is_dot;
} product;

static side side_of(const tgi_fuse_state *s, tgi_ref ref, int kept, int inner,
                    int result_axis)
{
    side x = {.ref = tgi_fuse_resolve(s, ref), .result_axis = result_axis};
    x.rank = tgi_fuse_rank(s, x.ref);
    x.kept = x.rank - kept;
    x.inner = x.rank - inner;
    return x;
}

static product product_of(const tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    int64_t flags = ((const tgi_attr_matmul *)node->attr)->flags;
    int a_flip = (flags & TG_TRANSPOSE_A) != 0;
    int b_flip = (flags & TG_TRANSPOSE_B) != 0;
    int rank = tgi_fuse_rank(s, ref);
    product p = {
        .node = ref,
        .a = side_of(s, node->inputs[0], 2 - a_flip, 1 + a_flip, 2),
        .b = side_of(s, node->inputs[1], 1 + b_flip, 2 - b_flip, 1),
        .m = tgi_fuse_extent(s, ref, rank - 2),
        .n = tgi_fuse_extent(s, ref, rank - 1),
        .bytes = tgi_dtype_bytes((tg_dtype)node->dtype),
    };
    p.k = tgi_fuse_extent(s, p.a.ref, p.a.inner);
    p.is_dot = (p.n == 1 && !a_flip) || (p.m == 1 && b_flip);
    return p;
}

/* -- How sides lie --------------------------------------------------------- */

/* The map of a side to the loops of the product, whose inner axis is that of
   number `inner`. */
static void map_side(const tgi_fuse_state *s, const product *p, const side *x,
                     int32_t inner, tgi_map *out_map)
{
    tgi_map of_result;
    tgi_map_init(s, p->node, &of_result);
    tgi_map_init(s, x->ref, out_map);
    for (int axis = 0; axis < x->rank; axis++) {
        if (out_map->axis[axis].axis == TGI_AXIS_NONE)
            continue;
        const int from_end = axis == x->kept ? x->result_axis : x->rank - axis;
        out_map->axis[axis].axis =
            axis == x->inner ? inner
                             : of_result.axis[of_result.rank - from_end].axis;
    }
}

/* True if an axis of a value goes through memory in steps of one element, as
   far as it is easy to tell. */
static bool lies_along(const tgi_fuse_state *s, tgi_ref ref, int axis)
{
    while (s->values[ref].class == TGI_VALUE_INLINED) {
        const tgi_node *node = tgi_graph_node(s->graph, ref);
        if (node->op == TGI_OP_TRANSPOSE)
            axis = (int)((const tgi_attr_perm *)node->attr)->perm[axis];
        else if (node->op != TGI_OP_SLICE && node->op != TGI_OP_DYNAMIC_SLICE)
            return false;
        ref = tgi_fuse_resolve(s, node->inputs[0]);
    }
    return axis == tgi_fuse_rank(s, ref) - 1;
}

static bool is_below(tgi_dim dim, int64_t n)
{
    return tgi_dim_is_known(dim) && dim < n;
}

/* True if rows * columns elements are known to be so few bytes. */
static bool is_near(const product *p, tgi_dim rows, tgi_dim columns,
                    int64_t bytes)
{
    return tgi_dim_is_known(rows) && tgi_dim_is_known(columns) &&
           (rows == 0 || columns <= bytes / p->bytes / rows);
}

/* Extents that are not known may be large. */
static bool should_lay_rows(const tgi_fuse_state *s, const product *p)
{
    return !lies_along(s, p->a.ref, p->a.inner) &&
           !is_near(p, p->m, p->k, NEAR_ROWS_BYTES) && !is_below(p->m, 2) &&
           !is_below(p->n, MANY_COLUMNS);
}

/* The parameter of the variable that an operand is a view of, if this graph
   does not write it; else -1. */
static int64_t unwritten_variable(const tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    while (s->values[ref].class == TGI_VALUE_INLINED) {
        if (node->op != TGI_OP_TRANSPOSE && node->op != TGI_OP_SLICE)
            return -1;
        ref = tgi_fuse_resolve(s, node->inputs[0]);
        node = tgi_graph_node(s->graph, ref);
    }
    if (s->values[ref].class != TGI_VALUE_INPUT || node->op != TGI_OP_READ)
        return -1;
    const size_t param = tgi_fuse_param(s, node->inputs[0]);
    return s->graph->params.data[param].is_written ? -1 : (int64_t)param;
}

static bool can_keep(const tgi_fuse_state *s, const product *p)
{
    return unwritten_variable(s, p->b.ref) >= 0 &&
           is_near(p, p->n, p->k, MOST_KEPT_BYTES) &&
           tgi_domain_of(s, p->b.ref).n == 2;
}

static bool should_pack(const tgi_fuse_state *s, const product *p)
{
    return !is_below(p->n, TGI_PANEL_ROW_BYTES / p->bytes) &&
           !is_below(p->m, can_keep(s, p) ? FEW_ROWS : MANY_ROWS + 1) &&
           !(lies_along(s, p->b.ref, p->b.kept) &&
             is_near(p, p->n, p->k, NEAR_COLUMNS_BYTES));
}

/* -- Storing sides another way --------------------------------------------- */

/* Begins a task that stores a side: its outer axes are those of the batch and
   the kept one, its inner axis is k. */
static tgi_task begin_side(const tgi_fuse_state *s, const product *p,
                           const side *x, int kind)
{
    tgi_task task = {.kind = (uint8_t)kind,
                     .node = x->ref,
                     .inner = {1, {p->k}},
                     .vectors = TGI_COLUMNS,
                     .value.node = x->ref};
    tgi_map_init(s, x->ref, &task.value.map);
    for (int axis = 0; axis < x->rank; axis++) {
        if (task.value.map.axis[axis].axis == TGI_AXIS_NONE ||
            axis == x->inner || axis == x->kept)
            continue;
        task.value.map.axis[axis].axis = task.outer.n;
        task.outer.extent[task.outer.n++] = tgi_fuse_extent(s, x->ref, axis);
    }
    task.value.map.axis[x->kept].axis = task.outer.n;
    task.outer.extent[task.outer.n++] = tgi_fuse_extent(s, x->ref, x->kept);
    task.value.map.axis[x->inner].axis = task.outer.n;
    return task;
}

/* Gives a task a buffer: matrices of `size` elements, one for each point of
   the batch. */
static bool give_buffer(tgi_fuse_state *s, const side *x, tgi_task *task,
                        tgi_dim size)
{
    for (int axis = task->outer.n - 2; axis >= 0; axis--) {
        task->target.stride[axis].distance = size;
        size = tgi_dim_mul(s->dims, size, task->outer.extent[axis]);
    }
    task->target.buffer = tgi_fuse_add_buffer(
        s, (tgi_loop_buffer){.place = TGI_PLACE_TEMP,
                             .dtype = tgi_fuse_dtype(s, x->ref),
                             .node = x->ref,
                             .count = size});
    return !tgi_buffer_id_is_none(task->target.buffer);
}

/* How the loops of the product go through what a task stores. */
static void set_strides(const tgi_fuse_state *s, const product *p,
                        const side *x, const tgi_task *task, int32_t inner,
                        tgi_stride *out_strides)
{
    tgi_map map;
    map_side(s, p, x, inner, &map);
    for (int axis = 0; axis < x->rank; axis++)
        if (map.axis[axis].axis != TGI_AXIS_NONE)
            out_strides[map.axis[axis].axis] =
                task->target.stride[task->value.map.axis[axis].axis];
}

/* All axes of a task that stores are outer ones, in the order of memory. */
static tg_status lay_rows(tgi_fuse_state *s, const product *p,
                          tgi_task *product_task)
{
    tgi_task task = begin_side(s, p, &p->a, TGI_TASK_MAP);
    const int kept = task.outer.n - 1;
    /* A line between rows, so that they never alias. */
    tgi_dim row = tgi_dim_add(s->dims, p->k, TGI_PANEL_ROW_BYTES / p->bytes);
    task.target.stride[kept].distance = row;
    task.target.stride[kept + 1].distance = 1;
    if (!give_buffer(s, &p->a, &task, tgi_dim_mul(s->dims, p->m, row)))
        return tg_error_last()->status;
    task.vectors = TGI_ROWS;
    task.outer.extent[task.outer.n++] = p->k;
    task.inner.n = 0;
    product_task->reduce.source.buffer = task.target.buffer;
    set_strides(s, p, &p->a, &task, product_task->outer.n,
                product_task->reduce.source.stride);
    tgi_explain_node(s->explain, s->graph, p->a.ref,
                     "laid out row by row for a product");
    return tgi_fuse_add_task(s, &task);
}

static tg_status pack_columns(tgi_fuse_state *s, const product *p,
                              tgi_task *product_task)
{
    const int64_t sliver = TGI_PANEL_ROW_BYTES / p->bytes;
    tgi_dim size = tgi_dim_mul(s->dims, p->k, sliver);
    tgi_task task = begin_side(s, p, &p->b, TGI_TASK_PACK);
    task.pack = (tgi_task_pack){.panel_width = (uint32_t)sliver};
    product_task->reduce.panel_width = (uint32_t)sliver;
    task.target.stride[task.outer.n - 1].distance = size;
    task.target.stride[task.outer.n].distance = sliver;
    tgi_dim slivers =
        tgi_dim_div(s->dims, tgi_dim_add(s->dims, p->n, sliver - 1), sliver);
    if (!give_buffer(s, &p->b, &task, tgi_dim_mul(s->dims, size, slivers)))
        return tg_error_last()->status;
    if (can_keep(s, p) && !s->bound_params) {
        task.pack.is_memoised = true;
        task.pack.memo_param = (uint32_t)unwritten_variable(s, p->b.ref);
    }
    product_task->reduce.packed.buffer = task.target.buffer;
    set_strides(s, p, &p->b, &task, product_task->outer.n,
                product_task->reduce.packed.stride);
    tgi_explain_node(s->explain, s->graph, p->b.ref, "packed for a product");
    return tgi_fuse_add_task(s, &task);
}

/* -- Products -------------------------------------------------------------- */

static bool has_tiles(const product *p)
{
    return !p->is_dot && p->bytes >= 4 && p->k != 0 && p->k != 1;
}

bool tgi_fuse_packs_rhs(const tgi_fuse_state *s, tgi_ref ref)
{
    const product p = product_of(s, ref);
    return has_tiles(&p) && !is_below(p.n, TGI_PANEL_ROW_BYTES / p.bytes) &&
           !is_below(p.m, MANY_ROWS + 1);
}

tg_status tgi_fuse_add_matmul(tgi_fuse_state *s, tgi_ref ref)
{
    const product p = product_of(s, ref);
    tgi_task task = {.kind = TGI_TASK_REDUCE,
                     .node = ref,
                     .outer = tgi_domain_of(s, ref),
                     .vectors = p.is_dot ? TGI_ROWS : TGI_COLUMNS,
                     .reduce.op = TGI_OP_MATMUL};
    tgi_domain_dense_strides(s, &task.outer, task.target.stride);
    if (!p.is_dot)
        tgi_domain_ensure_lanes(&task.outer);
    if (p.k != 1)
        task.inner = (tgi_domain){1, {p.k}};

    if (has_tiles(&p) && should_lay_rows(s, &p)) {
        TGI_TRY(lay_rows(s, &p, &task));
    } else {
        task.value.node = p.a.ref;
        map_side(s, &p, &p.a, task.outer.n, &task.value.map);
    }
    if (has_tiles(&p) && should_pack(s, &p)) {
        TGI_TRY(pack_columns(s, &p, &task));
    } else {
        task.reduce.rhs.node = p.b.ref;
        map_side(s, &p, &p.b, task.outer.n, &task.reduce.rhs.map);
    }
    return tgi_fuse_add_task(s, &task);
}
