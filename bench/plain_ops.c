/* SPDX-License-Identifier: MIT */
/*
 * plain_ops.c - the loops of ops.def in plain C, as a user would write them.
 * Compiled twice: plain_ops_NAME with fast math, so that functions are those of
 * libmvec, of up to 4 ulp; strict_ops_NAME without, so that they are those of
 * libm, and sums keep their order.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "peers.h"

#ifdef STRICT_MATH
#define LOOP(name) strict_ops_##name
#else
#define LOOP(name) plain_ops_##name
#endif

static inline float half_of(float x)
{
#ifdef __FLT16_MAX__
    return (float)(_Float16)x;
#else
    return x;
#endif
}

static inline float bfloat_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
    memcpy(&x, &bits, sizeof(bits));
    return x;
}

/* -- Elementwise ----------------------------------------------------------- */

#define UNARY(name, low, high, loop, ...) \
    void LOOP(name)(const kernel_buffers *b) \
    { \
        const float *restrict in = b->in[0]; \
        float *restrict out = b->out[0]; \
        for (int64_t i = 0; i < b->count; i++) { \
            const float x = in[i]; \
            out[i] = loop; \
        } \
    }
#define BINARY(name, low, high, other_low, other_high, loop, ...) \
    void LOOP(name)(const kernel_buffers *b) \
    { \
        const float *restrict in = b->in[0], *restrict other = b->in[1]; \
        float *restrict out = b->out[0]; \
        for (int64_t i = 0; i < b->count; i++) { \
            const float x = in[i], y = other[i]; \
            out[i] = loop; \
        } \
    }
#define OTHER(...)
#define LONG(...)
#include "ops.def"

/* -- Rows and columns ------------------------------------------------------ */

/* out[r] = result of a loop over the elements x of row r. */
#define DEFINE_BY_ROW(name, start, step, result) \
    void LOOP(name)(const kernel_buffers *b) \
    { \
        const float *in = b->in[0]; \
        float *restrict out = b->out[0]; \
        for (int64_t r = 0; r < b->rows; r++, in += b->columns) { \
            float sum = start; \
            for (int64_t i = 0; i < b->columns; i++) { \
                const float x = in[i]; \
                sum = step; \
            } \
            out[r] = result; \
        } \
    }
/* The same of columns, row by row. */
#define DEFINE_BY_COLUMN(name, step, result) \
    void LOOP(name)(const kernel_buffers *b) \
    { \
        const float *restrict in = b->in[0]; \
        float *restrict out = b->out[0]; \
        memcpy(out, in, (size_t)b->columns * sizeof(*out)); \
        for (int64_t r = 1; r < b->rows; r++) \
            for (int64_t i = 0; i < b->columns; i++) { \
                const float x = in[r * b->columns + i], sum = out[i]; \
                out[i] = step; \
            } \
        for (int64_t i = 0; i < b->columns; i++) { \
            const float sum = out[i]; \
            out[i] = result; \
        } \
    }
DEFINE_BY_ROW(prod_rows, 1, sum * x, sum)
DEFINE_BY_ROW(max_rows, -INFINITY, x > sum ? x : sum, sum)
DEFINE_BY_ROW(any_rows, 0, x > 8.99f ? 1 : sum, sum)
DEFINE_BY_COLUMN(max_columns, x > sum ? x : sum, sum)
DEFINE_BY_COLUMN(mean_columns, sum + x, sum / (float)b->rows)

void LOOP(sum)(const kernel_buffers *b)
{
    const float *in = b->in[0];
    float sum = 0;
    for (int64_t i = 0; i < b->count; i++)
        sum += in[i];
    *(float *)b->out[0] = sum;
}

void LOOP(norm_l2)(const kernel_buffers *b)
{
    const float *in = b->in[0];
    float sum = 0;
    for (int64_t i = 0; i < b->count; i++)
        sum += in[i] * in[i];
    *(float *)b->out[0] = sqrtf(sum);
}

void LOOP(var_rows)(const kernel_buffers *b)
{
    const float *in = b->in[0];
    const float n = (float)b->columns;
    float *out = b->out[0];
    for (int64_t r = 0; r < b->rows; r++, in += b->columns) {
        float mean = 0, sum = 0;
        for (int64_t i = 0; i < b->columns; i++)
            mean += in[i];
        mean /= n;
        for (int64_t i = 0; i < b->columns; i++)
            sum += (in[i] - mean) * (in[i] - mean);
        out[r] = sum / n;
    }
}

void LOOP(logsumexp_rows)(const kernel_buffers *b)
{
    const float *in = b->in[0];
    float *out = b->out[0];
    for (int64_t r = 0; r < b->rows; r++, in += b->columns) {
        float most = in[0], sum = 0;
        for (int64_t i = 1; i < b->columns; i++)
            most = in[i] > most ? in[i] : most;
        for (int64_t i = 0; i < b->columns; i++)
            sum += expf(in[i] - most);
        out[r] = most + logf(sum);
    }
}

void LOOP(argmax_rows)(const kernel_buffers *b)
{
    const float *in = b->in[0];
    float *out = b->out[0];
    for (int64_t r = 0; r < b->rows; r++, in += b->columns) {
        int64_t best = 0;
        for (int64_t i = 1; i < b->columns; i++)
            best = in[i] > in[best] ? i : best;
        out[r] = (float)best;
    }
}

void LOOP(argmax_columns)(const kernel_buffers *b)
{
    const float *in = b->in[0];
    float *out = b->out[0];
    for (int64_t i = 0; i < b->columns; i++) {
        int64_t best = 0;
        for (int64_t r = 1; r < b->rows; r++)
            best = in[r * b->columns + i] > in[best * b->columns + i] ? r
                                                                      : best;
        out[i] = (float)best;
    }
}

/* -- Scans and order ------------------------------------------------------- */

static void scan_rows(const kernel_buffers *b, int is_product)
{
    const float *in = b->in[0];
    float *out = b->out[0];
    for (int64_t r = 0; r < b->rows; r++)
        for (int64_t i = 0; i < b->columns; i++, in++, out++)
            *out = !i ? *in : is_product ? out[-1] * *in : out[-1] + *in;
}

void LOOP(cumsum_rows)(const kernel_buffers *b)
{
    scan_rows(b, 0);
}

void LOOP(cumprod_rows)(const kernel_buffers *b)
{
    scan_rows(b, 1);
}

void LOOP(cumsum)(const kernel_buffers *b)
{
    scan_rows(b, 0);
}

void LOOP(cumsum_columns)(const kernel_buffers *b)
{
    const float *restrict in = b->in[0];
    float *out = b->out[0];
    for (int64_t i = 0; i < b->count; i++)
        out[i] = i < b->columns ? in[i] : out[i - b->columns] + in[i];
}

void LOOP(linear_scan)(const kernel_buffers *b)
{
    const float *restrict in = b->in[0], *restrict factor = b->in[1];
    float *out = b->out[0];
    for (int64_t i = 0; i < b->count; i++)
        out[i] = i < b->columns ? in[i]
                                : factor[i] * out[i - b->columns] + in[i];
}

static int compare(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

void LOOP(sort_rows)(const kernel_buffers *b)
{
    float *out = b->out[0];
    memcpy(out, b->in[0], (size_t)b->count * sizeof(*out));
    for (int64_t r = 0; r < b->rows; r++, out += b->columns)
        qsort(out, (size_t)b->columns, sizeof(*out), compare);
}

void LOOP(sort)(const kernel_buffers *b)
{
    LOOP(sort_rows)(b);
}

typedef struct numbered {
    float x;
    int32_t number;
} numbered;

static int compare_numbered(const void *a, const void *b)
{
    const numbered *p = a, *q = b;
    const int order = compare(&p->x, &q->x);
    return order ? order : (p->number > q->number) - (p->number < q->number);
}

void LOOP(argsort_rows)(const kernel_buffers *b)
{
    const float *in = b->in[0];
    float *out = b->out[0];
    numbered *row = malloc((size_t)b->columns * sizeof(*row));
    for (int64_t r = 0; row && r < b->rows; r++)
        for (int64_t i = -1; i < b->columns; i++) {
            if (i >= 0) {
                *out++ = (float)row[i].number;
                continue;
            }
            for (int64_t j = 0; j < b->columns; j++)
                row[j] = (numbered){*in++, (int32_t)j};
            qsort(row, (size_t)b->columns, sizeof(*row), compare_numbered);
        }
    free(row);
}

void LOOP(median_rows)(const kernel_buffers *b)
{
    const float *in = b->in[0];
    float *out = b->out[0];
    const size_t n = (size_t)b->columns;
    float *row = malloc(n * sizeof(*row));
    for (int64_t r = 0; row && r < b->rows; r++, in += n) {
        memcpy(row, in, n * sizeof(*row));
        qsort(row, n, sizeof(*row), compare);
        out[r] = n % 2 ? row[n / 2] : (row[n / 2 - 1] + row[n / 2]) / 2;
    }
    free(row);
}

/* -- Shapes and indices ---------------------------------------------------- */

/* out[at] = value, for every row r and column i. */
#define DEFINE_BY_INDEX(name, at, value) \
    void LOOP(name)(const kernel_buffers *b) \
    { \
        const float *restrict x = b->in[0]; \
        float *restrict out = b->out[0]; \
        const int64_t rows = b->rows, n = b->columns; \
        (void)rows; \
        for (int64_t r = 0; r < b->rows; r++) \
            for (int64_t i = 0; i < n; i++) \
                out[at] = value; \
    }
DEFINE_BY_INDEX(transpose_scale, i * rows + r, 3 * x[r * n + i])
DEFINE_BY_INDEX(reverse_rows, r * n + i, x[r * n + n - 1 - i])
DEFINE_BY_INDEX(reverse_columns, r * n + i, x[(rows - 1 - r) * n + i])
DEFINE_BY_INDEX(roll_rows, r * n + i, x[r * n + (i < 3 ? i - 3 + n : i - 3)])
DEFINE_BY_INDEX(even_odd, r * n + i / 2 + i % 2 * ((n + 1) / 2), x[r * n + i])
DEFINE_BY_INDEX(tril, r * n + i, i <= r ? x[r * n + i] : 0)

void LOOP(take_along_rows)(const kernel_buffers *b)
{
    const float *restrict x = b->in[0], *restrict index = b->in[1];
    float *restrict out = b->out[0];
    for (int64_t r = 0; r < b->rows; r++)
        for (int64_t i = 0; i < b->columns; i++)
            out[r * b->columns + i] =
                x[r * b->columns + (int)index[r * b->columns + i]];
}

void LOOP(put_along_rows)(const kernel_buffers *b)
{
    const float *restrict x = b->in[0], *restrict index = b->in[1];
    float *restrict out = b->out[0];
    memcpy(out, x, (size_t)b->count * sizeof(*out));
    for (int64_t r = 0; r < b->rows; r++)
        for (int64_t i = 0; i < b->columns; i++)
            out[r * b->columns + (int)index[r * b->columns + i]] +=
                x[r * b->columns + i];
}

void LOOP(one_hot)(const kernel_buffers *b)
{
    enum { CLASSES = 8 };
    const float *restrict x = b->in[0];
    float *restrict out = b->out[0];
    memset(out, 0, (size_t)b->count * CLASSES * sizeof(*out));
    for (int64_t i = 0; i < b->count; i++)
        out[i * CLASSES + (int)x[i]] = 1;
}
