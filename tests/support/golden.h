/* SPDX-License-Identifier: MIT */
/*
 * golden.h - compares text with a file of tests/golden, byte for byte. If
 * UPDATE_GOLDEN is set in the environment, the file is written instead; review
 * the difference before committing it.
 */
#ifndef TGI_TEST_GOLDEN_H
#define TGI_TEST_GOLDEN_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void check_golden(const char *name, const char *text)
{
    const char *srcdir = getenv("srcdir");
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/golden/%s", srcdir ? srcdir : ".",
             name);
    if (getenv("UPDATE_GOLDEN")) {
        FILE *out = fopen(path, "wb");
        cr_assert_not_null(out, "%s", path);
        cr_assert_geq(fputs(text, out), 0);
        fclose(out);
        return;
    }

    static char expected[1 << 16];
    FILE *in = fopen(path, "rb");
    cr_assert_not_null(in, "%s", path);
    size_t n = fread(expected, 1, sizeof expected - 1, in);
    fclose(in);
    expected[n] = 0;
    cr_assert_str_eq(text, expected, "%s differs; this is what came:\n%s",
                     name, text);
}

#endif /* TGI_TEST_GOLDEN_H */
