/* SPDX-License-Identifier: MIT */
/*
 * shape.c - see shape.h.
 */
#include "shape.h"

static int64_t extent_of(const case_size *size, int64_t axis)
{
    switch (axis) {
    case ROWS:
        return size->rows;
    case COLUMNS:
        return size->columns;
    case INNER:
        return size->inner;
    case BATCH:
        return size->batch;
    case HALF_ROWS:
        return size->rows / 2;
    default:
        return axis;
    }
}

extents extents_of(const case_size *size, tensor_shape shape)
{
    extents all = {.count = 1};
    for (int i = 0; i < SHAPE_AXES && shape.axes[i]; i++) {
        const int64_t extent = extent_of(size, shape.axes[i]);
        if (!extent)
            continue;
        all.dims[all.rank++] = extent;
        all.count *= extent;
    }
    return all;
}
