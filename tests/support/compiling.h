/* SPDX-License-Identifier: MIT */
/*
 * compiling.h - for tests of the code generator: an LLVM module, functions in
 * it, and its code in memory.
 */
#ifndef TGI_TEST_COMPILING_H
#define TGI_TEST_COMPILING_H

#include <criterion/criterion.h>

#include "llvm/llvm_compile.h"
#include "llvm/emit/llvm_emit.h"
#include "object/image.h"
#include "tgjit/base.h"

typedef struct compiling {
    tgi_llvm_target target;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    tgi_llvm_emitter emitter;
    unsigned vector_bits; /* of functions */
} compiling;

/* For a CPU (NULL: the host) and registers of `bits`. False if this machine
   cannot run such code. */
static inline bool compiling_begin_for(compiling *c, const char *cpu,
                                       unsigned bits)
{
    char reason[256];
    if (!tgi_llvm_target_init(cpu, bits, false, &c->target, reason,
                              sizeof(reason)))
        return false;
    c->vector_bits = bits;
    LLVMContextRef context = LLVMContextCreate();
    c->module = LLVMModuleCreateWithNameInContext("test", context);
    c->builder = LLVMCreateBuilderInContext(context);
    tgi_llvm_target_set_module(&c->target, c->module);
    tgi_llvm_emitter_init(&c->emitter, c->module, c->builder, c->target.isa);
    return true;
}

/* Skips the test if this machine cannot run compiled code. */
static inline void compiling_begin(compiling *c)
{
    if (!compiling_begin_for(c, NULL, 256))
        cr_skip_test("this machine cannot run compiled code");
}

static inline void compiling_end(compiling *c)
{
    LLVMContextRef context = LLVMGetModuleContext(c->module);
    LLVMDisposeBuilder(c->builder);
    LLVMDisposeModule(c->module);
    LLVMContextDispose(context);
}

/* void name(void *…) with n_parameters parameters; positions the builder in
   it. */
static inline LLVMValueRef compiling_function(compiling *c, const char *name,
                                              unsigned n_parameters)
{
    LLVMContextRef context = c->emitter.context;
    LLVMTypeRef pointer = LLVMPointerTypeInContext(context, 0);
    LLVMTypeRef parameters[] = {pointer, pointer, pointer, pointer};
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(context),
                                        parameters, n_parameters, false);
    LLVMValueRef function = LLVMAddFunction(c->module, name, type);
    tgi_llvm_target_set_function(&c->target, function, c->vector_bits);
    LLVMPositionBuilderAtEnd(
        c->builder, LLVMAppendBasicBlockInContext(context, function, ""));
    return function;
}

/* Loads the code; the module is consumed. */
static inline tgi_image *compiling_load(compiling *c)
{
    tgi_llvm_compiled compiled;
    tgi_image *image = NULL;
    char reason[256] = "";
    cr_assert(tgi_llvm_compile(&c->target, c->module, TGI_LLVM_VERIFY,
                               &compiled, reason, sizeof(reason)),
              "%s", reason);
    cr_assert_eq(tgi_image_load(LLVMGetBufferStart(compiled.object),
                                LLVMGetBufferSize(compiled.object), &image),
                 TG_OK, "%s", tg_error(NULL));
    tgi_llvm_compiled_deinit(&compiled);
    return image;
}

#endif /* TGI_TEST_COMPILING_H */
