/* SPDX-License-Identifier: MIT */
/*
 * test_verify_regions.c - the verifier rejects every kind of invalid SWITCH or
 * LOOP, with a message that names the node.
 */
#include "support/regions.h"

TestSuite(verify_regions, .init = begin, .fini = end);

/* -- Shared rules ---------------------------------------------------------- */

Test(verify_regions, refuses_a_node_without_graphs)
{
    own(TGI_OP_SWITCH, 0, 0, NULL, 0, INPUTS(n, x));
    refuses("%4 switch: has 24 bytes of attribute");
}

Test(verify_regions, refuses_more_graphs_than_the_attribute_holds)
{
    tgi_ref a = switch_of(GRAPHS(doubled(), negated()), n, x);
    tgi_node *node = (tgi_node *)(uintptr_t)tgi_graph_node(g, a);
    node->attr_bytes -= sizeof(tgi_graph *);
    refuses("%4 switch: has 32 bytes of attribute");
}

Test(verify_regions, refuses_a_wrong_first_input)
{
    switch_of(GRAPHS(doubled()), x, x);
    refuses("%4 switch: input 0 is not an i64 scalar");
}

Test(verify_regions, refuses_a_variable_as_first_input)
{
    tgi_ref w = variable(g, TG_I64, scalar_shape(g));
    tgi_graph *graph = tgi_graph_create("branch", g->dims);
    variable(graph, TG_I64, scalar_shape(g));
    switch_of(GRAPHS(graph), w);
    refuses("switch: input 0 is not an i64 scalar");
}

Test(verify_regions, refuses_no_inputs)
{
    tgi_graph *graph = tgi_graph_create("branch", g->dims);
    own(TGI_OP_SWITCH, 0, 0, GRAPHS(graph), NULL);
    refuses("%4 switch: input 0 is not an i64 scalar");
}

Test(verify_regions, refuses_extents_of_their_own)
{
    tgi_graph *graph = tgi_graph_create("branch", NULL);
    param(graph, TG_I64, scalar_shape(graph));
    switch_of(GRAPHS(graph), n);
    refuses("%4 switch: graph 0 has a different dims table");
}

Test(verify_regions, refuses_missing_parameters)
{
    switch_of(GRAPHS(doubled(), negated()), n, x, x);
    refuses("%4 switch: has 3 inputs for 2 parameters");
}

Test(verify_regions, refuses_parameters_of_another_type)
{
    switch_of(GRAPHS(doubled(), negated()), n, n);
    refuses("%4 switch: input 1 does not match its parameter");
}

Test(verify_regions, refuses_a_value_for_a_variable)
{
    switch_of(GRAPHS(reading()), n, x, x);
    refuses("%4 switch: input 2 is not a variable");
}

Test(verify_regions, refuses_a_variable_for_a_value)
{
    switch_of(GRAPHS(doubled()), n, v);
    refuses("%4 switch: input 1 has no value");
}

Test(verify_regions, refuses_a_parameter_that_is_a_variable_in_some_graphs_only)
{
    tgi_graph *graph = region("other", false);
    param(graph, TG_F32, s);
    tgi_graph_add_result(graph, 2);
    switch_of(GRAPHS(reading(), graph), n, x, v);
    refuses("%4 switch: input 2 is a variable in some graphs only");
}

Test(verify_regions, refuses_a_written_variable_that_is_passed_twice)
{
    tgi_graph *graph = region("twice", true);
    variable(graph, TG_F32, s);
    assign(graph, 3, 2);
    switch_of(GRAPHS(graph), n, x, v, v);
    refuses("%4 switch: writes a variable that is passed twice");
}

Test(verify_regions, verifies_nested_graphs)
{
    tgi_graph *graph = region("inner", false);
    add_node(graph, TGI_OP_NEG, TG_F64, s, INPUTS(2), NO_ATTR);
    switch_of(GRAPHS(doubled(), graph), n, x);
    refuses("graph 'inner': %3 neg: has dtype f64");
}

Test(verify_regions, refuses_results_that_are_not_there)
{
    tgi_ref a = switch_of(GRAPHS(doubled()), n, x);
    result(g, a, TG_F32, s, 1);
    refuses("%5 result: the callee has no result 1");
}

Test(verify_regions, refuses_results_of_another_type)
{
    tgi_ref a = loop_of(1, GRAPHS(doubled()), n, x);
    result(g, a, TG_F64, s, 0);
    refuses("%5 result: differs in type");
}

/* -- Rules of one op ------------------------------------------------------- */

Test(verify_regions, refuses_branches_with_other_results)
{
    tgi_graph *graph = region("scalar", false);
    tgi_graph_add_result(graph, number(graph, TG_F32, 1));
    switch_of(GRAPHS(doubled(), graph), n, x);
    refuses("%4 switch: graph 1 has different result types");
}

Test(verify_regions, refuses_branches_with_fewer_results)
{
    switch_of(GRAPHS(doubled(), negated(), region("none", false)), n, x);
    refuses("%4 switch: graph 2 has different result types");
}

Test(verify_regions, refuses_a_loop_with_a_wrong_number_of_carried_values)
{
    loop_of(0, GRAPHS(doubled()), n, x);
    refuses("%4 loop: does not carry 0 values");
}

Test(verify_regions, refuses_a_loop_that_carries_more_than_its_inputs)
{
    tgi_graph *body = doubled();
    tgi_graph_add_result(body, 2);
    loop_of(2, GRAPHS(body), n, x);
    refuses("%4 loop: does not carry 2 values");
}

Test(verify_regions, refuses_less_than_nothing_carried)
{
    loop_of(-1, GRAPHS(doubled()), n, x);
    refuses("%4 loop: does not carry -1 values");
}

Test(verify_regions, refuses_a_third_graph_of_a_loop)
{
    loop_of(1, GRAPHS(doubled(), fewer_than(2), fewer_than(3)), n, x);
    refuses("%4 loop: does not carry 1 values");
}

Test(verify_regions, refuses_a_carried_value_that_changes)
{
    tgi_graph *body = region("body", false);
    tgi_graph_add_result(body, 1);
    loop_of(1, GRAPHS(body), n, x);
    refuses("%4 loop: carried value 0 changes its type");
}

Test(verify_regions, refuses_a_carried_variable)
{
    tgi_graph *body = tgi_graph_create("body", g->dims);
    param(body, TG_I64, scalar_shape(g));
    variable(body, TG_F32, s);
    tgi_graph_add_result(body, read_variable(body, 2, 0));
    loop_of(1, GRAPHS(body), n, v);
    refuses("%4 loop: carried value 0 is a variable");
}

Test(verify_regions, refuses_a_condition_that_is_none)
{
    loop_of(1, GRAPHS(doubled(), negated()), n, x);
    refuses("%4 loop: its test does not return one bool");
}

Test(verify_regions, refuses_two_conditions)
{
    tgi_graph *test = fewer_than(2);
    tgi_graph_add_result(test, test->results.data[0]);
    loop_of(1, GRAPHS(doubled(), test), n, x);
    refuses("%4 loop: its test does not return one bool");
}

Test(verify_regions, refuses_a_limit_without_a_condition)
{
    own(TGI_OP_LOOP, 1, TGI_LOOP_LIMITED, GRAPHS(doubled()), INPUTS(n, x));
    refuses("%4 loop: has flags 1");
}

Test(verify_regions, refuses_flags_that_do_not_exist)
{
    own(TGI_OP_LOOP, 1, 2, GRAPHS(doubled(), fewer_than(2)), INPUTS(n, x));
    refuses("%4 loop: has flags 2");
}
