/* SPDX-License-Identifier: MIT */
/*
 * random_graph_control.c - coverage of branches and loops, as traced or after
 * passes; random programs must produce all of these cases.
 */
#include <stdio.h>

#include "random/random_graph.h"

/* A SWITCH or LOOP and its context. */
typedef struct place {
    const tgi_graph *graph;
    const tgi_node *node;
    int n_around[TGI_OPS]; /* enclosing regions, by op */
    bool is_in_test;
} place;

static const tgi_attr_regions *regions_of(const place *p)
{
    return p->node->attr;
}

static bool is_loop(const place *p)
{
    return p->node->op == TGI_OP_LOOP;
}

/* -- Iterations ------------------------------------------------------------ */

static bool is_counted(const place *p)
{
    return is_loop(p) && regions_of(p)->n_graphs == 1;
}

/* Input 0 if it is a constant. */
static const int64_t *constant_of(const place *p)
{
    return tgi_graph_constant(p->graph, p->node->inputs[0]);
}

static bool has_known_iterations(const place *p)
{
    return is_counted(p) && constant_of(p);
}

static bool has_zero_iterations(const place *p)
{
    return has_known_iterations(p) && *constant_of(p) <= 0;
}

static bool has_unknown_iterations(const place *p)
{
    return is_counted(p) && !has_known_iterations(p);
}

static bool has_test(const place *p)
{
    return is_loop(p) && regions_of(p)->n_graphs == 2;
}

static bool is_limited(const place *p)
{
    return is_loop(p) && regions_of(p)->flags & TGI_LOOP_LIMITED;
}

static bool has_test_with_effects(const place *p)
{
    return has_test(p) && regions_of(p)->graphs[1]->has_effects;
}

/* -- Branches -------------------------------------------------------------- */

static bool is_switch(const place *p)
{
    return p->node->op == TGI_OP_SWITCH;
}

static bool is_cond(const place *p)
{
    return is_switch(p) && regions_of(p)->n_graphs == 2;
}

static bool has_many_branches(const place *p)
{
    return is_switch(p) && regions_of(p)->n_graphs > 2;
}

static bool has_one_branch(const place *p)
{
    return is_switch(p) && regions_of(p)->n_graphs == 1;
}

static bool is_known_branch(const place *p)
{
    return is_switch(p) && constant_of(p);
}

/* -- Values ---------------------------------------------------------------- */

/* True if a graph of the node has a result with this property. */
typedef bool result_predicate(const tgi_graph *region,
                              const tgi_attr_regions *attr, size_t i);

static bool some_result_is(const place *p, result_predicate *is)
{
    const tgi_attr_regions *attr = regions_of(p);
    const int64_t n = is_loop(p) ? 1 : attr->n_graphs;
    for (int64_t k = 0; k < n; k++)
        for (size_t i = 0; i < attr->graphs[k]->results.n; i++)
            if (is(attr->graphs[k], attr, i))
                return true;
    return false;
}

/* The parameter index of result i, or -1. */
static int64_t result_param(const tgi_graph *region, size_t i)
{
    const tgi_node *node = tgi_graph_node(region, region->results.data[i]);
    return node->op == TGI_OP_PARAM
               ? ((const tgi_attr_index *)node->attr)->index
               : -1;
}

static bool result_stays(const tgi_graph *region, const tgi_attr_regions *attr,
                         size_t i)
{
    (void)attr;
    return result_param(region, i) == (int64_t)i + 1;
}

static bool result_moves(const tgi_graph *region, const tgi_attr_regions *attr,
                         size_t i)
{
    const int64_t param = result_param(region, i);
    return param > 0 && param <= attr->n_carried && param != (int64_t)i + 1;
}

static bool result_is_captured(const tgi_graph *region,
                               const tgi_attr_regions *attr, size_t i)
{
    return result_param(region, i) > attr->n_carried;
}

static bool result_is_large(const tgi_graph *region,
                            const tgi_attr_regions *attr, size_t i)
{
    (void)attr;
    const tgi_shape *shape =
        tgi_graph_shape(region, region->results.data[i]);
    int64_t count = 1;
    for (int axis = 0; axis < shape->rank; axis++)
        count *= tgi_dim_is_known(shape->dims[axis]) ? shape->dims[axis] : 1;
    return count > 16;
}

static bool result_is_unknown(const tgi_graph *region,
                              const tgi_attr_regions *attr, size_t i)
{
    (void)attr;
    return !tgi_shape_is_static(
        tgi_graph_shape(region, region->results.data[i]));
}

static bool keeps_a_value(const place *p)
{
    return is_loop(p) && some_result_is(p, result_stays);
}

static bool moves_a_value(const place *p)
{
    return is_loop(p) && some_result_is(p, result_moves);
}

static bool becomes_captured(const place *p)
{
    return is_loop(p) && some_result_is(p, result_is_captured);
}

static bool carries_much(const place *p)
{
    return is_loop(p) && some_result_is(p, result_is_large);
}

static bool carries_unknown(const place *p)
{
    return is_loop(p) && some_result_is(p, result_is_unknown);
}

static bool gives_unknown(const place *p)
{
    return is_switch(p) && some_result_is(p, result_is_unknown);
}

static bool captures(const place *p)
{
    return is_loop(p) &&
           p->node->n_inputs > 1 + (uint64_t)regions_of(p)->n_carried;
}

/* -- Effects --------------------------------------------------------------- */

static bool writes(const place *p)
{
    for (uint32_t i = 0; i < p->node->n_inputs; i++)
        if (tgi_node_writes(p->node, i))
            return true;
    return false;
}

static bool has_op(const place *p, tgi_op op)
{
    const tgi_attr_regions *attr = regions_of(p);
    for (int64_t k = 0; k < attr->n_graphs; k++)
        for (tgi_ref ref = 1; ref <= attr->graphs[k]->n_nodes; ref++)
            if (tgi_graph_node(attr->graphs[k], ref)->op == op)
                return true;
    return false;
}

static bool loop_writes(const place *p)
{
    return is_loop(p) && writes(p);
}

static bool branch_writes(const place *p)
{
    return is_switch(p) && writes(p);
}

static bool loop_prints(const place *p)
{
    return is_loop(p) && has_op(p, TGI_OP_PRINT);
}

static bool branch_prints(const place *p)
{
    return is_switch(p) && has_op(p, TGI_OP_PRINT);
}

static bool loop_gathers(const place *p)
{
    return is_loop(p) && has_op(p, TGI_OP_GATHER);
}

static bool branch_gathers(const place *p)
{
    return is_switch(p) && has_op(p, TGI_OP_GATHER);
}

/* -- Nesting --------------------------------------------------------------- */

static bool loop_in_loop(const place *p)
{
    return is_loop(p) && p->n_around[TGI_OP_LOOP];
}

static bool loop_in_branch(const place *p)
{
    return is_loop(p) && p->n_around[TGI_OP_SWITCH];
}

static bool branch_in_loop(const place *p)
{
    return is_switch(p) && p->n_around[TGI_OP_LOOP];
}

static bool branch_in_branch(const place *p)
{
    return is_switch(p) && p->n_around[TGI_OP_SWITCH];
}

static bool is_deep(const place *p)
{
    return p->n_around[TGI_OP_LOOP] + p->n_around[TGI_OP_SWITCH] >= 3;
}

static bool is_in_test(const place *p)
{
    return p->is_in_test;
}

/* -- All cases ------------------------------------------------------------- */

static const struct {
    const char *name;
    bool (*is)(const place *p);
} kinds[] = {
    {"for, known iterations", has_known_iterations},
    {"for, zero iterations", has_zero_iterations},
    {"for, iterations by data", has_unknown_iterations},
    {"while", has_test},
    {"while, limited", is_limited},
    {"while, effects in its test", has_test_with_effects},
    {"cond", is_cond},
    {"switch of one", has_one_branch},
    {"switch of many", has_many_branches},
    {"branch known", is_known_branch},
    {"loop value stays", keeps_a_value},
    {"loop value changes its place", moves_a_value},
    {"loop value becomes captured one", becomes_captured},
    {"loop value of > 16", carries_much},
    {"loop value of unknown extents", carries_unknown},
    {"branch of unknown extents", gives_unknown},
    {"loop that captures", captures},
    {"assign in a loop", loop_writes},
    {"assign in a branch", branch_writes},
    {"print in a loop", loop_prints},
    {"print in a branch", branch_prints},
    {"gather in a loop", loop_gathers},
    {"gather in a branch", branch_gathers},
    {"loop in a loop", loop_in_loop},
    {"loop in a branch", loop_in_branch},
    {"branch in a loop", branch_in_loop},
    {"branch in a branch", branch_in_branch},
    {"three enclosing regions", is_deep},
    {"region in a test", is_in_test},
};

enum { N_KINDS = sizeof(kinds) / sizeof(kinds[0]) };

_Static_assert((int)N_KINDS <= (int)RG_MAX_STRUCTURES, "kinds");

static void add_nested(rg_coverage *coverage, const place *outer)
{
    const tgi_graph *graph = outer->graph;
    for (tgi_ref ref = 1; ref <= graph->n_nodes; ref++) {
        place p = *outer;
        p.node = tgi_graph_node(graph, ref);
        const tgi_regions regions = tgi_node_regions(p.node);
        for (int i = 0; tgi_node_has_regions(p.node) && i < N_KINDS; i++)
            coverage->control[i] += kinds[i].is(&p);
        p.n_around[p.node->op]++;
        for (size_t k = 0; k < regions.n; k++) {
            p.graph = regions.graphs[k];
            p.is_in_test =
                outer->is_in_test || (p.node->op == TGI_OP_LOOP && k == 1);
            add_nested(coverage, &p);
        }
    }
}

void rg_control_add(rg_coverage *coverage, const tgi_graph *graph)
{
    const place p = {.graph = graph};
    add_nested(coverage, &p);
}

void rg_control_print(const rg_coverage *coverage)
{
    for (int i = 0; i < N_KINDS; i++)
        printf("%-32s %8llu\n", kinds[i].name,
               (unsigned long long)coverage->control[i]);
}

size_t rg_control_holes(const rg_coverage *coverage)
{
    size_t n = 0;
    for (int i = 0; i < N_KINDS; i++)
        if (!coverage->control[i]) {
            printf("never met: %s\n", kinds[i].name);
            n++;
        }
    return n;
}
