/* SPDX-License-Identifier: MIT */
/*
 * fuse_order.c - which kernels a task may be in, given what it reads and
 * writes: not before the kernels that store what it reads, only where variables
 * have the contents it reads, and not before the kernels that read what it
 * overwrites.
 */
#include "fuse/fuse_kernel.h"
#include "fuse/fuse_value.h"

/* -- Reads and writes of a task -------------------------------------------- */

/* The value in whose storage a node of a task's expression is. */
static tgi_ref stored_node(const tgi_fuse_state *s, const tgi_task *task,
                           tgi_expr_id i)
{
    const tgi_ref ref = tgi_expr_at(&task->expr, i)->node;
    return s->values[ref].class == TGI_VALUE_ALIAS
               ? tgi_fuse_storage_root(s, ref)
               : ref;
}

tgi_task *tgi_fuse_writer(tgi_fuse_state *s, const tgi_task *task,
                          tgi_expr_id i)
{
    if (!tgi_expr_node_is_loaded(s, task, i))
        return NULL;
    const tgi_ref ref = stored_node(s, task, i);
    if (s->values[ref].class != TGI_VALUE_MATERIALISED ||
        tgi_task_id_is_none(s->values[ref].task) ||
        tgi_task_materialises(task, ref))
        return NULL;
    return tgi_fuse_task(s, s->values[ref].task);
}

/* The variable in whose buffer the value of a READ is; -1: none. */
static int64_t param_of(const tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    return s->values[ref].class == TGI_VALUE_INPUT && node->op == TGI_OP_READ
               ? (int64_t)tgi_fuse_param(s, node->inputs[0])
               : -1;
}

/* The kernel that is the branch or loop whose write a read sees; none: it sees
   the contents on entry. */
static tgi_fuse_kernel_id defining_kernel(const tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_ref region = tgi_fuse_defining_region(s, ref);
    return region ? tgi_fuse_task(s, s->values[region].task)->kernel
                  : (tgi_fuse_kernel_id){0};
}

/* The parameter whose buffer a node is loaded from; -1: none. */
static int64_t param_read(const tgi_fuse_state *s, const tgi_task *task,
                          tgi_expr_id i)
{
    if (!tgi_expr_node_is_loaded(s, task, i))
        return -1;
    const tgi_ref ref = stored_node(s, task, i);
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    if (node->op == TGI_OP_READ)
        return s->values[ref].class == TGI_VALUE_INPUT ||
                       tgi_task_materialises(task, ref)
                   ? (int64_t)tgi_fuse_param(s, node->inputs[0])
                   : -1;
    return node->op == TGI_OP_PARAM ? (int64_t)tgi_fuse_param(s, ref) : -1;
}

/* The parameter a task writes; -1: none. */
static int64_t param_written(const tgi_fuse_state *s, const tgi_task *task)
{
    return tgi_task_is_assignment(task)
               ? (int64_t)tgi_fuse_param(
                     s, tgi_graph_node(s->graph, task->node)->inputs[0])
               : -1;
}

/* Prints, host calls and regions read whole buffers, except the initial values
   of loops, which have tasks of their own. */
static bool reads_buffers(const tgi_task *task)
{
    return task->kind == TGI_TASK_HOST || task->kind == TGI_TASK_REGION;
}

static bool reads_input(const tgi_node *node, uint32_t i)
{
    const tgi_attr_regions *attr = node->attr;
    return node->op != TGI_OP_LOOP || i == 0 || i > attr->n_carried;
}

/* -- Bounds ---------------------------------------------------------------- */

static void raise_bound(tgi_fuse_bounds *b, tgi_fuse_kernel_id kernel,
                        bool can_join)
{
    if (tgi_fuse_kernel_id_is_none(kernel))
        return;
    if (tgi_fuse_kernel_id_is_before(b->last, kernel)) {
        b->last = kernel;
        b->can_join = can_join;
    } else if (tgi_fuse_kernel_id_equals(b->last, kernel)) {
        b->can_join &= can_join;
    }
}

/* The branch or loop that left the contents of the variable that a node of a
   task reads; none: the contents on entry. */
static tgi_fuse_kernel_id contents_since(const tgi_fuse_state *s,
                                         const tgi_task *task, tgi_expr_id i)
{
    return defining_kernel(s, stored_node(s, task, i));
}

tgi_fuse_bounds tgi_fuse_bounds_of(tgi_fuse_state *s, const tgi_task *task)
{
    tgi_fuse_bounds b = {.can_join = true};
    for (size_t n = 0; n < task->expr.order.n; n++) {
        const tgi_expr_id id = task->expr.order.data[n];
        const tgi_task *writer = tgi_fuse_writer(s, task, id);
        /* Contents that a branch or loop left in a variable. */
        if (param_read(s, task, id) >= 0)
            raise_bound(&b, contents_since(s, task, id), false);
        if (writer)
            raise_bound(&b, writer->kernel,
                        !tgi_task_is_part(writer) &&
                            writer->kind != TGI_TASK_EPILOGUE);
        /* The tasks of all parts are consecutive. */
        for (; writer && tgi_task_is_part(writer); writer--) {
            raise_bound(&b, writer->kernel, false);
            if (writer == s->tasks.data || writer[-1].node != writer->node)
                break;
        }
    }
    if (tgi_task_is_assignment(task))
        raise_bound(&b, s->fence, false);
    int64_t param = param_written(s, task);
    if (param >= 0) {
        raise_bound(&b, s->last_reader[param], true);
        raise_bound(&b, s->last_writer[param], true);
    }
    if (tgi_task_is_overwrite(task))
        raise_bound(&b, task[-1].kernel, false);
    if (tgi_task_has_source(task) || tgi_task_has_packed(task))
        raise_bound(&b, task[-1].kernel, false);
    if (tgi_task_has_source(task) && tgi_task_has_packed(task))
        raise_bound(&b, task[-2].kernel, false);
    return b;
}

/* -- Accesses to variables ------------------------------------------------- */

/* True if a task of the kernel reads the variable only at the element that its
   point writes. */
static bool reads_own_point(const tgi_fuse_state *s, const tgi_fuse_kernel *k,
                            const tgi_task *reader, int64_t param)
{
    for (size_t n = 0; n < reader->expr.order.n; n++) {
        const tgi_expr_id i = reader->expr.order.data[n];
        const tgi_expr_node *expr_node = tgi_expr_at(&reader->expr, i);
        if (param_read(s, reader, i) != param)
            continue;
        if (s->values[expr_node->node].class == TGI_VALUE_ALIAS ||
            !tgi_map_is_identity(s, expr_node->node, &expr_node->map) ||
            (k->has_matmul && reader->kind != TGI_TASK_MAP))
            return false;
    }
    return true;
}

/*
 * A kernel may write a variable that it reads if every point reads only the
 * element it writes, in one phase. A kernel with reductions, which may have
 * several phases, takes no second write: the order of both could change. Nor
 * does it write what it reads, unless it is a matmul: its maps run once per
 * point, after the reduction, and load before they store.
 */
static bool can_write(tgi_fuse_state *s, tgi_fuse_kernel_id number,
                      const tgi_task *task)
{
    const tgi_fuse_kernel *k = tgi_fuse_kernel_at(s, number);
    int64_t param = param_written(s, task);
    if (param >= 0 && k->has_reduction &&
        tgi_fuse_kernel_id_equals(s->last_writer[param], number))
        return false;
    if (param < 0 || !tgi_fuse_kernel_id_equals(s->last_reader[param], number))
        return true;
    if (k->has_reduction && !k->has_matmul)
        return false;
    for (size_t t = 0; t < k->tasks.n; t++)
        if (!reads_own_point(s, k, tgi_fuse_kernel_task(s, k, t), param))
            return false;
    return reads_own_point(s, k, task, param);
}

/* A task may read a variable that the kernel writes if every point reads the
   element it writes: loads precede stores. */
static bool can_read(const tgi_fuse_state *s, tgi_fuse_kernel_id number,
                     const tgi_task *task)
{
    for (size_t n = 0; n < task->expr.order.n; n++) {
        const tgi_expr_id i = task->expr.order.data[n];
        const tgi_expr_node *expr_node = tgi_expr_at(&task->expr, i);
        int64_t param = param_read(s, task, i);
        if (param < 0 ||
            !tgi_fuse_kernel_id_equals(s->last_writer[param], number))
            continue;
        if (tgi_fuse_kernel_at(s, number)->has_reduction ||
            s->values[expr_node->node].class == TGI_VALUE_ALIAS ||
            !tgi_map_is_identity(s, expr_node->node, &expr_node->map))
            return false;
    }
    return true;
}

bool tgi_fuse_can_access_variables(tgi_fuse_state *s, tgi_fuse_kernel_id number,
                                   const tgi_task *task)
{
    return can_write(s, number, task) && can_read(s, number, task);
}

/* True if a variable was written before `kernel`, after it got the contents of
   `since`. For contents that a region left, any later write counts: the writes
   in between are not recorded. */
static bool is_overwritten(const tgi_fuse_state *s, int64_t param,
                           tgi_fuse_kernel_id since, tgi_fuse_kernel_id kernel)
{
    return param >= 0 &&
           tgi_fuse_kernel_id_is_before(since, s->last_writer[param]) &&
           (!tgi_fuse_kernel_id_is_none(since) ||
            tgi_fuse_kernel_id_is_before(s->first_writer[param], kernel));
}

static bool writes_param(const tgi_fuse_state *s, const tgi_node *node,
                         int64_t param)
{
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (tgi_node_writes(node, i) &&
            (int64_t)tgi_fuse_param(s, node->inputs[i]) == param)
            return true;
    return false;
}

tgi_ref tgi_fuse_find_stale_read(const tgi_fuse_state *s, const tgi_task *task,
                                 tgi_fuse_kernel_id kernel)
{
    const tgi_node *node = tgi_graph_node(s->graph, task->node);
    for (uint32_t i = 0; reads_buffers(task) && i < node->n_inputs; i++) {
        tgi_ref ref = tgi_fuse_storage_root(s, node->inputs[i]);
        int64_t param = param_of(s, ref);
        if (!reads_input(node, i) || param < 0)
            continue;
        /* A region that writes the variable would change its own input. */
        if (is_overwritten(s, param, defining_kernel(s, ref), kernel) ||
            writes_param(s, node, param))
            return ref;
    }
    for (size_t n = 0; n < task->expr.order.n; n++) {
        const tgi_expr_id i = task->expr.order.data[n];
        int64_t param = param_read(s, task, i);
        if (param >= 0 &&
            is_overwritten(s, param, contents_since(s, task, i), kernel))
            /* The READ is copied where it stands. A view of it would be copied
               where the view stands, which may be after the write. */
            return stored_node(s, task, i);
    }
    return 0;
}

bool tgi_fuse_reads_other_points(const tgi_fuse_state *s, const tgi_task *task)
{
    int64_t param = param_written(s, task);
    for (size_t n = 0; param >= 0 && n < task->expr.order.n; n++) {
        const tgi_expr_id i = task->expr.order.data[n];
        const tgi_expr_node *expr_node = tgi_expr_at(&task->expr, i);
        if (param_read(s, task, i) == param &&
            !(s->values[expr_node->node].class == TGI_VALUE_INPUT &&
              tgi_map_is_identity(s, expr_node->node, &expr_node->map)))
            return true;
    }
    return false;
}

/* -- Checks ---------------------------------------------------------------- */

bool tgi_fuse_is_in_range(const tgi_fuse_state *s, tgi_ref indices,
                          tgi_dim extent, tgi_fuse_kernel_id kernel)
{
    const tgi_fuse_value *value = &s->values[indices];
    return !tgi_task_id_is_none(value->check) &&
           value->checked_extent == extent &&
           tgi_fuse_kernel_id_is_before(
               tgi_fuse_task(s, value->check)->kernel, kernel);
}

/* -- Records --------------------------------------------------------------- */

static void record_write(tgi_fuse_state *s, int64_t param,
                         tgi_fuse_kernel_id kernel)
{
    s->last_writer[param] = kernel;
    if (tgi_fuse_kernel_id_is_none(s->first_writer[param]))
        s->first_writer[param] = kernel;
}

static void record_buffers(tgi_fuse_state *s, const tgi_task *task)
{
    const tgi_node *node = tgi_graph_node(s->graph, task->node);
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        tgi_ref ref = tgi_fuse_storage_root(s, node->inputs[i]);
        if (!reads_input(node, i))
            continue;
        int64_t param = param_of(s, ref);
        if (tgi_graph_node(s->graph, ref)->op == TGI_OP_VARIABLE) {
            param = (int64_t)tgi_fuse_param(s, ref);
            if (tgi_node_writes(node, i))
                record_write(s, param, task->kernel);
        }
        s->values[ref].is_read = true;
        if (param >= 0)
            s->last_reader[param] = task->kernel;
    }
}

void tgi_fuse_record_accesses(tgi_fuse_state *s, const tgi_task *task)
{
    if (reads_buffers(task))
        record_buffers(s, task);
    for (size_t n = 0; n < task->expr.order.n; n++) {
        const tgi_expr_id i = task->expr.order.data[n];
        int64_t param = param_read(s, task, i);
        if (param >= 0 &&
            tgi_fuse_kernel_id_is_before(s->last_reader[param], task->kernel))
            s->last_reader[param] = task->kernel;
        tgi_task *writer = tgi_fuse_writer(s, task, i);
        if (!writer)
            continue;
        tgi_fuse_value *value = &s->values[writer->node];
        if (!tgi_fuse_kernel_id_equals(writer->kernel, task->kernel))
            value->is_read = true;
        else if (writer->phase != task->phase && writer->kind == TGI_TASK_MAP &&
                 writer->level == TGI_LEVEL_INNER)
            value->is_read_local = true;
    }
    int64_t param = param_written(s, task);
    if (param >= 0)
        record_write(s, param, task->kernel);
    if (task->kind == TGI_TASK_CHECK || reads_buffers(task))
        s->fence = task->kernel;
}
