/* SPDX-License-Identifier: MIT */
/*
 * fuse_product.c - tasks of matrix products. A product goes over rows and
 * columns of its result, with k as its inner axis. If its second side is
 * large, or its columns do not lie side by side, another task packs it
 * first: by slivers (loops.h), each of which is read from end to end.
 *
 * Where one side is a vector, and k is the last axis of the other, it is a
 * sum of products along rows (docs/NUMERICS.md).
 */
#include "error.h"
#include "fuse_state.h"
#include "tgjit/ops.h"

enum {
    /* Bytes of a side that stays near enough without being packed. Measured:
       64 KB are 4 % faster as they are, 256 KB 20 % slower. */
    NEAR_BYTES = 128 << 10,
    /* Rows for which it is worth to pack that much … */
    SOME_ROWS = 24,
    /* … or what lies across. */
    FEW_ROWS = 4,
    /* Steps of a product that is done before anything is packed. */
    FEW_STEPS = 2048
};

/* A product as its node has it. */
typedef struct product {
    tgi_ref node, a, b;
    bool a_flip, b_flip;
    int rank, a_rank, b_rank;
    tgi_dim m, n, k;
} product;

static product product_of(const tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    int64_t flags = ((const tgi_attr_matmul *)node->attr)->flags;
    product p = {.node = ref,
                 .a = tgi_fuse_same(s, node->inputs[0]),
                 .b = tgi_fuse_same(s, node->inputs[1]),
                 .a_flip = (flags & TG_TRANSPOSE_A) != 0,
                 .b_flip = (flags & TG_TRANSPOSE_B) != 0};
    p.rank = tgi_fuse_rank(s, ref);
    p.a_rank = tgi_fuse_rank(s, p.a);
    p.b_rank = tgi_fuse_rank(s, p.b);
    p.m = tgi_fuse_extent(s, ref, p.rank - 2);
    p.n = tgi_fuse_extent(s, ref, p.rank - 1);
    p.k = tgi_fuse_extent(s, p.a, p.a_rank - 1 - p.a_flip);
    return p;
}

static int row_of_b(const product *p)
{
    return p->b_rank - 2 + p->b_flip;
}

/* -- Maps ------------------------------------------------------------------ */

/* The map of one side of a product: `row` and `column` are its axes of the
   result's rows (or columns) and of k; `kept` is the axis of the result. */
static void map_side(const tgi_fuse_state *s, tgi_ref side, tgi_ref out,
                     int row, int column, int kept, int64_t inner,
                     tgi_map *out_map)
{
    tgi_map of_out;
    tgi_map_init(s, out, &of_out);
    tgi_map_init(s, side, out_map);
    int missing = (int)(of_out.rank - out_map->rank);
    for (int axis = 0; axis < out_map->rank; axis++) {
        if (out_map->axis[axis].axis == TGI_STILL)
            continue;
        out_map->axis[axis].axis =
            axis == column ? inner
                           : of_out.axis[axis == row ? kept : axis + missing]
                                 .axis;
    }
}

/* -- Packing --------------------------------------------------------------- */

/* True if columns of the second side lie side by side in memory. */
static bool lies_along(const tgi_fuse_state *s, const product *p)
{
    const int how = s->values[p->b].how;
    return !p->b_flip && (how == TGI_FUSE_GIVEN || how == TGI_FUSE_STORED ||
                          how == TGI_FUSE_ALIAS);
}

static int64_t bytes_of(const tgi_fuse_state *s, const product *p)
{
    return tgi_dtype_bytes(
        (tg_dtype)tgi_graph_node(s->graph, p->node)->dtype);
}

/* Extents that are not known may be large. */
static bool should_pack(const tgi_fuse_state *s, const product *p)
{
    const bool is_known = tgi_dim_is_known(p->n) && tgi_dim_is_known(p->k);
    const int64_t bytes = bytes_of(s, p);
    const bool is_along = lies_along(s, p);
    if (bytes < 4 || p->k == 0 || p->k == 1 ||
        (tgi_dim_is_known(p->n) && p->n < TGI_SLIVER_BYTES / bytes) ||
        (tgi_dim_is_known(p->m) &&
         p->m < (is_along ? SOME_ROWS : FEW_ROWS)))
        return false;
    if (!is_known)
        return true;
    return is_along ? p->k * bytes > NEAR_BYTES / p->n
                    : !tgi_dim_is_known(p->m) ||
                          p->m * p->n > FEW_STEPS / p->k;
}

/* Adds the task that packs, and lets the product read what it stores. */
static tg_status add_pack(tgi_fuse_state *s, const product *p,
                          tgi_task *task)
{
    const int64_t sliver = TGI_SLIVER_BYTES / bytes_of(s, p);
    const int row = row_of_b(p);
    const int column = p->b_rank - 1 - p->b_flip;
    tgi_map of_product;
    tgi_task pack = {.kind = TGI_TASK_PACK,
                     .node = p->b,
                     .value = p->b,
                     .vectors = TGI_COLUMNS,
                     .inner = {1, {p->k}},
                     .sliver = (uint32_t)sliver};
    map_side(s, p->b, p->node, column, row, p->rank - 1, task->outer.n,
             &of_product);
    tgi_map_init(s, p->b, &pack.map);

    /* Its outer axes: those of the batch, then the columns. */
    int64_t axis_of[TG_MAX_RANK];
    for (int axis = 0; axis < p->b_rank; axis++) {
        if (pack.map.axis[axis].axis == TGI_STILL || axis == row ||
            axis == column)
            continue;
        axis_of[axis] = pack.outer.n;
        pack.outer.extent[pack.outer.n++] = tgi_fuse_extent(s, p->b, axis);
    }
    axis_of[column] = pack.outer.n;
    pack.outer.extent[pack.outer.n++] = p->n;
    axis_of[row] = pack.outer.n;

    /* Slivers of a matrix, each with all of k; then the next matrix. */
    tgi_dim size = tgi_dim_mul(s->dims, p->k, sliver);
    pack.stride[axis_of[row]].distance = sliver;
    pack.stride[axis_of[column]].distance = size;
    size = tgi_dim_mul(
        s->dims, size,
        tgi_dim_div(s->dims, tgi_dim_add(s->dims, p->n, sliver - 1), sliver));
    for (int axis = p->b_rank - 1; axis >= 0; axis--) {
        if (pack.map.axis[axis].axis == TGI_STILL)
            continue;
        pack.map.axis[axis].axis = axis_of[axis];
        if (axis == row || axis == column)
            continue;
        pack.stride[axis_of[axis]].distance = size;
        size = tgi_dim_mul(s->dims, size, tgi_fuse_extent(s, p->b, axis));
    }
    for (int axis = 0; axis < p->b_rank; axis++)
        if (of_product.axis[axis].axis != TGI_STILL)
            task->packed_stride[of_product.axis[axis].axis] =
                pack.stride[axis_of[axis]];
    pack.buffer = tgi_fuse_add_buffer(
        s, (tgi_loop_buffer){.place = TGI_PLACE_TEMP,
                             .dtype = tgi_graph_node(s->graph, p->b)->dtype,
                             .node = p->b,
                             .count = size});
    if (!pack.buffer)
        return tg_error_last()->status;
    task->packed = pack.buffer;
    task->sliver = pack.sliver;
    tgi_fuse_explain(s, p->b, "packed for a product");
    return tgi_fuse_add_task(s, &pack);
}

/* -- Products -------------------------------------------------------------- */

tg_status tgi_fuse_add_product(tgi_fuse_state *s, tgi_ref ref)
{
    const product p = product_of(s, ref);
    const bool is_dot =
        (p.n == 1 && !p.a_flip) || (p.m == 1 && p.b_flip);
    tgi_task task = {.kind = TGI_TASK_REDUCE,
                     .node = ref,
                     .op = TGI_OP_MATMUL,
                     .value = p.a,
                     .outer = tgi_domain_of(s, ref),
                     .vectors = is_dot ? TGI_ROWS : TGI_COLUMNS};
    tgi_fuse_set_dense(s, &task.outer, task.stride);
    if (!is_dot && task.outer.n == 0)
        task.outer = (tgi_domain){1, {1}};
    if (p.k != 1)
        task.inner = (tgi_domain){1, {p.k}};
    map_side(s, p.a, ref, p.a_rank - 2 + p.a_flip, p.a_rank - 1 - p.a_flip,
             p.rank - 2, task.outer.n, &task.map);
    if (!is_dot && should_pack(s, &p)) {
        TGI_TRY(add_pack(s, &p, &task));
        return tgi_fuse_add_task(s, &task);
    }
    task.other = p.b;
    map_side(s, p.b, ref, p.b_rank - 1 - p.b_flip, row_of_b(&p), p.rank - 1,
             task.outer.n, &task.other_map);
    return tgi_fuse_add_task(s, &task);
}
