/* SPDX-License-Identifier: MIT */
/*
 * llvm_codegen.c - one compile: a context and a module, a function for each
 * kernel, the entry, then LLVM. Compiles share nothing but the target machine
 * of their thread.
 */
#include "llvm/llvm_codegen.h"
#include "llvm/emit/llvm_check.h"
#include "llvm/emit/llvm_debug.h"
#include "llvm/emit/llvm_emit.h"
#include "llvm/emit/llvm_frame.h"
#include "llvm/emit/llvm_program.h"
#include "llvm/emit/llvm_target.h"
#include "llvm/kernel/llvm_kernel.h"
#include "llvm/llvm_compile.h"
#include "llvm/llvm_entry.h"
#include "llvm/llvm_export.h"
#include "llvm/loops/llvm_fission.h"

#include <stdio.h>
#include <string.h>

/* tgi_codegen.impl: owns the results. */
typedef struct codegen_impl {
    void (*free)(void *memory);
    tgi_llvm_compiled compiled;
    size_t n_kernels;
    const char **kernels;
    char *names; /* all names, that of the entry first */
    const tgi_site_chain **inlined_sites;
    size_t n_inlined_sites;
} codegen_impl;

static bool fail(tgi_codegen *out, const char *why, bool is_out_of_memory)
{
    snprintf(out->error, sizeof(out->error), "%s", why);
    out->is_out_of_memory = is_out_of_memory;
    return false;
}

/* -- The program ----------------------------------------------------------- */

static void program_init(tgi_llvm_program *program, LLVMModuleRef module,
                         LLVMBuilderRef builder)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    tgi_llvm_emitter_init(&program->emitter, module, builder,
                          program->target->isa);
    program->void_type = LLVMVoidTypeInContext(context);
    program->bit = LLVMInt1TypeInContext(context);
    program->i32 = LLVMInt32TypeInContext(context);
    program->i64 = LLVMInt64TypeInContext(context);
    program->pointer = LLVMPointerTypeInContext(context, 0);
    LLVMTypeRef parameters[] = {program->pointer, program->pointer,
                                program->i64, program->i64, program->i64};
    program->kernel_type =
        LLVMFunctionType(program->void_type, parameters, 5, false);
    tgi_llvm_frame_init(program);
    for (size_t i = 0; i < program->loops->kernels.n; i++) {
        const tgi_kernel_loops *kernel = program->loops->kernels.data[i];
        if (kernel->checks.n > 0 && !program->check_handler)
            tgi_llvm_check_init(program);
    }
}

/* Copies the symbol names, which LLVM may have made unique; false when out of
   memory. */
static bool copy_names(codegen_impl *o, const LLVMValueRef *kernels,
                       LLVMValueRef entry, const tgi_codegen_options *options)
{
    size_t bytes = 0, length;
    LLVMGetValueName2(entry, &length);
    bytes += length + 1;
    for (size_t i = 0; i < o->n_kernels; i++) {
        if (!kernels[i])
            continue;
        LLVMGetValueName2(kernels[i], &length);
        bytes += length + 1;
    }
    o->names = options->alloc(bytes);
    o->kernels = options->alloc((o->n_kernels + 1) * sizeof(*o->kernels));
    if (!o->names || !o->kernels)
        return false;
    char *at = o->names;
    const char *name = LLVMGetValueName2(entry, &length);
    memcpy(at, name, length + 1);
    at += length + 1;
    for (size_t i = 0; i < o->n_kernels; i++) {
        o->kernels[i] = NULL;
        if (!kernels[i])
            continue;
        name = LLVMGetValueName2(kernels[i], &length);
        memcpy(at, name, length + 1);
        o->kernels[i] = at;
        at += length + 1;
    }
    return true;
}

static bool begin_debug(tgi_llvm_program *program,
                        const tgi_codegen_options *options, tgi_codegen *out)
{
    return !options->debug_directory ||
           tgi_llvm_debug_init(program, options->debug_directory) ||
           fail(out, program->failure, program->is_out_of_memory);
}

/* The function of a kernel, or of its twin: unless the code has lines. */
static bool define_kernel(tgi_llvm_program *program, size_t number,
                          LLVMValueRef *kernels)
{
    const tgi_kernel_loops *kernel = program->loops->kernels.data[number];
    if (tgi_llvm_kernel_has_twin(program, kernel)) {
        kernels[number] = kernels[tgi_kernel_id_index(kernel->twin)];
        return true;
    }
    return tgi_llvm_kernel_define(program, kernel, &kernels[number]);
}

/* Emits all functions into the module. */
static bool emit_functions(tgi_llvm_program *program, LLVMValueRef *kernels,
                           const tgi_codegen_options *options, codegen_impl *o,
                           tgi_codegen *out)
{
    const tgi_loops *loops = program->loops;
    for (size_t i = 0; i < loops->kernels.n; i++)
        if (!define_kernel(program, i, kernels))
            return fail(out, program->failure, program->is_out_of_memory);
    char name[256];
    snprintf(name, sizeof(name), "tg_%s",
             loops->name && *loops->name ? loops->name : "entry");
    LLVMValueRef entry = tgi_llvm_entry_define(program, kernels, name);
    if (!entry)
        return fail(out, program->failure, program->is_out_of_memory);
    o->n_kernels = loops->kernels.n;
    if (!copy_names(o, kernels, entry, options))
        return fail(out, "out of memory", true);
    const tgi_codegen_export *export = options->export;
    if (export &&
        !tgi_llvm_export_define(program, entry, export))
        return fail(out, program->failure, program->is_out_of_memory);
    tgi_llvm_debug_finish(program);
    return tgi_llvm_debug_inlined_sites(program, &o->inlined_sites,
                                        &o->n_inlined_sites) ||
           fail(out, program->failure, program->is_out_of_memory);
}

static bool compile_module(tgi_llvm_program *program, LLVMModuleRef module,
                           const tgi_codegen_options *options, codegen_impl *o,
                           tgi_codegen *out)
{
    const double start = tgi_llvm_clock_ms();
    LLVMValueRef *kernels =
        options->alloc((program->loops->kernels.n + 1) * sizeof(*kernels));
    if (!kernels)
        return fail(out, "out of memory", true);
    const bool is_built = begin_debug(program, options, out) &&
                          emit_functions(program, kernels, options, o, out);
    options->free(kernels);
    const double built = tgi_llvm_clock_ms();
    out->build_time = built - start;
    if (!is_built)
        return false;
    const unsigned flags =
        (options->verify ? TGI_LLVM_VERIFY : 0) |
        (options->instruments ? TGI_LLVM_INSTRUMENT : 0) |
        (options->wants_ir ? TGI_LLVM_WANT_IR : 0) |
        (options->wants_assembly ? TGI_LLVM_WANT_ASSEMBLY : 0) |
        (options->debug_directory ? TGI_LLVM_HAS_LINES : 0);
    const bool is_compiled =
        tgi_llvm_compile(program->target, module, flags, &o->compiled,
                         out->error, sizeof(out->error));
    out->passes_time = o->compiled.passes_time;
    out->codegen_time = tgi_llvm_clock_ms() - built - out->passes_time;
    return is_compiled;
}

/* -- Interface ------------------------------------------------------------- */

static void set_results(const codegen_impl *o, tgi_codegen *out)
{
    const tgi_llvm_compiled *compiled = &o->compiled;
    out->ir_before = compiled->ir_before;
    out->ir_after = compiled->ir_after;
    out->inlined_sites = o->inlined_sites;
    out->n_inlined_sites = o->n_inlined_sites;
    if (compiled->assembly)
        out->assembly = LLVMGetBufferStart(compiled->assembly);
    if (!compiled->object)
        return;
    out->object = LLVMGetBufferStart(compiled->object);
    out->object_bytes = LLVMGetBufferSize(compiled->object);
    out->entry = o->names;
    out->kernels = o->kernels;
    out->n_kernels = o->n_kernels;
}

bool tgi_llvm_codegen(const tgi_loops *loops,
                      const tgi_codegen_options *options, tgi_codegen *out)
{
    *out = (tgi_codegen){0};
    tgi_llvm_target target;
    if (!tgi_llvm_target_init(options->cpu, options->vector_bits,
                              options->export || options->host, &target,
                              out->error, sizeof(out->error)))
        return false;
    codegen_impl *o = options->alloc(sizeof(*o));
    if (!o)
        return fail(out, "out of memory", true);
    *o = (codegen_impl){.free = options->free};
    out->impl = o;

    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef module = LLVMModuleCreateWithNameInContext(
        loops->name ? loops->name : "", context);
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
    tgi_llvm_program program = {
        .loops = loops,
        .target = &target,
        .alloc = options->alloc,
        .free = options->free,
        .has_step_hooks = options->has_step_hooks,
        .has_polls = options->has_polls,
        .can_be_cancelled = options->can_be_cancelled,
    };
    tgi_llvm_target_set_module(&target, module);
    program_init(&program, module, builder);
    const bool succeeded = compile_module(&program, module, options, o, out);
    tgi_llvm_fission_functions_free(&program);
    tgi_llvm_debug_deinit(&program);
    LLVMDisposeBuilder(builder);
    LLVMDisposeModule(module);
    LLVMContextDispose(context);
    set_results(o, out);
    return succeeded;
}

void tgi_llvm_codegen_dispose(tgi_codegen *codegen)
{
    codegen_impl *o = codegen->impl;
    if (o) {
        tgi_llvm_compiled_deinit(&o->compiled);
        if (o->names)
            o->free(o->names);
        if (o->kernels)
            o->free(o->kernels);
        if (o->inlined_sites)
            o->free(o->inlined_sites);
        o->free(o);
    }
    *codegen = (tgi_codegen){0};
}
