/* SPDX-License-Identifier: MIT */
/*
 * save_or_rematerialise.c - values of the forward computation where gradients need
 * them. In a region they are, in this order of preference:
 *
 *   leaves and inputs  made again, or captured: what is the same in every
 *                      trip is not saved for each
 *   cheap ones         computed once more from such
 *   all others         one more result of the region, asked for at the graph
 *                      around, which may have to save it in turn
 *
 * The contents of a variable that nobody has written since are read again.
 *
 * A loop with an unknown number of trips that is inside a region runs once
 * more, and saves its values then. If it must not, since it has effects or
 * reads what has been assigned meanwhile, its stacks are results of the region
 * as they are: each time the loop runs it goes on where it has stopped, and
 * where that was is saved by the region like any other value.
 */
#include <string.h>

#include "gradient/gradient_tape.h"

/* Operations that are rather done again than saved, at most. */
enum { MOST_AGAIN = 8 };

static tgi_ref fail(tgi_tape *tape)
{
    tgi_trace_record_error(tape->t);
    return 0;
}

static const tgi_node *region_of(const tgi_tape *tape)
{
    return tgi_graph_node(tape->outer->graph, tape->region);
}

static bool is_loop_body(const tgi_tape *tape)
{
    return tape->outer && region_of(tape)->op == TGI_OP_LOOP;
}

static bool is_checkpoint(const tgi_tape *tape)
{
    return tape->outer && region_of(tape)->op == TGI_OP_SWITCH &&
           ((const tgi_attr_regions *)region_of(tape)->attr)->flags &
               TGI_SWITCH_CHECKPOINT;
}

/* -- Saving ---------------------------------------------------------------- */

/* The result that a value of the region is already; -1: none. */
static int64_t find_saved(const tgi_tape *tape, tgi_ref ref)
{
    const tgi_node *node = region_of(tape);
    const tgi_attr_regions *attr = node->attr;
    const size_t first =
        node->op == TGI_OP_LOOP ? (size_t)attr->n_carried : 0;
    for (size_t i = first; i < tape->graph->results.n; i++)
        if (tape->graph->results.data[i] == ref)
            return (int64_t)i;
    return -1;
}

/* Makes it one; other branches have zeros in its place. */
static int64_t add_saved(tgi_tape *tape, tgi_ref ref)
{
    const tgi_regions regions = tgi_node_regions(region_of(tape));
    const size_t n =
        region_of(tape)->op == TGI_OP_LOOP ? 1 : regions.n;
    for (size_t i = 0; i < n; i++) {
        tgi_graph *graph = regions.graphs[i];
        tgi_builder b = {.graph = graph};
        const tgi_ref result =
            i == tape->number ? ref
                              : tgi_build_placeholder(&b, tape->graph, ref);
        if (!result || !tgi_graph_add_result(graph, result)) {
            fail(tape);
            return -1;
        }
    }
    return (int64_t)tape->graph->results.n - 1;
}

/* Where the slice of this trip is in stacks of the loop that is the region. */
static tgi_ref find_slice(tgi_tape *tape)
{
    tgi_tape *around = tape->outer;
    tgi_ref base =
        tgi_region_result(around->graph, tape->region, TGI_RESULT_STACK_BASE);
    if (!base)
        return fail(tape);
    base = tgi_tape_capture(tape, around->t, tgi_tape_value(around, base));
    return base ? tgi_build_2(&tape->b, TGI_OP_ADD, base, tape->trip) : 0;
}

static tgi_ref saved(tgi_tape *tape, tgi_ref ref)
{
    const tgi_shape *shape = tgi_graph_shape(tape->graph, ref);
    const bool is_stack = tgi_shape_is_unbounded(shape);
    if (is_loop_body(tape) && !is_stack && shape->rank == TG_MAX_RANK) {
        tgi_trace_fail(tape->t, TG_ERROR_SHAPE,
                       tgi_node_site(tgi_graph_node(tape->graph, ref)),
                       "gradients: a value of the loop has no room for one "
                       "more axis");
        return 0;
    }
    int64_t index = find_saved(tape, ref);
    if (index < 0)
        index = add_saved(tape, ref);
    if (index < 0)
        return 0;
    tgi_ref outer = tgi_region_result(tape->outer->graph, tape->region, index);
    if (!outer)
        return fail(tape);
    tgi_ref value = tgi_tape_capture(tape, tape->outer->t,
                                     tgi_tape_value(tape->outer, outer));
    if (!value || !is_loop_body(tape) || is_stack)
        return value;
    const bool has_grown =
        tgi_shape_is_unbounded(tgi_graph_shape(tape->b.graph, value));
    const tgi_ref at = has_grown ? find_slice(tape) : tape->trip;
    value = at ? tgi_tape_saved_element(tape, value, at, ref) : 0;
    return value ? value : fail(tape);
}

/* -- Contents of variables ------------------------------------------------- */

static bool writes(const tgi_node *node, tgi_ref variable)
{
    if (node->op == TGI_OP_ASSIGN)
        return node->inputs[0] == variable;
    for (uint32_t i = 0; tgi_node_owns_graphs(node) && i < node->n_inputs; i++)
        if (node->inputs[i] == variable && tgi_node_writes(node, i))
            return true;
    return false;
}

static bool writes_after(const tgi_graph *graph, tgi_ref ref, tgi_ref variable)
{
    for (ref++; ref <= graph->n_nodes; ref++)
        if (writes(tgi_graph_node(graph, ref), variable))
            return true;
    return false;
}

static int64_t param_number(const tgi_graph *graph, tgi_ref ref)
{
    return ((const tgi_attr_index *)tgi_graph_node(graph, ref)->attr)->index;
}

/*
 * The variable that is a parameter of the region, as a node of the graph of
 * the function, if it still contains what it did then; else 0.
 */
static tgi_ref unchanged(const tgi_tape *tape, tgi_ref variable)
{
    const tgi_tape *at = tape;
    tgi_ref region = 0;
    for (; at->outer; at = at->outer) {
        if (writes_after(at->graph, 0, variable))
            return 0;
        variable = region_of(at)->inputs[param_number(at->graph, variable)];
        region = at->region;
    }
    return writes_after(at->graph, region, variable) ? 0 : variable;
}

static tg_trace *home_of(const tgi_tape *tape)
{
    while (tape->outer)
        tape = tape->outer;
    return tape->home;
}

/* What a READ of the region has read; 0 on failure. */
static tgi_ref contents(tgi_tape *tape, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(tape->graph, ref);
    tg_trace *home = home_of(tape);
    const tgi_ref variable = unchanged(tape, node->inputs[0]);
    if (!variable)
        return saved(tape, ref);
    tgi_ref read = tgi_trace_read(home, variable, tgi_node_site(node));
    return read ? tgi_tape_capture(tape, home, read) : fail(tape);
}

/* -- Computing once more --------------------------------------------------- */

/* True for what takes little time, or none, to compute from its inputs. */
static bool is_cheap(const tgi_node *node)
{
    return tgi_op_has(node->op, TGI_FLAG_CHEAP) ||
           node->op == TGI_OP_DYNAMIC_SLICE ||
           tgi_op_table[node->op].cls == TGI_OPCLASS_VIEW;
}

/* True if it can be had without saving anything new, or next to nothing;
   takes from `budget` what is to be done again. */
static bool is_free(const tgi_tape *tape, tgi_ref ref, int *budget)
{
    const tgi_node *node = tgi_graph_node(tape->graph, ref);
    if (ref < tape->values.n && tape->values.data[ref])
        return true;
    if (tgi_op_table[node->op].cls == TGI_OPCLASS_LEAF)
        return true;
    if (node->op == TGI_OP_READ)
        return unchanged(tape, node->inputs[0]) != 0;
    if (!is_cheap(node) || --*budget < 0)
        return false;
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (!is_free(tape, node->inputs[i], budget))
            return false;
    return true;
}

/* An input of what is computed once more. */
static tgi_ref input_again(tgi_tape *tape, tgi_ref input)
{
    if (tgi_graph_node(tape->graph, input)->op != TGI_OP_VARIABLE)
        return tgi_tape_value(tape, input);
    const tgi_ref variable = unchanged(tape, input);
    if (variable)
        return tgi_tape_capture(tape, home_of(tape), variable);
    tgi_trace_fail(tape->t, TG_ERROR_STATE, tgi_node_site(region_of(tape)),
                   "gradients: what is to run once more reads a variable that "
                   "has been assigned meanwhile");
    return 0;
}

/* n - (n - i) is i, also where it wraps: so the way back of a way back goes
   forward again, as everyone can see. */
static tgi_ref twice_reversed(const tgi_graph *graph, const tgi_node *node)
{
    if (node->op != TGI_OP_SUB || node->dtype != TG_I64)
        return 0;
    const tgi_node *inner = tgi_graph_node(graph, node->inputs[1]);
    return inner->op == TGI_OP_SUB && inner->inputs[0] == node->inputs[0]
               ? inner->inputs[1]
               : 0;
}

/* The same node in t's graph, its inputs being there. */
static tgi_ref again(tgi_tape *tape, tgi_ref ref)
{
    /* Both calls have one callee: what is asked of it is there twice. */
    if (tgi_graph_node(tape->graph, ref)->op == TGI_OP_CALL &&
        !tgi_tape_clone_callee(tape, ref))
        return 0;
    tgi_node node = *tgi_graph_node(tape->graph, ref);
    tgi_ref *inputs = tgi_alloc(((size_t)node.n_inputs + 1) * sizeof(*inputs));
    if (!inputs) {
        tgi_error_memory();
        return fail(tape);
    }
    bool ok = true;
    for (uint32_t i = 0; ok && i < node.n_inputs; i++)
        ok = (inputs[i] = input_again(tape, node.inputs[i])) != 0;
    node.inputs = inputs;
    tgi_ref copy = ok ? twice_reversed(tape->b.graph, &node) : 0;
    if (ok && !copy)
        copy = tgi_graph_add(tape->b.graph, &node);
    tgi_free(inputs);
    return copy ? copy : fail(tape);
}

/* True if a loop of the region may run once more, to the same end. */
static bool can_run_again(const tgi_tape *tape, tgi_ref loop)
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
            !unchanged(tape, node->inputs[i]))
            return false;
    return true;
}

/* True for a stack that the loop it is a result of makes itself, and for where
   in it the loop began: these are had by running the loop once more. Stacks
   that it has from loops inside are there because those may not. */
static bool is_own_stack(const tgi_graph *graph, const tgi_node *result)
{
    const tgi_node *region = tgi_graph_node(graph, result->inputs[0]);
    if (region->op != TGI_OP_LOOP)
        return false;
    const int64_t index = ((const tgi_attr_index *)result->attr)->index;
    const tgi_attr_regions *attr = region->attr;
    const tgi_graph *body = attr->graphs[0];
    return index == TGI_RESULT_STACK_BASE ||
           (index >= attr->n_carried &&
            tgi_loop_iterations(graph, region) == TGI_UNBOUNDED &&
            !tgi_shape_is_unbounded(
                tgi_graph_shape(body, body->results.data[index])));
}

/* -- Values ---------------------------------------------------------------- */

/* Parameter i of the region. */
static tgi_ref param_value(tgi_tape *tape, tgi_ref ref, int64_t i)
{
    const tgi_node *node = region_of(tape);
    if (node->op == TGI_OP_LOOP) {
        const tgi_attr_regions *attr = node->attr;
        if (i == 0)
            return tape->trip;
        if (i <= attr->n_carried)
            return saved(tape, ref);
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
    return value ? value : fail(tape);
}

static tgi_ref find_value(tgi_tape *tape, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(tape->graph, ref);
    int budget = MOST_AGAIN;
    if (!tape->outer)
        return tgi_tape_capture(tape, tape->home, ref);
    if (node->op == TGI_OP_PARAM)
        return param_value(tape, ref, param_number(tape->graph, ref));
    if (tgi_op_table[node->op].cls == TGI_OPCLASS_LEAF)
        return again(tape, ref);
    if (node->op == TGI_OP_READ)
        return contents(tape, ref);
    if (tgi_node_owns_graphs(node))
        return again(tape, ref);
    if (node->op == TGI_OP_RESULT && is_own_stack(tape->graph, node) &&
        can_run_again(tape, node->inputs[0]))
        return tgi_tape_value(tape, node->inputs[0]) ? again(tape, ref) : 0;
    if (is_checkpoint(tape) || is_free(tape, ref, &budget))
        return again(tape, ref);
    return saved(tape, ref);
}

/* In a checkpoint everything is computed once more, in its old order. */
static bool run_again(tgi_tape *tape)
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
        const size_t wanted = (size_t)tape->graph->n_nodes + 1;
        if (!tgi_vec_reserve(&tape->values, wanted)) {
            tgi_error_memory();
            return fail(tape);
        }
        memset(tape->values.data + n, 0, (wanted - n) * sizeof(tgi_ref));
        tape->values.n = wanted;
        if (is_checkpoint(tape) && n == 0 && !run_again(tape))
            return 0;
    }
    const tgi_ref value = find_value(tape, ref);
    /* Asking may have made room for more. */
    if (value)
        tape->values.data[ref] = value;
    return value;
}
