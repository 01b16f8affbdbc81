/* SPDX-License-Identifier: MIT */
/*
 * compile_variant.c - see compile_variant.h.
 */
#include "front/call/compile_variant.h"

#include <stdio.h>
#include <string.h>

#include "base/cancel.h"
#include "front/call/compile_policy.h"
#include "front/call/function_object.h"
#include "front/call/inspect_concrete.h"
#include "front/object/dump_file.h"

/* True if TGJIT_DUMP or TGJIT_EXPLAIN names this stage of the compiler. */
static bool wants_stage(const char *stage, void *user)
{
    const tg_concrete *c = user;
    unsigned dump = c->ctx->dump;
    if (strcmp(stage, "fusion") == 0)
        return c->ctx->explain & TGI_EXPLAIN_FUSION;
    if (strcmp(stage, "loops") == 0)
        return dump & TGI_DUMP_LOOPS;
    if (strcmp(stage, "passes") == 0)
        return dump & TGI_DUMP_PASSES;
    if (strcmp(stage, "asm") == 0)
        return dump & TGI_DUMP_ASM;
    return dump & TGI_DUMP_LLVM;
}

static void dump_compiler_stage(const char *stage, const char *text, void *user)
{
    tg_concrete *c = user;
    if (strcmp(stage, "fusion") == 0)
        tgi_log_write(&c->ctx->log, TG_LOG_WARN, TGI_LOG_JIT,
                      "fusion of %s, trace %u:\n%s", c->name, c->number, text);
    else
        tgi_dump_text(c->ctx, c->name, c->number, stage,
                      strcmp(stage, "asm") == 0      ? "s"
                      : strncmp(stage, "ir", 2) == 0 ? "ll"
                                                     : "txt",
                      text);
}

/* Logs why a trace is interpreted. If there is no code generator, only the
   first message of a context is a warning. */
static void warn_interpreted(tg_concrete *c, const char *reason)
{
    if (tgi_jit_is_exiting())
        return;
    const bool is_new = !tgi_jit_is_unavailable() ||
                        !atomic_exchange(&c->ctx->has_warned_no_jit, true);
    tgi_log_write(&c->ctx->log, is_new ? TG_LOG_WARN : TG_LOG_DEBUG,
                  TGI_LOG_JIT, "%s: interpreted: %s", c->name, reason);
}

/* Reports that calls with these extents are interpreted. */
static void interpret(tg_concrete *c, const int64_t *values, const char *reason)
{
    warn_interpreted(c, reason);
    tgi_concrete_write_page(c, values, NULL, reason);
}

/* Logs how the code of a trace was made. */
static void log_program(const tg_concrete *c, const tgi_program *program)
{
    static const char *const made[TGI_CODE_SOURCES] = {
        [TGI_CODE_COMPILED] = "code compiled",
        [TGI_CODE_FROM_MEMORY] = "code found in memory",
        [TGI_CODE_FROM_DISK] = "code loaded from disk"};
    const tgi_compile_stats *stats = tgi_program_stats(program);
    uint64_t ns = 0;
    char timed[64] = "";
    for (int i = 0; i < TGI_N_PHASES; i++)
        ns += stats->phase_ns[i];
    if (stats->n_timed)
        snprintf(timed, sizeof(timed), ", %llu schedule%s timed",
                 (unsigned long long)stats->n_timed,
                 TGI_PLURAL(stats->n_timed));
    tgi_log_write(&c->ctx->log, TG_LOG_INFO, TGI_LOG_JIT,
                  "%s:%d: %s: %s in %.2f ms%s",
                  c->site.file ? c->site.file : "?", c->site.line, c->name,
                  made[stats->source], 1e-6 * (double)ns, timed);
}

static tgi_tuning tuning_of(const tg_concrete *c)
{
    return (tgi_tuning){.timer = c->is_measured ? &tgi_scratch_timer : NULL,
                        .budget_ns = c->ctx->plan_budget_ns,
                        .threads = c->ctx->threads,
                        .grain = tgi_context_grain(c->ctx),
                        .memory_limit = c->ctx->memory_limit};
}

tgi_jit_options tgi_compile_options(const tg_concrete *c)
{
    return (tgi_jit_options){.log = &c->ctx->log,
                             .cpu = c->ctx->cpu,
                             .vector_bits = c->ctx->vector_bits,
                             .skip_passes = c->ctx->skip_loop_passes,
                             .verifies = c->ctx->verifies,
                             .schedule_seed = c->ctx->schedule_seed,
                             .tuning = tuning_of(c),
                             .calibration = tgi_context_calibration(c->ctx),
                             .instruments = c->ctx->instruments};
}

tg_status tgi_compile_variant(tg_concrete *c, const int64_t *values,
                              size_t budget, size_t *out_work,
                              tgi_program **out_program)
{
    tgi_jit_options options = tgi_compile_options(c);
    options.disk_cache = tgi_context_disk_cache(c->ctx);
    options.max_work = budget;
    options.wants_stage = wants_stage;
    options.observe_stage = dump_compiler_stage;
    options.user = c;
    tgi_error_copy before;
    tgi_error_save(&before);
    tg_status status = tgi_program_create(c->checked ? c->checked : c->graph,
                                          values, &options, out_work,
                                          out_program);
    if (*out_program) {
        log_program(c, *out_program);
        tgi_concrete_write_page(c, values, *out_program, NULL);
    }
    if (*out_work > TGI_MAX_COMPILE_WORK) {
        *out_work = 0;
        interpret(c, values,
                  "the compile is estimated to exceed ten seconds; "
                  "set TGJIT_JIT=required");
    }
    if (!status || c->ctx->jit == TGI_JIT_REQUIRED ||
        status == TG_ERROR_OUT_OF_MEMORY || tgi_status_is_cancelled(status))
        return status;
    interpret(c, values, tg_error_last()->message);
    tgi_error_restore(&before);
    return TG_OK;
}
