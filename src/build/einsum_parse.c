/* SPDX-License-Identifier: MIT */
/*
 * einsum_parse.c - parses the text of tg_einsum: comma-separated terms of
 * labels, and an optional result after "->". Uses only the text and the ranks
 * of the operands; the builder compares extents.
 */
#include <stdarg.h>
#include <stdio.h>

#include "build/einsum.h"

typedef struct parser {
    const char *spec;
    size_t at; /* the next character */
    tgi_einsum_error *error;
} parser;

/* A term before '...' is expanded. */
typedef struct raw_term {
    size_t begin;
    int n; /* number of labels; the first TG_MAX_RANK are stored */
    uint8_t label[TG_MAX_RANK];
    size_t position[TG_MAX_RANK];
    int dots; /* number of labels before '...'; -1: no '...' */
} raw_term;

static bool set_error(parser *r, tg_status status, size_t at,
                      const char *format, ...) TG_PRINTF(4, 5);
static bool set_error(parser *r, tg_status status, size_t at,
                      const char *format, ...)
{
    char *text = r->error->text;
    const size_t room = sizeof(r->error->text);
    const int n = snprintf(text, room, "character %zu: ", at + 1);
    va_list args;
    va_start(args, format);
    vsnprintf(text + n, room - (size_t)n, format, args);
    va_end(args);
    r->error->status = status;
    return false;
}

/* -- Terms ----------------------------------------------------------------- */

/* The label of a letter, in any locale; -1 for other characters. */
static int label_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    return c >= 'a' && c <= 'z' ? 26 + c - 'a' : -1;
}

static bool is_arrow(const parser *r)
{
    return r->spec[r->at] == '-' && r->spec[r->at + 1] == '>';
}

static bool is_dots(const parser *r)
{
    const char *text = r->spec + r->at;
    return text[0] == '.' && text[1] == '.' && text[2] == '.';
}

/* Parses up to a comma, an arrow or the end. */
static bool parse_raw_term(parser *r, raw_term *out_raw)
{
    *out_raw = (raw_term){.begin = r->at, .dots = -1};
    for (;; r->at++) {
        const char c = r->spec[r->at];
        const int label = label_of(c);
        if (c == ' ')
            continue;
        if (!c || c == ',' || is_arrow(r))
            return true;
        if (label >= 0) {
            if (out_raw->n < TG_MAX_RANK) {
                out_raw->label[out_raw->n] = (uint8_t)label;
                out_raw->position[out_raw->n] = r->at;
            }
            out_raw->n++;
        } else if (!is_dots(r)) {
            return set_error(r, TG_ERROR_INVALID_ARGUMENT, r->at,
                             "not a letter, ',', '...' or '->'");
        } else if (out_raw->dots >= 0) {
            return set_error(r, TG_ERROR_INVALID_ARGUMENT, r->at,
                             "'...' is repeated in one term");
        } else {
            out_raw->dots = out_raw->n;
            r->at += 2;
        }
    }
}

/* The labels of a term whose '...' stands for n_axes axes; at most TG_MAX_RANK
   in all. */
static void expand_dots(const raw_term *p, int n_axes,
                        tgi_einsum_term *out_term)
{
    int n = 0;
    for (int i = 0; i <= p->n; i++) {
        if (i == p->dots)
            for (int axis = 0; axis < n_axes; axis++)
                out_term->label[n++] = (uint8_t)(TGI_LABELS - n_axes + axis);
        if (i < p->n)
            out_term->label[n++] = p->label[i];
    }
    out_term->rank = n;
}

/* -- Operands and result --------------------------------------------------- */

static bool parse_operand(parser *r, size_t i, int rank,
                          tgi_einsum_term *out_term)
{
    raw_term p;
    if (!parse_raw_term(r, &p))
        return false;
    const int n_axes = rank - p.n;
    if (p.dots < 0 ? n_axes != 0 : n_axes < 0)
        return set_error(r, TG_ERROR_SHAPE, p.begin,
                         "term %zu has rank %d%s, but its operand has rank %d",
                         i + 1, p.n, p.dots < 0 ? "" : " or more", rank);
    expand_dots(&p, n_axes, out_term);
    return true;
}

static bool expand_result(parser *r, const raw_term *p, int n_axes,
                          tgi_einsum_term *out_result)
{
    if (p->n + n_axes > TG_MAX_RANK)
        return set_error(r, TG_ERROR_OVERFLOW, p->begin,
                         "the result has %d axes, more than %d", p->n + n_axes,
                         TG_MAX_RANK);
    expand_dots(p, n_axes, out_result);
    return true;
}

/* The result after the arrow; `known` are the labels of the operands. */
static bool parse_result(parser *r, uint64_t known, int n_axes,
                         tgi_einsum_term *out_result)
{
    raw_term p;
    uint64_t seen = 0;
    if (!parse_raw_term(r, &p))
        return false;
    if (r->spec[r->at])
        return set_error(r, TG_ERROR_INVALID_ARGUMENT, r->at,
                         "the result must be one term, the last");
    for (int i = 0; i < p.n && i < TG_MAX_RANK; i++) {
        const uint64_t bit = UINT64_C(1) << p.label[i];
        if (!(known & bit))
            return set_error(r, TG_ERROR_INVALID_ARGUMENT, p.position[i],
                             "no operand has the label '%c'",
                             tgi_label_letter(p.label[i]));
        if (seen & bit)
            return set_error(r, TG_ERROR_INVALID_ARGUMENT, p.position[i],
                             "'%c' is repeated in the result",
                             tgi_label_letter(p.label[i]));
        seen |= bit;
    }
    if (p.dots < 0 && n_axes > 0)
        return set_error(r, TG_ERROR_INVALID_ARGUMENT, p.begin,
                         "the result has no '...' for the %s of the operands",
                         n_axes > 1 ? "axes" : "axis");
    return expand_result(r, &p, n_axes, out_result);
}

/* The implicit result: labels that occur once. */
static bool imply_result(parser *r, uint64_t once, int n_axes,
                         tgi_einsum_term *out_result)
{
    raw_term p = {.begin = r->at, .dots = 0};
    for (int label = 0; label < TGI_LETTERS; label++)
        if (once >> label & 1) {
            if (p.n < TG_MAX_RANK)
                p.label[p.n] = (uint8_t)label;
            p.n++;
        }
    return expand_result(r, &p, n_axes, out_result);
}

bool tgi_einsum_parse(const char *spec, const int *ranks, size_t n_operands,
                      tgi_einsum_term *out_terms, tgi_einsum_term *out_result,
                      tgi_einsum_error *out_error)
{
    parser r = {.spec = spec, .error = out_error};
    uint64_t seen = 0, repeated = 0;
    for (size_t i = 0; i < n_operands; i++) {
        if (i > 0 && spec[r.at++] != ',')
            return set_error(&r, TG_ERROR_INVALID_ARGUMENT, r.at - 1,
                             "missing term for operand %zu", i + 1);
        if (!parse_operand(&r, i, ranks[i], &out_terms[i]))
            return false;
        for (int axis = 0; axis < out_terms[i].rank; axis++) {
            const uint64_t bit = UINT64_C(1) << out_terms[i].label[axis];
            repeated |= seen & bit;
            seen |= bit;
        }
    }
    if (spec[r.at] == ',')
        return set_error(&r, TG_ERROR_INVALID_ARGUMENT, r.at,
                         "more terms than operands");

    int n_axes = 0; /* of '...' */
    while (n_axes < TG_MAX_RANK && seen >> (TGI_LABELS - 1 - n_axes) & 1)
        n_axes++;
    if (!spec[r.at])
        return imply_result(&r, seen & ~repeated, n_axes, out_result);
    r.at += 2;
    return parse_result(&r, seen, n_axes, out_result);
}
