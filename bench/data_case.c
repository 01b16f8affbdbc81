/* SPDX-License-Identifier: MIT */
/*
 * data_case.c - see data_case.h.
 */
#include "data_case.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "peers/python.h"

/* peers/data_loaders.py */
static const char python_program[] =
#include "data_loaders.inc"
    ;

enum { SOURCE_ROWS = 4096, PREFETCH_DEPTH = 2 };
static const double work_seconds = 1e-3;

const data_case feed_case = {DATA_FEED};
const data_case pipeline_case = {DATA_PIPELINE};
const data_case prefetch_case = {DATA_PREFETCH};

const case_size feed_sizes[] = {
    SIZE_TIMED("64x16", 64, 16),
    SIZE_TIMED("64x784", 64, 784),
    SIZE_CHECKED("5x3", 5, 3),
    SIZES_END,
};

const case_size pipeline_sizes[] = {
    SIZE_TIMED("1ms", 1, 16),
    SIZES_END,
};

struct experiment {
    data_kind kind;
    int64_t rows, columns;
    float *source; /* SOURCE_ROWS rows */
};

struct runner {
    const experiment *e;
    backend which;
    tg_context *ctx;
    tg_tensor *source, *batch;
    tg_function *step;
    tg_bound *bound;
    tg_iterator *it;
    float *copy; /* BACKEND_C: the batch, … */
    int64_t next; /* … and its next row */
    python *python; /* peers in Python */
};

/* -- The pipeline ---------------------------------------------------------- */

static void spin(void)
{
    const double end = seconds_now() + work_seconds;
    while (seconds_now() < end)
        ;
}

static tg_status produce(void *state, tg_element *element)
{
    const experiment *e = state;
    float *data = tg_element_data(element, 0);
    if (!data)
        return tg_error_last()->status;
    memcpy(data, e->source, (size_t)(e->rows * e->columns) * sizeof(*data));
    spin();
    return TG_OK;
}

static tg_status consume(const tg_host_buffer *in, size_t n_in,
                         const tg_host_buffer *out, size_t n_out, void *user)
{
    (void)n_in, (void)n_out, (void)user;
    memcpy(out[0].data, in[0].data, sizeof(float));
    spin();
    return TG_OK;
}

static void slow_step(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y;
    tg_host_call(t, consume, NULL, TG_ARGS(in[0]),
                 &(tg_host_spec){TG_F32, 0, NULL}, &y, 1);
    tg_return(t, y);
}

static void fast_step(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(in[0], 1));
}

/* -- Peers in Python ------------------------------------------------------- */

static bool is_python(backend which)
{
    return which == BACKEND_TF_DATA || which == BACKEND_TORCH_DATA;
}

static python *start_python(const experiment *e, backend which,
                            reason *out_why)
{
    static const char *const kinds[] = {[DATA_FEED] = "feed",
                                        [DATA_PIPELINE] = "pipeline",
                                        [DATA_PREFETCH] = "prefetch"};
    char numbers[3][24];
    snprintf(numbers[0], sizeof(numbers[0]), "%" PRId64, e->rows);
    snprintf(numbers[1], sizeof(numbers[1]), "%" PRId64, e->columns);
    snprintf(numbers[2], sizeof(numbers[2]), "%d", SOURCE_ROWS);
    const char *const arguments[] = {
        "-c",       python_program, kinds[e->kind], backend_name(which),
        numbers[0], numbers[1],     numbers[2],     NULL};
    return python_start(arguments, out_why);
}

static bool run_python(const runner *r, int64_t iterations,
                       double *out_seconds, reason *out_why)
{
    char line[32];
    snprintf(line, sizeof(line), "%" PRId64, iterations);
    return python_time(r->python, line, out_seconds, out_why);
}

static bool verify_python(const runner *r, reason *out_why)
{
    char answer[64];
    if (!python_ask(r->python, "check", answer, sizeof(answer), out_why))
        return false;
    if (strcmp(answer, "right") != 0)
        reason_set(out_why, "%s", answer);
    return strcmp(answer, "right") == 0;
}

/* -- The family ------------------------------------------------------------ */

static bool has_backend(const bench_case *c, const case_size *size,
                        backend which)
{
    (void)size;
    return which == BACKEND_JIT || is_python(which) ||
           (which == BACKEND_C &&
            ((const data_case *)c->what)->kind == DATA_FEED);
}

static void end(experiment *e)
{
    if (e)
        free(e->source);
    free(e);
}

static experiment *begin(const bench_case *c, const case_size *size,
                         input_kind inputs, reason *out_why)
{
    (void)inputs;
    experiment *e = calloc(1, sizeof(*e));
    if (e) {
        e->kind = ((const data_case *)c->what)->kind;
        e->rows = size->rows;
        e->columns = size->columns;
        e->source = calloc((size_t)(SOURCE_ROWS * e->columns), sizeof(float));
    }
    if (!e || !e->source) {
        reason_set(out_why, "out of memory");
        end(e);
        return NULL;
    }
    for (int64_t i = 0; i < SOURCE_ROWS * e->columns; i++)
        e->source[i] = (float)(i / e->columns);
    return e;
}

static void stop(runner *r)
{
    if (!r)
        return;
    tg_iterator_release(r->it);
    tg_bound_release(r->bound);
    tg_function_release(r->step);
    tg_tensor_release(r->batch);
    tg_tensor_release(r->source);
    tg_context_release(r->ctx);
    python_stop(r->python);
    free(r->copy);
    free(r);
}

static tg_dataset *make_dataset(runner *r)
{
    const experiment *e = r->e;
    tg_dataset *d;
    if (e->kind == DATA_FEED) {
        d = tg_dataset_from(r->ctx, TG_ARGS(r->source));
        d = tg_dataset_shuffle(d, SOURCE_ROWS, 1, TG_RESHUFFLE);
        d = tg_dataset_batch(d, e->rows, TG_DROP_REMAINDER);
        return tg_dataset_repeat(d, TG_FOREVER);
    }
    const tg_generator generator = {.next = produce};
    const tg_spec spec = tg_spec_tensor(TG_F32, TG_DIMS(e->rows, e->columns));
    d = tg_dataset_from_generator(r->ctx, &spec, 1, &generator,
                                  (void *)(uintptr_t)e);
    return e->kind == DATA_PREFETCH ? tg_dataset_prefetch(d, PREFETCH_DEPTH)
                                    : d;
}

static bool prepare(runner *r)
{
    const experiment *e = r->e;
    r->source = tg_tensor_wrap(r->ctx, e->source, TG_F32,
                               TG_DIMS(SOURCE_ROWS, e->columns));
    r->step = e->kind == DATA_FEED
                  ? tg_function_create(r->ctx, fast_step, NULL, NULL)
                  : tg_function_create(r->ctx, slow_step, NULL, NULL);
    if (!r->source || !r->step)
        return false;
    tg_dataset *d = make_dataset(r);
    r->it = tg_iterate(d);
    tg_dataset_release(d);
    if (!r->it || tg_next(r->it, TG_RESULTS(&r->batch)))
        return false;
    r->bound = tg_bind(r->step, TG_ARGS(r->batch), TG_RESULTS());
    return r->bound && !tg_run(r->bound);
}

static runner *start(experiment *e, backend which, int threads, reason *out_why)
{
    (void)threads;
    runner *r = calloc(1, sizeof(*r));
    if (!r) {
        reason_set(out_why, "out of memory");
        return NULL;
    }
    r->e = e;
    r->which = which;
    if (is_python(which)) {
        r->python = start_python(e, which, out_why);
        if (r->python)
            return r;
    } else if (which == BACKEND_C) {
        r->copy = calloc((size_t)(e->rows * e->columns), sizeof(float));
        if (r->copy)
            return r;
        reason_set(out_why, "out of memory");
    } else {
        r->ctx = backend_context(BACKEND_JIT, 1);
        if (r->ctx && prepare(r))
            return r;
        reason_set(out_why, "%s", tg_error(NULL));
    }
    stop(r);
    return NULL;
}

/* Gathers rows in an order that is as irregular as that of the dataset. */
static void copy_rows(runner *r)
{
    const size_t bytes = (size_t)r->e->columns * sizeof(float);
    for (int64_t i = 0; i < r->e->rows; i++) {
        r->next = (r->next * 1597 + 51749) % SOURCE_ROWS;
        memcpy((char *)r->copy + (size_t)i * bytes,
               (const char *)r->e->source + (size_t)r->next * bytes, bytes);
    }
}

static bool run_once(runner *r)
{
    if (r->which == BACKEND_C) {
        copy_rows(r);
        return true;
    }
    return !tg_next_bound(r->it, r->bound) &&
           (r->e->kind == DATA_FEED || !tg_run(r->bound));
}

static bool run_batches(runner *r, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!run_once(r))
            return false;
    return true;
}

/* Feeding is timed after a pass over the source, because the other rows, which
   have had their turn, use the cache too. */
static bool run(runner *r, int64_t iterations, double *out_seconds,
                reason *out_why)
{
    if (r->python)
        return run_python(r, iterations, out_seconds, out_why);
    if (r->e->kind == DATA_FEED &&
        !run_batches(r, SOURCE_ROWS / r->e->rows)) {
        reason_set(out_why, "%s", tg_error(NULL));
        return false;
    }
    const double began = seconds_now();
    const bool did = run_batches(r, iterations);
    *out_seconds = seconds_now() - began;
    if (!did)
        reason_set(out_why, "%s", tg_error(NULL));
    return did;
}

/* Every row of a batch is a row of the source. */
static bool verify(runner *r, reason *out_why)
{
    const experiment *e = r->e;
    if (r->python)
        return verify_python(r, out_why);
    bool good = run_once(r);
    if (good && r->which != BACKEND_C)
        good = !tg_next(r->it, TG_RESULTS(&r->batch));
    const float *data =
        r->which == BACKEND_C ? r->copy : tg_tensor_data(r->batch);
    for (int64_t i = 0; i < e->rows && good; i++) {
        const float *is = data + i * e->columns;
        good = is[0] >= 0 && is[0] < SOURCE_ROWS &&
               memcmp(is, e->source + (int64_t)is[0] * e->columns,
                      (size_t)e->columns * sizeof(*is)) == 0;
    }
    if (!good)
        reason_set(out_why, "a batch has wrong rows: %s", tg_error(NULL));
    return good;
}

const case_family data_family = {
    .has_backend = has_backend,
    .begin = begin,
    .end = end,
    .start = start,
    .stop = stop,
    .verify = verify,
    .run = run,
};
