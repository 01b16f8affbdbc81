/* SPDX-License-Identifier: MIT */
/*
 * fuse_kernel.c - from a kernel of fusion to the loop IR: emits its tasks phase
 * by phase, then merges axes.
 *
 * A split kernel becomes two: in the first, every block of its reductions is a
 * point; the second combines the blocks and runs the tasks that follow.
 *
 * Requires:    tasks with kernel, phase and level.
 * Computes:    kernels of the loop IR, without names and steps.
 * Preserves:   at each element, loads precede stores.
 * Invalidates: the sources of reductions of a split kernel.
 */
#include "base/error.h"
#include "fuse/fuse_buffer.h"
#include "fuse/fuse_value.h"
#include "fuse/loop_builder.h"
#include "recipe/reduce_tree.h"
#include "tgjit/ops.h"

/* -- Axes ------------------------------------------------------------------ */

/* True if axes a and a + 1 can be merged, for all accesses. */
static bool can_merge(tgi_fuse_state *s, const tgi_kernel_loops *k, int a)
{
    for (size_t i = 0; i < k->accesses.n; i++) {
        const tgi_stride *before = &k->accesses.data[i].stride[a];
        const tgi_stride *after = before + 1;
        if (before->distance !=
                tgi_dim_mul(s->dims, after->distance, k->extent[a + 1]) ||
            before->is_negative != after->is_negative)
            return false;
    }
    return true;
}

static void remove_axis(tgi_stride *strides, int a, int n)
{
    for (int i = a; i + 1 < n; i++)
        strides[i] = strides[i + 1];
    strides[n - 1] = (tgi_stride){0};
}

static void merge_axes(tgi_fuse_state *s, tgi_kernel_loops *k, int a, int n)
{
    k->extent[a] = tgi_dim_mul(s->dims, k->extent[a], k->extent[a + 1]);
    for (int i = a + 1; i + 1 < n; i++)
        k->extent[i] = k->extent[i + 1];
    for (size_t i = 0; i < k->accesses.n; i++)
        remove_axis(k->accesses.data[i].stride, a, n);
}

/* Merges axes `from` … `to` - 1 of n where possible. Returns how many of the n
   are left. */
static int merge_range(tgi_fuse_state *s, tgi_kernel_loops *k, int from, int to,
                       int n)
{
    for (int a = from; a + 1 < to;) {
        if (!can_merge(s, k, a)) {
            a++;
            continue;
        }
        merge_axes(s, k, a, n);
        to--;
        n--;
    }
    return n;
}

/*
 * Merges n_outer + n_inner axes into the form of loops.h. Outer axes from
 * `fixed` on stay as they are: the blocks of a split kernel, and columns in
 * packed panels.
 */
static tg_status normalise_axes(tgi_fuse_state *s, tgi_kernel_loops *k,
                                int n_outer, int n_inner, int fixed)
{
    int n = merge_range(s, k, n_outer, n_outer + n_inner, n_outer + n_inner);
    n_inner = n_inner > 0;
    if (n > n_outer + n_inner)
        TGI_FAIL(TG_ERROR_INTERNAL, TGI_NO_SITE,
                 "fusion of '%s': inner axes are not contiguous",
                 s->loops->name);
    n_outer = merge_range(s, k, 0, fixed, n) - n_inner;
    k->has_inner = true;
    if (k->reductions.n == 0 && k->vectors == TGI_ROWS) {
        /* Without reductions, the last axis becomes the inner one. */
        k->has_inner = n_outer > 0;
        n_outer -= k->has_inner;
        n_inner = k->has_inner;
    }
    k->n_outer = (uint8_t)n_outer;
    if (!n_inner)
        k->extent[n_outer] = 1;
    return TG_OK;
}

/* -- Levels ---------------------------------------------------------------- */

static int level_of_access(const tgi_kernel_loops *k, const tgi_access *access)
{
    int level = TGI_LEVEL_KERNEL;
    for (int axis = 0; axis <= k->n_outer; axis++)
        if (access->stride[axis].distance != 0)
            level = axis < k->n_outer || !k->has_inner ? TGI_LEVEL_POINT
                                                       : TGI_LEVEL_INNER;
    if (access->index && k->insts.data[access->index].level > level)
        level = k->insts.data[access->index].level;
    return level;
}

/* True if a load sees stores of the kernel itself. */
static bool is_reload(const tgi_kernel_loops *k, const tgi_inst *inst)
{
    for (size_t i = 0; i < k->stores.n; i++)
        if (inst->kind == TGI_INST_LOAD &&
            k->stores.data[i].access == inst->number)
            return true;
    return false;
}

static void set_levels(tgi_kernel_loops *k)
{
    for (size_t i = 1; i < k->insts.n; i++) {
        tgi_inst *inst = &k->insts.data[i];
        int level = TGI_LEVEL_KERNEL;
        if (inst->kind == TGI_INST_LOAD || inst->kind == TGI_INST_POSITION)
            level = level_of_access(k, &k->accesses.data[inst->number]);
        if (is_reload(k, inst))
            level = TGI_LEVEL_INNER;
        if (inst->kind == TGI_INST_OFFSET || inst->kind == TGI_INST_CARRIED)
            level = TGI_LEVEL_INNER;
        if (inst->kind == TGI_INST_REDUCED)
            level = TGI_LEVEL_POINT;
        for (int o = 0; o < inst->n_operands; o++)
            if (k->insts.data[inst->operands[o]].level > level)
                level = k->insts.data[inst->operands[o]].level;
        inst->level = (uint8_t)level;
    }
}

/* -- Stores ---------------------------------------------------------------- */

static tg_status add_store(tgi_loop_builder *b, uint32_t value,
                           const tgi_access *access, int level, tgi_ref node)
{
    uint32_t number = tgi_loop_builder_access(b, access);
    tgi_loop_store store = {.value = value,
                            .access = number,
                            .phase = b->phase,
                            .level = (uint8_t)level,
                            .node = node};
    if (number == UINT32_MAX || !tgi_vec_push(&b->loops->stores, store))
        return tgi_error_memory();
    return TG_OK;
}

static void copy_strides(const tgi_task *task, tgi_access *access)
{
    for (int axis = 0; axis < task->outer.n; axis++)
        access->stride[axis] = task->target.stride[axis];
}

/* A value that only later phases read has one row per thread. */
static tg_status add_scratch(tgi_fuse_state *s, tgi_fuse_value *value,
                             const tgi_fuse_kernel *k, tgi_ref ref)
{
    tgi_loop_buffer scratch = {.place = TGI_PLACE_SCRATCH,
                               .dtype = tgi_fuse_dtype(s, ref),
                               .node = ref,
                               .count = 1};
    for (int i = 0; i < k->inner.n; i++)
        scratch.count = tgi_dim_mul(s->dims, scratch.count, k->inner.extent[i]);
    value->buffer = tgi_fuse_add_buffer(s, scratch);
    return tgi_buffer_id_is_none(value->buffer) ? tg_error_last()->status
                                                : TG_OK;
}

/* True unless nothing loads the value of a task. */
static bool is_store_needed(const tgi_fuse_state *s, const tgi_task *task)
{
    const tgi_fuse_value *value = &s->values[task->node];
    return !tgi_task_materialises(task, task->node) ||
           !tgi_buffer_id_is_none(value->buffer) || value->is_read ||
           value->is_read_local;
}

/* Stores a task's value at its target. */
static tg_status store_value(tgi_loop_builder *b, const tgi_fuse_kernel *k,
                             const tgi_task *task, uint32_t inst, int level)
{
    tgi_fuse_state *s = b->state;
    tgi_access access = {.offset = task->target.offset};
    tgi_buffer_id buffer = task->target.buffer;
    copy_strides(task, &access);
    if (tgi_buffer_id_is_none(buffer)) {
        tgi_fuse_value *value = &s->values[task->node];
        if (!tgi_task_is_part(task) && tgi_buffer_id_is_none(value->buffer) &&
            !value->is_read)
            TGI_TRY(add_scratch(s, value, k, task->node));
        buffer = tgi_fuse_buffer_of(s, task->node);
        if (tgi_buffer_id_is_none(buffer))
            return tg_error_last()->status;
    }
    access.buffer = buffer;
    if (!tgi_loop_builder_shift(b, task, &access))
        return tg_error_last()->status;
    if (tgi_loops_buffer(s->loops, buffer)->place == TGI_PLACE_SCRATCH)
        for (int axis = 0; axis < k->outer.n; axis++)
            access.stride[axis] = (tgi_stride){0};
    return add_store(b, inst, &access, level, tgi_task_origin(task));
}

/* -- Tasks ----------------------------------------------------------------- */

/* The kernel runs only if the variable has changed. */
static tg_status memoise(tgi_loop_builder *b, const tgi_task *task)
{
    if (!task->is_memoised)
        return TG_OK;
    tgi_loops *program = b->state->loops;
    b->loops->memo = tgi_memo_id_from(program->memo_params.n);
    return tgi_vec_push(&program->memo_params, task->memo_param)
               ? TG_OK
               : tgi_error_memory();
}

static tg_status build_map(tgi_loop_builder *b, const tgi_fuse_kernel *k,
                           tgi_task *task)
{
    task->map.inst = tgi_loop_builder_expand(b, task, task->value.id);
    if (!task->map.inst)
        return tg_error_last()->status;
    /* Without reductions, all axes are of one kind. */
    int level = k->has_reduction ? task->level : TGI_LEVEL_INNER;
    if (!is_store_needed(b->state, task))
        return TG_OK;
    TGI_TRY(store_value(b, k, task, task->map.inst, level));
    return memoise(b, task);
}

static tg_status add_reduction(tgi_loop_builder *b, tgi_task *task,
                               tgi_reduction reduction)
{
    reduction.op = task->reduce.op;
    reduction.is_bytes = task->reduce.is_bytes && !reduction.combines_blocks;
    reduction.node = task->node;
    reduction.phase = b->phase;
    reduction.dtype = b->loops->insts.data[reduction.value].dtype;
    task->reduce.reduction = (uint32_t)b->loops->reductions.n;
    return tgi_vec_push(&b->loops->reductions, reduction) ? TG_OK
                                                          : tgi_error_memory();
}

/* 0 when out of memory (recorded). */
static uint32_t load_source(tgi_loop_builder *b, const tgi_task_source *source,
                            uint32_t panel_width)
{
    tgi_access access = {.buffer = source->buffer, .panel_width = panel_width};
    for (int axis = 0; axis < TGI_LOOP_AXES; axis++)
        access.stride[axis] = source->stride[axis];
    const int dtype = tgi_loops_buffer(b->state->loops, source->buffer)->dtype;
    return tgi_loop_builder_load(b, dtype, &access);
}

static tg_status build_pack(tgi_loop_builder *b, const tgi_task *task)
{
    tgi_access access = {.buffer = task->target.buffer,
                         .panel_width = task->pack.panel_width};
    for (int axis = 0; axis < TGI_LOOP_AXES; axis++)
        access.stride[axis] = task->target.stride[axis];
    const uint32_t inst = tgi_loop_builder_expand(b, task, task->value.id);
    if (!inst)
        return tg_error_last()->status;
    TGI_TRY(add_store(b, inst, &access, TGI_LEVEL_INNER,
                      tgi_task_origin(task)));
    return memoise(b, task);
}

static tg_status build_reduction(tgi_loop_builder *b, const tgi_fuse_kernel *k,
                                 tgi_task *task, int stage)
{
    tgi_reduction r = {.is_split = k->is_split && stage == 0,
                       .combines_blocks = stage == 1};
    const tgi_expr_id lhs = task->value.id, rhs = task->reduce.rhs.id;
    if (stage == 0 && task->expr.order.n) {
        if (!tgi_loop_builder_expand(b, task,
                                     tgi_expr_id_is_none(lhs) ? rhs : lhs))
            return tg_error_last()->status;
        r.value = tgi_loop_builder_inst_of(b, lhs);
        r.other = tgi_loop_builder_inst_of(b, rhs);
    }
    if (tgi_task_has_source(task) &&
        !(r.value = load_source(b, &task->reduce.source, 0)))
        return tg_error_last()->status;
    if (tgi_task_has_packed(task) && stage == 0 &&
        !(r.other =
              load_source(b, &task->reduce.packed, task->reduce.panel_width)))
        return tg_error_last()->status;
    TGI_TRY(add_reduction(b, task, r));
    if (r.is_split || !is_store_needed(b->state, task))
        return TG_OK;
    uint32_t result = tgi_loop_builder_reduced(b, task->reduce.reduction);
    if (!result)
        return tg_error_last()->status;
    return store_value(b, k, task, result, TGI_LEVEL_POINT);
}

static tg_status build_epilogue(tgi_loop_builder *b, const tgi_fuse_kernel *k,
                                const tgi_task *task)
{
    const uint32_t inst = tgi_loop_builder_expand(b, task, task->value.id);
    if (!inst)
        return tg_error_last()->status;
    if (!is_store_needed(b->state, task))
        return TG_OK;
    TGI_TRY(store_value(b, k, task, inst, TGI_LEVEL_POINT));
    tgi_loop_store *store = &b->loops->stores.data[b->loops->stores.n - 1];
    store->epilogue_op = task->reduce.op;
    store->along_rows = task->vectors == TGI_ROWS;
    return TG_OK;
}

/*
 * Stores an update, or what it makes of the old element, at its index;
 * the old element if the index is out of range. One access serves load and
 * store, so that every step loads what earlier ones have stored.
 */
static tg_status build_scatter(tgi_loop_builder *b, const tgi_task *task)
{
    tgi_fuse_state *s = b->state;
    const tgi_node *node = tgi_graph_node(s->graph, task->node);
    const tgi_attr_scatter *attr = node->attr;
    const tgi_buffer_id buffer = tgi_fuse_buffer_of(s, task->node);
    if (tgi_buffer_id_is_none(buffer) ||
        !tgi_loop_builder_expand(b, task, task->value.id))
        return tg_error_last()->status;
    const uint32_t index =
        tgi_loop_builder_inst_of(b, task->scatter.indices.id);
    const tgi_dim extent = tgi_fuse_extent(s, task->node, (int)attr->axis);
    uint32_t value = tgi_loop_builder_inst_of(b, task->value.id);
    tgi_access access = {.buffer = buffer,
                         .index_stride = {task->scatter.index_stride, false}};
    copy_strides(task, &access);
    const bool is_in_range = tgi_fuse_is_in_range(
        s, tgi_fuse_resolve(s, node->inputs[1]), extent, task->kernel);
    access.index =
        is_in_range
            ? tgi_loop_builder_cast(b, TGI_OP_CAST, index, TG_I64, task->node)
            : tgi_loop_builder_index(b, index, extent, task->node);
    uint32_t number =
        access.index ? tgi_loop_builder_access(b, &access) : UINT32_MAX;
    if (number == UINT32_MAX)
        return tg_error_last()->status;
    const tgi_op op = tgi_scatter_op(attr->mode);
    const bool may_drop = attr->range == TG_SCATTER_DROP && !is_in_range;
    if (op || may_drop) {
        uint32_t old = tgi_loop_builder_reload(b, number, task->node);
        if (old && op)
            value = tgi_loop_builder_op(
                b, op, 2, (const uint32_t[]){old, value}, task->node);
        if (old && value && may_drop) {
            uint32_t in_range =
                tgi_loop_builder_in_range(b, index, extent, task->node);
            value = in_range ? tgi_loop_builder_op(
                                   b, TGI_OP_SELECT, 3,
                                   (const uint32_t[]){in_range, value, old},
                                   task->node)
                             : 0;
        }
        if (!old || !value)
            return tg_error_last()->status;
    }
    tgi_loop_store store = {.value = value,
                            .access = number,
                            .phase = b->phase,
                            .level = TGI_LEVEL_INNER,
                            .node = task->node};
    return tgi_vec_push(&b->loops->stores, store) ? TG_OK : tgi_error_memory();
}

/* Stores factor * previous + addend, rounded once. */
static tg_status build_scan(tgi_loop_builder *b, const tgi_fuse_kernel *k,
                            const tgi_task *task)
{
    const tgi_node *node = tgi_graph_node(b->state->graph, task->node);
    const tgi_attr_scan *attr = node->attr;
    if (!is_store_needed(b->state, task))
        return TG_OK;
    if (!tgi_loop_builder_expand(b, task, task->value.id))
        return tg_error_last()->status;
    const uint32_t factor = tgi_loop_builder_inst_of(b, task->value.id);
    const uint32_t addend = tgi_loop_builder_inst_of(b, task->scan.addend.id);
    const uint32_t result =
        tgi_loop_builder_linear_step(b, factor, addend, attr->starts_at_one,
                                     k->inner.n > 0, task->node);
    if (!result)
        return tg_error_last()->status;
    TGI_TRY(store_value(b, k, task, result, TGI_LEVEL_INNER));
    /* store_value sets the strides of outer axes only. */
    tgi_access *access = &b->loops->accesses.data[b->loops->accesses.n - 1];
    if (k->inner.n > 0)
        access->stride[k->outer.n] = task->target.stride[k->outer.n];
    return TG_OK;
}

static tg_status build_check(tgi_loop_builder *b, const tgi_task *task)
{
    tgi_fuse_state *s = b->state;
    const tgi_node *node = tgi_graph_node(s->graph, task->node);
    tgi_ref data = tgi_fuse_resolve(s, node->inputs[0]);
    int axis = (int)*(const int64_t *)node->attr;
    uint32_t index = tgi_loop_builder_expand(b, task, task->value.id);
    if (!index)
        return tg_error_last()->status;
    const tgi_runtime_check checked = {.graph = s->graph, .node = task->node};
    tgi_loop_check check = {.number = (uint32_t)s->loops->runtime_checks.n,
                            .index = index};
    check.value = tgi_loop_builder_in_range(
        b, index, tgi_fuse_extent(s, data, axis), task->node);
    tgi_access position = {0};
    tgi_domain_dense_strides(s, &task->outer, position.stride);
    check.position = tgi_loop_builder_position(b, &position);
    if (!check.value || !check.position)
        return tg_error_last()->status;
    return tgi_vec_push(&b->loops->checks, check) &&
                   tgi_vec_push(&s->loops->runtime_checks, checked)
               ? TG_OK
               : tgi_error_memory();
}

static tg_status build_task(tgi_loop_builder *b, const tgi_fuse_kernel *k,
                            tgi_task *task, int stage)
{
    uint32_t *inst_of =
        tgi_realloc(b->inst_of, (task->expr.nodes.n + 1) * sizeof(*inst_of));
    if (!inst_of)
        return tgi_error_memory();
    b->inst_of = inst_of;
    switch (task->kind) {
    case TGI_TASK_MAP:
        return build_map(b, k, task);
    case TGI_TASK_REDUCE:
        return build_reduction(b, k, task, stage);
    case TGI_TASK_EPILOGUE:
        return build_epilogue(b, k, task);
    case TGI_TASK_PACK:
        return build_pack(b, task);
    case TGI_TASK_SCATTER:
        return build_scatter(b, task);
    case TGI_TASK_SCAN:
        return build_scan(b, k, task);
    default:
        return build_check(b, task);
    }
}

/* -- Blocks ---------------------------------------------------------------- */

/* Elements of a block of a task's reduction. */
static int64_t block_elements(const tgi_fuse_state *s, const tgi_task *task)
{
    if (task->vectors == TGI_COLUMNS)
        return TGI_BLOCK_ROWS;
    int dtype = tgi_fuse_dtype(s, task->node);
    return (int64_t)tgi_tree_lanes(dtype) * TGI_BLOCK_STEPS;
}

static tgi_dim count_blocks(const tgi_fuse_state *s, const tgi_fuse_kernel *k)
{
    tgi_dim count = 1;
    for (int i = 0; i < k->inner.n; i++)
        count = tgi_dim_mul(s->dims, count, k->inner.extent[i]);
    int64_t block = 1;
    for (size_t i = 0; i < k->tasks.n; i++) {
        const tgi_task *task = tgi_fuse_kernel_task(s, k, i);
        if (task->kind == TGI_TASK_REDUCE)
            block = block_elements(s, task);
    }
    return tgi_dim_div(s->dims, tgi_dim_add(s->dims, count, block - 1), block);
}

/* The outer axis that counts the blocks of a split kernel. */
static int block_axis(const tgi_fuse_kernel *k)
{
    return k->vectors == TGI_COLUMNS ? k->outer.n - 1 : k->outer.n;
}

/* Inserts an axis, along which all strides are 0. */
static void insert_axis(tgi_kernel_loops *k, int at, tgi_dim extent)
{
    for (int i = TGI_LOOP_AXES - 1; i > at; i--)
        k->extent[i] = k->extent[i - 1];
    k->extent[at] = extent;
    for (size_t i = 0; i < k->accesses.n; i++) {
        tgi_stride *strides = k->accesses.data[i].stride;
        for (int axis = TGI_LOOP_AXES - 1; axis > at; axis--)
            strides[axis] = strides[axis - 1];
        strides[at] = (tgi_stride){0};
    }
}

/* Adds an axis of blocks, and buffers for their results: the sources of the
   second kernel. */
static tg_status split_blocks(tgi_loop_builder *b, const tgi_fuse_kernel *k)
{
    tgi_fuse_state *s = b->state;
    tgi_kernel_loops *loops = b->loops;
    int at = block_axis(k);
    insert_axis(loops, at, count_blocks(s, k));

    /* The partial results are dense over all outer axes. */
    tgi_access access = {0};
    tgi_loop_buffer partial = {.place = TGI_PLACE_TEMP, .count = 1};
    for (int axis = k->outer.n; axis >= 0; axis--) {
        access.stride[axis].distance = partial.count;
        partial.count =
            tgi_dim_mul(s->dims, partial.count, loops->extent[axis]);
    }
    for (size_t i = 0; i < k->tasks.n; i++) {
        tgi_task *task = tgi_fuse_kernel_task(s, k, i);
        if (task->kind != TGI_TASK_REDUCE)
            continue;
        partial.dtype = loops->reductions.data[task->reduce.reduction].dtype;
        partial.node = task->node;
        tgi_task_source *source = &task->reduce.source;
        *source = (tgi_task_source){.buffer = tgi_fuse_add_buffer(s, partial)};
        uint32_t result = tgi_loop_builder_reduced(b, task->reduce.reduction);
        if (tgi_buffer_id_is_none(source->buffer) || !result)
            return tg_error_last()->status;
        access.buffer = source->buffer;
        TGI_TRY(add_store(b, result, &access, TGI_LEVEL_POINT, task->node));
        /* In the second kernel, the axis of blocks is the inner one. */
        for (int axis = 0, outer = 0; axis <= k->outer.n; axis++)
            source->stride[axis == at ? k->outer.n : outer++] =
                access.stride[axis];
    }
    return TG_OK;
}

/* -- Kernels --------------------------------------------------------------- */

/* True if the task belongs to a stage: 0 is the kernel itself, 1 the second
   kernel of a split one. */
static bool is_in_stage(const tgi_fuse_kernel *k, const tgi_task *task,
                        int stage)
{
    if (!k->is_split)
        return stage == 0;
    if (task->kind == TGI_TASK_REDUCE)
        return true;
    return (task->level == TGI_LEVEL_POINT) == (stage == 1);
}

static tg_status build_tasks(tgi_loop_builder *b, const tgi_fuse_kernel *k,
                             int stage)
{
    tgi_fuse_state *s = b->state;
    for (b->phase = 0; b->phase < k->n_phases; b->phase++)
        for (size_t i = 0; i < k->tasks.n; i++) {
            tgi_task *task = tgi_fuse_kernel_task(s, k, i);
            if (task->phase == b->phase && is_in_stage(k, task, stage))
                TGI_TRY(build_task(b, k, task, stage));
        }
    b->phase = 0;
    return TG_OK;
}

static bool has_panels(const tgi_kernel_loops *k)
{
    for (size_t i = 0; i < k->accesses.n; i++)
        if (k->accesses.data[i].panel_width)
            return true;
    return false;
}

static tg_status build_stage(tgi_loop_builder *b, const tgi_fuse_kernel *k,
                             int stage)
{
    tgi_fuse_state *s = b->state;
    tgi_kernel_loops *loops = b->loops;
    int n_outer = k->outer.n, fixed = n_outer;
    loops->vectors = k->vectors;
    loops->n_phases = k->n_phases;
    for (int i = 0; i < k->outer.n; i++)
        loops->extent[i] = k->outer.extent[i];
    for (int i = 0; i < k->inner.n; i++)
        loops->extent[n_outer + i] = k->inner.extent[i];
    /* Without reductions there is one phase. */
    b->inner_axes = ~((UINT32_C(1) << n_outer) - 1) & ~TGI_AXES_POINT;
    b->first_inner = n_outer;
    b->n_inner = k->inner.n;
    TGI_TRY(build_tasks(b, k, stage));
    if (k->is_split && stage == 0) {
        TGI_TRY(split_blocks(b, k));
        fixed = block_axis(k);
        n_outer++;
    } else if (has_panels(loops)) {
        fixed = n_outer - 1;
    }
    TGI_TRY(normalise_axes(s, loops, n_outer, k->inner.n, fixed));
    set_levels(loops);
    return TG_OK;
}

/* True if the kernel has no points. */
static bool is_empty(const tgi_fuse_kernel *k)
{
    bool is_empty = false;
    for (int i = 0; i < k->outer.n; i++)
        is_empty |= k->outer.extent[i] == 0;
    for (int i = 0; i < k->inner.n && !k->has_reduction; i++)
        is_empty |= k->inner.extent[i] == 0;
    return is_empty;
}

tg_status tgi_fuse_build_kernel(tgi_fuse_state *s, const tgi_fuse_kernel *k)
{
    if (is_empty(k))
        return TG_OK;
    tgi_fuse_kernel current = *k;
    for (int stage = 0; stage <= k->is_split; stage++) {
        tgi_loop_builder b = {.state = s,
                              .loops = tgi_loops_add_kernel(s->loops)};
        /* Insts are numbered from 1. */
        if (!b.loops || !tgi_vec_push(&b.axes, 0u))
            return tgi_error_memory();
        b.loops->graph = s->graph;
        if (stage == 1) {
            tgi_dim n_blocks = count_blocks(s, k);
            current.inner = (tgi_domain){n_blocks != 1, {n_blocks}};
        }
        tg_status status = build_stage(&b, &current, stage);
        tgi_free(b.inst_of);
        tgi_vec_deinit(&b.axes);
        tgi_vec_deinit(&b.cached);
        tgi_index_deinit(&b.index);
        TGI_TRY(status);
    }
    return TG_OK;
}
