/* SPDX-License-Identifier: MIT */
/*
 * llvm_random.c - RANDOM_BITS: each lane computes its own block of
 * Philox4x32-10 and selects one word of it (docs/NUMERICS.md).
 */
#include "llvm/emit/llvm_random.h"
#include "llvm/emit/llvm_emit.h"
#include "llvm/emit/llvm_kernel_state.h"

enum { ROUNDS = 10, WORDS = 4 };

/* The constants of Philox4x32. */
static const uint32_t multipliers[] = {0xD2511F53, 0xCD9E8D57};
static const uint32_t key_increments[] = {0x9E3779B9, 0xBB67AE85};

static LLVMValueRef u32_half(tgi_llvm_kernel *k, LLVMValueRef x, bool is_upper)
{
    if (is_upper)
        x = LLVMBuildLShr(k->b, x, tgi_llvm_constant(k->e, TG_U64, 32), "");
    return LLVMBuildTrunc(k->b, x, tgi_llvm_type(k->e, TG_U32), "");
}

static LLVMValueRef multiply_wide(tgi_llvm_kernel *k, uint32_t factor,
                                  LLVMValueRef x)
{
    x = LLVMBuildZExt(k->b, x, tgi_llvm_type(k->e, TG_U64), "");
    return LLVMBuildMul(k->b, x, tgi_llvm_constant(k->e, TG_U64, factor), "");
}

static void philox(tgi_llvm_kernel *k, LLVMValueRef key, LLVMValueRef number,
                   LLVMValueRef *word)
{
    LLVMBuilderRef b = k->b;
    LLVMValueRef keys[] = {u32_half(k, key, false), u32_half(k, key, true)};
    word[0] = u32_half(k, number, false);
    word[1] = u32_half(k, number, true);
    word[2] = word[3] = tgi_llvm_constant(k->e, TG_U32, 0);
    for (int round = 0; round < ROUNDS; round++) {
        LLVMValueRef first = multiply_wide(k, multipliers[0], word[0]);
        LLVMValueRef second = multiply_wide(k, multipliers[1], word[2]);
        word[0] = LLVMBuildXor(
            b, LLVMBuildXor(b, u32_half(k, second, true), word[1], ""), keys[0],
            "");
        word[2] = LLVMBuildXor(
            b, LLVMBuildXor(b, u32_half(k, first, true), word[3], ""), keys[1],
            "");
        word[1] = u32_half(k, second, false);
        word[3] = u32_half(k, first, false);
        for (int i = 0; i < 2; i++)
            keys[i] = LLVMBuildAdd(
                b, keys[i], tgi_llvm_constant(k->e, TG_U32, key_increments[i]),
                "");
    }
}

/* Word w of the random stream of a key. */
static LLVMValueRef philox_word(tgi_llvm_kernel *k, LLVMValueRef key,
                                LLVMValueRef w)
{
    LLVMValueRef word[WORDS];
    LLVMValueRef number =
        LLVMBuildLShr(k->b, w, tgi_llvm_constant(k->e, TG_U64, 2), "");
    philox(k, key, number, word);
    LLVMValueRef part = LLVMBuildAnd(k->b, u32_half(k, w, false),
                                     tgi_llvm_constant(k->e, TG_U32, 3), "");
    LLVMValueRef result = word[0];
    for (unsigned i = 1; i < WORDS; i++)
        result = LLVMBuildSelect(
            k->b,
            LLVMBuildICmp(k->b, LLVMIntEQ, part,
                          tgi_llvm_constant(k->e, TG_U32, i), ""),
            word[i], result, "");
    return result;
}

LLVMValueRef tgi_llvm_random_bits(tgi_llvm_kernel *k, tg_dtype dtype,
                                  LLVMValueRef key, LLVMValueRef offset,
                                  LLVMValueRef position)
{
    LLVMBuilderRef b = k->b;
    if (dtype == TG_U32)
        return philox_word(k, key, LLVMBuildAdd(b, offset, position, ""));
    LLVMTypeRef type = tgi_llvm_type(k->e, TG_U64);
    LLVMValueRef one = tgi_llvm_constant(k->e, TG_U64, 1);
    LLVMValueRef w =
        LLVMBuildAdd(b, offset, LLVMBuildShl(b, position, one, ""), "");
    LLVMValueRef lower = philox_word(k, key, w);
    LLVMValueRef upper = philox_word(k, key, LLVMBuildAdd(b, w, one, ""));
    upper = LLVMBuildShl(b, LLVMBuildZExt(b, upper, type, ""),
                         tgi_llvm_constant(k->e, TG_U64, 32), "");
    return LLVMBuildOr(b, LLVMBuildZExt(b, lower, type, ""), upper, "");
}
