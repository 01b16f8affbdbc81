/* SPDX-License-Identifier: MIT */
/*
 * scalar.h - the primitives that recipes are written in, defined on C scalars.
 * emit_primitives.h defines the same primitives as calls of an emitter.
 *
 * Primitives operate on one element type at a time: DT is its name in
 * dtype.def, CLASS its class. recipe_each.h iterates over all types.
 *
 *   VALUE MASK           an element, a truth value
 *   K(c)                 a constant          WIDTH   bits of the type
 *   ADD SUB MUL NEG      integers wrap
 *   DIV REM              integers: b is not 0 and the result fits
 *   AND OR XOR NOT       bits
 *   SHL SHR              0 <= count < WIDTH; SHR fills with the sign
 *   EQ NE LT LE          IEEE for floats; give a MASK
 *   MASK_AND MASK_OR MASK_NOR
 *   SELECT(m, a, b)      the arm that is not selected may be undefined
 *
 * Float types only:
 *   FMA SQRT FLOOR CEIL TRUNC ROUND_EVEN FABS SIGN_BIT
 *   SCALE(x, n, sum)     x 2^n, rounded once, also to denormals, for an integer
 *                        |n| <= SCALE_LIMIT. sum is n + SCALE_ROUNDER. Unless x
 *                        is 0, Inf or NaN or n is 0, x 2^(n/2) is normal. If x
 *                        is NaN, n and sum may be anything; if only n is NaN,
 *                        so may the result
 *   INTEGER KI(c)        an unsigned integer of the same width, a constant
 *   BITS_OF FLOAT_OF     bit casts
 *   IADD ISUB IMUL       wrap
 *   IAND IOR IXOR
 *   ISHL ISHR ISAR       0 <= count < WIDTH; ISHR fills with 0, ISAR with
 *                        the sign
 *   IEQ ILT IULT         return a MASK; ILT compares as signed
 *   TO_INT               an integral value that fits, as signed INTEGER
 *   TO_FLOAT             signed INTEGER, rounded to nearest
 *   LOOKUP(table, i)     element i (INTEGER, in range) of a TABLE_OF
 *
 * Casts, where TO is the ID of the target type:
 *   CONVERT(TO, x)       between integers wraps, to float rounds; from float to
 *                        integer truncates, and the result must fit
 *   K_OF(TO, c) WIDTH_OF(TO)
 *   FLOAT_OF_BITS(TO, x) the float TO with the bits of an integer of its size
 *   AS_INTEGER(TO, b)    an INTEGER as the integer TO of its size
 *   NARROW(TO, x)        an f32 as the half TO, rounded to nearest; the bits of
 *                        a NaN are unspecified
 *   WIDEN(x)             the f32 equal to a half
 *   CONVERT_AS(FROM, TO, x) FLOAT32   CONVERT of another type; an f32
 *
 * PART(type, name, parameters) defines a helper, which recipes call by
 * USE(name, …), or USE_OF(DT, name, …) if it is one of another type; TABLE_OF(name, values …) defines a table of constants.
 *
 * RARELY(mask, a, b, c, statements) runs the statements where the mask is true,
 * which set the variables a, b and c. Vectors without such a lane skip them.
 * They contain no other RARELY. RARELY_1 and RARELY_2 set one or two variables
 * (recipe_parts.h).
 */
#ifndef TGI_SCALAR_H
#define TGI_SCALAR_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "recipe/recipe_sets.h"

/*
 * wide_F32: the type of arithmetic. For integers it is unsigned and not subject
 * to promotion to int, so overflow is defined.
 */
#define DTYPE(ID, name, type, cls) \
    typedef __typeof__(_Generic((type)0, \
        float: (float)0, \
        double: (double)0, \
        int64_t: (uint64_t)0, \
        uint64_t: (uint64_t)0, \
        default: (uint32_t)0)) wide_##ID;
#include "base/dtype.def"
#undef DTYPE

#define W CAT(wide_, DT)

/* -- Definition and use of recipes ----------------------------------------- */

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
/* The initial accumulator of a reduction, and the result of an empty one. */
#define RECIPE_START(OP) static inline T START(OP)(void)
#define RECIPE_EMPTY(OP) static inline T EMPTY(OP)(void)

/* Element type of the first of three operands. */
#define FIRST(OP) CAT4(first_, OP, _, DT)
#define START(OP) CAT4(start_, OP, _, DT)
#define EMPTY(OP) CAT4(empty_, OP, _, DT)
#define USE_2(OP, a, b) R(OP)(a, b)

#define PART(type, name, ...) \
    static inline type CAT4(part_, name, _, DT)(__VA_ARGS__)
#define USE(name, ...) CAT4(part_, name, _, DT)(__VA_ARGS__)
#define USE_OF(type, name, ...) CAT4(part_, name, _, type)(__VA_ARGS__)
#define TABLE_OF(name, ...) \
    static const T CAT4(table_, name, _, DT)[] = {__VA_ARGS__}

#define RARELY(mask, a, b, c, ...) \
    do { \
        if (mask) { \
            __VA_ARGS__ \
        } \
    } while (0)

/* -- Primitives ------------------------------------------------------------ */

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
#define MASK_AND(m, n) ((m) && (n))
#define MASK_OR(m, n) ((m) || (n))
#define MASK_NOR(m, n) (!(m) && !(n))
#define SELECT(m, a, b) ((m) ? (a) : (b))

/* C library functions, such as fmaf for float and fma for double, which
   compilers inline. */
#define FUNCTION(name, ...) \
    _Generic((T)0, float: name##f, default: name)(__VA_ARGS__)
#define FMA(a, b, c) FUNCTION(fma, a, b, c)
#define SQRT(a) FUNCTION(sqrt, a)
#define SCALE(x, n, sum) ((void)(n), USE(scale_by_factors, x, sum))
#define FLOOR(a) FUNCTION(floor, a)
#define CEIL(a) FUNCTION(ceil, a)
#define TRUNC(a) FUNCTION(trunc, a)
#define ROUND_EVEN(a) FUNCTION(roundeven, a)
#define FABS(a) FUNCTION(fabs, a)
#define SIGN_BIT(a) (__builtin_signbit(a) != 0)

/* -- Primitives on the bits of floats -------------------------------------- */

#define INTEGER CAT(bits_, DT)
#define SIGNED CAT(signed_, DT)

#define KI(c) ((INTEGER)(c))
#define BITS_OF(a) (((union { T value; INTEGER bits; }){.value = (a)}).bits)
#define FLOAT_OF(b) (((union { INTEGER bits; T value; }){.bits = (b)}).value)
#define IADD(a, b) ((INTEGER)((INTEGER)(a) + (INTEGER)(b)))
#define ISUB(a, b) ((INTEGER)((INTEGER)(a) - (INTEGER)(b)))
#define IMUL(a, b) ((INTEGER)((INTEGER)(a) * (INTEGER)(b)))
#define IAND(a, b) ((INTEGER)((a) & (b)))
#define IOR(a, b) ((INTEGER)((a) | (b)))
#define IXOR(a, b) ((INTEGER)((a) ^ (b)))
#define ISHL(a, count) ((INTEGER)((INTEGER)(a) << (count)))
#define ISHR(a, count) ((INTEGER)((INTEGER)(a) >> (count)))
#define ISAR(a, count) ((INTEGER)((SIGNED)(a) >> (count)))
#define IEQ(a, b) ((INTEGER)(a) == (INTEGER)(b))
#define ILT(a, b) ((SIGNED)(a) < (SIGNED)(b))
#define IULT(a, b) ((INTEGER)(a) < (INTEGER)(b))
#define TO_INT(a) ((INTEGER)(SIGNED)(a))
#define TO_FLOAT(b) ((T)(SIGNED)(b))
#define LOOKUP(table, i) (CAT4(table_, table, _, DT)[i])

/* -- Casts ----------------------------------------------------------------- */

#define CONVERT(TO, a) ((scalar_##TO)(a))
#define K_OF(TO, c) ((scalar_##TO)(c))
#define FLOAT_OF_BITS(TO, x) \
    (((union { T bits; scalar_##TO value; }){.bits = (x)}).value)
#define AS_INTEGER(TO, b) ((scalar_##TO)(b))
#define CONVERT_AS(FROM, TO, a) ((scalar_##TO)(scalar_##FROM)(a))
#define FLOAT32 scalar_F32
#define NARROW(TO, a) ((scalar_##TO)part_narrow_##TO##_F32(a))
#define WIDEN(a) (CAT4(part_widen_, DT, _, F32)(a))

#endif /* TGI_SCALAR_H */
