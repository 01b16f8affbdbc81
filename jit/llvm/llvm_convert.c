/* SPDX-License-Identifier: MIT */
/*
 * llvm_convert.c - one element type as another. LLVM's own instructions do it,
 * but for two: between double and 64-bit integers AVX2 has no instruction on
 * vectors, and LLVM goes through single elements. Halves of 32 bits, as the
 * ends of large doubles, are exact and twice as fast. Division of
 * vectors of integers also is LLVM's only where floats cannot do it.
 */
#include "llvm/llvm_convert.h"
#include "llvm/llvm_emit.h"

/* Doubles whose last bits are an integer: of 32 bits, signed or not, and of
   the upper half of 64. */
#define ENDS_IN_U32 UINT64_C(0x4330000000000000)   /* 2^52 */
#define ENDS_IN_I32 UINT64_C(0x4338000000000000)   /* 2^52 + 2^51 */
#define ENDS_IN_UPPER UINT64_C(0x4530000000000000) /* 2^84 */

static LLVMValueRef integer(const tgi_llvm_emitter *e, uint64_t bits)
{
    return tgi_llvm_constant(e, TG_U64, bits);
}

static LLVMValueRef number(const tgi_llvm_emitter *e, double value)
{
    const union {
        double value;
        uint64_t bits;
    } as = {value};
    return tgi_llvm_constant(e, TG_F64, as.bits);
}

static LLVMValueRef lower_half(const tgi_llvm_emitter *e, LLVMValueRef x)
{
    return LLVMBuildAnd(e->builder, x, integer(e, UINT32_MAX), "");
}

/* x = upper 2^32 + lower; both are exact. */
static LLVMValueRef integer_of_double(tgi_llvm_emitter *e, tg_dtype to,
                                      LLVMValueRef x)
{
    LLVMBuilderRef builder = e->builder;
    LLVMTypeRef type = tgi_llvm_type(e, to);
    x = tgi_llvm_intrinsic_call(e, TGI_LLVM_TRUNC, TG_F64, &x, 1);
    LLVMValueRef upper = LLVMBuildFMul(builder, x, number(e, 0x1p-32), "");
    upper = tgi_llvm_intrinsic_call(e, TGI_LLVM_FLOOR, TG_F64, &upper, 1);
    LLVMValueRef factors[] = {upper, number(e, -0x1p32), x};
    LLVMValueRef lower =
        tgi_llvm_intrinsic_call(e, TGI_LLVM_FMA, TG_F64, factors, 3);

    LLVMValueRef end =
        tgi_llvm_constant(e, TG_F64, to == TG_I64 ? ENDS_IN_I32 : ENDS_IN_U32);
    upper = LLVMBuildFAdd(builder, upper, end, "");
    upper = LLVMBuildBitCast(builder, upper, type, "");
    upper = LLVMBuildShl(builder, upper, integer(e, 32), "");
    end = tgi_llvm_constant(e, TG_F64, ENDS_IN_U32);
    lower = LLVMBuildFAdd(builder, lower, end, "");
    lower = lower_half(e, LLVMBuildBitCast(builder, lower, type, ""));
    return LLVMBuildOr(builder, upper, lower, "");
}

/* The upper half counts from its lowest value. Only the last sum rounds. */
static LLVMValueRef double_of_i64(tgi_llvm_emitter *e, LLVMValueRef x)
{
    LLVMBuilderRef builder = e->builder;
    LLVMTypeRef type = tgi_llvm_type(e, TG_F64);
    LLVMValueRef upper = LLVMBuildLShr(builder, x, integer(e, 32), "");
    upper = LLVMBuildXor(builder, upper, integer(e, ENDS_IN_UPPER | 0x80000000),
                         "");
    upper = LLVMBuildBitCast(builder, upper, type, "");
    upper =
        LLVMBuildFSub(builder, upper, number(e, 0x1p84 + 0x1p63 + 0x1p52), "");
    LLVMValueRef lower =
        LLVMBuildOr(builder, lower_half(e, x), integer(e, ENDS_IN_U32), "");
    lower = LLVMBuildBitCast(builder, lower, type, "");
    return LLVMBuildFAdd(builder, upper, lower, "");
}

static bool is_long(tg_dtype dtype)
{
    return dtype == TG_I64 || dtype == TG_U64;
}

static LLVMValueRef convert_float(tgi_llvm_emitter *e, tg_dtype from,
                                  tg_dtype to, LLVMValueRef x)
{
    LLVMTypeRef type = tgi_llvm_type(e, to);
    if (tgi_dtype_is((int)to, TGI_CLASS_FLOAT))
        return LLVMBuildFPCast(e->builder, x, type, "");
    if (is_long(to) && e->lanes > 1 && !e->has_avx512) {
        if (from == TG_F32)
            x = LLVMBuildFPExt(e->builder, x, tgi_llvm_type(e, TG_F64), "");
        return integer_of_double(e, to, x);
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
    if (from == TG_I64 && to == TG_F64 && e->lanes > 1 && !e->has_avx512)
        return double_of_i64(e, x);
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
 * a / b lies below the next integer by 1 / |b| or more, which is more than
 * half a unit in its last place as long as a has fewer bits than a mantissa.
 */
LLVMValueRef tgi_llvm_divide(tgi_llvm_emitter *e, tg_dtype dtype,
                             LLVMValueRef a, LLVMValueRef b)
{
    if (e->lanes == 1 || is_long(dtype))
        return tgi_dtype_is((int)dtype, TGI_CLASS_SINT)
                   ? LLVMBuildSDiv(e->builder, a, b, "")
                   : LLVMBuildUDiv(e->builder, a, b, "");
    const tg_dtype by = tgi_dtype_bytes((int)dtype) == 4 ? TG_F64 : TG_F32;
    LLVMValueRef quotient =
        LLVMBuildFDiv(e->builder, tgi_llvm_convert(e, dtype, by, a),
                      tgi_llvm_convert(e, dtype, by, b), "");
    return tgi_llvm_convert(e, by, dtype, quotient);
}
