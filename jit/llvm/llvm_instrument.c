/* SPDX-License-Identifier: MIT */
/*
 * llvm_instrument.c - see llvm_instrument.h.
 *
 * Objects must not have undefined symbols (image.h), but instrumented code
 * calls the sanitizer's run-time library. That is part of this process, so
 * references to it are replaced by constant addresses.
 *
 * The module constructor that LLVM adds is deleted: it initialises the run-time
 * library, which is already running, and registers globals. Globals therefore
 * must not be instrumented: LLVM skips those aligned beyond a red zone.
 */
#include "llvm/llvm_instrument.h"
#include "llvm/emit/llvm_target.h"
#include "llvm/llvm_compile.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { UNINSTRUMENTED_ALIGNMENT = 64 };

static void mark_module(LLVMModuleRef module)
{
    static const char name[] = "sanitize_address";
    LLVMAttributeRef attribute = LLVMCreateEnumAttribute(
        LLVMGetModuleContext(module),
        LLVMGetEnumAttributeKindForName(name, sizeof(name) - 1), 0);
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f))
            LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, attribute);
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g;
         g = LLVMGetNextGlobal(g))
        if (LLVMGetAlignment(g) < UNINSTRUMENTED_ALIGNMENT)
            LLVMSetAlignment(g, UNINSTRUMENTED_ALIGNMENT);
}

static void remove_globals(LLVMModuleRef module, const char *const *names,
                           size_t n)
{
    for (size_t i = 0; i < n; i++) {
        LLVMValueRef global = LLVMGetNamedGlobal(module, names[i]);
        if (global)
            LLVMDeleteGlobal(global);
    }
}

/* In this order, so that users are deleted before what they use. */
static void remove_constructor(LLVMModuleRef module)
{
    static const char *const lists[] = {"llvm.used", "llvm.global_ctors"};
    static const char *const globals[] = {"___asan_globals_registered",
                                          "__start_asan_globals",
                                          "__stop_asan_globals"};
    remove_globals(module, lists, sizeof(lists) / sizeof(lists[0]));
    LLVMValueRef constructor = LLVMGetNamedFunction(module, "asan.module_ctor");
    if (constructor)
        LLVMDeleteFunction(constructor);
    remove_globals(module, globals, sizeof(globals) / sizeof(globals[0]));
}

/* Replaces uses of a declared function or variable of the run-time library by
   its address. Other undefined symbols stay; the loader rejects them. */
static bool bind_runtime_symbol(LLVMValueRef symbol, char *message, size_t n)
{
    size_t length;
    const char *name = LLVMGetValueName2(symbol, &length);
    if (!LLVMIsDeclaration(symbol) || !LLVMGetFirstUse(symbol) ||
        strncmp(name, "__asan_", strlen("__asan_")) != 0)
        return true;
    const void *address = dlsym(RTLD_DEFAULT, name);
    if (!address) {
        snprintf(message, n,
                 "code cannot be instrumented: the process has no '%s'", name);
        return false;
    }
    LLVMTypeRef integer = LLVMInt64TypeInContext(
        LLVMGetModuleContext(LLVMGetGlobalParent(symbol)));
    LLVMReplaceAllUsesWith(
        symbol,
        LLVMConstIntToPtr(LLVMConstInt(integer, (uintptr_t)address, false),
                          LLVMTypeOf(symbol)));
    return true;
}

bool tgi_llvm_instrument(const tgi_llvm_target *target, LLVMModuleRef module,
                         char *message, size_t n)
{
    mark_module(module);
    if (!tgi_llvm_run_passes(target, module, "asan", message, n))
        return false;
    remove_constructor(module);
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        if (!bind_runtime_symbol(f, message, n))
            return false;
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g;
         g = LLVMGetNextGlobal(g))
        if (!bind_runtime_symbol(g, message, n))
            return false;
    return true;
}
