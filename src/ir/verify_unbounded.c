/* SPDX-License-Identifier: MIT */
/*
 * verify_unbounded.c - rules for unbounded stacks (TGI_UNBOUNDED), on which the
 * interpreter and the compiler rely. The life of a stack:
 *
 *   UNSET -> carried by a LOOP -> PARAM -> DYNAMIC_UPDATE of one slice, at the
 *   iteration number -> result of the body -> RESULT -> input of other LOOPs
 *   and SWITCHes -> PARAM -> DYNAMIC_SLICE of one slice
 *
 * A LOOP may also carry a stack that has slices already: it pushes at the sum
 * of their number, a parameter, and the iteration number. Outer LOOPs, SWITCHes
 * and CALLs carry the stack or pass it through. It has one place in memory
 * throughout.
 *
 * No other op may use a stack: slices are never overwritten, and a stack does
 * not leave the graph that creates it. Not verified: that only existing slices
 * are read, and that a push follows the last slice.
 */
#include "ir/verify_rule.h"

static bool is_unbounded(const tgi_graph *graph, tgi_ref ref)
{
    const tgi_shape_ref shape = tgi_graph_node(graph, ref)->shape;
    return shape && tgi_shape_is_unbounded(tgi_shape_of(graph->dims, shape));
}

static int op_of(const tgi_graph *graph, tgi_ref ref)
{
    return tgi_graph_node(graph, ref)->op;
}

static int64_t index_of(const tgi_graph *graph, tgi_ref ref)
{
    return tgi_node_index(tgi_graph_node(graph, ref));
}

/* True if `part` is one slice of the first axis. */
static bool is_slice(const tgi_verifier *v, const tgi_shape *part)
{
    return tgi_node_index(v->node) == 0 &&
           part->dims[0] == 1;
}

/* Parameter 0 of a loop body is the iteration number. */
static bool is_iteration(const tgi_graph *graph, tgi_ref ref)
{
    return op_of(graph, ref) == TGI_OP_PARAM && index_of(graph, ref) == 0;
}

static bool is_other_param(const tgi_graph *graph, tgi_ref ref)
{
    return op_of(graph, ref) == TGI_OP_PARAM && index_of(graph, ref) != 0;
}

/* True for the iteration number, or its sum with another parameter. */
static bool is_push_position(const tgi_graph *graph, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(graph, ref);
    return is_iteration(graph, ref) ||
           (node->op == TGI_OP_ADD &&
            ((is_other_param(graph, node->inputs[0]) &&
              is_iteration(graph, node->inputs[1])) ||
             (is_iteration(graph, node->inputs[0]) &&
              is_other_param(graph, node->inputs[1]))));
}

/* True if the value of the node may be a stack. */
static bool may_be_unbounded(const tgi_verifier *v)
{
    const tgi_ref *in = v->node->inputs;
    switch (v->node->op) {
    case TGI_OP_UNSET:
    case TGI_OP_PARAM:
        return true;
    case TGI_OP_RESULT:
        return tgi_node_owns_graphs(tgi_graph_node(v->graph, in[0]));
    case TGI_OP_DYNAMIC_UPDATE:
        return op_of(v->graph, in[0]) == TGI_OP_PARAM &&
               is_push_position(v->graph, in[2]) &&
               is_slice(v, tgi_graph_shape(v->graph, in[1]));
    default:
        return false;
    }
}

/* True if the node may take a stack as input i. */
static bool may_take_stack(const tgi_verifier *v, uint32_t i)
{
    const int op = op_of(v->graph, v->node->inputs[i]);
    switch (v->node->op) {
    case TGI_OP_LOOP:
    case TGI_OP_SWITCH:
    case TGI_OP_CALL:
        return op == TGI_OP_UNSET || op == TGI_OP_PARAM ||
               op == TGI_OP_RESULT;
    case TGI_OP_DYNAMIC_SLICE:
        return op == TGI_OP_PARAM && is_slice(v, v->shape);
    case TGI_OP_DYNAMIC_UPDATE:
        return op == TGI_OP_PARAM && i == 0;
    default:
        return false;
    }
}

bool tgi_verify_unbounded(const tgi_verifier *v)
{
    for (int axis = 1; v->shape && axis < v->shape->rank; axis++)
        if (v->shape->dims[axis] == TGI_UNBOUNDED)
            return tgi_verify_fail(v, "axis %d cannot be unbounded", axis);
    if (v->shape && tgi_shape_is_unbounded(v->shape) && !may_be_unbounded(v))
        return tgi_verify_fail(v, "cannot be unbounded");
    for (uint32_t i = 0; i < v->node->n_inputs; i++)
        if (is_unbounded(v->graph, v->node->inputs[i]) &&
            !may_take_stack(v, i))
            return tgi_verify_fail(v, "input %u cannot be unbounded", i);
    return v->node->op != TGI_OP_CALL || tgi_verify_unbounded_switch(v);
}

bool tgi_verify_unbounded_result(const tgi_verifier *v, tgi_ref ref)
{
    return !is_unbounded(v->graph, ref) ||
           tgi_stack_origin(v->graph, ref).param >= 0 ||
           tgi_verify_fail(v, "result %%%u cannot be unbounded", ref);
}

/* True if `user` is on the chain of nodes from a parameter to `ref`. */
static bool is_on_stack_chain(const tgi_graph *graph, tgi_ref ref,
                              tgi_ref user)
{
    for (;;) {
        const tgi_node *node = tgi_graph_node(graph, ref);
        if (node->op == TGI_OP_PARAM)
            return false;
        if (node->op == TGI_OP_DYNAMIC_UPDATE) {
            if (ref == user)
                return true;
            ref = node->inputs[0];
            continue;
        }
        const tgi_node *region = tgi_graph_node(graph, node->inputs[0]);
        if (node->inputs[0] == user)
            return true;
        ref = region->inputs[tgi_stack_input(
            region, (size_t)index_of(graph, ref))];
    }
}

/* In the graphs of a loop, only the nodes that push onto a carried stack and
   return it may use it. */
static bool check_carried_stack_uses(const tgi_verifier *v,
                                     const tgi_graph *graph, bool is_body)
{
    const tgi_attr_regions *attr = v->node->attr;
    for (tgi_ref ref = 1; ref <= graph->n_nodes; ref++) {
        const tgi_node *node = tgi_graph_node(graph, ref);
        for (uint32_t i = 0; i < node->n_inputs; i++) {
            const tgi_ref in = node->inputs[i];
            if (!is_unbounded(graph, in) || op_of(graph, in) != TGI_OP_PARAM)
                continue;
            const int64_t param = index_of(graph, in);
            if (param <= attr->n_carried &&
                (!is_body ||
                 !is_on_stack_chain(graph, graph->results.data[param - 1],
                                    ref)))
                return tgi_verify_fail(
                    v,
                    "%%%u reads carried value %lld while the loop pushes onto "
                    "it",
                    ref, (long long)param - 1);
        }
    }
    return true;
}

bool tgi_verify_unbounded_loop(const tgi_verifier *v)
{
    const tgi_attr_regions *attr = v->node->attr;
    const tgi_graph *body = attr->graphs[0];
    bool has_stacks = false;
    for (uint32_t k = 0; k < body->results.n; k++) {
        const tgi_ref ref = body->results.data[k];
        if (!is_unbounded(body, ref))
            continue;
        if (tgi_stack_origin(body, ref).param != (int64_t)k + 1)
            return tgi_verify_fail(
                v, "carried value %u is a different unbounded stack", k);
        const tgi_node *push = tgi_graph_node(body, ref);
        if (push->op == TGI_OP_DYNAMIC_UPDATE &&
            is_iteration(body, push->inputs[2]) &&
            op_of(v->graph, v->node->inputs[k + 1]) != TGI_OP_UNSET)
            return tgi_verify_fail(v, "carried value %u overwrites its stack",
                                   k);
        has_stacks = true;
    }
    for (int64_t i = 0; has_stacks && i < attr->n_graphs; i++)
        if (!check_carried_stack_uses(v, attr->graphs[i], i == 0))
            return false;
    return true;
}

bool tgi_verify_unbounded_switch(const tgi_verifier *v)
{
    const tgi_regions regions = tgi_node_regions(v->node);
    for (size_t i = 0; i < regions.graphs[0]->results.n; i++) {
        const tgi_ref first = regions.graphs[0]->results.data[i];
        if (!is_unbounded(regions.graphs[0], first))
            continue;
        const int64_t param =
            tgi_stack_origin(regions.graphs[0], first).param;
        for (size_t k = 0; k < regions.n; k++) {
            const tgi_graph *graph = regions.graphs[k];
            const tgi_ref ref = graph->results.data[i];
            if (op_of(graph, ref) == TGI_OP_DYNAMIC_UPDATE)
                return tgi_verify_fail(v, "result %zu pushes outside of a loop",
                                       i);
            if (param < 0 || tgi_stack_origin(graph, ref).param != param)
                return tgi_verify_fail(
                    v, "result %zu is a different unbounded stack", i);
        }
    }
    return true;
}
