/* SPDX-License-Identifier: MIT */
/*
 * kernel_scatter.c - kernel of SCATTER: copies x, then sets the slice of each
 * index or combines it with the update, in row-major order of the indices. With
 * CHECK, all indices are checked before anything is written.
 */
#include "base/error.h"
#include "interp/kernel.h"
#include "runtime/index_check.h"
#include "runtime/walk.h"
#include "tgjit/ops.h"

typedef struct scatter {
    tgi_read_index *read;
    tgi_kernel *combine; /* NULL: slices are set */
    tgi_view to;     /* the slice of index 0 */
    tgi_view from;   /* any slice of the updates */
    int64_t extent;
    int64_t stride; /* of the axis, in bytes */
} scatter;

/* Applies the updates of one run of indices. */
static void scatter_slices(tgi_run run)
{
    const scatter *s = run.user;
    for (int64_t i = 0; i < run.n; i++) {
        int64_t index = s->read(run.data[1] + i * run.strides[1]);
        if (index < 0 || index >= s->extent)
            continue;
        tgi_view to = s->to, from = s->from;
        to.data += index * s->stride;
        from.data = run.data[0] + i * run.strides[0];
        const tgi_view in[] = {to, from};
        if (s->combine)
            s->combine(&(tgi_kernel_args){.out = to, .in = in});
        else
            tgi_view_copy(&to, &from);
    }
}

static tg_status run_scatter(const tgi_kernel_args *args)
{
    const tgi_attr_scatter *attr = args->node->attr;
    const tgi_view *indices = &args->in[1], *updates = &args->in[2];
    const tgi_view *out = &args->out;
    const int dtype = out->dtype;
    scatter s = {
        .read = tgi_index_reader(indices->dtype),
        .to = tgi_view_without_axes(out, attr->axis, 1),
        .from = tgi_view_without_axes(updates, attr->axis, indices->rank),
        .extent = out->dims[attr->axis],
        .stride = out->strides[attr->axis] * tgi_dtype_bytes(dtype)};
    const tgi_op op = tgi_scatter_op(attr->mode);
    if (op)
        s.combine = tgi_kernel_elementwise(op, dtype, dtype);
    if (attr->range == TG_SCATTER_CHECK)
        TGI_TRY(tgi_indices_check(args->node, indices, s.extent));
    tgi_kernel_begin_update(args);
    tgi_view update_slices =
        tgi_view_only_axes(updates, attr->axis, indices->rank);
    tgi_walk_views(2, (const tgi_view *[]){&update_slices, indices},
                   scatter_slices, &s);
    return TG_OK;
}

tgi_kernel *tgi_kernel_scatter(int dtype, int index_dtype)
{
    return tgi_dtype_is_valid(dtype) && tgi_index_reader(index_dtype)
               ? run_scatter
               : NULL;
}
