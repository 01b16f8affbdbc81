/* SPDX-License-Identifier: MIT */
/*
 * building.h - for tests of the builders: a graph, a builder for it whose site
 * is user.c:7, and helpers for nodes.
 */
#ifndef TGI_TEST_BUILDING_H
#define TGI_TEST_BUILDING_H

#include <stdio.h>

#include "build/build.h"
#include "support/graphs.h"

typedef struct building {
    tgi_graph *graph;
    tgi_builder b;
} building;

static inline building building_begin(void)
{
    tgi_graph *graph = tgi_graph_create("test", NULL);
    cr_assert_not_null(graph);
    return (building){graph,
                      {.graph = graph,
                       .site = {"user.c", 7},
                       .op_name = "op"}};
}

static inline void building_end(building *w)
{
    tgi_graph_release(w->graph);
    check_nothing_is_alive();
}

/* -- Nodes ----------------------------------------------------------------- */

#define f32_of(w, ...) \
    param((w)->graph, TG_F32, shape_of((w)->graph, __VA_ARGS__))
#define of_type(w, dtype, ...) \
    param((w)->graph, dtype, shape_of((w)->graph, __VA_ARGS__))

static inline tgi_ref f32_scalar(building *w)
{
    return param(w->graph, TG_F32, scalar_shape(w->graph));
}

/* A plain C number. */
static inline tgi_ref weak_int(building *w, int64_t value)
{
    return tgi_build_number(&w->b, TG_DTYPE_NONE, TG_I32,
                            (tgi_number){TGI_NUMBER_INT, {.i = value}});
}

static inline tgi_ref weak_double(building *w, double value)
{
    return tgi_build_number(&w->b, TG_DTYPE_NONE, TG_F64,
                            (tgi_number){TGI_NUMBER_FLOAT, {.f = value}});
}

/* -- Checks ---------------------------------------------------------------- */

static inline void check_node_at(int line, const building *w, tgi_ref ref,
                                 tgi_op op, const tgi_ref *inputs)
{
    cr_assert_neq(ref, 0, "line %d: %s", line, tg_error(NULL));
    const tgi_node *node = tgi_graph_node(w->graph, ref);
    cr_assert_eq(node->op, op, "line %d: it is %s", line,
                 tgi_op_table[node->op].name);
    uint32_t n = 0;
    for (; inputs[n]; n++)
        cr_assert(n < node->n_inputs && node->inputs[n] == inputs[n],
                  "line %d: input %u is another", line, n);
    cr_assert_eq(n, node->n_inputs, "line %d: it has more inputs", line);
}

/* check_node(w, ref, ADD, x, y): checks the op and the inputs of a node. */
#define check_node(w, ref, ID, ...) \
    check_node_at(__LINE__, w, ref, TGI_OP_##ID, INPUTS(__VA_ARGS__))

static inline void check_type_at(int line, const building *w, tgi_ref ref,
                                 const char *type)
{
    tgi_strbuf text = {0};
    cr_assert_neq(ref, 0, "line %d: %s", line, tg_error(NULL));
    tgi_type_print(w->graph, ref, &text);
    cr_assert_str_eq(text.text, type, "line %d: it is %s", line, text.text);
    tgi_strbuf_deinit(&text);
}

/* check_type(w, ref, "f32[2,?0]") */
#define check_type(w, ref, type) check_type_at(__LINE__, w, ref, type)

static inline void check_refused_at(int line, building *w, tgi_ref ref,
                                    tg_status status, const char *message)
{
    char whole[512];
    snprintf(whole, sizeof(whole), "user.c:7: op: %s", message);
    cr_assert_eq(ref, 0, "line %d: it was built", line);
    cr_assert_eq(tg_error_last()->status, status, "line %d: %s", line,
                 tg_error(NULL));
    cr_assert_str_eq(tg_error_last()->message, whole, "line %d: %s", line,
                     tg_error(NULL));
    w->b.has_error = false; /* as at the start of the next operation */
    tg_error_clear();
}

/* The operation failed with this message, apart from op and location. */
#define check_refused(w, ref, status, message) \
    check_refused_at(__LINE__, w, ref, status, message)

#endif /* TGI_TEST_BUILDING_H */
