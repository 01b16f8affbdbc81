/* SPDX-License-Identifier: MIT */
/*
 * recipe_parts.h - pieces that several families of math recipes share. Like a
 * recipe, a PART is made of words only.
 */

/* The magnitude is not negative (or NaN); takes the sign of the other. */
PART(VALUE, with_sign_of, VALUE magnitude, VALUE sign)
{
#if IS(F32)
    INTEGER mask = KI(0x80000000);
#else
    INTEGER mask = KI(0x8000000000000000);
#endif
    return FLOAT_OF(IOR(BITS_OF(magnitude), IAND(BITS_OF(sign), mask)));
}

/*
 * x 2^n in two steps, so that results overflow and underflow as they should
 * with one rounding. n comes as the sum n + TWO_STEPS: the low bits of that
 * sum are n + 2 bias, and half of them is the exponent of the first step.
 * Adding TWO_STEPS to a small number is also what rounds it to an integer.
 */
#undef TWO_STEPS
#undef MANTISSA
#if IS(F32)
#define TWO_STEPS (0x1.8p23 + 254)
#define MANTISSA 23
#else
#define TWO_STEPS (0x1.8p52 + 2046)
#define MANTISSA 52
#endif
PART(VALUE, in_two_steps, VALUE x, VALUE sum)
{
    INTEGER both = BITS_OF(sum);
    INTEGER first = ISHR(both, KI(1));
    INTEGER second = ISUB(both, first);
    return MUL(MUL(x, FLOAT_OF(ISHL(first, KI(MANTISSA)))),
               FLOAT_OF(ISHL(second, KI(MANTISSA))));
}
