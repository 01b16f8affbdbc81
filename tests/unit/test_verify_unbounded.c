/* SPDX-License-Identifier: MIT */
/*
 * test_verify_unbounded.c - the rules for values that grow: what is right is
 * accepted, and each rule refuses what breaks it alone.
 */
#include "support/regions.h"

TestSuite(verify_grows, .init = begin, .fini = end);

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

/* Doubles x, and saves it. */
static tgi_graph *saving(void)
{
    tgi_graph *graph = with_stack("saving");
    tgi_graph_add_result(graph, apply(graph, ADD, X, X));
    tgi_graph_add_result(graph, update(graph, STACK, X, N, 0));
    return graph;
}

/* x and the stack that a loop leaves. */
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

Test(verify_grows, loops_and_branches_take_what_a_loop_has_saved)
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

Test(verify_grows, only_the_first_axis_grows)
{
    unset(g, shape_of(g, 3, TGI_UNBOUNDED));
    refuses("unset: axis 1 cannot be unbounded");
}

Test(verify_grows, no_other_operation_grows)
{
    broadcast(g, x, stack_shape());
    refuses("broadcast: cannot be unbounded");
}

Test(verify_grows, what_has_slices_does_not_begin_anew)
{
    tgi_ref stack = stack_of(saved_by(saving()));
    loop_of(2, GRAPHS(saving()), n, x, stack);
    refuses("loop: carried value 1 overwrites its stack");
}

/* -- Loops inside ---------------------------------------------------------- */

enum { BASE = 4 };

/* A region that has the number of slices as well. */
static tgi_graph *with_base(const char *name)
{
    tgi_graph *graph = with_stack(name);
    param(graph, TG_I64, scalar_shape(graph));
    return graph;
}

/* Doubles x, and saves it behind what is there. */
static tgi_graph *going_on(void)
{
    tgi_graph *graph = with_base("going on");
    tgi_ref at = apply(graph, ADD, BASE, N);
    tgi_graph_add_result(graph, apply(graph, ADD, X, X));
    tgi_graph_add_result(graph, update(graph, STACK, X, at, 0));
    return graph;
}

/* Has such a loop inside, and gives what that leaves. */
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

/* Gives what it got. */
static tgi_graph *idle(void)
{
    tgi_graph *graph = with_base("idle");
    tgi_graph_add_result(graph, X);
    tgi_graph_add_result(graph, STACK);
    return graph;
}

Test(verify_grows, loops_and_branches_hand_it_through)
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

Test(verify_grows, it_goes_on_at_a_sum_of_parameters)
{
    tgi_graph *body = with_base("far away");
    tgi_ref at = apply(body, ADD, BASE, number(body, TG_I64, 1));
    tgi_graph_add_result(body, X);
    tgi_graph_add_result(body, update(body, STACK, X, at, 0));
    loop_of(2, GRAPHS(body), n, x, unset(g, stack_shape()), n);
    refuses("dynamic_update: cannot be unbounded");
}

Test(verify_grows, a_body_around_does_not_look_at_it)
{
    tgi_graph *body = around_a_loop();
    slice(body, STACK, shape_of(body, 1, 3));
    loop_of(2, GRAPHS(body), n, x, unset(g, stack_shape()), n);
    refuses("reads carried value 1 while the loop pushes onto it");
}

Test(verify_grows, it_does_not_begin_where_it_leaves)
{
    tgi_graph *branch = with_base("beginning"), *outer = g;
    g = branch;
    tgi_ref loop = saved_by(saving());
    tgi_graph_add_result(branch, stack_of(loop));
    g = outer;
    switch_of(GRAPHS(branch), n, x, unset(g, stack_shape()), n);
    refuses("unbounded");
}

Test(verify_grows, branches_give_the_same_one)
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

/* -- What nobody does ------------------------------------------------------ */

Test(verify_grows, nobody_looks_at_it_where_it_was_saved)
{
    tgi_ref stack = stack_of(saved_by(saving()));
    slice(g, stack, shape_of(g, 1, 3));
    refuses("dynamic_slice: input 0 cannot be unbounded");
}

Test(verify_grows, it_is_no_result_of_the_function)
{
    tgi_graph_add_result(g, stack_of(saved_by(saving())));
    refuses("unbounded");
}

Test(verify_grows, slices_are_taken_one_at_a_time)
{
    tgi_graph *body = with_stack("two");
    slice(body, STACK, shape_of(body, 2, 3));
    tgi_graph_add_result(body, X);
    loop_of(1, GRAPHS(body), n, x, stack_of(saved_by(saving())));
    refuses("dynamic_slice: input 0 cannot be unbounded");
}

Test(verify_grows, the_place_is_the_number_of_the_trip)
{
    tgi_graph *body = with_stack("elsewhere");
    tgi_ref zero = number(body, TG_I64, 0);
    tgi_graph_add_result(body, X);
    tgi_graph_add_result(body, update(body, STACK, X, zero, 0));
    saved_by(body);
    refuses("dynamic_update: cannot be unbounded");
}

Test(verify_grows, it_grows_along_its_first_axis)
{
    tgi_graph *body = with_stack("across");
    tgi_graph_add_result(body, X);
    tgi_graph_add_result(body, update(body, STACK, X, N, 1));
    saved_by(body);
    refuses("dynamic_update");
}

Test(verify_grows, one_slice_in_a_trip)
{
    tgi_graph *body = with_stack("twice");
    tgi_graph_add_result(body, X);
    tgi_graph_add_result(body,
                         update(body, update(body, STACK, X, N, 0), X, N, 0));
    saved_by(body);
    refuses("dynamic_update: cannot be unbounded");
}

Test(verify_grows, the_body_does_not_look_at_it)
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

Test(verify_grows, the_test_does_not_look_at_it)
{
    tgi_graph *test = with_stack("test");
    slice(test, STACK, shape_of(test, 1, 3));
    tgi_graph_add_result(test, apply(test, LT, N, N));
    loop_of(2, GRAPHS(saving(), test), n, x, unset(g, stack_shape()));
    refuses("reads carried value 1 while the loop pushes onto it");
}

Test(verify_grows, stacks_do_not_change_places)
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

Test(verify_grows, branches_do_not_save)
{
    tgi_graph *branch = with_stack("branch");
    tgi_graph_add_result(branch, update(branch, STACK, X, N, 0));
    switch_of(GRAPHS(branch), n, x, stack_of(saved_by(saving())));
    refuses("switch: result 0 pushes outside of a loop");
}
