/* SPDX-License-Identifier: MIT */
/*
 * batch_shape.c - rules of views, pads, concats, reductions and scans: their
 * axes move back by one.
 */
#include <string.h>

#include "batch.h"

/* A node of one input, or of inputs that all get a batch, with its attribute
   moved. */
static tgi_batched extend(tgi_batch *s, const tgi_node *node,
                          const tgi_ref *inputs, const void *attr)
{
    const tgi_shape *element = tgi_shape_of(s->in->dims, node->shape);
    return tgi_batch_of(
        tgi_batch_add(s, node, tgi_batch_extend(s, element), inputs, attr));
}

/* -- Views ----------------------------------------------------------------- */

/* The axes that a broadcast adds go between the batch and the others. */
tgi_batched tgi_batch_broadcast(tgi_batch *s, const tgi_node *node)
{
    const tgi_shape *from = tgi_batch_element(s, node, 0);
    const int rank = tgi_shape_of(s->in->dims, node->shape)->rank;
    const int n_added = rank - from->rank;
    tgi_dim dims[TG_MAX_RANK + 1] = {s->extent};
    for (int i = 0; i < rank; i++)
        dims[i + 1] = i < n_added ? 1 : from->dims[i - n_added];
    const tgi_ref x =
        tgi_batch_reshape(s, tgi_batch_input(s, node, 0).ref, rank + 1, dims);
    return extend(s, node, &x, node->attr);
}

tgi_batched tgi_batch_reshape_rule(tgi_batch *s, const tgi_node *node)
{
    const tgi_ref x = tgi_batch_input(s, node, 0).ref;
    return extend(s, node, &x, node->attr);
}

tgi_batched tgi_batch_transpose(tgi_batch *s, const tgi_node *node)
{
    const tgi_ref x = tgi_batch_input(s, node, 0).ref;
    const tgi_attr_perm *old = node->attr;
    tgi_attr_perm attr = {{0}};
    const int rank = tgi_batch_element(s, node, 0)->rank;
    for (int i = 0; i < rank && i + 1 < TG_MAX_RANK; i++)
        attr.perm[i + 1] = (uint8_t)(old->perm[i] + 1);
    return extend(s, node, &x, &attr);
}

/* Moves entries by axis back by one; the first becomes `first`. */
static void move_entries(int64_t *to, const int64_t *from, int64_t first)
{
    memcpy(to + 1, from, (TG_MAX_RANK - 1) * sizeof(*to));
    to[0] = first;
}

tgi_batched tgi_batch_slice(tgi_batch *s, const tgi_node *node)
{
    const tgi_ref x = tgi_batch_input(s, node, 0).ref;
    const tgi_attr_slice *old = node->attr;
    tgi_attr_slice attr;
    move_entries(attr.start, old->start, 0);
    move_entries(attr.step, old->step, 1);
    return extend(s, node, &x, &attr);
}

tgi_batched tgi_batch_window(tgi_batch *s, const tgi_node *node)
{
    const tgi_ref x = tgi_batch_input(s, node, 0).ref;
    const tgi_attr_window *old = node->attr;
    tgi_attr_window attr;
    move_entries(attr.size, old->size, 0);
    move_entries(attr.stride, old->stride, 0);
    move_entries(attr.dilation, old->dilation, 0);
    return extend(s, node, &x, &attr);
}

/* -- Copies ---------------------------------------------------------------- */

/* A scalar of that dtype. */
static tgi_ref build_scalar(tgi_batch *s, int dtype, int64_t value)
{
    return tgi_build_number(&s->b, (tg_dtype)dtype, TG_I64,
                            (tgi_number){TGI_NUMBER_INT, {.i = value}});
}

/* False for the elements of the operand, true for the padding. */
static tgi_ref build_is_padding(tgi_batch *s, const tgi_node *node)
{
    const tgi_shape *from = tgi_batch_element(s, node, 0);
    const tgi_ref no = build_scalar(s, TG_BOOL, 0);
    const tgi_ref inner =
        no ? tgi_build_broadcast(&s->b, no, from->rank, from->dims) : 0;
    tgi_node pad = *node;
    pad.dtype = TG_BOOL;
    pad.name = NULL;
    return tgi_batch_add(s, &pad, node->shape,
                         (tgi_ref[]){inner, build_scalar(s, TG_BOOL, 1)},
                         node->attr);
}

tgi_batched tgi_batch_pad(tgi_batch *s, const tgi_node *node)
{
    const tgi_batched x = tgi_batch_input(s, node, 0);
    const tgi_batched value = tgi_batch_input(s, node, 1);
    const tgi_attr_pad *old = node->attr;
    tgi_attr_pad attr;
    move_entries(attr.low, old->low, 0);
    move_entries(attr.high, old->high, 0);
    move_entries(attr.interior, old->interior, 0);
    const tgi_ref inputs[] = {tgi_batch_repeat(s, x),
                              value.is_batched
                                  ? build_scalar(s, node->dtype, 0)
                                  : value.ref};
    const tgi_batched padded = extend(s, node, inputs, &attr);
    if (!padded.ref || !value.is_batched)
        return padded;
    const tgi_shape *shape = tgi_batch_shape(s, padded.ref);
    const tgi_ref is_padding = tgi_batch_repeat(
        s, (tgi_batched){build_is_padding(s, node), false});
    return tgi_batch_of(tgi_build_3(&s->b, TGI_OP_SELECT, is_padding,
                                    tgi_batch_spread(s, value.ref, shape),
                                    padded.ref));
}

tgi_batched tgi_batch_concat(tgi_batch *s, const tgi_node *node)
{
    const tgi_attr_index attr = {tgi_node_index(node) + 1};
    tgi_ref *inputs = tgi_alloc((node->n_inputs + 1) * sizeof(*inputs));
    tgi_batched result = {0, true};
    if (!inputs) {
        tgi_error_memory();
        return result;
    }
    for (uint32_t i = 0; i < node->n_inputs; i++)
        inputs[i] = tgi_batch_repeat(s, tgi_batch_input(s, node, i));
    result = extend(s, node, inputs, &attr);
    tgi_free(inputs);
    return result;
}

/* -- Reductions and scans -------------------------------------------------- */

tgi_batched tgi_batch_reduce(tgi_batch *s, const tgi_node *node)
{
    const tgi_ref x = tgi_batch_input(s, node, 0).ref;
    const tgi_attr_axes attr = {((const tgi_attr_axes *)node->attr)->mask << 1};
    return extend(s, node, &x, &attr);
}

tgi_batched tgi_batch_arg_reduce(tgi_batch *s, const tgi_node *node)
{
    const tgi_ref x = tgi_batch_input(s, node, 0).ref;
    const tgi_attr_index attr = {tgi_node_index(node) + 1};
    return extend(s, node, &x, &attr);
}

tgi_batched tgi_batch_scan(tgi_batch *s, const tgi_node *node)
{
    tgi_attr_scan attr = *(const tgi_attr_scan *)node->attr;
    attr.axis++;
    const tgi_ref inputs[] = {
        tgi_batch_repeat(s, tgi_batch_input(s, node, 0)),
        tgi_batch_repeat(s, tgi_batch_input(s, node, 1))};
    return extend(s, node, inputs, &attr);
}
