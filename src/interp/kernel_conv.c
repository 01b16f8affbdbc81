/* SPDX-License-Identifier: MIT */
/*
 * kernel_conv.c - kernel of CONV. An element of the result is a matmul of one
 * window and the filters, and has the order of roundings of kernel_matmul.c: k
 * runs over the axes of the window, then the channels, in row-major order.
 */
#include <string.h>

#include "interp/kernel.h"
#include "interp/kernel_rows.h"
#include "recipe/reduce_tree.h"
#include "recipe/scalar.h"
#include "runtime/walk.h"

enum {
    K_BLOCK = 256,
    COLUMNS = 32 /* computed together; does not change bits */
};

/* The axes of k, which window and filters share; strides in bytes. */
typedef struct conv {
    int n_axes;
    int64_t extent[TG_MAX_RANK], x_stride[TG_MAX_RANK], w_stride[TG_MAX_RANK];
    int64_t k, n, w_column;
} conv;

/* A step of k. */
typedef struct position {
    int64_t index[TG_MAX_RANK];
    int64_t x, w; /* offsets in bytes */
} position;

static void advance_position(const conv *p, position *at)
{
    for (int axis = p->n_axes - 1; axis >= 0; axis--) {
        at->x += p->x_stride[axis];
        at->w += p->w_stride[axis];
        if (++at->index[axis] < p->extent[axis])
            return;
        at->x -= p->extent[axis] * p->x_stride[axis];
        at->w -= p->extent[axis] * p->w_stride[axis];
        at->index[axis] = 0;
    }
}

static void add_k_axis(conv *p, int64_t extent, int64_t x_stride,
                       int64_t w_stride)
{
    p->extent[p->n_axes] = extent;
    p->x_stride[p->n_axes] = x_stride;
    p->w_stride[p->n_axes++] = w_stride;
    p->k *= extent;
}

static tg_status run_conv(const tgi_kernel_args *args, tgi_inner_loop *loop)
{
    const tgi_attr_conv *attr = args->node->attr;
    const tgi_view *x = &args->in[0], *w = &args->in[1], *out = &args->out;
    const int64_t bytes = tgi_dtype_bytes(out->dtype);
    const int n_batch = (int)attr->n_batch, last = out->rank - 1;
    conv p = {.k = 1,
              .n = out->dims[last],
              .w_column = w->strides[last] * bytes};
    /* One point per window: of the result, of x, and of w. */
    tgi_view points[3] = {*out, *out, *out};
    for (int i = 0; i < 3; i++)
        points[i].rank = (int8_t)last;
    points[1].data = x->data;
    points[2].data = w->data;
    for (int axis = 0; axis < last; axis++) {
        points[1].strides[axis] = x->strides[axis];
        points[2].strides[axis] = axis < n_batch ? w->strides[axis] : 0;
    }
    for (int i = 0; i < last - 1 - n_batch; i++) {
        const int axis = n_batch + 1 + i;
        points[1].strides[axis] *= attr->stride[i];
        add_k_axis(&p, w->dims[axis - 1],
                   x->strides[axis] * attr->dilation[i] * bytes,
                   w->strides[axis - 1] * bytes);
    }
    add_k_axis(&p, x->dims[last], x->strides[last] * bytes,
               w->strides[last - 1] * bytes);
    tgi_walk_views(3, (const tgi_view *[]){&points[0], &points[1], &points[2]},
                   loop, &p);
    return TG_OK;
}

#define TEMPLATE "interp/kernel_conv_type.h"
#include "recipe/recipe_each.h"

static tgi_kernel *const kernels[TGI_DTYPES] = {
#define DTYPE(ID, ...) [TG_##ID] = kernel_CONV_##ID,
#include "base/dtype.def"
#undef DTYPE
};

tgi_kernel *tgi_kernel_conv(int dtype)
{
    return kernels[dtype];
}
