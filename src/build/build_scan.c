/* SPDX-License-Identifier: MIT */
/*
 * build_scan.c - builders of LINEAR_SCAN and what is made of it.
 */
#include "build/build.h"

tgi_ref tgi_build_reverse(tgi_builder *b, tgi_ref x, int axis)
{
    if (!x)
        return 0;
    tgi_dims *dims = b->graph->dims;
    const tgi_node *node = tgi_graph_node(b->graph, x);
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    tgi_attr_slice attr = {{0}, {0}};
    if (tgi_dim_is_known(shape->dims[axis]) && shape->dims[axis] < 2)
        return x;
    for (int i = 0; i < shape->rank; i++)
        attr.step[i] = i == axis ? -1 : 1;
    attr.start[axis] =
        tgi_dim_sub(dims, tgi_dim_max(dims, shape->dims[axis], 1), 1);
    return tgi_build_dim(b, attr.start[axis]) == TGI_DIM_NONE
               ? 0
               : tgi_build_node(b, TGI_OP_SLICE, node->dtype, node->shape, &x,
                                1, &attr, sizeof(attr));
}

tgi_ref tgi_build_linear_scan(tgi_builder *b, tgi_ref x, tgi_ref y, int axis,
                              bool starts_at_one)
{
    tgi_ref in[] = {x, y};
    if (!x || !y || tgi_build_unify(b, in, 2) == TG_DTYPE_NONE)
        return 0;
    const tg_dtype dtype = tgi_graph_node(b->graph, in[0])->dtype;
    if (!tgi_dtype_is((int)dtype, TGI_CLASS_NUM_HALF))
        return tgi_build_fail(b, TG_ERROR_DTYPE, in, 2, "needs a number type");
    const tgi_shape *p = tgi_graph_shape(b->graph, in[0]);
    const tgi_shape *q = tgi_graph_shape(b->graph, in[1]);
    const int rank = p->rank > q->rank ? p->rank : q->rank;
    tgi_dim dims[TG_MAX_RANK];
    for (int i = 0; i < rank; i++) {
        const int p_axis = i - (rank - p->rank), q_axis = i - (rank - q->rank);
        if (!tgi_build_common_dim(b, p_axis >= 0 ? p->dims[p_axis] : 1,
                                  q_axis >= 0 ? q->dims[q_axis] : 1, &dims[i]))
            return tgi_build_fail(b, TG_ERROR_SHAPE, in, 2,
                                  "shapes do not broadcast");
    }
    for (int i = 0; i < 2; i++)
        in[i] = tgi_build_broadcast(b, tgi_build_widen(b, in[i]), rank, dims);
    if (!in[0] || !in[1])
        return 0;
    tgi_attr_scan attr = {tgi_build_axis(b, in[0], axis), starts_at_one};
    if (attr.axis < 0)
        return 0;
    const tgi_ref scan = tgi_build_node(
        b, TGI_OP_LINEAR_SCAN, tgi_graph_node(b->graph, in[0])->dtype,
        tgi_build_shape(b, rank, dims), in, 2, &attr, sizeof(attr));
    return tgi_build_narrow(b, scan, dtype);
}
