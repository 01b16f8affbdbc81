/* SPDX-License-Identifier: MIT */
/*
 * random_gradient_check.c - properties that every random program must have:
 *
 *   - gradients agree with finite differences of the target, along random
 *     directions and for single elements;
 *   - tg_jvp is the product of gradient and direction;
 *   - second derivatives agree with finite differences of the gradients;
 *   - skipping passes changes no bit of these;
 *   - compiled code has the bits of the interpreter, in f64 and f32, for any
 *     team size, also when run again.
 *
 * Finite differences are central, with decreasing steps, extrapolated
 * (Ridders); their agreement gives an error estimate. Where they do not
 * converge, as near a jump, nothing is compared, and the case is counted.
 */
#include <math.h>
#include <string.h>

#include "pass/pass.h"
#include "random/random_gradient.h"
#include "support/vector_widths.h"

/* -- Differences ----------------------------------------------------------- */

enum { N_STEPS = 7, FOR_PROJECTION = 5000 };

typedef struct estimate {
    double value, error;
} estimate;

/* The differentiated quantity: the target, or weighted gradients of one or all
   sources. */
typedef struct quantity {
    gr_form form;
    int only; /* -1: all */
} quantity;

static double weight(const gr_program *p, const quantity *q, int source,
                     int64_t i)
{
    return q->only < 0 || q->only == source
               ? gr_element(p, FOR_PROJECTION + source, i)
               : 0;
}

static double measure(const gr_run *run, const quantity *q)
{
    if (q->form == GR_TARGET)
        return gr_result(run, q->form, 0, 0);
    double sum = 0;
    for (int s = 0; s < gr_n_sources(run->program); s++)
        for (int64_t i = 0; i < gr_result_count(run, q->form, 1 + s); i++)
            sum += gr_result(run, q->form, 1 + s, i) *
                   weight(run->program, q, s, i);
    return sum;
}

static bool central(gr_run *run, const quantity *q, const gr_way *way,
                    double step, double *out, gr_failure *failure)
{
    if (!gr_run_form(run, q->form, way, step, failure))
        return false;
    const double above = measure(run, q);
    if (!gr_run_form(run, q->form, way, -step, failure))
        return false;
    *out = (above - measure(run, q)) / (2 * step);
    return true;
}

static bool difference(gr_run *run, const quantity *q, const gr_way *way,
                       estimate *out, gr_failure *failure)
{
    double table[N_STEPS][N_STEPS], step = 0.02;
    *out = (estimate){0, HUGE_VAL};
    for (int i = 0; i < N_STEPS; i++, step /= 2) {
        double factor = 4;
        if (!central(run, q, way, step, &table[0][i], failure))
            return false;
        for (int k = 1; k <= i; k++, factor *= 4) {
            const double by_step = table[k - 1][i];
            const double before = table[k - 1][i - 1];
            table[k][i] = (by_step * factor - before) / (factor - 1);
            const double error =
                fmax(fabs(table[k][i] - by_step), fabs(table[k][i] - before));
            if (error < out->error)
                *out = (estimate){table[k][i], error};
        }
    }
    return true;
}

/* Compares the estimate with a computed value. A bad estimate is counted as
   rejected, and agrees with any value. */
static bool agrees_with(const estimate *e, double computed, gr_tally *tally,
                        const char *what, gr_failure *failure)
{
    const double scale = fmax(fabs(e->value), 0.1);
    tally->n_differences++;
    if (!(e->error <= 1e-5 * scale)) {
        tally->n_rejected++;
        return true;
    }
    if (fabs(e->value - computed) <= 10 * e->error + 1e-7 * scale)
        return true;
    return gr_fail(failure, "%s is %.12g, not %.12g ± %.2g", what, computed,
                   e->value, e->error);
}

/* The product of the gradients, results from `first` on, with a direction. */
static double directional_derivative(const gr_run *run, int first,
                                     const gr_way *way)
{
    double sum = 0;
    for (int s = 0; s < gr_n_sources(run->program); s++)
        for (int64_t i = 0; i < gr_result_count(run, GR_WHOLE, first + s); i++)
            sum += gr_result(run, GR_WHOLE, first + s, i) *
                   gr_direction(run->program, way, s, i);
    return sum;
}

static bool check_gradient(gr_run *run, const gr_way *way, gr_tally *tally,
                           gr_failure *failure)
{
    const quantity target = {GR_TARGET, -1};
    estimate e;
    char what[80];
    snprintf(what, sizeof(what), "the gradient along %d of %d at %lld",
             way->number, way->source, (long long)way->at);
    return difference(run, &target, way, &e, failure) &&
           agrees_with(&e, directional_derivative(run, 1, way), tally, what,
                       failure);
}

static bool check_gradients(gr_run *run, gr_tally *tally, gr_failure *failure)
{
    const gr_program *p = run->program;
    const int n = gr_n_sources(p);
    uint64_t random = p->seed + 1;
    for (int i = 0; i < 2; i++) {
        const gr_way way = {i, -1, -1};
        if (!check_gradient(run, &way, tally, failure))
            return false;
    }
    for (int i = 0; i < n; i++) {
        const int64_t count = gr_count(gr_source_shape(p, i));
        const gr_way way = {0, i, random_below(&random, (int)count)};
        if (!check_gradient(run, &way, tally, failure))
            return false;
    }
    return true;
}

/* -- Other derivatives ----------------------------------------------------- */

static bool check_jvp(const gr_run *run, gr_failure *failure)
{
    if (!run->program->has_jvp)
        return true;
    const gr_results *at = &run->traces[GR_WHOLE].results;
    const int s = at->jvp_source;
    const gr_way way = {0, s, -1};
    double size = 1;
    for (int64_t i = 0; i < gr_result_count(run, GR_WHOLE, 1 + s); i++)
        size += fabs(gr_result(run, GR_WHOLE, 1 + s, i));
    const double want = directional_derivative(run, 1, &way);
    const double computed = gr_result(run, GR_WHOLE, at->jvp, 0);
    return fabs(computed - want) <= 1e-9 * size ||
           gr_fail(failure, "jvp of source %d is %.17g, not %.17g", s, computed,
                   want);
}

/* Checks second derivatives of all sources (-1) or one: results from `result`
   on. */
static bool check_second_of(gr_run *run, int only, int result, const char *what,
                            gr_tally *tally, gr_failure *failure)
{
    const gr_program *p = run->program;
    const gr_way way = {0, only, -1};
    const quantity gradients = {GR_FROZEN_GRADIENT, only};
    double sum = 0;
    estimate e;
    for (int s = 0; s < gr_n_sources(p); s++) {
        const int at = only < 0 ? result + s : result;
        for (int64_t i = 0; i < gr_count(gr_source_shape(p, s)); i++)
            if (only < 0 || only == s)
                sum += gr_result(run, GR_WHOLE, at, i) *
                       weight(p, &gradients, s, i);
    }
    return difference(run, &gradients, &way, &e, failure) &&
           agrees_with(&e, sum, tally, what, failure);
}

/* Second derivatives of all sources, and of one. */
static bool check_second(gr_run *run, gr_tally *tally, gr_failure *failure)
{
    const gr_results *at = &run->traces[GR_WHOLE].results;
    if (!run->program->has_second)
        return true;
    tally->n_second++;
    return check_second_of(run, -1, at->second, "the second derivative", tally,
                           failure) &&
           check_second_of(run, at->hessian_source, at->hessian,
                           "hessian_vector", tally, failure);
}

/* -- Bits ------------------------------------------------------------------ */

static bool same_tensor(const tg_tensor *a, const tg_tensor *b, int result,
                        const char *what, gr_failure *failure)
{
    const size_t bytes = tg_tensor_bytes(a),
                 each = bytes /
                        (size_t)(tg_tensor_count(a) ? tg_tensor_count(a) : 1);
    const char *x = tg_tensor_data(a), *y = tg_tensor_data(b);
    if (bytes != tg_tensor_bytes(b))
        return gr_fail(failure, "%s: result %d has another size", what, result);
    for (size_t i = 0; i < bytes; i += each)
        if (memcmp(x + i, y + i, each) != 0) {
            const bool is_f32 = tg_tensor_dtype(a) == TG_F32;
            float small[2];
            double large[2];
            memcpy(&small[0], x + i, sizeof(float));
            memcpy(&small[1], y + i, sizeof(float));
            if (!is_f32) {
                memcpy(&large[0], x + i, sizeof(double));
                memcpy(&large[1], y + i, sizeof(double));
            }
            return gr_fail(
                failure, "%s: element %zu of result %d is %.17g, not %.17g",
                what, i / each, result, is_f32 ? (double)small[1] : large[1],
                is_f32 ? (double)small[0] : large[0]);
        }
    return true;
}

static bool same_variable(tg_variable *a, tg_variable *b, const char *what,
                          gr_failure *failure)
{
    double x[GR_MAX_COUNT], y[GR_MAX_COUNT];
    const size_t bytes = tg_variable_bytes(a);
    if (tg_variable_get(a, x, bytes) || tg_variable_get(b, y, bytes))
        return gr_fail(failure, "%s", tg_error(NULL));
    return memcmp(x, y, bytes) == 0 ||
           gr_fail(failure, "%s: variable %s is different", what,
                   tg_variable_name(a));
}

static bool same_effects(const gr_effects *a, const gr_effects *b,
                         const char *what, gr_failure *failure)
{
    return (a->n == b->n && a->hash == b->hash) ||
           gr_fail(failure, "%s: %llu effects, not %llu, or in another order",
                   what, (unsigned long long)b->n, (unsigned long long)a->n);
}

/* Effects are those of the target, whichever derivatives are requested. */
static bool check_effects(gr_run *run, gr_tally *tally, gr_failure *failure)
{
    const gr_way way = {0, -1, -1};
    const gr_effects with = run->effects;
    tally->n_effects += with.n;
    return gr_run_form(run, GR_TARGET, &way, 0, failure) &&
           same_effects(&run->effects, &with, "with derivatives", failure);
}

static bool same_outcome(const gr_run *a, const gr_run *b, const char *what,
                         gr_failure *failure)
{
    bool same = true;
    for (int i = 0; same && i < a->traces[GR_WHOLE].results.n; i++)
        same = same_tensor(a->results[GR_WHOLE][i], b->results[GR_WHOLE][i], i,
                           what, failure);
    for (int i = 0; same && i < a->program->n_variables; i++)
        same = same_variable(a->variables[i], b->variables[i], what, failure);
    return same && same_variable(a->state, b->state, what, failure) &&
           same_variable(a->sink, b->sink, what, failure) &&
           same_variable(a->generator, b->generator, what, failure) &&
           same_effects(&a->effects, &b->effects, what, failure);
}

/* Runs the program in another context, twice, and compares. The caller deinits
   `run`. */
static bool check_alike(gr_run *run, const gr_run *want,
                        const tg_context_options *options, const char *what,
                        gr_failure *failure)
{
    static gr_tally ignored;
    bool good = gr_run_init(run, want->program, want->dtype, options, NULL,
                            &ignored, failure);
    for (int i = 0; good && i < 2; i++)
        good = gr_run_form(run, GR_WHOLE, NULL, 0, failure) &&
               same_outcome(want, run, what, failure);
    if (!good && !strstr(failure->what, what)) {
        const gr_failure inner = *failure;
        gr_fail(failure, "%s: %.500s", what, inner.what);
    }
    return good;
}

static bool check_passes(const gr_run *want, gr_failure *failure)
{
    bool good = true;
    for (size_t i = 0; good && i < tgi_n_passes; i++) {
        gr_run run;
        char what[80];
        tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
        options.jit = "off";
        options.skip_passes = tgi_passes[i].name;
        snprintf(what, sizeof(what), "without pass %s", tgi_passes[i].name);
        good = check_alike(&run, want, &options, what, failure);
        gr_run_deinit(&run);
    }
    return good;
}

/* Two team sizes for most programs, all for some. Runs stay alive, so that
   equal code is shared. */
static bool check_compiled(const gr_settings *settings, const gr_run *want,
                           gr_tally *tally, gr_failure *failure)
{
    gr_run runs[GR_MAX_TEAMS];
    const bool all = want->program->seed % 8 == 0;
    bool good = true;
    int n = 0;
    while (good && n < settings->n_teams && (all || n < 2)) {
        char what[80];
        tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
        options.jit = "required";
        options.threads = settings->teams[n];
        options.vector_bits =
            host_vector_bits(128 << want->program->seed / 8 % 3);
        snprintf(what, sizeof(what), "%s compiled for %d threads",
                 tg_dtype_name(want->dtype), options.threads);
        good = check_alike(&runs[n++], want, &options, what, failure);
        tally->n_compiled++;
    }
    while (n > 0)
        gr_run_deinit(&runs[--n]);
    return good;
}

/* -- A program ------------------------------------------------------------- */

static bool check_run(const gr_settings *settings, gr_run *run, gr_tally *tally,
                      gr_failure *failure)
{
    const bool is_f64 = run->dtype == TG_F64;
    if (!gr_run_form(run, GR_WHOLE, NULL, 0, failure))
        return false;
    if (settings->jit && !check_compiled(settings, run, tally, failure))
        return false;
    const bool has_differences = settings->differences && is_f64;
    if (has_differences && run->program->seed % 8 == 1 &&
        !check_passes(run, failure))
        return false;
    if (!check_effects(run, tally, failure))
        return false;
    if (!has_differences)
        return true;
    return check_jvp(run, failure) && check_gradients(run, tally, failure) &&
           check_second(run, tally, failure);
}

static bool check_dtype(const gr_settings *settings, const gr_program *p,
                        tg_dtype dtype, gr_tally *tally, gr_failure *failure)
{
    gr_run run;
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.jit = "off";
    bool good =
        gr_run_init(&run, p, dtype, &options,
                    dtype == TG_F64 ? settings->log : NULL, tally, failure) &&
        check_run(settings, &run, tally, failure);
    gr_run_deinit(&run);
    return good;
}

/* Mode jit has quick programs, because compiling dominates its run time. */
static void init_program(gr_program *p, const gr_settings *settings,
                         uint64_t seed)
{
    gr_program_init(p, seed, settings->has_unbounded, !settings->differences);
    p->dropped = settings->dropped;
}

bool gr_check(const gr_settings *settings, uint64_t seed, gr_tally *tally,
              gr_failure *out_failure)
{
    gr_program p;
    init_program(&p, settings, seed);
    tally->n_programs++;
    if (!check_dtype(settings, &p, TG_F64, tally, out_failure))
        return false;
    if (settings->jit && !check_dtype(settings, &p, TG_F32, tally, out_failure))
        return false;
    tg_profile_clear(); /* TGJIT_PROFILE may be set */
    return (tg_live_objects() == 0 && tg_live_bytes() == 0) ||
           gr_fail(out_failure, "%zu objects and %zu bytes are alive",
                   tg_live_objects(), tg_live_bytes());
}

int gr_list_sites(const gr_settings *settings, uint64_t seed, uint64_t *sites)
{
    gr_program p;
    gr_run run;
    gr_tally ignored;
    gr_failure failure;
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.jit = "off";
    init_program(&p, settings, seed);
    if (gr_run_init(&run, &p, TG_F64, &options, NULL, &ignored, &failure))
        gr_run_form(&run, GR_WHOLE, NULL, 0, &failure);
    const int n = run.traces[GR_WHOLE].n_sites;
    memcpy(sites, run.traces[GR_WHOLE].sites, (size_t)n * sizeof(*sites));
    gr_run_deinit(&run);
    return n;
}
