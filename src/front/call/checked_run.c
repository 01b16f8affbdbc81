/* SPDX-License-Identifier: MIT */
/*
 * checked_run.c - see checked_run.h.
 *
 * A checked program stops before the first print, host call or loop after the
 * operation that makes a NaN. So nothing that comes after the operation has
 * happened, except assignments, which restoring the variables undoes.
 */
#include "front/call/checked_run.h"

#include <string.h>

#include "base/cancel.h"

/* -- Variables ------------------------------------------------------------- */

/* Copies of the variables that the call writes, in their order. */
static void free_copies(const tgi_launch *launch, void **copies)
{
    for (size_t i = 0; copies && i < launch->state.n_written; i++)
        if (copies[i])
            tgi_buffer_free(copies[i],
                            (size_t)launch->state.written[i]->spec.bytes);
    tgi_free(copies);
}

static tg_status copy_variables(const tgi_launch *launch, void ***out_copies)
{
    const size_t n = launch->state.n_written;
    void **copies = *out_copies = tgi_alloc_zero((n + 1) * sizeof(*copies));
    if (!copies)
        return tgi_error_memory();
    for (size_t i = 0; i < n; i++) {
        const tg_variable *variable = launch->state.written[i];
        copies[i] = tgi_buffer_alloc((size_t)variable->spec.bytes);
        if (!copies[i])
            return tgi_error_memory();
        memcpy(copies[i], variable->data, (size_t)variable->spec.bytes);
    }
    return TG_OK;
}

static void restore_variables(const tgi_launch *launch, void *const *copies)
{
    for (size_t i = 0; i < launch->state.n_written; i++) {
        const tg_variable *variable = launch->state.written[i];
        memcpy(variable->data, copies[i], (size_t)variable->spec.bytes);
    }
}

/* -- Runs ------------------------------------------------------------------ */

/* The interpreter needs more memory than the code. If it cannot be created,
   the variables stay as the code has left them. */
static tg_status replay(tgi_launch *launch, void *const *copies,
                        tgi_host_log *log)
{
    const tg_concrete *c = launch->concrete;
    tgi_host host = c->ctx->host;
    tgi_interp *interp;
    host.log = log;
    log->replays = true;
    TGI_TRY(tgi_interp_create(c->graph, launch->symbols, &host,
                              c->ctx->memory_limit, &interp));
    tgi_interp_set_checks(interp, c->ctx->checks);
    restore_variables(launch, copies);
    const tg_status status =
        tgi_interp_run(interp, launch->params, launch->results);
    tgi_interp_destroy(interp);
    return status;
}

tg_status tgi_checked_run(tgi_launch *launch, tgi_profile_trace *trace,
                          tgi_profile_call *call)
{
    tgi_host_log log = {.replays = false};
    void **copies;
    tgi_error_copy before;
    tgi_error_save(&before);
    tg_status status = copy_variables(launch, &copies);
    if (!status) {
        tgi_runner_set_host_log(launch->runner, &log);
        status = call ? tgi_runner_run_profiled(launch->runner, trace, call)
                      : tgi_runner_run(launch->runner);
        tgi_runner_set_host_log(launch->runner, NULL);
        if (status && !log.has_failed && !tgi_status_is_cancelled(status)) {
            tgi_error_restore(&before);
            status = replay(launch, copies, &log);
        }
    }
    free_copies(launch, copies);
    tgi_host_log_clear(&log);
    return status;
}
