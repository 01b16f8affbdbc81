/* SPDX-License-Identifier: MIT */
/*
 * test_regions.c - SWITCH and LOOP nodes: their effect on the enclosing graph,
 * their execution by the interpreter, and passes.
 */
#include "ir/rebuild.h"
#include "support/passes.h"
#include "support/regions.h"

TestSuite(regions, .init = begin, .fini = end);

/* -- The enclosing graph --------------------------------------------------- */

Test(regions, right_ones_are_accepted)
{
    tgi_ref a = switch_of(GRAPHS(doubled(), negated(), doubled()), n, x);
    tgi_ref y = result(g, a, TG_F32, s, 0);
    tgi_ref b = loop_of(1, GRAPHS(doubled()), n, y);
    tgi_ref c = loop_of(1, GRAPHS(doubled(), fewer_than(3)), n,
                        result(g, b, TG_F32, s, 0));
    tgi_graph_add_result(g, result(g, c, TG_F32, s, 0));
    accepts();
    cr_assert_not(g->has_effects);
    cr_assert_not(g->may_fail);
    cr_assert_eq(g->callees.n, 6);
    cr_assert_eq(tgi_node_n_results(tgi_graph_node(g, a)), 1);
    cr_assert_eq(tgi_node_regions(tgi_graph_node(g, a)).n, 3);
    cr_assert_eq(tgi_node_regions(tgi_graph_node(g, y)).n, 0);
    cr_assert_not(tgi_graph_is_root(g, tgi_graph_node(g, c)));
}

Test(regions, equal_ones_are_two)
{
    tgi_graph *body = doubled();
    tgi_graph_retain(body);
    tgi_ref a = loop_of(1, GRAPHS(body), n, x);
    tgi_ref b = loop_of(1, GRAPHS(body), n, x);
    cr_assert_neq(a, b);
    accepts();
}

Test(regions, a_write_in_one_branch_is_a_write)
{
    tgi_ref a = switch_of(GRAPHS(reading(), assigning()), n, x, v);
    const tgi_node *node = tgi_graph_node(g, a);
    cr_assert(g->has_effects);
    cr_assert(g->params.data[2].is_written);
    cr_assert(g->params.data[2].is_read);
    cr_assert(tgi_node_writes(node, 2));
    cr_assert_not(tgi_node_writes(node, 1));
    cr_assert(tgi_graph_is_root(g, node));
    tgi_graph_add_result(g, read_variable(g, v, a));
    accepts();
}

Test(regions, a_read_must_name_the_region_that_wrote)
{
    switch_of(GRAPHS(reading(), assigning()), n, x, v);
    tgi_graph_add_result(g, read_variable(g, v, 0));
    refuses("%5 read: sees write %0, but the last is %4");
}

Test(regions, only_reading_is_no_write)
{
    tgi_ref a = loop_of(1, GRAPHS(reading()), n, x, v);
    cr_assert_not(g->has_effects);
    cr_assert(g->params.data[2].is_read);
    cr_assert_not(g->params.data[2].is_written);
    tgi_graph_add_result(g, read_variable(g, v, 0));
    cr_assert_not(tgi_graph_is_root(g, tgi_graph_node(g, a)));
    accepts();
}

Test(regions, a_limited_loop_may_fail)
{
    tgi_ref a = own(TGI_OP_LOOP, 1, TGI_LOOP_LIMITED,
                    GRAPHS(doubled(), fewer_than(3)), INPUTS(n, x));
    cr_assert(g->may_fail);
    cr_assert(tgi_graph_is_root(g, tgi_graph_node(g, a)));
    accepts();
}

Test(regions, a_node_with_failing_regions_may_fail)
{
    tgi_graph *body = region("body", false);
    tgi_graph_add_result(body,
                         add_node(body, TGI_OP_GATHER, TG_F32, scalar_shape(g),
                                  INPUTS(2, 1),
                                  ATTR(tgi_attr_gather, 0, TG_GATHER_CHECK)));
    tgi_ref a = switch_of(GRAPHS(body), n, x);
    cr_assert(g->may_fail);
    cr_assert(tgi_graph_is_root(g, tgi_graph_node(g, a)));
    accepts();
}

/* -- Running --------------------------------------------------------------- */

/* The first element that g returns for n and { start, … }. */
static tg_status run(int64_t number_in, float start, float *out_first)
{
    float in[3] = {start, 2, 3}, out[3] = {0}, contents[3] = {7, 8, 9};
    void *params[] = {&number_in, in, contents}, *results[] = {out};
    tgi_interp *interp = NULL;
    cr_assert_eq(tgi_interp_create(g, NULL, NULL, 0, &interp), TG_OK);
    const tg_status status = tgi_interp_run(interp, params, results);
    /* Again: a run does not affect the next one. */
    float again[3] = {0};
    results[0] = again;
    cr_assert_eq(tgi_interp_run(interp, params, results), status);
    cr_assert_arr_eq(again, out, sizeof(out));
    *out_first = out[0];
    tgi_interp_destroy(interp);
    return status;
}

static void returns_f32(tgi_ref node)
{
    tgi_graph_add_result(g, result(g, node, TG_F32, s, 0));
    accepts();
}

Test(regions, a_switch_runs_the_nearest_graph)
{
    returns_f32(switch_of(GRAPHS(doubled(), negated()), n, x));
    static const int64_t numbers[] = {INT64_MIN, -1, 0, 1, 2, INT64_MAX};
    for (size_t i = 0; i < N_OF(numbers); i++) {
        float y;
        cr_assert_eq(run(numbers[i], 5, &y), TG_OK);
        cr_assert_eq(y, i < 3 ? 10 : -5);
    }
}

/* A loop with a number of iterations and a test ends with the first. */
Test(regions, a_loop_ends_with_its_iterations_or_its_test)
{
    returns_f32(loop_of(1, GRAPHS(doubled(), fewer_than(3)), n, x));
    static const int64_t iterations[] = {INT64_MIN, 0, 1, 2, 3, 4, INT64_MAX};
    static const float wanted[] = {1, 1, 2, 4, 8, 8, 8};
    for (size_t i = 0; i < N_OF(iterations); i++) {
        float y;
        cr_assert_eq(run(iterations[i], 1, &y), TG_OK);
        cr_assert_eq(y, wanted[i], "%lld iterations", (long long)iterations[i]);
    }
}

Test(regions, a_limited_loop_fails_if_its_condition_still_holds)
{
    returns_f32(own(TGI_OP_LOOP, 1, TGI_LOOP_LIMITED,
                    GRAPHS(doubled(), fewer_than(3)), INPUTS(n, x)));
    for (int64_t limit = -1; limit < 5; limit++) {
        float y;
        const tg_status status = run(limit, 1, &y);
        cr_assert_eq(status, limit < 3 ? TG_ERROR_LIMIT : TG_OK);
        if (limit >= 3)
            cr_assert_eq(y, 8);
    }
}

/* -- Passes ---------------------------------------------------------------- */

static int n_of(const tgi_graph *graph, tgi_op op)
{
    int count = 0;
    for (tgi_ref ref = 1; ref <= graph->n_nodes; ref++)
        count += tgi_graph_node(graph, ref)->op == op;
    return count;
}

static tgi_ref visit_same(tgi_rebuild *rebuild, tgi_ref old,
                          const tgi_node *node)
{
    (void)old;
    return tgi_graph_add(rebuild->out, node);
}

Test(regions, rebuild_shares_unchanged_graphs)
{
    tgi_graph *body = doubled();
    tgi_ref a = loop_of(1, GRAPHS(body), n, x);
    returns_f32(a);
    tgi_rebuild rebuild = {.in = g, .visit = visit_same};
    cr_assert_eq(tgi_rebuild_run(&rebuild), TG_OK);
    cr_assert_eq(rebuild.out->callees.n, 1);
    cr_assert_eq(rebuild.out->callees.data[0], body);
    tgi_graph_release(rebuild.out);
}

Test(regions, dead_drops_an_unused_loop)
{
    loop_of(1, GRAPHS(doubled(), fewer_than(3)), n, x);
    switch_of(GRAPHS(reading()), n, x, v);
    tgi_graph *out = run_pass(tgi_pass_dead, g);
    cr_assert_eq(out->callees.n, 0);
    tgi_graph_release(out);
}

Test(regions, dead_keeps_effects_and_nodes_that_may_fail)
{
    switch_of(GRAPHS(reading(), assigning()), n, x, v);
    own(TGI_OP_LOOP, 1, TGI_LOOP_LIMITED, GRAPHS(doubled(), fewer_than(0)),
        INPUTS(n, x));
    tgi_graph *out = run_pass(tgi_pass_dead, g);
    cr_assert_eq(n_of(out, TGI_OP_SWITCH), 1);
    cr_assert_eq(n_of(out, TGI_OP_LOOP), 1);
    tgi_graph_release(out);
}

/* Passes apply inside regions as well. */
Test(regions, passes_work_inside)
{
    tgi_graph *body = region("body", false);
    tgi_ref one = number(body, TG_F32, 1), two = apply(body, ADD, one, one);
    apply(body, SIN, 2);
    tgi_graph_add_result(body, apply(body, MUL, 2, broadcast(body, two, s)));
    returns_f32(loop_of(1, GRAPHS(body, fewer_than(2)), n, x));

    tgi_graph *folded = run_pass(tgi_pass_fold, g);
    const tgi_graph *inner = folded->callees.data[0];
    cr_assert_eq(n_of(inner, TGI_OP_ADD), 0);
    cr_assert_eq(n_of(inner, TGI_OP_SIN), 1);
    tgi_graph *out = run_pass(tgi_pass_dead, folded);
    inner = out->callees.data[0];
    cr_assert_eq(n_of(inner, TGI_OP_SIN), 0);
    cr_assert_eq(inner->params.n, 2);
    tgi_graph_release(folded);
    tgi_graph_release(out);
}

Test(regions, conditions_of_regions_are_lifted)
{
    const tgi_check check = {.kind = TGI_CHECK_EQUAL,
                             .op = "mul",
                             .what = "extents",
                             .a = symbol(g, 1, 0),
                             .b = 3};
    tgi_graph *body = doubled();
    tgi_graph_add_check(body, check);
    returns_f32(switch_of(GRAPHS(body), n, x));
    cr_assert(g->may_fail);
    for (size_t i = 0; i < tgi_n_passes; i++) {
        tgi_graph *out = run_pass(tgi_passes[i].run, g);
        cr_assert_eq(out->checks.n, 1, "%s", tgi_passes[i].name);
        cr_assert_eq(out->callees.data[0]->checks.n, 1);
        tgi_graph_release(out);
    }
}

/* A callee with unknown extents, which its loop uses. */
static tgi_graph *make_callee(void)
{
    tgi_graph *callee = tgi_graph_create("callee", NULL);
    tgi_dim m = symbol(callee, 1, 0);
    tgi_shape_ref unknown = shape_of(callee, m);
    tgi_ref iterations = param(callee, TG_I64, scalar_shape(callee));
    tgi_ref of = param(callee, TG_F32, unknown);
    tgi_ref state = variable(callee, TG_F32, shape_of(callee, 3));

    tgi_graph *body = tgi_graph_create("body", callee->dims);
    param(body, TG_I64, scalar_shape(body));
    tgi_ref y = param(body, TG_F32, unknown);
    tgi_ref w = variable(body, TG_F32, shape_of(body, 3));
    tgi_ref extent =
        add_node(body, TGI_OP_EXTENT, TG_I64, scalar_shape(body), NULL,
                 ATTR(tgi_attr_index, tgi_dim_add(body->dims, m, 1)));
    assign(body, w, apply(body, NEG, read_variable(body, w, 0)));
    tgi_ref sum = apply(
        body, ADD, broadcast(body, cast(body, extent, TG_F32), unknown), y);
    tgi_graph_add_result(body, sum);

    tgi_graph *const caller = g;
    g = callee;
    tgi_ref a = loop_of(1, GRAPHS(body), iterations, of, state);
    g = caller;
    tgi_graph_add_result(callee, result(callee, a, TG_F32, unknown, 0));
    return callee;
}

Test(regions, inlined_loops_speak_of_the_callers_extents)
{
    tgi_graph *callee = make_callee();
    cr_assert_eq(tgi_graph_verify(callee), TG_OK, "%s", tg_error(NULL));
    tgi_ref three = number(g, TG_I64, 3);
    tgi_ref c = call(g, callee, INPUTS(three, x, v));
    tgi_graph_add_result(g, result(g, c, TG_F32, s, 0));
    tgi_graph_add_result(g, read_variable(g, v, c));
    tgi_graph_release(callee);

    tgi_graph *out = run_pass(tgi_pass_inline, g);
    char *text = text_of(out);
    cr_assert_str_eq(text,
                     "graph f(%1: i64[], %2: f32[3], %3: variable f32[3]) {\n"
                     "  %4 = constant i64[] 3\n"
                     "  %5 = loop body#1 %4, %2, %3 carries 1\n"
                     "  %6 = result f32[3] %5 index=0\n"
                     "  %7 = read f32[3] %3, %5\n"
                     "  return %6, %7\n"
                     "}\n"
                     "\n"
                     "graph body#1(%1: i64[], %2: f32[3], "
                     "%3: variable f32[3]) {\n"
                     "  %4 = extent i64[] 4\n"
                     "  %5 = read f32[3] %3\n"
                     "  %6 = neg f32[3] %5\n"
                     "  %7 = assign f32[3] %3, %6\n"
                     "  %8 = cast f32[] %4\n"
                     "  %9 = broadcast f32[3] %8\n"
                     "  %10 = add f32[3] %9, %2\n"
                     "  return %10\n"
                     "}\n");
    tgi_free(text);
    tgi_graph_release(out);
}

/* A call in a body is inlined there. */
Test(regions, calls_inside_are_inlined_inside)
{
    tgi_graph *callee = tgi_graph_create("callee", NULL);
    tgi_ref p =
        param(callee, TG_F32, shape_of(callee, symbol(callee, 0, 0)));
    tgi_graph_add_result(callee, apply(callee, SIN, p));
    tgi_graph *body = region("body", false);
    tgi_ref c = call(body, callee, INPUTS(2));
    tgi_graph_add_result(body, result(body, c, TG_F32, s, 0));
    tgi_graph_release(callee);
    returns_f32(loop_of(1, GRAPHS(body, fewer_than(2)), n, x));
    tgi_graph *out = run_pass(tgi_pass_inline, g);
    cr_assert_eq(n_of(out->callees.data[0], TGI_OP_CALL), 0);
    cr_assert_eq(n_of(out->callees.data[0], TGI_OP_SIN), 1);
    cr_assert_eq(out->callees.data[0]->callees.n, 0);
    tgi_graph_release(out);
}
