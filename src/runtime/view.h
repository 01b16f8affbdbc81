/* SPDX-License-Identifier: MIT */
/*
 * view.h - elements in memory as the interpreter sees them: base, extents and
 * strides counted in elements (0 for repeated axes, negative for reversed).
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

/* A row-major view without gaps. */
void tgi_view_init(tgi_view *view, void *data, tg_dtype dtype, int rank,
                   const int64_t *dims);

int64_t tgi_view_count(const tgi_view *view);
bool tgi_view_is_dense(const tgi_view *view);

/* The view without n axes from `axis` on, and of these alone. */
tgi_view tgi_view_without_axes(const tgi_view *view, int64_t axis, int n);
tgi_view tgi_view_only_axes(const tgi_view *view, int64_t axis, int n);

/* Copies elements in row-major order; equal dtype and extents. The two do
   not overlap. */
void tgi_view_copy(const tgi_view *to, const tgi_view *from);

/* A dense view of other memory with the type of `like`. */
static inline tgi_view tgi_view_dense_like(const tgi_view *like, void *data)
{
    tgi_view dense;
    tgi_view_init(&dense, data, (tg_dtype)like->dtype, like->rank, like->dims);
    return dense;
}

/* Copies a view, in row-major order, to dense memory. */
void tgi_view_copy_dense(const tgi_view *from, void *to);

#endif /* TGI_VIEW_H */
