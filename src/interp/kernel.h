/* SPDX-License-Identifier: MIT */
/*
 * kernel.h - kernels: compute one node over strided views. They define the
 * result of every op that computes; the interpreter and constant folding both
 * use them.
 */
#ifndef TGI_KERNEL_H
#define TGI_KERNEL_H

#include "ir/graph.h"
#include "runtime/view.h"

typedef struct tgi_kernel_args {
    const tgi_node *node;
    const int64_t *values; /* of symbolic extents, see tgi_dims_evaluate */
    tgi_view out;          /* dense */
    const tgi_view *in;    /* data is never NULL, even without elements */
} tgi_kernel_args;

/* Fails only for ops flagged MAY_FAIL; `out` is then undefined. */
typedef tg_status tgi_kernel(const tgi_kernel_args *args);

/* Copies the operand of an update or scatter to `out`, unless `out` is its
   buffer. */
static inline void tgi_kernel_begin_update(const tgi_kernel_args *args)
{
    if (args->out.data != args->in[0].data)
        tgi_view_copy(&args->out, &args->in[0]);
}

/*
 * The kernel of a node with final dtypes. NULL for views, state, effects,
 * regions, and leaves other than IOTA and EXTENT.
 */
tgi_kernel *tgi_kernel_of(const tgi_graph *graph, const tgi_node *node);

/*
 * Computes the view that a VIEW node makes of its input. False if the input
 * must first be made dense (a reshape that cannot be expressed by strides).
 */
bool tgi_kernel_view(const tgi_graph *graph, const tgi_node *node,
                     const int64_t *values, const tgi_view *in,
                     tgi_view *out_view);

/* -- Families, one file each ----------------------------------------------- */

/* kernel_elementwise.c: tables generated from op.def and the recipes */
tgi_kernel *tgi_kernel_elementwise(int op, int in_dtype, int out_dtype);
/* kernel_cast.c */
tgi_kernel *tgi_kernel_cast(int op, int from, int to);
/* kernel_index.c: IOTA, EXTENT and class INDEX */
tgi_kernel *tgi_kernel_index(int op, int dtype, int index_dtype);
/* kernel_gather.c */
tgi_kernel *tgi_kernel_gather(int dtype, int index_dtype);
/* kernel_scatter.c */
tgi_kernel *tgi_kernel_scatter(int dtype, int index_dtype);
/* kernel_reduce.c */
tgi_kernel *tgi_kernel_reduce(int op, int dtype);
/* kernel_matmul.c */
tgi_kernel *tgi_kernel_matmul(int dtype);
/* kernel_scan.c */
tgi_kernel *tgi_kernel_scan(int dtype);
/* kernel_conv.c */
tgi_kernel *tgi_kernel_conv(int dtype);
/* kernel_random.c */
tgi_kernel *tgi_kernel_random(int dtype);

#endif /* TGI_KERNEL_H */
