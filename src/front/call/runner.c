/* SPDX-License-Identifier: MIT */
/*
 * runner.c - see runner.h.
 */
#include "front/call/runner.h"

#include <string.h>
#include <unistd.h>

#include "front/call/compile_queue.h"
#include "front/call/function_object.h"
#include "front/object/dump_file.h"

struct tgi_runner {
    int64_t *symbols;
    tgi_native *native; /* or … */
    tgi_interp *interp;
    bool is_stopgap; /* interpreted though there will be a program */
    size_t n_params, n_results;
    void *const *params, *const *results; /* of the next run, lent … */
    void **bound; /* … and what both held when they were bound */
    bool is_bound;
    /* Of each result: TG_MAX_RANK extents, then its bytes. */
    int64_t (*dims)[TG_MAX_RANK + 1];
};

/* -- Compiling ------------------------------------------------------------- */

/*
 * Work for the compiler, in units of a tenth of a millisecond (jit.h). What is
 * not required to be compiled may take some ten seconds: so long bound calls
 * wait for it, or the end of the process. A graph with more nodes than that
 * is not even looked at.
 */
enum { MOST_WORK = 100000, MOST_NODES = MOST_WORK };

/*
 * Bytes of values. Plain calls with no more than the first wait for no code:
 * the interpreter is done with them in some milliseconds. Others wait if it
 * might take longer than the compiler: where it is slow, it does the second in
 * a unit of work.
 */
enum { FEW_BYTES = 2 << 20, BYTES_IN_UNIT = 8 << 10 };

/* The most work that a call waits for. */
static size_t patience_of(const tg_concrete *c, bool is_eager, int64_t bytes)
{
    const int64_t interpreted = bytes / BYTES_IN_UNIT;
    if (c->ctx->jit == TGI_JIT_REQUIRED)
        return SIZE_MAX;
    /* Nobody knows how long it takes to interpret a loop. */
    if (is_eager || c->graph->has_loops || interpreted > MOST_WORK)
        return MOST_WORK;
    return bytes > FEW_BYTES ? (size_t)interpreted : 0;
}

static bool should_compile(tg_concrete *c)
{
    if (c->ctx->jit != TGI_JIT_AUTO)
        return c->ctx->jit == TGI_JIT_REQUIRED;
    if (c->graph->n_nodes <= MOST_NODES)
        return true;
    if (!atomic_exchange(&c->runners.has_told_size, true))
        tgi_log_write(&c->ctx->log, TG_LOG_WARN, TGI_LOG_JIT,
                      "%s runs in the interpreter: it has %u nodes, and more "
                      "than %d are compiled only if that is required",
                      c->name, c->graph->n_nodes, MOST_NODES);
    return false;
}

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

/* Says why it is interpreted. Where nothing at all can be compiled, that is
   said once; and at the end nobody wants to know. */
static void tell_why(tg_concrete *c, const char *why)
{
    if (tgi_jit_is_exiting())
        return;
    const bool is_news = !tgi_jit_is_unavailable() ||
                         !atomic_exchange(&c->ctx->has_warned_no_jit, true);
    tgi_log_write(&c->ctx->log, is_news ? TG_LOG_WARN : TG_LOG_DEBUG,
                  TGI_LOG_JIT, "%s runs in the interpreter: %s", c->name, why);
}

/*
 * Finds or makes the code, or says why it cannot and leaves NULL. To make it
 * may be left for later: *out_work is how much, else 0.
 */
static tg_status compile(tg_concrete *c, const int64_t *values,
                         size_t patience, size_t *out_work,
                         tgi_program **out_program)
{
    tgi_jit_options options = {.log = &c->ctx->log,
                               .cpu = c->ctx->cpu,
                               .vector_bits = c->ctx->vector_bits,
                               .verifies = c->ctx->verifies,
                               .store = tgi_context_disk_cache(c->ctx),
                               .instruments = c->ctx->instruments,
                               .most_work = patience,
                               .wants = wants_stage,
                               .observe = observe_stage,
                               .user = c};
    tgi_error_copy before;
    tgi_error_save(&before);
    tg_status status = tgi_program_create(c->graph, values, &options, out_work,
                                          out_program);
    if (*out_work > MOST_WORK) {
        *out_work = 0;
        tell_why(c, "it would take long to compile, which is done only if "
                    "that is required");
    }
    if (!status || c->ctx->jit == TGI_JIT_REQUIRED ||
        status == TG_ERROR_OUT_OF_MEMORY)
        return status;
    tell_why(c, tg_error_last()->message);
    tgi_error_restore(&before);
    return TG_OK;
}

/* Compiles of this thread that are under way. More than one: a log callback
   has made a call. */
static _Thread_local int n_compiling;

/* A fork may have left the compiling thread behind, and its queue. */
static bool is_compiling(const tgi_runners *runners)
{
    return runners->compiler && runners->compiler == getpid();
}

static bool is_queued(const tgi_runners *runners)
{
    return runners->queued && runners->queued == getpid();
}

static const tgi_runner_variant *find_variant(const tg_concrete *c,
                                              const int64_t *values)
{
    const tgi_runners *runners = &c->runners;
    for (size_t i = 0; i < runners->variants.n; i++) {
        const tgi_runner_variant *known = &runners->variants.data[i];
        if (tgi_variant_is_same(c->graph, values, known->values))
            return known;
    }
    return NULL;
}

/*
 * Adds a new variant, unless to make its code is left for later (compile). The
 * lock is held before and after, not between.
 */
static tg_status add_variant(tg_concrete *c, const int64_t *values,
                             size_t patience, size_t *out_work)
{
    tgi_runners *runners = &c->runners;
    size_t bytes = tgi_dims_n_values(c->graph->dims) * sizeof(*values);
    tgi_runner_variant variant = {.values = tgi_alloc(bytes + 1)};
    *out_work = 0;
    if (!variant.values ||
        !tgi_vec_reserve(&runners->variants, runners->variants.n + 1)) {
        tgi_free(variant.values);
        return tgi_error_memory();
    }
    if (bytes)
        memcpy(variant.values, values, bytes);
    runners->compiler = getpid();
    pthread_mutex_unlock(&runners->lock);
    n_compiling++;
    tg_status status =
        compile(c, values, patience, out_work, &variant.program);
    n_compiling--;
    pthread_mutex_lock(&runners->lock);
    runners->compiler = 0;
    pthread_cond_broadcast(&runners->compiled);
    if (!status && *out_work == 0)
        runners->variants.data[runners->variants.n++] = variant;
    else
        tgi_free(variant.values);
    return status;
}

bool tgi_runners_is_compiling(void)
{
    return n_compiling > 0;
}

void tgi_runners_compile(tg_concrete *c, const int64_t *values)
{
    tgi_runners *runners = &c->runners;
    size_t work;
    pthread_mutex_lock(&runners->lock);
    while (is_compiling(runners))
        pthread_cond_wait(&runners->compiled, &runners->lock);
    /* What fails for lack of memory is tried again by a later call. */
    if (!find_variant(c, values))
        (void)add_variant(c, values, MOST_WORK, &work);
    runners->queued = 0;
    runners->queued_work = 0;
    pthread_mutex_unlock(&runners->lock);
}

/*
 * Leaves a compile to the background: true if it will be there later. One
 * variant of a trace waits at a time.
 */
static bool leave_to_background(tg_concrete *c, const int64_t *values,
                                size_t work)
{
    enum { LONG_WORK = 2000 }; /* waits with its like */
    tgi_runners *runners = &c->runners;
    if (!is_queued(runners) &&
        tgi_compile_queue_push(c, values, tgi_dims_n_values(c->graph->dims),
                               work > LONG_WORK)) {
        runners->queued = getpid();
        runners->queued_work = work;
    }
    return is_queued(runners);
}

/* Whether a call waits for code of this trace; as far as is known. */
static bool would_wait(const tgi_runners *runners, size_t patience)
{
    return patience > 0 && patience >= runners->queued_work;
}

/*
 * The program for calls with these extents, retained; NULL: interpret. A call
 * out of a compile does not wait for others, which may wait for it: it is
 * interpreted, and `out_is_stopgap` set; so is one that need not wait.
 */
static tg_status find_program(tg_concrete *c, const int64_t *values,
                              size_t patience, tgi_program **out_program,
                              bool *out_is_stopgap)
{
    tgi_runners *runners = &c->runners;
    const tgi_runner_variant *known;
    tg_status status = TG_OK;
    size_t work;
    pthread_mutex_lock(&runners->lock);
    while (!(known = find_variant(c, values)) && is_compiling(runners) &&
           !n_compiling && would_wait(runners, patience))
        pthread_cond_wait(&runners->compiled, &runners->lock);
    if (!known && !is_compiling(runners) &&
        (would_wait(runners, patience) || !is_queued(runners))) {
        status = add_variant(c, values, patience, &work);
        if (!status && work && !leave_to_background(c, values, work))
            status = add_variant(c, values, MOST_WORK, &work);
        if (!status)
            known = find_variant(c, values);
    }
    *out_is_stopgap = !status && !known;
    if (known && known->program)
        *out_program = tgi_program_retain(known->program);
    pthread_mutex_unlock(&runners->lock);
    return status;
}

static tg_status make_native(tg_concrete *c, tgi_runner *runner,
                             const int64_t *values, size_t patience)
{
    tgi_program *program = NULL;
    TGI_TRY(find_program(c, values, patience, &program, &runner->is_stopgap));
    if (!program)
        return TG_OK;
    tgi_native_options options = {.host = c->ctx->host,
                                  .memory_limit = c->ctx->memory_limit,
                                  .threads = c->ctx->threads,
                                  .grain = c->ctx->grain};
    tg_status status = tgi_native_create(program, runner->symbols, &options,
                                         &runner->native);
    tgi_program_release(program);
    return status;
}

/* -- Runners --------------------------------------------------------------- */

/* Sizes of all values: compiled code may never store one that is too large,
   but whether a call fails does not depend on that. Also adds them up. */
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

static tg_status set_result_dims(const tg_concrete *c, tgi_runner *runner,
                                 const int64_t *values)
{
    const tgi_graph *graph = c->graph;
    for (size_t i = 0; i < graph->results.n; i++) {
        int64_t *dims = runner->dims[i];
        TGI_TRY(tgi_graph_value_size(graph, graph->results.data[i], values,
                                     dims, &dims[TG_MAX_RANK]));
    }
    return TG_OK;
}

static tg_status runner_init(tg_concrete *c, tgi_runner *runner,
                             int64_t *values, bool is_eager)
{
    int64_t bytes;
    TGI_TRY(tgi_dims_evaluate(c->graph->dims, runner->symbols, values));
    TGI_TRY(tgi_graph_run_checks(c->graph, values));
    TGI_TRY(check_sizes(c->graph, values, &bytes));
    TGI_TRY(set_result_dims(c, runner, values));
    if (should_compile(c))
        TGI_TRY(make_native(c, runner, values,
                            patience_of(c, is_eager, bytes)));
    if (runner->native)
        return TG_OK;
    return tgi_interp_create(c->graph, runner->symbols, &c->ctx->host,
                             c->ctx->memory_limit, &runner->interp);
}

static tg_status runner_create(tg_concrete *c, const int64_t *symbols,
                               bool is_eager, tgi_runner **out_runner)
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
        runner->n_params = c->graph->params.n;
        runner->n_results = c->graph->results.n;
        runner->bound =
            tgi_alloc((runner->n_params + runner->n_results + 1) *
                      sizeof(*runner->bound));
        status = runner->symbols && runner->dims && runner->bound
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
    tgi_free(runner->bound);
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

uint64_t tgi_runner_bytes(const tgi_runner *runner, uint64_t *out_peak_bytes)
{
    if (out_peak_bytes)
        *out_peak_bytes =
            runner->native ? tgi_native_peak_bytes(runner->native) : 0;
    return runner->native ? tgi_native_bytes(runner->native)
                          : tgi_interp_bytes(runner->interp);
}

/* -- The idle ones --------------------------------------------------------- */

enum { MAX_IDLE = 4 };

void tgi_runners_init(tgi_runners *runners)
{
    pthread_mutex_init(&runners->lock, NULL);
    pthread_cond_init(&runners->compiled, NULL);
}

void tgi_runners_deinit(tgi_runners *runners)
{
    tgi_runner_destroy(atomic_load(&runners->handy));
    for (size_t i = 0; i < runners->idle.n; i++)
        tgi_runner_destroy(runners->idle.data[i]);
    for (size_t i = 0; i < runners->variants.n; i++) {
        tgi_free(runners->variants.data[i].values);
        tgi_program_release(runners->variants.data[i].program);
    }
    tgi_vec_deinit(&runners->idle);
    tgi_vec_deinit(&runners->variants);
    pthread_mutex_destroy(&runners->lock);
    /* The condition is left as it is: it has no memory, and in a forked child
       its end would wait for threads that are not there. */
}

/* NULL if there is none now. */
static tgi_runner *take_handy(tgi_runners *runners)
{
    return atomic_exchange_explicit(&runners->handy, NULL,
                                    memory_order_acquire);
}

/* Puts it to the others; too many, and the oldest goes. */
static void give_locked(tgi_runners *runners, tgi_runner *runner)
{
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

static void give(tgi_runners *runners, tgi_runner *runner)
{
    tgi_runner *none = NULL;
    if (!atomic_compare_exchange_strong_explicit(
            &runners->handy, &none, runner, memory_order_release,
            memory_order_relaxed))
        give_locked(runners, runner);
}

size_t tgi_runners_bytes(tgi_runners *runners)
{
    size_t bytes = 0;
    tgi_runner *handy = take_handy(runners);
    if (handy) {
        bytes += (size_t)tgi_runner_bytes(handy, NULL);
        give(runners, handy);
    }
    pthread_mutex_lock(&runners->lock);
    for (size_t i = 0; i < runners->idle.n; i++)
        bytes += (size_t)tgi_runner_bytes(runners->idle.data[i], NULL);
    for (size_t i = 0; i < runners->variants.n; i++)
        if (runners->variants.data[i].program)
            bytes += tgi_program_bytes(runners->variants.data[i].program);
    pthread_mutex_unlock(&runners->lock);
    return bytes;
}

static bool suits(const tgi_runner *runner, const int64_t *symbols,
                  size_t n_symbols)
{
    return n_symbols == 0 || memcmp(runner->symbols, symbols,
                                    n_symbols * sizeof(*symbols)) == 0;
}

tg_status tgi_runner_acquire(tg_concrete *c, const int64_t *symbols,
                             bool is_eager, tgi_runner **out_runner)
{
    tgi_runners *runners = &c->runners;
    const size_t n = tgi_dims_n_symbols(c->graph->dims);
    tgi_runner *handy = take_handy(runners);
    if (handy && suits(handy, symbols, n)) {
        *out_runner = handy;
        return TG_OK;
    }
    *out_runner = NULL;
    pthread_mutex_lock(&runners->lock);
    for (size_t i = runners->idle.n; i-- > 0 && !*out_runner;)
        if (suits(runners->idle.data[i], symbols, n)) {
            *out_runner = runners->idle.data[i];
            runners->idle.data[i] = runners->idle.data[--runners->idle.n];
        }
    pthread_mutex_unlock(&runners->lock);
    if (handy)
        give_locked(runners, handy);
    return *out_runner ? TG_OK
                       : runner_create(c, symbols,
                                       is_eager || c->ctx->is_eager,
                                       out_runner);
}

void tgi_runner_release(tg_concrete *c, tgi_runner *runner)
{
    if (runner->is_stopgap)
        tgi_runner_destroy(runner);
    else
        give(&c->runners, runner);
}
