/* SPDX-License-Identifier: MIT */
/*
 * ops_elementwise.c - elementwise functions of ops.h that are composed of
 * others.
 */
#include <math.h>

#include "front/ops/ops_formula.h"

FORMULA_1(square, NUM)
{
    return MUL(X, X);
}

FORMULA_1(reciprocal, FLOAT)
{
    return DIV(K(1), X);
}

/* -- Comparisons ----------------------------------------------------------- */

/* a > b is b < a, even for NaN. */
FORMULA_2(gt, ANY)
{
    return LT(Y, X);
}

FORMULA_2(ge, ANY)
{
    return LE(Y, X);
}

FORMULA_3(clamp, ANY)
{
    return MIN(MAX(X, Y), Z);
}

FORMULA_1(is_nan, FLOAT)
{
    return NE(X, X);
}

FORMULA_1(is_inf, FLOAT)
{
    return EQ(ABS(X), K(HUGE_VAL));
}

FORMULA_1(is_finite, FLOAT)
{
    return LT(ABS(X), K(HUGE_VAL));
}

/* Its operands need no common dtype. */
tg_value tg_logical_xor_at(tg_operand x, tg_operand y, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "logical_xor", site)) {
        tgi_ref left =
            tgi_build_cast(&o.b, tgi_operation_operand(&o, x), TG_BOOL);
        tgi_ref right =
            tgi_build_cast(&o.b, tgi_operation_operand(&o, y), TG_BOOL);
        result = tgi_build_2(&o.b, TGI_OP_XOR, left, right);
    }
    return tgi_operation_end(&o, result);
}

/* -- Quotients rounded down, and remainders -------------------------------- */

/*
 * The remainder of floats: fma makes it exact. The rounding of a / b may give
 * the integer above it in magnitude, never one below it. The remainder then has
 * the wrong sign, and b is added back. The remainder of a smaller |a|, also of
 * an infinite b, is a itself.
 */
static tgi_ref remainder_of_floats(tgi_builder *b, const tgi_ref *in)
{
    tgi_ref r = FMA(NEG(TRUNC(DIV(X, Y))), Y, X);
    tgi_ref is_negative = LT(X, K(0));
    tgi_ref is_over = SELECT(is_negative, LT(K(0), r), LT(r, K(0)));
    tgi_ref size = ABS(Y);
    tgi_ref back = SELECT(is_negative, SUB(r, size), ADD(r, size));
    tgi_ref is_smaller = LT(ABS(X), size);
    return SELECT(is_smaller, X, SELECT(is_over, back, r));
}

/*
 * The quotient of floats rounded down, or the integer above it, and what it
 * leaves of a: a itself if the quotient is 0, also of an infinite b.
 */
static tgi_ref divide_down(tgi_builder *b, const tgi_ref *in,
                           tgi_ref *out_rest)
{
    tgi_ref quotient = FLOOR(DIV(X, Y));
    tgi_ref rest = FMA(NEG(quotient), Y, X);
    *out_rest = SELECT(EQ(quotient, K(0)), X, rest);
    return quotient;
}

static bool is_float(const tgi_builder *b, tgi_ref x)
{
    return tgi_dtype_is(tgi_graph_node(b->graph, x)->dtype, TGI_CLASS_FLOAT);
}

/*
 * True where a remainder is to be increased by b, to get the sign of b. Of
 * floats, the product has another sign, which takes fewer instructions than four
 * comparisons; scaled, it does not underflow, but may be infinite. Where a
 * factor is 0 it is 0 or NaN.
 */
static tgi_ref has_other_sign(tgi_builder *b, const tgi_ref *in, tgi_ref rest)
{
    if (is_float(b, X)) {
        const bool is_double = tgi_graph_node(b->graph, X)->dtype == TG_F64;
        tgi_ref scale = K(is_double ? 0x1p600 : 0x1p100);
        return LT(MUL(MUL(rest, scale), MUL(Y, scale)), K(0));
    }
    tgi_ref is_below = AND(LT(rest, K(0)), LT(K(0), Y));
    return OR(is_below, AND(LT(K(0), rest), LT(Y, K(0))));
}

/* x - q * b: the remainder even of the defined results q = -1 for b = 0 and
   q = MIN for MIN / -1, because products wrap. */
static tgi_ref rest_of_integers(tgi_builder *b, const tgi_ref *in,
                                tgi_ref quotient)
{
    return SUB(X, MUL(quotient, Y));
}

FORMULA_2(floordiv, NUM)
{
    tgi_ref quotient, rest;
    if (is_float(b, X)) {
        quotient = divide_down(b, in, &rest);
    } else {
        quotient = DIV(X, Y);
        rest = rest_of_integers(b, in, quotient);
    }
    return SELECT(has_other_sign(b, in, rest), SUB(quotient, K(1)), quotient);
}

FORMULA_2(floormod, NUM)
{
    tgi_ref rest;
    if (is_float(b, X))
        divide_down(b, in, &rest);
    else
        rest = rest_of_integers(b, in, DIV(X, Y));
    return SELECT(has_other_sign(b, in, rest), ADD(rest, Y), rest);
}

FORMULA_2(fmod, FLOAT)
{
    return remainder_of_floats(b, in);
}

/* -- Bits of floats -------------------------------------------------------- */

/* The bits of x, as a signed integer. */
static tgi_ref bits_of(tgi_builder *b, tgi_ref x)
{
    if (!x)
        return 0;
    const tg_dtype dtype = (tg_dtype)tgi_graph_node(b->graph, x)->dtype;
    return tgi_build_bitcast(b, tgi_build_cast(b, x, dtype),
                             tgi_signed_like((int)dtype));
}

static tgi_ref sign_bit_of(tgi_builder *b, tgi_ref x)
{
    tgi_ref bits = bits_of(b, x);
    return LT(bits, tgi_build_number_like(b, bits, 0));
}

FORMULA_1(signbit, FLOAT)
{
    return sign_bit_of(b, X);
}

FORMULA_2(copysign, FLOAT)
{
    tgi_ref is_negative = sign_bit_of(b, Y);
    tgi_ref size = ABS(X);
    return SELECT(is_negative, NEG(size), size);
}

/*
 * Neighbours of one sign have neighbouring bits; those of larger magnitude have
 * the larger ones. The neighbours of either zero are the smallest denormals.
 */
FORMULA_2(nextafter, REAL)
{
    tgi_ref bits = bits_of(b, X);
    if (!bits)
        return 0;
    const tg_dtype dtype = (tg_dtype)tgi_graph_node(b->graph, X)->dtype;
    tgi_ref one = tgi_build_number_like(b, bits, 1);
    tgi_ref is_up = LT(X, Y);
    tgi_ref grows = EQ(is_up, LT(K(0), X));
    tgi_ref moved = SELECT(grows, ADD(bits, one), SUB(bits, one));
    const uint64_t smallest_bits = 1;
    tgi_ref smallest = tgi_build_constant(b, dtype, 0, NULL, &smallest_bits);
    tgi_ref next = SELECT(EQ(X, K(0)), SELECT(is_up, smallest, NEG(smallest)),
                          tgi_build_bitcast(b, moved, dtype));
    next = SELECT(EQ(X, Y), Y, next);
    tgi_ref are_ordered = AND(EQ(X, X), EQ(Y, Y));
    return BUILD_1(STOP, SELECT(are_ordered, next, K((double)NAN)));
}
