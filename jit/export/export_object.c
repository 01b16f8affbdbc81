/* SPDX-License-Identifier: MIT */
/*
 * export_object.c - compiles a graph into an object for other programs: the
 * pipeline of program.c without caches, and with memory planned at compile
 * time.
 */
#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "codegen/plugin.h"
#include "fuse/variant.h"
#include "jit.h"
#include "memory/memory_plan.h"
#include "program.h"
#include "target/target.h"

/* Limit of the constants, and of the static temporaries, of an object: its code
   addresses at most 2 GiB. */
#define MAX_BYTES ((int64_t)1 << 30)

typedef struct job {
    const tgi_graph *graph;
    const tgi_export_options *options;
    tgi_loops *loops;
    int64_t *sizes, *offsets; /* by buffer */
    tgi_export_buffer *buffers;
    tgi_export_param *params; /* of the graph, then its results */
    int64_t memory_bytes, constant_bytes;
} job;

/* -- Loops and memory plan ------------------------------------------------- */

static tg_status fuse_graph(job *j)
{
    tgi_variant variant;
    TGI_TRY(tgi_variant_init(&variant, j->graph, NULL));
    tgi_target target;
    tgi_target_init(j->options->cpu, j->options->vector_bits, &target);
    const tgi_loop_pass_options options = {.skip = j->options->skip_passes,
                                           .verifies = j->options->verifies,
                                           .target = &target};
    tg_status status =
        tgi_loop_passes_run(j->graph, &variant, &options, &j->loops);
    tgi_variant_deinit(&variant);
    TGI_TRY(status);
    if (j->loops->hosts.n) {
        const tgi_host_step *host = &j->loops->hosts.data[0];
        const tgi_node *node = tgi_graph_node(host->graph, host->node);
        TGI_FAIL(TG_ERROR_UNSUPPORTED, tgi_node_site(node),
                 "'%s' %s, which an exported function cannot do",
                 j->graph->name,
                 node->op == TGI_OP_PRINT  ? "prints"
                 : node->op == TGI_OP_FAIL ? "asserts"
                                           : "calls the host");
    }
    for (size_t i = 0; i < j->loops->controls.n; i++) {
        const tgi_control_flow *loop = &j->loops->controls.data[i];
        if (!tgi_stack_set_id_is_none(loop->stack_set))
            TGI_FAIL(TG_ERROR_UNSUPPORTED,
                     tgi_node_site(tgi_graph_node(loop->graph, loop->node)),
                     "'%s' saves values in a loop of unknown length, for which "
                     "an exported function has no memory",
                     j->graph->name);
    }
    /* Exported functions do not memoise: they have no versions of variables. */
    for (size_t i = 0; i < j->loops->kernels.n; i++)
        j->loops->kernels.data[i]->memo = (tgi_memo_id){0};
    return tgi_loops_verify(j->loops);
}

bool tgi_export_is_by_value(const tgi_graph *graph, size_t param)
{
    const tgi_ref ref = graph->params.data[param].node;
    return tgi_graph_node(graph, ref)->op == TGI_OP_PARAM &&
           tgi_graph_shape(graph, ref)->rank == 0;
}

static void fill_params(job *j)
{
    const tgi_graph *graph = j->graph;
    tgi_export_param *out = j->params;
    for (size_t i = 0; i < graph->params.n; i++)
        *out++ = (tgi_export_param){
            .dtype = tgi_graph_node(graph, graph->params.data[i].node)->dtype,
            .is_by_value = tgi_export_is_by_value(graph, i)};
    for (size_t i = 0; i < graph->results.n; i++)
        *out++ = (tgi_export_param){
            .dtype = tgi_graph_node(graph, graph->results.data[i])->dtype};
}

static void fill_buffers(job *j)
{
    for (size_t i = 0; i < j->loops->buffers.n; i++) {
        const tgi_loop_buffer *b = &j->loops->buffers.data[i];
        tgi_export_buffer *out = &j->buffers[i];
        *out = (tgi_export_buffer){.bytes = j->sizes[i]};
        if (!j->sizes[i])
            continue;
        switch ((tgi_place)b->place) {
        case TGI_PLACE_PARAM:
            out->place = TGI_EXPORT_PARAM;
            out->param = b->index;
            break;
        case TGI_PLACE_RESULT:
            out->place = TGI_EXPORT_PARAM;
            out->param = (uint32_t)j->graph->params.n + b->index;
            break;
        case TGI_PLACE_CONSTANT:
            out->place = TGI_EXPORT_DATA;
            out->data = tgi_graph_constant(b->graph, b->node);
            j->constant_bytes += j->sizes[i];
            break;
        case TGI_PLACE_TEMP:
        case TGI_PLACE_SCRATCH:
        case TGI_PLACE_BLOCK:
            out->place = TGI_EXPORT_MEMORY;
            out->offset = j->offsets[i];
            break;
        case TGI_PLACE_SSA:
        case TGI_PLACE_COUNTER:
        case TGI_PLACE_STACK:
            break;
        }
    }
}

static tg_status plan_memory(job *j)
{
    const size_t n = j->loops->buffers.n + 1;
    tgi_memory_plan plan;
    j->sizes = tgi_alloc_zero(n * sizeof(*j->sizes));
    j->offsets = tgi_alloc_zero(n * sizeof(*j->offsets));
    j->buffers = tgi_alloc_zero(n * sizeof(*j->buffers));
    j->params = tgi_alloc_zero(
        (j->graph->params.n + j->graph->results.n + 1) * sizeof(*j->params));
    if (!j->sizes || !j->offsets || !j->buffers || !j->params)
        return tgi_error_memory();
    /* All extents are known: no values are needed. */
    TGI_TRY(tgi_plan_sizes(j->loops, NULL, j->sizes));
    TGI_TRY(tgi_plan_memory(j->loops, j->sizes, j->options->threads,
                            j->offsets, &plan));
    j->memory_bytes = plan.bytes;
    fill_params(j);
    fill_buffers(j);
    if (j->constant_bytes > MAX_BYTES)
        TGI_FAIL(TG_ERROR_UNSUPPORTED, TGI_NO_SITE,
                 "'%s' has %lld bytes of constants, but the limit is %lld",
                 j->graph->name, (long long)j->constant_bytes,
                 (long long)MAX_BYTES);
    if (j->memory_bytes > MAX_BYTES && !j->options->takes_memory)
        TGI_FAIL(TG_ERROR_UNSUPPORTED, TGI_NO_SITE,
                 "'%s' needs %lld bytes of temporaries, but the limit is %lld; "
                 "set the option memory to TG_EXPORT_CALLER",
                 j->graph->name, (long long)j->memory_bytes,
                 (long long)MAX_BYTES);
    return TG_OK;
}

/* -- Object ---------------------------------------------------------------- */

static int choose_threads(const job *j)
{
    return tgi_plan_threads(tgi_plan_work(j->loops, NULL), j->options->grain,
                            j->options->threads);
}

static tg_status copy_object(const job *j, const tgi_codegen *codegen,
                             bool is_good, tgi_exported *out)
{
    if (!is_good && codegen->is_out_of_memory)
        return tgi_error_memory();
    if (!is_good)
        TGI_FAIL(TG_ERROR_UNSUPPORTED, TGI_NO_SITE, "cannot compile '%s': %s",
                 j->graph->name, codegen->error);
    *out = (tgi_exported){.object = tgi_alloc(codegen->object_bytes),
                          .object_bytes = codegen->object_bytes,
                          .memory_bytes = j->memory_bytes,
                          .threads = choose_threads(j)};
    if (!out->object)
        return tgi_error_memory();
    memcpy(out->object, codegen->object, codegen->object_bytes);
    return TG_OK;
}

static tg_status generate_object(const job *j, tgi_exported *out)
{
    const tgi_codegen_export export = {
        .symbol = j->options->symbol,
        .params = j->params,
        .n_params = j->graph->params.n + j->graph->results.n,
        .buffers = j->buffers,
        .memory_bytes = j->memory_bytes,
        .takes_memory = j->options->takes_memory,
        .grain = j->options->grain,
        .n_threads = choose_threads(j)};
    const tgi_codegen_options request = {.cpu = j->options->cpu,
                                         .vector_bits = j->options->vector_bits,
                                         .verify = j->options->verifies,
                                         .export = &export,
                                         .alloc = tgi_alloc,
                                         .free = tgi_free};
    char reason[1024];
    const struct tgi_plugin *plugin =
        tgi_plugin_acquire(reason, sizeof(reason));
    if (!plugin)
        TGI_FAIL(TG_ERROR_UNSUPPORTED, TGI_NO_SITE, "%s", reason);
    tgi_codegen codegen = {0};
    const bool is_good =
        tgi_plugin_compile(plugin, j->loops, &request, &codegen);
    tg_status status = copy_object(j, &codegen, is_good, out);
    plugin->dispose(&codegen);
    tgi_plugin_release();
    return status;
}

/* -- Entry points ---------------------------------------------------------- */

tg_status tgi_jit_export(const tgi_graph *graph,
                         const tgi_export_options *options,
                         tgi_exported *out_exported)
{
    *out_exported = (tgi_exported){0};
    assert(tgi_dims_n_symbols(graph->dims) == 0);
    TGI_TRY(tgi_program_check_no_calls(graph));
    TGI_TRY(tgi_graph_run_checks(graph, NULL));
    job j = {.graph = graph, .options = options};
    tg_status status = fuse_graph(&j);
    if (!status)
        status = plan_memory(&j);
    if (!status)
        status = generate_object(&j, out_exported);
    tgi_free(j.params);
    tgi_free(j.buffers);
    tgi_free(j.offsets);
    tgi_free(j.sizes);
    tgi_loops_destroy(j.loops);
    return status;
}

void tgi_exported_deinit(tgi_exported *exported)
{
    tgi_free(exported->object);
    *exported = (tgi_exported){0};
}
