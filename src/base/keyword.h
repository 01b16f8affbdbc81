/* SPDX-License-Identifier: MIT */
/*
 * keyword.h - keyword tables and comma-separated lists, for settings.
 */
#ifndef TGI_KEYWORD_H
#define TGI_KEYWORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tgi_keyword {
    const char *word; /* NULL ends a table */
    uint32_t bits;
    uint32_t clears; /* bits of earlier keywords that this one overrides */
} tgi_keyword;

/* A substring, not NUL-terminated. */
typedef struct tgi_token {
    const char *text;
    size_t n;
} tgi_token;

/* The table entry of a word, or NULL. */
const tgi_keyword *tgi_keyword_find(const tgi_keyword *table, tgi_token word);

/* Reads the next word of a list separated by commas, spaces or tabs, and
   advances *list past it; false at the end. */
bool tgi_token_next(const char **list, tgi_token *out_word);

/* True if an equal word precedes `word`, a token of `list`. */
bool tgi_token_is_repeated(const char *list, tgi_token word);

#endif /* TGI_KEYWORD_H */
