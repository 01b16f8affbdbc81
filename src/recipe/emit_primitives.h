/* SPDX-License-Identifier: MIT */
/*
 * emit_primitives.h - the primitives of scalar.h, as calls of an emitter.
 * Recipe functions take the emitter as parameter `e`.
 */
#ifndef TGI_EMIT_PRIMITIVES_H
#define TGI_EMIT_PRIMITIVES_H

#include <math.h>
#include <string.h>

#include "recipe/emit.h"
#include "recipe/recipe_sets.h"

/* -- Definition and use of recipes ----------------------------------------- */

#define EMITTER __attribute__((unused)) tgi_emitter *e

#define R(OP) CAT4(recipe_, OP, _, DT)
#define RECIPE_1(OP, a) static inline VALUE R(OP)(EMITTER, VALUE a)
#define RECIPE_2(OP, a, b) \
    static inline VALUE R(OP)(EMITTER, VALUE a, VALUE b)
#define RECIPE_2_MASK(OP, a, b) \
    static inline MASK R(OP)(EMITTER, VALUE a, VALUE b)
#define RECIPE_3(OP, a, b, c) \
    static inline VALUE R(OP)(EMITTER, VALUE a, VALUE b, VALUE c)
#define RECIPE_3_SELECT(OP, m, a, b) \
    static inline VALUE R(OP)(EMITTER, MASK m, VALUE a, VALUE b)
#define RECIPE_START(OP) \
    static inline VALUE CAT4(start_, OP, _, DT)(EMITTER)
#define RECIPE_EMPTY(OP) \
    static inline VALUE CAT4(empty_, OP, _, DT)(EMITTER)
#define USE_2(OP, a, b) R(OP)(e, a, b)

#define PART(type, name, ...) \
    static inline type CAT4(part_, name, _, DT)(EMITTER, __VA_ARGS__)
#define USE(name, ...) CAT4(part_, name, _, DT)(e, __VA_ARGS__)
#define USE_OF(type, name, ...) CAT4(part_, name, _, type)(e, __VA_ARGS__)
#define TABLE_OF(name, ...) \
    static const T CAT4(table_, name, _, DT)[] = {__VA_ARGS__}

#define RARELY(mask, a, b, c, ...) \
    do { \
        const tgi_emitted mask_ = mask, common_[] = {a, b, c}; \
        if (e->rare_begin) \
            e->rare_begin(e, mask_); \
        __VA_ARGS__ \
        tgi_emitted values_[] = {SELECT(mask_, a, common_[0]), \
                                 SELECT(mask_, b, common_[1]), \
                                 SELECT(mask_, c, common_[2])}; \
        if (e->rare_begin) \
            e->rare_end(e, values_, common_, 3); \
        a = values_[0]; \
        b = values_[1]; \
        c = values_[2]; \
    } while (0)

/* -- Primitives ------------------------------------------------------------ */

#define VALUE tgi_emitted
#define MASK tgi_emitted
#define INTEGER tgi_emitted
#define WIDTH ((int)(8 * sizeof(T)))

#define DT_CODE CAT(TG_, DT)
#define BITS_OF_C(type, c) \
    __extension__({ \
        type element_ = (type)(c); \
        uint64_t bits_ = 0; \
        memcpy(&bits_, &element_, sizeof(element_)); \
        bits_; \
    })
#define K(c) e->constant(e, DT_CODE, BITS_OF_C(T, c))
#define K_OF(TO, c) e->constant(e, TG_##TO, BITS_OF_C(scalar_##TO, c))
/* The dtype of the unsigned integer as wide as the current type. */
#define INTEGER_CODE \
    (sizeof(T) == 8   ? TG_U64 \
     : sizeof(T) == 4 ? TG_U32 \
     : sizeof(T) == 2 ? TG_U16 \
                      : TG_U8)
#define KI(c) e->constant(e, INTEGER_CODE, BITS_OF_C(CAT(bits_, DT), c))

#define EMIT(ID, ...) \
    e->primitive(e, TGI_PRIMITIVE_##ID, DT_CODE, TG_DTYPE_NONE, \
                 (tgi_emitted[]){__VA_ARGS__})
#define ADD(a, b) EMIT(ADD, a, b)
#define SUB(a, b) EMIT(SUB, a, b)
#define MUL(a, b) EMIT(MUL, a, b)
#define NEG(a) EMIT(NEG, a)
#define DIV(a, b) EMIT(DIV, a, b)
#define REM(a, b) EMIT(REM, a, b)
#define AND(a, b) EMIT(AND, a, b)
#define OR(a, b) EMIT(OR, a, b)
#define XOR(a, b) EMIT(XOR, a, b)
#define NOT(a) EMIT(NOT, a)
#define SHL(a, count) EMIT(SHL, a, count)
#define SHR(a, count) EMIT(SHR, a, count)
#define EQ(a, b) EMIT(EQ, a, b)
#define NE(a, b) EMIT(NE, a, b)
#define LT(a, b) EMIT(LT, a, b)
#define LE(a, b) EMIT(LE, a, b)
#define MASK_AND(m, n) EMIT(MASK_AND, m, n)
#define MASK_OR(m, n) EMIT(MASK_OR, m, n)
#define MASK_NOR(m, n) EMIT(MASK_NOR, m, n)
#define SELECT(m, a, b) EMIT(SELECT, m, a, b)
#define FMA(a, b, c) EMIT(FMA, a, b, c)
#define SQRT(a) EMIT(SQRT, a)
#define SCALE(x, n, sum) EMIT(SCALE, x, n, sum)
#define FLOOR(a) EMIT(FLOOR, a)
#define CEIL(a) EMIT(CEIL, a)
#define TRUNC(a) EMIT(TRUNC, a)
#define ROUND_EVEN(a) EMIT(ROUND_EVEN, a)
#define FABS(a) EMIT(FABS, a)
#define SIGN_BIT(a) EMIT(SIGN_BIT, a)
#define BITS_OF(a) EMIT(BITS_OF, a)
#define FLOAT_OF(b) EMIT(FLOAT_OF, b)
#define IADD(a, b) EMIT(IADD, a, b)
#define ISUB(a, b) EMIT(ISUB, a, b)
#define IMUL(a, b) EMIT(IMUL, a, b)
#define IAND(a, b) EMIT(IAND, a, b)
#define IOR(a, b) EMIT(IOR, a, b)
#define IXOR(a, b) EMIT(IXOR, a, b)
#define ISHL(a, count) EMIT(ISHL, a, count)
#define ISHR(a, count) EMIT(ISHR, a, count)
#define ISAR(a, count) EMIT(ISAR, a, count)
#define IEQ(a, b) EMIT(IEQ, a, b)
#define ILT(a, b) EMIT(ILT, a, b)
#define IULT(a, b) EMIT(IULT, a, b)
#define TO_INT(a) EMIT(TO_INT, a)
#define TO_FLOAT(b) EMIT(TO_FLOAT, b)
#define CONVERT(TO, a) CONVERT_FROM(DT_CODE, TG_##TO, a)
#define CONVERT_FROM(FROM, to, a) \
    e->primitive(e, TGI_PRIMITIVE_CONVERT, FROM, to, (tgi_emitted[]){a})
#define FLOAT_OF_BITS(TO, x) \
    e->primitive(e, TGI_PRIMITIVE_FLOAT_OF, TG_##TO, TG_DTYPE_NONE, \
                 (tgi_emitted[]){CONVERT_FROM(DT_CODE, INTEGER_CODE, x)})
#define AS_INTEGER(TO, b) CONVERT_FROM(INTEGER_CODE, TG_##TO, b)
#define CONVERT_AS(FROM, TO, a) CONVERT_FROM(TG_##FROM, TG_##TO, a)
#define FLOAT32 tgi_emitted
#define NARROW(TO, a) \
    e->primitive(e, TGI_PRIMITIVE_NARROW, TG_F32, TG_##TO, (tgi_emitted[]){a})
#define WIDEN(a) \
    e->primitive(e, TGI_PRIMITIVE_WIDEN, DT_CODE, TG_F32, (tgi_emitted[]){a})
#define LOOKUP(table, i) \
    e->lookup(e, DT_CODE, CAT4(table_, table, _, DT), \
              sizeof(CAT4(table_, table, _, DT)) / sizeof(T), i)

#endif /* TGI_EMIT_PRIMITIVES_H */
