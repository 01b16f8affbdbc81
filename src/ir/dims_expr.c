/* SPDX-License-Identifier: MIT */
/*
 * dims_expr.c - arithmetic on extents, with results in the normal form of
 * dims_table.h.
 *
 * Every rule must preserve the value for all symbols >= 0 that satisfy the
 * checks which the builder records. Only broadcast relies on its check (equal,
 * or one of them is 1). Overflow during normalisation is an error.
 */
#include <stdlib.h>

#include "base/checked.h"
#include "base/error.h"
#include "ir/dims_table.h"

/* A product of sums is expanded if it has at most this many terms. */
#define MAX_EXPANDED_TERMS 8

tgi_dim tgi_expr_overflow(void)
{
    tgi_error_set(TG_ERROR_OVERFLOW, TGI_NO_SITE,
                  "an extent overflows 64 bits");
    return TGI_DIM_NONE;
}

static tgi_dim out_of_memory(tgi_dims *dims)
{
    dims->is_out_of_memory = true;
    tgi_error_memory();
    return TGI_DIM_NONE;
}

/* -- Sums ------------------------------------------------------------------ */

/* A sum under construction. Its first failure is sticky; sum_finish records
   it. */
typedef struct sum {
    const tgi_dims *dims;
    tg_status status;
    int64_t constant;
    tgi_terms terms; /* unordered, atoms may repeat */
} sum;

static void sum_add_term(sum *s, int64_t factor, tgi_dim atom)
{
    if (s->status == TG_OK && factor != 0 &&
        !tgi_vec_push(&s->terms, ((tgi_term){factor, atom})))
        s->status = TG_ERROR_OUT_OF_MEMORY;
}

static void sum_add_constant(sum *s, int64_t factor, int64_t value)
{
    int64_t product;
    if (s->status == TG_OK &&
        !(tgi_checked_mul(factor, value, &product) &&
          tgi_checked_add(s->constant, product, &s->constant)))
        s->status = TG_ERROR_OVERFLOW;
}

static void sum_add_view(sum *s, int64_t factor, tgi_sum_view view)
{
    sum_add_constant(s, factor, view.constant);
    for (size_t i = 0; i < view.n_terms; i++) {
        int64_t product = 0;
        if (s->status == TG_OK &&
            !tgi_checked_mul(factor, view.terms[i].factor, &product))
            s->status = TG_ERROR_OVERFLOW;
        sum_add_term(s, product, view.terms[i].dim);
    }
}

/* Adds factor * dim. */
static void sum_add(sum *s, int64_t factor, tgi_dim dim)
{
    sum_add_view(s, factor, tgi_dim_as_sum(s->dims, dim));
}

static int compare_terms(const void *left, const void *right)
{
    const tgi_term *a = left, *b = right;
    return (a->dim > b->dim) - (a->dim < b->dim);
}

/* Sorts terms, adds the factors of equal atoms and removes terms with factor 0.
   False on overflow. */
static bool merge_terms(tgi_terms *terms)
{
    if (terms->n > 1)
        qsort(terms->data, terms->n, sizeof *terms->data, compare_terms);
    size_t n = 0;
    for (size_t i = 0; i < terms->n; i++) {
        tgi_term term = terms->data[i];
        if (n > 0 && terms->data[n - 1].dim == term.dim) {
            n--;
            if (!tgi_checked_add(terms->data[n].factor, term.factor,
                                 &term.factor))
                return false;
        }
        if (term.factor != 0)
            terms->data[n++] = term;
    }
    terms->n = n;
    return true;
}

static void sum_merge(sum *s)
{
    if (s->status == TG_OK && !merge_terms(&s->terms))
        s->status = TG_ERROR_OVERFLOW;
}

/* Returns the handle of the sum and frees it. */
static tgi_dim sum_finish(sum *s, tgi_dims *dims)
{
    sum_merge(s);
    tgi_dim dim;
    const tgi_term *terms = s->terms.data;
    if (s->status == TG_ERROR_OVERFLOW)
        dim = tgi_expr_overflow();
    else if (s->status == TG_ERROR_OUT_OF_MEMORY)
        dim = out_of_memory(dims);
    else if (s->terms.n == 0 && s->constant >= 0)
        dim = s->constant;
    else if (s->terms.n == 1 && terms->factor == 1 && s->constant == 0)
        dim = terms->dim;
    else
        dim =
            tgi_expr_intern(dims, TGI_EXPR_SUM, s->constant, terms, s->terms.n);
    tgi_vec_deinit(&s->terms);
    return dim;
}

tgi_dim tgi_expr_sum(tgi_dims *dims, int64_t constant, const tgi_term *terms,
                     size_t n_terms)
{
    sum s = {.dims = dims, .constant = constant};
    for (size_t i = 0; i < n_terms; i++)
        sum_add(&s, terms[i].factor, terms[i].dim);
    return sum_finish(&s, dims);
}

/* True if a >= b for all symbols; false if not, or if undecided. */
static bool is_at_least(const tgi_dims *dims, tgi_dim a, tgi_dim b)
{
    const tgi_sum_view left = tgi_dim_as_sum(dims, a);
    const tgi_sum_view right = tgi_dim_as_sum(dims, b);
    size_t i = 0, k = 0;
    while (i < left.n_terms || k < right.n_terms) {
        /* The next atom of either sum, and its factor in both. */
        tgi_term x = {0, INT64_MAX}, y = x;
        if (i < left.n_terms)
            x = left.terms[i];
        if (k < right.n_terms)
            y = right.terms[k];
        const tgi_dim atom = x.dim < y.dim ? x.dim : y.dim;
        const int64_t x_factor = x.dim == atom ? x.factor : 0;
        const int64_t y_factor = y.dim == atom ? y.factor : 0;
        i += x.dim == atom;
        k += y.dim == atom;
        if (x_factor < y_factor ||
            (x_factor > y_factor && !tgi_dim_expr(dims, atom)->is_non_negative))
            return false;
    }
    return left.constant >= right.constant;
}

/* -- Products -------------------------------------------------------------- */

static bool push_factors(const tgi_dims *dims, tgi_terms *factors, tgi_dim dim)
{
    const tgi_extent_expr *expr = tgi_dim_expr(dims, dim);
    if (expr->kind != TGI_EXPR_PRODUCT)
        return tgi_vec_push(factors, expr->self);
    for (size_t i = 0; i < expr->n_terms; i++)
        if (!tgi_vec_push(factors, expr->terms[i]))
            return false;
    return true;
}

/* The product of two symbolic extents as one atom. */
static tgi_dim product_atom(tgi_dims *dims, tgi_dim a, tgi_dim b)
{
    tgi_terms factors = {0};
    tgi_dim dim;
    if (!push_factors(dims, &factors, a) || !push_factors(dims, &factors, b))
        dim = out_of_memory(dims);
    else if (!merge_terms(&factors)) /* exponents add up */
        dim = tgi_expr_overflow();
    else
        dim =
            tgi_expr_intern(dims, TGI_EXPR_PRODUCT, 0, factors.data, factors.n);
    tgi_vec_deinit(&factors);
    return dim;
}

/* Adds the product of two terms; false after a recorded failure. */
static bool sum_add_product(sum *s, tgi_dims *dims, tgi_term a, tgi_term b)
{
    int64_t factor;
    if (!tgi_checked_mul(a.factor, b.factor, &factor)) {
        s->status = TG_ERROR_OVERFLOW;
        return true;
    }
    const tgi_dim atom = product_atom(dims, a.dim, b.dim);
    if (atom == TGI_DIM_NONE)
        return false;
    sum_add_term(s, factor, atom);
    return true;
}

/* a * b, expanded. */
static tgi_dim expand_product(tgi_dims *dims, tgi_sum_view a, tgi_sum_view b)
{
    sum s = {.dims = dims};
    sum_add_view(&s, a.constant, b);
    sum_add_view(&s, b.constant, (tgi_sum_view){0, a.n_terms, a.terms});
    for (size_t i = 0; i < a.n_terms; i++)
        for (size_t k = 0; k < b.n_terms; k++)
            if (!sum_add_product(&s, dims, a.terms[i], b.terms[k])) {
                tgi_vec_deinit(&s.terms);
                return TGI_DIM_NONE;
            }
    return sum_finish(&s, dims);
}

tgi_dim tgi_expr_mul(tgi_dims *dims, tgi_dim a, tgi_dim b)
{
    const tgi_sum_view left = tgi_dim_as_sum(dims, a);
    const tgi_sum_view right = tgi_dim_as_sum(dims, b);
    const size_t n_left = left.n_terms + (left.constant != 0);
    const size_t n_right = right.n_terms + (right.constant != 0);
    /* Multiplying by a single term does not add terms. */
    if (n_left <= 1 || n_right <= 1 || n_left * n_right <= MAX_EXPANDED_TERMS)
        return expand_product(dims, left, right);
    return product_atom(dims, a, b);
}

/* -- Floor division -------------------------------------------------------- */

static int64_t greatest_common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t remainder = a % b;
        a = b;
        b = remainder;
    }
    return a;
}

/*
 * a = quotient * b + remainder, with all factors of the remainder and its
 * constant in 0 … b - 1. Then floor(a / b) = quotient + floor(remainder / b).
 * The rewrites of remainder and b below need no further split.
 */
static void split_by_divisor(tgi_sum_view a, int64_t b, sum *quotient,
                             sum *remainder)
{
    const int64_t whole = tgi_floor_div(a.constant, b);
    sum_add_constant(quotient, 1, whole);
    sum_add_constant(remainder, 1, a.constant - whole * b);
    for (size_t i = 0; i < a.n_terms; i++) {
        const tgi_term term = a.terms[i];
        const int64_t times = tgi_floor_div(term.factor, b);
        sum_add_term(quotient, times, term.dim);
        sum_add_term(remainder, term.factor - times * b, term.dim);
    }
}

/* Divides the factors of the remainder and b by their common divisor; the
   fraction of the constant does not affect the floor. Returns the new b. */
static int64_t cancel_common_divisor(sum *remainder, int64_t b)
{
    int64_t divisor = b;
    for (size_t i = 0; i < remainder->terms.n; i++)
        divisor =
            greatest_common_divisor(divisor, remainder->terms.data[i].factor);
    for (size_t i = 0; i < remainder->terms.n; i++)
        remainder->terms.data[i].factor /= divisor;
    remainder->constant /= divisor;
    return b / divisor;
}

/*
 * floor((floor(x / k) + c) / b) = floor((x + k * c) / (k * b)): rewrites a
 * remainder of that form and b; false if it has another form.
 */
static bool flatten_nested_division(sum *remainder, int64_t *b)
{
    if (remainder->terms.n != 1 || remainder->terms.data->factor != 1)
        return false;
    const tgi_extent_expr *inner =
        tgi_dim_expr(remainder->dims, remainder->terms.data->dim);
    if (inner->kind != TGI_EXPR_DIV || !tgi_dim_is_known(inner->terms[1].dim))
        return false;
    const int64_t k = inner->terms[1].dim;
    int64_t constant, product;
    if (!tgi_checked_mul(k, remainder->constant, &constant) ||
        !tgi_checked_mul(k, *b, &product))
        return false;
    remainder->terms.n = 0;
    remainder->constant = constant;
    sum_add(remainder, 1, inner->terms[0].dim);
    *b = product;
    return true;
}

static tgi_dim div_atom(tgi_dims *dims, tgi_dim a, tgi_dim b)
{
    if (a == TGI_DIM_NONE)
        return TGI_DIM_NONE;
    const tgi_term operands[] = {{1, a}, {1, b}};
    return tgi_expr_intern(dims, TGI_EXPR_DIV, 0, operands, 2);
}

/* b > 0 */
static tgi_dim div_by_number(tgi_dims *dims, tgi_dim a, int64_t b)
{
    sum quotient = {.dims = dims}, remainder = {.dims = dims};
    split_by_divisor(tgi_dim_as_sum(dims, a), b, &quotient, &remainder);
    /* sum_finish reports the failure of a sum. */
    tgi_dim atom = 0;
    if (remainder.status != TG_OK || remainder.terms.n > 0) {
        do
            b = cancel_common_divisor(&remainder, b);
        while (flatten_nested_division(&remainder, &b));
        atom = div_atom(dims, sum_finish(&remainder, dims), b);
    }
    if (atom == TGI_DIM_NONE) {
        tgi_vec_deinit(&quotient.terms);
        return TGI_DIM_NONE;
    }
    sum_add(&quotient, 1, atom);
    return sum_finish(&quotient, dims);
}

tgi_dim tgi_expr_div(tgi_dims *dims, tgi_dim a, tgi_dim b)
{
    const tgi_sum_view divisor = tgi_dim_as_sum(dims, b);
    if (divisor.n_terms == 0)
        return divisor.constant > 0 ? div_by_number(dims, a, divisor.constant)
                                    : 0;
    if (a == 0)
        return 0;
    return div_atom(dims, a, b);
}

/* -- Max and broadcast ----------------------------------------------------- */

/* Adds an operand and removes redundant ones; false when out of memory. */
typedef bool insert_operand(const tgi_dims *dims, tgi_terms *operands,
                            tgi_dim dim);

static bool insert_max(const tgi_dims *dims, tgi_terms *operands, tgi_dim dim)
{
    for (size_t i = 0; i < operands->n; i++)
        if (is_at_least(dims, operands->data[i].dim, dim))
            return true;
    size_t n = 0;
    for (size_t i = 0; i < operands->n; i++)
        if (!is_at_least(dims, dim, operands->data[i].dim))
            operands->data[n++] = operands->data[i];
    operands->n = n;
    return tgi_vec_push(operands, ((tgi_term){1, dim}));
}

static bool insert_broadcast(const tgi_dims *dims, tgi_terms *operands,
                             tgi_dim dim)
{
    (void)dims;
    if (dim == 1)
        return true;
    for (size_t i = 0; i < operands->n; i++) {
        const tgi_dim other = operands->data[i].dim;
        if (other == dim || tgi_dim_is_known(other))
            return true;
    }
    /* A number equals every operand that is not 1, so it replaces them. */
    if (tgi_dim_is_known(dim))
        operands->n = 0;
    return tgi_vec_push(operands, ((tgi_term){1, dim}));
}

/* Inserts an extent, or its operands if it has the same kind. */
static bool insert_all(const tgi_dims *dims, tgi_extent_expr_kind kind,
                       insert_operand *insert, tgi_terms *operands, tgi_dim dim)
{
    if (!tgi_dim_is_kind(dims, dim, kind))
        return insert(dims, operands, dim);
    const tgi_extent_expr *expr = tgi_dim_expr(dims, dim);
    for (size_t i = 0; i < expr->n_terms; i++)
        if (!insert(dims, operands, expr->terms[i].dim))
            return false;
    return true;
}

/* The handle of an associative, commutative and idempotent operation. */
static tgi_dim combine_operands(tgi_dims *dims, tgi_extent_expr_kind kind,
                                insert_operand *insert, int64_t identity,
                                tgi_dim a, tgi_dim b)
{
    tgi_terms operands = {0};
    tgi_dim dim;
    if (!insert_all(dims, kind, insert, &operands, a) ||
        !insert_all(dims, kind, insert, &operands, b)) {
        dim = out_of_memory(dims);
    } else if (operands.n == 0) {
        dim = identity;
    } else if (operands.n == 1) {
        dim = operands.data->dim;
    } else {
        qsort(operands.data, operands.n, sizeof *operands.data, compare_terms);
        dim = tgi_expr_intern(dims, kind, 0, operands.data, operands.n);
    }
    tgi_vec_deinit(&operands);
    return dim;
}

tgi_dim tgi_expr_max(tgi_dims *dims, tgi_dim a, tgi_dim b)
{
    return combine_operands(dims, TGI_EXPR_MAX, insert_max, 0, a, b);
}

tgi_dim tgi_expr_broadcast(tgi_dims *dims, tgi_dim a, tgi_dim b)
{
    return combine_operands(dims, TGI_EXPR_BROADCAST, insert_broadcast, 1, a,
                            b);
}
