/* SPDX-License-Identifier: MIT */
/*
 * shape.h - shapes of inputs and results in terms of the size of a case, so
 * that one case serves all of its sizes.
 */
#ifndef BENCH_SHAPE_H
#define BENCH_SHAPE_H

#include "case.h"

enum { SHAPE_AXES = 4 };

/* An axis is an extent, or a member of the size; 0 ends a shape. Axes that the
   size lacks are omitted. */
enum { ROWS = -1, COLUMNS = -2, INNER = -3, BATCH = -4, HALF_ROWS = -5 };

typedef struct tensor_shape {
    int64_t axes[SHAPE_AXES];
} tensor_shape;

#define SHAPE(...) {{__VA_ARGS__}}
#define SHAPE_WHOLE SHAPE(BATCH, ROWS, COLUMNS)
#define SHAPE_ROW SHAPE(COLUMNS)
#define SHAPE_SCALAR SHAPE(0)
#define SHAPE_TRANSPOSED SHAPE(COLUMNS, ROWS)
/* The operands of a matrix product, whose result is SHAPE_WHOLE. */
#define SHAPE_LEFT SHAPE(BATCH, ROWS, INNER)
#define SHAPE_RIGHT SHAPE(BATCH, INNER, COLUMNS)

typedef struct extents {
    int rank;
    int64_t dims[SHAPE_AXES];
    int64_t count;
} extents;

extents extents_of(const case_size *size, tensor_shape shape);

#endif /* BENCH_SHAPE_H */
