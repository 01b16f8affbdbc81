/* SPDX-License-Identifier: MIT */
/*
 * llvm_fp_mode.c - see llvm_fp_mode.h. The intrinsics of MXCSR take an address
 * of 32 bits, those of FPCR a value of 64 bits.
 */
#include "llvm/emit/llvm_fp_mode.h"

#include <string.h>

#include "base/fpenv.h"

static LLVMValueRef declare(LLVMModuleRef module, const char *name)
{
    const unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    return LLVMGetIntrinsicDeclaration(module, id, NULL, 0);
}

static LLVMTypeRef i32_type(LLVMValueRef intrinsic)
{
    return LLVMInt32TypeInContext(
        LLVMGetModuleContext(LLVMGetGlobalParent(intrinsic)));
}

void tgi_llvm_fp_mode_init(tgi_llvm_fp_mode *mode, tgi_isa isa,
                           LLVMModuleRef module, LLVMBuilderRef builder)
{
    if (isa == TGI_ISA_NEON) {
        *mode = (tgi_llvm_fp_mode){
            .control = TGI_FPCR_CONTROL,
            .value = TGI_FPCR_MODE,
            .read = declare(module, "llvm.aarch64.get.fpcr"),
            .write = declare(module, "llvm.aarch64.set.fpcr")};
        return;
    }
    *mode =
        (tgi_llvm_fp_mode){.control = TGI_MXCSR_CONTROL,
                           .value = TGI_MXCSR_MODE,
                           .read = declare(module, "llvm.x86.sse.stmxcsr"),
                           .write = declare(module, "llvm.x86.sse.ldmxcsr")};
    mode->slot = LLVMBuildAlloca(builder, i32_type(mode->read), "");
}

static LLVMValueRef call(LLVMBuilderRef builder, LLVMValueRef intrinsic,
                         LLVMValueRef argument)
{
    return LLVMBuildCall2(builder, LLVMGlobalGetValueType(intrinsic), intrinsic,
                          &argument, argument ? 1 : 0, "");
}

LLVMValueRef tgi_llvm_fp_mode_read(const tgi_llvm_fp_mode *mode,
                                   LLVMBuilderRef builder)
{
    LLVMTypeRef i32 = i32_type(mode->read);
    LLVMValueRef value = call(builder, mode->read, mode->slot);
    return mode->slot ? LLVMBuildLoad2(builder, i32, mode->slot, "")
                      : LLVMBuildTrunc(builder, value, i32, "");
}

void tgi_llvm_fp_mode_write(const tgi_llvm_fp_mode *mode,
                            LLVMBuilderRef builder, LLVMValueRef value)
{
    LLVMTypeRef i64 = LLVMInt64TypeInContext(
        LLVMGetModuleContext(LLVMGetGlobalParent(mode->write)));
    if (mode->slot)
        LLVMBuildStore(builder, value, mode->slot);
    call(builder, mode->write,
         mode->slot ? mode->slot : LLVMBuildZExt(builder, value, i64, ""));
}
