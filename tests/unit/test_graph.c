/* SPDX-License-Identifier: MIT */
/* test_graph.c - nodes, hash-consing, ownership and checks of graphs. */
#include "support/graphs.h"

#include "base/alloc.h"

static tgi_graph *new_graph(void)
{
    tgi_graph *graph = tgi_graph_create("f", NULL);
    cr_assert_not_null(graph);
    return graph;
}

/* -- Hash-consing ---------------------------------------------------------- */

Test(graph, equal_nodes_are_one)
{
    tgi_graph *g = new_graph();
    tgi_ref x = param(g, TG_F32, shape_of(g, 4));
    tgi_ref y = param(g, TG_F32, shape_of(g, 4));
    tgi_ref sum = apply(g, ADD, x, y);
    cr_assert_eq(apply(g, ADD, x, y), sum);
    cr_assert_neq(apply(g, ADD, y, x), sum, "operands are not sorted here");
    cr_assert_neq(apply(g, MUL, x, y), sum);
    cr_assert_eq(g->n_nodes, 5);
    tgi_graph_release(g);
    check_nothing_is_alive();
}

Test(graph, nodes_are_compared_by_type_shape_attribute_and_weakness)
{
    tgi_graph *g = new_graph();
    tgi_shape_ref s = shape_of(g, 4, 4);
    tgi_ref a = add_node(g, TGI_OP_IOTA, TG_F32, s, NULL,
                         ATTR(tgi_attr_index, 0));
    tgi_ref others[] = {
        add_node(g, TGI_OP_IOTA, TG_F32, s, NULL, ATTR(tgi_attr_index, 1)),
        add_node(g, TGI_OP_IOTA, TG_F64, s, NULL, ATTR(tgi_attr_index, 0)),
        add_node(g, TGI_OP_IOTA, TG_F32, shape_of(g, 4, 5), NULL,
                 ATTR(tgi_attr_index, 0)),
    };
    for (size_t i = 0; i < N_OF(others); i++)
        cr_assert_neq(a, others[i]);

    float one = 1;
    tgi_ref plain = tgi_graph_add_constant(g, TG_F32, scalar_shape(g), &one, 4,
                                           0, (tg_site){"a.c", 1});
    tgi_ref weak = tgi_graph_add_constant(g, TG_F32, scalar_shape(g), &one, 4,
                                          TGI_NODE_LITERAL,
                                          (tg_site){"a.c", 1});
    cr_assert_neq(plain, weak);
    cr_assert_eq(tgi_graph_constant(g, plain), tgi_graph_constant(g, weak),
                 "the elements are stored once");
    tgi_graph_release(g);
    check_nothing_is_alive();
}

Test(graph, nodes_with_other_names_and_locations_are_shared)
{
    tgi_graph *g = new_graph();
    tgi_ref x = param(g, TG_F32, scalar_shape(g));
    tgi_node node = {.op = TGI_OP_NEG,
                     .dtype = TG_F32,
                     .shape = scalar_shape(g),
                     .inputs = &x,
                     .n_inputs = 1,
                     .site = &(tgi_site_chain){.file = "a.c", .line = 1}};
    tgi_ref first = tgi_graph_add(g, &node);
    node.site = &(tgi_site_chain){.file = "b.c", .line = 2};
    node.name = "negated";
    cr_assert_eq(tgi_graph_add(g, &node), first);
    cr_assert_str_eq(tgi_graph_node(g, first)->site->file, "a.c");
    cr_assert_str_eq(tgi_graph_node(g, first)->name, "negated");
    tgi_graph_set_name(g, first, "again");
    cr_assert_str_eq(tgi_graph_node(g, first)->name, "negated");
    tgi_graph_release(g);
    check_nothing_is_alive();
}

Test(graph, ordered_nodes_are_always_new)
{
    tgi_graph *g = new_graph();
    tgi_ref v = variable(g, TG_F32, scalar_shape(g));
    tgi_ref x = param(g, TG_F32, scalar_shape(g));
    cr_assert_neq(assign(g, v, x), assign(g, v, x));
    tgi_graph *callee = new_graph();
    cr_assert_neq(call(g, callee, NULL), call(g, callee, NULL));
    tgi_graph_release(callee);
    tgi_graph_release(g);
    check_nothing_is_alive();
}

Test(graph, constants_are_compared_by_bits)
{
    tgi_graph *g = new_graph();
    cr_assert_neq(number(g, TG_F64, 0.0), number(g, TG_F64, -0.0));
    cr_assert_eq(number(g, TG_F64, 0.5), number(g, TG_F64, 0.5));
    cr_assert_neq(number(g, TG_I64, 0), number(g, TG_F64, 0));
    cr_assert_null(tgi_graph_constant(g, param(g, TG_F32, scalar_shape(g))));
    tgi_graph_release(g);
    check_nothing_is_alive();
}

Test(graph, all_of_a_node_is_copied)
{
    tgi_graph *g = new_graph();
    tgi_ref x = param(g, TG_F32, shape_of(g, 2, 3));
    tgi_ref inputs[] = {x};
    tgi_attr_perm attr = {{1, 0}};
    char name[] = "transposed";
    tgi_ref t = tgi_graph_add(g, &(tgi_node){.op = TGI_OP_TRANSPOSE,
                                             .dtype = TG_F32,
                                             .shape = shape_of(g, 3, 2),
                                             .inputs = inputs,
                                             .n_inputs = 1,
                                             .attr = &attr,
                                             .attr_bytes = sizeof attr,
                                             .name = name});
    inputs[0] = 99;
    attr.perm[0] = 7;
    name[0] = 'b';
    const tgi_node *node = tgi_graph_node(g, t);
    cr_assert_eq(node->inputs[0], x);
    cr_assert_eq(((const tgi_attr_perm *)node->attr)->perm[0], 1);
    cr_assert_str_eq(node->name, "transposed");
    tgi_graph_release(g);
    check_nothing_is_alive();
}

Test(graph, nodes_never_move)
{
    tgi_graph *g = new_graph();
    tgi_ref x = param(g, TG_F32, scalar_shape(g));
    const tgi_node *first = tgi_graph_node(g, x);
    for (int i = 0; i < 10000; i++)
        x = apply(g, SIN, x);
    cr_assert_eq(tgi_graph_node(g, 1), first);
    cr_assert_eq(g->n_nodes, 10001);
    for (tgi_ref ref = 2; ref <= g->n_nodes; ref++)
        cr_assert_eq(tgi_graph_node(g, ref)->inputs[0], ref - 1);
    tgi_graph_release(g);
    check_nothing_is_alive();
}

Test(graph, strings_are_stored_once)
{
    tgi_graph *g = new_graph();
    char text[] = "abc";
    const char *interned = tgi_graph_intern(g, text);
    cr_assert_neq(interned, text);
    cr_assert_eq(tgi_graph_intern(g, "abc"), interned);
    cr_assert_neq(tgi_graph_intern(g, ""), interned);
    tgi_graph_release(g);
    check_nothing_is_alive();
}

/* -- Summary of a graph ---------------------------------------------------- */

Test(graph, notes_which_variables_are_read_and_written)
{
    tgi_graph *g = new_graph();
    tgi_shape_ref s = scalar_shape(g);
    tgi_ref read_only = variable(g, TG_F32, s);
    tgi_ref written = variable(g, TG_F32, s);
    variable(g, TG_F32, s);
    tgi_ref value = read_variable(g, read_only, 0);
    cr_assert_not(g->has_effects);
    assign(g, written, value);
    cr_assert(g->has_effects);
    cr_assert(g->params.data[0].is_read && !g->params.data[0].is_written);
    cr_assert(!g->params.data[1].is_read && g->params.data[1].is_written);
    cr_assert(!g->params.data[2].is_read && !g->params.data[2].is_written);

    tgi_graph *outer = new_graph();
    tgi_shape_ref t = scalar_shape(outer);
    tgi_ref a = variable(outer, TG_F32, t), b = variable(outer, TG_F32, t),
            c = variable(outer, TG_F32, t);
    call(outer, g, INPUTS(c, a, b));
    cr_assert(outer->has_effects);
    cr_assert(!outer->params.data[0].is_read &&
              outer->params.data[0].is_written);
    cr_assert(!outer->params.data[1].is_read &&
              !outer->params.data[1].is_written);
    cr_assert(outer->params.data[2].is_read &&
              !outer->params.data[2].is_written);
    tgi_graph_release(g);
    tgi_graph_release(outer);
    check_nothing_is_alive();
}

Test(graph, roots_are_effects_and_nodes_that_may_fail)
{
    tgi_graph *pure = new_graph(), *g = new_graph();
    tgi_shape_ref s = shape_of(g, 3);
    tgi_ref x = param(g, TG_F32, s), i = param(g, TG_I32, s);
    tgi_ref checked =
        add_node(g, TGI_OP_GATHER, TG_F32, s, INPUTS(x, i),
                 ATTR(tgi_attr_gather, 0, TG_GATHER_CHECK));
    tgi_ref clamped =
        add_node(g, TGI_OP_GATHER, TG_F32, s, INPUTS(x, i),
                 ATTR(tgi_attr_gather, 0, TG_GATHER_CLAMP));
    cr_assert(tgi_graph_is_root(g, tgi_graph_node(g, checked)));
    cr_assert_not(tgi_graph_is_root(g, tgi_graph_node(g, clamped)));
    cr_assert_not(tgi_graph_is_root(g, tgi_graph_node(g, x)));
    cr_assert(g->may_fail);

    tgi_graph *outer = new_graph();
    tgi_ref quiet = call(outer, pure, NULL);
    cr_assert_not(tgi_graph_is_root(outer, tgi_graph_node(outer, quiet)));
    cr_assert_not(outer->may_fail);
    tgi_shape_ref t = shape_of(outer, 3);
    tgi_ref y = param(outer, TG_F32, t), k = param(outer, TG_I32, t);
    tgi_ref loud = call(outer, g, INPUTS(y, k));
    cr_assert(tgi_graph_is_root(outer, tgi_graph_node(outer, loud)));
    cr_assert(outer->may_fail);
    tgi_graph_release(pure);
    tgi_graph_release(g);
    tgi_graph_release(outer);
    check_nothing_is_alive();
}

/* -- Ownership ------------------------------------------------------------- */

Test(graph, callees_live_as_long_as_their_callers)
{
    tgi_graph *inner = new_graph(), *outer = new_graph();
    call(outer, inner, NULL);
    call(outer, inner, NULL);
    tgi_graph_release(inner);
    cr_assert_eq(tg_live_objects() > 0, true);
    cr_assert_str_eq(outer->callees.data[0]->name, "f");
    tgi_graph_release(outer);
    check_nothing_is_alive();
}

Test(graph, a_long_chain_of_callees_is_released_without_recursion)
{
    tgi_graph *g = new_graph();
    for (int i = 0; i < 20000; i++) {
        tgi_graph *outer = tgi_graph_create("f", g->dims);
        cr_assert_not_null(outer);
        call(outer, g, NULL);
        tgi_graph_release(g);
        g = outer;
    }
    tgi_graph_release(g);
    check_nothing_is_alive();
}

Test(graph, release_accepts_null)
{
    tgi_graph_release(NULL);
    check_nothing_is_alive();
}

Test(graph, shares_literals_with_other_graphs)
{
    tgi_graph *a = new_graph(), *b = new_graph();
    tgi_ref x = number(a, TG_F32, 2);
    const tgi_node *node = tgi_graph_node(a, x);
    const tgi_attr_literal attr = *(const tgi_attr_literal *)node->attr;
    tgi_ref y = add_node(b, TGI_OP_CONSTANT, TG_F32, scalar_shape(b), NULL,
                         ATTR(tgi_attr_literal, attr.literal));
    cr_assert_eq(tgi_graph_constant(a, x), tgi_graph_constant(b, y));
    tgi_graph_release(a);
    cr_assert_float_eq(*(const float *)tgi_graph_constant(b, y), 2, 0);
    tgi_graph_release(b);
    check_nothing_is_alive();
}

Test(graph, counts_its_bytes)
{
    tgi_graph *g = new_graph();
    size_t before = tgi_graph_bytes(g);
    static const char zeros[100000];
    tgi_graph_add_constant(g, TG_U8, shape_of(g, 100000), zeros, sizeof zeros,
                           0, (tg_site){NULL, 0});
    cr_assert_geq(tgi_graph_bytes(g), before + sizeof zeros);
    tgi_graph_release(g);
    check_nothing_is_alive();
}

/* -- Checks ---------------------------------------------------------------- */

static const int64_t *values_of(const tgi_graph *g, const int64_t *symbols)
{
    static int64_t values[64];
    cr_assert_leq(tgi_dims_n_values(g->dims), N_OF(values));
    cr_assert_eq(tgi_dims_evaluate(g->dims, symbols, values), TG_OK);
    return values;
}

Test(graph, equal_checks_are_stored_once)
{
    tgi_graph *g = new_graph();
    tgi_dim n = symbol(g, 0, 0);
    tgi_check check = {.kind = TGI_CHECK_EQUAL,
                       .op = "matmul",
                       .file = "a.c",
                       .line = 7,
                       .what = "inner dimensions",
                       .a = n,
                       .b = 5};
    cr_assert(tgi_graph_add_check(g, check));
    check.line = 8;
    cr_assert(tgi_graph_add_check(g, check));
    cr_assert_eq(g->checks.n, 1);
    check.b = 6;
    cr_assert(tgi_graph_add_check(g, check));
    cr_assert_eq(g->checks.n, 2);
    tgi_graph_release(g);
    check_nothing_is_alive();
}

Test(graph, a_failing_check_names_its_place_and_the_extents)
{
    tgi_graph *g = new_graph();
    tgi_dim n = symbol(g, 0, 0);
    cr_assert(tgi_graph_add_check(g, (tgi_check){.kind = TGI_CHECK_EQUAL,
                                                 .op = "matmul",
                                                 .file = "a.c",
                                                 .line = 7,
                                                 .what = "inner dimensions",
                                                 .a = n,
                                                 .b = 5}));
    cr_assert_eq(tgi_graph_run_checks(g, values_of(g, (int64_t[]){5})), TG_OK);
    cr_assert_eq(tgi_graph_run_checks(g, values_of(g, (int64_t[]){4})),
                 TG_ERROR_SHAPE);
    cr_assert_str_eq(tg_error(NULL),
                     "a.c:7: matmul: inner dimensions: 4 and 5 are not equal");
    tgi_graph_release(g);
    check_nothing_is_alive();
}

Test(graph, checks_of_every_kind_hold_where_they_should)
{
    static const struct {
        tgi_check_kind kind;
        int64_t a, b;
        bool holds;
    } cases[] = {
        {TGI_CHECK_EQUAL, 3, 3, true},      {TGI_CHECK_EQUAL, 1, 3, false},
        {TGI_CHECK_BROADCAST, 3, 3, true},  {TGI_CHECK_BROADCAST, 1, 3, true},
        {TGI_CHECK_BROADCAST, 3, 1, true},  {TGI_CHECK_BROADCAST, 3, 2, false},
        {TGI_CHECK_EXPANDS, 3, 3, true},    {TGI_CHECK_EXPANDS, 1, 3, true},
        {TGI_CHECK_EXPANDS, 3, 1, false},   {TGI_CHECK_EXPANDS, 0, 3, false},
        {TGI_CHECK_AT_MOST, 3, 3, true},    {TGI_CHECK_AT_MOST, 2, 3, true},
        {TGI_CHECK_AT_MOST, 4, 3, false},   {TGI_CHECK_NOT_ZERO, 1, 0, true},
        {TGI_CHECK_NOT_ZERO, 0, 0, false},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        tgi_graph *g = new_graph();
        tgi_dim a = symbol(g, 0, 0), b = symbol(g, 0, 1);
        tgi_check check = {.kind = (uint8_t)cases[i].kind,
                           .op = "add",
                           .what = "extents",
                           .a = a,
                           .b = b};
        cr_assert(tgi_graph_add_check(g, check));
        const int64_t *values =
            values_of(g, (int64_t[]){cases[i].a, cases[i].b});
        cr_assert_eq(tgi_graph_run_checks(g, values) == TG_OK, cases[i].holds,
                     "case %zu", i);
        cr_assert_eq(tgi_check_decide(g->dims, &check), -1, "case %zu", i);
        check.a = cases[i].a;
        check.b = cases[i].b;
        cr_assert_eq(tgi_check_decide(g->dims, &check), cases[i].holds,
                     "case %zu", i);
        tgi_graph_release(g);
    }
    check_nothing_is_alive();
}

Test(graph, checks_on_related_unknowns_are_decided)
{
    tgi_graph *g = new_graph();
    tgi_dim n = symbol(g, 0, 0), more = tgi_dim_add(g->dims, n, 1);
    const struct {
        tgi_check_kind kind;
        tgi_dim a, b;
        int answer;
    } cases[] = {
        {TGI_CHECK_EQUAL, n, n, 1},      {TGI_CHECK_EQUAL, n, more, 0},
        {TGI_CHECK_AT_MOST, n, more, 1}, {TGI_CHECK_AT_MOST, more, n, 0},
        {TGI_CHECK_AT_MOST, 0, n, 1},    {TGI_CHECK_BROADCAST, n, n, 1},
        {TGI_CHECK_EXPANDS, 1, n, 1},    {TGI_CHECK_BROADCAST, n, 1, 1},
        {TGI_CHECK_EXPANDS, n, 1, -1},   {TGI_CHECK_BROADCAST, n, more, -1},
        {TGI_CHECK_NOT_ZERO, n, 0, -1},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        const tgi_check check = {.kind = (uint8_t)cases[i].kind,
                                 .a = cases[i].a,
                                 .b = cases[i].b};
        cr_assert_eq(tgi_check_decide(g->dims, &check), cases[i].answer,
                     "case %zu", i);
    }
    tgi_graph_release(g);
    check_nothing_is_alive();
}

/* -- Fault injection ------------------------------------------------------- */

/* Builds a graph that uses everything; false if something fails. */
static bool make_everything(void)
{
    tgi_graph *inner = tgi_graph_create("inner", NULL);
    tgi_graph *g = inner ? tgi_graph_create("outer", NULL) : NULL;
    bool ok = g != NULL;
    if (ok) {
        tgi_shape_ref s = shape_of(g, 3);
        tgi_ref v = s ? variable(g, TG_F32, s) : 0;
        tgi_ref x = v ? read_variable(g, v, 0) : 0;
        for (int i = 0; x && i < 100; i++)
            x = apply(g, SIN, x);
        float zeros[3] = {0};
        tgi_ref c = x ? tgi_graph_add_constant(g, TG_F32, s, zeros, 12, 0,
                                               (tg_site){"a.c", 1})
                      : 0;
        ok = c && assign(g, v, c) && call(g, inner, NULL) &&
             tgi_graph_add_result(g, x) &&
             tgi_graph_add_check(g, (tgi_check){.what = "x", .file = "b.c"});
    }
    tgi_graph_release(g);
    tgi_graph_release(inner);
    return ok;
}

Test(graph, every_allocation_may_fail)
{
    check_every_fault(make_everything);
}
