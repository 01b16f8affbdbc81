/* SPDX-License-Identifier: MIT */
/*
 * random_graph_make_dynamic.c - what moves elements to or from where only the
 * run can tell.
 */
#include "random_graph.h"

/* A number of any integer type: computed by the run if it can be, in range or
   not. */
static rg_operand take_start(rg_maker *m)
{
    tg_dtype dtype = rg_take_dtype(&m->bytes, TGI_CLASS_INT);
    unsigned choice = rg_take(&m->bytes);
    rg_operand x = rg_pick_value(m);
    if (choice % 4 == 0 || rg_count(&x.type) == 0)
        x = rg_scalar(m, dtype);
    x = rg_fit_dtype(m, x, dtype);
    rg_type scalar = {.dtype = (uint8_t)dtype};
    /* A number of another type fits all but this. */
    if (!tgi_dtype_is(x.type.dtype, TGI_CLASS_INT))
        return rg_keep(m, scalar, RG_DO(m, tg_scalar(dtype, 3)));
    if (x.type.rank == 0)
        return x;
    /* Small numbers are more often in range. */
    scalar.dtype = x.type.dtype;
    rg_operand any = rg_keep(
        m, scalar, RG_DO(m, tg_reduce_max(x.operand, TG_ALL_AXES)));
    if (choice & 4)
        return any;
    return rg_keep(m, scalar, RG_DO(m, tg_and(any.operand, 7)));
}

/* At most `most`, and what the library is told: an extent of a value if one
   fits. */
static int64_t take_size(rg_maker *m, int64_t most, int64_t *out_told)
{
    unsigned choice = rg_take(&m->bytes);
    rg_operand like = rg_pick_value(m);
    for (int axis = 0; choice % 2 && axis < like.type.rank; axis++)
        if (like.type.dims[axis] <= most) {
            *out_told = rg_dim(m, &like, axis);
            return like.type.dims[axis];
        }
    return *out_told = rg_below(&m->bytes, (int)(most < 200 ? most : 200) + 1);
}

void rg_make_dynamic_slice(rg_maker *m, tgi_op op)
{
    (void)op;
    rg_operand x = rg_pick_ranked(m);
    int axis = rg_below(&m->bytes, x.type.rank);
    rg_operand start = take_start(m);
    rg_type type = x.type;
    int64_t told;
    type.dims[axis] = take_size(m, x.type.dims[axis], &told);
    type.is_weak = false;
    rg_keep(m, type,
            RG_DO(m, tg_dynamic_slice(x.operand, axis, start.operand, told)));
}
