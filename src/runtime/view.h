/* SPDX-License-Identifier: MIT */
/*
 * view.h - strided views of memory: base address, extents, and strides in
 * elements (0 for broadcast axes, negative for reversed ones).
 */
#ifndef TGI_VIEW_H
#define TGI_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "tgjit/base.h"

typedef struct tgi_view {
    char *data;
    uint8_t dtype;
    int8_t rank;
    int64_t dims[TG_MAX_RANK];
    int64_t strides[TG_MAX_RANK];
} tgi_view;

/* Initialises a dense row-major view. */
void tgi_view_init(tgi_view *view, void *data, tg_dtype dtype, int rank,
                   const int64_t *dims);

int64_t tgi_view_count(const tgi_view *view);
bool tgi_view_is_dense(const tgi_view *view);

/* The view without the n axes from `axis` on, and the view of only these. */
tgi_view tgi_view_without_axes(const tgi_view *view, int64_t axis, int n);
tgi_view tgi_view_only_axes(const tgi_view *view, int64_t axis, int n);

/* Copies all elements; dtypes and extents must be equal, and the views must not
   overlap. */
void tgi_view_copy(const tgi_view *to, const tgi_view *from);

/* A dense view of `data` with the dtype and extents of `like`. */
static inline tgi_view tgi_view_dense_like(const tgi_view *like, void *data)
{
    tgi_view dense;
    tgi_view_init(&dense, data, (tg_dtype)like->dtype, like->rank, like->dims);
    return dense;
}

/* Copies a view to dense memory. */
void tgi_view_copy_dense(const tgi_view *from, void *to);

#endif /* TGI_VIEW_H */
