/* SPDX-License-Identifier: MIT */
/*
 * expected_numbers.h - arrays of numbers in the files of tests/gradients, as
 * tensors of any float dtype, and the comparison of results with them.
 */
#ifndef TGI_TEST_EXPECTED_NUMBERS_H
#define TGI_TEST_EXPECTED_NUMBERS_H

#include <math.h>
#include <stdlib.h>

#include "support/api.h"
#include "support/word_reader.h"

typedef struct numbers {
    bool is_real; /* else i64 */
    int rank;
    int64_t dims[TG_MAX_RANK];
    int64_t count;
    double *data;
} numbers;

/* Reads SHAPE NUMBERS. */
static inline void read_numbers(word_file *w, numbers *out, bool is_real)
{
    out->is_real = is_real;
    out->rank = words_shape(w, out->dims);
    out->count = 1;
    for (int i = 0; i < out->rank; i++)
        out->count *= out->dims[i];
    out->data = malloc((size_t)out->count * sizeof(double));
    cr_assert_not_null(out->data);
    for (int64_t i = 0; i < out->count; i++) {
        char *end;
        out->data[i] = strtod(w->token, &end);
        cr_assert(*w->token && !*end, "%s:%d: %s is no number", w->file,
                  w->token_line, w->token);
        words_next(w);
    }
}

/* Reads lines "in TYPE SHAPE NUMBERS" or "out SHAPE NUMBERS"; returns how
   many. */
static inline size_t read_number_lines(word_file *w, const char *which,
                                       numbers *out, size_t capacity)
{
    size_t n = 0;
    for (; words_is(w, which); n++) {
        bool is_real = true;
        words_next(w);
        if (strcmp(which, "in") == 0) {
            is_real = words_is(w, "real");
            words_next(w);
        }
        cr_assert_lt(n, capacity);
        read_numbers(w, &out[n], is_real);
    }
    return n;
}

static inline void store_numbers(const numbers *from, tg_dtype dtype, void *to)
{
    for (int64_t i = 0; i < from->count; i++)
        if (!from->is_real)
            ((int64_t *)to)[i] = (int64_t)from->data[i];
        else if (dtype == TG_F32)
            ((float *)to)[i] = (float)from->data[i];
        else
            ((double *)to)[i] = from->data[i];
}

/* Reals have this dtype, integers are i64. */
static inline tg_tensor *tensor_of(tg_context *ctx, const numbers *from,
                                   tg_dtype dtype)
{
    tg_tensor *made = tg_tensor_create(ctx, from->is_real ? dtype : TG_I64,
                                       from->rank, from->dims, tg_zeros());
    cr_assert_not_null(made);
    store_numbers(from, dtype, tg_tensor_data(made));
    return made;
}

static inline tg_variable *variable_of(tg_context *ctx, const numbers *from,
                                       tg_dtype dtype)
{
    tg_variable *made = tg_variable_create(
        ctx, NULL, from->is_real ? dtype : TG_I64, from->rank, from->dims,
        tg_zeros());
    cr_assert_not_null(made);
    void *data = tg_variable_map(made, TG_WRITE);
    store_numbers(from, dtype, data);
    cr_assert_eq(tg_variable_unmap(made), TG_OK);
    return made;
}

static inline double number_at(const void *data, tg_dtype dtype, int64_t i)
{
    return dtype == TG_F32 ? (double)((const float *)data)[i]
                           : ((const double *)data)[i];
}

/* Errors are relative to the largest element, because small elements are often
   differences of large ones; `rough` is a factor on the usual bound. */
static inline double numbers_bound(const numbers *want, tg_dtype dtype,
                                   double rough)
{
    double most = 0;
    for (int64_t k = 0; k < want->count; k++)
        most = fmax(most, fabs(want->data[k]));
    return most * (dtype == TG_F32 ? 5e-6 : 1e-13) * rough;
}

#endif /* TGI_TEST_EXPECTED_NUMBERS_H */
