/* SPDX-License-Identifier: MIT */
/*
 * fuse_steps.c - steps and barriers. A barrier precedes a kernel only if it has
 * a RAW, WAR or WAW conflict with one since the last barrier. Barriers delimit
 * epochs.
 *
 * Thread 0 runs all straight-line kernels, in order: they need no barriers
 * among themselves.
 *
 * Requires:  kernels of fusion, in order.
 * Computes:  steps; names of kernels.
 * Preserves: the order of effects.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "fuse/fuse_buffer.h"
#include "fuse/fuse_steps.h"
#include "fuse/fuse_straightline.h"
#include "fuse/fuse_value.h"

/* Maximum instructions of a straight-line group, and of all of them.
   They are one function, and compile time grows faster than its length. */
enum { MAX_GROUP_COST = 1500, MAX_TOTAL_COST = 3000 };

tg_status tgi_step_builder_add(tgi_step_builder *st, tgi_loop_step step)
{
    if (step.kind != TGI_STEP_RUN)
        st->group_cost = 0;
    return tgi_vec_push(&st->state->loops->steps, step) ? TG_OK
                                                        : tgi_error_memory();
}

tg_status tgi_step_builder_barrier(tgi_step_builder *st)
{
    if (st->touched.n)
        memset(st->touched.data, 0, st->touched.n);
    return tgi_step_builder_add(st, (tgi_loop_step){.kind = TGI_STEP_BARRIER});
}

/* Extends `touched` to new buffers. */
static tg_status extend_touched(tgi_step_builder *st)
{
    while (st->touched.n < st->state->loops->buffers.n)
        if (!tgi_vec_push(&st->touched, (uint8_t)0))
            return tgi_error_memory();
    return TG_OK;
}

/* True if an access conflicts with one of this epoch. */
static bool conflicts(const tgi_step_builder *st, tgi_buffer_id buffer,
                      unsigned does)
{
    unsigned was = st->touched.data[tgi_buffer_id_index(buffer)];
    was = st->is_straightline ? was & ((1u << TGI_TOUCH_BITS) - 1)
                              : was | was >> TGI_TOUCH_BITS;
    if (does & TGI_TOUCH_READ)
        return was & (TGI_TOUCH_WRITTEN | TGI_TOUCH_PARTLY);
    if (does & TGI_TOUCH_WRITTEN)
        return was != 0;
    /* Parts do not overlap. */
    return was & (TGI_TOUCH_READ | TGI_TOUCH_WRITTEN);
}

static void record_touch(tgi_step_builder *st, tgi_buffer_id buffer,
                         unsigned does)
{
    st->touched.data[tgi_buffer_id_index(buffer)] |=
        (uint8_t)(does << (st->is_straightline ? TGI_TOUCH_BITS : 0));
}

tg_status tgi_step_builder_touch(tgi_step_builder *st, tgi_buffer_id buffer,
                                 unsigned does)
{
    TGI_TRY(extend_touched(st));
    record_touch(st, buffer, does);
    return TG_OK;
}

/* Calls `visit` for every buffer a kernel accesses, until it returns true. */
static bool walk_buffers(tgi_step_builder *st, const tgi_kernel_loops *k,
                         unsigned store_access,
                         bool visit(tgi_step_builder *st, tgi_buffer_id buffer,
                                    unsigned does))
{
    const tgi_loops *loops = st->state->loops;
    for (size_t i = 1; i < k->insts.n; i++) {
        const tgi_inst *inst = &k->insts.data[i];
        if (inst->kind != TGI_INST_LOAD)
            continue;
        const tgi_buffer_id buffer = k->accesses.data[inst->number].buffer;
        if (tgi_loops_buffer(loops, buffer)->place != TGI_PLACE_SCRATCH &&
            visit(st, buffer, TGI_TOUCH_READ))
            return true;
    }
    for (size_t i = 0; i < k->stores.n; i++) {
        const tgi_buffer_id buffer =
            k->accesses.data[k->stores.data[i].access].buffer;
        if (tgi_loops_buffer(loops, buffer)->place != TGI_PLACE_SCRATCH &&
            visit(st, buffer, store_access))
            return true;
    }
    return false;
}

static bool visit_conflict(tgi_step_builder *st, tgi_buffer_id buffer,
                           unsigned does)
{
    return conflicts(st, buffer, does);
}

static bool visit_touch(tgi_step_builder *st, tgi_buffer_id buffer,
                        unsigned does)
{
    record_touch(st, buffer, does);
    return false;
}

/* -- Kinds of steps -------------------------------------------------------- */

/* Stores to disjoint parts do not conflict. */
static unsigned store_access(const tgi_fuse_state *s, const tgi_fuse_kernel *k)
{
    for (size_t i = 0; i < k->tasks.n; i++) {
        const tgi_task *task = tgi_fuse_kernel_task(s, k, i);
        if (!tgi_task_is_part(task) || tgi_task_is_overwrite(task))
            return TGI_TOUCH_WRITTEN;
    }
    return TGI_TOUCH_PARTLY;
}

static tg_status add_run(tgi_step_builder *st, tgi_kernel_id id, unsigned does)
{
    tgi_fuse_state *s = st->state;
    tgi_kernel_loops *k = tgi_loops_kernel(s->loops, id);
    const uint32_t cost =
        s->no_straightline ? 0 : tgi_fuse_straightline_cost(k);
    st->is_straightline = k->is_straightline =
        cost && st->group_cost + cost <= MAX_GROUP_COST &&
        st->total_cost + cost <= MAX_TOTAL_COST;
    if (walk_buffers(st, k, does, visit_conflict))
        TGI_TRY(tgi_step_builder_barrier(st));
    walk_buffers(st, k, does, visit_touch);
    st->group_cost = st->is_straightline ? st->group_cost + cost : 0;
    st->total_cost += st->is_straightline ? cost : 0;
    st->is_straightline = false;
    if (k->is_straightline && s->explain)
        tgi_strbuf_addf(s->explain,
                        "kernel %s: straight-line code in the entry\n",
                        k->name);
    return tgi_step_builder_add(
        st, (tgi_loop_step){.kind = TGI_STEP_RUN, .kernel = id});
}

/* A buffer for an unused output of a host call; none when out of memory
   (recorded). */
static tgi_buffer_id add_unused(tgi_fuse_state *s, tgi_ref ref,
                                const tgi_host_output *output)
{
    const tgi_shape *shape = tgi_shape_of(s->graph->dims, output->shape);
    tgi_loop_buffer buffer = {.place = TGI_PLACE_TEMP,
                              .dtype = (uint8_t)output->dtype,
                              .node = ref,
                              .count = 1};
    for (int axis = 0; axis < shape->rank; axis++)
        buffer.count =
            tgi_dim_mul(s->dims, buffer.count,
                        tgi_variant_dim(s->variant, shape->dims[axis]));
    return tgi_fuse_add_buffer(s, buffer);
}

/* Outputs of a host call go to the buffers of the results in use. */
static tg_status add_outputs(tgi_step_builder *st, tgi_ref ref,
                             tgi_buffer_id *buffers, uint32_t n_outputs)
{
    tgi_fuse_state *s = st->state;
    const tgi_attr_host *attr = tgi_graph_node(s->graph, ref)->attr;
    for (uint32_t i = 0; i < n_outputs; i++)
        buffers[i] = (tgi_buffer_id){0};
    for (size_t i = 0; i < s->used_results.n; i++) {
        const tgi_fuse_result *result = &s->used_results.data[i];
        if (result->region != ref)
            continue;
        buffers[result->index] = tgi_fuse_buffer_of(s, result->ref);
        if (tgi_buffer_id_is_none(buffers[result->index]))
            return tg_error_last()->status;
    }
    for (uint32_t i = 0; i < n_outputs; i++) {
        if (tgi_buffer_id_is_none(buffers[i]))
            buffers[i] = add_unused(s, ref, &attr->outputs[i]);
        if (tgi_buffer_id_is_none(buffers[i]))
            return tg_error_last()->status;
        TGI_TRY(tgi_step_builder_touch(st, buffers[i], TGI_TOUCH_WRITTEN));
    }
    return TG_OK;
}

/* A print, a failed assert or a host call. */
static tg_status add_host(tgi_step_builder *st, tgi_ref ref)
{
    tgi_fuse_state *s = st->state;
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    const uint32_t n_outputs = (uint32_t)tgi_node_n_results(node);
    const uint32_t n = node->n_inputs + n_outputs;
    tgi_buffer_id *buffers =
        tgi_arena_alloc(&s->loops->arena, ((size_t)n + 1) * sizeof(*buffers));
    if (!buffers)
        return tgi_error_memory();
    TGI_TRY(tgi_step_builder_barrier(st));
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        buffers[i] =
            tgi_fuse_buffer_of(s, tgi_fuse_storage_root(s, node->inputs[i]));
        if (tgi_buffer_id_is_none(buffers[i]))
            return tg_error_last()->status;
        TGI_TRY(tgi_step_builder_touch(st, buffers[i], TGI_TOUCH_READ));
    }
    TGI_TRY(add_outputs(st, ref, buffers + node->n_inputs, n_outputs));
    TGI_TRY(tgi_step_builder_add(
        st, (tgi_loop_step){.kind = TGI_STEP_HOST,
                            .host = tgi_host_id_from(s->loops->hosts.n)}));
    const tgi_host_step step = {s->graph, ref, node->n_inputs, n, buffers};
    if (!tgi_vec_push(&s->loops->hosts, step))
        return tgi_error_memory();
    TGI_TRY(tgi_step_builder_barrier(st));
    return tgi_step_builder_add(
        st, (tgi_loop_step){.kind = TGI_STEP_RETURN_IF_FAILED});
}

/* -- Names ----------------------------------------------------------------- */

/* "tg_step_3_tanh_sigmoid": function, number, up to four ops from the end. */
static tg_status set_name(tgi_fuse_state *s, tgi_kernel_id id)
{
    tgi_kernel_loops *k = tgi_loops_kernel(s->loops, id);
    char name[128];
    size_t n = (size_t)snprintf(name, sizeof(name), "tg_%.40s_%u",
                                s->loops->name, tgi_kernel_id_index(id));
    int n_ops = 0;
    uint8_t last = 0;
    for (size_t i = k->reductions.n; i-- > 0 && n_ops < 2;) {
        last = k->reductions.data[i].op;
        n_ops++;
        n += (size_t)snprintf(name + n, sizeof(name) - n, "_%s",
                              tgi_op_table[last].name);
    }
    for (size_t i = k->insts.n; i-- > 1 && n_ops < 4;) {
        const tgi_inst *inst = &k->insts.data[i];
        if (inst->kind != TGI_INST_OP || inst->op == last)
            continue;
        last = inst->op;
        n_ops++;
        n += (size_t)snprintf(name + n, sizeof(name) - n, "_%s",
                              tgi_op_table[last].name);
    }
    if (!n_ops)
        snprintf(name + n, sizeof(name) - n, "_copy");
    for (char *c = name; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
              (*c >= '0' && *c <= '9')))
            *c = '_';
    k->name = tgi_arena_copy(&s->loops->arena, name, strlen(name) + 1);
    return k->name ? TG_OK : tgi_error_memory();
}

/* -- Kernels --------------------------------------------------------------- */

static tg_status build_kernel(tgi_step_builder *st, tgi_fuse_kernel *k)
{
    tgi_fuse_state *s = st->state;
    const tgi_task *task = tgi_fuse_kernel_task(s, k, 0);
    if (task->kind == TGI_TASK_HOST)
        return add_host(st, task->node);
    if (task->kind == TGI_TASK_REGION)
        return tgi_step_builder_region(st, task->node);
    size_t number = s->loops->kernels.n;
    TGI_TRY(tgi_fuse_build_kernel(s, k));
    TGI_TRY(extend_touched(st));
    for (; number < s->loops->kernels.n; number++) {
        const tgi_kernel_id id = tgi_kernel_id_from(number);
        TGI_TRY(set_name(s, id));
        TGI_TRY(tgi_fuse_set_sites(s, k, tgi_loops_kernel(s->loops, id)));
        TGI_TRY(add_run(st, id, store_access(s, k)));
    }
    if (task->kind != TGI_TASK_CHECK)
        return TG_OK;
    TGI_TRY(tgi_step_builder_barrier(st));
    return tgi_step_builder_add(
        st, (tgi_loop_step){.kind = TGI_STEP_RETURN_IF_FAILED});
}

tg_status tgi_step_builder_kernels(tgi_step_builder *st)
{
    for (size_t i = 0; i < st->state->kernels.n; i++)
        TGI_TRY(build_kernel(st, &st->state->kernels.data[i]));
    return TG_OK;
}

tg_status tgi_fuse_build(tgi_fuse_state *s)
{
    tgi_step_builder st = {.state = s};
    tg_status status = tgi_step_builder_kernels(&st);
    tgi_vec_deinit(&st.touched);
    return status;
}
