/* SPDX-License-Identifier: MIT */
/*
 * fuse_matmul.c - the tasks of a matmul. Its outer axes are the rows and
 * columns of the result, its inner axis is k. The micro-kernel wants k
 * contiguous in the first operand (A), and columns contiguous in the second
 * (B). An operand that is large, reused and laid out otherwise is stored again
 * first, by a separate task:
 *
 *   A  row by row
 *   B  in packed panels (loops.h), read contiguously; also if it is only large
 *
 * If one operand is a vector and k is the last axis of the other, the matmul is
 * a dot product along rows (docs/NUMERICS.md).
 */
#include "base/error.h"
#include "fuse/fuse_buffer.h"
#include "fuse/fuse_task.h"
#include "fuse/fuse_value.h"
#include "loop/explain.h"
#include "tgjit/ops.h"

enum {
    /* A is not copied if it has at most so many bytes, or if there are fewer
       columns. */
    MAX_UNCOPIED_A_BYTES = 32 << 10,
    MIN_COPY_COLUMNS = 64,
    /* The same for B, and rows: for fewer, the matmul itself packs what it
       needs (llvm_matmul.c). Measured with 128 rows: unpacked, 64 KiB are 4 %
       faster, 256 KiB 20 % slower. */
    MAX_UNPACKED_B_BYTES = 128 << 10,
    MIN_PACK_ROWS = 128,
    /* Memoised panels pay from fewer rows on. */
    MIN_MEMO_ROWS = 4
};

/* An operand: its axis that is an axis of the result, and that of k. */
typedef struct operand {
    tgi_ref ref;
    int rank, outer, inner;
    int result_axis; /* that `outer` is, counted from the end */
} operand;

/* A MATMUL node. */
typedef struct matmul {
    tgi_ref node;
    operand a, b;
    tgi_dim m, n, k;
    int64_t bytes; /* of an element */
    bool is_dot, is_bytes;
} matmul;

static operand operand_of(const tgi_fuse_state *s, tgi_ref ref, int outer,
                          int inner, int result_axis)
{
    operand x = {.ref = tgi_fuse_resolve(s, ref), .result_axis = result_axis};
    x.rank = tgi_fuse_rank(s, x.ref);
    x.outer = x.rank - outer;
    x.inner = x.rank - inner;
    return x;
}

static matmul matmul_of(const tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    int64_t flags = ((const tgi_attr_matmul *)node->attr)->flags;
    int a_flip = (flags & TG_TRANSPOSE_A) != 0;
    int b_flip = (flags & TG_TRANSPOSE_B) != 0;
    int rank = tgi_fuse_rank(s, ref);
    matmul p = {
        .node = ref,
        .a = operand_of(s, node->inputs[0], 2 - a_flip, 1 + a_flip, 2),
        .b = operand_of(s, node->inputs[1], 1 + b_flip, 2 - b_flip, 1),
        .m = tgi_fuse_extent(s, ref, rank - 2),
        .n = tgi_fuse_extent(s, ref, rank - 1),
        .bytes = tgi_dtype_bytes((tg_dtype)node->dtype),
        .is_bytes = (flags & TG_MATMUL_BYTES) != 0,
    };
    p.k = tgi_fuse_extent(s, p.a.ref, p.a.inner);
    p.is_dot = (p.n == 1 && !a_flip) || (p.m == 1 && b_flip);
    return p;
}

/* -- Layout of operands ---------------------------------------------------- */

/* The map of an operand to the loops of the matmul, whose inner axis is number
   `inner`. */
static void map_operand(const tgi_fuse_state *s, const matmul *p,
                        const operand *x, int32_t inner, tgi_map *out_map)
{
    tgi_map of_result;
    tgi_map_init(s, p->node, &of_result);
    tgi_map_init(s, x->ref, out_map);
    for (int axis = 0; axis < x->rank; axis++) {
        if (out_map->axis[axis].axis == TGI_AXIS_NONE)
            continue;
        const int from_end = axis == x->outer ? x->result_axis : x->rank - axis;
        out_map->axis[axis].axis =
            axis == x->inner ? inner
                             : of_result.axis[of_result.rank - from_end].axis;
    }
}

/* True if an axis of a value is contiguous in memory, as far as views tell. */
static bool is_contiguous_along(const tgi_fuse_state *s, tgi_ref ref, int axis)
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

static bool is_known_below(tgi_dim dim, int64_t n)
{
    return tgi_dim_is_known(dim) && dim < n;
}

/* True if rows * columns elements are known to be at most so many bytes. */
static bool fits_in(const matmul *p, tgi_dim rows, tgi_dim columns,
                    int64_t bytes)
{
    return tgi_dim_is_known(rows) && tgi_dim_is_known(columns) &&
           (rows == 0 || columns <= bytes / p->bytes / rows);
}

/* Unknown extents count as large. */
static bool should_copy_rows(const tgi_fuse_state *s, const matmul *p)
{
    return !is_contiguous_along(s, p->a.ref, p->a.inner) &&
           !fits_in(p, p->m, p->k, MAX_UNCOPIED_A_BYTES) &&
           !is_known_below(p->m, 2) && !is_known_below(p->n, MIN_COPY_COLUMNS);
}

static bool can_memoise(const tgi_fuse_state *s, const matmul *p)
{
    return tgi_fuse_unwritten_variable(s, p->b.ref) >= 0 &&
           fits_in(p, p->n, p->k, TGI_MAX_MEMO_BYTES) &&
           tgi_domain_of(s, p->b.ref).n == 2;
}

static bool should_pack(const tgi_fuse_state *s, const matmul *p)
{
    return !is_known_below(p->n, TGI_PANEL_ROW_BYTES / p->bytes) &&
           !is_known_below(p->m, can_memoise(s, p) ? MIN_MEMO_ROWS
                                                   : MIN_PACK_ROWS + 1) &&
           !(is_contiguous_along(s, p->b.ref, p->b.outer) &&
             fits_in(p, p->n, p->k, MAX_UNPACKED_B_BYTES));
}

/* -- Copies of operands ---------------------------------------------------- */

/* A task that stores an operand: its outer axes are those of the batch and
   `outer`, its inner axis is k. */
static tgi_task begin_copy(const tgi_fuse_state *s, const matmul *p,
                           const operand *x, int kind)
{
    tgi_task task = {.kind = (uint8_t)kind,
                     .node = x->ref,
                     .user = p->node,
                     .inner = {1, {p->k}},
                     .vectors = TGI_COLUMNS,
                     .value.node = x->ref};
    tgi_map_init(s, x->ref, &task.value.map);
    for (int axis = 0; axis < x->rank; axis++) {
        if (task.value.map.axis[axis].axis == TGI_AXIS_NONE ||
            axis == x->inner || axis == x->outer)
            continue;
        task.value.map.axis[axis].axis = task.outer.n;
        task.outer.extent[task.outer.n++] = tgi_fuse_extent(s, x->ref, axis);
    }
    task.value.map.axis[x->outer].axis = task.outer.n;
    task.outer.extent[task.outer.n++] = tgi_fuse_extent(s, x->ref, x->outer);
    task.value.map.axis[x->inner].axis = task.outer.n;
    return task;
}

/* The strides of a copy along the loops of the matmul. */
static void find_copy_strides(const tgi_fuse_state *s, const matmul *p,
                              const operand *x, const tgi_task *task,
                              int32_t inner, tgi_stride *out_strides)
{
    tgi_map map;
    map_operand(s, p, x, inner, &map);
    for (int axis = 0; axis < x->rank; axis++)
        if (map.axis[axis].axis != TGI_AXIS_NONE)
            out_strides[map.axis[axis].axis] =
                task->target.stride[task->value.map.axis[axis].axis];
}

/* Stores A row by row. All axes of the task are outer, in memory order. */
static tg_status copy_rows(tgi_fuse_state *s, const matmul *p,
                           tgi_task *matmul_task)
{
    tgi_task task = begin_copy(s, p, &p->a, TGI_TASK_MAP);
    const int outer = task.outer.n - 1;
    /* A cache line between rows, so that they map to different sets. */
    tgi_dim row = tgi_dim_add(s->dims, p->k, TGI_PANEL_ROW_BYTES / p->bytes);
    task.target.stride[outer].distance = row;
    task.target.stride[outer + 1].distance = 1;
    if (!tgi_fuse_set_copy_buffer(s, &task, tgi_dim_mul(s->dims, p->m, row)))
        return tg_error_last()->status;
    task.vectors = TGI_ROWS;
    task.outer.extent[task.outer.n++] = p->k;
    task.inner.n = 0;
    matmul_task->reduce.source.buffer = task.target.buffer;
    find_copy_strides(s, p, &p->a, &task, matmul_task->outer.n,
                      matmul_task->reduce.source.stride);
    tgi_explain_node(s->explain, s->graph, p->a.ref,
                     "copied row by row for a matmul");
    return tgi_fuse_add_task(s, &task);
}

static tg_status pack_rhs(tgi_fuse_state *s, const matmul *p,
                          tgi_task *matmul_task)
{
    tgi_task task = begin_copy(s, p, &p->b, TGI_TASK_PACK);
    if (!tgi_fuse_set_panels(s, &task))
        return tg_error_last()->status;
    matmul_task->reduce.panel_width = task.pack.panel_width;
    matmul_task->reduce.packed.buffer = task.target.buffer;
    find_copy_strides(s, p, &p->b, &task, matmul_task->outer.n,
                      matmul_task->reduce.packed.stride);
    tgi_explain_node(s->explain, s->graph, p->b.ref, "packed for a matmul");
    return tgi_fuse_add_task(s, &task);
}

/* -- Matmuls --------------------------------------------------------------- */

static bool uses_micro_kernel(const matmul *p)
{
    return !p->is_dot && p->bytes >= 4 && p->k != 0 && p->k != 1;
}

bool tgi_fuse_packs_rhs(const tgi_fuse_state *s, tgi_ref ref)
{
    const matmul p = matmul_of(s, ref);
    return uses_micro_kernel(&p) &&
           !is_known_below(p.n, TGI_PANEL_ROW_BYTES / p.bytes) &&
           !is_known_below(p.m, MIN_PACK_ROWS + 1);
}

tg_status tgi_fuse_add_matmul(tgi_fuse_state *s, tgi_ref ref)
{
    const matmul p = matmul_of(s, ref);
    tgi_task task = {.kind = TGI_TASK_REDUCE,
                     .node = ref,
                     .outer = tgi_domain_of(s, ref),
                     .vectors = p.is_dot ? TGI_ROWS : TGI_COLUMNS,
                     .reduce.op = TGI_OP_MATMUL,
                     .reduce.is_bytes = p.is_bytes};
    tgi_domain_dense_strides(s, &task.outer, task.target.stride);
    if (!p.is_dot)
        tgi_domain_ensure_lanes(&task.outer);
    if (p.k != 1)
        task.inner = (tgi_domain){1, {p.k}};

    if (uses_micro_kernel(&p) && should_copy_rows(s, &p)) {
        TGI_TRY(copy_rows(s, &p, &task));
    } else {
        task.value.node = p.a.ref;
        map_operand(s, &p, &p.a, task.outer.n, &task.value.map);
    }
    if (uses_micro_kernel(&p) && should_pack(s, &p)) {
        TGI_TRY(pack_rhs(s, &p, &task));
    } else {
        task.reduce.rhs.node = p.b.ref;
        map_operand(s, &p, &p.b, task.outer.n, &task.reduce.rhs.map);
    }
    return tgi_fuse_add_task(s, &task);
}
