/* SPDX-License-Identifier: MIT */
/*
 * llvm_emit.c - primitives (llvm_emit.h). Most are entries of tables: the
 * opcode or predicate by class of dtype; the others have a case of their own.
 * src/recipe/scalar.h defines each primitive and the preconditions of its
 * operands, so that poison only arises in operands that a SELECT discards.
 */
#include "llvm/emit/llvm_emit.h"
#include "llvm/emit/llvm_constant_pool.h"
#include "llvm/emit/llvm_convert.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_half.h"
#include "llvm/emit/llvm_lookup.h"
#include "llvm/emit/llvm_quirks.h"
#include "llvm/emit/llvm_target.h"

#include <assert.h>
#include <string.h>

/* -- Types ----------------------------------------------------------------- */

LLVMTypeRef tgi_llvm_element_type(const tgi_llvm_emitter *e, tg_dtype dtype)
{
    if (dtype == TG_F32 || dtype == TG_F64)
        return e->floats[dtype == TG_F64];
    return LLVMIntTypeInContext(e->context,
                                8 * (unsigned)tgi_dtype_bytes((int)dtype));
}

LLVMTypeRef tgi_llvm_vector_of(const tgi_llvm_emitter *e, LLVMTypeRef element)
{
    return e->lanes == 1 ? element : LLVMVectorType(element, e->lanes);
}

LLVMTypeRef tgi_llvm_type(const tgi_llvm_emitter *e, tg_dtype dtype)
{
    return tgi_llvm_vector_of(e, tgi_llvm_element_type(e, dtype));
}

LLVMTypeRef tgi_llvm_mask_type(const tgi_llvm_emitter *e)
{
    return tgi_llvm_vector_of(e, LLVMInt1TypeInContext(e->context));
}

LLVMTypeRef tgi_llvm_integer_type(const tgi_llvm_emitter *e, tg_dtype dtype)
{
    return tgi_llvm_vector_of(
        e, LLVMIntTypeInContext(e->context,
                                8 * (unsigned)tgi_dtype_bytes((int)dtype)));
}

/* -- Constants ------------------------------------------------------------- */

/* Floats are made from their bits, which preserves NaNs and denormals. */
LLVMValueRef tgi_llvm_scalar_constant(const tgi_llvm_emitter *e, tg_dtype dtype,
                                      uint64_t bits)
{
    const unsigned width = 8 * (unsigned)tgi_dtype_bytes((int)dtype);
    LLVMTypeRef integer = LLVMIntTypeInContext(e->context, width);
    LLVMValueRef constant =
        LLVMConstInt(integer, bits & UINT64_MAX >> (64 - width), false);
    return LLVMConstBitCast(constant, tgi_llvm_element_type(e, dtype));
}

static LLVMValueRef splat_constant(const tgi_llvm_emitter *e,
                                   LLVMValueRef constant)
{
    if (e->lanes == 1)
        return constant;
    LLVMValueRef copies[TGI_MAX_LANES];
    for (unsigned i = 0; i < e->lanes; i++)
        copies[i] = constant;
    return LLVMConstVector(copies, e->lanes);
}

LLVMValueRef tgi_llvm_constant(const tgi_llvm_emitter *e, tg_dtype dtype,
                               uint64_t bits)
{
    return splat_constant(e, tgi_llvm_scalar_constant(e, dtype, bits));
}

static tgi_emitted emit_constant(tgi_emitter *base, tg_dtype dtype,
                                 uint64_t bits)
{
    return tgi_llvm_pooled_constant((tgi_llvm_emitter *)base, dtype, bits);
}

LLVMValueRef tgi_llvm_splat(const tgi_llvm_emitter *e, LLVMValueRef element)
{
    if (e->lanes == 1)
        return element;
    if (LLVMIsConstant(element))
        return splat_constant(e, element);
    LLVMTypeRef index = LLVMInt32TypeInContext(e->context);
    LLVMTypeRef vector = tgi_llvm_vector_of(e, LLVMTypeOf(element));
    LLVMValueRef first = LLVMBuildInsertElement(
        e->builder, LLVMGetPoison(vector), element, LLVMConstNull(index), "");
    return LLVMBuildShuffleVector(
        e->builder, first, LLVMGetPoison(vector),
        LLVMConstNull(LLVMVectorType(index, e->lanes)), "");
}

LLVMValueRef tgi_llvm_extract_lanes(const tgi_llvm_emitter *e,
                                    LLVMValueRef vector, unsigned first,
                                    unsigned n)
{
    LLVMTypeRef index = LLVMInt32TypeInContext(e->context);
    LLVMValueRef lanes[TGI_MAX_LANES];
    for (unsigned i = 0; i < n; i++)
        lanes[i] = LLVMConstInt(index, first + i, false);
    if (n == 1)
        return LLVMBuildExtractElement(e->builder, vector, lanes[0], "");
    return LLVMBuildShuffleVector(e->builder, vector,
                                  LLVMGetPoison(LLVMTypeOf(vector)),
                                  LLVMConstVector(lanes, n), "");
}

LLVMValueRef tgi_llvm_concat(const tgi_llvm_emitter *e, LLVMValueRef *vectors,
                             unsigned n)
{
    LLVMTypeRef index = LLVMInt32TypeInContext(e->context);
    LLVMValueRef order[TGI_MAX_LANES];
    unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(vectors[0]));
    for (unsigned i = 0; i < n * lanes; i++)
        order[i] = LLVMConstInt(index, i, false);
    for (; n > 1; n /= 2) {
        lanes *= 2;
        for (unsigned i = 0; i < n / 2; i++)
            vectors[i] = LLVMBuildShuffleVector(
                e->builder, vectors[2 * i], vectors[2 * i + 1],
                LLVMConstVector(order, lanes), "");
    }
    return vectors[0];
}

/* -- Masks ----------------------------------------------------------------- */

LLVMValueRef tgi_llvm_mask_of_bool(const tgi_llvm_emitter *e,
                                   LLVMValueRef value)
{
    return LLVMBuildICmp(e->builder, LLVMIntNE, value,
                         LLVMConstNull(LLVMTypeOf(value)), "");
}

LLVMValueRef tgi_llvm_bool_of_mask(const tgi_llvm_emitter *e, LLVMValueRef mask)
{
    return LLVMBuildZExt(e->builder, mask, tgi_llvm_type(e, TG_BOOL), "");
}

/* -- Intrinsics ------------------------------------------------------------ */

static const char *const intrinsic_names[TGI_LLVM_INTRINSICS] = {
    [TGI_LLVM_FMA] = "llvm.fma",     [TGI_LLVM_SQRT] = "llvm.sqrt",
    [TGI_LLVM_FLOOR] = "llvm.floor", [TGI_LLVM_CEIL] = "llvm.ceil",
    [TGI_LLVM_TRUNC] = "llvm.trunc", [TGI_LLVM_ROUND_EVEN] = "llvm.roundeven",
    [TGI_LLVM_FABS] = "llvm.fabs",
};

static unsigned lane_count_index(const tgi_llvm_emitter *e)
{
    return e->lanes == 3 ? TGI_LLVM_LANE_COUNTS - 1
                         : (unsigned)__builtin_ctz(e->lanes);
}

LLVMValueRef tgi_llvm_intrinsic_call(tgi_llvm_emitter *e,
                                     tgi_llvm_intrinsic intrinsic,
                                     tg_dtype dtype, LLVMValueRef *operands,
                                     unsigned n_operands)
{
    LLVMTypeRef type = tgi_llvm_type(e, dtype);
    LLVMValueRef *declared =
        &e->intrinsics[intrinsic][dtype == TG_F64][lane_count_index(e)];
    const char *name = intrinsic_names[intrinsic];
    const unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    if (!*declared)
        *declared = LLVMGetIntrinsicDeclaration(e->module, id, &type, 1);
    return LLVMBuildCall2(e->builder,
                          LLVMIntrinsicGetType(e->context, id, &type, 1),
                          *declared, operands, n_operands, "");
}

/* -- Primitives ------------------------------------------------------------ */

/* Rows by class; bools and the bits of halves are unsigned. */
enum { FLOATS, SIGNED, UNSIGNED, ROWS };

static int class_row(tg_dtype dtype)
{
    switch (tgi_dtype_table[dtype].cls) {
    case TGI_CLASS_FLOAT:
        return FLOATS;
    case TGI_CLASS_SINT:
        return SIGNED;
    default:
        return UNSIGNED;
    }
}

/* Primitives on the bits of floats only have the row of floats. */
static const LLVMOpcode opcodes[TGI_PRIMITIVES][ROWS] = {
    [TGI_PRIMITIVE_ADD] = {LLVMFAdd, LLVMAdd, LLVMAdd},
    [TGI_PRIMITIVE_SUB] = {LLVMFSub, LLVMSub, LLVMSub},
    [TGI_PRIMITIVE_MUL] = {LLVMFMul, LLVMMul, LLVMMul},
    [TGI_PRIMITIVE_DIV] = {LLVMFDiv},
    [TGI_PRIMITIVE_AND] = {0, LLVMAnd, LLVMAnd},
    [TGI_PRIMITIVE_OR] = {0, LLVMOr, LLVMOr},
    [TGI_PRIMITIVE_XOR] = {0, LLVMXor, LLVMXor},
    [TGI_PRIMITIVE_SHL] = {0, LLVMShl, LLVMShl},
    [TGI_PRIMITIVE_SHR] = {0, LLVMAShr, LLVMLShr},
    [TGI_PRIMITIVE_IADD] = {LLVMAdd},
    [TGI_PRIMITIVE_ISUB] = {LLVMSub},
    [TGI_PRIMITIVE_IMUL] = {LLVMMul},
    [TGI_PRIMITIVE_IAND] = {LLVMAnd},
    [TGI_PRIMITIVE_IOR] = {LLVMOr},
    [TGI_PRIMITIVE_IXOR] = {LLVMXor},
    [TGI_PRIMITIVE_ISHL] = {LLVMShl},
    [TGI_PRIMITIVE_ISHR] = {LLVMLShr},
    [TGI_PRIMITIVE_ISAR] = {LLVMAShr},
};

static const LLVMRealPredicate float_predicates[TGI_PRIMITIVES] = {
    [TGI_PRIMITIVE_EQ] = LLVMRealOEQ,
    [TGI_PRIMITIVE_NE] = LLVMRealUNE,
    [TGI_PRIMITIVE_LT] = LLVMRealOLT,
    [TGI_PRIMITIVE_LE] = LLVMRealOLE,
};

static const LLVMIntPredicate predicates[TGI_PRIMITIVES][ROWS] = {
    [TGI_PRIMITIVE_EQ] = {0, LLVMIntEQ, LLVMIntEQ},
    [TGI_PRIMITIVE_NE] = {0, LLVMIntNE, LLVMIntNE},
    [TGI_PRIMITIVE_LT] = {0, LLVMIntSLT, LLVMIntULT},
    [TGI_PRIMITIVE_LE] = {0, LLVMIntSLE, LLVMIntULE},
    [TGI_PRIMITIVE_IEQ] = {LLVMIntEQ},
    [TGI_PRIMITIVE_ILT] = {LLVMIntSLT},
    [TGI_PRIMITIVE_IULT] = {LLVMIntULT},
};

static LLVMValueRef call_intrinsic(tgi_llvm_emitter *e,
                                   tgi_llvm_intrinsic intrinsic, tg_dtype dtype,
                                   const tgi_emitted *in, int n)
{
    LLVMValueRef operands[3];
    for (int i = 0; i < n; i++)
        operands[i] = in[i];
    return tgi_llvm_intrinsic_call(e, intrinsic, dtype, operands, (unsigned)n);
}

/* -- SCALE ------------------------------------------------------------------ */

LLVMValueRef tgi_llvm_add_lanes(const tgi_llvm_emitter *e, LLVMValueRef x,
                                unsigned n)
{
    LLVMTypeRef index = LLVMInt32TypeInContext(e->context);
    if (e->lanes == 1)
        return LLVMBuildInsertElement(
            e->builder, LLVMGetPoison(LLVMVectorType(LLVMTypeOf(x), n)), x,
            LLVMConstNull(index), "");
    LLVMValueRef lanes[TGI_MAX_LANES];
    for (unsigned i = 0; i < n; i++)
        lanes[i] =
            i < e->lanes ? LLVMConstInt(index, i, false) : LLVMGetPoison(index);
    return LLVMBuildShuffleVector(e->builder, x, LLVMGetPoison(LLVMTypeOf(x)),
                                  LLVMConstVector(lanes, n), "");
}

/* SCALE by the instruction, register by register. */
static LLVMValueRef scale_by_register(const tgi_llvm_emitter *e, tg_dtype dtype,
                                      LLVMValueRef x, LLVMValueRef n)
{
    enum { MIN_BYTES = 16 };
    const unsigned bytes = (unsigned)tgi_dtype_bytes((int)dtype);
    const unsigned min_lanes = e->lanes == 3 ? 4 : MIN_BYTES / bytes;
    if (e->lanes < min_lanes) {
        LLVMValueRef wide = e->isa->scale(
            e->builder, tgi_llvm_add_lanes(e, x, min_lanes),
            tgi_llvm_add_lanes(e, n, min_lanes));
        return tgi_llvm_extract_lanes(e, wide, 0, e->lanes);
    }
    const unsigned lanes =
        tgi_llvm_target_function_bits(
            LLVMGetBasicBlockParent(LLVMGetInsertBlock(e->builder))) /
        8 / bytes;
    if (e->lanes <= lanes)
        return e->isa->scale(e->builder, x, n);
    LLVMValueRef scaled[TGI_MAX_LANES];
    for (unsigned i = 0; i * lanes < e->lanes; i++)
        scaled[i] = e->isa->scale(
            e->builder, tgi_llvm_extract_lanes(e, x, i * lanes, lanes),
            tgi_llvm_extract_lanes(e, n, i * lanes, lanes));
    return tgi_llvm_concat(e, scaled, e->lanes / lanes);
}

/* -- The emitter ----------------------------------------------------------- */

static LLVMValueRef emit_primitive_value(tgi_llvm_emitter *e,
                                         tgi_primitive primitive,
                                         tg_dtype dtype, tg_dtype other,
                                         const tgi_emitted *in)
{
    LLVMBuilderRef builder = e->builder;
    const int row = class_row(dtype);
    switch (primitive) {
    case TGI_PRIMITIVE_DIV:
        if (row != FLOATS)
            return tgi_llvm_divide(e, dtype, in[0], in[1]);
        /* fall through */
    case TGI_PRIMITIVE_ADD:
    case TGI_PRIMITIVE_SUB:
    case TGI_PRIMITIVE_MUL:
    case TGI_PRIMITIVE_AND:
    case TGI_PRIMITIVE_OR:
    case TGI_PRIMITIVE_XOR:
    case TGI_PRIMITIVE_SHL:
    case TGI_PRIMITIVE_SHR:
    case TGI_PRIMITIVE_IADD:
    case TGI_PRIMITIVE_ISUB:
    case TGI_PRIMITIVE_IMUL:
    case TGI_PRIMITIVE_IAND:
    case TGI_PRIMITIVE_IOR:
    case TGI_PRIMITIVE_IXOR:
    case TGI_PRIMITIVE_ISHL:
    case TGI_PRIMITIVE_ISHR:
    case TGI_PRIMITIVE_ISAR:
        assert(opcodes[primitive][row]);
        return LLVMBuildBinOp(builder, opcodes[primitive][row], in[0], in[1],
                              "");

    case TGI_PRIMITIVE_REM: {
        LLVMValueRef quotient = tgi_llvm_divide(e, dtype, in[0], in[1]);
        return LLVMBuildSub(builder, in[0],
                            LLVMBuildMul(builder, quotient, in[1], ""), "");
    }

    case TGI_PRIMITIVE_EQ:
    case TGI_PRIMITIVE_NE:
    case TGI_PRIMITIVE_LT:
    case TGI_PRIMITIVE_LE:
        if (row == FLOATS)
            return LLVMBuildFCmp(builder, float_predicates[primitive], in[0],
                                 in[1], "");
        /* fall through */
    case TGI_PRIMITIVE_IEQ:
    case TGI_PRIMITIVE_ILT:
    case TGI_PRIMITIVE_IULT:
        assert(predicates[primitive][row]);
        return LLVMBuildICmp(builder, predicates[primitive][row], in[0], in[1],
                             "");

    case TGI_PRIMITIVE_MASK_AND:
        return tgi_llvm_quirk_combine_masks(e, LLVMAnd, dtype, in[0], in[1]);
    case TGI_PRIMITIVE_MASK_OR:
        return tgi_llvm_quirk_combine_masks(e, LLVMOr, dtype, in[0], in[1]);
    case TGI_PRIMITIVE_MASK_NOR:
        return LLVMBuildNot(
            builder,
            tgi_llvm_quirk_combine_masks(e, LLVMOr, dtype, in[0], in[1]), "");
    case TGI_PRIMITIVE_SELECT:
        return LLVMBuildSelect(builder, in[0], in[1], in[2], "");

    case TGI_PRIMITIVE_NEG:
        return row == FLOATS ? LLVMBuildFNeg(builder, in[0], "")
                             : LLVMBuildNeg(builder, in[0], "");
    case TGI_PRIMITIVE_NOT:
        return LLVMBuildNot(builder, in[0], "");

    case TGI_PRIMITIVE_FMA:
        return call_intrinsic(e, TGI_LLVM_FMA, dtype, in, 3);
    case TGI_PRIMITIVE_SQRT:
        return call_intrinsic(e, TGI_LLVM_SQRT, dtype, in, 1);
    case TGI_PRIMITIVE_SCALE:
        return e->isa->scale ? scale_by_register(e, dtype, in[0], in[1])
                             : tgi_emit_scale(&e->base, dtype, in[0], in[2]);
    case TGI_PRIMITIVE_FLOOR:
        return call_intrinsic(e, TGI_LLVM_FLOOR, dtype, in, 1);
    case TGI_PRIMITIVE_CEIL:
        return call_intrinsic(e, TGI_LLVM_CEIL, dtype, in, 1);
    case TGI_PRIMITIVE_TRUNC:
        return call_intrinsic(e, TGI_LLVM_TRUNC, dtype, in, 1);
    case TGI_PRIMITIVE_ROUND_EVEN:
        return call_intrinsic(e, TGI_LLVM_ROUND_EVEN, dtype, in, 1);
    case TGI_PRIMITIVE_FABS:
        return call_intrinsic(e, TGI_LLVM_FABS, dtype, in, 1);

    case TGI_PRIMITIVE_BITS_OF:
        return LLVMBuildBitCast(builder, in[0], tgi_llvm_integer_type(e, dtype),
                                "");
    case TGI_PRIMITIVE_FLOAT_OF:
        return LLVMBuildBitCast(builder, in[0], tgi_llvm_type(e, dtype), "");
    case TGI_PRIMITIVE_SIGN_BIT: {
        LLVMValueRef bits =
            LLVMBuildBitCast(builder, in[0], tgi_llvm_integer_type(e, dtype),
                             "");
        return LLVMBuildICmp(builder, LLVMIntSLT, bits,
                             LLVMConstNull(LLVMTypeOf(bits)), "");
    }

    case TGI_PRIMITIVE_TO_INT:
        return tgi_llvm_convert(e, dtype, dtype == TG_F64 ? TG_I64 : TG_I32,
                                in[0]);
    case TGI_PRIMITIVE_TO_FLOAT:
        return tgi_llvm_convert(e, dtype == TG_F64 ? TG_I64 : TG_I32, dtype,
                                in[0]);
    case TGI_PRIMITIVE_CONVERT:
        return tgi_llvm_convert(e, dtype, other, in[0]);
    case TGI_PRIMITIVE_NARROW:
        return tgi_llvm_narrow(e, other, in[0]);
    case TGI_PRIMITIVE_WIDEN:
        return tgi_llvm_widen(e, dtype, in[0]);

    case TGI_PRIMITIVES:
        break;
    }
    assert(!"a primitive");
    return NULL;
}

static tgi_emitted emit_primitive(tgi_emitter *base, tgi_primitive primitive,
                                  tg_dtype dtype, tg_dtype other,
                                  const tgi_emitted *operands)
{
    return emit_primitive_value((tgi_llvm_emitter *)base, primitive, dtype,
                                other, operands);
}

static tgi_emitted emit_lookup(tgi_emitter *base, tg_dtype dtype,
                               const void *table, size_t n, tgi_emitted index)
{
    return tgi_llvm_lookup((tgi_llvm_emitter *)base, dtype, table, n, index);
}

/* -- Rare code ------------------------------------------------------------- */

/* A branch around the code, unless more code follows where the builder is. */
static void begin_rare(tgi_emitter *base, tgi_emitted mask)
{
    tgi_llvm_emitter *e = (tgi_llvm_emitter *)base;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
    e->before_rare = NULL;
    if (LLVMGetBasicBlockTerminator(before))
        return;
    LLVMTypeRef bits = LLVMIntTypeInContext(e->context, e->lanes);
    LLVMValueRef any = mask;
    if (e->lanes > 1)
        any = LLVMBuildICmp(e->builder, LLVMIntNE,
                            LLVMBuildBitCast(e->builder, mask, bits, ""),
                            LLVMConstNull(bits), "");
    LLVMValueRef function = LLVMGetBasicBlockParent(before);
    LLVMBasicBlockRef rare =
        LLVMAppendBasicBlockInContext(e->context, function, "rare");
    e->before_rare = before;
    e->after_rare =
        LLVMAppendBasicBlockInContext(e->context, function, "common");
    tgi_llvm_jump_is_unlikely(
        LLVMBuildCondBr(e->builder, any, rare, e->after_rare));
    LLVMPositionBuilderAtEnd(e->builder, rare);
}

static void end_rare(tgi_emitter *base, tgi_emitted *values,
                     const tgi_emitted *otherwise, int n)
{
    tgi_llvm_emitter *e = (tgi_llvm_emitter *)base;
    LLVMBasicBlockRef from[] = {LLVMGetInsertBlock(e->builder),
                                e->before_rare};
    if (!e->before_rare)
        return;
    LLVMBuildBr(e->builder, e->after_rare);
    LLVMPositionBuilderAtEnd(e->builder, e->after_rare);
    for (int i = 0; i < n; i++) {
        LLVMValueRef incoming[] = {values[i], otherwise[i]};
        values[i] =
            LLVMBuildPhi(e->builder, LLVMTypeOf(incoming[0]), "");
        LLVMAddIncoming(values[i], incoming, from, 2);
    }
}

void tgi_llvm_emitter_init(tgi_llvm_emitter *e, LLVMModuleRef module,
                           LLVMBuilderRef builder,
                           const tgi_llvm_isa *isa)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    *e = (tgi_llvm_emitter){
        .base = {emit_constant, emit_primitive, emit_lookup, begin_rare,
                 end_rare},
        .context = context,
        .module = module,
        .builder = builder,
        .lanes = 1,
        .isa = isa,
        .floats = {LLVMFloatTypeInContext(context),
                   LLVMDoubleTypeInContext(context)},
    };
}
