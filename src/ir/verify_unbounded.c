/* SPDX-License-Identifier: MIT */
/*
 * verify_unbounded.c - the rules for values that grow (TGI_UNBOUNDED), on which those
 * count who run them:
 *
 *   UNSET -> a LOOP carries it -> PARAM -> DYNAMIC_UPDATE of one slice, at the
 *   number of the trip -> what the body gives back -> RESULT -> captured by
 *   other LOOPs and SWITCHes -> PARAM -> DYNAMIC_SLICE of one slice
 *
 * A LOOP may also carry what it has not begun: it goes on behind the slices
 * that are there, at the sum of their number, which is a parameter, and the
 * number of the trip. So LOOPs, SWITCHes and CALLs around it carry a stack, or
 * hand it through, in one place all the time.
 *
 * Nothing else: nobody changes a slice that is there, and a stack does not
 * leave the graph in which it began. That slices are only taken where they
 * have been put, and put where the last one ended, is up to those who make the
 * graph.
 */
#include "ir/verify_rule.h"

static bool grows(const tgi_graph *graph, tgi_ref ref)
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
    return ((const tgi_attr_index *)tgi_graph_node(graph, ref)->attr)->index;
}

/* One slice of the first axis. */
static bool is_slice(const tgi_verifier *v, const tgi_shape *part)
{
    return ((const tgi_attr_index *)v->node->attr)->index == 0 &&
           part->dims[0] == 1;
}

static bool is_param(const tgi_graph *graph, tgi_ref ref, bool is_trip)
{
    return op_of(graph, ref) == TGI_OP_PARAM &&
           (index_of(graph, ref) == 0) == is_trip;
}

/* The number of the trip, or a parameter more. */
static bool is_next(const tgi_graph *graph, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(graph, ref);
    return is_param(graph, ref, true) ||
           (node->op == TGI_OP_ADD &&
            ((is_param(graph, node->inputs[0], false) &&
              is_param(graph, node->inputs[1], true)) ||
             (is_param(graph, node->inputs[0], true) &&
              is_param(graph, node->inputs[1], false))));
}

/* True if the node itself may have such a value. */
static bool may_grow(const tgi_verifier *v)
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
               is_next(v->graph, in[2]) &&
               is_slice(v, tgi_graph_shape(v->graph, in[1]));
    default:
        return false;
    }
}

/* True if the node may have input i, which grows. */
static bool may_take(const tgi_verifier *v, uint32_t i)
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
            return tgi_verify_fail(v, "axis %d cannot grow", axis);
    if (v->shape && tgi_shape_is_unbounded(v->shape) && !may_grow(v))
        return tgi_verify_fail(v, "cannot grow");
    for (uint32_t i = 0; i < v->node->n_inputs; i++)
        if (grows(v->graph, v->node->inputs[i]) && !may_take(v, i))
            return tgi_verify_fail(v, "input %u grows", i);
    return v->node->op != TGI_OP_CALL || tgi_verify_unbounded_switch(v);
}

bool tgi_verify_unbounded_result(const tgi_verifier *v, tgi_ref ref)
{
    return !grows(v->graph, ref) ||
           tgi_stack_origin(v->graph, ref).param >= 0 ||
           tgi_verify_fail(v, "result %%%u grows", ref);
}

/* True if `user` is one of those that make `ref` of a parameter. */
static bool is_on_the_way(const tgi_graph *graph, tgi_ref ref, tgi_ref user)
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

/* True if nobody in a graph of the loop takes what it carries and grows, but
   those who give it back. */
static bool is_left_alone(const tgi_verifier *v, const tgi_graph *graph,
                          bool is_body)
{
    const tgi_attr_regions *attr = v->node->attr;
    for (tgi_ref ref = 1; ref <= graph->n_nodes; ref++) {
        const tgi_node *node = tgi_graph_node(graph, ref);
        for (uint32_t i = 0; i < node->n_inputs; i++) {
            const tgi_ref in = node->inputs[i];
            if (!grows(graph, in) || op_of(graph, in) != TGI_OP_PARAM)
                continue;
            const int64_t param = index_of(graph, in);
            if (param <= attr->n_carried &&
                (!is_body ||
                 !is_on_the_way(graph, graph->results.data[param - 1], ref)))
                return tgi_verify_fail(
                    v, "%%%u looks at carried value %lld while it grows", ref,
                    (long long)param - 1);
        }
    }
    return true;
}

bool tgi_verify_unbounded_loop(const tgi_verifier *v)
{
    const tgi_attr_regions *attr = v->node->attr;
    const tgi_graph *body = attr->graphs[0];
    bool is_any = false;
    for (uint32_t k = 0; k < body->results.n; k++) {
        const tgi_ref ref = body->results.data[k];
        if (!grows(body, ref))
            continue;
        if (tgi_stack_origin(body, ref).param != (int64_t)k + 1)
            return tgi_verify_fail(v, "carried value %u is another that grows",
                                   k);
        const tgi_node *push = tgi_graph_node(body, ref);
        if (push->op == TGI_OP_DYNAMIC_UPDATE &&
            is_param(body, push->inputs[2], true) &&
            op_of(v->graph, v->node->inputs[k + 1]) != TGI_OP_UNSET)
            return tgi_verify_fail(v, "carried value %u begins anew", k);
        is_any = true;
    }
    for (int64_t i = 0; is_any && i < attr->n_graphs; i++)
        if (!is_left_alone(v, attr->graphs[i], i == 0))
            return false;
    return true;
}

bool tgi_verify_unbounded_switch(const tgi_verifier *v)
{
    const tgi_regions regions = tgi_node_regions(v->node);
    for (size_t i = 0; i < regions.graphs[0]->results.n; i++) {
        const tgi_ref first = regions.graphs[0]->results.data[i];
        if (!grows(regions.graphs[0], first))
            continue;
        const int64_t param =
            tgi_stack_origin(regions.graphs[0], first).param;
        for (size_t k = 0; k < regions.n; k++) {
            const tgi_graph *graph = regions.graphs[k];
            const tgi_ref ref = graph->results.data[i];
            if (op_of(graph, ref) == TGI_OP_DYNAMIC_UPDATE)
                return tgi_verify_fail(v, "result %zu grows", i);
            if (param < 0 || tgi_stack_origin(graph, ref).param != param)
                return tgi_verify_fail(v, "result %zu is another that grows",
                                       i);
        }
    }
    return true;
}
