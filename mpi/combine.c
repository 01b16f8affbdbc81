/* SPDX-License-Identifier: MIT */
/*
 * combine.c - see combine.h. One loop per dtype and operation, which the
 * compiler vectorises. Integers wrap. max and min of floats are NaN if either
 * operand is, and -0 < +0 (docs/NUMERICS.md). Halves are computed as f32 and
 * rounded.
 */
#include "mpi/combine.h"

#include <math.h>

#include "tgjit/half.h"

#define LOOP(type, expression) \
    do { \
        const type *x = a, *y = b; \
        type *z = out; \
        for (int64_t i = 0; i < count; i++) \
            z[i] = (type)(expression); \
    } while (0)

#define INTEGERS(name, type, unsigned_type) \
    static void combine_##name(tgi_mpi_operation operation, void *out, \
                               const void *a, const void *b, int64_t count) \
    { \
        if (operation == TGI_MPI_SUM) \
            LOOP(type, (unsigned_type)((unsigned_type)x[i] + \
                                       (unsigned_type)y[i])); \
        else if (operation == TGI_MPI_MAX) \
            LOOP(type, x[i] > y[i] ? x[i] : y[i]); \
        else \
            LOOP(type, x[i] < y[i] ? x[i] : y[i]); \
    }

/* Of equal floats, max takes the one without a sign, min the one with it. */
#define MAX(a, b, not_a_number) \
    (isunordered(a, b) ? not_a_number \
     : (a) > (b)       ? (a) \
     : (a) < (b)       ? (b) \
     : signbit(a)      ? (b) \
                       : (a))
#define MIN(a, b, not_a_number) \
    (isunordered(a, b) ? not_a_number \
     : (a) < (b)       ? (a) \
     : (a) > (b)       ? (b) \
     : signbit(a)      ? (a) \
                       : (b))

#define FLOATS(name, type, not_a_number) \
    static void combine_##name(tgi_mpi_operation operation, void *out, \
                               const void *a, const void *b, int64_t count) \
    { \
        if (operation == TGI_MPI_SUM) \
            LOOP(type, x[i] + y[i]); \
        else if (operation == TGI_MPI_MAX) \
            LOOP(type, MAX(x[i], y[i], not_a_number)); \
        else \
            LOOP(type, MIN(x[i], y[i], not_a_number)); \
    }

/* z[i] = the half of an expression in a and b, floats. */
#define HALF_LOOP(name, expression) \
    do { \
        const tg_##name *x = in_a, *y = in_b; \
        tg_##name *z = out; \
        for (int64_t i = 0; i < count; i++) { \
            const float a = tg_##name##_to_float(x[i]); \
            const float b = tg_##name##_to_float(y[i]); \
            z[i] = tg_##name##_from_float(expression); \
        } \
    } while (0)

#define HALVES(name) \
    static void combine_##name(tgi_mpi_operation operation, void *out, \
                               const void *in_a, const void *in_b, \
                               int64_t count) \
    { \
        if (operation == TGI_MPI_SUM) \
            HALF_LOOP(name, a + b); \
        else if (operation == TGI_MPI_MAX) \
            HALF_LOOP(name, MAX(a, b, __builtin_nanf(""))); \
        else \
            HALF_LOOP(name, MIN(a, b, __builtin_nanf(""))); \
    }

INTEGERS(i8, int8_t, uint8_t)
INTEGERS(i16, int16_t, uint16_t)
INTEGERS(i32, int32_t, uint32_t)
INTEGERS(i64, int64_t, uint64_t)
INTEGERS(u8, uint8_t, uint8_t)
INTEGERS(u16, uint16_t, uint16_t)
INTEGERS(u32, uint32_t, uint32_t)
INTEGERS(u64, uint64_t, uint64_t)
FLOATS(f32, float, __builtin_nanf(""))
FLOATS(f64, double, __builtin_nan(""))
HALVES(f16)
HALVES(bf16)

void tgi_mpi_combine(tg_dtype dtype, tgi_mpi_operation operation, void *out,
                     const void *a, const void *b, int64_t count)
{
    typedef void combine(tgi_mpi_operation, void *, const void *, const void *,
                         int64_t);
    static combine *const functions[] = {
        [TG_I8] = combine_i8,   [TG_I16] = combine_i16, [TG_I32] = combine_i32,
        [TG_I64] = combine_i64, [TG_U8] = combine_u8,   [TG_U16] = combine_u16,
        [TG_U32] = combine_u32, [TG_U64] = combine_u64, [TG_F32] = combine_f32,
        [TG_F64] = combine_f64, [TG_F16] = combine_f16,
        [TG_BF16] = combine_bf16,
    };
    functions[dtype](operation, out, a, b, count);
}
