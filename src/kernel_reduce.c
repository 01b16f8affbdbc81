/* SPDX-License-Identifier: MIT */
/*
 * kernel_reduce.c - kernels of reductions.
 *
 * The order is defined: each result takes its elements in row-major order of
 * the reduced axes. Going over the whole input in row-major order, with the
 * result standing still along reduced axes, does that for all results at once
 * and reads memory in order.
 */
#include <assert.h>

#include "kernel.h"
#include "kernel_rows.h"
#include "walk.h"

/* The axis a position is looked for on. */
typedef struct along {
    int64_t n, stride; /* stride in bytes */
} along;

static tg_status reduce(const tgi_kernel_args *args, tgi_loop *loop)
{
    const tgi_attr_axes *attr = args->node->attr;
    const tgi_view *in = &args->in[0];
    tgi_view out = *in;
    out.data = args->out.data;
    int next = 0;
    for (int axis = 0; axis < in->rank; axis++) {
        bool is_reduced = attr->mask >> axis & 1;
        out.strides[axis] = is_reduced ? 0 : args->out.strides[next++];
    }
    assert(next == args->out.rank);
    tgi_walk_views(2, (const tgi_view *[]){&out, in}, loop, NULL);
    return TG_OK;
}

static tg_status find(const tgi_kernel_args *args, tgi_loop *loop)
{
    const tgi_attr_index *attr = args->node->attr;
    const tgi_view *in = &args->in[0];
    along axis = {in->dims[attr->index],
                  in->strides[attr->index] * tgi_dtype_bytes(in->dtype)};
    assert(axis.n > 0 || tgi_view_count(&args->out) == 0);
    tgi_view first = *in;
    first.rank--;
    for (int i = (int)attr->index; i < first.rank; i++) {
        first.dims[i] = in->dims[i + 1];
        first.strides[i] = in->strides[i + 1];
    }
    tgi_walk_views(2, (const tgi_view *[]){&args->out, &first}, loop, &axis);
    return TG_OK;
}

#define TEMPLATE "kernel_reduce_type.h"
#include "scalar_each.h"

static tgi_kernel *const *const tables[TGI_DTYPES] = {
#define DTYPE(ID, ...) [TG_##ID] = kernels_##ID,
#include "dtype.def"
#undef DTYPE
};

tgi_kernel *tgi_kernel_reduce(int op, int dtype)
{
    return tables[dtype] ? tables[dtype][op] : NULL;
}
