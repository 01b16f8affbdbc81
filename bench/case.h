/* SPDX-License-Identifier: MIT */
/*
 * case.h - what is measured. A case has sizes, and belongs to a family, which
 * knows how to set it up, verify and run it:
 *
 *   experiment  a case at one size: inputs, and the results to compare with
 *   runner      an experiment made ready for one back end and team; one row
 *               of the report
 */
#ifndef BENCH_CASE_H
#define BENCH_CASE_H

#include <stddef.h>
#include <stdint.h>

#include "backend.h"

typedef struct bench_case bench_case;
typedef struct experiment experiment;
typedef struct runner runner;

typedef enum size_use {
    SIZE_BY_DEFAULT, /* timed */
    SIZE_ON_REQUEST, /* timed if a filter asks for it: there are many */
    SIZE_IN_CHECK    /* awkward, for --check: not worth timing */
} size_use;

typedef struct case_size {
    const char *label; /* NULL ends a list */
    int64_t rows;      /* 0: a vector of `columns` elements */
    int64_t columns;
    int64_t inner;     /* what a product of matrices sums over; 0: none */
    int64_t batch;     /* how many matrices; 0: one, without that axis */
    size_use use;
} case_size;

#define SIZE_TIMED(label, rows, columns) \
    {label, rows, columns, 0, 0, SIZE_BY_DEFAULT}
#define SIZE_CHECKED(label, rows, columns) \
    {label, rows, columns, 0, 0, SIZE_IN_CHECK}
#define SIZE_PRODUCT(label, batch, rows, inner, columns, use) \
    {label, rows, columns, inner, batch, use}
#define SIZES_END {NULL, 0, 0, 0, 0, SIZE_IN_CHECK}

/* How ordinary the inputs of an experiment are. */
typedef enum input_kind {
    INPUTS_PLAIN,
    INPUTS_HARSH /* with NaN, infinities, denormals … among them */
} input_kind;

/* Bytes of values between the steps of a run: the memory for them, and how
   many are in use at once at the most. */
typedef struct stored_bytes {
    uint64_t taken, least;
} stored_bytes;

/* Functions that can fail give the reason. */
typedef struct case_family {
    /* Whether there is such a row, available or not. */
    bool (*has_backend)(const bench_case *c, const case_size *size,
                        backend which);

    experiment *(*begin)(const bench_case *c, const case_size *size,
                         input_kind inputs, reason *out_why);
    void (*end)(experiment *e);

    runner *(*start)(experiment *e, backend which, int threads,
                     reason *out_why);
    void (*stop)(runner *r);

    /* Runs once and compares with the reference. */
    bool (*verify)(runner *r, reason *out_why);

    /*
     * Runs many times. A family which measures only a part of that stores
     * its seconds; else *out_seconds is left alone.
     */
    bool (*run)(runner *r, int64_t iterations, double *out_seconds);

    /* Bytes of memory the last run had, if that is of interest; else NULL. */
    size_t (*resident)(const runner *r);

    /* What a run stores between its steps; false: not of interest, or not
       known. May be NULL. */
    bool (*stored)(const runner *r, stored_bytes *out_stored);
} case_family;

struct bench_case {
    const char *name;
    const case_size *sizes;
    const case_family *family;
    const void *what;     /* tensor_case, graph_case or process_case */
    bool is_serial;       /* measured with one thread only */
    double bytes, flops;  /* moved and done per element or step; 0: not of
                             interest */
};

/* All cases, in the order of the report; `name` NULL ends the list. */
extern const bench_case all_cases[];

/* Elements of a size, or steps of a product: what bytes and flops are counted
   for. */
static inline double size_count(const case_size *size)
{
    return (double)(size->batch ? size->batch : 1) *
           (double)(size->rows ? size->rows : 1) *
           (double)(size->inner ? size->inner : 1) * (double)size->columns;
}

#endif /* BENCH_CASE_H */
