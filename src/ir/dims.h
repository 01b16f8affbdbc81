/* SPDX-License-Identifier: MIT */
/*
 * dims.h - symbolic extents and interned shapes.
 *
 * An extent (tgi_dim) is a number >= 0, or a handle of an expression over
 * symbols, the unknown extents of the inputs. Expressions are in a normal form,
 * a sum of integer multiples of atoms plus a constant, and are hash-consed:
 * extents that are equal by arithmetic have the same handle. Atoms are symbols
 * and nonlinear operations.
 *
 * All graphs of a function, before and after passes, share one append-only
 * table, so handles and shape refs remain valid. One thread modifies it, while
 * tracing and in passes; afterwards it is read-only.
 */
#ifndef TGI_DIMS_H
#define TGI_DIMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "tgjit/base.h"

typedef int64_t tgi_dim;

/* Returned by a constructor that failed: out of memory or overflow
   (recorded). */
#define TGI_DIM_NONE INT64_MIN

/* Handles start at INT64_MIN + 1, far from a user's -1. */
static inline bool tgi_dim_is_known(tgi_dim dim)
{
    return dim >= 0;
}

static inline bool tgi_dim_is_symbolic(int64_t dim)
{
    return dim > INT64_MIN && dim < INT64_MIN / 2;
}

/* The index of a symbolic extent in the values of tgi_dims_evaluate. */
static inline size_t tgi_dim_index(tgi_dim dim)
{
    return (size_t)(dim - (TGI_DIM_NONE + 1));
}

typedef uint32_t tgi_shape_ref; /* 0: none */

/* An interned shape: shapes are equal exactly if their refs are. */
typedef struct tgi_shape {
    int rank;
    tgi_dim dims[];
} tgi_shape;

/*
 * The first extent of an unbounded stack: a value that a loop carries, that
 * starts as UNSET, and onto which each iteration pushes one slice. In a nested
 * loop, pushes continue after the existing slices. Other ops read one existing
 * slice at a time (verify_unbounded.c has the rules). No other value has such
 * an extent: its bytes would not fit 64 bits.
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

/* The axis of a parameter whose extent is the value of a symbol. */
typedef struct tgi_symbol {
    uint32_t param;
    uint32_t axis;
} tgi_symbol;

/* A new symbol; symbols are numbered from 0. */
tgi_dim tgi_dim_symbol(tgi_dims *dims, tgi_symbol source);
size_t tgi_dims_n_symbols(const tgi_dims *dims);
tgi_symbol tgi_dims_symbol(const tgi_dims *dims, size_t symbol);
/* The number of the symbol `dim`; -1 if it is not a symbol. */
int64_t tgi_dim_symbol_number(const tgi_dims *dims, tgi_dim dim);

/* If an operand is TGI_DIM_NONE, so is the result. */
tgi_dim tgi_dim_add(tgi_dims *dims, tgi_dim a, tgi_dim b);
tgi_dim tgi_dim_sub(tgi_dims *dims, tgi_dim a, tgi_dim b);
tgi_dim tgi_dim_mul(tgi_dims *dims, tgi_dim a, tgi_dim b);
/* floor(a / b) if b > 0 at the call, else 0. */
tgi_dim tgi_dim_div(tgi_dims *dims, tgi_dim a, tgi_dim b);
tgi_dim tgi_dim_max(tgi_dims *dims, tgi_dim a, tgi_dim b);
/* The broadcast extent of a and b: the other one if one is 1. */
tgi_dim tgi_dim_broadcast(tgi_dims *dims, tgi_dim a, tgi_dim b);
tgi_dim tgi_dim_product(tgi_dims *dims, const tgi_shape *shape);

/* True if any of these has run out of memory: for callers that check once, at
   the end. */
bool tgi_dims_is_out_of_memory(const tgi_dims *dims);

/*
 * True and a - b if the difference does not depend on symbols. Unlike
 * tgi_dim_sub, it may be negative: an expression may have a negative offset
 * (n - 1), but a negative constant has no handle, and the constructors above
 * return TGI_DIM_NONE for it.
 */
bool tgi_dim_difference(tgi_dims *dims, tgi_dim a, tgi_dim b,
                        int64_t *out_difference);

/* "784", "?0", "?0+1", "2*?0" …, or "unbounded" */
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
 * The values of all expressions for given symbols. TG_ERROR_OVERFLOW (recorded)
 * if one does not fit. `out_values` has tgi_dims_n_values entries.
 */
size_t tgi_dims_n_values(const tgi_dims *dims);
tg_status tgi_dims_evaluate(const tgi_dims *dims, const int64_t *symbols,
                            int64_t *out_values);

/* The same for no call in particular: symbols are large and differ. Fails also
   when out of memory (recorded). */
tg_status tgi_dims_assume(const tgi_dims *dims, int64_t *out_values);

/* True if `dim` is a number or a handle of this table. */
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
 * Translates every expression of table `from` to table `to`, replacing symbol k
 * by symbols[k]. Fills out_map (tgi_dims_n_values entries), for use with
 * tgi_dim_value. Inlining uses it.
 */
tg_status tgi_dims_translate(tgi_dims *to, const tgi_dims *from,
                             const tgi_dim *symbols, tgi_dim *out_map);

/*
 * The same, specialised for calls whose expressions have these values (of
 * tgi_dims_evaluate; NULL: any call): expressions that are 0 or 1 become that
 * number, and a broadcast becomes its operand that is not 1. The result holds
 * for every call in which the same expressions are 0 and the same are 1.
 */
tg_status tgi_dims_specialise(tgi_dims *to, const tgi_dims *from,
                              const tgi_dim *symbols, const int64_t *values,
                              tgi_dim *out_map);

#endif /* TGI_DIMS_H */
