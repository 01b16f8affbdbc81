/* SPDX-License-Identifier: MIT */
/*
 * fuse_region.c - branches and loops as steps. Their graphs go through fusion
 * separately: nothing is fused across the border of a region. The parameters
 * and results of such a graph are bound to buffers of the enclosing graph; its
 * steps are part of the whole program's.
 *
 * A carried value has two buffers: the body reads one and stores the next value
 * into the other, and an iteration ends by swapping their addresses. An
 * unbounded stack has one buffer.
 */
#include <string.h>

#include "base/error.h"
#include "fuse/fuse_buffer.h"
#include "fuse/fuse_steps.h"
#include "fuse/fuse_value.h"

typedef struct region {
    tgi_step_builder *st;
    tgi_fuse_state *s; /* of the enclosing graph */
    tgi_ref ref;
    const tgi_node *node;
    const tgi_attr_regions *attr;
    tgi_buffer_id *params; /* by input */
    tgi_control_id control;
} region;

static tgi_control_flow *control_of(const region *r)
{
    return tgi_loops_control(r->s->loops, r->control);
}

/* -- Buffers --------------------------------------------------------------- */

/* From the arena of the program; NULL when out of memory (recorded). */
static tgi_buffer_id *alloc_ids(const region *r, size_t n)
{
    tgi_buffer_id *array =
        tgi_arena_alloc(&r->s->loops->arena, (n + 1) * sizeof(*array));
    if (!array)
        tgi_error_memory();
    return array;
}

/* A new, pinned buffer for a value of the type of node `like` of `graph`. */
static tgi_buffer_id add_buffer(const region *r, const tgi_graph *graph,
                                tgi_ref like, tgi_place place)
{
    tgi_fuse_state of = {.graph = graph,
                         .variant = r->s->variant,
                         .dims = r->s->dims,
                         .loops = r->s->loops};
    return tgi_fuse_add_buffer(
        &of, (tgi_loop_buffer){.place = (uint8_t)place,
                               .dtype = tgi_graph_node(graph, like)->dtype,
                               .is_pinned = true,
                               .node = like,
                               .count = tgi_fuse_n_elements(&of, like)});
}

static tg_status bind_params(region *r)
{
    const bool is_loop = r->node->op == TGI_OP_LOOP;
    r->params = alloc_ids(r, r->node->n_inputs);
    if (!r->params)
        return TG_ERROR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < r->node->n_inputs; i++) {
        if (is_loop && i > 0 && i <= r->attr->n_carried &&
            !tgi_fuse_is_unbounded(r->s, r->node->inputs[i]))
            r->params[i] = tgi_fuse_carried_buffer(r->s, r->ref, i - 1);
        else
            r->params[i] = tgi_fuse_buffer_of_input(r->s, r->ref, i);
        if (tgi_buffer_id_is_none(r->params[i]))
            return tg_error_last()->status;
    }
    return TG_OK;
}

/* -- Graphs ---------------------------------------------------------------- */

/* Adds the steps of one graph, whose results go to `results`. */
static tg_status add_graph(const region *r, const tgi_graph *graph,
                           const tgi_buffer_id *results)
{
    tgi_fuse_state inner = {.graph = graph,
                            .variant = r->s->variant,
                            .dims = r->s->dims,
                            .explain = r->s->explain,
                            .no_straightline = r->s->no_straightline,
                            .loops = r->s->loops,
                            .bound_params = r->params,
                            .bound_results = results};
    if (inner.explain)
        tgi_strbuf_addf(inner.explain, "%s of %%%u %s:\n", graph->name, r->ref,
                        tgi_op_table[r->node->op].name);
    tg_status status = tgi_fuse_begin(&inner);
    if (!status) {
        r->st->state = &inner;
        status = tgi_step_builder_kernels(r->st);
        r->st->state = r->s;
    }
    tgi_fuse_end(&inner);
    return status;
}

static tg_status add_step(const region *r, tgi_loop_step_kind kind)
{
    return tgi_step_builder_add(
        r->st, (tgi_loop_step){.kind = (uint8_t)kind, .control = r->control});
}

/* -- Branches -------------------------------------------------------------- */

/* All branches store into the buffers of the results in use. */
static tg_status bind_results(const region *r, tgi_buffer_id **out_results)
{
    tgi_fuse_state *s = r->s;
    const tgi_graph *first = r->attr->graphs[0];
    tgi_buffer_id *results = *out_results = alloc_ids(r, first->results.n);
    if (!results)
        return TG_ERROR_OUT_OF_MEMORY;
    tgi_control_flow *control = control_of(r);
    control->carried = alloc_ids(r, first->results.n);
    control->next = control->carried;
    if (!control->carried)
        return TG_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < first->results.n; i++)
        results[i] = (tgi_buffer_id){0};
    for (size_t i = 0; i < s->used_results.n; i++) {
        const tgi_fuse_result *result = &s->used_results.data[i];
        if (result->region != r->ref)
            continue;
        results[result->index] = tgi_fuse_buffer_of(s, result->ref);
        if (tgi_buffer_id_is_none(results[result->index]))
            return tg_error_last()->status;
        control->carried[control->n_carried++] = results[result->index];
    }
    return TG_OK;
}

static tg_status add_switch(region *r)
{
    tgi_buffer_id *results;
    TGI_TRY(bind_results(r, &results));
    TGI_TRY(add_step(r, TGI_STEP_SWITCH));
    for (int64_t i = 0; i < r->attr->n_graphs; i++) {
        /* Other threads may still read the selected case. */
        TGI_TRY(tgi_step_builder_touch(r->st, r->params[0], TGI_TOUCH_READ));
        TGI_TRY(add_step(r, TGI_STEP_CASE));
        TGI_TRY(add_graph(r, r->attr->graphs[i], results));
        /* Also in a case without steps: epochs, and with them the memory plan,
           count this barrier on every path. */
        TGI_TRY(tgi_step_builder_barrier(r->st));
    }
    return add_step(r, TGI_STEP_SWITCH_END);
}

/* -- Loops ----------------------------------------------------------------- */

/* The carried value that the body returns unchanged as value k; -1: none. */
static int64_t returned_param(const region *r, uint32_t k)
{
    const tgi_graph *body = r->attr->graphs[0];
    const tgi_ref result = body->results.data[k];
    const tgi_node *node = tgi_graph_node(body, result);
    if (node->op != TGI_OP_PARAM)
        return -1;
    const int64_t param = ((const tgi_attr_index *)node->attr)->index;
    return param > 0 && param <= r->attr->n_carried ? param - 1 : -1;
}

static bool is_stack(const region *r, uint32_t k)
{
    return tgi_loops_buffer(r->s->loops, r->params[k + 1])->place ==
           TGI_PLACE_STACK;
}

/*
 * The buffer of each next value: a second buffer, or that of the carried value
 * that the body returns for it. If the body returns one carried value several
 * times, the others are copies.
 */
static tg_status find_next(const region *r, tgi_buffer_id *results,
                           tgi_buffer_id *next)
{
    const uint32_t n = (uint32_t)r->attr->n_carried;
    const tgi_graph *body = r->attr->graphs[0];
    for (uint32_t k = 0; k < n; k++) {
        if (is_stack(r, k)) {
            next[k] = results[k] = r->params[k + 1];
            continue;
        }
        const int64_t other = returned_param(r, k);
        bool is_unused = other >= 0;
        for (uint32_t i = 0; is_unused && i < k; i++)
            is_unused = !tgi_buffer_id_equals(next[i], r->params[other + 1]);
        if (is_unused) {
            results[k] = (tgi_buffer_id){0};
            next[k] = r->params[other + 1];
            continue;
        }
        next[k] = results[k] =
            add_buffer(r, body, body->results.data[k], TGI_PLACE_TEMP);
        if (tgi_buffer_id_is_none(results[k]))
            return tg_error_last()->status;
    }
    return TG_OK;
}

/* The buffer that the second buffer of value k is swapped with: the end of the
   chain of moves that starts at the first one. */
static tgi_buffer_id end_of_moves(const region *r, const tgi_buffer_id *next,
                                  uint32_t k)
{
    const uint32_t n = (uint32_t)r->attr->n_carried;
    tgi_buffer_id buffer = r->params[k + 1];
    uint32_t i = 0;
    while (i < n) {
        for (i = 0; i < n && !tgi_buffer_id_equals(next[i], buffer); i++)
            ;
        if (i < n)
            buffer = r->params[i + 1];
    }
    return buffer;
}

/* Second buffers, and the moves after an iteration. */
static tg_status find_moves(const region *r, tgi_buffer_id *results)
{
    const uint32_t n = (uint32_t)r->attr->n_carried;
    tgi_buffer_id *next = alloc_ids(r, n);
    tgi_buffer_id *to = alloc_ids(r, 2 * (size_t)n);
    tgi_buffer_id *from = alloc_ids(r, 2 * (size_t)n);
    tgi_buffer_id *carried = alloc_ids(r, n);
    uint32_t n_moved = 0;
    if (!next || !to || !from || !carried)
        return TG_ERROR_OUT_OF_MEMORY;
    TGI_TRY(find_next(r, results, next));
    for (uint32_t k = 0; k < n; k++) {
        carried[k] = r->params[k + 1];
        if (tgi_buffer_id_equals(next[k], carried[k]))
            continue;
        to[n_moved] = carried[k];
        from[n_moved++] = next[k];
        if (!tgi_buffer_id_is_none(results[k])) {
            to[n_moved] = results[k];
            from[n_moved++] = end_of_moves(r, next, k);
        }
    }
    tgi_control_flow *control = control_of(r);
    control->n_carried = n;
    control->carried = carried;
    control->next = next;
    control->n_moved = n_moved;
    control->to = to;
    control->from = from;
    return TG_OK;
}

static tg_status add_test(const region *r)
{
    const tgi_graph *test = r->attr->graphs[1];
    const tgi_buffer_id buffer =
        add_buffer(r, test, test->results.data[0], TGI_PLACE_TEMP);
    if (tgi_buffer_id_is_none(buffer))
        return tg_error_last()->status;
    control_of(r)->has_test = true;
    control_of(r)->test = buffer;
    TGI_TRY(add_graph(r, test, &buffer));
    TGI_TRY(tgi_step_builder_barrier(r->st));
    TGI_TRY(tgi_step_builder_touch(r->st, buffer, TGI_TOUCH_READ));
    return add_step(r, TGI_STEP_TEST);
}

/* Adds a run-time check for the loop itself; writes its number. */
static tg_status add_check(const region *r, uint32_t *out_number)
{
    tgi_loops *loops = r->s->loops;
    const tgi_runtime_check checked = {r->s->graph, r->ref,
                                       control_of(r)->operand};
    *out_number = (uint32_t)loops->runtime_checks.n;
    return tgi_vec_push(&loops->runtime_checks, checked) ? TG_OK
                                                         : tgi_error_memory();
}

static tg_status set_limit(const region *r)
{
    tgi_control_flow *c = control_of(r);
    c->is_limited = r->attr->flags & TGI_LOOP_LIMITED;
    return c->is_limited ? add_check(r, &c->limit_check) : TG_OK;
}

/* A loop that is known to have few iterations ends soon: it is not cancelled, so
   that it can compute in the memory of a variable. */
static tg_status set_cancellable(const region *r)
{
    enum { FEW_ITERATIONS = 16 };
    tgi_control_flow *c = control_of(r);
    const void *constant =
        tgi_graph_constant(r->s->graph, r->node->inputs[0]);
    int64_t n_iterations = INT64_MAX;
    if (constant)
        memcpy(&n_iterations, constant, sizeof(n_iterations));
    c->is_cancellable = n_iterations > FEW_ITERATIONS;
    return c->is_cancellable ? add_check(r, &c->cancel_check) : TG_OK;
}

/* The parameter of the body that counts the slices pushed before the loop;
   NULL: the stack starts here. */
static const tgi_node *find_base(const tgi_graph *body, tgi_ref push)
{
    const tgi_node *at =
        tgi_graph_node(body, tgi_graph_node(body, push)->inputs[2]);
    if (at->op != TGI_OP_ADD)
        return NULL;
    const tgi_node *param = tgi_graph_node(body, at->inputs[0]);
    return ((const tgi_attr_index *)param->attr)->index
               ? param
               : tgi_graph_node(body, at->inputs[1]);
}

/* All stacks that the loop pushes onto form one stack set. */
static tg_status set_stacks(const region *r)
{
    tgi_loops *loops = r->s->loops;
    const tgi_graph *body = r->attr->graphs[0];
    const tgi_node *base = NULL;
    bool is_any = false;
    for (uint32_t k = 0; k < r->attr->n_carried; k++) {
        const tgi_ref push = body->results.data[k];
        if (!is_stack(r, k) ||
            tgi_graph_node(body, push)->op != TGI_OP_DYNAMIC_UPDATE)
            continue;
        tgi_loops_buffer(loops, r->params[k + 1])->index = loops->n_stack_sets;
        base = find_base(body, push);
        is_any = true;
    }
    if (!is_any)
        return TG_OK;
    tgi_control_flow *c = control_of(r);
    c->stack_set = tgi_stack_set_id_from(loops->n_stack_sets++);
    c->has_base = base != NULL;
    if (base) {
        c->base = r->params[((const tgi_attr_index *)base->attr)->index];
        tgi_loops_buffer(loops, c->base)->is_pinned = true;
    }
    return add_check(r, &c->memory_check);
}

/* True if a host step from `first` on is an assert. */
static bool has_assert(const region *r, size_t first)
{
    const tgi_loops *loops = r->s->loops;
    for (size_t i = first; i < loops->hosts.n; i++)
        if (tgi_host_step_is_assert(&loops->hosts.data[i]))
            return true;
    return false;
}

static tg_status add_loop(region *r)
{
    const size_t first_host = r->s->loops->hosts.n;
    tgi_buffer_id *results = alloc_ids(r, (size_t)r->attr->n_carried);
    if (!results)
        return TG_ERROR_OUT_OF_MEMORY;
    /* Parameter 0 of the graphs is the iteration, not their number. */
    r->params[0] =
        add_buffer(r, r->s->graph, r->node->inputs[0], TGI_PLACE_COUNTER);
    if (tgi_buffer_id_is_none(r->params[0]))
        return tg_error_last()->status;
    control_of(r)->counter = r->params[0];
    TGI_TRY(set_limit(r));
    TGI_TRY(set_cancellable(r));
    TGI_TRY(set_stacks(r));
    TGI_TRY(find_moves(r, results));
    TGI_TRY(add_step(r, TGI_STEP_LOOP));
    if (r->attr->n_graphs > 1)
        TGI_TRY(add_test(r));
    TGI_TRY(add_graph(r, r->attr->graphs[0], results));
    TGI_TRY(tgi_step_builder_barrier(r->st));
    TGI_TRY(add_step(r, TGI_STEP_LOOP_END));
    /* Other threads may still read the values that end the loop. */
    TGI_TRY(tgi_step_builder_barrier(r->st));
    /* A straight-line loop ends here if it is cancelled or an assert in it
       fails. */
    if (!tgi_control_flow_can_fail(control_of(r)) &&
        !has_assert(r, first_host))
        return TG_OK;
    return tgi_step_builder_add(
        r->st, (tgi_loop_step){.kind = TGI_STEP_RETURN_IF_FAILED});
}

tg_status tgi_step_builder_region(tgi_step_builder *st, tgi_ref ref)
{
    tgi_fuse_state *s = st->state;
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    region r = {.st = st,
                .s = s,
                .ref = ref,
                .node = node,
                .attr = node->attr,
                .control = tgi_control_id_from(s->loops->controls.n)};
    TGI_TRY(bind_params(&r));
    const tgi_control_flow control = {
        .graph = s->graph,
        .node = ref,
        .operand = r.params[0],
        .base = r.params[0],
        .n_cases = node->op == TGI_OP_LOOP ? 0 : (uint32_t)r.attr->n_graphs};
    if (!tgi_vec_push(&s->loops->controls, control))
        return tgi_error_memory();
    tgi_loops_buffer(s->loops, control.operand)->is_pinned = true;
    TGI_TRY(tgi_step_builder_barrier(st));
    for (uint32_t i = 0; i < node->n_inputs; i++)
        TGI_TRY(tgi_step_builder_touch(st, r.params[i], TGI_TOUCH_READ));
    return node->op == TGI_OP_LOOP ? add_loop(&r) : add_switch(&r);
}
