/* SPDX-License-Identifier: MIT */
/*
 * kernel_view.c - views made by VIEW nodes: arithmetic on extents, strides and
 * the base address; no element is read.
 */
#include <assert.h>

#include "interp/kernel.h"

static void view_broadcast(const tgi_view *in, tgi_view *out)
{
    int added = out->rank - in->rank;
    for (int axis = 0; axis < out->rank; axis++) {
        bool repeats =
            axis < added || in->dims[axis - added] != out->dims[axis];
        out->strides[axis] = repeats ? 0 : in->strides[axis - added];
    }
}

static void view_transpose(const tgi_attr_perm *attr, const tgi_view *in,
                           tgi_view *out)
{
    for (int axis = 0; axis < out->rank; axis++)
        out->strides[axis] = in->strides[attr->perm[axis]];
}

static void view_slice(const tgi_attr_slice *attr, const int64_t *values,
                       const tgi_view *in, tgi_view *out)
{
    bool is_empty = tgi_view_count(out) == 0;
    for (int axis = 0; axis < out->rank; axis++) {
        int64_t start = tgi_dim_value(attr->start[axis], values);
        /* An empty slice may start past the end. */
        if (!is_empty)
            out->data +=
                start * in->strides[axis] * tgi_dtype_bytes(in->dtype);
        /* The stride of an axis with fewer than two elements is arbitrary. */
        out->strides[axis] =
            out->dims[axis] > 1 ? in->strides[axis] * attr->step[axis] : 0;
    }
}

static void view_window(const tgi_attr_window *attr, const tgi_view *in,
                        tgi_view *out)
{
    for (int axis = 0, at = in->rank; axis < in->rank; axis++) {
        out->strides[axis] = in->strides[axis];
        if (attr->size[axis] == 0)
            continue;
        out->strides[axis] *= attr->stride[axis];
        out->strides[at++] = in->strides[axis] * attr->dilation[axis];
    }
}

/*
 * Walks both shapes from the front in groups of axes with equal element counts.
 * A group can be viewed in the new shape if its old axes are contiguous; the
 * strides of its new axes follow from the innermost old one.
 */
static bool view_reshape(const tgi_view *in, tgi_view *out)
{
    /* Ignore axes of extent 1. */
    int64_t dims[TG_MAX_RANK], strides[TG_MAX_RANK];
    int rank = 0;
    for (int axis = 0; axis < in->rank; axis++)
        if (in->dims[axis] != 1) {
            dims[rank] = in->dims[axis];
            strides[rank++] = in->strides[axis];
        }

    int old = 0, new = 0;
    while (old < rank && new < out->rank) {
        int old_end = old + 1, new_end = new + 1;
        int64_t n_old = dims[old], n_new = out->dims[new];
        while (n_old != n_new)
            if (n_old < n_new)
                n_old *= dims[old_end++];
            else
                n_new *= out->dims[new_end++];
        for (int i = old; i < old_end - 1; i++)
            if (strides[i] != dims[i + 1] * strides[i + 1])
                return false;
        int64_t stride = strides[old_end - 1];
        for (int i = new_end - 1; i >= new; i--) {
            out->strides[i] = stride;
            stride *= out->dims[i];
        }
        old = old_end;
        new = new_end;
    }
    for (; new < out->rank; new++)
        out->strides[new] = 0; /* extent 1 */
    return true;
}

bool tgi_kernel_view(const tgi_graph *graph, const tgi_node *node,
                     const int64_t *values, const tgi_view *in,
                     tgi_view *out_view)
{
    const tgi_shape *shape = tgi_shape_of(graph->dims, node->shape);
    int64_t dims[TG_MAX_RANK];
    for (int axis = 0; axis < shape->rank; axis++)
        dims[axis] = tgi_dim_value(shape->dims[axis], values);
    tgi_view_init(out_view, in->data, in->dtype, shape->rank, dims);

    switch (node->op) {
    case TGI_OP_BROADCAST:
        view_broadcast(in, out_view);
        return true;
    case TGI_OP_TRANSPOSE:
        view_transpose(node->attr, in, out_view);
        return true;
    case TGI_OP_SLICE:
        view_slice(node->attr, values, in, out_view);
        return true;
    case TGI_OP_WINDOW:
        view_window(node->attr, in, out_view);
        return true;
    case TGI_OP_RESHAPE:
        /* Without elements, any strides will do. */
        return tgi_view_count(out_view) == 0 || view_reshape(in, out_view);
    default:
        assert(!"a view");
        return false;
    }
}
