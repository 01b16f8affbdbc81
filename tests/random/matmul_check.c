/* SPDX-License-Identifier: MIT */
/*
 * matmul_check.c - checks a form in several sizes. In each of them:
 *
 *   - a call gives the bits of the interpreter on the graph as traced, and so
 *     do later calls, with unchanged and with changed variables;
 *   - so does the same code with teams of all sizes, with all kernels split
 *     that can be, in guarded memory at arbitrary alignment;
 *   - only results are written, and nothing outside their buffers.
 *
 * A form that is not compiled, or not run by its team, is a failure.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "pass/pass.h"
#include "program.h"
#include "random/matmul.h"
#include "support/vector_widths.h"

enum { CALLS = 3 };

static const int teams[] = PRODUCT_TEAMS;
enum { N_TEAMS = sizeof(teams) / sizeof(teams[0]) };

/* A context that runs a form, interpreted or compiled. */
typedef struct variant {
    tg_context *ctx;
    tg_function *function;
    tg_concrete *concrete; /* for the current size */
} variant;

/* A form under test. */
typedef struct subject {
    product_run run;
    product_form traced; /* passed to the callback */
    variant interpreted, compiled;
    bool is_new[PRODUCT_ROLES]; /* contents changed since the last call */
} subject;

bool product_fail(product_run *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(r->failure->what, sizeof(r->failure->what), format, args);
    va_end(args);
    return false;
}

/* -- Beginning and end ----------------------------------------------------- */

/* The interpreter runs the graph as traced. */
static bool begin_variant(subject *s, variant *w, bool is_compiled)
{
    static const int widths[] = {128, 256, 512};
    tgi_strbuf all = {0};
    for (size_t i = 0; i < tgi_n_passes && !is_compiled; i++)
        tgi_strbuf_addf(&all, "%s%s", i ? "," : "", tgi_passes[i].name);
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.skip_passes = all.text ? all.text : "";
    options.jit = is_compiled ? "required" : "off";
    options.threads = teams[s->run.form->seed % N_TEAMS];
    options.vector_bits =
        host_vector_bits(widths[s->run.form->field[PRODUCT_FIELD_WIDTH]]);
    options.cache = "off";
    options.compile = "eager";
    tg_function_options exact = TG_FUNCTION_OPTIONS_INIT;
    exact.policy = TG_EXACT;
    w->ctx = tg_context_create(&options);
    tgi_strbuf_deinit(&all);
    if (w->ctx)
        w->function =
            tg_function_create(w->ctx, product_callback, &s->traced, &exact);
    return w->function ||
           product_fail(&s->run, "no session: %s", tg_error(NULL));
}

static void release(variant *w)
{
    tg_concrete_release(w->concrete);
    tg_function_release(w->function);
    tg_context_release(w->ctx);
}

static bool trace(subject *s, variant *w)
{
    tg_spec specs[PRODUCT_ROLES];
    for (int i = 0; i < s->run.n_args; i++)
        specs[i] = product_spec(s->run.form, &s->run.args[i]);
    tg_concrete_release(w->concrete);
    w->concrete =
        tg_function_concrete(w->function, specs, (size_t)s->run.n_args);
    return w->concrete || product_fail(&s->run, "no trace: %s", tg_error(NULL));
}

/* -- Calls ----------------------------------------------------------------- */

/* Arguments of a call, and the variables created for it. */
typedef struct call {
    tg_tensor *tensors[PRODUCT_ROLES], *results[PRODUCT_MAX_RESULTS];
    tg_variable *variables[PRODUCT_ROLES];
} call;

static void set_arg(const subject *s, const variant *w, int i, call *c)
{
    const rg_type *type = &s->run.args[i].type;
    const tg_dtype dtype = (tg_dtype)type->dtype;
    if (s->run.args[i].is_variable && c->variables[i]) {
        if (s->is_new[i] &&
            tg_variable_set(c->variables[i], s->run.data[i], rg_size(type)))
            abort();
    } else if (s->run.args[i].is_variable) {
        c->variables[i] =
            tg_variable_create(w->ctx, "v", dtype, type->rank, type->dims,
                               tg_from_data(s->run.data[i]));
    } else if (!c->tensors[i]) {
        c->tensors[i] = tg_tensor_wrap(w->ctx, s->run.data[i], dtype,
                                       type->rank, type->dims);
    }
    if (!c->variables[i] && !c->tensors[i])
        abort();
}

static void run_call(const subject *s, const variant *w, call *c, rg_outcome *o)
{
    tg_operand operands[PRODUCT_ROLES];
    tg_result places[PRODUCT_MAX_RESULTS];
    rg_outcome_init(o);
    for (int i = 0; i < s->run.n_args; i++) {
        set_arg(s, w, i, c);
        operands[i] = c->variables[i] ? tg_in_variable(c->variables[i])
                                      : tg_in_tensor(c->tensors[i]);
    }
    const size_t n = w->concrete->graph->results.n;
    for (size_t i = 0; i < n; i++)
        places[i] = TG_OUT(&c->results[i]);
    rg_outcome_set_status(o, tg_concrete_call_at(w->concrete, operands,
                                                 (size_t)s->run.n_args, places,
                                                 n, TG_HERE));
    for (size_t i = 0; i < n && !o->status; i++)
        rg_outcome_add_result(
            o, i, tg_tensor_dtype(c->results[i]), tg_tensor_rank(c->results[i]),
            tg_tensor_dims(c->results[i]), tg_tensor_data(c->results[i]));
    for (int i = 0; i < s->run.n_args; i++) {
        if (!c->variables[i])
            continue;
        const void *data = tg_variable_map(c->variables[i], TG_READ);
        rg_outcome_add_variable(o, i, &s->run.args[i].type, data);
        tg_variable_unmap(c->variables[i]);
    }
}

static void end_call(const subject *s, call *c)
{
    for (int i = 0; i < s->run.n_args; i++) {
        tg_tensor_release(c->tensors[i]);
        tg_variable_release(c->variables[i]);
    }
    for (int i = 0; i < PRODUCT_MAX_RESULTS; i++)
        tg_tensor_release(c->results[i]);
}

/* -- Sizes ----------------------------------------------------------------- */

static bool is_written(const subject *s, int arg)
{
    const int end = s->run.form->field[PRODUCT_FIELD_END];
    return s->run.args[arg].role == PRODUCT_ARG_LAST
               ? end == PRODUCT_END_IN_PLACE
               : end == PRODUCT_END_OVER_A &&
                     s->run.args[arg].role == PRODUCT_ARG_A;
}

/* A float whose product with another of these underflows; of one sign per side,
   so that products have the other sign. */
static double tiny_element(const subject *s, int arg, uint64_t random)
{
    const bool is_f64 = product_dtype(s->run.form) == TG_F64;
    const double size = 1 + (double)(random >> 11) * 0x1p-53;
    const bool is_negative = s->run.args[arg].role >= PRODUCT_ARG_B;
    return ldexp(is_negative ^ (random % 1024 == 0) ? -size : size,
                 is_f64 ? -800 : -90);
}

static void fill_arg(subject *s, int arg)
{
    const rg_type *type = &s->run.args[arg].type;
    const int64_t n = rg_count(type);
    const int manner = s->run.form->field[PRODUCT_FIELD_FILL];
    rg_fill((tg_dtype)type->dtype,
            rg_random(&s->run.random) << 2 | (unsigned)(manner % 4),
            s->run.data[arg], n);
    for (int64_t i = 0; manner == PRODUCT_FILL_TINY && i < n; i++) {
        const double x = tiny_element(s, arg, rg_random(&s->run.random));
        if (type->dtype == TG_F32)
            ((float *)s->run.data[arg])[i] = (float)x;
        else if (type->dtype == TG_F64)
            ((double *)s->run.data[arg])[i] = x;
    }
}

/* Sets the contents for a call. Before the second one, variables are
   unchanged. */
static void fill_arguments(subject *s, int number)
{
    for (int i = 0; i < s->run.n_args; i++) {
        s->is_new[i] =
            number != 1 || !s->run.args[i].is_variable || is_written(s, i);
        if (s->is_new[i])
            fill_arg(s, i);
    }
}

static bool check_calls(subject *s)
{
    call interpreted = {.tensors = {NULL}}, compiled = {.tensors = {NULL}};
    bool good = true, has_variables = false;
    for (int i = 0; i < s->run.n_args; i++)
        has_variables |= s->run.args[i].is_variable;
    for (int i = 0; i < (has_variables ? CALLS : 1) && good; i++) {
        rg_outcome expected, outcome;
        fill_arguments(s, i);
        run_call(s, &s->interpreted, &interpreted, &expected);
        run_call(s, &s->compiled, &compiled, &outcome);
        const char *wrong = rg_outcome_difference(&expected, &outcome);
        if (*wrong)
            good = product_fail(&s->run, "call %d, %d threads: %s", i,
                                s->compiled.ctx->threads, wrong);
        else if (expected.status)
            good = product_fail(&s->run, "refused: %s", expected.message);
        rg_outcome_deinit(&outcome);
        good = good && product_check_teams(&s->run, &expected);
        rg_outcome_deinit(&expected);
    }
    end_call(s, &interpreted);
    end_call(s, &compiled);
    return good;
}

static bool check_size(subject *s, const product_sizes *sizes)
{
    char *rooms[PRODUCT_ROLES];
    s->run.n_args = product_args(s->run.form, sizes, s->run.args);
    /* Random contents depend only on this size, not on earlier ones. */
    s->run.random = s->run.form->seed;
    for (int i = 0; i < PRODUCT_EXTENTS; i++)
        s->run.random = s->run.random * 1031 + (uint64_t)sizes->extent[i];
    for (int i = 0; i < s->run.n_args; i++) {
        const size_t bytes = (size_t)tgi_dtype_bytes(s->run.args[i].type.dtype);
        rooms[i] = malloc(rg_size(&s->run.args[i].type) + 16 * bytes);
        if (!rooms[i])
            abort();
        s->run.data[i] = rooms[i] + rg_random(&s->run.random) % 16 * bytes;
    }
    bool good = trace(s, &s->interpreted) && trace(s, &s->compiled);
    s->run.concrete = s->compiled.concrete;
    good = good && check_calls(s);
    for (int i = 0; i < s->run.n_args; i++)
        free(rooms[i]);
    s->run.tally->n_sizes++;
    return good;
}

/* True if a kernel reads packed panels that another kernel stored. */
static bool is_packed(const tgi_program *program)
{
    const tgi_loops *loops = program->loops;
    for (size_t k = 0; k < loops->kernels.n; k++) {
        const tgi_kernel_loops *kernel = loops->kernels.data[k];
        for (size_t i = 0; i < kernel->accesses.n; i++)
            if (kernel->accesses.data[i].panel_width)
                return true;
    }
    return false;
}

static bool has_epilogue_reduction(const tgi_program *program)
{
    const tgi_loops *loops = program->loops;
    for (size_t k = 0; k < loops->kernels.n; k++) {
        const tgi_kernel_loops *kernel = loops->kernels.data[k];
        for (size_t i = 0; i < kernel->stores.n; i++)
            if (kernel->stores.data[i].epilogue_op)
                return true;
    }
    return false;
}

static void count_programs(const subject *s)
{
    const tg_concrete *concrete = s->compiled.concrete;
    for (size_t i = 0; i < concrete->variants.list.n; i++) {
        const tgi_program *program =
            concrete->variants.list.data[i].program;
        s->run.tally->n_programs++;
        s->run.tally->n_packed += is_packed(program);
        s->run.tally->n_epilogues += has_epilogue_reduction(program);
    }
}

bool product_check(const product_form *form, const product_sizes *sizes,
                   size_t n_sizes, product_tally *tally,
                   product_failure *failure)
{
    subject s = {.run = {.form = form, .tally = tally, .failure = failure},
                 .traced = *form};
    bool good = begin_variant(&s, &s.interpreted, false) &&
                begin_variant(&s, &s.compiled, true);
    for (size_t i = 0; i < n_sizes && good; i++) {
        failure->sizes = sizes[i];
        good = check_size(&s, &sizes[i]);
    }
    if (good)
        count_programs(&s);
    release(&s.interpreted);
    release(&s.compiled);
    tally->n_forms++;
    tg_profile_clear(); /* TGJIT_PROFILE may be set */
    if (good && (tg_live_objects() || tg_live_bytes()))
        good = product_fail(&s.run, "%zu objects and %zu bytes are alive",
                            tg_live_objects(), tg_live_bytes());
    return good;
}
