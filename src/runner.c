/* SPDX-License-Identifier: MIT */
/*
 * runner.c - see runner.h.
 */
#include "runner.h"

#include <string.h>

#include "checked.h"
#include "dump_file.h"
#include "function_object.h"

struct tgi_runner {
    int64_t *symbols;
    tgi_native *native; /* or … */
    tgi_interp *interp;
    void *const *params, *const *results;
    /* Of each result: TG_MAX_RANK extents, then its bytes. */
    int64_t (*dims)[TG_MAX_RANK + 1];
};

/* -- Compiling ------------------------------------------------------------- */

/* Stages of the code generator in words of TGJIT_DUMP and TGJIT_EXPLAIN. */
static bool wants_stage(const char *stage, void *user)
{
    const tg_concrete *c = user;
    unsigned dump = c->ctx->dump;
    if (strcmp(stage, "fusion") == 0)
        return c->ctx->explain & TGI_EXPLAIN_FUSION;
    if (strcmp(stage, "loops") == 0)
        return dump & TGI_DUMP_LOOPS;
    if (strcmp(stage, "asm") == 0)
        return dump & TGI_DUMP_ASM;
    return dump & TGI_DUMP_LLVM;
}

static void observe_stage(const char *stage, const char *text, void *user)
{
    tg_concrete *c = user;
    if (strcmp(stage, "fusion") == 0)
        tgi_log_write(&c->ctx->log, TG_LOG_WARN, TGI_LOG_JIT,
                      "fusion of %s:\n%s", c->name, text);
    else
        tgi_dump_text(c->ctx, c->name, c->dump_number, stage,
                      strcmp(stage, "asm") == 0     ? "s"
                      : strcmp(stage, "loops") == 0 ? "txt"
                                                    : "ll",
                      text);
}

static tg_status compile(tg_concrete *c, const int64_t *values,
                         tgi_program **out_program)
{
    tgi_jit_options options = {.log = &c->ctx->log,
                               .cpu = c->ctx->cpu,
                               .vector_bits = c->ctx->vector_bits,
                               .wants = wants_stage,
                               .observe = observe_stage,
                               .user = c};
    tg_status status =
        tgi_program_create(c->graph, values, &options, out_program);
    if (!status || c->ctx->jit == TGI_JIT_REQUIRED ||
        status == TG_ERROR_OUT_OF_MEMORY)
        return status;
    tgi_log_write(&c->ctx->log, TG_LOG_WARN, TGI_LOG_JIT,
                  "%s runs in the interpreter: %s", c->name,
                  tg_error_last()->message);
    return TG_OK;
}

/* The program for calls with these extents, retained; NULL: interpret. */
static tg_status find_program(tg_concrete *c, const int64_t *values,
                              tgi_program **out_program)
{
    tgi_runners *runners = &c->runners;
    for (size_t i = 0; i < runners->variants.n; i++) {
        const tgi_runner_variant *known = &runners->variants.data[i];
        if (tgi_variant_is_same(c->graph, values, known->values)) {
            *out_program = known->program;
            if (known->program)
                tgi_program_retain(known->program);
            return TG_OK;
        }
    }
    tgi_runner_variant variant = {0};
    TGI_TRY(compile(c, values, &variant.program));
    size_t bytes = tgi_dims_n_values(c->graph->dims) * sizeof(*values);
    variant.values = tgi_alloc(bytes + 1);
    if (!variant.values || !tgi_vec_push(&runners->variants, variant)) {
        tgi_free(variant.values);
        tgi_program_release(variant.program);
        return tgi_error_memory();
    }
    if (bytes)
        memcpy(variant.values, values, bytes);
    *out_program = variant.program;
    if (variant.program)
        tgi_program_retain(variant.program);
    return TG_OK;
}

static tg_status make_native(tg_concrete *c, tgi_runner *runner,
                             const int64_t *values)
{
    tgi_program *program = NULL;
    pthread_mutex_lock(&c->runners.compile_lock);
    tg_status status = find_program(c, values, &program);
    pthread_mutex_unlock(&c->runners.compile_lock);
    if (status || !program)
        return status;
    tgi_native_options options = {.host = c->ctx->host,
                                  .memory_limit = c->ctx->memory_limit,
                                  .threads = c->ctx->threads,
                                  .grain = c->ctx->grain};
    status = tgi_native_create(program, runner->symbols, &options,
                               &runner->native);
    tgi_program_release(program);
    return status;
}

/* -- Runners --------------------------------------------------------------- */

static tg_status set_result_dims(const tg_concrete *c, tgi_runner *runner,
                                 const int64_t *values)
{
    const tgi_graph *graph = c->graph;
    for (size_t i = 0; i < graph->results.n; i++) {
        tgi_ref ref = graph->results.data[i];
        const tgi_shape *shape = tgi_graph_shape(graph, ref);
        int64_t *dims = runner->dims[i];
        for (int axis = 0; axis < shape->rank; axis++)
            dims[axis] = tgi_dim_value(shape->dims[axis], values);
        tg_dtype dtype = (tg_dtype)tgi_graph_node(graph, ref)->dtype;
        if (!tgi_checked_bytes(shape->rank, dims, tgi_dtype_bytes(dtype),
                               &dims[TG_MAX_RANK]))
            TGI_FAIL(TG_ERROR_OVERFLOW, TGI_NO_SITE,
                     "%s: the size of result %zu does not fit 64 bits",
                     c->name, i);
    }
    return TG_OK;
}

static tg_status runner_init(tg_concrete *c, tgi_runner *runner,
                             int64_t *values)
{
    TGI_TRY(tgi_dims_evaluate(c->graph->dims, runner->symbols, values));
    TGI_TRY(tgi_graph_run_checks(c->graph, values));
    TGI_TRY(set_result_dims(c, runner, values));
    if (c->ctx->jit != TGI_JIT_OFF)
        TGI_TRY(make_native(c, runner, values));
    if (runner->native)
        return TG_OK;
    return tgi_interp_create(c->graph, runner->symbols, &c->ctx->host,
                             c->ctx->memory_limit, &runner->interp);
}

static tg_status runner_create(tg_concrete *c, const int64_t *symbols,
                               tgi_runner **out_runner)
{
    size_t n = tgi_dims_n_symbols(c->graph->dims);
    tgi_runner *runner = tgi_alloc_zero(sizeof(*runner));
    int64_t *values = tgi_alloc(
        (tgi_dims_n_values(c->graph->dims) + 1) * sizeof(*values));
    tg_status status = runner && values ? TG_OK : tgi_error_memory();
    if (!status) {
        runner->symbols = tgi_alloc((n + 1) * sizeof(*symbols));
        runner->dims = tgi_alloc_zero((c->graph->results.n + 1) *
                                      sizeof(*runner->dims));
        status = runner->symbols && runner->dims ? TG_OK
                                                 : tgi_error_memory();
    }
    if (!status) {
        if (n)
            memcpy(runner->symbols, symbols, n * sizeof(*symbols));
        status = runner_init(c, runner, values);
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
    tgi_free(runner->dims);
    tgi_free(runner->symbols);
    tgi_free(runner);
}

const int64_t *tgi_runner_result_dims(const tgi_runner *runner, size_t result)
{
    return runner->dims[result];
}

int64_t tgi_runner_result_bytes(const tgi_runner *runner, size_t result)
{
    return runner->dims[result][TG_MAX_RANK];
}

tg_status tgi_runner_bind(tgi_runner *runner, void *const *params,
                          void *const *results)
{
    runner->params = params;
    runner->results = results;
    return runner->native ? tgi_native_bind(runner->native, params, results)
                          : TG_OK;
}

tg_status tgi_runner_run(tgi_runner *runner)
{
    return runner->native
               ? tgi_native_run(runner->native)
               : tgi_interp_run(runner->interp, runner->params,
                                runner->results);
}

const tgi_native *tgi_runner_native(const tgi_runner *runner)
{
    return runner->native;
}

static size_t runner_bytes(const tgi_runner *runner)
{
    return (size_t)(runner->native ? tgi_native_bytes(runner->native)
                                   : tgi_interp_bytes(runner->interp));
}

/* -- The idle ones --------------------------------------------------------- */

enum { MAX_IDLE = 4 };

void tgi_runners_init(tgi_runners *runners)
{
    pthread_mutex_init(&runners->lock, NULL);
    pthread_mutex_init(&runners->compile_lock, NULL);
}

void tgi_runners_deinit(tgi_runners *runners)
{
    for (size_t i = 0; i < runners->idle.n; i++)
        tgi_runner_destroy(runners->idle.data[i]);
    for (size_t i = 0; i < runners->variants.n; i++) {
        tgi_free(runners->variants.data[i].values);
        tgi_program_release(runners->variants.data[i].program);
    }
    tgi_vec_deinit(&runners->idle);
    tgi_vec_deinit(&runners->variants);
    pthread_mutex_destroy(&runners->lock);
    pthread_mutex_destroy(&runners->compile_lock);
}

size_t tgi_runners_bytes(tgi_runners *runners)
{
    size_t bytes = 0;
    pthread_mutex_lock(&runners->lock);
    for (size_t i = 0; i < runners->idle.n; i++)
        bytes += runner_bytes(runners->idle.data[i]);
    pthread_mutex_unlock(&runners->lock);
    return bytes;
}

tg_status tgi_runner_take(tg_concrete *c, const int64_t *symbols,
                          tgi_runner **out_runner)
{
    tgi_runners *runners = &c->runners;
    size_t bytes = tgi_dims_n_symbols(c->graph->dims) * sizeof(*symbols);
    *out_runner = NULL;
    pthread_mutex_lock(&runners->lock);
    for (size_t i = runners->idle.n; i-- > 0 && !*out_runner;)
        if (bytes == 0 ||
            memcmp(runners->idle.data[i]->symbols, symbols, bytes) == 0) {
            *out_runner = runners->idle.data[i];
            runners->idle.data[i] = runners->idle.data[--runners->idle.n];
        }
    pthread_mutex_unlock(&runners->lock);
    return *out_runner ? TG_OK : runner_create(c, symbols, out_runner);
}

void tgi_runner_give(tg_concrete *c, tgi_runner *runner)
{
    tgi_runners *runners = &c->runners;
    tgi_runner *excess = NULL;
    pthread_mutex_lock(&runners->lock);
    if (runners->idle.n == MAX_IDLE) {
        excess = runners->idle.data[0];
        memmove(runners->idle.data, runners->idle.data + 1,
                --runners->idle.n * sizeof(excess));
    }
    if (!tgi_vec_push(&runners->idle, runner))
        excess = runner;
    pthread_mutex_unlock(&runners->lock);
    tgi_runner_destroy(excess);
}
