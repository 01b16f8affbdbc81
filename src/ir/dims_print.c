/* SPDX-License-Identifier: MIT */
/*
 * dims_print.c - extents and shapes as text. Text cannot share subexpressions
 * and may be exponentially long, so the printer writes "..." beyond MAX_PARTS
 * subexpressions or MAX_LEVELS levels.
 */
#include <inttypes.h>

#include "ir/dims_table.h"

#define MAX_PARTS 100
#define MAX_LEVELS 8 /* also bounds the recursion */

/* The context of an expression; it decides which need parentheses. */
typedef enum position {
    ALONE,  /* none */
    FACTOR, /* of a product: sums and quotients */
    OPERAND /* of a division: sums, quotients and products */
} position;

typedef struct printer {
    const tgi_dims *dims;
    tgi_strbuf *out;
    int n_parts;
} printer;

static void print_dim(printer *p, tgi_dim dim, position place, int level);

static bool needs_parentheses(tgi_extent_expr_kind kind, position place)
{
    switch (kind) {
    case TGI_EXPR_SUM:
    case TGI_EXPR_DIV:
        return place != ALONE;
    case TGI_EXPR_PRODUCT:
        return place == OPERAND;
    default:
        return false;
    }
}

static void print_sum(printer *p, const tgi_extent_expr *expr, int level)
{
    for (size_t i = 0; i < expr->n_terms; i++) {
        const tgi_term term = expr->terms[i];
        if (i > 0 && term.factor > 0)
            tgi_strbuf_add(p->out, "+");
        if (term.factor == -1)
            tgi_strbuf_add(p->out, "-");
        else if (term.factor != 1)
            tgi_strbuf_addf(p->out, "%" PRId64 "*", term.factor);
        print_dim(p, term.dim, term.factor == 1 ? ALONE : FACTOR, level);
    }
    if (expr->n_terms == 0)
        tgi_strbuf_addf(p->out, "%" PRId64, expr->number);
    else if (expr->number != 0)
        tgi_strbuf_addf(p->out, "%+" PRId64, expr->number);
}

static void print_product(printer *p, const tgi_extent_expr *expr, int level)
{
    for (size_t i = 0; i < expr->n_terms; i++) {
        if (i > 0)
            tgi_strbuf_add(p->out, "*");
        print_dim(p, expr->terms[i].dim, FACTOR, level);
        if (expr->terms[i].factor != 1)
            tgi_strbuf_addf(p->out, "^%" PRId64, expr->terms[i].factor);
    }
}

static void print_call(printer *p, const char *name,
                       const tgi_extent_expr *expr, int level)
{
    tgi_strbuf_add(p->out, name);
    for (size_t i = 0; i < expr->n_terms; i++) {
        tgi_strbuf_add(p->out, i == 0 ? "(" : ",");
        print_dim(p, expr->terms[i].dim, ALONE, level);
    }
    tgi_strbuf_add(p->out, ")");
}

static void print_expr(printer *p, const tgi_extent_expr *expr, int level)
{
    switch (expr->kind) {
    case TGI_EXPR_SYMBOL:
        tgi_strbuf_addf(p->out, "?%" PRId64, expr->number);
        break;
    case TGI_EXPR_SUM:
        print_sum(p, expr, level);
        break;
    case TGI_EXPR_PRODUCT:
        print_product(p, expr, level);
        break;
    case TGI_EXPR_DIV:
        print_dim(p, expr->terms[0].dim, OPERAND, level);
        tgi_strbuf_add(p->out, "/");
        print_dim(p, expr->terms[1].dim, OPERAND, level);
        break;
    case TGI_EXPR_MAX:
        print_call(p, "max", expr, level);
        break;
    case TGI_EXPR_BROADCAST:
        print_call(p, "broadcast", expr, level);
        break;
    }
}

/* Recurses at most MAX_LEVELS deep. */
static void print_dim(printer *p, tgi_dim dim, position place, int level)
{
    if (!tgi_dim_is_symbolic(dim)) {
        tgi_strbuf_addf(p->out, "%" PRId64, dim);
        return;
    }
    if (level == MAX_LEVELS || p->n_parts++ >= MAX_PARTS) {
        tgi_strbuf_add(p->out, "...");
        return;
    }
    const tgi_extent_expr *expr = tgi_dim_expr(p->dims, dim);
    const bool has_parentheses = needs_parentheses(expr->kind, place);
    tgi_strbuf_add(p->out, has_parentheses ? "(" : "");
    print_expr(p, expr, level + 1);
    tgi_strbuf_add(p->out, has_parentheses ? ")" : "");
}

void tgi_dim_print(const tgi_dims *dims, tgi_dim dim, tgi_strbuf *out)
{
    if (dim == TGI_DIM_NONE) {
        tgi_strbuf_add(out, "none");
        return;
    }
    if (dim == TGI_UNBOUNDED) {
        tgi_strbuf_add(out, "unbounded");
        return;
    }
    printer p = {dims, out, 0};
    print_dim(&p, dim, ALONE, 0);
}

void tgi_shape_print(const tgi_dims *dims, const tgi_shape *shape,
                     tgi_strbuf *out)
{
    tgi_strbuf_add(out, "[");
    for (int axis = 0; axis < shape->rank; axis++) {
        tgi_strbuf_add(out, axis > 0 ? "," : "");
        tgi_dim_print(dims, shape->dims[axis], out);
    }
    tgi_strbuf_add(out, "]");
}
