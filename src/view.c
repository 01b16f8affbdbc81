/* SPDX-License-Identifier: MIT */
/*
 * view.c - copies between views. Both sides are first reduced to as few axes
 * as describe them (extents of 1 dropped, axes that continue each other
 * merged), so that a plain copy is one memcpy and others have a long inner
 * loop.
 */
#include "view.h"

#include <string.h>

#include "dtype.h"

void tgi_view_init(tgi_view *view, void *data, tg_dtype dtype, int rank,
                   const int64_t *dims)
{
    *view =
        (tgi_view){.data = data, .dtype = (uint8_t)dtype, .rank = (int8_t)rank};
    int64_t stride = 1;
    for (int axis = rank - 1; axis >= 0; axis--) {
        view->dims[axis] = dims[axis];
        view->strides[axis] = stride;
        stride *= dims[axis] > 0 ? dims[axis] : 1;
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
        stride *= view->dims[axis];
    }
    return is_dense;
}

/* -- Copying --------------------------------------------------------------- */

/* Axes of a copy, innermost first; strides in elements. */
typedef struct copy_plan {
    int rank;
    int64_t dims[TG_MAX_RANK];
    int64_t to[TG_MAX_RANK];
    int64_t from[TG_MAX_RANK];
} copy_plan;

static void plan_init(copy_plan *plan, const tgi_view *to, const tgi_view *from)
{
    plan->rank = 0;
    for (int axis = to->rank - 1; axis >= 0; axis--) {
        if (to->dims[axis] == 1)
            continue;
        const int inner = plan->rank - 1;
        if (inner >= 0 &&
            to->strides[axis] == plan->to[inner] * plan->dims[inner] &&
            from->strides[axis] == plan->from[inner] * plan->dims[inner]) {
            plan->dims[inner] *= to->dims[axis];
            continue;
        }
        plan->dims[plan->rank] = to->dims[axis];
        plan->to[plan->rank] = to->strides[axis];
        plan->from[plan->rank] = from->strides[axis];
        plan->rank++;
    }
    if (plan->rank == 0) { /* one element */
        plan->rank = 1;
        plan->dims[0] = plan->to[0] = plan->from[0] = 1;
    }
}

/* Copies the innermost axis; `bytes` is a constant at every call. */
static inline __attribute__((always_inline)) void
copy_run(char *to, const char *from, const copy_plan *plan, size_t bytes)
{
    const int64_t to_step = plan->to[0] * (int64_t)bytes;
    const int64_t from_step = plan->from[0] * (int64_t)bytes;
    for (int64_t i = 0; i < plan->dims[0]; i++)
        memcpy(to + i * to_step, from + i * from_step, bytes);
}

static void copy_inner(char *to, const char *from, const copy_plan *plan,
                       size_t bytes)
{
    if (plan->to[0] == 1 && plan->from[0] == 1) {
        memcpy(to, from, (size_t)plan->dims[0] * bytes);
        return;
    }
    switch (bytes) {
    case 1:
        copy_run(to, from, plan, 1);
        break;
    case 2:
        copy_run(to, from, plan, 2);
        break;
    case 4:
        copy_run(to, from, plan, 4);
        break;
    default:
        copy_run(to, from, plan, 8);
        break;
    }
}

void tgi_view_copy(const tgi_view *to, const tgi_view *from)
{
    if (tgi_view_count(to) == 0)
        return;
    copy_plan plan;
    plan_init(&plan, to, from);
    const int64_t bytes = tgi_dtype_bytes(to->dtype);

    int64_t index[TG_MAX_RANK] = {0};
    int64_t to_offset = 0, from_offset = 0;
    for (;;) {
        copy_inner(to->data + to_offset * bytes,
                   from->data + from_offset * bytes, &plan, (size_t)bytes);
        /* The next position of the outer axes, as an odometer counts. */
        int axis = 1;
        for (; axis < plan.rank; axis++) {
            to_offset += plan.to[axis];
            from_offset += plan.from[axis];
            if (++index[axis] < plan.dims[axis])
                break;
            to_offset -= plan.to[axis] * plan.dims[axis];
            from_offset -= plan.from[axis] * plan.dims[axis];
            index[axis] = 0;
        }
        if (axis == plan.rank)
            return;
    }
}
