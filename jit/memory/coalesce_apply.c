/* SPDX-License-Identifier: MIT */
/*
 * coalesce_apply.c - replaces buffers by their classes, and deletes what has
 * become redundant.
 */
#include "base/error.h"
#include "memory/coalesce.h"

/* -- Copies ---------------------------------------------------------------- */

/* A copy between two buffers of one class. A copy within one buffer is kept: a
   variable may be set back to an earlier value. */
static bool is_redundant_copy(const tgi_coalescer *c, const tgi_kernel_loops *k,
                              const tgi_access *from,
                              const tgi_loop_store *store)
{
    return from &&
           !tgi_buffer_id_equals(from->buffer,
                                 k->accesses.data[store->access].buffer) &&
           tgi_buffer_id_equals(tgi_coalescer_find(c, from->buffer),
                                tgi_coalescer_of_access(c, k, store->access));
}

static void delete_stores(const tgi_coalescer *c, tgi_kernel_loops *k)
{
    size_t n = 0;
    for (size_t i = 0; i < k->stores.n; i++) {
        const tgi_loop_store store = k->stores.data[i];
        bool is_redundant =
            is_redundant_copy(c, k, tgi_copy_source(k, &store), &store);
        for (size_t j = 0; j < n && !is_redundant; j++) {
            const tgi_loop_store *before = &k->stores.data[j];
            is_redundant = tgi_stores_are_twins(k, before, &store) &&
                           is_redundant_copy(
                               c, k, &k->accesses.data[before->access], &store);
        }
        if (!is_redundant)
            k->stores.data[n++] = store;
    }
    k->stores.n = n;
}

/* -- Steps and kernels ----------------------------------------------------- */

/* True if a barrier follows another one, or no step and precedes a kernel. */
static bool is_redundant_barrier(const tgi_loops *loops, size_t n_kept,
                                 size_t barrier)
{
    if (n_kept)
        return loops->steps.data[n_kept - 1].kind == TGI_STEP_BARRIER;
    return barrier + 1 < loops->steps.n &&
           loops->steps.data[barrier + 1].kind == TGI_STEP_RUN;
}

/* Deletes the runs of deleted kernels, and redundant barriers. */
static void delete_steps(tgi_loops *loops)
{
    size_t n = 0;
    for (size_t i = 0; i < loops->steps.n; i++) {
        const tgi_loop_step step = loops->steps.data[i];
        if ((step.kind == TGI_STEP_RUN &&
             !tgi_loops_kernel(loops, step.kernel)) ||
            (step.kind == TGI_STEP_BARRIER &&
             is_redundant_barrier(loops, n, i)))
            continue;
        loops->steps.data[n++] = step;
    }
    if (n && loops->steps.data[n - 1].kind == TGI_STEP_BARRIER)
        n--;
    loops->steps.n = n;
}

/* Deletes kernels without effects, and renumbers the others. `numbers` is
   scratch space, by kernel. */
static void delete_kernels(tgi_loops *loops, tgi_kernel_id *numbers)
{
    size_t n = 0;
    for (size_t i = 0; i < loops->kernels.n; i++) {
        tgi_kernel_loops *k = loops->kernels.data[i];
        numbers[i] = tgi_kernel_id_from(n);
        if (k->stores.n || k->reductions.n || k->checks.n) {
            n++;
            continue;
        }
        tgi_kernel_loops_destroy(k);
        loops->kernels.data[i] = NULL;
    }
    if (n == loops->kernels.n)
        return;
    delete_steps(loops);
    for (size_t i = 0; i < loops->steps.n; i++) {
        tgi_loop_step *step = &loops->steps.data[i];
        if (step->kind == TGI_STEP_RUN)
            step->kernel = numbers[tgi_kernel_id_index(step->kernel)];
    }
    n = 0;
    for (size_t i = 0; i < loops->kernels.n; i++)
        if (loops->kernels.data[i])
            loops->kernels.data[n++] = loops->kernels.data[i];
    loops->kernels.n = n;
}

/* -- Buffers --------------------------------------------------------------- */

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
    /* A buffer that would move to itself stays. */
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->n_moved; i++) {
        renumber_buffer(numbers, &c->from[i]);
        renumber_buffer(numbers, &c->to[i]);
        if (tgi_buffer_id_equals(c->to[i], c->from[i]))
            continue;
        c->to[n] = c->to[i];
        c->from[n++] = c->from[i];
    }
    c->n_moved = n;
}

/* `numbers` is scratch space, by buffer. */
static void renumber_buffers(tgi_coalescer *c, tgi_buffer_id *numbers)
{
    tgi_loops *loops = c->loops;
    size_t n = 0;
    for (size_t i = 0; i < loops->buffers.n; i++)
        if (tgi_buffer_id_index(c->parent[i]) == i)
            numbers[i] = tgi_buffer_id_from(n++);
    for (size_t i = 0; i < loops->buffers.n; i++)
        if (tgi_buffer_id_index(c->parent[i]) != i)
            numbers[i] = numbers[tgi_buffer_id_index(
                tgi_coalescer_find(c, tgi_buffer_id_from(i)))];
    for (size_t i = 0; i < loops->kernels.n; i++) {
        tgi_kernel_loops *k = loops->kernels.data[i];
        for (size_t a = 0; a < k->accesses.n; a++)
            renumber_buffer(numbers, &k->accesses.data[a].buffer);
        for (size_t a = 0; a < k->offsets.n; a++)
            renumber_buffer(numbers, &k->offsets.data[a].memory);
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
        if (tgi_buffer_id_index(c->parent[i]) == i)
            *tgi_loops_buffer(loops, numbers[i]) = loops->buffers.data[i];
    loops->buffers.n = n;
}

tg_status tgi_coalescer_apply(tgi_coalescer *c)
{
    tgi_loops *loops = c->loops;
    if (c->is_out_of_memory)
        return tgi_error_memory();
    if (!c->has_united)
        return TG_OK;
    tgi_buffer_id *buffers =
        tgi_alloc((loops->buffers.n + 1) * sizeof(*buffers));
    tgi_kernel_id *kernels =
        tgi_alloc((loops->kernels.n + 1) * sizeof(*kernels));
    if (buffers && kernels) {
        for (size_t i = 0; i < loops->kernels.n; i++)
            delete_stores(c, loops->kernels.data[i]);
        delete_kernels(loops, kernels);
        renumber_buffers(c, buffers);
    }
    tgi_free(buffers);
    tgi_free(kernels);
    return buffers && kernels ? TG_OK : tgi_error_memory();
}
