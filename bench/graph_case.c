/* SPDX-License-Identifier: MIT */
/*
 * graph_case.c - see graph_case.h. The member `rows` of a size is the index of
 * a graph, `columns` the number of its operations where that varies.
 */
#include "graph_case.h"

#include <stdlib.h>

#include "case_args.h"
#include "cases.h"
#include "measure.h"
#include "phases.h"
#include "scratch_dir.h"

/* A case to trace, and its size. */
typedef struct graph {
    const tensor_case *what;
    case_size size;
} graph;

struct experiment {
    graph_phase phase;
    const graph *graph;
    int64_t n_operations; /* of GRAPH_MANY */
    void *data[KERNEL_INPUTS];
    scratch_dir dir; /* PHASE_DISK: the disk cache */
};

struct runner {
    const experiment *e;
    tg_context *ctx;
    case_args args;
    double callback_seconds;
};

/* -- Graphs ---------------------------------------------------------------- */

/* A chain of operations that constant folding cannot remove. */
static void trace_many(tg_trace *t, const tg_value *in, void *user)
{
    const int64_t *n = user;
    tg_value y = in[0];
    for (int64_t i = 0; i < *n; i++)
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

static const tensor_case many_case = {
    .callback = trace_many,
    .inputs = {INPUT(TG_F32, SHAPE_WHOLE, -1, 1), INPUT_SCALAR(TG_F32, 0.1),
               INPUT_SCALAR(TG_F32, -0.5), INPUT_SCALAR(TG_F32, 1.25)},
};

/* Small enough that running takes no significant time; matrix products are
   large enough to be blocked and packed. */
enum {
    GRAPH_CHAIN,
    GRAPH_MANY,
    GRAPH_MATMUL,
    GRAPH_MLP,
    GRAPH_TRAIN,
    /* One class of kernels each. */
    GRAPH_SOFTMAX,
    GRAPH_LAYER_NORM,
    GRAPH_SUM_ROWS,
    GRAPH_SUM_COLUMNS,
    GRAPH_TRANSPOSE,
    GRAPH_BATCH,
    GRAPH_CONV
};

static const graph graphs[] = {
    [GRAPH_CHAIN] = {&chain_case, {.columns = 16}},
    [GRAPH_MANY] = {&many_case, {.columns = 16}},
    [GRAPH_MATMUL] = {&matmul_case, {.rows = 64, .inner = 784, .columns = 128}},
    [GRAPH_MLP] = {&mlp_forward_case, {.rows = 64}},
    [GRAPH_TRAIN] = {&mlp_train_case, {.rows = 64}},
    [GRAPH_SOFTMAX] = {&softmax_case, {.rows = 64, .columns = 1000}},
    [GRAPH_LAYER_NORM] = {&layer_norm_case, {.rows = 64, .columns = 1000}},
    [GRAPH_SUM_ROWS] = {&sum_axis_2_case,
                        {.batch = 4, .rows = 8, .columns = 1000}},
    [GRAPH_SUM_COLUMNS] = {&sum_axis_0_case,
                           {.batch = 64, .rows = 8, .columns = 100}},
    [GRAPH_TRANSPOSE] = {&transpose_case, {.rows = 256, .columns = 256}},
    [GRAPH_BATCH] = {&small_matmul_case,
                     {.batch = 1000, .rows = 8, .inner = 8, .columns = 8}},
    [GRAPH_CONV] = {&conv_case,
                    {.batch = 1, .rows = 64, .inner = 3, .columns = 32}},
};

const case_size graph_sizes[] = {
    SIZE_TIMED("chain", GRAPH_CHAIN, 0),
    SIZE_TIMED("1000ops", GRAPH_MANY, 1000),
    SIZE_TIMED("matmul", GRAPH_MATMUL, 0),
    SIZE_TIMED("mlp_forward", GRAPH_MLP, 0),
    SIZE_TIMED("train_step", GRAPH_TRAIN, 0),
    {"softmax", GRAPH_SOFTMAX, 0, 0, 0, SIZE_ON_REQUEST},
    {"layer_norm", GRAPH_LAYER_NORM, 0, 0, 0, SIZE_ON_REQUEST},
    {"sum_rows", GRAPH_SUM_ROWS, 0, 0, 0, SIZE_ON_REQUEST},
    {"sum_columns", GRAPH_SUM_COLUMNS, 0, 0, 0, SIZE_ON_REQUEST},
    {"transpose", GRAPH_TRANSPOSE, 0, 0, 0, SIZE_ON_REQUEST},
    {"matmul_batch", GRAPH_BATCH, 0, 0, 0, SIZE_ON_REQUEST},
    {"conv", GRAPH_CONV, 0, 0, 0, SIZE_ON_REQUEST},
    SIZES_END,
};

/* Two of them by default. */
const case_size graph_few_sizes[] = {
    {"chain", GRAPH_CHAIN, 0, 0, 0, SIZE_ON_REQUEST},
    SIZE_TIMED("1000ops", GRAPH_MANY, 1000),
    {"matmul", GRAPH_MATMUL, 0, 0, 0, SIZE_ON_REQUEST},
    {"mlp_forward", GRAPH_MLP, 0, 0, 0, SIZE_ON_REQUEST},
    SIZE_TIMED("train_step", GRAPH_TRAIN, 0),
    SIZES_END,
};

#define SIZE_CURVE(label, n) {label, GRAPH_MANY, n, 0, 0, SIZE_OF_CURVE}

const case_size graph_curve[] = {
    SIZE_CURVE("1e2", 100),    SIZE_CURVE("3e2", 300),
    SIZE_CURVE("1e3", 1000),   SIZE_CURVE("3e3", 3000),
    SIZE_CURVE("1e4", 10000),  SIZE_CURVE("3e4", 30000),
    SIZE_CURVE("1e5", 100000), SIZES_END,
};

/* LLVM takes seconds for the last ones. */
const case_size compile_curve[] = {
    SIZE_CURVE("1e2", 100),
    SIZE_CURVE("3e2", 300),
    SIZE_CURVE("1e3", 1000),
    SIZE_CURVE("3e3", 3000),
    SIZE_CURVE("1e4", 10000),
    {"3e4", GRAPH_MANY, 30000, 0, 0, SIZE_OF_LONG_CURVE},
    {"1e5", GRAPH_MANY, 100000, 0, 0, SIZE_OF_LONG_CURVE},
    SIZES_END,
};

static void callback(tg_trace *t, const tg_value *in, void *user)
{
    runner *r = user;
    const double start = seconds_now();
    int64_t n = r->e->n_operations;
    r->e->graph->what->callback(t, in, &n);
    r->callback_seconds += seconds_now() - start;
}

const graph_case trace_case = {PHASE_TRACE};
const graph_case passes_case = {PHASE_PASSES};
const graph_case compile_case = {PHASE_FIRST};
const graph_case disk_case = {PHASE_DISK};

/* -- The family ------------------------------------------------------------ */

static void end(experiment *e)
{
    if (!e)
        return;
    if (e->phase == PHASE_DISK)
        scratch_dir_deinit(&e->dir);
    case_data_release(e->data);
    free(e);
}

static experiment *begin(const bench_case *c, const case_size *size,
                         input_kind inputs, reason *out_why)
{
    experiment *e = calloc(1, sizeof(*e));
    if (!e) {
        reason_set(out_why, "out of memory");
        return NULL;
    }
    e->phase = ((const graph_case *)c->what)->phase;
    e->graph = &graphs[size->rows];
    e->n_operations = size->columns;
    const bool has_data = case_data_create(e->graph->what, &e->graph->size,
                                           inputs, e->data);
    if (has_data && (e->phase != PHASE_DISK || scratch_dir_init(&e->dir)))
        return e;
    reason_set(out_why,
               has_data ? "cannot create a cache directory" : "out of memory");
    case_data_release(e->data);
    free(e);
    return NULL;
}

static void stop(runner *r)
{
    if (!r)
        return;
    case_args_deinit(&r->args);
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
    r->ctx = e->phase == PHASE_DISK ? backend_context_disk(e->dir.path)
                                    : backend_context(which, threads);
    if (r->ctx && case_args_init(&r->args, r->ctx, e->graph->what,
                                 &e->graph->size, e->data))
        return r;
    reason_set(out_why, "%s", tg_error(NULL));
    stop(r);
    return NULL;
}

static bool runs(graph_phase phase)
{
    return phase == PHASE_FIRST || phase == PHASE_DISK;
}

static bool build_once(runner *r)
{
    const case_args *args = &r->args;
    tg_function *f = tg_function_create(r->ctx, callback, r, NULL);
    bool did;
    if (runs(r->e->phase)) {
        tg_tensor *result = NULL;
        did = f && !tg_call(f, args->operands, args->n, TG_RESULTS(&result));
        tg_tensor_release(result);
    } else {
        tg_concrete *made =
            f ? tg_function_concrete(f, args->specs, args->n) : NULL;
        did = made != NULL;
        tg_concrete_release(made);
    }
    tg_function_release(f);
    return did;
}

static bool run(runner *r, int64_t iterations, double *out_seconds,
                reason *out_why)
{
    r->callback_seconds = 0;
    const double began = seconds_now();
    for (int64_t i = 0; i < iterations; i++)
        if (!build_once(r)) {
            reason_set(out_why, "%s", tg_error(NULL));
            return false;
        }
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
    if (build_once(r))
        return true;
    reason_set(out_why, "%s", tg_error(NULL));
    return false;
}

/* Compiles once more, with a profile, which has the time of each phase. */
static void describe(const runner *r, row *to)
{
    runner profiled = *r;
    if (r->e->phase == PHASE_FIRST && !tg_profile_start(NULL)) {
        const bool did = build_once(&profiled);
        tg_profile_stop();
        if (did)
            profile_phases(to->phases);
        tg_profile_clear();
    }
    to->bytes = to->flops = to->count = 0;
}

/* Tracing and passes are timed without the JIT, the first result with it. */
static bool has_backend(const bench_case *c, const case_size *size,
                        backend which)
{
    (void)size;
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
    .describe = describe,
};
