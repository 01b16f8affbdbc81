/* SPDX-License-Identifier: MIT */
/*
 * verify_grows.c - the rules for values that grow (TGI_GROWS), on which those
 * count who run them:
 *
 *   UNSET -> a LOOP carries it -> PARAM -> DYNAMIC_UPDATE of one slice, at the
 *   number of the trip -> what the body gives back -> RESULT -> captured by
 *   other LOOPs and SWITCHes -> PARAM -> DYNAMIC_SLICE of one slice
 *
 * and nothing else: in the loop nobody looks at it, behind it nobody changes
 * it, and it does not leave the graph in which the loop stands. That slices
 * are only taken where they have been put is up to those who make the graph.
 */
#include "verify_rule.h"

static bool grows(const tgi_graph *graph, tgi_ref ref)
{
    const tgi_shape_ref shape = tgi_graph_node(graph, ref)->shape;
    return shape && tgi_shape_grows(tgi_shape_of(graph->dims, shape));
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

/* True if the node itself may have such a value. */
static bool may_grow(const tgi_verifier *v)
{
    const tgi_ref *in = v->node->inputs;
    switch (v->node->op) {
    case TGI_OP_UNSET:
    case TGI_OP_PARAM:
        return true;
    case TGI_OP_RESULT:
        return op_of(v->graph, in[0]) == TGI_OP_LOOP;
    case TGI_OP_DYNAMIC_UPDATE:
        return op_of(v->graph, in[0]) == TGI_OP_PARAM &&
               op_of(v->graph, in[2]) == TGI_OP_PARAM &&
               index_of(v->graph, in[2]) == 0 &&
               is_slice(v, tgi_graph_shape(v->graph, in[1]));
    default:
        return false;
    }
}

/* True if the node may have input i, which grows. */
static bool may_take(const tgi_verifier *v, uint32_t i)
{
    const int op = op_of(v->graph, v->node->inputs[i]);
    const bool is_whole = op == TGI_OP_PARAM || op == TGI_OP_RESULT;
    switch (v->node->op) {
    case TGI_OP_LOOP:
        return i <= ((const tgi_attr_regions *)v->node->attr)->n_carried
                   ? op == TGI_OP_UNSET
                   : is_whole;
    case TGI_OP_SWITCH:
        return is_whole;
    case TGI_OP_DYNAMIC_SLICE:
        return op == TGI_OP_PARAM && is_slice(v, v->shape);
    case TGI_OP_DYNAMIC_UPDATE:
        return op == TGI_OP_PARAM && i == 0;
    default:
        return false;
    }
}

bool tgi_verify_grows(const tgi_verifier *v)
{
    for (int axis = 1; v->shape && axis < v->shape->rank; axis++)
        if (v->shape->dims[axis] == TGI_GROWS)
            return tgi_verify_fail(v, "axis %d cannot grow", axis);
    if (v->shape && tgi_shape_grows(v->shape) && !may_grow(v))
        return tgi_verify_fail(v, "cannot grow");
    for (uint32_t i = 0; i < v->node->n_inputs; i++)
        if (grows(v->graph, v->node->inputs[i]) && !may_take(v, i))
            return tgi_verify_fail(v, "input %u grows", i);
    return true;
}

bool tgi_verify_grown_result(const tgi_verifier *v, tgi_ref ref)
{
    return !grows(v->graph, ref) ||
           op_of(v->graph, ref) == TGI_OP_DYNAMIC_UPDATE ||
           tgi_verify_fail(v, "result %%%u grows", ref);
}

/* True if nobody in a graph of the loop takes what it carries and grows, but
   the node that gives it back. */
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
                (!is_body || graph->results.data[param - 1] != ref))
                return tgi_verify_fail(
                    v, "%%%u looks at carried value %lld while it grows", ref,
                    (long long)param - 1);
        }
    }
    return true;
}

bool tgi_verify_grown_loop(const tgi_verifier *v)
{
    const tgi_attr_regions *attr = v->node->attr;
    const tgi_graph *body = attr->graphs[0];
    bool is_any = false;
    for (uint32_t k = 0; k < body->results.n; k++) {
        const tgi_ref ref = body->results.data[k];
        if (!grows(body, ref))
            continue;
        const tgi_ref in = tgi_graph_node(body, ref)->inputs[0];
        if (index_of(body, in) != (int64_t)k + 1)
            return tgi_verify_fail(v, "carried value %u is another that grows",
                                   k);
        is_any = true;
    }
    for (int64_t i = 0; is_any && i < attr->n_graphs; i++)
        if (!is_left_alone(v, attr->graphs[i], i == 0))
            return false;
    return true;
}

bool tgi_verify_grown_switch(const tgi_verifier *v)
{
    const tgi_regions regions = tgi_node_regions(v->node);
    for (size_t k = 0; k < regions.n; k++)
        for (size_t i = 0; i < regions.graphs[k]->results.n; i++)
            if (grows(regions.graphs[k], regions.graphs[k]->results.data[i]))
                return tgi_verify_fail(v, "result %zu grows", i);
    return true;
}
