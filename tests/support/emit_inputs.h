/* SPDX-License-Identifier: MIT */
/*
 * emit_inputs.h - operands on which two implementations of a recipe are
 * compared: all pairs of edge cases of every dtype, and random bits.
 */
#ifndef TGI_TEST_EMIT_INPUTS_H
#define TGI_TEST_EMIT_INPUTS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/dtype.h"
#include "support/support_random.h"

static const int64_t int_edges[] = {
    0,   1,   2,    3,    5,     7,     8,          15,        16,
    31,  32,  33,   63,   64,    127,   128,        255,       256,
    -1,  -2,  -8,   -127, -128,  32767, -32768,     65535,     INT32_MAX,
    INT32_MIN, UINT32_MAX, INT64_MAX, INT64_MIN, INT64_MIN + 1};

static const double float_edges[] = {
    0,         -0.0,      1,          -1,         0.5,        -0.5,
    1.5,       2,         -2.5,       3,          0.75,       -0.9,
    1e-3,      -1e-5,     0x1p-24,    0x1p-53,    1e-30,      -1e-40,
    0x1p-149,  -0x1p-149, 0x1p-1074,  0x1p-126,   0x1p-1022,  0.785398163,
    1.5707963, 3.1415927, -6.2831853, 10.0625,    17.5,       -27.25,
    88.8,      -104.5,    127,        128,        -150,       255.5,
    709.9,     -745.5,    1025,       -1080,      8388608.5,  0x1p31,
    -0x1p31,   0x1p32,    0x1p52,     0x1p63,     -0x1p63,    0x1p64,
    1e22,      3.4e38,    0x1p127,    -1e100,     1.7e308,    HUGE_VAL,
    -HUGE_VAL, (double)NAN};

enum {
    INT_EDGES = sizeof(int_edges) / sizeof(int_edges[0]),
    FLOAT_EDGES = sizeof(float_edges) / sizeof(float_edges[0]),
    GRID = FLOAT_EDGES * FLOAT_EDGES,
    INPUTS = (GRID + 2000) / 64 * 64 /* a multiple of all vector widths */
};
_Static_assert((int)INT_EDGES < (int)FLOAT_EDGES, "the grid is large enough");

/* Bits of an edge case, for any i. */
static inline uint64_t edge(int dtype, int i)
{
    uint64_t bits = 0;
    if (dtype == TG_F32) {
        const float element = (float)float_edges[i % FLOAT_EDGES];
        memcpy(&bits, &element, sizeof(element));
    } else if (dtype == TG_F64) {
        memcpy(&bits, &float_edges[i % FLOAT_EDGES], sizeof(bits));
    } else if (tgi_dtype_is(dtype, TGI_CLASS_HALF)) {
        /* and denormals, ties of them, and NaNs of any sign */
        bits = i % 2 ? tgi_half_from_double(dtype, float_edges[i % FLOAT_EDGES])
                     : (uint16_t)int_edges[i % INT_EDGES];
    } else {
        const uint64_t all = (uint64_t)int_edges[i % INT_EDGES];
        memcpy(&bits, &all, (size_t)tgi_dtype_bytes(dtype));
    }
    return dtype == TG_BOOL ? bits & 1 : bits;
}

/* Random bits; half of the floats are between 2^-10 and 2^10 in magnitude. */
static inline uint64_t random_bits(uint64_t *state, int dtype)
{
    uint64_t bits = random_next(state);
    const bool is_ordinary = random_below(state, 2) == 0;
    if (dtype == TG_F32 && is_ordinary)
        bits = (bits & 0x807fffff) |
               ((uint64_t)(117 + random_below(state, 21)) << 23);
    if (dtype == TG_F64 && is_ordinary)
        bits = (bits & 0x800fffffffffffff) |
               ((uint64_t)(1013 + random_below(state, 21)) << 52);
    uint64_t truncated = 0;
    memcpy(&truncated, &bits, (size_t)tgi_dtype_bytes(dtype));
    return dtype == TG_BOOL ? truncated & 1 : truncated;
}

/* All pairs of edge cases, then random pairs; the third operand is any edge
   case. */
static inline void fill(int dtype, int operand, uint64_t *inputs)
{
    uint64_t state = (uint64_t)operand;
    for (int i = 0; i < INPUTS; i++)
        inputs[i] = i >= GRID      ? random_bits(&state, dtype)
                    : operand == 0 ? edge(dtype, i / FLOAT_EDGES)
                    : operand == 1 ? edge(dtype, i % FLOAT_EDGES)
                                   : edge(dtype, random_below(&state, GRID));
}

static inline void pack(int dtype, const uint64_t *bits, char *elements)
{
    const size_t bytes = (size_t)tgi_dtype_bytes(dtype);
    for (int i = 0; i < INPUTS; i++)
        memcpy(elements + (size_t)i * bytes, &bits[i], bytes);
}

static inline bool is_nan(int dtype, uint64_t bits)
{
    if (dtype == TG_F32)
        return (bits & 0x7fffffff) > 0x7f800000;
    if (dtype == TG_F16 || dtype == TG_BF16)
        return (bits & 0x7fff) > (dtype == TG_F16 ? 0x7c00 : 0x7f80);
    return dtype == TG_F64 &&
           (bits & 0x7fffffffffffffff) > 0x7ff0000000000000;
}

#endif /* TGI_TEST_EMIT_INPUTS_H */
