/* SPDX-License-Identifier: MIT */
/*
 * pass_hoist.c - loop-invariant code motion. Invariant nodes of a body or test
 * move in front of the loop, which receives their values as new inputs. An
 * input occupies memory, so a node moves only if computing it from the inputs
 * of the loop is not cheap (recipe/cost.h); small values always move. Views stay
 * inside, where they fuse with their users. Nodes that have effects or may fail stay too, because
 * the loop may run zero iterations.
 *
 * Requires:    a verified graph.
 * Preserves:   every bit of results and effects.
 * Invalidates: refs; loops gain inputs, their graphs parameters.
 * Terminates:  one sweep per graph, no fixed point.
 */
#include <string.h>

#include "base/error.h"
#include "ir/rebuild.h"
#include "pass/pass.h"
#include "recipe/cost_node.h"

enum {
    MAX_SMALL_ELEMENTS = 64,  /* of a value that is always worth hoisting */
    MAX_COST = UINT32_MAX / 4 /* costs saturate here */
};

/* Analysis of one graph of a loop; arrays by ref. */
typedef struct hoist_plan {
    const tgi_graph *graph;
    const tgi_node *loop;
    bool *is_invariant; /* in all iterations */
    uint32_t *cost;     /* half-cycles, with the nodes it depends on */
    bool *is_hoisted;   /* the loop receives its value */
    tgi_ref *outer;     /* node in the outer graph, or 0 */
    uint32_t n_hoisted;
} hoist_plan;

static void plan_deinit(hoist_plan *p)
{
    tgi_free(p->is_invariant);
    tgi_free(p->cost);
    tgi_free(p->is_hoisted);
    tgi_free(p->outer);
}

static bool plan_init(hoist_plan *p, const tgi_graph *graph,
                      const tgi_node *loop)
{
    const size_t n = (size_t)graph->n_nodes + 1;
    *p = (hoist_plan){.graph = graph,
                      .loop = loop,
                      .is_invariant = tgi_alloc_zero(n),
                      .cost = tgi_alloc_zero(n * sizeof(*p->cost)),
                      .is_hoisted = tgi_alloc_zero(n),
                      .outer = tgi_alloc_zero(n * sizeof(*p->outer))};
    if (p->is_invariant && p->cost && p->is_hoisted && p->outer)
        return true;
    plan_deinit(p);
    tgi_error_memory();
    return false;
}

/* -- Analysis -------------------------------------------------------------- */

/* The iteration counter and carried values vary. Unbounded stacks count as
   variant, because they may be empty unless the loop runs. */
static bool is_invariant_param(const hoist_plan *p, const tgi_node *node)
{
    const tgi_attr_regions *attr = p->loop->attr;
    return node->op == TGI_OP_PARAM && tgi_node_index(node) > attr->n_carried &&
           !tgi_shape_is_unbounded(tgi_shape_of(p->graph->dims, node->shape));
}

static bool is_view(const tgi_node *node)
{
    return tgi_op_table[node->op].cls == TGI_OPCLASS_VIEW ||
           node->op == TGI_OP_DYNAMIC_SLICE;
}

static bool is_invariant_node(const hoist_plan *p, const tgi_node *node)
{
    const int cls = tgi_op_table[node->op].cls;
    if (cls == TGI_OPCLASS_LEAF)
        return node->op != TGI_OP_VARIABLE &&
               (node->op != TGI_OP_PARAM || is_invariant_param(p, node));
    if (cls == TGI_OPCLASS_STATE || cls == TGI_OPCLASS_EFFECT ||
        cls == TGI_OPCLASS_REGION || tgi_op_has(node->op, TGI_FLAG_MAY_FAIL))
        return false;
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (!p->is_invariant[node->inputs[i]])
            return false;
    return true;
}

static bool is_small(const hoist_plan *p, tgi_ref ref)
{
    const tgi_shape *shape = tgi_graph_shape(p->graph, ref);
    int64_t n = 1;
    for (int i = 0; i < shape->rank; i++) {
        if (!tgi_dim_is_known(shape->dims[i]) ||
            shape->dims[i] > MAX_SMALL_ELEMENTS)
            return false;
        n *= shape->dims[i] ? shape->dims[i] : 1;
        if (n > MAX_SMALL_ELEMENTS)
            return false;
    }
    return true;
}

/* The cost of the operation itself. */
static uint32_t own_cost(const hoist_plan *p, tgi_ref ref, const tgi_node *node)
{
    if (tgi_op_table[node->op].cls == TGI_OPCLASS_LEAF || is_view(node))
        return 0;
    if (is_small(p, ref))
        return MAX_COST;
    if (node->op == TGI_OP_PAD || node->op == TGI_OP_CONCAT)
        return 0;
    return tgi_op_is_elementwise(node->op)
               ? tgi_cost_of_node(p->graph, ref).half_cycles
               : MAX_COST;
}

static uint32_t cost_from_inputs(const hoist_plan *p, tgi_ref ref,
                                 const tgi_node *node)
{
    uint32_t cost = own_cost(p, ref, node);
    for (uint32_t i = 0; i < node->n_inputs && cost < MAX_COST; i++)
        cost += p->cost[node->inputs[i]];
    return cost < MAX_COST ? cost : MAX_COST;
}

static void find_invariants(hoist_plan *p)
{
    for (tgi_ref ref = 1; ref <= p->graph->n_nodes; ref++) {
        const tgi_node *node = tgi_graph_node(p->graph, ref);
        p->is_invariant[ref] = is_invariant_node(p, node);
        if (p->is_invariant[ref])
            p->cost[ref] = cost_from_inputs(p, ref, node);
    }
}

/* Records a use inside the loop: the value is hoisted if that pays, else it is
   computed inside. */
static void require_inside(hoist_plan *p, bool *stays_inside, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(p->graph, ref);
    if (!p->is_invariant[ref] || p->cost[ref] <= TGI_COST_CHEAP ||
        is_view(node)) {
        stays_inside[ref] = true;
    } else if (!p->is_hoisted[ref]) {
        p->is_hoisted[ref] = true;
        p->n_hoisted++;
    }
}

/* `stays_inside` has an element for every ref. */
static void choose_hoisted(hoist_plan *p, bool *stays_inside)
{
    for (size_t i = 0; i < p->graph->results.n; i++)
        require_inside(p, stays_inside, p->graph->results.data[i]);
    for (tgi_ref ref = p->graph->n_nodes; ref > 0; ref--) {
        const tgi_node *node = tgi_graph_node(p->graph, ref);
        if (p->is_invariant[ref] && !stays_inside[ref])
            continue;
        for (uint32_t i = 0; i < node->n_inputs; i++)
            require_inside(p, stays_inside, node->inputs[i]);
    }
}

static bool analyse(hoist_plan *p)
{
    bool *stays_inside = tgi_alloc_zero((size_t)p->graph->n_nodes + 1);
    if (!stays_inside) {
        tgi_error_memory();
        return false;
    }
    find_invariants(p);
    choose_hoisted(p, stays_inside);
    tgi_free(stays_inside);
    return true;
}

/* -- In front of the loop -------------------------------------------------- */

/* Marks the nodes that hoisted values depend on. */
static void mark_dependences(const hoist_plan *p, bool *needed)
{
    for (tgi_ref ref = p->graph->n_nodes; ref > 0; ref--) {
        const tgi_node *node = tgi_graph_node(p->graph, ref);
        needed[ref] |= p->is_hoisted[ref];
        for (uint32_t i = 0; needed[ref] && i < node->n_inputs; i++)
            needed[node->inputs[i]] = true;
    }
}

/* Clones node `ref` into the outer graph, where its inputs already are. */
static tgi_ref clone_to_outer(const hoist_plan *p, tgi_graph *out, tgi_ref ref)
{
    tgi_node node = *tgi_graph_node(p->graph, ref);
    tgi_ref inputs[3];
    if (node.op == TGI_OP_PARAM)
        return p->loop->inputs[tgi_node_index(&node)];
    tgi_ref *storage = inputs;
    if (node.n_inputs > 3 &&
        !(storage = tgi_alloc(node.n_inputs * sizeof(*storage)))) {
        tgi_error_memory();
        return 0;
    }
    for (uint32_t i = 0; i < node.n_inputs; i++)
        storage[i] = p->outer[node.inputs[i]];
    node.inputs = storage;
    tgi_ref added = tgi_graph_add(out, &node);
    if (storage != inputs)
        tgi_free(storage);
    return added;
}

static bool emit_hoisted(hoist_plan *p, tgi_graph *out)
{
    bool *needed = tgi_alloc_zero((size_t)p->graph->n_nodes + 1);
    if (!needed) {
        tgi_error_memory();
        return false;
    }
    mark_dependences(p, needed);
    bool ok = true;
    for (tgi_ref ref = 1; ok && ref <= p->graph->n_nodes; ref++)
        if (needed[ref])
            ok = (p->outer[ref] = clone_to_outer(p, out, ref)) != 0;
    tgi_free(needed);
    return ok;
}

/* -- Graphs of the loop ---------------------------------------------------- */

static tgi_ref add_param_like(tgi_graph *out, const tgi_graph *graph,
                              tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(graph, ref);
    return tgi_graph_add_param(out, TGI_OP_PARAM, (tg_dtype)node->dtype,
                               node->shape, 0);
}

/* Adds parameters for the hoisted values of all graphs of the loop, in order;
   `map` gets those of `current`. */
static bool add_params(tgi_graph *out, const hoist_plan *plans, size_t n,
                       const hoist_plan *current, tgi_ref *map)
{
    for (size_t k = 0; k < n; k++)
        for (tgi_ref ref = 1; ref <= plans[k].graph->n_nodes; ref++) {
            if (!plans[k].is_hoisted[ref])
                continue;
            tgi_ref param = add_param_like(out, plans[k].graph, ref);
            if (!param)
                return false;
            if (&plans[k] == current)
                map[ref] = param;
        }
    return true;
}

typedef struct region_rebuild {
    const hoist_plan *plans;
    size_t n;
    const hoist_plan *current;
    tgi_ref *map; /* by old ref: the parameter that replaces it, or 0 */
} region_rebuild;

static tgi_ref rebuild_node(tgi_rebuild *rebuild, tgi_ref old,
                            const tgi_node *node)
{
    region_rebuild *in = rebuild->user;
    if (!in->map[0]) {
        /* New parameters follow the old ones and precede all other nodes. */
        in->map[0] = 1;
        if (!add_params(rebuild->out, in->plans, in->n, in->current, in->map))
            return 0;
    }
    return in->map[old] ? in->map[old] : tgi_graph_add(rebuild->out, node);
}

static tgi_graph *rebuild_region(const hoist_plan *plans, size_t n,
                                 const hoist_plan *current)
{
    region_rebuild in = {plans, n, current,
                         tgi_alloc_zero(((size_t)current->graph->n_nodes + 1) *
                                        sizeof(tgi_ref))};
    if (!in.map) {
        tgi_error_memory();
        return NULL;
    }
    tgi_rebuild rebuild = {
        .in = current->graph, .visit = rebuild_node, .user = &in};
    bool ok = tgi_rebuild_run(&rebuild) == TG_OK;
    /* A graph that has only parameters was never visited. */
    if (ok && !in.map[0])
        ok = add_params(rebuild.out, plans, n, current, in.map);
    tgi_free(in.map);
    if (ok)
        return rebuild.out;
    tgi_graph_release(rebuild.out);
    return NULL;
}

/* -- Loops ----------------------------------------------------------------- */

/* Adds the loop with the hoisted inputs, and graphs that receive them. */
static tgi_ref add_loop(tgi_graph *out, const tgi_node *loop,
                        const hoist_plan *plans, size_t n, uint32_t n_hoisted)
{
    tgi_attr_regions *attr = tgi_alloc_zero(loop->attr_bytes);
    tgi_ref *inputs =
        tgi_alloc(((size_t)loop->n_inputs + n_hoisted) * sizeof(*inputs));
    tgi_ref ref = 0;
    if (attr && inputs) {
        memcpy(attr, loop->attr, loop->attr_bytes);
        memcpy(inputs, loop->inputs, loop->n_inputs * sizeof(*inputs));
        uint32_t at = loop->n_inputs;
        for (size_t k = 0; k < n; k++)
            for (tgi_ref r = 1; r <= plans[k].graph->n_nodes; r++)
                if (plans[k].is_hoisted[r])
                    inputs[at++] = plans[k].outer[r];
        attr->n_graphs = 0;
        bool ok = true;
        for (size_t k = 0; ok && k < n; k++) {
            attr->graphs[k] = rebuild_region(plans, n, &plans[k]);
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

static tgi_ref hoist_from_loop(tgi_graph *out, const tgi_node *loop)
{
    const tgi_regions regions = tgi_node_regions(loop);
    hoist_plan plans[2];
    size_t n = 0;
    uint32_t n_hoisted = 0;
    bool ok = true;
    for (; ok && n < regions.n; n += ok) {
        ok = plan_init(&plans[n], regions.graphs[n], loop);
        if (ok && !(ok = analyse(&plans[n])))
            plan_deinit(&plans[n]);
        n_hoisted += ok ? plans[n].n_hoisted : 0;
    }
    tgi_ref ref = 0;
    for (size_t k = 0; ok && n_hoisted && k < n; k++)
        ok = emit_hoisted(&plans[k], out);
    if (ok)
        ref = n_hoisted ? add_loop(out, loop, plans, n, n_hoisted)
                        : tgi_graph_add(out, loop);
    while (n > 0)
        plan_deinit(&plans[--n]);
    return ref;
}

static tgi_ref hoist_or_copy(tgi_rebuild *rebuild, tgi_ref old,
                             const tgi_node *node)
{
    (void)old;
    return node->op == TGI_OP_LOOP ? hoist_from_loop(rebuild->out, node)
                                   : tgi_graph_add(rebuild->out, node);
}

tg_status tgi_pass_hoist(const tgi_graph *in, tgi_graph **out_graph)
{
    tgi_rebuild rebuild = {
        .in = in, .visit = hoist_or_copy, .region = tgi_pass_hoist};
    tg_status status = tgi_rebuild_run(&rebuild);
    *out_graph = rebuild.out;
    return status;
}
