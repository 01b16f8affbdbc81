/* SPDX-License-Identifier: MIT */
/*
 * inspect_concrete.c - tg_concrete_inspect, and the pages of TGJIT_INSPECT:
 * collects what a page is about.
 *
 * The code is compiled once more for its page, so that a page has the assembly
 * of code that came from a cache, with the lines of this trace. The code that
 * calls run has the same instructions.
 */
#include "front/call/inspect_concrete.h"

#include <stdio.h>
#include <string.h>

#include "front/call/compile_variant.h"
#include "front/call/function_object.h"
#include "front/inspect/inspect_session.h"

/* -- Collecting ------------------------------------------------------------ */

/* The graph that is compiled. */
static const tgi_graph *compiled_graph(const tg_concrete *c)
{
    return c->checked ? c->checked : c->graph;
}

static bool copy_values(tgi_inspection *of, const int64_t *values)
{
    of->n_values = tgi_dims_n_values(of->graph->dims);
    of->values = tgi_alloc((of->n_values + 1) * sizeof(*values));
    if (of->values && of->n_values)
        memcpy(of->values, values, of->n_values * sizeof(*values));
    return of->values != NULL;
}

static bool copy_texts(tgi_inspection *of, const tg_concrete *c,
                       const char *interpreted)
{
    char machine[512];
    tgi_strbuf reason = {0}, signature = {0};
    tgi_retrace_print(&c->reason, &reason);
    tgi_strbuf_add(&signature, c->name);
    tgi_args_print(&c->spec, &signature);
    of->function = tgi_strdup(c->name);
    of->reason = tgi_strbuf_take(&reason);
    of->signature = tgi_strbuf_take(&signature);
    of->file = c->site.file ? tgi_strdup(c->site.file) : NULL;
    of->line = c->site.line;
    of->interpreted = interpreted ? tgi_strdup(interpreted) : NULL;
    const bool has_machine =
        !interpreted && tgi_jit_describe(machine, sizeof(machine));
    if (has_machine) /* without the list of the CPU's features */
        machine[strcspn(machine, "+")] = 0;
    for (size_t n = strlen(machine);
         has_machine && n && strchr(", ", machine[n - 1]); n--)
        machine[n - 1] = 0;
    of->machine = has_machine ? tgi_strdup(machine) : NULL;
    return of->function && of->reason && of->signature &&
           (of->file || !c->site.file) && (of->interpreted || !interpreted) &&
           (of->machine || !has_machine);
}

/* Loops and assembly. A graph that cannot be compiled has none, and the reason
   is on the page. */
static tg_status inspect_code(tgi_inspection *of, const tg_concrete *c,
                              const tgi_program *program)
{
    tgi_error_copy before;
    tgi_jit_options options = tgi_compile_options(c);
    options.wants_stage = NULL;
    options.observe_stage = NULL;
    tgi_error_save(&before);
    const tg_status status =
        tgi_jit_inspect(of->graph, of->values, &options, program, &of->code);
    if (!status || status == TG_ERROR_OUT_OF_MEMORY)
        return status;
    snprintf(of->code.reason, sizeof(of->code.reason), "%s",
             tg_error_last()->message);
    tgi_error_restore(&before);
    return TG_OK;
}

/* On success, deinit of *of is due. */
static tg_status inspect(const tg_concrete *c, const int64_t *values,
                         const tgi_program *program, const char *interpreted,
                         tgi_inspection *of)
{
    *of = (tgi_inspection){.number = c->number,
                           .graph = tgi_graph_retain(compiled_graph(c))};
    memcpy(of->phase_ns, c->phase_ns, sizeof(of->phase_ns));
    if (program) {
        const tgi_compile_stats *stats = tgi_program_stats(program);
        of->has_source = true;
        of->source = stats->source;
        for (int i = 0; i < TGI_N_PHASES; i++)
            of->phase_ns[i] += stats->phase_ns[i];
    }
    tg_status status = copy_texts(of, c, interpreted) && copy_values(of, values)
                           ? TG_OK
                           : tgi_error_memory();
    if (!status && c->ctx->jit != TGI_JIT_OFF)
        status = inspect_code(of, c, program);
    if (status) {
        tgi_error_copy error;
        tgi_error_save(&error);
        tgi_inspection_deinit(of);
        tgi_error_restore(&error);
    }
    return status;
}

/* -- TGJIT_INSPECT --------------------------------------------------------- */

void tgi_concrete_write_page(tg_concrete *c, const int64_t *values,
                             const tgi_program *program, const char *reason)
{
    tgi_inspection of;
    tgi_error_copy before;
    if (!c->ctx->inspect_dir)
        return;
    tgi_error_save(&before);
    tg_status status =
        inspect(c, values, program, program ? NULL : reason, &of);
    if (!status)
        status = tgi_inspect_add_page(&c->pages, c->ctx->inspect_dir,
                                      c->ctx->id, c->number, &of);
    if (status)
        tgi_log_write(&c->ctx->log, TG_LOG_WARN, TGI_LOG_CONFIG,
                      "no page about %s: %s", c->name,
                      tg_error_last()->message);
    tgi_error_restore(&before);
}

/* -- Public function ------------------------------------------------------- */

static tg_status inspect_to_file(tg_concrete *c, const char *path)
{
    tgi_inspection of;
    tgi_program *program = NULL;
    const tgi_dims *dims = c->graph->dims;
    const size_t n = tgi_dims_n_values(dims);
    int64_t *values = tgi_alloc((n + 1) * sizeof(*values));
    if (!values)
        return tgi_error_memory();
    tg_status status = TG_OK;
    if (!tgi_variant_table_first(c, values, &program))
        status = tgi_dims_assume(dims, values);
    if (!status)
        status = inspect(c, values, program,
                         c->ctx->jit == TGI_JIT_OFF ? TGI_JIT_OFF_REASON : NULL,
                         &of);
    if (!status) {
        status = tgi_inspection_write(&of, path);
        tgi_inspection_deinit(&of);
    }
    tgi_program_release(program);
    tgi_free(values);
    return status;
}

tg_status tg_concrete_inspect(tg_concrete *concrete, const char *path)
{
    if (!concrete || !path || !*path)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "tg_concrete_inspect: the %s",
                 concrete ? "path is NULL or empty" : "function is NULL");
    tgi_api_frame frame = tgi_api_enter(concrete->ctx, __func__);
    const tg_status status = inspect_to_file(concrete, path);
    tgi_api_leave(frame);
    return status;
}
