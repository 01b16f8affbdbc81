/* SPDX-License-Identifier: MIT */
/*
 * dims_expr.c - arithmetic on extents: brings every result into the normal
 * form of dims_table.h.
 *
 * Every rule here must keep the value for all symbols >= 0 that satisfy the
 * conditions the builder records beside the expression; broadcast alone
 * leans on its condition (equal, or one of them is 1). Overflow while a
 * normal form is made is an error, never a wrapped number.
 */
#include <stdlib.h>

#include "base/checked.h"
#include "base/error.h"
#include "ir/dims_table.h"

/* Two sums are multiplied out if that makes no more terms than this. */
#define MAX_EXPANDED_TERMS 8

tgi_dim tgi_expr_overflow(void)
{
    tgi_error_set(TG_ERROR_OVERFLOW, TGI_NO_SITE,
                  "an extent does not fit 64 bits");
    return TGI_DIM_NONE;
}

static tgi_dim out_of_memory(tgi_dims *dims)
{
    dims->is_out_of_memory = true;
    tgi_error_memory();
    return TGI_DIM_NONE;
}

/* -- Sums ------------------------------------------------------------------ */

/* A sum under construction. Its first failure sticks, unrecorded. */
typedef struct sum {
    const tgi_dims *dims;
    tg_status status;
    int64_t constant;
    tgi_terms terms; /* any order, atoms may repeat */
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
        sum_add_term(s, product, view.terms[i].of);
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
    return (a->of > b->of) - (a->of < b->of);
}

/* Orders terms; equal atoms become one by adding their factors, and those
   with factor 0 go. False on overflow. */
static bool merge_terms(tgi_terms *terms)
{
    if (terms->n > 1)
        qsort(terms->data, terms->n, sizeof *terms->data, compare_terms);
    size_t n = 0;
    for (size_t i = 0; i < terms->n; i++) {
        tgi_term term = terms->data[i];
        if (n > 0 && terms->data[n - 1].of == term.of) {
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

/* The name of the sum, which is no more. */
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
        dim = terms->of;
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
        sum_add(&s, terms[i].factor, terms[i].of);
    return sum_finish(&s, dims);
}

/* True if a >= b for all symbols; false also says "not known". */
static bool is_at_least(const tgi_dims *dims, tgi_dim a, tgi_dim b)
{
    const tgi_sum_view left = tgi_dim_as_sum(dims, a);
    const tgi_sum_view right = tgi_dim_as_sum(dims, b);
    size_t i = 0, k = 0;
    while (i < left.n_terms || k < right.n_terms) {
        /* The next atom of either, and its factor in both. */
        tgi_term more = {0, INT64_MAX}, less = more;
        if (i < left.n_terms)
            more = left.terms[i];
        if (k < right.n_terms)
            less = right.terms[k];
        const tgi_dim atom = more.of < less.of ? more.of : less.of;
        const int64_t factor = more.of == atom ? more.factor : 0;
        const int64_t other = less.of == atom ? less.factor : 0;
        i += more.of == atom;
        k += less.of == atom;
        if (factor < other ||
            (factor > other && !tgi_dim_expr(dims, atom)->is_non_negative))
            return false;
    }
    return left.constant >= right.constant;
}

/* -- Products -------------------------------------------------------------- */

static bool push_factors(const tgi_dims *dims, tgi_terms *factors, tgi_dim dim)
{
    const tgi_expr *expr = tgi_dim_expr(dims, dim);
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

/* Adds the product of two terms; false if its failure is recorded. */
static bool sum_add_product(sum *s, tgi_dims *dims, tgi_term a, tgi_term b)
{
    int64_t factor;
    if (!tgi_checked_mul(a.factor, b.factor, &factor)) {
        s->status = TG_ERROR_OVERFLOW;
        return true;
    }
    const tgi_dim atom = product_atom(dims, a.of, b.of);
    if (atom == TGI_DIM_NONE)
        return false;
    sum_add_term(s, factor, atom);
    return true;
}

/* a * b, multiplied out. */
static tgi_dim expand(tgi_dims *dims, tgi_sum_view a, tgi_sum_view b)
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
    /* One term times many makes no more than there were. */
    if (n_left <= 1 || n_right <= 1 || n_left * n_right <= MAX_EXPANDED_TERMS)
        return expand(dims, left, right);
    return product_atom(dims, a, b);
}

/* -- Floor division -------------------------------------------------------- */

static int64_t greatest_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/*
 * a = quotient * b + rest, with all numbers of the rest in 0 … b - 1: the
 * floor of a / b is then quotient + floor(rest / b). Nothing is left for a
 * later split when the rest and b are rewritten as below.
 */
static void split(tgi_sum_view a, int64_t b, sum *quotient, sum *rest)
{
    const int64_t whole = tgi_floor_div(a.constant, b);
    sum_add_constant(quotient, 1, whole);
    sum_add_constant(rest, 1, a.constant - whole * b);
    for (size_t i = 0; i < a.n_terms; i++) {
        const tgi_term term = a.terms[i];
        const int64_t times = tgi_floor_div(term.factor, b);
        sum_add_term(quotient, times, term.of);
        sum_add_term(rest, term.factor - times * b, term.of);
    }
}

/* Divides the factors of the rest and b by what they have in common; the
   constant's fraction cannot matter to the floor. Returns the new b. */
static int64_t reduce(sum *rest, int64_t b)
{
    int64_t divisor = b;
    for (size_t i = 0; i < rest->terms.n; i++)
        divisor = greatest_divisor(divisor, rest->terms.data[i].factor);
    for (size_t i = 0; i < rest->terms.n; i++)
        rest->terms.data[i].factor /= divisor;
    rest->constant /= divisor;
    return b / divisor;
}

/*
 * floor((floor(x / k) + c) / b) is floor((x + k * c) / (k * b)): rewrites a
 * rest of that form and b; false if it is of another.
 */
static bool flatten(sum *rest, int64_t *b)
{
    if (rest->terms.n != 1 || rest->terms.data->factor != 1)
        return false;
    const tgi_expr *inner = tgi_dim_expr(rest->dims, rest->terms.data->of);
    if (inner->kind != TGI_EXPR_DIV || !tgi_dim_is_known(inner->terms[1].of))
        return false;
    const int64_t k = inner->terms[1].of;
    int64_t constant, product;
    if (!tgi_checked_mul(k, rest->constant, &constant) ||
        !tgi_checked_mul(k, *b, &product))
        return false;
    rest->terms.n = 0;
    rest->constant = constant;
    sum_add(rest, 1, inner->terms[0].of);
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
    sum quotient = {.dims = dims}, rest = {.dims = dims};
    split(tgi_dim_as_sum(dims, a), b, &quotient, &rest);
    /* A failed sum fails at its end: there is no need to look before. */
    tgi_dim atom = 0;
    if (rest.status != TG_OK || rest.terms.n > 0) {
        do
            b = reduce(&rest, b);
        while (flatten(&rest, &b));
        atom = div_atom(dims, sum_finish(&rest, dims), b);
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

/* Adds an operand to the others so that none is needless; false when out of
   memory. */
typedef bool insert_operand(const tgi_dims *dims, tgi_terms *operands,
                            tgi_dim dim);

static bool insert_max(const tgi_dims *dims, tgi_terms *operands, tgi_dim dim)
{
    for (size_t i = 0; i < operands->n; i++)
        if (is_at_least(dims, operands->data[i].of, dim))
            return true;
    size_t n = 0;
    for (size_t i = 0; i < operands->n; i++)
        if (!is_at_least(dims, dim, operands->data[i].of))
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
        const tgi_dim other = operands->data[i].of;
        if (other == dim || tgi_dim_is_known(other))
            return true;
    }
    /* A number is equal to all that are not 1: it stands for them. */
    if (tgi_dim_is_known(dim))
        operands->n = 0;
    return tgi_vec_push(operands, ((tgi_term){1, dim}));
}

/* Inserts an extent, or the operands of one that is of the same kind. */
static bool insert_all(const tgi_dims *dims, tgi_expr_kind kind,
                       insert_operand *insert, tgi_terms *operands, tgi_dim dim)
{
    if (!tgi_dim_is_kind(dims, dim, kind))
        return insert(dims, operands, dim);
    const tgi_expr *expr = tgi_dim_expr(dims, dim);
    for (size_t i = 0; i < expr->n_terms; i++)
        if (!insert(dims, operands, expr->terms[i].of))
            return false;
    return true;
}

/* The name of an operation that is associative, commutative, idempotent. */
static tgi_dim combine(tgi_dims *dims, tgi_expr_kind kind,
                       insert_operand *insert, int64_t of_nothing, tgi_dim a,
                       tgi_dim b)
{
    tgi_terms operands = {0};
    tgi_dim dim;
    if (!insert_all(dims, kind, insert, &operands, a) ||
        !insert_all(dims, kind, insert, &operands, b)) {
        dim = out_of_memory(dims);
    } else if (operands.n == 0) {
        dim = of_nothing;
    } else if (operands.n == 1) {
        dim = operands.data->of;
    } else {
        qsort(operands.data, operands.n, sizeof *operands.data, compare_terms);
        dim = tgi_expr_intern(dims, kind, 0, operands.data, operands.n);
    }
    tgi_vec_deinit(&operands);
    return dim;
}

tgi_dim tgi_expr_max(tgi_dims *dims, tgi_dim a, tgi_dim b)
{
    return combine(dims, TGI_EXPR_MAX, insert_max, 0, a, b);
}

tgi_dim tgi_expr_broadcast(tgi_dims *dims, tgi_dim a, tgi_dim b)
{
    return combine(dims, TGI_EXPR_BROADCAST, insert_broadcast, 1, a, b);
}
