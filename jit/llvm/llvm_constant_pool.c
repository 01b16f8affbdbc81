/* SPDX-License-Identifier: MIT */
/*
 * llvm_constant_pool.c - constants of recipes in memory, once for every lane.
 *
 * LLVM loads a constant of one element into all lanes of a register, and
 * without AVX-512 that is an instruction of its own: a fourth of those of a
 * polynomial. One that lies in memory in full is an operand of the
 * instruction that needs it. That pays only for what a recipe uses once;
 * others belong into a register. erf is a quarter quicker with it,
 * Black-Scholes a tenth.
 */
#include "llvm/llvm_constant_pool.h"
#include "llvm/llvm_emit.h"

#include <stdio.h>

enum { LINE = 64 };

/* Not a constant in the eyes of passes, which would put it back in place. */
static LLVMValueRef global_of(const tgi_llvm_emitter *e, tg_dtype dtype,
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
                       global_of(e, dtype, bits, alignment), "");
    LLVMSetAlignment(value, alignment);
    e->pooled[e->n_pooled++] = value;
    return value;
}

/* -- What is used more than once ------------------------------------------- */

static bool is_same(LLVMValueRef a, LLVMValueRef b)
{
    return LLVMGetOperand(a, 0) == LLVMGetOperand(b, 0);
}

static bool is_used_once(const tgi_llvm_emitter *e, LLVMValueRef load)
{
    unsigned uses = 0;
    for (unsigned i = 0; i < e->n_pooled; i++)
        if (is_same(e->pooled[i], load))
            for (LLVMUseRef use = LLVMGetFirstUse(e->pooled[i]); use;
                 use = LLVMGetNextUse(use))
                uses++;
    return uses == 1;
}

static void put_back(LLVMValueRef load)
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
    bool is_once[TGI_LLVM_MAX_POOLED];
    e->is_pooling = !e->has_avx512;
    LLVMValueRef result = recipe(&e->base, operands);
    e->is_pooling = false;
    for (unsigned i = 0; i < e->n_pooled; i++)
        is_once[i] = is_used_once(e, e->pooled[i]);
    for (unsigned i = 0; i < e->n_pooled; i++)
        if (!is_once[i] && e->pooled[i] != result)
            put_back(e->pooled[i]);
    e->n_pooled = 0;
    return result;
}
