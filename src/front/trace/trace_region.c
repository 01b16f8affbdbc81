/* SPDX-License-Identifier: MIT */
/*
 * trace_region.c - tracing of branches and loop bodies, and their captures.
 */
#include "front/trace/trace_region.h"

#include <string.h>

/* -- Captures -------------------------------------------------------------- */

static uint64_t hash_ref(tgi_ref ref)
{
    return tgi_hash(&ref, sizeof(ref), 0);
}

static tgi_ref find_capture(const tg_trace *t, tgi_ref outer)
{
    size_t probe = 0;
    uint32_t position;
    while (
        (position = tgi_index_next(&t->region_index, hash_ref(outer), &probe)))
        if (t->region_inputs.data[position - 1] == outer)
            return t->graph->params.data[position - 1].node;
    return 0;
}

/* Adds a parameter of the type of `node` of the enclosing graph; 0 on
   failure. */
static tgi_ref add_param_like(tgi_graph *graph, const tgi_node *node,
                              uint16_t flags)
{
    const tgi_op op =
        node->op == TGI_OP_VARIABLE ? TGI_OP_VARIABLE : TGI_OP_PARAM;
    tgi_ref ref = tgi_graph_add_param(graph, op, (tg_dtype)node->dtype,
                                      node->shape, flags);
    if (ref)
        tgi_graph_set_name(graph, ref, node->name);
    return ref;
}

/* Adds a parameter for node `outer` to a trace in progress. A weakly typed
   value stays weakly typed only if it is captured or `is_number`. */
static tgi_ref add_region_param(tg_trace *t, tgi_ref outer, bool is_captured,
                                bool is_number)
{
    const tgi_node *node = tgi_graph_node(t->outer->graph, outer);
    uint16_t flags = node->flags & TGI_NODE_WEAK;
    if (!is_captured && flags)
        flags = is_number ? TGI_NODE_NUMBER : 0;
    tgi_ref ref = add_param_like(t->graph, node, flags);
    if (!ref)
        return 0;
    if (!tgi_vec_push(&t->last_write, (tgi_ref)0) ||
        !tgi_vec_push(&t->region_inputs, outer) ||
        (is_captured && !tgi_index_add(&t->region_index, hash_ref(outer),
                                       (uint32_t)t->region_inputs.n))) {
        tgi_error_memory();
        return 0;
    }
    return ref;
}

/* True for leaves that are cloned into the region instead of captured. */
static bool is_cloned_leaf(const tgi_node *node)
{
    return node->op == TGI_OP_CONSTANT || node->op == TGI_OP_IOTA ||
           node->op == TGI_OP_EXTENT || node->op == TGI_OP_UNSET;
}

/* True for such a leaf, or a broadcast of one. */
static bool should_clone(const tgi_graph *graph, const tgi_node *node)
{
    return is_cloned_leaf(node) ||
           (node->op == TGI_OP_BROADCAST &&
            is_cloned_leaf(tgi_graph_node(graph, node->inputs[0])));
}

/* Clones it into the graph of the region; 0 on failure. */
static tgi_ref clone_leaf(tg_trace *t, const tgi_node *outer)
{
    tgi_node node = *outer;
    if (is_cloned_leaf(&node))
        return tgi_graph_add(t->graph, &node);
    const tgi_ref input = tgi_graph_add(
        t->graph, tgi_graph_node(t->outer->graph, node.inputs[0]));
    node.inputs = &input;
    return input ? tgi_graph_add(t->graph, &node) : 0;
}

/* Node `outer` of the enclosing graph as a node of the region; 0 on failure,
   which sticks. */
static tgi_ref capture_node(tg_trace *t, tgi_ref outer)
{
    const tgi_graph *outer_graph = t->outer->graph;
    const tgi_node *node = tgi_graph_node(outer_graph, outer);
    tgi_ref ref = find_capture(t, outer);
    if (!ref)
        ref = should_clone(outer_graph, node)
                  ? clone_leaf(t, node)
                  : add_region_param(t, outer, true, true);
    if (!ref)
        tgi_trace_record_error(t);
    return ref;
}

bool tgi_trace_is_within(const tg_trace *t, uint32_t id)
{
    while (t && t->id != id)
        t = t->outer;
    return t != NULL;
}

tgi_ref tgi_trace_capture_value(tg_trace *t, tg_value value)
{
    if (t->id == value.trace)
        return value.node;
    tgi_ref outer = tgi_trace_capture_value(t->outer, value);
    return outer ? capture_node(t, outer) : 0;
}

tgi_ref tgi_region_variable(tg_trace *t, tg_variable *variable, const char *op,
                            tg_site site)
{
    tgi_ref outer = tgi_trace_variable(t->outer, variable, op, site);
    if (outer)
        return capture_node(t, outer);
    tgi_trace_record_error(t);
    return 0;
}

/* -- Regions --------------------------------------------------------------- */

bool tgi_control_begin(tgi_control *c, const char *name, tg_site site)
{
    *c = (tgi_control){0};
    return tgi_operation_begin(&c->o, name, site);
}

void tgi_control_end(tgi_control *c)
{
    for (size_t i = 0; i < c->graphs.n; i++)
        tgi_graph_release(c->graphs.data[i]);
    tgi_vec_deinit(&c->graphs);
    tgi_vec_deinit(&c->inputs);
}

static bool fail_out_of_memory(tgi_control *c)
{
    tgi_error_memory();
    tgi_trace_record_error(c->o.t);
    return false;
}

bool tgi_control_add_input(tgi_control *c, tgi_ref ref)
{
    if (!ref) {
        tgi_operation_end(&c->o, 0);
        return false;
    }
    if (!tgi_vec_push(&c->inputs, ref))
        return fail_out_of_memory(c);
    c->n_fixed++;
    return true;
}

/* Adds parameters for inputs that the region lacks. */
static bool add_params(const tgi_control *c, tg_trace *t)
{
    for (size_t i = t->region_inputs.n; i < c->inputs.n; i++)
        /* Loop values have the type of their initial value: not weak. */
        if (!add_region_param(t, c->inputs.data[i], i >= c->n_fixed,
                              c->has_arguments))
            return false;
    return true;
}

/* Ends a region and passes its error on to the enclosing trace. */
static void end_region(tgi_control *c, tg_trace *t)
{
    if (t->status && c->o.t->status == TG_OK) {
        tgi_error_restore(&t->error);
        tgi_trace_record_error(c->o.t);
    }
    tgi_trace_end(t);
}

tg_trace *tgi_control_open(tgi_control *c, const char *name,
                           tg_callback *callback, void *user, size_t first)
{
    tg_trace *t = tgi_trace_begin_region(c->o.t, name, &c->o.b);
    if (!t) {
        tgi_trace_record_error(c->o.t);
        return NULL;
    }
    const size_t n = c->n_fixed - first;
    tg_value *in = tgi_alloc((n + 1) * sizeof(*in));
    if (!in)
        tgi_error_memory();
    if (!in || !add_params(c, t)) {
        tgi_trace_record_error(t);
    } else {
        for (size_t i = 0; i < n; i++)
            in[i] =
                tgi_trace_value(t, t->graph->params.data[first + i].node);
        callback(t, in, user);
    }
    tgi_free(in);
    if (t->status == TG_OK)
        return t;
    end_region(c, t);
    return NULL;
}

bool tgi_control_convert_result(tgi_control *c, tgi_graph *graph,
                                tgi_ref *result, tg_dtype dtype,
                                tgi_shape_ref shape)
{
    const tgi_node *node = tgi_graph_node(graph, *result);
    if (node->dtype != dtype && node->flags & TGI_NODE_WEAK) {
        tgi_builder b = c->o.b;
        b.graph = graph;
        tgi_ref adapted = tgi_build_adapt(&b, *result, dtype);
        if (!adapted) {
            tgi_trace_record_error(c->o.t);
            return false;
        }
        *result = adapted;
        node = tgi_graph_node(graph, *result);
    }
    return node->dtype == dtype && node->shape == shape;
}

/* Makes the captures of the region inputs of the node. */
static bool add_captured_inputs(tgi_control *c, const tg_trace *t)
{
    for (size_t i = c->inputs.n; i < t->region_inputs.n; i++)
        if (!tgi_vec_push(&c->inputs, t->region_inputs.data[i]))
            return false;
    return true;
}

bool tgi_control_close(tgi_control *c, tg_trace *t)
{
    bool ok = tgi_vec_push(&c->graphs, t->graph);
    if (ok)
        tgi_graph_retain(t->graph);
    ok = ok && add_captured_inputs(c, t);
    for (size_t i = 0; ok && i < t->results.n; i++)
        ok = tgi_graph_add_result(t->graph, t->results.data[i]);
    /* Checks are decided before the call runs, so they move outwards. */
    for (size_t i = 0; ok && i < t->graph->checks.n; i++)
        ok = tgi_graph_add_check(c->o.t->graph, t->graph->checks.data[i]);
    end_region(c, t);
    return ok || fail_out_of_memory(c);
}

/* Adds the captures of later graphs as parameters of earlier ones. */
static bool add_missing_params(tgi_control *c)
{
    const tgi_graph *outer_graph = c->o.t->graph;
    for (size_t g = 0; g < c->graphs.n; g++) {
        tgi_graph *graph = c->graphs.data[g];
        for (size_t i = graph->params.n; i < c->inputs.n; i++)
            if (!add_param_like(
                    graph, tgi_graph_node(outer_graph, c->inputs.data[i]), 0))
                return false;
    }
    return true;
}

static tgi_ref add_region_node(tgi_control *c, tgi_op op, size_t n_carried,
                               int64_t flags)
{
    const size_t n = c->graphs.n;
    const size_t bytes = sizeof(tgi_attr_regions) + n * sizeof(tgi_graph *);
    tgi_attr_regions *attr = tgi_alloc(bytes);
    if (!attr) {
        tgi_error_memory();
        return 0;
    }
    *attr = (tgi_attr_regions){.n_graphs = (int64_t)n,
                               .n_carried = (int64_t)n_carried,
                               .flags = flags};
    for (size_t i = 0; i < n; i++)
        attr->graphs[i] = c->graphs.data[i];
    tgi_ref ref = tgi_build_node(
        &c->o.b, op, TG_DTYPE_NONE,
        tgi_shape_intern(c->o.t->graph->dims, 0, NULL), c->inputs.data,
        c->inputs.n, attr, bytes);
    tgi_free(attr);
    return ref;
}

/* The shape of result `index`. Saved values have an additional first axis; but
   stacks of inner loops hold the slices of all iterations in one axis. */
static tgi_shape_ref result_shape(tgi_graph *graph, const tgi_node *region,
                                  int64_t index)
{
    const tgi_graph *inner = tgi_node_regions(region).graphs[0];
    const tgi_ref ref = inner->results.data[index];
    const tgi_attr_regions *attr = region->attr;
    const tgi_shape *shape = tgi_graph_shape(inner, ref);
    if (region->op != TGI_OP_LOOP || index < attr->n_carried ||
        tgi_shape_is_unbounded(shape))
        return tgi_graph_node(inner, ref)->shape;
    tgi_dim dims[TG_MAX_RANK] = {tgi_loop_iterations(graph, region)};
    memcpy(dims + 1, shape->dims, (size_t)shape->rank * sizeof(*dims));
    return tgi_shape_intern(graph->dims, shape->rank + 1, dims);
}

tgi_ref tgi_region_result(tgi_graph *graph, tgi_ref region, int64_t index)
{
    const tgi_node *node = tgi_graph_node(graph, region);
    const tgi_attr_index attr = {index};
    tgi_builder b = {.graph = graph, .site = tgi_node_site(node)};
    if (index < 0)
        return tgi_build_node(&b, TGI_OP_RESULT, TG_I64,
                              tgi_shape_intern(graph->dims, 0, NULL), &region,
                              1, &attr, sizeof(attr));
    const tgi_graph *inner = tgi_node_regions(node).graphs[0];
    const int dtype = tgi_graph_node(inner, inner->results.data[index])->dtype;
    const tgi_shape_ref shape = result_shape(graph, node, index);
    return shape ? tgi_build_node(&b, TGI_OP_RESULT, dtype, shape, &region, 1,
                                  &attr, sizeof(attr))
                 : 0;
}

void tgi_control_finish(tgi_control *c, tgi_op op, size_t n_carried,
                        int64_t flags, tg_value *out_results, size_t n_results)
{
    tg_trace *t = c->o.t;
    bool ok = add_missing_params(c);
    for (size_t i = 0; ok && i < c->graphs.n; i++)
        ok = tgi_build_lift_number_checks(&c->o.b, c->graphs.data[i],
                                          c->inputs.data);
    tgi_ref ref = ok ? add_region_node(c, op, n_carried, flags) : 0;
    if (!ref) {
        tgi_trace_record_error(t);
        return;
    }
    const tgi_node *node = tgi_graph_node(t->graph, ref);
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (tgi_node_writes(node, i))
            tgi_trace_note_write(t, node->inputs[i], ref);
    for (size_t i = 0; i < n_results; i++)
        out_results[i] = tgi_operation_end(
            &c->o, tgi_region_result(t->graph, ref, (int64_t)i));
}
