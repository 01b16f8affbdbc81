/* SPDX-License-Identifier: MIT */
/*
 * llvm_compile.c - from a finished module to the bytes of an object file.
 *
 * What LLVM complains about becomes a message: its diagnostics are caught, and
 * nothing is printed.
 *
 * One pass runs. The vectors are already there, within a block the selection
 * of instructions finds what is common, and nothing more was found to make
 * code faster: instcombine unmakes the wide masks of llvm_emit.c (a third of
 * the speed of pow), and LLVM's usual O2 adds as much time as all the rest
 * takes. No pass has leave to change bits: there are no fast-math flags.
 */
#include "llvm/llvm_compile.h"
#include "llvm/llvm_instrument.h"
#include "llvm/llvm_target.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>
#include <time.h>

static const char passes[] = "function(early-cse)";

/* -- Complaints ------------------------------------------------------------ */

typedef struct complaint {
    char *message; /* the first one counts */
    size_t n;
    bool is_made;
} complaint;

static void complain(complaint *c, const char *text)
{
    if (!c->is_made)
        snprintf(c->message, c->n, "%s", text);
    c->is_made = true;
}

static void take_diagnostic(LLVMDiagnosticInfoRef info, void *user)
{
    if (LLVMGetDiagInfoSeverity(info) != LLVMDSError)
        return;
    char *text = LLVMGetDiagInfoDescription(info);
    complain(user, text);
    LLVMDisposeMessage(text);
}

double tgi_llvm_clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* -- Steps ----------------------------------------------------------------- */

static void verify(LLVMModuleRef module, complaint *c)
{
    char *text = NULL;
    if (LLVMVerifyModule(module, LLVMReturnStatusAction, &text))
        complain(c, text);
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
    char *text = LLVMGetErrorMessage(error); /* takes the error */
    snprintf(message, n, "%s", text);
    LLVMDisposeErrorMessage(text);
    return false;
}

static void run_passes(const tgi_llvm_target *target, LLVMModuleRef module,
                       unsigned flags, complaint *c)
{
    char text[512];
    if (!tgi_llvm_run_passes(target, module, passes, text, sizeof(text)) ||
        (flags & TGI_LLVM_INSTRUMENT &&
         !tgi_llvm_instrument(target, module, text, sizeof(text))))
        complain(c, text);
}

/* Changes the module: what it holds after it is of no use. */
static LLVMMemoryBufferRef generate(const tgi_llvm_target *target,
                                    LLVMModuleRef module,
                                    LLVMCodeGenFileType type, complaint *c)
{
    char *text = NULL;
    LLVMMemoryBufferRef buf = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(target->machine, module, type,
                                            &text, &buf))
        complain(c, text);
    LLVMDisposeMessage(text);
    return buf;
}

static void compile(const tgi_llvm_target *target, LLVMModuleRef module,
                    unsigned flags, tgi_llvm_compiled *out, complaint *c)
{
    if (flags & TGI_LLVM_WANT_IR)
        out->ir_before = LLVMPrintModuleToString(module);
    const double start = tgi_llvm_clock_ms();
    if (flags & TGI_LLVM_VERIFY)
        verify(module, c);
    if (!c->is_made)
        run_passes(target, module, flags, c);
    out->passes_time = tgi_llvm_clock_ms() - start;
    if (c->is_made)
        return;
    if (flags & TGI_LLVM_WANT_IR)
        out->ir_after = LLVMPrintModuleToString(module);
    if (flags & TGI_LLVM_WANT_ASSEMBLY) {
        LLVMModuleRef copy = LLVMCloneModule(module);
        out->assembly = generate(target, copy, LLVMAssemblyFile, c);
        LLVMDisposeModule(copy);
    }
    out->object = generate(target, module, LLVMObjectFile, c);
}

bool tgi_llvm_compile(const tgi_llvm_target *target, LLVMModuleRef module,
                      unsigned flags, tgi_llvm_compiled *out, char *message,
                      size_t n)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    LLVMDiagnosticHandler handler = LLVMContextGetDiagnosticHandler(context);
    void *user = LLVMContextGetDiagnosticContext(context);
    complaint c = {message, n, false};

    *out = (tgi_llvm_compiled){0};
    LLVMContextSetDiagnosticHandler(context, take_diagnostic, &c);
    compile(target, module, flags, out, &c);
    LLVMContextSetDiagnosticHandler(context, handler, user);
    if (c.is_made && out->object) {
        LLVMDisposeMemoryBuffer(out->object);
        out->object = NULL;
    }
    return !c.is_made;
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
