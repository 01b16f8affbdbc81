/* SPDX-License-Identifier: MIT */
/*
 * graph_case.c - see graph_case.h. `rows` of a size is the number of
 * operations; 0 is the chain.
 */
#include "graph_case.h"

#include <stdlib.h>

#include "cases.h"
#include "measure.h"
#include "scratch_dir.h"

enum { N_ARGS = 4, N_ELEMENTS = 16 };

struct experiment {
    graph_phase phase;
    int64_t n_operations;
    scratch_dir dir; /* DISK: where code is kept */
};

struct runner {
    const experiment *e;
    tg_context *ctx;
    tg_tensor *args[N_ARGS];
    double callback_seconds;
};

/* -- Graphs ---------------------------------------------------------------- */

/* Operations of which each needs the one before; none folds away. */
static void trace_many(tg_trace *t, const tg_value *in, int64_t n)
{
    tg_value y = in[0];
    for (int64_t i = 0; i < n; i++)
        switch (i % 4) {
        case 0:
            y = tg_sub(y, in[1]);
            break;
        case 1:
            y = tg_tanh(y);
            break;
        case 2:
            y = tg_max(y, in[2]);
            break;
        default:
            y = tg_mul(y, in[3]);
        }
    tg_return(t, y);
}

static void callback(tg_trace *t, const tg_value *in, void *user)
{
    runner *r = user;
    const double start = seconds_now();
    if (r->e->n_operations)
        trace_many(t, in, r->e->n_operations);
    else
        trace_chain(t, in, NULL);
    r->callback_seconds += seconds_now() - start;
}

const case_size graph_sizes[] = {
    SIZE_TIMED("chain", 0, 0),
    SIZE_TIMED("1000ops", 1000, 0),
    SIZES_END,
};

const graph_case trace_case = {PHASE_TRACE};
const graph_case passes_case = {PHASE_PASSES};
const graph_case compile_case = {PHASE_FIRST};
const graph_case disk_case = {PHASE_DISK};

/* -- The family ------------------------------------------------------------ */

static experiment *begin(const bench_case *c, const case_size *size,
                         input_kind inputs, reason *out_why)
{
    (void)inputs;
    experiment *e = calloc(1, sizeof(*e));
    if (!e) {
        reason_set(out_why, "out of memory");
        return NULL;
    }
    e->phase = ((const graph_case *)c->what)->phase;
    e->n_operations = size->rows;
    if (e->phase == PHASE_DISK && !scratch_dir_init(&e->dir)) {
        reason_set(out_why, "no directory for code");
        free(e);
        return NULL;
    }
    return e;
}

static void end(experiment *e)
{
    if (e && e->phase == PHASE_DISK)
        scratch_dir_deinit(&e->dir);
    free(e);
}

static void stop(runner *r)
{
    if (!r)
        return;
    for (int i = 0; i < N_ARGS; i++)
        tg_tensor_release(r->args[i]);
    tg_context_release(r->ctx);
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
    r->ctx = e->phase == PHASE_DISK ? backend_context_kept(e->dir.path)
                                    : backend_context(which, threads);
    bool went_well = r->ctx != NULL;
    for (int i = 0; i < N_ARGS && went_well; i++) {
        const int64_t dims[] = {N_ELEMENTS};
        r->args[i] = tg_tensor_create(r->ctx, TG_F32, i == 0, dims);
        went_well = r->args[i] != NULL;
    }
    if (went_well)
        return r;
    reason_set(out_why, "%s", tg_error(NULL));
    stop(r);
    return NULL;
}

static bool runs(graph_phase phase)
{
    return phase == PHASE_FIRST || phase == PHASE_DISK;
}

static bool once(runner *r)
{
    const tg_operand args[N_ARGS] = {
        tg_in_tensor(r->args[0]), tg_in_tensor(r->args[1]),
        tg_in_tensor(r->args[2]), tg_in_tensor(r->args[3])};
    tg_tensor *result = NULL;
    tg_function *f = tg_function_create(r->ctx, callback, r, NULL);
    bool did;
    if (runs(r->e->phase)) {
        did = f && !tg_call(f, args, N_ARGS, TG_RESULTS(&result));
    } else {
        const int64_t dims[] = {N_ELEMENTS};
        tg_spec specs[N_ARGS];
        for (int i = 0; i < N_ARGS; i++)
            specs[i] = tg_spec_tensor(TG_F32, i == 0, dims);
        tg_concrete *made =
            f ? tg_function_concrete(f, specs, N_ARGS) : NULL;
        did = made != NULL;
        tg_concrete_release(made);
    }
    tg_tensor_release(result);
    tg_function_release(f);
    return did;
}

static bool run(runner *r, int64_t iterations, double *out_seconds)
{
    r->callback_seconds = 0;
    const double began = seconds_now();
    for (int64_t i = 0; i < iterations; i++)
        if (!once(r))
            return false;
    const double all = seconds_now() - began;
    switch (r->e->phase) {
    case PHASE_TRACE:
        *out_seconds = r->callback_seconds;
        break;
    case PHASE_PASSES:
        *out_seconds = all - r->callback_seconds;
        break;
    case PHASE_FIRST:
    case PHASE_DISK:
        *out_seconds = all;
    }
    return true;
}

static bool verify(runner *r, reason *out_why)
{
    if (once(r))
        return true;
    reason_set(out_why, "%s", tg_error(NULL));
    return false;
}

/* The interpreter has no compiler, and the JIT no passes of its own. */
static bool has_backend(const bench_case *c, backend which)
{
    const graph_case *what = c->what;
    return which == (runs(what->phase) ? BACKEND_JIT : BACKEND_INTERP);
}

const case_family graph_family = {
    .has_backend = has_backend,
    .begin = begin,
    .end = end,
    .start = start,
    .stop = stop,
    .verify = verify,
    .run = run,
};
