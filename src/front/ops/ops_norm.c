/* SPDX-License-Identifier: MIT */
/*
 * ops_norm.c - products, normalisation and attention of neural networks.
 */
#include "tgjit/ops_norm.h"

#include <float.h>
#include <math.h>

#include "base/versioned.h"
#include "build/build_formula.h"
#include "front/ops/ops_nn.h"
#include "front/ops/ops_spatial.h"
#include "front/trace/trace_state.h"

/* -- Products -------------------------------------------------------------- */

/* x * number; x itself for 1. */
static tgi_ref times(tgi_builder *b, tgi_ref x, double number)
{
    return number == 1 || !x ? x : MUL(x, tgi_build_number_like(b, x, number));
}

tg_value tg_gemm_at(tg_operand left, tg_operand right, tg_operand addend,
                    double alpha, double beta, int flags, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin_wide(&o, "gemm", site)) {
        tgi_builder *b = &o.b;
        tgi_ref x = tgi_operation_operand(&o, left);
        tgi_ref y = tgi_operation_operand(&o, right);
        tgi_ref c = tgi_operation_operand(&o, addend);
        tgi_ref product = times(b, tgi_build_matmul(b, x, y, flags), alpha);
        if (product && c) {
            tgi_ref in[] = {product, c};
            if (tgi_build_unify(b, in, 2))
                result = ADD(in[0], times(b, in[1], beta));
            if (result &&
                !tgi_build_same_shape(b, result, product, "the product and c"))
                result = 0;
        }
    }
    return tgi_operation_end(&o, result);
}

/* -- Normalisation --------------------------------------------------------- */

/* rsqrt(mean + epsilon) */
static tgi_ref inverse_root(tgi_builder *b, tgi_ref mean, double epsilon)
{
    return mean ? RSQRT(ADD(mean, tgi_build_number_like(b, mean, epsilon))) : 0;
}

tg_value tg_rms_norm_at(tg_operand operand, tg_operand scale, double epsilon,
                        tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin_wide(&o, "rms_norm", site)) {
        tgi_builder *b = &o.b;
        tgi_ref x =
            tgi_build_require_float(b, tgi_operation_operand(&o, operand));
        tgi_ref gain = tgi_operation_operand(&o, scale);
        const tg_axes last = tg_keep(tg_axes_of(1, &(int){-1}));
        if (x && gain && tgi_build_axis(b, x, -1) >= 0) {
            tgi_ref mean = tgi_build_mean(b, MUL(x, x), last);
            result = MUL(MUL(x, inverse_root(b, mean, epsilon)), gain);
        }
    }
    return tgi_operation_end(&o, result);
}

/* Splits the last axis, of channels, into groups: [n, …, groups, channels]. */
static tgi_ref split_channels(tgi_builder *b, tgi_ref x, int64_t n_groups)
{
    tgi_dims *table = b->graph->dims;
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    tgi_dim dims[TG_MAX_RANK + 1];
    for (int i = 0; i + 1 < shape->rank; i++)
        dims[i] = shape->dims[i];
    const tgi_dim n = shape->dims[shape->rank - 1];
    const tgi_dim each = tgi_build_dim(b, tgi_dim_div(table, n, n_groups));
    dims[shape->rank - 1] = n_groups;
    dims[shape->rank] = each;
    if (each == TGI_DIM_NONE)
        return 0;
    if (!tgi_build_check(b, TGI_CHECK_EQUAL, n,
                         tgi_dim_mul(table, each, n_groups),
                         "channels and those of whole groups"))
        return tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                              "%lld groups do not divide the channels",
                              (long long)n_groups);
    return tgi_build_reshape(b, x, shape->rank + 1, dims);
}

/* Of x with channels last: normalises over all axes but the first and that of
   the groups. */
static tgi_ref normalise_groups(tgi_builder *b, tgi_ref x, int64_t n_groups,
                                double epsilon)
{
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    tgi_ref groups = split_channels(b, x, n_groups);
    tg_axes axes = {.n = 0, .keep = true};
    for (int i = 1; i <= shape->rank; i++)
        if (i != shape->rank - 1)
            axes.axis[axes.n++] = (int8_t)i;
    if (!groups)
        return 0;
    tgi_ref centred = SUB(groups, tgi_build_mean(b, groups, axes));
    tgi_ref variance = tgi_build_mean(b, MUL(centred, centred), axes);
    tgi_ref normal = MUL(centred, inverse_root(b, variance, epsilon));
    return tgi_build_reshape(b, normal, shape->rank, shape->dims);
}

/* n_groups 0: as many as channels. */
static tgi_ref build_group_norm(tgi_builder *b, tgi_ref x, tgi_ref scale,
                                tgi_ref shift, int64_t n_groups, double epsilon,
                                tg_layout layout)
{
    const tgi_ref in[] = {x, scale, shift};
    x = tgi_build_require_float(b, x);
    if (!x || !scale || !shift || !tgi_build_check_layout(b, layout))
        return 0;
    const int rank = tgi_graph_shape(b->graph, x)->rank;
    if (rank < 2 || rank == TG_MAX_RANK || n_groups < 0 ||
        tgi_graph_shape(b->graph, scale)->rank > 1 ||
        tgi_graph_shape(b->graph, shift)->rank > 1)
        return tgi_build_fail(b, TG_ERROR_SHAPE, in, 3,
                              "needs 2 to %d axes, vectors of scale and shift, "
                              "and a positive number of groups",
                              TG_MAX_RANK - 1);
    if (layout == TG_CHANNELS_FIRST)
        x = tgi_build_channels_last(b, x);
    if (!n_groups && x)
        n_groups = tgi_graph_shape(b->graph, x)->dims[rank - 1];
    tgi_ref normal = x ? normalise_groups(b, x, n_groups, epsilon) : 0;
    tgi_ref result = ADD(MUL(normal, scale), shift);
    if (result && !tgi_build_same_shape(b, result, x, "x and its scale"))
        return 0;
    return layout == TG_CHANNELS_FIRST && result
               ? tgi_build_channels_first(b, result)
               : result;
}

static tg_value apply_group_norm(const char *name, tg_operand operand,
                                 tg_operand scale, tg_operand shift,
                                 int64_t n_groups, double epsilon,
                                 tg_layout layout, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin_wide(&o, name, site)) {
        tgi_ref x = tgi_operation_operand(&o, operand);
        tgi_ref gain = tgi_operation_operand(&o, scale);
        tgi_ref offset = tgi_operation_operand(&o, shift);
        result =
            build_group_norm(&o.b, x, gain, offset, n_groups, epsilon, layout);
    }
    return tgi_operation_end(&o, result);
}

tg_value tg_group_norm_at(tg_operand x, tg_operand scale, tg_operand shift,
                          int64_t n_groups, double epsilon, tg_layout layout,
                          tg_site site)
{
    /* 0 groups are invalid here. */
    return apply_group_norm("group_norm", x, scale, shift,
                            n_groups ? n_groups : -1, epsilon, layout, site);
}

tg_value tg_instance_norm_at(tg_operand x, tg_operand scale, tg_operand shift,
                             double epsilon, tg_layout layout, tg_site site)
{
    return apply_group_norm("instance_norm", x, scale, shift, 0, epsilon,
                            layout, site);
}

/* Sums over neighbouring channels, the last axis, as sliding windows. */
static tgi_ref build_local_norm(tgi_builder *b, tgi_ref x, int64_t size,
                                double alpha, double beta, double bias)
{
    const int last = tgi_graph_shape(b->graph, x)->rank - 1;
    tgi_ref zero = tgi_build_number_like(b, x, 0);
    tgi_ref padded =
        tgi_build_pad(b, MUL(x, x), last, (size - 1) / 2, size / 2, zero);
    const int64_t one = 1;
    tgi_ref windows = tgi_build_window(b, padded, 1, &last, &size, &one, &one);
    tgi_ref sum =
        tgi_build_reduce(b, TGI_OP_SUM, windows, tg_axes_of(1, &(int){-1}));
    if (!sum)
        return 0;
    tgi_ref base =
        ADD(MUL(sum, tgi_build_number_like(b, x, alpha / (double)size)),
            tgi_build_number_like(b, x, bias));
    return DIV(x, POW(base, tgi_build_number_like(b, x, beta)));
}

tg_value tg_local_response_norm_at(tg_operand operand, int64_t size,
                                   double alpha, double beta, double bias,
                                   tg_layout layout, tg_site site)
{
    tgi_operation o;
    tgi_ref x = 0;
    if (tgi_operation_begin_wide(&o, "local_response_norm", site)) {
        tgi_builder *b = &o.b;
        x = tgi_build_require_float(b, tgi_operation_operand(&o, operand));
        if (x && (!tgi_build_check_layout(b, layout) ||
                  tgi_graph_shape(b->graph, x)->rank < 2 ||
                  tgi_graph_shape(b->graph, x)->rank == TG_MAX_RANK ||
                  size < 1 || size > INT32_MAX))
            x = tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                               "needs 2 to %d axes and a positive size, not "
                               "%lld",
                               TG_MAX_RANK - 1, (long long)size);
        const bool is_first = layout == TG_CHANNELS_FIRST;
        if (x && is_first)
            x = tgi_build_channels_last(b, x);
        x = x ? build_local_norm(b, x, size, alpha, beta, bias) : 0;
        if (x && is_first)
            x = tgi_build_channels_first(b, x);
    }
    return tgi_operation_end(&o, x);
}

/* -- Attention ------------------------------------------------------------- */

/* Scores of keys that a query does not see: their exponential is 0 beside any
   other. */
static tgi_ref hide(tgi_builder *b, tgi_ref scores, tgi_ref is_seen)
{
    if (!scores || !is_seen)
        return 0;
    tgi_ref hidden = tgi_build_number_like(b, scores, (double)-FLT_MAX);
    tgi_ref masked = SELECT(is_seen, scores, hidden);
    return tgi_build_same_shape(b, scores, masked, "scores and mask") ? masked
                                                                      : 0;
}

/* Key <= first_query + query, of the last two axes. */
static tgi_ref causal_mask(tgi_builder *b, tgi_ref scores, int64_t first_query)
{
    if (!scores)
        return 0;
    const tgi_shape *shape = tgi_graph_shape(b->graph, scores);
    const tgi_dim *sides = &shape->dims[shape->rank - 2];
    tgi_ref key = tgi_build_iota(b, TG_I64, 2, sides, 1);
    tgi_ref query = tgi_build_iota(b, TG_I64, 2, sides, 0);
    tgi_ref first = tgi_build_number(
        b, TG_I64, TG_I64, (tgi_number){TGI_NUMBER_INT, {.i = first_query}});
    return LE(key, ADD(query, first));
}

static tgi_ref build_attention(tgi_builder *b, tgi_ref q, tgi_ref k, tgi_ref v,
                               tgi_ref mask, const tg_attention_options *o)
{
    const tgi_ref in[] = {q, k, v};
    if (!tgi_build_require_float(b, q) || !k || !v)
        return 0;
    const tgi_shape *shape = tgi_graph_shape(b->graph, q);
    if (shape->rank < 2 || tgi_graph_shape(b->graph, k)->rank < 2 ||
        tgi_graph_shape(b->graph, v)->rank < 2)
        return tgi_build_fail(b, TG_ERROR_SHAPE, in, 3,
                              "needs axes of positions and features");
    tgi_ref scores = tgi_build_matmul(b, q, k, TG_TRANSPOSE_B);
    tgi_ref scale;
    if (o->scale == 0)
        scale = RSQRT(
            tgi_build_cast(b, tgi_build_extent(b, shape->dims[shape->rank - 1]),
                           (tg_dtype)tgi_graph_node(b->graph, q)->dtype));
    else
        scale = tgi_build_number_like(b, q, o->scale);
    scores = MUL(scores, scale);
    if (mask && tgi_graph_node(b->graph, mask)->dtype == TG_BOOL) {
        scores = hide(b, scores, mask);
    } else if (mask && scores) {
        tgi_ref sum = ADD(scores, mask);
        scores =
            tgi_build_same_shape(b, scores, sum, "scores and mask") ? sum : 0;
    }
    if (o->is_causal)
        scores = hide(b, scores, causal_mask(b, scores, o->first_query));
    return scores ? tgi_build_matmul(b, tgi_build_softmax(b, scores, -1), v,
                                     TG_MATMUL_PLAIN)
                  : 0;
}

tg_value tg_dot_product_attention_at(tg_operand q, tg_operand k, tg_operand v,
                                     const tg_operand *mask,
                                     const tg_attention_options *user_options,
                                     tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    tg_attention_options options;
    if (tgi_operation_begin_wide(&o, "dot_product_attention", site)) {
        tgi_ref query = tgi_operation_operand(&o, q);
        tgi_ref key = tgi_operation_operand(&o, k);
        tgi_ref value = tgi_operation_operand(&o, v);
        tgi_ref seen = mask ? tgi_operation_operand(&o, *mask) : 0;
        if (tgi_versioned_read(&options, sizeof(options), user_options,
                               "tg_attention_options"))
            o.b.has_error = true;
        else if (query && (seen || !mask))
            result = build_attention(&o.b, query, key, value, seen, &options);
    }
    return tgi_operation_end(&o, result);
}
