/* SPDX-License-Identifier: MIT */
/*
 * case.h - benchmark cases. A case has sizes and belongs to a family, which
 * sets it up, verifies and runs it:
 *
 *   experiment  a case at one size: inputs and expected results
 *   runner      an experiment prepared for one back end and number of threads;
 *               one row of the report
 */
#ifndef BENCH_CASE_H
#define BENCH_CASE_H

#include <stddef.h>
#include <stdint.h>

#include "backend.h"

typedef struct bench_case bench_case;
typedef struct experiment experiment;
typedef struct runner runner;
typedef struct row row;

typedef enum size_use {
    SIZE_BY_DEFAULT, /* timed */
    SIZE_ON_REQUEST, /* timed with --all, or if a filter matches */
    SIZE_OF_CURVE,   /* the same, and with --html, which draws it */
    SIZE_OF_LONG_CURVE, /* drawn too, but takes too long for every page */
    SIZE_IN_CHECK    /* verified by --check, never timed */
} size_use;

typedef struct case_size {
    const char *label; /* NULL ends a list */
    int64_t rows;      /* 0: a vector of `columns` elements */
    int64_t columns;
    int64_t inner;     /* k of a matrix product; 0: none */
    int64_t batch;     /* number of matrices; 0: one, without a batch axis */
    size_use use;
} case_size;

#define SIZE_TIMED(label, rows, columns) \
    {label, rows, columns, 0, 0, SIZE_BY_DEFAULT}
#define SIZE_CHECKED(label, rows, columns) \
    {label, rows, columns, 0, 0, SIZE_IN_CHECK}
#define SIZE_PRODUCT(label, batch, rows, inner, columns, use) \
    {label, rows, columns, inner, batch, use}
#define SIZES_END {NULL, 0, 0, 0, 0, SIZE_IN_CHECK}

/* The kind of inputs of an experiment. */
typedef enum input_kind {
    INPUTS_PLAIN,
    INPUTS_HARSH /* including NaN, infinities, denormals, … */
} input_kind;

/* Bytes of the temporaries of a run: allocated, and the peak in use. */
typedef struct stored_bytes {
    uint64_t allocated, peak;
} stored_bytes;

/* Functions that can fail return the reason. */
typedef struct case_family {
    /* True if there is such a row, available or not. */
    bool (*has_backend)(const bench_case *c, const case_size *size,
                        backend which);

    experiment *(*begin)(const bench_case *c, const case_size *size,
                         input_kind inputs, reason *out_why);
    void (*end)(experiment *e);

    runner *(*start)(experiment *e, backend which, int threads,
                     reason *out_why);
    void (*stop)(runner *r);

    /* Runs once and compares the results with the reference. */
    bool (*verify)(runner *r, reason *out_why);

    /*
     * Runs `iterations` times. A family that times only part of the run sets
     * *out_seconds; others leave it unchanged.
     */
    bool (*run)(runner *r, int64_t iterations, double *out_seconds,
                reason *out_why);

    /* Adds to a measured row what is known of it: phases, dtype, bytes. NULL:
       nothing. */
    void (*describe)(const runner *r, row *to);

    /* Resident bytes of the last run. NULL: not reported. */
    size_t (*resident)(const runner *r);

    /* Temporaries of a run; false if unknown. NULL: not reported. */
    bool (*stored)(const runner *r, stored_bytes *out_stored);
} case_family;

struct bench_case {
    const char *name;
    const case_size *sizes;
    const case_family *family;
    const void *what;     /* tensor_case, graph_case, data_case, … */
    bool is_serial;       /* measured with one thread only */
    bool is_overhead;     /* a heading of cases that are no computation to
                             compare: calls, compiles, a busy machine */
    bool is_busy;         /* measured beside a process that computes, per CPU */
    /* Number of elements, or of multiply-adds of matrix products and
       convolutions. NULL: that of size_count. */
    double (*count)(const case_size *size);
    double bytes, flops;  /* per such unit; 0: not reported */
};

/* All cases, in the order of the report; `name` NULL ends the list. An entry
   without sizes is the heading of those that follow. */
extern const bench_case all_cases[];

/* Number of elements, or of multiply-adds of a matrix product. */
static inline double size_count(const case_size *size)
{
    return (double)(size->batch ? size->batch : 1) *
           (double)(size->rows ? size->rows : 1) *
           (double)(size->inner ? size->inner : 1) * (double)size->columns;
}

/* The unit of `bytes` and `flops`. */
static inline double case_count(const bench_case *c, const case_size *size)
{
    return c->count ? c->count(size) : size_count(size);
}

#endif /* BENCH_CASE_H */
