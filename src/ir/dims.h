/* SPDX-License-Identifier: MIT */
/*
 * dims.h - extents that may be unknown until the call, and interned shapes.
 *
 * An extent (tgi_dim) is a number >= 0 or the name of an expression over the
 * extents of the inputs (symbols). Expressions are kept in a normal form, a
 * sum of integer multiples of atoms plus a constant, and are hash-consed: two
 * extents that are equal by arithmetic have the same name. Atoms are symbols
 * and the operations that are not linear.
 *
 * One table serves a function's graph through all passes (a pass appends to
 * it), so names and shape refs stay good from graph to graph. It is changed
 * by one thread only, during trace and passes; afterwards it is read-only.
 */
#ifndef TGI_DIMS_H
#define TGI_DIMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "tgjit/base.h"

typedef int64_t tgi_dim;

/* What a failed constructor gives: out of memory or overflow (recorded). */
#define TGI_DIM_NONE INT64_MIN

/* Expressions are named from INT64_MIN + 1 up: far from any user's -1. */
static inline bool tgi_dim_is_known(tgi_dim dim)
{
    return dim >= 0;
}

static inline bool tgi_dim_is_symbolic(int64_t dim)
{
    return dim > INT64_MIN && dim < INT64_MIN / 2;
}

/* Which of the values of tgi_dims_evaluate is that of a symbolic extent. */
static inline size_t tgi_dim_index(tgi_dim dim)
{
    return (size_t)(dim - (TGI_DIM_NONE + 1));
}

typedef uint32_t tgi_shape_ref; /* 0: none */

/* An interned shape: equal refs, equal shapes. */
typedef struct tgi_shape {
    int rank;
    tgi_dim dims[];
} tgi_shape;

/*
 * The first extent of a value that grows while a loop runs: one that the loop
 * carries, that is UNSET at first, and into which the body puts a slice in
 * each trip, the first slice in the first; or, if the loop is inside of others
 * that carry it, behind those that are there. Others take slices of it that
 * are there, one at a time. (verify_unbounded.c has all that must hold.) Nothing
 * else has an extent like this: its bytes would not fit 64 bits.
 */
#define TGI_UNBOUNDED (INT64_C(1) << 62)

static inline bool tgi_shape_is_unbounded(const tgi_shape *shape)
{
    return shape->rank > 0 && shape->dims[0] == TGI_UNBOUNDED;
}

typedef struct tgi_dims tgi_dims;

tgi_dims *tgi_dims_create(void);
tgi_dims *tgi_dims_retain(tgi_dims *dims);
void tgi_dims_release(tgi_dims *dims);
size_t tgi_dims_bytes(const tgi_dims *dims);

/* -- Extents --------------------------------------------------------------- */

/* Where the value of a symbol is found at the call. */
typedef struct tgi_symbol {
    uint32_t param;
    uint32_t axis;
} tgi_symbol;

/* A new symbol; they are numbered from 0. */
tgi_dim tgi_dim_symbol(tgi_dims *dims, tgi_symbol source);
size_t tgi_dims_n_symbols(const tgi_dims *dims);
tgi_symbol tgi_dims_symbol(const tgi_dims *dims, size_t symbol);
/* Which symbol `dim` is; -1 if it is something else. */
int64_t tgi_dim_symbol_number(const tgi_dims *dims, tgi_dim dim);

/* Operands may be TGI_DIM_NONE: then so is the result. */
tgi_dim tgi_dim_add(tgi_dims *dims, tgi_dim a, tgi_dim b);
tgi_dim tgi_dim_sub(tgi_dims *dims, tgi_dim a, tgi_dim b);
tgi_dim tgi_dim_mul(tgi_dims *dims, tgi_dim a, tgi_dim b);
/* Floor of a / b; b > 0 at the call, or the value is 0. */
tgi_dim tgi_dim_div(tgi_dims *dims, tgi_dim a, tgi_dim b);
tgi_dim tgi_dim_max(tgi_dims *dims, tgi_dim a, tgi_dim b);
/* The common extent of a and b: the other one where one is 1. */
tgi_dim tgi_dim_broadcast(tgi_dims *dims, tgi_dim a, tgi_dim b);
tgi_dim tgi_dim_product(tgi_dims *dims, const tgi_shape *shape);

/* True if one of these has ever failed for lack of memory: for those who do
   much with extents and ask once, at the end. */
bool tgi_dims_is_out_of_memory(const tgi_dims *dims);

/*
 * Offsets inside expressions may be negative where the whole is not (n - 1 of
 * a symbol n); a *constant* below 0 has no name: the constructors above give
 * TGI_DIM_NONE for it. Signed differences are asked for by this instead:
 * true and the constant if a - b does not depend on symbols.
 */
bool tgi_dim_difference(tgi_dims *dims, tgi_dim a, tgi_dim b,
                        int64_t *out_difference);

/* "784", "?0", "?0+1", "2*?0" … and "grows" */
void tgi_dim_print(const tgi_dims *dims, tgi_dim dim, tgi_strbuf *out);

/* -- Shapes ---------------------------------------------------------------- */

/* 0 when out of memory (recorded). rank <= TG_MAX_RANK. */
tgi_shape_ref tgi_shape_intern(tgi_dims *dims, int rank, const tgi_dim *extent);
const tgi_shape *tgi_shape_of(const tgi_dims *dims, tgi_shape_ref shape);
bool tgi_shape_is_static(const tgi_shape *shape);
/* "[64,784]", "[?0,10]", "[]" */
void tgi_shape_print(const tgi_dims *dims, const tgi_shape *shape,
                     tgi_strbuf *out);

/* -- At the call ----------------------------------------------------------- */

/*
 * Values of all expressions for given symbols, computed in order; overflow is
 * recorded and returned. `out_values` has tgi_dims_n_values entries.
 */
size_t tgi_dims_n_values(const tgi_dims *dims);
tg_status tgi_dims_evaluate(const tgi_dims *dims, const int64_t *symbols,
                            int64_t *out_values);

/* True if `dim` is a number or names an expression of this table. */
static inline bool tgi_dims_has(const tgi_dims *dims, tgi_dim dim)
{
    return tgi_dim_is_known(dim) ||
           (tgi_dim_is_symbolic(dim) &&
            (uint64_t)dim - (uint64_t)(INT64_MIN + 1) <
                tgi_dims_n_values(dims));
}

/* Value of one extent after tgi_dims_evaluate. */
int64_t tgi_dim_value(tgi_dim dim, const int64_t *values);

/* -- Between tables -------------------------------------------------------- */

/*
 * What every expression of table `from` is in table `to` when symbol k of
 * `from` is symbols[k] there: fills out_map (tgi_dims_n_values entries), in
 * which tgi_dim_value then looks extents up. Used when a callee is inlined.
 */
tg_status tgi_dims_translate(tgi_dims *to, const tgi_dims *from,
                             const tgi_dim *symbols, tgi_dim *out_map);

/*
 * The same for calls like the one whose expressions have these values (of
 * tgi_dims_evaluate; NULL: any call): those that are 0 or 1 are that number,
 * and a broadcast is its operand that is not 1. What comes out is right for
 * every call in which the same expressions are 0 and the same are 1.
 */
tg_status tgi_dims_specialise(tgi_dims *to, const tgi_dims *from,
                              const tgi_dim *symbols, const int64_t *values,
                              tgi_dim *out_map);

#endif /* TGI_DIMS_H */
