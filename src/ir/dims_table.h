/* SPDX-License-Identifier: MIT */
/*
 * dims_table.h - representation of a table of extents; for dims*.c only.
 *
 * An expression is a kind, a number and a list of terms (factor, dim):
 *
 *   kind        value                          number        terms
 *   SYMBOL      given at the call              its number    -
 *   SUM         number + sum of factor * dim   the constant  ordered by dim
 *   PRODUCT     product of dim ^ factor        -             ordered by dim
 *   DIV         floor(dim[0] / dim[1])         -             two
 *   MAX         the largest dim                -             ordered by dim
 *   BROADCAST   the first dim that is not 1    -             ordered by dim
 *
 * All but SUM are atoms. Normal form:
 *   - the terms of a SUM are atoms with nonzero factors; a SUM is never a
 *     single atom. Without terms it is a negative constant; these exist only
 *     during translation between tables (dims.h);
 *   - a PRODUCT has two or more factors, none of which is a PRODUCT or a
 *     number. A factor is a SUM if expanding it would give too many terms;
 *   - MAX and BROADCAST have two or more distinct operands, none of their own
 *     kind.
 *
 * Operands are created before their users: index order is evaluation order.
 */
#ifndef TGI_DIMS_TABLE_H
#define TGI_DIMS_TABLE_H

#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/refcount.h"
#include "base/vec.h"
#include "ir/dims.h"

typedef enum tgi_extent_expr_kind {
    TGI_EXPR_SYMBOL,
    TGI_EXPR_SUM,
    TGI_EXPR_PRODUCT,
    TGI_EXPR_DIV,
    TGI_EXPR_MAX,
    TGI_EXPR_BROADCAST
} tgi_extent_expr_kind;

/* Hashed and compared as bytes. */
typedef struct tgi_term {
    int64_t factor; /* SUM: coefficient; PRODUCT: exponent; else 1 */
    tgi_dim dim;
} tgi_term;

typedef TGI_VEC(tgi_term) tgi_terms;

static inline bool tgi_terms_are_equal(const tgi_term *a, size_t n_a,
                                       const tgi_term *b, size_t n_b)
{
    return n_a == n_b && (n_a == 0 || memcmp(a, b, n_a * sizeof *a) == 0);
}

typedef struct tgi_extent_expr {
    tgi_extent_expr_kind kind;
    bool is_non_negative; /* >= 0 for all symbols */
    int64_t number;
    tgi_term self; /* 1 * itself, for tgi_dim_as_sum */
    size_t n_terms;
    tgi_term terms[];
} tgi_extent_expr;

struct tgi_dims {
    tgi_refcount refs;
    tgi_arena arena;
    TGI_VEC(tgi_extent_expr *) exprs;
    TGI_VEC(tgi_symbol) symbols;
    TGI_VEC(tgi_shape *) shapes; /* at position ref - 1 */
    tgi_index expr_index, shape_index;
    bool is_out_of_memory; /* an expression could not be created; sticky */
};

/* The expression of a symbolic extent. */
static inline const tgi_extent_expr *tgi_dim_expr(const tgi_dims *dims,
                                                  tgi_dim dim)
{
    return dims->exprs.data[tgi_dim_index(dim)];
}

static inline bool tgi_dim_is_kind(const tgi_dims *dims, tgi_dim dim,
                                   tgi_extent_expr_kind kind)
{
    return tgi_dim_is_symbolic(dim) && tgi_dim_expr(dims, dim)->kind == kind;
}

/* Any extent as a sum; the table owns the terms. */
typedef struct tgi_sum_view {
    int64_t constant;
    size_t n_terms;
    const tgi_term *terms;
} tgi_sum_view;

static inline tgi_sum_view tgi_dim_as_sum(const tgi_dims *dims, tgi_dim dim)
{
    if (tgi_dim_is_known(dim))
        return (tgi_sum_view){dim, 0, NULL};
    const tgi_extent_expr *expr = tgi_dim_expr(dims, dim);
    if (expr->kind != TGI_EXPR_SUM)
        return (tgi_sum_view){0, 1, &expr->self};
    return (tgi_sum_view){expr->number, expr->n_terms, expr->terms};
}

/*
 * The handle of an expression in normal form, created if it is new.
 * TGI_DIM_NONE when out of memory (recorded).
 */
tgi_dim tgi_expr_intern(tgi_dims *dims, tgi_extent_expr_kind kind,
                        int64_t number, const tgi_term *terms,
                        size_t n_terms);

/*
 * The operations of dims.h, except that negative constants have handles;
 * translation between tables uses them. TGI_DIM_NONE on overflow or when out of
 * memory (recorded).
 */
tgi_dim tgi_expr_sum(tgi_dims *dims, int64_t constant, const tgi_term *terms,
                     size_t n_terms);

typedef tgi_dim tgi_expr_operation(tgi_dims *dims, tgi_dim a, tgi_dim b);
tgi_expr_operation tgi_expr_mul, tgi_expr_div;
tgi_expr_operation tgi_expr_max, tgi_expr_broadcast;

/* Records an overflow; returns TGI_DIM_NONE. */
tgi_dim tgi_expr_overflow(void);

#endif /* TGI_DIMS_TABLE_H */
