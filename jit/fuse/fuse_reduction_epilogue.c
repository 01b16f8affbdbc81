/* SPDX-License-Identifier: MIT */
/*
 * fuse_reduction_epilogue.c - reductions of a matmul's result in the matmul's
 * own kernel (loops.h). A task that reduces rows or columns of the result joins
 * the kernel instead of rereading the result. A result that only epilogues read
 * is never stored.
 *
 * The order of a reduction is fixed, so one thread must have all of its
 * elements: whole rows or whole columns. If that leaves threads idle, or if
 * rows do not stay in the cache, two kernels are faster.
 *
 * In a task that reduces columns, the reduced axis comes after those of the
 * result; in the matmul it is the last but one. Its axes are renumbered.
 */
#include "fuse/fuse_kernel.h"
#include "fuse/fuse_straightline.h"
#include "fuse/fuse_value.h"
#include "loop/explain.h"

enum {
    MAX_EPILOGUES = 4, /* of a kernel; each has memory on the stack */
    /* Of all rows of an operand that is reread per panel of columns, with
       UNKNOWN_K elements each if k is unknown. */
    MAX_ROW_BYTES = 512 << 10,
    UNKNOWN_K = 1024,
    SATURATED = 1 << 30
};

/* -- Axes ------------------------------------------------------------------ */

static bool reduces_rows(const tgi_task *task)
{
    return task->vectors == TGI_ROWS;
}

/* The outer axis of the kernel that a task reduces. */
static int reduced_axis(const tgi_fuse_kernel *k, const tgi_task *task)
{
    return k->outer.n - 1 - !reduces_rows(task);
}

/* True if the task reduces over the points of the kernel. */
static bool has_kernel_axes(const tgi_fuse_kernel *k, const tgi_task *task)
{
    const int reduced = reduced_axis(k, task);
    tgi_domain others = {0};
    for (int axis = 0; axis < k->outer.n; axis++)
        if (axis != reduced)
            others.extent[others.n++] = k->outer.extent[axis];
    const tgi_domain inner = {1, {k->outer.extent[reduced]}};
    return tgi_domain_equals(&task->outer, &others) &&
           tgi_domain_equals(&task->inner, &inner);
}

/* From the axes of a reduction of columns to those of the kernel. */
static void swap_last_axes(const tgi_fuse_kernel *k, tgi_map *map)
{
    const int last = k->outer.n - 1;
    for (int64_t i = 0; i < map->rank; i++) {
        if (map->axis[i].axis == last)
            map->axis[i].axis = last - 1;
        else if (map->axis[i].axis == last - 1)
            map->axis[i].axis = last;
    }
}

static tgi_map map_to_kernel(const tgi_fuse_kernel *k, const tgi_task *task,
                             const tgi_map *map)
{
    tgi_map renumbered = *map;
    if (!reduces_rows(task))
        swap_last_axes(k, &renumbered);
    return renumbered;
}

/* -- Operands of the matmul ------------------------------------------------ */

static bool moves_along(const tgi_expr_node *expr_node, int64_t axis)
{
    for (int64_t i = 0; i < expr_node->map.rank; i++)
        if (expr_node->map.axis[i].axis == axis &&
            expr_node->map.axis[i].step != 0)
            return true;
    return false;
}

static bool moves(const tgi_expr_node *expr_node)
{
    for (int64_t i = 0; i < expr_node->map.rank; i++)
        if (expr_node->map.axis[i].axis != TGI_AXIS_NONE &&
            expr_node->map.axis[i].step != 0)
            return true;
    return false;
}

/* The one load, besides kernel-invariant values, that an operand is computed
   from; NULL: there are several, or another kind of node. */
static const tgi_expr_node *leaf_of(const tgi_fuse_state *s,
                                    const tgi_task *task, tgi_expr_id root)
{
    const tgi_expr *x = &task->expr;
    while (!tgi_expr_node_is_loaded(s, task, root)) {
        const tgi_expr_node *user = tgi_expr_at(x, root);
        const tgi_node *node = tgi_graph_node(s->graph, user->node);
        tgi_expr_id next = {0};
        if (!tgi_op_is_elementwise(node->op) && !tgi_fuse_is_view(node))
            return NULL;
        for (uint32_t i = 0; i < user->n_operands; i++) {
            const tgi_expr_id operand = user->operands[i];
            if (tgi_expr_id_equals(operand, next) ||
                !moves(tgi_expr_at(x, operand)))
                continue;
            if (!tgi_expr_id_is_none(next))
                return NULL;
            next = operand;
        }
        if (tgi_expr_id_is_none(next))
            return NULL;
        root = next;
    }
    const tgi_expr_node *leaf = tgi_expr_at(x, root);
    return moves(leaf) && tgi_expr_id_is_none(leaf->map.index) ? leaf : NULL;
}

/* True if one operand is invariant along the columns, and the other moves along
   them but not along the rows: the micro-kernel needs that
   (choose_matmul.c). */
static bool uses_micro_kernel(const tgi_fuse_state *s, const tgi_fuse_kernel *k,
                              const tgi_task *matmul)
{
    const int64_t column = k->outer.n - 1, row = column - 1;
    const tgi_expr_node *a = NULL, *b = NULL;
    if (!tgi_task_has_source(matmul) &&
        !(a = leaf_of(s, matmul, matmul->value.id)))
        return false;
    if (!tgi_task_has_packed(matmul) &&
        !(b = leaf_of(s, matmul, matmul->reduce.rhs.id)))
        return false;
    /* Copies of operands (fuse_matmul.c) have the right layout. */
    if (a && b && moves_along(a, column) && !moves_along(b, column))
        return !moves_along(a, row);
    return !(a && moves_along(a, column)) &&
           !(b && (!moves_along(b, column) || moves_along(b, row)));
}

/* -- Reads of the task ----------------------------------------------------- */

/* The loads of a task from values of the kernel. */
typedef struct reads {
    bool has_any;
    bool are_aligned; /* each reads the value of the same point */
    bool are_only;    /* the task is the only user of these values */
} reads;

static reads reads_of(tgi_fuse_state *s, tgi_fuse_kernel_id number,
                      const tgi_task *task)
{
    const tgi_fuse_kernel *k = tgi_fuse_kernel_at(s, number);
    reads found = {.are_aligned = true, .are_only = true};
    for (size_t n = 0; n < task->expr.order.n; n++) {
        const tgi_expr_id i = task->expr.order.data[n];
        const tgi_expr_node *expr_node = tgi_expr_at(&task->expr, i);
        const tgi_task *writer = tgi_fuse_writer(s, task, i);
        if (!writer || !tgi_fuse_kernel_id_equals(writer->kernel, number))
            continue;
        const tgi_map map = map_to_kernel(k, task, &expr_node->map);
        found.has_any = true;
        found.are_aligned &= tgi_fuse_is_aligned(s, writer, expr_node, &map);
        found.are_only &= s->values[expr_node->node].owner == task->node;
    }
    return found;
}

/* -- Profitability --------------------------------------------------------- */

/* a * ceil(b / c), saturated; an unknown b counts as `unknown`. */
static int64_t mul_ceil_div(int64_t a, tgi_dim b, int64_t c, int64_t unknown)
{
    const int64_t factor = !tgi_dim_is_known(b) ? unknown
                           : b > SATURATED      ? SATURATED
                                                : (b + c - 1) / c;
    return a * factor > SATURATED ? SATURATED : a * factor;
}

static int64_t count_steps(const tgi_fuse_kernel *k)
{
    int64_t all = 1;
    for (int axis = 0; axis < k->outer.n; axis++)
        all = mul_ceil_div(all, k->outer.extent[axis], 1, SATURATED);
    return mul_ceil_div(all, k->inner.extent[0], 1, SATURATED);
}

/* True if enough work items remain: threads divide matrices of a batch, then
   columns or rows that epilogues do not reduce. Unknown extents count as 1. */
static bool has_enough_items(const tgi_fuse_kernel *k, bool along_rows,
                             bool along_columns, int64_t bytes)
{
    const int last = k->outer.n - 1;
    const tgi_dim m = k->outer.extent[last - 1], n = k->outer.extent[last];
    const int64_t columns = TGI_PANEL_ROW_BYTES / bytes; /* of a micro-kernel */
    int64_t batch = 1;
    for (int axis = 0; axis < last - 1; axis++)
        batch = mul_ceil_div(batch, k->outer.extent[axis], 1, 1);
    const bool has_one_panel = tgi_dim_is_known(n) && n <= columns;
    if (along_columns)
        return mul_ceil_div(batch, along_rows ? 1 : n, columns, 1) >=
               TGI_MIN_SHARED_ITEMS;
    return has_one_panel || batch >= TGI_MIN_SHARED_ITEMS ||
           mul_ceil_div(batch, m, TGI_COST_MIN_THREAD_ROWS, 0) >=
               TGI_MIN_SHARED_ITEMS;
}

/*
 * Partial results of rows wider than one panel wait in memory. That costs as
 * much as rereading the rows, or more: measured up to 4 %, also for the maximum
 * of softmax. It is profitable only if the rows need not be stored.
 */
static bool spills_partials(const tgi_fuse_kernel *k, const tgi_task *task,
                            int64_t bytes)
{
    return reduces_rows(task) &&
           k->outer.extent[k->outer.n - 1] > TGI_PANEL_ROW_BYTES / bytes;
}

static bool is_profitable(const tgi_fuse_state *s, const tgi_fuse_kernel *k,
                          const tgi_task *matmul, const tgi_task *task,
                          bool is_only)
{
    const int64_t bytes = tgi_dtype_bytes(tgi_fuse_dtype(s, matmul->node));
    bool along_rows = reduces_rows(task), along_columns = !along_rows;
    int n_epilogues = 0;
    for (size_t i = 0; i < k->tasks.n; i++) {
        const tgi_task *other = tgi_fuse_kernel_task(s, k, i);
        if (other->kind != TGI_TASK_EPILOGUE)
            continue;
        n_epilogues++;
        along_rows |= reduces_rows(other);
        along_columns |= !reduces_rows(other);
    }
    if (n_epilogues == MAX_EPILOGUES ||
        (spills_partials(k, task, bytes) && !is_only))
        return false;
    if (count_steps(k) <= TGI_COST_SERIAL_STEPS)
        return true;
    const int64_t row_bytes =
        mul_ceil_div(bytes, k->inner.extent[0], 1, UNKNOWN_K);
    if (along_columns && !tgi_task_has_packed(matmul) &&
        mul_ceil_div(row_bytes, k->outer.extent[k->outer.n - 2], 1, SATURATED) >
            MAX_ROW_BYTES)
        return false;
    return has_enough_items(k, along_rows, along_columns, bytes);
}

/* -- Epilogues ------------------------------------------------------------- */

/* A small matmul may become straight-line code, which has no epilogues. */
static bool may_be_straightline(const tgi_fuse_kernel *k)
{
    return count_steps(k) <= TGI_STRAIGHTLINE_ELEMENTS;
}

static bool has_points(const tgi_fuse_kernel *k)
{
    bool has_any = k->inner.extent[0] != 0;
    for (int axis = 0; axis < k->outer.n; axis++)
        has_any &= k->outer.extent[axis] != 0;
    return has_any;
}

static bool is_epilogue_op(int op)
{
    return op == TGI_OP_SUM || op == TGI_OP_PROD || op == TGI_OP_REDUCE_MAX ||
           op == TGI_OP_REDUCE_MIN;
}

bool tgi_fuse_can_be_epilogue(tgi_fuse_state *s, tgi_fuse_kernel_id number,
                              const tgi_task *task)
{
    const tgi_fuse_kernel *k = tgi_fuse_kernel_at(s, number);
    if (!k->has_matmul || k->is_split || k->outer.n < 2 || k->inner.n != 1 ||
        task->kind != TGI_TASK_REDUCE || !is_epilogue_op(task->reduce.op) ||
        tgi_task_has_source(task) || !has_kernel_axes(k, task))
        return false;
    const tgi_task *matmul = tgi_fuse_kernel_task(s, k, 0);
    const int dtype = tgi_fuse_dtype(s, task->value.node);
    const tgi_dim n = k->outer.extent[reduced_axis(k, task)];
    const reads found = reads_of(s, number, task);
    return tgi_dtype_bytes(tgi_fuse_dtype(s, matmul->node)) >= 4 &&
           tgi_dtype_bytes(dtype) >= 4 && tgi_dim_is_known(n) &&
           n <= tgi_epilogue_reduce_max(reduces_rows(task), dtype) &&
           has_points(k) && !may_be_straightline(k) && found.has_any &&
           found.are_aligned && uses_micro_kernel(s, k, matmul) &&
           is_profitable(s, k, matmul, task, found.are_only);
}

void tgi_fuse_make_epilogue(const tgi_fuse_state *s, const tgi_fuse_kernel *k,
                            tgi_task *task)
{
    const int last = k->outer.n - 1;
    task->kind = TGI_TASK_EPILOGUE;
    task->outer = k->outer;
    for (size_t i = 0; i < task->expr.nodes.n; i++) {
        tgi_expr_node *expr_node = &task->expr.nodes.data[i];
        expr_node->map = map_to_kernel(k, task, &expr_node->map);
    }
    if (!reduces_rows(task))
        task->target.stride[last] = task->target.stride[last - 1];
    task->target.stride[reduced_axis(k, task)] = (tgi_stride){0};
    tgi_explain_node(s->explain, s->graph, task->node,
                     "reduced in the kernel of its matmul");
}
