/* SPDX-License-Identifier: MIT */
/*
 * context.c - contexts: options and environment are read here, once.
 */
#include <stdio.h>
#include <string.h>

#include "context_object.h"
#include "error.h"
#include "jit.h"
#include "live.h"
#include "pass.h"
#include "settings.h"
#include "variable_object.h"

static const tgi_setting_word explain_words[] = {
    {"retrace", TGI_EXPLAIN_RETRACE},
    {"fusion", TGI_EXPLAIN_FUSION},
    {NULL, 0},
};

static const tgi_setting_word dump_words[] = {
    {"graph", TGI_DUMP_GRAPH},
    {"passes", TGI_DUMP_PASSES},
    {"dot", TGI_DUMP_DOT},
    {"loops", TGI_DUMP_LOOPS},
    {"llvm", TGI_DUMP_LLVM},
    {"asm", TGI_DUMP_ASM},
    {"repro", TGI_DUMP_REPRO},
    {NULL, 0},
};

static const tgi_setting_word jit_words[] = {
    {"auto", TGI_JIT_AUTO},
    {"off", TGI_JIT_OFF},
    {"required", TGI_JIT_REQUIRED},
    {NULL, 0},
};

enum { COMPILE_BACKGROUND = 1, COMPILE_EAGER = 2 };
static const tgi_setting_word compile_words[] = {
    {"background", COMPILE_BACKGROUND},
    {"eager", COMPILE_EAGER},
    {NULL, 0},
};

enum { SHOW_GDB = 1, SHOW_PERF = 2 };
static const tgi_setting_word show_words[] = {
    {"gdb", SHOW_GDB},
    {"perf", SHOW_PERF},
    {NULL, 0},
};

static const tgi_setting_word instrument_words[] = {
    {"address", 1},
    {NULL, 0},
};

/* Nanoseconds of work below which another thread does not pay. */
#define DEFAULT_GRAIN 3000

static void print_to_stderr(const char *text, void *user)
{
    (void)user;
    fprintf(stderr, "%s\n", text);
}

static void context_destroy(tg_context *ctx)
{
    pthread_mutex_destroy(&ctx->lock);
    tgi_vec_deinit(&ctx->variables);
    tgi_free(ctx->dump_dir);
    tgi_free(ctx->cpu);
    tgi_cache_deinit(&ctx->cache);
    tgi_free(ctx);
    tgi_code_cache_close();
    tgi_live_add(TGI_LIVE_CONTEXT, -1);
}

/* How code is compiled and run; false when out of memory. */
static bool read_jit_settings(tg_context *ctx,
                              const tg_context_options *options)
{
    const char *jit = tgi_setting(options->jit, "TGJIT_JIT");
    ctx->jit = tgi_setting_words(jit, "TGJIT_JIT", jit_words, &ctx->log);
    /* Of several, or none that is known: the careful one. */
    if (ctx->jit != TGI_JIT_OFF && ctx->jit != TGI_JIT_REQUIRED)
        ctx->jit = TGI_JIT_AUTO;
    ctx->is_eager =
        ctx->jit == TGI_JIT_REQUIRED ||
        tgi_setting_words(tgi_setting(options->compile, "TGJIT_COMPILE"),
                          "TGJIT_COMPILE", compile_words, &ctx->log) ==
            COMPILE_EAGER;
    ctx->vector_bits = (unsigned)tgi_setting_number(
        options->vector_bits, "TGJIT_VECTOR_BITS", 0, &ctx->log);
    ctx->instruments =
        tgi_setting_words(tgi_setting(NULL, "TGJIT_INSTRUMENT"),
                          "TGJIT_INSTRUMENT", instrument_words, &ctx->log);
    ctx->threads = (int)tgi_setting_number(options->threads, "TGJIT_THREADS",
                                           0, &ctx->log);
    ctx->grain = 1000 * tgi_setting_number(0, "TGJIT_GRAIN", DEFAULT_GRAIN,
                                           &ctx->log);
    /* For the process: code has no context. */
    unsigned show =
        tgi_setting_words(tgi_setting(options->show_code, "TGJIT_SHOW_CODE"),
                          "TGJIT_SHOW_CODE", show_words, &ctx->log);
    if (show)
        tgi_jit_show_code(show & SHOW_GDB, show & SHOW_PERF);
    const char *cpu = tgi_setting(options->cpu, "TGJIT_CPU");
    return !cpu || strcmp(cpu, "host") == 0 || (ctx->cpu = tgi_strdup(cpu));
}

tg_context *tg_context_create(const tg_context_options *user_options)
{
    tgi_api_frame frame = tgi_api_enter(NULL, __func__);
    tg_context_options options = {0};
    tg_context *ctx = NULL;
    if (!tgi_settings_copy(&options, sizeof(options), user_options,
                           "tg_context_options"))
        goto done;

    ctx = tgi_alloc_zero(sizeof(*ctx));
    if (!ctx) {
        tgi_error_memory();
        goto done;
    }
    const char *dump_dir = tgi_setting(options.dump_dir, "TGJIT_DUMP_DIR");
    ctx->dump_dir = tgi_strdup(dump_dir ? dump_dir : ".");
    if (!ctx->dump_dir) {
        tgi_error_memory();
        tgi_free(ctx);
        ctx = NULL;
        goto done;
    }
    tgi_refcount_init(&ctx->refs);
    pthread_mutex_init(&ctx->lock, NULL);
    tgi_live_add(TGI_LIVE_CONTEXT, 1);
    tgi_code_cache_open();

    tgi_log_init(&ctx->log, tgi_setting(options.log, "TGJIT_LOG"),
                 options.log_callback, options.log_user);
    ctx->host = (tgi_host){
        options.print_callback ? options.print_callback : print_to_stderr,
        options.print_user};
    ctx->memory_limit = options.memory_limit;
    ctx->no_contraction = options.no_contraction;
    ctx->skip_passes = tgi_passes_parse(
        tgi_setting(options.skip_passes, "TGJIT_SKIP_PASSES"), &ctx->log);
    ctx->verifies =
        tgi_setting_number(0, "TGJIT_VERIFY", 0, &ctx->log) != 0;
    ctx->explain =
        tgi_setting_words(tgi_setting(options.explain, "TGJIT_EXPLAIN"),
                          "TGJIT_EXPLAIN", explain_words, &ctx->log);
    ctx->dump = tgi_setting_words(tgi_setting(options.dump, "TGJIT_DUMP"),
                                  "TGJIT_DUMP", dump_words, &ctx->log);
    if (!read_jit_settings(ctx, &options) ||
        !tgi_cache_init(&ctx->cache, &options, &ctx->log)) {
        tgi_error_memory();
        context_destroy(ctx);
        ctx = NULL;
    }
done:
    tgi_api_leave(frame);
    return ctx;
}

tg_context *tg_context_retain(tg_context *ctx)
{
    if (ctx)
        tgi_refcount_inc(&ctx->refs);
    return ctx;
}

void tg_context_release(tg_context *ctx)
{
    if (ctx && tgi_refcount_dec(&ctx->refs))
        context_destroy(ctx);
}

/* -- Variables of a context ------------------------------------------------ */

size_t tg_context_variables(tg_context *ctx, tg_which which,
                            tg_variable **out_variables, size_t capacity)
{
    if (!ctx)
        return 0;
    size_t n = 0;
    pthread_mutex_lock(&ctx->lock);
    for (size_t i = 0; i < ctx->variables.n; i++) {
        tg_variable *variable = ctx->variables.data[i];
        if (which == TG_TRAINABLE && !variable->is_trainable)
            continue;
        /* One whose last reference is just going is no longer listed. */
        if (n < capacity && out_variables) {
            if (!tgi_refcount_try_inc(&variable->refs))
                continue;
            out_variables[n] = variable;
        }
        n++;
    }
    pthread_mutex_unlock(&ctx->lock);
    return n;
}

tg_variable *tg_context_find_variable(tg_context *ctx, const char *name)
{
    tg_variable *found = NULL;
    if (!ctx || !name)
        return NULL;
    pthread_mutex_lock(&ctx->lock);
    for (size_t i = 0; i < ctx->variables.n && !found; i++) {
        tg_variable *variable = ctx->variables.data[i];
        if (strcmp(variable->name, name) == 0 &&
            tgi_refcount_try_inc(&variable->refs))
            found = variable;
    }
    pthread_mutex_unlock(&ctx->lock);
    return found;
}
