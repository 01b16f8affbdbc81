/* SPDX-License-Identifier: MIT */
/*
 * corpus.h - inputs of fuzzers as text: one string of bytes a line, in
 * hexadecimal; # begins a comment.
 */
#ifndef TGI_TEST_CORPUS_H
#define TGI_TEST_CORPUS_H

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { CORPUS_MAX_BYTES = 4096 };

/* Bytes of a line; returns their number, at most CORPUS_MAX_BYTES. */
static inline size_t corpus_parse(const char *text, uint8_t *bytes)
{
    size_t n = 0;
    for (unsigned byte;
         n < CORPUS_MAX_BYTES && isxdigit((unsigned char)text[0]) &&
         isxdigit((unsigned char)text[1]) && sscanf(text, "%2x", &byte) == 1;
         text += 2)
        bytes[n++] = (uint8_t)byte;
    return n;
}

/*
 * Calls `check` with each string of $srcdir/tests/corpus/NAME, as in make check;
 * elsewhere there is none. Prints the lines that fail; returns their number.
 */
static inline unsigned corpus_replay(const char *name,
                                     bool (*check)(const uint8_t *bytes,
                                                   size_t n))
{
    const char *srcdir = getenv("srcdir");
    static char line[2 * CORPUS_MAX_BYTES + 2], path[4096];
    static uint8_t bytes[CORPUS_MAX_BYTES];
    unsigned n_failed = 0, n_strings = 0;
    if (!srcdir)
        return 0;
    snprintf(path, sizeof(path), "%s/tests/corpus/%s", srcdir, name);
    FILE *file = fopen(path, "r");
    if (!file) {
        printf("cannot read %s\n", path);
        return 1;
    }
    for (int i = 1; fgets(line, sizeof(line), file); i++) {
        const size_t n = corpus_parse(line, bytes);
        n_strings += n > 0;
        if (n && !check(bytes, n)) {
            printf("%s:%d fails\n", name, i);
            n_failed++;
        }
    }
    fclose(file);
    printf("%s: %u strings, %u failed\n", name, n_strings, n_failed);
    return n_failed;
}

#endif /* TGI_TEST_CORPUS_H */
