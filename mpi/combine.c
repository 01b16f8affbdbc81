/* SPDX-License-Identifier: MIT */
/*
 * combine.c - see combine.h. One loop per dtype and operation, which the
 * compiler vectorises. Integers wrap. max and min of floats are NaN if either
 * operand is, and -0 < +0 (docs/NUMERICS.md).
 */
#include "mpi/combine.h"

#include <math.h>

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
#define FLOATS(name, type, not_a_number) \
    static void combine_##name(tgi_mpi_operation operation, void *out, \
                               const void *a, const void *b, int64_t count) \
    { \
        if (operation == TGI_MPI_SUM) \
            LOOP(type, x[i] + y[i]); \
        else if (operation == TGI_MPI_MAX) \
            LOOP(type, isunordered(x[i], y[i]) ? not_a_number \
                       : x[i] > y[i]           ? x[i] \
                       : x[i] < y[i]           ? y[i] \
                       : signbit(x[i])         ? y[i] \
                                               : x[i]); \
        else \
            LOOP(type, isunordered(x[i], y[i]) ? not_a_number \
                       : x[i] < y[i]           ? x[i] \
                       : x[i] > y[i]           ? y[i] \
                       : signbit(x[i])         ? x[i] \
                                               : y[i]); \
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

void tgi_mpi_combine(tg_dtype dtype, tgi_mpi_operation operation, void *out,
                     const void *a, const void *b, int64_t count)
{
    typedef void combine(tgi_mpi_operation, void *, const void *, const void *,
                         int64_t);
    static combine *const functions[] = {
        [TG_I8] = combine_i8,   [TG_I16] = combine_i16, [TG_I32] = combine_i32,
        [TG_I64] = combine_i64, [TG_U8] = combine_u8,   [TG_U16] = combine_u16,
        [TG_U32] = combine_u32, [TG_U64] = combine_u64, [TG_F32] = combine_f32,
        [TG_F64] = combine_f64,
    };
    functions[dtype](operation, out, a, b, count);
}
