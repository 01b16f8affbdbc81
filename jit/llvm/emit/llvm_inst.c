/* SPDX-License-Identifier: MIT */
/*
 * llvm_inst.c - values of insts. Ops and casts are emitted by their recipes. A
 * bool stays a mask until its element is needed: comparisons return masks,
 * logic and selects use them.
 */
#include "llvm/emit/llvm_inst.h"
#include "llvm/emit/llvm_access.h"
#include "llvm/emit/llvm_cast_index.h"
#include "llvm/emit/llvm_check.h"
#include "llvm/emit/llvm_constant_pool.h"
#include "llvm/emit/llvm_debug.h"
#include "llvm/emit/llvm_emit.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_frame.h"
#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/emit/llvm_offsets.h"
#include "llvm/emit/llvm_program.h"
#include "llvm/emit/llvm_random.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

static const tgi_inst *inst_at(const tgi_llvm_kernel *k, uint32_t number)
{
    return &k->loops->insts.data[number];
}

/* -- Values in the current lanes ------------------------------------------- */

/*
 * The other form of a bool is computed on demand. It is cached only in the body
 * of a loop: elsewhere a later use, such as that of the tail, may not be
 * dominated by it.
 */
static bool is_in_body(const tgi_llvm_kernel *k, uint32_t number)
{
    return k->schedule->insts[number].level == TGI_LEVEL_INNER &&
           !k->schedule->insts[number].is_hoisted;
}

static LLVMValueRef value_as_element(tgi_llvm_kernel *k, uint32_t number)
{
    tgi_llvm_value *value = &k->values[number];
    if (value->value)
        return value->value;
    LLVMValueRef element = tgi_llvm_bool_of_mask(k->e, value->mask);
    if (is_in_body(k, number))
        value->value = element;
    return element;
}

static bool needs_splat(const tgi_llvm_kernel *k, uint32_t number)
{
    return !k->schedule->insts[number].varies && k->e->lanes > 1;
}

LLVMValueRef tgi_llvm_value_of(tgi_llvm_kernel *k, uint32_t number)
{
    tgi_llvm_value *value = &k->values[number];
    assert(value->value || value->mask);
    if (!needs_splat(k, number))
        return value_as_element(k, number);
    if (value->splat && k->splat_lanes == k->e->lanes)
        return value->splat;
    const unsigned lanes = k->e->lanes;
    k->e->lanes = 1;
    LLVMValueRef element = value_as_element(k, number);
    k->e->lanes = lanes;
    return tgi_llvm_splat(k->e, element);
}

LLVMValueRef tgi_llvm_mask_of(tgi_llvm_kernel *k, uint32_t number)
{
    tgi_llvm_value *value = &k->values[number];
    if (needs_splat(k, number))
        return value->splat_mask && k->splat_lanes == k->e->lanes
                   ? value->splat_mask
                   : tgi_llvm_mask_of_bool(k->e, tgi_llvm_value_of(k, number));
    if (value->mask)
        return value->mask;
    LLVMValueRef mask = tgi_llvm_mask_of_bool(k->e, value->value);
    if (is_in_body(k, number))
        value->mask = mask;
    return mask;
}

/* -- Bools ----------------------------------------------------------------- */

static bool is_bool(const tgi_inst *inst)
{
    return inst->dtype == TG_BOOL;
}

/* Bool ops on masks, equal to their recipes on 0 and 1; NULL: another op. */
static LLVMValueRef emit_logic(tgi_llvm_kernel *k, const tgi_inst *inst)
{
    if (inst->type != TG_BOOL)
        return NULL;
    LLVMValueRef in[3];
    switch (inst->op) {
    case TGI_OP_AND:
    case TGI_OP_OR:
    case TGI_OP_XOR:
    case TGI_OP_NE:
    case TGI_OP_NOT:
    case TGI_OP_SELECT:
        break;
    default:
        return NULL;
    }
    for (int i = 0; i < inst->n_operands; i++)
        in[i] = tgi_llvm_mask_of(k, inst->operands[i]);
    switch (inst->op) {
    case TGI_OP_AND:
        return LLVMBuildAnd(k->b, in[0], in[1], "");
    case TGI_OP_OR:
        return LLVMBuildOr(k->b, in[0], in[1], "");
    case TGI_OP_NOT:
        return LLVMBuildNot(k->b, in[0], "");
    case TGI_OP_SELECT:
        return LLVMBuildSelect(k->b, in[0], in[1], in[2], "");
    default:
        return LLVMBuildXor(k->b, in[0], in[1], "");
    }
}

/* -- Ops and casts --------------------------------------------------------- */

/* The operand of a MIN or MAX of floats that is a constant which such an
   instruction serves, or -1. */
static int find_bound(const tgi_llvm_kernel *k, const tgi_inst *inst)
{
    if ((inst->op != TGI_OP_MIN && inst->op != TGI_OP_MAX) ||
        !tgi_dtype_is(inst->type, TGI_CLASS_FLOAT))
        return -1;
    for (int i = 0; i < 2; i++) {
        const tgi_inst *bound = inst_at(k, inst->operands[i]);
        if (bound->kind != TGI_INST_CONSTANT)
            continue;
        float narrow;
        double value;
        memcpy(&narrow, &bound->bits, sizeof(narrow));
        memcpy(&value, &bound->bits, sizeof(value));
        if (inst->type == TG_F32)
            value = (double)narrow;
        /* min(+0, -0) would be +0. */
        if (!isnan(value) &&
            !(inst->op == TGI_OP_MIN && value == 0 && signbit(value)))
            return i;
    }
    return -1;
}

/*
 * MIN or MAX with a constant, which is not NaN: a comparison and selection,
 * which CPUs have as one instruction, gives x if that is equal. Only the sign of
 * a zero may then be wrong: that of max(-0, +0), to which +0 is added. NaN
 * becomes the positive quiet one, as in the recipe.
 */
static LLVMValueRef emit_bound(tgi_llvm_kernel *k, const tgi_inst *inst, int i)
{
    const tgi_inst *bound = inst_at(k, inst->operands[i]);
    LLVMValueRef c = tgi_llvm_value_of(k, inst->operands[i]);
    LLVMValueRef x = tgi_llvm_value_of(k, inst->operands[1 - i]);
    const LLVMRealPredicate order =
        inst->op == TGI_OP_MIN ? LLVMRealOLT : LLVMRealOGT;
    LLVMValueRef y =
        LLVMBuildSelect(k->b, LLVMBuildFCmp(k->b, order, c, x, ""), c, x, "");
    if (inst->op == TGI_OP_MAX && bound->bits == 0)
        y = LLVMBuildFAdd(k->b, y, c, "");
    const uint64_t nan =
        inst->type == TG_F64 ? 0x7ff8000000000000 : 0x7fc00000;
    return LLVMBuildSelect(
        k->b, LLVMBuildFCmp(k->b, LLVMRealORD, x, x, ""), y,
        tgi_llvm_constant(k->e, (tg_dtype)inst->type, nan), "");
}

static LLVMValueRef emit_op(tgi_llvm_kernel *k, const tgi_inst *inst)
{
    LLVMValueRef mask = emit_logic(k, inst);
    if (mask)
        return mask;
    const int bound = find_bound(k, inst);
    if (bound >= 0)
        return emit_bound(k, inst, bound);
    tgi_emit_recipe *recipe = tgi_emit_recipe_of(inst->op, inst->type);
    if (!recipe) {
        tgi_llvm_fail(k->program, "an op has no recipe for its dtype");
        return LLVMGetPoison(tgi_llvm_type(k->e, inst->dtype));
    }
    tgi_emitted in[3] = {NULL};
    for (int i = 0; i < inst->n_operands; i++)
        in[i] = inst->op == TGI_OP_SELECT && i == 0
                    ? tgi_llvm_mask_of(k, inst->operands[i])
                    : tgi_llvm_value_of(k, inst->operands[i]);
    return tgi_llvm_recipe_emit(k->e, recipe, in);
}

/* From bool: a select between the casts of 1 and 0. To bool: x != 0. */
static LLVMValueRef emit_cast(tgi_llvm_kernel *k, const tgi_inst *inst)
{
    const uint32_t from = inst->operands[0];
    if (inst->type == TG_BOOL) {
        LLVMValueRef mask = tgi_llvm_mask_of(k, from);
        if (is_bool(inst))
            return mask;
        tgi_emitted in[] = {mask, NULL, NULL};
        for (int i = 0; i < 2; i++)
            in[1 + i] = tgi_emit_cast(&k->e->base, TGI_OP_CAST, TG_BOOL,
                                      inst->dtype,
                                      tgi_llvm_constant(k->e, TG_BOOL, i == 0));
        return LLVMBuildSelect(k->b, in[0], in[1], in[2], "");
    }
    LLVMValueRef x = tgi_llvm_value_of(k, from);
    if (is_bool(inst)) {
        const tgi_emitted in[] = {x, tgi_llvm_constant(k->e, inst->type, 0)};
        return tgi_emit_recipe_of(TGI_OP_NE, inst->type)(&k->e->base, in);
    }
    if (tgi_llvm_is_cast_index(k, inst))
        return tgi_llvm_cast_index(k, inst, x);
    return tgi_emit_cast(&k->e->base, inst->op, inst->type, inst->dtype, x);
}

/* -- Positions and indices ------------------------------------------------- */

static LLVMValueRef emit_position(tgi_llvm_kernel *k, const tgi_inst *inst)
{
    const tgi_access *access = &k->loops->accesses.data[inst->number];
    LLVMValueRef first = tgi_llvm_position(k, access);
    if (k->e->lanes == 1)
        return first;
    LLVMValueRef step =
        tgi_llvm_stride(k, access->stride[k->schedule->vector_axis]);
    LLVMValueRef steps = tgi_llvm_iota(k, k->program->i64);
    int64_t n;
    if (!tgi_llvm_is_const_i64(step, &n) || n != 1)
        steps = LLVMBuildMul(k->b, steps, tgi_llvm_splat(k->e, step), "");
    return LLVMBuildAdd(k->b, tgi_llvm_splat(k->e, first), steps, "");
}

/* The float from which an index was cast, or 0: another operand. */
static uint32_t find_float_index(const tgi_llvm_kernel *k, uint32_t number)
{
    const tgi_inst *inst = inst_at(k, number);
    return inst->kind == TGI_INST_CAST && inst->op == TGI_OP_CAST &&
                   inst->dtype == TG_I64 &&
                   (inst->type == TG_F32 || inst->type == TG_F64)
               ? inst->operands[0]
               : 0;
}

/* The least float that is no smaller than n > 0, by its bits. */
static uint64_t float_bits_at_least(int64_t n, tg_dtype dtype)
{
    if (dtype == TG_F32) {
        const float nearest = (float)n;
        uint32_t bits;
        memcpy(&bits, &nearest, sizeof(bits));
        return bits + (nearest < 0x1p63f && (int64_t)nearest < n);
    }
    const double nearest = (double)n;
    uint64_t bits;
    memcpy(&bits, &nearest, sizeof(bits));
    return bits + (nearest < 0x1p63 && (int64_t)nearest < n);
}

/*
 * Whether the cast of x, a float, is in range, without the saturating cast,
 * which is three quarters of the instructions of a check: it truncates, so
 * -1 < x < extent. NaN becomes 0, which is in range.
 */
static LLVMValueRef emit_float_in_range(tgi_llvm_kernel *k, uint32_t number,
                                        int64_t extent)
{
    const tg_dtype dtype = (tg_dtype)inst_at(k, number)->dtype;
    LLVMValueRef x = tgi_llvm_value_of(k, number);
    LLVMValueRef below = tgi_llvm_constant(
        k->e, dtype, dtype == TG_F32 ? 0xbf800000 : 0xbff0000000000000);
    LLVMValueRef end =
        tgi_llvm_constant(k->e, dtype, float_bits_at_least(extent, dtype));
    return LLVMBuildAnd(k->b, LLVMBuildFCmp(k->b, LLVMRealUGT, x, below, ""),
                        LLVMBuildFCmp(k->b, LLVMRealULT, x, end, ""), "");
}

/* As unsigned numbers, negative ones exceed any extent: also 32-bit ones, if
   the extent fits in i32. */
static LLVMValueRef emit_in_range(tgi_llvm_kernel *k, const tgi_inst *inst)
{
    const uint32_t number = find_float_index(k, inst->operands[0]);
    if (number && tgi_dim_is_known(inst->dim) && inst->dim > 0)
        return emit_float_in_range(k, number, inst->dim);
    const bool is_narrow = tgi_dtype_bytes(inst->type) <= 4 &&
                           tgi_dim_is_known(inst->dim) &&
                           inst->dim <= INT32_MAX;
    LLVMValueRef index = LLVMBuildIntCast2(
        k->b, tgi_llvm_value_of(k, inst->operands[0]),
        tgi_llvm_type(k->e, is_narrow ? TG_I32 : TG_I64),
        tgi_dtype_is(inst->type, TGI_CLASS_SINT), "");
    LLVMValueRef end =
        is_narrow ? LLVMConstInt(k->program->i32, (uint64_t)inst->dim, false)
                  : tgi_llvm_dim(k, inst->dim);
    return LLVMBuildICmp(k->b, LLVMIntULT, index, tgi_llvm_splat(k->e, end),
                         "");
}

/* The last index of an axis of extent n, at most that of i32 if it `is_narrow`;
   computed in the entry block. */
static LLVMValueRef last_index(tgi_llvm_kernel *k, tgi_dim n, bool is_narrow)
{
    LLVMValueRef zero = tgi_llvm_const_i64(k->program, 0);
    LLVMBasicBlockRef block = tgi_llvm_position_at_entry(k);
    LLVMValueRef last = tgi_llvm_add(k->program, tgi_llvm_dim(k, n),
                                     tgi_llvm_const_i64(k->program, -1));
    last = LLVMBuildSelect(
        k->b, LLVMBuildICmp(k->b, LLVMIntSLT, last, zero, ""), zero, last, "");
    if (is_narrow) {
        LLVMValueRef most = tgi_llvm_const_i64(k->program, INT32_MAX);
        last = LLVMBuildSelect(
            k->b, LLVMBuildICmp(k->b, LLVMIntSLT, most, last, ""), most, last,
            "");
        last = LLVMBuildTrunc(k->b, last, k->program->i32, "");
    }
    tgi_llvm_position_restore(k, block);
    return last;
}

/* Operands that fit in i32 are clamped there: a vector holds twice as many, and
   a gather reads them in pairs (llvm_access.c). */
static LLVMValueRef emit_clamped_index(tgi_llvm_kernel *k, const tgi_inst *inst)
{
    const bool is_signed = tgi_dtype_is(inst->type, TGI_CLASS_SINT);
    const int bytes = tgi_dtype_bytes(inst->type);
    const bool is_narrow = bytes < 4 || (bytes == 4 && is_signed);
    LLVMValueRef end =
        tgi_llvm_splat(k->e, last_index(k, inst->dim, is_narrow));
    LLVMTypeRef type = tgi_llvm_type(k->e, is_narrow ? TG_I32 : TG_I64);
    LLVMValueRef index = LLVMBuildIntCast2(
        k->b, tgi_llvm_value_of(k, inst->operands[0]), type, is_signed, "");
    LLVMValueRef is_above = LLVMBuildICmp(
        k->b, is_signed || is_narrow ? LLVMIntSGT : LLVMIntUGT, index, end, "");
    index = LLVMBuildSelect(k->b, is_above, end, index, "");
    if (is_signed) {
        LLVMValueRef start = LLVMConstNull(type);
        LLVMValueRef is_negative =
            LLVMBuildICmp(k->b, LLVMIntSLT, index, start, "");
        index = LLVMBuildSelect(k->b, is_negative, start, index, "");
    }
    return is_narrow ? LLVMBuildSExt(k->b, index, tgi_llvm_type(k->e, TG_I64), "")
                     : index;
}

/* -- Insts ----------------------------------------------------------------- */

static LLVMValueRef emit_value(tgi_llvm_kernel *k, const tgi_inst *inst)
{
    switch ((tgi_inst_kind)inst->kind) {
    case TGI_INST_CONSTANT:
        return tgi_llvm_constant(k->e, inst->dtype, inst->bits);
    case TGI_INST_EXTENT:
        return tgi_llvm_dim(k, inst->dim);
    case TGI_INST_POSITION:
        return emit_position(k, inst);
    case TGI_INST_LOAD:
        return tgi_llvm_load(k, inst->number);
    case TGI_INST_OP:
        return emit_op(k, inst);
    case TGI_INST_CAST:
        return emit_cast(k, inst);
    case TGI_INST_RANDOM:
        return tgi_llvm_random_bits(k, inst->dtype,
                                    tgi_llvm_value_of(k, inst->operands[0]),
                                    tgi_llvm_value_of(k, inst->operands[1]),
                                    tgi_llvm_value_of(k, inst->operands[2]));
    case TGI_INST_INDEX:
        return emit_clamped_index(k, inst);
    case TGI_INST_IN_RANGE:
        return emit_in_range(k, inst);
    case TGI_INST_OFFSET:
        return tgi_llvm_offset(k, inst->number);
    case TGI_INST_CARRIED:
    case TGI_INST_REDUCED:
        break;
    }
    assert(!"an inst kind");
    return NULL;
}

void tgi_llvm_inst_emit(tgi_llvm_kernel *k, uint32_t number)
{
    const tgi_inst *inst = inst_at(k, number);
    tgi_llvm_value *value = &k->values[number];
    const unsigned lanes = k->e->lanes;
    /* Set by tgi_llvm_set_reduced, and by the loop that carries it. */
    if (inst->kind == TGI_INST_REDUCED || inst->kind == TGI_INST_CARRIED)
        return;
    LLVMMetadataRef before = tgi_llvm_debug_set_inst(k, number);
    if (!k->schedule->insts[number].varies)
        k->e->lanes = 1;
    LLVMValueRef result = emit_value(k, inst);
    const bool is_mask =
        is_bool(inst) && LLVMTypeOf(result) == tgi_llvm_mask_type(k->e);
    value->value = is_mask ? NULL : result;
    value->mask = is_mask ? result : NULL;
    k->e->lanes = lanes;
    tgi_llvm_debug_restore(k->program, before);
}

void tgi_llvm_kernel_insts_emit(tgi_llvm_kernel *k)
{
    for (uint32_t i = 1; i < k->loops->insts.n; i++)
        if (k->schedule->insts[i].level == TGI_LEVEL_KERNEL)
            tgi_llvm_inst_emit(k, i);
}

void tgi_llvm_point_insts_emit(tgi_llvm_kernel *k, unsigned phase,
                               bool after_loop)
{
    for (uint32_t i = 1; i < k->loops->insts.n; i++)
        if (k->schedule->insts[i].level == TGI_LEVEL_POINT &&
            inst_at(k, i)->phase == phase &&
            k->schedule->insts[i].is_after_loop == after_loop)
            tgi_llvm_inst_emit(k, i);
}

static void emit_inner_insts(tgi_llvm_kernel *k, unsigned phase,
                             bool are_hoisted)
{
    for (uint32_t i = 1; i < k->loops->insts.n; i++)
        if (k->schedule->insts[i].level == TGI_LEVEL_INNER &&
            inst_at(k, i)->phase == phase &&
            k->schedule->insts[i].is_hoisted == are_hoisted)
            tgi_llvm_inst_emit(k, i);
}

void tgi_llvm_hoisted_insts_emit(tgi_llvm_kernel *k, unsigned phase)
{
    emit_inner_insts(k, phase, true);
}

void tgi_llvm_body_emit(tgi_llvm_kernel *k, unsigned phase)
{
    const tgi_kernel_loops *loops = k->loops;
    emit_inner_insts(k, phase, false);
    tgi_llvm_inner_stores_emit(k, phase);
    for (size_t i = 0; i < loops->checks.n; i++)
        if (loops->checks.data[i].phase == phase)
            tgi_llvm_check_emit(k, &loops->checks.data[i]);
}

void tgi_llvm_inner_stores_emit(tgi_llvm_kernel *k, unsigned phase)
{
    const tgi_kernel_loops *loops = k->loops;
    for (size_t i = 0; i < loops->stores.n; i++)
        if (loops->stores.data[i].level == TGI_LEVEL_INNER &&
            loops->stores.data[i].phase == phase)
            tgi_llvm_store(k, &loops->stores.data[i]);
}

void tgi_llvm_point_stores_emit(tgi_llvm_kernel *k, unsigned phase)
{
    const tgi_kernel_loops *loops = k->loops;
    for (size_t i = 0; i < loops->stores.n; i++)
        if (loops->stores.data[i].level != TGI_LEVEL_INNER &&
            loops->stores.data[i].phase == phase &&
            !loops->stores.data[i].epilogue_op)
            tgi_llvm_store(k, &loops->stores.data[i]);
}

void tgi_llvm_set_reduced(tgi_llvm_kernel *k, uint32_t reduction,
                          LLVMValueRef value)
{
    for (uint32_t i = 1; i < k->loops->insts.n; i++) {
        const tgi_inst *inst = inst_at(k, i);
        if (inst->kind == TGI_INST_REDUCED && inst->number == reduction) {
            k->values[i].value = value;
            k->values[i].mask = NULL;
        }
    }
}

/* -- Splats ---------------------------------------------------------------- */

static void make_splat(tgi_llvm_kernel *k, uint32_t number, bool as_mask)
{
    tgi_llvm_value *value = &k->values[number];
    if (k->schedule->insts[number].varies ||
        k->schedule->insts[number].level == TGI_LEVEL_INNER ||
        !(value->value || value->mask))
        return;
    if (as_mask && !value->splat_mask)
        value->splat_mask = tgi_llvm_mask_of(k, number);
    else if (!as_mask && !value->splat)
        value->splat = tgi_llvm_value_of(k, number);
}

static bool takes_mask(const tgi_inst *inst, int operand)
{
    return (inst->kind == TGI_INST_OP && inst->op == TGI_OP_SELECT &&
            operand == 0) ||
           (inst->kind != TGI_INST_RANDOM && inst->type == TG_BOOL);
}

void tgi_llvm_splats_begin(tgi_llvm_kernel *k, unsigned phase)
{
    if (k->e->lanes == 1)
        return;
    k->splat_lanes = k->e->lanes;
    for (uint32_t i = 1; i < k->loops->insts.n; i++) {
        const tgi_inst *inst = inst_at(k, i);
        if (k->schedule->insts[i].level != TGI_LEVEL_INNER ||
            inst->phase != phase || !k->schedule->insts[i].varies)
            continue;
        for (int j = 0; j < inst->n_operands; j++)
            make_splat(k, inst->operands[j], takes_mask(inst, j));
    }
    for (size_t i = 0; i < k->loops->stores.n; i++)
        if (k->loops->stores.data[i].level == TGI_LEVEL_INNER &&
            k->loops->stores.data[i].phase == phase)
            make_splat(k, k->loops->stores.data[i].value, false);
}

void tgi_llvm_splats_end(tgi_llvm_kernel *k)
{
    for (uint32_t i = 1; i < k->loops->insts.n; i++)
        k->values[i].splat = k->values[i].splat_mask = NULL;
}
