/* SPDX-License-Identifier: MIT */
/*
 * kernel_view.c - views made by VIEW nodes: arithmetic on extents, strides
 * and the first element; no element is touched.
 */
#include <assert.h>

#include "interp/kernel.h"

static void broadcast(const tgi_view *in, tgi_view *out)
{
    int added = out->rank - in->rank;
    for (int axis = 0; axis < out->rank; axis++) {
        bool repeats =
            axis < added || in->dims[axis - added] != out->dims[axis];
        out->strides[axis] = repeats ? 0 : in->strides[axis - added];
    }
}

static void transpose(const tgi_attr_perm *attr, const tgi_view *in,
                      tgi_view *out)
{
    for (int axis = 0; axis < out->rank; axis++)
        out->strides[axis] = in->strides[attr->perm[axis]];
}

static void slice(const tgi_attr_slice *attr, const int64_t *values,
                  const tgi_view *in, tgi_view *out)
{
    bool is_empty = tgi_view_count(out) == 0;
    for (int axis = 0; axis < out->rank; axis++) {
        int64_t start = tgi_dim_value(attr->start[axis], values);
        /* A slice of nothing may start past the end. */
        if (!is_empty)
            out->data +=
                start * in->strides[axis] * tgi_dtype_bytes(in->dtype);
        /* The step between fewer than two elements may be anything. */
        out->strides[axis] =
            out->dims[axis] > 1 ? in->strides[axis] * attr->step[axis] : 0;
    }
}

/*
 * Walks both shapes from the front in groups of axes that hold equally many
 * elements. A group can be seen in the new shape if its old axes lie end to
 * end; the strides of its new axes follow from the innermost old one.
 */
static bool reshape(const tgi_view *in, tgi_view *out)
{
    /* Axes of extent 1 have no say. */
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
        broadcast(in, out_view);
        return true;
    case TGI_OP_TRANSPOSE:
        transpose(node->attr, in, out_view);
        return true;
    case TGI_OP_SLICE:
        slice(node->attr, values, in, out_view);
        return true;
    case TGI_OP_RESHAPE:
        /* Of nothing, every view is as good as the dense one. */
        return tgi_view_count(out_view) == 0 || reshape(in, out_view);
    default:
        assert(!"a view");
        return false;
    }
}
