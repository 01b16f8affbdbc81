/* SPDX-License-Identifier: MIT */
/*
 * test_gradient_expected.c - derivatives of the formulas of gradient_formulas.h
 * equal PyTorch's: tests/gradients, whose make_expected.py documents the files
 * and what is computed of each formula. In f64 and f32; compiled with the bits
 * of the interpreter.
 */
#include "api/gradient_formulas.h"
#include "support/expected_numbers.h"
#include "support/modes.h"

enum { MAX_VALUES = 10, MAX_FORMULAS = 64 };

/* -- Derivatives ----------------------------------------------------------- */

typedef enum derivative {
    GRADIENTS,
    PENALTY,
    JACOBIAN,
    HESSIAN,
    HESSIAN_VECTOR,
    JVP,
    N_DERIVATIVES
} derivative;

static const char *const derivative_names[N_DERIVATIVES] = {
    [GRADIENTS] = "gradients",
    [PENALTY] = "penalty",
    [JACOBIAN] = "jacobian",
    [HESSIAN] = "hessian",
    [HESSIAN_VECTOR] = "hessian_vector",
    [JVP] = "jvp",
};

typedef struct gradient_case {
    const formula *formula;
    derivative derivative;
    int line;
    numbers in[MAX_VALUES], out[MAX_VALUES];
    size_t n_in, n_out;
    tg_variable *variables[MAX_VALUES]; /* of a layer, during a call */
} gradient_case;

/* The number of inputs that are arguments; the others are variables. */
static size_t n_arguments(const gradient_case *c)
{
    return c->n_in - c->formula->n_variables;
}

/* The gradients of the sum of the target for each real input; returns how
   many. */
static size_t gradients_of(const gradient_case *c, tg_value target,
                           const tg_value *in, tg_value *out)
{
    tg_operand sources[MAX_VALUES];
    size_t n = 0;
    for (size_t i = 0; i < c->n_in; i++)
        if (c->in[i].is_real)
            sources[n++] = i < n_arguments(c)
                               ? TG_IN(in[i])
                               : TG_IN(c->variables[i - n_arguments(c)]);
    tg_gradients_with(TG_ARGS(target), NULL, TG_UNCONNECTED_ZEROS, sources, n,
                      out);
    return n;
}

/* Returns as many results as the case has. */
static void derive(tg_trace *t, const tg_value *in, void *user)
{
    const gradient_case *c = user;
    const tg_value y = c->formula->of ? c->formula->of(in)
                                      : c->formula->layer(in, c->variables);
    const tg_value last = in[n_arguments(c) - 1];
    tg_value out[MAX_VALUES];
    size_t n = 1;
    switch (c->derivative) {
    case GRADIENTS:
        out[0] = y;
        n += gradients_of(c, y, in, out + 1);
        break;
    case PENALTY:
        n = gradients_of(c, tg_square(tg_gradient(y, in[0])), in, out);
        break;
    case JACOBIAN:
        out[0] = tg_jacobian(y, in[0]);
        break;
    case HESSIAN:
        out[0] = tg_jacobian(tg_gradient(y, in[0]), in[0]);
        break;
    case HESSIAN_VECTOR:
        out[0] = tg_hessian_vector(y, in[0], last);
        break;
    default:
        out[0] = tg_jvp(y, in[0], last);
    }
    tg_operand results[MAX_VALUES];
    for (size_t i = 0; i < n; i++)
        results[i] = TG_IN(out[i]);
    tg_return_at(t, results, n, TG_HERE);
}

/* -- Files ----------------------------------------------------------------- */

static const formula *formula_named(const formula *of, const char *name)
{
    while (of->name && strcmp(of->name, name))
        of++;
    return of->name ? of : NULL;
}

/* False at the end. */
static bool read_case(word_file *w, const formula *formulas, gradient_case *out)
{
    *out = (gradient_case){.line = w->token_line};
    if (words_is(w, ""))
        return false;
    cr_assert(words_is(w, "case"), "%s:%d", w->file, w->token_line);
    words_next(w);
    out->formula = formula_named(formulas, w->token);
    cr_assert_not_null(out->formula, "%s:%d: no formula %s", w->file,
                       w->token_line, w->token);
    words_next(w);
    while (out->derivative < N_DERIVATIVES &&
           !words_is(w, derivative_names[out->derivative]))
        out->derivative++;
    cr_assert_lt(out->derivative, N_DERIVATIVES, "%s:%d: %s", w->file,
                 w->token_line, w->token);
    words_next(w);
    out->n_in = read_number_lines(w, "in", out->in, MAX_VALUES);
    out->n_out = read_number_lines(w, "out", out->out, MAX_VALUES);
    return true;
}

static void free_case(gradient_case *c)
{
    for (size_t i = 0; i < MAX_VALUES; i++) {
        free(c->in[i].data);
        free(c->out[i].data);
    }
}

/* -- Calls ----------------------------------------------------------------- */

/* The results; `policy` determines whether extents are known. */
static void call_case(tg_context *ctx, gradient_case *c, tg_dtype dtype,
                      tg_policy policy, tg_tensor **out)
{
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.policy = policy;
    tg_function *f = tg_function_create_named(ctx, c->formula->name, derive, c,
                                              &options);
    cr_assert_not_null(f);
    tg_tensor *tensors[MAX_VALUES];
    tg_result results[MAX_VALUES];
    tg_operand args[MAX_VALUES];
    const size_t n = n_arguments(c);
    for (size_t i = 0; i < n; i++) {
        tensors[i] = tensor_of(ctx, &c->in[i], dtype);
        args[i] = TG_IN(tensors[i]);
    }
    for (size_t i = n; i < c->n_in; i++)
        c->variables[i - n] = variable_of(ctx, &c->in[i], dtype);
    for (size_t i = 0; i < c->n_out; i++)
        results[i] = TG_OUT(&out[i]);
    const tg_status status = tg_call(f, args, n, results, c->n_out);
    cr_assert_eq(status, TG_OK, "%s, line %d, %s: %s", c->formula->name,
                 c->line, derivative_names[c->derivative], tg_error(NULL));
    for (size_t i = 0; i < n; i++)
        tg_tensor_release(tensors[i]);
    for (size_t i = n; i < c->n_in; i++)
        tg_variable_release(c->variables[i - n]);
    tg_function_release(f);
}

/* -- Comparing ------------------------------------------------------------- */

static double bound_of(const gradient_case *c, size_t i, tg_dtype dtype)
{
    return numbers_bound(
        &c->out[i], dtype,
        c->formula->f32_bounds > 0 ? c->formula->f32_bounds : 1);
}

static void check_near(const gradient_case *c, size_t i, const tg_tensor *is)
{
    const numbers *want = &c->out[i];
    const tg_dtype dtype = tg_tensor_dtype(is);
    const double bound = bound_of(c, i, dtype);
    const void *data = tg_tensor_data(is);
    cr_expect(tg_tensor_rank(is) == want->rank &&
                  !memcmp(tg_tensor_dims(is), want->dims,
                          (size_t)want->rank * sizeof(*want->dims)),
              "%s, line %d: result %zu has another shape", c->formula->name,
              c->line, i);
    cr_assert_eq(tg_tensor_count(is), want->count);
    for (int64_t k = 0; k < want->count; k++)
        cr_expect(fabs(number_at(data, dtype, k) - want->data[k]) <= bound,
                  "%s, line %d: %s %s, result %zu, element %lld is %.17g, "
                  "not %.17g: off by %.2g, more than %.2g",
                  c->formula->name, c->line, tg_dtype_name(dtype),
                  derivative_names[c->derivative], i, (long long)k,
                  number_at(data, dtype, k), want->data[k],
                  fabs(number_at(data, dtype, k) - want->data[k]), bound);
}

static void check_same(const gradient_case *c, size_t i, const tg_tensor *is,
                       const tg_tensor *want, const char *how)
{
    cr_expect(tg_tensor_bytes(is) == tg_tensor_bytes(want) &&
                  !memcmp(tg_tensor_data(is), tg_tensor_data(want),
                          tg_tensor_bytes(is)),
              "%s, line %d: %s %s, result %zu differs when %s",
              c->formula->name, c->line, tg_dtype_name(tg_tensor_dtype(is)),
              derivative_names[c->derivative], i, how);
}

/* -- Tests ----------------------------------------------------------------- */

/* A mode of a case, with its own context. */
typedef void run_function(gradient_case *c, tg_dtype dtype);

static void release_all(tg_tensor **tensors, size_t n)
{
    for (size_t i = 0; i < n; i++)
        tg_tensor_release(tensors[i]);
}

static void run_mode(const mode *m, gradient_case *c, tg_dtype dtype,
                     tg_policy policy, tg_tensor **out)
{
    session s;
    session_begin_mode(&s, m);
    call_case(s.ctx, c, dtype, policy, out);
    tg_context_release(s.ctx);
}

static void run_near(gradient_case *c, tg_dtype dtype)
{
    tg_tensor *is[MAX_VALUES] = {NULL};
    run_mode(&all_modes[0], c, dtype, TG_EXACT, is);
    for (size_t i = 0; i < c->n_out; i++)
        check_near(c, i, is[i]);
    release_all(is, c->n_out);
}

/* With unknown extents the numbers are the same, except for the order of
   some sums. */
static void run_relaxed(gradient_case *c, tg_dtype dtype)
{
    tg_tensor *is[MAX_VALUES] = {NULL};
    if (c->derivative != GRADIENTS)
        return;
    run_mode(&all_modes[0], c, dtype, TG_RELAXED, is);
    for (size_t i = 0; i < c->n_out; i++)
        check_near(c, i, is[i]);
    release_all(is, c->n_out);
}

/* With one thread and with two, each compiled separately. */
static void run_compiled(gradient_case *c, tg_dtype dtype)
{
    tg_tensor *want[MAX_VALUES] = {NULL};
    run_mode(&all_modes[0], c, dtype, TG_EXACT, want);
    for (int m = 1; m <= 2; m++) {
        tg_tensor *is[MAX_VALUES] = {NULL};
        run_mode(&all_modes[m], c, dtype, TG_EXACT, is);
        for (size_t i = 0; i < c->n_out; i++)
            check_same(c, i, is[i], want[i], all_modes[m].name);
        release_all(is, c->n_out);
    }
    release_all(want, c->n_out);
}

/* Every case of a file; every formula has one. */
static void check_file(const char *file, const formula *formulas,
                       run_function *run)
{
    word_file w = words_open("gradients", file);
    gradient_case c;
    bool is_used[MAX_FORMULAS] = {false};
    while (read_case(&w, formulas, &c)) {
        is_used[c.formula - formulas] = true;
        run(&c, TG_F64);
        run(&c, TG_F32);
        free_case(&c);
        check_nothing_is_alive();
    }
    free_case(&c);
    for (size_t i = 0; formulas[i].name; i++)
        cr_expect(is_used[i], "no case of %s", formulas[i].name);
    words_close(&w);
}

#define TEST_FILE(file) \
    Test(gradient_expected, file##_are_as_elsewhere) \
    { \
        check_file(#file, file##_formulas, run_near); \
    } \
    Test(gradient_expected, file##_of_unknown_extents_are_as_elsewhere) \
    { \
        check_file(#file, file##_formulas, run_relaxed); \
    } \
    Test(gradient_expected, file##_have_the_same_bits_when_compiled) \
    { \
        need_compiler(); \
        check_file(#file, file##_formulas, run_compiled); \
    }

TEST_FILE(elementwise)
TEST_FILE(shapes)
TEST_FILE(reductions)
TEST_FILE(products)
TEST_FILE(networks)
TEST_FILE(loops)
TEST_FILE(training)
TEST_FILE(convolutions)
TEST_FILE(layers)
TEST_FILE(functions)
