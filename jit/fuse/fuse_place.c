/* SPDX-License-Identifier: MIT */
/*
 * fuse_place.c - tasks to kernels. Kernels run in the order in which they are
 * created, so a task may join any kernel that is not before one it depends on.
 * It may join the kernel of its producer if every point reads only elements
 * that the same point has stored.
 *
 * A kernel with reductions has phases: a task that needs the result of a
 * reduction at every element goes into a later phase. So softmax is one kernel
 * of three phases.
 *
 * Requires:   tasks in a valid order.
 * Computes:   kernels; kernel, phase and level of each task.
 * Preserves:  the order of effects.
 * Terminates: one pass over the tasks, LOOK_BACK kernels each; a value that
 *             must be in memory makes fusion restart.
 */
#include <string.h>

#include "base/error.h"
#include "fuse/fuse_kernel.h"
#include "fuse/fuse_value.h"
#include "recipe/reduce_tree.h"

enum {
    LOOK_BACK = 12,          /* kernels tried, from the last on */
    MAX_INSTRUCTIONS = 2000, /* of a kernel; LLVM compiles these well */
    MAX_TASKS = 128, /* the same of stores: LLVM's schedulers keep an edge for
                        each pair of accesses that may alias */
    MAX_PHASES = 8,
    MAX_REDUCTIONS = 8, /* of one phase */
    /* Half-cycles of a task that runs once per row, unvectorised, in the kernel
       of its producer. */
    MAX_SCALAR_COST = 10,
    /* Below so many outer points, rows of at least so many elements are
       split. */
    MIN_POINTS = 16,
    MIN_SPLIT_ELEMENTS = 1 << 15,
    /* The same of matmuls: results, and extent of k. */
    MIN_RESULTS = 4096,
    MIN_SPLIT_K = 4 * TGI_BLOCK_ROWS
};

/* -- Joining --------------------------------------------------------------- */

/* How a task can join a kernel. */
typedef struct position {
    bool is_possible;
    uint8_t level;
    uint16_t phase;
    bool adds_inner;  /* the kernel's last axes become its inner axis */
    bool is_epilogue; /* as a reduction epilogue */
} position;

/*
 * True if a reduction is split into blocks (split-K), whose results are
 * combined by a second kernel. Along columns this is faster even for one
 * thread, as blocks of rows are read contiguously.
 */
static bool is_split(const tgi_domain *outer, const tgi_domain *inner,
                     tgi_vectors vectors, int op)
{
    const int64_t min_points =
        vectors == TGI_COLUMNS ? MIN_RESULTS : MIN_POINTS;
    int64_t points = 1, run = 1;
    if (op == TGI_OP_ARGMAX || op == TGI_OP_ARGMIN)
        return false;
    for (int i = 0; i < inner->n; i++) {
        if (inner->extent[i] == 0)
            return false; /* there are no blocks */
        run = tgi_dim_is_known(inner->extent[i]) &&
                      run * inner->extent[i] < MIN_SPLIT_ELEMENTS
                  ? run * inner->extent[i]
                  : MIN_SPLIT_ELEMENTS;
    }
    if (vectors == TGI_COLUMNS && op != TGI_OP_MATMUL)
        return run > 2 * TGI_BLOCK_ROWS;
    for (int i = 0; i < outer->n; i++) {
        if (!tgi_dim_is_known(outer->extent[i]))
            return false;
        points = points * outer->extent[i] < min_points
                     ? points * outer->extent[i]
                     : min_points;
    }
    return points < min_points &&
           run >= (vectors == TGI_COLUMNS ? MIN_SPLIT_K : MIN_SPLIT_ELEMENTS);
}

static bool is_columns_matmul(const tgi_task *task)
{
    return task->kind == TGI_TASK_REDUCE && task->reduce.op == TGI_OP_MATMUL &&
           task->vectors == TGI_COLUMNS;
}

/* How a task fits the iteration domain of a kernel. */
static position match_domain(const tgi_fuse_kernel *k, const tgi_task *task)
{
    position p = {.is_possible = true, .level = TGI_LEVEL_INNER};
    tgi_domain all = tgi_domain_join(&k->outer, &k->inner);
    if (task->kind == TGI_TASK_MAP) {
        if (k->has_reduction && tgi_domain_equals(&task->outer, &k->outer))
            p.level = TGI_LEVEL_POINT;
        else
            p.is_possible = tgi_domain_equals(&task->outer, &all) &&
                            !(k->has_reduction && k->vectors == TGI_COLUMNS);
        return p;
    }
    tgi_domain own = tgi_domain_join(&task->outer, &task->inner);
    /* The micro-kernel of a matmul needs all registers. */
    if (k->has_matmul || is_columns_matmul(task)) {
        p.is_possible = false;
        return p;
    }
    if (k->has_reduction) {
        /* Either all reductions of a kernel are split or none. */
        p.is_possible = k->vectors == task->vectors &&
                        tgi_domain_equals(&task->outer, &k->outer) &&
                        tgi_domain_equals(&task->inner, &k->inner) &&
                        is_split(&k->outer, &k->inner, (tgi_vectors)k->vectors,
                                 task->reduce.op) == k->is_split;
    } else {
        p.is_possible = task->vectors == TGI_ROWS && task->inner.n > 0 &&
                        tgi_domain_equals(&own, &all);
        p.adds_inner = true;
    }
    if (tgi_task_has_source(task))
        p.is_possible = false;
    return p;
}

/* True if a map has the loop axes in which a task stores its node. */
static bool has_loops_of(const tgi_fuse_state *s, const tgi_task *writer,
                         const tgi_map *map)
{
    tgi_map own;
    tgi_map_init(s, writer->node, &own);
    if (writer->is_permuted) {
        const bool is_last = writer->late_axis == own.rank - 1;
        int32_t *late = &own.axis[writer->late_axis].axis;
        /* The last axis changes places with the one before it. */
        for (int i = writer->late_axis + (is_last ? -1 : 1); i < own.rank - 1;
             i++) {
            const int32_t axis = own.axis[i].axis;
            if (axis != TGI_AXIS_NONE && *late != TGI_AXIS_NONE) {
                own.axis[i].axis = *late;
                *late = axis;
            }
        }
    }
    return memcmp(map, &own, sizeof(own)) == 0;
}

bool tgi_fuse_is_aligned(const tgi_fuse_state *s, const tgi_task *writer,
                         const tgi_expr_node *expr_node, const tgi_map *map)
{
    /* A shift must be known before any point runs. */
    return s->values[expr_node->node].class == TGI_VALUE_MATERIALISED &&
           tgi_task_materialises(writer, expr_node->node) &&
           writer->kind != TGI_TASK_EPILOGUE && expr_node->depth == 0 &&
           has_loops_of(s, writer, map);
}

/* Lanes over which a phase distributes elements. */
static int tree_lanes(const tgi_fuse_state *s, const tgi_task *task)
{
    return tgi_tree_lanes(tgi_fuse_dtype(s, task->node));
}

/* The first phase from p->phase on that the task can be in. */
static void find_phase(const tgi_fuse_state *s, const tgi_fuse_kernel *k,
                       const tgi_task *task, position *p)
{
    if (task->kind != TGI_TASK_REDUCE)
        return;
    int n_reductions = 0;
    for (size_t i = 0; i < k->tasks.n; i++) {
        const tgi_task *other = tgi_fuse_kernel_task(s, k, i);
        if (other->kind != TGI_TASK_REDUCE || other->phase != p->phase)
            continue;
        n_reductions++;
        if ((task->vectors == TGI_ROWS &&
             tree_lanes(s, other) != tree_lanes(s, task)) ||
            n_reductions == MAX_REDUCTIONS) {
            /* Try the next phase. */
            p->phase++;
            n_reductions = 0;
            i = (size_t)-1;
        }
    }
}

/* Whether and how a task can join a kernel, given that it depends on no later
   one. */
static position try_join(tgi_fuse_state *s, tgi_fuse_kernel_id number,
                         const tgi_task *task)
{
    const tgi_fuse_kernel *k = tgi_fuse_kernel_at(s, number);
    position p = {0};
    if (k->is_closed || k->tasks.n >= MAX_TASKS ||
        k->n_instructions + task->cost.instructions > MAX_INSTRUCTIONS ||
        (task->kind != TGI_TASK_MAP && task->kind != TGI_TASK_REDUCE))
        return p;
    if (tgi_fuse_can_be_epilogue(s, number, task))
        return (position){
            .is_possible = true, .level = TGI_LEVEL_POINT, .is_epilogue = true};
    p = match_domain(k, task);
    for (size_t n = 0; p.is_possible && n < task->expr.order.n; n++) {
        const tgi_expr_id i = task->expr.order.data[n];
        const tgi_task *writer = tgi_fuse_writer(s, task, i);
        if (!writer || !tgi_fuse_kernel_id_equals(writer->kernel, number))
            continue;
        const tgi_expr_node *expr_node = tgi_expr_at(&task->expr, i);
        p.is_possible =
            tgi_fuse_is_aligned(s, writer, expr_node, &expr_node->map);
        bool is_later =
            p.level == TGI_LEVEL_INNER && (writer->kind == TGI_TASK_REDUCE ||
                                           writer->level == TGI_LEVEL_POINT);
        uint16_t phase = (uint16_t)(writer->phase + is_later);
        if (p.phase < phase)
            p.phase = phase;
        /* A value stored along rows is not available at a point. */
        if (p.level == TGI_LEVEL_POINT && writer->kind == TGI_TASK_MAP &&
            writer->level == TGI_LEVEL_INNER)
            p.is_possible = false;
    }
    if (!p.is_possible)
        return p;
    find_phase(s, k, task, &p);
    if (p.phase >= MAX_PHASES)
        p.is_possible = false;
    /* A split or COLUMNS kernel has one phase; tasks after its reductions are
       at level POINT. */
    bool has_one_phase =
        k->is_split || (k->has_reduction && k->vectors == TGI_COLUMNS);
    if (task->kind == TGI_TASK_REDUCE && p.adds_inner)
        has_one_phase |= is_split(&task->outer, &task->inner,
                                  (tgi_vectors)task->vectors, task->reduce.op);
    if (has_one_phase && p.phase > 0 && p.level != TGI_LEVEL_POINT)
        p.is_possible = false;
    return p;
}

/* -- Placing --------------------------------------------------------------- */

static tg_status open_kernel(tgi_fuse_state *s, const tgi_task *task)
{
    tgi_fuse_kernel k = {
        .is_closed =
            task->is_memoised || task->kind == TGI_TASK_CHECK ||
            task->kind == TGI_TASK_HOST || task->kind == TGI_TASK_REGION ||
            task->kind == TGI_TASK_PACK ||
            task->kind == TGI_TASK_SCATTER || task->kind == TGI_TASK_SCAN ||
            (tgi_task_has_source(task) && !is_columns_matmul(task)),
        .has_reduction = task->kind == TGI_TASK_REDUCE,
        .has_matmul = is_columns_matmul(task),
        .vectors = task->vectors,
        .n_phases = 1,
        .outer = task->outer,
        .inner = task->inner};
    if (k.has_reduction)
        k.is_split = is_split(&k.outer, &k.inner, (tgi_vectors)k.vectors,
                              task->reduce.op);
    return tgi_vec_push(&s->kernels, k) ? TG_OK : tgi_error_memory();
}

static tg_status join_kernel(tgi_fuse_state *s, tgi_fuse_kernel_id number,
                             tgi_task_id task_id, position p)
{
    tgi_fuse_kernel *k = tgi_fuse_kernel_at(s, number);
    tgi_task *task = tgi_fuse_task(s, task_id);
    task->kernel = number;
    task->phase = p.phase;
    task->level = p.level;
    if (p.adds_inner) {
        k->outer = task->outer;
        k->inner = task->inner;
        k->vectors = task->vectors;
        k->is_split = is_split(&k->outer, &k->inner, (tgi_vectors)k->vectors,
                               task->reduce.op);
    }
    if (p.is_epilogue)
        tgi_fuse_make_epilogue(s, k, task);
    k->has_reduction |= task->kind == TGI_TASK_REDUCE;
    if (k->n_phases <= p.phase)
        k->n_phases = (uint16_t)(p.phase + 1);
    k->n_instructions += task->cost.instructions;
    if (!tgi_vec_push(&k->tasks, task_id))
        return tgi_error_memory();
    tgi_fuse_record_accesses(s, task);
    return TG_OK;
}

/* True if the inner axes can be merged, by these strides. */
static bool can_merge_axes(const tgi_fuse_state *s, const tgi_stride *strides,
                           const tgi_domain *inner)
{
    for (int a = 0; a + 1 < inner->n; a++)
        if (strides[a].distance != tgi_dim_mul(s->dims, strides[a + 1].distance,
                                               inner->extent[a + 1]) ||
            strides[a].is_negative != strides[a + 1].is_negative)
            return false;
    return true;
}

/* True if the inner axes can be merged for all loads and stores of a task, or
   looked up. */
static bool has_mergeable_inner(tgi_fuse_state *s, const tgi_task *task,
                                const tgi_domain *outer,
                                const tgi_domain *inner)
{
    if (task->kind == TGI_TASK_MAP &&
        !can_merge_axes(s, &task->target.stride[outer->n], inner))
        return false;
    for (size_t n = 0; n < task->expr.order.n; n++) {
        const tgi_expr_id i = task->expr.order.data[n];
        const tgi_expr_node *expr_node = tgi_expr_at(&task->expr, i);
        int op = tgi_graph_node(s->graph, expr_node->node)->op;
        bool is_read = tgi_expr_node_is_loaded(s, task, i);
        tgi_access access;
        if (tgi_fuse_is_empty(s, expr_node->node))
            continue;
        if (!is_read && op != TGI_OP_IOTA && op != TGI_OP_RANDOM_BITS)
            continue;
        if (!is_read && op == TGI_OP_IOTA && inner->n > 1)
            return false;
        if (!tgi_fuse_leaf_access(s, expr_node, &access))
            return false;
        /* Loads along columns can have an offset table. */
        if (is_read && task->vectors == TGI_COLUMNS && !access.index)
            continue;
        if (!can_merge_axes(s, &access.stride[outer->n], inner))
            return false;
    }
    return true;
}

/* The same for the tasks of a kernel that `task` would join. */
static bool have_mergeable_inner(tgi_fuse_state *s, tgi_fuse_kernel_id number,
                                 const tgi_task *task)
{
    const tgi_fuse_kernel *k = tgi_fuse_kernel_at(s, number);
    const tgi_domain *inner = &task->inner;
    if (inner->n < 2)
        return true;
    for (size_t i = 0; i < k->tasks.n; i++)
        if (!has_mergeable_inner(s, tgi_fuse_kernel_task(s, k, i), &task->outer,
                                 inner))
            return false;
    return true;
}

/* Forces values of an expression that is too long for one kernel. */
static tg_status cut_expr(tgi_fuse_state *s, const tgi_task *task)
{
    uint32_t n_instructions = 0;
    for (size_t n = 0; n < task->expr.order.n; n++) {
        tgi_ref ref = tgi_expr_at(&task->expr, task->expr.order.data[n])->node;
        const tgi_fuse_value *value = &s->values[ref];
        if (value->class != TGI_VALUE_INLINED)
            continue;
        const uint32_t own = value->node_cost.instructions;
        n_instructions += own;
        if (n_instructions < MAX_INSTRUCTIONS / 2 || !own ||
            ref == task->value.node)
            continue;
        if (!value->force_reason)
            TGI_TRY(tgi_fuse_force(s, ref, "the kernel would be too long"));
        n_instructions = 0;
    }
    return TG_OK;
}

static bool can_join(tgi_fuse_state *s, tgi_fuse_kernel_id number,
                     const tgi_task *task, position *out_position)
{
    position p = *out_position = try_join(s, number, task);
    const tgi_fuse_kernel *k = tgi_fuse_kernel_at(s, number);
    if (!p.is_possible || task->is_memoised ||
        !tgi_fuse_can_access_variables(s, number, task))
        return false;
    if (p.adds_inner)
        return have_mergeable_inner(s, number, task);
    return task->kind != TGI_TASK_MAP || p.level != TGI_LEVEL_INNER ||
           k->inner.n < 2 || has_mergeable_inner(s, task, &k->outer, &k->inner);
}

/* True if a task reads a value that a kernel stores. */
static bool reads_from(tgi_fuse_state *s, const tgi_task *task,
                       tgi_fuse_kernel_id kernel)
{
    for (size_t n = 0; n < task->expr.order.n; n++) {
        const tgi_task *writer =
            tgi_fuse_writer(s, task, task->expr.order.data[n]);
        if (writer && tgi_fuse_kernel_id_equals(writer->kernel, kernel))
            return true;
    }
    return false;
}

/* True if joining the producer's kernel is profitable: the task reads its
   values and loses no vectorisation there. Copies are placed late, where copy
   elision may delete them (copy_elision.c). */
static bool is_profitable(tgi_fuse_state *s, tgi_fuse_kernel_id number,
                          const tgi_task *task, position *out_position)
{
    return tgi_buffer_id_is_none(task->target.buffer) &&
           !tgi_task_is_part(task) && reads_from(s, task, number) &&
           can_join(s, number, task, out_position) &&
           (out_position->level != TGI_LEVEL_POINT ||
            tgi_fuse_kernel_at(s, number)->vectors == TGI_COLUMNS ||
            task->cost.half_cycles <= MAX_SCALAR_COST);
}

/* The kernel that a task joins: its last dependency if that is profitable, else
   the last kernel that it can join, else a new one. */
static tgi_fuse_kernel_id find_kernel(tgi_fuse_state *s, const tgi_task *task,
                                      position *out_position)
{
    const tgi_fuse_bounds b = tgi_fuse_bounds_of(s, task);
    const size_t n = s->kernels.n;
    if (!tgi_fuse_kernel_id_is_none(b.last) && b.can_join &&
        n - tgi_fuse_kernel_id_index(b.last) <= LOOK_BACK &&
        is_profitable(s, b.last, task, out_position))
        return b.last;
    for (size_t back = 1; back <= n && back <= LOOK_BACK; back++) {
        const tgi_fuse_kernel_id id = tgi_fuse_kernel_id_from(n - back);
        if (tgi_fuse_kernel_id_is_before(id, b.last) ||
            (tgi_fuse_kernel_id_equals(id, b.last) && !b.can_join))
            break;
        if (can_join(s, id, task, out_position))
            return id;
    }
    *out_position = (position){.level = TGI_LEVEL_INNER};
    return tgi_fuse_kernel_id_from(n);
}

static tg_status place_task(tgi_fuse_state *s, tgi_task_id task_id)
{
    tgi_task *task = tgi_fuse_task(s, task_id);
    TGI_TRY(tgi_fuse_build_expr(s, task));
    if (task->kind == TGI_TASK_REDUCE && task->inner.n > 1 &&
        !tgi_task_has_source(task) &&
        !has_mergeable_inner(s, task, &task->outer, &task->inner))
        return tgi_fuse_force(s, task->value.node,
                              "its reduced axes are not contiguous");
    if (tgi_fuse_reads_other_points(s, task))
        return tgi_fuse_force(s, task->value.node,
                              "its variable is still read");
    if (task->cost.instructions > MAX_INSTRUCTIONS)
        TGI_TRY(cut_expr(s, task));

    position p;
    const tgi_fuse_kernel_id number = find_kernel(s, task, &p);
    tgi_ref stale = tgi_fuse_find_stale_read(s, task, number);
    if (stale)
        return tgi_fuse_force(s, stale,
                              "the variable is overwritten before its use");
    if (tgi_fuse_kernel_id_index(number) == s->kernels.n)
        TGI_TRY(open_kernel(s, task));
    return join_kernel(s, number, task_id, p);
}

tg_status tgi_fuse_place(tgi_fuse_state *s)
{
    for (size_t i = 0; i < s->tasks.n; i++)
        TGI_TRY(place_task(s, tgi_task_id_from(i)));
    return TG_OK;
}
