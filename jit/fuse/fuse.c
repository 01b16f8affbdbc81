/* SPDX-License-Identifier: MIT */
/*
 * fuse.c - the driver of fusion. Placement may find that another value must be
 * in memory, for example because an expression is too long for one kernel. It
 * then forces that value, and fusion restarts.
 *
 * Why this terminates: an attempt restarts only after it has forced a value
 * that no attempt before it had forced (tgi_fuse_force), and a forced value stays
 * forced. So there are at most as many restarts as nodes. In practice there are
 * one or two, because an attempt goes on and forces all values it can find.
 * Forcing a value twice would mean that memory does not cure the reason: that
 * is an internal error, not another attempt. So the value that is forced must be
 * the one whose own task removes the reason:
 *   - of a task that is too long, a value inside it, which becomes a task;
 *   - of a reduction of axes that are not contiguous, or an assignment that reads
 *     other elements of its variable: its value, which is then loaded densely;
 *   - of windows that their users cannot index: the windows, copied;
 *   - of a READ that would be stale: the READ, even if its user sees it through
 *     views. Its task stands before that of the write; theirs may not.
 *
 * Requires:    a graph without calls; a variant of its extents.
 * Establishes: loops that obey loops.h.
 * Preserves:   the graph.
 * Terminates:  after at most one attempt more than the graph has nodes.
 */
#include "fuse/fuse_kernel.h"
#include "fuse/fuse_value.h"

#include "base/error.h"

/* -- State ----------------------------------------------------------------- */

static void reset(tgi_fuse_state *s)
{
    for (size_t i = 0; i < s->tasks.n; i++)
        tgi_expr_deinit(&s->tasks.data[i].expr);
    for (size_t i = 0; i < s->kernels.n; i++)
        tgi_vec_deinit(&s->kernels.data[i].tasks);
    tgi_vec_deinit(&s->tasks);
    tgi_vec_deinit(&s->kernels);
    tgi_vec_deinit(&s->used_results);
    tgi_vec_deinit(&s->stacks);
    tgi_vec_deinit(&s->shifts);
    s->last_check = 0;
    s->fence = (tgi_fuse_kernel_id){0};
    s->must_restart = false;
    for (size_t i = 0; i < s->graph->params.n; i++) {
        s->first_write[i] = s->next_write[i] = 0;
        s->param_buffer[i] =
            s->bound_params ? s->bound_params[i] : (tgi_buffer_id){0};
        s->last_reader[i] = s->last_writer[i] = s->first_writer[i] =
            (tgi_fuse_kernel_id){0};
    }
    for (tgi_ref ref = 0; ref <= s->graph->n_nodes; ref++)
        s->values[ref] =
            (tgi_fuse_value){.force_reason = s->values[ref].force_reason};
}

static tg_status attempt_fusion(tgi_fuse_state *s)
{
    reset(s);
    s->loops->buffers.n = s->first_buffer;
    TGI_TRY(tgi_fuse_values(s));
    TGI_TRY(tgi_fuse_tasks(s));
    return tgi_fuse_place(s);
}

static tg_status form_kernels(tgi_fuse_state *s)
{
    const size_t explained = s->explain ? s->explain->n : 0;
    TGI_TRY(attempt_fusion(s));
    while (s->must_restart) {
        if (s->explain)
            tgi_strbuf_truncate(s->explain, explained);
        TGI_TRY(attempt_fusion(s));
    }
    return TG_OK;
}

static bool is_allocated(const tgi_fuse_state *s)
{
    return s->values && s->first_write && s->next_write && s->param_buffer &&
           s->last_reader && s->last_writer && s->first_writer;
}

tg_status tgi_fuse_begin(tgi_fuse_state *s)
{
    const size_t n_params = s->graph->params.n + 1;
    s->first_buffer = s->loops->buffers.n;
    s->values =
        tgi_alloc_zero(((size_t)s->graph->n_nodes + 1) * sizeof(*s->values));
    s->first_write = tgi_alloc_zero(n_params * sizeof(*s->first_write));
    s->next_write = tgi_alloc_zero(n_params * sizeof(*s->next_write));
    s->param_buffer = tgi_alloc_zero(n_params * sizeof(*s->param_buffer));
    s->last_reader = tgi_alloc_zero(n_params * sizeof(*s->last_reader));
    s->last_writer = tgi_alloc_zero(n_params * sizeof(*s->last_writer));
    s->first_writer = tgi_alloc_zero(n_params * sizeof(*s->first_writer));
    return is_allocated(s) ? form_kernels(s) : tgi_error_memory();
}

void tgi_fuse_end(tgi_fuse_state *s)
{
    if (is_allocated(s))
        reset(s);
    tgi_free(s->values);
    tgi_free(s->first_write);
    tgi_free(s->next_write);
    tgi_free(s->param_buffer);
    tgi_free(s->last_reader);
    tgi_free(s->last_writer);
    tgi_free(s->first_writer);
}

tg_status tgi_loop_pass_fuse(tgi_loop_pass_state *pass)
{
    const tgi_graph *graph = pass->graph;
    const tgi_variant *variant = pass->variant;
    tgi_fuse_state s = {
        .graph = graph,
        .variant = variant,
        .dims = variant->dims,
        .explain = pass->explain,
        .loops = tgi_loops_create(graph->name, variant->dims, graph),
        .no_straightline = pass->skip >> TGI_LOOP_PASS_group & 1};
    if (!s.loops)
        return tg_error_last()->status;
    tg_status status = tgi_fuse_begin(&s);
    if (!status)
        status = tgi_fuse_build(&s);
    /* Extents that could not be allocated make everything else invalid. */
    if (tgi_dims_is_out_of_memory(s.dims))
        status = tgi_error_memory();
    tgi_fuse_end(&s);
    if (status)
        tgi_loops_destroy(s.loops);
    else
        pass->loops = s.loops;
    return status;
}
