/* SPDX-License-Identifier: MIT */
/*
 * test_optimiser.c - optimisers: five steps of each rule equal PyTorch's
 * (tests/gradients/optimisers.txt), with the same bits in all modes; the update
 * of a variable is one kernel without temporaries; the state is saved and
 * loaded with the model.
 */
#include <unistd.h>

#include "support/expected_numbers.h"
#include "support/modes.h"

TG_DEFINE_BUNDLE(model, weights, bias)
TG_DEFINE_OPTIMISER(model_optimiser, model)
TG_DEFINE_BUNDLE(training, (model, net), (model_optimiser, optimiser))

typedef struct named_rule {
    const char *name;
    tg_update_rule rule;
} named_rule;

enum { STEPS = 5, N_RULES = 10, PARAMETERS = 2 };

static named_rule rule_number(int i)
{
    const tg_update_rule adam = tg_adam(0.75, 0.96875, 1e-3);
    const named_rule rules[N_RULES] = {
        {"sgd", tg_sgd()},
        {"momentum", tg_momentum(0.75)},
        {"nesterov", tg_nesterov(0.75)},
        {"adam", adam},
        {"adamw", tg_adamw(0.75, 0.96875, 1e-3, 0.25)},
        {"rmsprop", tg_rmsprop(0.96875, 1e-3)},
        {"adagrad", tg_adagrad(1e-3)},
        {"decayed_momentum", tg_with_weight_decay(tg_momentum(0.75), 0.25)},
        {"decayed_adam", tg_with_weight_decay(adam, 0.25)},
        {"clipped_adam", tg_with_clipping(adam, 0.5)},
    };
    return rules[i];
}

/* What a step is traced with. */
typedef struct setup {
    training r;
    tg_update_rule rule;
} setup;

static void train(tg_trace *t, const training *r, tg_update_rule rule,
                  tg_value x, tg_value y)
{
    const tg_value found = tg_add(tg_matmul(x, r->net.weights), r->net.bias);
    const tg_value loss = tg_mean_squared_error(found, y);
    tg_minimise(loss, 0.1, rule, &model_optimiser_type, &r->net,
                &r->optimiser);
    tg_return(t, loss);
}

/* Receives x and y. */
static void step(tg_trace *t, const tg_value *in, void *user)
{
    const setup *s = user;
    train(t, &s->r, s->rule, in[0], in[1]);
}

/* Receives the training, x and y. */
static void step_of_argument(tg_trace *t, const tg_value *in, void *user)
{
    const setup *s = user;
    const training *r = tg_bundle_argument(t, 0, &training_type);
    if (r)
        train(t, r, s->rule, in[1], in[2]);
}

static void setup_begin(setup *s, tg_context *ctx, tg_update_rule rule)
{
    s->rule = rule;
    cr_assert(s->r.net.weights && s->r.net.bias);
    check_works(tg_optimiser_create(ctx, "optimiser", rule,
                                    &model_optimiser_type, &s->r.net,
                                    &s->r.optimiser));
}

/* -- Expected values ------------------------------------------------------- */

typedef struct optimiser_case {
    named_rule rule;
    numbers in[4], out[STEPS * PARAMETERS];
} optimiser_case;

static void read_optimiser_case(word_file *w, int i, optimiser_case *out)
{
    out->rule = rule_number(i);
    cr_assert(words_is(w, "case"));
    words_next(w);
    cr_assert(words_is(w, out->rule.name), "%s", w->token);
    words_next(w);
    cr_assert_eq(read_number_lines(w, "in", out->in, 4), 4);
    cr_assert_eq(read_number_lines(w, "out", out->out, STEPS * PARAMETERS),
                 STEPS * PARAMETERS);
}

static void free_optimiser_case(optimiser_case *c)
{
    for (int i = 0; i < 4; i++)
        free(c->in[i].data);
    for (int i = 0; i < STEPS * PARAMETERS; i++)
        free(c->out[i].data);
}

/* Compares a variable with the expected numbers. */
static void check_parameter(const optimiser_case *c, int i, tg_variable *v,
                            tg_dtype dtype)
{
    const numbers *want = &c->out[i];
    const double bound = numbers_bound(want, dtype, 1);
    const void *data = tg_variable_map(v, TG_READ);
    for (int64_t k = 0; k < want->count; k++) {
        const double is = number_at(data, dtype, k);
        cr_expect(fabs(is - want->data[k]) <= bound,
                  "%s in %s, step %d, variable %d, element %lld: %.17g, not "
                  "%.17g: off by %.2g, more than %.2g",
                  c->rule.name, tg_dtype_name(dtype), i / PARAMETERS + 1,
                  i % PARAMETERS, (long long)k, is, want->data[k],
                  fabs(is - want->data[k]), bound);
    }
    check_works(tg_variable_unmap(v));
}

/* Runs the steps of a case; `out`, if not NULL, receives all bits. */
static void run_case(session *s, const optimiser_case *c, tg_dtype dtype,
                     tg_policy policy, outcome *out)
{
    setup all = {.r.net = {variable_of(s->ctx, &c->in[0], dtype),
                           variable_of(s->ctx, &c->in[1], dtype)}};
    setup_begin(&all, s->ctx, c->rule.rule);
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.policy = policy;
    tg_function *f = tg_function_create(s->ctx, step, &all, &options);
    tg_tensor *x = tensor_of(s->ctx, &c->in[2], dtype);
    tg_tensor *y = tensor_of(s->ctx, &c->in[3], dtype);
    for (int i = 0; i < STEPS; i++) {
        tg_tensor *loss = call_one(f, TG_ARGS(x, y));
        if (out)
            note_tensor(out, loss);
        tg_tensor_release(loss);
        tg_variable *v[8];
        const size_t n = tg_bundle_variables(&training_type, &all.r,
                                             TG_ALL_VARIABLES, v, 8);
        for (size_t k = 0; k < n; k++)
            if (out)
                note_variable(out, v[k]);
            else if (k < PARAMETERS)
                check_parameter(c, i * PARAMETERS + (int)k, v[k], dtype);
    }
    int64_t steps;
    check_works(tg_variable_get(all.r.optimiser.steps, &steps, sizeof steps));
    cr_assert_eq(steps, STEPS);
    cr_assert_eq(tg_bundle_variables(&training_type, &all.r, TG_TRAINABLE,
                                     NULL, 0),
                 PARAMETERS);
    tg_tensor_release(y);
    tg_tensor_release(x);
    tg_function_release(f);
    tg_bundle_release(&training_type, &all.r);
}

static void run_cases(session *s, tg_policy policy, outcome *out)
{
    word_file w = words_open("gradients", "optimisers");
    for (int i = 0; i < N_RULES; i++) {
        optimiser_case c;
        read_optimiser_case(&w, i, &c);
        run_case(s, &c, TG_F64, policy, out);
        run_case(s, &c, TG_F32, policy, out);
        free_optimiser_case(&c);
    }
    cr_assert(words_is(&w, ""));
    words_close(&w);
}

Test(optimiser, five_steps_are_as_elsewhere)
{
    session s;
    session_begin_with(&s, (tg_context_options){.jit = "off"});
    run_cases(&s, TG_EXACT, NULL);
    run_cases(&s, TG_RELAXED, NULL);
    session_end(&s);
}

static void all_cases(session *s, outcome *out)
{
    run_cases(s, TG_EXACT, out);
}

static void all_cases_of_unknown_extents(session *s, outcome *out)
{
    run_cases(s, TG_RELAXED, out);
}

Test(optimiser, five_steps_have_the_same_bits_in_all_modes)
{
    check_modes(all_cases);
}

Test(optimiser, unknown_extents_have_the_same_bits_in_all_modes)
{
    check_modes(all_cases_of_unknown_extents);
}

/* -- Fusion ---------------------------------------------------------------- */

enum { ROWS = 160, COLUMNS = 96 };

/* Receives the gradients of the two variables. */
static void apply_only(tg_trace *t, const tg_value *in, void *user)
{
    const setup *s = user;
    tg_optimiser_apply(in[2], s->rule, &model_optimiser_type, &s->r.net,
                       &s->r.optimiser, in, 2);
    tg_return(t, 0);
}

static setup large_setup(tg_context *ctx, tg_update_rule rule)
{
    setup s = {
        .r.net = {tg_variable_create(ctx, "weights", TG_F32,
                                     TG_DIMS(ROWS, COLUMNS), tg_glorot()),
                  tg_variable_create(ctx, "bias", TG_F32, TG_DIMS(COLUMNS),
                                     tg_zeros())}};
    setup_begin(&s, ctx, rule);
    return s;
}

/* The number of places where `what` begins a line of text, after blanks. */
static int count_lines(const char *text, const char *what)
{
    int n = 0;
    while (text) {
        const char *line = text + strspn(text, " ");
        n += strncmp(line, what, strlen(what)) == 0;
        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
    }
    return n;
}

/* The size of the largest temporary. */
static long largest_temporary(const char *text)
{
    long most = 0;
    for (const char *at = text; (at = strstr(at, ": temporary, ")); at++) {
        const long n = strtol(at + strlen(": temporary, "), NULL, 10);
        most = n > most ? n : most;
    }
    return most;
}

/* True if parameter p, which may have a name, has ROWS x COLUMNS elements. */
static bool is_matrix(const char *text, int p)
{
    char buffer[24], size[40];
    snprintf(buffer, sizeof buffer, "\nbuffer p%d", p);
    snprintf(size, sizeof size, ": parameter, %d f32\n", ROWS * COLUMNS);
    for (const char *at = text; (at = strstr(at, buffer)); at++) {
        const char next = at[strlen(buffer)];
        const char *end = strchr(at + 1, '\n'), *found = strstr(at, size);
        if ((next == ':' || next == ' ') && found && found < end)
            return true;
    }
    return false;
}

/*
 * Checks the kernels of a text of loops: exactly one stores buffers of ROWS x
 * COLUMNS elements, and it stores all `n_stored` of them.
 */
static void check_one_pass(const char *name, const char *text, int n_stored)
{
    int n_passes = 0;
    for (const char *at = text; (at = strstr(at, "\nkernel ")); at++) {
        const char *end = strstr(at + 1, "\nkernel ");
        char kernel[8192];
        snprintf(kernel, sizeof kernel, "%.*s",
                 (int)(end ? end - at : (long)strlen(at)), at);
        int n = 0;
        for (int p = 0; p < 12; p++) {
            char store[16];
            snprintf(store, sizeof store, "p%d[", p);
            n += is_matrix(text, p) && count_lines(kernel, store);
        }
        if (n) {
            n_passes++;
            cr_expect_eq(n, n_stored, "%s: %d of %d stores:\n%s", name, n,
                         n_stored, text);
        }
    }
    cr_expect_eq(n_passes, 1, "%s: %d kernels:\n%s", name, n_passes, text);
}

static int n_stored_of(tg_update_rule rule)
{
    const bool has_one = rule.kind == TG_RULE_MOMENTUM ||
                         rule.kind == TG_RULE_NESTEROV ||
                         rule.kind == TG_RULE_RMSPROP ||
                         rule.kind == TG_RULE_ADAGRAD;
    return rule.kind == TG_RULE_SGD ? 1 : has_one ? 2 : 3;
}

Test(optimiser, the_update_of_a_variable_is_one_kernel_without_temporaries)
{
    need_compiler();
    for (int i = 0; i < N_RULES; i++) {
        session s;
        session_begin_with(&s, (tg_context_options){.jit = "required"});
        const named_rule r = rule_number(i);
        setup all = large_setup(s.ctx, r.rule);
        tg_function *f = tg_function_create(s.ctx, apply_only, &all, NULL);
        tg_tensor *g = tg_tensor_create(
            s.ctx, TG_F32, TG_DIMS(ROWS, COLUMNS), tg_normal(0, 1));
        tg_tensor *h = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(COLUMNS),
                                        tg_normal(0, 1));
        call_only(f, TG_ARGS(g, h, 0.1f));
        char *text = tg_function_text(f, TG_TEXT_LOOPS);
        check_one_pass(r.name, text, n_stored_of(r.rule));
        cr_expect_leq(largest_temporary(text), 16, "%s:\n%s", r.name, text);
        tg_text_free(text);
        tg_tensor_release(h);
        tg_tensor_release(g);
        tg_function_release(f);
        tg_bundle_release(&training_type, &all.r);
        session_end(&s);
    }
}

/* With gradients that are matrix products, the update is their epilogue. */
Test(optimiser, an_update_joins_the_product_that_computes_its_gradient)
{
    enum { BATCH = 32 };
    need_compiler();
    for (int i = 0; i < N_RULES - 1; i++) { /* clipping needs all gradients */
        session s;
        session_begin_with(&s, (tg_context_options){.jit = "required"});
        const named_rule r = rule_number(i);
        setup all = large_setup(s.ctx, r.rule);
        tg_function *f = tg_function_create(s.ctx, step, &all, NULL);
        tg_tensor *x = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(BATCH, ROWS),
                                        tg_normal(0, 1));
        tg_tensor *y = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(BATCH, COLUMNS),
                                        tg_normal(0, 1));
        call_only(f, TG_ARGS(x, y));
        char *text = tg_function_text(f, TG_TEXT_LOOPS);
        check_one_pass(r.name, text, n_stored_of(r.rule));
        cr_expect_lt(largest_temporary(text), ROWS * COLUMNS, "%s:\n%s",
                     r.name, text);
        tg_text_free(text);
        tg_tensor_release(y);
        tg_tensor_release(x);
        tg_function_release(f);
        tg_bundle_release(&training_type, &all.r);
        session_end(&s);
    }
}

/* The sum of all bits of a variable, each word weighted by its place. */
static uint64_t checksum(tg_variable *v)
{
    const uint32_t *data = tg_variable_map(v, TG_READ);
    uint64_t sum = 0;
    for (size_t i = 0; i < tg_variable_bytes(v) / sizeof *data; i++)
        sum = sum * 0x9e3779b97f4a7c15 + data[i];
    check_works(tg_variable_unmap(v));
    return sum;
}

/* Three steps of every rule; products with many rows are split. */
static void steps_of_shape(session *s, outcome *out, int64_t batch,
                           int64_t rows, int64_t columns)
{
    for (int i = 0; i < N_RULES; i++) {
        setup all = {.r.net = {
                         tg_variable_create(s->ctx, "weights", TG_F32,
                                            TG_DIMS(rows, columns),
                                            tg_seeded(tg_glorot(), 3)),
                         tg_variable_create(s->ctx, "bias", TG_F32,
                                            TG_DIMS(columns), tg_zeros())}};
        setup_begin(&all, s->ctx, rule_number(i).rule);
        tg_function *f = tg_function_create(s->ctx, step, &all, NULL);
        tg_tensor *x = tg_tensor_create(s->ctx, TG_F32, TG_DIMS(batch, rows),
                                        tg_seeded(tg_normal(0, 1), 1));
        tg_tensor *y = tg_tensor_create(s->ctx, TG_F32,
                                        TG_DIMS(batch, columns),
                                        tg_seeded(tg_normal(0, 1), 2));
        for (int k = 0; k < 3; k++)
            call_only(f, TG_ARGS(x, y));
        tg_variable *v[8];
        const size_t n = tg_bundle_variables(&training_type, &all.r,
                                             TG_ALL_VARIABLES, v, 8);
        for (size_t k = 0; k < n; k++) {
            const uint64_t sum = checksum(v[k]);
            note(out, &sum, sizeof sum);
        }
        tg_tensor_release(y);
        tg_tensor_release(x);
        tg_function_release(f);
        tg_bundle_release(&training_type, &all.r);
    }
}

static void steps_of_shapes(session *s, outcome *out)
{
    steps_of_shape(s, out, 33, ROWS, COLUMNS);
    steps_of_shape(s, out, 3001, 24, 19);
}

Test(optimiser, updates_in_matrix_products_have_the_same_bits_in_all_modes)
{
    check_modes(steps_of_shapes);
}

/* -- State ----------------------------------------------------------------- */

static training small_training(tg_context *ctx, double bias)
{
    training r = {
        .net = {tg_variable_create(ctx, "weights", TG_F32, TG_DIMS(3, 2),
                                   tg_seeded(tg_glorot(), 5)),
                tg_variable_create(ctx, "bias", TG_F32, TG_DIMS(2),
                                   tg_fill(bias))}};
    check_works(tg_optimiser_create(ctx, "adam", tg_adam(0.9, 0.999, 1e-8),
                                    &model_optimiser_type, &r.net,
                                    &r.optimiser));
    return r;
}

static void small_steps(session *s, tg_function *f, training *r, int n)
{
    tg_tensor *x = tg_tensor_create(s->ctx, TG_F32, TG_DIMS(4, 3),
                                    tg_seeded(tg_normal(0, 1), 1));
    tg_tensor *y = tg_tensor_create(s->ctx, TG_F32, TG_DIMS(4, 2),
                                    tg_seeded(tg_normal(0, 1), 2));
    for (int i = 0; i < n; i++)
        call_only(f, TG_ARGS(tg_bundle_of(&training_type, r), x, y));
    tg_tensor_release(y);
    tg_tensor_release(x);
}

Test(optimiser, training_continues_from_a_file)
{
    session s;
    char path[256];
    session_begin(&s);
    snprintf(path, sizeof path, "test_optimiser-%ld.safetensors",
             (long)getpid());
    setup all = {.rule = tg_adam(0.9, 0.999, 1e-8)};
    tg_function *f = tg_function_create(s.ctx, step_of_argument, &all, NULL);
    training whole = small_training(s.ctx, 0.5);
    training first = small_training(s.ctx, 0.5);
    training second = small_training(s.ctx, 7);
    cr_assert_str_eq(tg_variable_name(whole.optimiser.first.weights),
                     "adam/first.weights");
    small_steps(&s, f, &whole, 7);
    small_steps(&s, f, &first, 3);
    check_works(tg_bundle_save(&training_type, &first, path));
    check_works(tg_bundle_load(&training_type, &second, path));
    small_steps(&s, f, &second, 4);
    unlink(path);
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_variable *a[8], *b[8];
    const size_t n =
        tg_bundle_variables(&training_type, &whole, TG_ALL_VARIABLES, a, 8);
    tg_bundle_variables(&training_type, &second, TG_ALL_VARIABLES, b, 8);
    cr_assert_eq(n, 7);
    for (size_t i = 0; i < n; i++) {
        char is[64], want[64];
        const size_t bytes = tg_variable_bytes(a[i]);
        check_works(tg_variable_get(a[i], want, bytes));
        check_works(tg_variable_get(b[i], is, bytes));
        cr_assert_arr_eq(is, want, bytes, "variable %zu", i);
    }
    tg_bundle_release(&training_type, &second);
    tg_bundle_release(&training_type, &first);
    tg_bundle_release(&training_type, &whole);
    tg_function_release(f);
    session_end(&s);
}

/* Also states whose rule has fewer moments. */
Test(optimiser, a_training_of_any_rule_can_be_an_argument)
{
    session s;
    session_begin(&s);
    for (int i = 0; i < N_RULES; i++) {
        setup all = large_setup(s.ctx, rule_number(i).rule);
        setup other = large_setup(s.ctx, rule_number(i).rule);
        tg_function *f =
            tg_function_create(s.ctx, step_of_argument, &all, NULL);
        tg_function *g = tg_function_create(s.ctx, step, &other, NULL);
        tg_tensor *x = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(8, ROWS),
                                        tg_seeded(tg_normal(0, 1), 1));
        tg_tensor *y = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(8, COLUMNS),
                                        tg_seeded(tg_normal(0, 1), 2));
        float weights[2][ROWS * COLUMNS];
        check_works(tg_variable_get(all.r.net.weights, weights[0],
                                    sizeof weights[0]));
        check_works(tg_variable_set(other.r.net.weights, weights[0],
                                    sizeof weights[0]));
        call_only(f, TG_ARGS(tg_bundle_of(&training_type, &all.r), x, y));
        call_only(g, TG_ARGS(x, y));
        check_works(tg_variable_get(all.r.net.weights, weights[0],
                                    sizeof weights[0]));
        check_works(tg_variable_get(other.r.net.weights, weights[1],
                                    sizeof weights[1]));
        cr_assert_arr_eq(weights[0], weights[1], sizeof weights[0]);
        tg_tensor_release(y);
        tg_tensor_release(x);
        tg_function_release(g);
        tg_function_release(f);
        tg_bundle_release(&training_type, &other.r);
        tg_bundle_release(&training_type, &all.r);
    }
    session_end(&s);
}

Test(optimiser, the_state_has_only_the_moments_of_its_rule)
{
    session s;
    session_begin(&s);
    for (int i = 0; i < N_RULES; i++) {
        setup all = large_setup(s.ctx, rule_number(i).rule);
        const int n = n_stored_of(all.rule) - 1;
        cr_assert_eq(tg_bundle_variables(&model_optimiser_type,
                                         &all.r.optimiser, TG_ALL_VARIABLES,
                                         NULL, 0),
                     (size_t)(1 + 2 * n));
        tg_bundle_release(&training_type, &all.r);
    }
    session_end(&s);
}

/* A variable that the bundle holds twice is updated once. */
static void tied_step(tg_trace *t, const tg_value *in, void *user)
{
    const setup *s = user;
    const tg_value y = tg_mul(tg_mul(in[0], s->r.net.weights),
                              s->r.net.bias); /* both are one variable */
    tg_minimise(tg_sum(y, TG_ALL_AXES), 0.25,
                tg_with_clipping(tg_momentum(0.5), 1000),
                &model_optimiser_type, &s->r.net, &s->r.optimiser);
    tg_return(t, 0);
}

Test(optimiser, a_repeated_variable_is_updated_once)
{
    session s;
    session_begin(&s);
    tg_variable *v = f32_scalar_variable(s.ctx, "v", 3);
    setup all = {.r.net = {v, tg_variable_retain(v)}};
    setup_begin(&all, s.ctx, tg_momentum(0.5));
    cr_assert_null(all.r.optimiser.first.bias);
    tg_function *f = tg_function_create(s.ctx, tied_step, &all, NULL);
    call_only(f, TG_ARGS(2.0f)); /* 2 v^2: gradient 12 */
    check_variable(v, 0);
    check_variable(all.r.optimiser.first.weights, 12);
    tg_function_release(f);
    tg_bundle_release(&training_type, &all.r);
    session_end(&s);
}

/* -- Norms ----------------------------------------------------------------- */

static void clip(tg_trace *t, const tg_value *in, void *user)
{
    tg_value g[2] = {in[0], in[1]};
    const tg_value norm = tg_clip_by_global_norm(g, 2, *(double *)user);
    tg_return(t, g[0], g[1], norm, tg_global_norm(g, 2));
}

static void check_clip(session *s)
{
    tg_tensor *x = f32_vector(s->ctx, 3, 0, 0), *y = f32_vector(s->ctx, 0, 4);
    for (double most = 2.5; most <= 5; most += 2.5) {
        tg_function *f = tg_function_create(s->ctx, clip, &most, NULL);
        tg_tensor *a = NULL, *b = NULL;
        double before, after;
        check_works(tg_call(f, TG_ARGS(x, y),
                            TG_RESULTS(&a, &b, &before, &after)));
        const float scale = most < 5 ? 0.5f : 1;
        check_f32(a, 3 * scale, 0, 0);
        check_f32(b, 0, 4 * scale);
        cr_assert_eq(before, 5);
        cr_assert_eq(after, most);
        tg_function_release(f);
    }
    tg_tensor_release(y);
    tg_tensor_release(x);
}

Test(optimiser, clipping_limits_the_norm_of_all_values_together)
{
    in_modes(check_clip);
}

/* -- Schedules ------------------------------------------------------------- */

static void rates(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value step = in[0];
    tg_return(t, tg_step_decay(step, 0.5, 10, 0.25),
              tg_exponential_decay(step, 0.5, 10, 0.25),
              tg_cosine_decay(step, 0.5, 40, 0.125),
              tg_warm_up(step, 8, tg_cosine_decay(step, 0.5, 40, 0.125)),
              tg_warm_up(step, 8, 2));
}

static void check_rates(session *s)
{
    tg_function *f = tg_function_create(s->ctx, rates, NULL, NULL);
    const double pi = acos(-1);
    for (int64_t step = 0; step < 60; step++) {
        double is[5];
        check_works(tg_call(f, TG_ARGS(step), TG_RESULTS(&is[0], &is[1],
                                                         &is[2], &is[3],
                                                         &is[4])));
        const double done = fmin((double)step / 40, 1);
        const double cosine = 0.125 + 0.375 * (1 + cos(pi * done)) / 2;
        const double up = fmin((double)(step + 1) / 8, 1);
        const double want[5] = {0.5 * pow(0.25, (double)(step / 10)),
                                0.5 * pow(0.25, (double)step / 10), cosine,
                                cosine * up, 2 * up};
        for (int i = 0; i < 5; i++)
            cr_assert(fabs(is[i] - want[i]) <= 1e-15,
                      "step %lld, rate %d: %.17g, not %.17g", (long long)step,
                      i, is[i], want[i]);
    }
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_function_release(f);
}

Test(optimiser, schedules_have_closed_forms)
{
    in_modes(check_rates);
}

/* -- Errors ---------------------------------------------------------------- */

typedef struct misuse {
    setup all;
    int kind;
} misuse;

static void misuse_optimiser(tg_trace *t, const tg_value *in, void *user)
{
    const misuse *m = user;
    const setup *s = &m->all;
    const model *net = &s->r.net;
    const model_optimiser *state = &s->r.optimiser;
    const tg_bundle_type *type = &model_optimiser_type;
    const tg_value loss = tg_sum(tg_mul(net->weights, net->bias), TG_ALL_AXES);
    const tg_value g[2] = {in[0], in[0]};
    switch (m->kind) {
    case 0:
        tg_minimise(tg_sum(net->bias, TG_ALL_AXES), 0.1, s->rule, type, net,
                    state);
        break;
    case 1:
        tg_minimise(loss, 0.1, tg_adam(0.9, 0.99, 1e-8), type, net, state);
        break;
    case 2:
        tg_minimise(loss, 0.1, s->rule, &model_type, net, state);
        break;
    case 3:
        tg_optimiser_apply(0.1, s->rule, type, net, state, g, 1);
        break;
    case 4:
        tg_optimiser_apply(0.1, s->rule, type, net, state, g, 2);
        break;
    case 5:
        tg_minimise(loss, in[0], s->rule, type, net, state);
        break;
    case 6:
        tg_minimise(loss, 0.1, tg_momentum(1), type, net, state);
        break;
    case 7:
        tg_minimise(loss, 0.1, s->rule, type, net, NULL);
        break;
    case 8:
        tg_minimise(loss, 0.1, s->rule, type, net, &(model_optimiser){0});
        break;
    case 9:
        tg_minimise(net->weights, tg_warm_up(in[0], 8, 1), s->rule, type, net,
                    state);
        break;
    case 10:
        tg_minimise(loss, tg_cosine_decay(state->steps, 1, 0, 1), s->rule,
                    type, net, state);
        break;
    default:
        tg_clip_by_global_norm(((tg_value[]){in[0]}), 1, 0);
    }
    tg_return(t, 0);
}

Test(optimiser, misuse_is_an_error_that_names_it)
{
    static const struct {
        tg_status status;
        const char *texts[3];
    } wanted[] = {
        {TG_ERROR_INVALID_ARGUMENT,
         {"minimise: variable 'weights' has no gradient", ""}},
        {TG_ERROR_STATE, {"minimise", "no second moment", "'weights'"}},
        {TG_ERROR_INVALID_ARGUMENT, {"TG_DEFINE_OPTIMISER"}},
        {TG_ERROR_INVALID_ARGUMENT,
         {"optimiser_apply", "2 trainable variables", "1 gradient was"}},
        {TG_ERROR_SHAPE,
         {"optimiser_apply: variable 'weights' is f32[160,96], but its "
          "gradient is f32[3]"}},
        {TG_ERROR_SHAPE, {"minimise", "the rate must be a scalar"}},
        {TG_ERROR_INVALID_ARGUMENT, {"minimise", "[0, 1)"}},
        {TG_ERROR_INVALID_ARGUMENT, {"minimise", "NULL"}},
        {TG_ERROR_STATE, {"minimise", "not been created"}},
        {TG_ERROR_INVALID_ARGUMENT, {"warm_up", "integer scalar"}},
        {TG_ERROR_INVALID_ARGUMENT, {"cosine_decay", "positive"}},
        {TG_ERROR_INVALID_ARGUMENT, {"clip_by_global_norm", "positive"}},
    };
    session s;
    session_begin(&s);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        misuse m = {large_setup(s.ctx, tg_momentum(0.5)), (int)i};
        tg_function *f = tg_function_create(s.ctx, misuse_optimiser, &m, NULL);
        tg_tensor *x = f32_vector(s.ctx, 1, 2, 3);
        cr_assert_eq(tg_call(f, TG_ARGS(x), TG_RESULTS(NULL)),
                     wanted[i].status, "%zu: %s", i, tg_error(s.ctx));
        cr_assert_not_null(strstr(tg_error(s.ctx), __FILE__));
        for (int k = 0; k < 3 && wanted[i].texts[k]; k++)
            cr_assert_not_null(strstr(tg_error(s.ctx), wanted[i].texts[k]),
                               "%zu: %s", i, tg_error(s.ctx));
        tg_tensor_release(x);
        tg_function_release(f);
        tg_bundle_release(&training_type, &m.all.r);
    }
    session_end(&s);
}

Test(optimiser, a_state_that_cannot_be_created_is_empty)
{
    session s;
    session_begin(&s);
    setup all = large_setup(s.ctx, tg_sgd());
    model_optimiser state;
    const model *net = &all.r.net;
    check_fails(tg_optimiser_create(s.ctx, "o", tg_adam(2, 0, 0),
                                    &model_optimiser_type, net, &state),
                TG_ERROR_INVALID_ARGUMENT, "tg_optimiser_create", "[0, 1)");
    cr_assert(!state.steps && !state.first.weights);
    check_fails(tg_optimiser_create(s.ctx, "", tg_sgd(),
                                    &model_optimiser_type, net, &state),
                TG_ERROR_INVALID_ARGUMENT, "tg_optimiser_create");
    check_fails(tg_optimiser_create(s.ctx, "o", tg_sgd(), &model_type, net,
                                    &state),
                TG_ERROR_INVALID_ARGUMENT, "TG_DEFINE_OPTIMISER");
    check_fails(tg_optimiser_create(s.ctx, "o", tg_sgd(),
                                    &model_optimiser_type, NULL, &state),
                TG_ERROR_INVALID_ARGUMENT, "model is NULL");
    check_fails(tg_optimiser_create(NULL, "o", tg_sgd(),
                                    &model_optimiser_type, net, &state),
                TG_ERROR_INVALID_ARGUMENT, "context is NULL");
    cr_assert_str_empty(tg_scope_name(s.ctx));
    tg_bundle_release(&training_type, &all.r);
    session_end(&s);
}
