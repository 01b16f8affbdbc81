/* SPDX-License-Identifier: MIT */
/*
 * pass_shape.c - removes work on shapes. No rule touches an element: each
 * only says that the same elements can be reached by a shorter path, so bits
 * cannot change. Checks that hold whatever the call are dropped; those that
 * fail are kept, for the call to report.
 *
 * Inputs have been through the rules before their users, so a chain of views
 * shrinks by one link per node and is one link long when the next one comes.
 */
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "ir/rebuild.h"
#include "pass/pass.h"
#include "runtime/index_check.h"

/*
 * The node being looked at. A rule either finds that it is another node, old
 * and of the same type (`answer`), or changes it in place.
 */
typedef struct reshaper {
    tgi_graph *graph;
    tgi_node node;
    tgi_ref inputs[2]; /* what node.inputs points to if a rule changed it */
    tgi_ref answer;
    bool failed; /* out of memory, recorded */
    union {
        tgi_attr_perm perm;
        tgi_attr_slice slice;
        tgi_attr_pad pad;
    } attr; /* likewise for node.attr */
    tgi_attr_slice made; /* of a dynamic slice, before it meets others */
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

/* The input itself, if the node does not even change its shape. */
static void answer_input(reshaper *r)
{
    if (input_node(r)->shape == r->node.shape)
        r->answer = r->node.inputs[0];
}

/* -- Views ----------------------------------------------------------------- */

/* Broadcast of a broadcast, reshape of a reshape: the last shape counts. */
static void shape_nested(reshaper *r)
{
    if (input_node(r)->op == r->node.op)
        set_input(r, input_node(r)->inputs[0]);
    answer_input(r);
}

static void shape_transpose(reshaper *r)
{
    const tgi_attr_perm *outer = r->node.attr;
    int rank = tgi_shape_of(r->graph->dims, r->node.shape)->rank;
    const tgi_node *input = input_node(r);
    if (input->op == TGI_OP_TRANSPOSE) {
        const tgi_attr_perm *inner = input->attr;
        tgi_attr_perm both = {{0}};
        for (int i = 0; i < rank; i++)
            both.perm[i] = inner->perm[outer->perm[i]];
        r->attr.perm = both;
        r->node.attr = outer = &r->attr.perm;
        set_input(r, input->inputs[0]);
    }
    bool is_identity = true;
    for (int i = 0; i < rank; i++)
        is_identity &= outer->perm[i] == i;
    if (is_identity)
        r->answer = r->node.inputs[0];
}

/*
 * One axis of a slice of a slice: element i of the outer one is element
 * start1 + (start2 + i * step2) * step1 of the innermost input. False where
 * the combined start might leave 0 … extent or has no name.
 */
static bool combine_axis(reshaper *r, const tgi_attr_slice *inner,
                         const tgi_attr_slice *outer, tgi_dim count, int axis)
{
    tgi_attr_slice *both = &r->attr.slice;
    tgi_dim first = inner->start[axis], second = outer->start[axis];
    int64_t step = inner->step[axis];
    if (count == 0) {
        both->step[axis] = 1;
        return true;
    }
    if (!tgi_checked_mul(step, outer->step[axis], &both->step[axis]))
        return false;
    if (tgi_dim_is_known(first) && tgi_dim_is_known(second) &&
        tgi_dim_is_known(count)) {
        int64_t offset;
        return tgi_checked_mul(second, step, &offset) &&
               tgi_checked_add(first, offset, &both->start[axis]) &&
               both->start[axis] >= 0;
    }
    /* If the slice turns out empty, start1 + start2 is still within. */
    if (step != 1)
        return false;
    both->start[axis] = tgi_dim_add(r->graph->dims, first, second);
    if (both->start[axis] != TGI_DIM_NONE)
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
    answer_input(r);
}

/* -- Index maps and reductions --------------------------------------------- */

/* A border around a border of the same element is one border. */
static void combine_pads(reshaper *r)
{
    const tgi_node *input = input_node(r);
    if (input->op != TGI_OP_PAD || input->inputs[1] != r->node.inputs[1])
        return;
    const tgi_attr_pad *inner = input->attr, *outer = r->node.attr;
    tgi_attr_pad both = *inner;
    for (int i = 0; i < TG_MAX_RANK; i++) {
        both.low[i] = tgi_dim_add(r->graph->dims, inner->low[i],
                                  outer->low[i]);
        both.high[i] = tgi_dim_add(r->graph->dims, inner->high[i],
                                   outer->high[i]);
        if (outer->interior[i] != 0 || both.low[i] == TGI_DIM_NONE ||
            both.high[i] == TGI_DIM_NONE)
            return;
    }
    r->attr.pad = both;
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
    answer_input(r);
}

static void shape_concat(reshaper *r)
{
    if (r->node.n_inputs == 1)
        answer_input(r);
}

/* All of an axis starts at 0; a start that is known makes a plain slice. */
static void shape_dynamic_slice(reshaper *r)
{
    const tgi_shape *to = tgi_shape_of(r->graph->dims, r->node.shape);
    const tgi_shape *from = tgi_graph_shape(r->graph, r->node.inputs[0]);
    const int axis = (int)((const tgi_attr_index *)r->node.attr)->index;
    answer_input(r);
    const tgi_node *start = tgi_graph_node(r->graph, r->node.inputs[1]);
    const void *element = tgi_graph_constant(r->graph, r->node.inputs[1]);
    if (r->answer || !element || tgi_shape_is_unbounded(from) ||
        !tgi_dim_is_known(to->dims[axis]) ||
        !tgi_dim_is_known(from->dims[axis]) || from->dims[axis] == 0)
        return;
    memset(&r->made, 0, sizeof r->made);
    for (int i = 0; i < to->rank; i++)
        r->made.step[i] = 1;
    r->made.start[axis] = tgi_clamp_index(
        tgi_index_reader(start->dtype)(element),
        from->dims[axis] - to->dims[axis] + 1);
    r->node.op = TGI_OP_SLICE;
    r->node.attr = &r->made;
    r->node.attr_bytes = sizeof r->made;
    set_input(r, r->node.inputs[0]);
    shape_slice(r);
}

/* All of an axis is the update itself, nothing of it is no update. */
static void shape_dynamic_update(reshaper *r)
{
    const int axis = (int)((const tgi_attr_index *)r->node.attr)->index;
    const tgi_ref update = r->node.inputs[1];
    if (tgi_graph_node(r->graph, update)->shape == r->node.shape)
        r->answer = update;
    else if (tgi_graph_shape(r->graph, update)->dims[axis] == 0)
        r->answer = r->node.inputs[0];
}

/*
 * A reduction over axes of extent 1 is a reshape: combining one element with
 * the identity gives that element, -0 too.
 */
static void shape_reduce(reshaper *r)
{
    const tgi_attr_axes *attr = r->node.attr;
    const tgi_shape *shape = tgi_graph_shape(r->graph, r->node.inputs[0]);
    for (int i = 0; i < shape->rank; i++)
        if (attr->mask >> i & 1 && shape->dims[i] != 1)
            return;
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
    [TGI_OP_DYNAMIC_SLICE] = shape_dynamic_slice,
    [TGI_OP_DYNAMIC_UPDATE] = shape_dynamic_update,
    [TGI_OP_SUM] = shape_reduce,
    [TGI_OP_PROD] = shape_reduce,
    [TGI_OP_REDUCE_MAX] = shape_reduce,
    [TGI_OP_REDUCE_MIN] = shape_reduce,
};

static tgi_ref visit(tgi_rebuild *rebuild, tgi_ref old, const tgi_node *node)
{
    (void)old;
    if (!rules[node->op])
        return tgi_graph_add(rebuild->out, node);
    reshaper r = {.graph = rebuild->out, .node = *node};
    rules[node->op](&r);
    if (r.failed)
        return 0;
    return r.answer ? r.answer : tgi_graph_add(rebuild->out, &r.node);
}

static bool keep_check(const tgi_rebuild *rebuild, const tgi_check *check)
{
    return tgi_check_decide(rebuild->out->dims, check) != 1;
}

tg_status tgi_pass_shape(const tgi_graph *in, tgi_graph **out_graph)
{
    tgi_rebuild rebuild = {.in = in,
                           .visit = visit,
                           .region = tgi_pass_shape,
                           .keep_check = keep_check};
    tg_status status = tgi_rebuild_run(&rebuild);
    *out_graph = rebuild.out;
    return status;
}
