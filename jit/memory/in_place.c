/* SPDX-License-Identifier: MIT */
/*
 * in_place.c - in-place reuse. A buffer that a kernel stores takes the storage
 * of one that dies in the same kernel, if every load of the old buffer reads
 * the element being stored. That is safe because elements are loaded before
 * they are stored and each belongs to one work item of one thread. The two
 * become one buffer, as if a variable were updated from itself.
 *
 * Also the driver of buffer merging (merge_buffers.h), and renumbering.
 *
 * Requires:    steps, epochs, live ranges; copies already elided.
 * Preserves:   results and effects; live ranges stay current.
 * Invalidates: buffer ids.
 * Terminates:  one pass over the steps.
 */
#include "base/error.h"
#include "loop/explain.h"
#include "memory/merge_buffers.h"
#include "memory/merger.h"

/* -- Legality -------------------------------------------------------------- */

static bool is_same_stride(tgi_stride a, tgi_stride b)
{
    return a.distance == b.distance &&
           (a.distance == 0 || a.is_negative == b.is_negative);
}

bool tgi_access_is_same_element(const tgi_kernel_loops *k, const tgi_access *a,
                                const tgi_access *b)
{
    if (a->index || b->index || a->shift != b->shift || a->offset != b->offset)
        return false;
    for (int axis = 0; axis <= k->n_outer; axis++)
        if (!is_same_stride(a->stride[axis], b->stride[axis]))
            return false;
    return true;
}

/*
 * False for COLUMNS, checks, two-stage reductions, and accesses that are not
 * contiguous along the inner axis, for which code is generated in tiles.
 */
bool tgi_kernel_is_single_sweep(const tgi_kernel_loops *k)
{
    if (k->vectors != TGI_ROWS || k->checks.n)
        return false;
    for (size_t i = 0; i < k->reductions.n; i++)
        if (k->reductions.data[i].is_split ||
            k->reductions.data[i].combines_blocks)
            return false;
    for (size_t i = 0; i < k->accesses.n; i++) {
        const tgi_dim along = k->accesses.data[i].stride[k->n_outer].distance;
        if (along != 0 && along != 1)
            return false;
    }
    return true;
}

/* True if only one kernel of the epoch accesses the buffer. */
static bool is_alone(const tgi_merger *m, tgi_buffer_id buffer)
{
    return !m->is_shared[tgi_buffer_id_index(buffer)];
}

/*
 * True if `old`, which the kernel loads, and `new`, which it stores, may share
 * storage. No phase after the first store loads `old`; loads of `new` read
 * elements that the kernel stored at the same point.
 */
static bool can_replace(const tgi_merger *m, const tgi_kernel_loops *k,
                        tgi_buffer_id old, tgi_buffer_id new)
{
    const tgi_access *at = NULL;
    unsigned first_store = UINT16_MAX + 1u;
    for (size_t i = 0; i < k->stores.n; i++) {
        const tgi_loop_store *store = &k->stores.data[i];
        const tgi_access *access = &k->accesses.data[store->access];
        const tgi_buffer_id buffer = tgi_merger_buffer(m, k, store->access);
        if (tgi_buffer_id_equals(buffer, old))
            return false;
        if (!tgi_buffer_id_equals(buffer, new))
            continue;
        if (at && !tgi_access_is_same_element(k, at, access))
            return false;
        at = access;
        if (store->phase < first_store)
            first_store = store->phase;
    }
    for (size_t i = 1; at && i < k->insts.n; i++) {
        const tgi_inst *inst = &k->insts.data[i];
        if (inst->kind != TGI_INST_LOAD)
            continue;
        const tgi_buffer_id buffer = tgi_merger_buffer(m, k, inst->number);
        if (!tgi_buffer_id_equals(buffer, old) &&
            !tgi_buffer_id_equals(buffer, new))
            continue;
        if (!tgi_access_is_same_element(k, at,
                                        &k->accesses.data[inst->number]) ||
            (tgi_buffer_id_equals(buffer, old) && inst->phase > first_store))
            return false;
    }
    return at != NULL;
}

/* -- Merging --------------------------------------------------------------- */

static bool is_born(const tgi_merger *m, tgi_buffer_id buffer, uint32_t epoch)
{
    const tgi_loop_buffer *b = tgi_loops_buffer(m->loops, buffer);
    return (b->place == TGI_PLACE_TEMP || b->place == TGI_PLACE_RESULT) &&
           b->first_epoch == epoch && is_alone(m, buffer) && !b->is_pinned;
}

static bool dies(const tgi_merger *m, tgi_buffer_id buffer, uint32_t epoch)
{
    const tgi_loop_buffer *b = tgi_loops_buffer(m->loops, buffer);
    return b->place == TGI_PLACE_TEMP && b->first_epoch < epoch &&
           b->last_epoch == epoch && is_alone(m, buffer) && !b->is_pinned;
}

void tgi_merger_merge(tgi_merger *m, tgi_buffer_id old, tgi_buffer_id new)
{
    tgi_loop_buffer *before = tgi_loops_buffer(m->loops, old);
    tgi_loop_buffer *after = tgi_loops_buffer(m->loops, new);
    if (after->graph == before->graph)
        tgi_explain_node(m->explain, after->graph, after->node,
                         "in place of %%%u", before->node);
    m->has_merged = true;
    if (after->place == TGI_PLACE_RESULT) {
        m->parent[tgi_buffer_id_index(old)] = new;
        after->first_epoch = before->first_epoch;
        return;
    }
    m->parent[tgi_buffer_id_index(new)] = old;
    if (before->last_epoch < after->last_epoch)
        before->last_epoch = after->last_epoch;
    before->node = after->node;
    before->graph = after->graph;
}

/* Merges `new` with a buffer that the kernel loads, if possible. */
static void merge_with_input(tgi_merger *m, const tgi_kernel_loops *k,
                             tgi_buffer_id new, uint32_t epoch)
{
    const tgi_loop_buffer *after = tgi_loops_buffer(m->loops, new);
    for (size_t i = 1; i < k->insts.n; i++) {
        const tgi_inst *inst = &k->insts.data[i];
        if (inst->kind != TGI_INST_LOAD)
            continue;
        const tgi_buffer_id old = tgi_merger_buffer(m, k, inst->number);
        const tgi_loop_buffer *before = tgi_loops_buffer(m->loops, old);
        if (dies(m, old, epoch) && before->count == after->count &&
            before->dtype == after->dtype && can_replace(m, k, old, new)) {
            tgi_merger_merge(m, old, new);
            return;
        }
    }
}

static void merge_outputs(tgi_merger *m, const tgi_kernel_loops *k,
                          uint32_t epoch)
{
    if (k->is_straightline || !tgi_kernel_is_single_sweep(k))
        return;
    for (size_t i = 0; i < k->stores.n; i++) {
        const tgi_buffer_id new =
            tgi_merger_buffer(m, k, k->stores.data[i].access);
        if (is_born(m, new, epoch))
            merge_with_input(m, k, new, epoch);
    }
}

/* -- Epochs ---------------------------------------------------------------- */

static void record_accesses(tgi_merger *m, tgi_kernel_id id, uint32_t epoch)
{
    const tgi_kernel_loops *k = tgi_loops_kernel(m->loops, id);
    for (uint32_t i = 0; i < k->accesses.n; i++) {
        const uint32_t buffer = tgi_buffer_id_index(tgi_merger_buffer(m, k, i));
        if (m->n_epochs[buffer] != epoch + 1) {
            m->n_epochs[buffer] = epoch + 1;
            m->kernel[buffer] = id;
            m->is_shared[buffer] = false;
        }
        m->is_shared[buffer] |= !tgi_kernel_id_equals(m->kernel[buffer], id);
    }
}

static void reuse_in_place(tgi_merger *m)
{
    const tgi_loops *loops = m->loops;
    uint32_t epoch = 0;
    for (size_t begin = 0; begin < loops->steps.n; epoch++) {
        size_t end = begin;
        for (; end < loops->steps.n &&
               loops->steps.data[end].kind != TGI_STEP_BARRIER;
             end++)
            if (loops->steps.data[end].kind == TGI_STEP_RUN)
                record_accesses(m, loops->steps.data[end].kernel, epoch);
        for (; begin < end; begin++)
            if (loops->steps.data[begin].kind == TGI_STEP_RUN)
                merge_outputs(m, tgi_loops_kernel_at(loops, begin), epoch);
        begin = end + 1;
    }
}

/* -- Renumbering ----------------------------------------------------------- */

static void renumber_buffer(const tgi_buffer_id *numbers, tgi_buffer_id *id)
{
    if (!tgi_buffer_id_is_none(*id))
        *id = numbers[tgi_buffer_id_index(*id)];
}

static void renumber_control(tgi_control_flow *c, const tgi_buffer_id *numbers)
{
    renumber_buffer(numbers, &c->operand);
    renumber_buffer(numbers, &c->base);
    renumber_buffer(numbers, &c->counter);
    renumber_buffer(numbers, &c->test);
    for (uint32_t i = 0; i < c->n_carried; i++) {
        if (c->next != c->carried)
            renumber_buffer(numbers, &c->next[i]);
        renumber_buffer(numbers, &c->carried[i]);
    }
    for (uint32_t i = 0; i < c->n_moved; i++) {
        renumber_buffer(numbers, &c->from[i]);
        renumber_buffer(numbers, &c->to[i]);
    }
}

/* Removes merged buffers and renumbers the others. `numbers` is scratch space,
   by buffer. */
static void renumber_buffers(tgi_merger *m, tgi_buffer_id *numbers)
{
    tgi_loops *loops = m->loops;
    size_t n = 0;
    for (size_t i = 0; i < loops->buffers.n; i++)
        if (tgi_buffer_id_index(m->parent[i]) == i)
            numbers[i] = tgi_buffer_id_from(n++);
    for (size_t i = 0; i < loops->buffers.n; i++)
        if (tgi_buffer_id_index(m->parent[i]) != i)
            numbers[i] = numbers[tgi_buffer_id_index(
                tgi_merger_find(m, tgi_buffer_id_from(i)))];
    for (size_t i = 0; i < loops->kernels.n; i++) {
        tgi_kernel_loops *k = loops->kernels.data[i];
        for (size_t a = 0; a < k->accesses.n; a++)
            renumber_buffer(numbers, &k->accesses.data[a].buffer);
    }
    for (size_t i = 0; i < loops->hosts.n; i++) {
        const tgi_host_step *host = &loops->hosts.data[i];
        for (uint32_t j = 0; j < host->n_buffers; j++)
            renumber_buffer(numbers, &host->buffers[j]);
    }
    for (size_t i = 0; i < loops->runtime_checks.n; i++)
        renumber_buffer(numbers, &loops->runtime_checks.data[i].buffer);
    for (size_t i = 0; i < loops->controls.n; i++)
        renumber_control(&loops->controls.data[i], numbers);
    for (size_t i = 0; i < loops->buffers.n; i++)
        if (tgi_buffer_id_index(m->parent[i]) == i)
            *tgi_loops_buffer(loops, numbers[i]) = loops->buffers.data[i];
    loops->buffers.n = n;
}

tg_status tgi_merge_buffers(tgi_loops *loops, tgi_strbuf *explain)
{
    const size_t n = loops->buffers.n;
    tgi_merger m = {.loops = loops,
                    .explain = explain,
                    .parent = tgi_alloc_zero((n + 1) * sizeof(*m.parent)),
                    .n_epochs = tgi_alloc_zero((n + 1) * sizeof(*m.n_epochs)),
                    .kernel = tgi_alloc_zero((n + 1) * sizeof(*m.kernel)),
                    .is_shared =
                        tgi_alloc_zero((n + 1) * sizeof(*m.is_shared))};
    tgi_buffer_id *numbers = tgi_alloc_zero((n + 1) * sizeof(*numbers));
    tg_status status = TG_OK;
    if (m.parent && m.n_epochs && m.kernel && m.is_shared && numbers) {
        for (size_t i = 0; i < n; i++)
            m.parent[i] = tgi_buffer_id_from(i);
        tgi_merger_elide_carried(&m);
        tgi_merger_elide_copies(&m);
        reuse_in_place(&m);
        if (m.has_merged) {
            tgi_merger_delete_copies(&m);
            renumber_buffers(&m, numbers);
        }
    } else {
        status = tgi_error_memory();
    }
    tgi_free(m.parent);
    tgi_free(m.n_epochs);
    tgi_free(m.kernel);
    tgi_free(m.is_shared);
    tgi_free(numbers);
    return status;
}
