/* SPDX-License-Identifier: MIT */
/*
 * view_copy.c - copies between views, one run at a time: by one memcpy if both
 * runs are contiguous, else element by element.
 */
#include <string.h>

#include "base/dtype.h"
#include "runtime/walk.h"

#define DEFINE_COPY(bytes) \
    static void copy_##bytes(tgi_run run) \
    { \
        if (run.strides[0] == bytes && run.strides[1] == bytes) { \
            memcpy(run.data[0], run.data[1], (size_t)run.n * bytes); \
            return; \
        } \
        for (int64_t i = 0; i < run.n; i++) \
            memcpy(run.data[0] + i * run.strides[0], \
                   run.data[1] + i * run.strides[1], bytes); \
    }
DEFINE_COPY(1)
DEFINE_COPY(2)
DEFINE_COPY(4)
DEFINE_COPY(8)

void tgi_view_copy(const tgi_view *to, const tgi_view *from)
{
    static tgi_inner_loop *const loops[] = {
        [1] = copy_1, [2] = copy_2, [4] = copy_4, [8] = copy_8};
    tgi_walk_views(2, (const tgi_view *[]){to, from},
                   loops[tgi_dtype_bytes(to->dtype)], NULL);
}

void tgi_view_copy_dense(const tgi_view *from, void *to)
{
    tgi_view dense = tgi_view_dense_like(from, to);
    tgi_view_copy(&dense, from);
}
