/* SPDX-License-Identifier: MIT */
/*
 * run.h - shared by the programs of tests/docs, which run the C blocks of a page of
 * docs/. check-doc-blocks.sh writes the blocks to PAGE.blocks.h; block number N is
 * the function blockN unless it declares functions itself.
 */
#ifndef TESTS_DOCS_RUN_H
#define TESTS_DOCS_RUN_H

#include <stdio.h>
#include <stdlib.h>
#include <tgjit.h>

#define CHECK(condition) \
    check_that((condition), #condition, __FILE__, __LINE__)

static inline void check_that(bool is_true, const char *text, const char *file,
                              int line)
{
    if (is_true)
        return;
    fprintf(stderr, "%s:%d: not true: %s\n%s\n", file, line, text,
            tg_error(NULL));
    exit(1);
}

static inline tg_tensor *filled(tg_context *ctx, tg_dtype dtype, int rank,
                                const int64_t *dims, double x)
{
    tg_tensor *t = tg_tensor_create(ctx, dtype, rank, dims, tg_fill(x));
    CHECK(t);
    return t;
}

static inline tg_variable *variable(tg_context *ctx, const char *name, int rank,
                                    const int64_t *dims, double x)
{
    tg_variable *v =
        tg_variable_create(ctx, name, TG_F32, rank, dims, tg_fill(x));
    CHECK(v);
    return v;
}

#endif /* TESTS_DOCS_RUN_H */
