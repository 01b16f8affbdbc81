/* SPDX-License-Identifier: MIT */
/*
 * loops.c - creation and destruction of the loop IR.
 */
#include "loop/loops.h"

#include "base/error.h"

tgi_loops *tgi_loops_create(const char *name, tgi_dims *dims,
                            const tgi_graph *graph)
{
    tgi_loops *loops = tgi_alloc_zero(sizeof(*loops));
    if (!loops) {
        tgi_error_memory();
        return NULL;
    }
    loops->name = name;
    loops->dims = tgi_dims_retain(dims);
    loops->graph = graph;
    return loops;
}

tgi_kernel_loops *tgi_loops_add_kernel(tgi_loops *loops)
{
    tgi_kernel_loops *kernel = tgi_alloc_zero(sizeof(*kernel));
    if (!kernel || !tgi_vec_push(&kernel->insts, ((tgi_inst){0})) ||
        !tgi_vec_push(&loops->kernels, kernel)) {
        tgi_kernel_loops_destroy(kernel);
        tgi_error_memory();
        return NULL;
    }
    kernel->n_phases = 1;
    return kernel;
}

void tgi_kernel_loops_destroy(tgi_kernel_loops *kernel)
{
    if (!kernel)
        return;
    tgi_vec_deinit(&kernel->insts);
    tgi_vec_deinit(&kernel->accesses);
    tgi_vec_deinit(&kernel->offsets);
    tgi_vec_deinit(&kernel->stores);
    tgi_vec_deinit(&kernel->reductions);
    tgi_vec_deinit(&kernel->checks);
    tgi_free(kernel);
}

void tgi_loops_destroy(tgi_loops *loops)
{
    if (!loops)
        return;
    for (size_t i = 0; i < loops->kernels.n; i++)
        tgi_kernel_loops_destroy(loops->kernels.data[i]);
    tgi_vec_deinit(&loops->kernels);
    tgi_vec_deinit(&loops->buffers);
    tgi_vec_deinit(&loops->steps);
    tgi_vec_deinit(&loops->hosts);
    tgi_vec_deinit(&loops->runtime_checks);
    tgi_vec_deinit(&loops->controls);
    tgi_vec_deinit(&loops->row_blocks);
    tgi_vec_deinit(&loops->memo_params);
    tgi_arena_deinit(&loops->arena);
    tgi_dims_release(loops->dims);
    tgi_free(loops);
}

bool tgi_loops_walk_groups(const tgi_loops *loops, size_t step,
                           tgi_group_walk *walk)
{
    const tgi_loop_step *s = &loops->steps.data[step];
    const tgi_kernel_loops *k = tgi_loops_kernel_at(loops, step);
    const bool is_straightline = k && k->is_straightline;
    bool is_first = false; /* LOOP of an outermost straight-line loop */
    if (s->kind == TGI_STEP_LOOP &&
        tgi_loops_control(loops, s->control)->is_straightline)
        is_first = walk->loop_depth++ == 0;
    if (s->kind == TGI_STEP_LOOP_END &&
        tgi_loops_control(loops, s->control)->is_straightline)
        walk->loop_depth--;
    if (!is_straightline && (!walk->loop_depth || is_first))
        walk->group++;
    return is_straightline;
}

static bool writes(const tgi_kernel_loops *kernel, tgi_buffer_id buffer)
{
    for (size_t i = 0; i < kernel->stores.n; i++)
        if (tgi_buffer_id_equals(
                kernel->accesses.data[kernel->stores.data[i].access].buffer,
                buffer))
            return true;
    return false;
}

bool tgi_loops_may_write_and_fail(const tgi_loops *loops, tgi_buffer_id buffer)
{
    bool is_written = false, has_checked = false;
    for (size_t i = 0; i < loops->steps.n; i++) {
        const tgi_kernel_loops *kernel = tgi_loops_kernel_at(loops, i);
        const int kind = loops->steps.data[i].kind;
        if (kernel) {
            is_written |= writes(kernel, buffer);
            has_checked |= kernel->checks.n > 0;
        } else if (kind == TGI_STEP_RETURN_IF_FAILED) {
            has_checked = false;
            if (is_written)
                return true;
        } else if (kind != TGI_STEP_BARRIER && kind != TGI_STEP_ROWS &&
                   kind != TGI_STEP_ROWS_END) {
            return true;
        }
    }
    return is_written && has_checked; /* checked when the call ends */
}

size_t tgi_loops_end_of_unit(const tgi_loops *loops, size_t step)
{
    const tgi_loop_step *first = &loops->steps.data[step];
    const tgi_kernel_loops *kernel = tgi_loops_kernel_at(loops, step);
    if (first->kind == TGI_STEP_LOOP &&
        tgi_loops_control(loops, first->control)->is_straightline)
        return tgi_loops_end_of(loops, step) + 1;
    if (!kernel)
        return step;
    step++;
    for (; kernel->is_straightline && step < loops->steps.n; step++) {
        const tgi_kernel_loops *next = tgi_loops_kernel_at(loops, step);
        if (!next || !next->is_straightline)
            break;
    }
    return step;
}

bool tgi_loops_have_starts(const tgi_loops *loops)
{
    for (size_t i = 0; i < loops->hosts.n; i++) {
        const tgi_host_step *step = &loops->hosts.data[i];
        const tgi_node *node = tgi_graph_node(step->graph, step->node);
        if (node->op == TGI_OP_HOST &&
            ((const tgi_attr_host *)node->attr)->is_start)
            return true;
    }
    return false;
}

bool tgi_loops_are_single(const tgi_loops *loops)
{
    return loops->steps.n > 0 &&
           tgi_loops_end_of_unit(loops, 0) == loops->steps.n;
}
