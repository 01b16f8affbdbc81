/* SPDX-License-Identifier: MIT */
/*
 * fuse_reduction_epilogue.c - reductions of a product in the product's own kernel: folds
 * (loops.h). A task that reduces rows or columns of what the points of a
 * product give joins it instead of reading all of that again; what nobody else
 * reads is then not stored at all.
 *
 * The order of a reduction is fixed, so whoever computes a fold has all that
 * it takes: a thread has whole rows of the product, or whole columns. Where
 * that leaves threads without work, or rows that do not stay in the cache, two
 * kernels are quicker.
 *
 * Of a reduction of columns, axes are those of the result and then the reduced
 * one, which is the last but one of the product: they are renumbered.
 */
#include "fuse/fuse_kernel.h"
#include "fuse/fuse_straightline.h"
#include "fuse/fuse_value.h"
#include "loop/explain.h"

enum {
    MOST_FOLDS = 4, /* of a kernel: each has memory on the stack */
    /* Products for which one thread is enough (steps: rows times columns times
       k), whatever they are cut into. */
    FEW_STEPS = 1 << 18,
    /* Rows that a thread needs to have use of the columns it reads. */
    LEAST_ROWS = 48,
    /* Of all rows of a product, which are read for each tile of columns … */
    MOST_ROW_BYTES = 512 << 10,
    SOME_INNER = 1024, /* … with so many k, if that is not known */
    MANY = 1 << 30
};

/* -- Axes ------------------------------------------------------------------ */

static bool goes_along_rows(const tgi_task *task)
{
    return task->vectors == TGI_ROWS;
}

/* The axis of the kernel's outer ones that a fold goes along. */
static int axis_of(const tgi_fuse_kernel *k, const tgi_task *task)
{
    return k->outer.n - 1 - !goes_along_rows(task);
}

/* True if the task goes over the points of the kernel. */
static bool has_axes_of(const tgi_fuse_kernel *k, const tgi_task *task)
{
    const int folded = axis_of(k, task);
    tgi_domain rest = {0};
    for (int axis = 0; axis < k->outer.n; axis++)
        if (axis != folded)
            rest.extent[rest.n++] = k->outer.extent[axis];
    const tgi_domain inner = {1, {k->outer.extent[folded]}};
    return tgi_domain_equals(&task->outer, &rest) &&
           tgi_domain_equals(&task->inner, &inner);
}

/* From the axes of a reduction of columns to those of the kernel. */
static void turn(const tgi_fuse_kernel *k, tgi_map *map)
{
    const int last = k->outer.n - 1;
    for (int64_t i = 0; i < map->rank; i++) {
        if (map->axis[i].axis == last)
            map->axis[i].axis = last - 1;
        else if (map->axis[i].axis == last - 1)
            map->axis[i].axis = last;
    }
}

static tgi_map map_of(const tgi_fuse_kernel *k, const tgi_task *task,
                      const tgi_map *map)
{
    tgi_map folded = *map;
    if (!goes_along_rows(task))
        turn(k, &folded);
    return folded;
}

/* -- Sides of the product -------------------------------------------------- */

static bool moves_along(const tgi_expr_node *entry, int64_t axis)
{
    for (int64_t i = 0; i < entry->map.rank; i++)
        if (entry->map.axis[i].axis == axis && entry->map.axis[i].step != 0)
            return true;
    return false;
}

static bool moves(const tgi_expr_node *entry)
{
    for (int64_t i = 0; i < entry->map.rank; i++)
        if (entry->map.axis[i].axis != TGI_AXIS_NONE &&
            entry->map.axis[i].step != 0)
            return true;
    return false;
}

/* The one read that a side is made from, besides what is known in all of the
   kernel; NULL: there are several, or it is something else. */
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

/* True if one side stands still along the last axis, and the other one along
   that of the rows only: then tiles have them (llvm_matmul_tiling.c). */
static bool has_tiles(const tgi_fuse_state *s, const tgi_fuse_kernel *k,
                      const tgi_task *product)
{
    const int64_t column = k->outer.n - 1, row = column - 1;
    const tgi_expr_node *a = NULL, *b = NULL;
    if (!tgi_task_has_source(product) &&
        !(a = leaf_of(s, product, product->value.id)))
        return false;
    if (!tgi_task_has_packed(product) &&
        !(b = leaf_of(s, product, product->reduce.rhs.id)))
        return false;
    /* What is stored for a product lies as it should. */
    if (a && b && moves_along(a, column) && !moves_along(b, column))
        return !moves_along(a, row);
    return !(a && moves_along(a, column)) &&
           !(b && (!moves_along(b, column) || moves_along(b, row)));
}

/* -- What is folded ------------------------------------------------------- */

/* Reads of what the kernel stores, or would. */
typedef struct reads {
    bool has_any;
    bool are_aligned; /* each is what the same point gives */
    bool are_only;    /* nobody else reads it */
} reads;

static reads reads_of(tgi_fuse_state *s, tgi_fuse_kernel_id number,
                      const tgi_task *task)
{
    const tgi_fuse_kernel *k = tgi_fuse_kernel_at(s, number);
    reads found = {.are_aligned = true, .are_only = true};
    for (size_t n = 0; n < task->expr.order.n; n++) {
        const tgi_expr_id i = task->expr.order.data[n];
        const tgi_expr_node *entry = tgi_expr_at(&task->expr, i);
        const tgi_task *writer = tgi_fuse_writer(s, task, i);
        if (!writer || !tgi_fuse_kernel_id_equals(writer->kernel, number))
            continue;
        const tgi_map map = map_of(k, task, &entry->map);
        found.has_any = true;
        found.are_aligned &= tgi_fuse_is_aligned(s, writer, entry, &map);
        found.are_only &= s->values[entry->node].owner == task->node;
    }
    return found;
}

/* -- Is it worth it? ------------------------------------------------------- */

/* a * b / c, rounded up, as long as it is not many; what is not known counts as
   `unknown`. */
static int64_t times(int64_t a, tgi_dim b, int64_t c, int64_t unknown)
{
    const int64_t factor = !tgi_dim_is_known(b) ? unknown
                           : b > MANY           ? MANY
                                                : (b + c - 1) / c;
    return a * factor > MANY ? MANY : a * factor;
}

static int64_t count_all(const tgi_fuse_kernel *k)
{
    int64_t all = 1;
    for (int axis = 0; axis < k->outer.n; axis++)
        all = times(all, k->outer.extent[axis], 1, MANY);
    return times(all, k->inner.extent[0], 1, MANY);
}

/* Threads share what folds leave whole: matrices of a batch, then columns or
   rows. What is not known may be one. */
static bool leaves_enough(const tgi_fuse_kernel *k, bool along_rows,
                          bool along_columns, int64_t bytes)
{
    const int last = k->outer.n - 1;
    const tgi_dim m = k->outer.extent[last - 1], n = k->outer.extent[last];
    const int64_t columns = TGI_PANEL_ROW_BYTES / bytes; /* of a tile */
    int64_t batch = 1;
    for (int axis = 0; axis < last - 1; axis++)
        batch = times(batch, k->outer.extent[axis], 1, 1);
    const bool has_one_tile = tgi_dim_is_known(n) && n <= columns;
    if (along_columns)
        return times(batch, along_rows ? 1 : n, columns, 1) >=
               TGI_MIN_SHARED_ITEMS;
    return has_one_tile || batch >= TGI_MIN_SHARED_ITEMS ||
           times(batch, m, LEAST_ROWS, 0) >= TGI_MIN_SHARED_ITEMS;
}

/*
 * What rows of more than one tile have come to waits in memory. That takes as
 * long as to read them again, or longer: measured up to 4 %, also of softmax if
 * its largest elements are folded. It is worth it if they need not be stored.
 */
static bool is_slow(const tgi_fuse_kernel *k, const tgi_task *task,
                    int64_t bytes)
{
    return goes_along_rows(task) &&
           k->outer.extent[k->outer.n - 1] > TGI_PANEL_ROW_BYTES / bytes;
}

static bool pays(const tgi_fuse_state *s, const tgi_fuse_kernel *k,
                 const tgi_task *product, const tgi_task *task, bool is_only)
{
    const int64_t bytes = tgi_dtype_bytes(tgi_fuse_dtype(s, product->node));
    bool along_rows = goes_along_rows(task), along_columns = !along_rows;
    int n_folds = 0;
    for (size_t i = 0; i < k->tasks.n; i++) {
        const tgi_task *other = tgi_fuse_kernel_task(s, k, i);
        if (other->kind != TGI_TASK_EPILOGUE)
            continue;
        n_folds++;
        along_rows |= goes_along_rows(other);
        along_columns |= !goes_along_rows(other);
    }
    if (n_folds == MOST_FOLDS || (is_slow(k, task, bytes) && !is_only))
        return false;
    if (count_all(k) <= FEW_STEPS)
        return true;
    const int64_t row_bytes = times(bytes, k->inner.extent[0], 1, SOME_INNER);
    if (along_columns && !tgi_task_has_packed(product) &&
        times(row_bytes, k->outer.extent[k->outer.n - 2], 1, MANY) >
            MOST_ROW_BYTES)
        return false;
    return leaves_enough(k, along_rows, along_columns, bytes);
}

/* -- Folds ----------------------------------------------------------------- */

/* Tiny products are written out, each with all that comes after it. */
static bool is_tiny(const tgi_fuse_kernel *k)
{
    return count_all(k) <= TGI_STRAIGHTLINE_ELEMENTS;
}

static bool has_points(const tgi_fuse_kernel *k)
{
    bool has_any = k->inner.extent[0] != 0;
    for (int axis = 0; axis < k->outer.n; axis++)
        has_any &= k->outer.extent[axis] != 0;
    return has_any;
}

static bool is_fold(int op)
{
    return op == TGI_OP_SUM || op == TGI_OP_PROD || op == TGI_OP_REDUCE_MAX ||
           op == TGI_OP_REDUCE_MIN;
}

bool tgi_fuse_can_be_epilogue(tgi_fuse_state *s, tgi_fuse_kernel_id number,
                              const tgi_task *task)
{
    const tgi_fuse_kernel *k = tgi_fuse_kernel_at(s, number);
    if (!k->has_matmul || k->is_split || k->outer.n < 2 || k->inner.n != 1 ||
        task->kind != TGI_TASK_REDUCE || !is_fold(task->reduce.op) ||
        tgi_task_has_source(task) || !has_axes_of(k, task))
        return false;
    const tgi_task *product = tgi_fuse_kernel_task(s, k, 0);
    const int dtype = tgi_fuse_dtype(s, task->value.node);
    const tgi_dim n = k->outer.extent[axis_of(k, task)];
    const reads found = reads_of(s, number, task);
    return tgi_dtype_bytes(tgi_fuse_dtype(s, product->node)) >= 4 &&
           tgi_dtype_bytes(dtype) >= 4 && tgi_dim_is_known(n) &&
           n <= tgi_epilogue_reduce_max(goes_along_rows(task), dtype) &&
           has_points(k) && !is_tiny(k) && found.has_any && found.are_aligned &&
           has_tiles(s, k, product) &&
           pays(s, k, product, task, found.are_only);
}

void tgi_fuse_make_epilogue(const tgi_fuse_state *s, const tgi_fuse_kernel *k,
                            tgi_task *task)
{
    const int last = k->outer.n - 1;
    task->kind = TGI_TASK_EPILOGUE;
    task->outer = k->outer;
    for (size_t i = 0; i < task->expr.nodes.n; i++) {
        tgi_expr_node *entry = &task->expr.nodes.data[i];
        entry->map = map_of(k, task, &entry->map);
    }
    if (!goes_along_rows(task))
        task->target.stride[last] = task->target.stride[last - 1];
    task->target.stride[axis_of(k, task)] = (tgi_stride){0};
    tgi_explain_node(s->explain, s->graph, task->node,
                     "reduced in the kernel of its product");
}
