/* SPDX-License-Identifier: MIT */
/*
 * pass_shape.c - simplifies views and other ops that only move elements. Every
 * rule reaches the same elements by a shorter path. Checks that always hold are
 * dropped; checks that always fail are kept, so that the call reports them.
 * Some reductions over several axes become two (reduce_rows.h).
 *
 * Inputs are simplified before their users, so a chain of views never becomes
 * longer than one link.
 *
 * Requires:    a verified graph.
 * Preserves:   every bit of results and effects.
 * Invalidates: refs; drops checks that hold.
 * Terminates:  one sweep per graph; a rule is tried once per node.
 */
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "ir/rebuild.h"
#include "pass/edge_pieces.h"
#include "pass/pass.h"
#include "pass/reduce_rows.h"
#include "runtime/index_check.h"

/*
 * The node being simplified. A rule either replaces it by an existing node of
 * the same type (`replacement`) or modifies it.
 */
typedef struct reshaper {
    tgi_graph *graph;
    tgi_node node;
    tgi_ref inputs[2]; /* node.inputs, if a rule changed it */
    tgi_ref replacement;
    bool failed; /* out of memory, recorded */
    union {
        tgi_attr_perm perm;
        tgi_attr_slice slice;
        tgi_attr_pad pad;
        tgi_attr_axes axes;
    } attr;                    /* node.attr, if a rule changed it */
    tgi_attr_slice slice_attr; /* attribute of a dynamic slice that became a
                                  slice */
} reshaper;

static const tgi_node *input_node(const reshaper *r)
{
    return tgi_graph_node(r->graph, r->node.inputs[0]);
}

static void set_input(reshaper *r, tgi_ref ref)
{
    r->inputs[0] = ref;
    r->node.inputs = r->inputs;
    r->node.n_inputs = 1;
}

/* Replaces the node by its input if their shapes are equal. */
static void replace_by_input(reshaper *r)
{
    if (input_node(r)->shape == r->node.shape)
        r->replacement = r->node.inputs[0];
}

/* -- Views ----------------------------------------------------------------- */

/* A broadcast of a broadcast, or a reshape of a reshape: only the last shape
   matters. */
static void shape_nested(reshaper *r)
{
    if (input_node(r)->op == r->node.op)
        set_input(r, input_node(r)->inputs[0]);
    replace_by_input(r);
}

static void shape_transpose(reshaper *r)
{
    const tgi_attr_perm *outer = r->node.attr;
    int rank = tgi_shape_of(r->graph->dims, r->node.shape)->rank;
    const tgi_node *input = input_node(r);
    if (input->op == TGI_OP_TRANSPOSE) {
        const tgi_attr_perm *inner = input->attr;
        tgi_attr_perm combined = {{0}};
        for (int i = 0; i < rank; i++)
            combined.perm[i] = inner->perm[outer->perm[i]];
        r->attr.perm = combined;
        r->node.attr = outer = &r->attr.perm;
        set_input(r, input->inputs[0]);
    }
    bool is_identity = true;
    for (int i = 0; i < rank; i++)
        is_identity &= outer->perm[i] == i;
    if (is_identity)
        r->replacement = r->node.inputs[0];
}

/*
 * Combines one axis of a slice of a slice: element i of the outer one is
 * element start1 + (start2 + i * step2) * step1 of the innermost input. False
 * if the combined start might leave 0 … extent, or cannot be expressed.
 */
static bool combine_axis(reshaper *r, const tgi_attr_slice *inner,
                         const tgi_attr_slice *outer, tgi_dim count, int axis)
{
    tgi_attr_slice *combined = &r->attr.slice;
    tgi_dim first = inner->start[axis], second = outer->start[axis];
    int64_t step = inner->step[axis];
    if (count == 0) {
        combined->step[axis] = 1;
        return true;
    }
    if (!tgi_checked_mul(step, outer->step[axis], &combined->step[axis]))
        return false;
    if (tgi_dim_is_known(first) && tgi_dim_is_known(second) &&
        tgi_dim_is_known(count)) {
        int64_t offset;
        return tgi_checked_mul(second, step, &offset) &&
               tgi_checked_add(first, offset, &combined->start[axis]) &&
               combined->start[axis] >= 0;
    }
    /* Valid even if the slice is empty: start1 + start2 is within bounds. */
    if (step != 1)
        return false;
    combined->start[axis] = tgi_dim_add(r->graph->dims, first, second);
    if (combined->start[axis] != TGI_DIM_NONE)
        return true;
    r->failed = tg_error_last()->status == TG_ERROR_OUT_OF_MEMORY;
    return false;
}

static void shape_slice(reshaper *r)
{
    const tgi_shape *shape = tgi_shape_of(r->graph->dims, r->node.shape);
    const tgi_node *input = input_node(r);
    if (input->op == TGI_OP_SLICE) {
        memset(&r->attr.slice, 0, sizeof r->attr.slice);
        bool ok = true;
        for (int i = 0; ok && i < shape->rank; i++)
            ok = combine_axis(r, input->attr, r->node.attr, shape->dims[i], i);
        if (ok) {
            r->node.attr = &r->attr.slice;
            set_input(r, input->inputs[0]);
        }
    }
    const tgi_attr_slice *attr = r->node.attr;
    for (int i = 0; i < shape->rank; i++)
        if (attr->start[i] != 0 || attr->step[i] != 1)
            return;
    replace_by_input(r);
}

/* -- Index maps and reductions --------------------------------------------- */

/* Nested pads with the same value become one. */
static void combine_pads(reshaper *r)
{
    const tgi_node *input = input_node(r);
    if (input->op != TGI_OP_PAD || input->inputs[1] != r->node.inputs[1])
        return;
    const tgi_attr_pad *inner = input->attr, *outer = r->node.attr;
    tgi_attr_pad combined = *inner;
    for (int i = 0; i < TG_MAX_RANK; i++) {
        combined.low[i] =
            tgi_dim_add(r->graph->dims, inner->low[i], outer->low[i]);
        combined.high[i] =
            tgi_dim_add(r->graph->dims, inner->high[i], outer->high[i]);
        if (outer->interior[i] != 0 || combined.low[i] == TGI_DIM_NONE ||
            combined.high[i] == TGI_DIM_NONE)
            return;
    }
    r->attr.pad = combined;
    r->node.attr = &r->attr.pad;
    r->inputs[0] = input->inputs[0];
    r->inputs[1] = input->inputs[1];
    r->node.inputs = r->inputs;
}

static void shape_pad(reshaper *r)
{
    combine_pads(r);
    const tgi_attr_pad *attr = r->node.attr;
    for (int i = 0; i < TG_MAX_RANK; i++)
        if (attr->low[i] != 0 || attr->high[i] != 0 || attr->interior[i] != 0)
            return;
    replace_by_input(r);
}

static void shape_concat(reshaper *r)
{
    if (r->node.n_inputs == 1)
        replace_by_input(r);
}

/* See edge_pieces.h. */
static void shape_gather(reshaper *r)
{
    r->failed = !tgi_edge_pieces(r->graph, &r->node, &r->replacement);
}

/* A slice of the whole axis is its input; a constant start makes a SLICE. */
static void shape_dynamic_slice(reshaper *r)
{
    const tgi_shape *to = tgi_shape_of(r->graph->dims, r->node.shape);
    const tgi_shape *from = tgi_graph_shape(r->graph, r->node.inputs[0]);
    const int axis = (int)tgi_node_index(&r->node);
    replace_by_input(r);
    const tgi_node *start = tgi_graph_node(r->graph, r->node.inputs[1]);
    const void *element = tgi_graph_constant(r->graph, r->node.inputs[1]);
    if (r->replacement || !element || tgi_shape_is_unbounded(from) ||
        !tgi_dim_is_known(to->dims[axis]) ||
        !tgi_dim_is_known(from->dims[axis]) || from->dims[axis] == 0)
        return;
    memset(&r->slice_attr, 0, sizeof r->slice_attr);
    for (int i = 0; i < to->rank; i++)
        r->slice_attr.step[i] = 1;
    r->slice_attr.start[axis] =
        tgi_clamp_index(tgi_index_reader(start->dtype)(element),
                        from->dims[axis] - to->dims[axis] + 1);
    r->node.op = TGI_OP_SLICE;
    r->node.attr = &r->slice_attr;
    r->node.attr_bytes = sizeof r->slice_attr;
    set_input(r, r->node.inputs[0]);
    shape_slice(r);
}

/* An update of the whole axis is the update itself; an empty update is the
   operand. */
static void shape_dynamic_update(reshaper *r)
{
    const int axis = (int)tgi_node_index(&r->node);
    const tgi_ref update = r->node.inputs[1];
    if (tgi_graph_node(r->graph, update)->shape == r->node.shape)
        r->replacement = update;
    else if (tgi_graph_shape(r->graph, update)->dims[axis] == 0)
        r->replacement = r->node.inputs[0];
}

/* Adds the reduction over the last axis; the node is that over the others. */
static void reduce_rows(reshaper *r)
{
    tgi_attr_axes axes = *(const tgi_attr_axes *)r->node.attr;
    const tgi_shape *shape = tgi_graph_shape(r->graph, r->node.inputs[0]);
    const uint64_t last = UINT64_C(1) << (shape->rank - 1);
    r->attr.axes.mask = axes.mask & ~last;
    axes.mask = last;
    tgi_node rows = r->node;
    rows.attr = &axes;
    rows.shape =
        tgi_shape_intern(r->graph->dims, shape->rank - 1, shape->dims);
    const tgi_ref ref = rows.shape ? tgi_graph_add(r->graph, &rows) : 0;
    if (!ref) {
        r->failed = true;
        return;
    }
    r->node.attr = &r->attr.axes;
    set_input(r, ref);
}

/*
 * A reduction over axes of extent 1 is a reshape: combining an element with the
 * identity gives that element, including -0. Others may be done row by row.
 */
static void shape_reduce(reshaper *r)
{
    const tgi_attr_axes *attr = r->node.attr;
    const tgi_shape *shape = tgi_graph_shape(r->graph, r->node.inputs[0]);
    for (int i = 0; i < shape->rank; i++)
        if (attr->mask >> i & 1 && shape->dims[i] != 1) {
            if (tgi_reduces_by_rows(r->graph, &r->node))
                reduce_rows(r);
            return;
        }
    r->node.op = TGI_OP_RESHAPE;
    r->node.attr = NULL;
    r->node.attr_bytes = 0;
    shape_nested(r);
}

/* -- The pass -------------------------------------------------------------- */

typedef void rule(reshaper *r);

static rule *const rules[TGI_OPS] = {
    [TGI_OP_BROADCAST] = shape_nested,
    [TGI_OP_RESHAPE] = shape_nested,
    [TGI_OP_TRANSPOSE] = shape_transpose,
    [TGI_OP_SLICE] = shape_slice,
    [TGI_OP_PAD] = shape_pad,
    [TGI_OP_CONCAT] = shape_concat,
    [TGI_OP_GATHER] = shape_gather,
    [TGI_OP_DYNAMIC_SLICE] = shape_dynamic_slice,
    [TGI_OP_DYNAMIC_UPDATE] = shape_dynamic_update,
    [TGI_OP_SUM] = shape_reduce,
    [TGI_OP_PROD] = shape_reduce,
    [TGI_OP_REDUCE_MAX] = shape_reduce,
    [TGI_OP_REDUCE_MIN] = shape_reduce,
};

static tgi_ref simplify_shape(tgi_rebuild *rebuild, tgi_ref old,
                              const tgi_node *node)
{
    (void)old;
    if (!rules[node->op])
        return tgi_graph_add(rebuild->out, node);
    reshaper r = {.graph = rebuild->out, .node = *node};
    rules[node->op](&r);
    if (r.failed)
        return 0;
    return r.replacement ? r.replacement : tgi_graph_add(rebuild->out, &r.node);
}

static bool check_may_fail(const tgi_rebuild *rebuild, const tgi_check *check)
{
    return tgi_check_decide(rebuild->out->dims, check) != 1;
}

tg_status tgi_pass_shape(const tgi_graph *in, tgi_graph **out_graph)
{
    tgi_rebuild rebuild = {.in = in,
                           .visit = simplify_shape,
                           .region = tgi_pass_shape,
                           .keep_check = check_may_fail};
    tg_status status = tgi_rebuild_run(&rebuild);
    *out_graph = rebuild.out;
    return status;
}
