/* SPDX-License-Identifier: MIT */
/*
 * gradient_stacks.c - gradients of what a loop with an unknown number of trips
 * has saved. A loop that takes the elements of such a stack, one in each trip,
 * makes their gradients when it is gone back through, and saves them in its
 * turn. The loop that has made the stack looks them up in its own trips. If
 * both are inside of other loops, each level has an order and a beginning of
 * its own.
 */
#include "gradient/gradient_region.h"

bool tgi_tape_add_stack_gradient(tgi_tape *tape,
                                 const tgi_stack_gradient *slots)
{
    if (tgi_vec_push(&tape->slots, *slots))
        return true;
    tgi_error_memory();
    tgi_trace_record_error(tape->t);
    return false;
}

bool tgi_tape_has_stack_gradients(const tgi_tape *tape, tgi_ref region)
{
    for (size_t i = 0; i < tape->slots.n; i++)
        if (tgi_is_result_of(tape->graph, tape->slots.data[i].ref, region))
            return true;
    return false;
}

/* -- Parts ----------------------------------------------------------------- */

/* The gradients themselves, and where they begin at each level. */
static tgi_ref *part(tgi_stack_gradient *slots, size_t i)
{
    return i == 0 ? &slots->gradient : &slots->levels[i - 1].base;
}

/* True if part i was a stack already when it came out of the loop of the
   outermost level: then it is one stack for all of its trips. */
static bool is_flat(const tgi_stack_gradient *slots, size_t i)
{
    for (size_t k = i; k + 1 < slots->n_levels; k++)
        if (slots->levels[k].base)
            return true;
    return false;
}

/* -- Orders ---------------------------------------------------------------- */

/* Says nothing if the order could not be found out. */
static bool fail_order(tgi_tape *tape)
{
    const tg_site site =
        tape->outer
            ? tgi_node_site(tgi_graph_node(tape->outer->graph, tape->region))
            : tape->b.site;
    tgi_trace_fail(tape->t, TG_ERROR_STATE, site,
                   "gradients: what a loop with an unknown number of trips "
                   "has saved is used again and again, and not in order");
    return false;
}

/* Whether the index `at` of the loop body goes with its trips or against
   them; false if it does neither. */
static bool find_order(tgi_tape *tape, tgi_ref at, bool *out_is_reversed)
{
    *out_is_reversed = false;
    if (!tape->trip)
        return false;
    const tgi_ref value = tgi_tape_value(tape, at);
    if (!value)
        tgi_trace_record_error(tape->t);
    *out_is_reversed = value == tape->trip;
    return *out_is_reversed ||
           value == tape->t->graph->params.data[0].node;
}

/* An index of a stack: the sum of where a loop began and one of its trips. */
static bool split_index(const tgi_graph *graph, tgi_ref index,
                        tgi_ref *out_base, tgi_ref *out_trip)
{
    const tgi_node *node = tgi_graph_node(graph, index);
    if (node->op != TGI_OP_ADD)
        return false;
    *out_base = node->inputs[0];
    *out_trip = node->inputs[1];
    return true;
}

bool tgi_tape_add_slice_gradient(tgi_tape *tape, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(tape->graph, ref);
    const tgi_shape *shape = tgi_graph_shape(tape->graph, ref);
    tgi_stack_gradient new = {.ref = node->inputs[0]};
    tgi_ref trip;
    if (!split_index(tape->graph, node->inputs[1], &new.at, &trip) ||
        !find_order(tape, trip, &new.levels[0].is_reversed))
        return fail_order(tape);
    new.gradient =
        tgi_build_reshape(&tape->b, tape->gradients[ref], shape->rank - 1,
                          shape->dims + 1);
    for (size_t i = 0; new.gradient && i < tape->slots.n; i++) {
        tgi_stack_gradient *slots = &tape->slots.data[i];
        if (slots->ref != new.ref || slots->at != new.at || slots->n_levels ||
            slots->levels[0].is_reversed != new.levels[0].is_reversed)
            continue;
        new.gradient =
            tgi_build_2(&tape->b, TGI_OP_ADD, slots->gradient, new.gradient);
        if (new.gradient) {
            slots->gradient = new.gradient;
            return true;
        }
    }
    return new.gradient &&tgi_tape_add_stack_gradient(tape, &new);
}

/* One more level, of the loop whose body the tape is: its trips have taken
   stacks of a loop inside from where these began, which was itself looked up
   in what another loop has saved for its trips. */
static bool add_level(tgi_tape *tape, tgi_stack_gradient *slots)
{
    bool *is_reversed = &slots->levels[slots->n_levels].is_reversed;
    if (slots->n_levels++ == 0)
        return true;
    const tgi_graph *graph = tape->graph;
    tgi_ref at = slots->at;
    while (at && tgi_graph_node(graph, at)->op == TGI_OP_RESHAPE)
        at = tgi_graph_node(graph, at)->inputs[0];
    const tgi_node *node = at ? tgi_graph_node(graph, at) : NULL;
    if (!node || node->op != TGI_OP_DYNAMIC_SLICE)
        return fail_order(tape);
    tgi_ref trip = node->inputs[1];
    slots->at = node->inputs[0];
    if (tgi_shape_is_unbounded(tgi_graph_shape(graph, slots->at)) &&
        !split_index(graph, node->inputs[1], &slots->at, &trip))
        return fail_order(tape);
    return find_order(tape, trip, is_reversed) || fail_order(tape);
}

/* -- Out of regions -------------------------------------------------------- */

/* The input of the region that its parameter is; 0: it is none. */
static tgi_ref input_of(const tgi_tape *inner, tgi_ref param)
{
    if (!param || tgi_graph_node(inner->graph, param)->op != TGI_OP_PARAM)
        return 0;
    const tgi_attr_index *attr = tgi_graph_node(inner->graph, param)->attr;
    return tgi_graph_node(inner->outer->graph, inner->region)
        ->inputs[attr->index];
}

bool tgi_stack_gradients_return(tgi_tape *inner, tgi_stack_gradients *out)
{
    const tgi_node *region = tgi_graph_node(inner->outer->graph, inner->region);
    const bool is_loop = region->op == TGI_OP_LOOP;
    bool ok = true;
    for (size_t i = 0; ok && i < inner->slots.n; i++) {
        tgi_stack_gradient slots = inner->slots.data[i];
        const tgi_ref outer = input_of(inner, slots.ref);
        if (!outer)
            continue;
        if (is_loop && slots.n_levels == TGI_MAX_STACK_LEVELS)
            return fail_order(inner);
        for (size_t k = 0; ok && k <= slots.n_levels; k++)
            if (region->op != TGI_OP_CALL && *part(&slots, k) &&
                !tgi_vec_push(&inner->t->results, *part(&slots, k))) {
                tgi_error_memory();
                ok = false;
            }
        ok = ok && (!is_loop || add_level(inner, &slots));
        slots.ref = outer;
        slots.at = input_of(inner, slots.at);
        if (ok && !tgi_vec_push(out, slots)) {
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
        tgi_stack_gradient slots = list->data[i];
        for (size_t k = 0; k <= slots.n_levels; k++)
            n += *part(&slots, k) != 0;
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
        tgi_stack_gradient slots = list->data[i];
        const size_t n_parts = slots.n_levels + !is_loop;
        for (size_t k = 0; results && k < n_parts; k++)
            if (*part(&slots, k))
                *part(&slots, k) = (results++)->node;
        if (is_loop) {
            const tgi_ref loop =
                tgi_graph_node(graph, slots.gradient)->inputs[0];
            tgi_ref *base = &slots.levels[slots.n_levels - 1].base;
            if (tgi_loop_iterations(graph, tgi_graph_node(graph, loop)) ==
                TGI_UNBOUNDED)
                ok = (*base = tgi_region_result(graph, loop,
                                                TGI_RESULT_STACK_BASE)) != 0;
        }
        if (!ok)
            tgi_trace_record_error(tape->t);
        ok = ok && tgi_tape_add_stack_gradient(tape, &slots);
    }
    return ok;
}

/* -- Into regions ---------------------------------------------------------- */

/* What the parts are in this trip; one level is gone then. */
static bool enter_loop(tgi_tape *inner, tgi_stack_gradient *slots)
{
    const size_t outermost = slots->n_levels - 1;
    tgi_ref at = slots->levels[outermost].is_reversed
                     ? inner->t->graph->params.data[0].node
                     : inner->trip;
    const tgi_ref base = slots->levels[outermost].base;
    if (base) {
        const tgi_ref here = tgi_inner_capture(inner, base);
        at = here ? tgi_build_2(&inner->b, TGI_OP_ADD, here, at) : 0;
    }
    for (size_t k = 0; at && k <= outermost; k++) {
        tgi_ref *ref = part(slots, k);
        if (!*ref)
            continue;
        *ref = tgi_inner_capture(inner, *ref);
        if (*ref && !is_flat(slots, k))
            *ref = tgi_tape_saved_element(inner, *ref, at, 0);
        if (!*ref)
            return false;
    }
    slots->levels[outermost].base = 0;
    slots->n_levels--;
    return at != 0;
}

static bool enter_branch(tgi_tape *inner, tgi_stack_gradient *slots)
{
    for (size_t k = 0; k <= slots->n_levels; k++) {
        tgi_ref *ref = part(slots, k);
        if (*ref && !(*ref = tgi_inner_capture(inner, *ref)))
            return false;
    }
    return true;
}

bool tgi_stack_gradients_seed(tgi_tape *inner)
{
    const tgi_tape *tape = inner->outer;
    const tgi_node *region = tgi_graph_node(tape->graph, inner->region);
    for (size_t i = 0; i < tape->slots.n; i++) {
        tgi_stack_gradient slots = tape->slots.data[i];
        if (!tgi_is_result_of(tape->graph, slots.ref, inner->region))
            continue;
        const tgi_ref value =
            inner->graph->results.data[tgi_result_index(tape, slots.ref)];
        /* This branch may have none. */
        if (tgi_graph_node(inner->graph, value)->op == TGI_OP_UNSET)
            continue;
        slots.ref = value;
        slots.at = 0;
        const bool ok = region->op == TGI_OP_LOOP ? enter_loop(inner, &slots)
                                                  : enter_branch(inner, &slots);
        if (!ok ||
            !(slots.n_levels ? tgi_tape_add_stack_gradient(inner, &slots)
                             : tgi_tape_add(inner, value, slots.gradient)))
            return false;
    }
    return true;
}
