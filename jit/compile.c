/* SPDX-License-Identifier: MIT */
/*
 * compile.c - see compile.h.
 */
#include "compile.h"

#include "base/error.h"
#include "cache/code_cache.h"
#include "codegen/plugin.h"
#include "target/cpu_cache.h"

typedef struct job {
    const tgi_loops *loops;
    const tgi_jit_options *options;
    tgi_codegen_options asked;
    tgi_strbuf key;
    bool only_looks;
} job;

bool tgi_jit_wants_stage(const tgi_jit_options *options, const char *stage)
{
    return options->wants && options->wants(stage, options->user);
}

void tgi_jit_report_stage(const tgi_jit_options *options, const char *stage,
                          const char *text)
{
    if (text && tgi_jit_wants_stage(options, stage))
        options->observe(stage, text, options->user);
}

/* -- By the code generator ------------------------------------------------- */

static void tell(const job *j, const tgi_codegen *codegen)
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

static void save(job *j, const tgi_codegen *codegen)
{
    tgi_strbuf value = {0};
    tgi_code_serialise(codegen, &value);
    if (!value.failed)
        (void)tgi_disk_cache_save(
            j->options->store, (tgi_byte_span){j->key.text, j->key.n},
            (tgi_byte_span){value.text, value.n}, j->options->log);
    tgi_strbuf_deinit(&value);
}

static tg_status take(job *j, const tgi_codegen *codegen, bool is_good,
                      tgi_code **out_code)
{
    tgi_jit_report_stage(j->options, "ir", codegen->ir_before);
    tgi_jit_report_stage(j->options, "ir-after", codegen->ir_after);
    tgi_jit_report_stage(j->options, "asm", codegen->assembly);
    if (!is_good && codegen->is_out_of_memory)
        return tgi_error_memory();
    if (!is_good)
        TGI_FAIL(TG_ERROR_UNSUPPORTED, TGI_NO_SITE, "cannot compile '%s': %s",
                 j->loops->name, codegen->error);
    TGI_TRY(tgi_code_create(codegen, out_code));
    tell(j, codegen);
    if (j->options->store && j->key.n)
        save(j, codegen);
    return TG_OK;
}

static tg_status generate(job *j, tgi_code **out_code)
{
    char reason[1024];
    const struct tgi_plugin *module =
        tgi_plugin_acquire(reason, sizeof(reason));
    if (!module)
        TGI_FAIL(TG_ERROR_UNSUPPORTED, TGI_NO_SITE, "%s", reason);
    tgi_codegen codegen = {0};
    const bool is_good =
        tgi_plugin_compile(module, j->loops, &j->asked, &codegen);
    tg_status status = take(j, &codegen, is_good, out_code);
    module->dispose(&codegen);
    tgi_plugin_release();
    return status;
}

/* -- From the store -------------------------------------------------------- */

/* NULL if it is not there, or cannot be used. */
static tgi_code *find_stored(job *j)
{
    size_t n;
    tgi_code *code = NULL;
    tgi_error_copy before;
    const tgi_byte_span key = {j->key.text, j->key.n};
    void *bytes =
        j->only_looks
            ? tgi_disk_cache_probe(j->options->store, key, &n)
            : tgi_disk_cache_load(j->options->store, key, j->options->log, &n);
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

static tg_status make(void *user, tgi_code **out_code)
{
    job *j = user;
    *out_code = j->options->store ? find_stored(j) : NULL;
    return *out_code || j->only_looks ? TG_OK : generate(j, out_code);
}

/* -- All of it ------------------------------------------------------------- */

tg_status tgi_compile(const tgi_loops *loops, const tgi_jit_options *options,
                      bool only_looks, tgi_code **out_code)
{
    job j = {.loops = loops,
             .options = options,
             .only_looks = only_looks,
             .asked = {.cpu = options->cpu,
                       .vector_bits = options->vector_bits,
                       .cache_bytes = tgi_cpu_cache_bytes(),
                       .verify = options->verifies,
                       .instruments = options->instruments,
                       .wants_ir = tgi_jit_wants_stage(options, "ir") ||
                                   tgi_jit_wants_stage(options, "ir-after"),
                       .wants_assembly = tgi_jit_wants_stage(options, "asm"),
                       .alloc = tgi_alloc,
                       .free = tgi_free}};
    /* Whoever looks at it wants to know. */
    j.asked.verify |= j.asked.wants_ir;
    /* What is to be seen must be made. Instrumented code has addresses of this
       process in it. */
    if (j.asked.wants_ir || j.asked.wants_assembly || options->instruments) {
        *out_code = NULL;
        return only_looks ? TG_OK : generate(&j, out_code);
    }
    tgi_code_key(loops, &j.asked, &j.key);
    tg_status status = j.key.failed
                           ? tgi_error_memory()
                           : tgi_code_cache_get(j.key.text, j.key.n,
                                                !only_looks, make, &j,
                                                out_code);
    tgi_strbuf_deinit(&j.key);
    return status;
}
