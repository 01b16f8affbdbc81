/* SPDX-License-Identifier: MIT */
/*
 * gradient.c - reverse-mode differentiation of a graph. A forward sweep finds
 * the values that depend differentiably on a source. The backward sweep then
 * visits nodes from last to first: all users of a node have been visited before
 * it, so its gradient is complete, and its rule adds to the gradients of its
 * inputs. Sums are always built in this order.
 */
#include <string.h>

#include "gradient/gradient_tape.h"

/* -- Tapes ----------------------------------------------------------------- */

bool tgi_tape_init(tgi_tape *tape, tgi_graph *graph, tg_trace *t,
                   const tgi_builder *b)
{
    const size_t n = (size_t)graph->n_nodes + 1;
    *tape = (tgi_tape){
        .graph = graph,
        .t = t,
        .b = *b,
        .n = graph->n_nodes,
        .is_active = tgi_alloc_zero(n * sizeof(bool)),
        .gradients = tgi_alloc_zero(n * sizeof(tgi_ref)),
        .next = tgi_alloc_zero(n * sizeof(tgi_ref)),
    };
    tape->b.graph = t->graph;
    /* Contraction must not depend on which extents are known, but whether a
       gradient is a product or a sum of products does. */
    tape->b.no_contraction = true;
    /* A rule chooses accuracy by its op, not by the function that
       differentiates. */
    tape->b.is_fast = false;
    if (!tape->is_active || !tape->gradients || !tape->next) {
        tgi_error_memory();
        tgi_trace_record_error(t);
        return false;
    }
    /* Link the RESULT nodes of a region into a list that begins at its node. */
    for (tgi_ref ref = graph->n_nodes; ref > 0; ref--) {
        const tgi_node *node = tgi_graph_node(graph, ref);
        if (node->op != TGI_OP_RESULT)
            continue;
        tape->next[ref] = tape->next[node->inputs[0]];
        tape->next[node->inputs[0]] = ref;
    }
    return true;
}

void tgi_tape_deinit(tgi_tape *tape)
{
    tgi_free(tape->is_active);
    tgi_free(tape->gradients);
    tgi_free(tape->next);
    tgi_vec_deinit(&tape->values);
    tgi_vec_deinit(&tape->stack_gradients);
}

/* -- Forward sweep --------------------------------------------------------- */

/* True if gradients flow through a node that has a float value. */
static bool is_differentiable(const tgi_node *node)
{
    switch (node->op) {
    case TGI_OP_READ:
        return true;
    case TGI_OP_STOP:
        return false;
    default:
        return tgi_op_table[node->op].gradient != TGI_GRADIENT_NONE;
    }
}

/* Which results of regions are active, found once per region. */
typedef struct active_results {
    uint32_t *first;      /* by ref: index + 1 of its first result … */
    TGI_VEC(bool) active; /* … in this list */
} active_results;

static bool activate_results(const tgi_graph *graph, tgi_ref ref,
                             const bool *is_active, active_results *known)
{
    const tgi_node *node = tgi_graph_node(graph, ref);
    const size_t n = tgi_node_n_results(node);
    if (!tgi_vec_reserve(&known->active, known->active.n + n)) {
        tgi_error_memory();
        return false;
    }
    bool *results = known->active.data + known->active.n;
    memset(results, 0, n);
    known->first[ref] = (uint32_t)known->active.n + 1;
    known->active.n += n;
    return tgi_region_activate(graph, node, is_active, results);
}

static bool is_result_active(const tgi_node *node, const active_results *known)
{
    const int64_t index = tgi_node_index(node);
    const uint32_t first = known->first[node->inputs[0]];
    return first && index >= 0 &&
           known->active.data[first - 1 + (size_t)index];
}

/* Marks nodes with marked inputs. */
static bool activate_nodes(const tgi_graph *graph, tgi_ref n, bool *is_active)
{
    active_results known = {
        .first = tgi_alloc_zero(((size_t)n + 1) * sizeof(*known.first))};
    bool ok = known.first != NULL;
    if (!ok)
        tgi_error_memory();
    for (tgi_ref ref = 1; ok && ref <= n; ref++) {
        const tgi_node *node = tgi_graph_node(graph, ref);
        if (tgi_node_n_results(node) > 0) {
            is_active[ref] |= tgi_node_has_active_input(node, is_active);
            ok = !is_active[ref] ||
                 activate_results(graph, ref, is_active, &known);
        } else if (tgi_dtype_is(node->dtype, TGI_CLASS_REAL)) {
            is_active[ref] |=
                node->op == TGI_OP_RESULT
                    ? is_result_active(node, &known)
                    : is_differentiable(node) &&
                          tgi_node_has_active_input(node, is_active);
        }
    }
    tgi_free(known.first);
    tgi_vec_deinit(&known.active);
    return ok;
}

/* Propagates activity from the parameters of a region's graph to its
   results. */
static bool activate_graph(const tgi_graph *graph, const bool *params,
                           bool *results)
{
    bool *is_active = tgi_alloc_zero((size_t)graph->n_nodes + 1);
    if (!is_active) {
        tgi_error_memory();
        return false;
    }
    for (size_t i = 0; i < graph->params.n; i++)
        is_active[graph->params.data[i].node] = params[i];
    const bool ok = activate_nodes(graph, graph->n_nodes, is_active);
    for (size_t i = 0; ok && i < graph->results.n; i++)
        results[i] |= is_active[graph->results.data[i]];
    tgi_free(is_active);
    return ok;
}

/* A carried value is active if it is after any iteration: a fixed point. */
static bool activate_loop(const tgi_node *node, bool *params, bool *results)
{
    const tgi_attr_regions *attr = node->attr;
    bool ok = true, changed = true;
    while (ok && changed) {
        ok = activate_graph(attr->graphs[0], params, results);
        changed = false;
        for (int64_t k = 0; k < attr->n_carried; k++) {
            changed |= results[k] && !params[k + 1];
            params[k + 1] |= results[k];
        }
    }
    /* With zero iterations, results are the initial values. */
    for (int64_t k = 0; k < attr->n_carried; k++)
        results[k] = params[k + 1];
    return ok;
}

bool tgi_region_activate(const tgi_graph *graph, const tgi_node *node,
                         const bool *is_active, bool *out_results)
{
    const size_t n_results = tgi_node_n_results(node);
    const tgi_regions regions = tgi_node_regions(node);
    if (node->op == TGI_OP_HOST || tgi_node_custom_gradient(node)) {
        for (size_t i = 0; i < n_results; i++)
            out_results[i] = tgi_node_custom_gradient(node) &&
                             tgi_node_has_active_input(node, is_active);
        return true;
    }
    bool *params = tgi_alloc_zero((size_t)node->n_inputs + 1);
    if (!params) {
        tgi_error_memory();
        return false;
    }
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const tgi_node *input = tgi_graph_node(graph, node->inputs[i]);
        params[i] = is_active[node->inputs[i]] &&
                    tgi_dtype_is(input->dtype, TGI_CLASS_REAL);
    }
    bool ok = true;
    if (node->op == TGI_OP_LOOP)
        ok = activate_loop(node, params, out_results);
    else
        for (size_t i = 0; ok && i < regions.n; i++)
            ok = activate_graph(regions.graphs[i], params, out_results);
    tgi_free(params);
    return ok;
}

bool tgi_tape_activate(tgi_tape *tape)
{
    if (activate_nodes(tape->graph, tape->n, tape->is_active))
        return true;
    tgi_trace_record_error(tape->t);
    return false;
}

/* -- Accumulation ---------------------------------------------------------- */

static bool needs_gradient(const tgi_tape *tape, tgi_ref ref)
{
    return ref <= tape->n && tape->is_active[ref] &&
           tgi_dtype_is(tgi_graph_node(tape->graph, ref)->dtype,
                        TGI_CLASS_REAL);
}

/* Reshapes a gradient to the shape of its value, whose extents may have other
   names. */
static tgi_ref reshape_like(tgi_tape *tape, tgi_ref ref, tgi_ref gradient)
{
    const tgi_shape_ref shape = tgi_graph_node(tape->graph, ref)->shape;
    const tgi_node *node = tgi_graph_node(tape->b.graph, gradient);
    if (node->shape == shape)
        return gradient;
    return tgi_build_node(&tape->b, TGI_OP_RESHAPE, node->dtype, shape,
                          &gradient, 1, NULL, 0);
}

bool tgi_tape_add(tgi_tape *tape, tgi_ref ref, tgi_ref gradient)
{
    if (gradient && !needs_gradient(tape, ref))
        return true;
    if (gradient)
        gradient = reshape_like(tape, ref, gradient);
    if (gradient && tape->gradients[ref])
        gradient = tgi_build_2(&tape->b, TGI_OP_ADD, tape->gradients[ref],
                               gradient);
    if (!gradient) {
        tgi_trace_record_error(tape->t);
        return false;
    }
    tape->gradients[ref] = gradient;
    return true;
}

tg_value tgi_tape_export(tgi_tape *tape, tgi_ref gradient)
{
    const tgi_node *node = tgi_graph_node(tape->b.graph, gradient);
    gradient = tgi_build_node(&tape->b, TGI_OP_RESHAPE, node->dtype,
                              node->shape, &gradient, 1, NULL, 0);
    if (!gradient)
        tgi_trace_record_error(tape->t);
    return tgi_trace_value(tape->t, gradient);
}

tgi_ref tgi_build_zeros_like(tgi_builder *b, const tgi_graph *graph,
                             tgi_ref like)
{
    const tgi_node *node = tgi_graph_node(graph, like);
    const tgi_shape *shape = tgi_graph_shape(graph, like);
    const tg_dtype dtype = (tg_dtype)node->dtype;
    tgi_ref zero = tgi_build_number(b, dtype, dtype,
                                    (tgi_number){TGI_NUMBER_INT, {.i = 0}});
    return zero ? tgi_build_broadcast(b, zero, shape->rank, shape->dims) : 0;
}

tgi_ref tgi_build_placeholder(tgi_builder *b, const tgi_graph *graph,
                              tgi_ref like)
{
    const tgi_shape *shape = tgi_graph_shape(graph, like);
    if (!tgi_shape_is_unbounded(shape))
        return tgi_build_zeros_like(b, graph, like);
    const tg_dtype dtype = (tg_dtype)tgi_graph_node(graph, like)->dtype;
    return tgi_build_unset(b, dtype, shape->rank, shape->dims);
}

/* -- Interface of rules ---------------------------------------------------- */

bool tgi_rule_wants(const tgi_rule *rule, uint32_t i)
{
    return needs_gradient(rule->tape, rule->node->inputs[i]);
}

tgi_ref tgi_rule_input(tgi_rule *rule, uint32_t i)
{
    return tgi_tape_value(rule->tape, rule->node->inputs[i]);
}

tgi_ref tgi_rule_value(tgi_rule *rule)
{
    return tgi_tape_value(rule->tape, rule->ref);
}

bool tgi_rule_add(tgi_rule *rule, uint32_t i, tgi_ref gradient)
{
    return tgi_tape_add(rule->tape, rule->node->inputs[i], gradient);
}

tgi_ref tgi_rule_accumulated(tgi_rule *rule, uint32_t i)
{
    const tgi_ref accumulated = rule->tape->gradients[rule->node->inputs[i]];
    return accumulated ? accumulated : tgi_rule_zeros(rule, i);
}

bool tgi_rule_replace(tgi_rule *rule, uint32_t i, tgi_ref gradient)
{
    rule->tape->gradients[rule->node->inputs[i]] = 0;
    return tgi_rule_add(rule, i, gradient);
}

tgi_ref tgi_rule_number(tgi_rule *rule, double number)
{
    const tg_dtype dtype =
        (tg_dtype)tgi_graph_node(rule->b->graph, rule->gradient)->dtype;
    return tgi_build_number(rule->b, dtype, dtype,
                            (tgi_number){TGI_NUMBER_FLOAT, {.f = number}});
}

tgi_ref tgi_rule_zeros(tgi_rule *rule, uint32_t i)
{
    return tgi_build_zeros_like(rule->b, rule->graph, rule->node->inputs[i]);
}

/* -- Backward sweep -------------------------------------------------------- */

/* Applies the rule of a node whose gradient is complete. */
static bool differentiate_node(tgi_tape *tape, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(tape->graph, ref);
    const tgi_ref gradient = tape->gradients[ref];
    if (node->op == TGI_OP_READ)
        return tgi_tape_add(tape, node->inputs[0], gradient);
    if (node->op == TGI_OP_DYNAMIC_SLICE &&
        tgi_graph_is_unbounded(tape->graph, node->inputs[0]))
        return tgi_tape_add_slice_gradient(tape, ref);
    tgi_gradient_rule *rule = tgi_gradient_rules[node->op];
    if (!rule)
        return true;
    /* Errors and sites are those of the operation itself. */
    tape->b.site = tgi_node_site(node);
    tape->b.op_name = tgi_op_table[node->op].name;
    tgi_rule r = {.b = &tape->b,
                  .graph = tape->graph,
                  .ref = ref,
                  .node = node,
                  .gradient = gradient,
                  .tape = tape};
    if (rule(&r))
        return true;
    tgi_trace_record_error(tape->t);
    return false;
}

bool tgi_tape_backward(tgi_tape *tape)
{
    bool ok = true;
    for (tgi_ref ref = tape->n; ok && ref > 0; ref--) {
        if (tape->gradients[ref])
            ok = differentiate_node(tape, ref);
        else if (tape->is_active[ref] &&
                 tgi_node_n_results(tgi_graph_node(tape->graph, ref)) > 0)
            ok = tgi_tape_region(tape, ref);
    }
    return ok;
}
