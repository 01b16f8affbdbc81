/* SPDX-License-Identifier: MIT */
/*
 * dims_eval.c - evaluates expressions for given symbols, and translates them to
 * another table. Both are one pass over the table in index order, in which
 * operands precede their users.
 */
#include "base/checked.h"
#include "base/error.h"
#include "ir/dims_table.h"

/* -- Values ---------------------------------------------------------------- */

/* Exact if the sum fits 64 bits, even if partial sums do not. */
static bool sum_value(const tgi_extent_expr *expr, const int64_t *values,
                      int64_t *out)
{
    __int128 total = expr->number;
    for (size_t i = 0; i < expr->n_terms; i++) {
        const tgi_term term = expr->terms[i];
        const __int128 value = tgi_dim_value(term.dim, values);
        if (__builtin_add_overflow(total, term.factor * value, &total))
            return false;
    }
    *out = (int64_t)total;
    return *out == total;
}

static bool product_value(const tgi_extent_expr *expr, const int64_t *values,
                          int64_t *out)
{
    /* A zero factor makes the product 0, even if others overflow. */
    *out = 0;
    for (size_t i = 0; i < expr->n_terms; i++)
        if (tgi_dim_value(expr->terms[i].dim, values) == 0)
            return true;
    *out = 1;
    for (size_t i = 0; i < expr->n_terms; i++) {
        const int64_t value = tgi_dim_value(expr->terms[i].dim, values);
        int64_t exponent = expr->terms[i].factor;
        if (value == 1 || value == -1)
            exponent %= 2; /* bounds the loop; other values overflow */
        for (; exponent > 0; exponent--)
            if (!tgi_checked_mul(*out, value, out))
                return false;
    }
    return true;
}

static int64_t max_value(const tgi_extent_expr *expr, const int64_t *values)
{
    int64_t max = INT64_MIN;
    for (size_t i = 0; i < expr->n_terms; i++) {
        const int64_t value = tgi_dim_value(expr->terms[i].dim, values);
        max = value > max ? value : max;
    }
    return max;
}

static int64_t broadcast_value(const tgi_extent_expr *expr,
                               const int64_t *values)
{
    for (size_t i = 0; i < expr->n_terms; i++) {
        const int64_t value = tgi_dim_value(expr->terms[i].dim, values);
        if (value != 1)
            return value;
    }
    return 1;
}

/* False on overflow. */
static bool expr_value(const tgi_extent_expr *expr, const int64_t *symbols,
                       const int64_t *values, int64_t *out)
{
    switch (expr->kind) {
    case TGI_EXPR_SYMBOL:
        *out = symbols[expr->number];
        return true;
    case TGI_EXPR_SUM:
        return sum_value(expr, values, out);
    case TGI_EXPR_PRODUCT:
        return product_value(expr, values, out);
    case TGI_EXPR_DIV: {
        const int64_t a = tgi_dim_value(expr->terms[0].dim, values);
        const int64_t b = tgi_dim_value(expr->terms[1].dim, values);
        *out = b > 0 ? tgi_floor_div(a, b) : 0;
        return true;
    }
    case TGI_EXPR_MAX:
        *out = max_value(expr, values);
        return true;
    case TGI_EXPR_BROADCAST:
        *out = broadcast_value(expr, values);
        return true;
    }
    return false;
}

tg_status tgi_dims_evaluate(const tgi_dims *dims, const int64_t *symbols,
                            int64_t *out_values)
{
    for (size_t i = 0; i < dims->exprs.n; i++) {
        const tgi_extent_expr *expr = dims->exprs.data[i];
        if (!expr_value(expr, symbols, out_values, &out_values[i])) {
            tgi_expr_overflow();
            return TG_ERROR_OVERFLOW;
        }
    }
    return TG_OK;
}

tg_status tgi_dims_assume(const tgi_dims *dims, int64_t *out_values)
{
    const size_t n = tgi_dims_n_symbols(dims);
    int64_t *symbols = tgi_alloc((n + 1) * sizeof(*symbols));
    if (!symbols)
        return tgi_error_memory();
    for (size_t i = 0; i < n; i++)
        symbols[i] = 1000 + 7 * (int64_t)i;
    const tg_status status = tgi_dims_evaluate(dims, symbols, out_values);
    tgi_free(symbols);
    return status;
}

/* -- Translation to another table ------------------------------------------ */

/* dim ^ exponent by repeated squaring; intermediate powers do not exceed the
   exponent. */
static tgi_dim power_of_dim(tgi_dims *dims, tgi_dim dim, int64_t exponent)
{
    int bit = 62;
    while (exponent >> bit == 0)
        bit--;
    tgi_dim result = dim;
    while (bit-- > 0 && result != TGI_DIM_NONE) {
        result = tgi_expr_mul(dims, result, result);
        if (exponent >> bit & 1 && result != TGI_DIM_NONE)
            result = tgi_expr_mul(dims, result, dim);
    }
    return result;
}

static tgi_dim translate_sum(tgi_dims *to, const tgi_extent_expr *expr,
                             const tgi_dim *map)
{
    tgi_terms terms = {0};
    if (!tgi_vec_reserve(&terms, expr->n_terms)) {
        tgi_error_memory();
        return TGI_DIM_NONE;
    }
    for (size_t i = 0; i < expr->n_terms; i++)
        terms.data[i] = (tgi_term){expr->terms[i].factor,
                                   tgi_dim_value(expr->terms[i].dim, map)};
    const tgi_dim dim =
        tgi_expr_sum(to, expr->number, terms.data, expr->n_terms);
    tgi_vec_deinit(&terms);
    return dim;
}

/* Applies an operation from the first operand to the last. */
static tgi_dim translate_operands(tgi_dims *to, const tgi_extent_expr *expr,
                                  const tgi_dim *map,
                                  tgi_expr_operation *operation)
{
    const bool has_exponents = expr->kind == TGI_EXPR_PRODUCT;
    tgi_dim result = TGI_DIM_NONE;
    for (size_t i = 0; i < expr->n_terms; i++) {
        tgi_dim operand = tgi_dim_value(expr->terms[i].dim, map);
        if (has_exponents)
            operand = power_of_dim(to, operand, expr->terms[i].factor);
        if (operand == TGI_DIM_NONE)
            return TGI_DIM_NONE;
        result = i == 0 ? operand : operation(to, result, operand);
        if (result == TGI_DIM_NONE)
            return TGI_DIM_NONE;
    }
    return result;
}

/* The operand that determines the value of a BROADCAST. */
static tgi_dim broadcast_operand(const tgi_extent_expr *expr,
                                 const int64_t *values)
{
    for (size_t i = 0; i < expr->n_terms; i++)
        if (tgi_dim_value(expr->terms[i].dim, values) != 1)
            return expr->terms[i].dim;
    return 1;
}

/* Translates expression i of `from`, whose operands are in `map`. */
static tgi_dim translate_expr(tgi_dims *to, const tgi_dims *from, size_t i,
                              const tgi_dim *symbols, const int64_t *values,
                              const tgi_dim *map)
{
    static tgi_expr_operation *const operations[] = {
        [TGI_EXPR_PRODUCT] = tgi_expr_mul,
        [TGI_EXPR_DIV] = tgi_expr_div,
        [TGI_EXPR_MAX] = tgi_expr_max,
        [TGI_EXPR_BROADCAST] = tgi_expr_broadcast,
    };
    const tgi_extent_expr *expr = from->exprs.data[i];
    if (values && (values[i] == 0 || values[i] == 1))
        return values[i];
    if (expr->kind == TGI_EXPR_SYMBOL)
        return symbols[expr->number];
    if (expr->kind == TGI_EXPR_SUM)
        return translate_sum(to, expr, map);
    if (values && expr->kind == TGI_EXPR_BROADCAST)
        return tgi_dim_value(broadcast_operand(expr, values), map);
    return translate_operands(to, expr, map, operations[expr->kind]);
}

tg_status tgi_dims_specialise(tgi_dims *to, const tgi_dims *from,
                              const tgi_dim *symbols, const int64_t *values,
                              tgi_dim *out_map)
{
    /* `to` may be `from`, whose count grows. */
    const size_t n = from->exprs.n;
    for (size_t i = 0; i < n; i++) {
        out_map[i] = translate_expr(to, from, i, symbols, values, out_map);
        if (out_map[i] == TGI_DIM_NONE)
            return tg_error_last()->status;
    }
    return TG_OK;
}

tg_status tgi_dims_translate(tgi_dims *to, const tgi_dims *from,
                             const tgi_dim *symbols, tgi_dim *out_map)
{
    return tgi_dims_specialise(to, from, symbols, NULL, out_map);
}
