/* SPDX-License-Identifier: MIT */
/*
 * random_graph_coverage.c - coverage of ops by dtype: the dtype that the op's
 * row of op.def refers to.
 */
#include <stdio.h>

#include "random/random_graph.h"

/* The dtype that counts for a node; for prints and calls, that of input i. */
static int counted_dtype(const tgi_graph *graph, const tgi_node *node,
                         uint32_t i)
{
    switch (tgi_op_table[node->op].cls) {
    case TGI_OPCLASS_LEAF:
    case TGI_OPCLASS_RANDOM:
    case TGI_OPCLASS_STATE:
        return node->dtype;
    case TGI_OPCLASS_REGION:
        return node->op == TGI_OP_RESULT
                   ? node->dtype
                   : tgi_graph_node(graph, node->inputs[i])->dtype;
    case TGI_OPCLASS_EFFECT:
        return tgi_graph_node(graph, node->inputs[i])->dtype;
    default:
        return tgi_graph_node(graph, node->inputs[node->op == TGI_OP_SELECT])
            ->dtype;
    }
}

/* True if op.def allows the dtype and it can occur. */
static bool is_allowed(tgi_op op, int dtype)
{
    if (op == TGI_OP_EXTENT)
        return dtype == TG_I64;
    if (op == TGI_OP_RANDOM_BITS)
        return dtype == TG_U32 || dtype == TG_U64;
    return tgi_dtype_is_valid(dtype) &&
           tgi_dtype_is(dtype, tgi_op_table[op].types);
}

static void add_graph(rg_coverage *coverage, const tgi_graph *graph)
{
    for (tgi_ref ref = 1; ref <= graph->n_nodes; ref++) {
        const tgi_node *node = tgi_graph_node(graph, ref);
        bool is_list = tgi_op_table[node->op].cls == TGI_OPCLASS_EFFECT ||
                       tgi_node_owns_graphs(node);
        uint32_t n = is_list ? node->n_inputs : 1;
        for (uint32_t i = 0; i < n; i++)
            coverage->hits[node->op][counted_dtype(graph, node, i)]++;
    }
    coverage->n_nodes += graph->n_nodes;
}

static void add_graphs(rg_coverage *coverage, const tgi_graph *graph)
{
    add_graph(coverage, graph);
    for (size_t i = 0; i < graph->callees.n; i++)
        add_graphs(coverage, graph->callees.data[i]);
}

void rg_coverage_add(rg_coverage *coverage, const tgi_graph *graph)
{
    add_graphs(coverage, graph);
    rg_control_add(coverage, graph);
}

void rg_coverage_merge(rg_coverage *coverage, const rg_coverage *other)
{
    /* All members are uint64_t. */
    uint64_t *into = (uint64_t *)coverage;
    const uint64_t *from = (const uint64_t *)other;
    for (size_t i = 0; i < sizeof(*coverage) / sizeof(*into); i++)
        into[i] += from[i];
}

static void print_hits(const rg_coverage *coverage)
{
    printf("%-12s", "");
    for (int dtype = 0; dtype < TGI_DTYPES; dtype++)
        if (tgi_dtype_is_valid(dtype))
            printf(" %8s", tg_dtype_name((tg_dtype)dtype));
    printf("\n");
    for (tgi_op op = TGI_OP_NONE + 1; op < TGI_OPS; op++) {
        printf("%-12s", tgi_op_table[op].name);
        for (int dtype = 0; dtype < TGI_DTYPES; dtype++) {
            if (!tgi_dtype_is_valid(dtype))
                continue;
            if (is_allowed(op, dtype))
                printf(" %8llu", (unsigned long long)coverage->hits[op][dtype]);
            else
                printf(" %8s", "-");
        }
        printf("\n");
    }
}

void rg_coverage_print(const rg_coverage *coverage, rg_mode mode)
{
    print_hits(coverage);
    rg_control_print(coverage);
    if (mode == RG_JIT)
        rg_structure_print(coverage);
    printf("%llu graphs of %llu nodes; %llu runs failed as they should, %llu "
           "by an iteration limit; %llu general traces, %llu calls of other "
           "sizes, %llu refused\n",
           (unsigned long long)coverage->n_graphs,
           (unsigned long long)coverage->n_nodes,
           (unsigned long long)coverage->n_failing_runs,
           (unsigned long long)coverage->n_limited_runs,
           (unsigned long long)coverage->n_general,
           (unsigned long long)coverage->n_other_sizes,
           (unsigned long long)coverage->n_refused_sizes);
    if (mode == RG_JIT)
        printf("%llu graphs native, %llu not, with branches or loops that "
               "cannot be compiled; %llu programs (%llu sizes too large); "
               "%llu runs, %llu by a team, %llu parallel, of %llu elements; "
               "%llu programs from the cache, %llu emitted\n",
               (unsigned long long)coverage->n_native,
               (unsigned long long)coverage->n_refused_graphs,
               (unsigned long long)coverage->n_programs,
               (unsigned long long)coverage->n_large_sizes,
               (unsigned long long)coverage->n_runs,
               (unsigned long long)coverage->n_team_runs,
               (unsigned long long)coverage->n_parallel_runs,
               (unsigned long long)coverage->n_elements,
               (unsigned long long)coverage->n_found,
               (unsigned long long)coverage->n_emitted);
}

/* Passes remove calls, stop_gradient and abs of unsigned integers from every
   graph before compilation. */
static bool is_wanted(tgi_op op, int dtype, rg_mode mode)
{
    return mode == RG_PASSES ||
           (tgi_op_table[op].cls != TGI_OPCLASS_REGION &&
            op != TGI_OP_STOP &&
            !(op == TGI_OP_ABS && tgi_dtype_is(dtype, TGI_CLASS_UINT)));
}

size_t rg_coverage_holes(const rg_coverage *coverage, rg_mode mode)
{
    size_t n = mode == RG_JIT ? rg_structure_holes(coverage)
                              : rg_control_holes(coverage);
    for (tgi_op op = TGI_OP_NONE + 1; op < TGI_OPS; op++)
        for (int dtype = 0; dtype < TGI_DTYPES; dtype++)
            if (is_wanted(op, dtype, mode) && is_allowed(op, dtype) &&
                !coverage->hits[op][dtype]) {
                printf("never met: %s of %s\n", tgi_op_table[op].name,
                       tg_dtype_name((tg_dtype)dtype));
                n++;
            }
    return n;
}
