/* SPDX-License-Identifier: MIT */
/*
 * test_checkpoint.c - bundles and variables in files: names, checks before
 * anything is written, locks, and training that is resumed with the same bits.
 */
#include <pthread.h>

#include "support/files.h"
#include "support/modes.h"

typedef struct layer {
    tg_variable *w, *b;
} layer;

typedef struct model {
    layer first;
    tg_variable *scale;
    layer last;
} model;

static const tg_bundle_field layer_fields[] = {TG_FIELD(layer, w),
                                               TG_FIELD(layer, b)};
static const tg_bundle_type layer_type = TG_BUNDLE(layer, layer_fields);
static const tg_bundle_field model_fields[] = {
    TG_FIELD_BUNDLE(model, first, &layer_type),
    TG_FIELD(model, scale),
    TG_FIELD_BUNDLE(model, last, &layer_type),
};
static const tg_bundle_type model_type = TG_BUNDLE(model, model_fields);

static layer make_layer(tg_context *ctx, double value)
{
    return (layer){
        tg_variable_create(ctx, "w", TG_F32, TG_DIMS(2), tg_fill(value)),
        tg_variable_create(ctx, "b", TG_F32, TG_SCALAR, tg_fill(value + 0.5))};
}

static model make_model(tg_context *ctx, double value)
{
    return (model){make_layer(ctx, value),
                   tg_variable_create(ctx, "scale", TG_F32, TG_DIMS(1),
                                      tg_fill(value + 10)),
                   make_layer(ctx, value + 100)};
}

static void check_model(const model *m, float value)
{
    check_variable(m->first.w, value, value);
    check_variable(m->first.b, value + 0.5f);
    check_variable(m->scale, value + 10);
    check_variable(m->last.w, value + 100, value + 100);
    check_variable(m->last.b, value + 100.5f);
}

/* -- Round trips ----------------------------------------------------------- */

Test(checkpoint, a_bundle_comes_back_in_both_formats)
{
    static const char *const names[] = {"first.w", "first.b", "scale",
                                        "last.w", "last.b"};
    file_session f;
    files_begin(&f);
    for (int i = 0; i < 2; i++) {
        const char *path = file_path(&f, i ? "m.npz" : "m.safetensors");
        model a = make_model(f.ctx, 1), b = make_model(f.ctx, 2);
        const uint64_t version = tg_variable_version(b.scale);
        check_works(tg_bundle_save(&model_type, &a, path));
        check_works(tg_bundle_load(&model_type, &b, path));
        check_model(&a, 1);
        check_model(&b, 1);
        cr_assert_gt(tg_variable_version(b.scale), version);
        tg_archive *archive = tg_archive_load(f.ctx, path);
        cr_assert_eq(tg_archive_count(archive), 5);
        for (size_t k = 0; k < 5; k++)
            cr_assert_str_eq(tg_archive_name(archive, k), names[k]);
        tg_archive_release(archive);
        tg_bundle_release(&model_type, &a);
        tg_bundle_release(&model_type, &b);
    }
    files_end(&f, 2);
}

Test(checkpoint, variables_are_saved_by_their_names)
{
    file_session f;
    files_begin(&f);
    const char *path = file_path(&f, "v.safetensors");
    tg_variable *v[] = {f32_scalar_variable(f.ctx, "fc1/weights", 3),
                        tg_generator_create(f.ctx, "random", 42)};
    check_works(tg_variables_save(v, 2, path));
    set_variable(v[0], 7);
    cr_assert_eq(tg_variable_set(v[1], (uint64_t[]){0, 0}, 16), TG_OK);
    tg_variable *backwards[] = {v[1], v[0]};
    check_works(tg_variables_load(backwards, 2, path));
    check_variable(v[0], 3);
    uint64_t state[2];
    check_works(tg_variable_get(v[1], state, sizeof(state)));
    cr_assert_eq(state[0], 42);
    tg_variable_release(v[0]);
    tg_variable_release(v[1]);
    files_end(&f, 1);
}

Test(checkpoint, several_bundles_share_a_file_by_prefix)
{
    file_session f;
    files_begin(&f);
    const char *path = file_path(&f, "c.safetensors");
    model m = make_model(f.ctx, 1), velocity = make_model(f.ctx, 2);
    tg_variable *random = tg_generator_create(f.ctx, "random", 5);
    tg_archive *a = tg_archive_create(f.ctx);
    check_works(tg_archive_add_bundle(a, "model", &model_type, &m));
    check_works(tg_archive_add_bundle(a, "velocity", &model_type, &velocity));
    check_works(tg_archive_add_variables(a, "state", &random, 1));
    check_works(tg_archive_add_metadata(a, "step", "17"));
    cr_assert(tg_archive_has(a, "velocity.first.w"));
    cr_assert(tg_archive_has(a, "state.random"));
    check_works(tg_archive_save(a, path));
    tg_archive_release(a);

    model n = make_model(f.ctx, 8);
    a = tg_archive_load(f.ctx, path);
    check_works(tg_archive_get_bundle(a, "velocity", &model_type, &n, NULL));
    check_model(&n, 2);
    check_works(tg_archive_get_bundle(a, "model", &model_type, &n, NULL));
    check_model(&n, 1);
    check_works(tg_archive_get_variables(a, "state", &random, 1, NULL));
    cr_assert_str_eq(tg_archive_metadata(a, "step"), "17");
    /* "model" is no prefix of itself as a part of a word. */
    check_fails(tg_archive_get_bundle(a, "mode", &model_type, &n, NULL),
                TG_ERROR_STATE, "no tensor 'mode.first.w'");
    check_fails(tg_archive_get_bundle(a, NULL, &model_type, &n, NULL),
                TG_ERROR_STATE, "'model.first.w'", "11 of 11");
    tg_archive_release(a);
    tg_bundle_release(&model_type, &m);
    tg_bundle_release(&model_type, &n);
    tg_bundle_release(&model_type, &velocity);
    tg_variable_release(random);
    files_end(&f, 1);
}

Test(checkpoint, an_archive_holds_a_copy)
{
    session s;
    session_begin(&s);
    model m = make_model(s.ctx, 1);
    tg_archive *a = tg_archive_create(s.ctx);
    check_works(tg_archive_add_bundle(a, "", &model_type, &m));
    set_variable(m.scale, 77);
    check_works(tg_archive_get_bundle(a, "", &model_type, &m, NULL));
    check_model(&m, 1);
    tg_archive_release(a);
    tg_bundle_release(&model_type, &m);
    session_end(&s);
}

/* -- Checks before anything is written ------------------------------------- */

Test(checkpoint, names_must_match_unless_allowed)
{
    file_session f;
    files_begin(&f);
    const char *path = file_path(&f, "l.safetensors");
    layer saved = make_layer(f.ctx, 1);
    model m = make_model(f.ctx, 5);
    check_works(tg_bundle_save(&layer_type, &saved, path));
    check_fails(tg_bundle_load(&model_type, &m, path), TG_ERROR_STATE,
                "tg_bundle_load: ", "l.safetensors: 'w'",
                "there is no such variable (2 of 2", "allow_extra");
    tg_load_options options = TG_LOAD_OPTIONS_INIT;
    options.allow_extra = true;
    check_fails(tg_bundle_load_with(&model_type, &m, path, &options),
                TG_ERROR_STATE, "there is no tensor 'first.w'",
                "allow_missing");
    check_model(&m, 5);
    options.allow_missing = true;
    check_works(tg_bundle_load_with(&model_type, &m, path, &options));
    check_model(&m, 5);

    /* The file has b and w; the bundle w and, as another variable, x. */
    typedef struct other {
        tg_variable *w, *x;
    } other;
    static const tg_bundle_field fields[] = {TG_FIELD(other, w),
                                             TG_FIELD(other, x)};
    static const tg_bundle_type type = TG_BUNDLE(other, fields);
    other o = {m.first.w, m.scale};
    options.allow_extra = false;
    check_fails(tg_bundle_load_with(&type, &o, path, &options),
                TG_ERROR_STATE, "'b'", "(1 of 2");
    options.allow_extra = true;
    check_works(tg_bundle_load_with(&type, &o, path, &options));
    check_variable(m.first.w, 1, 1);
    check_variable(m.scale, 15);
    tg_bundle_release(&layer_type, &saved);
    tg_bundle_release(&model_type, &m);
    files_end(&f, 1);
}

Test(checkpoint, specs_must_match_and_nothing_is_written_before)
{
    file_session f;
    files_begin(&f);
    const char *path = file_path(&f, "l.npz");
    layer saved = make_layer(f.ctx, 1), l = make_layer(f.ctx, 5);
    check_works(tg_bundle_save(&layer_type, &saved, path));
    layer longer = l;
    longer.b = tg_variable_create(f.ctx, "long", TG_F32, TG_DIMS(3),
                                  tg_zeros());
    check_fails(tg_bundle_load(&layer_type, &longer, path), TG_ERROR_SHAPE,
                "l.npz: 'b': is f32[], but variable 'long' is f32[3]");
    layer wide = l;
    wide.b = tg_variable_create(f.ctx, "wide", TG_F64, TG_SCALAR, tg_zeros());
    check_fails(tg_bundle_load(&layer_type, &wide, path), TG_ERROR_DTYPE,
                "'b': is f32[], but variable 'wide' is f64[]");
    check_variable(l.w, 5, 5);
    tg_variable_release(longer.b);
    tg_variable_release(wide.b);
    tg_bundle_release(&layer_type, &saved);
    tg_bundle_release(&layer_type, &l);
    files_end(&f, 1);
}

Test(checkpoint, damaged_data_is_found_before_anything_is_written)
{
    file_session f;
    files_begin(&f);
    const char *path = file_path(&f, "l.npz");
    layer l = make_layer(f.ctx, 1);
    check_works(tg_bundle_save(&layer_type, &l, path));
    size_t n;
    unsigned char *bytes = file_read(path, &n);
    for (size_t i = n - 3; i-- > 0;)
        if (memcmp(bytes + i, &(float){1.5f}, 4) == 0) {
            bytes[i] ^= 1; /* the second of two members */
            break;
        }
    file_write(&f, "l.npz", bytes, n);
    set_variable(l.w, 5, 6);
    check_fails(tg_bundle_load(&layer_type, &l, path), TG_ERROR_FILE,
                "'b': damaged: its checksum is wrong");
    check_variable(l.w, 5, 6);
    free(bytes);
    tg_bundle_release(&layer_type, &l);
    files_end(&f, 1);
}

Test(checkpoint, tied_variables_get_one_value)
{
    file_session f;
    files_begin(&f);
    const char *path = file_path(&f, "l.safetensors");
    layer l = make_layer(f.ctx, 1), two = make_layer(f.ctx, 2);
    layer tied = {l.w, l.w};
    check_works(tg_bundle_save(&layer_type, &tied, path));
    set_variable(l.w, 5, 6);
    check_works(tg_bundle_load(&layer_type, &tied, path));
    check_variable(l.w, 1, 1);
    /* Two values for one variable: neither is right. */
    tg_variable *other =
        tg_variable_create(f.ctx, "b", TG_F32, TG_DIMS(2), tg_fill(9));
    layer apart = {two.w, other};
    check_works(tg_bundle_save(&layer_type, &apart, path));
    check_fails(tg_bundle_load(&layer_type, &tied, path), TG_ERROR_STATE,
                "variable 'w' has two values: 'w' and 'b' differ");
    check_variable(l.w, 1, 1);
    tg_variable_release(other);
    tg_bundle_release(&layer_type, &l);
    tg_bundle_release(&layer_type, &two);
    files_end(&f, 1);
}

Test(checkpoint, members_that_are_null_are_left_out)
{
    file_session f;
    files_begin(&f);
    const char *path = file_path(&f, "l.safetensors");
    layer l = make_layer(f.ctx, 1), half = {l.w, NULL}, none = {NULL, NULL};
    check_works(tg_bundle_save(&layer_type, &half, path));
    check_works(tg_bundle_load(&layer_type, &half, path));
    check_fails(tg_bundle_load(&layer_type, &l, path), TG_ERROR_STATE,
                "no tensor 'b'");
    check_works(tg_bundle_save(&layer_type, &l, path));
    check_fails(tg_bundle_load(&layer_type, &half, path), TG_ERROR_STATE,
                "'b': there is no such variable");
    check_fails(tg_bundle_save(&layer_type, &none, path),
                TG_ERROR_INVALID_ARGUMENT, "there is no variable");
    tg_bundle_release(&layer_type, &l);
    files_end(&f, 1);
}

Test(checkpoint, bad_arguments_are_refused)
{
    file_session f;
    session other;
    files_begin(&f);
    session_begin(&other);
    layer l = make_layer(f.ctx, 1);
    tg_variable *foreign = f32_scalar_variable(other.ctx, "x", 1);
    tg_variable *none = NULL, *mixed[] = {l.w, foreign};
    tg_archive *a = tg_archive_create(f.ctx);
    check_fails(tg_bundle_save(NULL, &l, "x.npz"), TG_ERROR_INVALID_ARGUMENT,
                "tg_bundle_save: the type is NULL");
    check_fails(tg_bundle_save(&layer_type, NULL, "x.npz"),
                TG_ERROR_INVALID_ARGUMENT, "the bundle is NULL");
    check_fails(tg_bundle_load(&layer_type, &l, NULL),
                TG_ERROR_INVALID_ARGUMENT, "the path is NULL");
    check_fails(tg_bundle_save(&layer_type, &l, "x.txt"),
                TG_ERROR_INVALID_ARGUMENT, "ends neither with");
    check_fails(tg_variables_save(NULL, 1, "x.npz"),
                TG_ERROR_INVALID_ARGUMENT, "list of variables is NULL");
    check_fails(tg_variables_save(&none, 1, "x.npz"),
                TG_ERROR_INVALID_ARGUMENT, "the variable is NULL");
    check_fails(tg_variables_save(mixed, 2, "x.npz"),
                TG_ERROR_INVALID_ARGUMENT, "'x' belongs to another context");
    check_fails(tg_archive_add_bundle(NULL, "", &layer_type, &l),
                TG_ERROR_INVALID_ARGUMENT, "the archive is NULL");
    check_fails(tg_archive_get_variables(NULL, "", &none, 0, NULL),
                TG_ERROR_INVALID_ARGUMENT, "the archive is NULL");
    tg_load_options bad = {.struct_bytes = 1};
    check_fails(tg_bundle_load_with(&layer_type, &l, "x.npz", &bad),
                TG_ERROR_INVALID_ARGUMENT, "struct_bytes");
    static const tg_bundle_field nameless[] = {{NULL, 0, NULL}};
    static const tg_bundle_type type = {"nameless", sizeof(layer), nameless, 1};
    check_fails(tg_bundle_save(&type, &l, "x.npz"), TG_ERROR_INVALID_ARGUMENT,
                "'nameless': a field has no name");
    static const tg_bundle_type small = {"small", 8, layer_fields, 2};
    check_fails(tg_bundle_save(&small, &l, "x.npz"),
                TG_ERROR_INVALID_ARGUMENT, "outside of a bundle of 8 bytes");
    /* All or none: the second name is there. */
    check_works(tg_archive_add_variables(a, "", &l.b, 1));
    check_fails(tg_archive_add_bundle(a, "", &layer_type, &l), TG_ERROR_STATE,
                "two tensors 'b'");
    cr_assert_eq(tg_archive_count(a), 1);
    cr_assert_not(tg_archive_has(a, "w"));
    check_works(tg_archive_add_variables(a, "", &l.w, 1));
    tg_archive_release(a);
    tg_variable_release(foreign);
    tg_bundle_release(&layer_type, &l);
    tg_context_release(other.ctx);
    files_end(&f, 0);
}

/* -- State ----------------------------------------------------------------- */

static void own_value(tg_trace *t, const tg_value *in, void *user)
{
    tg_variable **out = user;
    *out = tg_own_variable_from(t, "own", in[0]);
    tg_return(t, *out);
}

Test(checkpoint, uninitialised_variables_are_not_saved_but_can_be_loaded)
{
    file_session f;
    files_begin(&f);
    const char *path = file_path(&f, "own.safetensors");
    tg_tensor *x = f32_vector(f.ctx, 1, 2);
    tg_variable *own = NULL;
    for (int round = 0; round < 2; round++) {
        tg_function *g = tg_function_create(f.ctx, own_value, &own, NULL);
        const tg_spec spec = tg_spec_tensor(TG_F32, TG_DIMS(2));
        tg_concrete *c = tg_function_concrete(g, &spec, 1);
        cr_assert_not_null(c, "%s", tg_error(f.ctx));
        cr_assert_not_null(own);
        if (round == 0) {
            check_fails(tg_variables_save(&own, 1, path), TG_ERROR_STATE,
                        "variable 'own_value/own' is uninitialised");
            check_f32(call_one(g, TG_ARGS(x)), 1, 2);
            set_variable(own, 7, 8);
            check_works(tg_variables_save(&own, 1, path));
        } else {
            check_works(tg_variables_load(&own, 1, path));
            check_f32(call_one(g, TG_ARGS(x)), 7, 8);
        }
        tg_concrete_release(c);
        tg_function_release(g);
    }
    tg_tensor_release(x);
    files_end(&f, 1);
}

static tg_status save_inside(const tg_host_buffer *in, size_t n_in,
                             const tg_host_buffer *out, size_t n_out,
                             void *user)
{
    (void)in, (void)n_in, (void)out, (void)n_out;
    tg_archive *a = tg_archive_create(user);
    tg_variable *v = tg_context_find_variable(user, "v");
    check_fails(tg_archive_add_variables(a, "", &v, 1), TG_ERROR_BUSY,
                "in use by a call");
    cr_assert_eq(tg_archive_count(a), 0);
    tg_variable_release(v);
    tg_archive_release(a);
    return TG_OK;
}

static void save_in_call(tg_trace *t, const tg_value *in, void *user)
{
    tg_assign_add(in[0], 1);
    tg_host_call(t, save_inside, user, TG_ARGS(), NULL, NULL, 0);
    tg_assign_add(in[0], 1);
}

Test(checkpoint, variables_of_a_running_call_are_busy)
{
    session s;
    session_begin(&s);
    tg_variable *v = f32_scalar_variable(s.ctx, "v", 1);
    tg_function *g = tg_function_create(s.ctx, save_in_call, s.ctx, NULL);
    call_only(g, TG_ARGS(v));
    check_variable(v, 3);
    tg_function_release(g);
    tg_variable_release(v);
    session_end(&s);
}

/* -- Threads --------------------------------------------------------------- */

enum { ROUNDS = 200 };

typedef struct trainer {
    tg_function *step;
    const model *m;
} trainer;

/* All variables grow by one, in one call. */
static void grow(tg_trace *t, const tg_value *in, void *user)
{
    (void)in, (void)t;
    tg_variable *v[5];
    tg_bundle_variables(&model_type, user, TG_ALL_VARIABLES, v, 5);
    for (int i = 0; i < 5; i++)
        tg_assign_add(v[i], 1);
}

static void *train(void *user)
{
    const trainer *who = user;
    for (int i = 0; i < ROUNDS; i++)
        if (tg_call(who->step, TG_ARGS(), TG_RESULTS()))
            return user;
    return NULL;
}

/* A checkpoint never has a half of a call. */
Test(checkpoint, is_a_state_between_calls)
{
    session s;
    session_begin_with(&s, (tg_context_options){.jit = "off"});
    model m = make_model(s.ctx, 1);
    trainer who = {tg_function_create(s.ctx, grow, &m, NULL), &m};
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, train, &who), 0);
    for (int i = 0; i < 50; i++) {
        tg_archive *a = tg_archive_create(s.ctx);
        check_works(tg_archive_add_bundle(a, "", &model_type, &m));
        const float first =
            *(float *)tg_tensor_data(tg_archive_get(a, "first.w"));
        const float *last = tg_tensor_data(tg_archive_get(a, "last.b"));
        cr_assert_eq(*last, first + 100.5f);
        if (i % 10 == 0)
            check_works(tg_archive_get_bundle(a, "", &model_type, &m, NULL));
        tg_archive_release(a);
    }
    void *failed;
    pthread_join(thread, &failed);
    cr_assert_null(failed);
    tg_function_release(who.step);
    tg_bundle_release(&model_type, &m);
    session_end(&s);
}

/* -- Training -------------------------------------------------------------- */

typedef struct network {
    layer hidden, out;
} network;

static const tg_bundle_field network_fields[] = {
    TG_FIELD_BUNDLE(network, hidden, &layer_type),
    TG_FIELD_BUNDLE(network, out, &layer_type)};
static const tg_bundle_type network_type = TG_BUNDLE(network, network_fields);

enum { INPUTS = 5, HIDDEN = 9, BATCH = 16, PARAMETERS = 4, STEPS = 6 };

/* Weights, the optimiser's velocities, and the generator of batches. */
typedef struct training {
    network weights, velocity;
    tg_variable *generator;
} training;

/* Of all this, the generator: its name in files is that of the field, whatever
   other variables of that name there are. */
static const tg_bundle_field state_fields[] = {TG_FIELD(training, generator)};
static const tg_bundle_type state_type = TG_BUNDLE(training, state_fields);

static network make_network(tg_context *ctx, bool is_velocity)
{
    const tg_initial w = is_velocity ? tg_zeros() : tg_seeded(tg_normal(0, 0.5), 3);
    return (network){
        {tg_variable_create(ctx, "w", TG_F32, TG_DIMS(INPUTS, HIDDEN), w),
         tg_variable_create(ctx, "b", TG_F32, TG_DIMS(HIDDEN), tg_zeros())},
        {tg_variable_create(ctx, "w", TG_F32, TG_DIMS(HIDDEN), w),
         tg_variable_create(ctx, "b", TG_F32, TG_SCALAR, tg_zeros())}};
}

static training training_begin(tg_context *ctx, uint64_t seed)
{
    return (training){make_network(ctx, false), make_network(ctx, true),
                      tg_generator_create(ctx, "generator", seed)};
}

static void training_end(training *r)
{
    tg_bundle_release(&network_type, &r->weights);
    tg_bundle_release(&network_type, &r->velocity);
    tg_variable_release(r->generator);
}

static void train_step(tg_trace *t, const tg_value *in, void *user)
{
    training *r = user;
    (void)in;
    tg_value x =
        tg_random_normal(r->generator, TG_F32, TG_DIMS(BATCH, INPUTS));
    tg_value want = tg_sum(tg_mul(x, x), TG_AXES(1));
    tg_value h = tg_tanh(tg_add(tg_matmul(x, r->weights.hidden.w),
                                r->weights.hidden.b));
    tg_value is = tg_add(tg_matmul(h, r->weights.out.w), r->weights.out.b);
    tg_value e = tg_sub(is, want);
    tg_value loss = tg_mean(tg_mul(e, e), TG_ALL_AXES);
    tg_variable *w[PARAMETERS], *v[PARAMETERS];
    tg_value g[PARAMETERS];
    tg_bundle_variables(&network_type, &r->weights, TG_ALL_VARIABLES, w,
                        PARAMETERS);
    tg_bundle_variables(&network_type, &r->velocity, TG_ALL_VARIABLES, v,
                        PARAMETERS);
    const tg_operand all[] = {tg_bundle_of(&network_type, &r->weights)};
    tg_gradients(loss, all, 1, g);
    for (int i = 0; i < PARAMETERS; i++) {
        tg_assign(v[i], tg_add(tg_mul(v[i], 0.9), g[i]));
        tg_assign_sub(w[i], tg_mul(v[i], 0.01));
    }
    tg_return(t, loss);
}

static void run_steps(tg_context *ctx, training *r, int n, outcome *out)
{
    tg_function *step = tg_function_create(ctx, train_step, r, NULL);
    for (int i = 0; i < n; i++) {
        tg_tensor *loss = call_one(step, TG_ARGS());
        note_tensor(out, loss);
        tg_tensor_release(loss);
    }
    tg_function_release(step);
}

static void note_training(outcome *out, const training *r)
{
    tg_variable *v[2 * PARAMETERS];
    tg_bundle_variables(&network_type, &r->weights, TG_ALL_VARIABLES, v,
                        PARAMETERS);
    tg_bundle_variables(&network_type, &r->velocity, TG_ALL_VARIABLES,
                        v + PARAMETERS, PARAMETERS);
    for (int i = 0; i < 2 * PARAMETERS; i++)
        note_variable(out, v[i]);
    note_variable(out, r->generator);
}

static void save_training(tg_context *ctx, training *r, const char *path)
{
    tg_archive *a = tg_archive_create(ctx);
    check_works(tg_archive_add_bundle(a, "model", &network_type, &r->weights));
    check_works(tg_archive_add_bundle(a, "velocity", &network_type,
                                      &r->velocity));
    check_works(tg_archive_add_bundle(a, "state", &state_type, r));
    check_works(tg_archive_save(a, path));
    tg_archive_release(a);
}

static void load_training(tg_context *ctx, training *r, const char *path)
{
    tg_archive *a = tg_archive_load(ctx, path);
    cr_assert_not_null(a, "%s", tg_error(ctx));
    check_works(tg_archive_get_bundle(a, "model", &network_type, &r->weights,
                                      NULL));
    check_works(tg_archive_get_bundle(a, "velocity", &network_type,
                                      &r->velocity, NULL));
    check_works(tg_archive_get_bundle(a, "state", &state_type, r, NULL));
    tg_archive_release(a);
}

/* Notes the same twice: all steps, and half of them with a stop between. */
static void resume(session *s, outcome *out)
{
    static outcome whole, parts;
    char path[] = "/tmp/tgjit-resume-XXXXXX.safetensors";
    const int fd = mkstemps(path, 12);
    cr_assert(fd >= 0);
    close(fd);
    whole.n = parts.n = 0;
    training r = training_begin(s->ctx, 11);
    run_steps(s->ctx, &r, STEPS, &whole);
    note_training(&whole, &r);
    training_end(&r);

    r = training_begin(s->ctx, 11);
    run_steps(s->ctx, &r, STEPS / 2, &parts);
    save_training(s->ctx, &r, path);
    training_end(&r);
    r = training_begin(s->ctx, 99);
    load_training(s->ctx, &r, path);
    run_steps(s->ctx, &r, STEPS - STEPS / 2, &parts);
    note_training(&parts, &r);
    training_end(&r);
    unlink(path);

    cr_assert_eq(whole.n, parts.n);
    cr_assert_eq(memcmp(whole.bytes, parts.bytes, whole.n), 0,
                 "resumed training has other bits");
    note(out, whole.bytes, whole.n);
}

Test(checkpoint, resumed_training_has_the_same_bits_in_all_modes)
{
    check_modes(resume);
}

Test(checkpoint, resumed_training_has_the_same_bits_by_default)
{
    static outcome out;
    session s;
    session_begin_with(&s, (tg_context_options){.jit = "auto"});
    out.n = 0;
    resume(&s, &out);
    session_end(&s);
}
