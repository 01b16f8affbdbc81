/* SPDX-License-Identifier: MIT */
/*
 * test_pass_inline.c - the inline pass: values, extents, checks, and the order
 * of reads and writes.
 */
#include "support/passes.h"

static tgi_graph *g; /* the caller */

static void begin(void)
{
    g = tgi_graph_create("f", NULL);
    cr_assert_not_null(g);
}

static tgi_graph *inlined(void)
{
    tgi_graph *out = run_pass(tgi_pass_inline, g);
    tgi_graph_release(g);
    return out;
}

static void check_text(tgi_graph *out, const char *wanted)
{
    char *text = text_of(out);
    cr_assert_str_eq(text, wanted);
    tgi_free(text);
    tgi_graph_release(out);
    check_nothing_is_alive();
}

static int n_of(const tgi_graph *graph, int op)
{
    int n = 0;
    for (tgi_ref ref = 1; ref <= graph->n_nodes; ref++)
        n += tgi_graph_node(graph, ref)->op == op;
    return n;
}

/* x -> sin x, x + x; x is f32[?0]. */
static tgi_graph *make_pair(void)
{
    tgi_graph *callee = tgi_graph_create("pair", NULL);
    tgi_ref x = param(callee, TG_F32, shape_of(callee, symbol(callee, 0, 0)));
    tgi_graph_add_result(callee, apply(callee, SIN, x));
    tgi_graph_add_result(callee, apply(callee, ADD, x, x));
    return callee;
}

Test(pass_inline, results_take_the_place_of_the_call)
{
    begin();
    tgi_graph *callee = make_pair();
    tgi_shape_ref s = shape_of(g, 3);
    tgi_ref x = param(g, TG_F32, s);
    tgi_ref c = call(g, callee, INPUTS(x));
    tgi_ref second = result(g, c, TG_F32, s, 1);
    tgi_ref first = result(g, c, TG_F32, s, 0);
    tgi_graph_add_result(g, apply(g, MUL, first, second));
    tgi_graph_release(callee);
    check_text(inlined(), "graph f(%1: f32[3]) {\n"
                          "  %2 = sin f32[3] %1\n"
                          "  %3 = add f32[3] %1, %1\n"
                          "  %4 = mul f32[3] %2, %3\n"
                          "  return %4\n"
                          "}\n");
}

Test(pass_inline, does_not_contract_across_the_border)
{
    begin();
    tgi_graph *callee = tgi_graph_create("times", NULL);
    tgi_ref p = param(callee, TG_F32, scalar_shape(callee));
    tgi_graph_add_result(callee, apply(callee, MUL, p, p));
    tgi_ref x = param(g, TG_F32, scalar_shape(g));
    tgi_ref y = result(g, call(g, callee, INPUTS(x)), TG_F32, scalar_shape(g),
                       0);
    tgi_graph_add_result(g, apply(g, ADD, y, x));
    tgi_graph_release(callee);
    tgi_graph *out = inlined();
    cr_assert_eq(n_of(out, TGI_OP_FMA), 0);
    cr_assert_eq(n_of(out, TGI_OP_ADD), 1);
    tgi_graph_release(out);
    check_nothing_is_alive();
}

Test(pass_inline, extents_are_expressed_in_the_callers_symbols)
{
    tgi_graph *callee = tgi_graph_create("tail", NULL);
    tgi_dim n = symbol(callee, 0, 0), m = symbol(callee, 0, 1);
    tgi_dim less = tgi_dim_sub(callee->dims, n, 1);
    tgi_ref x = param(callee, TG_F32, shape_of(callee, n, m));
    tgi_graph_add_result(
        callee, reshaped(callee, TGI_OP_SLICE, x, shape_of(callee, 1, m),
                         ATTR(tgi_attr_slice, {less}, {1, 1})));
    tgi_graph_add_result(
        callee, add_node(callee, TGI_OP_PAD, TG_F32,
                         shape_of(callee, tgi_dim_add(callee->dims, n, m), m),
                         INPUTS(x, number(callee, TG_F32, 1)),
                         ATTR(tgi_attr_pad, {m}, {0}, {0})));
    tgi_graph_add_result(callee, add_node(callee, TGI_OP_EXTENT, TG_I64,
                                          scalar_shape(callee), NULL,
                                          ATTR(tgi_attr_index, less)));
    begin();
    tgi_dim k = symbol(g, 0, 1);
    tgi_ref y = param(g, TG_F32, shape_of(g, 5, k));
    tgi_ref c = call(g, callee, INPUTS(y));
    tgi_graph_add_result(g, result(g, c, TG_F32, shape_of(g, 1, k), 0));
    tgi_graph_add_result(
        g, result(g, c, TG_F32,
                  shape_of(g, tgi_dim_add(g->dims, 5, k), k), 1));
    tgi_graph_add_result(g, result(g, c, TG_I64, scalar_shape(g), 2));
    tgi_graph_release(callee);
    check_text(inlined(),
               "graph f(%1: f32[5,?0]) {\n"
               "  %2 = slice f32[1,?0] %1 start=[4,0] step=[1,1]\n"
               "  %3 = constant f32[] 1\n"
               "  %4 = pad f32[?0+5,?0] %1, %3 low=[?0,0] high=[0,0] "
               "interior=[0,0]\n"
               "  %5 = extent i64[] 4\n"
               "  return %2, %4, %5\n"
               "}\n");
}

/* v, x -> old v; then v = x, then v = sin(v) */
static tgi_graph *make_writer(void)
{
    tgi_graph *callee = tgi_graph_create("writer", NULL);
    tgi_shape_ref s = shape_of(callee, 4);
    tgi_ref v = variable(callee, TG_F32, s), x = param(callee, TG_F32, s);
    tgi_graph_add_result(callee, read_variable(callee, v, 0));
    tgi_ref write = assign(callee, v, x);
    tgi_ref now = read_variable(callee, v, write);
    assign(callee, v, apply(callee, SIN, now));
    return callee;
}

Test(pass_inline, reads_and_writes_stay_in_order)
{
    begin();
    tgi_graph *callee = make_writer();
    tgi_shape_ref s = shape_of(g, 4);
    tgi_ref x = param(g, TG_F32, s), v = variable(g, TG_F32, s);
    tgi_ref before = assign(g, v, apply(g, COS, x));
    tgi_graph_add_result(g, read_variable(g, v, before));
    tgi_ref c = call(g, callee, INPUTS(v, x));
    tgi_graph_add_result(g, result(g, c, TG_F32, s, 0));
    tgi_graph_add_result(g, read_variable(g, v, c));
    tgi_ref after = assign(g, v, x);
    tgi_graph_add_result(g, read_variable(g, v, after));
    tgi_graph_release(callee);
    check_text(inlined(), "graph f(%1: f32[4], %2: variable f32[4]) {\n"
                          "  %3 = cos f32[4] %1\n"
                          "  %4 = assign f32[4] %2, %3\n"
                          "  %5 = read f32[4] %2, %4\n"
                          "  %6 = assign f32[4] %2, %1\n"
                          "  %7 = read f32[4] %2, %6\n"
                          "  %8 = sin f32[4] %7\n"
                          "  %9 = assign f32[4] %2, %8\n"
                          "  %10 = read f32[4] %2, %9\n"
                          "  %11 = assign f32[4] %2, %1\n"
                          "  %12 = read f32[4] %2, %11\n"
                          "  return %5, %5, %10, %12\n"
                          "}\n");
}

Test(pass_inline, two_calls_see_each_others_writes)
{
    begin();
    tgi_graph *callee = make_writer();
    tgi_shape_ref s = shape_of(g, 4);
    tgi_ref x = param(g, TG_F32, s);
    tgi_ref v = variable(g, TG_F32, s), w = variable(g, TG_F32, s);
    tgi_ref a = call(g, callee, INPUTS(v, x));
    tgi_ref b = call(g, callee, INPUTS(w, result(g, a, TG_F32, s, 0)));
    tgi_ref c = call(g, callee, INPUTS(v, result(g, b, TG_F32, s, 0)));
    tgi_graph_add_result(g, result(g, c, TG_F32, s, 0));
    tgi_graph_release(callee);
    tgi_graph *out = inlined();
    cr_assert_eq(n_of(out, TGI_OP_CALL), 0);
    cr_assert_eq(n_of(out, TGI_OP_ASSIGN), 6);
    tgi_graph_release(out);
    check_nothing_is_alive();
}

Test(pass_inline, a_call_without_results_or_nodes_is_removed)
{
    begin();
    tgi_graph *callee = tgi_graph_create("nothing", NULL);
    tgi_ref c = call(g, callee, NULL);
    tgi_graph_set_name(g, c, "named");
    tgi_graph_release(callee);
    check_text(inlined(), "graph f() {\n  return\n}\n");
}

Test(pass_inline, parameters_given_back_are_the_arguments)
{
    begin();
    tgi_graph *callee = tgi_graph_create("same", NULL);
    tgi_graph_add_result(callee,
                         param(callee, TG_F32, scalar_shape(callee)));
    tgi_ref x = param(g, TG_F32, scalar_shape(g));
    tgi_ref c = call(g, callee, INPUTS(x));
    tgi_graph_add_result(g, result(g, c, TG_F32, scalar_shape(g), 0));
    tgi_graph_release(callee);
    check_text(inlined(), "graph f(%1: f32[]) {\n  return %1\n}\n");
}

/* -- Checks ---------------------------------------------------------------- */

/* x, y -> x + y, with a check that their extents are equal. */
static tgi_graph *make_sum(void)
{
    tgi_graph *callee = tgi_graph_create("sum", NULL);
    tgi_dim n = symbol(callee, 0, 0), m = symbol(callee, 1, 0);
    tgi_ref x = param(callee, TG_F32, shape_of(callee, n));
    tgi_ref y = param(callee, TG_F32, shape_of(callee, m));
    tgi_graph_add_check(callee, (tgi_check){.kind = TGI_CHECK_EXPANDS,
                                            .op = "add",
                                            .file = "callee.c",
                                            .line = 7,
                                            .what = "extents",
                                            .a = m,
                                            .b = n});
    y = broadcast(callee, y, shape_of(callee, n));
    tgi_graph_add_result(callee, apply(callee, ADD, x, y));
    return callee;
}

Test(pass_inline, checks_are_copied_with_their_location)
{
    begin();
    tgi_graph *callee = make_sum();
    tgi_dim n = symbol(g, 0, 0);
    tgi_ref x = param(g, TG_F32, shape_of(g, n));
    tgi_ref y = param(g, TG_F32, shape_of(g, 3));
    tgi_ref c = call(g, callee, INPUTS(x, y));
    tgi_graph_add_result(g, result(g, c, TG_F32, shape_of(g, n), 0));
    tgi_graph_release(callee);
    tgi_graph *out = inlined();
    cr_assert_eq(out->checks.n, 1);
    const tgi_check *check = &out->checks.data[0];
    cr_assert(check->a == 3 && check->b == n);
    cr_assert_str_eq(check->file, "callee.c");
    cr_assert_eq(check->line, 7);
    tgi_graph_release(out);
    check_nothing_is_alive();
}

Test(pass_inline, a_call_that_must_fail_is_left_for_the_run)
{
    begin();
    tgi_graph *callee = make_sum();
    tgi_ref x = param(g, TG_F32, shape_of(g, 5));
    tgi_ref y = param(g, TG_F32, shape_of(g, 3));
    tgi_ref c = call(g, callee, INPUTS(x, y));
    tgi_graph_add_result(g, result(g, c, TG_F32, shape_of(g, 5), 0));
    tgi_graph_release(callee);
    tgi_graph *out = inlined();
    cr_assert_eq(n_of(out, TGI_OP_CALL), 1);
    outcome o = run_graph(out, 3);
    cr_assert_eq(o.status, TG_ERROR_SHAPE);
    outcome_deinit(&o);
    tgi_graph_release(out);
    check_nothing_is_alive();
}

Test(pass_inline, arguments_of_unknown_extent_are_checked_against_known_ones)
{
    begin();
    tgi_graph *callee = tgi_graph_create("three", NULL);
    tgi_ref p = param(callee, TG_F32, shape_of(callee, 3));
    tgi_graph_add_result(callee, apply(callee, SIN, p));
    tgi_dim n = symbol(g, 0, 0);
    tgi_ref x = param(g, TG_F32, shape_of(g, n));
    tgi_ref c = call(g, callee, INPUTS(x));
    tgi_graph_add_result(g, result(g, c, TG_F32, shape_of(g, 3), 0));
    tgi_graph_release(callee);
    check_text(inlined(), "graph f(%1: f32[?0]) {\n"
                          "  %2 = reshape f32[3] %1\n"
                          "  %3 = sin f32[3] %2\n"
                          "  check equal ?0 3 \"extents of an argument\"\n"
                          "  return %3\n"
                          "}\n");
}

/* -- Choice of calls ------------------------------------------------------- */

/* A chain of n nodes. */
static tgi_graph *make_chain(int n)
{
    tgi_graph *callee = tgi_graph_create("chain", NULL);
    tgi_ref x = param(callee, TG_F32, scalar_shape(callee));
    for (int i = 1; i < n; i++)
        x = apply(callee, SIN, x);
    tgi_graph_add_result(callee, x);
    return callee;
}

static tgi_ref call_chain(tgi_graph *callee, tgi_ref x)
{
    return result(g, call(g, callee, INPUTS(x)), TG_F32, scalar_shape(g), 0);
}

Test(pass_inline, huge_callees_stay_if_called_twice)
{
    static const struct {
        int n_nodes, n_calls, n_left;
    } cases[] = {{65, 2, 0}, {340, 48, 0}, {20000, 1, 0}, {20000, 2, 2}};
    for (size_t i = 0; i < N_OF(cases); i++) {
        begin();
        tgi_graph *callee = make_chain(cases[i].n_nodes);
        tgi_ref x = param(g, TG_F32, scalar_shape(g));
        for (int k = 0; k < cases[i].n_calls; k++)
            x = call_chain(callee, x);
        tgi_graph_add_result(g, x);
        tgi_graph_release(callee);
        tgi_graph *out = inlined();
        cr_assert_eq(n_of(out, TGI_OP_CALL), cases[i].n_left, "case %zu", i);
        tgi_graph_release(out);
    }
    check_nothing_is_alive();
}

/* Level k calls level k - 1 twice. */
static tgi_graph *make_tower(int n_levels)
{
    tgi_graph *callee = make_chain(2);
    for (int level = 0; level < n_levels; level++) {
        tgi_graph *outer = tgi_graph_create("level", NULL);
        tgi_shape_ref s = scalar_shape(outer);
        tgi_ref x = param(outer, TG_F32, s);
        for (int i = 0; i < 2; i++)
            x = result(outer, call(outer, callee, INPUTS(x)), TG_F32, s, 0);
        tgi_graph_add_result(outer, x);
        tgi_graph_release(callee);
        callee = outer;
    }
    return callee;
}

Test(pass_inline, nested_calls_are_inlined_level_by_level)
{
    g = make_tower(5);
    tgi_graph *out = inlined();
    cr_assert_eq(n_of(out, TGI_OP_CALL), 0);
    cr_assert_eq(n_of(out, TGI_OP_SIN), 32);
    tgi_graph_release(out);
    check_nothing_is_alive();
}

Test(pass_inline, towers_of_calls_do_not_explode)
{
    g = make_tower(40);
    tgi_graph *out = NULL;
    cr_assert_eq(tgi_pass_inline(g, &out), TG_OK);
    cr_assert_eq(tgi_graph_verify(out), TG_OK, "%s", tg_error(NULL));
    cr_assert_lt(out->n_nodes, 20000);
    tgi_graph_release(out);
    tgi_graph_release(g);
    check_nothing_is_alive();
}

/* -- Sites ----------------------------------------------------------------- */

/* A node of `graph` with this op and input, traced at line `line`. */
static tgi_ref node_at(tgi_graph *graph, tgi_op op, tgi_ref x, int line)
{
    const tgi_node *input = tgi_graph_node(graph, x);
    const tgi_site_chain site = {.file = "model.c", .line = line};
    return tgi_graph_add(graph, &(tgi_node){.op = (uint8_t)op,
                                            .dtype = input->dtype,
                                            .shape = input->shape,
                                            .inputs = &x,
                                            .n_inputs = 1,
                                            .site = &site});
}

/* A call with one input and its result, at line `line`. */
static tgi_ref call_at(tgi_graph *graph, tgi_graph *callee, tgi_ref x, int line)
{
    const tgi_node *input = tgi_graph_node(graph, x);
    const tgi_site_chain site = {.file = "model.c", .line = line};
    const tgi_attr_call attr = {.callee = callee};
    const tgi_ref made =
        tgi_graph_add(graph, &(tgi_node){.op = TGI_OP_CALL,
                                         .inputs = &x,
                                         .n_inputs = 1,
                                         .attr = &attr,
                                         .attr_bytes = sizeof(attr),
                                         .site = &site});
    return result(graph, made, (tg_dtype)input->dtype, input->shape, 0);
}

static const tgi_site_chain *site_of(const tgi_graph *graph, int op)
{
    for (tgi_ref ref = 1; ref <= graph->n_nodes; ref++)
        if (tgi_graph_node(graph, ref)->op == op)
            return tgi_graph_node(graph, ref)->site;
    cr_assert_fail("no such node");
    return NULL;
}

static void check_site(const tgi_site_chain *site, int line,
                       const char *function)
{
    cr_assert_not_null(site);
    cr_assert_str_eq(site->file, "model.c");
    cr_assert_eq(site->line, line);
    if (function)
        cr_assert_str_eq(site->function, function);
    else
        cr_assert(!site->function && !site->caller);
}

/* f calls g at line 30, g calls h at line 20. The callee g is inlined in a graph
   of its own first, as functions are, or together with h. */
static void check_chain(bool in_steps)
{
    tgi_graph *h = tgi_graph_create("h", NULL);
    const tgi_ref x = param(h, TG_F32, shape_of(h, 3));
    tgi_graph_add_result(
        h, node_at(h, TGI_OP_SIN, node_at(h, TGI_OP_EXP, x, 10), 10));
    tgi_graph *middle = tgi_graph_create("g", NULL);
    const tgi_ref y = param(middle, TG_F32, shape_of(middle, 3));
    tgi_graph_add_result(
        middle, node_at(middle, TGI_OP_NEG, call_at(middle, h, y, 20), 21));
    tgi_graph_release(h);
    if (in_steps) {
        tgi_graph *before = middle;
        middle = run_pass(tgi_pass_inline, before);
        tgi_graph_release(before);
    }
    begin();
    const tgi_ref z = param(g, TG_F32, shape_of(g, 3));
    tgi_graph_add_result(
        g, node_at(g, TGI_OP_SQRT, call_at(g, middle, z, 30), 31));
    tgi_graph_release(middle);

    tgi_graph *out = inlined();
    cr_assert_eq(n_of(out, TGI_OP_CALL), 0);
    const tgi_site_chain *site = site_of(out, TGI_OP_SIN);
    check_site(site, 10, "h");
    check_site(site->caller, 20, "g");
    check_site(site->caller->caller, 30, NULL);
    /* Sites are shared. */
    cr_assert_eq(site_of(out, TGI_OP_EXP), site);
    check_site(site_of(out, TGI_OP_NEG), 21, "g");
    cr_assert_eq(site_of(out, TGI_OP_NEG)->caller, site->caller->caller);
    check_site(site_of(out, TGI_OP_SQRT), 31, NULL);
    tgi_graph_release(out);
    check_nothing_is_alive();
}

Test(pass_inline, sites_have_the_calls_through_which_they_are_reached)
{
    check_chain(false);
    check_chain(true);
}
