/* SPDX-License-Identifier: MIT */
/*
 * op_matrix.h - reads tests/op_matrix/NAME.txt case by case and compares
 * elements with the expected ones. tests/op_matrix/case_file.py, which writes
 * the files, documents their format.
 */
#ifndef TGI_TEST_OP_MATRIX_H
#define TGI_TEST_OP_MATRIX_H

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "support/support.h"
#include "support/word_reader.h"

enum { MAX_INPUTS = 4, MAX_OUTPUTS = 2, MAX_SETS = 128, MAX_NUMBERS = 8 };

typedef struct elements {
    tg_dtype dtype;
    int rank;
    int64_t dims[TG_MAX_RANK];
    int64_t count;
    void *data; /* aligned for any dtype */
} elements;

typedef enum compare_mode { BITS, VALUE, ULP4, NEAR } compare_mode;

typedef struct expected {
    tg_dtype dtype;      /* of the result */
    elements reference;  /* elements of the result; f64 if the mode is NEAR */
    compare_mode mode;
    elements bounds; /* NEAR */
} expected;

typedef struct op_case {
    const char *file;
    int line;
    char name[32];
    char attributes[160]; /* "axis=1 dims=2,3" */
    elements in[MAX_INPUTS];
    bool is_shared[MAX_INPUTS]; /* shared by several cases */
    size_t n_in;
    expected out[MAX_OUTPUTS];
    size_t n_out;
    char text[160];
    bool has_text;
} op_case;

typedef struct matrix {
    word_file words;
    struct {
        char name[32];
        elements values;
    } sets[MAX_SETS];
    size_t n_sets;
} matrix;

/* -- Words ----------------------------------------------------------------- */

static inline void next_token(matrix *m)
{
    words_next(&m->words);
}

static inline bool is_token(const matrix *m, const char *word)
{
    return words_is(&m->words, word);
}

static inline matrix matrix_open(const char *file)
{
    return (matrix){.words = words_open("op_matrix", file)};
}

static inline void matrix_close(matrix *m)
{
    for (size_t i = 0; i < m->n_sets; i++)
        free(m->sets[i].values.data);
    words_close(&m->words);
}

/* -- Elements -------------------------------------------------------------- */

static inline tg_dtype dtype_named(const char *name)
{
    for (int i = 0; i < TGI_DTYPES; i++)
        if (tgi_dtype_is_valid(i) &&
            strcmp(tg_dtype_name((tg_dtype)i), name) == 0)
            return (tg_dtype)i;
    return TG_DTYPE_NONE;
}

static inline bool is_keyword(const char *token)
{
    static const char *const keywords[] = {"set", "case",  "with", "in",
                                           "out", "bound", "text", ""};
    for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++)
        if (strcmp(token, keywords[i]) == 0)
            return true;
    return false;
}

/* Reads elements up to the next keyword into e, whose dtype and shape are
   set. */
static inline void read_digits(matrix *m, elements *e)
{
    const size_t bytes = tg_dtype_bytes(e->dtype);
    const size_t per_element = e->dtype == TG_BOOL ? 1 : 2 * bytes;
    e->count = 1;
    for (int i = 0; i < e->rank; i++)
        e->count *= e->dims[i];
    e->data = aligned_alloc(64, ((size_t)e->count * bytes / 64 + 1) * 64);
    char *to = e->data;
    uint64_t bits = 0;
    size_t n = 0, n_read = 0;
    for (; !is_keyword(m->words.token); next_token(m))
        for (const char *at = m->words.token; *at; at++) {
            const char *digits = "0123456789abcdef";
            const char *digit = strchr(digits, *at);
            cr_assert_not_null(digit, "%s:%d: %s", m->words.file,
                               m->words.token_line, m->words.token);
            bits = bits << 4 | (uint64_t)(digit - digits);
            if (++n % per_element)
                continue;
            cr_assert_lt(n_read, (size_t)e->count, "%s:%d: too many elements",
                         m->words.file, m->words.token_line);
            memcpy(to + n_read++ * bytes, &bits, bytes); /* little-endian */
            bits = 0;
        }
    cr_assert(n_read == (size_t)e->count && n % per_element == 0,
              "%s:%d: %zu elements, not %" PRId64, m->words.file,
              m->words.token_line, n_read, e->count);
}

/* TYPE SHAPE */
static inline void read_type(matrix *m, elements *e)
{
    e->dtype = dtype_named(m->words.token);
    cr_assert_neq(e->dtype, TG_DTYPE_NONE, "%s:%d: %s is no type",
                  m->words.file, m->words.token_line, m->words.token);
    next_token(m);
    e->rank = words_shape(&m->words, e->dims);
}

static inline compare_mode read_mode(matrix *m)
{
    static const char *const names[] = {"bits", "value", "ulp4", "near"};
    int i = 0;
    while (i < 4 && !is_token(m, names[i]))
        i++;
    cr_assert_lt(i, 4, "%s:%d: %s is no mode", m->words.file,
                 m->words.token_line, m->words.token);
    next_token(m);
    return (compare_mode)i;
}

/* -- Cases ----------------------------------------------------------------- */

static inline void read_input(matrix *m, op_case *c)
{
    cr_assert_lt(c->n_in, MAX_INPUTS);
    elements *e = &c->in[c->n_in];
    for (size_t i = 0; i < m->n_sets; i++)
        if (is_token(m, m->sets[i].name)) {
            *e = m->sets[i].values;
            c->is_shared[c->n_in] = true;
            next_token(m);
        }
    if (!c->is_shared[c->n_in]) {
        read_type(m, e);
        read_digits(m, e);
    }
    c->n_in++;
}

static inline void read_output(matrix *m, op_case *c)
{
    cr_assert_lt(c->n_out, MAX_OUTPUTS);
    expected *out = &c->out[c->n_out++];
    read_type(m, &out->reference);
    out->mode = read_mode(m);
    out->dtype = out->reference.dtype;
    if (out->mode == NEAR)
        out->reference.dtype = TG_F64;
    read_digits(m, &out->reference);
    if (out->mode != NEAR)
        return;
    cr_assert(is_token(m, "bound"), "%s:%d", m->words.file,
              m->words.token_line);
    next_token(m);
    out->bounds = out->reference;
    read_digits(m, &out->bounds);
}

static inline void read_attributes(matrix *m, op_case *c)
{
    size_t n = 0;
    for (; !is_keyword(m->words.token); next_token(m)) {
        int more = snprintf(c->attributes + n, sizeof(c->attributes) - n,
                            " %s", m->words.token);
        n += (size_t)more;
        cr_assert_lt(n, sizeof(c->attributes));
    }
}

static inline void read_sets(matrix *m)
{
    while (is_token(m, "set")) {
        cr_assert_lt(m->n_sets, MAX_SETS);
        elements *e = &m->sets[m->n_sets].values;
        next_token(m);
        snprintf(m->sets[m->n_sets].name, sizeof(m->sets->name), "%.31s",
                 m->words.token);
        next_token(m);
        read_type(m, e);
        read_digits(m, e);
        m->n_sets++;
    }
}

/* False at the end of the file. Free with free_case. */
static inline bool read_case(matrix *m, op_case *c)
{
    *c = (op_case){.file = m->words.file};
    read_sets(m);
    if (is_token(m, ""))
        return false;
    cr_assert(is_token(m, "case"), "%s:%d: %s", m->words.file,
              m->words.token_line, m->words.token);
    c->line = m->words.token_line;
    next_token(m);
    snprintf(c->name, sizeof(c->name), "%.31s", m->words.token);
    next_token(m);
    while (!is_token(m, "case") && !is_token(m, "set") && !is_token(m, "")) {
        char keyword[8];
        snprintf(keyword, sizeof(keyword), "%.7s", m->words.token);
        if (strcmp(keyword, "text") == 0) {
            size_t n = strcspn(m->words.at, "\n");
            snprintf(c->text, sizeof(c->text), "%.*s", (int)n - 1,
                     m->words.at + 1);
            c->has_text = true;
            m->words.at += n;
        }
        next_token(m);
        if (strcmp(keyword, "with") == 0)
            read_attributes(m, c);
        else if (strcmp(keyword, "in") == 0)
            read_input(m, c);
        else if (strcmp(keyword, "out") == 0)
            read_output(m, c);
        else
            cr_assert(strcmp(keyword, "text") == 0, "%s:%d: %s", m->words.file,
                      m->words.token_line, keyword);
    }
    return true;
}

static inline void free_case(op_case *c)
{
    for (size_t i = 0; i < c->n_in; i++)
        if (!c->is_shared[i])
            free(c->in[i].data);
    for (size_t i = 0; i < c->n_out; i++) {
        free(c->out[i].reference.data);
        free(c->out[i].bounds.data);
    }
}

/* The numbers of attribute `key`; returns how many there are. */
static inline int attribute_list(const op_case *c, const char *key,
                                 int64_t numbers[MAX_NUMBERS])
{
    char pattern[32];
    snprintf(pattern, sizeof(pattern), " %s=", key);
    const char *at = strstr(c->attributes, pattern);
    cr_assert_not_null(at, "%s:%d: there is no %s", c->file, c->line, key);
    at += strlen(pattern);
    int n = 0;
    while (*at && *at != ' ') {
        char *end;
        numbers[n++] = strtoll(at, &end, 10);
        at = end + (*end == ',');
    }
    return n;
}

static inline int64_t attribute(const op_case *c, const char *key)
{
    int64_t numbers[MAX_NUMBERS];
    cr_assert_eq(attribute_list(c, key, numbers), 1, "%s:%d: %s", c->file,
                 c->line, key);
    return numbers[0];
}

/* 0 if there is none such. */
static inline int64_t attribute_or_0(const op_case *c, const char *key)
{
    char pattern[32];
    snprintf(pattern, sizeof(pattern), " %s=", key);
    return strstr(c->attributes, pattern) ? attribute(c, key) : 0;
}

/* -- Comparing ------------------------------------------------------------- */

static inline double as_double(tg_dtype dtype, const void *element)
{
    float f;
    double d;
    uint16_t half;
    if (tgi_dtype_is(dtype, TGI_CLASS_HALF)) {
        memcpy(&half, element, sizeof(half));
        return (double)tgi_half_to_float(dtype, half);
    }
    if (dtype == TG_F32) {
        memcpy(&f, element, sizeof(f));
        return (double)f;
    }
    memcpy(&d, element, sizeof(d));
    return d;
}

/* Maps floats to integers in the same order; -0 and +0 are one apart. */
static inline int64_t order_of(tg_dtype dtype, const void *element)
{
    int16_t half;
    int32_t narrow;
    int64_t bits;
    if (tgi_dtype_is(dtype, TGI_CLASS_HALF)) {
        memcpy(&half, element, sizeof(half));
        return half < 0 ? INT16_MIN - (int64_t)half - 1 : half;
    }
    if (dtype == TG_F32) {
        memcpy(&narrow, element, sizeof(narrow));
        return narrow < 0 ? INT32_MIN - (int64_t)narrow - 1 : narrow;
    }
    memcpy(&bits, element, sizeof(bits));
    return bits < 0 ? INT64_MIN - bits - 1 : bits;
}

static inline bool is_within_4_ulp(tg_dtype dtype, const void *got,
                                   const void *wanted)
{
    const double a = as_double(dtype, got), b = as_double(dtype, wanted);
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    if (isinf(a) || isinf(b))
        return a == b;
    if (signbit(a) != signbit(b))
        return false;
    /* The error of an f32 shows in a half only next to a tie. */
    const int64_t most = tgi_dtype_is(dtype, TGI_CLASS_HALF) ? 1 : 4;
    const int64_t distance = order_of(dtype, got) - order_of(dtype, wanted);
    return distance >= -most && distance <= most;
}

static inline bool is_near(double got, double wanted, double bound)
{
    if (isnan(got) || isnan(wanted))
        return isnan(got) && isnan(wanted);
    return got == wanted || fabs(got - wanted) <= bound;
}

/* True if element i of `got` is as expected. */
static inline bool element_fits(const expected *want, const char *got,
                                int64_t i)
{
    const size_t bytes = tg_dtype_bytes(want->dtype);
    const char *reference = want->reference.data;
    const char *element = got + (size_t)i * bytes;
    switch (want->mode) {
    case BITS:
        return memcmp(element, reference + (size_t)i * bytes, bytes) == 0;
    case VALUE:
        if (memcmp(element, reference + (size_t)i * bytes, bytes) == 0)
            return true;
        return tgi_dtype_is(want->dtype, TGI_CLASS_REAL) &&
               isnan(as_double(want->dtype, element)) &&
               isnan(as_double(want->dtype, reference + (size_t)i * bytes));
    case ULP4:
        return is_within_4_ulp(want->dtype, element,
                               reference + (size_t)i * bytes);
    default:
        return is_near(as_double(want->dtype, element),
                       ((const double *)want->reference.data)[i],
                       ((const double *)want->bounds.data)[i]);
    }
}

#endif /* TGI_TEST_OP_MATRIX_H */
