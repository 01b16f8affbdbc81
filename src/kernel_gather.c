/* SPDX-License-Identifier: MIT */
/*
 * kernel_gather.c - kernel of GATHER: for each index one slice is copied. All
 * indices are looked at before anything is written where they must be right.
 *
 * A slice has the axes of x without the gathered one; the same walk serves
 * all of them.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "kernel.h"
#include "tgjit/ops.h"
#include "walk.h"

/* -- Indices --------------------------------------------------------------- */

/* An index as int64_t; what does not fit is past every extent anyway. */
typedef int64_t read_index(const char *element);

#define READ_SINT(ID, type) \
    static int64_t read_##ID(const char *element) \
    { \
        return *(const type *)element; \
    }
#define READ_UINT(ID, type) \
    static int64_t read_##ID(const char *element) \
    { \
        uint64_t index = *(const type *)element; \
        return index > INT64_MAX ? INT64_MAX : (int64_t)index; \
    }
#define READ_BOOL(ID, type)
#define READ_FLOAT(ID, type)
#define DTYPE(ID, name, type, cls) READ_##cls(ID, type)
#include "dtype.def"
#undef DTYPE

static read_index *const readers[TGI_DTYPES] = {
#define ENTRY_SINT(ID) [TG_##ID] = read_##ID,
#define ENTRY_UINT ENTRY_SINT
#define ENTRY_BOOL(ID)
#define ENTRY_FLOAT(ID)
#define DTYPE(ID, name, type, cls) ENTRY_##cls(ID)
#include "dtype.def"
#undef DTYPE
};

/* -- The first index that is out of range ---------------------------------- */

typedef struct search {
    read_index *read;
    int64_t extent;
    int64_t position;     /* of the next index, in row-major order */
    int64_t bad_position;
    const char *bad; /* NULL: none so far */
} search;

static void find_bad(tgi_run run)
{
    search *s = run.user;
    for (int64_t i = 0; i < run.n && !s->bad; i++) {
        const char *element = run.data[0] + i * run.strides[0];
        int64_t index = s->read(element);
        if (index < 0 || index >= s->extent) {
            s->bad_position = s->position + i;
            s->bad = element;
        }
    }
    s->position += run.n;
}

/* "[0,3]" for a position in row-major order; room for TG_MAX_RANK numbers. */
static void print_position(const tgi_view *view, int64_t position, char *text,
                           size_t n)
{
    int64_t at[TG_MAX_RANK];
    for (int axis = view->rank - 1; axis >= 0; axis--) {
        at[axis] = position % view->dims[axis];
        position /= view->dims[axis];
    }
    size_t used = (size_t)snprintf(text, n, "[");
    for (int axis = 0; axis < view->rank; axis++)
        used += (size_t)snprintf(text + used, n - used, "%s%lld",
                                 axis ? "," : "", (long long)at[axis]);
    snprintf(text + used, n - used, "]");
}

tg_status tgi_gather_fail(const tgi_node *node, const tgi_view *indices,
                          int64_t position, const void *element,
                          int64_t extent)
{
    const tgi_attr_gather *attr = node->attr;
    char where[24 * TG_MAX_RANK], index[32];
    print_position(indices, position, where, sizeof(where));
    tgi_dtype_format(indices->dtype, element, index, sizeof(index));
    TGI_FAIL(TG_ERROR_INDEX, tgi_node_site(node),
             "gather: index %s at position %s is out of range for axis %lld "
             "of extent %lld",
             index, where, (long long)attr->axis, (long long)extent);
}

static tg_status check_indices(const tgi_kernel_args *args, read_index *read,
                               int64_t extent)
{
    const tgi_view *indices = &args->in[1];
    search s = {.read = read, .extent = extent};
    tgi_walk_views(1, &indices, find_bad, &s);
    if (!s.bad)
        return TG_OK;
    return tgi_gather_fail(args->node, indices, s.bad_position, s.bad, extent);
}

/* -- Copying slices -------------------------------------------------------- */

typedef struct gather {
    read_index *read;
    tgi_walk slice; /* of the result and of x */
    char *x;
    int64_t extent;
    int64_t stride; /* of the gathered axis, in bytes */
    bool clamps;    /* else zeros stand for what is out of range */
    tgi_loop *copy, *clear;
} gather;

static void copy_slices(tgi_run run)
{
    const gather *g = run.user;
    for (int64_t i = 0; i < run.n; i++) {
        int64_t index = g->read(run.data[1] + i * run.strides[1]);
        char *out = run.data[0] + i * run.strides[0];
        bool is_in_range = index >= 0 && index < g->extent;
        if (g->clamps && !is_in_range)
            index = index < 0 ? 0 : g->extent - 1;
        if (is_in_range || g->clamps)
            tgi_walk_each(&g->slice,
                          (char *const[]){out, g->x + index * g->stride},
                          g->copy, NULL);
        else
            tgi_walk_each(&g->slice, (char *const[]){out, g->x}, g->clear,
                          NULL);
    }
}

/* By the size of an element: memcpy, since it is read as no type at all. */
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

/* The view without n axes from `axis` on. */
static tgi_view without_axes(const tgi_view *view, int64_t axis, int n)
{
    tgi_view rest = *view;
    rest.rank = (int8_t)(view->rank - n);
    for (int64_t i = axis; i < rest.rank; i++) {
        rest.dims[i] = view->dims[i + n];
        rest.strides[i] = view->strides[i + n];
    }
    return rest;
}

/* The view of n axes from `axis` on alone. */
static tgi_view only_axes(const tgi_view *view, int64_t axis, int n)
{
    tgi_view part = *view;
    part.rank = (int8_t)n;
    for (int i = 0; i < n; i++) {
        part.dims[i] = view->dims[axis + i];
        part.strides[i] = view->strides[axis + i];
    }
    return part;
}

static tg_status run_gather(const tgi_kernel_args *args)
{
    const tgi_attr_gather *attr = args->node->attr;
    const tgi_view *x = &args->in[0], *indices = &args->in[1];
    int64_t bytes = tgi_dtype_bytes(x->dtype);
    gather g = {.read = readers[indices->dtype],
                .x = x->data,
                .extent = x->dims[attr->axis],
                .stride = x->strides[attr->axis] * bytes};
    /* Of nothing there is no nearest one. */
    g.clamps = attr->mode == TG_GATHER_CLAMP && g.extent > 0;
    if (attr->mode == TG_GATHER_CHECK)
        TGI_TRY(check_indices(args, g.read, g.extent));

    choose_loops(&g, bytes);
    tgi_view to = without_axes(&args->out, attr->axis, indices->rank);
    tgi_view from = without_axes(x, attr->axis, 1);
    tgi_walk_init(&g.slice, 2, (const tgi_view *[]){&to, &from});
    tgi_view places = only_axes(&args->out, attr->axis, indices->rank);
    tgi_walk_views(2, (const tgi_view *[]){&places, indices}, copy_slices, &g);
    return TG_OK;
}

tgi_kernel *tgi_kernel_gather(int dtype, int index_dtype)
{
    return tgi_dtype_is_valid(dtype) && readers[index_dtype] ? run_gather
                                                             : NULL;
}
