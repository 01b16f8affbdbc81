/* SPDX-License-Identifier: MIT */
/*
 * half.h - C types of f16 and bf16 elements, and conversions, which need no
 * support by the compiler or the CPU.
 *
 * A conversion from float rounds to nearest, ties to even, and overflows to
 * infinity; every NaN becomes a quiet one of the same sign. A conversion to
 * float is exact. None depends on the floating-point mode. If the compiler has
 * _Float16, its bits are those of a tg_f16.
 */
#ifndef TGJIT_HALF_H
#define TGJIT_HALF_H

#include "base.h"

TG_BEGIN_DECLS

typedef struct tg_f16 {
    uint16_t bits;
} tg_f16;

typedef struct tg_bf16 {
    uint16_t bits;
} tg_bf16;

static inline uint32_t tg_bits_of_float(float x)
{
    uint32_t bits;
    __builtin_memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static inline float tg_float_of_bits(uint32_t bits)
{
    float x;
    __builtin_memcpy(&x, &bits, sizeof(x));
    return x;
}

/* x / 2^n, rounded to nearest, for 0 < n < 32. */
static inline uint32_t tg_round_shift(uint32_t x, unsigned n)
{
    const uint32_t quotient = x >> n;
    const uint32_t rest = x - (quotient << n), tie = (uint32_t)1 << (n - 1);
    return quotient + (rest > tie || (rest == tie && (quotient & 1)));
}

static inline tg_f16 tg_f16_from_float(float x)
{
    const uint32_t all = tg_bits_of_float(x);
    const uint32_t size = all & 0x7fffffff, exponent = size >> 23;
    uint32_t bits;
    tg_f16 half;
    if (size > 0x7f800000)
        bits = 0x7e00;
    else if (size >= 0x47800000) /* 65536 */
        bits = 0x7c00;
    else if (size >= 0x38800000) /* 2^-14; 65520 rounds to infinity */
        bits = tg_round_shift(size - 0x38000000, 13);
    else if (exponent > 101) /* a multiple of 2^-24 */
        bits = tg_round_shift((size & 0x7fffff) | 0x800000, 126 - exponent);
    else
        bits = 0;
    half.bits = (uint16_t)(bits | (all >> 16 & 0x8000));
    return half;
}

static inline float tg_f16_to_float(tg_f16 x)
{
    const uint32_t sign = (uint32_t)(x.bits & 0x8000) << 16;
    uint32_t size = x.bits & 0x7fff, shifts = 0;
    if (size >= 0x7c00)
        size = (size == 0x7c00 ? 0x7f800000 : 0x7fc00000 | size << 13);
    else if (size >= 0x400)
        size = (size << 13) + 0x38000000;
    else if (size) {
        while (!(size & 0x400)) {
            size <<= 1;
            shifts++;
        }
        size = ((size & 0x3ff) << 13) + ((113 - shifts) << 23);
    }
    return tg_float_of_bits(sign | size);
}

static inline tg_bf16 tg_bf16_from_float(float x)
{
    const uint32_t all = tg_bits_of_float(x);
    const bool is_nan = (all & 0x7fffffff) > 0x7f800000;
    tg_bf16 half;
    half.bits = (uint16_t)(is_nan ? (all >> 16 | 0x40)
                                  : tg_round_shift(all, 16));
    return half;
}

static inline float tg_bf16_to_float(tg_bf16 x)
{
    return tg_float_of_bits((uint32_t)x.bits << 16);
}

TG_END_DECLS

#ifndef __cplusplus
/* These implement TG_TO_DOUBLE for numbers of C. */
static inline double tg_double_of(double x)
{
    return x;
}
static inline double tg_double_of_float(float x)
{
    return (double)x;
}

/* An element of any type of TG_TENSOR_TYPES (tensor.h) as a double. */
#define TG_TO_DOUBLE(x) \
    ((double)_Generic((x), tg_f16: tg_f16_to_float, \
                      tg_bf16: tg_bf16_to_float, float: tg_double_of_float, \
                      default: tg_double_of)(x))
#endif

#endif /* TGJIT_HALF_H */
