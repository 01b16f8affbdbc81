/* SPDX-License-Identifier: MIT */
/*
 * dead_results.c - see dead_results.h. Liveness is propagated by a worklist over
 * the nodes of all graphs of a region: a carried value that an iteration reads
 * makes the result live that the iteration before leaves. A value that only its
 * own next value depends on is thus dead, unless it is taken.
 */
#include "pass/dead_results.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"
#include "ir/rebuild.h"

/* -- Needs ----------------------------------------------------------------- */

tgi_region_needs *tgi_region_needs_create(const tgi_node *node)
{
    const size_t n_results = tgi_node_n_results(node);
    tgi_region_needs *needs =
        tgi_alloc_zero(sizeof(*needs) + n_results + node->n_inputs);
    if (!needs) {
        tgi_error_memory();
        return NULL;
    }
    needs->node = node;
    needs->n_results = n_results;
    needs->results = (bool *)(needs + 1);
    needs->inputs = needs->results + n_results;
    return needs;
}

void tgi_region_needs_destroy(tgi_region_needs *needs)
{
    tgi_free(needs);
}

/* Carried values of a LOOP; results of a SWITCH are none. */
static size_t n_carried(const tgi_node *node)
{
    return node->op == TGI_OP_LOOP
               ? (size_t)((const tgi_attr_regions *)node->attr)->n_carried
               : 0;
}

int64_t tgi_region_needs_result(const tgi_region_needs *needs, int64_t index)
{
    int64_t number = 0;
    for (int64_t i = 0; i < index; i++)
        number += needs->results[i];
    return number;
}

/* -- Liveness -------------------------------------------------------------- */

/* A node of a graph of the region. */
typedef struct place {
    uint32_t graph;
    tgi_ref ref;
} place;

typedef struct liveness {
    tgi_region_needs *needs;
    tgi_regions regions;
    bool **is_live; /* by graph and ref */
    TGI_VEC(place) work;
    bool failed; /* out of memory, recorded */
} liveness;

static void mark(liveness *l, uint32_t graph, tgi_ref ref)
{
    if (l->is_live[graph][ref] || l->failed)
        return;
    l->is_live[graph][ref] = true;
    if (!tgi_vec_push(&l->work, ((place){graph, ref}))) {
        tgi_error_memory();
        l->failed = true;
    }
}

/* Result k of a SWITCH is one of each graph, that of a LOOP one of its body. */
static void mark_result(liveness *l, size_t k)
{
    const bool is_loop = l->needs->node->op == TGI_OP_LOOP;
    l->needs->results[k] = true;
    for (uint32_t i = 0; i < (is_loop ? 1 : l->regions.n); i++)
        mark(l, i, l->regions.graphs[i]->results.data[k]);
}

static void mark_input(liveness *l, size_t i)
{
    l->needs->inputs[i] = true;
    if (i > 0 && i <= n_carried(l->needs->node) && !l->needs->results[i - 1])
        mark_result(l, i - 1);
}

static void propagate(liveness *l)
{
    while (l->work.n && !l->failed) {
        const place at = l->work.data[--l->work.n];
        const tgi_graph *graph = l->regions.graphs[at.graph];
        const tgi_node *node = tgi_graph_node(graph, at.ref);
        if (node->op == TGI_OP_PARAM || node->op == TGI_OP_VARIABLE)
            mark_input(l, (size_t)tgi_node_index(node));
        for (uint32_t i = 0; i < node->n_inputs; i++)
            mark(l, at.graph, node->inputs[i]);
    }
}

/* The number of iterations or the selected case; variables, which calls lock;
   and stacks of unknown size, whose slices are numbered. */
static void mark_fixed(liveness *l)
{
    const tgi_graph *first = l->regions.graphs[0];
    mark_input(l, 0);
    for (size_t i = 1; i < first->params.n; i++) {
        const tgi_ref param = first->params.data[i].node;
        if (tgi_graph_node(first, param)->op == TGI_OP_VARIABLE ||
            tgi_graph_is_unbounded(first, param))
            mark_input(l, i);
    }
    for (size_t k = 0; k < l->needs->n_results; k++)
        if (l->needs->results[k] ||
            tgi_graph_is_unbounded(first, first->results.data[k]))
            mark_result(l, k);
}

static void mark_roots(liveness *l)
{
    for (uint32_t i = 0; i < l->regions.n; i++) {
        const tgi_graph *graph = l->regions.graphs[i];
        for (tgi_ref ref = 1; ref <= graph->n_nodes; ref++)
            if (tgi_graph_is_root(graph, tgi_graph_node(graph, ref)))
                mark(l, i, ref);
    }
    if (l->needs->node->op == TGI_OP_LOOP && l->regions.n > 1)
        mark(l, 1, l->regions.graphs[1]->results.data[0]);
}

bool tgi_region_needs_find(tgi_region_needs *needs)
{
    liveness l = {.needs = needs, .regions = tgi_node_regions(needs->node)};
    const size_t n = l.regions.n;
    size_t bytes = n * sizeof(*l.is_live);
    for (size_t i = 0; i < n; i++)
        bytes += (size_t)l.regions.graphs[i]->n_nodes + 1;
    l.is_live = tgi_alloc_zero(bytes);
    if (!l.is_live) {
        tgi_error_memory();
        return false;
    }
    bool *flags = (bool *)(l.is_live + n);
    for (size_t i = 0; i < n; i++) {
        l.is_live[i] = flags;
        flags += (size_t)l.regions.graphs[i]->n_nodes + 1;
    }
    mark_fixed(&l);
    mark_roots(&l);
    propagate(&l);
    /* The initial value of a carried value that no iteration reads. */
    for (size_t k = 0; k < n_carried(needs->node); k++)
        needs->inputs[k + 1] |= needs->results[k];
    tgi_vec_deinit(&l.work);
    tgi_free(l.is_live);
    return !l.failed;
}

/* -- Rebuilding ------------------------------------------------------------ */

/* A graph with the needed parameters and results, and the nodes these need. */
typedef struct trimmer {
    const tgi_region_needs *needs;
    bool keeps_results; /* of the test of a loop */
    tg_status (*region)(const tgi_graph *in, tgi_graph **out_graph);
} trimmer;

static bool copy_params(const trimmer *t, const tgi_graph *in, tgi_graph *out,
                        tgi_ref *map)
{
    for (size_t i = 0; i < in->params.n; i++) {
        const tgi_ref old = in->params.data[i].node;
        const tgi_node *node = tgi_graph_node(in, old);
        if (!t->needs->inputs[i])
            continue;
        map[old] =
            tgi_graph_add_param(out, (tgi_op)node->op, (tg_dtype)node->dtype,
                                node->shape, 0);
        if (!map[old])
            return false;
        tgi_graph_set_name(out, map[old], node->name);
    }
    return true;
}

/* Copies the nodes whose inputs are there. The others have no users, as the
   parameters that they need are dead. */
static bool copy_nodes(const tgi_graph *in, tgi_graph *out, tgi_ref *map)
{
    TGI_VEC(tgi_ref) inputs = {0};
    bool ok = true;
    for (tgi_ref old = 1; ok && old <= in->n_nodes; old++) {
        tgi_node node = *tgi_graph_node(in, old);
        bool is_complete = !map[old] && node.op != TGI_OP_PARAM &&
                           node.op != TGI_OP_VARIABLE;
        inputs.n = 0;
        for (uint32_t i = 0; ok && i < node.n_inputs; i++) {
            is_complete &= map[node.inputs[i]] != 0;
            ok = tgi_vec_push(&inputs, map[node.inputs[i]]);
        }
        if (!ok)
            tgi_error_memory();
        if (!ok || !is_complete)
            continue;
        node.inputs = inputs.data;
        map[old] = tgi_graph_add(out, &node);
        ok = map[old] != 0;
        if (ok && node.name)
            tgi_graph_set_name(out, map[old], node.name);
    }
    tgi_vec_deinit(&inputs);
    return ok;
}

static bool copy_all(const trimmer *t, const tgi_graph *in, tgi_graph *out,
                     tgi_ref *map)
{
    bool ok = copy_params(t, in, out, map);
    for (size_t i = 0; ok && i < in->checks.n; i++)
        ok = tgi_graph_add_check(out, in->checks.data[i]);
    ok = ok && copy_nodes(in, out, map);
    for (size_t k = 0; ok && k < in->results.n; k++)
        if (t->keeps_results || t->needs->results[k])
            ok = tgi_graph_add_result(out, map[in->results.data[k]]);
    return ok;
}

static tg_status trim(const tgi_graph *in, void *user, tgi_graph **out_graph)
{
    trimmer *t = user;
    tgi_graph *out = tgi_graph_create(in->name, in->dims);
    tgi_ref *map = tgi_alloc_zero(((size_t)in->n_nodes + 1) * sizeof(*map));
    if (!map)
        tgi_error_memory();
    const bool ok = out && map && copy_all(t, in, out, map);
    const tg_status status = ok ? t->region(out, out_graph)
                                : tg_error_last()->status;
    /* The second graph of a loop is its test. */
    t->keeps_results = t->needs->node->op == TGI_OP_LOOP;
    tgi_free(map);
    if (out)
        tgi_graph_release(out);
    return status;
}

tgi_ref tgi_region_needs_rebuild(
    const tgi_region_needs *needs, tgi_graph *out, const tgi_ref *inputs,
    tg_status region(const tgi_graph *in, tgi_graph **out_graph))
{
    trimmer t = {.needs = needs, .region = region};
    tgi_node node = *needs->node;
    tgi_ref *kept = tgi_alloc(node.n_inputs * sizeof(*kept));
    if (!kept) {
        tgi_error_memory();
        return 0;
    }
    tgi_attr_regions *attr = tgi_rebuild_regions(&node, out, &t, trim);
    node.inputs = kept;
    node.flags &= (uint16_t)~TGI_NODE_WEAK;
    node.n_inputs = 0;
    for (uint32_t i = 0; i < needs->node->n_inputs; i++)
        if (needs->inputs[i])
            kept[node.n_inputs++] = inputs[i];
    tgi_ref ref = 0;
    if (attr) {
        attr->n_carried =
            tgi_region_needs_result(needs, (int64_t)n_carried(needs->node));
        node.attr = attr;
        ref = tgi_graph_add(out, &node);
    }
    tgi_rebuild_regions_free(attr);
    tgi_free(kept);
    return ref;
}
