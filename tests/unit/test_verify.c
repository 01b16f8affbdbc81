/* SPDX-License-Identifier: MIT */
/*
 * test_verify.c - the verifier rejects every kind of invalid node, with a
 * message that names it, and accepts valid graphs.
 */
#include "support/graphs.h"

#include <stdio.h>

#include "ir/verify.h"

static tgi_graph *g; /* each test runs in its own process */
static tgi_ref x, v; /* f32[2,3], and a variable like it */
static tgi_shape_ref s;

static void begin(void)
{
    g = tgi_graph_create("f", NULL);
    cr_assert_not_null(g);
    s = shape_of(g, 2, 3);
    x = param(g, TG_F32, s);
    v = variable(g, TG_F32, s);
}

static void end(void)
{
    tgi_graph_release(g);
    check_nothing_is_alive();
}

TestSuite(verify, .init = begin, .fini = end);

static void accepts(void)
{
    cr_assert_eq(tgi_graph_verify(g), TG_OK, "%s", tg_error(NULL));
}

static void refuses(const char *what)
{
    cr_assert_eq(tgi_graph_verify(g), TG_ERROR_INTERNAL);
    cr_assert_not_null(strstr(tg_error(NULL), what), "message: %s",
                       tg_error(NULL));
    cr_assert_not_null(strstr(tg_error(NULL), "graph 'f'"));
}

/* -- Any node -------------------------------------------------------------- */

Test(verify, accepts_a_graph_of_parameters)
{
    tgi_graph_add_result(g, x);
    accepts();
}

Test(verify, names_node_and_place)
{
    add_node(g, TGI_OP_NEG, TG_F64, s, INPUTS(x), NO_ATTR);
    refuses("tests/user.c:3: graph 'f': %3 neg: has dtype f64");
}

Test(verify, refuses_inputs_that_do_not_precede_their_user)
{
    add_node(g, TGI_OP_NEG, TG_F32, s, INPUTS(3), NO_ATTR);
    refuses("%3 neg: input 0, %3, does not precede it");
}

Test(verify, refuses_a_wrong_number_of_inputs)
{
    add_node(g, TGI_OP_ADD, TG_F32, s, INPUTS(x), NO_ATTR);
    refuses("has 1 inputs");
}

Test(verify, refuses_a_missing_attribute)
{
    reshaped(g, TGI_OP_TRANSPOSE, x, s, NO_ATTR);
    refuses("has 0 bytes of attribute");
}

Test(verify, refuses_an_attribute_too_many)
{
    reshaped(g, TGI_OP_NEG, x, s, ATTR(tgi_attr_index, 1));
    refuses("has 8 bytes of attribute");
}

Test(verify, refuses_unknown_ops)
{
    tgi_ref y = apply(g, NEG, x);
    ((tgi_node *)(uintptr_t)tgi_graph_node(g, y))->op = TGI_OPS;
    char text[40];
    snprintf(text, sizeof text, "%%%u has op %d", y, TGI_OPS);
    refuses(text);
}

Test(verify, refuses_a_value_without_type_or_shape)
{
    add_node(g, TGI_OP_NEG, TG_DTYPE_NONE, s, INPUTS(x), NO_ATTR);
    refuses("has dtype 0");
}

Test(verify, refuses_a_type_that_does_not_exist)
{
    add_node(g, TGI_OP_CAST, (tg_dtype)14, s, INPUTS(x), NO_ATTR);
    refuses("has dtype 14");
}

Test(verify, refuses_a_value_without_shape)
{
    add_node(g, TGI_OP_NEG, TG_F32, 0, INPUTS(x), NO_ATTR);
    refuses("has no shape");
}

/* -- Types ----------------------------------------------------------------- */

Test(verify, refuses_types_the_op_does_not_take)
{
    apply(g, NOT, x);
    refuses("%3 not: does not support f32");
}

Test(verify, refuses_operands_of_two_types)
{
    apply(g, ADD, x, cast(g, x, TG_I32));
    refuses("input 1 is i32, another is f32");
}

Test(verify, refuses_a_comparison_that_is_not_bool)
{
    add_node(g, TGI_OP_LT, TG_F32, s, INPUTS(x, x), NO_ATTR);
    refuses("has dtype f32");
}

Test(verify, refuses_a_condition_that_is_not_bool)
{
    apply(g, SELECT, x, x, x);
    refuses("the condition is not bool");
}

Test(verify, accepts_select_and_casts)
{
    apply(g, SELECT, apply(g, LT, x, x), x, x);
    cast(g, x, TG_U8);
    accepts();
}

Test(verify, refuses_a_variable_where_a_value_belongs)
{
    apply(g, NEG, v);
    refuses("input 0 has no value");
}

/* -- Leaves ---------------------------------------------------------------- */

Test(verify, refuses_constants_of_the_wrong_size)
{
    float zeros[5] = {0};
    tgi_graph_add_constant(g, TG_F32, s, zeros, sizeof zeros, 0,
                           (tg_site){NULL, 0});
    refuses("its elements do not match the shape");
}

Test(verify, refuses_constants_of_unknown_size)
{
    float zero = 0;
    tgi_graph_add_constant(g, TG_F32, shape_of(g, symbol(g, 0, 0)), &zero, 4,
                           0, (tg_site){NULL, 0});
    refuses("has unknown extents");
}

Test(verify, refuses_an_iota_along_no_axis)
{
    add_node(g, TGI_OP_IOTA, TG_F32, s, NULL, ATTR(tgi_attr_index, 2));
    refuses("axis 2 is out of range for rank 2");
}

Test(verify, refuses_extents_that_are_none)
{
    add_node(g, TGI_OP_EXTENT, TG_I64, scalar_shape(g), NULL,
             ATTR(tgi_attr_index, -1));
    refuses("-1 is not an extent");
}

Test(verify, refuses_parameters_that_are_not_listed)
{
    add_node(g, TGI_OP_PARAM, TG_F32, s, NULL, ATTR(tgi_attr_index, 2));
    refuses("is not parameter 2");
}

Test(verify, refuses_a_list_of_parameters_that_are_none)
{
    g->params.data[0].node = 9;
    refuses("parameter 0 is not a parameter node");
}

/* -- Shapes ---------------------------------------------------------------- */

Test(verify, refuses_elementwise_operands_of_another_shape)
{
    tgi_ref y = param(g, TG_F32, shape_of(g, 3));
    add_node(g, TGI_OP_ADD, TG_F32, s, INPUTS(x, y), NO_ATTR);
    refuses("input 1 has a different shape");
}

Test(verify, accepts_broadcasts_that_add_or_repeat_axes)
{
    tgi_ref y = param(g, TG_F32, shape_of(g, 1, 3));
    broadcast(g, y, s);
    broadcast(g, x, shape_of(g, 7, 2, 3));
    broadcast(g, x, shape_of(g, symbol(g, 0, 0), 3));
    accepts();
}

Test(verify, refuses_broadcasts_that_lose_an_axis)
{
    broadcast(g, x, shape_of(g, 3));
    refuses("reduces the rank");
}

Test(verify, refuses_broadcasts_of_extents_other_than_1)
{
    broadcast(g, x, shape_of(g, 2, 6));
    refuses("axis 1 does not expand");
}

Test(verify, refuses_reshapes_that_lose_elements)
{
    reshaped(g, TGI_OP_RESHAPE, x, shape_of(g, 5), NO_ATTR);
    refuses("changes the number of elements");
}

Test(verify, refuses_transposes_that_are_no_permutation)
{
    reshaped(g, TGI_OP_TRANSPOSE, x, shape_of(g, 2, 2),
             ATTR(tgi_attr_perm, {0, 0}));
    refuses("is not a permutation");
}

Test(verify, refuses_transposes_of_another_shape)
{
    reshaped(g, TGI_OP_TRANSPOSE, x, s, ATTR(tgi_attr_perm, {1, 0}));
    refuses("the shape does not follow");
}

Test(verify, refuses_attributes_past_the_rank)
{
    reshaped(g, TGI_OP_TRANSPOSE, x, shape_of(g, 3, 2),
             ATTR(tgi_attr_perm, {1, 0, 2}));
    refuses("attribute past the rank is not 0");
}

Test(verify, accepts_slices_in_both_directions_and_of_nothing)
{
    reshaped(g, TGI_OP_SLICE, x, shape_of(g, 2, 2),
             ATTR(tgi_attr_slice, {1, 0}, {-1, 2}));
    reshaped(g, TGI_OP_SLICE, x, shape_of(g, 0, 3),
             ATTR(tgi_attr_slice, {2, 0}, {1, 1}));
    accepts();
}

Test(verify, refuses_slices_past_the_end)
{
    reshaped(g, TGI_OP_SLICE, x, shape_of(g, 2, 2),
             ATTR(tgi_attr_slice, {0, 2}, {1, 1}));
    refuses("exceeds axis 1");
}

Test(verify, refuses_reversed_slices_from_past_the_end)
{
    reshaped(g, TGI_OP_SLICE, x, shape_of(g, 2, 2),
             ATTR(tgi_attr_slice, {0, 3}, {1, -1}));
    refuses("exceeds axis 1");
}

Test(verify, refuses_slices_before_the_beginning)
{
    reshaped(g, TGI_OP_SLICE, x, shape_of(g, 2, 3),
             ATTR(tgi_attr_slice, {0, 0}, {-1, 1}));
    refuses("exceeds axis 0");
}

Test(verify, refuses_slices_that_would_overflow)
{
    reshaped(g, TGI_OP_SLICE, x, shape_of(g, 2, INT64_MAX),
             ATTR(tgi_attr_slice, {0, 1}, {1, INT64_MAX}));
    refuses("exceeds axis 1");
}

Test(verify, refuses_steps_of_nothing)
{
    reshaped(g, TGI_OP_SLICE, x, s, ATTR(tgi_attr_slice, {0, 0}, {1, 0}));
    refuses("the step of axis 1 is 0");
}

Test(verify, accepts_padding_around_and_between)
{
    tgi_ref zero = number(g, TG_F32, 0);
    add_node(g, TGI_OP_PAD, TG_F32, shape_of(g, 2, 10), INPUTS(x, zero),
             ATTR(tgi_attr_pad, {0, 1}, {0, 2}, {0, 2}));
    accepts();
}

Test(verify, refuses_padding_of_the_wrong_extent)
{
    tgi_ref zero = number(g, TG_F32, 0);
    add_node(g, TGI_OP_PAD, TG_F32, shape_of(g, 2, 4), INPUTS(x, zero),
             ATTR(tgi_attr_pad, {0, 1}, {0, 2}, {0, 0}));
    refuses("axis 1 has the wrong extent");
}

Test(verify, refuses_padding_that_is_no_scalar)
{
    add_node(g, TGI_OP_PAD, TG_F32, s, INPUTS(x, x),
             ATTR(tgi_attr_pad, {0}, {0}, {0}));
    refuses("the padding is not a scalar");
}

Test(verify, refuses_parts_that_do_not_add_up)
{
    add_node(g, TGI_OP_CONCAT, TG_F32, shape_of(g, 5, 3), INPUTS(x, x),
             ATTR(tgi_attr_index, 0));
    refuses("the extents of its inputs do not add up");
}

Test(verify, refuses_parts_of_another_extent)
{
    tgi_ref y = param(g, TG_F32, shape_of(g, 2, 4));
    add_node(g, TGI_OP_CONCAT, TG_F32, shape_of(g, 4, 3), INPUTS(x, y),
             ATTR(tgi_attr_index, 0));
    refuses("input 1 has a different extent");
}

Test(verify, refuses_a_concat_of_nothing)
{
    add_node(g, TGI_OP_CONCAT, TG_F32, s, NULL, ATTR(tgi_attr_index, 0));
    refuses("has no inputs");
}

Test(verify, refuses_float_indices)
{
    tgi_ref i = param(g, TG_F32, shape_of(g, 4));
    add_node(g, TGI_OP_GATHER, TG_F32, shape_of(g, 2, 4), INPUTS(x, i),
             ATTR(tgi_attr_gather, 1, TG_GATHER_CHECK));
    refuses("the indices are not integers");
}

Test(verify, refuses_unknown_gather_modes)
{
    tgi_ref i = param(g, TG_I32, shape_of(g, 4));
    add_node(g, TGI_OP_GATHER, TG_F32, shape_of(g, 2, 4), INPUTS(x, i),
             ATTR(tgi_attr_gather, 1, 3));
    refuses("has invalid mode 3");
}

Test(verify, refuses_gathers_of_another_shape)
{
    tgi_ref i = param(g, TG_I32, shape_of(g, 4));
    add_node(g, TGI_OP_GATHER, TG_F32, shape_of(g, 4, 2), INPUTS(x, i),
             ATTR(tgi_attr_gather, 1, TG_GATHER_ZERO));
    refuses("the shape does not follow");
}

Test(verify, refuses_starts_that_are_no_integer_scalars)
{
    tgi_ref i = param(g, TG_I32, shape_of(g, 1));
    add_node(g, TGI_OP_DYNAMIC_SLICE, TG_F32, shape_of(g, 2, 1), INPUTS(x, i),
             ATTR(tgi_attr_index, 1));
    refuses("the start is not an integer scalar");
}

Test(verify, refuses_dynamic_slices_larger_than_the_axis)
{
    tgi_ref i = param(g, TG_I32, scalar_shape(g));
    add_node(g, TGI_OP_DYNAMIC_SLICE, TG_F32, shape_of(g, 2, 4), INPUTS(x, i),
             ATTR(tgi_attr_index, 1));
    refuses("axis 1 does not match");
}

Test(verify, refuses_dynamic_slices_of_another_shape)
{
    tgi_ref i = param(g, TG_I32, scalar_shape(g));
    add_node(g, TGI_OP_DYNAMIC_SLICE, TG_F32, shape_of(g, 1, 2), INPUTS(x, i),
             ATTR(tgi_attr_index, 1));
    refuses("axis 0 does not match");
}

Test(verify, refuses_updates_of_another_shape)
{
    tgi_ref i = param(g, TG_I32, scalar_shape(g));
    tgi_ref y = param(g, TG_F32, shape_of(g, 1, 3));
    add_node(g, TGI_OP_DYNAMIC_UPDATE, TG_F32, s, INPUTS(x, y, i),
             ATTR(tgi_attr_index, 1));
    refuses("axis 0 does not match");
}

Test(verify, refuses_updates_of_another_type)
{
    tgi_ref i = param(g, TG_I32, scalar_shape(g));
    tgi_ref y = param(g, TG_F64, shape_of(g, 2, 1));
    add_node(g, TGI_OP_DYNAMIC_UPDATE, TG_F32, s, INPUTS(x, y, i),
             ATTR(tgi_attr_index, 1));
    refuses("input 1");
}

Test(verify, refuses_updates_that_change_the_shape)
{
    tgi_ref i = param(g, TG_I32, scalar_shape(g));
    add_node(g, TGI_OP_DYNAMIC_UPDATE, TG_F32, shape_of(g, 2, 4),
             INPUTS(x, x, i), ATTR(tgi_attr_index, 1));
    refuses("the shape does not follow");
}

/* A SCATTER of rows of `y` into `x`, f32[2,3]. */
static void scatter(tgi_shape_ref of_y, int64_t mode, int64_t range)
{
    tgi_ref i = param(g, TG_I32, shape_of(g, 4));
    tgi_ref y = param(g, TG_F32, of_y);
    add_node(g, TGI_OP_SCATTER, TG_F32, s, INPUTS(x, i, y),
             ATTR(tgi_attr_scatter, 0, mode, range));
}

Test(verify, refuses_unknown_scatter_modes)
{
    scatter(shape_of(g, 4, 3), 5, TG_SCATTER_CHECK);
    refuses("has invalid mode 5 or range 0");
}

Test(verify, refuses_unknown_scatter_ranges)
{
    scatter(shape_of(g, 4, 3), TG_SCATTER_ADD, 2);
    refuses("has invalid mode 1 or range 2");
}

Test(verify, refuses_updates_that_do_not_fit)
{
    scatter(shape_of(g, 3, 4), TG_SCATTER_ADD, TG_SCATTER_DROP);
    refuses("the updates have the wrong shape");
}

Test(verify, refuses_bitcasts_to_another_size)
{
    add_node(g, TGI_OP_BITCAST, TG_F64, s, INPUTS(x), NO_ATTR);
    refuses("is of a dtype with other bits");
}

Test(verify, refuses_bitcasts_to_bool)
{
    tgi_ref byte = param(g, TG_U8, s);
    add_node(g, TGI_OP_BITCAST, TG_BOOL, s, INPUTS(byte), NO_ATTR);
    refuses("is of a dtype with other bits");
}

Test(verify, refuses_sums_of_bools)
{
    tgi_ref i = param(g, TG_I32, shape_of(g, 4));
    tgi_ref y = param(g, TG_BOOL, shape_of(g, 4, 3));
    tgi_ref to = param(g, TG_BOOL, s);
    add_node(g, TGI_OP_SCATTER, TG_BOOL, s, INPUTS(to, i, y),
             ATTR(tgi_attr_scatter, 0, TG_SCATTER_ADD, TG_SCATTER_DROP));
    refuses("combines bools");
}

Test(verify, refuses_scattered_updates_of_another_type)
{
    tgi_ref i = param(g, TG_I32, shape_of(g, 4));
    tgi_ref y = param(g, TG_F64, shape_of(g, 4, 3));
    add_node(g, TGI_OP_SCATTER, TG_F32, s, INPUTS(x, i, y),
             ATTR(tgi_attr_scatter, 0, TG_SCATTER_SET, TG_SCATTER_DROP));
    refuses("input 2 has a different dtype");
}

Test(verify, refuses_reduced_axes_that_do_not_exist)
{
    reshaped(g, TGI_OP_SUM, x, scalar_shape(g), ATTR(tgi_attr_axes, 7));
    refuses("reduces axes it does not have");
}

Test(verify, refuses_reductions_that_keep_a_reduced_axis)
{
    reshaped(g, TGI_OP_SUM, x, shape_of(g, 2), ATTR(tgi_attr_axes, 1));
    refuses("the shape does not follow");
}

Test(verify, refuses_positions_that_are_not_i64)
{
    add_node(g, TGI_OP_ARGMAX, TG_I32, shape_of(g, 2), INPUTS(x),
             ATTR(tgi_attr_index, 1));
    refuses("has dtype i32");
}

Test(verify, accepts_products_batched_and_transposed)
{
    tgi_ref y = param(g, TG_F32, shape_of(g, 5, 1, 3, 2));
    tgi_ref z = param(g, TG_F32, shape_of(g, 4, 2, 3));
    add_node(g, TGI_OP_MATMUL, TG_F32, shape_of(g, 5, 4, 3, 3), INPUTS(y, z),
             ATTR(tgi_attr_matmul, 0));
    add_node(g, TGI_OP_MATMUL, TG_F32, shape_of(g, 2, 2), INPUTS(x, x),
             ATTR(tgi_attr_matmul, TG_TRANSPOSE_B));
    accepts();
}

Test(verify, refuses_products_whose_inner_extents_differ)
{
    add_node(g, TGI_OP_MATMUL, TG_F32, shape_of(g, 2, 3), INPUTS(x, x),
             ATTR(tgi_attr_matmul, 0));
    refuses("inner extents differ");
}

Test(verify, refuses_products_of_another_shape)
{
    add_node(g, TGI_OP_MATMUL, TG_F32, shape_of(g, 3, 3), INPUTS(x, x),
             ATTR(tgi_attr_matmul, TG_TRANSPOSE_B));
    refuses("outer extents do not match");
}

Test(verify, refuses_products_of_vectors)
{
    tgi_ref y = param(g, TG_F32, shape_of(g, 3));
    add_node(g, TGI_OP_MATMUL, TG_F32, shape_of(g, 2), INPUTS(x, y),
             ATTR(tgi_attr_matmul, 0));
    refuses("an operand is not a matrix");
}

/* -- Windows and convolutions ---------------------------------------------- */

/* Windows of 3 elements, 2 apart, along axis 1 of [2, 9]. */
static void windows(tgi_shape_ref shape, tgi_attr_window attr)
{
    reshaped(g, TGI_OP_WINDOW, param(g, TG_F32, shape_of(g, 2, 9)), shape,
             &attr, sizeof(attr));
}

Test(verify, accepts_windows_that_fit)
{
    windows(shape_of(g, 2, 3, 3), (tgi_attr_window){{0, 3}, {0, 2}, {0, 2}});
    windows(shape_of(g, 1, 4, 2, 3), (tgi_attr_window){{2, 3}, {5, 2}, {1, 1}});
    accepts();
}

Test(verify, refuses_windows_beyond_their_axis)
{
    windows(shape_of(g, 2, 4, 3), (tgi_attr_window){{0, 3}, {0, 2}, {0, 2}});
    refuses("windows exceed axis 1");
}

Test(verify, refuses_windows_of_no_distance)
{
    windows(shape_of(g, 2, 3, 3), (tgi_attr_window){{0, 3}, {0, 0}, {0, 2}});
    refuses("axis 1 has stride 0, dilation 2");
}

Test(verify, refuses_strides_without_windows)
{
    windows(shape_of(g, 2, 3, 3), (tgi_attr_window){{0, 3}, {1, 2}, {0, 2}});
    refuses("axis 0 has no windows");
}

Test(verify, refuses_windows_of_axes_that_do_not_exist)
{
    windows(shape_of(g, 2, 9, 3),
            (tgi_attr_window){{0, 0, 3}, {0, 0, 1}, {0, 0, 1}});
    refuses("axis 2 has no windows");
}

Test(verify, refuses_windows_of_another_size)
{
    windows(shape_of(g, 2, 3, 4), (tgi_attr_window){{0, 3}, {0, 2}, {0, 2}});
    refuses("the windows of axis 1 differ");
}

Test(verify, refuses_windows_that_change_another_axis)
{
    windows(shape_of(g, 1, 3, 3), (tgi_attr_window){{0, 3}, {0, 2}, {0, 2}});
    refuses("axis 0 changes");
}

/* [2, 9, 4] by filters `w`. */
static void convolve(tgi_shape_ref w, tgi_shape_ref shape, tgi_attr_conv attr)
{
    const tgi_ref image = param(g, TG_F32, shape_of(g, 2, 9, 4));
    add_node(g, TGI_OP_CONV, TG_F32, shape, INPUTS(image, param(g, TG_F32, w)),
             &attr, sizeof(attr));
}

Test(verify, accepts_convolutions_with_and_without_batch_axes)
{
    convolve(shape_of(g, 3, 4, 5), shape_of(g, 2, 3, 5),
             (tgi_attr_conv){0, {2}, {2}});
    convolve(shape_of(g, 2, 4, 5), shape_of(g, 2, 9, 5), (tgi_attr_conv){.n_batch = 1});
    accepts();
}

Test(verify, refuses_convolutions_beyond_the_operand)
{
    convolve(shape_of(g, 3, 4, 5), shape_of(g, 2, 4, 5),
             (tgi_attr_conv){0, {2}, {2}});
    refuses("windows exceed axis 0");
}

Test(verify, refuses_convolutions_of_other_channels)
{
    convolve(shape_of(g, 3, 2, 5), shape_of(g, 2, 7, 5),
             (tgi_attr_conv){0, {1}, {1}});
    refuses("channels differ");
}

Test(verify, refuses_convolutions_of_other_examples_or_filters)
{
    convolve(shape_of(g, 3, 4, 5), shape_of(g, 2, 7, 6),
             (tgi_attr_conv){0, {1}, {1}});
    refuses("outer extents do not match");
}

Test(verify, refuses_convolutions_of_other_batch_axes)
{
    convolve(shape_of(g, 3, 4, 5), shape_of(g, 2, 9, 5), (tgi_attr_conv){.n_batch = 1});
    refuses("batch axis 0 does not match");
}

Test(verify, refuses_convolutions_of_invalid_ranks)
{
    convolve(shape_of(g, 3, 4, 5), shape_of(g, 2, 9, 5), (tgi_attr_conv){.n_batch = 2});
    refuses("has invalid ranks");
}

Test(verify, refuses_strides_of_spatial_axes_that_do_not_exist)
{
    convolve(shape_of(g, 3, 4, 5), shape_of(g, 2, 7, 5),
             (tgi_attr_conv){0, {1, 1}, {1}});
    refuses("spatial axis 1 does not exist");
}

Test(verify, refuses_random_keys_that_are_no_u64_scalars)
{
    tgi_ref key = param(g, TG_I64, scalar_shape(g));
    add_node(g, TGI_OP_RANDOM_BITS, TG_U32, s, INPUTS(key, key), NO_ATTR);
    refuses("input 0 is not a u64 scalar");
}

/* -- State ----------------------------------------------------------------- */

Test(verify, accepts_reads_that_see_the_last_write)
{
    tgi_ref before = read_variable(g, v, 0);
    tgi_ref write = assign(g, v, before);
    tgi_ref after = read_variable(g, v, write);
    write = assign(g, v, after);
    tgi_graph_add_result(g, read_variable(g, v, write));
    accepts();
}

Test(verify, refuses_reads_that_miss_a_write)
{
    assign(g, v, x);
    read_variable(g, v, 0);
    refuses("%4 read: sees write %0, but the last is %3");
}

Test(verify, refuses_reads_that_see_an_older_write)
{
    tgi_ref write = assign(g, v, x);
    assign(g, v, x);
    read_variable(g, v, write);
    refuses("sees write %3, but the last is %4");
}

Test(verify, refuses_reads_of_other_nodes_than_variables)
{
    add_node(g, TGI_OP_READ, TG_F32, s, INPUTS(x), NO_ATTR);
    refuses("input 0 is not a variable");
}

Test(verify, refuses_to_assign_another_type)
{
    assign(g, v, param(g, TG_F32, shape_of(g, 3)));
    refuses("differs in type from its variable");
}

Test(verify, refuses_to_assign_a_variable_itself)
{
    tgi_ref other = variable(g, TG_F32, s);
    assign(g, v, other);
    refuses("input 1 has no value");
}

Test(verify, refuses_formats_that_do_not_end)
{
    add_node(g, TGI_OP_PRINT, TG_DTYPE_NONE, 0, INPUTS(x), "abc", 3);
    refuses("its format is not NUL-terminated");
}

Test(verify, refuses_messages_that_do_not_end)
{
    add_node(g, TGI_OP_FAIL, TG_DTYPE_NONE, 0, INPUTS(x), "abc", 3);
    refuses("its format is not NUL-terminated");
}

static tg_status do_nothing(const tg_host_buffer *in, size_t n_in,
                            const tg_host_buffer *out, size_t n_out,
                            void *user)
{
    (void)in, (void)n_in, (void)out, (void)n_out, (void)user;
    return TG_OK;
}

/* A host call with one output of shape `s`. */
typedef union host_attr {
    tgi_attr_host attr;
    char bytes[sizeof(tgi_attr_host) + sizeof(tgi_host_output)];
} host_attr;

static tgi_ref add_host(tg_host_function *function, tg_dtype dtype,
                        size_t bytes)
{
    host_attr a;
    memset(&a, 0, sizeof(a));
    a.attr.function = function;
    a.attr.n_outputs = 1;
    a.attr.outputs[0] = (tgi_host_output){dtype, s};
    return add_node(g, TGI_OP_HOST, TG_DTYPE_NONE, 0, INPUTS(x), &a, bytes);
}

Test(verify, accepts_host_calls)
{
    tgi_ref call = add_host(do_nothing, TG_F32, sizeof(host_attr));
    result(g, call, TG_F32, s, 0);
    accepts();
}

Test(verify, refuses_host_calls_of_nothing)
{
    add_host(NULL, TG_F32, sizeof(host_attr));
    refuses("has no function");
}

Test(verify, refuses_host_calls_with_outputs_of_no_type)
{
    add_host(do_nothing, TG_DTYPE_NONE, sizeof(host_attr));
    refuses("output 0 has no type");
}

Test(verify, refuses_host_calls_with_too_few_outputs)
{
    add_host(do_nothing, TG_F32, sizeof(tgi_attr_host));
    refuses("bytes of attribute");
}

Test(verify, refuses_results_that_a_host_call_does_not_have)
{
    tgi_ref call = add_host(do_nothing, TG_F32, sizeof(host_attr));
    result(g, call, TG_F32, s, 1);
    refuses("the host call has no output 1");
}

Test(verify, refuses_results_of_another_type_than_an_output)
{
    tgi_ref call = add_host(do_nothing, TG_F32, sizeof(host_attr));
    result(g, call, TG_F64, s, 0);
    refuses("differs in type from the output");
}

Test(verify, refuses_wrong_notes)
{
    assign(g, v, x);
    g->params.data[1].is_written = false;
    refuses("wrong is_read or is_written of parameter 1");
    g->params.data[1].is_written = true;
    g->has_effects = false;
    refuses("wrong has_effects");
    g->has_effects = true;
    accepts();
}

/* -- Regions --------------------------------------------------------------- */

/* Takes a variable, which it sets, and a value, which it returns. */
static tgi_graph *make_callee(void)
{
    tgi_graph *callee = tgi_graph_create("callee", NULL);
    tgi_shape_ref t = shape_of(callee, 2, 3);
    tgi_ref a = variable(callee, TG_F32, t), b = param(callee, TG_F32, t);
    assign(callee, a, b);
    tgi_graph_add_result(callee, b);
    return callee;
}

static tgi_ref call_it(const tgi_ref *inputs)
{
    tgi_graph *callee = make_callee();
    tgi_ref ref = call(g, callee, inputs);
    tgi_graph_release(callee);
    return ref;
}

Test(verify, accepts_calls_and_reads_after_them)
{
    tgi_ref c = call_it(INPUTS(v, x));
    tgi_graph_add_result(g, result(g, c, TG_F32, s, 0));
    tgi_graph_add_result(g, read_variable(g, v, c));
    accepts();
}

Test(verify, refuses_reads_that_miss_the_write_of_a_call)
{
    call_it(INPUTS(v, x));
    read_variable(g, v, 0);
    refuses("sees write %0, but the last is %3");
}

Test(verify, refuses_calls_with_too_few_inputs)
{
    call_it(INPUTS(v));
    refuses("has 1 inputs for 2 parameters");
}

Test(verify, refuses_calls_with_a_value_for_a_variable)
{
    call_it(INPUTS(x, x));
    refuses("input 0 is not a variable");
}

Test(verify, refuses_calls_with_another_type)
{
    tgi_ref y = param(g, TG_F64, s);
    call_it(INPUTS(v, y));
    refuses("input 1 does not match its parameter");
}

Test(verify, refuses_results_the_callee_does_not_have)
{
    result(g, call_it(INPUTS(v, x)), TG_F32, s, 1);
    refuses("the callee has no result 1");
}

Test(verify, refuses_results_of_another_type)
{
    result(g, call_it(INPUTS(v, x)), TG_F64, s, 0);
    refuses("differs in type from the callee's result");
}

Test(verify, refuses_results_of_other_nodes_than_calls)
{
    result(g, x, TG_F32, s, 0);
    refuses("its input has no results");
}

Test(verify, refuses_a_written_variable_under_two_names)
{
    tgi_graph *callee = tgi_graph_create("callee", NULL);
    tgi_shape_ref t = shape_of(callee, 2, 3);
    tgi_ref a = variable(callee, TG_F32, t), b = variable(callee, TG_F32, t);
    assign(callee, a, read_variable(callee, b, 0));
    call(g, callee, INPUTS(v, v));
    tgi_graph_release(callee);
    refuses("writes a variable that is passed twice");
}

Test(verify, refuses_the_call_itself_as_a_value)
{
    tgi_ref c = call_it(INPUTS(v, x));
    add_node(g, TGI_OP_NEG, TG_F32, s, INPUTS(c), NO_ATTR);
    refuses("input 0 has no value");
}

/* -- Results and checks ---------------------------------------------------- */

Test(verify, refuses_results_without_value)
{
    tgi_graph_add_result(g, v);
    refuses("result 0 has no value");
}

Test(verify, refuses_results_out_of_range)
{
    tgi_graph_add_result(g, 17);
    refuses("result 0 has no value");
}

Test(verify, refuses_incomplete_checks)
{
    tgi_graph_add_check(g, (tgi_check){.kind = 9, .what = "x"});
    refuses("check 0 is incomplete");
}

Test(verify, running_out_of_memory_is_no_broken_graph)
{
    tgi_alloc_inject_failure(0, 1);
    tg_status status = tgi_graph_verify(g);
    tgi_alloc_inject_failure(-1, 0);
    cr_assert_eq(status, TG_ERROR_OUT_OF_MEMORY);
}
