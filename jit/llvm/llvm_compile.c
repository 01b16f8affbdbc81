/* SPDX-License-Identifier: MIT */
/*
 * llvm_compile.c - compiles a finished module to an object file. LLVM's
 * diagnostics are caught and returned as a message; nothing is printed.
 *
 * Few passes run (tgi_llvm_quirk_passes). None changes result bits, because no
 * instruction has fast-math flags.
 */
#include "llvm/llvm_compile.h"
#include "llvm/emit/llvm_quirks.h"
#include "llvm/emit/llvm_target.h"
#include "llvm/llvm_instrument.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* -- Errors ---------------------------------------------------------------- */

typedef struct first_error {
    char *message; /* the caller's, of n bytes */
    size_t n;
    bool is_set;
} first_error;

static void record_error(first_error *error, const char *text)
{
    if (!error->is_set)
        snprintf(error->message, error->n, "%s", text);
    error->is_set = true;
}

static void handle_diagnostic(LLVMDiagnosticInfoRef info, void *user)
{
    if (LLVMGetDiagInfoSeverity(info) != LLVMDSError)
        return;
    char *text = LLVMGetDiagInfoDescription(info);
    record_error(user, text);
    LLVMDisposeMessage(text);
}

double tgi_llvm_clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* -- Compiling ------------------------------------------------------------- */

static void verify_module(LLVMModuleRef module, first_error *error)
{
    char *text = NULL;
    if (LLVMVerifyModule(module, LLVMReturnStatusAction, &text))
        record_error(error, text);
    LLVMDisposeMessage(text);
}

bool tgi_llvm_run_passes(const tgi_llvm_target *target, LLVMModuleRef module,
                         const char *names, char *message, size_t n)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(module, names, target->machine, options);
    LLVMDisposePassBuilderOptions(options);
    if (!error)
        return true;
    char *text = LLVMGetErrorMessage(error); /* consumes error */
    snprintf(message, n, "%s", text);
    LLVMDisposeErrorMessage(text);
    return false;
}

static void optimise_module(const tgi_llvm_target *target, LLVMModuleRef module,
                            unsigned flags, first_error *error)
{
    char text[512];
    if (!tgi_llvm_run_passes(target, module, tgi_llvm_quirk_passes, text,
                             sizeof(text)) ||
        (flags & TGI_LLVM_INSTRUMENT &&
         !tgi_llvm_instrument(target, module, text, sizeof(text))))
        record_error(error, text);
}

/* Modifies the module, which must not be used afterwards. */
static LLVMMemoryBufferRef emit_file(const tgi_llvm_target *target,
                                     LLVMModuleRef module,
                                     LLVMCodeGenFileType type,
                                     first_error *error)
{
    char *text = NULL;
    LLVMMemoryBufferRef buf = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(target->machine, module, type,
                                            &text, &buf))
        record_error(error, text);
    LLVMDisposeMessage(text);
    return buf;
}

/*
 * Assembly, with the line of each instruction if it is known: directives .loc.
 * The sections of debug information are left out; they are long and not
 * readable.
 */
static LLVMMemoryBufferRef print_assembly(const tgi_llvm_target *target,
                                          LLVMModuleRef module, unsigned flags,
                                          first_error *error)
{
    static const char debug_section[] = "\n\t.section\t.debug_";
    LLVMModuleRef copy = LLVMCloneModule(module);
    LLVMSetTargetMachineAsmVerbosity(target->machine,
                                     (flags & TGI_LLVM_HAS_LINES) != 0);
    LLVMMemoryBufferRef text = emit_file(target, copy, LLVMAssemblyFile, error);
    LLVMSetTargetMachineAsmVerbosity(target->machine, false);
    LLVMDisposeModule(copy);
    const char *start = text ? LLVMGetBufferStart(text) : "";
    const char *end = strstr(start, debug_section);
    if (!end)
        return text;
    LLVMMemoryBufferRef code = LLVMCreateMemoryBufferWithMemoryRangeCopy(
        start, (size_t)(end + 1 - start), "");
    LLVMDisposeMemoryBuffer(text);
    return code;
}

static void compile_module(const tgi_llvm_target *target, LLVMModuleRef module,
                           unsigned flags, tgi_llvm_compiled *out,
                           first_error *error)
{
    if (flags & TGI_LLVM_WANT_IR)
        out->ir_before = LLVMPrintModuleToString(module);
    const double start = tgi_llvm_clock_ms();
    if (flags & TGI_LLVM_VERIFY)
        verify_module(module, error);
    if (!error->is_set)
        optimise_module(target, module, flags, error);
    out->passes_time = tgi_llvm_clock_ms() - start;
    if (error->is_set)
        return;
    if (flags & TGI_LLVM_WANT_IR)
        out->ir_after = LLVMPrintModuleToString(module);
    if (flags & TGI_LLVM_WANT_ASSEMBLY)
        out->assembly = print_assembly(target, module, flags, error);
    out->object = emit_file(target, module, LLVMObjectFile, error);
}

bool tgi_llvm_compile(const tgi_llvm_target *target, LLVMModuleRef module,
                      unsigned flags, tgi_llvm_compiled *out, char *message,
                      size_t n)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    LLVMDiagnosticHandler handler = LLVMContextGetDiagnosticHandler(context);
    void *user = LLVMContextGetDiagnosticContext(context);
    first_error error = {message, n, false};

    *out = (tgi_llvm_compiled){0};
    LLVMContextSetDiagnosticHandler(context, handle_diagnostic, &error);
    compile_module(target, module, flags, out, &error);
    LLVMContextSetDiagnosticHandler(context, handler, user);
    if (error.is_set && out->object) {
        LLVMDisposeMemoryBuffer(out->object);
        out->object = NULL;
    }
    return !error.is_set;
}

void tgi_llvm_compiled_deinit(tgi_llvm_compiled *compiled)
{
    LLVMDisposeMessage(compiled->ir_before);
    LLVMDisposeMessage(compiled->ir_after);
    if (compiled->object)
        LLVMDisposeMemoryBuffer(compiled->object);
    if (compiled->assembly)
        LLVMDisposeMemoryBuffer(compiled->assembly);
    *compiled = (tgi_llvm_compiled){0};
}
