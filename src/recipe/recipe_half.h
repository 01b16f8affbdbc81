/* SPDX-License-Identifier: MIT */
/*
 * recipe_half.h - part of recipe.h, for float types: what casts from and to
 * f16 and bf16 consist of. The parts of f32 compute NARROW and WIDEN where no
 * instruction does; halves are the low 16 bits of an INTEGER.
 */

#if IS(F32)

/*
 * Half the distance of neighbouring f16 is added, less one if the last bit of
 * the quotient is even, and 13 bits are dropped. The sum of a small number and
 * 1/2 is rounded to a multiple of 2^-24, as f16 are below 2^-14.
 */
PART(INTEGER, narrow_F16, VALUE x)
{
    INTEGER all = BITS_OF(x);
    INTEGER sign = IAND(ISHR(all, KI(16)), KI(0x8000));
    INTEGER size = IAND(all, KI(0x7fffffff));
    INTEGER odd = IAND(ISHR(size, KI(13)), KI(1));
    INTEGER sum = IADD(size, IADD(odd, KI(0xc8000fff)));
    INTEGER large = ISHR(sum, KI(13));
    VALUE shifted = ADD(FLOAT_OF(size), K(0.5));
    INTEGER small = ISUB(BITS_OF(shifted), KI(0x3f000000));
    INTEGER finite = SELECT(IULT(size, KI(0x38800000)), small, large);
    INTEGER special =
        SELECT(IULT(KI(0x7f800000), size), KI(0x7e00), KI(0x7c00));
    INTEGER half = SELECT(IULT(size, KI(0x47800000)), finite, special);
    return IOR(half, sign);
}

/* The bits of a NaN may carry into its sign, so it is replaced. */
PART(INTEGER, narrow_BF16, VALUE x)
{
    INTEGER all = BITS_OF(x);
    INTEGER odd = IAND(ISHR(all, KI(16)), KI(1));
    INTEGER rounded = ISHR(IADD(all, IADD(odd, KI(0x7fff))), KI(16));
    return SELECT(EQ(x, x), rounded, KI(0x7fc0));
}

/* The exponent of an f16 is 112 smaller than that of an f32, which the product
   makes up for, also if the number is denormal. */
PART(VALUE, widen_F16, INTEGER half)
{
    INTEGER sign = ISHL(IAND(half, KI(0x8000)), KI(16));
    INTEGER size = ISHL(IAND(half, KI(0x7fff)), KI(13));
    INTEGER finite = BITS_OF(MUL(FLOAT_OF(size), K(0x1p112)));
    INTEGER special = IOR(finite, KI(0x7f800000));
    INTEGER wide = SELECT(IULT(size, KI(0x0f800000)), finite, special);
    return FLOAT_OF(IOR(wide, sign));
}

PART(VALUE, widen_BF16, INTEGER half)
{
    return FLOAT_OF(ISHL(half, KI(16)));
}

/* y, or its neighbour whose last bit is 1 if y is a rounded value. */
PART(VALUE, to_odd, VALUE y, MASK is_exact, MASK is_too_large)
{
    INTEGER bits = BITS_OF(y);
    INTEGER next =
        SELECT(is_too_large, ISUB(bits, KI(1)), IADD(bits, KI(1)));
    MASK is_odd = IEQ(IAND(bits, KI(1)), KI(1));
    return SELECT(MASK_OR(is_exact, is_odd), y, FLOAT_OF(next));
}

PART(VALUE, half_source, VALUE x)
{
    return x;
}

#else

/*
 * The f32 that a half rounds as it does x: rounded to odd, it is no tie of
 * halves, which have at least 2 bits less, and on the same side of all ties.
 */
PART(FLOAT32, half_source, VALUE x)
{
    FLOAT32 y = CONVERT(F32, x);
    VALUE wide = CONVERT_AS(F32, F64, y);
    MASK is_exact = MASK_OR(EQ(wide, x), NE(x, x));
    MASK is_too_large = LT(FABS(x), FABS(wide));
    return USE_OF(F32, to_odd, y, is_exact, is_too_large);
}

#endif
