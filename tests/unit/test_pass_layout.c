/* SPDX-License-Identifier: MIT */
/*
 * test_pass_layout.c - transposes move to where they cancel. run_pass verifies
 * the new graph and compares all bits.
 */
#include "support/passes.h"

static tgi_graph *g;

static void begin(void)
{
    g = tgi_graph_create("f", NULL);
    cr_assert_not_null(g);
}

static tg_status layout(const tgi_graph *in, tgi_graph **out_graph)
{
    return then_dead(tgi_pass_layout, in, out_graph);
}

static tgi_ref transposed(tgi_ref x, int a, int b, int c, int d,
                          tgi_shape_ref shape)
{
    return reshaped(g, TGI_OP_TRANSPOSE, x, shape,
                    ATTR(tgi_attr_perm, {(uint8_t)a, (uint8_t)b, (uint8_t)c,
                                         (uint8_t)d}));
}

/* [2,4,4,3] to and from [2,3,4,4]. */
static tgi_ref first(tgi_ref x)
{
    return transposed(x, 0, 3, 1, 2, shape_of(g, 2, 3, 4, 4));
}

static tgi_ref last(tgi_ref x)
{
    return transposed(x, 0, 2, 3, 1, shape_of(g, 2, 4, 4, 3));
}

static tgi_ref image(void)
{
    return param(g, TG_F32, shape_of(g, 2, 4, 4, 3));
}

static int count_after(tgi_ref value, tgi_op op)
{
    return count_nodes_after(layout, g, value, op);
}

/* -- Members --------------------------------------------------------------- */

Test(pass_layout, elementwise_nodes_between_two_transposes_lose_both)
{
    begin();
    const tgi_ref x = image(), y = image();
    const tgi_ref bias = param(g, TG_F32, shape_of(g, 3, 1, 1));
    const tgi_ref sum = apply(g, ADD, first(x), first(y));
    const tgi_ref more =
        apply(g, ADD, sum, broadcast(g, bias, shape_of(g, 2, 3, 4, 4)));
    pass_gives(layout, g, last(apply(g, NEG, more)),
               "graph f(%1: f32[2,4,4,3], %2: f32[2,4,4,3], %3: f32[3,1,1]) {\n"
               "  %4 = add f32[2,4,4,3] %1, %2\n"
               "  %5 = reshape f32[1,1,1,3] %3\n"
               "  %6 = broadcast f32[2,4,4,3] %5\n"
               "  %7 = add f32[2,4,4,3] %4, %6\n"
               "  %8 = neg f32[2,4,4,3] %7\n"
               "  return %8\n"
               "}\n");
}

Test(pass_layout, pads_slices_and_concats_move)
{
    begin();
    const tgi_ref x = first(image());
    const tgi_ref pad =
        add_node(g, TGI_OP_PAD, TG_F32, shape_of(g, 2, 3, 6, 5),
                 INPUTS(x, number(g, TG_F32, 0)),
                 ATTR(tgi_attr_pad, {0, 0, 1, 0}, {0, 0, 1, 1}, {0}));
    const tgi_ref part =
        reshaped(g, TGI_OP_SLICE, pad, shape_of(g, 2, 3, 4, 2),
                 ATTR(tgi_attr_slice, {0, 0, 1, 0}, {1, 1, 1, 2}));
    const tgi_ref both =
        add_node(g, TGI_OP_CONCAT, TG_F32, shape_of(g, 2, 6, 4, 2),
                 INPUTS(part, part), ATTR(tgi_attr_index, 1));
    cr_assert_eq(count_after(transposed(both, 0, 2, 3, 1,
                                        shape_of(g, 2, 4, 2, 6)),
                             TGI_OP_TRANSPOSE),
                 0);
}

/* Axes of windows are appended in the order of the axes of the image; maxima do
   not depend on it. */
Test(pass_layout, the_maxima_of_windows_move)
{
    begin();
    const tgi_ref x = transposed(image(), 0, 3, 2, 1, shape_of(g, 2, 3, 4, 4));
    const tgi_ref windows = reshaped(
        g, TGI_OP_WINDOW, x, shape_of(g, 2, 3, 2, 3, 2, 2),
        ATTR(tgi_attr_window, {0, 0, 2, 2}, {0, 0, 2, 1}, {0, 0, 1, 1}));
    const tgi_ref max =
        reshaped(g, TGI_OP_REDUCE_MAX, windows, shape_of(g, 2, 3, 2, 3),
                 ATTR(tgi_attr_axes, 3 << 4));
    cr_assert_eq(count_after(transposed(max, 0, 3, 2, 1,
                                        shape_of(g, 2, 3, 2, 3)),
                             TGI_OP_TRANSPOSE),
                 0);
}

/* -- Borders --------------------------------------------------------------- */

Test(pass_layout, a_value_that_is_used_in_both_layouts_is_transposed_once)
{
    begin();
    const tgi_ref y = apply(g, NEG, apply(g, ADD, first(image()),
                                          first(image())));
    tgi_graph_add_result(g, last(y));
    cr_assert_eq(count_after(y, TGI_OP_TRANSPOSE), 1);
}

Test(pass_layout, a_region_stays_if_as_much_would_be_transposed)
{
    begin();
    const tgi_ref x = image();
    const tgi_ref y = param(g, TG_F32, shape_of(g, 2, 3, 4, 4));
    pass_gives(layout, g, apply(g, ADD, first(x), y),
               "graph f(%1: f32[2,4,4,3], %2: f32[2,3,4,4]) {\n"
               "  %3 = transpose f32[2,3,4,4] %1 perm=[0,3,1,2]\n"
               "  %4 = add f32[2,3,4,4] %3, %2\n"
               "  return %4\n"
               "}\n");
}

/* All of the transposed value is used, but as many elements would be
   transposed behind the slices. */
Test(pass_layout, slices_do_not_take_a_transpose_apart)
{
    begin();
    const tgi_ref x = last(param(g, TG_F32, shape_of(g, 2, 3, 4, 4)));
    for (int i = 0; i < 4; i++)
        tgi_graph_add_result(
            g, reshaped(g, TGI_OP_SLICE, x, shape_of(g, 2, 1, 4, 3),
                        ATTR(tgi_attr_slice, {0, i}, {1, 1, 1, 1})));
    cr_assert_eq(count_after(x, TGI_OP_TRANSPOSE), 1);
}

/* Transposes that only move axes of extent 1 do not count. */
Test(pass_layout, transposes_that_keep_the_order_are_free)
{
    begin();
    const tgi_ref x = param(g, TG_F32, shape_of(g, 2, 1, 1, 3));
    const tgi_ref y = transposed(x, 0, 3, 1, 2, shape_of(g, 2, 3, 1, 1));
    cr_assert_eq(count_after(apply(g, NEG, y), TGI_OP_TRANSPOSE), 1);
}

Test(pass_layout, extents_may_be_unknown)
{
    begin();
    const tgi_dim n = symbol(g, 0, 0);
    const tgi_ref x = param(g, TG_F32, shape_of(g, n, 4, 4, 3));
    const tgi_ref y =
        transposed(x, 0, 3, 1, 2, shape_of(g, n, 3, 4, 4));
    cr_assert_eq(count_after(transposed(apply(g, NEG, y), 0, 2, 3, 1,
                                        shape_of(g, n, 4, 4, 3)),
                             TGI_OP_TRANSPOSE),
                 0);
}

/* The operand stays as it is in memory, and the convolution reads a view. */
Test(pass_layout, views_for_images_of_few_channels_are_free)
{
    begin();
    const tgi_ref x =
        add_node(g, TGI_OP_PAD, TG_F32, shape_of(g, 2, 6, 6, 3),
                 INPUTS(image(), number(g, TG_F32, 0)),
                 ATTR(tgi_attr_pad, {0, 1, 1, 0}, {0, 1, 1, 0}, {0}));
    const tgi_ref y = transposed(x, 3, 0, 1, 2, shape_of(g, 3, 2, 6, 6));
    const tgi_ref views =
        reshaped(g, TGI_OP_RESHAPE, y, shape_of(g, 3, 2, 6, 6, 1), NO_ATTR);
    const tgi_ref filters = param(g, TG_F32, shape_of(g, 2, 4, 4, 1, 5));
    const tgi_ref product =
        add_node(g, TGI_OP_CONV, TG_F32, shape_of(g, 3, 1, 3, 3, 5),
                 INPUTS(views, filters),
                 ATTR(tgi_attr_conv, 0, {1, 1, 1}, {1, 1, 1}));
    tgi_graph_add_result(g, product);
    tgi_graph *out = run_pass(layout, g);
    const tgi_node *node = tgi_graph_node(out, out->results.data[0]);
    while (node->op != TGI_OP_TRANSPOSE)
        node = tgi_graph_node(out, node->inputs[0]);
    cr_assert_eq(tgi_graph_node(out, node->inputs[0])->op, TGI_OP_PAD);
    tgi_graph_release(out);
    tgi_graph_release(g);
}

/* The elements of windows are behind the channels in the layout of WINDOW, but
   not in memory: there, channels stay the last axis. */
Test(pass_layout, windows_have_no_layout_to_move_to)
{
    begin();
    const tgi_ref windows = reshaped(
        g, TGI_OP_WINDOW, image(), shape_of(g, 2, 2, 2, 3, 2, 2),
        ATTR(tgi_attr_window, {0, 2, 2, 0}, {0, 2, 2, 0}, {0, 1, 1, 0}));
    const tgi_ref last = reshaped(
        g, TGI_OP_TRANSPOSE, windows, shape_of(g, 2, 2, 2, 2, 2, 3),
        ATTR(tgi_attr_perm, {0, 1, 2, 4, 5, 3}));
    tgi_graph_add_result(
        g, apply(g, ADD, apply(g, NEG, last), apply(g, ABS, last)));
    tgi_graph *out = run_pass(layout, g);
    const tgi_node *sum = tgi_graph_node(out, out->results.data[0]);
    const tgi_node *neg = tgi_graph_node(out, sum->inputs[0]);
    cr_assert_eq(sum->op, TGI_OP_ADD);
    cr_assert_eq(tgi_graph_node(out, neg->inputs[0])->op, TGI_OP_TRANSPOSE);
    tgi_graph_release(out);
    tgi_graph_release(g);
}
