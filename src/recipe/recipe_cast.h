/* SPDX-License-Identifier: MIT */
/*
 * recipe_cast.h - recipes of casts: CAST_<from class>_<to class>(TO, x) casts
 * from the current type to the type with ID TO, BITCAST_… likewise. They are
 * macros because they depend on two types.
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

/*
 * Halves: from and to floats, rounding once. Between halves and integers the
 * graph has two casts (tgi_dtype_casts_to); those definitions only complete the
 * tables.
 */
#define CAST_FLOAT_HALF(TO, x) NARROW(TO, USE(half_source, x))
#define CAST_HALF_FLOAT(TO, x) CONVERT_AS(F32, TO, WIDEN(x))
#define CAST_HALF_HALF(TO, x) NARROW(TO, WIDEN(x))
#define CAST_HALF_BOOL(TO, x) CONVERT(TO, NE(AND(x, K(0x7fff)), K(0)))
#define CAST_HALF_SINT(TO, x) CONVERT(TO, x)
#define CAST_HALF_UINT CAST_HALF_SINT
#define CAST_BOOL_HALF CAST_HALF_SINT
#define CAST_SINT_HALF CAST_HALF_SINT
#define CAST_UINT_HALF CAST_HALF_SINT

/*
 * Bitcasts, between types of one size: BITCAST_<from class>_<to class>(TO, x).
 * The bits of a NaN depend on the instructions that made it, so all NaNs give
 * those of the one that is positive and quiet, without payload. Bool takes no
 * part: its definitions only complete the tables.
 */
#define BITCAST_SINT_SINT(TO, x) CONVERT(TO, x)
#define BITCAST_SINT_UINT BITCAST_SINT_SINT
#define BITCAST_UINT_SINT BITCAST_SINT_SINT
#define BITCAST_UINT_UINT BITCAST_SINT_SINT
#define BITCAST_SINT_FLOAT(TO, x) FLOAT_OF_BITS(TO, x)
#define BITCAST_UINT_FLOAT BITCAST_SINT_FLOAT
#define BITCAST_FLOAT_SINT(TO, x) \
    AS_INTEGER(TO, BITS_OF(SELECT(EQ(x, x), x, K(NAN))))
#define BITCAST_FLOAT_UINT BITCAST_FLOAT_SINT
#define BITCAST_FLOAT_FLOAT(TO, x) CONVERT(TO, x)
#define BITCAST_HALF_SINT(TO, x) \
    CONVERT(TO, SELECT(LT(K(INFINITE_HALF), AND(x, K(0x7fff))), \
                       K(QUIET_HALF), x))
#define BITCAST_HALF_UINT BITCAST_HALF_SINT
#define BITCAST_HALF_HALF BITCAST_HALF_SINT
#define BITCAST_HALF_FLOAT BITCAST_SINT_SINT
#define BITCAST_FLOAT_HALF BITCAST_SINT_SINT
#define BITCAST_SINT_HALF BITCAST_SINT_SINT
#define BITCAST_UINT_HALF BITCAST_SINT_SINT
#define BITCAST_HALF_BOOL BITCAST_SINT_SINT
#define BITCAST_BOOL_HALF BITCAST_SINT_SINT
#define BITCAST_BOOL_BOOL(TO, x) CONVERT(TO, x)
#define BITCAST_BOOL_SINT BITCAST_BOOL_BOOL
#define BITCAST_BOOL_UINT BITCAST_BOOL_BOOL
#define BITCAST_BOOL_FLOAT BITCAST_BOOL_BOOL
#define BITCAST_SINT_BOOL BITCAST_BOOL_BOOL
#define BITCAST_UINT_BOOL BITCAST_BOOL_BOOL
#define BITCAST_FLOAT_BOOL BITCAST_BOOL_BOOL

/* Bits of infinity and of the quiet NaN of the current half. */
#define INFINITE_HALF CAT(INFINITE_, DT)
#define INFINITE_F16 0x7c00
#define INFINITE_BF16 0x7f80
#define QUIET_HALF CAT(QUIET_, DT)
#define QUIET_F16 0x7e00
#define QUIET_BF16 0x7fc0

#define WIDTH_OF(TO) ((int)(8 * sizeof(scalar_##TO)))
#define POWER_OF_2(n) __builtin_ldexp(1.0, n)
#define HIGHEST_SINT(TO) \
    ((int64_t)((UINT64_C(1) << (WIDTH_OF(TO) - 1)) - 1))
#define LOWEST_SINT(TO) (-HIGHEST_SINT(TO) - 1)

#endif /* TGI_RECIPE_CAST_H */
