/* SPDX-License-Identifier: MIT */
/*
 * program.c - compiles a graph: the pipeline from the graph to callable code.
 */
#include "program.h"

#include "base/error.h"
#include "base/live.h"
#include "compile.h"
#include "fuse/variant.h"
#include "loop/inst_cost.h"
#include "loop/loop_pass.h"
#include "memory/memory_plan.h"
#include "object/image_debug.h"
#include "profile/timeline.h"
#include "schedule/schedule.h"
#include "target/target.h"

tg_status tgi_program_check_no_calls(const tgi_graph *graph)
{
    for (tgi_ref ref = 1; graph->callees.n && ref <= graph->n_nodes; ref++) {
        const tgi_node *node = tgi_graph_node(graph, ref);
        if (node->op == TGI_OP_CALL)
            TGI_FAIL(TG_ERROR_UNSUPPORTED, TGI_NO_SITE,
                     "'%s' has calls that were not inlined", graph->name);
        const tgi_regions regions = tgi_node_regions(node);
        for (size_t i = 0; i < regions.n; i++)
            TGI_TRY(tgi_program_check_no_calls(regions.graphs[i]));
    }
    return TG_OK;
}

/* -- Introspection --------------------------------------------------------- */

void tgi_jit_show_code(unsigned tools, const char *directory)
{
    _Static_assert((int)TGI_SHOW_GDB == (int)TGI_DEBUG_GDB &&
                       (int)TGI_SHOW_PERF == (int)TGI_DEBUG_PERF &&
                       (int)TGI_SHOW_JITDUMP == (int)TGI_DEBUG_JITDUMP,
                   "the same tools");
    tgi_image_debug_enable(tools, directory);
}

tg_status tgi_jit_print_loops(const tgi_graph *graph, const int64_t *values,
                              uint32_t skip_passes, bool explains_fusion,
                              tgi_strbuf *out)
{
    tgi_variant variant;
    tgi_loops *loops = NULL;
    TGI_TRY(tgi_program_check_no_calls(graph));
    TGI_TRY(tgi_variant_init(&variant, graph, values));
    const tgi_loop_pass_options options = {
        .skip = skip_passes, .explain = explains_fusion ? out : NULL};
    tg_status status = tgi_loop_passes_run(graph, &variant, &options, &loops);
    if (!status && !explains_fusion)
        tgi_loops_print(loops, TGI_LOOPS_SOURCE, out);
    if (!status && explains_fusion)
        status = tgi_plan_print(loops, NULL, out);
    tgi_loops_destroy(loops);
    tgi_variant_deinit(&variant);
    return status;
}

/* -- Pipeline -------------------------------------------------------------- */

static void report_pass(const char *stage, const tgi_loops *loops, void *user)
{
    const tgi_jit_options *options = user;
    tgi_strbuf text = {0};
    tgi_loops_print(loops, TGI_LOOPS_SOURCE, &text);
    if (!text.failed)
        options->observe_stage(stage, text.text, options->user);
    tgi_strbuf_deinit(&text);
}

/* Runs the loop passes. Appends their decisions to `explain` if the observer
   wants stage "fusion". */
static tg_status make_loops(tgi_program *program, const int64_t *values,
                            const tgi_target *target,
                            const tgi_jit_options *options, tgi_strbuf *explain)
{
    tgi_variant variant;
    TGI_TRY(tgi_variant_init(&variant, program->graph, values));
    tgi_jit_options observed = *options;
    uint64_t times[TGI_N_LOOP_PASSES] = {0};
    const tgi_loop_pass_options pass_options = {
        .times = times,
        .log = options->log,
        .skip = options->skip_passes,
        .verifies = options->verifies,
        .target = target,
        .schedule_seed = options->schedule_seed,
        .explain = tgi_jit_wants_stage(options, "fusion") ? explain : NULL,
        .observe = tgi_jit_wants_stage(options, "passes") ? report_pass : NULL,
        .observe_user = &observed};
    tg_status status = tgi_loop_passes_run(program->graph, &variant,
                                           &pass_options, &program->loops);
    for (int i = 0; i < TGI_N_LOOP_PASSES; i++)
        program->stats.phase_ns[i < TGI_LOOP_PASS_schedule
                                    ? TGI_PHASE_FUSE
                                    : TGI_PHASE_SCHEDULE] += times[i];
    if (!status && tgi_jit_wants_stage(options, "fusion"))
        status = tgi_plan_print(program->loops, values, explain);
    tgi_variant_deinit(&variant);
    return status;
}

static void report_loops(const tgi_program *program,
                         const tgi_jit_options *options,
                         const tgi_strbuf *explain)
{
    tgi_jit_report_stage(options, "fusion", explain->text ? explain->text : "");
    if (!tgi_jit_wants_stage(options, "loops"))
        return;
    tgi_strbuf text = {0};
    tgi_loops_print(program->loops, TGI_LOOPS_SOURCE, &text);
    for (size_t i = 0; i < program->loops->kernels.n; i++)
        if (program->loops->kernels.data[i]->schedule)
            tgi_schedule_print(program->loops->kernels.data[i]->schedule,
                               &text);
    tgi_jit_report_stage(options, "loops", text.text);
    tgi_strbuf_deinit(&text);
}

static size_t count_instructions(const tgi_kernel_loops *k)
{
    size_t n = 0;
    for (size_t i = 1; i < k->insts.n; i++)
        n += tgi_inst_cost(k, &k->insts.data[i], TGI_COST_ASSUMED).instructions;
    return n;
}

/*
 * Estimates the compile time in units of 0.1 ms; it is right within a factor
 * of three. Reductions dominate, because they are unrolled by block and have
 * separate tails. Most instructions are those of functions that a program
 * calls often and that are compiled once.
 */
static size_t estimate_work(const tgi_loops *loops)
{
    enum {
        KERNEL_WORK = 20,
        TWIN_WORK = 10, /* a call in the entry */
        REDUCTION_WORK = 50,
        INSTRUCTIONS_PER_UNIT = 32
    };
    size_t work = KERNEL_WORK; /* of the entry */
    for (size_t i = 0; i < loops->kernels.n; i++) {
        const tgi_kernel_loops *k = loops->kernels.data[i];
        if (!tgi_kernel_id_is_none(k->twin)) {
            work += TWIN_WORK;
            continue;
        }
        work += KERNEL_WORK + REDUCTION_WORK * k->reductions.n + k->insts.n +
                k->stores.n + count_instructions(k) / INSTRUCTIONS_PER_UNIT;
    }
    return work;
}

/* Above the budget, only caches are searched. Stages of a miss are not reported
   then: the later compile reports them. Loops that are rejected are reported
   too. */
static tg_status compile_loops(tgi_program *program, const int64_t *values,
                               const tgi_target *target,
                               const tgi_jit_options *options, size_t work,
                               const tgi_strbuf *explain)
{
    const bool cached_only = work > options->max_work;
    const bool is_measured = options->tuning.timer != NULL;
    tgi_jit_options timed = *options;
    timed.stats = &program->stats;
    if (!cached_only && !is_measured)
        report_loops(program, options, explain);
    const tg_status status = tgi_compile(program->loops, values, target, &timed,
                                         cached_only, &program->code);
    if (cached_only ? program->code != NULL : is_measured)
        report_loops(program, options, explain);
    return status;
}

/* -- Programs -------------------------------------------------------------- */

tg_status tgi_program_create(const tgi_graph *graph, const int64_t *values,
                             const tgi_jit_options *options, size_t *out_work,
                             tgi_program **out_program)
{
    tgi_strbuf explain = {0};
    const uint64_t begin = tgi_timeline_begin();
    *out_work = 0;
    *out_program = NULL;
    TGI_TRY(tgi_program_check_no_calls(graph));
    tgi_program *program = tgi_alloc_zero(sizeof(*program));
    if (!program)
        return tgi_error_memory();
    tgi_refcount_init(&program->refs);
    tgi_live_add(TGI_LIVE_PROGRAM, 1);
    program->graph = tgi_graph_retain(graph);
    tgi_target target;
    tgi_compile_target(options, &target);
    tg_status status = make_loops(program, values, &target, options, &explain);
    const size_t work = status ? 0 : estimate_work(program->loops);
    if (!status)
        status = compile_loops(program, values, &target, options, work,
                               &explain);
    tgi_strbuf_deinit(&explain);
    if (status || !program->code) {
        *out_work = status ? 0 : work;
        tgi_error_copy error;
        tgi_error_save(&error);
        tgi_program_release(program);
        tgi_error_restore(&error);
        return status;
    }
    tgi_timeline_end("compile", graph->name, begin);
    program->entry = program->code->entry;
    *out_program = program;
    return TG_OK;
}

tgi_program *tgi_program_retain(tgi_program *program)
{
    tgi_refcount_inc(&program->refs);
    return program;
}

void tgi_program_release(tgi_program *program)
{
    if (!program || !tgi_refcount_dec(&program->refs))
        return;
    tgi_code_release(program->code);
    tgi_loops_destroy(program->loops);
    tgi_graph_release(program->graph);
    tgi_free(program);
    tgi_live_add(TGI_LIVE_PROGRAM, -1);
}

const tgi_compile_stats *tgi_program_stats(const tgi_program *program)
{
    return &program->stats;
}

size_t tgi_program_bytes(const tgi_program *program)
{
    return sizeof(*program) + tgi_code_bytes(program->code) +
           program->loops->arena.bytes;
}
