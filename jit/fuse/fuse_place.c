/* SPDX-License-Identifier: MIT */
/*
 * fuse_place.c - tasks into kernels. Kernels run in the order in which they
 * are made, so a task may join any kernel that is not in front of one it
 * depends on. It may join the very kernel that stores what it reads if it
 * reads, at every point, only what that point has stored.
 *
 * A kernel with reductions has phases: what needs the result of a reduction
 * goes into a later phase than it. So a softmax is one kernel with three.
 */
#include "base/error.h"
#include "fuse/fuse_kernel.h"
#include "fuse/fuse_value.h"
#include "recipe/reduce_tree.h"

enum {
    LOOK_BACK = 12,    /* kernels tried, from the last on */
    MOST_WORDS = 1200, /* in one kernel: what LLVM compiles well */
    MOST_PHASES = 8,
    MOST_REDUCTIONS = 8, /* in one phase */
    FEW_WORDS = 8,       /* that may as well be done once for a row, by itself,
                           as for many elements at a time */
    FEW_POINTS = 16,     /* too few outer points to share among threads */
    LONG_RUN = 1 << 15,  /* elements of a row that is split then */
    /* The same of matrix products. */
    FEW_RESULTS = 4096,
    LONG_PANELS = 4 * TGI_BLOCK_ROWS
};

/* -- Joining --------------------------------------------------------------- */

/* What joining a kernel would mean for a task. */
typedef struct position {
    bool is_possible;
    uint8_t level;
    uint16_t phase;
    bool adds_inner; /* the kernel's last axes become its inner axis */
    bool folds;      /* it becomes part of a product's kernel */
} position;

/*
 * True if the results of the kernel's reductions come only when all of its
 * points are done. Along columns this is the quicker way even for one thread:
 * blocks of rows can be read all along.
 */
static bool is_split(const tgi_domain *outer, const tgi_domain *inner,
                     tgi_vectors vectors, int op)
{
    const int64_t few = vectors == TGI_COLUMNS ? FEW_RESULTS : FEW_POINTS;
    int64_t points = 1, run = 1;
    if (op == TGI_OP_ARGMAX || op == TGI_OP_ARGMIN)
        return false;
    for (int i = 0; i < inner->n; i++) {
        if (inner->extent[i] == 0)
            return false; /* there are no blocks */
        run = tgi_dim_is_known(inner->extent[i]) &&
                      run * inner->extent[i] < LONG_RUN
                  ? run * inner->extent[i]
                  : LONG_RUN;
    }
    if (vectors == TGI_COLUMNS && op != TGI_OP_MATMUL)
        return run > 2 * TGI_BLOCK_ROWS;
    for (int i = 0; i < outer->n; i++) {
        if (!tgi_dim_is_known(outer->extent[i]))
            return false;
        points =
            points * outer->extent[i] < few ? points * outer->extent[i] : few;
    }
    return points < few &&
           run >= (vectors == TGI_COLUMNS ? LONG_PANELS : LONG_RUN);
}

static bool is_product(const tgi_task *task)
{
    return task->kind == TGI_TASK_REDUCE && task->reduce.op == TGI_OP_MATMUL &&
           task->vectors == TGI_COLUMNS;
}

static position where_in(const tgi_fuse_kernel *k, const tgi_task *task)
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
    /* The tiles of a product need all registers. */
    if (k->has_matmul || is_product(task)) {
        p.is_possible = false;
        return p;
    }
    if (k->has_reduction) {
        /* Not every op can be split: a kernel is, or none of its tasks. */
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

bool tgi_fuse_is_aligned(const tgi_fuse_state *s, const tgi_task *writer,
                         const tgi_expr_node *entry, const tgi_map *map)
{
    /* A shift must be there before any point is. */
    return s->values[entry->node].class == TGI_VALUE_MATERIALISED &&
           tgi_task_materialises(writer, entry->node) &&
           writer->kind != TGI_TASK_EPILOGUE && entry->depth == 0 &&
           tgi_map_is_identity(s, entry->node, map);
}

/* Elements of a phase are dealt out to so many lanes. */
static int lanes_of(const tgi_fuse_state *s, const tgi_task *task)
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
             lanes_of(s, other) != lanes_of(s, task)) ||
            n_reductions == MOST_REDUCTIONS) {
            /* Not in this one: the next, from the start. */
            p->phase++;
            n_reductions = 0;
            i = (size_t)-1;
        }
    }
}

/* Whether and how a task can be part of kernel `number`, given that it
   depends on nothing behind it. */
static position try_join(tgi_fuse_state *s, tgi_fuse_kernel_id number,
                         const tgi_task *task)
{
    const tgi_fuse_kernel *k = tgi_fuse_kernel_at(s, number);
    position p = {0};
    if (k->is_closed || k->cost + task->cost > MOST_WORDS ||
        (task->kind != TGI_TASK_MAP && task->kind != TGI_TASK_REDUCE))
        return p;
    if (tgi_fuse_can_be_epilogue(s, number, task))
        return (position){
            .is_possible = true, .level = TGI_LEVEL_POINT, .folds = true};
    p = where_in(k, task);
    for (size_t n = 0; p.is_possible && n < task->expr.order.n; n++) {
        const tgi_expr_id i = task->expr.order.data[n];
        const tgi_task *writer = tgi_fuse_writer(s, task, i);
        if (!writer || !tgi_fuse_kernel_id_equals(writer->kernel, number))
            continue;
        const tgi_expr_node *entry = tgi_expr_at(&task->expr, i);
        p.is_possible = tgi_fuse_is_aligned(s, writer, entry, &entry->map);
        bool is_later =
            p.level == TGI_LEVEL_INNER && (writer->kind == TGI_TASK_REDUCE ||
                                           writer->level == TGI_LEVEL_POINT);
        uint16_t phase = (uint16_t)(writer->phase + is_later);
        if (p.phase < phase)
            p.phase = phase;
        /* What is stored along rows is not there at a point. */
        if (p.level == TGI_LEVEL_POINT && writer->kind == TGI_TASK_MAP &&
            writer->level == TGI_LEVEL_INNER)
            p.is_possible = false;
    }
    if (!p.is_possible)
        return p;
    find_phase(s, k, task, &p);
    if (p.phase >= MOST_PHASES)
        p.is_possible = false;
    /* Of a split kernel, or one along columns, only the first phase exists;
       what comes after its reductions is at points. */
    bool is_flat =
        k->is_split || (k->has_reduction && k->vectors == TGI_COLUMNS);
    if (task->kind == TGI_TASK_REDUCE && p.adds_inner)
        is_flat |= is_split(&task->outer, &task->inner,
                            (tgi_vectors)task->vectors, task->reduce.op);
    if (is_flat && p.phase > 0 && p.level != TGI_LEVEL_POINT)
        p.is_possible = false;
    return p;
}

/* -- Placing --------------------------------------------------------------- */

static tg_status open_kernel(tgi_fuse_state *s, const tgi_task *task)
{
    tgi_fuse_kernel k = {
        .is_closed =
            task->kind == TGI_TASK_CHECK || task->kind == TGI_TASK_HOST ||
            task->kind == TGI_TASK_REGION || task->kind == TGI_TASK_PACK ||
            task->kind == TGI_TASK_SCATTER ||
            (tgi_task_has_source(task) && !is_product(task)),
        .has_reduction = task->kind == TGI_TASK_REDUCE,
        .has_matmul = is_product(task),
        .vectors = task->vectors,
        .n_phases = 1,
        .outer = task->outer,
        .inner = task->inner};
    if (k.has_reduction)
        k.is_split = is_split(&k.outer, &k.inner, (tgi_vectors)k.vectors,
                              task->reduce.op);
    return tgi_vec_push(&s->kernels, k) ? TG_OK : tgi_error_memory();
}

static tg_status join(tgi_fuse_state *s, tgi_fuse_kernel_id number,
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
    if (p.folds)
        tgi_fuse_make_epilogue(s, k, task);
    k->has_reduction |= task->kind == TGI_TASK_REDUCE;
    if (k->n_phases <= p.phase)
        k->n_phases = (uint16_t)(p.phase + 1);
    k->cost += task->cost;
    if (!tgi_vec_push(&k->tasks, task_id))
        return tgi_error_memory();
    tgi_fuse_record_accesses(s, task);
    return TG_OK;
}

/* True if the strides along the inner axes are those of one axis. */
static bool is_one_axis(const tgi_fuse_state *s, const tgi_stride *strides,
                        const tgi_domain *inner)
{
    for (int a = 0; a + 1 < inner->n; a++)
        if (strides[a].distance != tgi_dim_mul(s->dims, strides[a + 1].distance,
                                               inner->extent[a + 1]) ||
            strides[a].is_negative != strides[a + 1].is_negative)
            return false;
    return true;
}

/* Inner axes must be one axis for all that is read and stored along them. */
static bool is_one_run(tgi_fuse_state *s, const tgi_task *task,
                       const tgi_domain *outer, const tgi_domain *inner)
{
    if (task->kind == TGI_TASK_MAP &&
        !is_one_axis(s, &task->target.stride[outer->n], inner))
        return false;
    for (size_t n = 0; n < task->expr.order.n; n++) {
        const tgi_expr_id i = task->expr.order.data[n];
        const tgi_expr_node *entry = tgi_expr_at(&task->expr, i);
        int op = tgi_graph_node(s->graph, entry->node)->op;
        bool is_read = tgi_expr_node_is_loaded(s, task, i);
        tgi_access access;
        if (tgi_fuse_is_empty(s, entry->node))
            continue;
        if (!is_read && op != TGI_OP_IOTA && op != TGI_OP_RANDOM_BITS)
            continue;
        if (!is_read && op == TGI_OP_IOTA && inner->n > 1)
            return false;
        if (!tgi_fuse_leaf_access(s, entry, &access) ||
            !is_one_axis(s, &access.stride[outer->n], inner))
            return false;
    }
    return true;
}

/* The same for the tasks a kernel has already. */
static bool are_one_run(tgi_fuse_state *s, tgi_fuse_kernel_id number,
                        const tgi_task *task)
{
    const tgi_fuse_kernel *k = tgi_fuse_kernel_at(s, number);
    const tgi_domain *inner = &task->inner;
    if (inner->n < 2)
        return true;
    for (size_t i = 0; i < k->tasks.n; i++)
        if (!is_one_run(s, tgi_fuse_kernel_task(s, k, i), &task->outer, inner))
            return false;
    return true;
}

/* Gives up: `ref` must be stored, and everything is thought over again. */
static tg_status force(tgi_fuse_state *s, tgi_ref ref, const char *why)
{
    s->values[ref].force_reason = why;
    s->must_restart = true;
    return TG_OK;
}

/* Cuts an expression that is too long for one kernel into several. */
static tg_status cut(tgi_fuse_state *s, const tgi_task *task)
{
    uint32_t words = 0;
    for (size_t n = 0; n < task->expr.order.n; n++) {
        tgi_ref ref = tgi_expr_at(&task->expr, task->expr.order.data[n])->node;
        const tgi_fuse_value *value = &s->values[ref];
        if (value->class != TGI_VALUE_INLINED)
            continue;
        words += value->node_cost;
        if (words < MOST_WORDS / 2 || !value->node_cost ||
            ref == task->value.node)
            continue;
        TGI_TRY(force(s, ref, "the kernel would be too long"));
        words = 0;
    }
    return TG_OK;
}

static bool can_join(tgi_fuse_state *s, tgi_fuse_kernel_id number,
                     const tgi_task *task, position *out_position)
{
    position p = *out_position = try_join(s, number, task);
    const tgi_fuse_kernel *k = tgi_fuse_kernel_at(s, number);
    if (!p.is_possible || !tgi_fuse_can_access_variables(s, number, task))
        return false;
    if (p.adds_inner)
        return are_one_run(s, number, task);
    return task->kind != TGI_TASK_MAP || p.level != TGI_LEVEL_INNER ||
           k->inner.n < 2 || is_one_run(s, task, &k->outer, &k->inner);
}

/* True if a task reads what a kernel stores: there it is at hand. */
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

/* True if a kernel is the place for a task: it stores what the task reads, and
   there that is done as quickly as elsewhere. Copies had better be late: then
   they may not be necessary (copy_elision.c). */
static bool suits(tgi_fuse_state *s, tgi_fuse_kernel_id number,
                  const tgi_task *task, position *out_position)
{
    return tgi_buffer_id_is_none(task->target.buffer) &&
           !tgi_task_is_part(task) && reads_from(s, task, number) &&
           can_join(s, number, task, out_position) &&
           (out_position->level != TGI_LEVEL_POINT ||
            tgi_fuse_kernel_at(s, number)->vectors == TGI_COLUMNS ||
            task->cost <= FEW_WORDS);
}

/* The kernel that a task joins: the first it may be in if that suits it, so
   that it is done early; else the last one that takes it. If none does, that
   behind the last. */
static tgi_fuse_kernel_id find_kernel(tgi_fuse_state *s, const tgi_task *task,
                                      position *out_position)
{
    const tgi_fuse_bounds b = tgi_fuse_bounds_of(s, task);
    const size_t n = s->kernels.n;
    if (!tgi_fuse_kernel_id_is_none(b.last) && b.can_join &&
        n - tgi_fuse_kernel_id_index(b.last) <= LOOK_BACK &&
        suits(s, b.last, task, out_position))
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

static tg_status place(tgi_fuse_state *s, tgi_task_id task_id)
{
    tgi_task *task = tgi_fuse_task(s, task_id);
    TGI_TRY(tgi_fuse_build_expr(s, task));
    if (task->kind == TGI_TASK_REDUCE && task->inner.n > 1 &&
        !tgi_task_has_source(task) &&
        !is_one_run(s, task, &task->outer, &task->inner))
        return force(s, task->value.node,
                     "the axes it is reduced along lie apart");
    if (tgi_fuse_reads_other_points(s, task))
        return force(s, task->value.node, "the variable it goes to is in use");
    if (task->cost > MOST_WORDS)
        TGI_TRY(cut(s, task));

    position p;
    const tgi_fuse_kernel_id number = find_kernel(s, task, &p);
    tgi_ref stale = tgi_fuse_find_stale_read(s, task, number);
    if (stale)
        return force(s, stale, "the variable is overwritten before its use");
    if (tgi_fuse_kernel_id_index(number) == s->kernels.n)
        TGI_TRY(open_kernel(s, task));
    return join(s, number, task_id, p);
}

tg_status tgi_fuse_place(tgi_fuse_state *s)
{
    for (size_t i = 0; i < s->tasks.n; i++)
        TGI_TRY(place(s, tgi_task_id_from(i)));
    return TG_OK;
}
