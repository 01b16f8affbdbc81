/* SPDX-License-Identifier: MIT */
/*
 * inspect.c - see inspect.h.
 */
#include "inspect.h"

#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "codegen/plugin.h"
#include "compile.h"
#include "fuse/variant.h"
#include "loop/loop_pass.h"
#include "memory/memory_plan.h"
#include "program.h"
#include "target/target.h"

static tg_status make_loops(const tgi_graph *graph, const int64_t *values,
                            const tgi_jit_options *options,
                            const tgi_program *program, tgi_strbuf *fusion,
                            tgi_loops **out_loops)
{
    tgi_variant variant;
    tgi_target target;
    TGI_TRY(tgi_variant_init(&variant, graph, values));
    tgi_compile_target(options, &target);
    const tgi_loop_pass_options pass_options = {.skip = options->skip_passes,
                                                .target = &target,
                                                .schedule_seed =
                                                    options->schedule_seed,
                                                .explain = fusion};
    tg_status status =
        tgi_loop_passes_run(graph, &variant, &pass_options, out_loops);
    if (!status && program && program->code->plan)
        status = tgi_tune_apply(*out_loops, &target, program->code->plan,
                                program->code->plan_bytes);
    if (!status)
        status = tgi_plan_print(*out_loops, values, fusion);
    tgi_variant_deinit(&variant);
    return status;
}

/* Sets the assembly, or the reason why there is none. */
static tg_status make_assembly(const tgi_jit_options *options,
                               tgi_inspected_code *code)
{
    const struct tgi_plugin *plugin =
        tgi_plugin_acquire(code->reason, sizeof(code->reason));
    if (!plugin)
        return TG_OK;
    char directory[4096];
    tgi_codegen_options request = tgi_compile_request(code->loops, options);
    request.wants_assembly = true;
    request.debug_directory = getcwd(directory, sizeof(directory));
    if (!request.debug_directory)
        request.debug_directory = "";
    tgi_codegen codegen = {0};
    tg_status status = TG_OK;
    if (!tgi_plugin_compile(plugin, code->loops, &request, &codegen)) {
        if (codegen.is_out_of_memory)
            status = tgi_error_memory();
        snprintf(code->reason, sizeof(code->reason), "%s", codegen.error);
    } else if (!(code->assembly = tgi_strdup(codegen.assembly))) {
        status = tgi_error_memory();
    }
    plugin->dispose(&codegen);
    tgi_plugin_release();
    return status;
}

tg_status tgi_jit_inspect(const tgi_graph *graph, const int64_t *values,
                          const tgi_jit_options *options,
                          const tgi_program *program,
                          tgi_inspected_code *out_code)
{
    tgi_strbuf fusion = {0};
    *out_code = (tgi_inspected_code){.loops = NULL};
    TGI_TRY(tgi_program_check_no_calls(graph));
    tg_status status =
        make_loops(graph, values, options, program, &fusion, &out_code->loops);
    tgi_strbuf_add(&fusion, "");
    out_code->fusion = tgi_strbuf_take(&fusion);
    if (!status && !out_code->fusion)
        status = tgi_error_memory();
    if (!status)
        status = make_assembly(options, out_code);
    if (status) {
        tgi_error_copy error;
        tgi_error_save(&error);
        tgi_inspected_code_deinit(out_code);
        tgi_error_restore(&error);
    }
    return status;
}

void tgi_inspected_code_deinit(tgi_inspected_code *code)
{
    tgi_loops_destroy(code->loops);
    tgi_free(code->fusion);
    tgi_free(code->assembly);
    *code = (tgi_inspected_code){.loops = NULL};
}
