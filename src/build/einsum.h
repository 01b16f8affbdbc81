/* SPDX-License-Identifier: MIT */
/*
 * einsum.h - Einstein summation: every axis of an operand has a label, axes of
 * one label are paired, and labels that the result lacks are summed over.
 * tg_einsum's text is parsed to terms here; build_einsum.c lowers terms to
 * nodes.
 */
#ifndef TGI_EINSUM_H
#define TGI_EINSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tgjit/base.h"

/*
 * Labels are small numbers: letters in alphabetical order, capitals first, then
 * the axes of '...' from left to right; the last of these is always
 * TGI_LABELS - 1.
 */
enum {
    TGI_LETTERS = 2 * 26,
    TGI_LABELS = TGI_LETTERS + TG_MAX_RANK
};

static inline bool tgi_label_is_letter(int label)
{
    return label < TGI_LETTERS;
}

/* The letter of a label for which tgi_label_is_letter holds. */
static inline char tgi_label_letter(int label)
{
    return (char)(label < 26 ? 'A' + label : 'a' + label - 26);
}

/* The labels of a tensor, one per axis. */
typedef struct tgi_einsum_term {
    int rank;
    uint8_t label[TG_MAX_RANK];
} tgi_einsum_term;

/* The labels of a term as a bit mask. */
static inline uint64_t tgi_einsum_term_mask(const tgi_einsum_term *term)
{
    uint64_t mask = 0;
    for (int i = 0; i < term->rank; i++)
        mask |= UINT64_C(1) << term->label[i];
    return mask;
}

/* The first axis with that label; -1 if none. */
static inline int tgi_einsum_term_find(const tgi_einsum_term *term, int label)
{
    for (int i = 0; i < term->rank; i++)
        if (term->label[i] == label)
            return i;
    return -1;
}

static inline bool tgi_label_in(uint64_t mask, int label)
{
    return mask >> label & 1;
}

/* The labels of a term that are in the mask, in order. */
static inline tgi_einsum_term tgi_einsum_term_pick(const tgi_einsum_term *from,
                                                   uint64_t mask)
{
    tgi_einsum_term term = {0};
    for (int i = 0; i < from->rank; i++)
        if (tgi_label_in(mask, from->label[i]))
            term.label[term.rank++] = from->label[i];
    return term;
}

static inline void tgi_einsum_term_append(tgi_einsum_term *term,
                                          const tgi_einsum_term *more)
{
    for (int i = 0; i < more->rank; i++)
        term->label[term->rank++] = more->label[i];
}

/* True if these labels are adjacent in a term, in this order. */
static inline bool tgi_einsum_term_has_run(const tgi_einsum_term *term,
                                           const tgi_einsum_term *labels)
{
    const int n = labels->rank;
    const int begin = n ? tgi_einsum_term_find(term, labels->label[0]) : 0;
    return begin >= 0 && begin + n <= term->rank &&
           memcmp(term->label + begin, labels->label, (size_t)n) == 0;
}

/* Why a specification is invalid. */
typedef struct tgi_einsum_error {
    tg_status status;
    char text[120];
} tgi_einsum_error;

/*
 * Parses a specification such as "ij,jk->ik" for operands of these ranks.
 * Without "->", the result has the axes of '...', then the labels that occur
 * once, in alphabetical order. False and *out_error if it is invalid; messages
 * count characters from 1.
 */
bool tgi_einsum_parse(const char *spec, const int *ranks, size_t n_operands,
                      tgi_einsum_term *out_terms, tgi_einsum_term *out_result,
                      tgi_einsum_error *out_error);

#endif /* TGI_EINSUM_H */
