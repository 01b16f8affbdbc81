/* SPDX-License-Identifier: MIT */
/*
 * kernel.h - runs one node over views: the meaning of every op that computes.
 * The interpreter and constant folding both go through here.
 */
#ifndef TGI_KERNEL_H
#define TGI_KERNEL_H

#include "ir/graph.h"
#include "runtime/view.h"

typedef struct tgi_kernel_args {
    const tgi_node *node;
    const int64_t *values; /* of extents, see tgi_dims_evaluate */
    tgi_view out;          /* dense */
    const tgi_view *in;    /* no data is NULL, also where there is none */
} tgi_kernel_args;

/* Fails only for ops that MAY_FAIL; then nothing of `out` counts. */
typedef tg_status tgi_kernel(const tgi_kernel_args *args);

/* What an update begins with: all there is before, unless it is there already:
   `out` may be where the first input of an update or scatter lies. */
static inline void tgi_kernel_begin_update(const tgi_kernel_args *args)
{
    if (args->out.data != args->in[0].data)
        tgi_view_copy(&args->out, &args->in[0]);
}

/*
 * The kernel of a node (its dtypes are final), NULL if it has none: leaves
 * but IOTA and EXTENT, views, state, effects and regions.
 */
tgi_kernel *tgi_kernel_of(const tgi_graph *graph, const tgi_node *node);

/*
 * The view a VIEW node makes of its input; false if this input needs a copy
 * first (a reshape of a view with gaps).
 */
bool tgi_kernel_view(const tgi_graph *graph, const tgi_node *node,
                     const int64_t *values, const tgi_view *in,
                     tgi_view *out_view);

/* -- Families, one file each ----------------------------------------------- */

/* kernel_elementwise.c: tables made from op.def and recipes. */
tgi_kernel *tgi_kernel_elementwise(int op, int in_dtype, int out_dtype);
/* kernel_cast.c */
tgi_kernel *tgi_kernel_cast(int from, int to);
/* kernel_index.c: IOTA, EXTENT and all of class INDEX. */
tgi_kernel *tgi_kernel_index(int op, int dtype, int index_dtype);
/* kernel_gather.c */
tgi_kernel *tgi_kernel_gather(int dtype, int index_dtype);
/* kernel_scatter.c */
tgi_kernel *tgi_kernel_scatter(int dtype, int index_dtype);
/* kernel_reduce.c */
tgi_kernel *tgi_kernel_reduce(int op, int dtype);
/* kernel_matmul.c */
tgi_kernel *tgi_kernel_matmul(int dtype);
/* kernel_random.c */
tgi_kernel *tgi_kernel_random(int dtype);

#endif /* TGI_KERNEL_H */
