/* SPDX-License-Identifier: MIT */
/*
 * cost.h - the cost model. Every decision that weighs work against memory or
 * compile time takes its costs from here: fusion, save or rematerialise,
 * hoisting, straight-line code, thread grain, compile budget, lanes, fission.
 *
 * The cost of an op is counted by running its recipe over an emitter that emits
 * nothing, so a new op needs no entry. cost.c weighs the primitives.
 *
 * A cost is that of one full vector of the widest operand. `uniform` is a set
 * of operands (bit i: operand i) that are equal for all elements. Primitives of
 * uniform operands are constants or run before the loop; they are free.
 */
#ifndef TGI_COST_H
#define TGI_COST_H

#include <stdint.h>

#include "ir/op.h"

typedef struct tgi_cost {
    uint32_t instructions; /* code size */
    uint32_t half_cycles;  /* time: two simple instructions start per cycle */
} tgi_cost;

/* Vectors of 128 and 256 bits have the instructions of AVX2, those of 512 bits
   the ones of AVX-512. */
typedef enum tgi_cost_width {
    TGI_COST_128,
    TGI_COST_256,
    TGI_COST_512,
    TGI_COST_WIDTHS,
    /* Graphs and loops do not depend on the vector width: their costs assume
       this one. */
    TGI_COST_ASSUMED = TGI_COST_256
} tgi_cost_width;

enum {
    /* Instructions, and half-cycles, of a vector outside of recipes. */
    TGI_COST_LOAD = 1,
    TGI_COST_STORE = 1,
    TGI_COST_STRIDED_LOAD = 8, /* one element per lane */
    TGI_COST_POSITION = 3,     /* positions and indices: 64-bit integers */
    /*
     * Picoseconds: of a half-cycle, per byte of a vector of TGI_COST_ASSUMED;
     * of a load or store, per byte; of a point of a kernel.
     */
    TGI_COST_PS_PER_BYTE = 5,
    TGI_COST_PS_PER_BYTE_MOVED = 20,
    TGI_COST_PS_PER_POINT = 5000,
    /* Instructions per vector of a matmul's result that a reduction epilogue
       takes: of columns; of rows, lane by lane; of rows of one vector. */
    TGI_COST_EPILOGUE_COLUMNS = 1,
    TGI_COST_EPILOGUE_LANES = 3,
    TGI_COST_EPILOGUE_VECTOR = 8,
    /* Multiply-adds of a matmul that runs on one thread anyway, and rows that a
       thread needs to amortise the columns it reads. */
    TGI_COST_SERIAL_STEPS = 1 << 18,
    TGI_COST_MIN_THREAD_ROWS = 48,
    /*
     * Half-cycles up to which a value is computed again where it is used,
     * rather than stored and loaded: 8. The minimum of two floats takes 7, a
     * division at least 10.
     */
    TGI_COST_CHEAP = 2 * TGI_COST_PS_PER_BYTE_MOVED / TGI_COST_PS_PER_BYTE
};

/* The width class of vectors of so many bits. */
tgi_cost_width tgi_cost_width_of(unsigned vector_bits);

/* An elementwise op on operands of type `dtype` (for select, the second and
   third). 0 if the op has no recipe for the type. */
tgi_cost tgi_cost_of_op(int op, tg_dtype dtype, unsigned uniform,
                        tgi_cost_width width);
/* CAST or BITCAST. */
tgi_cost tgi_cost_of_cast(int op, tg_dtype from, tg_dtype to,
                          tgi_cost_width width);
/* One step of a reduction, or of a matmul. */
tgi_cost tgi_cost_of_step(int op, tg_dtype dtype, tgi_cost_width width);
/* RANDOM_BITS. */
tgi_cost tgi_cost_of_random(tg_dtype dtype, tgi_cost_width width);

/* So many simple instructions. */
static inline tgi_cost tgi_cost_of_simple(uint32_t n)
{
    return (tgi_cost){n, n};
}

static inline tgi_cost tgi_cost_add(tgi_cost a, tgi_cost b)
{
    return (tgi_cost){a.instructions + b.instructions,
                      a.half_cycles + b.half_cycles};
}

#endif /* TGI_COST_H */
