/* SPDX-License-Identifier: MIT */
/*
 * recipe_cast.h - recipes of casts: CAST_<from class>_<to class>(TO, x) casts
 * from the current type to the type with ID TO. They are macros because they
 * depend on two types.
 */
#ifndef TGI_RECIPE_CAST_H
#define TGI_RECIPE_CAST_H

/* To bool: x != 0, so NaN is true. */
#define CAST_BOOL_BOOL(TO, x) CONVERT(TO, NE(x, K(0)))
#define CAST_SINT_BOOL CAST_BOOL_BOOL
#define CAST_UINT_BOOL CAST_BOOL_BOOL
#define CAST_FLOAT_BOOL CAST_BOOL_BOOL

/* Between integers: wraps. To float: rounds once, to nearest. */
#define CAST_BOOL_SINT(TO, x) CONVERT(TO, x)
#define CAST_BOOL_UINT CAST_BOOL_SINT
#define CAST_BOOL_FLOAT CAST_BOOL_SINT
#define CAST_SINT_SINT CAST_BOOL_SINT
#define CAST_SINT_UINT CAST_BOOL_SINT
#define CAST_SINT_FLOAT CAST_BOOL_SINT
#define CAST_UINT_SINT CAST_BOOL_SINT
#define CAST_UINT_UINT CAST_BOOL_SINT
#define CAST_UINT_FLOAT CAST_BOOL_SINT
#define CAST_FLOAT_FLOAT CAST_BOOL_SINT

/* Float to integer: truncates and saturates; NaN gives 0. The bounds compared
   with are powers of 2, which are exact in every float type, unlike the largest
   integer. */
#define CAST_FLOAT_SINT(TO, x) \
    SELECT(LE(K(POWER_OF_2(WIDTH_OF(TO) - 1)), x), \
           K_OF(TO, HIGHEST_SINT(TO)), \
           SELECT(LE(x, K(-POWER_OF_2(WIDTH_OF(TO) - 1))), \
                  K_OF(TO, LOWEST_SINT(TO)), \
                  SELECT(EQ(x, x), CONVERT(TO, x), K_OF(TO, 0))))
#define CAST_FLOAT_UINT(TO, x) \
    SELECT(LE(K(POWER_OF_2(WIDTH_OF(TO))), x), K_OF(TO, -1), \
           SELECT(LT(K(0), x), CONVERT(TO, x), K_OF(TO, 0)))

#define WIDTH_OF(TO) ((int)(8 * sizeof(scalar_##TO)))
#define POWER_OF_2(n) __builtin_ldexp(1.0, n)
#define HIGHEST_SINT(TO) \
    ((int64_t)((UINT64_C(1) << (WIDTH_OF(TO) - 1)) - 1))
#define LOWEST_SINT(TO) (-HIGHEST_SINT(TO) - 1)

#endif /* TGI_RECIPE_CAST_H */
