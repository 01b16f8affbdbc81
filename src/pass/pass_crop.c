/* SPDX-License-Identifier: MIT */
/*
 * pass_crop.c - computes only what a slice takes of a convolution or a pad:
 *
 *     slice(conv(x, w)) = conv(slice(x), w)
 *     slice(pad(x))     = pad(x), with less padding
 *
 * The gradient of a padded convolution is such a slice: the gradient of the
 * pad drops the border that the gradient of the convolution has.
 *
 * Requires:    a verified graph.
 * Preserves:   every bit of results and effects: elements are computed alike.
 * Invalidates: refs.
 * Terminates:  one sweep; a slice moves up through single uses only, towards
 *              the parameters.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "ir/rebuild.h"
#include "pass/pass.h"

/* A slice with unit steps: starts and extents by axis. */
typedef struct crop {
    int rank;
    tgi_dim start[TG_MAX_RANK], count[TG_MAX_RANK];
} crop;

/* rebuild->user */
typedef struct cropper {
    const uint32_t *n_uses; /* by old ref */
    bool failed;            /* out of memory, recorded */
} cropper;

/* Notes that an extent could not be computed: the rule does not apply, or
   memory is short. Returns false. */
static bool fail_dim(const tgi_rebuild *rebuild)
{
    cropper *state = rebuild->user;
    state->failed |= tg_error_last()->status == TG_ERROR_OUT_OF_MEMORY;
    return false;
}

static const tgi_node *old_node(const tgi_rebuild *rebuild, tgi_ref old)
{
    return tgi_graph_node(rebuild->in, old);
}

/* True if a crop takes all of an axis. */
static bool is_whole(const crop *c, int axis, tgi_dim extent)
{
    return c->start[axis] == 0 && c->count[axis] == extent;
}

static tgi_ref add_crop(tgi_rebuild *rebuild, tgi_ref old, const crop *c);

/* Adds a node with the extents of `c`; 0 on failure. */
static tgi_ref add_node(tgi_rebuild *rebuild, tgi_node *node, const crop *c)
{
    cropper *state = rebuild->user;
    node->shape = tgi_shape_intern(rebuild->out->dims, c->rank, c->count);
    const tgi_ref ref = node->shape ? tgi_graph_add(rebuild->out, node) : 0;
    state->failed |= !ref;
    return ref;
}

/* -- Pads ------------------------------------------------------------------ */

/* Reduces the padding of one axis. False if the crop takes less than the
   operand, or what it takes is unknown. */
static bool crop_padding(const tgi_rebuild *rebuild, const crop *c, int axis,
                         tgi_dim padded, tgi_attr_pad *attr)
{
    tgi_dims *dims = rebuild->out->dims;
    if (is_whole(c, axis, padded))
        return true;
    const tgi_dim low = c->start[axis];
    const tgi_dim rest = tgi_dim_sub(dims, padded, low);
    const tgi_dim high = rest == TGI_DIM_NONE
                             ? TGI_DIM_NONE
                             : tgi_dim_sub(dims, rest, c->count[axis]);
    if (high == TGI_DIM_NONE)
        return fail_dim(rebuild);
    if (!tgi_dim_is_known(low) || !tgi_dim_is_known(high) ||
        !tgi_dim_is_known(attr->low[axis]) ||
        !tgi_dim_is_known(attr->high[axis]) || low > attr->low[axis] ||
        high > attr->high[axis] || high < 0)
        return false;
    attr->low[axis] -= low;
    attr->high[axis] -= high;
    return true;
}

/* The part `c` of a pad; 0: it is not a pad, or adding it failed. */
static tgi_ref crop_pad(tgi_rebuild *rebuild, tgi_ref old, const crop *c)
{
    tgi_attr_pad attr = *(const tgi_attr_pad *)old_node(rebuild, old)->attr;
    const tgi_shape *padded = tgi_graph_shape(rebuild->in, old);
    for (int axis = 0; axis < c->rank; axis++)
        if (!crop_padding(rebuild, c, axis, padded->dims[axis], &attr))
            return 0;
    tgi_node node = *old_node(rebuild, old);
    const tgi_ref inputs[] = {rebuild->map[node.inputs[0]],
                              rebuild->map[node.inputs[1]]};
    node.inputs = inputs;
    node.attr = &attr;
    return add_node(rebuild, &node, c);
}

/* -- Convolutions ---------------------------------------------------------- */

/* The part of the operand that the windows of `c` cover. False if another axis
   than those of examples and space is cropped, or windows are apart. */
static bool crop_operand(const tgi_rebuild *rebuild, tgi_ref old, const crop *c,
                         crop *out)
{
    tgi_dims *dims = rebuild->out->dims;
    const tgi_node *node = old_node(rebuild, old);
    const tgi_attr_conv *attr = node->attr;
    const tgi_shape *x = tgi_graph_shape(rebuild->in, node->inputs[0]);
    const tgi_shape *w = tgi_graph_shape(rebuild->in, node->inputs[1]);
    const tgi_shape *y = tgi_graph_shape(rebuild->in, old);
    const int example = (int)attr->n_batch;
    *out = (crop){.rank = x->rank};
    memcpy(out->count, x->dims, (size_t)x->rank * sizeof(out->count[0]));
    for (int axis = 0; axis < c->rank; axis++) {
        if (is_whole(c, axis, y->dims[axis]))
            continue;
        if (axis < example || axis == c->rank - 1)
            return false;
        out->start[axis] = c->start[axis];
        out->count[axis] = c->count[axis];
        if (axis == example)
            continue;
        const int spatial = axis - example - 1;
        const tgi_dim more = tgi_dim_sub(dims, w->dims[axis - 1], 1);
        const tgi_dim border =
            more == TGI_DIM_NONE
                ? TGI_DIM_NONE
                : tgi_dim_mul(dims, more, attr->dilation[spatial]);
        if (border == TGI_DIM_NONE)
            return fail_dim(rebuild);
        if (attr->stride[spatial] != 1)
            return false;
        out->count[axis] = tgi_dim_add(dims, c->count[axis], border);
        if (out->count[axis] == TGI_DIM_NONE)
            return fail_dim(rebuild);
    }
    return true;
}

/* The part `c` of a convolution; 0: it is not one, or adding it failed. */
static tgi_ref crop_conv(tgi_rebuild *rebuild, tgi_ref old, const crop *c)
{
    crop operand;
    if (!crop_operand(rebuild, old, c, &operand))
        return 0;
    tgi_node node = *old_node(rebuild, old);
    const tgi_ref x = add_crop(rebuild, node.inputs[0], &operand);
    const tgi_ref inputs[] = {x, rebuild->map[node.inputs[1]]};
    node.inputs = inputs;
    return x ? add_node(rebuild, &node, c) : 0;
}

/* -- Slices ---------------------------------------------------------------- */

static tgi_ref add_slice(tgi_rebuild *rebuild, tgi_ref old, const crop *c)
{
    tgi_attr_slice attr = {{0}, {0}};
    for (int axis = 0; axis < c->rank; axis++) {
        attr.start[axis] = c->start[axis];
        attr.step[axis] = 1;
    }
    const tgi_ref input = rebuild->map[old];
    tgi_node node = {.op = TGI_OP_SLICE,
                     .dtype = old_node(rebuild, old)->dtype,
                     .inputs = &input,
                     .n_inputs = 1,
                     .attr = &attr,
                     .attr_bytes = sizeof(attr),
                     .site = old_node(rebuild, old)->site};
    return add_node(rebuild, &node, c);
}

/* The part `c` of an old node; 0 on failure (recorded). */
static tgi_ref add_crop(tgi_rebuild *rebuild, tgi_ref old, const crop *c)
{
    const cropper *state = rebuild->user;
    const int op = old_node(rebuild, old)->op;
    tgi_ref ref = 0;
    if (state->n_uses[old] == 1 && op == TGI_OP_PAD)
        ref = crop_pad(rebuild, old, c);
    else if (state->n_uses[old] == 1 && op == TGI_OP_CONV)
        ref = crop_conv(rebuild, old, c);
    return ref || state->failed ? ref : add_slice(rebuild, old, c);
}

static tgi_ref crop_node(tgi_rebuild *rebuild, tgi_ref old,
                         const tgi_node *node)
{
    if (node->op != TGI_OP_SLICE)
        return tgi_graph_add(rebuild->out, node);
    const tgi_attr_slice *attr = node->attr;
    const tgi_shape *shape = tgi_shape_of(rebuild->out->dims, node->shape);
    const tgi_ref input = old_node(rebuild, old)->inputs[0];
    const int op = old_node(rebuild, input)->op;
    crop c = {.rank = shape->rank};
    bool is_crop = op == TGI_OP_PAD || op == TGI_OP_CONV;
    for (int axis = 0; axis < c.rank; axis++) {
        is_crop &= attr->step[axis] == 1;
        c.start[axis] = attr->start[axis];
        c.count[axis] = shape->dims[axis];
    }
    return is_crop ? add_crop(rebuild, input, &c)
                   : tgi_graph_add(rebuild->out, node);
}

/* -- The pass -------------------------------------------------------------- */

static void count_uses(const tgi_graph *graph, uint32_t *n_uses)
{
    for (tgi_ref ref = 1; ref <= graph->n_nodes; ref++) {
        const tgi_node *node = tgi_graph_node(graph, ref);
        for (uint32_t i = 0; i < node->n_inputs; i++)
            n_uses[node->inputs[i]]++;
    }
    for (size_t i = 0; i < graph->results.n; i++)
        n_uses[graph->results.data[i]]++;
}

tg_status tgi_pass_crop(const tgi_graph *in, tgi_graph **out_graph)
{
    uint32_t *n_uses = tgi_alloc_zero((in->n_nodes + 1) * sizeof(*n_uses));
    *out_graph = NULL;
    if (!n_uses)
        return tgi_error_memory();
    count_uses(in, n_uses);
    cropper state = {.n_uses = n_uses};
    tgi_rebuild rebuild = {
        .in = in, .visit = crop_node, .region = tgi_pass_crop, .user = &state};
    const tg_status status = tgi_rebuild_run(&rebuild);
    *out_graph = rebuild.out;
    tgi_free(n_uses);
    return status;
}
