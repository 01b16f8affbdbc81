/* SPDX-License-Identifier: MIT */
/*
 * llvm_byte_products.c - products of bytes (byte_products.h): by instructions
 * of the CPU, register by register, else byte by byte in 32 bits. All are exact,
 * so they have the same bits.
 */
#include "llvm/emit/llvm_byte_products.h"
#include "llvm/emit/llvm_target.h"

enum { MIN_LANES = 4, BYTES = 4 };

static LLVMValueRef add_in_generic_code(const tgi_llvm_emitter *e,
                                        LLVMValueRef a, LLVMValueRef b,
                                        LLVMValueRef sum)
{
    LLVMBuilderRef builder = e->builder;
    LLVMValueRef last = tgi_llvm_constant(e, TG_U32, 24);
    LLVMValueRef mask = tgi_llvm_constant(e, TG_U32, 0xff);
    for (unsigned i = 0; i < BYTES; i++) {
        LLVMValueRef left = LLVMBuildAnd(
            builder,
            LLVMBuildLShr(builder, a, tgi_llvm_constant(e, TG_U32, 8 * i), ""),
            mask, "");
        LLVMValueRef right = LLVMBuildShl(
            builder, b, tgi_llvm_constant(e, TG_U32, 24 - 8 * i), "");
        right = LLVMBuildAShr(builder, right, last, "");
        sum = LLVMBuildAdd(builder, sum,
                           LLVMBuildMul(builder, left, right, ""), "");
    }
    return sum;
}

static LLVMValueRef add_register_by_register(const tgi_llvm_emitter *e,
                                             LLVMValueRef a, LLVMValueRef b,
                                             LLVMValueRef sum)
{
    const unsigned lanes =
        tgi_llvm_target_function_bits(
            LLVMGetBasicBlockParent(LLVMGetInsertBlock(e->builder))) /
        32;
    LLVMValueRef parts[TGI_MAX_LANES];
    if (e->lanes <= lanes)
        return e->isa->add_byte_products(e->builder, a, b, sum);
    for (unsigned i = 0; i * lanes < e->lanes; i++)
        parts[i] = e->isa->add_byte_products(
            e->builder, tgi_llvm_extract_lanes(e, a, i * lanes, lanes),
            tgi_llvm_extract_lanes(e, b, i * lanes, lanes),
            tgi_llvm_extract_lanes(e, sum, i * lanes, lanes));
    return tgi_llvm_concat(e, parts, e->lanes / lanes);
}

LLVMValueRef tgi_llvm_product_step(tgi_llvm_emitter *e,
                                   const tgi_reduction *reduction,
                                   const tgi_emitted *in)
{
    if (!reduction->is_bytes)
        return tgi_emit_step_of(TGI_OP_MATMUL,
                                (tg_dtype)reduction->dtype)(&e->base, in);
    return e->isa->add_byte_products && e->lanes >= MIN_LANES
               ? add_register_by_register(e, in[0], in[1], in[2])
               : add_in_generic_code(e, in[0], in[1], in[2]);
}
