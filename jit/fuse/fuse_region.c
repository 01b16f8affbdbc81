/* SPDX-License-Identifier: MIT */
/*
 * fuse_region.c - branches and loops as steps. Their graphs go through all of
 * fusion by themselves: nothing is fused across their borders. Parameters of
 * such a graph are buffers of the graph around it, and so are the places its
 * results go to; its steps stand among those of the whole program.
 *
 * A loop carries each value in a buffer that the body reads, and stores the
 * next one in a second; after the trip they change places. What grows has one
 * buffer only. Everything that is used inside is in use from the beginning of
 * the loop to its end.
 */
#include "base/error.h"
#include "fuse/fuse_buffer.h"
#include "fuse/fuse_steps.h"
#include "fuse/fuse_value.h"

typedef struct region {
    tgi_step_builder *st;
    tgi_fuse_state *s; /* of the graph around */
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

static tgi_buffer_id *array_of(const region *r, size_t n)
{
    tgi_buffer_id *array =
        tgi_arena_alloc(&r->s->loops->arena, (n + 1) * sizeof(*array));
    if (!array)
        tgi_error_memory();
    return array;
}

/* A new buffer for a value like node `like` of `graph`. */
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

static tg_status find_params(region *r)
{
    const bool is_loop = r->node->op == TGI_OP_LOOP;
    r->params = array_of(r, r->node->n_inputs);
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

/* The steps of one graph, whose results go to `taken`. */
static tg_status add_graph(const region *r, const tgi_graph *graph,
                           const tgi_buffer_id *taken)
{
    tgi_fuse_state inner = {.graph = graph,
                            .variant = r->s->variant,
                            .dims = r->s->dims,
                            .explain = r->s->explain,
                            .loops = r->s->loops,
                            .bound_params = r->params,
                            .bound_results = taken};
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

/* Where the results of all branches go: to what is used of them. */
static tg_status find_results(const region *r, tgi_buffer_id **out_taken)
{
    tgi_fuse_state *s = r->s;
    const tgi_graph *first = r->attr->graphs[0];
    tgi_buffer_id *taken = *out_taken = array_of(r, first->results.n);
    if (!taken)
        return TG_ERROR_OUT_OF_MEMORY;
    tgi_control_flow *control = control_of(r);
    control->carried = array_of(r, first->results.n);
    control->next = control->carried;
    if (!control->carried)
        return TG_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < first->results.n; i++)
        taken[i] = (tgi_buffer_id){0};
    for (size_t i = 0; i < s->used_results.n; i++) {
        const tgi_fuse_result *result = &s->used_results.data[i];
        if (result->region != r->ref)
            continue;
        taken[result->index] = tgi_fuse_buffer_of(s, result->ref);
        if (tgi_buffer_id_is_none(taken[result->index]))
            return tg_error_last()->status;
        control->carried[control->n_carried++] = taken[result->index];
        TGI_TRY(tgi_step_builder_touch(r->st, taken[result->index], 0));
    }
    return TG_OK;
}

static tg_status add_switch(region *r)
{
    tgi_buffer_id *taken;
    TGI_TRY(find_results(r, &taken));
    TGI_TRY(add_step(r, TGI_STEP_SWITCH));
    for (int64_t i = 0; i < r->attr->n_graphs; i++) {
        /* Others may still look which branch it is. */
        TGI_TRY(tgi_step_builder_touch(r->st, r->params[0], TGI_TOUCH_READ));
        TGI_TRY(add_step(r, TGI_STEP_CASE));
        TGI_TRY(add_graph(r, r->attr->graphs[i], taken));
        TGI_TRY(tgi_step_builder_barrier(r->st));
    }
    return add_step(r, TGI_STEP_SWITCH_END);
}

/* -- Loops ----------------------------------------------------------------- */

/* The carried value that the body gives back as value k; -1: none. */
static int64_t given_back(const region *r, uint32_t k)
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
 * Where each value is after a trip: in a buffer of its own, the second one it
 * has, or where another value was that the body has given back for it. Of
 * several that are the same, the others are copies.
 */
static tg_status find_places(const region *r, tgi_buffer_id *taken,
                             tgi_buffer_id *next)
{
    const uint32_t n = (uint32_t)r->attr->n_carried;
    const tgi_graph *body = r->attr->graphs[0];
    for (uint32_t k = 0; k < n; k++) {
        if (is_stack(r, k)) {
            next[k] = taken[k] = r->params[k + 1];
            continue;
        }
        const int64_t other = given_back(r, k);
        bool is_free = other >= 0;
        for (uint32_t i = 0; is_free && i < k; i++)
            is_free = !tgi_buffer_id_equals(next[i], r->params[other + 1]);
        if (is_free) {
            taken[k] = (tgi_buffer_id){0};
            next[k] = r->params[other + 1];
            continue;
        }
        next[k] = taken[k] =
            add_buffer(r, body, body->results.data[k], TGI_PLACE_TEMP);
        if (tgi_buffer_id_is_none(taken[k]))
            return tg_error_last()->status;
    }
    return TG_OK;
}

/* What nobody has left behind, along the way from the second buffer of k: its
   next one. */
static tgi_buffer_id left_over(const region *r, const tgi_buffer_id *next,
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

/* Second buffers for what is new, and what goes where after a trip. */
static tg_status find_moves(const region *r, tgi_buffer_id *taken)
{
    const uint32_t n = (uint32_t)r->attr->n_carried;
    tgi_buffer_id *next = array_of(r, n);
    tgi_buffer_id *to = array_of(r, 2 * (size_t)n);
    tgi_buffer_id *from = array_of(r, 2 * (size_t)n);
    tgi_buffer_id *carried = array_of(r, n);
    uint32_t n_moved = 0;
    if (!next || !to || !from || !carried)
        return TG_ERROR_OUT_OF_MEMORY;
    TGI_TRY(find_places(r, taken, next));
    for (uint32_t k = 0; k < n; k++) {
        carried[k] = r->params[k + 1];
        if (tgi_buffer_id_equals(next[k], carried[k]))
            continue;
        to[n_moved] = carried[k];
        from[n_moved++] = next[k];
        if (!tgi_buffer_id_is_none(taken[k])) {
            to[n_moved] = taken[k];
            from[n_moved++] = left_over(r, next, k);
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

/* What is used in a loop is in use all the time: of what was there before it
   and, of its own, of what is carried. */
static void stretch(const region *r, size_t n_before, uint32_t first)
{
    tgi_loops *loops = r->s->loops;
    const uint32_t last = r->st->epoch;
    for (size_t i = 0; i < n_before; i++) {
        tgi_loop_buffer *b = &loops->buffers.data[i];
        if (b->is_used && b->last_epoch >= first)
            b->last_epoch = last;
    }
    const tgi_control_flow *c = control_of(r);
    for (int64_t k = 0; k < r->attr->n_carried; k++)
        tgi_loops_buffer(loops, r->params[k + 1])->last_epoch = last;
    for (uint32_t i = 0; i < c->n_moved; i++) {
        tgi_loop_buffer *b = tgi_loops_buffer(loops, c->to[i]);
        if (!b->is_used || b->first_epoch > first)
            b->first_epoch = first;
        b->is_used = true;
        b->last_epoch = last;
    }
}

/* A way in which the loop itself can fail; writes its number. */
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

/* The parameter of the body that says how many slices a stack has before the
   loop; NULL: it begins here. */
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

/* All that the loop pushes onto grows together. */
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

static tg_status add_loop(region *r)
{
    const uint32_t first = r->st->epoch;
    const size_t n_before = r->s->loops->buffers.n;
    tgi_buffer_id *taken = array_of(r, (size_t)r->attr->n_carried);
    if (!taken)
        return TG_ERROR_OUT_OF_MEMORY;
    /* Graphs see the trips done in place of their number. */
    r->params[0] =
        add_buffer(r, r->s->graph, r->node->inputs[0], TGI_PLACE_COUNTER);
    if (tgi_buffer_id_is_none(r->params[0]))
        return tg_error_last()->status;
    control_of(r)->counter = r->params[0];
    TGI_TRY(set_limit(r));
    TGI_TRY(set_stacks(r));
    TGI_TRY(find_moves(r, taken));
    for (int64_t k = 0; k < r->attr->n_carried; k++)
        TGI_TRY(tgi_step_builder_touch(r->st, r->params[k + 1], 0));
    TGI_TRY(add_step(r, TGI_STEP_LOOP));
    if (r->attr->n_graphs > 1)
        TGI_TRY(add_test(r));
    TGI_TRY(add_graph(r, r->attr->graphs[0], taken));
    TGI_TRY(tgi_step_builder_barrier(r->st));
    TGI_TRY(add_step(r, TGI_STEP_LOOP_END));
    /* Nobody stores to what others may still look at to leave the loop. */
    TGI_TRY(tgi_step_builder_barrier(r->st));
    stretch(r, n_before, first);
    if (!control_of(r)->is_limited &&
        tgi_stack_set_id_is_none(control_of(r)->stack_set))
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
    TGI_TRY(find_params(&r));
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
