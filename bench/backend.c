/* SPDX-License-Identifier: MIT */
/*
 * backend.c - see backend.h.
 */
#include "backend.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "peers/library.h"
#include "peers/python.h"

void reason_set(reason *why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why->text, sizeof(why->text), format, args);
    va_end(args);
}

const char *backend_name(backend which)
{
    static const char *const names[N_BACKENDS] = {
        [BACKEND_INTERP] = "interp",
        [BACKEND_JIT] = "jit",
        [BACKEND_JIT_UNKNOWN_SIZES] = "jit, unknown sizes",
        [BACKEND_JIT_PROFILED] = "jit, profiled",
        [BACKEND_JIT_FAST] = "jit, fast accuracy",
        [BACKEND_C] = "c",
        [BACKEND_C_STRICT] = "c, strict",
        [BACKEND_EXPERT] = "expert",
        [BACKEND_OPENBLAS] = "openblas",
        [BACKEND_BLIS] = "blis",
        [BACKEND_ONEDNN] = "onednn",
        [BACKEND_LIBXSMM] = "libxsmm",
        [BACKEND_TF_DATA] = "tf.data",
        [BACKEND_TORCH_DATA] = "DataLoader",
        [BACKEND_NUMPY] = "numpy",
        [BACKEND_NUMEXPR] = "numexpr",
        [BACKEND_NUMBA] = "numba",
        [BACKEND_TORCH] = "torch",
        [BACKEND_TORCH_COMPILE] = "torch.compile",
        [BACKEND_TENSORFLOW] = "tensorflow",
        [BACKEND_TENSORFLOW_XLA] = "tensorflow.xla",
        [BACKEND_JAX] = "jax",
        [BACKEND_ONNXRUNTIME] = "onnxruntime",
    };
    return names[which];
}

backend backend_by_name(const char *name)
{
    int which = 0;
    while (which < N_BACKENDS &&
           strcmp(backend_name((backend)which), name) != 0)
        which++;
    return (backend)which;
}

/* -- Contexts -------------------------------------------------------------- */

/* `dir` is the disk cache; NULL: no cache. */
static tg_context *context_for(backend which, int threads, const char *dir)
{
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.jit = backend_is_jit(which) ? "required" : "off";
    options.accuracy =
        which == BACKEND_JIT_FAST ? TG_ACCURACY_FAST : TG_ACCURACY_FULL;
    options.threads = threads;
    options.cache = dir ? "rw" : "off";
    options.cache_dir = dir;
    tg_code_limit(0);
    return tg_context_create(&options);
}

tg_context *backend_context(backend which, int threads)
{
    return context_for(which, threads, NULL);
}

tg_context *backend_context_disk(const char *dir)
{
    return context_for(BACKEND_JIT, 1, dir);
}

tg_context *backend_context_tiers(void)
{
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.jit = "auto";
    options.compile = "background";
    options.cache = "off";
    options.threads = 1;
    tg_code_limit(0);
    return tg_context_create(&options);
}

void backend_set_threads(int threads)
{
#ifdef _OPENMP
    omp_set_num_threads(threads);
#else
    (void)threads;
#endif
}

/* -- Availability ---------------------------------------------------------- */

static void trace_tanh(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_tanh(in[0]));
}

/* Compiles a small function: contexts of this back end compile or fail. */
static bool jit_is_available(reason *out_why)
{
    tg_context *ctx = backend_context(BACKEND_JIT, 1);
    tg_function *f = tg_function_create(ctx, trace_tanh, NULL, NULL);
    tg_tensor *x = tg_tensor_create(ctx, TG_F32, TG_DIMS(16), tg_zeros());
    tg_tensor *y = NULL;
    const bool did =
        f && x && tg_call(f, TG_ARGS(x), TG_RESULTS(&y)) == TG_OK;
    if (!did)
        reason_set(out_why, "%s", tg_error(NULL));
    tg_tensor_release(y);
    tg_tensor_release(x);
    tg_function_release(f);
    tg_context_release(ctx);
    return did;
}

static bool expert_is_available(reason *out_why)
{
#ifdef HAVE_EXPERT
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return true;
    reason_set(out_why, "this CPU lacks AVX2 or FMA");
#else
    reason_set(out_why, "not in this build, which lacks AVX2 and FMA");
#endif
    return false;
}

static bool probe_backend(backend which, reason *out_why)
{
    switch (which) {
    case BACKEND_JIT:
    case BACKEND_JIT_UNKNOWN_SIZES:
    case BACKEND_JIT_PROFILED:
    case BACKEND_JIT_FAST:
        return jit_is_available(out_why);
    case BACKEND_EXPERT:
        return expert_is_available(out_why);
    case BACKEND_OPENBLAS:
        return openblas_open(out_why);
    case BACKEND_BLIS:
        return blis_open(out_why);
    case BACKEND_ONEDNN:
        return onednn_open(out_why);
    case BACKEND_LIBXSMM:
        return libxsmm_open(out_why);
    case BACKEND_TF_DATA:
    case BACKEND_TENSORFLOW:
    case BACKEND_TENSORFLOW_XLA:
        return python_has_module("tensorflow", out_why);
    case BACKEND_TORCH_DATA:
    case BACKEND_TORCH:
    case BACKEND_TORCH_COMPILE:
        return python_has_module("torch", out_why);
    case BACKEND_NUMPY:
    case BACKEND_NUMEXPR:
    case BACKEND_NUMBA:
    case BACKEND_JAX:
    case BACKEND_ONNXRUNTIME:
        return python_has_module(backend_name(which), out_why);
    default:
        return true;
    }
}

bool backend_is_available(backend which, reason *out_why)
{
    static struct {
        bool is_known, is_available;
        reason why;
    } probed[N_BACKENDS];

    if (!probed[which].is_known) {
        probed[which].is_known = true;
        probed[which].is_available = probe_backend(which, &probed[which].why);
    }
    *out_why = probed[which].why;
    return probed[which].is_available;
}
