/* SPDX-License-Identifier: MIT */
/*
 * test_faults.c - fault injection: every allocation fails in turn, once or
 * persistently. Each area of the API reports it, leaks nothing, and works again
 * afterwards.
 */
#include <stdlib.h>
#include <unistd.h>

#include "support/api.h"
#include "support/folders.h"

/* -- A world to fail in ---------------------------------------------------- */

enum { N_OF_EACH = 4 };

/* The objects of a scenario. All that are not NULL are released at its end. */
typedef struct world {
    tg_context *ctx;
    tg_tensor *x[N_OF_EACH];
    tg_variable *v[N_OF_EACH];
    tg_function *f[N_OF_EACH];
    tg_concrete *concrete;
    tg_bound *bound;
    tg_group *group;
    char *text[N_OF_EACH];
} world;

static void ignore_print(const char *text, void *user)
{
    (void)text, (void)user;
}

static void ignore_log(tg_log_level level, const char *component,
                       const char *message, void *user)
{
    (void)level, (void)component, (void)message, (void)user;
}

/* Interpreted unless the options say otherwise; test_faults_jit.c compiles
   under faults. */
static bool world_begin_with(world *w, tg_context_options options)
{
    memset(w, 0, sizeof *w);
    options.struct_bytes = sizeof options;
    options.jit = options.jit ? options.jit : "off";
    options.print_callback = ignore_print;
    options.log_callback = ignore_log;
    return (w->ctx = tg_context_create(&options)) != NULL;
}

static bool world_begin(world *w)
{
    return world_begin_with(w, (tg_context_options){0});
}

static void world_end(world *w)
{
    tg_bound_release(w->bound);
    tg_concrete_release(w->concrete);
    for (int i = 0; i < N_OF_EACH; i++) {
        tg_text_free(w->text[i]);
        tg_function_release(w->f[i]);
        tg_tensor_release(w->x[i]);
        tg_variable_release(w->v[i]);
    }
    tg_group_release(w->group);
    tg_context_release(w->ctx);
}

/* Functions of the world, for callbacks that apply one. */
static tg_function *function_of(void *user, int i)
{
    return ((world *)user)->f[i];
}

static bool make_vector(world *w, int i, int64_t n)
{
    static const float data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    return (w->x[i] = tg_tensor_copy(w->ctx, data, TG_F32, TG_DIMS(n)));
}

static bool make_function(world *w, int i, tg_callback *callback)
{
    return (w->f[i] = tg_function_create(w->ctx, callback, w, NULL));
}

static bool make_variable(world *w, int i)
{
    return (w->v[i] = tg_variable_create(w->ctx, "v", TG_F32, TG_DIMS(3),
                                         tg_fill(i)));
}

static bool succeeds(tg_status status)
{
    return status == TG_OK;
}

/* -- Objects --------------------------------------------------------------- */

static bool context_scenario(void)
{
    world w;
    bool good = world_begin_with(&w, (tg_context_options){
                                         .log = "debug,+trace",
                                         .cache = "rw",
                                         .cache_dir = "nowhere/",
                                         .dump_dir = "."});
    world_end(&w);
    return good;
}

Test(faults, contexts)
{
    setenv("TGJIT_SKIP_PASSES", "fold,nonsense", 1);
    setenv("TGJIT_EXPLAIN", "retrace,nonsense", 1);
    setenv("TGJIT_DUMP", "nonsense", 1);
    check_every_fault(context_scenario);
}

static bool tensor_scenario(void)
{
    float data[3] = {1, 2, 3};
    world w;
    bool good = world_begin(&w) &&
                (w.x[0] = tg_tensor_create(w.ctx, TG_I16, TG_DIMS(2, 0, 5),
                                           tg_zeros())) &&
                (w.x[1] = tg_tensor_wrap(w.ctx, data, TG_F32, TG_DIMS(3))) &&
                (w.x[2] = tg_tensor_copy(w.ctx, data, TG_F32, TG_DIMS(3)));
    world_end(&w);
    return good;
}

Test(faults, tensors)
{
    check_every_fault(tensor_scenario);
}

static bool variable_scenario(void)
{
    world w;
    tg_variable_options options = TG_VARIABLE_OPTIONS_INIT;
    tg_variable *list[N_OF_EACH], *found = NULL;
    float data[3];
    bool good = world_begin(&w) && (w.group = tg_group_create(w.ctx));
    options.group = w.group;
    good = good &&
           (w.v[0] = tg_variable_create_with(w.ctx, "v", TG_F32, TG_DIMS(3),
                                             tg_fill(0.5), &options)) &&
           (w.v[1] = tg_variable_create(w.ctx, "v", TG_F64, TG_DIMS(3),
                                        tg_seeded(tg_normal(0, 1), 7))) &&
           (w.v[2] = tg_variable_create(w.ctx, NULL, TG_F32, TG_DIMS(2, 2),
                                        tg_seeded(tg_uniform(-1, 1), 7))) &&
           (w.v[3] = tg_generator_create(w.ctx, NULL, 1)) &&
           succeeds(tg_variable_get(w.v[0], data, sizeof data)) &&
           succeeds(tg_variable_set(w.v[0], data, sizeof data)) &&
           (found = tg_context_find_variable(w.ctx, "v_1"));
    tg_variable_release(found);
    if (good) {
        const size_t n = tg_context_variables(w.ctx, TG_ALL_VARIABLES, list,
                                              N_OF_EACH);
        for (size_t i = 0; i < n; i++)
            tg_variable_release(list[i]);
    }
    world_end(&w);
    return good;
}

Test(faults, variables)
{
    check_every_fault(variable_scenario);
}

typedef struct layer {
    tg_variable *w, *b;
} layer;
static const tg_bundle_field layer_fields[] = {TG_FIELD(layer, w),
                                               TG_FIELD(layer, b)};
static const tg_bundle_type layer_type = TG_BUNDLE(layer, layer_fields);

static void use_layer(tg_trace *t, const tg_value *in, void *user)
{
    const layer *l = tg_bundle_argument(t, 1, &layer_type);
    (void)user;
    if (!l)
        return;
    tg_assign_add(l->b, 1);
    tg_return(t, tg_add(tg_mul(in[0], l->w), l->b));
}

/* A function with a signature of every kind, and a matching call. */
static bool function_scenario(void)
{
    world w;
    tg_tensor *y = NULL;
    bool good = world_begin(&w) && make_variable(&w, 0) &&
                make_variable(&w, 1) && make_vector(&w, 0, 3);
    layer l = {w.v[0], w.v[1]};
    const tg_spec signature[] = {
        tg_spec_tensor(TG_F32, TG_DIMS(TG_UNKNOWN)),
        tg_spec_bundle(&layer_type, &l),
        tg_spec_static(tg_in_string("a string")),
        tg_spec_variable(TG_F32, TG_DIMS(3)),
        tg_spec_static(tg_in_i32(3)),
    };
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.signature = signature;
    options.n_signature = 5;
    options.name = "named";
    good = good &&
           (w.f[0] = tg_function_create(w.ctx, use_layer, &w, &options)) &&
           succeeds(tg_call(w.f[0],
                            TG_ARGS(w.x[0], tg_bundle_of(&layer_type, &l),
                                    TG_STATIC("a string"), w.v[0],
                                    TG_STATIC(3)),
                            TG_RESULTS(&y)));
    tg_tensor_release(y);
    world_end(&w);
    return good;
}

Test(faults, functions_with_signatures)
{
    check_every_fault(function_scenario);
}

/* -- Traces ---------------------------------------------------------------- */

static void use_many_operations(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value x = in[0], n = tg_cast(tg_extent(x, 0), TG_F32);
    const float table[] = {1, 2, 3, 4};
    tg_value m = tg_constant(TG_F32, TG_DIMS(2, 2), table);
    tg_value row = tg_reshape(x, TG_DIMS(1, tg_value_dim(x, 0)));
    tg_value column = tg_transpose(row, TG_PERM(1, 0));
    tg_value square = tg_matmul(column, row);
    tg_value i = tg_clamp(tg_cast(x, TG_I32), 0, 1);
    tg_name(square, "square");
    tg_return(t, tg_softmax(square, 1), tg_layer_norm(square, x, x, 1e-5),
              tg_gather(m, i, 0),
              tg_concat(0, x, tg_pad(x, 0, 1, 2, 0.5),
                        tg_slice(x, 0, -1, TG_END, -1)),
              tg_argmax(square, -1), tg_mean(square, TG_AXES(0)),
              tg_select(tg_gt(x, n), tg_exp(x), tg_add(tg_mul(x, 3), 1)),
              tg_any(tg_eq(x, 3), TG_ALL_AXES),
              tg_iota(TG_I64, TG_DIMS(tg_value_dim(x, 0)), 0));
}

static bool trace_scenario(void)
{
    world w;
    bool good = world_begin(&w) && make_function(&w, 0, use_many_operations);
    for (int i = 0; good && i < 2; i++) {
        const tg_spec spec =
            tg_spec_tensor(TG_F32, TG_DIMS(i ? TG_UNKNOWN : 3));
        tg_concrete_release(w.concrete);
        w.concrete = NULL;
        good = (w.concrete = tg_function_concrete(w.f[0], &spec, 1)) != NULL;
    }
    tg_tensor *y[9] = {NULL};
    good = good && make_vector(&w, 0, 3) &&
           succeeds(tg_concrete_call(w.concrete, TG_ARGS(w.x[0]),
                                     TG_RESULTS(&y[0], &y[1], &y[2], &y[3],
                                                &y[4], &y[5], &y[6], &y[7],
                                                &y[8])));
    for (int i = 0; i < 9; i++)
        tg_tensor_release(y[i]);
    world_end(&w);
    return good;
}

Test(faults, traces)
{
    check_every_fault(trace_scenario);
}

/* -- Calls ----------------------------------------------------------------- */

static void add_to_first(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value before = tg_read(in[0]);
    tg_assign_add(in[0], tg_sum(in[1], TG_ALL_AXES));
    tg_return(t, tg_mul(before, in[2]), tg_read(in[0]));
}

static bool call_scenario(void)
{
    world w;
    tg_tensor *y = NULL, *z = NULL;
    bool good = world_begin(&w) && make_function(&w, 0, add_to_first) &&
                make_variable(&w, 0) && make_vector(&w, 0, 3) &&
                make_vector(&w, 1, 5);
    for (int i = 0; good && i < 4; i++) /* the second call generalises */
        good = succeeds(tg_call(w.f[0], TG_ARGS(w.v[0], w.x[i % 2], 2.0),
                                TG_RESULTS(&y, &z)));
    good = good && succeeds(tg_call(w.f[0],
                                    TG_ARGS(w.v[0], tg_value_of(w.v[0]), 1),
                                    TG_RESULTS(NULL, &z)));
    tg_tensor_release(y);
    tg_tensor_release(z);
    world_end(&w);
    return good;
}

Test(faults, calls)
{
    check_every_fault(call_scenario);
}

static bool bind_scenario(void)
{
    world w;
    float other[3] = {9, 9, 9};
    bool good =
        world_begin(&w) && make_function(&w, 0, add_to_first) &&
        make_variable(&w, 0) && make_vector(&w, 0, 3) &&
        (w.bound = tg_bind(w.f[0], TG_ARGS(w.v[0], tg_value_of(w.v[0]), 2.0),
                           TG_RESULTS(&w.x[1], &w.x[2]))) &&
        succeeds(tg_run(w.bound));
    tg_bound_release(w.bound);
    w.bound = NULL;
    tg_tensor_release(w.x[1]);
    tg_tensor_release(w.x[2]);
    w.x[1] = w.x[2] = NULL;
    good = good &&
           (w.bound = tg_bind(w.f[0], TG_ARGS(w.v[0], w.x[0], 2.0),
                              TG_RESULTS(&w.x[1]))) &&
           succeeds(tg_bound_set(w.bound, 1, other)) &&
           succeeds(tg_run(w.bound)) && succeeds(tg_run(w.bound));
    world_end(&w);
    return good;
}

Test(faults, bound_calls)
{
    check_every_fault(bind_scenario);
}

static bool eviction_scenario(void)
{
    world w;
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.max_traces = 2;
    options.policy = TG_EXACT;
    bool good = world_begin(&w) &&
                (w.f[0] = tg_function_create(w.ctx, use_many_operations, &w,
                                             &options));
    for (int i = 0; i < N_OF_EACH; i++)
        good = good && make_vector(&w, i, i + 1);
    for (int i = 0; good && i < 2 * N_OF_EACH; i++)
        good = succeeds(
            tg_call(w.f[0], TG_ARGS(w.x[i % N_OF_EACH]), TG_RESULTS()));
    if (good)
        tg_function_clear(w.f[0]);
    good = good && succeeds(tg_call(w.f[0], TG_ARGS(w.x[0]), TG_RESULTS()));
    world_end(&w);
    return good;
}

Test(faults, evictions)
{
    check_every_fault(eviction_scenario);
}

/* -- Nested functions and their variables ---------------------------------- */

static void own_state(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_variable *a = tg_own_variable(t, "a", TG_F32, TG_DIMS(3),
                                     tg_seeded(tg_normal(0, 1), 3));
    tg_variable *b = tg_own_variable_from(t, "b", tg_mul(in[0], 2));
    if (a && b)
        tg_return(t, tg_assign_add(a, b));
}

static void call_nested(tg_trace *t, const tg_value *in, void *user)
{
    world *w = user;
    tg_value y = {0}, z = {0};
    tg_apply(function_of(user, 0), TG_ARGS(in[0]), &y, 1);
    tg_assign(w->v[0], y);
    tg_apply(function_of(user, 0), TG_ARGS(w->v[0]), &z, 1);
    tg_apply(function_of(user, 1), TG_ARGS(w->v[0], z, 2), NULL, 0);
    tg_return(t, z, tg_read(w->v[0]));
}

static bool nested_scenario(void)
{
    world w;
    bool good = world_begin(&w) && make_function(&w, 0, own_state) &&
                make_function(&w, 1, add_to_first) &&
                make_function(&w, 2, call_nested) && make_variable(&w, 0) &&
                make_vector(&w, 0, 3) &&
                succeeds(tg_call(w.f[2], TG_ARGS(w.x[0]),
                                 TG_RESULTS(&w.x[1], &w.x[2]))) &&
                succeeds(tg_call(w.f[2], TG_ARGS(w.x[0]), TG_RESULTS())) &&
                succeeds(tg_call(w.f[0], TG_ARGS(w.v[0]), TG_RESULTS()));
    world_end(&w);
    return good;
}

Test(faults, nested_functions_with_variables)
{
    check_every_fault(nested_scenario);
}

static bool nested_call_node_scenario(void)
{
    world w;
    bool good =
        world_begin_with(&w, (tg_context_options){.skip_passes = "inline"}) &&
        make_function(&w, 0, own_state) && make_function(&w, 1, add_to_first) &&
        make_function(&w, 2, call_nested) && make_variable(&w, 0) &&
        make_vector(&w, 0, 3) &&
        succeeds(tg_call(w.f[2], TG_ARGS(w.x[0]), TG_RESULTS(&w.x[1])));
    world_end(&w);
    return good;
}

Test(faults, nested_functions_that_stay_calls)
{
    check_every_fault(nested_call_node_scenario);
}

static void call_myself(tg_trace *t, const tg_value *in, void *user)
{
    tg_value y = {0};
    tg_apply(function_of(user, 0), TG_ARGS(in[0]), &y, 1);
    tg_return(t, y);
}

/* Ends in a recursion error unless memory runs out before. */
static bool recursion_scenario(void)
{
    world w;
    bool good = world_begin(&w) && make_function(&w, 0, call_myself) &&
                make_vector(&w, 0, 3) &&
                tg_call(w.f[0], TG_ARGS(w.x[0]), TG_RESULTS()) ==
                    TG_ERROR_RECURSION;
    world_end(&w);
    return good;
}

Test(faults, recursion)
{
    check_every_fault(recursion_scenario);
}

/* -- Bundles, prints, random numbers --------------------------------------- */

static void hand_layer_on(tg_trace *t, const tg_value *in, void *user)
{
    const layer *l = tg_bundle_argument(t, 1, &layer_type);
    tg_value y = {0};
    if (l)
        tg_apply(function_of(user, 0),
                 TG_ARGS(in[0], tg_bundle_of(&layer_type, l)), &y, 1);
    tg_return(t, y);
}

static bool bundle_scenario(void)
{
    world w;
    bool good = world_begin(&w) && make_function(&w, 0, use_layer) &&
                make_function(&w, 1, hand_layer_on) && make_variable(&w, 0) &&
                make_variable(&w, 1) && make_vector(&w, 0, 3);
    const layer l = {w.v[0], w.v[1]}, same = {w.v[0], w.v[0]};
    good = good &&
           succeeds(tg_call(w.f[1],
                            TG_ARGS(w.x[0], tg_bundle_of(&layer_type, &l)),
                            TG_RESULTS(&w.x[1]))) &&
           succeeds(tg_call(w.f[1],
                            TG_ARGS(w.x[0], tg_bundle_of(&layer_type, &same)),
                            TG_RESULTS()));
    world_end(&w);
    return good;
}

Test(faults, bundles)
{
    check_every_fault(bundle_scenario);
}

static void print_much(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_print(t, "%v and %v %%", in[0], tg_iota(TG_F64, TG_DIMS(20, 20, 3), 0));
    tg_print(t, "that is all");
}

static bool print_scenario(void)
{
    world w;
    bool good = world_begin(&w) && make_function(&w, 0, print_much) &&
                make_vector(&w, 0, 8) &&
                succeeds(tg_call(w.f[0], TG_ARGS(w.x[0]), TG_RESULTS()));
    world_end(&w);
    return good;
}

Test(faults, prints)
{
    check_every_fault(print_scenario);
}

/* The second assert fails, or memory does. */
static void assert_much(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_assert(t, tg_ge(in[0], in[0]), "%v and %v", in[0], 1);
    tg_assert(t, tg_lt(tg_reduce_max(in[0], TG_ALL_AXES), -100),
              "%v and %v %%", in[0], tg_iota(TG_F64, TG_DIMS(20, 20, 3), 0));
    tg_print(t, "never");
}

static bool assert_scenario(void)
{
    world w;
    bool good = world_begin(&w) && make_function(&w, 0, assert_much) &&
                make_vector(&w, 0, 8) &&
                tg_call(w.f[0], TG_ARGS(w.x[0]), TG_RESULTS()) ==
                    TG_ERROR_ASSERT;
    world_end(&w);
    return good;
}

Test(faults, asserts)
{
    check_every_fault(assert_scenario);
}

static void draw_much(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_random_uniform(in[0], TG_F32, TG_DIMS(5)),
              tg_random_normal(in[0], TG_F64, TG_DIMS(2, 3)),
              tg_random_normal(7, TG_F32, TG_DIMS(4)),
              tg_random_bits(TG_U64, 1, 2, TG_DIMS(3)));
}

static bool random_scenario(void)
{
    world w;
    bool good = world_begin(&w) && make_function(&w, 0, draw_much) &&
                (w.v[0] = tg_generator_create(w.ctx, "dice", 3)) &&
                succeeds(tg_call(w.f[0], TG_ARGS(w.v[0]),
                                 TG_RESULTS(&w.x[0], &w.x[1], &w.x[2],
                                            &w.x[3])));
    world_end(&w);
    return good;
}

Test(faults, random_numbers)
{
    check_every_fault(random_scenario);
}

/* -- Texts and dumps ------------------------------------------------------- */

static bool text_scenario(void)
{
    world w;
    bool good = world_begin(&w) && make_function(&w, 0, use_many_operations) &&
                make_vector(&w, 0, 3) && make_vector(&w, 1, 4) &&
                succeeds(tg_call(w.f[0], TG_ARGS(w.x[0]), TG_RESULTS())) &&
                succeeds(tg_call(w.f[0], TG_ARGS(w.x[1]), TG_RESULTS()));
    for (int kind = TG_TEXT_SHORT; kind <= TG_TEXT_DOT; kind++)
        good = good && (w.text[kind] =
                            tg_function_text(w.f[0], (tg_text_kind)kind));
    char *reasons = good ? tg_explain_retrace(w.f[0]) : NULL;
    good = good && reasons;
    tg_text_free(reasons);
    world_end(&w);
    return good;
}

Test(faults, texts)
{
    check_every_fault(text_scenario);
}

static char dump_dir[] = "/tmp/tgjit-faults-XXXXXX";

static bool dump_scenario(void)
{
    world w;
    bool good =
        world_begin_with(&w, (tg_context_options){.dump = "graph,passes,dot",
                                                  .dump_dir = dump_dir,
                                                  .explain = "retrace",
                                                  .log = "debug"}) &&
        make_function(&w, 0, add_to_first) && make_variable(&w, 0) &&
        make_vector(&w, 0, 3) &&
        succeeds(tg_call(w.f[0], TG_ARGS(w.v[0], w.x[0], 1), TG_RESULTS()));
    world_end(&w);
    return good;
}

Test(faults, dumps)
{
    cr_assert_not_null(mkdtemp(dump_dir));
    check_every_fault(dump_scenario);
    cr_assert_gt(remove_folder(dump_dir), 3);
}

/* -- The same call works later --------------------------------------------- */

static void train(tg_trace *t, const tg_value *in, void *user)
{
    world *w = user;
    tg_variable *n = tg_own_variable(t, "n", TG_F32, TG_SCALAR, tg_zeros());
    tg_value y = {0};
    tg_apply(function_of(user, 0), TG_ARGS(w->v[0], in[0], 2.0), &y, 1);
    if (n)
        tg_assign_add(n, 1);
    tg_return(t, y, tg_add(n, 0.0f));
}

/* One call of `train` on a world, with the configured faults. */
static tg_status call_train(world *w)
{
    tg_status status = tg_call(w->f[1], TG_ARGS(w->x[0]),
                               TG_RESULTS(&w->x[1], &w->x[2]));
    if (status)
        cr_assert(!w->x[1] && !w->x[2], "a failed call stored results");
    return status;
}

Test(faults, a_call_works_again_after_out_of_memory)
{
    for (int forever = 0; forever <= 1; forever++)
        for (long nth = 0;; nth++) {
            world w;
            cr_assert(world_begin(&w) && make_function(&w, 0, add_to_first) &&
                      make_function(&w, 1, train) && make_variable(&w, 0) &&
                      make_vector(&w, 0, 3));
            set_variable(w.v[0], 1, 2, 3);
            tgi_alloc_inject_failure(nth, forever);
            const tg_status first = call_train(&w);
            const bool has_failed = tgi_alloc_inject_failure(-1, 0) > nth;
            cr_assert(first == TG_OK || first == TG_ERROR_OUT_OF_MEMORY);
            if (first != TG_OK) {
                check_variable(w.v[0], 1, 2, 3); /* no effect has happened */
                check_works(call_train(&w));
            }
            check_variable(w.v[0], 7, 8, 9);
            check_f32(w.x[1], 2, 4, 6);
            check_f32(w.x[2], 1);
            w.x[1] = w.x[2] = NULL;
            cr_assert_eq(
                tg_context_variables(w.ctx, TG_ALL_VARIABLES, NULL, 0), 2);
            world_end(&w);
            check_nothing_is_alive();
            if (!has_failed)
                break;
        }
}

Test(faults, a_bound_call_runs_without_memory)
{
    world w;
    cr_assert(world_begin(&w) && make_function(&w, 0, add_to_first) &&
              make_function(&w, 1, train) && make_variable(&w, 0) &&
              make_vector(&w, 0, 3));
    w.bound = tg_bind(w.f[1], TG_ARGS(w.x[0]), TG_RESULTS(&w.x[1]));
    check_works(tg_run(w.bound));
    tgi_alloc_inject_failure(0, 1);
    for (int i = 0; i < 5; i++)
        cr_assert_eq(tg_run(w.bound), TG_OK);
    cr_assert_eq(tgi_alloc_inject_failure(-1, 0), 0, "tg_run allocated memory");
    check_variable(w.v[0], 36, 36, 36);
    world_end(&w);
    check_nothing_is_alive();
}
