/* SPDX-License-Identifier: MIT */
/*
 * word_reader.h - reads files of whitespace-separated words, with comment lines
 * that begin with '#': tests/FOLDER/NAME.txt, for tests that compare with
 * expected values.
 */
#ifndef TGI_TEST_WORD_READER_H
#define TGI_TEST_WORD_READER_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct word_file {
    const char *file;
    char *text, *at;
    int line;
    char token[80]; /* the next word, "" at the end */
    int token_line; /* its line */
} word_file;

static inline void words_next(word_file *w)
{
    for (;;) {
        while (*w->at && strchr(" \n", *w->at))
            w->line += *w->at++ == '\n';
        if (*w->at != '#')
            break;
        w->at += strcspn(w->at, "\n");
    }
    size_t n = strcspn(w->at, " \n");
    cr_assert_lt(n, sizeof(w->token), "%s:%d", w->file, w->line);
    memcpy(w->token, w->at, n);
    w->token[n] = '\0';
    w->at += n;
    w->token_line = w->line;
}

static inline bool words_is(const word_file *w, const char *word)
{
    return strcmp(w->token, word) == 0;
}

/* Opens a file and reads the first word. */
static inline word_file words_open(const char *folder, const char *file)
{
    word_file w = {.file = file, .line = 1};
    const char *srcdir = getenv("srcdir");
    char path[4096];
    snprintf(path, sizeof(path), "%s/tests/%s/%s.txt", srcdir ? srcdir : ".",
             folder, file);
    FILE *in = fopen(path, "rb");
    cr_assert_not_null(in, "%s", path);
    cr_assert_eq(fseek(in, 0, SEEK_END), 0);
    const long bytes = ftell(in);
    cr_assert_gt(bytes, 0);
    rewind(in);
    w.at = w.text = malloc((size_t)bytes + 1);
    cr_assert_eq(fread(w.text, 1, (size_t)bytes, in), (size_t)bytes);
    w.text[bytes] = '\0';
    fclose(in);
    words_next(&w);
    return w;
}

static inline void words_close(word_file *w)
{
    free(w->text);
}

/* Parses 2x3, or . for a scalar; returns the rank. */
static inline int words_shape(word_file *w, int64_t *dims)
{
    int rank = 0;
    for (char *at = w->token; *at != '.' && *at; at += *at == 'x')
        dims[rank++] = strtoll(at, &at, 10);
    words_next(w);
    return rank;
}

#endif /* TGI_TEST_WORD_READER_H */
