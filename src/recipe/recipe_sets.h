/* SPDX-License-Identifier: MIT */
/*
 * recipe_sets.h - preprocessor predicates on the current element type: DT is
 * its name in dtype.def, CLASS its class.
 */
#ifndef TGI_RECIPE_SETS_H
#define TGI_RECIPE_SETS_H

#include <stdint.h>

#include "base/dtype.h"

#define CAT(a, b) CAT_(a, b)
#define CAT_(a, b) a##b
#define CAT4(a, b, c, d) CAT4_(a, b, c, d)
#define CAT4_(a, b, c, d) a##b##c##d

/*
 * For each type, such as F32: scalar_F32 is the C type, bits_F32 the unsigned
 * and signed_F32 the signed integer of its width.
 */
#define DTYPE(ID, name, type, cls) \
    typedef type scalar_##ID; \
    typedef __typeof__(_Generic((char(*)[sizeof(type)])0, \
        char(*)[1]: (uint8_t)0, \
        char(*)[2]: (uint16_t)0, \
        char(*)[4]: (uint32_t)0, \
        char(*)[8]: (uint64_t)0)) bits_##ID; \
    typedef __typeof__(_Generic((bits_##ID)0, \
        uint8_t: (int8_t)0, \
        uint16_t: (int16_t)0, \
        uint32_t: (int32_t)0, \
        uint64_t: (int64_t)0)) signed_##ID; \
    enum { class_##ID = TGI_CLASS_##cls };
#include "base/dtype.def"
#undef DTYPE

#define T CAT(scalar_, DT)

/* IS(F32), IS(F64): 1 or 0, for #if in recipes of float types. */
#define IS(type) CAT4(IS_, type, _, DT)
#define IS_F32_F32 1
#define IS_F32_F64 0
#define IS_F64_F32 0
#define IS_F64_F64 1

/* -- Sets of classes, named as in op.def ----------------------------------- */

/* 1 if the current class is in the set, else 0; usable in #if. */
#define TAKES(types) TAKES_(CAT(PICK_, CLASS), SET_##types)
#define TAKES_(pick, set) pick set
#define PICK_BOOL(is_bool, is_sint, is_uint, is_float, is_half) is_bool
#define PICK_SINT(is_bool, is_sint, is_uint, is_float, is_half) is_sint
#define PICK_UINT(is_bool, is_sint, is_uint, is_float, is_half) is_uint
#define PICK_FLOAT(is_bool, is_sint, is_uint, is_float, is_half) is_float
#define PICK_HALF(is_bool, is_sint, is_uint, is_float, is_half) is_half
#define SET_STORED (1, 1, 1, 1, 1)
#define SET_NUM_HALF (0, 1, 1, 1, 1)
#define SET_ANY (1, 1, 1, 1, 0)
#define SET_NUM (0, 1, 1, 1, 0)
#define SET_INT (0, 1, 1, 0, 0)
#define SET_BITS (1, 1, 1, 0, 0)
#define SET_BOOL (1, 0, 0, 0, 0)
#define SET_SINT (0, 1, 0, 0, 0)
#define SET_UINT (0, 0, 1, 0, 0)
#define SET_FLOAT (0, 0, 0, 1, 0)
#define SET_HALF (0, 0, 0, 0, 1)

/* WHEN(TAKES(NUM), text): the text if TAKES(NUM) is 1, else nothing. */
#define WHEN(condition, ...) CAT(WHEN_, condition)(__VA_ARGS__)
#define WHEN_0(...)
#define WHEN_1(...) __VA_ARGS__

#endif /* TGI_RECIPE_SETS_H */
