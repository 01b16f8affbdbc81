/* SPDX-License-Identifier: MIT */
/*
 * dims_table.h - how a table of extents is kept; for dims*.c only.
 *
 * Expressions are a kind, a number and a list of terms, the same for all
 * kinds, so that hashing, comparing and walking them is written once:
 *
 *   kind        value                         number        terms
 *   SYMBOL      given at the call             its number    -
 *   SUM         number + sum of factor * of   the constant  ordered by `of`
 *   PRODUCT     product of of ^ factor        -             ordered by `of`
 *   DIV         floor(of[0] / of[1])          -             two
 *   MAX         the largest                   -             ordered by `of`
 *   BROADCAST   the first that is not 1       -             ordered by `of`
 *
 * All but SUM are atoms. Normal form:
 *   - the terms of a SUM are atoms with factors other than 0; a SUM is never
 *     just one atom. Without terms it is a constant below 0 (others are
 *     their own names): these exist only between tables, see dims.h;
 *   - a PRODUCT has two or more factors, none of them a PRODUCT or a number.
 *     SUMs are among them where multiplying out would cost too much;
 *   - MAX and BROADCAST hold two or more different operands, none of their
 *     own kind.
 *
 * Operands are made before their users: index order is evaluation order.
 */
#ifndef TGI_DIMS_TABLE_H
#define TGI_DIMS_TABLE_H

#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/refcount.h"
#include "base/vec.h"
#include "ir/dims.h"

typedef enum tgi_expr_kind {
    TGI_EXPR_SYMBOL,
    TGI_EXPR_SUM,
    TGI_EXPR_PRODUCT,
    TGI_EXPR_DIV,
    TGI_EXPR_MAX,
    TGI_EXPR_BROADCAST
} tgi_expr_kind;

/* Hashed and compared as bytes. */
typedef struct tgi_term {
    int64_t factor; /* of a PRODUCT: the exponent; elsewhere but SUM: 1 */
    tgi_dim of;
} tgi_term;

typedef TGI_VEC(tgi_term) tgi_terms;

static inline bool tgi_terms_are_equal(const tgi_term *a, size_t n_a,
                                       const tgi_term *b, size_t n_b)
{
    return n_a == n_b && (n_a == 0 || memcmp(a, b, n_a * sizeof *a) == 0);
}

typedef struct tgi_expr {
    tgi_expr_kind kind;
    bool is_non_negative; /* >= 0 whatever the symbols are */
    int64_t number;
    tgi_term self; /* 1 * itself: an atom as the one term of a sum */
    size_t n_terms;
    tgi_term terms[];
} tgi_expr;

struct tgi_dims {
    tgi_refcount refs;
    tgi_arena arena;
    TGI_VEC(tgi_expr *) exprs;
    TGI_VEC(tgi_symbol) symbols;
    TGI_VEC(tgi_shape *) shapes; /* ref - 1 is the position */
    tgi_index expr_index, shape_index;
    bool is_out_of_memory; /* for an expression, ever */
};

/* The expression behind a symbolic extent. */
static inline const tgi_expr *tgi_dim_expr(const tgi_dims *dims, tgi_dim dim)
{
    return dims->exprs.data[tgi_dim_index(dim)];
}

static inline bool tgi_dim_is_kind(const tgi_dims *dims, tgi_dim dim,
                                   tgi_expr_kind kind)
{
    return tgi_dim_is_symbolic(dim) && tgi_dim_expr(dims, dim)->kind == kind;
}

/* Any extent as a sum; the terms stay the table's. */
typedef struct tgi_sum_view {
    int64_t constant;
    size_t n_terms;
    const tgi_term *terms;
} tgi_sum_view;

static inline tgi_sum_view tgi_dim_as_sum(const tgi_dims *dims, tgi_dim dim)
{
    if (tgi_dim_is_known(dim))
        return (tgi_sum_view){dim, 0, NULL};
    const tgi_expr *expr = tgi_dim_expr(dims, dim);
    if (expr->kind != TGI_EXPR_SUM)
        return (tgi_sum_view){0, 1, &expr->self};
    return (tgi_sum_view){expr->number, expr->n_terms, expr->terms};
}

/*
 * The name of an expression in normal form, made unless it is there.
 * TGI_DIM_NONE when out of memory (recorded).
 */
tgi_dim tgi_expr_intern(tgi_dims *dims, tgi_expr_kind kind, int64_t number,
                        const tgi_term *terms, size_t n_terms);

/*
 * The operations of dims.h, but a constant below 0 has a name here. They are
 * what translation between tables is made of. TGI_DIM_NONE on overflow or
 * when out of memory (recorded).
 */
tgi_dim tgi_expr_sum(tgi_dims *dims, int64_t constant, const tgi_term *terms,
                     size_t n_terms);

typedef tgi_dim tgi_expr_operation(tgi_dims *dims, tgi_dim a, tgi_dim b);
tgi_expr_operation tgi_expr_mul, tgi_expr_div;
tgi_expr_operation tgi_expr_max, tgi_expr_broadcast;

/* Records the overflow; TGI_DIM_NONE. */
tgi_dim tgi_expr_overflow(void);

#endif /* TGI_DIMS_TABLE_H */
