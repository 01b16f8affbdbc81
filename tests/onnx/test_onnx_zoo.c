/* SPDX-License-Identifier: MIT */
/*
 * test_onnx_zoo.c - the small networks of tests/onnx/zoo, which make_zoo.py wrote:
 * interpreted and compiled results have the same bits and are those of ONNX
 * Runtime, and the networks can be fine-tuned.
 */
#include <math.h>
#include <stdlib.h>

#include "support/api.h"
#include "tgjit/onnx.h"

enum { MAX_TENSORS = 8, MAX_WEIGHTS = 128 };

static const char *const names[] = {
    "mlp",        "lenet",       "resnet18", "mobilenet_v2",
    "gru_tagger", "transformer", "gpt"};
enum { N_NAMES = sizeof(names) / sizeof(names[0]) };

/* A model in a context of its own, and its data. */
typedef struct network {
    session s;
    tg_onnx_model *model;
    tg_tensor *in[MAX_TENSORS], *expected[MAX_TENSORS], *out[MAX_TENSORS];
    size_t n_in, n_out;
} network;

static const char *path_in(char *path, const char *name, const char *file)
{
    const char *srcdir = getenv("srcdir");
    snprintf(path, 1024, "%s/tests/onnx/zoo/%s/%s", srcdir ? srcdir : ".", name,
             file);
    return path;
}

static void load_tensors(network *n, const char *name, const char *kind,
                         size_t count, tg_tensor **out)
{
    char path[1024], file[64];
    cr_assert_leq(count, MAX_TENSORS);
    for (size_t i = 0; i < count; i++) {
        snprintf(file, sizeof(file), "test_data_set_0/%s_%zu.pb", kind, i);
        out[i] = tg_onnx_tensor_load(n->s.ctx, path_in(path, name, file));
        cr_assert_not_null(out[i], "%s", tg_error(NULL));
    }
}

static void open_network(network *n, const char *name, bool compiles,
                         tg_onnx_shapes shapes)
{
    char path[1024];
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    tg_onnx_options loading = TG_ONNX_OPTIONS_INIT;
    options.jit = compiles ? "auto" : "off";
    options.compile = "eager";
    options.cache = "off";
    loading.shapes = shapes;
    memset(n, 0, sizeof(*n));
    session_begin_with(&n->s, options);
    n->model =
        tg_onnx_load(n->s.ctx, path_in(path, name, "model.onnx"), &loading);
    cr_assert_not_null(n->model, "%s", tg_error(NULL));
    n->n_in = tg_onnx_input_count(n->model);
    n->n_out = tg_onnx_output_count(n->model);
    load_tensors(n, name, "input", n->n_in, n->in);
    load_tensors(n, name, "output", n->n_out, n->expected);
}

static void close_network(network *n)
{
    for (size_t i = 0; i < MAX_TENSORS; i++) {
        tg_tensor_release(n->in[i]);
        tg_tensor_release(n->expected[i]);
        tg_tensor_release(n->out[i]);
    }
    tg_onnx_model_release(n->model);
    session_end(&n->s);
}

/* -- Results --------------------------------------------------------------- */

static void run_network(network *n)
{
    tg_operand args[MAX_TENSORS];
    tg_result results[MAX_TENSORS];
    for (size_t i = 0; i < n->n_in; i++)
        args[i] = tg_in_tensor(n->in[i]);
    for (size_t i = 0; i < n->n_out; i++)
        results[i] = tg_out_tensor(&n->out[i]);
    check_works(tg_call_at(tg_onnx_function(n->model), args, n->n_in, results,
                           n->n_out, TG_HERE));
}

static void check_expected(const network *n, const char *name)
{
    for (size_t i = 0; i < n->n_out; i++) {
        const tg_tensor *x = n->out[i], *y = n->expected[i];
        const float *a = tg_tensor_data(x), *b = tg_tensor_data(y);
        cr_assert_eq(tg_tensor_dtype(x), TG_F32);
        cr_assert_eq(tg_tensor_rank(x), tg_tensor_rank(y));
        cr_assert_eq(tg_tensor_bytes(x), tg_tensor_bytes(y));
        for (int64_t k = 0; k < tg_tensor_count(x); k++)
            cr_assert(fabsf(a[k] - b[k]) <= 1e-4f, "%s, output %zu: %g, not %g",
                      name, i, (double)a[k], (double)b[k]);
    }
}

/* Runs a network with one back end and returns the result in memory of malloc,
   because contexts are checked one at a time. */
static void *result_of(const char *name, bool compiles, tg_onnx_shapes shapes,
                       size_t *bytes)
{
    network n;
    open_network(&n, name, compiles, shapes);
    run_network(&n);
    check_expected(&n, name);
    *bytes = 0;
    for (size_t i = 0; i < n.n_out; i++)
        *bytes += tg_tensor_bytes(n.out[i]);
    char *all = malloc(*bytes), *at = all;
    cr_assert_not_null(all);
    for (size_t i = 0; i < n.n_out; i++) {
        memcpy(at, tg_tensor_data(n.out[i]), tg_tensor_bytes(n.out[i]));
        at += tg_tensor_bytes(n.out[i]);
    }
    close_network(&n);
    return all;
}

static void check_networks(tg_onnx_shapes shapes)
{
    for (size_t k = 0; k < N_NAMES; k++) {
        size_t n[2];
        void *all[2];
        for (int compiles = 0; compiles < 2; compiles++)
            all[compiles] =
                result_of(names[k], compiles, shapes, &n[compiles]);
        cr_assert_eq(n[0], n[1]);
        cr_assert_eq(memcmp(all[0], all[1], n[0]), 0,
                     "%s: interpreted and compiled results differ", names[k]);
        free(all[0]);
        free(all[1]);
    }
}

Test(onnx_zoo, results_are_those_of_onnx_runtime)
{
    check_networks(TG_ONNX_EXACT);
}

Test(onnx_zoo, results_are_the_same_with_unknown_extents)
{
    check_networks(TG_ONNX_DECLARED);
}

/* -- Training -------------------------------------------------------------- */

typedef struct trainee {
    tg_onnx_model *model;
    double rate;
} trainee;

/* One step of gradient descent towards the results in[1]. */
static void train(tg_trace *t, const tg_value *in, void *user)
{
    const trainee *all = user;
    tg_variable *weights[MAX_WEIGHTS];
    tg_value y, gradients[MAX_WEIGHTS];
    const size_t n = tg_onnx_variables(all->model, TG_TRAINABLE, weights,
                                       MAX_WEIGHTS);
    cr_assert_leq(n, MAX_WEIGHTS);
    tg_apply(tg_onnx_function(all->model), TG_ARGS(in[0]), &y, 1);
    const tg_value loss = tg_mean_squared_error(y, in[1]);
    tg_gradients(loss, weights, n, gradients);
    for (size_t i = 0; i < n; i++)
        tg_assign_sub(weights[i], tg_mul(gradients[i], all->rate));
    tg_return(t, loss);
}

/* Towards equal probabilities of three tags; the losses of the steps. */
static void fine_tune(const char *name, double rate, bool compiles,
                      float *losses, int n_steps)
{
    network n;
    open_network(&n, name, compiles, TG_ONNX_EXACT);
    trainee all = {n.model, rate};
    tg_tensor *target =
        tg_tensor_create(n.s.ctx, TG_F32, tg_tensor_rank(n.expected[0]),
                         tg_tensor_dims(n.expected[0]), tg_fill(-log(3)));
    tg_function *f = tg_function_create(n.s.ctx, train, &all, NULL);
    for (int i = 0; i < n_steps; i++)
        check_works(
            tg_call(f, TG_ARGS(n.in[0], target), TG_RESULTS(&losses[i])));
    tg_function_release(f);
    tg_tensor_release(target);
    close_network(&n);
}

static void check_fine_tuning(const char *name, double rate)
{
    enum { STEPS = 30 };
    float losses[2][STEPS];
    for (int compiles = 0; compiles < 2; compiles++)
        fine_tune(name, rate, compiles, losses[compiles], STEPS);
    cr_assert_eq(memcmp(losses[0], losses[1], sizeof(losses[0])), 0,
                 "%s: interpreted and compiled losses differ", name);
    cr_assert_lt(losses[0][STEPS - 1], 0.5f * losses[0][0],
                 "%s: the loss goes from %g to %g", name, (double)losses[0][0],
                 (double)losses[0][STEPS - 1]);
}

Test(onnx_zoo, a_convolutional_network_is_fine_tuned)
{
    check_fine_tuning("resnet18", 0.05);
}

Test(onnx_zoo, a_transformer_is_fine_tuned)
{
    check_fine_tuning("transformer", 0.05);
}

Test(onnx_zoo, a_recurrent_network_is_fine_tuned)
{
    check_fine_tuning("gru_tagger", 0.4);
}
