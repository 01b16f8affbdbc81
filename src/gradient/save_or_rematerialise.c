/* SPDX-License-Identifier: MIT */
/*
 * save_or_rematerialise.c - provides forward values to the backward pass. In a
 * region, in order of preference:
 *
 *   leaves and inputs  are cloned or captured; loop-invariant values are never
 *                      saved per iteration
 *   cheap values       are recomputed from these
 *   other values       are saved: they become results of the region, which the
 *                      enclosing graph may have to save in turn
 *
 * A variable that has not been written since is read again.
 *
 * A loop with an unknown number of iterations inside a region is run again, and
 * saves its values then. If it must not be, because it has effects or reads a
 * variable that has been written since, its stacks become results of the
 * region. Each run of the loop then appends to them, and the region saves where
 * each run started like any other value.
 */
#include <string.h>

#include "gradient/gradient_tape.h"
#include "recipe/cost_node.h"

/* A value is recomputed rather than saved if that takes at most so many ops,
   none of which is expensive, and so many half-cycles. */
enum { MAX_RECOMPUTED_OPS = 8, MAX_RECOMPUTED_COST = 2 * TGI_COST_CHEAP };

typedef struct recompute_budget {
    int n_ops, half_cycles;
} recompute_budget;

static tgi_ref record_failure(tgi_tape *tape)
{
    tgi_trace_record_error(tape->t);
    return 0;
}

static const tgi_node *region_node(const tgi_tape *tape)
{
    return tgi_graph_node(tape->outer->graph, tape->region);
}

static bool is_loop_body(const tgi_tape *tape)
{
    return tape->outer && region_node(tape)->op == TGI_OP_LOOP;
}

static bool is_checkpoint(const tgi_tape *tape)
{
    return tape->outer && region_node(tape)->op == TGI_OP_SWITCH &&
           ((const tgi_attr_regions *)region_node(tape)->attr)->flags &
               TGI_SWITCH_CHECKPOINT;
}

/* -- Saving ---------------------------------------------------------------- */

/* The result of the region that a value already is; -1: none. */
static int64_t find_saved_result(const tgi_tape *tape, tgi_ref ref)
{
    const tgi_node *node = region_node(tape);
    const tgi_attr_regions *attr = node->attr;
    const size_t first =
        node->op == TGI_OP_LOOP ? (size_t)attr->n_carried : 0;
    for (size_t i = first; i < tape->graph->results.n; i++)
        if (tape->graph->results.data[i] == ref)
            return (int64_t)i;
    return -1;
}

/* Makes a value a result of the region; other branches get placeholders. */
static int64_t add_saved_result(tgi_tape *tape, tgi_ref ref)
{
    const tgi_regions regions = tgi_node_regions(region_node(tape));
    const size_t n = region_node(tape)->op == TGI_OP_LOOP ? 1 : regions.n;
    for (size_t i = 0; i < n; i++) {
        tgi_graph *graph = regions.graphs[i];
        tgi_builder b = {.graph = graph};
        const tgi_ref result =
            i == tape->index ? ref
                             : tgi_build_placeholder(&b, tape->graph, ref);
        if (!result || !tgi_graph_add_result(graph, result)) {
            record_failure(tape);
            return -1;
        }
    }
    return (int64_t)tape->graph->results.n - 1;
}

/* The index of this iteration's slice in the stacks of the loop. */
static tgi_ref build_slice_index(tgi_tape *tape)
{
    tgi_tape *outer = tape->outer;
    tgi_ref base =
        tgi_region_result(outer->graph, tape->region, TGI_RESULT_STACK_BASE);
    if (!base)
        return record_failure(tape);
    base = tgi_tape_capture(tape, outer->t, tgi_tape_value(outer, base));
    return base ? tgi_build_2(&tape->b, TGI_OP_ADD, base, tape->iteration) : 0;
}

static tgi_ref save_value(tgi_tape *tape, tgi_ref ref)
{
    const tgi_shape *shape = tgi_graph_shape(tape->graph, ref);
    const bool is_stack = tgi_shape_is_unbounded(shape);
    if (is_loop_body(tape) && !is_stack && shape->rank == TG_MAX_RANK) {
        tgi_trace_fail(tape->t, TG_ERROR_SHAPE,
                       tgi_node_site(tgi_graph_node(tape->graph, ref)),
                       "gradients: cannot save a value of the loop: it has "
                       "the maximum rank, and saving adds an axis");
        return 0;
    }
    int64_t index = find_saved_result(tape, ref);
    if (index < 0)
        index = add_saved_result(tape, ref);
    if (index < 0)
        return 0;
    tgi_ref result_ref =
        tgi_region_result(tape->outer->graph, tape->region, index);
    if (!result_ref)
        return record_failure(tape);
    tgi_ref value = tgi_tape_capture(tape, tape->outer->t,
                                     tgi_tape_value(tape->outer, result_ref));
    if (!value || !is_loop_body(tape) || is_stack)
        return value;
    const bool is_unbounded = tgi_graph_is_unbounded(tape->b.graph, value);
    const tgi_ref at = is_unbounded ? build_slice_index(tape) : tape->iteration;
    value = at ? tgi_tape_saved_element(tape, value, at, ref) : 0;
    return value ? value : record_failure(tape);
}

/* -- Contents of variables ------------------------------------------------- */

static bool writes_variable(const tgi_node *node, tgi_ref variable)
{
    if (node->op == TGI_OP_ASSIGN)
        return node->inputs[0] == variable;
    for (uint32_t i = 0; tgi_node_owns_graphs(node) && i < node->n_inputs; i++)
        if (node->inputs[i] == variable && tgi_node_writes(node, i))
            return true;
    return false;
}

static bool is_written_after(const tgi_graph *graph, tgi_ref ref,
                             tgi_ref variable)
{
    for (ref++; ref <= graph->n_nodes; ref++)
        if (writes_variable(tgi_graph_node(graph, ref), variable))
            return true;
    return false;
}

/*
 * The variable that is a parameter of the region, as a node of the function's
 * graph, if it has not been written since; else 0.
 */
static tgi_ref unwritten_variable(const tgi_tape *tape, tgi_ref variable)
{
    const tgi_tape *at = tape;
    tgi_ref region = 0;
    for (; at->outer; at = at->outer) {
        if (is_written_after(at->graph, 0, variable))
            return 0;
        variable =
            region_node(at)->inputs[tgi_graph_param_index(at->graph, variable)];
        region = at->region;
    }
    return is_written_after(at->graph, region, variable) ? 0 : variable;
}

static tg_trace *root_recorder(const tgi_tape *tape)
{
    while (tape->outer)
        tape = tape->outer;
    return tape->recorder;
}

/* The contents that a READ of the region returned; 0 on failure. */
static tgi_ref read_contents(tgi_tape *tape, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(tape->graph, ref);
    tg_trace *recorder = root_recorder(tape);
    const tgi_ref variable = unwritten_variable(tape, node->inputs[0]);
    if (!variable)
        return save_value(tape, ref);
    tgi_ref read = tgi_trace_read(recorder, variable, tgi_node_site(node));
    return read ? tgi_tape_capture(tape, recorder, read) : record_failure(tape);
}

/* -- Recomputation --------------------------------------------------------- */

/* True if a node is cheap to compute from its inputs; subtracts it from
   `budget`. */
static bool is_cheap_to_recompute(const tgi_graph *graph, tgi_ref ref,
                                  recompute_budget *budget)
{
    const tgi_node *node = tgi_graph_node(graph, ref);
    const uint32_t cost = tgi_cost_of_node(graph, ref).half_cycles;
    if (node->op != TGI_OP_DYNAMIC_SLICE &&
        tgi_op_table[node->op].cls != TGI_OPCLASS_VIEW &&
        (!tgi_op_is_elementwise(node->op) || cost > TGI_COST_CHEAP))
        return false;
    budget->half_cycles -= (int)cost;
    return --budget->n_ops >= 0 && budget->half_cycles >= 0;
}

/* True if a value can be recomputed without saving anything; subtracts its
   cost from `budget`. */
static bool can_recompute(const tgi_tape *tape, tgi_ref ref,
                          recompute_budget *budget)
{
    const tgi_node *node = tgi_graph_node(tape->graph, ref);
    if (ref < tape->values.n && tape->values.data[ref])
        return true;
    if (tgi_op_table[node->op].cls == TGI_OPCLASS_LEAF)
        return true;
    if (node->op == TGI_OP_READ)
        return unwritten_variable(tape, node->inputs[0]) != 0;
    if (!is_cheap_to_recompute(tape->graph, ref, budget))
        return false;
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (!can_recompute(tape, node->inputs[i], budget))
            return false;
    return true;
}

/* An input of a recomputed node. */
static tgi_ref recomputed_input(tgi_tape *tape, tgi_ref input)
{
    if (tgi_graph_node(tape->graph, input)->op != TGI_OP_VARIABLE)
        return tgi_tape_value(tape, input);
    const tgi_ref variable = unwritten_variable(tape, input);
    if (variable)
        return tgi_tape_capture(tape, root_recorder(tape), variable);
    tgi_trace_fail(tape->t, TG_ERROR_STATE, tgi_node_site(region_node(tape)),
                   "gradients: cannot recompute: a variable that is read has "
                   "been assigned since");
    return 0;
}

/* n - (n - i) is i, even with wrapping. So in the backward pass of a backward
   pass the index is recognised as ascending. */
static tgi_ref cancel_double_reversal(const tgi_graph *graph,
                                      const tgi_node *node)
{
    if (node->op != TGI_OP_SUB || node->dtype != TG_I64)
        return 0;
    const tgi_node *inner = tgi_graph_node(graph, node->inputs[1]);
    return inner->op == TGI_OP_SUB && inner->inputs[0] == node->inputs[0]
               ? inner->inputs[1]
               : 0;
}

/* Clones a node into t's graph; its inputs are provided there. */
static tgi_ref recompute_node(tgi_tape *tape, tgi_ref ref)
{
    /* Both calls share one callee: results added to it appear in both. */
    if (tgi_graph_node(tape->graph, ref)->op == TGI_OP_CALL &&
        !tgi_tape_clone_callee(tape, ref))
        return 0;
    tgi_node node = *tgi_graph_node(tape->graph, ref);
    tgi_ref *inputs = tgi_alloc(((size_t)node.n_inputs + 1) * sizeof(*inputs));
    if (!inputs) {
        tgi_error_memory();
        return record_failure(tape);
    }
    bool ok = true;
    for (uint32_t i = 0; ok && i < node.n_inputs; i++)
        ok = (inputs[i] = recomputed_input(tape, node.inputs[i])) != 0;
    node.inputs = inputs;
    tgi_ref clone = ok ? cancel_double_reversal(tape->b.graph, &node) : 0;
    if (ok && !clone)
        clone = tgi_graph_add(tape->b.graph, &node);
    tgi_free(inputs);
    return clone ? clone : record_failure(tape);
}

/* True if a loop of the region can be run again with the same results. */
static bool can_rerun_loop(const tgi_tape *tape, tgi_ref loop)
{
    const tgi_node *node = tgi_graph_node(tape->graph, loop);
    const tgi_regions regions = tgi_node_regions(node);
    if (is_checkpoint(tape) ||
        (loop < tape->values.n && tape->values.data[loop]))
        return true;
    for (size_t i = 0; i < regions.n; i++)
        if (regions.graphs[i]->has_effects)
            return false;
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (tgi_graph_node(tape->graph, node->inputs[i])->op ==
                TGI_OP_VARIABLE &&
            !unwritten_variable(tape, node->inputs[i]))
            return false;
    return true;
}

/* True for a stack that the loop of this RESULT pushes itself, and for its
   start index: running the loop again provides them. Stacks of inner loops are
   results because those loops must not run again. */
static bool is_rebuilt_stack(const tgi_graph *graph, const tgi_node *result)
{
    const tgi_node *region = tgi_graph_node(graph, result->inputs[0]);
    if (region->op != TGI_OP_LOOP)
        return false;
    const int64_t index = tgi_node_index(result);
    const tgi_attr_regions *attr = region->attr;
    const tgi_graph *body = attr->graphs[0];
    return index == TGI_RESULT_STACK_BASE ||
           (index >= attr->n_carried &&
            tgi_loop_iterations(graph, region) == TGI_UNBOUNDED &&
            !tgi_graph_is_unbounded(body, body->results.data[index]));
}

/* -- Values ---------------------------------------------------------------- */

/* The value of parameter i of the region. */
static tgi_ref param_value(tgi_tape *tape, tgi_ref ref, int64_t i)
{
    const tgi_node *node = region_node(tape);
    if (node->op == TGI_OP_LOOP) {
        const tgi_attr_regions *attr = node->attr;
        if (i == 0)
            return tape->iteration;
        if (i <= attr->n_carried)
            return save_value(tape, ref);
    }
    tgi_ref value = tgi_tape_capture(
        tape, tape->outer->t, tgi_tape_value(tape->outer, node->inputs[i]));
    const tgi_shape_ref shape = tgi_graph_node(tape->graph, ref)->shape;
    if (!value || tgi_graph_node(tape->b.graph, value)->shape == shape)
        return value;
    /* A callee has other names for its extents. */
    value = tgi_build_node(&tape->b, TGI_OP_RESHAPE,
                           tgi_graph_node(tape->graph, ref)->dtype, shape,
                           &value, 1, NULL, 0);
    return value ? value : record_failure(tape);
}

static tgi_ref provide_value(tgi_tape *tape, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(tape->graph, ref);
    recompute_budget budget = {MAX_RECOMPUTED_OPS, MAX_RECOMPUTED_COST};
    if (!tape->outer)
        return tgi_tape_capture(tape, tape->recorder, ref);
    if (node->op == TGI_OP_PARAM)
        return param_value(tape, ref, tgi_graph_param_index(tape->graph, ref));
    if (tgi_op_table[node->op].cls == TGI_OPCLASS_LEAF)
        return recompute_node(tape, ref);
    if (node->op == TGI_OP_READ)
        return read_contents(tape, ref);
    if (tgi_node_owns_graphs(node))
        return recompute_node(tape, ref);
    if (node->op == TGI_OP_RESULT && is_rebuilt_stack(tape->graph, node) &&
        can_rerun_loop(tape, node->inputs[0]))
        return tgi_tape_value(tape, node->inputs[0]) ? recompute_node(tape, ref)
                                                     : 0;
    if (is_checkpoint(tape) || can_recompute(tape, ref, &budget))
        return recompute_node(tape, ref);
    return save_value(tape, ref);
}

/* In a checkpoint, everything is recomputed, in the original order. */
static bool recompute_all(tgi_tape *tape)
{
    for (tgi_ref ref = 1; ref <= tape->n; ref++)
        if (tgi_graph_node(tape->graph, ref)->op != TGI_OP_VARIABLE &&
            !tgi_tape_value(tape, ref))
            return false;
    return true;
}

tgi_ref tgi_tape_value(tgi_tape *tape, tgi_ref ref)
{
    const size_t n = tape->values.n;
    if (ref < n && tape->values.data[ref])
        return tape->values.data[ref];
    if (ref >= n) {
        const size_t n_values = (size_t)tape->graph->n_nodes + 1;
        if (!tgi_vec_reserve(&tape->values, n_values)) {
            tgi_error_memory();
            return record_failure(tape);
        }
        memset(tape->values.data + n, 0, (n_values - n) * sizeof(tgi_ref));
        tape->values.n = n_values;
        if (is_checkpoint(tape) && n == 0 && !recompute_all(tape))
            return 0;
    }
    const tgi_ref value = provide_value(tape, ref);
    /* Providing the value may have reallocated the list. */
    if (value)
        tape->values.data[ref] = value;
    return value;
}
