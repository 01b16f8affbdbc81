/* SPDX-License-Identifier: MIT */
/*
 * test_verify_unbounded.c - the rules for unbounded stacks: valid graphs are
 * accepted, and each rule rejects a graph that violates only it.
 */
#include "support/regions.h"

TestSuite(verify_unbounded, .init = begin, .fini = end);

static tgi_shape_ref stack_shape(void)
{
    return shape_of(g, TGI_UNBOUNDED, 3);
}

static tgi_ref unset(tgi_graph *graph, tgi_shape_ref shape)
{
    return add_node(graph, TGI_OP_UNSET, TG_F32, shape, NULL, NO_ATTR);
}

/* A region with the parameters n, x, and a stack. */
static tgi_graph *with_stack(const char *name)
{
    tgi_graph *graph = region(name, false);
    param(graph, TG_F32, stack_shape());
    return graph;
}

enum { N = 1, X = 2, STACK = 3 };

static tgi_ref update(tgi_graph *graph, tgi_ref stack, tgi_ref x_of_it,
                      tgi_ref at, int64_t axis)
{
    tgi_ref slice = reshaped(graph, TGI_OP_RESHAPE, x_of_it,
                             shape_of(graph, 1, 3), NO_ATTR);
    const tgi_node *node = tgi_graph_node(graph, stack);
    return add_node(graph, TGI_OP_DYNAMIC_UPDATE, TG_F32, node->shape,
                    INPUTS(stack, slice, at), ATTR(tgi_attr_index, axis));
}

static tgi_ref slice(tgi_graph *graph, tgi_ref stack, tgi_shape_ref shape)
{
    return add_node(graph, TGI_OP_DYNAMIC_SLICE, TG_F32, shape,
                    INPUTS(stack, N), ATTR(tgi_attr_index, 0));
}

/* Doubles x, and pushes it onto the stack. */
static tgi_graph *saving(void)
{
    tgi_graph *graph = with_stack("saving");
    tgi_graph_add_result(graph, apply(graph, ADD, X, X));
    tgi_graph_add_result(graph, update(graph, STACK, X, N, 0));
    return graph;
}

/* x and the stack that a loop returns. */
static tgi_ref saved_by(tgi_graph *body)
{
    return loop_of(2, GRAPHS(body), n, x, unset(g, stack_shape()));
}

static tgi_ref stack_of(tgi_ref loop)
{
    return result(g, loop, TG_F32, stack_shape(), 1);
}

/* Adds a slice of the stack to x. */
static tgi_graph *taking(void)
{
    tgi_graph *graph = with_stack("taking");
    tgi_ref part = reshaped(graph, TGI_OP_RESHAPE,
                            slice(graph, STACK, shape_of(graph, 1, 3)), s,
                            NO_ATTR);
    tgi_graph_add_result(graph, apply(graph, ADD, X, part));
    return graph;
}

Test(verify_unbounded, loops_and_branches_read_values_saved_by_a_loop)
{
    tgi_ref stack = stack_of(saved_by(saving()));
    tgi_ref taken = loop_of(1, GRAPHS(taking()), n, x, stack);
    switch_of(GRAPHS(taking(), taking()), n,
              result(g, taken, TG_F32, s, 0), stack);
    tgi_graph_add_result(g, result(g, taken, TG_F32, s, 0));
    accepts();
    tgi_strbuf text = {0};
    tgi_type_print(g, stack, &text);
    cr_assert_str_eq(text.text, "f32[unbounded,3]");
    tgi_strbuf_deinit(&text);
}

Test(verify_unbounded, only_the_first_axis_is_unbounded)
{
    unset(g, shape_of(g, 3, TGI_UNBOUNDED));
    refuses("unset: axis 1 cannot be unbounded");
}

Test(verify_unbounded, no_other_operation_has_an_unbounded_result)
{
    broadcast(g, x, stack_shape());
    refuses("broadcast: cannot be unbounded");
}

Test(verify_unbounded, a_stack_with_slices_is_not_overwritten)
{
    tgi_ref stack = stack_of(saved_by(saving()));
    loop_of(2, GRAPHS(saving()), n, x, stack);
    refuses("loop: carried value 1 overwrites its stack");
}

/* -- Nested loops ---------------------------------------------------------- */

enum { BASE = 4 };

/* A region that also has the number of slices. */
static tgi_graph *with_base(const char *name)
{
    tgi_graph *graph = with_stack(name);
    param(graph, TG_I64, scalar_shape(graph));
    return graph;
}

/* Doubles x, and pushes it after the existing slices. */
static tgi_graph *going_on(void)
{
    tgi_graph *graph = with_base("going on");
    tgi_ref at = apply(graph, ADD, BASE, N);
    tgi_graph_add_result(graph, apply(graph, ADD, X, X));
    tgi_graph_add_result(graph, update(graph, STACK, X, at, 0));
    return graph;
}

/* Contains such a loop, and returns its results. */
static tgi_graph *around_a_loop(void)
{
    tgi_graph *graph = with_base("around"), *outer = g;
    g = graph;
    tgi_ref loop = loop_of(2, GRAPHS(going_on()), N, X, STACK, BASE);
    tgi_graph_add_result(graph, result(g, loop, TG_F32, s, 0));
    tgi_graph_add_result(graph, stack_of(loop));
    g = outer;
    return graph;
}

/* Returns its parameters. */
static tgi_graph *idle(void)
{
    tgi_graph *graph = with_base("idle");
    tgi_graph_add_result(graph, X);
    tgi_graph_add_result(graph, STACK);
    return graph;
}

Test(verify_unbounded, loops_and_branches_pass_a_stack_through)
{
    tgi_ref stack = stack_of(
        loop_of(2, GRAPHS(around_a_loop()), n, x, unset(g, stack_shape()), n));
    tgi_ref taken = loop_of(1, GRAPHS(taking()), n, x, stack);
    tgi_graph_add_result(g, result(g, taken, TG_F32, s, 0));
    stack = stack_of(switch_of(GRAPHS(idle(), around_a_loop()), n, x,
                               unset(g, stack_shape()), n));
    taken = loop_of(1, GRAPHS(taking()), n, x, stack);
    tgi_graph_add_result(g, result(g, taken, TG_F32, s, 0));
    accepts();
}

Test(verify_unbounded, pushes_continue_at_a_sum_of_parameters)
{
    tgi_graph *body = with_base("far away");
    tgi_ref at = apply(body, ADD, BASE, number(body, TG_I64, 1));
    tgi_graph_add_result(body, X);
    tgi_graph_add_result(body, update(body, STACK, X, at, 0));
    loop_of(2, GRAPHS(body), n, x, unset(g, stack_shape()), n);
    refuses("dynamic_update: cannot be unbounded");
}

Test(verify_unbounded, an_outer_body_does_not_read_it)
{
    tgi_graph *body = around_a_loop();
    slice(body, STACK, shape_of(body, 1, 3));
    loop_of(2, GRAPHS(body), n, x, unset(g, stack_shape()), n);
    refuses("reads carried value 1 while the loop pushes onto it");
}

Test(verify_unbounded, it_does_not_leave_the_graph_that_creates_it)
{
    tgi_graph *branch = with_base("beginning"), *outer = g;
    g = branch;
    tgi_ref loop = saved_by(saving());
    tgi_graph_add_result(branch, stack_of(loop));
    g = outer;
    switch_of(GRAPHS(branch), n, x, unset(g, stack_shape()), n);
    refuses("unbounded");
}

Test(verify_unbounded, branches_return_the_same_stack)
{
    tgi_graph *other = with_base("other");
    param(other, TG_F32, stack_shape());
    tgi_graph *one = with_base("one");
    param(one, TG_F32, stack_shape());
    tgi_graph_add_result(one, STACK);
    tgi_graph_add_result(other, BASE + 1);
    switch_of(GRAPHS(one, other), n, x, unset(g, stack_shape()), n,
              unset(g, stack_shape()));
    refuses("switch: result 0 is a different unbounded stack");
}

/* -- Violations ------------------------------------------------------------ */

Test(verify_unbounded, it_is_not_read_in_the_graph_that_creates_it)
{
    tgi_ref stack = stack_of(saved_by(saving()));
    slice(g, stack, shape_of(g, 1, 3));
    refuses("dynamic_slice: input 0 cannot be unbounded");
}

Test(verify_unbounded, it_is_not_a_result_of_the_function)
{
    tgi_graph_add_result(g, stack_of(saved_by(saving())));
    refuses("unbounded");
}

Test(verify_unbounded, slices_are_read_one_at_a_time)
{
    tgi_graph *body = with_stack("two");
    slice(body, STACK, shape_of(body, 2, 3));
    tgi_graph_add_result(body, X);
    loop_of(1, GRAPHS(body), n, x, stack_of(saved_by(saving())));
    refuses("dynamic_slice: input 0 cannot be unbounded");
}

Test(verify_unbounded, the_position_is_the_iteration_number)
{
    tgi_graph *body = with_stack("elsewhere");
    tgi_ref zero = number(body, TG_I64, 0);
    tgi_graph_add_result(body, X);
    tgi_graph_add_result(body, update(body, STACK, X, zero, 0));
    saved_by(body);
    refuses("dynamic_update: cannot be unbounded");
}

Test(verify_unbounded, it_is_unbounded_along_its_first_axis)
{
    tgi_graph *body = with_stack("across");
    tgi_graph_add_result(body, X);
    tgi_graph_add_result(body, update(body, STACK, X, N, 1));
    saved_by(body);
    refuses("dynamic_update");
}

Test(verify_unbounded, one_slice_per_iteration)
{
    tgi_graph *body = with_stack("twice");
    tgi_graph_add_result(body, X);
    tgi_graph_add_result(body,
                         update(body, update(body, STACK, X, N, 0), X, N, 0));
    saved_by(body);
    refuses("dynamic_update: cannot be unbounded");
}

Test(verify_unbounded, the_body_does_not_read_it)
{
    tgi_graph *body = with_stack("curious");
    tgi_ref part = reshaped(body, TGI_OP_RESHAPE,
                            slice(body, STACK, shape_of(body, 1, 3)), s,
                            NO_ATTR);
    tgi_graph_add_result(body, apply(body, ADD, X, part));
    tgi_graph_add_result(body, update(body, STACK, X, N, 0));
    saved_by(body);
    refuses("reads carried value 1 while the loop pushes onto it");
}

Test(verify_unbounded, the_test_does_not_read_it)
{
    tgi_graph *test = with_stack("test");
    slice(test, STACK, shape_of(test, 1, 3));
    tgi_graph_add_result(test, apply(test, LT, N, N));
    loop_of(2, GRAPHS(saving(), test), n, x, unset(g, stack_shape()));
    refuses("reads carried value 1 while the loop pushes onto it");
}

Test(verify_unbounded, stacks_are_not_swapped)
{
    tgi_graph *body = with_stack("swapping");
    param(body, TG_F32, stack_shape());
    tgi_graph_add_result(body, X);
    tgi_graph_add_result(body, update(body, STACK + 1, X, N, 0));
    tgi_graph_add_result(body, update(body, STACK, X, N, 0));
    loop_of(3, GRAPHS(body), n, x, unset(g, stack_shape()),
            unset(g, stack_shape()));
    refuses("carried value 1 is a different unbounded stack");
}

Test(verify_unbounded, branches_do_not_push)
{
    tgi_graph *branch = with_stack("branch");
    tgi_graph_add_result(branch, update(branch, STACK, X, N, 0));
    switch_of(GRAPHS(branch), n, x, stack_of(saved_by(saving())));
    refuses("switch: result 0 pushes outside of a loop");
}
