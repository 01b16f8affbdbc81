/* SPDX-License-Identifier: MIT */
/*
 * llvm_half.c - conversions between f32 and halves: by instructions of the CPU
 * for f16, where there are some, else by the recipes that the interpreter runs
 * (recipe_half.h), with the same bits. The instruction for bf16, of newer CPUs,
 * takes denormals as 0.
 */
#include "llvm/emit/llvm_half.h"
#include "llvm/emit/llvm_target.h"

enum { MIN_LANES = 4, MAX_LANES = 16 };

/* Register by register. */
static LLVMValueRef narrow_by_instruction(const tgi_llvm_emitter *e,
                                          LLVMValueRef x)
{
    if (e->lanes < MIN_LANES) {
        LLVMValueRef wide = e->isa->narrow(
            e->builder, tgi_llvm_add_lanes(e, x, MIN_LANES));
        return tgi_llvm_extract_lanes(e, wide, 0, e->lanes);
    }
    const unsigned of_register =
        tgi_llvm_target_function_bits(
            LLVMGetBasicBlockParent(LLVMGetInsertBlock(e->builder))) /
        32;
    const unsigned lanes = of_register < MAX_LANES ? of_register : MAX_LANES;
    if (e->lanes <= lanes)
        return e->isa->narrow(e->builder, x);
    LLVMValueRef parts[TGI_MAX_LANES];
    for (unsigned i = 0; i * lanes < e->lanes; i++)
        parts[i] = e->isa->narrow(
            e->builder, tgi_llvm_extract_lanes(e, x, i * lanes, lanes));
    return tgi_llvm_concat(e, parts, e->lanes / lanes);
}

LLVMValueRef tgi_llvm_narrow(tgi_llvm_emitter *e, tg_dtype half, LLVMValueRef x)
{
    return half == TG_F16 && e->isa->narrow ? narrow_by_instruction(e, x)
                                            : tgi_emit_narrow(&e->base, half, x);
}

LLVMValueRef tgi_llvm_widen(tgi_llvm_emitter *e, tg_dtype half, LLVMValueRef x)
{
    if (half != TG_F16 || !e->isa->extends_f16)
        return tgi_emit_widen(&e->base, half, x);
    LLVMTypeRef type =
        tgi_llvm_vector_of(e, LLVMHalfTypeInContext(e->context));
    return LLVMBuildFPExt(e->builder, LLVMBuildBitCast(e->builder, x, type, ""),
                          tgi_llvm_type(e, TG_F32), "");
}
