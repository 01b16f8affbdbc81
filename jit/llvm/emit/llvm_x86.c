/* SPDX-License-Identifier: MIT */
/*
 * llvm_x86.c - x86-64 with AVX2 and FMA, or with AVX-512, as instruction sets
 * of llvm_isa.h. The only file of jit/llvm that names features or intrinsics of
 * x86 (check-architecture.sh).
 */
#include "llvm/emit/llvm_isa.h"

#include <string.h>

/* -- Intrinsics ------------------------------------------------------------ */

static LLVMValueRef call(LLVMBuilderRef builder, const char *name,
                         LLVMValueRef *operands, unsigned n)
{
    LLVMModuleRef module = LLVMGetGlobalParent(
        LLVMGetBasicBlockParent(LLVMGetInsertBlock(builder)));
    const unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef function = LLVMGetIntrinsicDeclaration(module, id, NULL, 0);
    return LLVMBuildCall2(builder, LLVMGlobalGetValueType(function), function,
                          operands, n, "");
}

static void store_fence(LLVMBuilderRef builder)
{
    call(builder, "llvm.x86.sse.sfence", NULL, 0);
}

static LLVMValueRef permute(LLVMBuilderRef builder, LLVMValueRef table,
                            LLVMValueRef index)
{
    return call(builder, "llvm.x86.avx2.permps",
                (LLVMValueRef[]){table, index}, 2);
}

static void save_fp_mode(LLVMBuilderRef builder, LLVMValueRef slot)
{
    call(builder, "llvm.x86.sse.stmxcsr", &slot, 1);
}

static void restore_fp_mode(LLVMBuilderRef builder, LLVMValueRef slot)
{
    call(builder, "llvm.x86.sse.ldmxcsr", &slot, 1);
}

/* -- Instruction sets ------------------------------------------------------ */

#define OF_BOTH \
    .mask_bytes = 32, .store_fence = store_fence, .permute = permute, \
    .save_fp_mode = save_fp_mode, .restore_fp_mode = restore_fp_mode, \
    .unscheduled_cpu = "skylake"

static const tgi_llvm_isa avx2 = {OF_BOTH};
static const tgi_llvm_isa avx512 = {OF_BOTH, .has_512_bits = true,
                                    .has_mask_registers = true,
                                    .converts_64_bit_integers = true,
                                    .broadcasts_operands = true};

const char tgi_llvm_isa_needed[] = "AVX2 or FMA";

static bool has_feature(const char *features, const char *feature)
{
    const size_t length = strlen(feature);
    for (const char *at = features; (at = strstr(at, feature)); at += length)
        if (at != features && at[-1] == '+' &&
            (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

const tgi_llvm_isa *tgi_llvm_isa_of_features(const char *features)
{
    static const char *const wide[] = {"avx512f", "avx512bw", "avx512cd",
                                       "avx512dq", "avx512vl"};
    if (!has_feature(features, "avx2") || !has_feature(features, "fma"))
        return NULL;
    for (size_t i = 0; i < sizeof(wide) / sizeof(*wide); i++)
        if (!has_feature(features, wide[i]))
            return &avx2;
    return &avx512;
}

const tgi_llvm_isa *tgi_llvm_isa_of_cpu(bool has_512_bits)
{
    return has_512_bits ? &avx512 : &avx2;
}
