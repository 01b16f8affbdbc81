/* SPDX-License-Identifier: MIT */
/*
 * keyword.h - tables of words that settings are made of, and lists of them.
 */
#ifndef TGI_KEYWORD_H
#define TGI_KEYWORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tgi_keyword {
    const char *word; /* NULL ends a table */
    uint32_t bits;
    uint32_t clears; /* bits of earlier words that this one replaces */
} tgi_keyword;

/* A part of a text, not terminated. */
typedef struct tgi_token {
    const char *text;
    size_t n;
} tgi_token;

/* The entry of a table, or NULL. */
const tgi_keyword *tgi_keyword_find(const tgi_keyword *table, tgi_token word);

/* Takes the next word, between commas or blanks, off a list; false at its
   end. */
bool tgi_token_next(const char **list, tgi_token *out_word);

/* True if the list has the same word before this one, which is part of it. */
bool tgi_token_is_repeated(const char *list, tgi_token word);

#endif /* TGI_KEYWORD_H */
