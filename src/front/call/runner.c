/* SPDX-License-Identifier: MIT */
/*
 * runner.c - see runner.h.
 */
#include "front/call/runner.h"

#include <string.h>

#include "front/call/compile_policy.h"
#include "front/call/function_object.h"
#include "front/call/inspect_concrete.h"

struct tgi_runner {
    int64_t *symbols;
    size_t n_symbols;
    tgi_native *native; /* or … */
    tgi_interp *interp;
    bool is_stopgap; /* see tgi_runner_create */
    size_t n_params, n_results;
    void *const *params, *const *results; /* of the next run, borrowed */
    void **bound; /* elements of params, then results, at the last bind */
    bool is_bound;
    tgi_runner_result *result_types;
    struct tgi_interp_profile *profile; /* interp: of profiled runs, or NULL */
};

/* -- Creation -------------------------------------------------------------- */

static tg_status create_native(tg_concrete *c, tgi_runner *runner,
                               const int64_t *values, size_t budget)
{
    tgi_program *program;
    TGI_TRY(tgi_variant_table_get(c, values, budget, &program,
                                  &runner->is_stopgap));
    if (!program)
        return TG_OK;
    tgi_native_options options = {.host = c->ctx->host,
                                  .memory_limit = c->ctx->memory_limit,
                                  .threads = c->ctx->threads,
                                  .grain = tgi_context_grain(c->ctx)};
    tg_status status = tgi_native_create(program, runner->symbols, &options,
                                         &runner->native);
    tgi_program_release(program);
    return status;
}

/* Checks the sizes of all values and adds them up. Compiled code may not store
   every value, but a call fails or not independently of that. */
static tg_status check_sizes(const tgi_graph *graph, const int64_t *values,
                             int64_t *out_bytes)
{
    int64_t dims[TG_MAX_RANK], bytes;
    *out_bytes = 0;
    for (tgi_ref ref = 1; ref <= graph->n_nodes; ref++)
        if (tgi_graph_node(graph, ref)->shape) {
            TGI_TRY(tgi_graph_value_size(graph, ref, values, dims, &bytes));
            if (__builtin_add_overflow(*out_bytes, bytes, out_bytes))
                *out_bytes = INT64_MAX;
        }
    return TG_OK;
}

static tg_status set_result_types(const tg_concrete *c, tgi_runner *runner,
                                  const int64_t *values)
{
    const tgi_graph *graph = c->graph;
    for (size_t i = 0; i < graph->results.n; i++) {
        const tgi_ref ref = graph->results.data[i];
        tgi_runner_result *result = &runner->result_types[i];
        result->dtype = tgi_graph_node(graph, ref)->dtype;
        result->rank = tgi_graph_shape(graph, ref)->rank;
        TGI_TRY(tgi_graph_value_size(graph, ref, values, result->dims,
                                     &result->bytes));
    }
    return TG_OK;
}

/* Logs once for a trace that, and why, it is interpreted. Failed compiles have
   been logged as warnings. */
static void log_interpreted(tg_concrete *c, bool is_stopgap)
{
    const bool is_off = c->ctx->jit == TGI_JIT_OFF;
    if ((is_off || is_stopgap) &&
        !atomic_exchange(&c->has_logged_interpreted, true))
        tgi_log_write(&c->ctx->log, TG_LOG_INFO, TGI_LOG_JIT,
                      "%s:%d: %s: interpreted%s",
                      c->site.file ? c->site.file : "?", c->site.line, c->name,
                      is_off ? ": " TGI_JIT_OFF_REASON
                             : " until it is compiled in the background");
}

static tg_status runner_init(tg_concrete *c, tgi_runner *runner,
                             int64_t *values, bool is_eager)
{
    int64_t bytes;
    TGI_TRY(tgi_dims_evaluate(c->graph->dims, runner->symbols, values));
    TGI_TRY(tgi_graph_run_checks(c->graph, values));
    TGI_TRY(check_sizes(c->graph, values, &bytes));
    TGI_TRY(set_result_types(c, runner, values));
    if (tgi_compile_is_wanted(c))
        TGI_TRY(create_native(c, runner, values,
                              tgi_compile_budget(c, is_eager, bytes)));
    if (runner->native)
        return TG_OK;
    log_interpreted(c, runner->is_stopgap);
    if (!tgi_compile_is_wanted(c) &&
        !atomic_exchange(&c->has_interpreted_page, true))
        tgi_concrete_write_page(c, values, NULL,
                                c->ctx->jit == TGI_JIT_OFF
                                    ? TGI_JIT_OFF_REASON
                                    : "it has too many nodes");
    TGI_TRY(tgi_interp_create(c->graph, runner->symbols, &c->ctx->host,
                              c->ctx->memory_limit, &runner->interp));
    tgi_interp_set_checks(runner->interp, c->ctx->checks);
    return TG_OK;
}

tg_status tgi_runner_create(tg_concrete *c, const int64_t *symbols,
                            bool is_eager, tgi_runner **out_runner)
{
    size_t n = tgi_dims_n_symbols(c->graph->dims);
    tgi_runner *runner = tgi_alloc_zero(sizeof(*runner));
    int64_t *values = tgi_alloc(
        (tgi_dims_n_values(c->graph->dims) + 1) * sizeof(*values));
    tg_status status = runner && values ? TG_OK : tgi_error_memory();
    if (!status) {
        runner->symbols = tgi_alloc((n + 1) * sizeof(*symbols));
        runner->n_symbols = n;
        runner->result_types = tgi_alloc_zero((c->graph->results.n + 1) *
                                              sizeof(*runner->result_types));
        runner->n_params = c->graph->params.n;
        runner->n_results = c->graph->results.n;
        runner->bound =
            tgi_alloc((runner->n_params + runner->n_results + 1) *
                      sizeof(*runner->bound));
        status = runner->symbols && runner->result_types && runner->bound
                     ? TG_OK
                     : tgi_error_memory();
    }
    if (!status) {
        if (n)
            memcpy(runner->symbols, symbols, n * sizeof(*symbols));
        status = runner_init(c, runner, values, is_eager);
    }
    tgi_free(values);
    if (status) {
        tgi_error_copy error;
        tgi_error_save(&error);
        tgi_runner_destroy(runner);
        tgi_error_restore(&error);
        return status;
    }
    *out_runner = runner;
    return TG_OK;
}

void tgi_runner_destroy(tgi_runner *runner)
{
    if (!runner)
        return;
    tgi_native_destroy(runner->native);
    tgi_interp_destroy(runner->interp);
    tgi_free(runner->profile);
    tgi_free(runner->bound);
    tgi_free(runner->result_types);
    tgi_free(runner->symbols);
    tgi_free(runner);
}

/* -- Use ------------------------------------------------------------------- */

bool tgi_runner_has_symbols(const tgi_runner *runner, const int64_t *symbols)
{
    return runner->n_symbols == 0 ||
           memcmp(runner->symbols, symbols,
                  runner->n_symbols * sizeof(*symbols)) == 0;
}

bool tgi_runner_is_stopgap(const tgi_runner *runner)
{
    return runner->is_stopgap;
}

const tgi_runner_result *tgi_runner_results(const tgi_runner *runner)
{
    return runner->result_types;
}

bool tgi_runner_is_bound(const tgi_runner *runner, void *const *params,
                         void *const *results)
{
    bool is_same = runner->is_bound;
    for (size_t i = 0; i < runner->n_params && is_same; i++)
        is_same = runner->bound[i] == params[i];
    for (size_t i = 0; i < runner->n_results && is_same; i++)
        is_same = runner->bound[runner->n_params + i] == results[i];
    return is_same;
}

tg_status tgi_runner_bind(tgi_runner *runner, void *const *params,
                          void *const *results)
{
    runner->params = params;
    runner->results = results;
    if (tgi_runner_is_bound(runner, params, results))
        return TG_OK;
    if (runner->native)
        TGI_TRY(tgi_native_bind(runner->native, params, results));
    for (size_t i = 0; i < runner->n_params; i++)
        runner->bound[i] = params[i];
    for (size_t i = 0; i < runner->n_results; i++)
        runner->bound[runner->n_params + i] = results[i];
    runner->is_bound = true;
    return TG_OK;
}

tg_status tgi_runner_run(tgi_runner *runner)
{
    return runner->native
               ? tgi_native_run(runner->native)
               : tgi_interp_run(runner->interp, runner->params,
                                runner->results);
}

void tgi_runner_set_host_log(tgi_runner *runner, tgi_host_log *log)
{
    tgi_native_set_host_log(runner->native, log);
}

/* -- Profiled runs --------------------------------------------------------- */

/* Turns the times of operations into samples; there is room for TGI_OPS. */
static void add_op_samples(tgi_profile_trace *trace, const tgi_op_time *times,
                           tgi_profile_sample *samples, tgi_profile_call *call)
{
    size_t n = 0;
    for (int op = 0; op < TGI_OPS; op++) {
        if (!times[op].n || !trace)
            continue;
        const char *name = tgi_op_table[op].name;
        const tgi_profile_unit like = {
            .name = name, .ops = name, .is_interpreted = true};
        samples[n++] =
            (tgi_profile_sample){.unit = tgi_profile_unit_get(trace, &like),
                                 .n_runs = times[op].n,
                                 .ns = times[op].ns,
                                 .min_ns = times[op].min_ns,
                                 .threads_ns = times[op].ns};
    }
    call->samples = samples;
    call->n_samples = n;
}

struct tgi_interp_profile {
    tgi_op_time times[TGI_OPS];
    tgi_profile_sample samples[TGI_OPS];
};

static tg_status run_interp_profiled(tgi_runner *runner,
                                     tgi_profile_trace *trace,
                                     tgi_profile_call *call)
{
    call->is_interpreted = true;
    call->n_threads = 1;
    call->temporary_bytes = tgi_interp_bytes(runner->interp);
    if (!runner->profile)
        runner->profile = tgi_alloc(sizeof(*runner->profile));
    if (!runner->profile) /* only the call is timed */
        return tgi_interp_run(runner->interp, runner->params, runner->results);
    memset(runner->profile->times, 0, sizeof(runner->profile->times));
    const tg_status status =
        tgi_interp_run_timed(runner->interp, runner->params, runner->results,
                             runner->profile->times);
    add_op_samples(trace, runner->profile->times, runner->profile->samples,
                   call);
    return status;
}

tg_status tgi_runner_run_profiled(tgi_runner *runner, tgi_profile_trace *trace,
                                  tgi_profile_call *call)
{
    return runner->native
               ? tgi_native_run_profiled(runner->native, trace, call)
               : run_interp_profiled(runner, trace, call);
}

tgi_native *tgi_runner_memoising_native(const tgi_runner *runner)
{
    const uint32_t *params;
    return runner->native && tgi_native_memoised_params(runner->native, &params)
               ? runner->native
               : NULL;
}

const tgi_native *tgi_runner_native(const tgi_runner *runner)
{
    return runner->native;
}

uint64_t tgi_runner_bytes(const tgi_runner *runner, uint64_t *out_peak)
{
    if (out_peak)
        *out_peak = runner->native ? tgi_native_peak_bytes(runner->native) : 0;
    return runner->native ? tgi_native_bytes(runner->native)
                          : tgi_interp_bytes(runner->interp);
}
