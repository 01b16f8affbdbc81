/* SPDX-License-Identifier: MIT */
/*
 * gradient_stacks.c - gradients of unbounded stacks, the values that a loop
 * with an unknown number of iterations has saved. The backward pass of a loop
 * that reads one element per iteration produces the gradients of the elements,
 * and saves them on a stack in turn. The backward pass of the loop that pushed
 * the elements reads them in its own iterations. If both loops are nested in
 * others, each nesting level has its own order and start.
 */
#include "gradient/gradient_region.h"

bool tgi_tape_add_stack_gradient(tgi_tape *tape,
                                 const tgi_stack_gradient *stack_gradient)
{
    if (tgi_vec_push(&tape->stack_gradients, *stack_gradient))
        return true;
    tgi_error_memory();
    tgi_trace_record_error(tape->t);
    return false;
}

bool tgi_tape_has_stack_gradients(const tgi_tape *tape, tgi_ref region)
{
    for (size_t i = 0; i < tape->stack_gradients.n; i++)
        if (tgi_is_result_of(tape->graph, tape->stack_gradients.data[i].ref,
                             region))
            return true;
    return false;
}

/* -- Components ------------------------------------------------------------ */

/* Component 0 is the gradient, component i + 1 the start at level i. */
static tgi_ref *component(tgi_stack_gradient *stack_gradient, size_t i)
{
    return i == 0 ? &stack_gradient->gradient
                  : &stack_gradient->levels[i - 1].base;
}

/* True if component i was already a stack when the loop of the outermost level
   returned it: then one stack serves all of its iterations. */
static bool is_flattened(const tgi_stack_gradient *stack_gradient, size_t i)
{
    for (size_t k = i; k + 1 < stack_gradient->n_levels; k++)
        if (stack_gradient->levels[k].base)
            return true;
    return false;
}

/* -- Access order ---------------------------------------------------------- */

/* Keeps an earlier error, if finding the order failed. */
static bool fail_access_order(tgi_tape *tape)
{
    const tg_site site =
        tape->outer
            ? tgi_node_site(tgi_graph_node(tape->outer->graph, tape->region))
            : tape->b.site;
    tgi_trace_fail(tape->t, TG_ERROR_STATE, site,
                   "gradients: values saved by a loop with an unknown number "
                   "of iterations are read repeatedly and out of order");
    return false;
}

/* Finds whether an index of the loop body ascends or descends with its
   iterations; false if neither. */
static bool find_iteration_order(tgi_tape *tape, tgi_ref at,
                                 bool *out_is_reversed)
{
    *out_is_reversed = false;
    if (!tape->iteration)
        return false;
    const tgi_ref value = tgi_tape_value(tape, at);
    if (!value)
        tgi_trace_record_error(tape->t);
    *out_is_reversed = value == tape->iteration;
    return *out_is_reversed ||
           value == tape->t->graph->params.data[0].node;
}

/* Splits an index of a stack: the loop's start plus its iteration. */
static bool split_stack_index(const tgi_graph *graph, tgi_ref index,
                              tgi_ref *out_base, tgi_ref *out_iteration)
{
    const tgi_node *node = tgi_graph_node(graph, index);
    if (node->op != TGI_OP_ADD)
        return false;
    *out_base = node->inputs[0];
    *out_iteration = node->inputs[1];
    return true;
}

bool tgi_tape_add_slice_gradient(tgi_tape *tape, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(tape->graph, ref);
    const tgi_shape *shape = tgi_graph_shape(tape->graph, ref);
    tgi_stack_gradient added = {.ref = node->inputs[0]};
    tgi_ref iteration;
    if (!split_stack_index(tape->graph, node->inputs[1], &added.start,
                           &iteration) ||
        !find_iteration_order(tape, iteration, &added.levels[0].is_reversed))
        return fail_access_order(tape);
    added.gradient = tgi_build_reshape(&tape->b, tape->gradients[ref],
                                       shape->rank - 1, shape->dims + 1);
    for (size_t i = 0; added.gradient && i < tape->stack_gradients.n; i++) {
        tgi_stack_gradient *stack_gradient = &tape->stack_gradients.data[i];
        if (stack_gradient->ref != added.ref ||
            stack_gradient->start != added.start || stack_gradient->n_levels ||
            stack_gradient->levels[0].is_reversed !=
                added.levels[0].is_reversed)
            continue;
        added.gradient = tgi_build_2(&tape->b, TGI_OP_ADD,
                                     stack_gradient->gradient, added.gradient);
        if (added.gradient) {
            stack_gradient->gradient = added.gradient;
            return true;
        }
    }
    return added.gradient && tgi_tape_add_stack_gradient(tape, &added);
}

/* Adds a level for the loop whose body the tape differentiates. Its iterations
   read an inner loop's stacks from their start, which was itself read from
   values that another loop saved per iteration. */
static bool add_loop_level(tgi_tape *tape, tgi_stack_gradient *stack_gradient)
{
    bool *is_reversed =
        &stack_gradient->levels[stack_gradient->n_levels].is_reversed;
    if (stack_gradient->n_levels++ == 0)
        return true;
    const tgi_graph *graph = tape->graph;
    tgi_ref at = stack_gradient->start;
    while (at && tgi_graph_node(graph, at)->op == TGI_OP_RESHAPE)
        at = tgi_graph_node(graph, at)->inputs[0];
    const tgi_node *node = at ? tgi_graph_node(graph, at) : NULL;
    if (!node || node->op != TGI_OP_DYNAMIC_SLICE)
        return fail_access_order(tape);
    tgi_ref iteration = node->inputs[1];
    stack_gradient->start = node->inputs[0];
    if (tgi_graph_is_unbounded(graph, stack_gradient->start) &&
        !split_stack_index(graph, node->inputs[1], &stack_gradient->start,
                           &iteration))
        return fail_access_order(tape);
    return find_iteration_order(tape, iteration, is_reversed) ||
           fail_access_order(tape);
}

/* -- From regions to the enclosing graph ----------------------------------- */

/* The input of the region for a parameter; 0 if `param` is not one. */
static tgi_ref input_of_param(const tgi_tape *inner, tgi_ref param)
{
    if (!param || tgi_graph_node(inner->graph, param)->op != TGI_OP_PARAM)
        return 0;
    const tgi_attr_index *attr = tgi_graph_node(inner->graph, param)->attr;
    return tgi_graph_node(inner->outer->graph, inner->region)
        ->inputs[attr->index];
}

bool tgi_stack_gradients_return(tgi_tape *inner, tgi_stack_gradients *out_list)
{
    const tgi_node *region = tgi_graph_node(inner->outer->graph, inner->region);
    const bool is_loop = region->op == TGI_OP_LOOP;
    bool ok = true;
    for (size_t i = 0; ok && i < inner->stack_gradients.n; i++) {
        tgi_stack_gradient stack_gradient = inner->stack_gradients.data[i];
        const tgi_ref outer = input_of_param(inner, stack_gradient.ref);
        if (!outer)
            continue;
        if (is_loop && stack_gradient.n_levels == TGI_MAX_STACK_LEVELS)
            return fail_access_order(inner);
        for (size_t k = 0; ok && k <= stack_gradient.n_levels; k++)
            if (region->op != TGI_OP_CALL && *component(&stack_gradient, k) &&
                !tgi_vec_push(&inner->t->results,
                              *component(&stack_gradient, k))) {
                tgi_error_memory();
                ok = false;
            }
        ok = ok && (!is_loop || add_loop_level(inner, &stack_gradient));
        stack_gradient.ref = outer;
        stack_gradient.start = input_of_param(inner, stack_gradient.start);
        if (ok && !tgi_vec_push(out_list, stack_gradient)) {
            tgi_error_memory();
            ok = false;
        }
    }
    return ok;
}

size_t tgi_stack_gradients_n_results(const tgi_stack_gradients *list)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        tgi_stack_gradient stack_gradient = list->data[i];
        for (size_t k = 0; k <= stack_gradient.n_levels; k++)
            n += *component(&stack_gradient, k) != 0;
    }
    return n;
}

bool tgi_stack_gradients_receive(tgi_tape *tape,
                                 const tgi_stack_gradients *list,
                                 const tg_value *results, bool is_loop)
{
    bool ok = true;
    tgi_graph *graph = tape->t->graph;
    for (size_t i = 0; ok && i < list->n; i++) {
        tgi_stack_gradient stack_gradient = list->data[i];
        const size_t n_components = stack_gradient.n_levels + !is_loop;
        for (size_t k = 0; results && k < n_components; k++)
            if (*component(&stack_gradient, k))
                *component(&stack_gradient, k) = (results++)->node;
        if (is_loop) {
            const tgi_ref loop =
                tgi_graph_node(graph, stack_gradient.gradient)->inputs[0];
            tgi_ref *base =
                &stack_gradient.levels[stack_gradient.n_levels - 1].base;
            if (tgi_loop_iterations(graph, tgi_graph_node(graph, loop)) ==
                TGI_UNBOUNDED)
                ok = (*base = tgi_region_result(graph, loop,
                                                TGI_RESULT_STACK_BASE)) != 0;
        }
        if (!ok)
            tgi_trace_record_error(tape->t);
        ok = ok && tgi_tape_add_stack_gradient(tape, &stack_gradient);
    }
    return ok;
}

/* -- From the enclosing graph into regions --------------------------------- */

/* Reads the components of this iteration and removes the outermost level. */
static bool pass_into_loop(tgi_tape *inner, tgi_stack_gradient *stack_gradient)
{
    const size_t outermost = stack_gradient->n_levels - 1;
    tgi_ref at = stack_gradient->levels[outermost].is_reversed
                     ? inner->t->graph->params.data[0].node
                     : inner->iteration;
    const tgi_ref base = stack_gradient->levels[outermost].base;
    if (base) {
        const tgi_ref outer_base = tgi_inner_capture(inner, base);
        at =
            outer_base ? tgi_build_2(&inner->b, TGI_OP_ADD, outer_base, at) : 0;
    }
    for (size_t k = 0; at && k <= outermost; k++) {
        tgi_ref *ref = component(stack_gradient, k);
        if (!*ref)
            continue;
        *ref = tgi_inner_capture(inner, *ref);
        if (*ref && !is_flattened(stack_gradient, k))
            *ref = tgi_tape_saved_element(inner, *ref, at, 0);
        if (!*ref)
            return false;
    }
    stack_gradient->levels[outermost].base = 0;
    stack_gradient->n_levels--;
    return at != 0;
}

static bool pass_into_branch(tgi_tape *inner,
                             tgi_stack_gradient *stack_gradient)
{
    for (size_t k = 0; k <= stack_gradient->n_levels; k++) {
        tgi_ref *ref = component(stack_gradient, k);
        if (*ref && !(*ref = tgi_inner_capture(inner, *ref)))
            return false;
    }
    return true;
}

bool tgi_stack_gradients_seed(tgi_tape *inner)
{
    const tgi_tape *tape = inner->outer;
    const tgi_node *region = tgi_graph_node(tape->graph, inner->region);
    for (size_t i = 0; i < tape->stack_gradients.n; i++) {
        tgi_stack_gradient stack_gradient = tape->stack_gradients.data[i];
        if (!tgi_is_result_of(tape->graph, stack_gradient.ref, inner->region))
            continue;
        const tgi_ref value =
            inner->graph->results
                .data[tgi_result_index(tape, stack_gradient.ref)];
        /* This branch may not have pushed any. */
        if (tgi_graph_node(inner->graph, value)->op == TGI_OP_UNSET)
            continue;
        stack_gradient.ref = value;
        stack_gradient.start = 0;
        const bool ok = region->op == TGI_OP_LOOP
                            ? pass_into_loop(inner, &stack_gradient)
                            : pass_into_branch(inner, &stack_gradient);
        if (!ok || !(stack_gradient.n_levels
                         ? tgi_tape_add_stack_gradient(inner, &stack_gradient)
                         : tgi_tape_add(inner, value, stack_gradient.gradient)))
            return false;
    }
    return true;
}
