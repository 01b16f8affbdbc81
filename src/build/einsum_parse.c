/* SPDX-License-Identifier: MIT */
/*
 * einsum_parse.c - reads the text of tg_einsum: terms of labels between
 * commas, and a result behind "->". Nothing but text and ranks is looked at:
 * extents are compared by the builder.
 */
#include <stdarg.h>
#include <stdio.h>

#include "build/einsum.h"

typedef struct reader {
    const char *spec;
    size_t at; /* the next character */
    tgi_einsum_error *error;
} reader;

/* A term as it is written. */
typedef struct part {
    size_t begin;
    int n; /* labels, of which those that an operand could have are kept */
    uint8_t label[TG_MAX_RANK];
    size_t place[TG_MAX_RANK];
    int dots; /* how many labels stand before '...'; -1: there is none */
} part;

static bool fail(reader *r, tg_status status, size_t at, const char *format,
                 ...) TG_PRINTF(4, 5);
static bool fail(reader *r, tg_status status, size_t at, const char *format,
                 ...)
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

/* -- Terms as they are written --------------------------------------------- */

/* The label that a letter is, in any locale; -1 if it is none. */
static int label_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    return c >= 'a' && c <= 'z' ? 26 + c - 'a' : -1;
}

static bool is_arrow(const reader *r)
{
    return r->spec[r->at] == '-' && r->spec[r->at + 1] == '>';
}

static bool is_dots(const reader *r)
{
    const char *text = r->spec + r->at;
    return text[0] == '.' && text[1] == '.' && text[2] == '.';
}

/* Reads up to a comma, an arrow or the end. */
static bool read_part(reader *r, part *out_part)
{
    *out_part = (part){.begin = r->at, .dots = -1};
    for (;; r->at++) {
        const char c = r->spec[r->at];
        const int label = label_of(c);
        if (c == ' ')
            continue;
        if (!c || c == ',' || is_arrow(r))
            return true;
        if (label >= 0) {
            if (out_part->n < TG_MAX_RANK) {
                out_part->label[out_part->n] = (uint8_t)label;
                out_part->place[out_part->n] = r->at;
            }
            out_part->n++;
        } else if (!is_dots(r)) {
            return fail(r, TG_ERROR_INVALID_ARGUMENT, r->at,
                        "not a letter, ',', '...' or '->'");
        } else if (out_part->dots >= 0) {
            return fail(r, TG_ERROR_INVALID_ARGUMENT, r->at,
                        "a second '...' in one term");
        } else {
            out_part->dots = out_part->n;
            r->at += 2;
        }
    }
}

/* The labels of a part whose dots stand for n_axes axes: at most as many in
   all as there may be. */
static void expand(const part *p, int n_axes, tgi_einsum_term *out_term)
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

static bool read_operand(reader *r, size_t i, int rank,
                         tgi_einsum_term *out_term)
{
    part p;
    if (!read_part(r, &p))
        return false;
    const int n_axes = rank - p.n;
    if (p.dots < 0 ? n_axes != 0 : n_axes < 0)
        return fail(r, TG_ERROR_SHAPE, p.begin,
                    "term %zu is for rank %d%s, its operand has rank %d",
                    i + 1, p.n, p.dots < 0 ? "" : " or more", rank);
    expand(&p, n_axes, out_term);
    return true;
}

static bool finish(reader *r, const part *p, int n_axes,
                   tgi_einsum_term *out_result)
{
    if (p->n + n_axes > TG_MAX_RANK)
        return fail(r, TG_ERROR_OVERFLOW, p->begin,
                    "the result has %d axes, more than %d", p->n + n_axes,
                    TG_MAX_RANK);
    expand(p, n_axes, out_result);
    return true;
}

/* The result behind the arrow; `known` are the labels of the operands. */
static bool read_result(reader *r, uint64_t known, int n_axes,
                        tgi_einsum_term *out_result)
{
    part p;
    uint64_t seen = 0;
    if (!read_part(r, &p))
        return false;
    if (r->spec[r->at])
        return fail(r, TG_ERROR_INVALID_ARGUMENT, r->at,
                    "there is one result, and it is the last term");
    for (int i = 0; i < p.n && i < TG_MAX_RANK; i++) {
        const uint64_t bit = UINT64_C(1) << p.label[i];
        if (!(known & bit))
            return fail(r, TG_ERROR_INVALID_ARGUMENT, p.place[i],
                        "no operand has the label '%c'",
                        tgi_label_letter(p.label[i]));
        if (seen & bit)
            return fail(r, TG_ERROR_INVALID_ARGUMENT, p.place[i],
                        "'%c' stands twice in the result",
                        tgi_label_letter(p.label[i]));
        seen |= bit;
    }
    if (p.dots < 0 && n_axes > 0)
        return fail(r, TG_ERROR_INVALID_ARGUMENT, p.begin,
                    "the result has no '...' for the %s of the operands",
                    n_axes > 1 ? "axes" : "axis");
    return finish(r, &p, n_axes, out_result);
}

/* The result where none is written: labels that stand once. */
static bool imply_result(reader *r, uint64_t once, int n_axes,
                         tgi_einsum_term *out_result)
{
    part p = {.begin = r->at, .dots = 0};
    for (int label = 0; label < TGI_LETTERS; label++)
        if (once >> label & 1) {
            if (p.n < TG_MAX_RANK)
                p.label[p.n] = (uint8_t)label;
            p.n++;
        }
    return finish(r, &p, n_axes, out_result);
}

bool tgi_einsum_parse(const char *spec, const int *ranks, size_t n_operands,
                      tgi_einsum_term *out_terms, tgi_einsum_term *out_result,
                      tgi_einsum_error *out_error)
{
    reader r = {.spec = spec, .error = out_error};
    uint64_t seen = 0, again = 0;
    for (size_t i = 0; i < n_operands; i++) {
        if (i > 0 && spec[r.at++] != ',')
            return fail(&r, TG_ERROR_INVALID_ARGUMENT, r.at - 1,
                        "there is no term for operand %zu", i + 1);
        if (!read_operand(&r, i, ranks[i], &out_terms[i]))
            return false;
        for (int axis = 0; axis < out_terms[i].rank; axis++) {
            const uint64_t bit = UINT64_C(1) << out_terms[i].label[axis];
            again |= seen & bit;
            seen |= bit;
        }
    }
    if (spec[r.at] == ',')
        return fail(&r, TG_ERROR_INVALID_ARGUMENT, r.at,
                    "there are more terms than operands");

    int n_axes = 0; /* that '...' stands for */
    while (n_axes < TG_MAX_RANK && seen >> (TGI_LABELS - 1 - n_axes) & 1)
        n_axes++;
    if (!spec[r.at])
        return imply_result(&r, seen & ~again, n_axes, out_result);
    r.at += 2;
    return read_result(&r, seen, n_axes, out_result);
}
