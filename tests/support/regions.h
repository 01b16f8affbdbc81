/* SPDX-License-Identifier: MIT */
/*
 * regions.h - for tests of SWITCH and LOOP nodes: a graph with a number, a
 * vector and a variable, and small graphs for its nodes to own.
 */
#ifndef TGI_TEST_REGIONS_H
#define TGI_TEST_REGIONS_H

#include "ir/verify.h"
#include "support/graphs.h"

static tgi_graph *g; /* one per test: each test has its own process */
static tgi_ref n, x, v; /* i64 scalar, f32[3], and a variable of that type */
static tgi_shape_ref s;

static inline void begin(void)
{
    g = tgi_graph_create("f", NULL);
    cr_assert_not_null(g);
    s = shape_of(g, 3);
    n = param(g, TG_I64, scalar_shape(g));
    x = param(g, TG_F32, s);
    v = variable(g, TG_F32, s);
}

static inline void end(void)
{
    tgi_graph_release(g);
    check_nothing_is_alive();
}

/* -- Making regions -------------------------------------------------------- */

/* A graph with the parameters n and x, and optionally the variable. */
static inline tgi_graph *region(const char *name, bool has_variable)
{
    tgi_graph *graph = tgi_graph_create(name, g->dims);
    cr_assert_not_null(graph);
    param(graph, TG_I64, scalar_shape(graph));
    param(graph, TG_F32, s);
    if (has_variable)
        variable(graph, TG_F32, s);
    return graph;
}

/* A node that owns these graphs; the references are consumed. */
static inline tgi_ref own(tgi_op op, int64_t n_carried, int64_t flags,
                          tgi_graph *const *graphs, int64_t n_graphs,
                          const tgi_ref *inputs)
{
    union {
        tgi_attr_regions attr;
        char room[sizeof(tgi_attr_regions) + 4 * sizeof(tgi_graph *)];
    } regions = {.attr = {n_graphs, n_carried, flags}};
    for (int64_t i = 0; i < n_graphs; i++)
        regions.attr.graphs[i] = graphs[i];
    tgi_ref ref = add_node(g, op, TG_DTYPE_NONE, 0, inputs, &regions,
                           sizeof(tgi_attr_regions) +
                               (size_t)n_graphs * sizeof(tgi_graph *));
    cr_assert_neq(ref, 0);
    for (int64_t i = 0; i < n_graphs; i++)
        tgi_graph_release(graphs[i]);
    return ref;
}

#define GRAPHS(...) \
    (tgi_graph *[]){__VA_ARGS__}, \
        (int64_t)(sizeof((tgi_graph *[]){__VA_ARGS__}) / sizeof(tgi_graph *))
#define switch_of(graphs, ...) \
    own(TGI_OP_SWITCH, 0, 0, graphs, INPUTS(__VA_ARGS__))
#define loop_of(n_carried, graphs, ...) \
    own(TGI_OP_LOOP, n_carried, 0, graphs, INPUTS(__VA_ARGS__))

/* x -> x + x. */
static inline tgi_graph *doubled(void)
{
    tgi_graph *graph = region("doubled", false);
    tgi_graph_add_result(graph, apply(graph, ADD, 2, 2));
    return graph;
}

/* x -> -x. */
static inline tgi_graph *negated(void)
{
    tgi_graph *graph = region("negated", false);
    tgi_graph_add_result(graph, apply(graph, NEG, 2));
    return graph;
}

/* True for the first n_iterations. */
static inline tgi_graph *fewer_than(double n_iterations)
{
    tgi_graph *graph = region("test", false);
    tgi_ref limit = number(graph, TG_I64, n_iterations);
    tgi_graph_add_result(graph, apply(graph, LT, 1, limit));
    return graph;
}

/* Assigns the variable. */
static inline tgi_graph *assigning(void)
{
    tgi_graph *graph = region("assigning", true);
    assign(graph, 3, 2);
    tgi_graph_add_result(graph, 2);
    return graph;
}

/* Reads the variable. */
static inline tgi_graph *reading(void)
{
    tgi_graph *graph = region("reading", true);
    tgi_graph_add_result(graph, read_variable(graph, 3, 0));
    return graph;
}

static inline void accepts(void)
{
    cr_assert_eq(tgi_graph_verify(g), TG_OK, "%s", tg_error(NULL));
}

static inline void refuses(const char *what)
{
    cr_assert_eq(tgi_graph_verify(g), TG_ERROR_INTERNAL);
    cr_assert_not_null(strstr(tg_error(NULL), what), "message: %s",
                       tg_error(NULL));
}

#endif /* TGI_TEST_REGIONS_H */
