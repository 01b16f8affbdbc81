/* SPDX-License-Identifier: MIT */
/*
 * llvm_aarch64.c - AArch64 with NEON, as an instruction set of llvm_isa.h. The
 * only file of jit/llvm that names intrinsics of AArch64
 * (check-architecture.sh).
 */
#include "llvm/emit/llvm_isa.h"

#include <stddef.h>

#include "base/fpenv.h"

/* The intrinsics of FPCR have values of 64 bits, of which the upper 32 are
   0. */

static LLVMTypeRef integer_type(LLVMBuilderRef builder, unsigned bits)
{
    LLVMValueRef function =
        LLVMGetBasicBlockParent(LLVMGetInsertBlock(builder));
    return LLVMIntTypeInContext(
        LLVMGetModuleContext(LLVMGetGlobalParent(function)), bits);
}

static void save_fp_mode(LLVMBuilderRef builder, LLVMValueRef slot)
{
    LLVMValueRef mode =
        tgi_llvm_isa_call(builder, "llvm.aarch64.get.fpcr", NULL, 0);
    LLVMBuildStore(
        builder, LLVMBuildTrunc(builder, mode, integer_type(builder, 32), ""),
        slot);
}

static void restore_fp_mode(LLVMBuilderRef builder, LLVMValueRef slot)
{
    LLVMValueRef mode =
        LLVMBuildLoad2(builder, integer_type(builder, 32), slot, "");
    mode = LLVMBuildZExt(builder, mode, integer_type(builder, 64), "");
    tgi_llvm_isa_call(builder, "llvm.aarch64.set.fpcr", &mode, 1);
}

static const tgi_llvm_isa neon = {
    .architecture = TGI_LLVM_AARCH64,
    .max_vector_bits = 128,
    .converts_64_bit_integers = true,
    .mask_bytes = 16,
    .save_fp_mode = save_fp_mode,
    .restore_fp_mode = restore_fp_mode,
    .fp_control = TGI_FPCR_CONTROL,
    .fp_mode = TGI_FPCR_MODE,
};

const tgi_llvm_isa *tgi_llvm_aarch64_isa(tgi_isa isa)
{
    return isa == TGI_ISA_NEON ? &neon : NULL;
}
