/* SPDX-License-Identifier: MIT */
/*
 * llvm_x86.c - x86-64 with AVX2 and FMA, or with AVX-512, as instruction sets
 * of llvm_isa.h. The only file of jit/llvm that names features or intrinsics of
 * x86 (check-architecture.sh).
 */
#include "llvm/emit/llvm_isa.h"

#include <string.h>

#include "base/fpenv.h"

/* -- Intrinsics ------------------------------------------------------------ */

static void store_fence(LLVMBuilderRef builder)
{
    tgi_llvm_isa_call(builder, "llvm.x86.sse.sfence", NULL, 0);
}

static void fill(LLVMBuilderRef builder, LLVMValueRef address,
                 LLVMValueRef n_bytes, LLVMValueRef byte)
{
    static const char text[] = "rep stosb";
    static const char operands[] = "={di},={cx},0,1,{al},~{memory},~{dirflag},"
                                   "~{fpsr},~{flags}";
    LLVMTypeRef types[] = {LLVMTypeOf(address), LLVMTypeOf(n_bytes),
                           LLVMTypeOf(byte)};
    LLVMContextRef context = LLVMGetTypeContext(types[0]);
    LLVMTypeRef type = LLVMFunctionType(
        LLVMStructTypeInContext(context, types, 2, false), types, 3, false);
    LLVMValueRef instruction =
        LLVMGetInlineAsm(type, text, sizeof(text) - 1, operands,
                         sizeof(operands) - 1, true, false,
                         LLVMInlineAsmDialectATT, false);
    LLVMValueRef arguments[] = {address, n_bytes, byte};
    LLVMBuildCall2(builder, type, instruction, arguments, 3, "");
}

static LLVMValueRef permute(LLVMBuilderRef builder, LLVMValueRef table,
                            LLVMValueRef index)
{
    return tgi_llvm_isa_call(builder, "llvm.x86.avx2.permps",
                             (LLVMValueRef[]){table, index}, 2);
}

/* The masked forms are the only ones; all lanes are active. */
static LLVMValueRef scale(LLVMBuilderRef builder, LLVMValueRef x,
                          LLVMValueRef n)
{
    static const char *const names[2][3] = {
        {"llvm.x86.avx512.mask.scalef.ps.128",
         "llvm.x86.avx512.mask.scalef.ps.256",
         "llvm.x86.avx512.mask.scalef.ps.512"},
        {"llvm.x86.avx512.mask.scalef.pd.128",
         "llvm.x86.avx512.mask.scalef.pd.256",
         "llvm.x86.avx512.mask.scalef.pd.512"},
    };
    enum { CURRENT_ROUNDING = 4 };
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMContextRef context = LLVMGetTypeContext(type);
    const unsigned lanes = LLVMGetVectorSize(type);
    const bool is_double =
        LLVMGetTypeKind(LLVMGetElementType(type)) == LLVMDoubleTypeKind;
    const unsigned registers = lanes / (is_double ? 2 : 4); /* of 128 bits */
    LLVMTypeRef mask = LLVMIntTypeInContext(context, lanes > 8 ? lanes : 8);
    LLVMValueRef operands[] = {
        x, n, x, LLVMConstAllOnes(mask),
        LLVMConstInt(LLVMInt32TypeInContext(context), CURRENT_ROUNDING, false)};
    return tgi_llvm_isa_call(builder, names[is_double][registers / 2], operands,
                             registers == 4 ? 5 : 4);
}

/* fptrunc would let LLVM compute in half, lane by lane. */
static LLVMValueRef narrow(LLVMBuilderRef builder, LLVMValueRef x)
{
    enum { TO_NEAREST_EVEN = 0 };
    LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(x));
    LLVMTypeRef i16 = LLVMInt16TypeInContext(context);
    const unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(x));
    LLVMValueRef operands[] = {
        x,
        LLVMConstInt(LLVMInt32TypeInContext(context), TO_NEAREST_EVEN, false),
        LLVMGetPoison(LLVMVectorType(i16, lanes)), LLVMConstAllOnes(i16)};
    if (lanes == 16)
        return tgi_llvm_isa_call(builder, "llvm.x86.avx512.mask.vcvtps2ph.512",
                                 operands, 4);
    LLVMValueRef bits = tgi_llvm_isa_call(builder,
                                          lanes == 8
                                              ? "llvm.x86.vcvtps2ph.256"
                                              : "llvm.x86.vcvtps2ph.128",
                                          operands, 2);
    if (lanes == 8)
        return bits;
    LLVMTypeRef index = LLVMInt32TypeInContext(context);
    LLVMValueRef low[4];
    for (unsigned i = 0; i < 4; i++)
        low[i] = LLVMConstInt(index, i, false);
    return LLVMBuildShuffleVector(builder, bits,
                                  LLVMGetPoison(LLVMTypeOf(bits)),
                                  LLVMConstVector(low, 4), "");
}

/* One of three intrinsics, for registers of 128, 256 and 512 bits. */
static const char *of_width(const char *const names[3], LLVMValueRef x)
{
    return names[LLVMGetVectorSize(LLVMTypeOf(x)) / 8];
}

/* vpdpbusd does not saturate, as vpmaddubsw does. */
static LLVMValueRef add_by_vnni(LLVMBuilderRef builder, LLVMValueRef a,
                                LLVMValueRef b, LLVMValueRef sum)
{
    static const char *const names[] = {"llvm.x86.avx512.vpdpbusd.128",
                                        "llvm.x86.avx512.vpdpbusd.256",
                                        "llvm.x86.avx512.vpdpbusd.512"};
    LLVMValueRef operands[] = {sum, a, b};
    return tgi_llvm_isa_call(builder, of_width(names, sum), operands, 3);
}

/* vpmaddwd adds the products of pairs of 16 bits: those of the bytes with even
   numbers, then the others. */
static LLVMValueRef add_by_pairs(LLVMBuilderRef builder, LLVMValueRef a,
                                 LLVMValueRef b, LLVMValueRef sum)
{
    static const char *const names[] = {"llvm.x86.sse2.pmadd.wd",
                                        "llvm.x86.avx2.pmadd.wd",
                                        "llvm.x86.avx512.pmaddw.d.512"};
    LLVMTypeRef type = LLVMTypeOf(sum);
    LLVMTypeRef i16 = LLVMInt16TypeInContext(LLVMGetTypeContext(type));
    const unsigned lanes = 2 * LLVMGetVectorSize(type);
    LLVMTypeRef pairs = LLVMVectorType(i16, lanes);
    LLVMValueRef eights[32], masks[32];
    for (unsigned i = 0; i < lanes; i++) {
        eights[i] = LLVMConstInt(i16, 8, false);
        masks[i] = LLVMConstInt(i16, 0xff, false);
    }
    LLVMValueRef eight = LLVMConstVector(eights, lanes);
    a = LLVMBuildBitCast(builder, a, pairs, "");
    b = LLVMBuildBitCast(builder, b, pairs, "");
    LLVMValueRef even[] = {
        LLVMBuildAnd(builder, a, LLVMConstVector(masks, lanes), ""),
        LLVMBuildAShr(builder, LLVMBuildShl(builder, b, eight, ""), eight, "")};
    LLVMValueRef odd[] = {LLVMBuildLShr(builder, a, eight, ""),
                          LLVMBuildAShr(builder, b, eight, "")};
    const char *name = of_width(names, sum);
    sum = LLVMBuildAdd(builder, sum, tgi_llvm_isa_call(builder, name, even, 2),
                       "");
    return LLVMBuildAdd(builder, sum, tgi_llvm_isa_call(builder, name, odd, 2),
                        "");
}

static void save_fp_mode(LLVMBuilderRef builder, LLVMValueRef slot)
{
    tgi_llvm_isa_call(builder, "llvm.x86.sse.stmxcsr", &slot, 1);
}

static void restore_fp_mode(LLVMBuilderRef builder, LLVMValueRef slot)
{
    tgi_llvm_isa_call(builder, "llvm.x86.sse.ldmxcsr", &slot, 1);
}

/* -- Instruction sets ------------------------------------------------------ */

#define OF_BOTH \
    .architecture = TGI_LLVM_X86_64, .mask_bytes = 32, \
    .fill = fill, .store_fence = store_fence, .permute = permute, \
    .save_fp_mode = save_fp_mode, .restore_fp_mode = restore_fp_mode, \
    .fp_control = TGI_MXCSR_CONTROL, .fp_mode = TGI_MXCSR_MODE, \
    .unscheduled_cpu = "skylake"

#define F16C .narrow = narrow, .extends_f16 = true
#define AVX512 \
    .max_vector_bits = 512, .has_mask_registers = true, \
    .converts_64_bit_integers = true, .broadcasts_operands = true, \
    .scale = scale
#define PAIRS .add_byte_products = add_by_pairs
#define VNNI .add_byte_products = add_by_vnni

static const tgi_llvm_isa avx2_without_f16c = {OF_BOTH, PAIRS,
                                               .max_vector_bits = 256};
/* [1]: with VNNI */
static const tgi_llvm_isa avx2[] = {
    {OF_BOTH, F16C, PAIRS, .max_vector_bits = 256},
    {OF_BOTH, F16C, VNNI, .max_vector_bits = 256},
};
static const tgi_llvm_isa avx512[] = {{OF_BOTH, F16C, AVX512, PAIRS},
                                      {OF_BOTH, F16C, AVX512, VNNI}};

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
            return has_feature(features, "f16c")
                       ? &avx2[has_feature(features, "avxvnni")]
                       : &avx2_without_f16c;
    return &avx512[has_feature(features, "avx512vnni")];
}

const tgi_llvm_isa *tgi_llvm_x86_isa(tgi_isa isa, bool has_vnni)
{
    return isa == TGI_ISA_AVX512 ? &avx512[has_vnni]
           : isa == TGI_ISA_AVX2 ? &avx2[has_vnni]
                                 : NULL;
}
