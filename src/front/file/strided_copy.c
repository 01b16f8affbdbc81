/* SPDX-License-Identifier: MIT */
/*
 * strided_copy.c - see strided_copy.h. The two axes that matter for the cache,
 * the last one and the one along which the source is densest, are copied in
 * tiles: a transposition then reads and writes whole cache lines. An odometer
 * goes over the other axes.
 */
#include "front/file/strided_copy.h"

#include <string.h>

#include "base/dtype.h"

enum { TILE = 32 }; /* elements along both axes */

void tgi_dense_strides(int rank, const int64_t *dims, int64_t *out_strides)
{
    int64_t stride = 1;
    for (int i = rank; i-- > 0;) {
        out_strides[i] = stride;
        stride *= dims[i] > 0 ? dims[i] : 1;
    }
}

/* -- Two axes -------------------------------------------------------------- */

/* `rows` x `columns` elements; strides in bytes. */
typedef struct plane {
    int64_t rows, columns;
    int64_t to_row, from_row, from_column;
} plane;

#define COPY_TILE(type) \
    for (int64_t i = 0; i < rows; i++) \
        for (int64_t k = 0; k < columns; k++) \
            memcpy(to + i * p->to_row + k * (int64_t)sizeof(type), \
                   from + i * p->from_row + k * p->from_column, sizeof(type))

/* memcpy of a known size: elements need not be aligned. */
static void copy_tile(const plane *p, size_t element_bytes, char *to,
                      const char *from, int64_t rows, int64_t columns)
{
    switch (element_bytes) {
    case 1:
        COPY_TILE(uint8_t);
        break;
    case 2:
        COPY_TILE(uint16_t);
        break;
    case 4:
        COPY_TILE(uint32_t);
        break;
    default:
        COPY_TILE(uint64_t);
    }
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void copy_plane(const plane *p, size_t element_bytes, char *to,
                       const char *from)
{
    for (int64_t i = 0; i < p->rows; i += TILE)
        for (int64_t k = 0; k < p->columns; k += TILE)
            copy_tile(p, element_bytes,
                      to + i * p->to_row + k * (int64_t)element_bytes,
                      from + i * p->from_row + k * p->from_column,
                      smaller(TILE, p->rows - i),
                      smaller(TILE, p->columns - k));
}

/* -- All axes -------------------------------------------------------------- */

static int64_t magnitude(int64_t stride)
{
    return stride < 0 ? -stride : stride;
}

/* The axis before the last one with the smallest stride; -1 if none. */
static int densest_axis(const tgi_spec *spec, const int64_t *strides)
{
    int best = -1;
    for (int i = 0; i < spec->rank - 1; i++)
        if (spec->dims[i] > 1 &&
            (best < 0 || magnitude(strides[i]) < magnitude(strides[best])))
            best = i;
    return best;
}

void tgi_strided_copy(const tgi_spec *spec, void *to, const void *from,
                      const int64_t *strides)
{
    const int last = spec->rank - 1;
    const int64_t element_bytes = tgi_dtype_bytes(spec->dtype);
    int64_t dense[TG_MAX_RANK], at[TG_MAX_RANK] = {0};
    char *to_plane = to;
    const char *from_plane = from;
    if (spec->count == 0)
        return;
    tgi_dense_strides(spec->rank, spec->dims, dense);
    const int row = densest_axis(spec, strides);
    const plane p = {.rows = row < 0 ? 1 : spec->dims[row],
                     .columns = last < 0 ? 1 : spec->dims[last],
                     .to_row = row < 0 ? 0 : dense[row] * element_bytes,
                     .from_row = row < 0 ? 0 : strides[row],
                     .from_column = last < 0 ? 0 : strides[last]};
    for (;;) {
        copy_plane(&p, (size_t)element_bytes, to_plane, from_plane);
        int axis = last - 1;
        for (; axis >= 0; axis--) {
            if (axis == row)
                continue;
            to_plane += dense[axis] * element_bytes;
            from_plane += strides[axis];
            if (++at[axis] < spec->dims[axis])
                break;
            to_plane -= at[axis] * dense[axis] * element_bytes;
            from_plane -= at[axis] * strides[axis];
            at[axis] = 0;
        }
        if (axis < 0)
            return;
    }
}

void tgi_swap_bytes(const tgi_spec *spec, void *data)
{
    const size_t n = (size_t)tgi_dtype_bytes(spec->dtype);
    unsigned char *element = data;
    for (int64_t i = 0; i < spec->count; i++, element += n)
        for (size_t k = 0; k < n / 2; k++) {
            const unsigned char byte = element[k];
            element[k] = element[n - 1 - k];
            element[n - 1 - k] = byte;
        }
}
