/* SPDX-License-Identifier: MIT */
/*
 * llvm_constant_pool.c - vector constants of recipes, in memory.
 *
 * LLVM broadcasts constants by a separate instruction
 * (tgi_llvm_quirk_pools_constants). A full vector in memory is an operand of
 * the instruction that uses it. This pays for constants that a recipe uses
 * once; others belong in registers.
 */
#include "llvm/emit/llvm_constant_pool.h"
#include "llvm/emit/llvm_emit.h"
#include "llvm/emit/llvm_quirks.h"

#include <stdio.h>

enum { LINE = 64 };

/* Externally initialised, so that passes do not propagate its value. */
static LLVMValueRef pool_entry(const tgi_llvm_emitter *e, tg_dtype dtype,
                               uint64_t bits, unsigned alignment)
{
    char name[64];
    snprintf(name, sizeof(name), "constant_%s_%u_%llx",
             tgi_dtype_table[dtype].name, e->lanes, (unsigned long long)bits);
    LLVMValueRef global = LLVMGetNamedGlobal(e->module, name);
    if (global)
        return global;
    global = LLVMAddGlobal(e->module, tgi_llvm_type(e, dtype), name);
    LLVMSetInitializer(global, tgi_llvm_constant(e, dtype, bits));
    LLVMSetGlobalConstant(global, true);
    LLVMSetExternallyInitialized(global, true);
    LLVMSetLinkage(global, LLVMPrivateLinkage);
    LLVMSetUnnamedAddress(global, LLVMGlobalUnnamedAddr);
    LLVMSetAlignment(global, alignment);
    return global;
}

LLVMValueRef tgi_llvm_pooled_constant(tgi_llvm_emitter *e, tg_dtype dtype,
                                      uint64_t bits)
{
    if (!e->is_pooling || e->lanes == 1 || bits == 0 ||
        e->n_pooled == TGI_LLVM_MAX_POOLED ||
        !tgi_dtype_is((int)dtype, TGI_CLASS_FLOAT))
        return tgi_llvm_constant(e, dtype, bits);
    unsigned alignment = e->lanes * (unsigned)tgi_dtype_bytes((int)dtype);
    if (alignment > LINE)
        alignment = LINE;
    LLVMValueRef value =
        LLVMBuildLoad2(e->builder, tgi_llvm_type(e, dtype),
                       pool_entry(e, dtype, bits, alignment), "");
    LLVMSetAlignment(value, alignment);
    e->pooled[e->n_pooled++] = value;
    return value;
}

/* -- Constants with several uses ------------------------------------------- */

static bool is_same_entry(LLVMValueRef a, LLVMValueRef b)
{
    return LLVMGetOperand(a, 0) == LLVMGetOperand(b, 0);
}

static bool is_used_once(const tgi_llvm_emitter *e, LLVMValueRef load)
{
    unsigned uses = 0;
    for (unsigned i = 0; i < e->n_pooled; i++)
        if (is_same_entry(e->pooled[i], load))
            for (LLVMUseRef use = LLVMGetFirstUse(e->pooled[i]); use;
                 use = LLVMGetNextUse(use))
                uses++;
    return uses == 1;
}

static void inline_constant(LLVMValueRef load)
{
    LLVMValueRef global = LLVMGetOperand(load, 0);
    LLVMReplaceAllUsesWith(load, LLVMGetInitializer(global));
    LLVMInstructionEraseFromParent(load);
    if (!LLVMGetFirstUse(global))
        LLVMDeleteGlobal(global);
}

LLVMValueRef tgi_llvm_recipe_emit(tgi_llvm_emitter *e, tgi_emit_recipe *recipe,
                                  const tgi_emitted *operands)
{
    bool used_once[TGI_LLVM_MAX_POOLED];
    e->is_pooling = tgi_llvm_quirk_pools_constants(e);
    LLVMValueRef result = recipe(&e->base, operands);
    e->is_pooling = false;
    for (unsigned i = 0; i < e->n_pooled; i++)
        used_once[i] = is_used_once(e, e->pooled[i]);
    for (unsigned i = 0; i < e->n_pooled; i++)
        if (!used_once[i] && e->pooled[i] != result)
            inline_constant(e->pooled[i]);
    e->n_pooled = 0;
    return result;
}
