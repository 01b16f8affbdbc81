/* SPDX-License-Identifier: MIT */
/*
 * scalar.h - the words recipes are written in, given meaning over plain C
 * scalars. The other half of "one recipe, two back ends": a code generator
 * gives the same words meaning over the values it emits.
 *
 * The words speak of one element type at a time: DT is its name in dtype.def
 * and CLASS its class. scalar_each.h goes through all types.
 *
 *   VALUE MASK           an element, an answer
 *   K(c)                 a constant          WIDTH   bits of an integer type
 *   ADD SUB MUL NEG      integers wrap
 *   DIV REM              integers: b is not 0 and the result fits
 *   AND OR XOR NOT       bits
 *   SHL SHR              0 <= count < WIDTH; SHR fills with the sign
 *   EQ NE LT LE          IEEE for floats; give a MASK
 *   BOTH EITHER          of two masks
 *   SELECT(m, a, b)      the arm that is not chosen may be undefined
 *   FMA SQRT FLOOR CEIL TRUNC ROUND_EVEN MAGNITUDE SIGN_BIT
 *   LIBM(name, …)        a function of the C library
 */
#ifndef TGI_SCALAR_H
#define TGI_SCALAR_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "dtype.h"

#define CAT(a, b) CAT_(a, b)
#define CAT_(a, b) a##b
#define CAT4(a, b, c, d) CAT4_(a, b, c, d)
#define CAT4_(a, b, c, d) a##b##c##d

/*
 * scalar_F32: the C type; wide_F32: where its arithmetic is done, unsigned
 * for integers and never promoted to int, so that nothing overflows.
 */
#define DTYPE(ID, name, type, cls) \
    typedef type scalar_##ID; \
    typedef __typeof__(_Generic((type)0, \
        float: (float)0, \
        double: (double)0, \
        int64_t: (uint64_t)0, \
        uint64_t: (uint64_t)0, \
        default: (uint32_t)0)) wide_##ID; \
    enum { class_##ID = TGI_CLASS_##cls };
#include "dtype.def"
#undef DTYPE

#define T CAT(scalar_, DT)
#define W CAT(wide_, DT)

/* -- Sets of classes, as op.def names them --------------------------------- */

/* 1 if the current class is in the set, else 0; also for #if. */
#define TAKES(types) TAKES_(CAT(PICK_, CLASS), SET_##types)
#define TAKES_(pick, set) pick set
#define PICK_BOOL(is_bool, is_sint, is_uint, is_float) is_bool
#define PICK_SINT(is_bool, is_sint, is_uint, is_float) is_sint
#define PICK_UINT(is_bool, is_sint, is_uint, is_float) is_uint
#define PICK_FLOAT(is_bool, is_sint, is_uint, is_float) is_float
#define SET_ANY (1, 1, 1, 1)
#define SET_NUM (0, 1, 1, 1)
#define SET_INT (0, 1, 1, 0)
#define SET_BITS (1, 1, 1, 0)
#define SET_BOOL (1, 0, 0, 0)
#define SET_SINT (0, 1, 0, 0)
#define SET_UINT (0, 0, 1, 0)
#define SET_FLOAT (0, 0, 0, 1)

/* WHEN(TAKES(NUM), text): the text if it does, else nothing. */
#define WHEN(condition, ...) CAT(WHEN_, condition)(__VA_ARGS__)
#define WHEN_0(...)
#define WHEN_1(...) __VA_ARGS__

/* -- How a recipe begins, and how it is used ------------------------------- */

#define R(OP) CAT4(recipe_, OP, _, DT)
#define RECIPE_1(OP, a) static inline T R(OP)(T a)
#define RECIPE_2(OP, a, b) static inline T R(OP)(T a, T b)
#define RECIPE_2_MASK(OP, a, b) static inline bool R(OP)(T a, T b)
#define RECIPE_3(OP, a, b, c) \
    typedef T FIRST(OP); \
    static inline T R(OP)(T a, T b, T c)
#define RECIPE_3_SELECT(OP, m, a, b) \
    typedef scalar_BOOL FIRST(OP); \
    static inline T R(OP)(bool m, T a, T b)
/* Where a reduction starts. */
#define RECIPE_START(OP) static inline T START(OP)(void)

/* Element type of the first of three operands. */
#define FIRST(OP) CAT4(first_, OP, _, DT)
#define START(OP) CAT4(start_, OP, _, DT)
#define USE_2(OP, a, b) R(OP)(a, b)

/* -- Words ----------------------------------------------------------------- */

#define VALUE T
#define MASK bool

#define K(c) ((T)(c))
#define WIDTH ((int)(8 * sizeof(T)))

#define ADD(a, b) ((T)((W)(a) + (W)(b)))
#define SUB(a, b) ((T)((W)(a) - (W)(b)))
#define MUL(a, b) ((T)((W)(a) * (W)(b)))
#define NEG(a) ((T)(-(W)(a)))
#define DIV(a, b) ((T)((a) / (b)))
#define REM(a, b) ((T)((a) % (b)))

#define AND(a, b) ((T)((a) & (b)))
#define OR(a, b) ((T)((a) | (b)))
#define XOR(a, b) ((T)((a) ^ (b)))
#define NOT(a) ((T)(~(a)))
#define SHL(a, count) ((T)((W)(a) << (count)))
#define SHR(a, count) ((T)((a) >> (count)))

#define EQ(a, b) ((a) == (b))
#define NE(a, b) ((a) != (b))
#define LT(a, b) ((a) < (b))
#define LE(a, b) ((a) <= (b))
#define BOTH(m, n) ((m) && (n))
#define EITHER(m, n) ((m) || (n))
#define SELECT(m, a, b) ((m) ? (a) : (b))

/* expf for float, exp for double. */
#define LIBM(name, ...) \
    _Generic((T)0, float: name##f, default: name)(__VA_ARGS__)
#define FMA(a, b, c) LIBM(fma, a, b, c)
#define SQRT(a) LIBM(sqrt, a)
#define FLOOR(a) LIBM(floor, a)
#define CEIL(a) LIBM(ceil, a)
#define TRUNC(a) LIBM(trunc, a)
#define ROUND_EVEN(a) LIBM(roundeven, a)
#define MAGNITUDE(a) LIBM(fabs, a)
#define SIGN_BIT(a) (__builtin_signbit(a) != 0)

/* Words of casts: the other type is named by its ID. */
#define CONVERT(TO, a) ((scalar_##TO)(a))
#define WIDTH_OF(TO) ((int)(8 * sizeof(scalar_##TO)))
#define HIGHEST_SINT(TO) \
    ((scalar_##TO)(((wide_##TO)1 << (WIDTH_OF(TO) - 1)) - 1))
#define LOWEST_SINT(TO) ((scalar_##TO)(-HIGHEST_SINT(TO) - 1))
#define HIGHEST_UINT(TO) ((scalar_##TO)-1)

#endif /* TGI_SCALAR_H */
