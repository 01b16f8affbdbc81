/* SPDX-License-Identifier: MIT */
/*
 * gradient_formulas_functions.c - functions composed of operations. See
 * gradient_formulas.h.
 */
#include "api/gradient_formulas.h"

/* The sum of a value and `times` another one. */
static tg_value add_times(tg_value sum, double times, tg_value x)
{
    return tg_add(sum, tg_mul(times, x));
}

/* -- Elementwise ----------------------------------------------------------- */

static tg_value smooth_activations(const tg_value *in)
{
    const tg_value x = in[0];
    const tg_value y = tg_mul(tg_gelu_tanh(x), tg_softsign(x));
    return tg_add(tg_add(tg_mish(x), y), tg_log_sigmoid(x));
}

static tg_value exponential_units(const tg_value *in)
{
    const tg_value x = in[0];
    return add_times(add_times(tg_elu(x, 1.5), 2, tg_celu(x, 0.75)), 3,
                     tg_selu(x));
}

static tg_value linear_units(const tg_value *in)
{
    const tg_value x = in[0], slope = in[1];
    const tg_value y = tg_add(tg_leaky_relu(x, 0.25), tg_prelu(x, slope));
    return add_times(add_times(y, 2, tg_relu6(x)), 3, tg_hard_swish(x));
}

static tg_value hard_units(const tg_value *in)
{
    const tg_value x = in[0];
    tg_value y = tg_hard_sigmoid(x, 1.0 / 6, 0.5);
    y = add_times(y, 2, tg_thresholded_relu(x, 1));
    y = add_times(y, 3, tg_shrink(x, 0.75, 0.75));
    return add_times(y, 5, tg_shrink(x, 0.5, 0));
}

static tg_value remainders(const tg_value *in)
{
    const tg_value x = in[0], y = in[1];
    const tg_value z = add_times(tg_floormod(x, y), 2, tg_fmod(x, y));
    return tg_add(z, tg_mul(tg_floordiv(x, y), x));
}

static tg_value signs_copied(const tg_value *in)
{
    const tg_value x = in[0], y = in[1];
    return tg_add(tg_mul(tg_copysign(x, y), y), tg_reciprocal(y));
}

/* -- Shapes ---------------------------------------------------------------- */

static tg_value repeated(const tg_value *in)
{
    const tg_value y = tg_tile(in[0], TG_DIMS(1, 2, 1));
    const tg_value z = tg_repeat(in[0], 2, 2);
    return tg_mul(tg_square(tg_flatten(y, 0, -1)),
                  tg_reverse(tg_flatten(z, 0, -1), TG_ALL_AXES));
}

static tg_value split_parts(const tg_value *in)
{
    tg_value a[3], d[2];
    tg_split(in[0], 1, a, 3);
    tg_split_sizes(in[0], 1, ((const int64_t[]){1, 5}), d, 2);
    const tg_value e = tg_slice(d[1], 1, 0, 1, 1);
    const tg_value y = tg_sub(tg_mul(a[0], a[1]), tg_mul(a[2], in[1]));
    return tg_mul(tg_flatten(y, 0, 1), tg_flatten(tg_concat(1, d[0], e), 0, 1));
}

static tg_value padded_from_itself(const tg_value *in)
{
    const tg_value y = tg_pad_from(in[0], 1, 2, 3, TG_PAD_REFLECT);
    const tg_value z = tg_pad_from(in[0], 1, 1, 4, TG_PAD_EDGE);
    const tg_value w = tg_pad_from(in[0], 1, 2, 3, TG_PAD_WRAP);
    return tg_add(tg_mul(y, z), tg_square(w));
}

static tg_value blocks_moved(const tg_value *in)
{
    const unsigned flags = TG_BLOCK_CHANNELS_FIRST | TG_BLOCK_CHANNEL_MAJOR;
    const tg_value y = tg_square(tg_depth_to_space(in[0], 2, flags));
    return tg_space_to_depth(tg_slice(y, 3, 0, 4, 1), 2, flags);
}

static tg_value triangles(const tg_value *in)
{
    return tg_matmul(tg_tril(in[0], 0), tg_triu(in[1], 1));
}

/* -- Indices --------------------------------------------------------------- */

static tg_value taken_along(const tg_value *in)
{
    return cube(tg_take_along_axis(in[0], tg_reshape(in[1], TG_DIMS(3, 2)), 1));
}

static tg_value gathered_by_pairs(const tg_value *in)
{
    return tg_square(tg_gather_nd(in[0], tg_reshape(in[1], TG_DIMS(4, 2)), 0));
}

static tg_value put(const tg_value *in, tg_scatter_mode mode)
{
    return tg_put_along_axis(in[0], tg_reshape(in[2], TG_DIMS(3, 3)), in[1], 1,
                             mode);
}

static tg_value put_sums(const tg_value *in)
{
    return tg_square(put(in, TG_SCATTER_ADD));
}

static tg_value put_products(const tg_value *in)
{
    return tg_square(put(in, TG_SCATTER_MUL));
}

static tg_value put_extremes(const tg_value *in)
{
    return tg_mul(put(in, TG_SCATTER_MAX), put(in, TG_SCATTER_MIN));
}

static tg_value put_products_of_zeros(const tg_value *in)
{
    const tg_value x = in[0], u = in[1], i = in[2];
    const tg_value is_zero = tg_cast(tg_eq(u, 0), tg_value_dtype(x));
    const tg_value none =
        tg_broadcast(tg_scalar(tg_value_dtype(x), 0), TG_DIMS(4));
    const tg_value zeros =
        tg_scatter_nd(none, tg_expand_dims(i, 1), is_zero, TG_SCATTER_ADD);
    const tg_value product =
        tg_scatter_nd(x, tg_expand_dims(i, 1), u, TG_SCATTER_MUL);
    return tg_add(tg_mul(product, 7), zeros);
}

static tg_value compressed(const tg_value *in)
{
    return tg_square(tg_compress(in[0], in[1], 0, 4));
}

/* -- Images ---------------------------------------------------------------- */

static tg_value resized_linear(const tg_value *in)
{
    return cube(tg_resize(in[0], TG_AXES(2, 3), TG_DIMS(7, 5),
                          .mode = TG_RESIZE_LINEAR));
}

static tg_value resized_cubic(const tg_value *in)
{
    return tg_square(tg_resize(in[0], TG_AXES(2, 3), TG_DIMS(6, 7),
                               .mode = TG_RESIZE_CUBIC,
                               .position = TG_POSITION_ALIGN_CORNERS));
}

static tg_value sampled_linear(const tg_value *in)
{
    return tg_square(tg_grid_sample(in[0], in[1], .mode = TG_RESIZE_LINEAR));
}

static tg_value sampled_cubic(const tg_value *in)
{
    return tg_grid_sample(in[0], in[1], .mode = TG_RESIZE_CUBIC,
                          .outside = TG_SAMPLE_BORDER, .aligns_corners = true);
}

/* -- Order and reductions -------------------------------------------------- */

static tg_value sorted_rows(const tg_value *in)
{
    return tg_mul(cube(tg_sort(in[0], 1)), in[1]);
}

static tg_value sorted_long(const tg_value *in)
{
    const tg_value y = tg_sort_with(in[0], 0, TG_SORT_DESCENDING);
    return tg_mul(tg_square(y), in[1]);
}

static tg_value largest(const tg_value *in)
{
    return cube(tg_top_k(in[0], 2, 0, NULL));
}

static tg_value quantiles(const tg_value *in)
{
    const tg_value x = in[0];
    const tg_value first = tg_flatten(tg_slice(x, 1, 0, 1, 1), 0, 1);
    return tg_add(tg_square(tg_quantile(x, 0.3, TG_AXES(1))),
                  tg_mul(tg_median(x, TG_ALL_AXES), first));
}

static tg_value norms(const tg_value *in)
{
    const tg_value x = in[0], y = in[1];
    const tg_value z =
        tg_mul(tg_norm_l1(x, TG_AXES(1)), tg_norm_l2(x, TG_AXES(1)));
    return tg_add(tg_add(tg_mul(tg_logsumexp(x, TG_AXES(1)), y), z),
                  tg_sum_square(x, TG_AXES(1)));
}

/* -- Networks -------------------------------------------------------------- */

static tg_value general_product(const tg_value *in)
{
    return tg_square(tg_gemm(in[0], in[1], in[2], 0.5, 2, TG_TRANSPOSE_B));
}

static tg_value root_mean_square(const tg_value *in)
{
    return tg_square(tg_rms_norm(in[0], in[1], 1e-3));
}

static tg_value group_normal(const tg_value *in)
{
    const tg_value x = in[0], scale = in[1], shift = in[2];
    return tg_mul(tg_group_norm(x, scale, shift, 3, 1e-3, TG_CHANNELS_FIRST),
                  tg_instance_norm(x, scale, shift, 1e-3, TG_CHANNELS_FIRST));
}

static tg_value local_response(const tg_value *in)
{
    return tg_local_response_norm(in[0], 3, 0.5, 0.75, 2, TG_CHANNELS_FIRST);
}

static tg_value attended(const tg_value *in)
{
    const tg_value q = in[0], k = in[1], v = in[2], mask = in[3];
    return tg_mul(tg_masked_dot_product_attention(q, k, v, mask),
                  tg_dot_product_attention(q, k, v, .is_causal = true));
}

static tg_value class_losses(const tg_value *in)
{
    const tg_value x = in[0], w = in[1], labels = in[2];
    const tg_value y = tg_weighted_class_loss(
        x, labels, w, .ignores_label = true, .ignored_label = 3);
    const tg_value z =
        tg_class_loss(tg_log_softmax(x, 1), labels, .reduction = TG_LOSS_NONE,
                      .takes_log_probabilities = true);
    return tg_add(tg_mul(y, z), tg_weighted_class_loss(
                                    x, labels, w, .reduction = TG_LOSS_SUM));
}

const formula functions_formulas[] = {
    FORMULA(smooth_activations),
    FORMULA(exponential_units),
    FORMULA(linear_units),
    FORMULA(hard_units),
    FORMULA(remainders),
    FORMULA(signs_copied),
    FORMULA(repeated),
    FORMULA(split_parts),
    FORMULA(padded_from_itself),
    FORMULA(blocks_moved),
    FORMULA(triangles),
    FORMULA(taken_along),
    FORMULA(gathered_by_pairs),
    FORMULA(put_sums),
    FORMULA(put_products),
    FORMULA(put_extremes),
    FORMULA(put_products_of_zeros),
    FORMULA_ROUGH(resized_linear, 4),
    FORMULA(resized_cubic),
    FORMULA_ROUGH(sampled_linear, 4),
    FORMULA_ROUGH(sampled_cubic, 4),
    FORMULA(compressed),
    FORMULA(sorted_rows),
    FORMULA(sorted_long),
    FORMULA(largest),
    FORMULA(quantiles),
    FORMULA(norms),
    FORMULA(general_product),
    FORMULA(root_mean_square),
    FORMULA(group_normal),
    FORMULA(local_response),
    FORMULA(attended),
    FORMULA(class_losses),
    FORMULAS_END,
};
