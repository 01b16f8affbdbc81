/* SPDX-License-Identifier: MIT */
/*
 * tensor_case.c - see tensor_case.h. All back ends use the same input and
 * result buffers, because the time of a kernel can depend on the pages.
 */
#include "tensor_case.h"

#include <stdlib.h>
#include <string.h>

#include "case_args.h"
#include "compare.h"
#include "inputs.h"
#include "machine.h"
#include "measure.h"
#include "peers/engine.h"

struct experiment {
    const char *name;
    const tensor_case *what;
    const case_size *size;
    void *inputs[KERNEL_INPUTS];
    void *results[KERNEL_RESULTS];
    void *expected[KERNEL_RESULTS];
    engine_files *files; /* inputs and results of engines */
};

struct runner {
    const experiment *e;
    backend which;
    int threads;

    /* Hand-written kernels, and loops of tg_run */
    kernel *kernel;
    kernel_buffers buffers;
    char *state[KERNEL_INPUTS]; /* memory of buffers.state */

    /* The library, and loops of tg_run */
    tg_context *ctx;
    tg_function *function;
    tg_bound *bound;
    case_args args;
    tg_tensor *out_tensors[KERNEL_RESULTS];
    tg_result out[KERNEL_RESULTS];
    size_t n_out;

    engine_run *engine; /* engines in other processes */
};

static size_t bytes_for(tg_dtype dtype, extents shape)
{
    return tg_dtype_bytes(dtype) * (size_t)shape.count;
}

static void *memory_for(tg_dtype dtype, extents shape)
{
    return memory_create(bytes_for(dtype, shape));
}

/* -- Runners of the library ------------------------------------------------ */

static bool prepare_results(runner *r)
{
    const tensor_case *what = r->e->what;
    for (size_t i = 0; i < KERNEL_RESULTS && what->results[i].dtype; i++) {
        const extents shape =
            extents_of(r->e->size, what->results[i].shape);
        r->out_tensors[i] =
            tg_tensor_wrap(r->ctx, r->e->results[i], what->results[i].dtype,
                           shape.rank, shape.dims);
        if (!r->out_tensors[i])
            return false;
        r->out[i] = TG_OUT(&r->out_tensors[i]);
        r->n_out = i + 1;
    }
    return true;
}

/* Binds `callback` in back end `in` of the library. */
static bool prepare_library(runner *r, tg_callback *callback, backend in,
                            reason *out_why)
{
    r->ctx = backend_context(in, r->threads);
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.name = r->e->name;
    if (in == BACKEND_JIT_UNKNOWN_SIZES)
        options.policy = TG_RELAXED;
    r->function = tg_function_create(r->ctx, callback, NULL, &options);
    if (r->function &&
        case_args_init(&r->args, r->ctx, r->e->what, r->e->size,
                       r->e->inputs) &&
        prepare_results(r))
        r->bound = tg_bind(r->function, r->args.operands, r->args.n, r->out,
                           r->n_out);
    if (r->bound)
        return true;
    reason_set(out_why, "%s", tg_error(NULL));
    return false;
}

/* -- Runners of kernels ---------------------------------------------------- */

/* Size of the last-level cache. */
static size_t cache_bytes(void)
{
    size_t bytes = 0;
    for (int level = 3; level > 0 && !bytes; level--)
        bytes = machine_cache_bytes(level);
    return bytes;
}

/* Copies the inputs that are variables, at different positions in a page: a
   load that follows a store to the same position in another page waits for it
   (Adam on Zen 4: 450 instead of 300 us). */
static bool prepare_state(runner *r)
{
    enum { SKEW = 1024 + 64 };
    const tensor_input *inputs = r->e->what->inputs;
    for (size_t i = 0; i < KERNEL_INPUTS && inputs[i].dtype; i++) {
        const extents shape = extents_of(r->e->size, inputs[i].shape);
        if (!inputs[i].is_variable)
            continue;
        const size_t skew = (i + 1) * SKEW;
        const size_t bytes = bytes_for(inputs[i].dtype, shape);
        r->state[i] = memory_create(bytes + skew);
        if (!r->state[i])
            return false;
        r->buffers.state[i] = r->state[i] + skew;
        memcpy(r->buffers.state[i], r->e->inputs[i], bytes);
    }
    return true;
}

static bool prepare_kernel(runner *r, reason *out_why)
{
    const case_size *size = r->e->size;
    const int64_t between = extents_of(size, r->e->what->scratch).count;
    r->kernel = r->e->what->kernels[r->which];
    r->buffers.batch = size->batch ? size->batch : 1;
    r->buffers.rows = size->rows ? size->rows : 1;
    r->buffers.columns = size->columns;
    r->buffers.inner = size->inner;
    r->buffers.count = r->buffers.rows * size->columns;
    r->buffers.threads = r->threads;
    r->buffers.cache_bytes = cache_bytes();
    r->buffers.scratch =
        memory_create(scratch_bytes(r->buffers.count) +
                      sizeof(float) * (size_t)between);
    for (size_t i = 0; i < KERNEL_INPUTS; i++)
        r->buffers.in[i] = r->e->inputs[i];
    for (size_t i = 0; i < KERNEL_RESULTS; i++)
        r->buffers.out[i] = r->e->results[i];
    if (r->buffers.scratch && (!r->e->what->has_state || prepare_state(r)))
        return true;
    reason_set(out_why, "out of memory");
    return false;
}

/* -- Runners of loops of tg_run -------------------------------------------- */

static bool is_stepped(const tensor_case *what, backend which)
{
    return which == BACKEND_C && what->step;
}

static bool prepare_steps(runner *r, reason *out_why)
{
    reason why;
    const backend in = backend_is_available(BACKEND_JIT, &why)
                           ? BACKEND_JIT
                           : BACKEND_INTERP;
    return prepare_kernel(r, out_why) &&
           prepare_library(r, r->e->what->step, in, out_why);
}

/* Alternates between result and scratch, such that the last step writes the
   result. */
static bool run_steps(runner *r)
{
    const void *from = r->buffers.in[0];
    for (int left = r->e->what->steps; left > 0; left--) {
        void *to = left % 2 ? r->buffers.out[0] : r->buffers.scratch;
        if (tg_bound_set(r->bound, 0, from) ||
            tg_bound_set_result(r->bound, 0, to) || tg_run(r->bound))
            return false;
        from = to;
    }
    return true;
}

/* -- Runners of engines ---------------------------------------------------- */

/* All engines read the same files. */
static bool prepare_engine(runner *r, experiment *e, reason *out_why)
{
    if (!e->files)
        e->files = engine_files_create(e->what, e->size, e->inputs, out_why);
    if (e->files)
        r->engine = engine_run_start(e->files, r->which, r->threads, out_why);
    return r->engine != NULL;
}

/* -- Runners --------------------------------------------------------------- */

static void stop(runner *r)
{
    if (!r)
        return;
    tg_bound_release(r->bound);
    case_args_deinit(&r->args);
    for (size_t i = 0; i < KERNEL_RESULTS; i++)
        tg_tensor_release(r->out_tensors[i]);
    tg_function_release(r->function);
    tg_context_release(r->ctx);
    for (size_t i = 0; i < KERNEL_INPUTS; i++)
        free(r->state[i]);
    free(r->buffers.scratch);
    engine_run_stop(r->engine);
    free(r);
}

static runner *start(experiment *e, backend which, int threads,
                     reason *out_why)
{
    runner *r = calloc(1, sizeof(*r));
    if (!r) {
        reason_set(out_why, "out of memory");
        return NULL;
    }
    r->e = e;
    r->which = which;
    r->threads = threads;
    if (backend_is_engine(which)     ? prepare_engine(r, e, out_why)
        : is_stepped(e->what, which) ? prepare_steps(r, out_why)
        : backend_is_library(which)  ? prepare_library(r, e->what->callback,
                                                       which, out_why)
                                     : prepare_kernel(r, out_why))
        return r;
    stop(r);
    return NULL;
}

static bool run_library(runner *r, int64_t iterations)
{
    if (r->e->what->is_called) {
        for (int64_t i = 0; i < iterations; i++)
            if (tg_call(r->function, r->args.operands, r->args.n, r->out,
                        r->n_out))
                return false;
        return true;
    }
    for (int64_t i = 0; i < iterations; i++)
        if (tg_run(r->bound))
            return false;
    return true;
}

/* The start and the end of the profile are not timed. */
static bool run_profiled(runner *r, int64_t iterations, double *out_seconds)
{
    if (tg_profile_start(NULL))
        return false;
    const double began = seconds_now();
    const bool did = run_library(r, iterations);
    if (out_seconds)
        *out_seconds = seconds_now() - began;
    tg_profile_stop();
    tg_profile_clear();
    return did;
}

static void run_kernel(const runner *r, int64_t iterations)
{
    backend_set_threads(r->threads);
    for (int64_t i = 0; i < iterations; i++)
        r->kernel(&r->buffers);
}

static bool run(runner *r, int64_t iterations, double *out_seconds,
                reason *out_why)
{
    if (r->engine)
        return engine_run_time(r->engine, iterations, out_seconds, out_why);
    bool did = true;
    if (r->which == BACKEND_JIT_PROFILED)
        did = run_profiled(r, iterations, out_seconds);
    else if (backend_is_library(r->which))
        did = run_library(r, iterations);
    else if (is_stepped(r->e->what, r->which))
        for (int64_t i = 0; i < iterations && did; i++)
            did = run_steps(r);
    else
        run_kernel(r, iterations);
    if (!did)
        reason_set(out_why, "%s", tg_error(NULL));
    return did;
}

/* Three runs of a case with state make every variable affect the results. */
static bool run_to_compare(runner *r, reason *out_why)
{
    const int n = r->e->what->has_state ? 3 : 1;
    return r->engine ? engine_run_check(r->engine, n, r->e->results, out_why)
                     : run(r, n, NULL, out_why);
}

static bool result_is_right(const runner *r, size_t i, reason *out_why)
{
    const tensor_case *what = r->e->what;
    const tg_dtype dtype = what->results[i].dtype;
    const int64_t count =
        extents_of(r->e->size, what->results[i].shape).count;
    const void *got = r->e->results[i], *expected = r->e->expected[i];
    return backend_has_bits(r->which)
               ? compare_bits(got, expected, dtype, count, out_why)
               : compare_near(got, expected, dtype, count, what->absolute,
                              what->relative, out_why);
}

static bool verify(runner *r, reason *out_why)
{
    const tensor_result *result = r->e->what->results;
    for (size_t i = 0; i < KERNEL_RESULTS && result[i].dtype; i++)
        /* So that an element that is not written is not right by chance. */
        memset(r->e->results[i], 0xa5,
               bytes_for(result[i].dtype,
                         extents_of(r->e->size, result[i].shape)));
    if (!run_to_compare(r, out_why))
        return false;
    for (size_t i = 0; i < KERNEL_RESULTS && result[i].dtype; i++)
        if (!result_is_right(r, i, out_why))
            return false;
    return true;
}

/* -- Experiments ----------------------------------------------------------- */

static void end(experiment *e)
{
    if (!e)
        return;
    case_data_release(e->inputs);
    engine_files_release(e->files);
    for (size_t i = 0; i < KERNEL_RESULTS; i++) {
        free(e->results[i]);
        free(e->expected[i]);
    }
    free(e);
}

/* Computes the expected results with the interpreter. */
static bool make_expected(experiment *e, reason *out_why)
{
    const tensor_result *result = e->what->results;
    for (size_t i = 0; i < KERNEL_RESULTS && result->dtype; i++, result++) {
        const extents shape = extents_of(e->size, result->shape);
        e->results[i] = memory_for(result->dtype, shape);
        e->expected[i] = memory_for(result->dtype, shape);
        if (!e->results[i] || !e->expected[i]) {
            reason_set(out_why, "out of memory");
            return false;
        }
    }
    runner *reference = start(e, BACKEND_INTERP, 1, out_why);
    if (!reference)
        return false;
    const bool did = run_to_compare(reference, out_why);
    stop(reference);
    for (size_t i = 0; did && i < KERNEL_RESULTS && e->results[i]; i++) {
        const tensor_result *of = &e->what->results[i];
        memcpy(e->expected[i], e->results[i],
               bytes_for(of->dtype, extents_of(e->size, of->shape)));
    }
    return did;
}

static experiment *begin(const bench_case *c, const case_size *size,
                         input_kind inputs, reason *out_why)
{
    experiment *e = calloc(1, sizeof(*e));
    if (!e) {
        reason_set(out_why, "out of memory");
        return NULL;
    }
    e->name = c->name;
    e->what = c->what;
    e->size = size;
    if (!case_data_create(e->what, size, inputs, e->inputs))
        reason_set(out_why, "out of memory");
    else if (make_expected(e, out_why))
        return e;
    end(e);
    return NULL;
}

static bool has_backend(const bench_case *c, const case_size *size,
                        backend which)
{
    const tensor_case *what = c->what;
    switch (which) {
    case BACKEND_INTERP:
        /* Large matrix products and convolutions take seconds; they run
           only for the reference. */
        return size->use == SIZE_OF_CURVE
                   ? case_count(c, size) <= 1e6
                   : case_count(c, size) * c->flops <= 4e8;
    case BACKEND_JIT:
        return true;
    case BACKEND_JIT_UNKNOWN_SIZES:
        /* Known extents matter only where elements dominate the time. */
        return !c->is_serial && !what->has_known_sizes &&
               size->use != SIZE_OF_CURVE;
    case BACKEND_JIT_PROFILED:
        return what->is_profiled;
    case BACKEND_JIT_FAST:
        return what->has_fast_accuracy;
    default:
        if (backend_is_engine(which))
            return what->expression && what->engines & ENGINE(which);
        return what->kernels[which] || is_stepped(what, which);
    }
}

/* Every input is read once and every result written once; a variable is both
   if the case updates it. */
static double least_bytes(const experiment *e)
{
    const tensor_case *what = e->what;
    double bytes = 0;
    for (size_t i = 0; i < KERNEL_INPUTS && what->inputs[i].dtype; i++)
        bytes += (double)bytes_for(what->inputs[i].dtype,
                                   extents_of(e->size, what->inputs[i].shape)) *
                 (what->has_state && what->inputs[i].is_variable ? 2 : 1);
    for (size_t i = 0; i < KERNEL_RESULTS && what->results[i].dtype; i++)
        bytes += (double)bytes_for(what->results[i].dtype,
                                   extents_of(e->size, what->results[i].shape));
    return bytes;
}

static void describe(const runner *r, row *to)
{
    to->is_f64 = r->e->what->inputs[0].dtype == TG_F64;
    if (to->flops > 0 && !(to->bytes > 0))
        to->bytes = least_bytes(r->e);
}

/* Reported for training steps, which save values for the backward pass. A
   hand-written step stores `scratch`. */
static bool stored(const runner *r, stored_bytes *out_stored)
{
    const tensor_case *what = r->e->what;
    if (!what->has_state || r->which == BACKEND_INTERP || r->engine)
        return false;
    if (backend_is_jit(r->which))
        out_stored->allocated = tg_bound_bytes(r->bound, &out_stored->peak);
    else
        out_stored->allocated = out_stored->peak =
            bytes_for(TG_F32, extents_of(r->e->size, what->scratch));
    return true;
}

const case_family tensor_family = {
    .has_backend = has_backend,
    .begin = begin,
    .end = end,
    .start = start,
    .stop = stop,
    .verify = verify,
    .run = run,
    .describe = describe,
    .stored = stored,
};
