/* SPDX-License-Identifier: MIT */
/*
 * test_sort.c - positions that sort rows of many lengths, against an insertion
 * of each element behind those that are not larger, for all dtypes,
 * interpreted and compiled, with known and unknown extents. Elements have few
 * different values, so that an unstable sort shows, and many, so that all
 * digits of their keys count.
 */
#include <math.h>
#include <string.h>

#include "support/modes.h"

enum { MOST = 700 };

typedef struct sorting {
    tg_dtype dtype;
    int64_t rows, n;
    unsigned flags;
} sorting;

static void sort(tg_trace *t, const tg_value *in, void *user)
{
    const sorting *s = user;
    tg_return(t, tg_argsort_with(in[0], 1, s->flags));
}

/* -- The definition -------------------------------------------------------- */

/* -1, 0 or 1; NaN is the largest number, and equal to itself. */
static int compare(tg_dtype dtype, const void *x, int64_t i, int64_t j)
{
#define COMPARE(type) \
    { \
        const type *v = x; \
        const bool is_nan = v[i] != v[i], other = v[j] != v[j]; \
        return is_nan || other ? is_nan - other \
                               : (v[i] > v[j]) - (v[i] < v[j]); \
    }
    switch (dtype) {
    case TG_F32:
        COMPARE(float)
    case TG_F64:
        COMPARE(double)
    case TG_I8:
        COMPARE(int8_t)
    case TG_I16:
        COMPARE(int16_t)
    case TG_I32:
        COMPARE(int32_t)
    case TG_I64:
        COMPARE(int64_t)
    case TG_U16:
        COMPARE(uint16_t)
    case TG_U32:
        COMPARE(uint32_t)
    case TG_U64:
        COMPARE(uint64_t)
    default:
        COMPARE(uint8_t)
    }
#undef COMPARE
}

static void sort_row(const sorting *s, const void *x, int64_t begin,
                     int64_t *order)
{
    const int sign = s->flags & TG_SORT_DESCENDING ? -1 : 1;
    for (int64_t i = 0; i < s->n; i++) {
        int64_t at = i;
        while (at > 0 && sign * compare(s->dtype, x, begin + order[at - 1],
                                        begin + i) > 0) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
    }
}

/* -- Comparison ------------------------------------------------------------ */

static uint64_t noise(uint64_t *state)
{
    *state = *state * 6364136223846793005 + 1442695040888963407;
    return *state >> 11 ^ *state << 20;
}

/* Every third value is one of few. -0 and +0 are not among the floats: they
   differ in order, but are equal in C. */
static void fill(const sorting *s, void *x)
{
    uint64_t state = (uint64_t)s->n;
    for (int64_t i = 0; i < s->rows * s->n; i++) {
        const uint64_t bits = noise(&state);
        const bool is_common = bits % 3 == 0;
        const int64_t few = (int64_t)(bits >> 32 & 3) - 1;
        const double number = is_common ? (few ? (double)few : HUGE_VAL)
                              : bits % 17 == 1
                                  ? (double)NAN
                                  : ldexp((double)(int64_t)bits,
                                          (int)(bits >> 40 & 31) - 80);
        const uint64_t integer = is_common ? (uint64_t)few : bits;
        const size_t bytes = (size_t)tg_dtype_bytes(s->dtype);
        const uint8_t truth = bits & 1;
        const float single = (float)number;
        const void *value = s->dtype == TG_F32    ? (const void *)&single
                            : s->dtype == TG_F64  ? (const void *)&number
                            : s->dtype == TG_BOOL ? (const void *)&truth
                                                  : (const void *)&integer;
        memcpy((char *)x + (size_t)i * bytes, value, bytes);
    }
}

static void check_order(session *s, sorting how, tg_policy policy)
{
    static uint64_t x[MOST];
    static int64_t want[MOST];
    fill(&how, x);
    for (int64_t i = 0; i < how.rows; i++)
        sort_row(&how, x, i * how.n, &want[i * how.n]);
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.policy = policy;
    tg_function *f = tg_function_create(s->ctx, sort, &how, &options);
    tg_tensor *in =
        tg_tensor_copy(s->ctx, x, how.dtype, TG_DIMS(how.rows, how.n));
    tg_tensor *r = NULL;
    check_works(tg_call(f, TG_ARGS(in), TG_RESULTS(&r)));
    check_i64_at(__LINE__, r, want, how.rows * how.n);
    tg_tensor_release(in);
    tg_function_release(f);
}

static void check_all_dtypes(session *s)
{
    static const tg_dtype dtypes[] = {TG_BOOL, TG_I8,  TG_I16, TG_I32,
                                      TG_I64,  TG_U8,  TG_U16, TG_U32,
                                      TG_U64,  TG_F32, TG_F64};
    for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++) {
        check_order(s, (sorting){dtypes[i], 3, 200, 0}, TG_EXACT);
        check_order(s, (sorting){dtypes[i], 2, 65, TG_SORT_DESCENDING},
                    TG_RELAXED);
    }
}

Test(sort, orders_all_dtypes)
{
    in_modes(check_all_dtypes);
}

/* Blocks have 64 elements. */
static void check_all_lengths(session *s)
{
    static const int64_t lengths[] = {1, 2, 33, 63, 64, 65, 127, 128, 129, 640};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
        for (tg_policy policy = TG_EXACT; policy <= TG_RELAXED; policy++) {
            check_order(s, (sorting){TG_F32, 1, lengths[i], 0}, policy);
            check_order(s,
                        (sorting){TG_I32, MOST / lengths[i] < 5 ? 1 : 5,
                                  lengths[i], TG_SORT_DESCENDING},
                        policy);
        }
}

Test(sort, orders_rows_of_any_length)
{
    in_modes(check_all_lengths);
}
