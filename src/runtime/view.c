/* SPDX-License-Identifier: MIT */
/*
 * view.c - properties and sub-views of views.
 */
#include "runtime/view.h"

void tgi_view_init(tgi_view *view, void *data, tg_dtype dtype, int rank,
                   const int64_t *dims)
{
    *view =
        (tgi_view){.data = data, .dtype = (uint8_t)dtype, .rank = (int8_t)rank};
    int64_t stride = 1;
    for (int axis = rank - 1; axis >= 0; axis--) {
        view->dims[axis] = dims[axis];
        view->strides[axis] = stride;
        if (axis > 0 && dims[axis] > 0) /* the first extent may be
                                           TGI_UNBOUNDED */
            stride *= dims[axis];
    }
}

int64_t tgi_view_count(const tgi_view *view)
{
    int64_t count = 1;
    for (int axis = 0; axis < view->rank; axis++)
        count *= view->dims[axis];
    return count;
}

bool tgi_view_is_dense(const tgi_view *view)
{
    int64_t stride = 1;
    bool is_dense = true;
    for (int axis = view->rank - 1; axis >= 0; axis--) {
        if (view->dims[axis] == 0)
            return true;
        if (view->dims[axis] != 1)
            is_dense &= view->strides[axis] == stride;
        if (axis > 0)
            stride *= view->dims[axis];
    }
    return is_dense;
}

tgi_view tgi_view_without_axes(const tgi_view *view, int64_t axis, int n)
{
    tgi_view result = *view;
    result.rank = (int8_t)(view->rank - n);
    for (int64_t i = axis; i < result.rank; i++) {
        result.dims[i] = view->dims[i + n];
        result.strides[i] = view->strides[i + n];
    }
    return result;
}

tgi_view tgi_view_only_axes(const tgi_view *view, int64_t axis, int n)
{
    tgi_view part = *view;
    part.rank = (int8_t)n;
    for (int i = 0; i < n; i++) {
        part.dims[i] = view->dims[axis + i];
        part.strides[i] = view->strides[axis + i];
    }
    return part;
}
