/* SPDX-License-Identifier: MIT */
/*
 * pass_hoist.c - computes before a loop what is the same in every trip. Nodes
 * keep their meaning wherever they stand, so bits stay; what has an effect or
 * may fail stays in the loop, which may not run at all.
 *
 * A value that is handed into a loop lies in memory. So only what costs more
 * to compute than to load goes out: reductions, products, functions, and small
 * values of any kind. Views stay inside, and melt into what uses them.
 */
#include <string.h>

#include "base/error.h"
#include "ir/rebuild.h"
#include "pass/pass.h"

/* Elements that are computed once, however cheap they are. */
enum { SMALL = 64 };

/* What is known of the nodes of one graph of a loop. */
typedef struct plan {
    const tgi_graph *graph;
    const tgi_node *loop;
    bool *is_same;  /* in every trip */
    bool *is_dear;  /* it, or something it is computed from */
    bool *goes_out; /* its value is handed in */
    tgi_ref *outer; /* node in the graph around; 0: none so far */
    uint32_t n_out;
} plan;

static void plan_deinit(plan *p)
{
    tgi_free(p->is_same);
    tgi_free(p->is_dear);
    tgi_free(p->goes_out);
    tgi_free(p->outer);
}

static bool plan_init(plan *p, const tgi_graph *graph, const tgi_node *loop)
{
    const size_t n = (size_t)graph->n_nodes + 1;
    *p = (plan){.graph = graph,
                .loop = loop,
                .is_same = tgi_alloc_zero(n),
                .is_dear = tgi_alloc_zero(n),
                .goes_out = tgi_alloc_zero(n),
                .outer = tgi_alloc_zero(n * sizeof(*p->outer))};
    if (p->is_same && p->is_dear && p->goes_out && p->outer)
        return true;
    plan_deinit(p);
    tgi_error_memory();
    return false;
}

/* -- What goes out --------------------------------------------------------- */

/* The trips done, and values that change, are not the same. Nor is what has
   grown, perhaps by nothing: a loop that runs knows what there is to take. */
static bool is_same_param(const plan *p, const tgi_node *node)
{
    const tgi_attr_regions *attr = p->loop->attr;
    return node->op == TGI_OP_PARAM &&
           ((const tgi_attr_index *)node->attr)->index > attr->n_carried &&
           !tgi_shape_is_unbounded(tgi_shape_of(p->graph->dims, node->shape));
}

static bool is_view(const tgi_node *node)
{
    return tgi_op_table[node->op].cls == TGI_OPCLASS_VIEW ||
           node->op == TGI_OP_DYNAMIC_SLICE;
}

static bool is_same_node(const plan *p, const tgi_node *node)
{
    const int cls = tgi_op_table[node->op].cls;
    if (cls == TGI_OPCLASS_LEAF)
        return node->op != TGI_OP_VARIABLE &&
               (node->op != TGI_OP_PARAM || is_same_param(p, node));
    if (cls == TGI_OPCLASS_STATE || cls == TGI_OPCLASS_EFFECT ||
        cls == TGI_OPCLASS_REGION || tgi_op_has(node->op, TGI_FLAG_MAY_FAIL))
        return false;
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (!p->is_same[node->inputs[i]])
            return false;
    return true;
}

static bool is_small(const plan *p, tgi_ref ref)
{
    const tgi_shape *shape = tgi_graph_shape(p->graph, ref);
    int64_t n = 1;
    for (int i = 0; i < shape->rank; i++) {
        if (!tgi_dim_is_known(shape->dims[i]) || shape->dims[i] > SMALL)
            return false;
        n *= shape->dims[i] ? shape->dims[i] : 1;
        if (n > SMALL)
            return false;
    }
    return true;
}

/* True if an operation costs more than to load its result. */
static bool costs_much(const plan *p, tgi_ref ref, const tgi_node *node)
{
    if (tgi_op_table[node->op].cls == TGI_OPCLASS_LEAF || is_view(node))
        return false;
    const bool is_little = tgi_op_has(node->op, TGI_FLAG_CHEAP) ||
                           node->op == TGI_OP_PAD ||
                           node->op == TGI_OP_CONCAT;
    return !is_little || is_small(p, ref);
}

static void look_forward(plan *p)
{
    for (tgi_ref ref = 1; ref <= p->graph->n_nodes; ref++) {
        const tgi_node *node = tgi_graph_node(p->graph, ref);
        p->is_same[ref] = is_same_node(p, node);
        if (!p->is_same[ref])
            continue;
        p->is_dear[ref] = costs_much(p, ref, node);
        for (uint32_t i = 0; i < node->n_inputs; i++)
            p->is_dear[ref] |= p->is_dear[node->inputs[i]];
    }
}

/* Somebody inside needs it: it is handed in, or computed inside after all. */
static void need(plan *p, bool *stays, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(p->graph, ref);
    if (!p->is_same[ref] || !p->is_dear[ref] || is_view(node)) {
        stays[ref] = true;
    } else if (!p->goes_out[ref]) {
        p->goes_out[ref] = true;
        p->n_out++;
    }
}

/* `stays` has room for all refs. */
static void look_back(plan *p, bool *stays)
{
    for (size_t i = 0; i < p->graph->results.n; i++)
        need(p, stays, p->graph->results.data[i]);
    for (tgi_ref ref = p->graph->n_nodes; ref > 0; ref--) {
        const tgi_node *node = tgi_graph_node(p->graph, ref);
        if (p->is_same[ref] && !stays[ref])
            continue;
        for (uint32_t i = 0; i < node->n_inputs; i++)
            need(p, stays, node->inputs[i]);
    }
}

static bool make_plan(plan *p)
{
    bool *stays = tgi_alloc_zero((size_t)p->graph->n_nodes + 1);
    if (!stays) {
        tgi_error_memory();
        return false;
    }
    look_forward(p);
    look_back(p, stays);
    tgi_free(stays);
    return true;
}

/* -- Outside --------------------------------------------------------------- */

/* Marks what the values that go out are computed from. */
static void mark_needed(const plan *p, bool *needed)
{
    for (tgi_ref ref = p->graph->n_nodes; ref > 0; ref--) {
        const tgi_node *node = tgi_graph_node(p->graph, ref);
        needed[ref] |= p->goes_out[ref];
        for (uint32_t i = 0; needed[ref] && i < node->n_inputs; i++)
            needed[node->inputs[i]] = true;
    }
}

/* Node `ref` in the graph around; inputs are there already. */
static tgi_ref add_outside(const plan *p, tgi_graph *out, tgi_ref ref)
{
    tgi_node node = *tgi_graph_node(p->graph, ref);
    tgi_ref inputs[3];
    if (node.op == TGI_OP_PARAM)
        return p->loop->inputs[((const tgi_attr_index *)node.attr)->index];
    tgi_ref *room = inputs;
    if (node.n_inputs > 3 &&
        !(room = tgi_alloc(node.n_inputs * sizeof(*room)))) {
        tgi_error_memory();
        return 0;
    }
    for (uint32_t i = 0; i < node.n_inputs; i++)
        room[i] = p->outer[node.inputs[i]];
    node.inputs = room;
    tgi_ref added = tgi_graph_add(out, &node);
    if (room != inputs)
        tgi_free(room);
    return added;
}

static bool compute_outside(plan *p, tgi_graph *out)
{
    bool *needed = tgi_alloc_zero((size_t)p->graph->n_nodes + 1);
    if (!needed) {
        tgi_error_memory();
        return false;
    }
    mark_needed(p, needed);
    bool ok = true;
    for (tgi_ref ref = 1; ok && ref <= p->graph->n_nodes; ref++)
        if (needed[ref])
            ok = (p->outer[ref] = add_outside(p, out, ref)) != 0;
    tgi_free(needed);
    return ok;
}

/* -- Inside ---------------------------------------------------------------- */

static tgi_ref add_like(tgi_graph *out, const tgi_graph *graph, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(graph, ref);
    return tgi_graph_add_param(out, TGI_OP_PARAM, (tg_dtype)node->dtype,
                               node->shape, 0);
}

/* Parameters for all that goes out of the graphs of a loop, in order; those of
   `own` are what stands for its nodes. */
static bool add_params(tgi_graph *out, const plan *plans, size_t n,
                       const plan *own, tgi_ref *map)
{
    for (size_t k = 0; k < n; k++)
        for (tgi_ref ref = 1; ref <= plans[k].graph->n_nodes; ref++) {
            if (!plans[k].goes_out[ref])
                continue;
            tgi_ref param = add_like(out, plans[k].graph, ref);
            if (!param)
                return false;
            if (&plans[k] == own)
                map[ref] = param;
        }
    return true;
}

typedef struct inside {
    const plan *plans;
    size_t n;
    const plan *own;
    tgi_ref *map; /* by old ref: the parameter that stands for it */
} inside;

static tgi_ref visit_inside(tgi_rebuild *rebuild, tgi_ref old,
                            const tgi_node *node)
{
    inside *in = rebuild->user;
    if (!in->map[0]) {
        /* New parameters come after the old ones, before all else. */
        in->map[0] = 1;
        if (!add_params(rebuild->out, in->plans, in->n, in->own, in->map))
            return 0;
    }
    return in->map[old] ? in->map[old] : tgi_graph_add(rebuild->out, node);
}

static tgi_graph *rebuild_inside(const plan *plans, size_t n, const plan *own)
{
    inside in = {plans, n, own,
                 tgi_alloc_zero(((size_t)own->graph->n_nodes + 1) *
                                sizeof(tgi_ref))};
    if (!in.map) {
        tgi_error_memory();
        return NULL;
    }
    tgi_rebuild rebuild = {
        .in = own->graph, .visit = visit_inside, .user = &in};
    bool ok = tgi_rebuild_run(&rebuild) == TG_OK;
    /* A graph of nothing but parameters was never visited. */
    if (ok && !in.map[0])
        ok = add_params(rebuild.out, plans, n, own, in.map);
    tgi_free(in.map);
    if (ok)
        return rebuild.out;
    tgi_graph_release(rebuild.out);
    return NULL;
}

/* -- Loops ----------------------------------------------------------------- */

/* The loop with more inputs, and graphs that take them. */
static tgi_ref add_loop(tgi_graph *out, const tgi_node *loop,
                        const plan *plans, size_t n, uint32_t n_out)
{
    tgi_attr_regions *attr = tgi_alloc_zero(loop->attr_bytes);
    tgi_ref *inputs =
        tgi_alloc(((size_t)loop->n_inputs + n_out) * sizeof(*inputs));
    tgi_ref ref = 0;
    if (attr && inputs) {
        memcpy(attr, loop->attr, loop->attr_bytes);
        memcpy(inputs, loop->inputs, loop->n_inputs * sizeof(*inputs));
        uint32_t at = loop->n_inputs;
        for (size_t k = 0; k < n; k++)
            for (tgi_ref r = 1; r <= plans[k].graph->n_nodes; r++)
                if (plans[k].goes_out[r])
                    inputs[at++] = plans[k].outer[r];
        attr->n_graphs = 0;
        bool ok = true;
        for (size_t k = 0; ok && k < n; k++) {
            attr->graphs[k] = rebuild_inside(plans, n, &plans[k]);
            ok = attr->graphs[k] != NULL;
            attr->n_graphs += ok;
        }
        tgi_node node = *loop;
        node.inputs = inputs;
        node.n_inputs = at;
        node.attr = attr;
        if (ok)
            ref = tgi_graph_add(out, &node);
        for (int64_t k = 0; k < attr->n_graphs; k++)
            tgi_graph_release(attr->graphs[k]);
    } else {
        tgi_error_memory();
    }
    tgi_free(attr);
    tgi_free(inputs);
    return ref;
}

static tgi_ref hoist(tgi_graph *out, const tgi_node *loop)
{
    const tgi_regions regions = tgi_node_regions(loop);
    plan plans[2];
    size_t n = 0;
    uint32_t n_out = 0;
    bool ok = true;
    for (; ok && n < regions.n; n += ok) {
        ok = plan_init(&plans[n], regions.graphs[n], loop);
        if (ok && !(ok = make_plan(&plans[n])))
            plan_deinit(&plans[n]);
        n_out += ok ? plans[n].n_out : 0;
    }
    tgi_ref ref = 0;
    for (size_t k = 0; ok && n_out && k < n; k++)
        ok = compute_outside(&plans[k], out);
    if (ok)
        ref = n_out ? add_loop(out, loop, plans, n, n_out)
                    : tgi_graph_add(out, loop);
    while (n > 0)
        plan_deinit(&plans[--n]);
    return ref;
}

static tgi_ref visit(tgi_rebuild *rebuild, tgi_ref old, const tgi_node *node)
{
    (void)old;
    return node->op == TGI_OP_LOOP ? hoist(rebuild->out, node)
                                   : tgi_graph_add(rebuild->out, node);
}

tg_status tgi_pass_hoist(const tgi_graph *in, tgi_graph **out_graph)
{
    tgi_rebuild rebuild = {
        .in = in, .visit = visit, .region = tgi_pass_hoist};
    tg_status status = tgi_rebuild_run(&rebuild);
    *out_graph = rebuild.out;
    return status;
}
