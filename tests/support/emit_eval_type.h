/* SPDX-License-Identifier: MIT */
/*
 * emit_eval_type.h - template of emit_eval.c: the words of one element type,
 * by the meaning that scalar.h gives them. False if the operands are not in
 * the word's domain.
 */
#define A CAT(element_, DT)(in[0])
#define B CAT(element_, DT)(in[1])
#define C CAT(element_, DT)(in[2])
#define GIVE_VALUE(value) *out = CAT(bits_of_, DT)(value)
#define GIVE_MASK(mask) *out = (mask)
#define WORD_IS(ID, GIVE, value) \
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

/* The conversion is one of C where the value fits, and else not asked for. */
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
    default:
        return false;
    }
}

static bool CAT(evaluate_, DT)(tgi_primitive word, int to, const uint64_t *in,
                               uint64_t *out)
{
    switch (word) {
    WORD_IS(EQ, GIVE_MASK, EQ(A, B))
    WORD_IS(NE, GIVE_MASK, NE(A, B))
    WORD_IS(LT, GIVE_MASK, LT(A, B))
    WORD_IS(LE, GIVE_MASK, LE(A, B))
    case TGI_PRIMITIVE_CONVERT:
        return CAT(convert_, DT)(to, in[0], out);
#if TAKES(NUM)
    WORD_IS(ADD, GIVE_VALUE, ADD(A, B))
    WORD_IS(SUB, GIVE_VALUE, SUB(A, B))
    WORD_IS(MUL, GIVE_VALUE, MUL(A, B))
    WORD_IS(NEG, GIVE_VALUE, NEG(A))
#endif
#if TAKES(BITS)
    WORD_IS(AND, GIVE_VALUE, AND(A, B))
    WORD_IS(OR, GIVE_VALUE, OR(A, B))
    WORD_IS(XOR, GIVE_VALUE, XOR(A, B))
    WORD_IS(NOT, GIVE_VALUE, NOT(A))
#endif
#if TAKES(INT)
    /* A code generator must never divide so, chosen or not. */
    case TGI_PRIMITIVE_DIV:
    case TGI_PRIMITIVE_REM:
        if (B == 0 || (TAKES(SINT) && NEG(B) == 1 && A == NEG(A) && A != 0))
            abort();
        GIVE_VALUE(word == TGI_PRIMITIVE_DIV ? DIV(A, B) : REM(A, B));
        return true;
    case TGI_PRIMITIVE_SHL:
    case TGI_PRIMITIVE_SHR:
        if (in[1] >= (uint64_t)WIDTH)
            return false;
        GIVE_VALUE(word == TGI_PRIMITIVE_SHL ? SHL(A, B) : SHR(A, B));
        return true;
#endif
#if TAKES(FLOAT)
    WORD_IS(DIV, GIVE_VALUE, DIV(A, B))
    WORD_IS(FMA, GIVE_VALUE, FMA(A, B, C))
    WORD_IS(SQRT, GIVE_VALUE, SQRT(A))
    WORD_IS(FLOOR, GIVE_VALUE, FLOOR(A))
    WORD_IS(CEIL, GIVE_VALUE, CEIL(A))
    WORD_IS(TRUNC, GIVE_VALUE, TRUNC(A))
    WORD_IS(ROUND_EVEN, GIVE_VALUE, ROUND_EVEN(A))
    WORD_IS(FABS, GIVE_VALUE, FABS(A))
    WORD_IS(SIGN_BIT, GIVE_MASK, SIGN_BIT(A))
    /* Integers of the width are their bits: in[] is what they are made of. */
    WORD_IS(BITS_OF, GIVE_MASK, BITS_OF(A))
    WORD_IS(FLOAT_OF, GIVE_VALUE, FLOAT_OF((INTEGER)in[0]))
    WORD_IS(IADD, GIVE_MASK, IADD(in[0], in[1]))
    WORD_IS(ISUB, GIVE_MASK, ISUB(in[0], in[1]))
    WORD_IS(IMUL, GIVE_MASK, IMUL(in[0], in[1]))
    WORD_IS(IAND, GIVE_MASK, IAND(in[0], in[1]))
    WORD_IS(IOR, GIVE_MASK, IOR(in[0], in[1]))
    WORD_IS(IXOR, GIVE_MASK, IXOR(in[0], in[1]))
    WORD_IS(IEQ, GIVE_MASK, IEQ(in[0], in[1]))
    WORD_IS(ILT, GIVE_MASK, ILT((INTEGER)in[0], (INTEGER)in[1]))
    WORD_IS(IULT, GIVE_MASK, IULT(in[0], in[1]))
    WORD_IS(TO_FLOAT, GIVE_VALUE, TO_FLOAT((INTEGER)in[0]))
    case TGI_PRIMITIVE_ISHL:
    case TGI_PRIMITIVE_ISHR:
    case TGI_PRIMITIVE_ISAR:
        if (in[1] >= (uint64_t)WIDTH)
            return false;
        *out = word == TGI_PRIMITIVE_ISHL   ? ISHL((INTEGER)in[0], in[1])
               : word == TGI_PRIMITIVE_ISHR ? ISHR((INTEGER)in[0], in[1])
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
#undef WORD_IS
