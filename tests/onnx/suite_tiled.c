/* SPDX-License-Identifier: MIT */
/*
 * suite_tiled.c - elementwise tests once more: inputs repeated along a new axis,
 * at addresses that are only aligned to an element, with one and two threads.
 * The results must be those of the interpreter, repeated.
 */
#include <stdlib.h>
#include <string.h>

#include "onnx/onnx_suite.h"

enum { TILES = 1000 };

static const char *const elementwise[] = {
    "Abs", "Acos", "Acosh", "Add", "And", "Asin", "Asinh", "Atan", "Atanh",
    "BitShift", "Cast", "Ceil", "Celu", "Clip", "Cos", "Cosh", "Div", "Elu",
    "Equal", "Erf", "Exp", "Floor", "Greater", "GreaterOrEqual", "HardSigmoid",
    "HardSwish", "IsInf", "IsNaN", "LeakyRelu", "Less", "LessOrEqual", "Log",
    "Max", "Mean", "Min", "Mod", "Mul", "Neg", "Not", "Or", "PRelu", "Pow",
    "Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Sin",
    "Sinh", "Softplus", "Softsign", "Sqrt", "Sub", "Sum", "Tan", "Tanh",
    "ThresholdedRelu", "Where", "Xor"};

static bool is_elementwise(const char *op)
{
    for (size_t i = 0; i < sizeof(elementwise) / sizeof(elementwise[0]); i++)
        if (!strcmp(op, elementwise[i]))
            return true;
    return false;
}

/* A tensor with a new first axis, along which x is repeated. Its memory, in
 *out_memory, starts one element after an aligned address. */
static tg_tensor *tile(tg_context *ctx, const tg_tensor *x, void **out_memory)
{
    int64_t dims[TG_MAX_RANK] = {TILES};
    const int rank = tg_tensor_rank(x);
    const size_t bytes = tg_tensor_bytes(x);
    const size_t shift = tg_dtype_bytes(tg_tensor_dtype(x));
    memcpy(dims + 1, tg_tensor_dims(x), (size_t)rank * sizeof(*dims));
    if (rank == 0)
        return tg_tensor_copy(ctx, tg_tensor_data(x), tg_tensor_dtype(x), 0,
                              NULL);
    *out_memory = aligned_alloc(64, (bytes * TILES + shift + 63) / 64 * 64);
    if (!*out_memory)
        return NULL;
    char *data = (char *)*out_memory + shift;
    for (size_t i = 0; i < TILES; i++)
        memcpy(data + i * bytes, tg_tensor_data(x), bytes);
    return tg_tensor_wrap(ctx, data, tg_tensor_dtype(x), rank + 1, dims);
}

/* Whether every tile of x has the bits of `one`, except those of NaNs. */
static bool is_tiled(tg_context *ctx, const tg_tensor *x, const tg_tensor *one)
{
    const int rank = tg_tensor_rank(one);
    const size_t bytes = tg_tensor_bytes(one);
    if (tg_tensor_rank(x) != rank + 1 || tg_tensor_bytes(x) != bytes * TILES)
        return false;
    for (size_t i = 0; i < TILES; i++) {
        char *data = (char *)tg_tensor_data(x) + i * bytes;
        if (!memcmp(data, tg_tensor_data(one), bytes))
            continue;
        tg_tensor *part = tg_tensor_wrap(ctx, data, tg_tensor_dtype(one), rank,
                                         tg_tensor_dims(one));
        const bool is_equal = part && suite_is_equal(part, one, 0, 0);
        tg_tensor_release(part);
        if (!is_equal)
            return false;
    }
    return true;
}

static bool run(const char *path, tg_tensor *const *in, size_t n_in,
                tg_tensor *const *out, size_t n_out, bool compiles, int threads,
                suite_result *result)
{
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    tg_onnx_options loading = TG_ONNX_OPTIONS_INIT;
    tg_operand args[SUITE_MAX];
    tg_result slots[SUITE_MAX];
    tg_tensor *tiled[SUITE_MAX] = {NULL}, *results[SUITE_MAX] = {NULL};
    void *memory[SUITE_MAX] = {NULL};
    options.jit = compiles ? "required" : "off";
    options.compile = "eager";
    options.cache = "off";
    options.threads = threads;
    loading.shapes = TG_ONNX_ANY;
    tg_context *ctx = tg_context_create(&options);
    tg_onnx_model *m = ctx ? tg_onnx_load(ctx, path, &loading) : NULL;
    bool passes = m;
    for (size_t i = 0; passes && i < n_in; i++) {
        tiled[i] = tile(ctx, in[i], &memory[i]);
        passes = tiled[i];
        args[i] = tg_in_tensor(tiled[i]);
    }
    for (size_t i = 0; i < n_out; i++)
        slots[i] = tg_out_tensor(&results[i]);
    passes = passes && tg_onnx_function(m) &&
             !tg_call_at(tg_onnx_function(m), args, n_in, slots, n_out,
                         TG_HERE);
    if (!passes)
        suite_fail_error(result, "tiled");
    for (size_t i = 0; passes && i < n_out; i++)
        if (!is_tiled(ctx, results[i], out[i]))
            passes = suite_fail(result, SUITE_FAILED,
                                "tiled, %d threads: output %zu differs",
                                threads, i);
    for (size_t i = 0; i < SUITE_MAX; i++) {
        tg_tensor_release(tiled[i]);
        tg_tensor_release(results[i]);
        free(memory[i]);
    }
    tg_onnx_model_release(m);
    tg_context_release(ctx);
    return passes;
}

void suite_run_tiled(const char *path, tg_tensor *const *in, size_t n_in,
                     tg_tensor *const *out, size_t n_out, bool compiles,
                     suite_result *result)
{
    if (!is_elementwise(result->op) || n_in == 0)
        return;
    /* Operands that broadcast, or are empty, would not be tiled alone. */
    for (size_t i = 0; i < n_in; i++)
        if (tg_tensor_rank(in[i]) != 0 &&
            (tg_tensor_rank(in[i]) != tg_tensor_rank(out[0]) ||
             tg_tensor_rank(in[i]) == TG_MAX_RANK ||
             tg_tensor_count(in[i]) == 0))
            return;
    bool has_axes = false;
    for (size_t i = 0; i < n_in; i++)
        has_axes |= tg_tensor_rank(in[i]) > 0;
    if (!has_axes)
        return;
    result->is_tiled = true;
    for (int threads = 1; threads <= 2; threads++)
        if (!run(path, in, n_in, out, n_out, compiles, threads, result))
            return;
}
