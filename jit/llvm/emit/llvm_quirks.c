/* SPDX-License-Identifier: MIT */
/* llvm_quirks.c - see llvm_quirks.h. */
#include "llvm/emit/llvm_quirks.h"

#include "base/dtype.h"

const char tgi_llvm_quirk_passes[] = "function(early-cse)";

/* -- Masks ----------------------------------------------------------------- */

/*
 * A mask as integers of the dtype's width with the mask in the sign bits, which
 * blends test. A mask that is `x < 0` is x itself.
 */
static LLVMValueRef widen_mask(const tgi_llvm_emitter *e, tg_dtype dtype,
                               LLVMValueRef mask)
{
    LLVMTypeRef type = tgi_llvm_integer_type(e, dtype);
    if (LLVMIsAICmpInst(mask) && LLVMGetICmpPredicate(mask) == LLVMIntSLT &&
        LLVMGetOperand(mask, 1) == LLVMConstNull(type))
        return LLVMGetOperand(mask, 0);
    return LLVMBuildSExt(e->builder, mask, type, "");
}

/* EQ(x, x): true unless x is NaN. The AND of two such masks is one compare. */
static bool is_not_nan_mask(LLVMValueRef mask)
{
    return LLVMIsAFCmpInst(mask) && LLVMGetFCmpPredicate(mask) == LLVMRealOEQ &&
           LLVMGetOperand(mask, 0) == LLVMGetOperand(mask, 1);
}

LLVMValueRef tgi_llvm_quirk_combine_masks(tgi_llvm_emitter *e,
                                          LLVMOpcode opcode, tg_dtype dtype,
                                          LLVMValueRef a, LLVMValueRef b)
{
    if (opcode == LLVMAnd && is_not_nan_mask(a) && is_not_nan_mask(b) &&
        LLVMTypeOf(LLVMGetOperand(a, 0)) == LLVMTypeOf(LLVMGetOperand(b, 0)))
        return LLVMBuildFCmp(e->builder, LLVMRealORD, LLVMGetOperand(a, 0),
                             LLVMGetOperand(b, 0), "");
    if (e->isa->has_mask_registers ||
        e->lanes * (unsigned)tgi_dtype_bytes((int)dtype) <= e->isa->mask_bytes)
        return LLVMBuildBinOp(e->builder, opcode, a, b, "");
    LLVMValueRef wide =
        LLVMBuildBinOp(e->builder, opcode, widen_mask(e, dtype, a),
                       widen_mask(e, dtype, b), "");
    return LLVMBuildICmp(e->builder, LLVMIntSLT, wide,
                         LLVMConstNull(LLVMTypeOf(wide)), "");
}

/* -- One lane at a time ---------------------------------------------------- */

enum { MAX_PERMUTED = 2 * TGI_LLVM_PERMUTE_LANES };

bool tgi_llvm_quirk_pools_constants(const tgi_llvm_emitter *e)
{
    return !e->isa->broadcasts_operands;
}

bool tgi_llvm_quirk_converts_by_lane(const tgi_llvm_emitter *e, tg_dtype dtype)
{
    return tgi_dtype_bytes((int)dtype) == 8 && e->lanes > 1 &&
           !e->isa->converts_64_bit_integers;
}

bool tgi_llvm_quirk_divides_by_lane(const tgi_llvm_emitter *e, tg_dtype dtype)
{
    return tgi_dtype_bytes((int)dtype) < 8 && e->lanes > 1;
}

bool tgi_llvm_quirk_permutes_table(const tgi_llvm_emitter *e, tg_dtype dtype,
                                   size_t n)
{
    return e->isa->permute && dtype == TG_F32 && n <= MAX_PERMUTED &&
           e->lanes > 1;
}

/* -- Code motion and scheduling -------------------------------------------- */

void tgi_llvm_quirk_keep_load(LLVMValueRef load)
{
    LLVMSetVolatile(load, true);
}

void tgi_llvm_quirk_skip_post_ra_scheduler(const tgi_llvm_isa *isa,
                                           LLVMValueRef function)
{
    if (isa->unscheduled_cpu)
        LLVMAddTargetDependentFunctionAttr(function, "tune-cpu",
                                           isa->unscheduled_cpu);
}

LLVMValueRef tgi_llvm_quirk_pointer_of(LLVMBuilderRef builder,
                                       LLVMTypeRef pointer,
                                       LLVMValueRef address)
{
    return LLVMBuildIntToPtr(builder, address, pointer, "");
}

void tgi_llvm_quirk_store_address(LLVMBuilderRef builder, LLVMValueRef address,
                                  LLVMValueRef to)
{
    LLVMBuildStore(builder, address, to);
}
