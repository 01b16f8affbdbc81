/* SPDX-License-Identifier: MIT */
/*
 * settle.c - saved values of loops as stacks that loops carry.
 */
#include "settle.h"

#include <string.h>

#include "build.h"
#include "error.h"
#include "rebuild.h"

/* A loop with something to settle, and what is picked of it. */
typedef struct settled {
    tgi_ref loop;
    bool counts;
    size_t n_saved;
    uint32_t *place; /* by result of the body: of the new loop, + 1 */
} settled;

typedef struct settler {
    const tgi_graph *in;
    TGI_VEC(settled) loops;
    uint32_t *number; /* by ref: of `loops`, + 1 */
} settler;

/* -- What is picked -------------------------------------------------------- */

static bool has_saved(const tgi_node *node)
{
    const tgi_attr_regions *attr = node->attr;
    return node->op == TGI_OP_LOOP &&
           attr->graphs[0]->results.n > (size_t)attr->n_carried;
}

static bool is_count(const tgi_node *node)
{
    return node->op == TGI_OP_RESULT &&
           ((const tgi_attr_index *)node->attr)->index == TGI_RESULT_TRIPS;
}

/* True for a call that gradients have given a callee of its own: it is part of
   this graph, and uses variables that the old one may not have used. */
static bool has_own_callee(const tgi_graph *graph, const tgi_node *node)
{
    return node->op == TGI_OP_CALL &&
           ((const tgi_attr_call *)node->attr)->callee->dims == graph->dims;
}

/* Whether a graph, or one that is part of it, has something to settle.
   Functions that it calls have been settled. */
static bool is_unsettled(const tgi_graph *graph)
{
    for (tgi_ref ref = 1; ref <= graph->n_nodes; ref++) {
        const tgi_node *node = tgi_graph_node(graph, ref);
        if (has_saved(node) || is_count(node) || has_own_callee(graph, node))
            return true;
        const tgi_regions regions = tgi_node_regions(node);
        for (size_t i = 0; tgi_node_has_regions(node) && i < regions.n; i++)
            if (is_unsettled(regions.graphs[i]))
                return true;
    }
    return false;
}

static settled *settled_of(const settler *s, tgi_ref loop)
{
    return s->number[loop] ? &s->loops.data[s->number[loop] - 1] : NULL;
}

/* The entry of a loop, a new one if need be; NULL: out of memory. */
static settled *note(settler *s, tgi_ref loop)
{
    if (s->number[loop])
        return settled_of(s, loop);
    const tgi_node *node = tgi_graph_node(s->in, loop);
    const size_t n = tgi_node_n_results(node);
    settled new = {.loop = loop,
                   .place = tgi_alloc_zero((n + 1) * sizeof(*new.place))};
    if (!new.place || !tgi_vec_push(&s->loops, new)) {
        tgi_free(new.place);
        tgi_error_memory();
        return NULL;
    }
    s->number[loop] = (uint32_t)s->loops.n;
    return settled_of(s, loop);
}

static bool find_picked(settler *s)
{
    for (tgi_ref ref = 1; ref <= s->in->n_nodes; ref++) {
        const tgi_node *node = tgi_graph_node(s->in, ref);
        if (has_saved(node) && !note(s, ref))
            return false;
        if (node->op != TGI_OP_RESULT)
            continue;
        const tgi_ref region = node->inputs[0];
        const tgi_node *of = tgi_graph_node(s->in, region);
        const int64_t index = ((const tgi_attr_index *)node->attr)->index;
        const tgi_attr_regions *attr = of->attr;
        if (of->op != TGI_OP_LOOP || (index >= 0 && index < attr->n_carried))
            continue;
        settled *loop = note(s, region);
        if (!loop)
            return false;
        if (index == TGI_RESULT_TRIPS)
            loop->counts = true;
        else if (!loop->place[index])
            loop->place[index] =
                (uint32_t)(attr->n_carried + (int64_t)++loop->n_saved);
    }
    return true;
}

/* -- One loop -------------------------------------------------------------- */

/* A parameter number `at` for one more carried value. */
static tgi_ref add_carried(tgi_graph *graph, size_t at, tg_dtype dtype,
                           tgi_shape_ref shape)
{
    tgi_ref ref = tgi_graph_add_param(graph, TGI_OP_PARAM, dtype, shape, 0);
    if (ref)
        tgi_graph_move_param(graph, graph->params.n - 1, at);
    return ref;
}

/* The stack with `value` in place of the trip's number. */
static tgi_ref push(tgi_builder *b, tgi_ref stack, tgi_ref value)
{
    const tgi_graph *graph = b->graph;
    const tgi_shape *shape = tgi_graph_shape(graph, value);
    const tgi_node *node = tgi_graph_node(graph, stack);
    tgi_dim dims[TG_MAX_RANK + 1] = {1};
    memcpy(dims + 1, shape->dims, (size_t)shape->rank * sizeof(*dims));
    const tgi_shape_ref one =
        tgi_shape_intern(graph->dims, shape->rank + 1, dims);
    tgi_ref update = one ? tgi_build_node(b, TGI_OP_RESHAPE, node->dtype, one,
                                          &value, 1, NULL, 0)
                         : 0;
    const tgi_ref in[] = {stack, update, graph->params.data[0].node};
    const tgi_attr_index attr = {0};
    return update ? tgi_build_node(b, TGI_OP_DYNAMIC_UPDATE, node->dtype,
                                   node->shape, in, 3, &attr, sizeof(attr))
                  : 0;
}

/* The number of the trip, plus one. */
static tgi_ref count(tgi_builder *b)
{
    const tgi_ref one =
        tgi_build_number(b, TG_I64, TG_I64, (tgi_number){TGI_INT, {.i = 1}});
    return tgi_build_2(b, TGI_OP_ADD, b->graph->params.data[0].node, one);
}

/* A loop whose graphs are its own and may be changed. */
typedef struct change {
    tgi_graph *out;
    const settled *what;
    const tgi_node *node;   /* its inputs are new refs */
    tgi_attr_regions *attr; /* n_carried grows */
    TGI_VEC(tgi_ref) initial; /* of the values that are new */
} change;

/* One more carried value of the type, new in every graph; writes its
   parameter in the body. */
static bool carry(change *c, tg_dtype dtype, tgi_shape_ref shape,
                  tgi_ref initial, tgi_ref *out_param)
{
    const size_t at = (size_t)c->attr->n_carried + 1;
    if (!initial || !tgi_vec_push(&c->initial, initial)) {
        tgi_error_memory();
        return false;
    }
    for (int64_t i = c->attr->n_graphs; i-- > 0;)
        if (!(*out_param =
                  add_carried(c->attr->graphs[i], at, dtype, shape)))
            return false;
    c->attr->n_carried++;
    return true;
}

static bool carry_stack(change *c, tgi_ref value, tgi_dim trips)
{
    tgi_graph *body = c->attr->graphs[0];
    const tgi_shape *shape = tgi_graph_shape(body, value);
    const int dtype = tgi_graph_node(body, value)->dtype;
    tgi_dim dims[TG_MAX_RANK] = {trips};
    memcpy(dims + 1, shape->dims, (size_t)shape->rank * sizeof(*dims));
    const tgi_shape_ref of_all =
        tgi_shape_intern(body->dims, shape->rank + 1, dims);
    tgi_builder outer = {.graph = c->out, .site = tgi_node_site(c->node)};
    tgi_builder b = {.graph = body, .site = outer.site};
    tgi_ref param = 0;
    tgi_ref initial =
        of_all ? tgi_build_unset(&outer, (tg_dtype)dtype, shape->rank + 1, dims)
               : 0;
    if (!carry(c, (tg_dtype)dtype, of_all, initial, &param))
        return false;
    tgi_ref result = push(&b, param, value);
    return result && tgi_graph_add_result(body, result);
}

static bool carry_count(change *c)
{
    tgi_graph *body = c->attr->graphs[0];
    tgi_builder outer = {.graph = c->out, .site = tgi_node_site(c->node)};
    tgi_builder b = {.graph = body, .site = outer.site};
    tgi_ref param = 0;
    tgi_ref zero = tgi_build_number(&outer, TG_I64, TG_I64,
                                    (tgi_number){TGI_INT, {.i = 0}});
    tgi_ref result = 0;
    return carry(c, TG_I64, tgi_shape_intern(body->dims, 0, NULL), zero,
                 &param) &&
           (result = count(&b)) && tgi_graph_add_result(body, result);
}

/* Takes the results that are saved from the body, and carries those that are
   picked. */
static bool change_loop(change *c, tgi_dim trips)
{
    tgi_graph *body = c->attr->graphs[0];
    const size_t n_old = (size_t)c->attr->n_carried;
    const size_t n_results = body->results.n;
    tgi_ref *saved = tgi_alloc((n_results + 1) * sizeof(*saved));
    if (!saved) {
        tgi_error_memory();
        return false;
    }
    /* In the order of their places. */
    for (size_t i = n_old; i < n_results; i++)
        if (c->what->place[i])
            saved[c->what->place[i] - 1 - n_old] = body->results.data[i];
    body->results.n = n_old;
    bool ok = true;
    for (size_t i = 0; ok && i < c->what->n_saved; i++)
        ok = carry_stack(c, saved[i], trips);
    if (ok && c->what->counts)
        ok = carry_count(c);
    tgi_free(saved);
    return ok;
}

static tgi_ref add_loop(change *c, size_t n_old)
{
    const size_t n_new = c->initial.n;
    const size_t n = c->node->n_inputs + n_new;
    tgi_ref *inputs = tgi_alloc((n + 1) * sizeof(*inputs));
    if (!inputs) {
        tgi_error_memory();
        return 0;
    }
    memcpy(inputs, c->node->inputs, (n_old + 1) * sizeof(*inputs));
    if (n_new)
        memcpy(inputs + n_old + 1, c->initial.data, n_new * sizeof(*inputs));
    memcpy(inputs + n_old + 1 + n_new, c->node->inputs + n_old + 1,
           (c->node->n_inputs - n_old - 1) * sizeof(*inputs));
    tgi_node node = *c->node;
    node.inputs = inputs;
    node.n_inputs = (uint32_t)n;
    node.attr = c->attr;
    tgi_ref ref = tgi_graph_add(c->out, &node);
    tgi_free(inputs);
    return ref;
}

static tgi_ref settle_loop(tgi_rebuild *rebuild, tgi_ref old,
                           const tgi_node *node)
{
    settler *s = rebuild->user;
    /* The rebuilt node has graphs that nobody else has. */
    tgi_attr_regions *attr = (tgi_attr_regions *)(uintptr_t)node->attr;
    change c = {.out = rebuild->out,
                .what = settled_of(s, old),
                .node = node,
                .attr = attr};
    const size_t n_old = (size_t)attr->n_carried;
    const tgi_dim trips =
        tgi_loop_extent(s->in, tgi_graph_node(s->in, old));
    tgi_ref ref = change_loop(&c, trips) ? add_loop(&c, n_old) : 0;
    tgi_vec_deinit(&c.initial);
    return ref;
}

/* -- All of them ----------------------------------------------------------- */

static tg_status settle(const tgi_graph *in, tgi_graph **out_graph);

static tgi_ref settle_call(tgi_rebuild *rebuild, const tgi_node *node)
{
    tgi_attr_call attr = *(const tgi_attr_call *)node->attr;
    if (!has_own_callee(rebuild->in, node))
        return tgi_graph_add(rebuild->out, node);
    if (settle(attr.callee, &attr.callee))
        return 0;
    tgi_node call = *node;
    call.attr = &attr;
    tgi_ref ref = tgi_graph_add(rebuild->out, &call);
    tgi_graph_release(attr.callee);
    return ref;
}

static tgi_ref visit(tgi_rebuild *rebuild, tgi_ref old, const tgi_node *node)
{
    const settler *s = rebuild->user;
    if (node->op == TGI_OP_CALL)
        return settle_call(rebuild, node);
    if (node->op == TGI_OP_LOOP && settled_of(s, old))
        return settle_loop(rebuild, old, node);
    if (node->op != TGI_OP_RESULT)
        return tgi_graph_add(rebuild->out, node);
    const tgi_ref region = tgi_graph_node(s->in, old)->inputs[0];
    const tgi_node *of = tgi_graph_node(s->in, region);
    const settled *what = settled_of(s, region);
    tgi_attr_index attr = *(const tgi_attr_index *)node->attr;
    if (what) {
        const int64_t n_carried =
            ((const tgi_attr_regions *)of->attr)->n_carried;
        if (attr.index == TGI_RESULT_TRIPS)
            attr.index = n_carried + (int64_t)what->n_saved;
        else if (attr.index >= n_carried)
            attr.index = (int64_t)what->place[attr.index] - 1;
    }
    tgi_node result = *node;
    result.attr = &attr;
    return tgi_graph_add(rebuild->out, &result);
}

static tg_status settle(const tgi_graph *in, tgi_graph **out_graph)
{
    settler s = {.in = in,
                 .number = tgi_alloc_zero(((size_t)in->n_nodes + 1) *
                                          sizeof(*s.number))};
    tgi_rebuild rebuild = {
        .in = in, .visit = visit, .region = settle, .user = &s};
    tg_status status = TG_OK;
    if (!s.number)
        status = tgi_error_memory();
    else if (!find_picked(&s))
        status = TG_ERROR_OUT_OF_MEMORY;
    else
        status = tgi_rebuild_run(&rebuild);
    for (size_t i = 0; i < s.loops.n; i++)
        tgi_free(s.loops.data[i].place);
    tgi_vec_deinit(&s.loops);
    tgi_free(s.number);
    *out_graph = rebuild.out;
    return status;
}

tg_status tgi_graph_settle(const tgi_graph *in, tgi_graph **out_graph)
{
    if (is_unsettled(in))
        return settle(in, out_graph);
    *out_graph = tgi_graph_retain(in);
    return TG_OK;
}
