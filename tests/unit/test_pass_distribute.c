/* SPDX-License-Identifier: MIT */
/*
 * test_pass_distribute.c - expressions over concats and pads, piece by piece.
 * run_pass verifies the new graph and compares all bits.
 */
#include "support/passes.h"

static tgi_graph *g;

static void begin(void)
{
    g = tgi_graph_create("f", NULL);
    cr_assert_not_null(g);
}

static tg_status distribute(const tgi_graph *in, tgi_graph **out_graph)
{
    return then_dead(tgi_pass_distribute, in, out_graph);
}

static tgi_ref concat(tgi_ref a, tgi_ref b, int axis, tgi_shape_ref shape)
{
    return add_node(g, TGI_OP_CONCAT, TG_F32, shape, INPUTS(a, b),
                    ATTR(tgi_attr_index, axis));
}

/* Zeros before and after the elements of the first axis. */
static tgi_ref padded(tgi_ref x, tgi_dim low, tgi_dim high, tgi_shape_ref shape)
{
    return add_node(g, TGI_OP_PAD, TG_F32, shape,
                    INPUTS(x, number(g, TG_F32, 0)),
                    ATTR(tgi_attr_pad, {low}, {high}, {0}));
}

static tgi_ref sliced(tgi_ref x, tgi_dim start, tgi_shape_ref shape)
{
    return reshaped(g, TGI_OP_SLICE, x, shape,
                    ATTR(tgi_attr_slice, {start}, {1}));
}

static int count_after(tgi_ref value, tgi_op op)
{
    return count_nodes_after(distribute, g, value, op);
}

/* -- Pieces ---------------------------------------------------------------- */

Test(pass_distribute, an_operation_is_applied_to_pieces_of_a_concat)
{
    begin();
    tgi_ref a = param(g, TG_F32, shape_of(g, 400));
    tgi_ref b = param(g, TG_F32, shape_of(g, 300));
    tgi_ref x = param(g, TG_F32, shape_of(g, 700));
    tgi_ref both = concat(a, b, 0, shape_of(g, 700));
    pass_gives(distribute, g, apply(g, MUL, x, apply(g, NEG, both)),
               "graph f(%1: f32[400], %2: f32[300], %3: f32[700]) {\n"
               "  %4 = slice f32[400] %3 start=[0] step=[1]\n"
               "  %5 = neg f32[400] %1\n"
               "  %6 = mul f32[400] %4, %5\n"
               "  %7 = slice f32[300] %3 start=[400] step=[1]\n"
               "  %8 = neg f32[300] %2\n"
               "  %9 = mul f32[300] %7, %8\n"
               "  %10 = concat f32[700] %6, %9 axis=0\n"
               "  return %10\n"
               "}\n");
}

Test(pass_distribute, the_border_of_a_pad_is_its_fill)
{
    begin();
    tgi_ref y = param(g, TG_F32, shape_of(g, 600));
    tgi_ref x = param(g, TG_F32, shape_of(g, 603));
    tgi_ref pad = padded(y, 1, 2, shape_of(g, 603));
    pass_gives(distribute, g, apply(g, ADD, x, pad),
               "graph f(%1: f32[600], %2: f32[603]) {\n"
               "  %3 = constant f32[] 0\n"
               "  %4 = slice f32[1] %2 start=[0] step=[1]\n"
               "  %5 = broadcast f32[1] %3\n"
               "  %6 = add f32[1] %4, %5\n"
               "  %7 = slice f32[600] %2 start=[1] step=[1]\n"
               "  %8 = add f32[600] %7, %1\n"
               "  %9 = slice f32[2] %2 start=[601] step=[1]\n"
               "  %10 = broadcast f32[2] %3\n"
               "  %11 = add f32[2] %9, %10\n"
               "  %12 = concat f32[603] %6, %8, %11 axis=0\n"
               "  return %12\n"
               "}\n");
}

/* Three pieces, of which the middle one has both operands inside. */
Test(pass_distribute, borders_of_several_operands_are_merged)
{
    begin();
    tgi_ref a = param(g, TG_F32, shape_of(g, 10));
    tgi_ref b = param(g, TG_F32, shape_of(g, 590));
    tgi_ref one = concat(a, b, 0, shape_of(g, 600));
    tgi_ref two = concat(b, a, 0, shape_of(g, 600));
    cr_assert_eq(count_after(apply(g, ADD, one, two), TGI_OP_ADD), 3);
}

Test(pass_distribute, pieces_along_two_axes_are_nested_concats)
{
    begin();
    tgi_ref a = param(g, TG_F32, shape_of(g, 1, 40));
    tgi_ref b = param(g, TG_F32, shape_of(g, 39, 40));
    tgi_ref c = param(g, TG_F32, shape_of(g, 40, 1));
    tgi_ref d = param(g, TG_F32, shape_of(g, 40, 39));
    tgi_shape_ref shape = shape_of(g, 40, 40);
    tgi_ref sum = apply(g, ADD, concat(a, b, 0, shape), concat(c, d, 1, shape));
    cr_assert_eq(count_after(sum, TGI_OP_CONCAT), 3);
}

Test(pass_distribute, slices_of_pads_are_seen_through)
{
    begin();
    tgi_ref x = param(g, TG_F32, shape_of(g, 600));
    tgi_ref pad = padded(x, 1, 1, shape_of(g, 602));
    tgi_ref left = sliced(pad, 0, shape_of(g, 600));
    tgi_ref right = sliced(pad, 2, shape_of(g, 600));
    tgi_ref sum = apply(g, ADD, apply(g, ADD, left, right), x);
    cr_assert_eq(count_after(sum, TGI_OP_PAD), 0);
}

/* The windows of a padded value, which is stored inside the border. */
Test(pass_distribute, a_value_that_is_computed_for_its_pad_stays_in_it)
{
    begin();
    tgi_ref x = apply(g, NEG, param(g, TG_F32, shape_of(g, 600)));
    tgi_ref pad = padded(x, 1, 1, shape_of(g, 602));
    tgi_ref left = sliced(pad, 0, shape_of(g, 600));
    tgi_ref right = sliced(pad, 2, shape_of(g, 600));
    cr_assert_eq(count_after(apply(g, ADD, left, right), TGI_OP_ADD), 1);
}

Test(pass_distribute, a_broadcast_operand_stays_a_broadcast)
{
    begin();
    tgi_ref a = param(g, TG_F32, shape_of(g, 20, 40));
    tgi_ref row = param(g, TG_F32, shape_of(g, 40));
    tgi_ref both = concat(a, a, 0, shape_of(g, 40, 40));
    tgi_ref sum = apply(g, ADD, both, broadcast(g, row, shape_of(g, 40, 40)));
    cr_assert_eq(count_after(sum, TGI_OP_SLICE), 0);
}

Test(pass_distribute, extents_may_be_unknown)
{
    begin();
    tgi_dim n = symbol(g, 0, 0), m = symbol(g, 1, 0);
    tgi_ref a = param(g, TG_F32, shape_of(g, n));
    tgi_ref b = param(g, TG_F32, shape_of(g, m));
    tgi_ref both = concat(a, b, 0, shape_of(g, tgi_dim_add(g->dims, n, m)));
    cr_assert_eq(count_after(apply(g, NEG, both), TGI_OP_NEG), 2);
    begin();
    n = symbol(g, 0, 0);
    tgi_ref x = param(g, TG_F32, shape_of(g, n));
    tgi_ref pad = padded(x, 1, 2, shape_of(g, tgi_dim_add(g->dims, n, 3)));
    cr_assert_eq(count_after(apply(g, NEG, pad), TGI_OP_NEG), 3);
}

/* -- What stays as it is --------------------------------------------------- */

/* Borders after ?0 and after ?1 elements: which one is first? */
Test(pass_distribute, unordered_borders_leave_an_expression_alone)
{
    begin();
    tgi_dim n = symbol(g, 0, 0), m = symbol(g, 1, 0);
    tgi_ref a = param(g, TG_F32, shape_of(g, n));
    tgi_ref b = param(g, TG_F32, shape_of(g, m));
    tgi_shape_ref shape = shape_of(g, tgi_dim_add(g->dims, n, m));
    tgi_ref sum = apply(g, ADD, concat(a, b, 0, shape), concat(b, a, 0, shape));
    cr_assert_eq(count_after(sum, TGI_OP_ADD), 1);
}

Test(pass_distribute, a_concat_with_other_uses_stays_whole)
{
    begin();
    tgi_ref a = param(g, TG_F32, shape_of(g, 400));
    tgi_ref both = concat(a, a, 0, shape_of(g, 800));
    tgi_graph_add_result(g, both);
    cr_assert_eq(count_after(apply(g, NEG, both), TGI_OP_NEG), 1);
}

Test(pass_distribute, small_expressions_stay_whole)
{
    begin();
    tgi_ref a = param(g, TG_F32, shape_of(g, 100));
    tgi_ref both = concat(a, a, 0, shape_of(g, 200));
    cr_assert_eq(count_after(apply(g, NEG, both), TGI_OP_NEG), 1);
}

/* exp(x) is read at two positions: stored once, not computed twice. */
Test(pass_distribute, shifted_operands_are_computed_once)
{
    begin();
    tgi_ref x = param(g, TG_F32, shape_of(g, 600));
    tgi_ref pad = padded(apply(g, EXP, x), 1, 1, shape_of(g, 602));
    tgi_ref sum = apply(g, ADD, sliced(pad, 0, shape_of(g, 600)),
                        sliced(pad, 2, shape_of(g, 600)));
    cr_assert_eq(count_after(sum, TGI_OP_EXP), 1);
}

/* A product is fused with its only user, unless that is cut. */
Test(pass_distribute, products_keep_their_epilogues)
{
    begin();
    tgi_ref a = param(g, TG_F32, shape_of(g, 40, 8));
    tgi_ref b = param(g, TG_F32, shape_of(g, 8, 40));
    tgi_ref c = param(g, TG_F32, shape_of(g, 20, 40));
    tgi_shape_ref shape = shape_of(g, 40, 40);
    tgi_ref product = add_node(g, TGI_OP_MATMUL, TG_F32, shape, INPUTS(a, b),
                               ATTR(tgi_attr_matmul, 0));
    tgi_ref sum = apply(g, ADD, product, concat(c, c, 0, shape));
    cr_assert_eq(count_after(sum, TGI_OP_ADD), 1);
}

/* A chain of concats has more pieces than an expression may have. */
Test(pass_distribute, too_many_pieces_leave_an_expression_alone)
{
    begin();
    tgi_ref a = param(g, TG_F32, shape_of(g, 10));
    tgi_ref all = a;
    for (int i = 2; i <= 100; i++)
        all = concat(a, all, 0, shape_of(g, 10 * i));
    cr_assert_eq(count_after(apply(g, NEG, all), TGI_OP_NEG), 1);
}

/* Recursion is bounded. */
Test(pass_distribute, long_chains_are_left_alone)
{
    begin();
    tgi_ref a = param(g, TG_F32, shape_of(g, 400));
    tgi_ref x = concat(a, a, 0, shape_of(g, 800));
    for (int i = 0; i < 1000; i++)
        x = apply(g, NEG, x);
    cr_assert_eq(count_after(x, TGI_OP_NEG), 1000);
}
