/* SPDX-License-Identifier: MIT */
/*
 * llvm_instrument.c - see llvm_instrument.h.
 *
 * Objects may need no symbol (image.h), and the sanitizer's run time is full of
 * them. But it is in this very process: its functions are called by their
 * addresses, as numbers in the code, and the loader need not know.
 *
 * What else LLVM adds to a module is for a linker: a constructor that starts
 * the run time, which is running, and the registration of constants. Constants
 * are therefore left alone: an alignment beyond that of a red zone says so.
 */
#include "llvm/llvm_instrument.h"
#include "llvm/llvm_compile.h"
#include "llvm/llvm_target.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { BEYOND_RED_ZONE = 64 };

static void prepare(LLVMModuleRef module)
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
        if (LLVMGetAlignment(g) < BEYOND_RED_ZONE)
            LLVMSetAlignment(g, BEYOND_RED_ZONE);
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

/* In this order: those that are used come behind those that use them. */
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

/* Puts the address of a declared function or variable of the run time in its
   place. Others stay: the loader tells of them. */
static bool resolve(LLVMValueRef declared, char *message, size_t n)
{
    size_t length;
    const char *name = LLVMGetValueName2(declared, &length);
    if (!LLVMIsDeclaration(declared) || !LLVMGetFirstUse(declared) ||
        strncmp(name, "__asan_", strlen("__asan_")) != 0)
        return true;
    const void *address = dlsym(RTLD_DEFAULT, name);
    if (!address) {
        snprintf(message, n,
                 "code cannot be instrumented: this program has no '%s'", name);
        return false;
    }
    LLVMTypeRef integer = LLVMInt64TypeInContext(
        LLVMGetModuleContext(LLVMGetGlobalParent(declared)));
    LLVMReplaceAllUsesWith(
        declared,
        LLVMConstIntToPtr(LLVMConstInt(integer, (uintptr_t)address, false),
                          LLVMTypeOf(declared)));
    return true;
}

bool tgi_llvm_instrument(const tgi_llvm_target *target, LLVMModuleRef module,
                         char *message, size_t n)
{
    prepare(module);
    if (!tgi_llvm_run_passes(target, module, "asan", message, n))
        return false;
    remove_constructor(module);
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        if (!resolve(f, message, n))
            return false;
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g;
         g = LLVMGetNextGlobal(g))
        if (!resolve(g, message, n))
            return false;
    return true;
}
