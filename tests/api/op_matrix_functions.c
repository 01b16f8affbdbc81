/* SPDX-License-Identifier: MIT */
/*
 * op_matrix_functions.c - see op_matrix_functions.h.
 */
#include "api/op_matrix_functions.h"

#define INT(key) ((int)attribute(c, key))
#define LONG(key) attribute(c, key)
#define APPLY(function, ...) \
    static tg_value do_##function(const op_case *c, const tg_operand *in) \
    { \
        (void)c, (void)in; \
        return __VA_ARGS__; \
    }

/* -- Shapes ---------------------------------------------------------------- */

APPLY(flatten, tg_flatten_at(in[0], INT("first"), INT("last"), TG_HERE))
APPLY(squeeze, tg_squeeze_at(in[0], axes_of(c), TG_HERE))
APPLY(expand_dims, tg_expand_dims_at(in[0], INT("axis"), TG_HERE))
APPLY(reverse, tg_reverse_at(in[0], axes_of(c), TG_HERE))
APPLY(repeat, tg_repeat_at(in[0], LONG("repeats"), INT("axis"), TG_HERE))
APPLY(reverse_sequence, tg_reverse_sequence_at(in[0], in[1], INT("batch"),
                                               INT("sequence"), TG_HERE))
APPLY(pad_from, tg_pad_from_at(in[0], INT("axis"), LONG("low"), LONG("high"),
                               (tg_pad_kind)INT("kind"), TG_HERE))
APPLY(depth_to_space, tg_depth_to_space_at(in[0], LONG("block"),
                                           (unsigned)INT("flags"), TG_HERE))
APPLY(space_to_depth, tg_space_to_depth_at(in[0], LONG("block"),
                                           (unsigned)INT("flags"), TG_HERE))
APPLY(tril, tg_tril_at(in[0], LONG("diagonal"), TG_HERE))
APPLY(triu, tg_triu_at(in[0], LONG("diagonal"), TG_HERE))
APPLY(arange, tg_arange(c->out[0].dtype, (double)LONG("start"),
                        (double)LONG("stop"), (double)LONG("step")))
APPLY(linspace, tg_linspace_at(in[0], in[1], LONG("n"), TG_HERE))

static tg_value do_eye(const op_case *c, const tg_operand *in)
{
    int64_t sides[MAX_NUMBERS];
    (void)in;
    attribute_list(c, "dims", sides);
    return tg_eye(c->out[0].dtype, sides[0], sides[1], LONG("diagonal"));
}

static tg_value do_triangle(const op_case *c, const tg_operand *in)
{
    int64_t sides[MAX_NUMBERS];
    (void)in;
    attribute_list(c, "dims", sides);
    return tg_triangle(sides[0], sides[1], LONG("diagonal"));
}

static tg_value do_tile(const op_case *c, const tg_operand *in)
{
    int64_t repeats[MAX_NUMBERS];
    const int n = attribute_list(c, "repeats", repeats);
    return tg_tile_at(in[0], n, repeats, TG_HERE);
}

static tg_value do_pad_from_axes(const op_case *c, const tg_operand *in)
{
    int64_t low[MAX_NUMBERS], high[MAX_NUMBERS];
    const int n_low = attribute_list(c, "low", low);
    const int n_high = attribute_list(c, "high", high);
    return tg_pad_from_axes_at(in[0], n_low, low, n_high, high,
                               (tg_pad_kind)INT("kind"), TG_HERE);
}

static tg_value do_split(const op_case *c, const tg_operand *in)
{
    tg_value parts[MAX_NUMBERS];
    tg_split_at(in[0], INT("axis"), (size_t)INT("n"), NULL, parts, TG_HERE);
    return parts[INT("part")];
}

static tg_value do_split_sizes(const op_case *c, const tg_operand *in)
{
    tg_value parts[MAX_NUMBERS];
    int64_t sizes[MAX_NUMBERS];
    const int n = attribute_list(c, "sizes", sizes);
    tg_split_at(in[0], INT("axis"), (size_t)n, sizes, parts, TG_HERE);
    return parts[INT("part")];
}

/* -- Indices --------------------------------------------------------------- */

#define GATHER_MODE ((tg_gather_mode)INT("mode"))
#define SCATTER_MODE ((tg_scatter_mode)INT("mode"))
#define SCATTER_RANGE ((tg_scatter_range)INT("range"))

APPLY(gather_nd,
      tg_gather_nd_at(in[0], in[1], INT("batch"), GATHER_MODE, TG_HERE))
APPLY(take_along_axis,
      tg_take_along_axis_at(in[0], in[1], INT("axis"), GATHER_MODE, TG_HERE))
APPLY(scatter_nd, tg_scatter_nd_at(in[0], in[1], in[2], SCATTER_MODE,
                                   SCATTER_RANGE, TG_HERE))
APPLY(put_along_axis,
      tg_put_along_axis_at(in[0], in[1], in[2], INT("axis"), SCATTER_MODE,
                           SCATTER_RANGE, TG_HERE))
APPLY(count_nonzero, tg_count_nonzero_at(in[0], axes_of(c), TG_HERE))
APPLY(nonzero, tg_nonzero_at(in[0], LONG("max"), TG_HERE))
APPLY(compress, tg_compress_at(in[0], in[1], INT("axis"), LONG("max"), TG_HERE))

/* -- Images ---------------------------------------------------------------- */

static tg_value do_resize(const op_case *c, const tg_operand *in)
{
    int64_t sizes[MAX_NUMBERS];
    const int n = attribute_list(c, "sizes", sizes);
    const tg_resize_options options = {
        .struct_bytes = sizeof(options),
        .mode = (tg_resize_mode)INT("mode"),
        .position = (tg_resize_position)INT("position"),
        .nearest = (tg_nearest)INT("nearest"),
        .excludes_outside = attribute_or_0(c, "excludes") != 0,
        .crop_start = {0.25, 0.25},
        .crop_end = {0.5, 0.5}};
    return tg_resize_at(in[0], axes_of(c), n, sizes, &options, TG_HERE);
}

static tg_value do_grid_sample(const op_case *c, const tg_operand *in)
{
    const tg_sample_options options = {.struct_bytes = sizeof(options),
                                       .mode = (tg_resize_mode)INT("mode"),
                                       .outside =
                                           (tg_sample_outside)INT("outside"),
                                       .aligns_corners = INT("aligns") != 0};
    return tg_grid_sample_at(in[0], in[1], &options, TG_HERE);
}

/* -- Order and reductions -------------------------------------------------- */

#define SORT_FLAGS ((unsigned)INT("flags"))

APPLY(sort, tg_sort_at(in[0], INT("axis"), SORT_FLAGS, TG_HERE))
APPLY(argsort, tg_argsort_at(in[0], INT("axis"), SORT_FLAGS, TG_HERE))
APPLY(top_k,
      tg_top_k_at(in[0], LONG("k"), INT("axis"), SORT_FLAGS, NULL, TG_HERE))
APPLY(unique_values, tg_unique_at(in[0], LONG("max"), TG_HERE).values)
APPLY(unique_counts, tg_unique_at(in[0], LONG("max"), TG_HERE).counts)
APPLY(unique_indices, tg_unique_at(in[0], LONG("max"), TG_HERE).indices)
APPLY(unique_inverse, tg_unique_at(in[0], LONG("max"), TG_HERE).inverse)
APPLY(unique_n, tg_unique_at(in[0], LONG("max"), TG_HERE).n)
APPLY(quantile, tg_quantile_at(in[0], (double)LONG("percent") / 100, axes_of(c),
                               (tg_quantile_mode)INT("mode"), TG_HERE))
APPLY(median, tg_median_at(in[0], axes_of(c), TG_HERE))
APPLY(logsumexp, tg_logsumexp_at(in[0], axes_of(c), TG_HERE))
APPLY(norm_l1, tg_norm_l1_at(in[0], axes_of(c), TG_HERE))
APPLY(norm_l2, tg_norm_l2_at(in[0], axes_of(c), TG_HERE))
APPLY(sum_square, tg_sum_square_at(in[0], axes_of(c), TG_HERE))
APPLY(argmax_axes,
      tg_argmax_axes_at(in[0], axes_of(c), (tg_arg_select)INT("last"), TG_HERE))
APPLY(argmin_axes,
      tg_argmin_axes_at(in[0], axes_of(c), (tg_arg_select)INT("last"), TG_HERE))

static tg_value do_top_k_indices(const op_case *c, const tg_operand *in)
{
    tg_value indices;
    tg_top_k_at(in[0], LONG("k"), INT("axis"), SORT_FLAGS, &indices, TG_HERE);
    return indices;
}

/* -- Networks -------------------------------------------------------------- */

#define LAYOUT ((tg_layout)INT("layout"))

APPLY(gemm, tg_gemm_at(in[0], in[1], in[2], 0.5, 2, INT("flags"), TG_HERE))
APPLY(rms_norm, tg_rms_norm_at(in[0], in[1], 1e-5, TG_HERE))
APPLY(group_norm, tg_group_norm_at(in[0], in[1], in[2], LONG("groups"), 1e-3,
                                   LAYOUT, TG_HERE))
APPLY(instance_norm,
      tg_instance_norm_at(in[0], in[1], in[2], 1e-3, LAYOUT, TG_HERE))
APPLY(local_response_norm, tg_local_response_norm_at(in[0], LONG("size"), 0.5,
                                                     0.75, 2, LAYOUT, TG_HERE))

static tg_value do_attention(const op_case *c, const tg_operand *in)
{
    const tg_attention_options options = {.struct_bytes = sizeof(options),
                                          .is_causal = INT("causal") != 0,
                                          .first_query = LONG("first")};
    return tg_dot_product_attention_at(
        in[0], in[1], in[2], c->n_in > 3 ? &in[3] : NULL, &options, TG_HERE);
}

static tg_value do_class_loss(const op_case *c, const tg_operand *in)
{
    const tg_class_loss_options options = {
        .struct_bytes = sizeof(options),
        .reduction = (tg_loss_reduction)INT("reduction"),
        .ignores_label = INT("ignores") != 0,
        .ignored_label = 3,
        .takes_log_probabilities = INT("logs") != 0};
    return tg_class_loss_at(in[0], in[1], c->n_in > 2 ? &in[2] : NULL, &options,
                            TG_HERE);
}

/* -------------------------------------------------------------------------- */

const named_function matrix_functions[] = {
#define ROW(name) {#name, do_##name}
    ROW(flatten),
    ROW(squeeze),
    ROW(expand_dims),
    ROW(reverse),
    ROW(reverse_sequence),
    ROW(repeat),
    ROW(tile),
    ROW(split),
    ROW(split_sizes),
    ROW(pad_from),
    ROW(pad_from_axes),
    ROW(depth_to_space),
    ROW(space_to_depth),
    ROW(tril),
    ROW(triu),
    ROW(eye),
    ROW(triangle),
    ROW(arange),
    ROW(linspace),
    ROW(gather_nd),
    ROW(take_along_axis),
    ROW(scatter_nd),
    ROW(put_along_axis),
    ROW(count_nonzero),
    ROW(nonzero),
    ROW(compress),
    ROW(resize),
    ROW(grid_sample),
    ROW(sort),
    ROW(argsort),
    ROW(top_k),
    ROW(top_k_indices),
    ROW(unique_values),
    ROW(unique_counts),
    ROW(unique_indices),
    ROW(unique_inverse),
    ROW(unique_n),
    ROW(quantile),
    ROW(median),
    ROW(logsumexp),
    ROW(norm_l1),
    ROW(norm_l2),
    ROW(sum_square),
    ROW(argmax_axes),
    ROW(argmin_axes),
    ROW(gemm),
    ROW(rms_norm),
    ROW(group_norm),
    ROW(instance_norm),
    ROW(local_response_norm),
    ROW(attention),
    ROW(class_loss),
    {NULL, NULL},
};
