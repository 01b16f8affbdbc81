/* SPDX-License-Identifier: MIT */
/*
 * backend.c - see backend.h.
 */
#include "backend.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif

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
        [BACKEND_C] = "c",
        [BACKEND_EXPERT] = "expert",
    };
    return names[which];
}

/* -- Contexts -------------------------------------------------------------- */

/* Settings of contexts are read from the environment when they are made. */
static tg_context *context_with(const char *jit, int threads,
                                const tg_context_options *options)
{
    char number[16];
    snprintf(number, sizeof(number), "%d", threads);
    setenv("TGJIT_JIT", jit, 1);
    setenv("TGJIT_NUM_THREADS", number, 1);
    setenv("TGJIT_CACHE", "off", 1);
    return tg_context_create(options);
}

tg_context *backend_context(backend which, int threads)
{
    return context_with(which == BACKEND_JIT ? "required" : "off", threads,
                        NULL);
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

static void note_complaint(tg_log_level level, const char *component,
                           const char *message, void *user)
{
    (void)level, (void)component;
    if (strstr(message, "TGJIT_JIT"))
        *(bool *)user = true;
}

/*
 * A library without a JIT does not read the setting, and would interpret
 * without a word. One that reads it complains about a mode that is none.
 */
static bool library_knows_jit(void)
{
    bool complained = false;
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.log_callback = note_complaint;
    options.log_user = &complained;
    tg_context *ctx = context_with("none-such", 1, &options);
    const bool refused = !ctx;
    tg_context_release(ctx);
    return complained || refused;
}

static void probe(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_tanh(in[0]));
}

static bool jit_compiles(void)
{
    tg_context *ctx = backend_context(BACKEND_JIT, 1);
    tg_function *f = tg_function_create(ctx, probe, NULL, NULL);
    tg_tensor *x = tg_tensor_create(ctx, TG_F32, TG_DIMS(16));
    tg_tensor *y = NULL;
    const bool did =
        f && x && tg_call(f, TG_ARGS(x), TG_RESULTS(&y)) == TG_OK;
    tg_tensor_release(y);
    tg_tensor_release(x);
    tg_function_release(f);
    tg_context_release(ctx);
    return did;
}

static bool jit_is_available(reason *out_why)
{
    if (!library_knows_jit()) {
        reason_set(out_why, "this library has no JIT");
        return false;
    }
    if (!jit_compiles()) {
        reason_set(out_why, "%s", tg_error(NULL));
        return false;
    }
    return true;
}

static bool expert_is_available(reason *out_why)
{
#ifdef HAVE_EXPERT
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return true;
    reason_set(out_why, "this machine has no AVX2 and FMA");
#else
    reason_set(out_why, "not in this build: it needs AVX2 and FMA");
#endif
    return false;
}

bool backend_is_available(backend which, reason *out_why)
{
    static struct {
        bool is_known, is_available;
        reason why;
    } seen[N_BACKENDS];

    if (!seen[which].is_known) {
        seen[which].is_known = true;
        seen[which].is_available =
            which == BACKEND_JIT ? jit_is_available(&seen[which].why)
            : which == BACKEND_EXPERT
                ? expert_is_available(&seen[which].why)
                : true;
    }
    *out_why = seen[which].why;
    return seen[which].is_available;
}
