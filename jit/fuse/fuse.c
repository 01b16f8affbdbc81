/* SPDX-License-Identifier: MIT */
/*
 * fuse.c - fusion from beginning to end. Some things are seen only while
 * kernels are formed: that an expression is too long for one, or must be in
 * memory after all. Then it begins again with what it has learned.
 */
#include "fuse/fuse_kernel.h"
#include "fuse/fuse_value.h"

#include "base/error.h"

enum { MOST_ATTEMPTS = 64 };

/* -- State ----------------------------------------------------------------- */

static void forget(tgi_fuse_state *s)
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
        s->first_write[i] = 0;
        s->param_buffer[i] =
            s->bound_params ? s->bound_params[i] : (tgi_buffer_id){0};
        s->last_reader[i] = s->last_writer[i] = s->first_writer[i] =
            (tgi_fuse_kernel_id){0};
    }
    for (tgi_ref ref = 0; ref <= s->graph->n_nodes; ref++)
        s->values[ref] =
            (tgi_fuse_value){.force_reason = s->values[ref].force_reason};
}

static tg_status attempt(tgi_fuse_state *s)
{
    forget(s);
    s->loops->buffers.n = s->first_buffer;
    TGI_TRY(tgi_fuse_values(s));
    TGI_TRY(tgi_fuse_tasks(s));
    return tgi_fuse_place(s);
}

static tg_status find_kernels(tgi_fuse_state *s)
{
    for (int i = 0; i < MOST_ATTEMPTS; i++) {
        const size_t explained = s->explain ? s->explain->n : 0;
        TGI_TRY(attempt(s));
        if (!s->must_restart)
            return TG_OK;
        if (s->explain)
            tgi_strbuf_truncate(s->explain, explained);
    }
    TGI_FAIL(TG_ERROR_INTERNAL, TGI_NO_SITE, "fusion of '%s' comes to no end",
             s->graph->name);
}

static bool has_memory(const tgi_fuse_state *s)
{
    return s->values && s->first_write && s->param_buffer && s->last_reader &&
           s->last_writer && s->first_writer;
}

tg_status tgi_fuse_begin(tgi_fuse_state *s)
{
    const size_t n_params = s->graph->params.n + 1;
    s->first_buffer = s->loops->buffers.n;
    s->values =
        tgi_alloc_zero(((size_t)s->graph->n_nodes + 1) * sizeof(*s->values));
    s->first_write = tgi_alloc_zero(n_params * sizeof(*s->first_write));
    s->param_buffer = tgi_alloc_zero(n_params * sizeof(*s->param_buffer));
    s->last_reader = tgi_alloc_zero(n_params * sizeof(*s->last_reader));
    s->last_writer = tgi_alloc_zero(n_params * sizeof(*s->last_writer));
    s->first_writer = tgi_alloc_zero(n_params * sizeof(*s->first_writer));
    return has_memory(s) ? find_kernels(s) : tgi_error_memory();
}

void tgi_fuse_end(tgi_fuse_state *s)
{
    if (has_memory(s))
        forget(s);
    tgi_free(s->values);
    tgi_free(s->first_write);
    tgi_free(s->param_buffer);
    tgi_free(s->last_reader);
    tgi_free(s->last_writer);
    tgi_free(s->first_writer);
}

tg_status tgi_fuse(const tgi_graph *graph, const tgi_variant *variant,
                   tgi_strbuf *explain, tgi_loops **out_loops)
{
    tgi_fuse_state s = {
        .graph = graph,
        .variant = variant,
        .dims = variant->dims,
        .explain = explain,
        .loops = tgi_loops_create(graph->name, variant->dims, graph)};
    *out_loops = NULL;
    if (!s.loops)
        return tg_error_last()->status;
    tg_status status = tgi_fuse_begin(&s);
    if (!status)
        status = tgi_fuse_build(&s);
    /* What follows from such an extent means nothing. */
    if (tgi_dims_is_out_of_memory(s.dims))
        status = tgi_error_memory();
    tgi_fuse_end(&s);
    if (status)
        tgi_loops_destroy(s.loops);
    else
        *out_loops = s.loops;
    return status;
}
