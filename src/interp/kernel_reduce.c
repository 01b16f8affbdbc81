/* SPDX-License-Identifier: MIT */
/*
 * kernel_reduce.c - kernels of reductions, in the order of reduce_tree.h.
 */
#include <assert.h>

#include "interp/kernel.h"
#include "interp/kernel_rows.h"
#include "recipe/op_family.h"
#include "recipe/reduce_tree.h"
#include "recipe/scalar.h"
#include "runtime/walk.h"

/* Results computed together; does not change bits. */
enum { CHUNK = 16 };

/* Reduced axes, in order; strides in bytes. */
typedef struct axis_group {
    int rank;
    int64_t dims[TG_MAX_RANK], strides[TG_MAX_RANK];
    int64_t count;
} axis_group;

/* The reduced axes, split as reduce_tree.h defines. */
typedef struct reduction {
    axis_group rows, run;
} reduction;

/* The axis that ARGMAX and ARGMIN search. */
typedef struct arg_axis {
    int64_t n, stride; /* stride in bytes */
} arg_axis;

static void axis_group_add(axis_group *g, const tgi_view *in, int axis)
{
    g->dims[g->rank] = in->dims[axis];
    g->strides[g->rank++] = in->strides[axis] * tgi_dtype_bytes(in->dtype);
    g->count *= in->dims[axis];
}

/* Increments `position` along the first `rank` axes and returns by how many
   bytes the address changes. */
static int64_t axis_group_step(const axis_group *g, int rank, int64_t *position)
{
    int64_t moved = 0;
    for (int axis = rank - 1; axis >= 0; axis--) {
        if (++position[axis] < g->dims[axis])
            return moved + g->strides[axis];
        moved -= (position[axis] - 1) * g->strides[axis];
        position[axis] = 0;
    }
    return moved;
}

/* The view without the axes in `mask`. */
static tgi_view without_axes(const tgi_view *in, uint64_t mask)
{
    tgi_view kept = *in;
    kept.rank = 0;
    for (int axis = 0; axis < in->rank; axis++)
        if (!(mask >> axis & 1)) {
            kept.dims[kept.rank] = in->dims[axis];
            kept.strides[kept.rank++] = in->strides[axis];
        }
    return kept;
}

static tg_status run_reduce(const tgi_kernel_args *args, tgi_inner_loop *loop)
{
    const tgi_attr_axes *attr = args->node->attr;
    const tgi_view *in = &args->in[0];
    reduction r = {.rows = {.count = 1}, .run = {.count = 1}};
    int first_of_run = in->rank;
    while (first_of_run > 0 && attr->mask >> (first_of_run - 1) & 1)
        first_of_run--;
    for (int axis = 0; axis < in->rank; axis++)
        if (attr->mask >> axis & 1)
            axis_group_add(axis < first_of_run ? &r.rows : &r.run, in, axis);

    tgi_view first = without_axes(in, attr->mask);
    assert(first.rank == args->out.rank);
    tgi_walk_views(2, (const tgi_view *[]){&args->out, &first}, loop, &r);
    return TG_OK;
}

static tg_status run_arg_reduce(const tgi_kernel_args *args,
                                tgi_inner_loop *loop)
{
    const tgi_attr_index *attr = args->node->attr;
    const tgi_view *in = &args->in[0];
    arg_axis axis = {in->dims[attr->index],
                     in->strides[attr->index] * tgi_dtype_bytes(in->dtype)};
    assert(axis.n > 0 || tgi_view_count(&args->out) == 0);
    tgi_view first = without_axes(in, UINT64_C(1) << attr->index);
    tgi_walk_views(2, (const tgi_view *[]){&args->out, &first}, loop, &axis);
    return TG_OK;
}

#define TEMPLATE "interp/kernel_reduce_type.h"
#include "recipe/recipe_each.h"

static tgi_kernel *const *const tables[TGI_DTYPES] = {
#define DTYPE(ID, ...) [TG_##ID] = kernels_##ID,
#include "base/dtype.def"
#undef DTYPE
};

tgi_kernel *tgi_kernel_reduce(int op, int dtype)
{
    return tables[dtype] ? tables[dtype][op] : NULL;
}
