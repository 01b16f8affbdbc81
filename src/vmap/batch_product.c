/* SPDX-License-Identifier: MIT */
/*
 * batch_product.c - rules of matrix products, convolutions and random numbers.
 * If only one operand has a batch, its rows, or the examples of a convolution,
 * are merged with it, so that a vector times a matrix becomes one product of
 * matrices. This changes the order of sums only where a product has one row or
 * column (NUMERICS.md).
 */
#include "batch.h"
#include "tgjit/ops.h"

/* -- Matrix products ------------------------------------------------------- */

/* [batch, …] with axes of extent 1 after the batch, up to `rank` axes. */
static tgi_ref align(tgi_batch *s, tgi_ref x, int rank)
{
    if (!x)
        return 0;
    const tgi_shape *shape = tgi_batch_shape(s, x);
    tgi_dim dims[TG_MAX_RANK + 1] = {s->extent};
    const int n_added = rank - shape->rank;
    for (int i = 1; i < rank; i++)
        dims[i] = i <= n_added ? 1 : shape->dims[i - n_added];
    return tgi_batch_reshape(s, x, rank, dims);
}

/* The product of [batch, …, m, k] with a matrix: one of [batch * … * m, k]. */
static tgi_ref merge_rows(tgi_batch *s, const tgi_node *node, tgi_ref a,
                          tgi_ref b, tgi_shape_ref result)
{
    tgi_dims *table = s->b.graph->dims;
    const tgi_shape *from = tgi_batch_shape(s, a);
    const tgi_shape *to = tgi_shape_of(table, result);
    tgi_dim rows = 1;
    for (int i = 0; i + 1 < from->rank; i++)
        rows = tgi_dim_mul(table, rows, from->dims[i]);
    const tgi_dim in[] = {rows, from->dims[from->rank - 1]};
    const tgi_dim out[] = {rows, to->dims[to->rank - 1]};
    const tgi_ref inputs[] = {tgi_batch_reshape(s, a, 2, in), b};
    const tgi_ref product = tgi_batch_add(
        s, node, tgi_shape_intern(table, 2, out), inputs, node->attr);
    return tgi_batch_reshape(s, product, to->rank, to->dims);
}

/* The product of a matrix with columns [batch, k, 1] or rows [batch, 1, k] that
   are taken as columns: the transpose of that of [batch, k] with the transposed
   matrix. */
static tgi_ref merge_columns(tgi_batch *s, const tgi_node *node, tgi_ref a,
                             tgi_ref b, tgi_shape_ref result)
{
    tgi_dims *table = s->b.graph->dims;
    const tgi_shape *to = tgi_shape_of(table, result);
    const int64_t flags = ((const tgi_attr_matmul *)node->attr)->flags;
    const tgi_shape *from = tgi_batch_shape(s, b);
    const tgi_dim in[] = {s->extent,
                          from->dims[flags & TG_TRANSPOSE_B ? 2 : 1]};
    const tgi_dim out[] = {s->extent, to->dims[1]};
    const tgi_attr_matmul attr = {flags & TG_TRANSPOSE_A ? 0 : TG_TRANSPOSE_B};
    const tgi_ref inputs[] = {tgi_batch_reshape(s, b, 2, in), a};
    const tgi_ref product = tgi_batch_add(
        s, node, tgi_shape_intern(table, 2, out), inputs, &attr);
    return tgi_batch_reshape(s, product, to->rank, to->dims);
}

tgi_batched tgi_batch_matmul(tgi_batch *s, const tgi_node *node)
{
    const tgi_batched a = tgi_batch_input(s, node, 0);
    const tgi_batched b = tgi_batch_input(s, node, 1);
    const int64_t flags = ((const tgi_attr_matmul *)node->attr)->flags;
    const tgi_shape *element = tgi_shape_of(s->in->dims, node->shape);
    const tgi_shape_ref shape = tgi_batch_extend(s, element);
    const int a_rank = tgi_batch_element(s, node, 0)->rank;
    const int b_rank = tgi_batch_element(s, node, 1)->rank;
    if (!shape)
        return (tgi_batched){0, true};
    if (!b.is_batched && b_rank == 2 && !(flags & TG_TRANSPOSE_A))
        return tgi_batch_of(merge_rows(s, node, a.ref, b.ref, shape));
    /* Operands of products of bytes do not commute. */
    if (!a.is_batched && element->rank == 2 && element->dims[1] == 1 &&
        !(flags & TG_MATMUL_BYTES))
        return tgi_batch_of(merge_columns(s, node, a.ref, b.ref, shape));
    const int rank = 1 + (a_rank > b_rank ? a_rank : b_rank);
    const tgi_ref inputs[] = {
        a.is_batched ? align(s, a.ref, rank) : a.ref,
        b.is_batched ? align(s, b.ref, rank) : b.ref};
    return tgi_batch_of(tgi_batch_add(s, node, shape, inputs, node->attr));
}

/* -- Convolutions ---------------------------------------------------------- */

tgi_batched tgi_batch_conv(tgi_batch *s, const tgi_node *node)
{
    const tgi_batched x = tgi_batch_input(s, node, 0);
    const tgi_batched w = tgi_batch_input(s, node, 1);
    tgi_attr_conv attr = *(const tgi_attr_conv *)node->attr;
    const tgi_shape *element = tgi_shape_of(s->in->dims, node->shape);
    const tgi_shape_ref shape = tgi_batch_extend(s, element);
    if (!shape)
        return (tgi_batched){0, true};
    if (w.is_batched || attr.n_batch > 0) {
        attr.n_batch++;
        const tgi_ref inputs[] = {tgi_batch_repeat(s, x),
                                  tgi_batch_repeat(s, w)};
        return tgi_batch_of(tgi_batch_add(s, node, shape, inputs, &attr));
    }
    /* More examples. */
    tgi_dims *table = s->b.graph->dims;
    const tgi_shape *from = tgi_batch_element(s, node, 0);
    tgi_dim in[TG_MAX_RANK], out[TG_MAX_RANK];
    for (int i = 0; i < from->rank; i++) {
        in[i] = from->dims[i];
        out[i] = element->dims[i];
    }
    in[0] = out[0] = tgi_dim_mul(table, s->extent, from->dims[0]);
    const tgi_ref inputs[] = {tgi_batch_reshape(s, x.ref, from->rank, in),
                              w.ref};
    const tgi_ref y =
        tgi_batch_add(s, node, tgi_shape_intern(table, from->rank, out), inputs,
                      &attr);
    const tgi_shape *to = tgi_shape_of(table, shape);
    return tgi_batch_of(tgi_batch_reshape(s, y, to->rank, to->dims));
}

/* -- Random numbers -------------------------------------------------------- */

typedef struct random_numbers {
    const tgi_batch *s;
    const tgi_node *node;
} random_numbers;

static bool emit_random(tg_trace *t, const tgi_ref *in, tgi_ref *out,
                        void *user)
{
    const random_numbers *r = user;
    tgi_batch body = {.t = t, .b = r->s->b};
    body.b.graph = t->graph;
    *out = tgi_batch_add(&body, r->node, r->node->shape, in, r->node->attr);
    return *out != 0;
}

/* A stream has one key: those of a batch are read one after the other. */
tgi_batched tgi_batch_random(tgi_batch *s, const tgi_node *node)
{
    random_numbers r = {s, node};
    const tgi_batched inputs[] = {tgi_batch_input(s, node, 0),
                                  tgi_batch_input(s, node, 1)};
    const tgi_ref like = s->at;
    tgi_ref result = 0;
    return tgi_batch_of(tgi_batch_sequence(s->t, s->extent, inputs, 2, s->in,
                                           &like, 1, s->b.site, emit_random, &r,
                                           &result)
                            ? result
                            : 0);
}
