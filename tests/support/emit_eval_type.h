/* SPDX-License-Identifier: MIT */
/*
 * emit_eval_type.h - template of emit_eval.c: the primitives of one element
 * type, as defined by scalar.h. False if the operands are outside the domain of
 * the primitive.
 */
#define A CAT(element_, DT)(in[0])
#define B CAT(element_, DT)(in[1])
#define C CAT(element_, DT)(in[2])
#define GIVE_VALUE(value) *out = CAT(bits_of_, DT)(value)
#define GIVE_MASK(mask) *out = (mask)
#define PRIMITIVE_IS(ID, GIVE, value) \
    case TGI_PRIMITIVE_##ID: \
        GIVE(value); \
        return true;

static inline T CAT(element_, DT)(uint64_t bits)
{
    T element;
    memcpy(&element, &bits, sizeof(element));
    return element;
}

static inline uint64_t CAT(bits_of_, DT)(T element)
{
    uint64_t bits = 0;
    memcpy(&bits, &element, sizeof(element));
    return bits;
}

/* C defines the conversion only if the value fits. */
static bool CAT(convert_, DT)(int to, uint64_t from, uint64_t *out)
{
    const T x = CAT(element_, DT)(from);
#if TAKES(FLOAT)
    const double whole = trunc((double)x);
#define FITS_UINT(TO) (whole >= 0 && whole < POWER_OF_2(WIDTH_OF(TO)))
#define FITS_SINT(TO) \
    (whole >= -POWER_OF_2(WIDTH_OF(TO) - 1) && \
     whole < POWER_OF_2(WIDTH_OF(TO) - 1))
#else
#define FITS_UINT(TO) true
#define FITS_SINT FITS_UINT
#endif
#define FITS_BOOL FITS_UINT
#define FITS_FLOAT(TO) true
#define FITS_HALF(TO) true
    switch (to) {
#define DTYPE(TO, name, type, cls) \
    case TG_##TO: { \
        if (!FITS_##cls(TO)) \
            return false; \
        const scalar_##TO converted = CONVERT(TO, x); \
        *out = 0; \
        memcpy(out, &converted, sizeof(converted)); \
        return true; \
    }
#include "base/dtype.def"
#undef DTYPE
#undef FITS_BOOL
#undef FITS_SINT
#undef FITS_UINT
#undef FITS_FLOAT
#undef FITS_HALF
    default:
        return false;
    }
}

#if TAKES(FLOAT)
/* The preconditions of SCALE. */
static bool CAT(can_scale_, DT)(T x, T n, T sum)
{
    if (x != x || n != n)
        return true;
    if (n != TRUNC(n) || FABS(n) > SCALE_LIMIT ||
        sum != ADD(n, K(SCALE_ROUNDER)))
        return false;
    return x == 0 || isinf(x) || n == 0 ||
           isnormal((T)ldexp((double)x, (int)FLOOR(n / 2)));
}
#endif

static bool CAT(evaluate_, DT)(tgi_primitive primitive, int to,
                               const uint64_t *in, uint64_t *out)
{
    switch (primitive) {
    PRIMITIVE_IS(EQ, GIVE_MASK, EQ(A, B))
    PRIMITIVE_IS(NE, GIVE_MASK, NE(A, B))
    PRIMITIVE_IS(LT, GIVE_MASK, LT(A, B))
    PRIMITIVE_IS(LE, GIVE_MASK, LE(A, B))
    case TGI_PRIMITIVE_CONVERT:
        return CAT(convert_, DT)(to, in[0], out);
#if TAKES(HALF)
    PRIMITIVE_IS(AND, GIVE_VALUE, AND(A, B))
    case TGI_PRIMITIVE_WIDEN: {
        const float wide = WIDEN(A);
        *out = bits_of_F32(wide);
        return true;
    }
#endif
#if TAKES(NUM)
    PRIMITIVE_IS(ADD, GIVE_VALUE, ADD(A, B))
    PRIMITIVE_IS(SUB, GIVE_VALUE, SUB(A, B))
    PRIMITIVE_IS(MUL, GIVE_VALUE, MUL(A, B))
    PRIMITIVE_IS(NEG, GIVE_VALUE, NEG(A))
#endif
#if TAKES(BITS)
    PRIMITIVE_IS(AND, GIVE_VALUE, AND(A, B))
    PRIMITIVE_IS(OR, GIVE_VALUE, OR(A, B))
    PRIMITIVE_IS(XOR, GIVE_VALUE, XOR(A, B))
    PRIMITIVE_IS(NOT, GIVE_VALUE, NOT(A))
#endif
#if TAKES(INT)
    /* A code generator must never divide so, chosen or not. */
    case TGI_PRIMITIVE_DIV:
    case TGI_PRIMITIVE_REM:
        if (B == 0 || (TAKES(SINT) && NEG(B) == 1 && A == NEG(A) && A != 0))
            abort();
        GIVE_VALUE(primitive == TGI_PRIMITIVE_DIV ? DIV(A, B) : REM(A, B));
        return true;
    case TGI_PRIMITIVE_SHL:
    case TGI_PRIMITIVE_SHR:
        if (in[1] >= (uint64_t)WIDTH)
            return false;
        GIVE_VALUE(primitive == TGI_PRIMITIVE_SHL ? SHL(A, B) : SHR(A, B));
        return true;
#endif
#if TAKES(FLOAT)
#if IS(F32)
    case TGI_PRIMITIVE_NARROW:
        *out = to == TG_F16 ? NARROW(F16, A) : NARROW(BF16, A);
        return true;
#endif
    PRIMITIVE_IS(DIV, GIVE_VALUE, DIV(A, B))
    PRIMITIVE_IS(FMA, GIVE_VALUE, FMA(A, B, C))
    PRIMITIVE_IS(SQRT, GIVE_VALUE, SQRT(A))
    case TGI_PRIMITIVE_SCALE:
        if (!CAT(can_scale_, DT)(A, B, C))
            return false;
        GIVE_VALUE(SCALE(A, B, C));
        return true;
    PRIMITIVE_IS(FLOOR, GIVE_VALUE, FLOOR(A))
    PRIMITIVE_IS(CEIL, GIVE_VALUE, CEIL(A))
    PRIMITIVE_IS(TRUNC, GIVE_VALUE, TRUNC(A))
    PRIMITIVE_IS(ROUND_EVEN, GIVE_VALUE, ROUND_EVEN(A))
    PRIMITIVE_IS(FABS, GIVE_VALUE, FABS(A))
    PRIMITIVE_IS(SIGN_BIT, GIVE_MASK, SIGN_BIT(A))
    /* Integers of the width are their bits: in[] is what they are made of. */
    PRIMITIVE_IS(BITS_OF, GIVE_MASK, BITS_OF(A))
    PRIMITIVE_IS(FLOAT_OF, GIVE_VALUE, FLOAT_OF((INTEGER)in[0]))
    PRIMITIVE_IS(IADD, GIVE_MASK, IADD(in[0], in[1]))
    PRIMITIVE_IS(ISUB, GIVE_MASK, ISUB(in[0], in[1]))
    PRIMITIVE_IS(IMUL, GIVE_MASK, IMUL(in[0], in[1]))
    PRIMITIVE_IS(IAND, GIVE_MASK, IAND(in[0], in[1]))
    PRIMITIVE_IS(IOR, GIVE_MASK, IOR(in[0], in[1]))
    PRIMITIVE_IS(IXOR, GIVE_MASK, IXOR(in[0], in[1]))
    PRIMITIVE_IS(IEQ, GIVE_MASK, IEQ(in[0], in[1]))
    PRIMITIVE_IS(ILT, GIVE_MASK, ILT((INTEGER)in[0], (INTEGER)in[1]))
    PRIMITIVE_IS(IULT, GIVE_MASK, IULT(in[0], in[1]))
    PRIMITIVE_IS(TO_FLOAT, GIVE_VALUE, TO_FLOAT((INTEGER)in[0]))
    case TGI_PRIMITIVE_ISHL:
    case TGI_PRIMITIVE_ISHR:
    case TGI_PRIMITIVE_ISAR:
        if (in[1] >= (uint64_t)WIDTH)
            return false;
        *out = primitive == TGI_PRIMITIVE_ISHL   ? ISHL((INTEGER)in[0], in[1])
               : primitive == TGI_PRIMITIVE_ISHR ? ISHR((INTEGER)in[0], in[1])
                                            : ISAR((INTEGER)in[0], in[1]);
        return true;
    case TGI_PRIMITIVE_TO_INT:
        if (!(A >= -K(POWER_OF_2(WIDTH - 1)) && A < K(POWER_OF_2(WIDTH - 1))))
            return false;
        *out = TO_INT(A);
        return A == TRUNC(A);
#endif
    default:
        return false;
    }
}

#undef A
#undef B
#undef C
#undef GIVE_VALUE
#undef GIVE_MASK
#undef PRIMITIVE_IS
