/* SPDX-License-Identifier: MIT */
/*
 * random_gradient_run.c - random programs in a context: functions bound to
 * arguments and results, and runs with displaced sources.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "random/random_gradient.h"

bool gr_fail(gr_failure *failure, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(failure->what, sizeof(failure->what), format, args);
    va_end(args);
    return false;
}

/* -- Elements -------------------------------------------------------------- */

/* Separate random streams per purpose. */
enum { FOR_SOURCE = 1000, FOR_DIRECTION = 2000, FOR_STATE = 3000 };

/* In [-1, 1), with few significant bits: exact in either float dtype. */
double gr_element(const gr_program *p, int purpose, int64_t i)
{
    const uint64_t bits =
        gr_seed(gr_seed(p->seed, (uint64_t)purpose), (uint64_t)i);
    return (double)(bits >> 44) * 0x1p-19 - 1;
}

double gr_direction(const gr_program *p, const gr_way *way, int source,
                    int64_t i)
{
    if (way->source >= 0 && way->source != source)
        return 0;
    if (way->at >= 0)
        return way->at == i;
    return gr_element(p, FOR_DIRECTION + 100 * way->number + source, i);
}

static void store(void *data, tg_dtype dtype, int64_t i, double x)
{
    if (dtype == TG_F32)
        ((float *)data)[i] = (float)x;
    else
        ((double *)data)[i] = x;
}

/* A displacement of the sources. */
typedef struct position {
    const gr_way *way;
    double step;
} position;

static double source_element(const gr_program *p, int source, int64_t i,
                             const position *at)
{
    const double x = gr_element(p, FOR_SOURCE + source, i);
    return at->step == 0 ? x
                         : x + at->step * gr_direction(p, at->way, source, i);
}

/* Sets a source, or if `source` is -1 a variable for `purpose`. */
static bool set_variable(gr_run *run, tg_variable *v, int purpose, int source,
                         const position *at, gr_failure *failure)
{
    double data[GR_MAX_COUNT];
    const int64_t n = tg_variable_count(v);
    for (int64_t i = 0; i < n; i++)
        store(data, run->dtype, i,
              source < 0 ? gr_element(run->program, purpose, i)
                         : source_element(run->program, source, i, at));
    return tg_variable_set(v, data, tg_variable_bytes(v)) == TG_OK ||
           gr_fail(failure, "%s", tg_error(run->ctx));
}

static bool set_all(gr_run *run, const position *at, gr_failure *failure)
{
    const gr_program *p = run->program;
    for (int i = 0; i < p->n_inputs; i++)
        for (int64_t k = 0; k < gr_count(&p->inputs[i]); k++)
            store(tg_tensor_data(run->inputs[i]), run->dtype, k,
                  source_element(p, i, k, at));
    for (int i = 0; i < p->n_variables; i++)
        if (!set_variable(run, run->variables[i], 0, p->n_inputs + i, at,
                          failure))
            return false;
    static const uint64_t seed[2] = {1, 0};
    return set_variable(run, run->state, FOR_STATE, -1, at, failure) &&
           set_variable(run, run->sink, FOR_STATE + 1, -1, at, failure) &&
           (tg_variable_set(run->generator, seed, sizeof(seed)) == TG_OK ||
            gr_fail(failure, "%s", tg_error(run->ctx)));
}

/* -- Making ---------------------------------------------------------------- */

static tg_spec spec_of(const gr_run *run, int source)
{
    const gr_shape *shape = gr_source_shape(run->program, source);
    tg_spec spec = tg_spec_tensor(run->dtype, shape->rank, shape->dims);
    if (source < run->program->n_inputs)
        for (int i = 0; i < shape->rank; i++)
            if (run->program->unknown[source] >> i & 1)
                spec.dims[i] = run->program->shares
                                   ? TG_SAME(shape->dims[i])
                                   : TG_SAME(1 + source * GR_MAX_RANK + i);
    return spec;
}

enum {
    MAX_ARGS =
        GR_MAX_INPUTS + 1 + GR_MAX_SOURCES + GR_MAX_STOPS + GR_MAX_VARIABLES
};

static int add_args(const gr_run *run, gr_form form, tg_spec *specs,
                    tg_operand *args)
{
    const gr_program *p = run->program;
    int n = 0;
    for (int i = 0; i < p->n_inputs; i++, n++) {
        specs[n] = spec_of(run, i);
        args[n] = TG_IN(run->inputs[i]);
    }
    specs[n] = tg_spec_tensor(TG_I64, 0, NULL);
    args[n++] = TG_IN(run->iterations);
    for (int i = 0; form == GR_WHOLE && i < gr_n_sources(p); i++, n++) {
        specs[n] = spec_of(run, i);
        args[n] = TG_IN(run->directions[i]);
    }
    for (int i = 0; form != GR_WHOLE && i < GR_MAX_STOPS; i++, n++) {
        const tg_tensor *x = run->frozen[i];
        specs[n] =
            tg_spec_tensor(run->dtype, tg_tensor_rank(x), tg_tensor_dims(x));
        args[n] = TG_IN(run->frozen[i]);
    }
    for (int i = 0; p->passes && i < p->n_variables; i++, n++) {
        const gr_shape *shape = &p->variables[i];
        specs[n] = tg_spec_variable(run->dtype, shape->rank, shape->dims);
        args[n] = TG_IN(run->variables[i]);
    }
    return n;
}

static int n_results(const gr_program *p, gr_form form)
{
    const int n = gr_n_sources(p);
    switch (form) {
    case GR_TARGET:
        return 1;
    case GR_FROZEN_GRADIENT:
        return 1 + n;
    default:
        return 1 + n + p->has_jvp + (p->has_second ? n + 1 : 0) + GR_MAX_STOPS;
    }
}

static bool bind(gr_run *run, gr_form form, gr_failure *failure)
{
    static const char *const names[] = {"whole", "target", "gradient"};
    tg_spec specs[MAX_ARGS];
    tg_operand args[MAX_ARGS];
    tg_result results[GR_MAX_RESULTS];
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.signature = specs;
    options.n_signature = (size_t)add_args(run, form, specs, args);
    run->traces[form].form = form;
    run->functions[form] = tg_function_create_named(
        run->ctx, names[form], gr_callback, &run->traces[form], &options);
    for (int i = 0; i < n_results(run->program, form); i++)
        results[i] = TG_OUT(&run->results[form][i]);
    if (run->functions[form])
        run->bound[form] =
            tg_bind(run->functions[form], args, options.n_signature, results,
                    (size_t)n_results(run->program, form));
    return run->bound[form] ||
           gr_fail(failure, "%s, %s: %s%s%s", names[form],
                   tg_dtype_name(run->dtype), tg_error(run->ctx),
                   run->traces[form].failure[0] ? ", at " : "",
                   run->traces[form].failure);
}

static tg_variable *make_variable(gr_run *run, const gr_shape *shape,
                                  const char *name)
{
    return tg_variable_create(run->ctx, name, run->dtype, shape->rank,
                              shape->dims, tg_zeros());
}

static bool make_objects(gr_run *run)
{
    const gr_program *p = run->program;
    const gr_way way = {0, -1, -1};
    bool good = true;
    for (int i = 0; i < p->n_inputs; i++)
        good &= !!(run->inputs[i] =
                       tg_tensor_create(run->ctx, run->dtype, p->inputs[i].rank,
                                        p->inputs[i].dims, tg_zeros()));
    for (int i = 0; i < p->n_variables; i++)
        good &= !!(run->variables[i] =
                       make_variable(run, &p->variables[i], "source"));
    good &= !!(run->state = make_variable(run, &p->state, "state"));
    good &= !!(run->sink = make_variable(run, &p->state, "sink"));
    good &= !!(run->generator = tg_generator_create(run->ctx, "draws", 1));
    good &= !!(run->iterations =
                   tg_tensor_copy(run->ctx, &p->iterations, TG_I64, 0, NULL));
    for (int i = 0; i < gr_n_sources(p); i++) {
        const gr_shape *shape = gr_source_shape(p, i);
        good &=
            !!(run->directions[i] = tg_tensor_create(
                   run->ctx, run->dtype, shape->rank, shape->dims, tg_zeros()));
        for (int64_t k = 0; good && k < gr_count(shape); k++)
            store(tg_tensor_data(run->directions[i]), run->dtype, k,
                  gr_direction(p, &way, i, k));
    }
    return good;
}

/* Prints begin with the number of their site. */
static void record_print(const char *text, void *user)
{
    gr_note_effect(user, strtoull(text, NULL, 10));
}

bool gr_run_init(gr_run *run, const gr_program *p, tg_dtype dtype,
                 const tg_context_options *options, FILE *log, gr_tally *tally,
                 gr_failure *failure)
{
    *run = (gr_run){.program = p, .dtype = dtype};
    tg_context_options own = *options;
    own.accuracy = p->is_fast ? TG_ACCURACY_FAST : TG_ACCURACY_DEFAULT;
    own.print_callback = record_print;
    own.print_user = &run->effects;
    run->ctx = tg_context_create(&own);
    if (!run->ctx || !make_objects(run))
        return gr_fail(failure, "%s", tg_error(NULL));
    for (int i = 0; i < 3; i++) {
        gr_trace *trace = &run->traces[i];
        *trace = (gr_trace){.program = p,
                            .dtype = dtype,
                            .ctx = run->ctx,
                            .state = run->state,
                            .sink = run->sink,
                            .generator = run->generator,
                            .effects = &run->effects,
                            .log = i == GR_WHOLE ? log : NULL,
                            .tally = tally};
        memcpy(trace->captured, run->variables, sizeof(run->variables));
    }
    return true;
}

void gr_run_deinit(gr_run *run)
{
    for (int i = 0; i < 3; i++) {
        tg_bound_release(run->bound[i]);
        tg_function_release(run->functions[i]);
        gr_trace_deinit(&run->traces[i]);
        for (int k = 0; k < GR_MAX_RESULTS; k++)
            tg_tensor_release(run->results[i][k]);
    }
    for (int i = 0; i < GR_MAX_INPUTS; i++)
        tg_tensor_release(run->inputs[i]);
    for (int i = 0; i < GR_MAX_SOURCES; i++)
        tg_tensor_release(run->directions[i]);
    for (int i = 0; i < GR_MAX_VARIABLES; i++)
        tg_variable_release(run->variables[i]);
    tg_tensor_release(run->iterations);
    tg_variable_release(run->state);
    tg_variable_release(run->sink);
    tg_variable_release(run->generator);
    tg_context_release(run->ctx);
}

/* -- Running --------------------------------------------------------------- */

/* Freezes the stopped values of the GR_WHOLE run; later runs take them as
   arguments. */
static void freeze_results(gr_run *run)
{
    for (int i = 0; i < GR_MAX_STOPS; i++)
        run->frozen[i] =
            run->results[GR_WHOLE][run->traces[GR_WHOLE].results.frozen + i];
}

bool gr_run_form(gr_run *run, gr_form form, const gr_way *way, double step,
                 gr_failure *failure)
{
    const position at = {way, step};
    if (!run->bound[form] && !bind(run, form, failure))
        return false;
    if (form == GR_WHOLE)
        freeze_results(run);
    if (!set_all(run, &at, failure))
        return false;
    run->effects = (gr_effects){0};
    return tg_run(run->bound[form]) == TG_OK ||
           gr_fail(failure, "%s", tg_error(run->ctx));
}

double gr_result(const gr_run *run, gr_form form, int result, int64_t i)
{
    const tg_tensor *x = run->results[form][result];
    return run->dtype == TG_F32 ? (double)((const float *)tg_tensor_data(x))[i]
                                : ((const double *)tg_tensor_data(x))[i];
}

int64_t gr_result_count(const gr_run *run, gr_form form, int result)
{
    return tg_tensor_count(run->results[form][result]);
}
