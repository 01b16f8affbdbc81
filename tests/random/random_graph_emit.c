/* SPDX-License-Identifier: MIT */
/*
 * random_graph_emit.c - compiles a program for another machine: into a disk
 * cache, with the keys that this machine computes. There the same program of
 * the same build finds its code (--filled), if both machines lower it to the
 * same loops and schedules.
 */
#include "cache/code.h"
#include "codegen/plugin.h"
#include "compile.h"
#include "front/object/cache_object.h"
#include "front/object/context_object.h"
#include "loop/loop_pass.h"
#include "random/random_graph.h"
#include "target/target.h"

static bool save(rg_checker *c, const tg_concrete *trace,
                 const tgi_strbuf *key, const tgi_codegen *codegen)
{
    tgi_strbuf value = {0};
    tgi_code_serialise(codegen, NULL, 0, &value);
    const bool good =
        !value.failed &&
        tgi_disk_cache_save(tgi_context_disk_cache(trace->ctx),
                            (tgi_byte_span){key->text, key->n},
                            (tgi_byte_span){value.text, value.n},
                            &trace->ctx->log);
    tgi_strbuf_deinit(&value);
    c->coverage->n_emitted += good;
    return good || rg_fail(c, NULL, trace->graph, "the code is not saved");
}

static bool compile(rg_checker *c, const tg_concrete *trace,
                    const tgi_loops *loops, const tgi_codegen_options *request,
                    const tgi_strbuf *key)
{
    char reason[512];
    const struct tgi_plugin *plugin =
        tgi_plugin_acquire(reason, sizeof(reason));
    if (!plugin)
        return rg_fail(c, NULL, trace->graph, "%s", reason);
    tgi_codegen codegen = {0};
    bool good = tgi_plugin_compile(plugin, loops, request, &codegen);
    good = good ? save(c, trace, key, &codegen)
                : rg_fail(c, NULL, trace->graph, "it is not compiled: %s",
                          codegen.error);
    plugin->dispose(&codegen);
    tgi_plugin_release();
    return good;
}

/* Compiles loops, unless the cache has their code. */
static bool emit_loops(rg_checker *c, const tg_concrete *trace,
                       const tgi_loops *loops)
{
    const tgi_jit_options options = {.cpu = trace->ctx->cpu,
                                     .vector_bits = trace->ctx->vector_bits,
                                     .verifies = true};
    tgi_codegen_options request = tgi_compile_request(loops, &options);
    request.host = c->settings->emits_for;
    tgi_strbuf key = {0};
    size_t n;
    tgi_code_key(loops, &request, &key);
    void *known =
        tgi_disk_cache_probe(tgi_context_disk_cache(trace->ctx),
                             (tgi_byte_span){key.text, key.n}, &n);
    const bool good = known || compile(c, trace, loops, &request, &key);
    tgi_free(known);
    tgi_strbuf_deinit(&key);
    return good;
}

bool rg_emit(rg_checker *c, tg_concrete *trace, const int64_t *values)
{
    tgi_variant variant;
    tgi_target target;
    tgi_loops *loops = NULL;
    if (tgi_variant_init(&variant, trace->graph, values))
        return rg_fail(c, NULL, trace->graph, "no variant: %s", tg_error(NULL));
    tgi_target_init(trace->ctx->cpu, trace->ctx->vector_bits, &target);
    const tgi_loop_pass_options options = {
        .skip = trace->ctx->skip_loop_passes,
        .verifies = true,
        .target = &target,
        .schedule_seed = trace->ctx->schedule_seed};
    const tg_status status =
        tgi_loop_passes_run(trace->graph, &variant, &options, &loops);
    tgi_variant_deinit(&variant);
    const bool good =
        status ? rg_fail(c, NULL, trace->graph, "no loops: %s", tg_error(NULL))
               : emit_loops(c, trace, loops);
    tgi_loops_destroy(loops);
    return good;
}
