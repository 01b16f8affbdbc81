/* SPDX-License-Identifier: MIT */
/*
 * suite_case.c - runs the test of one folder: model.onnx, and the data sets
 * test_data_set_N with input_K.pb and output_K.pb.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "onnx/onnx_suite.h"

/* ONNX's own tolerances, and the closer one that is counted. */
static const double relative = 1e-3, absolute = 1e-7, closer = 1e-5;

bool suite_fail(suite_result *result, suite_outcome outcome,
                const char *format, ...)
{
    va_list args;
    if (result->outcome == SUITE_FAILED)
        return false;
    result->outcome = outcome;
    va_start(args, format);
    vsnprintf(result->message, sizeof(result->message), format, args);
    va_end(args);
    return false;
}

bool suite_fail_error(suite_result *result, const char *what)
{
    const tg_error_record *e = tg_error_last();
    /* Types that the library does not have are met while loading only. */
    const bool is_unsupported =
        e->status == TG_ERROR_UNSUPPORTED ||
        (e->status == TG_ERROR_DTYPE && strstr(e->message, "unsupported"));
    if (!*e->message)
        return suite_fail(result, SUITE_FAILED, "%s: no message", what);
    return suite_fail(result, is_unsupported ? SUITE_UNSUPPORTED : SUITE_FAILED,
                      "%s: %s", what, e->message);
}

/* -- Tensors of a data set ------------------------------------------------- */

typedef struct data_set {
    tg_tensor *in[SUITE_MAX], *out[SUITE_MAX];
    size_t n_in, n_out;
} data_set;

/*
 * Replaces a tensor by one of the dtype of the model. Data of ONNX before 1.13 has
 * bf16 as u16, and sequences are read as tensors: the model has the type.
 */
static bool take_dtype(tg_context *ctx, tg_tensor **x, tg_dtype dtype)
{
    if (tg_tensor_dtype(*x) != TG_U16 || dtype != TG_BF16)
        return true;
    tg_tensor *typed = tg_tensor_copy(ctx, tg_tensor_data(*x), dtype,
                                      tg_tensor_rank(*x), tg_tensor_dims(*x));
    tg_tensor_release(*x);
    *x = typed;
    return typed;
}

static bool load_tensors(tg_context *ctx, const char *folder, const char *kind,
                         size_t n, tg_tensor **out, size_t *out_n,
                         suite_result *result)
{
    char path[4096];
    for (*out_n = 0; *out_n < n; ++*out_n) {
        snprintf(path, sizeof(path), "%s/%s_%zu.pb", folder, kind, *out_n);
        out[*out_n] = tg_onnx_tensor_load(ctx, path);
        if (!out[*out_n])
            return suite_fail_error(result, "data");
    }
    return true;
}

static bool load_inputs(tg_context *ctx, const char *folder,
                        const tg_onnx_model *m, data_set *data,
                        suite_result *result)
{
    if (!load_tensors(ctx, folder, "input", tg_onnx_input_count(m), data->in,
                      &data->n_in, result))
        return false;
    for (size_t i = 0; i < data->n_in; i++)
        if (!take_dtype(ctx, &data->in[i], tg_onnx_input_spec(m, i)->dtype))
            return suite_fail_error(result, "data");
    return true;
}

static void release_tensors(tg_tensor **all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        tg_tensor_release(all[i]);
}

/* -- Models ---------------------------------------------------------------- */

static tg_context *create_context(bool compiles)
{
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.jit = compiles ? "required" : "off";
    options.compile = "eager";
    options.cache = "off";
    options.threads = 1;
    return tg_context_create(&options);
}

/* What is known of a model that could not be loaded: the operator is in the
   message. */
static void name_unsupported(suite_result *result)
{
    const char *at = strstr(result->message, ".onnx: ");
    size_t n = at ? strcspn(at + 7, " '") : 0;
    if (n && n < sizeof(result->op) && at[7 + n] == ' ' && at[8 + n] == '\'')
        snprintf(result->op, sizeof(result->op), "%.*s", (int)n, at + 7);
}

/* Whether a node draws random numbers, whose values ONNX does not specify. */
static bool is_random(const tg_onnx_model *m)
{
    static const char *const names[] = {
        "Bernoulli",    "Dropout",          "Multinomial",
        "RandomNormal", "RandomNormalLike", "RandomUniform",
        "RandomUniformLike"};
    for (size_t i = 0; i < tg_onnx_node_count(m); i++)
        for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
            if (!strcmp(tg_onnx_node_operator(m, i), names[k]))
                return true;
    return false;
}

static void name_case(const tg_onnx_model *m, suite_result *result)
{
    const bool is_one = tg_onnx_node_count(m) == 1;
    snprintf(result->op, sizeof(result->op), "%s",
             is_one ? tg_onnx_node_operator(m, 0) : "(several)");
    /* Inputs of models with weights are not those of the operator. */
    result->has_weights = tg_onnx_variables(m, TG_ALL_VARIABLES, NULL, 0);
    if (tg_onnx_input_count(m))
        snprintf(result->dtype, sizeof(result->dtype), "%s",
                 tg_dtype_name(tg_onnx_input_spec(m, 0)->dtype));
}

/* Calls the function of a model; the results belong to the caller. */
static bool call_model(tg_context *ctx, tg_onnx_model *m, const data_set *data,
                       tg_tensor **out, suite_result *result)
{
    tg_operand args[SUITE_MAX];
    tg_result slots[SUITE_MAX];
    size_t n = 0;
    (void)ctx;
    for (size_t i = 0; i < data->n_in; i++)
        if (!tg_onnx_input_is_shape(m, i))
            args[n++] = tg_in_tensor(data->in[i]);
        else if (tg_onnx_set_input(m, i, data->in[i]))
            return suite_fail_error(result, "set_input");
    for (size_t i = 0; i < data->n_out; i++)
        slots[i] = tg_out_tensor(&out[i]);
    tg_function *f = tg_onnx_function(m);
    return f && !tg_call_at(f, args, n, slots, data->n_out, TG_HERE)
               ? true
               : suite_fail_error(result, "call");
}

/* Whether the inputs have the extents that the model declares. */
static bool fits(const tg_onnx_model *m, const data_set *data)
{
    for (size_t i = 0; i < data->n_in; i++) {
        const tg_spec *spec = tg_onnx_input_spec(m, i);
        const int64_t *dims = tg_tensor_dims(data->in[i]);
        for (int k = 0; k < spec->rank; k++)
            if (spec->rank != tg_tensor_rank(data->in[i]) ||
                (spec->dims[k] >= 0 && spec->dims[k] != dims[k]))
                return false;
    }
    return true;
}

/* Loads the model and the inputs. A model whose declarations contradict the
   inputs (CastLike of ONNX 1.12) is loaded without them. */
static tg_onnx_model *load(tg_context *ctx, const char *path,
                           const char *folder, data_set *data,
                           suite_result *result)
{
    tg_onnx_options loading = TG_ONNX_OPTIONS_INIT;
    tg_onnx_model *m = tg_onnx_load(ctx, path, &loading);
    if (!m) {
        suite_fail_error(result, "load");
        name_unsupported(result);
        return NULL;
    }
    name_case(m, result);
    if (tg_onnx_input_count(m) > SUITE_MAX ||
        tg_onnx_output_count(m) > SUITE_MAX)
        suite_fail(result, SUITE_FAILED, "too many inputs or outputs");
    else if (!load_inputs(ctx, folder, m, data, result))
        ;
    else if (fits(m, data))
        return m;
    tg_onnx_model_release(m);
    loading.shapes = TG_ONNX_ANY;
    return result->outcome == SUITE_PASSED ? tg_onnx_load(ctx, path, &loading)
                                           : NULL;
}

/* Whether a result is that of the data; bf16 was cut off, not rounded, in data
   that has it as u16. */
static bool is_expected(tg_context *ctx, const tg_onnx_model *m, size_t i,
                        const tg_tensor *x, tg_tensor **expected,
                        const char *backend, suite_result *result)
{
    const bool is_cut = tg_tensor_dtype(x) == TG_BF16 &&
                        tg_tensor_dtype(*expected) == TG_U16;
    if (!take_dtype(ctx, expected, tg_tensor_dtype(x)))
        return suite_fail_error(result, "data");
    if (suite_is_equal(x, *expected, relative, absolute)) {
        result->is_close &= suite_is_equal(x, *expected, closer, closer);
        return true;
    }
    return suite_fail(result,
                      is_cut || is_random(m) ? SUITE_UNSUPPORTED : SUITE_FAILED,
                      "%s: output %zu differs: %.120s, not %.120s", backend, i,
                      tg_tensor_format(x, "%t %v"),
                      tg_tensor_format(*expected, "%t %v"));
}

/* Runs a data set with one back end. */
static bool run_data(const char *path, const char *folder, bool compiles,
                     tg_context *ctx, data_set *data, tg_tensor **out,
                     suite_result *result)
{
    tg_onnx_model *m = load(ctx, path, folder, data, result);
    bool passes =
        m &&
        load_tensors(ctx, folder, "output", tg_onnx_output_count(m), data->out,
                     &data->n_out, result) &&
        call_model(ctx, m, data, out, result);
    for (size_t i = 0; passes && i < data->n_out; i++)
        passes = is_expected(ctx, m, i, out[i], &data->out[i],
                             compiles ? "jit" : "interp", result);
    tg_onnx_model_release(m);
    return passes;
}

static void run_data_set(const char *path, const char *folder,
                         const suite_options *options, suite_result *result)
{
    data_set data[2] = {{.n_in = 0}, {.n_in = 0}};
    tg_tensor *out[2][SUITE_MAX] = {{NULL}, {NULL}};
    bool passes = true;
    for (int compiles = 0; compiles < 2 && passes; compiles++) {
        if (!(compiles ? options->compiles : options->interprets))
            continue;
        tg_context *ctx = create_context(compiles);
        passes = ctx ? run_data(path, folder, compiles, ctx, &data[compiles],
                                out[compiles], result)
                     : suite_fail_error(result, "context");
        tg_context_release(ctx);
    }
    const bool both = options->interprets && options->compiles;
    for (size_t i = 0; both && passes && i < data[0].n_out; i++)
        if (!suite_is_equal(out[1][i], out[0][i], 0, 0))
            passes = suite_fail(result, SUITE_FAILED,
                                "output %zu: jit and interp differ", i);
    if (passes && options->interprets && !result->has_weights)
        suite_run_tiled(path, data[0].in, data[0].n_in, out[0], data[0].n_out,
                        options->compiles, result);
    for (int k = 0; k < 2; k++) {
        release_tensors(data[k].in, data[k].n_in);
        release_tensors(data[k].out, data[k].n_out);
        release_tensors(out[k], SUITE_MAX);
    }
}

void suite_run(const char *folder, const suite_options *options,
               suite_result *result)
{
    char path[2048], data[2100];
    *result = (suite_result){
        .outcome = SUITE_PASSED, .is_close = true, .op = "?", .dtype = "-"};
    snprintf(path, sizeof(path), "%s/model.onnx", folder);
    for (int i = 0; result->outcome == SUITE_PASSED; i++) {
        snprintf(data, sizeof(data), "%s/test_data_set_%d", folder, i);
        if (access(data, F_OK)) {
            if (i == 0)
                suite_fail(result, SUITE_FAILED, "no data");
            break;
        }
        run_data_set(path, data, options, result);
    }
    if (result->outcome == SUITE_PASSED &&
        (tg_live_objects() || tg_live_bytes()))
        suite_fail(result, SUITE_FAILED, "%zu objects, %zu bytes are alive",
                   tg_live_objects(), tg_live_bytes());
}
