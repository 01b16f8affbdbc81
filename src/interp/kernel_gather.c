/* SPDX-License-Identifier: MIT */
/*
 * kernel_gather.c - kernel of GATHER: copies one slice per index. In mode
 * CHECK, all indices are checked before anything is written.
 *
 * A slice has the axes of x other than the gathered one; one walk serves all
 * slices.
 */
#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "interp/kernel.h"
#include "runtime/index_check.h"
#include "runtime/walk.h"
#include "tgjit/ops.h"

/* -- Copying slices -------------------------------------------------------- */

typedef struct gather {
    tgi_read_index *read;
    tgi_walk slice; /* of the result and of x */
    char *x;
    int64_t extent;
    int64_t stride; /* of the gathered axis, in bytes */
    bool clamps;    /* clamp indices; else out-of-range slices are zero */
    tgi_inner_loop *copy, *clear;
} gather;

static void copy_slices(tgi_run run)
{
    const gather *g = run.user;
    for (int64_t i = 0; i < run.n; i++) {
        int64_t index = g->read(run.data[1] + i * run.strides[1]);
        char *out = run.data[0] + i * run.strides[0];
        bool is_in_range = index >= 0 && index < g->extent;
        if (g->clamps)
            index = tgi_clamp_index(index, g->extent);
        if (is_in_range || g->clamps)
            tgi_walk_each(&g->slice,
                          (char *const[]){out, g->x + index * g->stride},
                          g->copy, NULL);
        else
            tgi_walk_each(&g->slice, (char *const[]){out, g->x}, g->clear,
                          NULL);
    }
}

/* By element size; memcpy, since the element type does not matter. */
#define DEFINE_LOOPS(bytes) \
    static void copy_##bytes(tgi_run run) \
    { \
        for (int64_t i = 0; i < run.n; i++) \
            memcpy(run.data[0] + i * run.strides[0], \
                   run.data[1] + i * run.strides[1], bytes); \
    } \
    static void clear_##bytes(tgi_run run) \
    { \
        for (int64_t i = 0; i < run.n; i++) \
            memset(run.data[0] + i * run.strides[0], 0, bytes); \
    }
DEFINE_LOOPS(1)
DEFINE_LOOPS(2)
DEFINE_LOOPS(4)
DEFINE_LOOPS(8)
#undef DEFINE_LOOPS

static void choose_loops(gather *g, int64_t bytes)
{
    switch (bytes) {
#define CASE(bytes) \
    case bytes: \
        g->copy = copy_##bytes; \
        g->clear = clear_##bytes; \
        return;
        CASE(1)
        CASE(2)
        CASE(4)
        CASE(8)
#undef CASE
    }
    assert(!"element size");
}

static tg_status run_gather(const tgi_kernel_args *args)
{
    const tgi_attr_gather *attr = args->node->attr;
    const tgi_view *x = &args->in[0], *indices = &args->in[1];
    int64_t bytes = tgi_dtype_bytes(x->dtype);
    gather g = {.read = tgi_index_reader(indices->dtype),
                .x = x->data,
                .extent = x->dims[attr->axis],
                .stride = x->strides[attr->axis] * bytes};
    /* An empty axis has no nearest index. */
    g.clamps = attr->mode == TG_GATHER_CLAMP && g.extent > 0;
    if (attr->mode == TG_GATHER_CHECK)
        TGI_TRY(tgi_indices_check(args->node, indices, g.extent));

    choose_loops(&g, bytes);
    tgi_view to =
        tgi_view_without_axes(&args->out, attr->axis, indices->rank);
    tgi_view from = tgi_view_without_axes(x, attr->axis, 1);
    tgi_walk_init(&g.slice, 2, (const tgi_view *[]){&to, &from});
    tgi_view result_slices =
        tgi_view_only_axes(&args->out, attr->axis, indices->rank);
    tgi_walk_views(2, (const tgi_view *[]){&result_slices, indices},
                   copy_slices, &g);
    return TG_OK;
}

tgi_kernel *tgi_kernel_gather(int dtype, int index_dtype)
{
    return tgi_dtype_is_valid(dtype) && tgi_index_reader(index_dtype)
               ? run_gather
               : NULL;
}
