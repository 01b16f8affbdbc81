/* SPDX-License-Identifier: MIT */
/*
 * llvm_reduce.c - steps, starts and ends of reductions, from their recipes.
 *
 * Min, max and wrapping integer reductions are reassociable. Min and max of
 * floats then use the CPU's instructions, which ignore NaNs and do not order
 * zeros. The accumulator has two more parts: whether there was a NaN, and the
 * combined sign bits (AND for max, OR for min). If the result is zero, its
 * sign is that of the combined bits: a max is +0 if any element had a clear
 * sign bit, a min -0 if any had a set one.
 */
#include "llvm/reduce/llvm_reduce.h"
#include "schedule/schedule.h"
#include "llvm/emit/llvm_byte_products.h"
#include "llvm/emit/llvm_debug.h"
#include "llvm/emit/llvm_emit.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_inst.h"
#include "llvm/emit/llvm_kernel_state.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const tgi_reduction *reduction_at(const tgi_schedule *s, uint32_t number)
{
    return &s->loops->reductions.data[number];
}

/* The op that combines results of blocks. */
static int combining_op(const tgi_reduction *reduction)
{
    return reduction->op == TGI_OP_MATMUL ? TGI_OP_SUM : reduction->op;
}

static bool is_native_minmax(const tgi_reduction *reduction,
                             bool is_reassociable)
{
    return is_reassociable && tgi_reduction_is_native_minmax(reduction);
}

unsigned tgi_llvm_accumulator_parts(const tgi_llvm_kernel *k, uint32_t number,
                                    bool is_reassociable)
{
    const tgi_reduction *reduction = reduction_at(k->schedule, number);
    return is_native_minmax(reduction, is_reassociable) ? 3
           : tgi_reduction_is_arg(reduction)            ? 2
                                                        : 1;
}

static tg_dtype bits_dtype(const tgi_reduction *reduction)
{
    return reduction->dtype == TG_F64 ? TG_U64 : TG_U32;
}

tg_dtype tgi_llvm_accumulator_dtype(const tgi_llvm_kernel *k, uint32_t number,
                                    unsigned part)
{
    const tgi_reduction *reduction = reduction_at(k->schedule, number);
    if (tgi_reduction_is_arg(reduction))
        return part ? TG_I64
                    : (tg_dtype)tgi_kernel_dtype(k->loops, reduction->value);
    return part ? bits_dtype(reduction) : (tg_dtype)reduction->dtype;
}

/* -- Starts ---------------------------------------------------------------- */

void tgi_llvm_reduce_start(tgi_llvm_kernel *k, uint32_t number,
                           bool is_reassociable, tgi_llvm_accumulator *out)
{
    const tgi_reduction *reduction = reduction_at(k->schedule, number);
    if (tgi_reduction_is_arg(reduction)) {
        /* The first row replaces it, whatever its value. */
        const int dtype = k->loops->insts.data[reduction->value].dtype;
        out->part[0] = tgi_llvm_constant(k->e, (tg_dtype)dtype, 0);
        out->part[1] = tgi_llvm_constant(k->e, TG_I64, 0);
        return;
    }
    out->part[0] =
        tgi_emit_start_of(reduction->op, reduction->dtype)(&k->e->base);
    if (is_native_minmax(reduction, is_reassociable)) {
        const bool is_max = reduction->op == TGI_OP_REDUCE_MAX;
        out->part[1] = tgi_llvm_constant(k->e, bits_dtype(reduction), 0);
        out->part[2] = tgi_llvm_constant(k->e, bits_dtype(reduction),
                                         is_max ? UINT64_MAX : 0);
    }
}

LLVMValueRef tgi_llvm_reduce_empty(tgi_llvm_kernel *k, uint32_t number)
{
    const tgi_reduction *reduction = reduction_at(k->schedule, number);
    if (tgi_reduction_is_arg(reduction))
        return tgi_llvm_constant(k->e, TG_I64, 0);
    return tgi_emit_empty_of(combining_op(reduction),
                             reduction->dtype)(&k->e->base);
}

/* -- Steps ----------------------------------------------------------------- */

/* vmaxps or vminps: `best` if x is NaN or equal. */
static LLVMValueRef select_better(tgi_llvm_kernel *k,
                                  const tgi_reduction *reduction,
                                  LLVMValueRef x, LLVMValueRef best)
{
    LLVMValueRef is_better = LLVMBuildFCmp(
        k->b, reduction->op == TGI_OP_REDUCE_MAX ? LLVMRealOGT : LLVMRealOLT, x,
        best, "");
    return LLVMBuildSelect(k->b, is_better, x, best, "");
}

static LLVMValueRef combine_signs(tgi_llvm_kernel *k,
                                  const tgi_reduction *reduction,
                                  LLVMValueRef a, LLVMValueRef b)
{
    return reduction->op == TGI_OP_REDUCE_MAX ? LLVMBuildAnd(k->b, a, b, "")
                                              : LLVMBuildOr(k->b, a, b, "");
}

/* Accumulates x, and `other` unless it is NULL. */
static void step_native_minmax(tgi_llvm_kernel *k,
                               const tgi_reduction *reduction, LLVMValueRef x,
                               LLVMValueRef other, tgi_llvm_accumulator *next)
{
    LLVMTypeRef bits = tgi_llvm_type(k->e, bits_dtype(reduction));
    LLVMValueRef is_nan =
        LLVMBuildFCmp(k->b, LLVMRealUNO, x, other ? other : x, "");
    LLVMValueRef signs = LLVMBuildBitCast(k->b, x, bits, "");
    next->part[0] = select_better(k, reduction, x, next->part[0]);
    if (other) {
        next->part[0] = select_better(k, reduction, other, next->part[0]);
        signs = combine_signs(k, reduction, signs,
                              LLVMBuildBitCast(k->b, other, bits, ""));
    }
    next->part[1] = LLVMBuildOr(k->b, next->part[1],
                                LLVMBuildSExt(k->b, is_nan, bits, ""), "");
    next->part[2] = combine_signs(k, reduction, next->part[2], signs);
}

void tgi_llvm_reduce_step_pair(tgi_llvm_kernel *k, uint32_t number,
                               LLVMValueRef first, tgi_llvm_accumulator *acc)
{
    const tgi_reduction *reduction = reduction_at(k->schedule, number);
    LLVMMetadataRef before = tgi_llvm_debug_set_reduction(k, number);
    step_native_minmax(k, reduction, first,
                       tgi_llvm_value_of(k, reduction->value), acc);
    tgi_llvm_debug_restore(k->program, before);
}

static void step_arg(tgi_llvm_kernel *k, const tgi_reduction *reduction,
                     LLVMValueRef x, tgi_llvm_accumulator *next)
{
    const int dtype = k->loops->insts.data[reduction->value].dtype;
    LLVMValueRef row = k->index[k->schedule->inner];
    const tgi_emitted in[] = {next->part[0], x};
    LLVMValueRef replaces =
        tgi_emit_step_of(reduction->op, (tg_dtype)dtype)(&k->e->base, in);
    LLVMValueRef is_first = LLVMBuildICmp(
        k->b, LLVMIntEQ, row, tgi_llvm_const_i64(k->program, 0), "");
    replaces = LLVMBuildOr(k->b, replaces, tgi_llvm_splat(k->e, is_first), "");
    next->part[0] = LLVMBuildSelect(k->b, replaces, x, next->part[0], "");
    next->part[1] = LLVMBuildSelect(k->b, replaces, tgi_llvm_splat(k->e, row),
                                    next->part[1], "");
}

void tgi_llvm_reduce_step(tgi_llvm_kernel *k, uint32_t number,
                          bool is_reassociable, tgi_llvm_accumulator *acc)
{
    const tgi_reduction *reduction = reduction_at(k->schedule, number);
    const tgi_llvm_accumulator old = *acc;
    LLVMMetadataRef before = tgi_llvm_debug_set_reduction(k, number);
    LLVMValueRef x = tgi_llvm_value_of(k, reduction->value);
    if (tgi_reduction_is_arg(reduction)) {
        step_arg(k, reduction, x, acc);
    } else if (is_native_minmax(reduction, is_reassociable)) {
        step_native_minmax(k, reduction, x, NULL, acc);
    } else if (reduction->op == TGI_OP_MATMUL) {
        const tgi_emitted in[] = {x, tgi_llvm_value_of(k, reduction->other),
                                  old.part[0]};
        acc->part[0] = tgi_llvm_product_step(k->e, reduction, in);
    } else {
        acc->part[0] = tgi_llvm_reduce_combine(k, number, old.part[0], x);
    }
    /* Inactive columns are never stored; inactive lanes of a row must not
       change, since lanes are combined at the end. */
    const bool is_masked =
        k->mask && k->e->lanes > 1 && k->loops->vectors != TGI_COLUMNS;
    for (unsigned i = 0; is_masked && i < tgi_llvm_accumulator_parts(
                                              k, number, is_reassociable);
         i++)
        acc->part[i] =
            LLVMBuildSelect(k->b, k->mask, acc->part[i], old.part[i], "");
    tgi_llvm_debug_restore(k->program, before);
}

/* -- Ends ------------------------------------------------------------------ */

static LLVMValueRef nan_constant(const tgi_llvm_kernel *k, tg_dtype dtype)
{
    const double nan64 = (double)NAN;
    const float nan32 = NAN;
    uint64_t nan = 0;
    if (dtype == TG_F64)
        memcpy(&nan, &nan64, sizeof(nan64));
    else
        memcpy(&nan, &nan32, sizeof(nan32));
    return tgi_llvm_constant(k->e, dtype, nan);
}

static LLVMValueRef native_minmax_value(tgi_llvm_kernel *k,
                                        const tgi_reduction *reduction,
                                        const tgi_llvm_accumulator *acc)
{
    const tg_dtype dtype = reduction->dtype, bits = bits_dtype(reduction);
    LLVMValueRef zero = tgi_llvm_constant(k->e, bits, 0);
    LLVMValueRef sign =
        LLVMBuildAnd(k->b, acc->part[2],
                     tgi_llvm_constant(k->e, bits,
                                       dtype == TG_F64 ? UINT64_C(1) << 63
                                                       : UINT64_C(1) << 31),
                     "");
    LLVMValueRef is_zero = LLVMBuildFCmp(k->b, LLVMRealOEQ, acc->part[0],
                                         tgi_llvm_constant(k->e, dtype, 0), "");
    LLVMValueRef value = LLVMBuildSelect(
        k->b, is_zero,
        LLVMBuildBitCast(k->b, sign, tgi_llvm_type(k->e, dtype), ""),
        acc->part[0], "");

    LLVMValueRef is_nan =
        LLVMBuildICmp(k->b, LLVMIntNE, acc->part[1], zero, "");
    return LLVMBuildSelect(k->b, is_nan, nan_constant(k, dtype), value, "");
}

LLVMValueRef tgi_llvm_reduce_finish(tgi_llvm_kernel *k, uint32_t number,
                                    bool is_reassociable,
                                    const tgi_llvm_accumulator *acc)
{
    const tgi_reduction *reduction = reduction_at(k->schedule, number);
    if (tgi_reduction_is_arg(reduction))
        return acc->part[1];
    return is_native_minmax(reduction, is_reassociable)
               ? native_minmax_value(k, reduction, acc)
               : acc->part[0];
}

LLVMValueRef tgi_llvm_matmul_start(tgi_llvm_kernel *k, LLVMValueRef from,
                                   LLVMValueRef to)
{
    const tg_dtype dtype = k->loops->reductions.data[0].dtype;
    LLVMValueRef zero = tgi_llvm_constant(k->e, dtype, 0);
    if (!tgi_dtype_is((int)dtype, TGI_CLASS_FLOAT))
        return zero;
    /* x + -0 is x for every x; an empty sum is +0. */
    const unsigned bits = 8 * (unsigned)tgi_dtype_bytes((int)dtype);
    LLVMValueRef identity =
        tgi_llvm_constant(k->e, dtype, UINT64_C(1) << (bits - 1));
    LLVMValueRef is_any = LLVMBuildICmp(k->b, LLVMIntSLT, from, to, "");
    return LLVMBuildSelect(k->b, is_any, identity, zero, "");
}

/*
 * Min or max of two floats with the recipe's result. The CPU's instruction
 * returns its second operand for two zeros, so it is applied in both orders and
 * the signs are combined.
 */
static LLVMValueRef combine_minmax(tgi_llvm_kernel *k,
                                   const tgi_reduction *reduction,
                                   LLVMValueRef a, LLVMValueRef b)
{
    LLVMTypeRef type = LLVMTypeOf(a),
                bits = tgi_llvm_type(k->e, bits_dtype(reduction));
    LLVMValueRef a_first =
        LLVMBuildBitCast(k->b, select_better(k, reduction, a, b), bits, "");
    LLVMValueRef b_first =
        LLVMBuildBitCast(k->b, select_better(k, reduction, b, a), bits, "");
    LLVMValueRef value = LLVMBuildBitCast(
        k->b, combine_signs(k, reduction, a_first, b_first), type, "");
    LLVMValueRef has_nan = LLVMBuildFCmp(k->b, LLVMRealUNO, a, b, "");
    return LLVMBuildSelect(
        k->b, has_nan, nan_constant(k, (tg_dtype)reduction->dtype), value, "");
}

LLVMValueRef tgi_llvm_reduce_combine_op(tgi_llvm_kernel *k, int op,
                                        tg_dtype dtype, LLVMValueRef left,
                                        LLVMValueRef right)
{
    const tgi_reduction by = {.op = (uint8_t)op, .dtype = (uint8_t)dtype};
    const tgi_emitted in[] = {left, right};
    if (is_native_minmax(&by, true) && tgi_dtype_bytes((int)dtype) >= 4)
        return combine_minmax(k, &by, left, right);
    return tgi_emit_step_of(op, dtype)(&k->e->base, in);
}

LLVMValueRef tgi_llvm_reduce_combine(tgi_llvm_kernel *k, uint32_t number,
                                     LLVMValueRef left, LLVMValueRef right)
{
    const tgi_reduction *reduction = reduction_at(k->schedule, number);
    assert(!tgi_reduction_is_arg(reduction));
    LLVMMetadataRef before = tgi_llvm_debug_set_reduction(k, number);
    LLVMValueRef result = tgi_llvm_reduce_combine_op(
        k, combining_op(reduction), reduction->dtype, left, right);
    tgi_llvm_debug_restore(k->program, before);
    return result;
}

/* -- Lanes ----------------------------------------------------------------- */

void tgi_llvm_reduce_halve(tgi_llvm_kernel *k, uint32_t number,
                           tgi_llvm_accumulator *acc)
{
    const tgi_reduction *reduction = reduction_at(k->schedule, number);
    const unsigned lanes = k->e->lanes, half = lanes / 2;
    LLVMValueRef lower[TGI_LLVM_MAX_PARTS], upper[TGI_LLVM_MAX_PARTS];
    for (unsigned i = 0; i < tgi_llvm_accumulator_parts(k, number, true); i++) {
        lower[i] = tgi_llvm_extract_lanes(k->e, acc->part[i], 0, half);
        upper[i] = tgi_llvm_extract_lanes(k->e, acc->part[i], half, half);
    }
    k->e->lanes = half;
    if (is_native_minmax(reduction, true)) {
        acc->part[0] = select_better(k, reduction, upper[0], lower[0]);
        acc->part[1] = LLVMBuildOr(k->b, lower[1], upper[1], "");
        acc->part[2] = combine_signs(k, reduction, lower[2], upper[2]);
    } else {
        acc->part[0] = tgi_llvm_reduce_combine(k, number, lower[0], upper[0]);
    }
    k->e->lanes = lanes;
}

LLVMValueRef tgi_llvm_horizontal_reduce_op(tgi_llvm_kernel *k, int op,
                                           tg_dtype dtype,
                                           LLVMValueRef *vectors, unsigned n)
{
    for (unsigned half = n / 2; half > 0; half /= 2)
        for (unsigned i = 0; i < half; i++)
            vectors[i] = tgi_llvm_reduce_combine_op(k, op, dtype, vectors[i],
                                                    vectors[i + half]);
    LLVMValueRef all = vectors[0];
    while (k->e->lanes > 1) {
        const unsigned half = k->e->lanes / 2;
        LLVMValueRef lower = tgi_llvm_extract_lanes(k->e, all, 0, half);
        LLVMValueRef upper = tgi_llvm_extract_lanes(k->e, all, half, half);
        k->e->lanes = half;
        all = tgi_llvm_reduce_combine_op(k, op, dtype, lower, upper);
    }
    return all;
}

LLVMValueRef tgi_llvm_horizontal_reduce(tgi_llvm_kernel *k, uint32_t number,
                                        LLVMValueRef *vectors, unsigned n)
{
    const tgi_reduction *reduction = reduction_at(k->schedule, number);
    LLVMMetadataRef before = tgi_llvm_debug_set_reduction(k, number);
    LLVMValueRef result = tgi_llvm_horizontal_reduce_op(
        k, combining_op(reduction), reduction->dtype, vectors, n);
    tgi_llvm_debug_restore(k->program, before);
    return result;
}
