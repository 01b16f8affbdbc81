/* SPDX-License-Identifier: MIT */
/*
 * context.c - contexts: creation, which alone reads options and environment,
 * and the list of variables.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/live.h"
#include "base/machine_memory.h"
#include "base/settings.h"
#include "base/versioned.h"
#include "front/object/context_object.h"
#include "front/object/variable_object.h"
#include "front/profile/profile_session.h"
#include "interp/interp.h"
#include "jit.h"
#include "pass/pass.h"
#include "tgjit/cancel.h"

static const tgi_keyword explain_keywords[] = {
    {"retrace", TGI_EXPLAIN_RETRACE, 0},
    {"fusion", TGI_EXPLAIN_FUSION, 0},
    {NULL, 0, 0},
};

static const tgi_keyword dump_keywords[] = {
    {"graph", TGI_DUMP_GRAPH, 0}, {"passes", TGI_DUMP_PASSES, 0},
    {"dot", TGI_DUMP_DOT, 0},     {"loops", TGI_DUMP_LOOPS, 0},
    {"llvm", TGI_DUMP_LLVM, 0},   {"asm", TGI_DUMP_ASM, 0},
    {"repro", TGI_DUMP_REPRO, 0}, {NULL, 0, 0},
};

static const tgi_keyword jit_keywords[] = {
    {"auto", TGI_JIT_AUTO, 0},
    {"off", TGI_JIT_OFF, 0},
    {"required", TGI_JIT_REQUIRED, 0},
    {NULL, 0, 0},
};

static const tgi_keyword check_keywords[] = {
    {"nan", TGI_CHECK_NAN, 0},
    {"inf", TGI_CHECK_INF, 0},
    {NULL, 0, 0},
};

enum { COMPILE_BACKGROUND = 1, COMPILE_EAGER = 2 };
static const tgi_keyword compile_keywords[] = {
    {"background", COMPILE_BACKGROUND, 0},
    {"eager", COMPILE_EAGER, 0},
    {NULL, 0, 0},
};

static const tgi_keyword show_keywords[] = {
    {"gdb", TGI_SHOW_GDB, 0},
    {"perf", TGI_SHOW_PERF, 0},
    {"jitdump", TGI_SHOW_JITDUMP, 0},
    {NULL, 0, 0},
};

static const tgi_keyword cache_keywords[] = {
    {"off", TGI_DISK_CACHE_OFF, 0},
    {"ro", TGI_DISK_CACHE_READ_ONLY, 0},
    {"rw", TGI_DISK_CACHE_READ_WRITE, 0},
    {NULL, 0, 0},
};

static const tgi_keyword instrument_keywords[] = {
    {"address", 1, 0},
    {NULL, 0, 0},
};

/* Graph passes, then the loop passes that are optional. */
#define LOOP_PASS_BIT (UINT32_C(1) << 16)
_Static_assert(TGI_N_PASSES <= 16 && TGI_N_LOOP_PASSES <= 16, "bits");

#define PASS(name, doc) {#name, UINT32_C(1) << TGI_PASS_##name, 0},
#define LOOP_PASS(function, name, doc) \
    {name, LOOP_PASS_BIT << TGI_LOOP_PASS_##function, 0},
#define NO_KEYWORD(function, name, doc)
static const tgi_keyword pass_keywords[] = {
    TGI_PASSES(PASS) TGI_LOOP_PASSES(NO_KEYWORD, LOOP_PASS){NULL, 0, 0}};

const tgi_keyword tgi_accuracy_keywords[] = {
    {"TG_ACCURACY_DEFAULT", TG_ACCURACY_DEFAULT, 0},
    {"TG_ACCURACY_FULL", TG_ACCURACY_FULL, 0},
    {"TG_ACCURACY_FAST", TG_ACCURACY_FAST, 0},
    {NULL, 0, 0},
};

const tgi_keyword tgi_plan_keywords[] = {
    {"estimate", TGI_PLAN_ESTIMATE, 0},
    {"measure", TGI_PLAN_MEASURE, 0},
    {NULL, 0, 0},
};

enum { CALIBRATION_ON = 1, CALIBRATION_OFF = 2 };
static const tgi_keyword calibration_keywords[] = {
    {"on", CALIBRATION_ON, 0},
    {"off", CALIBRATION_OFF, 0},
    {NULL, 0, 0},
};

/* -- Settings -------------------------------------------------------------- */

#define DEFAULT_GRAIN \
    3000 /* ns of work below which another thread does not pay off */
#define DEFAULT_PLAN_BUDGET 5000 /* ms */
#define DEFAULT_CACHE_BYTES ((uint64_t)256 << 20)

enum {
    LOG,
    SKIP_PASSES,
    EXPLAIN,
    DUMP,
    JIT,
    COMPILE,
    CPU,
    VECTOR_BITS,
    SHOW_CODE,
    THREADS,
    CACHE,
    CACHE_MAX,
    VERIFY,
    INSTRUMENT,
    GRAIN,
    SCHEDULE_SEED,
    CHECK,
    ACCURACY,
    PLAN,
    PLAN_BUDGET,
    CALIBRATION,
    SETTINGS
};

#define OPTION(member) TGI_OPTION(tg_context_options, member)
static const tgi_setting settings[SETTINGS] = {
    [LOG] = {OPTION(log), "TGJIT_LOG", TGI_SETTING_KEYWORDS, tgi_log_keywords,
             .default_value = TG_LOG_WARN},
    [SKIP_PASSES] = {OPTION(skip_passes), "TGJIT_SKIP_PASSES",
                     TGI_SETTING_KEYWORDS, pass_keywords},
    [EXPLAIN] = {OPTION(explain), "TGJIT_EXPLAIN", TGI_SETTING_KEYWORDS,
                 explain_keywords},
    [DUMP] = {OPTION(dump), "TGJIT_DUMP", TGI_SETTING_KEYWORDS, dump_keywords},
    [JIT] = {OPTION(jit), "TGJIT_JIT", TGI_SETTING_KEYWORD, jit_keywords,
             .default_value = TGI_JIT_AUTO, .fallback = TGI_JIT_AUTO},
    [COMPILE] = {OPTION(compile), "TGJIT_COMPILE", TGI_SETTING_KEYWORD,
                 compile_keywords, .default_value = COMPILE_BACKGROUND,
                 .fallback = COMPILE_BACKGROUND},
    [CPU] = {OPTION(cpu), "TGJIT_CPU", TGI_SETTING_KEYWORD, tgi_jit_cpus},
    [VECTOR_BITS] = {OPTION(vector_bits), "TGJIT_VECTOR_BITS",
                     TGI_SETTING_NUMBER, tgi_jit_widths},
    [SHOW_CODE] = {OPTION(show_code), "TGJIT_SHOW_CODE", TGI_SETTING_KEYWORDS,
                   show_keywords},
    [THREADS] = {OPTION(threads), "TGJIT_THREADS", TGI_SETTING_NUMBER,
                 .max = INT32_MAX},
    /* A misspelt value disables the cache: "off" may have been meant. */
    [CACHE] = {OPTION(cache), "TGJIT_CACHE", TGI_SETTING_KEYWORD,
               cache_keywords, .default_value = TGI_DISK_CACHE_READ_WRITE,
               .fallback = TGI_DISK_CACHE_OFF},
    [CACHE_MAX] = {OPTION(cache_max_bytes), "TGJIT_CACHE_MAX",
                   TGI_SETTING_BYTES, .default_value = DEFAULT_CACHE_BYTES},
    [VERIFY] = {.variable = "TGJIT_VERIFY",
                .kind = TGI_SETTING_NUMBER,
                .max = INT32_MAX},
    [INSTRUMENT] = {.variable = "TGJIT_INSTRUMENT",
                    .kind = TGI_SETTING_KEYWORDS,
                    .keywords = instrument_keywords},
    [GRAIN] = {.variable = "TGJIT_GRAIN",
               .kind = TGI_SETTING_NUMBER,
               .max = INT32_MAX,
               .default_value = UINT64_MAX},
    [SCHEDULE_SEED] = {.variable = "TGJIT_SCHEDULE_SEED",
                       .kind = TGI_SETTING_NUMBER,
                       .max = INT32_MAX},
    [CHECK] = {OPTION(check), "TGJIT_CHECK", TGI_SETTING_KEYWORDS,
               check_keywords},
    [ACCURACY] = {OPTION(accuracy), .kind = TGI_SETTING_NUMBER,
                  .keywords = tgi_accuracy_keywords},
    [PLAN] = {OPTION(plan), "TGJIT_PLAN", TGI_SETTING_KEYWORD,
              tgi_plan_keywords, .default_value = TGI_PLAN_ESTIMATE,
              .fallback = TGI_PLAN_ESTIMATE},
    [PLAN_BUDGET] = {OPTION(plan_budget), "TGJIT_PLAN_BUDGET",
                     TGI_SETTING_NUMBER, .max = INT32_MAX,
                     .default_value = DEFAULT_PLAN_BUDGET},
    [CALIBRATION] = {OPTION(calibration), "TGJIT_CALIBRATION",
                     TGI_SETTING_KEYWORD, calibration_keywords,
                     .default_value = CALIBRATION_ON,
                     .fallback = CALIBRATION_ON},
};

/* Reads all settings; the log first, for warnings about the others. */
static tg_status read_settings(const tg_context_options *options,
                               tgi_log *out_log, uint64_t *out_values)
{
    TGI_TRY(tgi_setting_read(&settings[LOG], options, NULL, &out_values[LOG]));
    tgi_log_init(out_log, (uint32_t)out_values[LOG], options->log_callback,
                 options->log_user);
    for (int i = 0; i < SETTINGS; i++)
        TGI_TRY(tgi_setting_read(&settings[i], options, out_log,
                                 &out_values[i]));
    return TG_OK;
}

/* -- Creation and destruction ---------------------------------------------- */

static void print_to_stderr(const char *text, void *user)
{
    (void)user;
    fprintf(stderr, "%s\n", text);
}

static void context_destroy(tg_context *ctx)
{
    tgi_fork_lock_deinit(&ctx->lock);
    tgi_vec_deinit(&ctx->variables);
    tgi_name_counts_deinit(&ctx->default_scopes);
    tgi_free(ctx->dump_dir);
    tgi_free(ctx->inspect_dir);
    tgi_context_cache_deinit(&ctx->cache);
    tgi_free(ctx);
    tgi_code_cache_close();
    tgi_live_add(TGI_LIVE_CONTEXT, -1);
}

/* Copies the strings that the context owns. */
static tg_status copy_texts(tg_context *ctx, const tg_context_options *options,
                            const uint64_t *values)
{
    const char *dir = tgi_setting_text(options->dump_dir, "TGJIT_DUMP_DIR");
    ctx->dump_dir = tgi_strdup(dir ? dir : ".");
    const char *pages = tgi_setting_text(options->inspect, "TGJIT_INSPECT");
    struct stat about;
    if (pages && stat(pages, &about) == 0 && S_ISDIR(about.st_mode) &&
        !(ctx->inspect_dir = tgi_strdup(pages)))
        return tgi_error_memory();
    if (!ctx->dump_dir)
        return tgi_error_memory();
    return tgi_context_cache_init(&ctx->cache,
                                  (tgi_disk_cache_mode)values[CACHE],
                                  values[CACHE_MAX], options->cache_dir);
}

/* Begins what a text setting asks for; a failure is an error if the text is an
   option, a warning if it comes from the environment. */
static tg_status begin_session(tg_status (*begin)(const char *text),
                               const char *option, const char *variable,
                               const tgi_log *log)
{
    const char *text = tgi_setting_text(option, variable);
    tgi_error_copy before;
    tgi_error_save(&before);
    const tg_status status = text ? begin(text) : TG_OK;
    if (!status || option)
        return status;
    tgi_log_write(log, TG_LOG_WARN, TGI_LOG_CONFIG, "%s: %s", variable,
                  tg_error_last()->message);
    tgi_error_restore(&before);
    return TG_OK;
}

static tg_status create_directory(const char *path)
{
    struct stat about;
    if (mkdir(path, 0777) == 0)
        return TG_OK;
    const int reason = errno;
    return reason == EEXIST && stat(path, &about) == 0 &&
                   S_ISDIR(about.st_mode)
               ? TG_OK
               : tgi_error_file("create", path, reason);
}

static tg_status begin_sessions(const tg_context_options *options,
                                const tgi_log *log)
{
    TGI_TRY(begin_session(create_directory, options->inspect, "TGJIT_INSPECT",
                          log));
    TGI_TRY(begin_session(tgi_timeline_session_begin, options->trace_file,
                          "TGJIT_TRACE", log));
    return begin_session(tgi_profile_session_begin, options->profile,
                         "TGJIT_PROFILE", log);
}

static tg_status context_create(const tg_context_options *options,
                                tg_context **out_ctx)
{
    static _Atomic uint64_t last_id;
    uint64_t values[SETTINGS];
    tgi_log log;
    TGI_TRY(read_settings(options, &log, values));
    TGI_TRY(begin_sessions(options, &log));
    tg_context *ctx = tgi_alloc_zero(sizeof(*ctx));
    if (!ctx)
        return tgi_error_memory();
    tgi_refcount_init(&ctx->refs);
    tgi_refcount_init(&ctx->handles);
    ctx->id = 1 + atomic_fetch_add(&last_id, 1);
    ctx->seed = options->seed;
    tgi_fork_lock_init(&ctx->lock, NULL);
    tgi_live_add(TGI_LIVE_CONTEXT, 1);
    tgi_code_cache_open();
    const tg_status status = copy_texts(ctx, options, values);
    if (status) {
        context_destroy(ctx);
        return status;
    }
    ctx->log = log;
    ctx->host = (tgi_host){
        .print =
            options->print_callback ? options->print_callback : print_to_stderr,
        .user = options->print_user,
        .cancel_word = &ctx->cancel_word};
    ctx->memory_limit =
        options->memory_limit ? options->memory_limit : tgi_machine_memory();
    ctx->no_contraction = options->no_contraction;
    ctx->is_fast = values[ACCURACY] == TG_ACCURACY_FAST;
    ctx->skip_passes = (uint32_t)values[SKIP_PASSES] & (LOOP_PASS_BIT - 1);
    ctx->skip_loop_passes = (uint32_t)values[SKIP_PASSES] / LOOP_PASS_BIT;
    ctx->verifies = values[VERIFY] != 0;
    ctx->explain = (unsigned)values[EXPLAIN];
    ctx->dump = (unsigned)values[DUMP];
    ctx->checks = (unsigned)values[CHECK];
    if (ctx->checks) /* a NaN of constants is an operation's, too */
        ctx->skip_passes |= UINT32_C(1) << TGI_PASS_fold;
    ctx->jit = (unsigned)values[JIT];
    ctx->is_eager =
        ctx->jit == TGI_JIT_REQUIRED || values[COMPILE] == COMPILE_EAGER;
    ctx->cpu = values[CPU] ? tgi_jit_cpus[values[CPU]].word : NULL;
    ctx->vector_bits = (unsigned)values[VECTOR_BITS];
    ctx->instruments = values[INSTRUMENT] != 0;
    ctx->threads = (int)values[THREADS];
    ctx->has_default_grain = values[GRAIN] == UINT64_MAX;
    ctx->grain = 1000 * (ctx->has_default_grain ? (int64_t)DEFAULT_GRAIN
                                                : (int64_t)values[GRAIN]);
    ctx->schedule_seed = values[SCHEDULE_SEED];
    ctx->plan = (unsigned)values[PLAN];
    ctx->plan_budget_ns = 1000000 * values[PLAN_BUDGET];
    ctx->is_calibrated = values[CALIBRATION] == CALIBRATION_ON;
    /* Process-wide, because code does not belong to a context. */
    if (values[SHOW_CODE])
        tgi_jit_show_code((unsigned)values[SHOW_CODE], ctx->dump_dir);
    *out_ctx = ctx;
    return TG_OK;
}

tg_context *tg_context_create(const tg_context_options *user_options)
{
    tgi_api_frame frame = tgi_api_enter(NULL, __func__);
    tg_context_options options;
    tg_context *ctx = NULL;
    if (tgi_versioned_read(&options, sizeof(options), user_options,
                           "tg_context_options") == TG_OK)
        (void)context_create(&options, &ctx);
    tgi_api_leave(frame);
    return ctx;
}

tg_context *tgi_context_ref(tg_context *ctx)
{
    tgi_refcount_inc(&ctx->refs);
    return ctx;
}

void tgi_context_unref(tg_context *ctx)
{
    if (tgi_refcount_dec(&ctx->refs))
        context_destroy(ctx);
}

/* In signal handlers, too: nothing but the advance of the word. */
void tg_cancel(tg_context *ctx)
{
    if (ctx)
        atomic_fetch_add(&ctx->cancel_word, 1);
}

tg_context *tg_context_retain(tg_context *ctx)
{
    if (ctx)
        tgi_refcount_inc(&ctx->handles);
    return ctx;
}

/* Takes one variable that the context owns out of its ownership; NULL: there
   is none. */
static tg_variable *disown_variable(tg_context *ctx)
{
    tg_variable *disowned = NULL;
    tgi_fork_lock_acquire(&ctx->lock);
    ctx->is_closed = true;
    for (size_t i = ctx->variables.n; i-- > 0 && !disowned;)
        if (ctx->variables.data[i]->is_shared)
            disowned = ctx->variables.data[i];
    if (disowned)
        disowned->is_shared = false;
    tgi_fork_lock_release(&ctx->lock);
    return disowned;
}

void tg_context_release(tg_context *ctx)
{
    if (!ctx || !tgi_refcount_dec(&ctx->handles))
        return;
    for (tg_variable *variable; (variable = disown_variable(ctx));)
        tg_variable_release(variable);
    tgi_context_unref(ctx);
}

tg_status tgi_context_check_memory(const tg_context *ctx, uint64_t bytes,
                                   const char *who, const char *what,
                                   tg_site site)
{
    if (bytes <= ctx->memory_limit)
        return TG_OK;
    TGI_FAIL(TG_ERROR_OUT_OF_MEMORY, site,
             "out of memory: %s needs %llu bytes%s, the limit is %llu", who,
             (unsigned long long)bytes, what,
             (unsigned long long)ctx->memory_limit);
}

/* -- Variables of a context ------------------------------------------------ */

size_t tg_context_variables(tg_context *ctx, tg_variable_filter filter,
                            tg_variable **out_variables, size_t capacity)
{
    if (!ctx)
        return 0;
    size_t n = 0;
    tgi_fork_lock_acquire(&ctx->lock);
    for (size_t i = 0; i < ctx->variables.n; i++) {
        tg_variable *variable = ctx->variables.data[i];
        if (filter == TG_TRAINABLE && !variable->is_trainable)
            continue;
        /* Skip a variable whose last reference is being released. */
        if (n < capacity && out_variables) {
            if (!tgi_refcount_try_inc(&variable->refs))
                continue;
            out_variables[n] = variable;
        }
        n++;
    }
    tgi_fork_lock_release(&ctx->lock);
    return n;
}

tg_variable *tg_context_find_variable(tg_context *ctx, const char *name)
{
    tg_variable *found = NULL;
    if (!ctx || !name)
        return NULL;
    tgi_fork_lock_acquire(&ctx->lock);
    for (size_t i = 0; i < ctx->variables.n && !found; i++) {
        tg_variable *variable = ctx->variables.data[i];
        if (strcmp(variable->name, name) == 0 &&
            tgi_refcount_try_inc(&variable->refs))
            found = variable;
    }
    tgi_fork_lock_release(&ctx->lock);
    return found;
}
