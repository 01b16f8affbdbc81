/* SPDX-License-Identifier: MIT */
/*
 * compile.c - see compile.h.
 */
#include "compile.h"

#include <unistd.h>

#include "assembly_dump.h"
#include "base/cancel.h"
#include "base/error.h"
#include "cache/code_cache.h"
#include "codegen/plugin.h"
#include "object/image_debug.h"
#include "profile/timeline.h"

typedef struct job {
    tgi_loops *loops;
    const int64_t *graph_values;
    const tgi_target *target;
    const tgi_jit_options *options;
    tgi_codegen_options request;
    tgi_strbuf key;
    bool cached_only;
    bool is_tuned;   /* the loops have the schedules of … */
    tgi_strbuf plan; /* … this plan; empty: they are estimated */
    char directory[4096]; /* of request.debug_directory */
} job;

bool tgi_jit_wants_stage(const tgi_jit_options *options, const char *stage)
{
    return options->wants_stage && options->wants_stage(stage, options->user);
}

void tgi_jit_report_stage(const tgi_jit_options *options, const char *stage,
                          const char *text)
{
    if (text && tgi_jit_wants_stage(options, stage))
        options->observe_stage(stage, text, options->user);
}

/* Adds the time since `begin` to a phase of the stats and to the timeline. */
static void end_phase(const job *j, tgi_profile_phase phase, uint64_t begin)
{
    const uint64_t end = tgi_clock_ns();
    j->options->stats->phase_ns[phase] += end - begin;
    tgi_timeline_add("compile", tgi_profile_phase_names[phase], j->loops->name,
                     begin, end);
}

/* -- Measured planning ----------------------------------------------------- */

/* Not of random schedules, nor of code that is slowed down by checks. */
static bool is_measured(const job *j)
{
    return j->options->tuning.timer && !j->options->instruments &&
           !j->options->schedule_seed;
}

/* Gives the loops the schedules of a measured plan. If that fails, they keep
   those that are estimated. */
static void tune(job *j)
{
    tgi_error_copy before;
    tgi_error_save(&before);
    const uint64_t begin = tgi_clock_ns();
    const tg_status status =
        tgi_tune(j->loops, j->graph_values, j->target, j->options, &j->plan,
                 &j->options->stats->n_timed);
    end_phase(j, TGI_PHASE_SCHEDULE, begin);
    tgi_code_cache_count_timed(j->options->stats->n_timed);
    j->is_tuned = !status && !j->plan.failed;
    if (!j->is_tuned) {
        tgi_strbuf_deinit(&j->plan);
        j->plan = (tgi_strbuf){0};
        if (j->options->log)
            tgi_log_write(j->options->log, TG_LOG_INFO, TGI_LOG_JIT,
                          "%s: planned by estimate: %s", j->loops->name,
                          status ? tg_error_last()->message : "out of memory");
    }
    tgi_error_restore(&before);
}

/* -- Code generator -------------------------------------------------------- */

static void log_compile(const job *j, const tgi_codegen *codegen)
{
    if (j->options->log)
        tgi_log_write(j->options->log, TG_LOG_DEBUG, TGI_LOG_JIT,
                      "%s: compiled %zu kernel%s, %zu bytes: ir %.2f ms, "
                      "passes %.2f ms, code %.2f ms",
                      j->loops->name, j->loops->kernels.n,
                      TGI_PLURAL(j->loops->kernels.n), codegen->object_bytes,
                      codegen->build_time, codegen->passes_time,
                      codegen->codegen_time);
}

static void save_to_disk(job *j, const tgi_codegen *codegen)
{
    tgi_strbuf value = {0};
    tgi_code_serialise(codegen, j->plan.text, j->plan.n, &value);
    if (!value.failed)
        (void)tgi_disk_cache_save(
            j->options->disk_cache, (tgi_byte_span){j->key.text, j->key.n},
            (tgi_byte_span){value.text, value.n}, j->options->log);
    tgi_strbuf_deinit(&value);
}

static void report_assembly(const job *j, const tgi_codegen *codegen)
{
    if (!codegen->assembly)
        return;
    tgi_strbuf text = {0};
    tgi_assembly_dump(j->loops, codegen, &text);
    if (!text.failed)
        tgi_jit_report_stage(j->options, "asm", text.text);
    tgi_strbuf_deinit(&text);
}

/* Reports stages, loads the object and saves it. */
static tg_status load_generated(job *j, const tgi_codegen *codegen,
                                bool is_good, tgi_code **out_code)
{
    tgi_jit_report_stage(j->options, "ir", codegen->ir_before);
    tgi_jit_report_stage(j->options, "ir-after", codegen->ir_after);
    report_assembly(j, codegen);
    if (!is_good && codegen->is_out_of_memory)
        return tgi_error_memory();
    if (!is_good)
        TGI_FAIL(TG_ERROR_UNSUPPORTED, TGI_NO_SITE, "cannot compile '%s': %s",
                 j->loops->name, codegen->error);
    const uint64_t begin = tgi_clock_ns();
    TGI_TRY(tgi_code_create(codegen, out_code));
    end_phase(j, TGI_PHASE_LOAD, begin);
    log_compile(j, codegen);
    const tg_status status =
        tgi_code_set_plan(*out_code, j->plan.text, j->plan.n);
    if (status) {
        tgi_code_release(*out_code);
        *out_code = NULL;
        return status;
    }
    /* Not without the plan that the key promises: a later process finds it. */
    if (j->options->disk_cache && j->key.n && j->is_tuned == is_measured(j))
        save_to_disk(j, codegen);
    return TG_OK;
}

static tg_status generate_code(job *j, tgi_code **out_code)
{
    char reason[1024];
    const struct tgi_plugin *plugin =
        tgi_plugin_acquire(reason, sizeof(reason));
    if (!plugin)
        TGI_FAIL(TG_ERROR_UNSUPPORTED, TGI_NO_SITE, "%s", reason);
    tgi_codegen codegen = {0};
    const uint64_t begin = tgi_clock_ns();
    const bool is_good =
        tgi_plugin_compile(plugin, j->loops, &j->request, &codegen);
    end_phase(j, TGI_PHASE_CODEGEN, begin);
    j->options->stats->source = TGI_CODE_COMPILED;
    tg_status status = load_generated(j, &codegen, is_good, out_code);
    plugin->dispose(&codegen);
    tgi_plugin_release();
    return status;
}

/* -- Caches ---------------------------------------------------------------- */

/* NULL if the disk cache has no usable entry. */
static tgi_code *load_from_disk(job *j)
{
    size_t n;
    tgi_code *code = NULL;
    tgi_error_copy before;
    const tgi_byte_span key = {j->key.text, j->key.n};
    void *bytes = j->cached_only
                      ? tgi_disk_cache_probe(j->options->disk_cache, key, &n)
                      : tgi_disk_cache_load(j->options->disk_cache, key,
                                            j->options->log, &n);
    if (!bytes)
        return NULL;
    tgi_error_save(&before);
    if (tgi_code_deserialise(bytes, n, j->loops->kernels.n, &code)) {
        if (j->options->log)
            tgi_log_write(j->options->log, TG_LOG_DEBUG, TGI_LOG_CACHE,
                          "%s: %s", j->loops->name, tg_error_last()->message);
        tgi_error_restore(&before);
    }
    tgi_free(bytes);
    return code;
}

/* The code of an entry that the in-memory cache lacks: tgi_code_build_fn. */
static tg_status load_or_generate(void *user, tgi_code **out_code)
{
    job *j = user;
    const uint64_t begin = tgi_clock_ns();
    *out_code = j->options->disk_cache ? load_from_disk(j) : NULL;
    if (*out_code) {
        end_phase(j, TGI_PHASE_LOAD, begin);
        j->options->stats->source = TGI_CODE_FROM_DISK;
    }
    if (*out_code || j->cached_only)
        return TG_OK;
    if (is_measured(j))
        tune(j);
    TGI_TRY(tgi_cancel_check());
    return generate_code(j, out_code);
}

/* The code of a job from the caches, or generated. The loops have its schedules
   then. */
static tg_status get_code(job *j, tgi_code **out_code)
{
    tgi_code_key(j->loops, &j->request, &j->key);
    if (is_measured(j))
        tgi_tune_key(j->loops, j->graph_values, &j->options->tuning, &j->key);
    j->options->stats->source = TGI_CODE_FROM_MEMORY; /* unless it is built */
    tg_status status =
        j->key.failed ? tgi_error_memory()
                      : tgi_code_cache_get(j->key.text, j->key.n,
                                           !j->cached_only, load_or_generate, j,
                                           out_code);
    if (!status && *out_code && (*out_code)->plan && !j->is_tuned)
        status = tgi_tune_apply(j->loops, j->target, (*out_code)->plan,
                                (*out_code)->plan_bytes);
    if (status) {
        tgi_code_release(*out_code);
        *out_code = NULL;
    }
    tgi_strbuf_deinit(&j->plan);
    tgi_strbuf_deinit(&j->key);
    return status;
}

/*
 * Requests debug information if something can show it. A compile takes 5 to 10 %
 * longer, and functions with the same code but other lines do not share it.
 */
static void request_debug_info(job *j)
{
    if (!j->request.wants_assembly && !tgi_image_debug_shows_lines())
        return;
    if (!getcwd(j->directory, sizeof(j->directory)))
        j->directory[0] = 0;
    j->request.debug_directory = j->directory;
}

tgi_codegen_options tgi_compile_request(const tgi_loops *loops,
                                        const tgi_jit_options *options)
{
    return (tgi_codegen_options){
        .cpu = options->cpu,
        .vector_bits = options->vector_bits,
        .verify = options->verifies,
        .instruments = options->instruments,
        .has_step_hooks = !tgi_loops_are_single(loops),
        .has_polls = tgi_loops_have_starts(loops),
        .can_be_cancelled = true,
        .wants_ir = tgi_jit_wants_stage(options, "ir") ||
                    tgi_jit_wants_stage(options, "ir-after"),
        .wants_assembly = tgi_jit_wants_stage(options, "asm"),
        .alloc = tgi_alloc,
        .free = tgi_free};
}

/* Gives the loops the schedules that their code has without dumps. */
static tg_status find_plan(const job *j)
{
    job cached = *j;
    tgi_code *code = NULL;
    cached.request.wants_ir = cached.request.wants_assembly = false;
    TGI_TRY(get_code(&cached, &code));
    tgi_code_release(code);
    return TG_OK;
}

void tgi_compile_target(const tgi_jit_options *options, tgi_target *out_target)
{
    tgi_target_init(options->cpu, options->vector_bits, out_target);
    if (!options->cpu)
        tgi_calibration_apply(&options->calibration, out_target);
}

tg_status tgi_compile_alone(tgi_loops *loops, const tgi_jit_options *options,
                            tgi_code **out_code)
{
    tgi_compile_stats stats = {0};
    tgi_jit_options quiet = *options;
    quiet.log = NULL;
    quiet.disk_cache = NULL;
    quiet.wants_stage = NULL;
    quiet.tuning = (tgi_tuning){0};
    quiet.stats = &stats;
    job j = {.loops = loops,
             .options = &quiet,
             .request = tgi_compile_request(loops, &quiet)};
    *out_code = NULL;
    return generate_code(&j, out_code);
}

tg_status tgi_compile(tgi_loops *loops, const int64_t *graph_values,
                      const tgi_target *target, const tgi_jit_options *options,
                      bool cached_only, tgi_code **out_code)
{
    job j = {.loops = loops,
             .graph_values = graph_values,
             .target = target,
             .options = options,
             .cached_only = cached_only,
             .request = tgi_compile_request(loops, options)};
    request_debug_info(&j);
    /* IR that is dumped is also verified. */
    j.request.verify |= j.request.wants_ir;
    /* No cache: caches do not have the text of stages, and instrumented code
       contains addresses of this process. */
    if (j.request.wants_ir || j.request.wants_assembly ||
        options->instruments) {
        *out_code = NULL;
        if (cached_only)
            return TG_OK;
        if (is_measured(&j))
            TGI_TRY(find_plan(&j));
        return generate_code(&j, out_code);
    }
    return get_code(&j, out_code);
}
