/* SPDX-License-Identifier: MIT */
/*
 * wide.h - elementwise arithmetic on two vectors at a time: sixteen floats or
 * eight doubles. The functions of recipes_*.h are long dependence chains; two
 * interleaved chains hide part of the latency, and more would spill.
 */
#ifndef BENCH_EXPERT_WIDE_H
#define BENCH_EXPERT_WIDE_H

#include <immintrin.h>
#include <stdint.h>

/* A call would pass these structs through memory. */
#define INLINE static inline __attribute__((always_inline))

enum { WIDE_F32 = 16, WIDE_F64 = 8 };

typedef struct wide_f32 {
    __m256 low, high;
} wide_f32;

typedef struct wide_f64 {
    __m256d low, high;
} wide_f64;

#define DEFINE_WIDE(type, name, parameters, low_one, high_one) \
    INLINE wide_##type name##_##type parameters \
    { \
        return (wide_##type){low_one, high_one}; \
    }
#define DEFINE_WIDE_1(type, name, one) \
    DEFINE_WIDE(type, name, (wide_##type a), one(a.low), one(a.high))
#define DEFINE_WIDE_2(type, name, one) \
    DEFINE_WIDE(type, name, (wide_##type a, wide_##type b), \
                one(a.low, b.low), one(a.high, b.high))
#define DEFINE_WIDE_3(type, name, one) \
    DEFINE_WIDE(type, name, (wide_##type a, wide_##type b, wide_##type c), \
                one(a.low, b.low, c.low), one(a.high, b.high, c.high))
/* Broadcast of c; elements of a shifted by n bits. */
#define DEFINE_WIDE_ALL(type, name, ctype, one) \
    DEFINE_WIDE(type, name, (ctype c), one(c), one(c))
#define DEFINE_WIDE_SHIFT(type, name, one) \
    DEFINE_WIDE(type, name, (wide_##type a, int n), one(a.low, n), \
                one(a.high, n))

/* at_most(x, high) and at_least(x, low): the bound comes first, which keeps
   NaN. */
#define MIN_REVERSED_F32(a, b) _mm256_min_ps(b, a)
#define MAX_REVERSED_F32(a, b) _mm256_max_ps(b, a)
#define MIN_REVERSED_F64(a, b) _mm256_min_pd(b, a)
#define MAX_REVERSED_F64(a, b) _mm256_max_pd(b, a)

DEFINE_WIDE_ALL(f32, all, float, _mm256_set1_ps)
DEFINE_WIDE(f32, load, (const float *x), _mm256_loadu_ps(x),
            _mm256_loadu_ps(x + 8))
DEFINE_WIDE_2(f32, add, _mm256_add_ps)
DEFINE_WIDE_2(f32, sub, _mm256_sub_ps)
DEFINE_WIDE_2(f32, mul, _mm256_mul_ps)
DEFINE_WIDE_2(f32, div, _mm256_div_ps)
DEFINE_WIDE_2(f32, at_most, MIN_REVERSED_F32)
DEFINE_WIDE_2(f32, at_least, MAX_REVERSED_F32)
DEFINE_WIDE_2(f32, and, _mm256_and_ps)
DEFINE_WIDE_2(f32, or, _mm256_or_ps)
DEFINE_WIDE_2(f32, xor, _mm256_xor_ps)
DEFINE_WIDE_2(f32, and_not, _mm256_andnot_ps) /* ~a & b */
DEFINE_WIDE_3(f32, fma, _mm256_fmadd_ps)      /* a * b + c */
DEFINE_WIDE_3(f32, fms, _mm256_fmsub_ps)      /* a * b - c */
DEFINE_WIDE_3(f32, fnma, _mm256_fnmadd_ps)    /* c - a * b */

DEFINE_WIDE_ALL(f64, all, double, _mm256_set1_pd)
DEFINE_WIDE(f64, load, (const double *x), _mm256_loadu_pd(x),
            _mm256_loadu_pd(x + 4))
DEFINE_WIDE_1(f64, sqrt, _mm256_sqrt_pd)
DEFINE_WIDE_2(f64, add, _mm256_add_pd)
DEFINE_WIDE_2(f64, sub, _mm256_sub_pd)
DEFINE_WIDE_2(f64, mul, _mm256_mul_pd)
DEFINE_WIDE_2(f64, div, _mm256_div_pd)
DEFINE_WIDE_2(f64, at_most, MIN_REVERSED_F64)
DEFINE_WIDE_2(f64, at_least, MAX_REVERSED_F64)
DEFINE_WIDE_2(f64, and, _mm256_and_pd)
DEFINE_WIDE_2(f64, or, _mm256_or_pd)
DEFINE_WIDE_2(f64, and_not, _mm256_andnot_pd)
DEFINE_WIDE_3(f64, fma, _mm256_fmadd_pd)
DEFINE_WIDE_3(f64, fms, _mm256_fmsub_pd)
DEFINE_WIDE_3(f64, fnma, _mm256_fnmadd_pd)

/* The bits of floats as integers. */
#define BITS_F32(a) _mm256_castps_si256(a)
#define FLOAT_F32(a) _mm256_castsi256_ps(a)
#define SUB_BITS_F32(a, b) \
    FLOAT_F32(_mm256_sub_epi32(BITS_F32(a), BITS_F32(b)))
#define SHIFT_LEFT_F32(a, n) FLOAT_F32(_mm256_slli_epi32(BITS_F32(a), n))
#define SHIFT_RIGHT_F32(a, n) FLOAT_F32(_mm256_srli_epi32(BITS_F32(a), n))
DEFINE_WIDE_2(f32, sub_bits, SUB_BITS_F32)
DEFINE_WIDE_SHIFT(f32, shift_left, SHIFT_LEFT_F32)
DEFINE_WIDE_SHIFT(f32, shift_right, SHIFT_RIGHT_F32)

#define BITS_F64(a) _mm256_castpd_si256(a)
#define FLOAT_F64(a) _mm256_castsi256_pd(a)
#define ALL_BITS_F64(c) FLOAT_F64(_mm256_set1_epi64x((long long)(c)))
#define ADD_BITS_F64(a, b) \
    FLOAT_F64(_mm256_add_epi64(BITS_F64(a), BITS_F64(b)))
#define SUB_BITS_F64(a, b) \
    FLOAT_F64(_mm256_sub_epi64(BITS_F64(a), BITS_F64(b)))
#define SHIFT_LEFT_F64(a, n) FLOAT_F64(_mm256_slli_epi64(BITS_F64(a), n))
#define SHIFT_RIGHT_F64(a, n) FLOAT_F64(_mm256_srli_epi64(BITS_F64(a), n))
DEFINE_WIDE_ALL(f64, all_bits, uint64_t, ALL_BITS_F64)
DEFINE_WIDE_2(f64, add_bits, ADD_BITS_F64)
DEFINE_WIDE_2(f64, sub_bits, SUB_BITS_F64)
DEFINE_WIDE_SHIFT(f64, shift_left, SHIFT_LEFT_F64)
DEFINE_WIDE_SHIFT(f64, shift_right, SHIFT_RIGHT_F64)

/* Masks, and m ? a : b. */
#define LESS_F32(a, b) _mm256_cmp_ps(a, b, _CMP_LT_OQ)
#define SELECT_F32(m, a, b) _mm256_blendv_ps(b, a, m)
DEFINE_WIDE_2(f32, less, LESS_F32)
DEFINE_WIDE_3(f32, select, SELECT_F32)
#define LESS_F64(a, b) _mm256_cmp_pd(a, b, _CMP_LT_OQ)
#define EQUAL_F64(a, b) _mm256_cmp_pd(a, b, _CMP_EQ_OQ)
#define SELECT_F64(m, a, b) _mm256_blendv_pd(b, a, m)
DEFINE_WIDE_2(f64, less, LESS_F64)
DEFINE_WIDE_2(f64, equal, EQUAL_F64)
DEFINE_WIDE_3(f64, select, SELECT_F64)

INLINE void store_f32(float *to, wide_f32 x)
{
    _mm256_storeu_ps(to, x.low);
    _mm256_storeu_ps(to + 8, x.high);
}

INLINE void store_f64(double *to, wide_f64 x)
{
    _mm256_storeu_pd(to, x.low);
    _mm256_storeu_pd(to + 4, x.high);
}

/* Non-temporal; `to` is aligned. _mm_sfence must follow the last store. */
INLINE void stream_f32(float *to, wide_f32 x)
{
    _mm256_stream_ps(to, x.low);
    _mm256_stream_ps(to + 8, x.high);
}

#endif /* BENCH_EXPERT_WIDE_H */
