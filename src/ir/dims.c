/* SPDX-License-Identifier: MIT */
/*
 * dims.c - the table of extents and shapes: its lifetime, hash-consing of
 * expressions and shapes, and the public operations on extents. dims_table.h
 * defines the normal form, dims_expr.c establishes it.
 */
#include "ir/dims.h"

#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/live.h"
#include "ir/dims_table.h"

tgi_dims *tgi_dims_create(void)
{
    tgi_dims *dims = tgi_alloc_zero(sizeof *dims);
    if (!dims) {
        tgi_error_memory();
        return NULL;
    }
    tgi_refcount_init(&dims->refs);
    tgi_live_add(TGI_LIVE_DIMS, 1);
    return dims;
}

tgi_dims *tgi_dims_retain(tgi_dims *dims)
{
    tgi_refcount_inc(&dims->refs);
    return dims;
}

void tgi_dims_release(tgi_dims *dims)
{
    if (!dims || !tgi_refcount_dec(&dims->refs))
        return;
    tgi_index_deinit(&dims->expr_index);
    tgi_index_deinit(&dims->shape_index);
    tgi_vec_deinit(&dims->exprs);
    tgi_vec_deinit(&dims->symbols);
    tgi_vec_deinit(&dims->shapes);
    tgi_arena_deinit(&dims->arena);
    tgi_free(dims);
    tgi_live_add(TGI_LIVE_DIMS, -1);
}

size_t tgi_dims_bytes(const tgi_dims *dims)
{
    return sizeof *dims + dims->arena.bytes +
           dims->exprs.capacity * sizeof *dims->exprs.data +
           dims->symbols.capacity * sizeof *dims->symbols.data +
           dims->shapes.capacity * sizeof *dims->shapes.data +
           (dims->expr_index.capacity + dims->shape_index.capacity) *
               sizeof *dims->expr_index.slots;
}

/* -- Expressions ----------------------------------------------------------- */

static bool is_non_negative(const tgi_dims *dims, tgi_dim dim)
{
    return tgi_dim_is_known(dim) || tgi_dim_expr(dims, dim)->is_non_negative;
}

/* True if the value of the expression cannot be negative. */
static bool compute_non_negative(const tgi_dims *dims,
                                 const tgi_extent_expr *expr)
{
    size_t n_non_negative = 0;
    bool no_negative_factor = true;
    for (size_t i = 0; i < expr->n_terms; i++) {
        n_non_negative += is_non_negative(dims, expr->terms[i].dim);
        no_negative_factor &= expr->terms[i].factor >= 0;
    }
    const bool are_all = n_non_negative == expr->n_terms;
    switch (expr->kind) {
    case TGI_EXPR_SYMBOL:
        return true;
    case TGI_EXPR_SUM:
        return expr->number >= 0 && no_negative_factor && are_all;
    case TGI_EXPR_PRODUCT:
    case TGI_EXPR_BROADCAST:
        return are_all;
    case TGI_EXPR_DIV: /* 0 if the divisor is below 1 */
        return is_non_negative(dims, expr->terms[0].dim);
    case TGI_EXPR_MAX:
        return n_non_negative > 0;
    }
    return false;
}

static bool expr_equals(const tgi_extent_expr *expr, tgi_extent_expr_kind kind,
                        int64_t number, const tgi_term *terms, size_t n_terms)
{
    return expr->kind == kind && expr->number == number &&
           tgi_terms_are_equal(expr->terms, expr->n_terms, terms, n_terms);
}

tgi_dim tgi_expr_intern(tgi_dims *dims, tgi_extent_expr_kind kind,
                        int64_t number, const tgi_term *terms,
                        size_t n_terms)
{
    const int64_t head[] = {kind, number};
    const uint64_t hash = tgi_hash(terms, n_terms * sizeof *terms,
                                   tgi_hash(head, sizeof head, 0));
    size_t probe = 0;
    uint32_t position;
    while ((position = tgi_index_next(&dims->expr_index, hash, &probe)) != 0) {
        const tgi_extent_expr *found = dims->exprs.data[position - 1];
        if (expr_equals(found, kind, number, terms, n_terms))
            return found->self.dim;
    }

    tgi_extent_expr *expr = NULL;
    if (dims->exprs.n < UINT32_MAX &&
        tgi_vec_reserve(&dims->exprs, dims->exprs.n + 1))
        expr = tgi_arena_alloc(&dims->arena,
                               sizeof *expr + n_terms * sizeof *terms);
    if (!expr ||
        !tgi_index_add(&dims->expr_index, hash, (uint32_t)dims->exprs.n + 1)) {
        dims->is_out_of_memory = true;
        tgi_error_memory();
        return TGI_DIM_NONE;
    }
    expr->kind = kind;
    expr->number = number;
    expr->self.factor = 1;
    expr->self.dim = TGI_DIM_NONE + 1 + (tgi_dim)dims->exprs.n;
    expr->n_terms = n_terms;
    if (n_terms > 0)
        memcpy(expr->terms, terms, n_terms * sizeof *terms);
    expr->is_non_negative = compute_non_negative(dims, expr);
    tgi_vec_push(&dims->exprs, expr); /* cannot fail: reserved */
    return expr->self.dim;
}

tgi_dim tgi_dim_symbol(tgi_dims *dims, tgi_symbol source)
{
    const size_t number = dims->symbols.n;
    if (!tgi_vec_push(&dims->symbols, source)) {
        tgi_error_memory();
        return TGI_DIM_NONE;
    }
    tgi_dim dim =
        tgi_expr_intern(dims, TGI_EXPR_SYMBOL, (int64_t)number, NULL, 0);
    if (dim == TGI_DIM_NONE)
        dims->symbols.n = number;
    return dim;
}

bool tgi_dims_is_out_of_memory(const tgi_dims *dims)
{
    return dims->is_out_of_memory;
}

size_t tgi_dims_n_symbols(const tgi_dims *dims)
{
    return dims->symbols.n;
}

tgi_symbol tgi_dims_symbol(const tgi_dims *dims, size_t symbol)
{
    return dims->symbols.data[symbol];
}

int64_t tgi_dim_symbol_number(const tgi_dims *dims, tgi_dim dim)
{
    return tgi_dim_is_kind(dims, dim, TGI_EXPR_SYMBOL)
               ? tgi_dim_expr(dims, dim)->number
               : -1;
}

size_t tgi_dims_n_values(const tgi_dims *dims)
{
    return dims->exprs.n;
}

int64_t tgi_dim_value(tgi_dim dim, const int64_t *values)
{
    return tgi_dim_is_known(dim) ? dim : values[tgi_dim_index(dim)];
}

/* -- Extents --------------------------------------------------------------- */

/* Rejects negative constants, which only tgi_expr_* operations may return. */
static tgi_dim as_extent(const tgi_dims *dims, tgi_dim dim)
{
    if (!tgi_dim_is_symbolic(dim))
        return dim;
    const tgi_sum_view sum = tgi_dim_as_sum(dims, dim);
    if (sum.n_terms > 0)
        return dim;
    tgi_error_set(TG_ERROR_SHAPE, TGI_NO_SITE, "extent %" PRId64 " is negative",
                  sum.constant);
    return TGI_DIM_NONE;
}

static bool is_either_none(tgi_dim a, tgi_dim b)
{
    return a == TGI_DIM_NONE || b == TGI_DIM_NONE;
}

/* a + factor * b */
static tgi_dim add_multiple(tgi_dims *dims, tgi_dim a, int64_t factor,
                            tgi_dim b)
{
    if (is_either_none(a, b))
        return TGI_DIM_NONE;
    const tgi_term terms[] = {{1, a}, {factor, b}};
    return as_extent(dims, tgi_expr_sum(dims, 0, terms, 2));
}

tgi_dim tgi_dim_add(tgi_dims *dims, tgi_dim a, tgi_dim b)
{
    return add_multiple(dims, a, 1, b);
}

tgi_dim tgi_dim_sub(tgi_dims *dims, tgi_dim a, tgi_dim b)
{
    return add_multiple(dims, a, -1, b);
}

static tgi_dim apply_operation(tgi_dims *dims, tgi_expr_operation *operation,
                               tgi_dim a, tgi_dim b)
{
    return is_either_none(a, b) ? TGI_DIM_NONE
                                : as_extent(dims, operation(dims, a, b));
}

tgi_dim tgi_dim_mul(tgi_dims *dims, tgi_dim a, tgi_dim b)
{
    return apply_operation(dims, tgi_expr_mul, a, b);
}

tgi_dim tgi_dim_div(tgi_dims *dims, tgi_dim a, tgi_dim b)
{
    return apply_operation(dims, tgi_expr_div, a, b);
}

tgi_dim tgi_dim_max(tgi_dims *dims, tgi_dim a, tgi_dim b)
{
    return apply_operation(dims, tgi_expr_max, a, b);
}

tgi_dim tgi_dim_broadcast(tgi_dims *dims, tgi_dim a, tgi_dim b)
{
    if (tgi_dim_is_known(a) && tgi_dim_is_known(b) && a != b && a != 1 &&
        b != 1) {
        tgi_error_set(TG_ERROR_SHAPE, TGI_NO_SITE,
                      "extents %" PRId64 " and %" PRId64 " do not broadcast", a,
                      b);
        return TGI_DIM_NONE;
    }
    return apply_operation(dims, tgi_expr_broadcast, a, b);
}

/* Multiplies unknown extents in the order of their handles, so that the result
   does not depend on the order of axes. */
tgi_dim tgi_dim_product(tgi_dims *dims, const tgi_shape *shape)
{
    tgi_dim known[TG_MAX_RANK] = {0}, unknown[TG_MAX_RANK];
    int n_known = 0, n_unknown = 0;
    for (int axis = 0; axis < shape->rank; axis++) {
        if (tgi_dim_is_known(shape->dims[axis])) {
            known[n_known++] = shape->dims[axis];
            continue;
        }
        int i = n_unknown++;
        for (; i > 0 && unknown[i - 1] > shape->dims[axis]; i--)
            unknown[i] = unknown[i - 1];
        unknown[i] = shape->dims[axis];
    }
    tgi_dim product;
    if (!tgi_checked_count(n_known, known, &product))
        return tgi_expr_overflow();
    for (int i = 0; i < n_unknown; i++)
        product = tgi_dim_mul(dims, product, unknown[i]);
    return product;
}

bool tgi_dim_difference(tgi_dims *dims, tgi_dim a, tgi_dim b,
                        int64_t *out_difference)
{
    if (is_either_none(a, b))
        return false;
    const tgi_sum_view left = tgi_dim_as_sum(dims, a);
    const tgi_sum_view right = tgi_dim_as_sum(dims, b);
    return tgi_terms_are_equal(left.terms, left.n_terms, right.terms,
                               right.n_terms) &&
           tgi_checked_sub(left.constant, right.constant, out_difference);
}

/* -- Shapes ---------------------------------------------------------------- */

tgi_shape_ref tgi_shape_intern(tgi_dims *dims, int rank, const tgi_dim *extent)
{
    const size_t extent_bytes = (size_t)rank * sizeof *extent;
    for (int axis = 0; axis < rank; axis++)
        if (extent[axis] == TGI_DIM_NONE)
            return 0;

    const uint64_t hash = tgi_hash(extent, extent_bytes, (uint64_t)rank);
    size_t probe = 0;
    uint32_t ref;
    while ((ref = tgi_index_next(&dims->shape_index, hash, &probe)) != 0) {
        const tgi_shape *found = tgi_shape_of(dims, ref);
        if (found->rank == rank &&
            (rank == 0 || memcmp(found->dims, extent, extent_bytes) == 0))
            return ref;
    }

    ref = (uint32_t)dims->shapes.n + 1;
    tgi_shape *shape = NULL;
    if (ref != 0 && tgi_vec_reserve(&dims->shapes, ref))
        shape = tgi_arena_alloc(&dims->arena, sizeof *shape + extent_bytes);
    if (!shape || !tgi_index_add(&dims->shape_index, hash, ref)) {
        tgi_error_memory();
        return 0;
    }
    shape->rank = rank;
    if (rank > 0)
        memcpy(shape->dims, extent, extent_bytes);
    tgi_vec_push(&dims->shapes, shape); /* cannot fail: reserved */
    return ref;
}

const tgi_shape *tgi_shape_of(const tgi_dims *dims, tgi_shape_ref shape)
{
    return dims->shapes.data[shape - 1];
}

bool tgi_shape_is_static(const tgi_shape *shape)
{
    for (int axis = 0; axis < shape->rank; axis++)
        if (!tgi_dim_is_known(shape->dims[axis]))
            return false;
    return true;
}
