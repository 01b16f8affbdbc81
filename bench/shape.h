/* SPDX-License-Identifier: MIT */
/*
 * shape.h - shapes of inputs and results, by the size of a case: so one case
 * serves all its sizes.
 */
#ifndef BENCH_SHAPE_H
#define BENCH_SHAPE_H

#include "case.h"

enum { SHAPE_AXES = 3 };

/* An axis is an extent, or what the size says; 0 ends a shape. Axes the size
   does not have are left out. */
enum { ROWS = -1, COLUMNS = -2, INNER = -3, BATCH = -4 };

typedef struct tensor_shape {
    int64_t axes[SHAPE_AXES];
} tensor_shape;

#define SHAPE(...) {{__VA_ARGS__}}
#define SHAPE_WHOLE SHAPE(BATCH, ROWS, COLUMNS)
#define SHAPE_ROW SHAPE(COLUMNS)
#define SHAPE_SCALAR SHAPE(0)
#define SHAPE_TURNED SHAPE(COLUMNS, ROWS)
/* The sides of a product, whose result is whole. */
#define SHAPE_LEFT SHAPE(BATCH, ROWS, INNER)
#define SHAPE_RIGHT SHAPE(BATCH, INNER, COLUMNS)

typedef struct extents {
    int rank;
    int64_t dims[SHAPE_AXES];
    int64_t count;
} extents;

extents extents_of(const case_size *size, tensor_shape shape);

#endif /* BENCH_SHAPE_H */
