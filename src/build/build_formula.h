/* SPDX-License-Identifier: MIT */
/*
 * build_formula.h - builders under short names, so that code that builds many
 * nodes reads as its formula. Included only by files of gradient rules and of
 * functions composed of operations.
 *
 * Operands are evaluated from left to right, which C does not guarantee, so
 * that the order of nodes does not depend on the compiler. The builder is
 * FORMULA_BUILDER, by default the local variable `b`.
 */
#ifndef TGI_BUILD_FORMULA_H
#define TGI_BUILD_FORMULA_H

#include "build/build.h"

#ifndef FORMULA_BUILDER
#define FORMULA_BUILDER b
#endif

#define BUILD_1(OP, x) tgi_build_1(FORMULA_BUILDER, TGI_OP_##OP, x)
#define BUILD_2(OP, x, y) \
    IN_ORDER_2(TGI_OP_##OP, x, y, TG_NEW_NAME(tgi_x_), TG_NEW_NAME(tgi_y_))
#define BUILD_3(OP, x, y, z) \
    IN_ORDER_3(TGI_OP_##OP, x, y, z, TG_NEW_NAME(tgi_x_), TG_NEW_NAME(tgi_y_), \
               TG_NEW_NAME(tgi_z_))
#define IN_ORDER_2(op, x, y, first, second) \
    __extension__({ \
        const tgi_ref first = x; \
        const tgi_ref second = y; \
        tgi_build_2(FORMULA_BUILDER, op, first, second); \
    })
#define IN_ORDER_3(op, x, y, z, first, second, third) \
    __extension__({ \
        const tgi_ref first = x; \
        const tgi_ref second = y; \
        const tgi_ref third = z; \
        tgi_build_3(FORMULA_BUILDER, op, first, second, third); \
    })

#define NEG(a) BUILD_1(NEG, a)
#define ABS(a) BUILD_1(ABS, a)
#define SIGN(a) BUILD_1(SIGN, a)
#define FLOOR(a) BUILD_1(FLOOR, a)
#define TRUNC(a) BUILD_1(TRUNC, a)
#define SQRT(a) BUILD_1(SQRT, a)
#define RSQRT(a) BUILD_1(RSQRT, a)
#define EXP(a) BUILD_1(EXP, a)
#define EXPM1(a) BUILD_1(EXPM1, a)
#define LOG(a) BUILD_1(LOG, a)
#define SIN(a) BUILD_1(SIN, a)
#define COS(a) BUILD_1(COS, a)
#define SIN_FAST(a) BUILD_1(SIN_FAST, a)
#define COS_FAST(a) BUILD_1(COS_FAST, a)
#define SINH(a) BUILD_1(SINH, a)
#define COSH(a) BUILD_1(COSH, a)
#define TANH(a) BUILD_1(TANH, a)
#define ERFC(a) BUILD_1(ERFC, a)
#define ERFC_FAST(a) BUILD_1(ERFC_FAST, a)
#define SIGMOID(a) BUILD_1(SIGMOID, a)
#define SIGMOID_FAST(a) BUILD_1(SIGMOID_FAST, a)
#define SOFTPLUS(a) BUILD_1(SOFTPLUS, a)
#define NOT(a) BUILD_1(NOT, a)
#define ADD(a, b) BUILD_2(ADD, a, b)
#define SUB(a, b) BUILD_2(SUB, a, b)
#define MUL(a, b) BUILD_2(MUL, a, b)
#define DIV(a, b) BUILD_2(DIV, a, b)
#define MIN(a, b) BUILD_2(MIN, a, b)
#define MAX(a, b) BUILD_2(MAX, a, b)
#define POW(a, b) BUILD_2(POW, a, b)
#define HYPOT(a, b) BUILD_2(HYPOT, a, b)
#define AND(a, b) BUILD_2(AND, a, b)
#define OR(a, b) BUILD_2(OR, a, b)
#define XOR(a, b) BUILD_2(XOR, a, b)
#define EQ(a, b) BUILD_2(EQ, a, b)
#define NE(a, b) BUILD_2(NE, a, b)
#define LT(a, b) BUILD_2(LT, a, b)
#define LE(a, b) BUILD_2(LE, a, b)
#define FMA(a, b, c) BUILD_3(FMA, a, b, c)
#define SELECT(a, b, c) BUILD_3(SELECT, a, b, c)

#endif /* TGI_BUILD_FORMULA_H */
