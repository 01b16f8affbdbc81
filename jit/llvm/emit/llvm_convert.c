/* SPDX-License-Identifier: MIT */
/*
 * llvm_convert.c - conversions between dtypes, and integer division. Where LLVM
 * would convert or divide one lane at a time (llvm_quirks.h), 64-bit integers
 * are converted as 32-bit halves, in the low mantissa bits of large doubles,
 * which is exact, and vectors of smaller integers are divided as floats.
 */
#include "llvm/emit/llvm_convert.h"
#include "llvm/emit/llvm_emit.h"
#include "llvm/emit/llvm_quirks.h"

/* Bits of doubles whose low mantissa bits can hold an integer: 32 bits,
   unsigned or signed, or the upper half of 64 bits. */
#define BIAS_U32 UINT64_C(0x4330000000000000)       /* 2^52 */
#define BIAS_I32 UINT64_C(0x4338000000000000)       /* 2^52 + 2^51 */
#define BIAS_UPPER_U32 UINT64_C(0x4530000000000000) /* 2^84 */

static LLVMValueRef u64_constant(const tgi_llvm_emitter *e, uint64_t bits)
{
    return tgi_llvm_constant(e, TG_U64, bits);
}

static LLVMValueRef f64_constant(const tgi_llvm_emitter *e, double value)
{
    const union {
        double value;
        uint64_t bits;
    } as = {value};
    return tgi_llvm_constant(e, TG_F64, as.bits);
}

static LLVMValueRef lower_u32(const tgi_llvm_emitter *e, LLVMValueRef x)
{
    return LLVMBuildAnd(e->builder, x, u64_constant(e, UINT32_MAX), "");
}

/* x = upper * 2^32 + lower; both are exact. */
static LLVMValueRef f64_to_i64(tgi_llvm_emitter *e, tg_dtype to, LLVMValueRef x)
{
    LLVMBuilderRef builder = e->builder;
    LLVMTypeRef type = tgi_llvm_type(e, to);
    x = tgi_llvm_intrinsic_call(e, TGI_LLVM_TRUNC, TG_F64, &x, 1);
    LLVMValueRef upper =
        LLVMBuildFMul(builder, x, f64_constant(e, 0x1p-32), "");
    upper = tgi_llvm_intrinsic_call(e, TGI_LLVM_FLOOR, TG_F64, &upper, 1);
    LLVMValueRef factors[] = {upper, f64_constant(e, -0x1p32), x};
    LLVMValueRef lower =
        tgi_llvm_intrinsic_call(e, TGI_LLVM_FMA, TG_F64, factors, 3);

    LLVMValueRef bias =
        tgi_llvm_constant(e, TG_F64, to == TG_I64 ? BIAS_I32 : BIAS_U32);
    upper = LLVMBuildFAdd(builder, upper, bias, "");
    upper = LLVMBuildBitCast(builder, upper, type, "");
    upper = LLVMBuildShl(builder, upper, u64_constant(e, 32), "");
    bias = tgi_llvm_constant(e, TG_F64, BIAS_U32);
    lower = LLVMBuildFAdd(builder, lower, bias, "");
    lower = lower_u32(e, LLVMBuildBitCast(builder, lower, type, ""));
    return LLVMBuildOr(builder, upper, lower, "");
}

/* The sign bit of the upper half is flipped and subtracted as a bias. Only the
   last addition rounds. */
static LLVMValueRef i64_to_f64(tgi_llvm_emitter *e, LLVMValueRef x)
{
    LLVMBuilderRef builder = e->builder;
    LLVMTypeRef type = tgi_llvm_type(e, TG_F64);
    LLVMValueRef upper = LLVMBuildLShr(builder, x, u64_constant(e, 32), "");
    upper = LLVMBuildXor(builder, upper,
                         u64_constant(e, BIAS_UPPER_U32 | 0x80000000), "");
    upper = LLVMBuildBitCast(builder, upper, type, "");
    upper = LLVMBuildFSub(builder, upper,
                          f64_constant(e, 0x1p84 + 0x1p63 + 0x1p52), "");
    LLVMValueRef lower =
        LLVMBuildOr(builder, lower_u32(e, x), u64_constant(e, BIAS_U32), "");
    lower = LLVMBuildBitCast(builder, lower, type, "");
    return LLVMBuildFAdd(builder, upper, lower, "");
}

static LLVMValueRef convert_float(tgi_llvm_emitter *e, tg_dtype from,
                                  tg_dtype to, LLVMValueRef x)
{
    LLVMTypeRef type = tgi_llvm_type(e, to);
    if (tgi_dtype_is((int)to, TGI_CLASS_FLOAT))
        return LLVMBuildFPCast(e->builder, x, type, "");
    if (tgi_llvm_quirk_converts_by_lane(e, to)) {
        if (from == TG_F32)
            x = LLVMBuildFPExt(e->builder, x, tgi_llvm_type(e, TG_F64), "");
        return f64_to_i64(e, to, x);
    }
    return tgi_dtype_is((int)to, TGI_CLASS_SINT)
               ? LLVMBuildFPToSI(e->builder, x, type, "")
               : LLVMBuildFPToUI(e->builder, x, type, "");
}

static LLVMValueRef convert_integer(tgi_llvm_emitter *e, tg_dtype from,
                                    tg_dtype to, LLVMValueRef x)
{
    LLVMTypeRef type = tgi_llvm_type(e, to);
    const bool is_signed = tgi_dtype_is((int)from, TGI_CLASS_SINT);
    if (!tgi_dtype_is((int)to, TGI_CLASS_FLOAT))
        return LLVMBuildIntCast2(e->builder, x, type, is_signed, "");
    if (from == TG_I64 && to == TG_F64 &&
        tgi_llvm_quirk_converts_by_lane(e, from))
        return i64_to_f64(e, x);
    return is_signed ? LLVMBuildSIToFP(e->builder, x, type, "")
                     : LLVMBuildUIToFP(e->builder, x, type, "");
}

LLVMValueRef tgi_llvm_convert(tgi_llvm_emitter *e, tg_dtype from, tg_dtype to,
                              LLVMValueRef x)
{
    if (LLVMTypeOf(x) == tgi_llvm_mask_type(e)) {
        from = TG_BOOL;
        x = tgi_llvm_bool_of_mask(e, x);
    }
    return tgi_dtype_is((int)from, TGI_CLASS_FLOAT)
               ? convert_float(e, from, to, x)
               : convert_integer(e, from, to, x);
}

/*
 * Exact: a / b is at least 1 / |b| below the next integer, which exceeds half a
 * unit in its last place if a has fewer bits than the mantissa.
 */
LLVMValueRef tgi_llvm_divide(tgi_llvm_emitter *e, tg_dtype dtype,
                             LLVMValueRef a, LLVMValueRef b)
{
    if (!tgi_llvm_quirk_divides_by_lane(e, dtype))
        return tgi_dtype_is((int)dtype, TGI_CLASS_SINT)
                   ? LLVMBuildSDiv(e->builder, a, b, "")
                   : LLVMBuildUDiv(e->builder, a, b, "");
    const tg_dtype float_dtype =
        tgi_dtype_bytes((int)dtype) == 4 ? TG_F64 : TG_F32;
    LLVMValueRef quotient =
        LLVMBuildFDiv(e->builder, tgi_llvm_convert(e, dtype, float_dtype, a),
                      tgi_llvm_convert(e, dtype, float_dtype, b), "");
    return tgi_llvm_convert(e, float_dtype, dtype, quotient);
}
